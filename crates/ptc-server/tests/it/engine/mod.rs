//! The engine, asked directly.

mod again;
mod approval;
mod backing;
mod check;
mod debug;
mod decided;
mod descriptions;
mod durable;
mod eval;
mod fairness;
mod guards;
mod isolation;
mod once;
mod own;
mod people;
mod preludes;
mod probes;
mod roles;
mod sessions;
mod shown;
mod support;
mod surface;
mod task;
mod told;
mod traces;
#[path = "../../../../ptc/tests/shared/until.rs"]
mod until;
#[path = "../../../examples/shared/upstream.rs"]
mod upstream;
mod upstreams;
