//! Runs that go on: what changed, as it is written.

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::extract::{Path, State};
use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use futures_util::{Stream, stream};
use ptc_trace::{Node, ReadBounds, Trace, list, read_from};
use serde_json::json;

use crate::Site;
use crate::runs::{Refusal, blocking, open};
use crate::shown::{BOUNDS, Shown};

/// How often files are looked at.
const PAUSE: Duration = Duration::from_millis(250);
/// How often the directory is looked at.
const DIR_PAUSE: Duration = Duration::from_millis(1_000);

type Events<S> = Result<Sse<S>, Refusal>;

/// Follows one run: every event of the stream has the spans that are new or changed.
pub async fn follow(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
) -> Events<impl Stream<Item = Result<Event, Infallible>>> {
    let opening = site.clone();
    let follower = blocking(move || Follower::open(&opening, &name)).await??;
    let events = stream::unfold(Some((site, follower)), |state| async move {
        let (site, mut follower) = state?;
        loop {
            let looked = blocking({
                let site = site.clone();
                move || {
                    let event = follower.look(&site);
                    (follower, event)
                }
            });
            let event;
            (follower, event) = looked.await.ok()?;
            match event {
                Some((event, true)) => return Some((Ok(event), None)),
                Some((event, false)) => return Some((Ok(event), Some((site, follower)))),
                None => tokio::time::sleep(PAUSE).await,
            }
        }
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

/// A file that grows. It stays open, so that it may be renamed.
struct Follower {
    name: String,
    file: File,
    trace: Trace,
    sent: Vec<Node>,
    first: bool,
}

impl Follower {
    fn open(site: &Site, name: &str) -> Result<Self, Refusal> {
        let (name, path) = open(site, name)?;
        let failed = |error: io::Error| (axum::http::StatusCode::NOT_FOUND, error.to_string());
        let file = File::open(path).map_err(failed)?;
        Ok(Follower { name, file, trace: Trace::default(), sent: Vec::new(), first: true })
    }

    /// What is new, and whether nothing more will come; `None` if nothing is new.
    fn look(&mut self, site: &Site) -> Option<(Event, bool)> {
        let grown = self.read_on().ok()?;
        if !grown && !self.first {
            return None;
        }
        self.first = false;
        let over = self.trace.cut || self.trace.records.iter().any(|record| record.event == "trace.stop");
        if over && let Ok((name, _)) = open(site, &self.name) {
            self.name = name;
        }
        let shown = Shown::new(&self.name, &self.trace);
        let changed: Vec<(usize, &Node)> = shown
            .tree
            .nodes
            .iter()
            .enumerate()
            .filter(|(at, node)| self.sent.get(*at) != Some(*node))
            .collect();
        let data = json!({
            "file": shown.file, "summary": shown.tree.summary, "roots": shown.tree.roots,
            "loose": shown.tree.loose, "nodes": changed, "over": over,
            "bad_lines": shown.bad_lines, "torn": false, "cut": shown.cut,
        });
        self.sent = shown.tree.nodes;
        Some((Event::default().event("spans").data(data.to_string()), over))
    }

    /// Reads what was written since the last look; true if there was something.
    fn read_on(&mut self) -> io::Result<bool> {
        let length = self.file.metadata()?.len();
        let at = self.trace.bytes;
        if length <= at || self.trace.cut {
            return Ok(false);
        }
        self.file.seek(SeekFrom::Start(at))?;
        let room = ReadBounds {
            bytes: BOUNDS.bytes.saturating_sub(at),
            events: BOUNDS.events.saturating_sub(self.trace.records.len()),
            ..BOUNDS
        };
        let more = read_from(&mut self.file, room)?;
        self.trace.records.extend(more.records);
        self.trace.bad_lines += more.bad_lines;
        self.trace.bytes += more.bytes;
        self.trace.cut = more.cut;
        Ok(more.bytes > 0 || more.cut)
    }
}

/// Says when the list of runs is another.
pub async fn watch(State(site): State<Arc<Site>>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let events = stream::unfold((site, None), |(site, mut seen)| async move {
        loop {
            let dir = site.dir.clone();
            let now = blocking(move || state(&dir)).await.ok()?;
            if seen.replace(now.clone()).is_some_and(|before| before != now) {
                return Some((Ok(Event::default().event("runs").data("changed")), (site, seen)));
            }
            tokio::time::sleep(DIR_PAUSE).await;
        }
    });
    Sse::new(events).keep_alive(KeepAlive::default())
}

/// Names, sizes and times of the newest files.
fn state(dir: &std::path::Path) -> Vec<(String, u64, SystemTime)> {
    list(dir, 1_000).into_iter().map(|entry| (entry.name, entry.bytes, entry.modified)).collect()
}
