//! Models for agents.
//!
//! A model is whatever implements [`ptc_agent::model::Model`]. This crate finds models by name
//! ([`Registry`]), knows what they cost ([`prices`]), reaches those of providers ([`Remote`]), and has those
//! that need no network: a [`Script`] of replies, and a [`Replay`] of what a [`Recorder`] wrote down.
//!
//! ```no_run
//! # fn main() -> Result<(), ptc_llm::RegistryError> {
//! use ptc_llm::{Registry, Settings};
//!
//! let registry = Registry::default().connected(Settings::default());
//! let llm = registry.find("haiku")?; // the key comes from the environment
//! # Ok(())
//! # }
//! ```

mod covered;
mod offline;
pub mod prices;
mod provider;
mod registry;
mod remote;

pub use covered::Cover;
pub use offline::{Digest, Entry, Recorder, Recording, RecordingError, Replay, Script, ScriptError};
pub use provider::{PROVIDERS, Provider, ProviderInfo, Wire};
pub use registry::{Adapter, Registry, RegistryError, Source, Target};
pub use remote::{Attempts, Chance, Environment, Remote, Settings, Sleeper};
