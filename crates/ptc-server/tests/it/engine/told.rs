//! What the engine has to tell operators: each line once, when it has happened, and with its fields.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use ptc_host::Decision;
use ptc_server::effects::StoreJournal;
use ptc_server::engine::{
    By, Caller, Choice, Decided, DecisionCount, Engine, Parts, Profile, Signals, Transport, Which, settings,
};
use ptc_server::events::TARGET;
use ptc_store::Store;
use serde_json::{Value as Json, json};
use tokio_util::sync::CancellationToken;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::approval::{World, put};
use super::support::*;

/// Lines that were written, by the name of their event. They may come from any thread, so all tests of a process listen
/// together, and each has a caller of its own.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<(String, Json)>>>);

impl Lines {
    fn listen() -> &'static Lines {
        static LINES: OnceLock<Lines> = OnceLock::new();
        LINES.get_or_init(|| {
            let lines = Lines::default();
            tracing::subscriber::set_global_default(lines.clone()).expect("nobody else listens");
            lines
        })
    }

    /// The lines of an event about somebody so far.
    fn of(&self, event: &str, who: &Caller) -> Vec<Json> {
        let all = self.0.lock().expect("nobody panics");
        let wanted = all.iter().filter(|(name, fields)| name == event && fields["who"] == *who.owner);
        wanted.map(|(_, fields)| fields.clone()).collect()
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with(TARGET)
    }

    fn event(&self, event: &Event<'_>) {
        let name = event.metadata().target().trim_start_matches(TARGET).to_owned();
        let mut fields = Fields::default();
        event.record(&mut fields);
        self.0.lock().expect("nobody panics").push((name, json!(fields.0)));
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[derive(Default)]
struct Fields(BTreeMap<String, Json>);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").into());
    }
}

fn approve(id: &str) -> Decided {
    let choices = vec![Choice { calls: None, decision: Decision::Approve }];
    Decided { by: By::Page, which: Which::Id(id.to_owned()), choices, program: None, wrong: None }
}

/// A server with sessions in a store.
async fn server(world: &World) -> Arc<Engine> {
    let store = Arc::new(Store::open(":memory:").expect("a store"));
    let parts =
        Parts { store: Some(store.clone()), effects: Some(StoreJournal::new(store)), ..Parts::default() };
    let settings = with_sessions(Profile::Structured, settings::SessionSettings::default());
    world.server(settings, parts).await
}

#[tokio::test]
async fn a_program_that_waits_is_told_and_a_decision_once_the_program_goes_on() {
    let (lines, tilda) = (Lines::listen(), Caller::new("tilda", Transport::Stdio));
    let world = World::default();
    let engine = server(&world).await;
    let started = call_as(&tilda, &engine, "lisp_session_start", json!({})).await;
    let session = object(&started)["session_id"].clone();
    let program = json!({"session_id": session, "program": put("1")});
    let waits = call_as(&tilda, &engine, "lisp_session_eval", program).await;
    let id = object(&waits)["id"].as_str().expect("it waits").to_owned();
    let waiting = lines.of("ticket_waiting", &tilda);
    assert_eq!(waiting, [json!({"who": "tilda", "ticket": id, "calls": 1, "tools": "crm/put"})]);
    // While another program holds the session, the ticket is given back: nothing was decided.
    let cancel = CancellationToken::new();
    let signals = Signals { cancel: cancel.clone(), ..Signals::default() };
    let waiting = args(json!({
        "session_id": session, "program": "(tool/call {:server \"crm\" :tool \"get\" :args {:wait 1}})"}));
    let (_, refused) = tokio::join!(engine.call(&tilda, "lisp_session_eval", waiting, signals), async {
        while world.seen().is_empty() {
            tokio::task::yield_now().await;
        }
        let refused = engine.decide(&tilda, approve(&id), Signals::default()).await.expect("a reply");
        cancel.cancel();
        refused
    });
    assert_eq!(object(&refused)["reason"], "session_busy", "{refused:?}");
    assert_eq!(lines.of("decision", &tilda), [] as [Json; 0]);
    assert_eq!(engine.metrics().decisions, []);
    let over = loop {
        let over = engine.decide(&tilda, approve(&id), Signals::default()).await.expect("a reply");
        if object(&over)["reason"] != "session_busy" {
            break over;
        }
        tokio::task::yield_now().await;
    };
    assert!(!over.is_error, "{over:?}");
    let line = json!({"who": "tilda", "ticket": id, "call": 1, "tool": "crm/put", "decision": "approved",
                      "by": "page", "again": false});
    let mut told = lines.of("decision", &tilda);
    let call = told.first().map(|line| line["call"].clone()).unwrap_or_default();
    assert!(call.is_u64(), "a number: {told:?}");
    told.iter_mut().for_each(|line| line["call"] = json!(1));
    assert_eq!(told, [line]);
    let counted: Vec<String> = engine.metrics().calls.into_iter().map(|call| call.tool).collect();
    assert!(counted.iter().any(|tool| tool == "approval_page"), "{counted:?}");
    assert!(!counted.iter().any(|tool| tool == "lisp_approve"), "it is not offered: {counted:?}");
    let decided = DecisionCount { decision: "approved", by: "page", count: 1 };
    assert_eq!(engine.metrics().decisions, [decided], "one, not the attempts");
}

