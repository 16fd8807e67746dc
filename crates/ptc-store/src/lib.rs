//! What outlives a process: preludes, runs, requests, sessions, tickets and the journal of effects.
//!
//! One [`Store`] keeps everything, in an SQLite file, in memory or in PostgreSQL. All three behave the same:
//! every statement is written once (`tx.rs`), tables come from one list of migrations (`migrate.rs`), and a
//! change is one transaction.
//!
//! A change survives whatever ends the process as soon as the call returns. It is also on the disk then, with a few
//! exceptions that say so: *notes*, whose loss with the whole machine does no harm. Nothing that was written later
//! than a note can be there without it.
//!
//! The calls are synchronous and may be made from many threads at once. Async callers put them on a thread
//! that may block (`tokio::task::spawn_blocking`).

mod cell;
pub mod check;
pub mod copy;
mod draft;
pub mod effects;
mod error;
mod halt;
mod identity;
mod lease;
pub mod log_check;
mod mark;
mod migrate;
mod pg;
mod pgpass;
mod place;
mod pool;
pub mod preludes;
pub mod requests;
pub mod rescue;
pub mod runs;
mod same_file;
pub mod sessions;
pub mod shelf;
#[cfg(feature = "simulation")]
pub mod simulation;
mod sqlite;
mod store;
pub mod tickets;
mod tx;
mod under_way;
mod wal;

pub use draft::Draft;
pub use error::StoreError;
pub use lease::Lease;
pub use place::{beside, is_path, shown};
pub use store::Store;
