//! Which store a plan belongs to. What was done of a plan is known in one store only, so that a plan which is applied with
//! another would be done again.
//!
//! Stores are told apart by their ids, wherever they are and however their places are written. `ptc plan --store` says it
//! in the plan. For other plans, whoever applies one first decides, and a note among the files of the user keeps that. It is
//! noted of the first ones too, so that `ptc effects` finds what this user applied. A store that a plan belongs to is never
//! made: one that was made anew knows nothing of the plan.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use anyhow::bail;
use ptc_server::effects::StoreJournal;
use ptc_store::effects::{Begun, NewEffect};
use ptc_store::{Store, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Plan, apply};
use crate::commands::undamaged;

/// A store, as plans name it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bound {
    /// What tells it from every other store.
    pub id: String,
    /// Where it was, for people: a path, or an address without password and options.
    pub place: String,
    /// Whether that is all of its address, so that it can be reached by it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
}

/// Characters of an id that messages show.
const SHOWN: usize = 12;

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.short_id(), self.place)
    }
}

impl Bound {
    /// The beginning of its id, for messages.
    fn short_id(&self) -> String {
        self.id.chars().take(SHOWN).collect()
    }

    /// Whether it can be reached by its place alone. Plans of earlier versions do not say so of addresses.
    pub fn is_reached_by_place(&self) -> bool {
        self.whole || !is_address(&self.place)
    }

    /// The store that a plan is to be applied with, which is made if it is not there.
    pub fn to(place: &str) -> anyhow::Result<Bound> {
        Ok(open(place, Store::open)?.1)
    }

    /// Refuses a plan of this store in another.
    fn agree(&self, found: &Bound) -> anyhow::Result<()> {
        if self.id == found.id {
            return Ok(());
        }
        bail!(
            "the plan belongs to the store {self}, where it is written down what was done of it, and {} is another one, \
             {}; name the one that it belongs to with --store, wherever that is by now, or make a new plan",
            found.place,
            found.short_id()
        )
    }
}

/// Opens a store whose log is not damaged.
fn open(
    place: &str,
    open: impl Fn(&str) -> Result<Store, StoreError>,
) -> anyhow::Result<(StoreJournal, Bound)> {
    if place == ":memory:" {
        bail!(
            "what was done of a plan must outlive this process, and a store in memory does not; name a file or a database"
        );
    }
    undamaged(place)?;
    let store = open(place)?;
    let named = named(place);
    let whole = !is_address(&named) || named == place;
    let bound = Bound { id: store.id().to_owned(), place: named, whole };
    Ok((StoreJournal::new(Arc::new(store)).openly(), bound))
}

/// Whether a store is named by the address of a database, and not by its file.
fn is_address(place: &str) -> bool {
    place.contains("://")
}

/// Where a store is, for people: its file from the root, or the address of a database as it is shown.
fn named(place: &str) -> String {
    if is_address(place) {
        return ptc_store::shown(place);
    }
    let whole = std::fs::canonicalize(place).or_else(|_| std::path::absolute(place));
    whole.map_or_else(|_| place.to_owned(), |path| path.to_string_lossy().into_owned())
}

/// The store that a plan is applied with.
pub struct Opened {
    /// Its journal.
    pub journal: StoreJournal,
    own: Bound,
    notes: Option<Notes>,
}

impl Opened {
    /// Opens the store that a plan belongs to, or for a plan that belongs to none the one that is asked for. `usual` is the
    /// file of the user.
    pub fn of(plan: &Plan, asked: Option<&str>, usual: Option<&str>) -> anyhow::Result<Opened> {
        let notes = match usual.map(|place| open(place, Store::open)) {
            Some(Ok((journal, own))) => Some(Notes { journal, own }),
            Some(Err(error)) if asked.is_none() && plan.store.is_none() => return Err(error),
            // Where a store is named, the files of the user are not needed.
            Some(Err(_)) | None => None,
        };
        let place = match (asked, &plan.store, usual) {
            (Some(place), ..) => place,
            (None, Some(bound), _) if !bound.is_reached_by_place() => bail!(
                "the plan belongs to the store {bound}, and has no passwords and options of addresses; give the whole address \
                 with --store"
            ),
            (None, Some(bound), _) => bound.place.as_str(),
            (None, None, Some(usual)) => usual,
            (None, None, None) => bail!("there is no HOME to keep calls in; name a store with --store"),
        };
        let bound = match (&plan.store, &notes) {
            (Some(bound), _) => Some(bound.clone()),
            (None, Some(notes)) => notes.bound(plan)?,
            (None, None) => None,
        };
        let (journal, own) = match bound {
            None => open(place, Store::open)?,
            Some(bound) => {
                let (journal, own) = open(place, Store::open_existing).map_err(|error| {
                    let is_absent = matches!(error.downcast_ref(), Some(StoreError::Place { .. }));
                    let not_made = if is_absent { ", and none is made in its place" } else { "" };
                    error.context(format!("the plan belongs to the store {bound}{not_made}"))
                })?;
                bound.agree(&own)?;
                (journal, own)
            }
        };
        Ok(Opened { journal, own, notes })
    }

    /// How the store is named in commands, if it is not the file of the user.
    pub fn named(&self) -> Option<&str> {
        let is_own = self.notes.as_ref().is_some_and(|notes| notes.own.id == self.own.id);
        (!is_own).then_some(self.own.place.as_str())
    }

    /// Notes that a plan belongs to this store from now on.
    pub fn bind(&self, plan: &Plan) -> anyhow::Result<()> {
        self.notes.as_ref().map_or(Ok(()), |notes| notes.bind(plan, &self.own))
    }
}

