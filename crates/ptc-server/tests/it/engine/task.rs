//! `lisp_task`: planning, the account of attempts, effects that stop it, and what it says about its cost.

use std::sync::{Arc, Mutex};

use ptc_agent::model::{Llm, Reply, Request};
use ptc_lisp::prelude::Prelude;
use ptc_server::engine::settings::{Debug, Task};
use ptc_server::engine::{Annotations, Engine, Parts, Payloads, Profile, Settings, Signals};
use serde_json::{Value as Json, json};

use super::support::{Folder, SECRET, anna, args, call, crm, files, object, patient};

/// A planner that answers with these programs, one after the other, and keeps what it was sent.
fn planner(programs: &[&str]) -> (Llm, Arc<Mutex<Vec<String>>>) {
    let programs: Vec<String> =
        programs.iter().map(|program| format!("```clojure\n{program}\n```")).collect();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = seen.clone();
    let llm = Llm::function(move |request: &Request| {
        let mut kept = kept.lock().expect("no panics");
        let messages: Vec<&str> = request.messages.iter().map(|message| message.content.as_str()).collect();
        kept.push(format!("{}\n{}", request.system, messages.join("\n")));
        let turn = kept.len().min(programs.len()) - 1;
        Ok::<_, String>(Reply::text(programs[turn].clone()).tokens(100, 20))
    });
    (llm, seen)
}

async fn start(planner: Option<Llm>, task: Task, settings: Settings) -> Arc<Engine> {
    let settings = Settings {
        task: Some(task),
        debug: Some(Debug { ring_size: 50, max_response_bytes: 1 << 20 }),
        payloads: Payloads::Full,
        ..settings
    };
    let parts = Parts { runtime: Some(crm().await), planner, ..Parts::default() };
    Engine::with(settings, parts).await.expect("it starts")
}

fn open() -> Task {
    Task { allow_writes: true, ..Task::default() }
}

const COUNT: &str = r#"(let [r (tool/call {:server "crm" :tool "get" :args {:rows data/n}})] {:answer (str (count (:value r)) " rows")})"#;

#[tokio::test]
async fn r11_2_a_task_is_planned_run_and_accounted_for() {
    let (llm, seen) = planner(&[COUNT]);
    let engine = start(Some(llm), open(), patient(Profile::Slim)).await;
    let arguments = json!({"task": "How many {{rows}} are there?", "context": {"n": 40},
                           "constraints": {"max_items": 3, "tone": "nice"}});
    let reply = call(&engine, "lisp_task", arguments).await;
    let shown = object(&reply);
    assert_eq!((&shown["status"], &shown["answer"]), (&json!("ok"), &json!("40 rows")), "{shown}");
    assert_eq!(shown["structured_result"], json!({"answer": "40 rows"}));
    assert_eq!(shown["program"], COUNT);
    assert_eq!(shown["warnings"][0]["code"], "unsupported_constraint");
    let entry = &shown["upstream_calls"][0];
    assert_eq!(
        (&entry["tool"], &entry["status"], &entry["effect"]),
        (&json!("get"), &json!("ok"), &json!("read"))
    );
    let planner = &shown["planner"];
    assert_eq!((&planner["calls"], &planner["tokens"]["total"]), (&json!(1), &json!(120)));
    let metrics = &shown["ptc_metrics"];
    assert_eq!(metrics["server_side_llm"]["total_tokens"], 120);
    assert_eq!(metrics["final_result_bytes"], json!({"answer": "40 rows"}).to_string().len());
    assert!(metrics["efficiency_note"].is_string());
    let prompt = seen.lock().expect("no panics")[0].clone();
    assert!(
        prompt.contains("How many {{rows}} are there?") && prompt.contains("at most 3 items"),
        "{prompt}"
    );
    assert!(prompt.contains("crm/get") && prompt.contains("[REDACTED]") && !prompt.contains(SECRET));
    let stats = call(&engine, "lisp_debug", json!({"op": "stats"})).await;
    assert_eq!(object(&stats)["agentic"]["planner_calls"], 1);
    assert_eq!(object(&stats)["payload_reduction"]["agentic_planner"]["prompt_tokens"], 100);
    assert_eq!(engine.metrics().in_flight, 0);
}

