//! Which store a plan belongs to. What was done of a plan is known in one store only, so that a plan which is applied with
//! another would be done again.
//!
//! `ptc plan --store` says it in the plan. For other plans, whoever applies one first decides, and a note among the files of
//! the user keeps that.

use anyhow::bail;
use ptc_server::effects::StoreJournal;
use ptc_store::effects::NewEffect;
use serde_json::Value as Json;

use super::{Plan, apply};

/// The name of a store: its file from the root, or the address of a database without a password and options.
pub fn named(place: &str) -> anyhow::Result<String> {
    let Some((scheme, rest)) = place.split_once("://") else {
        return Ok(std::path::absolute(place)?.to_string_lossy().into_owned());
    };
    let address = rest.split('?').next().unwrap_or_default();
    Ok(match address.rsplit_once('@') {
        Some((user, host)) => format!("{scheme}://{}@{host}", user.split(':').next().unwrap_or_default()),
        None => format!("{scheme}://{address}"),
    })
}

/// The files of the user, where it is noted which plans belong to other stores.
pub struct Notes {
    /// The journal of plans that were applied without naming a store.
    pub journal: StoreJournal,
    /// Its name.
    pub name: String,
}

impl Notes {
    /// Refuses a plan that belongs to another store than this.
    pub fn check(&self, plan: &Plan, store: &str) -> anyhow::Result<()> {
        let effects = self.journal.effects();
        let noted = effects.of_scope(&scope(plan))?.into_iter().map(|note| note.identity).next();
        let own = || effects.has(&apply::scope(plan)).map(|has| has.then(|| self.name.clone()));
        let Some(bound) = noted.map_or_else(own, |noted| Ok(Some(noted)))? else { return Ok(()) };
        agree(&bound, store)
    }

    /// Notes that a plan belongs to a store from now on.
    pub fn bind(&self, plan: &Plan, store: &str) -> anyhow::Result<()> {
        if store != self.name {
            let note = NewEffect { identity: store, server: "", tool: "", args: &Json::Null };
            self.journal.effects().begin(&scope(plan), &note)?;
        }
        Ok(())
    }
}

/// Refuses a plan of one store in another.
pub fn agree(bound: &str, store: &str) -> anyhow::Result<()> {
    if bound != store {
        bail!(
            "the plan belongs to the store {bound}, where it is written down what was done of it, and not to {store}; apply \
             it with --store {bound}, or make a new plan"
        );
    }
    Ok(())
}

fn scope(plan: &Plan) -> String {
    // Among what is kept of plans for good.
    format!("{}:store", apply::scope(plan))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_store_has_no_password() {
        for (place, name) in [
            ("/srv/calls.db", "/srv/calls.db"),
            ("postgres://ptc:secret@db:5432/ptc?sslmode=disable", "postgres://ptc@db:5432/ptc"),
            ("postgres://db/ptc?password=secret", "postgres://db/ptc"),
        ] {
            assert_eq!(named(place).expect("a name"), name);
        }
        assert!(named("calls.db").expect("a name").ends_with("/calls.db"));
    }
}
