//! The statements of the prelude store.

use serde_json::Value as Json;

use super::error::{PreludeError, Reason, refuse};
use super::model::{Candidate, ListedPrelude, Metadata, Pin, Ref, Selection, Version, checksum};
use super::prune::Pruned;
use crate::StoreError;
use crate::cell::{Row, cells};
use crate::tx::Tx;

/// The default and the newest version of a prelude.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Heads {
    pub current: i64,
    pub latest: i64,
}

/// The heads of a prelude; `None` if there is none of that id.
pub(crate) fn heads(tx: &mut Tx<'_>, id: &str) -> Result<Option<Heads>, StoreError> {
    tx.first("SELECT current_version, latest_version FROM ptc_preludes WHERE id = ?1", cells![id], |row| {
        Ok(Heads { current: row.int(0)?, latest: row.int(1)? })
    })
}

/// All preludes, by id.
pub(crate) fn list(tx: &mut Tx<'_>) -> Result<Vec<ListedPrelude>, StoreError> {
    let sql = "SELECT p.id, p.current_version, p.latest_version, v.checksum,
                      (SELECT COUNT(*) FROM ptc_prelude_versions a WHERE a.id = p.id)
               FROM ptc_preludes p
               JOIN ptc_prelude_versions v ON v.id = p.id AND v.version = p.current_version";
    let mut listed = tx.list(sql, &[], |row| {
        Ok(ListedPrelude {
            id: row.text(0)?,
            current_version: row.int(1)?,
            latest_version: row.int(2)?,
            checksum: row.text(3)?,
            versions: row.int(4)?,
        })
    })?;
    // The databases sort text by rules of their own.
    listed.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(listed)
}

fn metadata(text: &str) -> Result<Metadata, String> {
    serde_json::from_str(text).map_err(|error| format!("metadata of a prelude cannot be read: {error}"))
}

fn version(row: &Row, id: &str, heads: Heads) -> Result<Version, String> {
    let number = row.int(0)?;
    let selected = match (row.maybe_int(5)?, row.maybe_text(6)?) {
        (Some(at), Some(text)) => Some(Selection { at, metadata: metadata(&text)? }),
        _ => None,
    };
    Ok(Version {
        id: id.to_owned(),
        version: number,
        checksum: row.text(1)?,
        source_bytes: row.int(2)?,
        metadata: metadata(&row.text(3)?)?,
        created_at: row.int(4)?,
        is_current: number == heads.current,
        is_latest: number == heads.latest,
        selected,
        pins: Vec::new(),
    })
}

/// The retained versions of a prelude, oldest first.
pub(crate) fn history(tx: &mut Tx<'_>, id: &str) -> Result<Vec<Version>, PreludeError> {
    let heads = heads(tx, id)?.ok_or_else(|| unknown(id))?;
    let mut versions = tx.list(
        "SELECT version, checksum, source_bytes, metadata, created_at, selected_at, selected_metadata
         FROM ptc_prelude_versions WHERE id = ?1 ORDER BY version",
        cells![id],
        |row| version(row, id, heads),
    )?;
    let pins = tx.list(
        "SELECT version, needs_id, needs_version, needs_checksum FROM ptc_prelude_pins WHERE id = ?1",
        cells![id],
        |row| Ok((row.int(0)?, pin(row, 1)?)),
    )?;
    for (of, pin) in pins {
        if let Ok(at) = versions.binary_search_by_key(&of, |version| version.version) {
            versions[at].pins.push(pin);
        }
    }
    versions.iter_mut().for_each(|version| version.pins.sort());
    Ok(versions)
}

fn pin(row: &Row, at: usize) -> Result<Pin, String> {
    Ok(Pin { id: row.text(at)?, version: row.int(at + 1)?, checksum: row.text(at + 2)? })
}

/// What a version needs, by id.
pub(crate) fn pins(tx: &mut Tx<'_>, id: &str, version: i64) -> Result<Vec<Pin>, StoreError> {
    let mut pins = tx.list(
        "SELECT needs_id, needs_version, needs_checksum FROM ptc_prelude_pins WHERE id = ?1 AND version = ?2",
        cells![id, version],
        |row| pin(row, 0),
    )?;
    pins.sort();
    Ok(pins)
}