#[tokio::test]
async fn probe_21_r11_4_2_nothing_is_tried_again_after_something_may_have_changed() {
    let write = r#"(tool/call {:server "crm" :tool "put" :args {}}) (nope)"#;
    let late = r#"(tool/call {:server "crm" :tool "put" :args {}}) (/ 1 0)"#;
    let read = r#"(tool/call {:server "crm" :tool "get" :args {}}) (/ 1 0)"#;
    let task = Task { max_turns: 3, ..open() };
    // What nobody says anything about may have changed something, too.
    let unknown = r#"(tool/call {:server "crm" :tool "guess" :args {}}) (/ 1 0)"#;
    for (program, tool, effect) in [(late, "put", "write"), (unknown, "guess", "unknown")] {
        let (llm, seen) = planner(&[program, "1"]);
        let engine = start(Some(llm), task.clone(), patient(Profile::Slim)).await;
        let reply = call(&engine, "lisp_task", json!({"task": "store it"})).await;
        let shown = object(&reply);
        assert_eq!(shown["reason"], "partial_side_effects", "{shown}");
        assert_eq!(
            shown["details"],
            json!({"matched_calls": [{"server": "crm", "tool": tool, "effect": effect}]})
        );
        assert_eq!(seen.lock().expect("no panics").len(), 1, "no model was asked again");
    }
    for (first, calls) in [(read, 2), (write, 2)] {
        let (llm, seen) = planner(&[first, "(return 7)"]);
        let engine = start(Some(llm), task.clone(), patient(Profile::Slim)).await;
        let reply = call(&engine, "lisp_task", json!({"task": "look"})).await;
        assert_eq!(object(&reply)["answer"], "7", "{:?}", reply.structured);
        assert_eq!(seen.lock().expect("no panics").len(), calls, "{first}");
    }
}

/// A program that counts nothing where it may not call, and does not look at whether it could.
const WRITES: &str =
    r#"(let [r (tool/call {:server "crm" :tool "put" :args {}})] (return {:n (count (:items (:value r)))}))"#;

/// What an answer says was not allowed: what its account and its warnings have of it.
fn denied(shown: &Json) -> Vec<(String, String)> {
    let text = |json: &Json| json.as_str().unwrap_or_default().to_owned();
    let calls = shown["upstream_calls"].as_array().expect("an account").iter();
    let calls = calls.filter(|call| call["status"] == "error");
    let warnings = shown["warnings"].as_array().expect("warnings").iter();
    calls
        .map(|call| (format!("{}/{}", text(&call["server"]), text(&call["tool"])), text(&call["reason"])))
        .chain(warnings.map(|warning| {
            let detail = text(&warning["detail"]);
            (detail.split(' ').next().unwrap_or_default().to_owned(), text(&warning["code"]))
        }))
        .collect()
}

#[tokio::test]
async fn a_task_that_may_only_read_refuses_a_program_that_may_do_more_before_it_runs() {
    let put = || ("crm/put".to_owned(), "upstream_tool_denied".to_owned());
    let allowed = Task { max_turns: 2, ..open() };
    for (read_only, task) in [
        (true, allowed.clone()),
        (true, Task { allow_writes: false, ..allowed.clone() }),
        (false, Task { allow_writes: false, ..allowed }),
    ] {
        let settings = Settings { read_only, ..patient(Profile::Slim) };
        let (llm, seen) = planner(&[WRITES]);
        let engine = start(Some(llm), task.clone(), settings.clone()).await;
        let reply = call(&engine, "lisp_task", json!({"task": "count them"})).await;
        let shown = object(&reply);
        assert!(reply.is_error && shown["status"] == "error" && shown.get("answer").is_none(), "{shown}");
        // Each program stands in the account; what is said of both is said once.
        assert_eq!(denied(shown), [put(), put(), put()], "{shown}");
        assert_eq!(shown["upstream_calls"][0]["effect"], "write");
        let told = seen.lock().expect("no panics").last().expect("it was asked").clone();
        assert!(told.contains("This task may only read."), "{told}");
        assert!(told.contains("read-only and the program may call crm/put (write)"), "{told}");

        let (llm, _) = planner(&[WRITES, &format!("(return {COUNT})")]);
        let engine = start(Some(llm), task, settings).await;
        let arguments = json!({"task": "count them", "context": {"n": 3}});
        let reply = call(&engine, "lisp_task", arguments).await;
        let shown = object(&reply);
        assert_eq!((&shown["status"], &shown["answer"]), (&json!("ok"), &json!("3 rows")), "{shown}");
        assert_eq!(denied(shown), [put(), put()], "{shown}");
    }
}

