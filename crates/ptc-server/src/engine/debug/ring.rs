//! The last records, bounded in number and bytes. Where room is short, whoever has most gives way, over all of their
//! connections.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use ptc_store::shelf::giving_way;
use serde_json::{Value as Json, json};

use super::super::api::Caller;
use super::super::resources::drop_all;
use super::super::text::json_bytes;

/// A record with its time.
#[derive(Clone, Debug)]
pub struct RingEntry {
    /// When the call ended.
    pub ms: i64,
    /// Who may see it.
    pub owner: Arc<str>,
    /// On whose account it is.
    pub principal: Arc<str>,
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

    /// Adds a record of a call.
    pub fn push(&self, ms: i64, caller: &Caller, record: Json) {
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
        let (owner, principal) = (caller.owner.clone(), caller.principal.clone());
        kept.push_back((RingEntry { ms, owner, principal, record: Arc::new(record) }, bytes));
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
        let things = kept.iter().map(|(entry, bytes)| (entry.principal.clone(), weight(*bytes) as u64));
        let going = giving_way(&things.collect::<Vec<_>>(), most as u64);
        drop_all(kept, going);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::api::Transport;
    use super::*;

    fn of(owner: &str) -> Caller {
        Caller::new(owner, Transport::Http)
    }

    #[test]
    fn r8_2_5_records_are_bounded_in_number_and_bytes() {
        let ring = Ring::new(10);
        for n in 0..25 {
            ring.push(n, &of("a"), json!({"tool": "lisp_eval", "n": n}));
        }
        let kept: Vec<i64> = ring.of("a").iter().map(|entry| entry.ms).collect();
        assert_eq!(kept, (15..25).collect::<Vec<_>>());
        assert!(ring.of("b").is_empty());
        ring.push(
            25,
            &of("a"),
            json!({"tool": "lisp_eval", "request_id": "7", "program": "x".repeat(300 << 10)}),
        );
        let last = ring.of("a").pop().expect("it is kept");
        assert_eq!((&last.record["omitted"], &last.record["request_id"]), (&json!(true), &json!("7")));
        let wide = Ring::new(5_000);
        for n in 0..60 {
            wide.push(n, &of("a"), json!({"program": "x".repeat(200 << 10)}));
        }
        let bytes: usize = wide.of("a").iter().map(|entry| json_bytes(&entry.record)).sum();
        assert!(bytes <= TOTAL && wide.of("a").len() > 30, "{bytes}");
    }

    #[test]
    fn an_owner_with_many_or_large_calls_pushes_out_none_of_others() {
        let ring = Ring::new(60);
        let push = |n: i64, owner: &str, bytes: usize| {
            ring.push(n, &of(owner), json!({"program": "x".repeat(bytes)}));
        };
        push(0, "a", 10);
        (1..200).for_each(|n| push(n, "b", 10));
        assert_eq!((ring.of("a").len(), ring.of("b").len()), (1, 59));
        (200..300).for_each(|n| push(n, "b", 200 << 10));
        assert_eq!(ring.of("a").len(), 1);
        assert_eq!(ring.of("b").last().map(|entry| entry.ms), Some(299));
    }

    #[test]
    fn calls_of_many_connections_are_those_of_one_account() {
        let ring = Ring::new(10);
        let over = |n: i64| Caller { principal: "b".into(), ..of(&format!("b over {n}")) };
        (0..4).for_each(|n| ring.push(n, &of("a"), json!({})));
        (4..40).for_each(|n| ring.push(n, &over(n), json!({})));
        assert_eq!((ring.of("a").len(), ring.of("b over 33").len(), ring.of("b over 34").len()), (4, 0, 1));
    }
}
