//! A way for hosts to interrupt long work.
//!
//! The machine has no clock. Between slices of fuel its host looks at one; but inputs of megabytes are read in one
//! piece, and a native that walks a billion numbers is one instruction, so both ask the host every now and then whether
//! to go on.
//!
//! Readers ask after every 32 KB, natives after about a million units of fuel. A native that charges all of its work
//! before it begins is not interrupted in between. Hosts that have clocks: `ptc-host/src/clock.rs` for programs,
//! `ptc-agent/src/run/clock.rs` for runs of agents; loading a program counts as its time.

use std::fmt;
use std::sync::Arc;

use crate::error::Error;

/// Says whether work may go on; the error says why not. One that nobody has set lets all work go on.
#[derive(Clone, Default)]
pub struct Interrupt {
    check: Option<Arc<dyn Fn() -> Result<(), Error> + Send + Sync>>,
}

impl Interrupt {
    /// One that lets all work go on.
    pub(crate) const NONE: Interrupt = Interrupt { check: None };

    /// Bytes that are read between two questions: well below a millisecond of work.
    pub(crate) const STRETCH: usize = 1 << 15;

    /// Fuel of natives between two questions: at most about a tenth of a second of work, and more than a slice, so that
    /// only those that go on beyond one ask.
    pub(crate) const FUEL: u64 = 1 << 20;

    /// An interrupt by what `check` says, which is asked often.
    pub fn new(check: impl Fn() -> Result<(), Error> + Send + Sync + 'static) -> Interrupt {
        Interrupt { check: Some(Arc::new(check)) }
    }

    /// Whether anybody is asked.
    pub(crate) fn is_set(&self) -> bool {
        self.check.is_some()
    }

    /// Whether work may go on.
    pub fn check(&self) -> Result<(), Error> {
        self.check.as_ref().map_or(Ok(()), |check| check())
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Interrupt").field(&self.check.is_some()).finish()
    }
}
