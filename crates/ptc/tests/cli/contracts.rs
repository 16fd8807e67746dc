//! Contracts on the command line: inputs are held to them as strictly as the agent says, and what was converted or left
//! out is told on the terminal and in the document.

use super::agents::{command_in, folder, write};
use super::*;

const AGENT: &str = "prompt = \"Add {{numbers}} and {{n}}\"\nmodel = \"script:replies.jsonl\"\n\
                     signature = \"(numbers [:int], n :int?) -> :any\"\n\
                     [tools.search]\ncommand = [\"cat\"]\nsignature = \"(query :string, limit :int?) -> :map\"\n";

fn ptc_in(folder: &std::path::Path, args: &[&str]) -> Ran {
    let output = command_in(folder, args).output().expect("the command starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    Ran { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

fn project(name: &str, program: &str) -> PathBuf {
    let folder = folder(name);
    let reply = format!("{}\n", json!({"program": program}));
    write(&folder, &[("agent.toml", AGENT), ("replies.jsonl", &reply)]);
    folder
}

#[test]
fn inputs_are_held_to_the_signature_as_the_mode_says() {
    let folder = project("contracts-inputs", "(return (count data/numbers))");
    let run = |more: &[&str]| ptc_in(&folder, &[&["run", "agent.toml"], more].concat());
    // Optional inputs may be left out where the prompt names them.
    let ran = run(&["--data", "numbers=[1, 2]", "--quiet"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "2\n"), "{}", ran.err);
    let wrong = ["--data", "numbers=\"abc\""];
    let ran = run(&wrong);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("numbers: expected list, got string \"abc\""), "{}", ran.err);
    assert!(run(&[]).err.contains("numbers is missing (list)"));
    let ran = run(&[&wrong[..], &["--set", "signature_validation=warn_only"]].concat());
    assert_eq!((ran.code, ran.out.as_str()), (0, "3\n"), "{}", ran.err);
    assert!(ran.err.contains("ptc: warning: input numbers: expected list, got string"), "{}", ran.err);
    let ran = run(&[&wrong[..], &["--set", "signature_validation=disabled"]].concat());
    assert_eq!((ran.code, ran.err.contains("warning")), (0, false), "{}", ran.err);
    let strict = ["--data", "numbers=[1]", "--data", "more=1", "--set", "signature_validation=strict"];
    assert_eq!(run(&strict).code, 2);
}

#[test]
fn inputs_that_the_agent_does_not_know_are_told() {
    const TOLD: &str = "input `nn` is not declared (did you mean `n`?)";
    const LISTED: &str = "input `limit` is not declared (there is numbers, n)";
    let folder = project("contracts-unknown", "(return (count data/numbers))");
    write(&folder, &[("in.json", r#"{"numbers": [1], "limit": 1}"#)]);
    for command in ["run", "validate"] {
        let inputs = ["--data", "numbers=[1]", "--data", "limit=3"];
        for inputs in [&inputs[..], &["--input", "in.json"]] {
            let ran = ptc_in(&folder, &[&[command, "agent.toml"], inputs].concat());
            assert_eq!(ran.code, 0, "{}", ran.err);
            assert!(ran.err.contains(&format!("ptc: warning: {LISTED}\n")), "{}", ran.err);
            let ran = ptc_in(&folder, &[&[command, "agent.toml", "--json"], inputs].concat());
            let document: Value = serde_json::from_str(&ran.out).expect("a document");
            assert_eq!(document["warnings"], json!([LISTED]), "{command}");
        }
        let near = ["agent.toml", "--data", "numbers=[1]", "--data", "nn=3"];
        let ran = ptc_in(&folder, &[&[command], &near[..]].concat());
        assert!(ran.err.contains(TOLD), "{}", ran.err);
    }
    let broken = ptc_in(&folder, &["run", "agent.toml", "--data", "numbers=[1,2"]);
    assert!(broken.err.contains("--data numbers: `[1,2` is not JSON"), "{}", broken.err);
    let slip = ptc_in(&folder, &["run", "agent.toml", "--data", "numbers=[1]", "--set", "max_turn=3"]);
    assert!(slip.err.contains("--set max_turn: no such option; did you mean `max_turns`?"), "{}", slip.err);
}

#[test]
fn a_call_that_was_refused_is_counted_neither_on_the_terminal_nor_in_the_document() {
    let program = "(try (tool/search {:query \"a\" :limit \"x\"}) (catch Exception e nil)) (return (tool/search {:query \"b\"}))";
    let folder = project("contracts-refused", program);
    let inputs = ["--data", "numbers=[1]"];
    let ran = ptc_in(&folder, &[&["run", "agent.toml"], &inputs[..]].concat());
    assert!(ran.err.contains("  tool/search (not called) Tool validation errors:\n"), "{}", ran.err);
    assert!(ran.err.contains("turn 1 (so far 1 call, "), "{}", ran.err);
    assert!(ran.err.contains("1 turn, 1 tool call, "), "{}", ran.err);
    let json = ptc_in(&folder, &[&["run", "agent.toml", "--json"], &inputs[..]].concat());
    let document: Value = serde_json::from_str(&json.out).expect("a document");
    let calls = &document["trace"][0]["calls"];
    assert_eq!((&calls[0]["refused"], &calls[1]["refused"]), (&json!(true), &json!(false)), "{calls}");
    assert_eq!(document["calls"], 1);
}

#[test]
fn what_was_converted_or_left_out_is_told() {
    let folder =
        project("contracts-warnings", "(return (tool/search {:query \"b\" :limitt 5 :limit \"7\"}))");
    let inputs = ["--data", "numbers=[1]"];
    let ran = ptc_in(&folder, &[&["run", "agent.toml"], &inputs[..]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    for note in
        ["limit: coerced string \"7\" to int", "limitt: dropped unexpected field (did you mean limit?)"]
    {
        assert!(ran.err.contains(&format!("    warning: {note}\n")), "{}", ran.err);
        let json = ptc_in(&folder, &[&["run", "agent.toml", "--json"], &inputs[..]].concat());
        let document: Value = serde_json::from_str(&json.out).expect("a document");
        let listed = document["warnings"].as_array().expect("a list");
        assert!(listed.contains(&json!(format!("tool/search: {note}"))), "{listed:?}");
        let called = document["trace"][0]["calls"][0]["warnings"].as_array().expect("a list");
        assert!(called.contains(&json!(note)), "{called:?}");
    }
}
