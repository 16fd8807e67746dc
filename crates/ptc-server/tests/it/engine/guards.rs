//! Promises at their edges: caps that outlast an approval, tickets of others, sizes that just fit, secrets in what was
//! decided before.

use std::sync::Arc;

use ptc_host::Decision;
use ptc_server::effects::StoreJournal;
use ptc_server::engine::{
    By, Caller, Choice, Decided, Engine, Parts, Profile, Reply, Settings, Signals, Transport, Which, settings,
};
use ptc_store::Store;
use ptc_store::tickets::Tickets;
use ptc_upstream::Caps;
use serde_json::{Value as Json, json};

use super::approval::{World, put};
use super::support::*;

/// Decides about all calls of a ticket, as pages and forms do.
async fn decide(caller: &Caller, engine: &Engine, which: Which, decision: Decision) -> Reply {
    let decided = Decided {
        by: By::Page,
        which,
        choices: vec![Choice { calls: None, decision }],
        program: None,
        wrong: None,
    };
    engine.decide(caller, decided, Signals::default()).await.expect("it is answered")
}

async fn approve(engine: &Engine, reply: &Reply) -> Reply {
    let id = object(reply)["id"].as_str().unwrap_or_else(|| panic!("{reply:?}")).to_owned();
    decide(&anna(), engine, Which::Id(id), Decision::Approve).await
}

fn reason(reply: &Reply) -> &str {
    object(reply)["reason"].as_str().unwrap_or_default()
}

fn store() -> Arc<Store> {
    Arc::new(Store::open(":memory:").expect("a store"))
}

/// Three writes, of which a program may make two; what the last one gives.
fn three_writes() -> String {
    let third = r#"(:reason (tool/call {:server "crm" :tool "put" :args {:n 3}}))"#;
    format!("[(:n {}) (:n {}) {third}]", put("1"), put("2"))
}

/// Waiting for somebody is no way around a cap: calls are counted over all parts of a program.
#[tokio::test]
async fn the_cap_on_calls_holds_for_all_parts_of_a_program() {
    let capped = Caps { calls: 2, ..Caps::default() };
    for in_session in [false, true] {
        let world = World::default();
        let settings = with_sessions(Profile::Structured, settings::SessionSettings::default());
        let engine = world.server(Settings { caps: capped, ..settings }, Parts::default()).await;
        let mut reply = match in_session {
            false => eval(&engine, &three_writes()).await,
            true => {
                let session = session(&engine).await;
                eval_in(&engine, &session, &three_writes()).await
            }
        };
        for part in 1..=2 {
            assert_eq!(object(&reply)["status"], "approval_required", "part {part}: {reply:?}");
            reply = approve(&engine, &reply).await;
        }
        assert_eq!(object(&reply)["result"], "user=> [1 2 :cap_exhausted]", "{in_session}: {reply:?}");
        assert_eq!(world.seen(), ["put {\"n\":1}", "put {\"n\":2}"]);
    }
}

/// Ids of tickets are shown on pages; knowing one is no right to it.
#[tokio::test]
async fn the_id_of_somebody_elses_ticket_is_worth_nothing() {
    let world = World::default();
    let engine = world.server(patient(Profile::Structured), Parts::default()).await;
    let reply = eval(&engine, &put("1")).await;
    let listed = engine.open_tickets(&anna()).await.expect("a list");
    let id = listed[0]["id"].as_str().expect("an id").to_owned();
    let ben = Caller::new("ben", Transport::Http);
    assert_eq!(engine.open_tickets(&ben).await.expect("a list"), Vec::<Json>::new());
    for decision in [Decision::Approve, Decision::Reject("no".to_owned()), Decision::Edit(json!({"n": 9}))] {
        let refused = decide(&ben, &engine, Which::Id(id.clone()), decision).await;
        assert_eq!(reason(&refused), "ticket_owner_mismatch", "{refused:?}");
    }
    let unknown = decide(&anna(), &engine, Which::Id("tkt-nothing".to_owned()), Decision::Approve).await;
    assert_eq!(reason(&unknown), "ticket_invalid", "{unknown:?}");
    assert!(world.seen().is_empty());
    assert_eq!(object(&approve(&engine, &reply).await)["result"], "user=> {:n 1}", "it is as it was");
}

