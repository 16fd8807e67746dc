//! What `--trace` writes.

use std::fs;

use serde_json::{Value, json};

use crate::support::{err, examples, folder, ptc, trees};

#[test]
fn a_run_with_a_trace_leaves_one_file_with_turns_programs_and_calls() {
    let folder = folder("run");
    let orders = examples().join("orders");
    let data = format!("orders=@{}", orders.join("orders.json").display());
    let agent = orders.join("agent.toml").display().to_string();
    let ran = ptc(&folder, &["run", &agent, "--data", &data, "--trace", "traces", "-q"]);
    assert!(ran.status.success(), "{}", err(&ran));
    let traces = trees(&folder.join("traces"));
    let [(name, tree)] = traces.as_slice() else { panic!("{traces:?}") };
    assert!(name.ends_with("-ok.jsonl"), "{name}");
    let summary = &tree.summary;
    assert_eq!((summary.label.as_str(), summary.status.as_str(), summary.turns), ("orders", "ok", 1));
    let script = fs::read_to_string(orders.join("replies.jsonl")).expect("the script");
    let reply: Value = serde_json::from_str(&script).expect("one reply");
    let tokens = &reply["reply"]["tokens"];
    let said = [&tokens["input"], &tokens["output"]].map(|count| count.as_u64().expect("a count"));
    assert_eq!((summary.tool_calls, summary.input_tokens, summary.output_tokens), (1, said[0], said[1]));
    assert_eq!(summary.policy.as_deref(), Some("summary"));
    let turn = tree.nodes.iter().find(|node| node.subject == "turn").expect("a turn");
    assert!(turn.data["program"]["preview"].as_str().is_some_and(|text| text.starts_with("(let [rates")));
}

#[test]
fn the_policy_of_payloads_is_kept_and_a_bad_one_refused() {
    let folder = folder("policy");
    for (policy, expected) in [("full", json!("(+ 1 2)")), ("none", json!(null))] {
        let ran = ptc(&folder, &["eval", "-e", "(+ 1 2)", "--trace", policy, "--trace-payload", policy]);
        assert!(ran.status.success(), "{}", err(&ran));
        let (_, tree) = trees(&folder.join(policy)).remove(0);
        let program = &tree.nodes[0].data["program"];
        assert_eq!(if program.is_string() { program.clone() } else { program["preview"].clone() }, expected);
    }
    let ran = ptc(&folder, &["eval", "-e", "1", "--trace", "t", "--trace-payload", "some"]);
    assert_eq!(ran.status.code(), Some(2));
    assert!(err(&ran).contains("there are none, summary and full"), "{}", err(&ran));
    fs::write(folder.join("file"), "").expect("a file");
    let ran = ptc(&folder, &["eval", "-e", "1", "--trace", "file"]);
    assert_eq!(ran.status.code(), Some(2));
    assert!(err(&ran).contains("--trace: cannot write into file"), "{}", err(&ran));
}

#[test]
fn programs_of_eval_are_traced_with_their_calls_and_errors() {
    let folder = folder("eval");
    fs::write(folder.join("tools.json"), r#"{"echo": {"default": 7}, "crm/find": {"default": {"id": 1}}}"#)
        .expect("a file");
    let program =
        r#"(println "hi") (tool/echo {}) (tool/call {:server "crm" :tool "find" :args {}}) (/ 1 0)"#;
    let ran = ptc(&folder, &["eval", "-e", program, "--tools", "tools.json", "--trace", "traces"]);
    assert_eq!(ran.status.code(), Some(1), "{}", err(&ran));
    let (name, tree) = trees(&folder.join("traces")).remove(0);
    assert!(name.ends_with("-error.jsonl"), "{name}");
    let subjects: Vec<(&str, usize)> =
        tree.nodes.iter().map(|node| (node.subject.as_str(), node.depth)).collect();
    assert_eq!(subjects, [("lisp.execute", 0), ("tool", 1), ("upstream.call", 1)]);
    assert_eq!(tree.summary.kind, "eval");
    assert_eq!(tree.nodes[0].data["prints"], json!(["hi"]));
    assert_eq!(tree.nodes[0].data["reason"], "arithmetic_error");
}
