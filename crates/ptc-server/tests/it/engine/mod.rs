//! The engine, asked directly.

mod eval;
mod support;