#[tokio::test]
async fn what_somebody_decided_before_is_told_without_secrets() {
    let world = World::default();
    let store = store();
    let parts = Parts {
        store: Some(store.clone()),
        effects: Some(StoreJournal::new(store.clone())),
        ..Parts::default()
    };
    let engine = world.server(patient(Profile::Structured), parts).await;
    let reply = eval(&engine, &put("1")).await;
    let listed = engine.open_tickets(&anna()).await.expect("a list");
    let id = listed[0]["id"].as_str().expect("an id");
    let edited = json!([[1, {"edit": {"server": "crm", "tool": "put", "args": {"n": SECRET}}}]]);
    Tickets::new(store).take(id, "anna", &edited, 0).expect("taken, by a server that died");
    let other = approve(&engine, &reply).await;
    assert_eq!(reason(&other), "ticket_busy", "{other:?}");
    let told = object(&other).to_string();
    assert!(told.contains("[REDACTED]") && !told.contains(SECRET), "{told}");
    assert!(!other.text().contains(SECRET), "{}", other.text());
    assert!(world.seen().is_empty());
}

#[tokio::test]
async fn a_long_answer_is_kept_with_its_ticket_up_to_a_bound() {
    let world = World::default();
    let engine = world.server(patient(Profile::Structured), Parts::default()).await;
    let reply = eval(&engine, &format!("(do {} (apply str (repeat 100000 \"x\")))", put("1"))).await;
    approve(&engine, &reply).await;
    let again = approve(&engine, &reply).await;
    assert_eq!(reason(&again), "ticket_used", "{again:?}");
    let kept = object(&again)["ended"].to_string();
    assert!(kept.len() < 20_000 && kept.contains("xxx"), "{} bytes", kept.len());
}

/// The largest that is allowed is allowed.
#[tokio::test]
async fn programs_and_contexts_may_be_exactly_as_large_as_the_limit() {
    let settings = Settings { max_program_bytes: 20, max_context_bytes: 20, ..patient(Profile::Structured) };
    let engine = engine(settings).await;
    let program = |bytes: usize| format!("{:<bytes$}", "(+ 1 2)");
    assert_eq!(object(&eval(&engine, &program(20)).await)["result"], "user=> 3");
    let refused = eval(&engine, &program(21)).await;
    assert_eq!((reason(&refused), refused.is_error), ("args_error", true), "{refused:?}");
    for (letters, fits) in [(12, true), (13, false)] {
        // What is measured is compact JSON.
        let context = json!({"t": "x".repeat(letters)});
        assert_eq!(context.to_string().len(), letters + 8);
        let ask = json!({"program": "(count data/t)", "context": context});
        let reply = call(&engine, "lisp_eval", ask).await;
        assert_eq!(reply.is_error, !fits, "{letters}: {reply:?}");
        if fits {
            assert_eq!(object(&reply)["result"], format!("user=> {letters}"));
        }
    }
}

#[tokio::test]
async fn programs_of_a_server_have_its_memory_and_no_more() {
    let program = "(count (vec (range 300000)))";
    for (memory, fits) in [(64 << 20, true), (1 << 20, false)] {
        let settings = Settings { program_memory_bytes: memory, ..patient(Profile::Structured) };
        let settings = Settings { sessions: Some(settings::SessionSettings::default()), ..settings };
        let engine = engine(settings).await;
        let session = session(&engine).await;
        for reply in [eval(&engine, program).await, eval_in(&engine, &session, program).await] {
            assert_eq!(reply.is_error, !fits, "{memory}: {reply:?}");
            assert!(fits || reply.text().contains("memory"), "{}", reply.text());
        }
    }
}

