//! Upstreams from the outside: configurations, secrets, and clients against real and faulty servers.

mod config;
mod redact;
mod stdio;
mod support;
