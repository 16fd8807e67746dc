//! Programs that are ready to run. Machines of one owner on a thread that load the same text, and know the same
//! when they do, share its code: ten thousand that wait in one program have that program once.
//!
//! Only what some machine still holds is shared; nothing is kept for later. Reading and checking are charged
//! as if they had been done, so no program can tell. A clock could tell, so owners share nothing with each other.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use super::Owner;
use crate::analyze::{Manifest, Servers};
use crate::code::Unit;
use crate::prelude::Prelude;
use crate::reader::ReadLimits;

/// A program that was read, checked and compiled.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// Its code, with its text.
    pub(super) unit: Arc<Unit>,
    /// What it may call.
    pub(super) manifest: Arc<Manifest>,
    /// Whose machines may have it.
    pub(super) owner: Owner,
    /// The keywords with hyphens that it writes as keys of maps.
    pub(super) written: Vec<String>,
    /// What checking it took.
    pub(super) steps: u64,
    /// What was granted and allowed when it was checked. There were no definitions.
    pub(super) tools: Vec<String>,
    pub(super) servers: Arc<Servers>,
    pub(super) limits: ReadLimits,
    /// The prelude whose exports it may use.
    pub(super) prelude: Option<Arc<Prelude>>,
}

/// So many programs are remembered; finding one among them is quicker than reading a short one.
const REMEMBERED: usize = 16;

thread_local! {
    static LATEST: RefCell<VecDeque<Weak<Prepared>>> = const { RefCell::new(VecDeque::new()) };
}

/// The same program as some machine of the owner has it on this thread.
pub(super) fn find(
    owner: &Owner,
    source: &str,
    tools: &[String],
    servers: &Arc<Servers>,
    limits: &ReadLimits,
    prelude: Option<&Arc<Prelude>>,
) -> Option<Rc<Prepared>> {
    LATEST.with_borrow(|latest| {
        latest.iter().filter_map(Weak::upgrade).find(|known| {
            known.owner == *owner
                && known.unit.source.len() == source.len()
                && *known.unit.source == *source
                && known.tools == tools
                && (Arc::ptr_eq(&known.servers, servers) || known.servers == *servers)
                && known.limits == *limits
                && known.prelude.as_ref().map(Arc::as_ptr) == prelude.map(Arc::as_ptr)
        })
    })
}

/// Lets other machines find a program.
pub(super) fn remember(prepared: &Rc<Prepared>) {
    LATEST.with_borrow_mut(|latest| {
        latest.retain(|known| known.strong_count() > 0);
        latest.truncate(REMEMBERED - 1);
        latest.push_front(Rc::downgrade(prepared));
    });
}