/// A moving average over 500,000 numbers, and a regular expression over 200,000 lines with a filter behind it. The time is
/// that of builds for tests.
#[tokio::test]
async fn large_sequences_fit_the_memory_and_fuel_of_a_server() {
    let average = "(count (filter #(> % 100) (map #(/ (reduce + %) 5.0) (partition 5 1 (range 500000)))))";
    let lines =
        "(map #(str \"T00:\" % (if (zero? (mod % 100)) \" ERROR \" \" INFO \") \"request\") (range 200000))";
    let search = format!(
        "(count (filter #(= \"ERROR\" (second %)) (map #(re-find #\"T[\\d:]+ (\\w+) req\" %) {lines})))"
    );
    let engine = engine(patient(Profile::Structured)).await;
    for (program, answer) in [(average, "499897"), (&search, "2000")] {
        let reply = eval(&engine, program).await;
        assert_eq!(object(&reply)["result"], format!("user=> {answer}"), "{program}");
    }
}

/// Programs cannot do anything about it, so the flag is named that can.
#[tokio::test]
async fn a_context_that_does_not_fit_the_memory_names_the_flag_that_raises_it() {
    let settings = Settings { program_memory_bytes: 1 << 20, ..patient(Profile::Structured) };
    let settings = Settings { sessions: Some(settings::SessionSettings::default()), ..settings };
    let engine = engine(settings).await;
    let ask = json!({"program": "(count data/xs)", "context": {"xs": (0..200_000).collect::<Vec<_>>()}});
    for in_session in [false, true] {
        let reply = run(&engine, in_session, ask.clone()).await;
        let told = reply.text();
        assert!(told.contains("the context is more than fits the 1048576 bytes"), "{told}");
        assert!(told.contains("--program-memory-limit-bytes"), "{told}");
    }
}

#[tokio::test]
async fn request_keys_have_a_length() {
    let store = store();
    let parts = Parts { effects: Some(StoreJournal::new(store.clone())), ..Parts::default() };
    let engine = Engine::with(patient(Profile::Structured), parts).await.expect("it starts");
    let ask = async |key: String| {
        let signals = Signals { request_key: Some(key), ..Signals::default() };
        engine.call(&anna(), "lisp_eval", args(json!({"program": "1"})), signals).await.expect("a reply")
    };
    for key in [String::new(), "k".repeat(257), "a\0b".to_owned()] {
        let refused = ask(key.clone()).await;
        assert_eq!(reason(&refused), "args_error", "{} bytes", key.len());
    }
    for key in ["k".to_owned(), "k".repeat(256)] {
        assert_eq!(object(&ask(key.clone()).await)["result"], "user=> 1", "{} bytes", key.len());
        assert!(ask(key.clone()).await.recalled, "{} bytes", key.len());
    }
}

/// A key is that of one caller, so nobody is told another's answer.
#[tokio::test]
async fn the_same_key_of_another_caller_is_another_request() {
    let store = store();
    let parts = Parts { effects: Some(StoreJournal::new(store.clone())), ..Parts::default() };
    let engine = Engine::with(patient(Profile::Structured), parts).await.expect("it starts");
    let (anna, ben) = (anna(), Caller::new("ben", Transport::Http));
    for caller in [&anna, &ben] {
        let signals = Signals { request_key: Some("same".to_owned()), ..Signals::default() };
        let given = args(json!({"program": "(str \"for \" data/who)", "context": {"who": "me"}}));
        let reply = engine.call(caller, "lisp_eval", given, signals).await.expect("a reply");
        assert!(!reply.recalled, "{reply:?}");
    }
}

/// Where a program of the test runs.
async fn run(engine: &Engine, in_session: bool, ask: Json) -> Reply {
    let mut ask = ask;
    match in_session {
        false => call(engine, "lisp_eval", ask).await,
        true => {
            ask["session_id"] = session(engine).await.into();
            call(engine, "lisp_session_eval", ask).await
        }
    }
}

