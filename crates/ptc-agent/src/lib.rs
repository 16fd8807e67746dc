//! SubAgents: a model is asked for a program, the program runs in a sandbox with the agent's tools, and
//! what came of it goes back to the model, until there is an answer.
//!
//! An [`Agent`] is a definition, checked when it is built. A run of it is a state machine that does no
//! input or output: it says what it needs (a model's reply, a tool's result) and waits until a driver
//! supplies it. The four modes, PTC-Lisp by content, PTC-Lisp by tool call, text and combined, differ in
//! how a request is built and how a reply is read, not in how a run goes on.

#![allow(dead_code, unused_imports)]

mod agent;
mod budget;
mod cache;
mod chunk;
mod compact;
mod event;
mod feedback;
mod grep;
mod journal;
pub mod model;
mod preview;
mod prompt;
mod reason;
mod render;
mod reply;
mod run;
mod step;
mod tool;
pub mod typed;

pub use chunk::{Chunk, ChunkError, Chunker};
