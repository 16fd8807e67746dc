//! How two versions differ: by definition and by line.

use std::time::Duration;

use similar::{Algorithm, TextDiff};

use super::edit::Surface;
use super::error::PreludeError;
use super::forms::Forms;
use super::model::{Pin, Ref};
use super::{Preludes, rows};

/// After this time the difference by line is found less cleverly, so that huge sources do not hold it up.
const PATIENCE: Duration = Duration::from_millis(500);

/// The difference between two versions.
#[derive(Debug, Clone, PartialEq)]
pub struct Diff {
    /// The older one, or whichever was named first.
    pub from: Pin,
    /// The newer one.
    pub to: Pin,
    /// Definitions that are only in the second.
    pub added: Vec<String>,
    /// Definitions that are only in the first.
    pub removed: Vec<String>,
    /// Definitions whose text differs.
    pub changed: Vec<String>,
    /// What changed for callers.
    pub surface: Surface,
    /// The lines that differ, in the unified format; empty if none do.
    pub unified: String,
}

impl Preludes {
    /// Compares two versions, of one prelude or of two.
    pub fn diff(&self, from: &Ref, to: &Ref) -> Result<Diff, PreludeError> {
        let (old, new) =
            self.store.read(|tx| Ok::<_, PreludeError>((rows::read(tx, from)?, rows::read(tx, to)?)))?;
        let (old_forms, new_forms) = (Forms::scan(&old.source)?, Forms::scan(&new.source)?);
        let only = |a: &Forms, b: &Forms| -> Vec<String> {
            a.definitions()
                .filter(|form| b.definition(&form.name).is_none())
                .map(|form| form.name.clone())
                .collect()
        };
        let changed = old_forms.definitions().filter(|form| {
            new_forms
                .definition(&form.name)
                .is_some_and(|other| old_forms.text(form) != new_forms.text(other))
        });
        let pin = |version: &super::Version| Pin {
            id: version.id.clone(),
            version: version.version,
            checksum: version.checksum.clone(),
        };
        let (from, to) = (pin(&old.version), pin(&new.version));
        let names = (format!("{}@{}", from.id, from.version), format!("{}@{}", to.id, to.version));
        let lines = TextDiff::configure()
            .algorithm(Algorithm::Myers)
            .timeout(PATIENCE)
            .diff_lines(&old.source, &new.source);
        Ok(Diff {
            added: only(&new_forms, &old_forms),
            removed: only(&old_forms, &new_forms),
            changed: changed.map(|form| form.name.clone()).collect(),
            surface: Surface::between(&old_forms, &new_forms),
            unified: lines.unified_diff().context_radius(3).header(&names.0, &names.1).to_string(),
            from,
            to,
        })
    }
}
