//! The protocol: how clients reach the engine over stdio and HTTP.
//!
//! `rmcp` speaks MCP and lives in [`adapter`] and in the two transports that hand it messages. What it does not do is
//! done around it: frames and their limits, process exit, MCP sessions with owners, tokens, checks of HTTP requests, and secrets
//! that are covered in whatever leaves ([`outgoing`]).
//!
//! Handled here because `rmcp` does not: resynchronisation after a line that is too long, error responses with a null id to
//! what is not a message, ids that are in flight twice, `shutdown` and `exit`, and everything over HTTP that has an owner.
//! Both transports call `rmcp` without its handshake (`serve_directly`), so that requests before `initialize` and the
//! self-contained requests of version 2026-07-28 take the same path. Its HTTP service runs without sessions, because MCP
//! sessions belong to tokens, have caps and own resources. It cannot receive replies to questions either, so clients that
//! can be asked have a transport of their own (`http/dialogue.rs`). `serverInfo` has no field for the build, so that is
//! `_meta.build` of the result of `initialize`.

mod adapter;
mod approval;
mod changes;
mod echoed;
mod frames;
mod http;
mod identity;
mod incoming;
mod large;
mod log;
mod outgoing;
mod skim;
mod stdio;

pub use self::http::{Http, HttpError, Page, Tokens, TokensError};
pub use self::identity::{BUILD, Build};
pub use self::log::Log;
pub use self::stdio::serve as serve_stdio;
