//! Clients of MCP servers, over the standard streams of a child process, over Streamable HTTP and over what came before
//! it (`legacy.rs`). No type of the protocol library (rmcp) leaves this module.
//!
//! rmcp does the protocol: handshakes of all versions, numbering, sessions, resumption of streams. Ours are the
//! parts where it has no bound or hides what we need: lines of a child (`lines.rs`), bodies and events over HTTP
//! (`http.rs`), answers kept as they came and measured before they are decoded (`inbox.rs`), processes
//! (`process.rs`, `guard.rs`) and when a server is started again (`lifecycle.rs`).

mod answer;
mod backpressure;
mod connection;
mod content;
mod guard;
mod http;
mod inbox;
mod legacy;
mod lifecycle;
mod lines;
mod process;
mod skim;
mod sse;
mod stdio;

use std::sync::Arc;

use crate::client::Client;
use crate::config::UpstreamConfig;
use crate::credentials::Secrets;

/// A client that starts its server when it is first needed; `None` if the upstream does not speak MCP.
pub fn client(config: &UpstreamConfig, secrets: &Secrets) -> Option<Arc<dyn Client>> {
    let client = lifecycle::McpClient::new(config, secrets)?;
    Some(Arc::new(client))
}