#[tokio::test]
async fn a_call_that_somebody_must_approve_is_in_the_account_and_the_warnings_of_a_task() {
    let (llm, _) = planner(&[WRITES]);
    let world = super::approval::World::default();
    let settings = Settings { task: Some(open()), ..patient(Profile::Slim) };
    let engine = world.server(settings, Parts { planner: Some(llm), ..Parts::default() }).await;
    let reply = call(&engine, "lisp_task", json!({"task": "store it"})).await;
    let asked = || ("crm/put".to_owned(), "approval_required".to_owned());
    assert_eq!(denied(object(&reply)), [asked(), asked()], "{:?}", reply.structured);
    assert_eq!(world.seen(), Vec::<String>::new());
}

#[tokio::test]
async fn tasks_that_may_only_read_are_offered_as_such() {
    let (llm, _) = planner(&["1"]);
    let engine =
        start(Some(llm), Task::default(), Settings { read_only: true, ..patient(Profile::Slim) }).await;
    let spec =
        engine.tools(&anna()).into_iter().find(|tool| tool.name == "lisp_task").expect("it is offered");
    assert_eq!(spec.annotations, Some(Annotations::new(true, false, false, true)));
    assert!(
        spec.description.contains("Available upstream capabilities:\n- crm: get->"),
        "{}",
        spec.description
    );
}

#[tokio::test]
async fn r11_2_4_failures_have_their_reasons() {
    let task = |task: Json| json!({"task": task});
    let (llm, _) = planner(&["(nope)"]);
    let engine = start(Some(llm), open(), patient(Profile::Structured)).await;
    for (arguments, reason) in [
        (json!({}), "args_error"),
        (task(json!(" ")), "args_error"),
        (json!({"task": "x", "constraints": {"max_items": 0}}), "args_error"),
        (json!({"task": "x", "context": []}), "args_error"),
    ] {
        let reply = call(&engine, "lisp_task", arguments.clone()).await;
        assert_eq!(object(&reply)["reason"], reason, "{arguments}");
    }
    let failed = call(&engine, "lisp_task", task(json!("x"))).await;
    let reason = object(&failed)["reason"].as_str().expect("a reason").to_owned();
    assert!(reason.starts_with("ptc_"), "{:?}", failed.structured);
    let (llm, _) = planner(&["(fail \"it cannot be done\")"]);
    let gives_up = start(Some(llm), open(), patient(Profile::Slim)).await;
    let reply = call(&gives_up, "lisp_task", task(json!("x"))).await;
    assert_eq!(object(&reply)["reason"], "agent_failed", "{:?}", reply.structured);
    let without = start(None, open(), patient(Profile::Slim)).await;
    let reply = call(&without, "lisp_task", task(json!("x"))).await;
    assert_eq!(object(&reply)["reason"], "agentic_config_error");
    let broken = Llm::function(|_: &Request| Err::<Reply, _>(format!("401 for {SECRET}")));
    let engine = start(Some(broken), open(), patient(Profile::Slim)).await;
    let reply = call(&engine, "lisp_task", task(json!("x"))).await;
    assert_eq!(object(&reply)["reason"], "planner_error");
    assert!(!reply.text().contains("tok-4711"));
    // It answers when the test is over.
    let (_over, when_over) = std::sync::mpsc::channel::<()>();
    let when_over = Mutex::new(when_over);
    let slow = Llm::function(move |_: &Request| {
        let _ = when_over.lock().expect("no panics").recv();
        Ok::<_, String>("1".to_owned())
    });
    let hasty = Task { planner_timeout: std::time::Duration::from_millis(20), ..open() };
    let engine = start(Some(slow), hasty, patient(Profile::Slim)).await;
    let reply = call(&engine, "lisp_task", task(json!("x"))).await;
    assert_eq!(object(&reply)["reason"], "planner_timeout", "{:?}", reply.structured);
}

