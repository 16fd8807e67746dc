//! Upstream servers inside programs: configuration, credentials, clients, catalog and calls.
//!
//! Every transport gives the same two things: a list of [`model::ToolDef`], and [`model::Payload`] or
//! [`model::Fault`] for a call. All above the transports cannot tell them apart.

pub mod client;
pub mod config;
pub mod credentials;
mod mcp;
pub mod model;
pub mod pins;
pub mod redact;
pub mod wire;

pub use client::Client;
pub use config::Config;
pub use credentials::Secrets;
pub use redact::Redactor;
