//! Folders, stores and sources for the tests.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptc_store::Store;
use ptc_store::preludes::{Metadata, PreludeError, Preludes, Ref};
use ptc_store::sessions::{NewSession, SessionQuota, Sessions};
use serde_json::{Value as Json, json};

use crate::eventually::eventually;

/// A folder that goes with the test.
pub struct Folder(pub PathBuf);

impl Folder {
    /// A new folder.
    pub fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder for the test");
        Folder(path)
    }

    /// A path in it.
    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A path in it, as a place of a store.
    pub fn place(&self, name: &str) -> String {
        self.join(name).to_string_lossy().into_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The preludes of a place.
pub fn preludes(place: &str) -> Preludes {
    Preludes::new(Arc::new(Store::open(place).expect("the store opens")))
}

/// Metadata from a JSON object.
pub fn notes(json: Json) -> Metadata {
    match json {
        Json::Object(map) => map,
        other => panic!("not a map: {other}"),
    }
}

/// A reference.
pub fn at(text: &str) -> Ref {
    Ref::parse(text).expect("a reference")
}

/// A source with one function.
pub fn source(id: &str, body: &str) -> String {
    format!("(ns {id} \"For tests.\")\n\n(defn size\n  \"How many.\"\n  []\n  {body})\n")
}

/// The reason of a refusal.
pub fn reason<T: std::fmt::Debug>(outcome: Result<T, PreludeError>) -> &'static str {
    outcome.expect_err("refused").reason()
}

/// Writes a file.
pub fn put(path: &Path, text: &str) {
    std::fs::write(path, text).expect("a file");
}

/// Waits until the clock of a store shows another millisecond, by which it knows what is newer.
pub fn next_moment(store: &Arc<Store>) {
    let (sessions, nothing) = (Sessions::new(store.clone()), json!({}));
    let mut asked = 0;
    let mut now = || {
        asked += 1;
        // A session tells when it began. This one is over at once, and nobody's who has others.
        let (id, owner) = (format!("clock {asked} of {:?}", std::time::Instant::now()), "clock");
        let new = NewSession { id: &id, owner, origin: &nothing, meta: &nothing, ttl_ms: 0, idle_ms: 0 };
        let room = SessionQuota { most: 1_000, per_owner: 1_000 };
        sessions.create(&new, room).expect("a session").created_ms
    };
    let before = now();
    eventually("the clock of the store moves on", || now() > before);
}

/// A rule with its name.
pub type Rule = (&'static str, fn(&Arc<Store>));

/// Holds rules in memory, in files and on a server alike, each in an empty store.
pub fn everywhere(name: &str, rules: &[Rule]) {
    let folder = Folder::new(name);
    let server = crate::postgres::Server::start(name);
    for (number, (rule, holds)) in rules.iter().enumerate() {
        let file = folder.place(&format!("{number}.db"));
        let schema = server.as_ref().map(|server| server.place(&format!("rule{number}")));
        for place in [Some(":memory:".to_owned()), Some(file), schema].into_iter().flatten() {
            eprintln!("{rule}: {place}");
            holds(&Arc::new(Store::open(&place).expect("the store opens")));
        }
    }
}
