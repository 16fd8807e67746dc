//! The last records, bounded in number and bytes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value as Json, json};

use super::super::text::json_bytes;

/// A record with its time.
#[derive(Clone, Debug)]
pub struct RingEntry {
    /// When the call ended.
    pub ms: i64,
    /// Whose call it was.
    pub owner: Arc<str>,
    /// The record.
    pub record: Arc<Json>,
}

/// Records, oldest first.
#[derive(Debug)]
pub struct Ring {
    most: usize,
    kept: Mutex<(VecDeque<(RingEntry, usize)>, usize)>,
}

/// Bytes of all records together.
const TOTAL: usize = 8 << 20;
/// Bytes of one record; a larger one is kept as a summary.
pub(super) const LARGEST: usize = 256 << 10;

impl Ring {
    /// Room for so many records.
    pub fn new(most: usize) -> Self {
        Ring { most: most.max(1), kept: Mutex::default() }
    }

    /// How many records there is room for.
    pub fn size(&self) -> usize {
        self.most
    }

    /// Adds a record.
    pub fn push(&self, ms: i64, owner: Arc<str>, record: Json) {
        let bytes = json_bytes(&record);
        let (record, bytes) = match bytes > LARGEST {
            false => (record, bytes),
            true => {
                let facts = ["request_id", "ts", "tool", "status", "reason", "duration_ms"];
                let mut short: Json = json!({"omitted": true, "reason_omitted": "debug_record_too_large"});
                for fact in facts {
                    short[fact] = record[fact].clone();
                }
                let bytes = json_bytes(&short);
                (short, bytes)
            }
        };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.0.push_back((RingEntry { ms, owner, record: Arc::new(record) }, bytes));
        kept.1 += bytes;
        while kept.0.len() > self.most || kept.1 > TOTAL {
            let Some((_, bytes)) = kept.0.pop_front() else { break };
            kept.1 -= bytes;
        }
    }

    /// The records of an owner, oldest first.
    pub fn of(&self, owner: &str) -> Vec<RingEntry> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.0.iter().filter(|(entry, _)| *entry.owner == *owner).map(|(entry, _)| entry.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r8_2_5_records_are_bounded_in_number_and_bytes() {
        let ring = Ring::new(10);
        for n in 0..25 {
            ring.push(n, "a".into(), json!({"tool": "lisp_eval", "n": n}));
        }
        let kept: Vec<i64> = ring.of("a").iter().map(|entry| entry.ms).collect();
        assert_eq!(kept, (15..25).collect::<Vec<_>>());
        assert!(ring.of("b").is_empty());
        ring.push(
            25,
            "a".into(),
            json!({"tool": "lisp_eval", "request_id": "7", "program": "x".repeat(300 << 10)}),
        );
        let last = ring.of("a").pop().expect("it is kept");
        assert_eq!((&last.record["omitted"], &last.record["request_id"]), (&json!(true), &json!("7")));
        let wide = Ring::new(5_000);
        for n in 0..60 {
            wide.push(n, "a".into(), json!({"program": "x".repeat(200 << 10)}));
        }
        let bytes: usize = wide.of("a").iter().map(|entry| json_bytes(&entry.record)).sum();
        assert!(bytes <= TOTAL && wide.of("a").len() > 30, "{bytes}");
    }
}
