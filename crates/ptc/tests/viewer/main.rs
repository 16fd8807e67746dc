//! Traces from the outside: runs of the real command, the files they write, and the page that shows them.

mod browser;
mod otlp;
mod page;
mod replay;
mod support;
mod traces;
