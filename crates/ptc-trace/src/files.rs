//! Traces as files: one per run, JSON lines, named by time, label and how it ended. A file is `pending` while
//! its trace goes on, and the oldest are deleted when there are too many.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ptc_system::private;
use serde_json::{Value as Json, json};

use crate::bound::Bounds;
use crate::payload::sha256;
use crate::record::{Phase, Record};
use crate::sink::Sink;

/// How traces are kept in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// Files that stay; older ones are deleted.
    pub max_files: usize,
    /// Bytes of a file; what comes later is only counted.
    pub max_bytes: u64,
    /// Traces that are written at once; events of others are lost.
    pub max_open: usize,
    /// How long events may be.
    pub bounds: Bounds,
}

impl Default for Keep {
    fn default() -> Self {
        Keep { max_files: 1_000, max_bytes: 64 << 20, max_open: 256, bounds: Bounds::default() }
    }
}

/// Writes every trace into a file of a directory.
pub struct Files {
    dir: PathBuf,
    keep: Keep,
    open: BTreeMap<String, Open>,
    /// Traces that ended, whose stragglers must not begin a new file.
    closed: VecDeque<String>,
    /// How many files there are, about.
    count: usize,
}

/// A file that is being written.
struct Open {
    file: BufWriter<File>,
    stem: PathBuf,
    root: Option<String>,
    seq: u64,
    bytes: u64,
    began: u64,
    last: u64,
    status: String,
    omitted: u64,
    shed: u64,
}

/// Traces that ended and are remembered.
const REMEMBERED: usize = 256;

impl Files {
    /// Files in a directory, which is made if it is not there.
    pub fn open(dir: impl Into<PathBuf>, keep: Keep) -> io::Result<Self> {
        let dir = dir.into();
        private::folder(&dir)?;
        // Whoever cannot write here wants to know before the run.
        let probe = dir.join(format!(".probe-{}", std::process::id()));
        private::create(&probe)?;
        fs::remove_file(&probe)?;
        let count = trace_files(&dir).len();
        Ok(Files { dir, keep, open: BTreeMap::new(), closed: VecDeque::new(), count })
    }

    /// The file of a trace, made with its first event.
    fn file(&mut self, record: &Record) -> Option<&mut Open> {
        if self.open.contains_key(&record.trace_id) {
            return self.open.get_mut(&record.trace_id);
        }
        let begins = record.phase() == Phase::Start && record.parent_span_id.is_none();
        if (!begins && self.closed.contains(&record.trace_id)) || self.open.len() >= self.keep.max_open {
            return None;
        }
        self.rotate();
        let open = Open::new(&self.dir, record, &self.keep).ok()?;
        self.count += 1;
        Some(self.open.entry(record.trace_id.clone()).or_insert(open))
    }

    /// Deletes the oldest files where there are too many.
    fn rotate(&mut self) {
        if self.count < self.keep.max_files {
            return;
        }
        let mut files = trace_files(&self.dir);
        let in_use: Vec<PathBuf> = self.open.values().map(Open::pending).collect();
        files.retain(|(_, path)| !in_use.contains(path));
        files.sort();
        let total = files.len() + in_use.len();
        // A few more than needed, so that not every new file looks through all of them.
        let spare = self.keep.max_files / 20;
        let excess = (total + 1).saturating_sub(self.keep.max_files.saturating_sub(spare).max(1));
        let mut gone = 0;
        for (_, path) in files.into_iter().take(excess) {
            gone += usize::from(fs::remove_file(path).is_ok());
        }
        self.count = total - gone;
    }

    fn finish(&mut self, trace_id: &str) {
        let Some(mut open) = self.open.remove(trace_id) else { return };
        open.stop(trace_id, &self.keep.bounds);
        self.closed.push_back(trace_id.to_owned());
        if self.closed.len() > REMEMBERED {
            self.closed.pop_front();
        }
    }
}

impl Sink for Files {
    fn take(&mut self, record: &Record) {
        self.keep(record.clone());
    }

    fn keep(&mut self, record: Record) {
        let keep = self.keep;
        let Some(open) = self.file(&record) else { return };
        let ended = open.write(record, &keep);
        if let Some(trace_id) = ended {
            self.finish(&trace_id);
        }
    }

    fn shed(&mut self, count: u64) {
        self.open.values_mut().for_each(|open| open.shed += count);
    }

    fn flush(&mut self) {
        for open in self.open.values_mut() {
            // A full disk costs the trace, not the run.
            let _ = open.file.flush();
        }
    }

