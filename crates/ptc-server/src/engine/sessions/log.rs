//! A log of bounded length: the oldest entries make room for new ones.

use std::collections::VecDeque;

use serde_json::Value as Json;

use super::super::settings::LogRetention;
use super::super::text::json_bytes;

/// Entries of a session's past.
#[derive(Clone, Debug)]
pub struct SessionLog {
    most: LogRetention,
    bytes: usize,
    entries: VecDeque<(Json, usize)>,
}

impl SessionLog {
    /// An empty log.
    pub fn new(most: LogRetention) -> Self {
        SessionLog { most, bytes: 0, entries: VecDeque::new() }
    }

    /// Adds entries.
    pub fn extend(&mut self, entries: impl IntoIterator<Item = Json>) {
        for entry in entries {
            let bytes = json_bytes(&entry);
            self.bytes += bytes;
            self.entries.push_back((entry, bytes));
        }
        while self.entries.len() > self.most.entries || self.bytes > self.most.bytes {
            let Some((_, bytes)) = self.entries.pop_front() else { break };
            self.bytes -= bytes;
        }
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.bytes = 0;
    }

    /// The entries, oldest first.
    pub fn entries(&self) -> Vec<Json> {
        self.entries.iter().map(|(entry, _)| entry.clone()).collect()
    }

    /// The same as one value.
    pub fn to_json(&self) -> Json {
        self.entries().into()
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Their bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn r9_3_9_the_oldest_entries_go_first() {
        let mut log = SessionLog::new(LogRetention { entries: 3, bytes: 12 });
        log.extend([json!("a"), json!("b"), json!("c"), json!("d")]);
        assert_eq!(log.to_json(), json!(["b", "c", "d"]));
        log.extend([json!("eeee")]);
        assert_eq!((log.to_json(), log.bytes()), (json!(["c", "d", "eeee"]), 12));
        log.extend([json!("too large for it")]);
        assert_eq!((log.len(), log.bytes()), (0, 0));
    }
}
