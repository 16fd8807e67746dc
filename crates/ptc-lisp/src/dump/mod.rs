//! Dump and load: a paused machine as bytes, and back, in another process or by a later build.
//!
//! ```text
//! "PTCM" version   (prelude)   texts   units   state   graph   checksum
//! ```
//!
//! *Prelude*, from version 3 on, is the artifact hash of the prelude that the machine has, or empty. *Texts* are the names everything else refers to, each once. *Units* hold the code of the session's
//! programs, and the code of those functions of the core library that are running or captured: a dump
//! goes on with the code it stopped in even if the library has changed since; where it has not, the
//! loader uses its own. Builtins are named, never numbered. *State* is meters, limits, definitions,
//! fibers; the values in it form the *graph* (see `write_values.rs`).
//!
//! Loading trusts nothing. Lengths are checked against the bytes that are left, indices against what
//! they index, code by [`crate::verify`], frames against the code they are in; shapes are computed
//! again. A dump can only make a machine that some program could have made.
//!
//! A machine can be dumped whenever it is not inside `run`: while it waits for tools, between slices, and between
//! programs. The checksum detects damage; it is not a signature. Loading never widens the limits of the host.
//!
//! Version 2 adds what hosts set for later programs (`machine/memory.rs`), version 3 pending discovery calls and the hash
//! of the prelude, version 4 the keywords that programs wrote as keys. A dump has the lowest version that can hold it. A
//! change that old readers cannot read takes the next number, and `conformance/suspend/` keeps dumps of every released
//! version.
//!
//! Fuel after loading is what it would have been without the dump: meters and stack sizes are kept, and the census counts
//! lengths, never capacities (`value/room.rs` keeps capacities close to lengths).

#[cfg(test)]
mod any_values;
mod bytes;
mod check;
mod code;
mod format;
mod json;
mod keys;
mod ops;
mod read;
mod read_values;
mod state;
#[cfg(test)]
mod tests;
mod write;
mod write_values;

use std::borrow::Cow;
use std::sync::Arc;

pub use bytes::checksum;

use crate::limits::Limits;
use crate::machine::{Machine, Owner};
use crate::prelude::Prelude;

/// Why a machine could not be written or loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DumpError {
    /// The first bytes are wrong.
    #[error("this is no dump of a machine")]
    NotADump,
    /// A version this build does not know.
    #[error("the dump has version {0}, this build reads versions up to 4: load it with a newer build")]
    Version(u64),
    /// The bytes are not those that were written.
    #[error("the dump is damaged: its checksum does not match")]
    Checksum,
    /// The bytes end too early.
    #[error("the dump is damaged: it ends too early")]
    Truncated,
    /// Something nests deeper than values may.
    #[error("a value of the machine nests too deeply")]
    TooDeep,
    /// A function of the library that this build does not have.
    #[error("the dump needs {0}, which this build does not have: load it with the build that wrote it")]
    Missing(String),
    /// The prelude of the machine is not among those that the host has.
    #[error("the dump needs the prelude with artifact hash {0}: load it together with that prelude")]
    Prelude(String),
    /// Anything else that cannot be.
    #[error("the dump is damaged: {0}")]
    Damaged(Cow<'static, str>),
}

impl DumpError {
    fn damaged(what: &'static str) -> Self {
        DumpError::Damaged(Cow::Borrowed(what))
    }

    fn unknown(what: &str, number: u8) -> Self {
        DumpError::Damaged(format!("there is no {what} with number {number}").into())
    }
}

/// Whether bytes are a dump that this build reads and that nothing has changed since it was written. Nothing is loaded.
pub fn look_at(bytes: &[u8]) -> Result<(), DumpError> {
    read::body(bytes).map(drop)
}

impl Machine {
    /// The whole machine as bytes: definitions, the program that runs and where it stands, calls that
    /// wait, meters and limits. What the host gave besides (tools, inputs, clock, seed) is in it too.
    pub fn dump(&self) -> Result<Vec<u8>, DumpError> {
        debug_assert!(self.late.is_none() && self.children.is_empty(), "a machine at rest has stopped");
        write::write(self)
    }

    /// The machine that [`Machine::dump`] wrote. `limits` are what the host allows: of each limit the
    /// smaller of the host's and the dump's holds. Ask [`Machine::outstanding`] for calls that were
    /// handed out before and are not answered yet.
    pub fn load_dump(bytes: &[u8], limits: &Limits) -> Result<Machine, DumpError> {
        read::read(bytes, limits, &[], &None)
    }

    /// The same for a machine that may have a prelude: the one it had must be among `preludes`.
    pub fn load_dump_with(
        bytes: &[u8],
        limits: &Limits,
        preludes: &[Arc<Prelude>],
    ) -> Result<Machine, DumpError> {
        read::read(bytes, limits, preludes, &None)
    }

    /// The same for a machine that goes on for an owner.
    pub fn load_dump_for(
        bytes: &[u8],
        limits: &Limits,
        preludes: &[Arc<Prelude>],
        owner: &Owner,
    ) -> Result<Machine, DumpError> {
        read::read(bytes, limits, preludes, owner)
    }
}
