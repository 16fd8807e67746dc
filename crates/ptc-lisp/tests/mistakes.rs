//! What programs with common mistakes are told: every row of `conformance/mistakes.clj` gets the hint beside it.

use ptc_lisp::machine::{Machine, Step};
use ptc_lisp::{Error, Limits};
use serde_json::json;

const MISTAKES: &str = include_str!("../../../conformance/mistakes.clj");

/// The error that a program with some tools ends with.
fn failure(source: &str, tools: &str) -> Option<Error> {
    let mut machine = Machine::new(Limits::default());
    machine.set_tools(tools.split_whitespace().map(str::to_owned));
    machine.set_data(&json!({"rows": [{"n": 1}, {"n": 2}]})).expect("small inputs");
    machine.set_strict_inputs(true);
    if let Err(error) = machine.load(source) {
        return Some(error);
    }
    loop {
        match machine.run(1_000_000) {
            Step::Failed(error) => return Some(error),
            Step::Yield => {}
            Step::Done(_) | Step::Calls(_) => return None,
        }
    }
}

#[test]
fn mistakes_get_the_hint_that_helps() {
    let rows: Vec<&str> = MISTAKES.lines().filter(|line| line.contains("  ;=? ")).collect();
    assert!(rows.len() >= 300, "{} rows", rows.len());
    let mut wrong = Vec::new();
    let mut tools = "get_user";
    for line in MISTAKES.lines() {
        tools = line.strip_prefix(";;tools ").unwrap_or(tools);
        let Some((program, part)) = line.split_once("  ;=? ") else { continue };
        let Some(error) = failure(program, tools) else {
            wrong.push(format!("{program} does not fail"));
            continue;
        };
        let hint = error.hint.as_deref().unwrap_or("-");
        let fits = if part == "-" { hint == "-" } else { hint.contains(part) };
        if !fits {
            wrong.push(format!("{program}\n  {}\n  gets {hint}\n  not  {part}", error.text()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
