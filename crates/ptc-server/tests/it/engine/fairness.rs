//! Owners who want much and owners who want little: nobody waits for what another one runs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use ptc_server::engine::{Caller, Engine, Parts, Profile, Settings, Signals, Transport, settings};
use ptc_upstream::Caps;
use serde_json::{Value as Json, json};
use tokio::sync::Barrier;
use tokio_util::sync::CancellationToken;

use super::support::{args, call_as, engine, object, with_sessions};

const ENDLESS: &str = "(loop [i 0] (recur (inc i)))";
const SMALL: &str = "(reduce + (map (fn [i] (* i i)) (range 500)))";
const CALLS: usize = 40;

/// Calls a tool again and again, one call after the other; the median time of one.
async fn median(engine: &Engine, caller: &Caller, tool: &str, arguments: &Json) -> Duration {
    let mut times = Vec::new();
    for _ in 0..CALLS {
        let began = Instant::now();
        let reply = call_as(caller, engine, tool, arguments.clone()).await;
        times.push(began.elapsed());
        assert_eq!(object(&reply)["result"], "user=> 41541750", "{reply:?}");
    }
    times.sort();
    times[CALLS / 2]
}

/// Calls of one owner that go on until they are cancelled.
fn loops(
    engine: &Arc<Engine>,
    caller: &Caller,
    count: usize,
    stop: &CancellationToken,
) -> Vec<tokio::task::JoinHandle<()>> {
    let one = |_| {
        let (engine, caller) = (engine.clone(), caller.clone());
        let signals = Signals { cancel: stop.clone(), ..Signals::default() };
        tokio::spawn(async move {
            let ended = engine.call(&caller, "lisp_eval", args(json!({"program": ENDLESS})), signals).await;
            assert!(ended.is_err(), "it was cancelled: {ended:?}");
        })
    };
    (0..count).map(one).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_owner_with_six_endless_loops_leaves_all_calls_of_another_answered() {
    let settings = with_sessions(Profile::Structured, settings::SessionSettings::default());
    let engine = engine(Settings { max_concurrent_calls: 2, ..settings }).await;
    let (greedy, other) = (Caller::new("greedy", Transport::Http), Caller::new("other", Transport::Http));
    let started = call_as(&other, &engine, "lisp_session_start", json!({})).await;
    let session = object(&started)["session_id"].clone();
    let cases = [
        ("lisp_eval", json!({"program": SMALL})),
        ("lisp_session_eval", json!({"program": SMALL, "session_id": session})),
    ];
    let mut quiet = Vec::new();
    for (tool, arguments) in &cases {
        quiet.push(median(&engine, &other, tool, arguments).await);
    }
    let stop = CancellationToken::new();
    let looping = loops(&engine, &greedy, 6, &stop);
    while (engine.metrics().in_flight, engine.metrics().queued) != (2, 4) {
        tokio::task::yield_now().await;
    }
    for ((tool, arguments), quiet) in cases.iter().zip(quiet) {
        let beside = median(&engine, &other, tool, arguments).await;
        let ratio = beside.as_secs_f64() / quiet.as_secs_f64();
        eprintln!(
            "{tool}: {CALLS} of {CALLS} answered, median {quiet:?} alone, {beside:?} beside loops: {ratio:.1} x"
        );
    }
    assert_eq!((engine.metrics().in_flight, engine.metrics().queued), (2, 4), "the loops go on");
    stop.cancel();
    for ended in looping {
        ended.await.expect("it ends");
    }
    assert_eq!((engine.metrics().in_flight, engine.metrics().queued), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn busy_is_answered_only_to_the_owner_whose_queue_is_full() {
    let settings = Settings {
        max_concurrent_calls: 1,
        max_queued_calls: 2,
        ..super::support::patient(Profile::Structured)
    };
    let engine = engine(settings).await;
    let (greedy, other) = (Caller::new("greedy", Transport::Http), Caller::new("other", Transport::Http));
    let stop = CancellationToken::new();
    let looping = loops(&engine, &greedy, 3, &stop);
    while engine.metrics().queued < 2 {
        tokio::task::yield_now().await;
    }
    assert!(!engine.ready(1), "everybody's call would be turned away");
    assert!(engine.ready(2), "the other's would not");
    let busy = call_as(&greedy, &engine, "lisp_eval", json!({"program": "1"})).await;
    assert_eq!(object(&busy)["reason"], "busy", "{busy:?}");
    let message = object(&busy)["message"].as_str().expect("a message");
    assert_eq!(message, "server busy: 1 programs of yours run and 2 calls wait for their turn");
    let reply = call_as(&other, &engine, "lisp_eval", json!({"program": "(+ 1 2)"})).await;
    assert_eq!(object(&reply)["result"], "user=> 3", "{reply:?}");
    stop.cancel();
    for ended in looping {
        ended.await.expect("it ends");
    }
    let reply = call_as(&greedy, &engine, "lisp_eval", json!({"program": "(+ 1 2)"})).await;
    assert_eq!(object(&reply)["result"], "user=> 3", "{reply:?}");
}

/// Permits are for running: where two programs of an owner may run, two hundred wait side by side.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_programs_of_one_owner_wait_for_an_upstream_and_none_is_turned_away() {
    const PROGRAMS: usize = 200;
    // Nobody is answered before all have called.
    let gathering = Arc::new(Barrier::new(PROGRAMS));
    let gathered = move || -> BoxFuture<'static, ()> {
        let gathering = gathering.clone();
        Box::pin(async move {
            gathering.wait().await;
        })
    };
    let runtime = super::upstream::crm("get", gathered, json!({})).await;
    let settings = Settings {
        max_concurrent_calls: 2,
        // As much as two of them may use: those that wait count with the little that they keep.
        programs_memory_bytes: 128 << 20,
        caps: Caps { call_timeout: Duration::from_secs(60), ..Caps::default() },
        ..super::support::patient(Profile::Structured)
    };
    let parts = Parts { runtime: Some(runtime), ..Parts::default() };
    let engine = Engine::with(settings, parts).await.expect("it starts");
    let caller = Caller::new("anna", Transport::Http);
    let calls = (0..PROGRAMS).map(|n| {
        let (engine, caller) = (engine.clone(), caller.clone());
        let program = format!("(:n (:value (tool/call {{:server \"crm\" :tool \"get\" :args {{:n {n}}}}})))");
        tokio::spawn(async move { call_as(&caller, &engine, "lisp_eval", json!({"program": program})).await })
    });
    for (n, reply) in futures_util::future::join_all(calls).await.into_iter().enumerate() {
        let reply = reply.expect("it is answered");
        assert_eq!(object(&reply)["result"], format!("user=> {n}"), "{reply:?}");
    }
    assert_eq!((engine.metrics().in_flight, engine.metrics().queued), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_of_all_owners_share_the_memory_and_wait_for_room() {
    let settings = Settings {
        max_concurrent_calls: 8,
        max_queued_calls: 2,
        program_memory_bytes: 64 << 20,
        programs_memory_bytes: (128 << 20) + 1,
        ..super::support::patient(Profile::Structured)
    };
    let engine = engine(settings).await;
    let (greedy, other) = (Caller::new("greedy", Transport::Http), Caller::new("other", Transport::Http));
    let stop = CancellationToken::new();
    let looping = loops(&engine, &greedy, 4, &stop);
    while (engine.metrics().in_flight, engine.metrics().queued) != (2, 2) {
        tokio::task::yield_now().await;
    }
    let busy = call_as(&greedy, &engine, "lisp_eval", json!({"program": "1"})).await;
    assert_eq!(object(&busy)["reason"], "busy", "{busy:?}");
    let message = object(&busy)["message"].as_str().expect("a message");
    assert!(message.contains("the programs of all callers have the memory that there is"), "{message}");
    let reply = call_as(&other, &engine, "lisp_eval", json!({"program": "(+ 1 2)"})).await;
    assert_eq!(object(&reply)["result"], "user=> 3", "who has no program gets one: {reply:?}");
    stop.cancel();
    for ended in looping {
        ended.await.expect("it ends");
    }
    let reply = call_as(&greedy, &engine, "lisp_eval", json!({"program": "(+ 1 2)"})).await;
    assert_eq!(object(&reply)["result"], "user=> 3", "{reply:?}");
}
