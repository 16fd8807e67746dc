//! `lisp_debug`: the last calls, kept in memory with payloads cut by policy and secrets covered.

mod record;
mod ring;
mod stats;
mod tool;

pub use self::record::{Call, CallFacts, call_entry, request_id};
pub use self::ring::Ring;
