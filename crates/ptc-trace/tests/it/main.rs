//! Traces from the outside: files that runs write, what hostile files do, and what sinks see.

#![allow(clippy::unwrap_used)]

mod events;
mod files;
mod hostile;
mod keeping;
mod recordings;
mod support;
mod tracing;
mod watch;
