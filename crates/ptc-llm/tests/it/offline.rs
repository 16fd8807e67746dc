//! Scripts, recordings and replays, driven through agents.

use std::path::PathBuf;
use std::sync::Arc;

use ptc_agent::model::{Llm, Message, Model, Reply, Request};
use ptc_agent::{Agent, AgentRun, Host, RunOptions, Step, Tool, drive};
use ptc_llm::{Recorder, Recording, Replay, Script};
use serde_json::json;

struct Clock;

impl Host for Clock {
    fn now(&mut self) -> u64 {
        0
    }
    fn wait(&mut self, _ms: u64) {}
}

fn mission(llm: Llm, topic: &str) -> Step {
    let tool = Tool::new("rows", |_| json!([1, 2, 3]));
    let agent = Agent::builder("Sum {{topic}}").tool(tool).build().expect("it builds");
    let options = RunOptions::new(llm).context(json!({"topic": topic}));
    drive(&mut AgentRun::new(Arc::new(agent), options, 0), &mut Clock)
}

fn file(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join(format!("{name}-{}.jsonl", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

#[test]
fn a_script_is_read_and_answers_in_order() {
    let text = r#"{"program": "(def xs (tool/rows {}))"}
        {"when": "never said", "text": "x"}
        {"reply": {"content": "```clojure\n(return (reduce + xs))\n```", "tokens": {"input": 10, "output": 5}}}"#;
    let script = Script::parse("s.jsonl", text).unwrap();
    let step = mission(Llm::Model(Arc::new(script)), "rows");
    assert_eq!(step.value, json!(6), "{step:#?}");
    assert_eq!(step.usage.total_tokens, 15);
}

#[test]
fn wrong_scripts_say_where() {
    for (text, part) in [
        ("{\"txt\": 1}", "s.jsonl:1: unknown field `txt`"),
        ("\"fine\"\n{}", "s.jsonl:2: the line has no reply"),
        ("\"fine\"\nnot json", "s.jsonl:2: "),
    ] {
        let error = Script::parse("s.jsonl", text).unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn what_was_recorded_is_replayed_and_a_miss_shows_the_nearest() {
    let path = file("recorded");
    let program = "```clojure\n(return (reduce + (tool/rows {})))\n```";
    let recorder = Recorder::new(Llm::Model(Arc::new(Script::of([program]))), &path).unwrap();
    assert_eq!(mission(Llm::Model(Arc::new(recorder)), "rows").value, json!(6));

    let replay = || Llm::Model(Arc::new(Replay::new(Recording::read(&path).unwrap())));
    assert_eq!(mission(replay(), "rows").value, json!(6));
    let step = mission(replay(), "other rows");
    let message = step.fail.unwrap().message;
    for part in ["no reply to request", "alike", "- data/topic", "+ data/topic", "other rows"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    std::fs::remove_file(path).unwrap();
}

#[tokio::test]
async fn the_same_request_gets_its_replies_in_order() {
    let path = file("twice");
    let recorder = Recorder::new(Llm::Model(Arc::new(Script::of(["one", "two"]))), &path).unwrap();
    let request = Arc::new(Request { messages: vec![Message::user("again")], ..Request::default() });
    for _ in 0..3 {
        let _ = recorder.reply(request.clone(), None).await;
    }
    let replay = Replay::new(Recording::read(&path).unwrap());
    let mut told = Vec::new();
    for _ in 0..3 {
        told.push(replay.reply(request.clone(), None).await.map(|reply: Reply| reply.content));
    }
    assert_eq!(told[0].as_ref().unwrap().as_deref(), Some("one"));
    assert_eq!(told[1].as_ref().unwrap().as_deref(), Some("two"));
    assert!(told[2].as_ref().unwrap_err().message.contains("the script is over"), "errors are recorded too");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_recording_that_was_edited_is_refused() {
    let path = file("edited");
    let recorder = Recorder::new(Llm::Model(Arc::new(Script::of(["x"]))), &path).unwrap();
    mission(Llm::Model(Arc::new(recorder)), "rows");
    let text = std::fs::read_to_string(&path).unwrap();
    let edited = text.replace("rows", "cows");
    assert!(Recording::parse("r.jsonl", &edited).unwrap_err().to_string().contains("r.jsonl:1: the digest"));
    assert!(Recording::parse("r.jsonl", "{}").unwrap_err().to_string().contains("not an entry"));
    std::fs::remove_file(path).unwrap();
}