#[tokio::test]
async fn an_outcome_that_becomes_unknown_and_a_request_that_is_taken_over_are_told() {
    let (lines, ulla) = (Lines::listen(), Caller::new("ulla", Transport::Stdio));
    let store = Arc::new(Store::open(":memory:").expect("a store"));
    let (runtime, waiting) = crm_that_counts().await;
    let parts = Parts { runtime: Some(runtime), effects: Some(StoreJournal::new(store)), ..Parts::default() };
    let engine = Engine::with(patient(Profile::Debug), parts).await.expect("it starts");
    let program = "(:ok (tool/call {:server \"crm\" :tool \"put\" :args {:wait 1}}))";
    let cancel = CancellationToken::new();
    let keyed = |cancel: &CancellationToken| Signals {
        request_key: Some("k".to_owned()),
        cancel: cancel.clone(),
        ..Signals::default()
    };
    let given = || args(json!({"program": program}));
    let (_, ()) = tokio::join!(engine.call(&ulla, "lisp_eval", given(), keyed(&cancel)), async {
        until_waiting(&waiting, 1).await;
        cancel.cancel();
    });
    // The call is dropped with its program, on whichever thread.
    let unknown = loop {
        let unknown = lines.of("outcome_unknown", &ulla);
        if !unknown.is_empty() {
            break unknown;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!((&unknown[0]["who"], &unknown[0]["tool"]), (&json!("ulla"), &json!("crm/put")), "{unknown:?}");
    assert_eq!(lines.of("request_taken_over", &ulla), [] as [Json; 0]);
    let again = engine.call(&ulla, "lisp_eval", given(), keyed(&CancellationToken::new())).await;
    assert!(again.is_ok(), "{again:?}");
    let taken = lines.of("request_taken_over", &ulla);
    assert_eq!(taken, [json!({"who": "ulla", "tool": "lisp_eval", "key": "k"})]);
}

/// A request that comes again and cannot go on as it began is not carried out, and not told of as if it were.
#[tokio::test]
async fn a_request_that_is_stale_is_told_as_such() {
    let (lines, wanda) = (Lines::listen(), Caller::new("wanda", Transport::Stdio));
    let store = Arc::new(Store::open(":memory:").expect("a store"));
    let (runtime, waiting) = crm_that_counts().await;
    let parts = Parts { runtime: Some(runtime), effects: Some(StoreJournal::new(store)), ..Parts::default() };
    let settings = with_sessions(Profile::Debug, settings::SessionSettings::default());
    let engine = Engine::with(settings, parts).await.expect("it starts");
    let started = engine.call(&wanda, "lisp_session_start", args(json!({})), Signals::default()).await;
    let id = object(&started.expect("a reply"))["session_id"].clone();
    let given = |program: &str| args(json!({"session_id": id, "program": program}));
    let program = "(:ok (tool/call {:server \"crm\" :tool \"put\" :args {:n 1}}))
                   (:ok (tool/call {:server \"crm\" :tool \"get\" :args {:wait 1}}))";
    let cancel = CancellationToken::new();
    let keyed = |cancel: &CancellationToken| Signals {
        request_key: Some("k".to_owned()),
        cancel: cancel.clone(),
        ..Signals::default()
    };
    let (_, ()) =
        tokio::join!(engine.call(&wanda, "lisp_session_eval", given(program), keyed(&cancel)), async {
            until_waiting(&waiting, 1).await;
            cancel.cancel();
        });
    let changed = engine.call(&wanda, "lisp_session_eval", given("(def y 2)"), Signals::default()).await;
    assert!(changed.is_ok_and(|reply| !reply.is_error));
    let again =
        engine.call(&wanda, "lisp_session_eval", given(program), keyed(&CancellationToken::new())).await;
    assert_eq!(object(&again.expect("a reply"))["reason"], "request_stale");
    assert_eq!(lines.of("request_taken_over", &wanda), [] as [Json; 0]);
    let told = json!({"who": "wanda", "tool": "lisp_session_eval", "key": "k"});
    assert_eq!(lines.of("request_stale", &wanda), [told]);
}

/// Without a store nothing lists such calls but the log.
#[tokio::test]
async fn an_outcome_that_becomes_unknown_is_told_without_a_store_too() {
    let (lines, vera) = (Lines::listen(), Caller::new("vera", Transport::Stdio));
    let (runtime, waiting) = crm_that_counts().await;
    let parts = Parts { runtime: Some(runtime), ..Parts::default() };
    let engine = Engine::with(patient(Profile::Debug), parts).await.expect("it starts");
    for (count, tool) in [(1, "get"), (2, "guess")] {
        let given = args(json!({"program": format!("(crm/{tool} {{:wait 1}})")}));
        let cancel = CancellationToken::new();
        let signals = Signals { cancel: cancel.clone(), ..Signals::default() };
        let (_, ()) = tokio::join!(engine.call(&vera, "lisp_eval", given, signals), async {
            until_waiting(&waiting, count).await;
            cancel.cancel();
        });
    }
    // The call is dropped with its program, on whichever thread.
    let unknown = loop {
        let unknown = lines.of("outcome_unknown", &vera);
        if !unknown.is_empty() {
            break unknown;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(unknown, [json!({"who": "vera", "tool": "crm/guess", "identity": "", "begun": ""})]);
}