/// A program that goes on elsewhere is not given more than that server gives.
#[tokio::test]
async fn a_server_with_less_memory_goes_on_within_it() {
    for in_session in [false, true] {
        let world = World::default();
        let (store, keys) = (store(), Arc::new(ptc_server::engine::Keys::random().expect("a key")));
        let server = async |memory: usize| {
            let settings = with_sessions(Profile::Structured, settings::SessionSettings::default());
            let parts =
                Parts { store: Some(store.clone()), ticket_keys: Some(keys.clone()), ..Parts::default() };
            world.server(Settings { program_memory_bytes: memory, ..settings }, parts).await
        };
        let ask = json!({"program": format!("(do {} (count (vec (range 300000))))", put("1"))});
        let reply = run(&*server(64 << 20).await, in_session, ask).await;
        let reply = approve(&*server(1 << 20).await, &reply).await;
        assert!(reply.is_error && reply.text().contains("memory"), "{in_session}: {reply:?}");
    }
}

/// What holds for a program holds for the part of it that comes after an approval.
#[tokio::test]
async fn a_program_that_goes_on_has_the_memory_and_the_schema_of_its_first_part() {
    for in_session in [false, true] {
        let world = World::default();
        let settings = with_sessions(Profile::Structured, settings::SessionSettings::default());
        let small = Settings { program_memory_bytes: 1 << 20, ..settings.clone() };
        let engine = world.server(small, Parts::default()).await;
        let large = json!({"program": format!("(do {} (count (vec (range 300000))))", put("1"))});
        let reply = approve(&engine, &run(&engine, in_session, large).await).await;
        assert!(reply.is_error && reply.text().contains("memory"), "{in_session}: {reply:?}");

        let engine = world.server(settings, Parts::default()).await;
        for (kind, fits) in [("object", true), ("integer", false)] {
            let ask = json!({"program": put("1"), "output_schema": {"type": kind}});
            let reply = approve(&engine, &run(&engine, in_session, ask).await).await;
            assert_eq!(reply.is_error, !fits, "{in_session} {kind}: {reply:?}");
            assert!(fits || reason(&reply) == "validation_error", "{reply:?}");
        }
    }
}

#[tokio::test]
async fn a_program_that_goes_on_for_ever_is_stopped_by_its_time() {
    for in_session in [false, true] {
        let world = World::default();
        let settings = with_sessions(Profile::Structured, settings::SessionSettings::default());
        // A second's fuel lasts longer than this on any machine.
        let settings = Settings { program_timeout: std::time::Duration::from_millis(50), ..settings };
        let engine = world.server(settings, Parts::default()).await;
        let ask = json!({"program": format!("(do {} (loop [i 0] (recur (inc i))))", put("1"))});
        let reply = approve(&engine, &run(&engine, in_session, ask).await).await;
        assert!(reply.is_error && reply.text().contains("took longer than"), "{in_session}: {reply:?}");
    }
}

/// A program of a session that fails after somebody approved its call changes the world and nothing else.
#[tokio::test]
async fn a_session_is_as_before_if_its_program_fails_after_an_approval() {
    let world = World::default();
    let settings = with_sessions(Profile::Structured, settings::SessionSettings::default());
    let engine = world.server(settings, Parts::default()).await;
    let id = session(&engine).await;
    eval_in(&engine, &id, "(def a 1)").await;
    let reply = eval_in(&engine, &id, &format!("(def a 2) {} (/ 1 0)", put("1"))).await;
    let reply = approve(&engine, &reply).await;
    assert!(reply.is_error, "{reply:?}");
    assert_eq!(object(&eval_in(&engine, &id, "a").await)["result"], "user=> 1");
    assert_eq!(world.seen().len(), 1);
    let view = json!({"session_id": id, "view": "tool_calls"});
    let told = call(&engine, "lisp_session_inspect", view).await;
    assert!(object(&told).to_string().contains("put"), "what was made is on record: {told:?}");
}

