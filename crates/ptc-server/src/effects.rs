//! The journal of calls that may change the world, in a store.

use std::sync::Arc;

use ptc_store::Store;
use ptc_store::effects::{self, Effects, Gap};
use ptc_upstream::EffectJournal;
use ptc_upstream::runtime::{Begun, NewEffect};
use serde_json::Value as Json;

/// A store as the journal of upstream calls.
#[derive(Clone, Debug)]
pub struct StoreJournal(Effects);

impl StoreJournal {
    /// The journal of a store.
    pub fn new(store: Arc<Store>) -> StoreJournal {
        StoreJournal(Effects::new(store))
    }

    /// The journal itself.
    pub fn effects(&self) -> &Effects {
        &self.0
    }

    /// Calls that were begun and have no answer, the oldest first. Those under way right now are among them.
    pub fn gaps(&self) -> Result<Vec<Gap>, String> {
        let gaps = self.0.gaps(None).map_err(|error| error.to_string())?;
        Ok(gaps.into_iter().filter(|gap| !gap.server.is_empty()).collect())
    }
}

impl EffectJournal for StoreJournal {
    fn begin(&self, scope: &str, call: &NewEffect<'_>) -> Result<Begun, String> {
        let call = effects::NewEffect {
            identity: call.identity,
            server: call.server,
            tool: call.tool,
            args: call.args,
        };
        match self.0.begin(scope, &call).map_err(|error| error.to_string())? {
            effects::Begun::Fresh => Ok(Begun::Fresh),
            effects::Begun::Done(answer) => Ok(Begun::Done(answer)),
            effects::Begun::Unknown => Ok(Begun::Unknown),
        }
    }

    fn done(&self, scope: &str, identity: &str, answer: &Json) -> Result<(), String> {
        self.0.done(scope, identity, answer).map_err(|error| error.to_string())
    }
}
