//! The protocol: how clients reach the engine over stdio and HTTP.
//!
//! `rmcp` speaks MCP and lives in [`adapter`] and in the two transports that hand it messages. What it does not do is
//! done around it: frames and their limits, process exit, MCP sessions with owners, tokens, checks of HTTP requests.

mod adapter;
mod approval;
mod changes;
mod frames;
mod http;
mod identity;
mod incoming;
mod large;
mod log;
mod stdio;

pub use self::http::{Http, HttpError, Page, Tokens, TokensError};
pub use self::identity::{BUILD, Build};
pub use self::log::Log;
pub use self::stdio::serve as serve_stdio;
