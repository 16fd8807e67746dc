//! Programs that no agent runs: their calls are spans inside theirs.

use std::sync::Arc;

use ptc_host::{Answer, Program, Tool, Tools, run_blocking};
use ptc_trace::{Memory, Options, Policy, Record, Tracer, subject};
use serde_json::{Value as Json, json};

fn traced(source: &str) -> Vec<Record> {
    let memory = Memory::default();
    let options = Options { policy: Policy::Full, ..Options::default() };
    let tracer = Tracer::new(options, vec![Box::new(memory.clone())]);
    let fault = || Answer::Fault { reason: "timeout".into(), message: "no answer".into() };
    let tools = Tools::new()
        .with("echo", Tool::quick(|args: Json| args))
        .with("call", Tool::blocking(move |_: Json| fault()))
        .with("broken", Tool::quick(|_: Json| Err::<Json, _>("on fire")));
    let span = Arc::new(tracer.begin("eval", subject::EXECUTE, "-e", json!({"program": source})));
    let outcome = run_blocking(&Program::new(source).tools(span.watch(&tools)));
    span.outcome(&outcome);
    drop(span);
    assert!(tracer.flush());
    memory.records()
}

#[test]
fn calls_of_a_program_are_spans_inside_its_span() {
    let records = traced(
        r#"(tool/echo {:n 1}) (tool/call {:server "crm" :tool "find" :args {:id 7}}) (try (tool/broken) (catch Exception e 2))"#,
    );
    let names: Vec<&str> = records.iter().map(|record| record.event.as_str()).collect();
    let calls = [
        "tool.start",
        "tool.stop",
        "upstream.call.start",
        "upstream.call.exception",
        "tool.start",
        "tool.exception",
    ];
    assert_eq!(names[..2], ["trace.start", "lisp.execute.start"]);
    assert_eq!(names[2..8], calls);
    assert_eq!(names[8..], ["lisp.execute.stop"]);
    let program = &records[1].span_id;
    assert!(records[2..8].iter().all(|record| record.parent_span_id == *program));
    assert_eq!(records[3].data["result"], json!({"n": 1}));
    assert_eq!((&records[4].tool_name, &records[4].data["server"]), (&Some("find".into()), &json!("crm")));
    assert_eq!(records[5].data["reason"], "timeout");
    assert_eq!(
        (&records[7].data["reason"], &records[7].data["error"]),
        (&json!("tool_error"), &json!("on fire"))
    );
}
