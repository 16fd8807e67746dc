//! Upstream servers inside programs: configuration, credentials, clients, catalog and calls.
//!
//! Every transport gives the same two things: a list of [`model::ToolDef`], and [`model::Payload`] or
//! [`model::Fault`] for a call. All above the transports cannot tell them apart.

pub mod model;
