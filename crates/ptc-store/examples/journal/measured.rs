//! What calls and requests take in the journal of a store. A test holds the page about sizes to what comes of this.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ptc_store::Store;
use ptc_store::effects::{Effects, NewEffect};
use ptc_store::requests::{Began, NewRequest, Reply, Requests};
use serde_json::{Value as Json, json};

/// What came of so many calls, and of so many requests with a key.
#[allow(dead_code, reason = "the test looks at sizes only")]
#[derive(Debug, Default)]
pub struct Measured {
    /// Bytes of the file for each call; on a server, of the table with its indexes.
    pub call_bytes: u64,
    /// The same for each request, without its calls.
    pub request_bytes: u64,
    /// Bytes of the log after the last call, of a file.
    pub log_bytes: u64,
    /// Times until calls were written down before they are sent, on the disk.
    pub begun: Vec<Duration>,
    /// Times until answers were written down, as notes.
    pub done: Vec<Duration>,
}

/// Writes down so many calls with arguments and answers of so many bytes, and so many requests with replies of so many.
pub fn measured(place: &str, count: u32, bytes: usize) -> Result<Measured, Box<dyn Error>> {
    let each = |before: u64, after: u64| after.saturating_sub(before) / u64::from(count.max(1));
    let text = json!("x".repeat(bytes));
    // Whoever closes the file last copies the log into it.
    drop(Store::open(place)?);
    let mut room = Room::of(place)?;
    let empty = room.bytes("ptc_effects")?;
    let mut measured = Measured::default();
    let effects = Effects::new(Arc::new(Store::open(place)?));
    for number in 0..count {
        call(&effects, number, &text, &mut measured)?;
    }
    measured.log_bytes = file_bytes(place, "-wal");
    drop(effects);
    measured.call_bytes = each(empty, room.bytes("ptc_effects")?);
    let before = room.bytes("ptc_requests")?;
    let requests = Requests::new(Arc::new(Store::open(place)?));
    for number in 0..count {
        request(&requests, number, &text)?;
    }
    drop(requests);
    measured.request_bytes = each(before, room.bytes("ptc_requests")?);
    Ok(measured)
}

/// What takes room: a file, of which nothing else grows meanwhile, or the tables of a server.
enum Room<'p> {
    File(&'p str),
    Server(Box<::postgres::Client>),
}

impl Room<'_> {
    fn of(place: &str) -> Result<Room<'_>, Box<dyn Error>> {
        Ok(match place.starts_with("postgres") {
            true => Room::Server(Box::new(::postgres::Client::connect(place, ::postgres::NoTls)?)),
            false => Room::File(place),
        })
    }

    /// The bytes of the file, or of a table with its indexes and long values.
    fn bytes(&mut self, table: &str) -> Result<u64, Box<dyn Error>> {
        match self {
            Room::File(place) => Ok(file_bytes(place, "")),
            Room::Server(client) => {
                let sql = format!("SELECT pg_total_relation_size(to_regclass('{table}'))");
                let bytes: i64 = client.query_one(&sql, &[])?.try_get(0)?;
                Ok(u64::try_from(bytes)?)
            }
        }
    }
}

fn file_bytes(place: &str, ending: &str) -> u64 {
    std::fs::metadata(format!("{place}{ending}")).map_or(0, |meta| meta.len())
}

/// The name of a request as servers make it: whose it is, and its key.
fn scope(number: u32) -> String {
    format!("request:{:064x}:order-{number:08}", 0)
}

fn call(effects: &Effects, number: u32, text: &Json, measured: &mut Measured) -> Result<(), Box<dyn Error>> {
    let (scope, identity) = (scope(number), format!("{number:032x}"));
    let call = NewEffect { identity: &identity, server: "crm", tool: "put", args: text };
    let began = Instant::now();
    effects.begin(&scope, &call)?;
    measured.begun.push(began.elapsed());
    let began = Instant::now();
    effects.done(&scope, &identity, text)?;
    measured.done.push(began.elapsed());
    Ok(())
}

fn request(requests: &Requests, number: u32, text: &Json) -> Result<(), Box<dyn Error>> {
    const LEASE_MS: i64 = 10_000;
    let (scope, digest) = (scope(number), format!("{number:064x}"));
    let new = NewRequest { scope: &scope, tool: "lisp_eval", digest: digest.as_bytes() };
    if let Began::Held { lease, .. } = requests.begin(&new, LEASE_MS)? {
        requests.keep(&Reply { lease: &lease, answer: text })?;
    }
    Ok(())
}
