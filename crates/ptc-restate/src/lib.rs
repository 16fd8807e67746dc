//! Missions of agents as durable workflows on a Restate server.
//!
//! A run of an agent says what it needs and takes what it is brought; it has no clock and no network of its own. So
//! this crate only drives it: what comes to a run is an entry in the journal that Restate keeps, and a run that is
//! begun again by another worker gets the entries in the same order and comes to the same point.
//!
//! | entry | when | what it holds |
//! |---|---|---|
//! | `begin` | once | the time, and which agent it is |
//! | `calls …` | before tools are called that must not be called twice | the mark of the worker that calls them |
//! | `decided` | after a person decided about a call | the time; the decision is a promise |
//! | `model …`, `tool …` | for every answer | the time and the answer, or the time alone if a limit was over first |
//!
//! The parts: [`Worker`] serves agents ([`Served`]) and registers them; `mission.rs` is the workflow, `calls.rs` what
//! is under way for it in this process, `people.rs` what people decide, `pinned.rs` its run, `entry.rs` what is written,
//! `service.rs` the only file that knows how the SDK dispatches, `door.rs` how requests come to it.

mod calls;
mod door;
mod entry;
mod identity;
mod mission;
mod people;
mod pinned;
mod register;
mod service;
mod worker;

pub use register::{RegisterError, register};
pub use worker::{Note, Served, Worker, WorkerError};