#[tokio::test]
async fn sessions_may_hold_exactly_as_many_bindings_as_the_limit() {
    let limited = settings::SessionSettings { bindings: 2, ..settings::SessionSettings::default() };
    let engine = engine(with_sessions(Profile::Structured, limited)).await;
    let id = session(&engine).await;
    assert!(!eval_in(&engine, &id, "(def a 1) (def b 2)").await.is_error);
    let refused = eval_in(&engine, &id, "(def c 3)").await;
    assert_eq!(reason(&refused), "session_limit_exceeded", "{refused:?}");
    assert_eq!(object(&eval_in(&engine, &id, "[a b]").await)["result"], "user=> [1 2]");
    assert!(!eval_in(&engine, &id, "(def b 5) b").await.is_error, "one that is there may change");
}

/// The prelude is part of what a program may use: with another one, the approved call could mean something else.
#[tokio::test]
async fn a_server_with_another_prelude_does_not_go_on() {
    let world = World::default();
    let (store, keys) = (store(), Arc::new(ptc_server::engine::Keys::random().expect("a key")));
    let parts = |text: Option<&str>| {
        let compiled = text.map(|text| {
            let source = ptc_lisp::prelude::Source { id: "p", text, needs: &[], origin: "test" };
            let options = ptc_lisp::prelude::Options::default();
            Arc::new(ptc_lisp::prelude::Prelude::compile(&[source], &options).expect("it compiles"))
        });
        let (store, ticket_keys) = (Some(store.clone()), Some(keys.clone()));
        Parts { store, ticket_keys, prelude: compiled, ..Parts::default() }
    };
    let old = Some("(ns p \"For tests.\")\n(defn one \"One.\" [] 1)\n");
    let new = Some("(ns p \"For tests.\")\n(defn one \"Two.\" [] 2)\n");
    let first = world.server(patient(Profile::Structured), parts(old)).await;
    let reply = eval(&first, &put("1")).await;
    for other in [new, None] {
        let second = world.server(patient(Profile::Structured), parts(other)).await;
        let refused = approve(&second, &reply).await;
        assert_eq!(reason(&refused), "ticket_stale", "{refused:?}");
    }
    assert!(world.seen().is_empty());
    let same = world.server(patient(Profile::Structured), parts(old)).await;
    assert_eq!(object(&approve(&same, &reply).await)["result"], "user=> {:n 1}");
}

/// Whoever decided and went away has decided: the call is made, and what came of it is kept.
#[tokio::test]
async fn a_decision_is_carried_out_although_nobody_waits_for_its_answer() {
    let world = World::default();
    let engine = world.server(patient(Profile::Structured), Parts::default()).await;
    let reply = eval(&engine, &format!("[{} :after]", put("1"))).await;
    let id = object(&reply)["id"].as_str().expect("it waits").to_owned();
    let choices = vec![Choice { calls: None, decision: Decision::Approve }];
    let decided = Decided { by: By::Page, which: Which::Id(id), choices, program: None, wrong: None };
    let signals = Signals::default();
    signals.cancel.cancel();
    let answered = engine.decide(&anna(), decided, signals).await;
    assert!(answered.is_ok(), "{answered:?}");
    assert_eq!(world.seen().len(), 1);
    let again = approve(&engine, &reply).await;
    assert_eq!(object(&again)["ended"]["text"], "user=> [{:n 1} :after]", "{again:?}");
}

/// The cap on upstream calls is met as data, before any limit of the machine ends the program.
#[tokio::test]
async fn a_program_makes_all_the_calls_that_its_cap_allows() {
    let world = World::default();
    let engine = world.server(patient(Profile::Structured), Parts::default()).await;
    let get = r#"(:reason (tool/call {:server "crm" :tool "get" :args {:n n}}))"#;
    let reply = eval(&engine, &format!("(frequencies (mapv (fn [n] {get}) (range 53)))")).await;
    assert_eq!(object(&reply)["result"], "user=> {nil 50, :cap_exhausted 3}", "{reply:?}");
    assert_eq!(world.seen().len(), 50);
}
