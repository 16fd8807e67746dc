//! Models for agents.
//!
//! A model is whatever implements [`ptc_agent::model::Model`]. This crate finds models by name
//! ([`Registry`]), knows what they cost ([`prices`]), and has those that need no network: a [`Script`] of
//! replies, and a [`Replay`] of what a [`Recorder`] wrote down.

mod offline;
pub mod prices;
mod registry;

pub use offline::{Digest, Entry, Recorder, Recording, RecordingError, Replay, Script, ScriptError};
pub use registry::{Provider, Registry, RegistryError, Source, Target};
