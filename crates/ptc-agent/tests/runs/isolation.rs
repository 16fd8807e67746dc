//! An agent and the agents that it calls run on one thread, and nothing of one is reachable from another.
//!
//! Debug builds stamp every object with its machine and stop at a foreign one.

use std::path::PathBuf;
use std::sync::Arc;

use ptc_agent::{Agent, Step, Tool};
use serde_json::{Value as Json, json};

use crate::support::{Script, code, run};

#[path = "../../../ptc-lisp/tests/conformance/cases.rs"]
#[expect(dead_code, reason = "what is expected of a case is asked elsewhere")]
mod cases;

/// An agent that calls another, which is given the same inputs.
fn parent(turns: u32) -> Agent {
    let child = Agent::builder("look").signature("() -> :any").max_turns(turns).build().expect("it builds");
    let child = Tool::agent("child", Arc::new(child)).description("looks");
    Agent::builder("work").tool(child).max_turns(turns + 1).build().expect("it builds")
}

fn ended<'p>(context: Json, turns: u32, programs: impl IntoIterator<Item = &'p str>) -> Step {
    run(parent(turns), context, &mut Script::new(programs.into_iter().map(code)))
}

#[test]
fn a_child_finds_nothing_of_what_its_parent_attached_to_shared_values() {
    let plant = r#"
        (def cell (atom "untouched"))
        (def f (fn [x] [:called x @cell]))
        (def key (with-meta [1 2] {"text" "PARENT-SECRET" "cell" cell "f" f}))
        (def many (mapv #(assoc (make-hierarchy) :parents %) (range 10)))
        (def kept (assoc (many 0) key 1))
        (def found (tool/child {}))
        (return [found @cell (str (meta (last (keys kept))))])"#;
    let look = r#"
        (let [key (last (keys (assoc (make-hierarchy) [1 2] :mine)))
              found (meta key)]
          (when-let [cell (get found "cell")] (reset! cell "written by the child"))
          (when-let [f (get found "f")] (f 1))
          (return (pr-str [key found])))"#;
    let step = ended(json!({}), 2, [plant, look]);
    let result = step.result().unwrap_or_else(|fail| panic!("{fail:?}\n{step:#?}"));
    assert_eq!(result[0], json!("[[1 2] nil]"));
    assert_eq!(result[1], json!("untouched"));
    assert!(result[2].as_str().is_some_and(|meta| meta.contains("PARENT-SECRET")));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test reads its cases from files")]
fn cases_run_in_an_agent_and_the_agent_it_calls() {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/cases"));
    let (mut count, mut compared) = (0, 0);
    for entry in std::fs::read_dir(folder).expect("the case folder exists") {
        let file = entry.expect("it can be read").path();
        let text = std::fs::read_to_string(&file).expect("a case file can be read");
        for case in cases::parse("case", &text).unwrap_or_else(|problem| panic!("{problem}")) {
            // The parent has run the program when the child does, and runs it again beside the child's.
            let calls = format!("(def called (tool/child {{}}))\n{}", case.src);
            let programs = [&case.src, calls.as_str(), &case.src, "(return :child)", "(return :parent)"];
            let has_inputs = !case.data.is_empty();
            let step = ended(Json::Object(case.data), 2, programs);
            let first = |step: &Step| {
                let turn =
                    step.trace().first().map(|turn| (turn.success, turn.result.clone(), turn.prints.clone()));
                turn.unwrap_or_else(|| panic!("{}\n{step:#?}", case.src))
            };
            // Only the parent has inputs, both have a budget of their own, and a program that ends the run leaves
            // nobody to call.
            let alike = !has_inputs && !case.src.contains("budget/");
            if let Some(child) = step.child_steps.first().filter(|_| alike) {
                assert_eq!(first(&step), first(child), "{}", case.src);
                compared += 1;
            }
            count += 1;
        }
    }
    assert!(count > 1_000 && compared > count / 2, "{compared} of {count}");
}
