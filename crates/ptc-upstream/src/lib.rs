//! Upstream servers inside programs: configuration, credentials, clients, catalog and calls.
//!
//! Every transport gives the same two things: a list of [`model::ToolDef`], and [`model::Payload`] or
//! [`model::Fault`] for a call. All above the transports cannot tell them apart.

pub mod call;
pub mod catalog;
pub mod client;
pub mod config;
pub mod credentials;
pub mod discovery;
pub mod effects;
pub mod inspect;
pub mod ledger;
mod mcp;
pub mod metrics;
pub mod model;
pub mod openapi;
mod outcome;
pub mod pins;
pub mod redact;
pub mod runtime;
pub mod shapes;
pub mod wire;

pub use client::Client;
pub use config::Config;
pub use credentials::Secrets;
pub use redact::Redactor;
pub use runtime::{
    Account, Caps, EffectJournal, Grants, RunContext, Runtime, RuntimeOptions, SnapshotMode, StartError,
};

/// The examples of pages of the book, which run as tests.
#[cfg(doctest)]
// Blocks that name their file are for the tests that walk through pages.
#[allow(rustdoc::invalid_codeblock_attributes)]
mod pages {
    #[doc = include_str!("../../../docs/tool-call.md")]
    struct ToolCall;
}
