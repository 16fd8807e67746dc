//! The last records, bounded in number and bytes. Where room is short, whoever has most gives way.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use ptc_store::shelf::giving_way;
use serde_json::{Value as Json, json};

use super::super::resources::drop_all;
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
    kept: Mutex<VecDeque<(RingEntry, usize)>>,
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
        kept.push_back((RingEntry { ms, owner, record: Arc::new(record) }, bytes));
        make_room(&mut kept, self.most, |_| 1);
        make_room(&mut kept, TOTAL, |bytes| bytes);
    }

    /// The records of an owner, oldest first.
    pub fn of(&self, owner: &str) -> Vec<RingEntry> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().filter(|(entry, _)| *entry.owner == *owner).map(|(entry, _)| entry.clone()).collect()
    }
}

/// Drops records until those that are left weigh no more than `most`; `weight` is that of a record of so many bytes.
fn make_room(kept: &mut VecDeque<(RingEntry, usize)>, most: usize, weight: fn(usize) -> usize) {
    if kept.iter().map(|(_, bytes)| weight(*bytes)).sum::<usize>() > most {
        let things = kept.iter().map(|(entry, bytes)| (entry.owner.clone(), weight(*bytes) as u64));
        let going = giving_way(&things.collect::<Vec<_>>(), most as u64);
        drop_all(kept, going);
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

    #[test]
    fn an_owner_with_many_or_large_calls_pushes_out_none_of_others() {
        let ring = Ring::new(60);
        let push = |n: i64, owner: &str, bytes: usize| {
            ring.push(n, owner.into(), json!({"program": "x".repeat(bytes)}));
        };
        push(0, "a", 10);
        (1..200).for_each(|n| push(n, "b", 10));
        assert_eq!((ring.of("a").len(), ring.of("b").len()), (1, 59));
        (200..300).for_each(|n| push(n, "b", 200 << 10));
        assert_eq!(ring.of("a").len(), 1);
        assert_eq!(ring.of("b").last().map(|entry| entry.ms), Some(299));
    }
}
