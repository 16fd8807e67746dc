//! Upstreams from the outside: configurations, secrets, clients against real and faulty servers, and programs
//! that use them.

mod config;
mod fixture;
mod programs;
mod redact;
mod runtime;
mod stdio;
mod support;
