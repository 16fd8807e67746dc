//! Sessions of different owners on the same workers: nothing of one is reachable from another.

use ptc_server::engine::settings::Sessions;
use ptc_server::engine::{Caller, Engine, Profile, Transport};
use serde_json::json;

use super::support::{anna, call_as, engine, object, with_sessions};

/// More sessions than there are workers, so that owners meet on one.
const SESSIONS: usize = 8;

/// Sessions of somebody.
async fn sessions(engine: &Engine, caller: &Caller) -> Vec<String> {
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS {
        let reply = call_as(caller, engine, "lisp_session_start", json!({})).await;
        sessions.push(object(&reply)["session_id"].as_str().expect("it starts").to_owned());
    }
    sessions
}

/// What a program in a session comes to.
async fn result(engine: &Engine, caller: &Caller, session: &str, program: &str) -> String {
    let arguments = json!({"session_id": session, "program": program});
    let reply = call_as(caller, engine, "lisp_session_eval", arguments).await;
    let result = object(&reply)["result"].as_str().map(str::to_owned);
    result.unwrap_or_else(|| panic!("{:?}", object(&reply)))
}

#[tokio::test]
async fn sessions_of_another_owner_read_write_and_call_nothing() {
    let engine = engine(with_sessions(Profile::Structured, Sessions::default())).await;
    let (anna, ben) = (anna(), Caller::new("ben", Transport::Http));
    let (hers, his) = (sessions(&engine, &anna).await, sessions(&engine, &ben).await);
    let plant = r#"
        (def cell (atom "untouched"))
        (def f (fn [x] [:called x @cell]))
        (def many (mapv #(assoc (make-hierarchy) :parents %) (range 10)))
        (def kept (assoc (many 0) (with-meta [1 2] {"n" "A-SECRET" "c" cell "f" f}) 1))
        (str (meta (last (keys kept))))"#;
    for session in &hers {
        assert!(result(&engine, &anna, session, plant).await.contains("A-SECRET"));
    }
    let look = r#"
        (let [m (meta (last (keys (assoc (make-hierarchy) [1 2] :mine))))]
          (when-let [cell (get m "c")] (reset! cell "written by ben"))
          (when-let [f (get m "f")] (f 1))
          (if (nil? m) "nothing" (str m)))"#;
    for session in &his {
        assert_eq!(result(&engine, &ben, session, look).await, "user=> \"nothing\"");
    }
    for session in &hers {
        assert_eq!(result(&engine, &anna, session, "@cell").await, "user=> \"untouched\"");
    }
}
