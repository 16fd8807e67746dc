//! The async driver: models and tools at once, limits of time, cancellation, panics, checkpoints, chats.

#[path = "driver/approval.rs"]
mod approval;
#[cfg(feature = "upstreams")]
#[path = "driver/upstreams.rs"]
mod upstreams;

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ptc_runner::model::{Llm, Model, ModelError, Pending, Reply, Request, TextSink};
use ptc_runner::typed::Call;
use ptc_runner::{
    Agent, AgentRun, Answer, Chat, Compiled, Effect, Expose, Journal, LostCall, Need, OpenCall, RunOptions,
    Saved, Step, Surroundings, Tool, compile, delegate, execute, resume, run, run_all, run_blocking, run_in,
    then, tool, waiting,
};
use serde_json::{Value as Json, json};

/// A model that reads its replies from a list; the last is repeated.
fn script(replies: &[&str]) -> Llm {
    let replies = Mutex::new(replies.iter().map(|reply| (*reply).to_owned()).collect::<VecDeque<_>>());
    Llm::function(move |_: &Request| {
        let mut replies = replies.lock().map_err(|_| ModelError::from("poisoned"))?;
        let reply = if replies.len() > 1 { replies.pop_front() } else { replies.front().cloned() };
        reply.ok_or_else(|| ModelError::from("the script is over"))
    })
}

fn code(program: &str) -> String {
    format!("```clojure\n{program}\n```")
}

fn reason(step: &Step) -> &str {
    step.fail.as_ref().map_or("ok", |fail| fail.reason.as_str())
}

