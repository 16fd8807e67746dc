//! The MCP server: PTC-Lisp programs for any client.

pub mod effects;
pub mod engine;
pub mod events;
pub mod options;
mod under_way;
pub mod wire;