#[tokio::test]
async fn r11_2_6_long_answers_are_cut_with_a_warning() {
    let (llm, _) = planner(&["(apply str (repeat 5000 \"é\"))"]);
    let engine = start(Some(llm), Task { include_program: false, ..open() }, patient(Profile::Slim)).await;
    let reply = call(&engine, "lisp_task", json!({"task": "x"})).await;
    let shown = object(&reply);
    assert_eq!(shown["answer"].as_str().map(str::len), Some(4096));
    assert_eq!(
        (&shown["execution"]["truncated"], &shown["warnings"][0]["code"]),
        (&json!(true), &json!("max_result_bytes"))
    );
    assert!(shown.get("program").is_none());
}

#[tokio::test]
async fn results_that_nest_too_deep_for_decoders_are_answered_as_text() {
    let (llm, _) = planner(&["(reduce (fn [a _] [a]) 1 (range 150))"]);
    let engine = start(Some(llm), open(), patient(Profile::Slim)).await;
    let reply = call(&engine, "lisp_task", json!({"task": "x"})).await;
    let shown = object(&reply);
    assert_eq!(
        (&shown["structured_result"], &shown["warnings"][0]["code"]),
        (&json!(null), &json!("structured_levels"))
    );
    assert_eq!(shown["answer"], format!("{}1{}", "[".repeat(150), "]".repeat(150)));
}

