//! What programs with common mistakes are told: every row of `conformance/mistakes.clj` gets the hint beside it.

use ptc_lisp::machine::{Machine, Step};
use ptc_lisp::span::Position;
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

/// What is wrong with a program, with lines.
fn all(source: &str) -> Vec<(String, usize)> {
    let errors = Machine::new(Limits::default()).check_all(source).expect_err("it is wrong");
    let line = |error: &Error| error.span.map_or(0, |span| Position::of(source, span.start).line as usize);
    errors.iter().map(|error| (error.text(), line(error))).collect()
}

#[test]
fn a_check_tells_all_mistakes_in_their_order_and_goes_on_behind_each() {
    let source =
        "(defn f [x] (foo x))\n(inc 1 2)\n(f)\n(loop [i 0] (let [a 1 b] a) (bar i))\n(f 1)\n(+ 1 (eval 2))";
    let found = all(source);
    let lines: Vec<usize> = found.iter().map(|(_, line)| *line).collect();
    assert_eq!(lines, [1, 2, 3, 4, 4, 6], "{found:?}");
    assert_eq!(found[0].0, "undefined name: foo");
    assert_eq!(found[1].0, "inc takes 1 argument, got 2");
    assert_eq!(found[4].0, "undefined name: bar");
    // Text that cannot be read has one mistake.
    assert_eq!(all("(foo\n(bar").len(), 1);
    // What is written once is told once, wherever it ends up.
    assert_eq!(all("(cond-> 1 true (inc 2 3))").len(), 1);
    // A program cannot make the list long.
    assert_eq!(all(&"(inc 1 2) (nope)\n".repeat(1_000)).len(), 20);
}

#[test]
fn the_mistake_that_stops_a_program_is_among_all_of_them() {
    for line in MISTAKES.lines() {
        let Some((program, _)) = line.split_once("  ;=? ") else { continue };
        let mut machine = Machine::new(Limits::default());
        machine.set_tools(["get_user".to_owned()]);
        let Err(first) = machine.check(program) else { continue };
        let all = machine.check_all(program).expect_err("it is wrong");
        let told = all.iter().any(|error| (error.kind, error.span) == (first.kind, first.span));
        assert!(told, "{program}: {first}\n{all:#?}");
    }
}
