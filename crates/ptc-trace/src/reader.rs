//! Reading traces back. Files may be torn, foreign or hostile: whatever is there is read as far as the bounds
//! allow, and what was not understood is counted, never fatal.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::files::trace_files;
use crate::record::Record;

/// How much of a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadBounds {
    /// Bytes of the file.
    pub bytes: u64,
    /// Bytes of a line.
    pub line_bytes: usize,
    /// Events.
    pub events: usize,
}

impl Default for ReadBounds {
    fn default() -> Self {
        ReadBounds { bytes: 64 << 20, line_bytes: 4 << 20, events: 200_000 }
    }
}

/// What a file holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// Its events, in the order of the file.
    pub records: Vec<Record>,
    /// Lines that are no events.
    pub bad_lines: usize,
    /// The last line has no end: somebody is writing it, or stopped in its middle.
    pub torn: bool,
    /// There is more in the file than the bounds allow.
    pub cut: bool,
    /// Bytes that were read, up to the end of the last whole line.
    pub bytes: u64,
}

/// Reads a trace file.
pub fn read(path: &Path, bounds: ReadBounds) -> io::Result<Trace> {
    read_from(File::open(path)?, bounds)
}

/// Reads a trace from any source.
pub fn read_from(source: impl Read, bounds: ReadBounds) -> io::Result<Trace> {
    let mut source = BufReader::new(source.take(bounds.bytes.saturating_add(1)));
    let mut trace = Trace::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        let (length, whole) = read_line(&mut source, &mut line, bounds.line_bytes)?;
        if length == 0 {
            return Ok(trace);
        }
        let end = trace.bytes + length;
        if end > bounds.bytes || trace.records.len() >= bounds.events {
            trace.cut = true;
            return Ok(trace);
        }
        if !whole {
            trace.torn = true;
            return Ok(trace);
        }
        trace.bytes = end;
        let text = line.trim_ascii();
        if text.is_empty() {
            continue;
        }
        match serde_json::from_slice::<Record>(text) {
            Ok(record) if line.len() <= bounds.line_bytes && !record.event.is_empty() => {
                trace.records.push(record);
            }
            _ => trace.bad_lines += 1,
        }
    }
}

/// Reads a line; bytes beyond the bound are passed over. Its length, and whether it ended.
fn read_line(source: &mut impl BufRead, line: &mut Vec<u8>, most: usize) -> io::Result<(u64, bool)> {
    let mut length = 0;
    loop {
        let buffer = source.fill_buf()?;
        if buffer.is_empty() {
            return Ok((length, false));
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(buffer.len(), |end| end + 1);
        let room = (most + 1).saturating_sub(line.len());
        line.extend_from_slice(&buffer[..taken.min(room)]);
        source.consume(taken);
        length += taken as u64;
        if end.is_some() {
            return Ok((length, true));
        }
    }
}

/// A trace file of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name of the file, without its directory.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// When it changed last.
    pub modified: SystemTime,
    /// Its size.
    pub bytes: u64,
}

/// The trace files of a directory, the newest name first, at most so many.
pub fn list(dir: &Path, most: usize) -> Vec<Entry> {
    let entry = |(modified, path): (SystemTime, PathBuf)| {
        let name = path.file_name()?.to_str()?.to_owned();
        let bytes = path.metadata().ok()?.len();
        Some(Entry { name, path, modified, bytes })
    };
    let mut entries: Vec<Entry> = trace_files(dir).into_iter().filter_map(entry).collect();
    entries.sort_by(|a, b| b.name.cmp(&a.name));
    entries.truncate(most);
    entries
}

/// The path of a file of a directory by its name, if that is nothing but a name of a plain trace file.
pub fn find(dir: &Path, name: &str) -> Option<PathBuf> {
    let plain = !name.starts_with('.') && !name.contains(['/', '\\', '\0']) && name.ends_with(".jsonl");
    let path = dir.join(name);
    let file = plain && path.symlink_metadata().is_ok_and(|meta| meta.is_file());
    file.then_some(path)
}
