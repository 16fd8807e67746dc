//! Recordings: requests with their replies, one JSON object per line.

use std::collections::BTreeMap;
use std::path::Path;

use ptc_agent::model::{ModelError, Reply, Request};
use serde::{Deserialize, Serialize};

use super::digest::Digest;

/// A request with its reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The digest of the request.
    pub digest: Digest,
    /// The model that answered.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// The request, for people and for the search of the nearest.
    pub request: Request,
    /// The reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Reply>,
    /// Why there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ModelError>,
}

impl Entry {
    /// The entry of a request and what came of it.
    pub fn new(model: &str, request: &Request, outcome: &Result<Reply, ModelError>) -> Self {
        Entry {
            digest: Digest::of(request),
            model: model.to_owned(),
            request: request.clone(),
            reply: outcome.as_ref().ok().cloned(),
            error: outcome.as_ref().err().cloned(),
        }
    }

    /// What came of the request.
    pub fn outcome(&self) -> Result<Reply, ModelError> {
        match (&self.reply, &self.error) {
            (Some(reply), _) => Ok(reply.clone()),
            (None, Some(error)) => Err(error.clone()),
            (None, None) => Err("the recording has no reply to this request".into()),
        }
    }
}

/// Why a recording cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file cannot be read.
    #[error("cannot read the recording {path}: {source}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A line is no entry.
    #[error("{path}:{line}: not an entry of a recording: {source}")]
    BadLine {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// Why.
        source: serde_json::Error,
    },
    /// An entry does not belong to its request.
    #[error("{path}:{line}: the digest does not fit the request; record it again rather than edit it")]
    BadDigest {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
    },
}

/// Requests with their replies. A request that was made several times has several replies, in order.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    entries: Vec<Entry>,
    by_digest: BTreeMap<Digest, Vec<usize>>,
}

impl Recording {
    /// The recording of these entries.
    pub fn new(entries: impl IntoIterator<Item = Entry>) -> Self {
        let mut recording = Recording::default();
        entries.into_iter().for_each(|entry| recording.push(entry));
        recording
    }

    /// Reads a recording from a file.
    pub fn read(path: &Path) -> Result<Self, RecordingError> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|source| RecordingError::Unreadable { path: name.clone(), source })?;
        Self::parse(&name, &text)
    }

    /// Reads a recording from text; `path` is for messages.
    pub fn parse(path: &str, text: &str) -> Result<Self, RecordingError> {
        let mut recording = Recording::default();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let (path, line_number) = (path.to_owned(), at + 1);
            let entry: Entry = serde_json::from_str(line).map_err(|source| RecordingError::BadLine {
                path: path.clone(),
                line: line_number,
                source,
            })?;
            if entry.digest != Digest::of(&entry.request) {
                return Err(RecordingError::BadDigest { path, line: line_number });
            }
            recording.push(entry);
        }
        Ok(recording)
    }

    fn push(&mut self, entry: Entry) {
        self.by_digest.entry(entry.digest.clone()).or_default().push(self.entries.len());
        self.entries.push(entry);
    }

    /// The entry of a request that was made `before` times already; the last is given again.
    pub fn find(&self, digest: &Digest, before: usize) -> Option<&Entry> {
        let places = self.by_digest.get(digest)?;
        let place = places.get(before).or_else(|| places.last())?;
        self.entries.get(*place)
    }

    /// All entries, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }
}
