//! Dump and load: a paused machine goes on elsewhere as if nothing had happened.
//!
//! `conformance/suspend/programs.clj` holds programs that call tools everywhere a program can. Each is
//! run undisturbed and then again from a dump made at every stop, here and in a new process; value,
//! prints, fuel and manifest must be the same. Hostile bytes are in `dump_hostile.rs`.

#![expect(clippy::disallowed_methods, reason = "tests read the corpus and start processes")]

mod corpus;
mod processes;
mod programs;
mod seal;
mod sessions;
