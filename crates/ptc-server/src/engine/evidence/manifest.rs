//! The manifest of a bundle: what there is, checked and read once when the server starts. Files lie below the folder of
//! the manifest; whatever leads out of it, by name or by link, keeps the bundle from being loaded.

use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};

use super::super::text::{cut, hex};
use super::super::turnlog::{TurnLog, outlines, totals};
use super::{Bundle, EvidenceContent, Item};

/// Bytes of an item that one read gives, unless the manifest says less.
const ITEM_BYTES: usize = 64 << 10;
/// Bytes of a file.
const FILE_BYTES: u64 = 8 << 20;
/// Bytes of all files.
const TOTAL_BYTES: u64 = 64 << 20;
/// Items of a bundle.
const ITEMS: usize = 1_000;

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceKind {
    Text,
    Markdown,
    Json,
    LogCounters,
    LogTurns,
    PreludeExport,
    AnswerKey,
    OperatorOnly,
}

impl EvidenceKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            EvidenceKind::Text => "text",
            EvidenceKind::Markdown => "markdown",
            EvidenceKind::Json => "json",
            EvidenceKind::LogCounters => "log_counters",
            EvidenceKind::LogTurns => "log_turns",
            EvidenceKind::PreludeExport => "prelude_export",
            EvidenceKind::AnswerKey => "answer_key",
            EvidenceKind::OperatorOnly => "operator_only",
        }
    }

    /// Whether no model may ever see it.
    fn is_secret(self) -> bool {
        matches!(self, EvidenceKind::AnswerKey | EvidenceKind::OperatorOnly)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    schema_version: u64,
    bundle_id: String,
    max_item_bytes: Option<usize>,
    items: Vec<ManifestEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ManifestEntry {
    id: String,
    kind: EvidenceKind,
    path: String,
    title: Option<String>,
    model_visible: Option<bool>,
}

impl Bundle {
    /// Reads a bundle; the error says what is wrong with it and where.
    pub fn load(manifest: &Path) -> Result<Bundle, String> {
        let text = std::fs::read_to_string(manifest).map_err(|error| error.to_string())?;
        let read: Manifest =
            serde_json::from_str(&text).map_err(|error| format!("is no manifest: {error}"))?;
        if read.schema_version != 1 {
            return Err(format!("has schema_version {}; this server reads 1", read.schema_version));
        }
        if !is_id(&read.bundle_id) {
            return Err("bundle_id must be 1 to 128 letters, digits, `_`, `.` or `-`".to_owned());
        }
        if read.items.len() > ITEMS {
            return Err(format!("has more than {ITEMS} items"));
        }
        let folder = manifest.parent().filter(|folder| !folder.as_os_str().is_empty());
        let root = folder.unwrap_or(Path::new(".")).canonicalize().map_err(|error| error.to_string())?;
        let mut bundle = Bundle {
            id: read.bundle_id,
            max_item_bytes: read.max_item_bytes.unwrap_or(ITEM_BYTES).clamp(1, ITEM_BYTES),
            items: Vec::new(),
        };
        let mut total = 0;
        for (at, entry) in read.items.iter().enumerate() {
            let item = item(&root, entry, &mut total).map_err(|error| format!("items[{at}]: {error}"))?;
            if bundle.items.iter().any(|known| known.id == entry.id) {
                return Err(format!("items[{at}]: the id {} is used twice", entry.id));
            }
            bundle.items.extend(item);
        }
        Ok(bundle)
    }
}

fn is_id(text: &str) -> bool {
    (1..=128).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

/// An item that models may see; `None` if they may not. Its path is checked either way.
fn item(root: &Path, entry: &ManifestEntry, total: &mut u64) -> Result<Option<Item>, String> {
    if !is_id(&entry.id) {
        return Err("id must be 1 to 128 letters, digits, `_`, `.` or `-`".to_owned());
    }
    let path = inside(root, &entry.path)?;
    if entry.kind.is_secret() {
        return match entry.model_visible {
            Some(true) => Err(format!("an item of kind {} can never be model_visible", entry.kind.name())),
            _ => Ok(None),
        };
    }
    if !entry.model_visible.unwrap_or(true) {
        return Ok(None);
    }
    let size = path.metadata().map_err(|error| error.to_string())?.len();
    *total += size;
    if size > FILE_BYTES || *total > TOTAL_BYTES {
        return Err(format!(
            "{} is too large: a file has at most {FILE_BYTES} bytes, all have {TOTAL_BYTES}",
            entry.path
        ));
    }
    let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", entry.path))?;
    let checksum = format!("sha256:{}", hex(&Sha256::digest(&bytes)));
    let content = content(entry.kind, &path, &bytes).map_err(|error| format!("{} {error}", entry.path))?;
    Ok(Some(Item {
        id: entry.id.clone(),
        kind: entry.kind,
        title: entry.title.as_deref().map(|title| cut(title, 256).to_owned()),
        source_ref: entry.path.clone(),
        checksum,
        bytes: bytes.len(),
        content,
    }))
}

fn content(kind: EvidenceKind, path: &Path, bytes: &[u8]) -> Result<EvidenceContent, String> {
    let text = || std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| "is no UTF-8 text".to_owned());
    Ok(match kind {
        EvidenceKind::Json => {
            let json: Json = serde_json::from_slice(bytes).map_err(|error| format!("is no JSON: {error}"))?;
            EvidenceContent::Data(json)
        }
        EvidenceKind::LogTurns => EvidenceContent::Data(outlines(&TurnLog::load(path)?).into()),
        EvidenceKind::LogCounters => EvidenceContent::Data(totals(&TurnLog::load(path)?)),
        _ => EvidenceContent::Text(text()?),
    })
}

/// The file of an item, which must lie below the root whatever links say.
fn inside(root: &Path, path: &str) -> Result<PathBuf, String> {
    let plain = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    if path.is_empty() || !plain {
        return Err(format!("the path {} must be relative and without `..`", cut(path, 200)));
    }
    let found = root.join(path).canonicalize().map_err(|error| format!("{}: {error}", cut(path, 200)))?;
    if !found.starts_with(root) {
        return Err(format!("the path {} leads out of the bundle", cut(path, 200)));
    }
    if !found.is_file() {
        return Err(format!("{} is no file", cut(path, 200)));
    }
    Ok(found)
}
