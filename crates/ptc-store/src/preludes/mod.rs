//! Versions of preludes: written once, checked before they are stored, never changed.
//!
//! Every write makes the next version and the default one. The default can be moved to an older version by
//! hand (`set_default`) without losing the newer ones. What a prelude needs of others is pinned to exact
//! versions when it is written. See `model.rs` for the vocabulary, `tools.rs` for what models may do.

mod carry;
mod check;
mod diff;
mod edit;
mod error;
mod forms;
mod model;
mod needs;
mod prune;
mod rows;
mod seed;
mod tools;
mod view;
mod write;

use std::sync::Arc;

use crate::Store;

pub use carry::Exported;
pub use check::{CheckFault, CheckSource, Part};
pub use diff::Diff;
pub use edit::{Edit, Edited, Placement, Surface, Touched};
pub use error::{PreludeError, Reason};
pub use forms::{FormKind, Forms, TopForm};
pub use model::{
    Bounds, Candidate, ListedPrelude, Metadata, Pin, Ref, Resolved, Selected, Selection, Version, checksum,
};
pub use prune::Pruned;
pub use seed::Seeded;
pub use tools::{Access, PreludeTools, kept_by, ledger_arguments, tool_names, wrapper, writes};
pub use view::{public_metadata, public_version, public_view};

/// Namespaces that belong to hosts and to the language; no prelude of the store may have such an id.
pub const RESERVED: &[&str] = &["tool", "data", "budget", "ptc.core", "mcp", "prelude", "log"];

/// The subject of transactions that change preludes.
const SUBJECT: &str = "preludes";

/// The preludes of a store.
///
/// ```
/// use std::sync::Arc;
/// use ptc_store::Store;
/// use ptc_store::preludes::{Metadata, Preludes, Ref};
///
/// let preludes = Preludes::new(Arc::new(Store::open(":memory:")?));
/// let first = preludes.write("paged", "(ns paged) (defn size [] 10)", &Metadata::new())?;
/// let second = preludes.write("paged", "(ns paged) (defn size [] 20)", &Metadata::new())?;
/// assert_eq!((first.version.version, second.version.version), (1, 2));
/// preludes.set_default(&Ref::parse("paged@1")?, &Metadata::new())?;
/// assert!(preludes.read(&Ref::parse("paged")?)?.source.contains("10"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Preludes {
    store: Arc<Store>,
    bounds: Bounds,
    check: Arc<dyn CheckSource>,
}

impl std::fmt::Debug for Preludes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Preludes").field("store", &self.store).field("bounds", &self.bounds).finish()
    }
}

impl Preludes {
    /// The preludes of a store, with the usual bounds.
    pub fn new(store: Arc<Store>) -> Self {
        Preludes { store, bounds: Bounds::default(), check: Arc::new(check::Compiler) }
    }

    /// The store that they are in.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Holds them to other bounds.
    pub fn with_bounds(mut self, bounds: Bounds) -> Result<Self, PreludeError> {
        let numbers = [
            bounds.max_source_bytes,
            bounds.max_versions,
            bounds.max_ids,
            bounds.max_total_bytes,
            bounds.max_metadata_bytes,
        ];
        if numbers.contains(&0) {
            return Err(error::refuse(Reason::InvalidConfig, "bounds of a prelude store must be positive"));
        }
        self.bounds = bounds;
        Ok(self)
    }

    /// Checks sources in another way than by compiling them.
    #[must_use]
    pub fn with_check(mut self, check: Arc<dyn CheckSource>) -> Self {
        self.check = check;
        self
    }

    /// All preludes, by id.
    pub fn list(&self) -> Result<Vec<ListedPrelude>, PreludeError> {
        Ok(self.store.read(rows::list)?)
    }

    /// The retained versions of a prelude, oldest first.
    pub fn history(&self, id: &str) -> Result<Vec<Version>, PreludeError> {
        model::check_id(id)?;
        self.store.read(|tx| rows::history(tx, id))
    }

    /// A version with its source.
    pub fn read(&self, wanted: &Ref) -> Result<Candidate, PreludeError> {
        self.store.read(|tx| rows::read(tx, wanted))
    }

    /// The forms of a version.
    pub fn forms(&self, wanted: &Ref) -> Result<(Candidate, Forms), PreludeError> {
        let candidate = self.read(wanted)?;
        let forms = Forms::scan(&candidate.source)?;
        Ok((candidate, forms))
    }
}

/// The tables of this module. A version's row is written once and changes only when it is made the default
/// by hand; dependencies are pins of exact versions.
pub(crate) const TABLES: &str = "
CREATE TABLE ptc_preludes (
    id TEXT PRIMARY KEY,
    current_version INTEGER NOT NULL,
    latest_version INTEGER NOT NULL
);
CREATE TABLE ptc_prelude_versions (
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    checksum TEXT NOT NULL,
    source BLOB NOT NULL,
    source_bytes INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    selected_at INTEGER,
    selected_metadata TEXT,
    PRIMARY KEY (id, version)
);
CREATE TABLE ptc_prelude_pins (
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    needs_id TEXT NOT NULL,
    needs_version INTEGER NOT NULL,
    needs_checksum TEXT NOT NULL,
    PRIMARY KEY (id, version, needs_id)
);
CREATE INDEX ptc_prelude_pins_needed ON ptc_prelude_pins (needs_id, needs_version);
";
