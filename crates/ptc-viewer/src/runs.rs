//! The list of runs, one run, and one value of a run.

use std::path::Path as FilePath;
use std::sync::{Arc, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use ptc_http::Json as Body;
use ptc_trace::{Entry, ReadBounds, Summary, Trace, Tree, find, list as files, read};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::Site;
use crate::shown::{BOUNDS, Shown};

/// Files that are listed.
const MOST: usize = 1_000;
/// How much of a file a list looks at.
const GLANCE: ReadBounds = ReadBounds { bytes: 16 << 20, line_bytes: 4 << 20, events: 20_000 };

/// Why there is no answer.
pub type Refusal = (StatusCode, String);

/// What a file was when it was looked at last.
pub struct Known {
    modified: SystemTime,
    bytes: u64,
    summary: Summary,
}

/// A run of the list.
#[derive(Debug, Serialize)]
struct Listed {
    file: String,
    bytes: u64,
    /// When it changed last, in milliseconds since 1970.
    modified: u64,
    /// What was searched for stands in the file and not in its summary.
    inside: bool,
    summary: Summary,
}

/// What is searched for.
#[derive(Debug, Default, Deserialize)]
pub struct Search {
    #[serde(default)]
    q: String,
}

/// Runs work that blocks.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Refusal> {
    let failed = |_| (StatusCode::INTERNAL_SERVER_ERROR, "this trace cannot be shown".to_owned());
    tokio::task::spawn_blocking(work).await.map_err(failed)
}

/// The runs, the newest first; with a search, those that it finds.
pub async fn list(
    State(site): State<Arc<Site>>,
    Query(search): Query<Search>,
) -> Result<Body<Json>, Refusal> {
    blocking(move || {
        let entries = files(&site.dir, MOST);
        let total = entries.len();
        let wanted = search.q.trim().to_lowercase();
        let runs: Vec<Listed> = entries.into_iter().filter_map(|entry| site.listed(entry, &wanted)).collect();
        Body(json!({"dir": site.dir.display().to_string(), "total": total, "most": MOST, "runs": runs}))
    })
    .await
}

impl Site {
    fn listed(&self, entry: Entry, wanted: &str) -> Option<Listed> {
        let summary = self.summary(&entry)?;
        let shown = || serde_json::to_string(&summary).unwrap_or_default().to_lowercase();
        let found = wanted.is_empty() || entry.name.contains(wanted) || shown().contains(wanted);
        let inside = !found && holds(&entry.path, wanted);
        let modified = entry.modified.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        (found || inside).then(|| Listed {
            file: entry.name,
            bytes: entry.bytes,
            modified: u64::try_from(modified).unwrap_or(0),
            inside,
            summary,
        })
    }

    /// The summary of a file, read again only if the file changed.
    fn summary(&self, entry: &Entry) -> Option<Summary> {
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&entry.name)
            && known.modified == entry.modified
            && known.bytes == entry.bytes
        {
            return Some(known.summary.clone());
        }
        let summary = Shown::new(&entry.name, &read(&entry.path, GLANCE).ok()?).tree.summary;
        let known = Known { modified: entry.modified, bytes: entry.bytes, summary: summary.clone() };
        let mut all = lock();
        if all.len() > 2 * MOST {
            all.clear();
        }
        all.insert(entry.name.clone(), known);
        Some(summary)
    }
}

/// Whether a file holds a text, in any case of letters, within what a list looks at.
fn holds(path: &FilePath, wanted: &str) -> bool {
    use std::io::{BufRead, BufReader, Read};
    let Ok(file) = std::fs::File::open(path) else { return false };
    // Texts stand in the file as JSON writes them.
    let written = Json::from(wanted).to_string();
    let wanted = written.trim_matches('"').to_owned();
    let mut source = BufReader::new(file.take(GLANCE.bytes));
    let mut line = Vec::new();
    while source.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
        if String::from_utf8_lossy(&line).to_lowercase().contains(&wanted) {
            return true;
        }
        line.clear();
    }
    false
}

/// Reads a file by its name. A run that ended meanwhile has another name than when it was listed.
pub fn open(site: &Site, name: &str) -> Result<(String, std::path::PathBuf), Refusal> {
    let ended = name.strip_suffix("-pending.jsonl");
    let names = std::iter::once(name.to_owned())
        .chain(ended.into_iter().flat_map(|stem| ["ok", "error"].map(|end| format!("{stem}-{end}.jsonl"))));
    let mut found = names.filter_map(|name| find(&site.dir, &name).map(|path| (name, path)));
    found.next().ok_or((StatusCode::NOT_FOUND, "there is no such trace any more".to_owned()))
}

fn trace(path: &FilePath) -> Result<Trace, Refusal> {
    read(path, BOUNDS).map_err(|error| (StatusCode::NOT_FOUND, format!("cannot be read: {error}")))
}

/// One run.
pub async fn one(State(site): State<Arc<Site>>, Path(name): Path<String>) -> Result<Body<Shown>, Refusal> {
    blocking(move || {
        let (name, path) = open(&site, &name)?;
        Ok(Body(Shown::new(&name, &trace(&path)?)))
    })
    .await?
}

/// The file itself, within what the page shows of one.
pub async fn raw(State(site): State<Arc<Site>>, Path(name): Path<String>) -> Result<Response, Refusal> {
    use std::io::Read;
    let bytes = blocking(move || {
        let (_, path) = open(&site, &name)?;
        let failed = |error: std::io::Error| (StatusCode::NOT_FOUND, format!("cannot be read: {error}"));
        let mut bytes = Vec::new();
        let file = std::fs::File::open(path).map_err(failed)?;
        file.take(BOUNDS.bytes).read_to_end(&mut bytes).map_err(failed)?;
        Ok::<_, Refusal>(bytes)
    })
    .await??;
    let headers = [(CONTENT_TYPE, "application/x-ndjson"), (CONTENT_DISPOSITION, "attachment")];
    Ok((headers, bytes).into_response())
}

/// Which value is wanted whole.
#[derive(Debug, Deserialize)]
pub struct Wanted {
    span: usize,
    field: String,
}

/// A value that was cut, whole.
pub async fn value(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Result<Body<Json>, Refusal> {
    blocking(move || {
        let (_, path) = open(&site, &name)?;
        let mut tree = Tree::of(&trace(&path)?);
        let node = tree.nodes.get_mut(wanted.span);
        let value = node.and_then(|node| node.data.remove(&wanted.field));
        value.map(Body).ok_or((StatusCode::NOT_FOUND, "there is no such value".to_owned()))
    })
    .await?
}