#[tokio::test]
async fn r11_4_1_calls_that_nobody_waited_for_are_in_the_account() {
    let mut reply = None;
    // On a busy machine its time may be over before the call is made.
    for ms in [400, 4_000, 40_000] {
        let (llm, _) = planner(&[r#"(tool/call {:server "crm" :tool "put" :args {:wait 1}})"#]);
        let task = Task { timeout: std::time::Duration::from_millis(ms), ..open() };
        let engine = start(Some(llm), task, patient(Profile::Slim)).await;
        let given = reply.insert(call(&engine, "lisp_task", json!({"task": "x"})).await);
        if object(given)["upstream_calls"][0].is_object() {
            break;
        }
    }
    let reply = reply.expect("a reply");
    let shown = object(&reply);
    assert_eq!((reply.is_error, &shown["reason"]), (true, &json!("budget_exceeded")), "{shown}");
    assert_eq!(
        (&shown["upstream_calls"][0]["status"], &shown["upstream_calls"][0]["effect"]),
        (&json!("attempted"), &json!("write"))
    );
}

#[tokio::test]
async fn programs_of_tasks_ask_and_are_answered_as_everywhere() {
    for (program, answer) in [
        ("(mapv :name (tool/servers))", "[\"crm\"]"),
        ("(count (dir 'crm))", "3"),
        ("(string? (doc 'crm/get))", "true"),
        ("(:name (meta 'crm/get))", "get"),
        ("(empty? (apropos \"get\"))", "false"),
        ("(count (crm/get {:rows 2}))", "2"),
        (
            r#"(let [r (tool/call {:server "crm" :tool "get" :args {:rows 1}})] [(= :json (:value_kind r)) (:ok r)])"#,
            "[true,true]",
        ),
        (
            r#"(let [r (tool/call {:server "crm" :tool "get" :args {:fail 1}})] [(= :upstream_error (:reason r)) (:ok r)])"#,
            "[true,false]",
        ),
    ] {
        let (llm, _) = planner(&[program]);
        let engine = start(Some(llm), open(), patient(Profile::Slim)).await;
        let reply = call(&engine, "lisp_task", json!({"task": "look"})).await;
        assert_eq!(object(&reply)["answer"], answer, "{program}: {:?}", reply.structured);
    }
}

#[tokio::test]
async fn programs_of_tasks_have_the_prelude_of_all_programs() {
    let source = r#"(ns shop "Counts things.")
        (defn rows "How many rows there are."
          [n] (count (:value (tool/call {:server "crm" :tool "get" :args {:rows n}}))))"#;
    let prelude = Some(Arc::new(Prelude::compile_text(source).expect("it is right")));
    let (planner, seen) = planner(&["(return (shop/rows 3))"]);
    let settings = Settings { task: Some(open()), ..patient(Profile::Slim) };
    let parts = Parts { runtime: Some(crm().await), planner: Some(planner), prelude, ..Parts::default() };
    let engine = Engine::with(settings, parts).await.expect("it starts");
    let reply = call(&engine, "lisp_task", json!({"task": "count"})).await;
    assert_eq!(object(&reply)["answer"], "3", "{:?}", reply.structured);
    let prompt = seen.lock().expect("no panics")[0].clone();
    assert!(prompt.contains("shop/rows"), "{prompt}");
}

#[tokio::test]
async fn r11_3_4_prompts_are_in_traces_only_if_told_and_without_secrets() {
    for (trace_prompts, kept) in [(false, false), (true, true)] {
        let folder = super::support::Folder::new("prompts");
        let (llm, _) = planner(&["1"]);
        let settings = Settings { trace_dir: Some(folder.0.clone()), ..patient(Profile::Slim) };
        let engine = start(Some(llm), Task { trace_prompts, ..open() }, settings).await;
        call(&engine, "lisp_task", json!({"task": format!("Say one, not {SECRET}.")})).await;
        engine.shutdown().await;
        drop(engine);
        let files = super::support::files(&folder.0);
        let [(_, text)] = files.as_slice() else { panic!("one call, one file: {files:?}") };
        assert_eq!(text.contains("planner_prompts"), kept, "{text}");
        assert_eq!(text.contains("Upstream tools, as their servers describe them"), kept, "{text}");
        assert!(!text.contains(SECRET), "{text}");
    }
}

#[tokio::test]
async fn r11_2_2_a_task_names_the_trace_that_its_file_has() {
    let folder = Folder::new("task");
    let (llm, _) = planner(&["1"]);
    let settings = Settings { trace_dir: Some(folder.0.clone()), ..patient(Profile::Slim) };
    let engine = start(Some(llm), open(), settings).await;
    let reply = call(&engine, "lisp_task", json!({"task": "One"})).await;
    let id = object(&reply)["trace_id"].as_str().expect("an id").to_owned();
    engine.shutdown().await;
    drop(engine);
    let found = files(&folder.0);
    assert!(found.len() == 1 && found[0].1.contains(&id), "{id}: {found:?}");
}

/// A program of a task runs on a permit of its owner; while the task waits for its model, others have it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_task_holds_a_permit_while_its_program_runs_and_none_while_its_model_thinks() {
    let (asked, mut hears) = tokio::sync::mpsc::unbounded_channel();
    let (answer, answers) = std::sync::mpsc::channel::<()>();
    let answers = Mutex::new(answers);
    let llm = Llm::function(move |_: &Request| {
        asked.send(()).expect("somebody listens");
        answers.lock().expect("no panics").recv().expect("somebody tells");
        Ok::<_, String>(Reply::text("```clojure\n(loop [i 0] (recur (inc i)))\n```").tokens(1, 1))
    });
    let settings = Settings { max_concurrent_calls: 1, ..patient(Profile::Structured) };
    let engine = start(Some(llm), open(), settings).await;
    let signals = Signals::default();
    let stop = signals.cancel.clone();
    let task = {
        let engine = engine.clone();
        tokio::spawn(async move {
            engine.call(&anna(), "lisp_task", args(json!({"task": "Loop"})), signals).await
        })
    };
    hears.recv().await.expect("the model is asked");
    let reply = call(&engine, "lisp_eval", json!({"program": "(+ 1 2)"})).await;
    assert_eq!(object(&reply)["result"], "user=> 3", "the task waits: {reply:?}");
    answer.send(()).expect("it listens");
    // From some moment on its program runs, and then a call of the same owner stands in the queue.
    let queued = 'runs: loop {
        let engine_of_call = engine.clone();
        let eval =
            tokio::spawn(
                async move { call(&engine_of_call, "lisp_eval", json!({"program": "(+ 1 2)"})).await },
            );
        while !eval.is_finished() {
            if engine.metrics().queued == 1 {
                break 'runs eval;
            }
            tokio::task::yield_now().await;
        }
    };
    assert!(!task.is_finished());
    stop.cancel();
    let reply = queued.await.expect("it ends");
    assert_eq!(object(&reply)["result"], "user=> 3", "{reply:?}");
    assert!(task.await.expect("it ends").is_err(), "it was cancelled");
    assert_eq!(engine.metrics().in_flight, 0);
}
