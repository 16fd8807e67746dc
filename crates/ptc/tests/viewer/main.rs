//! Traces from the outside: runs of the real command, the files they write, and the page that shows them.

mod browser;
mod doors;
#[path = "../shared/flood.rs"]
mod flood;
mod otlp;
mod page;
#[path = "../shared/port.rs"]
mod port;
mod replay;
#[path = "../../../ptc-store/tests/it/skip.rs"]
mod skip;
mod support;
mod traces;