    fn close(&mut self) {
        // What has not ended stays pending: its run may go on in another process.
        self.flush();
        self.open.clear();
    }
}

impl Open {
    fn new(dir: &Path, record: &Record, keep: &Keep) -> io::Result<Self> {
        // A trace that somebody gave a label, such as the id of a request, is found by it.
        let label = record.data.get("trace_label").and_then(Json::as_str).filter(|label| !label.is_empty());
        let mark = file_mark(label.unwrap_or(&record.trace_id));
        let stem = dir.join(format!("{}-{mark}", file_time(record.timestamp)));
        let (stem, file) = create(&stem)?;
        let mut open = Open {
            file: BufWriter::new(file),
            stem,
            root: None,
            seq: 0,
            bytes: 0,
            began: record.timestamp,
            last: record.timestamp,
            status: "ok".to_owned(),
            omitted: 0,
            shed: 0,
        };
        if record.event != "trace.start" {
            let header = Record::header(record);
            open.write(header, keep);
        }
        Ok(open)
    }

    fn pending(&self) -> PathBuf {
        suffixed(&self.stem, "pending")
    }

    /// Writes an event; the trace that it ends, if it does.
    fn write(&mut self, mut record: Record, keep: &Keep) -> Option<String> {
        self.last = self.last.max(record.timestamp);
        if self.root.is_none() && record.parent_span_id.is_none() {
            self.root.clone_from(&record.span_id);
        }
        record.seq = self.seq;
        self.seq += 1;
        if self.bytes > keep.max_bytes {
            self.omitted += 1;
        } else {
            let mut line = keep.bounds.line(&record);
            line.push('\n');
            self.bytes += line.len() as u64;
            let _ = self.file.write_all(line.as_bytes());
        }
        self.ends_with(&record).then_some(record.trace_id)
    }

    /// Whether an event ends the trace: its outermost span is over.
    fn ends_with(&mut self, record: &Record) -> bool {
        let over = matches!(record.phase(), Phase::Stop | Phase::Exception);
        let ends = over && self.root.is_some() && record.span_id == self.root;
        if ends && record.status.as_deref() == Some("error") {
            self.status = "error".to_owned();
        }
        ends || record.event == "trace.stop"
    }

    fn stop(&mut self, trace_id: &str, bounds: &Bounds) {
        let mut record = Record {
            seq: self.seq,
            duration_ms: Some(self.last.saturating_sub(self.began)),
            status: Some(self.status.clone()),
            ..Record::new("trace.stop", trace_id, self.last)
        };
        for (name, count) in [("omitted", self.omitted), ("shed", self.shed)] {
            if count > 0 {
                record.data.insert(name.into(), json!(count));
            }
        }
        let _ = writeln!(self.file, "{}", bounds.line(&record));
        let _ = self.file.flush();
        let _ = fs::rename(self.pending(), suffixed(&self.stem, &self.status));
    }
}

/// Makes the file of a trace under a name that no other has, ended or not.
fn create(stem: &Path) -> io::Result<(PathBuf, File)> {
    let name = stem.file_name().unwrap_or_default().to_string_lossy();
    for number in 1..=100 {
        let stem = match number {
            1 => stem.to_owned(),
            _ => stem.with_file_name(format!("{name}~{number}")),
        };
        if ["ok", "error"].iter().any(|ending| suffixed(&stem, ending).exists()) {
            continue;
        }
        match private::create_new(&suffixed(&stem, "pending")) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return Ok((stem, opened?)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn suffixed(stem: &Path, ending: &str) -> PathBuf {
    let name = stem.file_name().unwrap_or_default().to_string_lossy();
    stem.with_file_name(format!("{name}-{ending}.jsonl"))
}

/// A time as file names have it: ISO, with `-` for `:`.
fn file_time(ms: u64) -> String {
    let at = i64::try_from(ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    at.unwrap_or_default().strftime("%Y-%m-%dT%H-%M-%S%.3fZ").to_string()
}

/// What the name of a file tells of the label of its trace.
pub fn file_mark(label: &str) -> String {
    sha256(label)[..8].to_owned()
}

/// The trace files of a directory with the time of their last change. Only plain files count.
pub(crate) fn trace_files(dir: &Path) -> Vec<(SystemTime, PathBuf)> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let file = |entry: fs::DirEntry| {
        let path = entry.path();
        let named = path.extension().is_some_and(|ending| ending == "jsonl");
        let meta = entry.metadata().ok().filter(|meta| named && meta.is_file())?;
        Some((meta.modified().unwrap_or(SystemTime::UNIX_EPOCH), path))
    };
    entries.flatten().filter_map(file).collect()
}
