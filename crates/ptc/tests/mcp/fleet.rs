//! Servers on one store that are killed and started again while clients use them. A fleet knows which of them lived when,
//! so that whoever is told to wait can be told for whom.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use crate::support::{HttpServer, try_exchange};
use crate::world::World;

/// How long a server that died keeps what it held from others, in these tests.
pub const LEASE: Duration = Duration::from_secs(2);

/// A server as clients reach it.
#[derive(Clone, Debug)]
pub struct Target {
    /// Which of all servers that ever were.
    pub number: u64,
    address: SocketAddr,
    session: String,
}

impl Target {
    /// The result of a request; nothing if the server died before all of it was there.
    pub fn post(&self, request: &Json) -> Option<Json> {
        // A request that is sent again is another one to the protocol; only its key is the same.
        static IDS: AtomicU64 = AtomicU64::new(100);
        let mut request = request.clone();
        request["id"] = IDS.fetch_add(1, Ordering::Relaxed).into();
        let headers = [
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("mcp-session-id", &self.session),
        ];
        let answer = try_exchange(self.address, "POST", "/mcp", &headers, request.to_string().as_bytes())?;
        let reply: Json = serde_json::from_str(&answer.body).ok()?;
        assert!(answer.status == 200 && reply.get("result").is_some(), "{request}: {answer:?}");
        Some(reply["result"].clone())
    }
}

/// A place for a server.
struct Slot {
    server: Option<HttpServer>,
    target: Target,
}

/// The servers of one store.
pub struct Fleet<'w> {
    world: &'w World,
    flags: Vec<String>,
    slots: Vec<Mutex<Slot>>,
    started: AtomicU64,
    deaths: Mutex<BTreeMap<u64, Instant>>,
    steps: AtomicU64,
}

impl<'w> Fleet<'w> {
    /// So many servers in a world, with these flags besides those that all have.
    pub fn start(world: &'w World, servers: usize, flags: &[&str]) -> Fleet<'w> {
        let own = ["mcp", "--http", "127.0.0.1:0", "--sessions", "--upstreams-config", "upstreams.json"];
        let patient = ["--program-timeout-ms", "120000", "--upstream-call-timeout-ms", "100000"];
        let flags = [&own[..], &patient, &["--approval-by", "model"], flags].concat();
        let mut fleet = Fleet {
            world,
            flags: flags.into_iter().map(str::to_owned).collect(),
            slots: Vec::new(),
            started: AtomicU64::new(0),
            deaths: Mutex::default(),
            steps: AtomicU64::new(0),
        };
        fleet.slots = (0..servers).map(|_| Mutex::new(fleet.spawn())).collect();
        fleet
    }

    fn spawn(&self) -> Slot {
        let flags: Vec<&str> = self.flags.iter().map(String::as_str).collect();
        let mut command = self.world.command(&flags);
        command.env("PTC_LEASE_MS", LEASE.as_millis().to_string());
        let server = HttpServer::spawn(command);
        let target = Target {
            number: self.started.fetch_add(1, Ordering::SeqCst),
            address: server.address,
            session: server.open(&[]),
        };
        Slot { server: Some(server), target }
    }

    /// The server in a place, dead or alive.
    pub fn target(&self, place: usize) -> Target {
        self.slot(place).target.clone()
    }

    /// Kills the server in a place with -9.
    pub fn kill(&self, place: usize) {
        let mut slot = self.slot(place);
        // Dropping it is kill -9, and waits until it is gone.
        drop(slot.server.take());
        lock(&self.deaths).insert(slot.target.number, Instant::now());
    }

    /// Starts a server in a place whose server was killed. Clients meet the dead one until the new one is there.
    pub fn start_again(&self, place: usize) {
        let fresh = self.spawn();
        *self.slot(place) = fresh;
    }

    /// Since when a server is dead.
    pub fn death(&self, number: u64) -> Option<Instant> {
        lock(&self.deaths).get(&number).copied()
    }

    /// Notes that something was sent or answered.
    pub fn step(&self) {
        self.steps.fetch_add(1, Ordering::SeqCst);
    }

    /// How often something was sent or answered.
    pub fn steps(&self) -> u64 {
        self.steps.load(Ordering::SeqCst)
    }

    fn slot(&self, place: usize) -> MutexGuard<'_, Slot> {
        lock(&self.slots[place % self.slots.len()])
    }
}

/// What is in a mutex, whoever failed while it was locked.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says that it is over when it is dropped, also to the clients of a test that failed.
pub struct Over<'o>(pub &'o AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Numbers from a seed (SplitMix64).
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below another.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }
}
