//! Where events go: a queue that never blocks who fills it, and one thread that empties it into sinks.
//!
//! A run must not wait for its trace, so the queue has bounds and drops what does not fit; the trace says how
//! much that was. Payloads are cut and hashed on the thread, not in the run.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use serde_json::{Map, Value as Json, json};

use crate::bound::Bounds;
use crate::packed::Packed;
use crate::payload::{self, Policy};
use crate::record::Record;
use crate::sink::Sink;

/// Replaces secrets in a text; `None` if there are none.
pub type Scrub = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// How a tracer keeps events.
#[derive(Clone)]
pub struct Options {
    /// How much of payloads is kept.
    pub policy: Policy,
    /// How long events may be.
    pub bounds: Bounds,
    /// Events that may wait; more are dropped.
    pub queue: usize,
    /// Bytes that may wait.
    pub queue_bytes: usize,
    /// Replaces secrets.
    pub scrub: Option<Scrub>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            policy: Policy::Summary,
            bounds: Bounds::default(),
            queue: 1_000,
            queue_bytes: 64 << 20,
            scrub: None,
        }
    }
}

/// How long events gather before they are written, so that a run seldom has to wake the thread.
const GATHER: Duration = Duration::from_millis(5);
/// How long the end of a process waits for its traces.
const PATIENCE: Duration = Duration::from_secs(5);

/// An event in the queue.
enum Item {
    /// The next one of those that are packed.
    Agent,
    Record(Box<Record>),
}

#[derive(Default)]
struct Queue {
    items: Vec<Item>,
    /// Events of agents.
    packed: Packed,
    /// About what the records weigh.
    bytes: usize,
    closed: bool,
    /// A batch is being written.
    busy: bool,
    /// The thread is gone, and everything is written.
    over: bool,
}

struct Shared {
    queue: Mutex<Queue>,
    done: Condvar,
    dropped: AtomicU64,
    limits: (usize, usize),
    thread: Mutex<Option<Thread>>,
}

/// Takes events and never fails or waits. Clones share one queue; the last one to go writes out the rest.
#[derive(Clone)]
pub struct Tracer {
    inner: Arc<Handle>,
}

struct Handle {
    shared: Arc<Shared>,
}

impl Tracer {
    /// A tracer into sinks, with a thread of its own. Where no thread can be had, events are dropped.
    pub fn new(options: Options, sinks: Vec<Box<dyn Sink>>) -> Self {
        let shared = Arc::new(Shared {
            queue: Mutex::new(Queue::default()),
            done: Condvar::new(),
            dropped: AtomicU64::new(0),
            limits: (options.queue.max(1), options.queue_bytes),
            thread: Mutex::new(None),
        });
        let own = shared.clone();
        let started = thread::Builder::new()
            .name("ptc-trace".to_owned())
            .spawn(move || Writer { shared: own, options, sinks }.run());
        match started {
            Ok(handle) => *lock(&shared.thread) = Some(handle.thread().clone()),
            Err(_) => {
                let mut queue = lock(&shared.queue);
                (queue.closed, queue.over) = (true, true);
            }
        }
        Tracer { inner: Arc::new(Handle { shared }) }
    }

    /// Takes an event of an agent.
    pub fn agent_event(&self, event: &ptc_agent::Event) {
        thread_local! {
            static PACKED: RefCell<Packed> = RefCell::default();
        }
        PACKED.with_borrow_mut(|packed| {
            packed.push(event);
            self.inner.shared.push(packed.len(), |queue| {
                queue.packed.append(packed);
                Item::Agent
            });
            packed.clear();
        });
    }

    /// Takes a record.
    pub fn record(&self, record: Record) {
        let weight = 512 + weigh(&record.data);
        self.inner.shared.push(weight, |queue| {
            queue.bytes += weight;
            Item::Record(Box::new(record))
        });
    }

    /// How many events were dropped because the queue was full.
    pub fn dropped(&self) -> u64 {
        self.inner.shared.dropped.load(Ordering::Relaxed)
    }

