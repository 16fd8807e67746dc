//! Upstreams from the outside: configurations, secrets, clients against real and faulty servers, and programs
//! that use them.

mod approval;
mod backing;
mod clients;
mod config;
mod effects;
mod faults;
mod fixture;
mod functions;
mod guards;
mod http;
mod manifest;
mod openapi;
#[path = "../../../ptc/tests/shared/port.rs"]
mod port;
mod programs;
mod real;
mod redact;
mod runtime;
mod secrets;
mod servers;
#[path = "../../../ptc/tests/shared/servers.rs"]
mod sixteen;
#[path = "../../../ptc-store/tests/it/skip.rs"]
mod skip;
mod stdio;
mod support;
#[path = "../../../ptc/tests/shared/until.rs"]
mod until;
