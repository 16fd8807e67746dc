//! Taking preludes out of a store and into another: snapshots of everything, files of some, and the
//! fingerprint by which two stores are compared.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use super::error::{PreludeError, Reason, quoted, refuse};
use super::model::{Candidate, Metadata, Pin, Ref, Selection, check_id, checksum, hex};
use super::rows::{self, Heads, New};
use super::{Preludes, SUBJECT};

/// The number of the snapshot format.
const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Snapshot {
    format: u32,
    fingerprint: String,
    preludes: Vec<SavedPrelude>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedPrelude {
    id: String,
    current_version: i64,
    latest_version: i64,
    versions: Vec<SavedVersion>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedVersion {
    version: i64,
    checksum: String,
    source: String,
    metadata: Metadata,
    created_at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    selected: Option<SavedSelection>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pins: Vec<SavedPin>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedSelection {
    at: i64,
    metadata: Metadata,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedPin {
    id: String,
    version: i64,
    checksum: String,
}

/// A file that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// The version in it.
    pub version: Pin,
    /// Where it is.
    pub path: PathBuf,
}

impl Preludes {
    /// One text that names the default version and checksum of every prelude.
    pub fn fingerprint(&self) -> Result<String, PreludeError> {
        let listed = self.list()?;
        Ok(fingerprint(
            listed.iter().map(|one| (one.id.as_str(), one.current_version, one.checksum.as_str())),
        ))
    }

    /// Everything the store holds of preludes, as JSON.
    pub fn snapshot(&self) -> Result<Json, PreludeError> {
        let snapshot = self.store.read(|tx| {
            let listed = rows::list(tx)?;
            let fingerprint = fingerprint(
                listed.iter().map(|one| (one.id.as_str(), one.current_version, one.checksum.as_str())),
            );
            let mut preludes = Vec::with_capacity(listed.len());
            for one in listed {
                let mut versions = Vec::new();
                for version in rows::history(tx, &one.id)? {
                    let wanted = Ref { id: one.id.clone(), version: Some(version.version), checksum: None };
                    versions.push(saved(rows::read(tx, &wanted)?));
                }
                preludes.push(SavedPrelude {
                    id: one.id,
                    current_version: one.current_version,
                    latest_version: one.latest_version,
                    versions,
                });
            }
            Ok::<_, PreludeError>(Snapshot { format: FORMAT, fingerprint, preludes })
        })?;
        serde_json::to_value(snapshot).map_err(|error| refuse(Reason::InvalidSnapshot, error.to_string()))
    }

    /// Puts a snapshot into a store that has no preludes yet. Every checksum, default and pin is checked first.
    pub fn restore(&self, snapshot: &Json) -> Result<(), PreludeError> {
        let snapshot: Snapshot = Deserialize::deserialize(snapshot).map_err(|error| {
            refuse(Reason::InvalidSnapshot, format!("not a snapshot of preludes: {error}"))
        })?;
        check_snapshot(&snapshot)?;
        self.store.write(SUBJECT, |tx| {
            if rows::count(tx)? > 0 {
                let message = "the store has preludes already; restore into an empty one";
                return Err(refuse(Reason::RestoreMismatch, message));
            }
            for prelude in &snapshot.preludes {
                for version in &prelude.versions {
                    restore_version(tx, &prelude.id, version)?;
                }
                let heads = Heads { current: prelude.current_version, latest: prelude.latest_version };
                rows::set_heads(tx, &prelude.id, heads)?;
            }
            Ok(())
        })
    }

    /// Writes a version as `ID.clj` into a folder, with `ID.deps` beside it if it needs others: what
    /// [`Preludes::seed`] reads.
    pub fn export(&self, wanted: &Ref, folder: &Path) -> Result<Exported, PreludeError> {
        export(&self.read(wanted)?, folder)
    }

    /// Writes versions and everything they need.
    pub fn export_bundle(&self, wanted: &[Ref], folder: &Path) -> Result<Vec<Exported>, PreludeError> {
        let bundle = self.resolve(wanted)?;
        bundle.iter().map(|resolved| export(&resolved.candidate, folder)).collect()
    }
}

fn fingerprint<'a>(defaults: impl Iterator<Item = (&'a str, i64, &'a str)>) -> String {
    let mut lines: Vec<String> =
        defaults.map(|(id, version, checksum)| format!("{id}\t{version}\t{checksum}")).collect();
    lines.sort();
    format!("sha256:{}", hex(&Sha256::digest(lines.join("\n").as_bytes())))
}

fn saved(candidate: Candidate) -> SavedVersion {
    let Candidate { version, source } = candidate;
    SavedVersion {
        version: version.version,
        checksum: version.checksum,
        source,
        metadata: version.metadata,
        created_at: version.created_at,
        selected: version.selected.map(|Selection { at, metadata }| SavedSelection { at, metadata }),
        pins: version
            .pins
            .into_iter()
            .map(|Pin { id, version, checksum }| SavedPin { id, version, checksum })
            .collect(),
    }
}

fn restore_version(tx: &mut crate::tx::Tx<'_>, id: &str, saved: &SavedVersion) -> Result<(), PreludeError> {
    let selected = saved
        .selected
        .as_ref()
        .map(|selected| Selection { at: selected.at, metadata: selected.metadata.clone() });
    let pins: Vec<Pin> = saved
        .pins
        .iter()
        .map(|pin| Pin { id: pin.id.clone(), version: pin.version, checksum: pin.checksum.clone() })
        .collect();
    let new = New {
        id,
        version: saved.version,
        checksum: &saved.checksum,
        source: &saved.source,
        metadata: &saved.metadata,
        created_at: saved.created_at,
        selected: selected.as_ref(),
        pins: &pins,
    };
    Ok(rows::insert(tx, &new)?)
}

/// A snapshot that does not contradict itself.
fn check_snapshot(snapshot: &Snapshot) -> Result<(), PreludeError> {
    let invalid = |message: String| Err(refuse(Reason::InvalidSnapshot, message));
    let mismatch = |message: String| Err(refuse(Reason::RestoreMismatch, message));
    if snapshot.format != FORMAT {
        return invalid(format!("the snapshot has format {}, this version knows {FORMAT}", snapshot.format));
    }
    let mut checksums: BTreeMap<(&str, i64), &str> = BTreeMap::new();
    for prelude in &snapshot.preludes {
        check_id(&prelude.id).or_else(|_| invalid(format!("{} is no prelude id", quoted(&prelude.id))))?;
        for version in &prelude.versions {
            if checksum(&version.source) != version.checksum {
                return mismatch(format!(
                    "the source of `{}@{}` does not fit its checksum",
                    prelude.id, version.version
                ));
            }
            if checksums.insert((&prelude.id, version.version), &version.checksum).is_some() {
                return invalid(format!("`{}@{}` is there twice", prelude.id, version.version));
            }
        }
        let numbers = || prelude.versions.iter().map(|version| version.version);
        let kept = |wanted: i64| numbers().any(|version| version == wanted);
        let in_range = numbers().all(|version| version > 0 && version <= prelude.latest_version);
        if !kept(prelude.current_version) || !in_range {
            return mismatch(format!(
                "the default or latest version of `{}` is not among its versions",
                prelude.id
            ));
        }
    }
    for (prelude, version) in snapshot
        .preludes
        .iter()
        .flat_map(|prelude| prelude.versions.iter().map(move |version| (prelude, version)))
    {
        for pin in &version.pins {
            if checksums.get(&(pin.id.as_str(), pin.version)) != Some(&pin.checksum.as_str()) {
                return mismatch(format!(
                    "`{}@{}` needs `{}@{}`, which is not in the snapshot with that checksum",
                    prelude.id,
                    version.version,
                    quoted(&pin.id),
                    pin.version
                ));
            }
        }
    }
    let defaults = snapshot.preludes.iter().map(|prelude| {
        let of = checksums.get(&(prelude.id.as_str(), prelude.current_version)).copied().unwrap_or_default();
        (prelude.id.as_str(), prelude.current_version, of)
    });
    match fingerprint(defaults) == snapshot.fingerprint {
        true => Ok(()),
        false => mismatch("the defaults do not fit the fingerprint of the snapshot".to_owned()),
    }
}

fn export(candidate: &Candidate, folder: &Path) -> Result<Exported, PreludeError> {
    let version = &candidate.version;
    let failed = |path: &Path, error: std::io::Error| {
        refuse(Reason::ExportFailed, format!("cannot write {}: {error}", path.display()))
    };
    ptc_system::project::folder(folder).map_err(|error| failed(folder, error))?;
    let path = folder.join(format!("{}.clj", version.id));
    let needs = folder.join(format!("{}.deps", version.id));
    if !version.pins.is_empty() {
        let lines: String = version.pins.iter().map(|pin| format!("{}\n", pin.id)).collect();
        ptc_system::project::replace(&needs, lines.as_bytes()).map_err(|error| failed(&needs, error))?;
    }
    ptc_system::project::replace(&path, candidate.source.as_bytes()).map_err(|error| failed(&path, error))?;
    let pin = Pin { id: version.id.clone(), version: version.version, checksum: version.checksum.clone() };
    Ok(Exported { version: pin, path })
}