/// The exact version a reference means. A checksum that differs is refused.
pub(crate) fn resolve(tx: &mut Tx<'_>, wanted: &Ref) -> Result<Pin, PreludeError> {
    let heads = heads(tx, &wanted.id)?.ok_or_else(|| unknown(&wanted.id))?;
    let version = wanted.version.unwrap_or(heads.current);
    let found = tx.first(
        "SELECT checksum FROM ptc_prelude_versions WHERE id = ?1 AND version = ?2",
        cells![&wanted.id, version],
        |row| row.text(0),
    )?;
    let Some(checksum) = found else {
        let message = match version > heads.latest {
            true => format!("`{wanted}` does not exist: the latest version is {}", heads.latest),
            false => format!("`{wanted}` is not retained; see the history of `{}`", wanted.id),
        };
        return Err(refuse(Reason::NotFound, message));
    };
    if wanted.checksum.as_ref().is_some_and(|wanted| *wanted != checksum) {
        let message =
            format!("`{}@{version}` has another checksum than the one given; read it again", wanted.id);
        return Err(refuse(Reason::ChecksumMismatch, message));
    }
    Ok(Pin { id: wanted.id.clone(), version, checksum })
}

/// A version with its source, which must be what its checksum says.
pub(crate) fn read(tx: &mut Tx<'_>, wanted: &Ref) -> Result<Candidate, PreludeError> {
    let found = resolve(tx, wanted)?;
    let heads = heads(tx, &found.id)?.ok_or_else(|| unknown(&found.id))?;
    let read = tx.first(
        "SELECT version, checksum, source_bytes, metadata, created_at, selected_at, selected_metadata, source
         FROM ptc_prelude_versions WHERE id = ?1 AND version = ?2",
        cells![&found.id, found.version],
        |row| Ok((version(row, &found.id, heads)?, row.bytes(7)?)),
    )?;
    let (mut version, bytes) = read.ok_or_else(|| unknown(&found.id))?;
    version.pins = pins(tx, &version.id, version.version)?;
    match String::from_utf8(bytes) {
        Ok(source) if checksum(&source) == version.checksum => Ok(Candidate { version, source }),
        _ => {
            let detail =
                format!("the source of `{}@{}` does not fit its checksum", version.id, version.version);
            Err(tx.damaged(detail).into())
        }
    }
}

/// A version that is about to be stored.
pub(crate) struct New<'a> {
    pub id: &'a str,
    pub version: i64,
    pub checksum: &'a str,
    pub source: &'a str,
    pub metadata: &'a Metadata,
    pub created_at: i64,
    pub selected: Option<&'a Selection>,
    pub pins: &'a [Pin],
}

/// Stores a version; the heads are the caller's business.
pub(crate) fn insert(tx: &mut Tx<'_>, new: &New<'_>) -> Result<(), StoreError> {
    let bytes = i64::try_from(new.source.len()).unwrap_or(i64::MAX);
    tx.run(
        "INSERT INTO ptc_prelude_versions
           (id, version, checksum, source, source_bytes, metadata, created_at, selected_at, selected_metadata)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        cells![
            new.id,
            new.version,
            new.checksum,
            new.source.as_bytes(),
            bytes,
            written(new.metadata),
            new.created_at,
            new.selected.map(|selected| selected.at),
            new.selected.map(|selected| written(&selected.metadata)),
        ],
    )?;
    for pin in new.pins {
        tx.run(
            "INSERT INTO ptc_prelude_pins (id, version, needs_id, needs_version, needs_checksum)
             VALUES (?1, ?2, ?3, ?4, ?5)",
            cells![new.id, new.version, &pin.id, pin.version, &pin.checksum],
        )?;
    }
    Ok(())
}

/// Sets the heads of a prelude.
pub(crate) fn set_heads(tx: &mut Tx<'_>, id: &str, heads: Heads) -> Result<(), StoreError> {
    tx.run(
        "INSERT INTO ptc_preludes (id, current_version, latest_version) VALUES (?1, ?2, ?3)
         ON CONFLICT (id) DO UPDATE
         SET current_version = excluded.current_version, latest_version = excluded.latest_version",
        cells![id, heads.current, heads.latest],
    )
    .map(|_| ())
}

