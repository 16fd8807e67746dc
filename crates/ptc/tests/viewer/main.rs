//! Traces from the outside: runs of the real command, the files they write, and the page that shows them.

mod browser;
mod page;
mod support;
mod traces;
