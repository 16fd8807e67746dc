//! JSON Schema in both directions: out to providers, in from MCP tools and Rust types.

mod export;
mod import;
mod keywords;
mod numbers;

pub use import::{Imported, SchemaError, SchemaReader};