/// The files of the user, where it is noted which plans belong to other stores.
struct Notes {
    /// The journal of plans that were applied without naming a store.
    journal: StoreJournal,
    /// The store that it is in.
    own: Bound,
}

impl Notes {
    /// The store that a plan belongs to, if it was applied before.
    fn bound(&self, plan: &Plan) -> anyhow::Result<Option<Bound>> {
        let effects = self.journal.effects();
        if let Some(note) = effects.gaps(Some(&scope(plan)))?.into_iter().next() {
            let place = note.args.as_str().unwrap_or("its place was not noted").to_owned();
            return Ok(Some(Bound { id: note.identity, place, whole: false }));
        }
        Ok(effects.has(&apply::scope(plan))?.then(|| self.own.clone()))
    }

    fn bind(&self, plan: &Plan, store: &Bound) -> anyhow::Result<()> {
        if store.id != self.own.id {
            let (effects, place) = (self.journal.effects(), json!(store.place));
            let note = NewEffect { identity: &store.id, server: "", tool: "", args: &place };
            if effects.begin(&scope(plan), &note)? != Begun::Fresh {
                // It may have been moved since.
                effects.renote(&store.id, &place)?;
            }
        }
        Ok(())
    }
}

fn scope(plan: &Plan) -> String {
    // Among what is kept of plans for good.
    format!("{}{NOTE}", apply::scope(plan))
}

/// What stands behind the scope of a plan where its store is noted.
const NOTE: &str = ":store";

/// A store that this user applied plans with, and the scopes of those plans.
#[derive(Debug)]
pub struct Elsewhere {
    bound: Bound,
    pub scopes: BTreeSet<String>,
}

/// The stores other than the file of the user that plans were applied with, as that file says.
pub fn elsewhere(usual: &StoreJournal) -> anyhow::Result<Vec<Elsewhere>> {
    let mut all: Vec<Elsewhere> = Vec::new();
    for note in usual.effects().gaps(None)? {
        let Some(plan) = note.scope.strip_suffix(NOTE).filter(|_| note.server.is_empty()) else { continue };
        let place = note.args.as_str().unwrap_or_default().to_owned();
        match all.iter_mut().find(|known| known.bound.id == note.identity) {
            Some(known) => {
                // Where it was found last.
                known.bound.place = place;
                known.scopes.insert(plan.to_owned());
            }
            None => all.push(Elsewhere {
                bound: Bound { id: note.identity, place, whole: false },
                scopes: BTreeSet::from([plan.to_owned()]),
            }),
        }
    }
    Ok(all)
}

impl Elsewhere {
    /// The journal at its place, unless that cannot be looked into, and what is to be said of it. Another store that is there by now
    /// may be a copy of it that was restored, which knows the calls that were made before.
    pub fn open(&self) -> (Option<StoreJournal>, Option<Unseen>) {
        let applied = format!("plans of this user were applied with the store {}", self.bound);
        match open(&self.bound.place, Store::open_existing) {
            Ok((journal, own)) if own.id == self.bound.id => (Some(journal), None),
            Ok((journal, own)) => {
                let why = format!(
                    "{applied}, and what is there by now is another one, {}: it was restored, went on without what it had lost, or \
                     was made anew. The calls of those plans that it knows are looked at; if the first one is still somewhere, name \
                     that with --store",
                    own.short_id()
                );
                (Some(journal), Some(Unseen { why, is_gone: true }))
            }
            Err(error) => {
                let why = format!(
                    "{applied}, which cannot be looked into ({error:#}); name it with --store, wherever it is by now"
                );
                let is_gone = !is_address(&self.bound.place) && !Path::new(&self.bound.place).exists();
                (None, Some(Unseen { why, is_gone }))
            }
        }
    }
}

/// A store that cannot be looked into.
#[derive(Debug)]
pub struct Unseen {
    /// Which, and why.
    pub why: String,
    /// Whether it is not at its place: it was moved, another one took its place, or nobody needs it any more.
    pub is_gone: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans::{Hashed, PlanOrigin, make};

    #[test]
    fn a_plan_is_applied_with_the_database_that_it_names_if_that_is_its_whole_address() {
        for (whole, said) in
            [(true, "the plan belongs to the store 77b1"), (false, "give the whole address with --store")]
        {
            // Where nobody listens.
            let place = "postgres://ptc@127.0.0.1:1/ptc".to_owned();
            let origin = PlanOrigin {
                program: Hashed::new("p.clj", "1"),
                prelude: None,
                inputs: Default::default(),
                upstreams: Hashed::new("u.json", "{}"),
                store: Some(Bound { id: "77b1".to_owned(), place, whole }),
            };
            let plan = Plan::new(origin, make::Made::default());
            let error = Opened::of(&plan, None, None).err().expect("it cannot be reached").to_string();
            assert!(error.contains(said), "{error}");
            assert_eq!(error.contains("whole address"), !whole, "{error}");
        }
    }

    #[test]
    fn the_name_of_a_store_has_no_password() {
        for (place, name) in [
            ("/srv/calls.db", "/srv/calls.db"),
            ("postgres://ptc:secret@db:5432/ptc?sslmode=disable", "postgres://ptc@db:5432/ptc"),
            ("postgres://db/ptc?password=secret", "postgres://db/ptc"),
        ] {
            assert_eq!(named(place), name);
        }
        assert!(named("calls.db").ends_with("/calls.db"));
    }
}