/// A tool that lets others go on before it answers.
fn later() -> Tool {
    Tool::future("later", |args: Json| async move {
        tokio::task::yield_now().await;
        args["n"].clone()
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_a_pmap_run_at_once() {
    // None is answered before all ten were made.
    let all = Arc::new(tokio::sync::Barrier::new(10));
    let meets = Tool::future("meet", move |args: Json| {
        let all = all.clone();
        async move {
            all.wait().await;
            args["n"].clone()
        }
    });
    let agent = Agent::builder("x").tool(meets).timeout_ms(120_000).build().unwrap();
    let program = code("(return (reduce + (pmap #(tool/meet {:n %}) (range 10))))");
    let step = run(agent, RunOptions::new(script(&[&program]))).await;
    assert_eq!(step.value, json!(45), "{step:#?}");
}

#[tokio::test]
async fn tools_that_panic_or_are_late_are_errors_that_the_program_sees() {
    let agent = Agent::builder("x")
        .tool(Tool::new("broken", |_| -> Json { panic!("oh") }))
        .tool(never("slow").0.timeout_ms(30))
        .build()
        .unwrap();
    let program = code(
        "(defn try-it [f] (try (f) (catch Exception e (ex-message e))))
         (return [(try-it #(tool/broken {})) (try-it #(tool/slow {:n 1}))])",
    );
    let step = run(agent, RunOptions::new(script(&[&program]))).await;
    let told = step.value.to_string();
    assert!(told.contains("panicked") && told.contains("30 ms"), "{told}");
}

#[tokio::test]
async fn a_program_that_never_ends_is_stopped_by_its_time() {
    let agent = Agent::builder("x").timeout_ms(80).set("fuel", &json!(1_000_000_000_000u64)).build().unwrap();
    let llm = script(&[&code("(loop [] (recur))"), &code("(return (:reason data/fail))")]);
    let step = run(agent, RunOptions::new(llm)).await;
    assert_eq!(step.value, json!("timeout"));
}

#[tokio::test]
async fn a_mission_that_waits_is_stopped_by_its_time() {
    let agent =
        Agent::builder("x").tool(never("slow").0).timeout_ms(120_000).mission_timeout_ms(60).build().unwrap();
    let step = run(agent, RunOptions::new(script(&[&code("(tool/slow {:n 1})")]))).await;
    assert_eq!(reason(&step), "mission_timeout");
}

/// A tool that never answers, and what says that it was called.
fn never(name: &str) -> (Tool, Arc<tokio::sync::Notify>) {
    let called = Arc::new(tokio::sync::Notify::new());
    let calls = called.clone();
    let tool = Tool::future(name, move |_: Json| {
        calls.notify_one();
        std::future::pending::<Json>()
    });
    (tool, called)
}

#[tokio::test]
async fn a_run_is_cancelled_from_outside() {
    let (tool, called) = never("wait");
    let agent = Agent::builder("x").tool(tool).timeout_ms(120_000).build().unwrap();
    let around = Surroundings { cancel: Some(Default::default()), ..Surroundings::default() };
    let token = around.cancel.clone().unwrap();
    let under_way = tokio::spawn(run_in(agent, RunOptions::new(script(&[&code("(tool/wait {})")])), around));
    called.notified().await;
    token.cancel();
    assert_eq!(reason(&under_way.await.unwrap()), "cancelled");
}

#[tokio::test]
async fn whoever_drops_the_future_drops_the_run() {
    let called = Arc::new(tokio::sync::Notify::new());
    let (held, mut gone) = tokio::sync::mpsc::channel::<()>(1);
    let calls = called.clone();
    let tool = Tool::future("wait", move |_: Json| {
        calls.notify_one();
        let held = held.clone();
        async move {
            held.closed().await;
            Json::Null
        }
    });
    let agent = Agent::builder("x").tool(tool).timeout_ms(120_000).build().unwrap();
    tokio::select! {
        _ = run(agent, RunOptions::new(script(&[&code("(tool/wait {})")]))) => panic!("the tool never answers"),
        () = called.notified() => {}
    }
    assert_eq!(gone.recv().await, None, "nobody holds the tool any more");
}

/// Adds two numbers.
#[tool(crate = ptc_runner)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Adds two numbers when others had their turn.
#[tool(crate = ptc_runner)]
async fn add_later(a: i64, b: i64) -> Result<i64, String> {
    tokio::task::yield_now().await;
    if a < 0 { Err("a is negative".to_owned()) } else { Ok(a + b) }
}

#[tokio::test]
async fn typed_functions_are_tools() {
    let agent =
        Agent::builder("x").tool(Tool::typed::<add>()).tool(Tool::typed::<add_later>()).build().unwrap();
    let preview = Arc::new(agent.clone()).preview_prompt(&json!({})).unwrap();
    assert!(preview.user.contains("tool/add(a int, b int) -> int  ; Adds two numbers."), "{}", preview.user);
    let program = code(
        "(return [(tool/add {:a 1 :b \"2\"}) (tool/add_later {:a 3 :b 4})
                  (try (tool/add_later {:a -1 :b 1}) (catch Exception e :negative))])",
    );
    let step = run(agent, RunOptions::new(script(&[&program]))).await;
    assert_eq!(step.value, json!([3, 7, "negative"]), "{step:#?}");
    assert!(matches!(<add as ptc_runner::typed::TypedFunction>::call(json!({"a": 1})), Call::Now(Err(_))));
}

#[tokio::test]
async fn r2_1_c8_a_prompt_alone_is_delegated_as_an_agent_is_run() {
    let llm = || script(&[&code("(return {:sum (+ data/a 1)})")]);
    let options = || RunOptions::new(llm()).context(json!({"a": 1}));
    let agent = Agent::builder("Add").signature("{sum :int}").build().unwrap();
    let step = run(agent, options()).await;
    let same = delegate("Add", |builder| builder.signature("{sum :int}"), options()).await.unwrap();
    assert_eq!((&same.value, same.usage.turns), (&json!({"sum": 2}), 1));
    assert_eq!((same.value, same.signature), (step.value, step.signature));
    assert!(delegate("Add", |builder| builder.max_turns(0), options()).await.is_err());
}

#[tokio::test]
async fn r2_20_a_step_is_the_context_of_the_next_agent() {
    let first = Agent::builder("x").signature("{count :int, _ids [:int]}").build().unwrap();
    let llm = || script(&[&code("(return {:count 2 :_ids [7 8]})")]);
    let step = run(first, RunOptions::new(llm())).await;
    let second = || Agent::builder("Use {{count}}").signature("(count :int) -> :int").build().unwrap();
    let sum = script(&[&code("(return (+ data/count (count data/_ids)))")]);
    assert_eq!(then(step.clone(), second(), RunOptions::new(sum.clone())).await.value, json!(4));
    let other = Agent::builder("Use {{missing}}").signature("(missing :int) -> :int").build().unwrap();
    assert_eq!(reason(&then(step, other, RunOptions::new(sum.clone())).await), "chain_error");
    let failed =
        delegate("x", |builder| builder, RunOptions::new(script(&[&code("(fail {:reason :no})")]))).await;
    let failed = failed.unwrap();
    assert_eq!(reason(&run(second(), RunOptions::new(sum).context(failed)).await), "chained_failure");
}

#[tokio::test]
async fn r2_30_a_chat_keeps_definitions_history_and_cached_results() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let rows = Tool::new("rows", move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        json!([1, 2, 3])
    });
    let agent = Agent::builder("x").tool(rows.cached()).build().unwrap();
    let mut chat = Chat::new(agent);
    let llm = |program: &str| RunOptions::new(script(&[&code(program)]));
    assert_eq!(
        chat.say("Load {{them}}", llm("(def xs (tool/rows {})) (return (count xs))")).await,
        Ok(json!(3))
    );
    let branch = chat.clone();
    assert_eq!(chat.say("Sum", llm("(def y 1) (return (reduce + xs))")).await, Ok(json!(6)));
    assert!(chat.say("Fail", llm("(def z 1) (fail {:reason :no})")).await.is_err());
    let again = "(return [(count (tool/rows {})) y])";
    assert_eq!(chat.say("Again", llm(again)).await, Ok(json!([3, 1])));
    assert_eq!(calls.load(Ordering::SeqCst), 1, "the cache lasts over the chat");
    let mut branch = branch;
    let step = branch
        .step("Defined?", llm("(return (boolean (resolve 'y)))"), Surroundings::default())
        .await
        .unwrap();
    assert_ne!(step.value, json!(true), "a branch does not see what came later");
}

#[tokio::test]
async fn r2_40_a_program_is_written_once_and_runs_without_a_model() {
    let orders = Tool::new("orders", |_| json!([{"total": 5}, {"total": 7}]));
    let agent = Agent::builder("Sum orders above {{limit}}")
        .signature("(limit :int) -> {sum :int}")
        .tool(orders)
        .max_turns(1)
        .build()
        .unwrap();
    let program = "(return {:sum (reduce + (filter #(> % data/limit) (map :total (tool/orders))))})";
    let compiled: Compiled = compile(agent, &json!({"limit": 1}), RunOptions::new(script(&[&code(program)])))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(compiled.source(), program);
    assert!(!compiled.needs_model());
    let with = |limit: i64| RunOptions::default().context(json!({"limit": limit}));
    assert_eq!(execute(&compiled, with(6)).await.value, json!({"sum": 7}));
    assert_eq!(execute(&compiled, with(0)).await.value, json!({"sum": 12}));
    // r2.44: a compiled agent is a tool like any other.
    let tool = Tool::compiled("sum", compiled).unwrap();
    let parent = Agent::builder("x").tool(tool).build().unwrap();
    let step = run(parent, RunOptions::new(script(&[&code("(return (:sum (tool/sum {:limit 6})))")]))).await;
    assert_eq!(step.value, json!(7), "{step:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_runs_go_on_side_by_side_in_order() {
    let runs = (0..50).map(|n| {
        let agent = Agent::builder("x").tool(later()).build().unwrap();
        let program = code(&format!("(return (tool/later {{:n {n}}}))"));
        (Arc::new(agent), RunOptions::new(script(&[&program])))
    });
    let values: Vec<Json> = run_all(runs, 25).await.into_iter().map(|step| step.value).collect();
    assert_eq!(values, (0..50).map(Json::from).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_run_goes_on_from_its_last_checkpoint() {
    let kept = Arc::new(Kept::default());
    let around = Surroundings { journal: Some(kept.clone()), ..Surroundings::default() };
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let tool = Tool::new("once", move |_| json!(counted.fetch_add(1, Ordering::SeqCst))).effect(Effect::Read);
    let agent = Arc::new(Agent::builder("x").tool(tool).build().unwrap());
    let llm = || script(&[&code("(def a (tool/once {}))"), &code("(return [a (tool/once {})])")]);
    let step = run_in(agent.clone(), RunOptions::new(llm()), around).await;
    assert_eq!(step.value, json!([0, 1]));
    let states = kept.states.lock().unwrap().clone();
    let (bytes, known) = states.last().unwrap().clone();
    assert_eq!((states.len(), known), (4, 3), "two requests and two calls; the last state waits for a call");
    // Without the answers behind it, the last call is made again.
    let again = resume(agent.clone(), RunOptions::new(llm()), bytes.clone(), Surroundings::default()).await;
    assert_eq!((again.value, calls.load(Ordering::SeqCst)), (json!([0, 2]), 3));
    // With them, nothing is asked at all.
    let answers = kept.answers.lock().unwrap()[known..].to_vec();
    let saved = Saved { state: bytes, answers, ..Saved::default() };
    let again = resume(agent, RunOptions::default(), saved, Surroundings::default()).await;
    assert_eq!((again.value, calls.load(Ordering::SeqCst)), (json!([0, 1]), 3));
}

/// A journal in memory: states with the number of answers they know, answers, and calls without which runs went on.
#[derive(Default)]
struct Kept {
    states: Mutex<Vec<(Vec<u8>, usize)>>,
    answers: Mutex<Vec<(u64, Vec<u8>)>>,
    lost: Mutex<Vec<LostCall>>,
}

impl Journal for Kept {
    fn state(&self, bytes: &[u8]) -> Result<(), String> {
        let known = self.answers.lock().expect("nobody panicked").len();
        self.states.lock().expect("nobody panicked").push((bytes.to_vec(), known));
        Ok(())
    }

    fn answers(&self, answers: &[Answer]) -> Result<(), String> {
        let answers = answers.iter().map(|answer| (answer.ask, answer.bytes.clone()));
        self.answers.lock().expect("nobody panicked").extend(answers);
        Ok(())
    }

    fn lost(&self, call: &LostCall) -> Result<Option<String>, String> {
        let mut lost = self.lost.lock().expect("nobody panicked");
        lost.push(call.clone());
        Ok(Some(format!("lost-{}", lost.len())))
    }
}

/// A journal that is full.
struct Full;

impl Journal for Full {
    fn state(&self, _: &[u8]) -> Result<(), String> {
        Ok(())
    }

    fn answers(&self, _: &[Answer]) -> Result<(), String> {
        Err("no room".to_owned())
    }
}

#[tokio::test]
async fn a_run_that_cannot_be_kept_ends_before_it_asks_for_more() {
    let called = Arc::new(AtomicUsize::new(0));
    let counted = called.clone();
    let tool = Tool::new("once", move |_| json!(counted.fetch_add(1, Ordering::SeqCst)));
    let agent = Agent::builder("x").tool(tool).build().unwrap();
    let around = Surroundings { journal: Some(Arc::new(Full)), ..Surroundings::default() };
    let step = run_in(agent, RunOptions::new(script(&[&code("(return (tool/once {}))")])), around).await;
    assert_eq!((reason(&step), called.load(Ordering::SeqCst)), ("checkpoint_error", 0));
}

#[tokio::test]
async fn calls_that_were_not_answered_are_made_again_only_if_that_does_no_harm() {
    for (effect, idempotent, repeat, expected) in [
        (Effect::Read, false, false, json!("done")),
        (Effect::Unknown, true, false, json!("done")),
        (Effect::Write, false, true, json!("done")),
        (Effect::Write, false, false, json!("unknown")),
        (Effect::Unknown, false, false, json!("unknown")),
    ] {
        let mut tool = Tool::new("act", |_| json!("done")).effect(effect);
        tool.idempotent = idempotent;
        let agent = Arc::new(Agent::builder("x").tool(tool).build().unwrap());
        let program = code(
            "(return (try (tool/act {}) (catch Exception e (if (re-find #\"outcome unknown\" (ex-message e)) :unknown :other))))",
        );
        let kept = Arc::new(Kept::default());
        let around = Surroundings { journal: Some(kept.clone()), ..Surroundings::default() };
        run_in(agent.clone(), RunOptions::new(script(&[&program])), around).await;
        let state = kept.states.lock().unwrap().last().unwrap().0.clone();
        let saved = Saved { state, repeat, ..Saved::default() };
        let step = resume(agent, RunOptions::default(), saved, Surroundings::default()).await;
        assert_eq!(step.value, expected, "{effect:?}, idempotent: {idempotent}, repeat: {repeat}: {step:#?}");
    }
}

#[tokio::test]
async fn a_program_is_told_by_which_identity_people_settle_a_call_that_nobody_knows_of() {
    let open = |is_dismissed| {
        Some(OpenCall { identity: Some("r1-0001".to_owned()), begun_ms: 1_700_000_000_999, is_dismissed })
    };
    for (open, then) in [
        (None, "look before it is made again"),
        (
            open(false),
            "it is not made again. Look what became of it, and note that with `ptc effects settle`; its identity is r1-0001",
        ),
        (open(true), "it is not made again. Its identity is r1-0001"),
    ] {
        let tool = Tool::new("act", |_| json!("done")).effect(Effect::Write);
        let agent = Arc::new(Agent::builder("x").tool(tool).build().unwrap());
        let program = code("(return (try (tool/act {}) (catch Exception e (ex-message e))))");
        let kept = Arc::new(Kept::default());
        let around = Surroundings { journal: Some(kept.clone()), ..Surroundings::default() };
        run_in(agent.clone(), RunOptions::new(script(&[&program])), around).await;
        let state = kept.states.lock().unwrap().last().unwrap().0.clone();
        let number = waiting(&state).expect("what it waits for")[0].id;
        let at = if open.is_some() { ", called at 2023-11-14T22:13:20Z," } else { "" };
        let open = BTreeMap::from_iter(open.map(|open| (number, open)));
        let saved = Saved { state, open, ..Saved::default() };
        let step = resume(agent, RunOptions::default(), saved, Surroundings::default()).await;
        let told = step.value.as_str().expect("a message");
        assert!(
            told.contains(&format!("outcome unknown: tool/act{at} was begun before")) && told.ends_with(then),
            "{told}"
        );
    }
}

/// How a tool ends without an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ends {
    TooLate,
    Panics,
    WithItsRun,
}

#[tokio::test]
async fn calls_without_which_a_run_goes_on_are_written_down_if_they_may_have_changed_something() {
    for (ends, effect, cause) in [
        (Ends::TooLate, Effect::Write, "took longer than 1 ms, so it may or may not have happened; "),
        (Ends::TooLate, Effect::Unknown, "took longer than 1 ms, so it may or may not have happened; "),
        (Ends::TooLate, Effect::Read, "took longer than 1 ms"),
        (Ends::Panics, Effect::Write, "panicked, so it may or may not have happened; "),
        (Ends::Panics, Effect::Read, "the tool's function panicked"),
        (Ends::WithItsRun, Effect::Write, ""),
        (Ends::WithItsRun, Effect::Read, ""),
    ] {
        let cancel = tokio_util::sync::CancellationToken::new();
        let stop = cancel.clone();
        let mut tool = Tool::future("act", move |_| {
            let stop = stop.clone();
            async move {
                match ends {
                    Ends::TooLate => {}
                    Ends::Panics => panic!("as it should"),
                    Ends::WithItsRun => stop.cancel(),
                }
                std::future::pending::<Json>().await
            }
        });
        tool.effect = effect;
        tool.timeout_ms = (ends == Ends::TooLate).then_some(1);
        let agent = Arc::new(Agent::builder("x").tool(tool).build().unwrap());
        let program = code("(return (try (tool/act {:n 1}) (catch Exception e (ex-message e))))");
        for journal in [Some(Arc::new(Kept::default())), None] {
            let kept = journal.clone().map(|kept| kept as Arc<dyn Journal>);
            let around =
                Surroundings { journal: kept, cancel: Some(cancel.clone()), ..Surroundings::default() };
            let before = ptc_host::now_ms();
            let step = run_in(agent.clone(), RunOptions::new(script(&[&program])), around).await;
            let lost = journal.as_ref().map(|kept| kept.lost.lock().unwrap().clone()).unwrap_or_default();
            let listed: Vec<_> = lost.iter().map(|call| (&*call.tool, &call.args)).collect();
            let expected = if effect == Effect::Read || journal.is_none() { 0 } else { 1 };
            assert_eq!(listed, vec![("act", &json!({"n": 1})); expected], "{ends:?} {effect:?}");
            assert!(lost.iter().all(|call| call.called_ms >= before));
            if ends == Ends::WithItsRun {
                continue;
            }
            let told = step.value.as_str().expect("a message");
            assert!(told.contains(cause), "{ends:?} {effect:?}: {told}");
            let at = lost.first().map(|call| ptc_host::called_at(call.called_ms));
            let shape = at.map(|at| format!("outcome unknown: tool/act, called at {at}, {cause}"));
            assert!(
                shape.is_none_or(|shape| told.contains(&shape) && told.contains("identity is lost-1")),
                "{told}"
            );
        }
    }
}

#[tokio::test]
async fn a_run_that_is_cancelled_is_left_as_it_was() {
    let left = Arc::new(Mutex::new(Vec::new()));
    let (sink, cancel) = (left.clone(), tokio_util::sync::CancellationToken::new());
    let stop = cancel.clone();
    // The first call stops the run and answers when it has stopped, the second answers.
    let (stopped, when_stopped) = std::sync::mpsc::channel();
    let when_stopped = Mutex::new(when_stopped);
    let tool = Tool::new("stop", move |_| {
        if !stop.is_cancelled() {
            stop.cancel();
            when_stopped.lock().unwrap().recv().unwrap();
        }
        json!("answered")
    });
    let agent = Arc::new(Agent::builder("x").tool(tool.effect(Effect::Read)).build().unwrap());
    let around = Surroundings {
        cancel: Some(cancel),
        on_stop: Some(Arc::new(move |bytes: &[u8]| {
            sink.lock().unwrap().extend_from_slice(bytes);
            let _ = stopped.send(());
            Ok(())
        })),
        ..Surroundings::default()
    };
    let llm = script(&[&code("(return (tool/stop {}))")]);
    let step = run_in(agent.clone(), RunOptions::new(llm), around).await;
    assert_eq!(reason(&step), "cancelled");
    let bytes = left.lock().unwrap().clone();
    let step = resume(agent, RunOptions::default(), bytes, Surroundings::default()).await;
    assert_eq!(step.value, json!("answered"));
}

/// A model that streams.
struct Streaming;

impl Model for Streaming {
    fn reply(&self, request: Arc<Request>, chunk: Option<TextSink>) -> Pending<Result<Reply, ModelError>> {
        assert!(request.stream);
        Box::pin(async move {
            for piece in ["Hello", " ", "there"] {
                if let Some(chunk) = &chunk {
                    chunk(piece);
                }
                tokio::task::yield_now().await;
            }
            Ok(Reply::text("Hello there"))
        })
    }
}

#[tokio::test]
async fn r10_9_plain_text_streams_and_comes_whole_from_models_that_do_not() {
    for (llm, wanted) in [
        (Llm::Model(Arc::new(Streaming)), vec!["Hello", " ", "there"]),
        (script(&["Hello there"]), vec!["Hello there"]),
    ] {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = seen.clone();
        let on_chunk: TextSink = Arc::new(move |piece: &str| sink.lock().unwrap().push(piece.to_owned()));
        let agent = Agent::builder("Greet").output(ptc_runner::model::Output::Text).build().unwrap();
        let step = run(agent, RunOptions { on_chunk: Some(on_chunk), ..RunOptions::new(llm) }).await;
        assert_eq!(step.value, json!("Hello there"));
        assert_eq!(*seen.lock().unwrap(), wanted);
    }
}

#[tokio::test]
async fn models_are_found_by_name() {
    let options = |name: &'static str| RunOptions {
        resolver: Some(Arc::new(move |asked: &str| (asked == name).then(|| script(&[&code("(return 1)")])))),
        ..RunOptions::default()
    };
    let agent = || Agent::builder("x").llm(Llm::named("haiku")).build().unwrap();
    assert_eq!(run(agent(), options("haiku")).await.value, json!(1));
    for unknown in [options("opus"), options("opus").register("sonnet", script(&["x"]))] {
        let step = run(agent(), unknown).await;
        assert_eq!(reason(&step), "model_not_found");
        assert!(step.fail.unwrap().message.contains("haiku"));
    }
}

#[tokio::test]
async fn a_program_that_computes_can_be_cancelled() {
    let agent =
        Agent::builder("x").timeout_ms(120_000).set("fuel", &json!(1_000_000_000_000u64)).build().unwrap();
    let cancel = tokio_util::sync::CancellationToken::new();
    let around = Surroundings {
        cancel: Some(cancel.clone()),
        subscriber: Some(Arc::new(move |event: ptc_runner::Event| {
            if event.event == "lisp.execute.start" {
                cancel.cancel();
            }
        })),
        ..Surroundings::default()
    };
    let step = run_in(agent, RunOptions::new(script(&[&code("(loop [] (recur))")])), around).await;
    assert_eq!(reason(&step), "cancelled");
}

#[tokio::test]
async fn events_are_told_as_they_happen() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = seen.clone();
    let around = Surroundings {
        subscriber: Some(Arc::new(move |event: ptc_runner::Event| sink.lock().unwrap().push(event.event))),
        ..Surroundings::default()
    };
    let agent = Agent::builder("x").tool(later().expose(Expose::PtcLisp)).build().unwrap();
    run_in(agent, RunOptions::new(script(&[&code("(return (tool/later {:n 1}))")])), around).await;
    let mut seen = seen.lock().unwrap();
    assert_eq!(seen[4], "lisp.execute.start");
    seen.retain(|event| !event.starts_with("lisp."));
    let wanted = ["run.start", "turn.start", "llm.start", "llm.stop", "tool.start", "tool.stop", "tool.call"];
    assert_eq!(seen[..7], wanted);
    assert_eq!(seen[7..], ["turn.stop", "run.stop"]);
}

#[test]
fn a_run_needs_no_runtime_of_the_callers() {
    let agent = Agent::builder("x").max_turns(1).build().unwrap();
    assert_eq!(run_blocking(agent, RunOptions::new(script(&[&code("(+ 1 2)")]))).value, json!(3));
}

#[test]
fn a_run_says_what_it_needs() {
    let agent = Arc::new(Agent::builder("x").build().unwrap());
    let mut run = AgentRun::new(agent, RunOptions::new(script(&["x"])), 0);
    assert!(matches!(run.next(0), Need::Asks(asks) if asks.len() == 1));
    assert!(matches!(run.next(1), Need::Wait { until: None }));
    run.cancel(2);
    assert!(matches!(run.next(2), Need::Done(step) if reason(&step) == "cancelled"));
}