    /// Waits until what was taken so far is written, or a few seconds have passed; whether it is.
    pub fn flush(&self) -> bool {
        self.inner.shared.wait(|queue| !queue.items.is_empty() || queue.busy)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        lock(&self.shared.queue).closed = true;
        self.shared.wait(|queue| !queue.over);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn push(&self, weight: usize, add: impl FnOnce(&mut Queue) -> Item) {
        let mut queue = lock(&self.queue);
        let (most, most_bytes) = self.limits;
        let bytes = queue.bytes.saturating_add(queue.packed.len()).saturating_add(weight);
        if queue.closed || queue.items.len() >= most || bytes > most_bytes {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let item = add(&mut queue);
        queue.items.push(item);
        let waiting = queue.items.len();
        drop(queue);
        // The thread sleeps only over an empty queue, and gathers until half of it is full.
        if waiting == 1 || waiting == most / 2 {
            self.wake();
        }
    }

    fn wake(&self) {
        if let Some(thread) = &*lock(&self.thread) {
            thread.unpark();
        }
    }

    /// Waits while something holds of the queue; whether it stopped holding before patience did.
    fn wait(&self, holds: impl Fn(&Queue) -> bool) -> bool {
        self.wake();
        let queue = lock(&self.queue);
        match self.done.wait_timeout_while(queue, PATIENCE, |queue| holds(queue)) {
            Ok((_, timeout)) => !timeout.timed_out(),
            Err(_) => false,
        }
    }
}

/// About how many bytes the texts of an event hold.
fn weigh(fields: &Map<String, Json>) -> usize {
    fn value(of: &Json) -> usize {
        match of {
            Json::String(text) => text.len(),
            Json::Array(items) => items.iter().map(|item| 32 + value(item)).sum(),
            Json::Object(fields) => fields.iter().map(|(name, field)| 64 + name.len() + value(field)).sum(),
            Json::Null | Json::Bool(_) | Json::Number(_) => 0,
        }
    }
    fields.values().map(value).sum()
}

struct Writer {
    shared: Arc<Shared>,
    options: Options,
    sinks: Vec<Box<dyn Sink>>,
}

impl Writer {
    fn run(mut self) {
        let mut told = 0;
        let (mut items, mut packed) = (Vec::new(), Packed::default());
        loop {
            let closed = self.take(&mut items, &mut packed);
            let mut events = packed.events();
            for item in items.drain(..) {
                let record = match item {
                    Item::Agent => events.next().map(Record::from),
                    Item::Record(record) => Some(*record),
                };
                // A listener that panics loses its event, nothing more.
                let _ = catch_unwind(AssertUnwindSafe(|| record.map(|record| self.write(record))));
            }
            packed.clear();
            let dropped = self.shared.dropped.load(Ordering::Relaxed);
            if dropped > told {
                self.sinks.iter_mut().for_each(|sink| sink.shed(dropped - told));
                told = dropped;
            }
            self.sinks.iter_mut().for_each(|sink| sink.flush());
            if closed {
                self.sinks.iter_mut().for_each(|sink| sink.close());
            }
            let mut queue = lock(&self.shared.queue);
            queue.busy = false;
            queue.over = closed;
            drop(queue);
            self.shared.done.notify_all();
            if closed {
                return;
            }
        }
    }

    /// Waits for events and takes all that are there, in exchange for the room of those that are written; whether
    /// they are the last.
    fn take(&self, items: &mut Vec<Item>, packed: &mut Packed) -> bool {
        loop {
            let mut queue = lock(&self.shared.queue);
            if queue.closed || !queue.items.is_empty() {
                if !queue.closed && queue.items.len() < self.shared.limits.0 / 2 {
                    drop(queue);
                    thread::park_timeout(GATHER);
                    queue = lock(&self.shared.queue);
                }
                queue.busy = true;
                queue.bytes = 0;
                std::mem::swap(&mut queue.items, items);
                std::mem::swap(&mut queue.packed, packed);
                return queue.closed;
            }
            drop(queue);
            thread::park();
        }
    }

    fn write(&mut self, record: Record) {
        if record.event == "run.start" && record.parent_span_id.is_none() && record.agent_id.is_some() {
            self.pass(Record::header(&record));
        }
        self.pass(record);
    }

    fn pass(&mut self, mut record: Record) {
        let scrub = |text: &str| self.options.scrub.as_deref().and_then(|scrub| scrub(text));
        record.scrub(&scrub);
        payload::apply(&mut record.data, self.options.policy, &scrub);
        self.options.bounds.cut(&mut record.data);
        if record.event == "trace.start" {
            record.data.insert("payload_policy".into(), json!(self.options.policy));
        }
        // The last one gets it for itself; most often there is no other.
        if let Some((last, others)) = self.sinks.split_last_mut() {
            others.iter_mut().for_each(|sink| sink.take(&record));
            last.keep(record);
        }
    }
}
