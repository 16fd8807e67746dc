//! References to preludes and what the store knows about a version.

use serde_json::{Map, Value as Json};
use sha2::{Digest, Sha256};

use super::error::{PreludeError, Reason, quoted, refuse};

/// Longest id in bytes.
const MAX_ID: usize = 128;

/// Notes to a version. Whoever writes may keep anything here; models see only the documented keys.
pub type Metadata = Map<String, Json>;

/// How much a store of preludes may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Longest source in bytes.
    pub max_source_bytes: usize,
    /// Latest versions that are kept of each prelude; versions that were made the default by hand or that
    /// others need are kept beside them.
    pub max_versions: usize,
    /// Most preludes.
    pub max_ids: usize,
    /// Most bytes of source and metadata in all retained versions together; superseded ones make room for new ones.
    pub max_total_bytes: usize,
    /// Longest metadata in bytes of JSON.
    pub max_metadata_bytes: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds {
            max_source_bytes: 1_000_000,
            max_versions: 1000,
            max_ids: 1000,
            max_total_bytes: 10 * 1024 * 1024,
            max_metadata_bytes: 8 * 1024,
        }
    }
}

/// Names a prelude: its default version, or an exact one, and possibly what the source must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ref {
    /// The prelude.
    pub id: String,
    /// The version; the default one if not given.
    pub version: Option<i64>,
    /// The checksum that the version must have.
    pub checksum: Option<String>,
}

impl Ref {
    /// The default version of a prelude.
    pub fn current(id: &str) -> Result<Ref, PreludeError> {
        check_id(id)?;
        Ok(Ref { id: id.to_owned(), version: None, checksum: None })
    }

    /// Reads `id` or `id@version`.
    pub fn parse(text: &str) -> Result<Ref, PreludeError> {
        let Some((id, version)) = text.split_once('@') else { return Ref::current(text) };
        check_id(id)?;
        let plain = version.bytes().all(|byte| byte.is_ascii_digit()) && !version.starts_with('0');
        match version.parse::<i64>() {
            Ok(version) if plain => Ok(Ref { id: id.to_owned(), version: Some(version), checksum: None }),
            _ => Err(refuse(
                Reason::InvalidRef,
                "the version after `@` must be a positive integer, as in `paged@2`",
            )),
        }
    }

    /// Reads a text, or a map of `id`, `version` and `checksum`.
    pub fn from_json(json: &Json) -> Result<Ref, PreludeError> {
        let wrong = |message: &str| Err(refuse(Reason::InvalidRef, message));
        let map = match json {
            Json::String(text) => return Ref::parse(text),
            Json::Object(map) => map,
            _ => return wrong("a reference is a text such as `paged` or `paged@2`, or a map with `id`"),
        };
        if let Some(key) = map.keys().find(|key| !["id", "version", "checksum"].contains(&key.as_str())) {
            return wrong(&format!("a reference has `id`, `version` and `checksum`, not {}", quoted(key)));
        }
        let Some(Json::String(id)) = map.get("id") else { return wrong("a reference needs `id`, a text") };
        let mut found = Ref::current(id)?;
        found.version = match map.get("version") {
            None | Some(Json::Null) => None,
            Some(version) => match version.as_i64().filter(|version| *version > 0) {
                Some(version) => Some(version),
                None => return wrong("`version` must be a positive integer"),
            },
        };
        found.checksum = match map.get("checksum") {
            None | Some(Json::Null) => None,
            Some(Json::String(checksum)) => Some(checksum.clone()),
            Some(_) => return wrong("`checksum` must be a text"),
        };
        Ok(found)
    }
}

impl std::fmt::Display for Ref {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.version {
            Some(version) => write!(f, "{}@{version}", self.id),
            None => f.write_str(&self.id),
        }
    }
}

/// An id begins with a letter and goes on with letters, digits, `_`, `.` and `-`.
pub(crate) fn check_id(id: &str) -> Result<(), PreludeError> {
    let fits = id.len() <= MAX_ID
        && id.starts_with(|first: char| first.is_ascii_alphabetic())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
    match fits {
        true => Ok(()),
        false => Err(refuse(
            Reason::InvalidRef,
            format!(
                "{} is no prelude id: it begins with a letter, goes on with letters, digits, `_`, `.` and `-`, \
                 and has {MAX_ID} characters at most",
                quoted(id)
            ),
        )),
    }
}

/// The checksum of a source.
pub fn checksum(source: &str) -> String {
    format!("sha256:{}", hex(&Sha256::digest(source.as_bytes())))
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An exact version that another one needs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pin {
    /// The prelude.
    pub id: String,
    /// The version.
    pub version: i64,
    /// What its source is.
    pub checksum: String,
}

impl Pin {
    /// The pin as JSON.
    pub fn to_json(&self) -> Json {
        serde_json::json!({"id": self.id, "version": self.version, "checksum": self.checksum})
    }
}

/// Somebody made a version the default by hand.
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// Notes to it.
    pub metadata: Metadata,
}

/// What the store knows about a version, without its source.
#[derive(Debug, Clone, PartialEq)]
pub struct Version {
    /// The prelude.
    pub id: String,
    /// The number of the version, beginning with 1.
    pub version: i64,
    /// The checksum of the source.
    pub checksum: String,
    /// The length of the source in bytes.
    pub source_bytes: i64,
    /// Notes of whoever wrote it.
    pub metadata: Metadata,
    /// When it was written, in milliseconds since 1970.
    pub created_at: i64,
    /// Whether it is the default.
    pub is_current: bool,
    /// Whether it is the newest.
    pub is_latest: bool,
    /// When it was last made the default by hand.
    pub selected: Option<Selection>,
    /// The versions of others that it needs, by id.
    pub pins: Vec<Pin>,
}

/// A version with its source.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// What is known about it.
    pub version: Version,
    /// Its source, byte for byte as it was written.
    pub source: String,
}

/// One prelude in the list of all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedPrelude {
    /// The prelude.
    pub id: String,
    /// Its default version.
    pub current_version: i64,
    /// Its newest version.
    pub latest_version: i64,
    /// The checksum of the default version.
    pub checksum: String,
    /// How many versions are retained.
    pub versions: i64,
}

/// What changing the default did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selected {
    /// The version that is the default now.
    pub version: Pin,
    /// The version that was the default before.
    pub previous_version: i64,
    /// The newest version, which stays.
    pub latest_version: i64,
}

/// A prelude of a bundle, resolved to an exact version.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    /// The version with its source.
    pub candidate: Candidate,
    /// Whether it was asked for by name; the others are there because they are needed.
    pub selected: bool,
    /// Which preludes of the bundle need it.
    pub required_by: Vec<String>,
}
