//! Owners on the same workers and upstreams: nothing of one is reachable from another.

use ptc_server::engine::settings::SessionSettings;
use ptc_server::engine::{Caller, Engine, Profile, Transport};
use serde_json::json;

use super::support::{aggregator, anna, call_as, engine, object, with_sessions};

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
    let engine = engine(with_sessions(Profile::Structured, SessionSettings::default())).await;
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

#[tokio::test]
async fn what_results_of_one_owner_looked_like_is_not_told_to_another() {
    let engine = aggregator(with_sessions(Profile::Structured, SessionSettings::default())).await;
    let (anna, ben) = (anna(), Caller::new("ben", Transport::Http));
    let again = Caller { principal: anna.principal.clone(), ..Caller::new("anna-2", Transport::Http) };
    let run = async |caller: &Caller, tool: &str, program: &str| {
        let mut arguments = json!({"program": program});
        if tool == "lisp_session_eval" {
            let started = call_as(caller, &engine, "lisp_session_start", json!({})).await;
            arguments["session_id"] = object(&started)["session_id"].clone();
        }
        object(&call_as(caller, &engine, tool, arguments).await)["result"].to_string()
    };
    let call = |field: &str| format!("(tool/call {{:server \"crm\" :tool \"get\" :args {{:{field} 1}}}})");
    let tools = [("lisp_eval", "anna_a"), ("lisp_session_eval", "anna_b")];
    for (tool, field) in tools {
        run(&anna, tool, &call(field)).await;
    }
    for (tool, _) in tools {
        for look in ["(doc 'crm/get)", "(str (get (meta 'crm/get) \"_ptc\"))"] {
            let (hers, again) = (run(&anna, tool, look).await, run(&again, tool, look).await);
            assert!(tools.iter().all(|(_, field)| hers.contains(field)), "{hers}");
            assert_eq!(hers, again, "her other connection");
            let his = run(&ben, tool, look).await;
            assert!(
                !his.contains("anna") && !his.to_lowercase().contains("observed"),
                "{tool} {look}: {his}"
            );
        }
    }
    run(&ben, "lisp_eval", &call("title")).await;
    let his = run(&ben, "lisp_eval", "(doc 'crm/get)").await;
    assert!(his.contains("in 1 result (") && his.contains(":title integer"), "{his}");
    let hers = run(&anna, "lisp_eval", "(doc 'crm/get)").await;
    assert!(hers.contains("in 2 results (") && !hers.contains("title"), "{hers}");
}