/// Notes that a version was made the default by hand.
pub(crate) fn select(tx: &mut Tx<'_>, pin: &Pin, at: i64, metadata: &Metadata) -> Result<(), StoreError> {
    tx.run(
        "UPDATE ptc_prelude_versions SET selected_at = ?3, selected_metadata = ?4 WHERE id = ?1 AND version = ?2",
        cells![&pin.id, pin.version, at, written(metadata)],
    )
    .map(|_| ())
}

/// Removes versions up to `last` that are neither the default, nor chosen by hand, nor needed by others.
pub(crate) fn prune(tx: &mut Tx<'_>, id: &str, last: i64, current: i64) -> Result<(), StoreError> {
    tx.run(
        "DELETE FROM ptc_prelude_versions
         WHERE id = ?1 AND version <= ?2 AND version <> ?3 AND selected_at IS NULL
           AND NOT EXISTS (SELECT 1 FROM ptc_prelude_pins p
                           WHERE p.needs_id = ptc_prelude_versions.id AND p.needs_version = ptc_prelude_versions.version)",
        cells![id, last, current],
    )?;
    tx.run(
        "DELETE FROM ptc_prelude_pins
         WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM ptc_prelude_versions v
                                       WHERE v.id = ptc_prelude_pins.id AND v.version = ptc_prelude_pins.version)",
        cells![id],
    )
    .map(|_| ())
}

/// All versions that may go, by id and version: neither the default nor the newest, not chosen by hand, and not needed by
/// others.
pub(crate) fn superseded(tx: &mut Tx<'_>) -> Result<Vec<Pruned>, StoreError> {
    let sql = "SELECT v.id, v.version, CAST(v.source_bytes + OCTET_LENGTH(v.metadata) AS BIGINT), v.source_bytes
               FROM ptc_prelude_versions v
               JOIN ptc_preludes p ON p.id = v.id
               WHERE v.version <> p.current_version AND v.version <> p.latest_version AND v.selected_at IS NULL
                 AND NOT EXISTS (SELECT 1 FROM ptc_prelude_pins n
                                 WHERE n.needs_id = v.id AND n.needs_version = v.version)
               ORDER BY v.version";
    let read = |row: &Row| {
        let (id, version) = (row.text(0)?, row.int(1)?);
        Ok(Pruned { id, version, bytes: row.int(2)?, source_bytes: row.int(3)? })
    };
    let mut superseded = tx.list(sql, &[], read)?;
    superseded.sort_by(|a, b| (&a.id, a.version).cmp(&(&b.id, b.version)));
    Ok(superseded)
}

/// Removes a version.
pub(crate) fn remove(tx: &mut Tx<'_>, id: &str, version: i64) -> Result<(), StoreError> {
    tx.run("DELETE FROM ptc_prelude_versions WHERE id = ?1 AND version = ?2", cells![id, version])?;
    tx.run("DELETE FROM ptc_prelude_pins WHERE id = ?1 AND version = ?2", cells![id, version]).map(|_| ())
}

/// How many preludes there are.
pub(crate) fn count(tx: &mut Tx<'_>) -> Result<i64, StoreError> {
    tx.number("SELECT COUNT(*) FROM ptc_preludes", &[])
}

/// Bytes of source and metadata in all retained versions.
pub(crate) fn total_bytes(tx: &mut Tx<'_>) -> Result<i64, StoreError> {
    tx.number(
        "SELECT CAST(COALESCE(SUM(source_bytes + OCTET_LENGTH(metadata)), 0) AS BIGINT) FROM ptc_prelude_versions",
        &[],
    )
}

/// How many retained versions of a prelude have a checksum.
pub(crate) fn having(tx: &mut Tx<'_>, id: &str, checksum: &str) -> Result<i64, StoreError> {
    tx.number(
        "SELECT COUNT(*) FROM ptc_prelude_versions WHERE id = ?1 AND checksum = ?2",
        cells![id, checksum],
    )
}

/// The refusal for a prelude that is not there.
pub(crate) fn unknown(id: &str) -> PreludeError {
    refuse(Reason::NotFound, format!("there is no prelude `{id}` in the store"))
}

fn written(metadata: &Metadata) -> String {
    Json::Object(metadata.clone()).to_string()
}
