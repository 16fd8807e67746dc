//! The programs that clients have servers run. What they write depends on what they read and on random numbers, so one
//! that runs again writes something else unless it is told the same.

use ptc_lisp::Limits;
use ptc_lisp::machine::{Machine, Step};
use ptc_store::sessions::TakenSession;
use serde_json::{Value as Json, json};

/// Programs of their own.
pub const ALONE: &[&str] = &[PLAIN, PLAIN, GATED];
/// Programs of sessions.
pub const OF_SESSIONS: &[&str] = &[SESSION, SESSION, SESSION_GATED, SESSION_QUIET];

/// Two reads and two writes.
const PLAIN: &str = r#"
(let [n (:value (tool/call {:server "w" :tool "count"}))
      a (tool/call {:server "w" :tool "put" :args {:key data/key :at 0 :n (+ (or n 0) (* 1000 (rand-int 1000)))}})
      m (:value (tool/call {:server "w" :tool "count"}))
      b (tool/call {:server "w" :tool "put" :args {:key data/key :at 1 :n (+ (or m 0) (* 1000 (rand-int 1000)))}})]
  {:read [n m] :calls [a b]})"#;

/// The same with a first write that somebody must approve.
const GATED: &str = r#"
(let [n (:value (tool/call {:server "w" :tool "count"}))
      a (tool/call {:server "w" :tool "pay" :args {:key data/key :at 0 :n (or n 0)}})
      m (:value (tool/call {:server "w" :tool "count"}))
      b (tool/call {:server "w" :tool "put" :args {:key data/key :at 1 :n (or m 0)}})]
  {:read [n m] :calls [a b]})"#;

/// A read, a write and a change of a session.
const SESSION: &str = r#"
(let [n (:value (tool/call {:server "w" :tool "count"}))
      a (tool/call {:server "w" :tool "put" :args {:key data/key :at 0 :n (or n 0)}})]
  (def log (conj log data/key))
  {:log log :read [n] :calls [a]})"#;

/// The same with a write that somebody must approve.
const SESSION_GATED: &str = r#"
(let [a (tool/call {:server "w" :tool "pay" :args {:key data/key :at 0 :n 0}})]
  (def log (conj log data/key))
  {:log log :calls [a]})"#;

/// A change of a session alone.
const SESSION_QUIET: &str = "(def log (conj log data/key)) {:log log :calls []}";

/// The state with which a session begins.
pub fn new_session() -> Option<Vec<u8>> {
    let mut machine = Machine::new(Limits::default());
    machine.set_tools(["call".to_owned()]);
    machine.load("(def log [])").ok()?;
    matches!(machine.run(u64::MAX), Step::Done(_)).then_some(())?;
    machine.dump().ok()
}

/// The machine of a session.
pub fn machine(taken: &TakenSession) -> Option<Machine> {
    let state = taken.kept.as_ref()?.state.as_ref()?;
    Machine::load_dump(state, &Limits::default()).ok()
}

/// How many programs a session has kept.
pub fn changes(taken: &TakenSession) -> usize {
    let meta = taken.kept.as_ref().map_or(Json::Null, |kept| kept.meta.clone());
    meta["keys"].as_array().map_or(0, Vec::len)
}

/// What is said of a session that is new.
pub fn new_meta() -> Json {
    json!({"keys": []})
}
