//! The machine of a session. It lives on one worker of the pool and is reached by programs and visits. One that was
//! stored is loaded there when it is first needed; those that do not run need no memory but their dump's.

use std::sync::{Arc, Mutex, PoisonError};

use ptc_agent::preview_text;
use ptc_host::{Limits, Pool, Program, Running, Session as Kept};
use ptc_lisp::dump::DumpError;
use ptc_lisp::machine::Machine;
use ptc_lisp::prelude::Prelude;
use ptc_lisp::view::{Bounds, Glimpse, View};
use ptc_upstream::Redactor;

use super::super::text::cut_chars;

/// A session's machine.
#[derive(Debug)]
pub struct HeldMachine {
    kept: Kept,
    /// What it begins with, until it is loaded.
    dump: Mutex<Option<Vec<u8>>>,
}

/// Why a machine cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum NotLoaded {
    /// Its prelude is another one now.
    #[error("{0}")]
    Prelude(DumpError),
    /// It is damaged, or more than this server allows: it cannot be loaded later either.
    #[error("{0}")]
    Never(DumpError),
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

impl HeldMachine {
    /// A machine without definitions, or one that was stored.
    pub fn new(pool: &Pool, dump: Option<Vec<u8>>) -> Self {
        HeldMachine { kept: pool.session(), dump: Mutex::new(dump) }
    }

    /// Loads a machine that was stored, if that was not done yet. Comes before programs and visits.
    pub async fn ready(
        &self,
        limits: Limits,
        prelude: Option<Arc<Prelude>>,
        owner: Arc<str>,
    ) -> Result<(), NotLoaded> {
        let dump = self.dump.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(dump) = dump else { return Ok(()) };
        let (send, receive) = tokio::sync::oneshot::channel();
        self.kept.begin(move || {
            let loaded = Machine::load_dump_for(&dump, &limits, prelude.as_slice(), &Some(owner));
            let (machine, told) = match loaded {
                Ok(machine) => (Some(machine), Ok(())),
                Err(error @ DumpError::Prelude(_)) => (None, Err(NotLoaded::Prelude(error))),
                Err(error) => (None, Err(NotLoaded::Never(error))),
            };
            // Nobody waits any more if the call was given up.
            let _ = send.send(told);
            machine
        });
        receive.await.unwrap_or_else(|_| Err(NotLoaded::Other("the server stops".to_owned())))
    }

    /// Runs a program after all earlier ones.
    pub fn run(&self, program: Program) -> Running {
        self.kept.run(program)
    }

    /// Does something with the machine between programs. `None` if there has been no program yet, or one runs.
    pub async fn visit<T: Send + 'static>(
        &self,
        visit: impl FnOnce(&mut Machine) -> T + Send + 'static,
    ) -> Option<T> {
        let (send, receive) = tokio::sync::oneshot::channel();
        self.kept.visit(move |machine| {
            // Nobody waits any more if the call was given up.
            let _ = send.send(visit(machine));
        });
        receive.await.ok()
    }
}

/// Bounds for views whose secrets are covered before they are cut.
pub fn bounds() -> Bounds {
    Bounds { items: 20, string_chars: 20_000, depth: 6, tail: 0, sorted: false, firewall: false }
}

/// A value as text in so many characters, secrets covered; and whether something is missing.
pub fn preview(mut glimpse: Glimpse, chars: usize, redactor: &Redactor) -> (String, bool) {
    cover(&mut glimpse.view, redactor);
    let whole = glimpse.view.is_whole();
    let text = preview_text(&glimpse.view, 20, chars);
    let (text, is_cut) = cut_chars(&text, chars);
    (text.to_owned(), is_cut || !whole)
}

/// Covers secrets in the texts of a view. Views nest as deep as their bounds.
fn cover(view: &mut View, redactor: &Redactor) {
    match view {
        View::Str { text, .. }
        | View::Keyword(text)
        | View::Symbol(text)
        | View::Opaque(text)
        | View::Big(text)
        | View::Decimal(text) => {
            if let std::borrow::Cow::Owned(covered) = redactor.redact_str(text) {
                *text = covered;
            }
        }
        View::Vector(part) | View::List(part) | View::Set(part) => {
            part.items.iter_mut().for_each(|item| cover(item, redactor));
        }
        View::Map { entries, .. } => entries.iter_mut().for_each(|(key, value)| {
            cover(key, redactor);
            cover(value, redactor);
        }),
        View::Nil | View::Bool(_) | View::Int(_) | View::Float(_) | View::Time { .. } | View::Hidden => {}
    }
}
