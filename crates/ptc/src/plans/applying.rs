//! The one process that applies a plan. A plan may lie in several files, on several machines; its store is one.
//!
//! Whoever applies a plan has a row in the journal of its store, as if applying it were a call: the row names its process and
//! is held as long as the process goes on (`ptc_server::effects`). Another is refused meanwhile. A process that was killed
//! is known to be gone at once on its machine, and ten seconds later on others.

use anyhow::{Context as _, bail};
use ptc_server::effects::StoreJournal;
use ptc_store::effects::{EffectError, Finding};
use ptc_upstream::runtime::{Begun, EffectJournal, NewEffect};
use serde_json::json;

use super::{Plan, apply};

/// The one row of the scope.
const WHO: &str = "applying";
/// How often it is tried: others may begin and end meanwhile.
const TRIES: usize = 3;

/// The right to apply a plan, until it is dropped.
pub struct Applying {
    journal: StoreJournal,
    scope: String,
    process: Option<String>,
}

impl Applying {
    /// Takes the right to apply a plan, unless a process has it that goes on. The journal must be announced, or the right is
    /// over after some seconds.
    pub fn begin(journal: &StoreJournal, plan: &Plan) -> anyhow::Result<Applying> {
        let scope = format!("{}:{WHO}", apply::scope(plan));
        journal.under_way(&scope, WHO, true);
        // From now on it is given back, whatever happens.
        let mut applying = Applying { journal: journal.clone(), scope, process: None };
        let args = json!(null);
        // What is of no server is listed nowhere.
        let call = NewEffect { identity: WHO, server: "", tool: "", args: &args };
        for _ in 0..TRIES {
            let begun = journal.begin(&applying.scope, &call).map_err(anyhow::Error::msg);
            if begun.context("it cannot be noted who applies the plan")? == Begun::Fresh {
                applying.process = applying.holder()?;
                return Ok(applying);
            }
            let gaps = journal.effects().gaps(Some(&applying.scope))?;
            let Some(other) = gaps.first() else { continue };
            match journal.settle(other, &Finding::DidNotHappen, "its process is gone") {
                Err(EffectError::UnderWay) => break,
                settled => settled?,
            }
        }
        bail!("the plan {} is being applied by another process; wait until that has ended", plan.id)
    }

    /// The journal of the plan.
    pub fn journal(&self) -> &StoreJournal {
        &self.journal
    }

    /// Whether this process is still the one; others take over from one that stood still.
    pub fn check(&self) -> Result<(), String> {
        match self.holder().map_err(|error| error.to_string())? {
            Some(holder) if self.process.as_ref() == Some(&holder) => Ok(()),
            _ => Err("another process has taken over the plan, because this one stood still".to_owned()),
        }
    }

    /// The process that applies the plan, as the store says.
    fn holder(&self) -> anyhow::Result<Option<String>> {
        let gaps = self.journal.effects().gaps(Some(&self.scope))?;
        Ok(gaps.first().and_then(|gap| gap.made_by()).map(|made| made.process))
    }
}

impl Drop for Applying {
    fn drop(&mut self) {
        if self.process.is_some() {
            // What cannot be given back is over when this process is gone.
            let _ = self.journal.unsent(&self.scope, WHO);
        }
        self.journal.under_way(&self.scope, WHO, false);
    }
}
