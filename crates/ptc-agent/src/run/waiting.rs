//! What a saved run waits for, read without its agent: enough to list runs and what nobody knows the outcome of.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::save::{RUN, SaveError, decode};
use super::{Asked, What};

/// Something that a saved run had asked for when it was saved.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// Its number in the run.
    pub id: u64,
    /// The agent that asks.
    pub agent: Option<String>,
    /// What it waits for.
    pub on: WaitsOn,
}

/// What a run waits for.
#[derive(Clone, Debug, PartialEq)]
pub enum WaitsOn {
    /// A model.
    Model,
    /// A tool.
    Tool {
        /// Its name.
        tool: String,
        /// Its arguments.
        args: Json,
        /// Whether the call may have changed something and is not made again, so that its outcome is unknown if the
        /// process has ended. Calls of upstreams are not meant: those have a journal of their own.
        once: bool,
    },
    /// A person who decides about a call.
    Person {
        /// The tool.
        tool: String,
        /// Its arguments.
        args: Json,
        /// What else there is to say.
        about: Json,
    },
}

impl Waiting {
    /// A call that waits for a person, as JSON; nothing if this is none.
    pub fn pending(&self) -> Option<Json> {
        let WaitsOn::Person { tool, args, about } = &self.on else { return None };
        Some(json!({"call": self.id, "agent": self.agent, "tool": tool, "args": args, "about": about}))
    }
}

/// What a saved run waits for, in the order of asking.
pub fn waiting(bytes: &[u8]) -> Result<Vec<Waiting>, SaveError> {
    #[derive(Deserialize)]
    struct SavedWait {
        asks: BTreeMap<u64, Asked>,
    }
    let saved: SavedWait = decode(RUN, bytes)?;
    let one = |(id, asked): (u64, Asked)| {
        let on = match asked.what {
            What::Model { .. } => WaitsOn::Model,
            What::Tool { tool, args, once, .. } => WaitsOn::Tool { tool, args, once },
            What::Approval { tool, args, about, .. } => WaitsOn::Person { tool, args, about },
        };
        Waiting { id, agent: asked.agent, on }
    };
    Ok(saved.asks.into_iter().map(one).collect())
}
