//! Who takes the events of a tracer: files, memory, telemetry. A sink never fails; what it cannot keep is lost.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::names;
use crate::record::Record;

/// Takes events, on the tracer's thread.
pub trait Sink: Send {
    /// Takes an event.
    fn take(&mut self, record: &Record);

    /// Takes an event that nobody else needs any more.
    fn keep(&mut self, record: Record) {
        self.take(&record);
    }

    /// So many events were dropped since the last word about it.
    fn shed(&mut self, _count: u64) {}

    /// The queue is empty for now.
    fn flush(&mut self) {}

    /// There are no more events.
    fn close(&mut self) {}
}

/// Calls a function with every name that an event has.
pub struct Listener<F>(pub F);

impl<F: FnMut(&str, &Record) + Send> Sink for Listener<F> {
    fn take(&mut self, record: &Record) {
        names::for_each_name(record, &mut self.0);
    }
}

/// The last events, as many as fit into so many bytes; the newest is always there.
#[derive(Clone)]
pub struct Memory {
    ring: Arc<Mutex<Ring>>,
}

#[derive(Default)]
struct Ring {
    records: VecDeque<(usize, Record)>,
    bytes: usize,
    most: usize,
}

impl Memory {
    /// A memory of so many bytes; 8 MiB are usual.
    pub fn new(bytes: usize) -> Self {
        Memory { ring: Arc::new(Mutex::new(Ring { most: bytes, ..Ring::default() })) }
    }

    /// The events, the oldest first, that a test likes.
    pub fn query(&self, wanted: impl Fn(&Record) -> bool) -> Vec<Record> {
        let ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        ring.records.iter().map(|(_, record)| record).filter(|record| wanted(record)).cloned().collect()
    }

    /// All events, the oldest first.
    pub fn records(&self) -> Vec<Record> {
        self.query(|_| true)
    }

    /// Forgets everything.
    pub fn clear(&self) {
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        ring.records.clear();
        ring.bytes = 0;
    }
}

impl Default for Memory {
    fn default() -> Self {
        Memory::new(8 << 20)
    }
}

impl Sink for Memory {
    fn take(&mut self, record: &Record) {
        let bytes = serde_json::to_string(record).map_or(0, |line| line.len());
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        ring.bytes += bytes;
        ring.records.push_back((bytes, record.clone()));
        while ring.bytes > ring.most && ring.records.len() > 1 {
            let Some((bytes, _)) = ring.records.pop_front() else { break };
            ring.bytes -= bytes;
        }
    }
}
