//! Rules of the specifications that other files have no place for.

use std::sync::Arc;

use ptc_agent::{Agent, AgentRun, Expose, Need, RunOptions, Supply, Tool, TurnType};
use serde_json::{Value as Json, json};

use crate::support::{Script, call, code, eval, reason, run, run_with, scripted};

fn worker() -> Agent {
    Agent::builder("x").build().expect("it builds")
}

#[test]
fn r1_54_samples_follow_the_limits_of_prompts_and_give_the_total() {
    let context = json!({"xs": (0..20).collect::<Vec<_>>()});
    let first = |agent: Agent| {
        let mut script = Script::new([code("(return 1)")]);
        run(agent, context.clone(), &mut script);
        format!("{}\n{}", script.requests[0].system, script.requests[0].messages[0].content)
    };
    assert!(
        first(worker()).contains("data/xs                       ; list[20] of int 0 … 20\n"),
        "no value by default"
    );
    let three = Agent::builder("x").samples(3).build().unwrap();
    assert!(first(three).contains("sample: [0 1 2 ...] (3/20)"));
    let draft = Agent::builder("x").profile(ptc_agent::Profile::Draft).build().unwrap();
    assert!(first(draft).contains("[0 1 2 3 4 ...] (5/20)"));
}

#[test]
fn samples_are_rows_with_all_their_columns() {
    let row = |n: u32| -> Json {
        let columns = (0..9).map(|column| (format!("c{column}"), json!(n * 10 + column)));
        let mut row: serde_json::Map<String, Json> = columns.collect();
        row.insert("tags".to_owned(), json!(["a", "b", "c"]));
        Json::Object(row)
    };
    let context = json!({"rows": (1..6).map(row).collect::<Vec<_>>()});
    let mut script = Script::new([code("(return 1)")]);
    run(Agent::builder("x").samples(2).build().unwrap(), context, &mut script);
    let sent = format!("{}\n{}", script.requests[0].system, script.requests[0].messages[0].content);
    let shown = "sample: [{:c0 10 :c1 11 :c2 12 :c3 13 :c4 14 :c5 15 :c6 16 :c7 17 :c8 18 :tags [\"a\" \"b\" ...+1]} {:c0 20 ";
    assert!(sent.contains(shown) && sent.contains(":c8 28 :tags [\"a\" \"b\" ...+1]} ...] (2/5)"), "{sent}");
}

#[test]
fn r2_8_inputs_are_a_map_or_nothing_at_all() {
    for (context, wanted) in [(json!(null), "ok"), (json!({}), "ok"), (json!([1]), "validation_error")] {
        let step = run(worker(), context, &mut Script::new([code("(return 1)")]));
        assert_eq!(reason(&step), wanted);
    }
}

#[test]
fn r2_11_runs_of_one_agent_share_nothing() {
    let agent = Arc::new(worker());
    let begin = || AgentRun::new(agent.clone(), RunOptions::new(scripted()), 0);
    let mut runs = [begin(), begin()];
    let answer = |run: &mut AgentRun, program: &str| match run.next(0) {
        Need::Asks(asks) => run.supply(asks[0].id, Supply::Model(Ok(code(program)))),
        other => panic!("it asks the model: {other:?}"),
    };
    for (one, other) in [("(def mine 1)", "(def yours 2)"), ("(return mine)", "(return yours)")] {
        answer(&mut runs[0], one);
        answer(&mut runs[1], other);
    }
    let ends = runs.map(|mut run| match run.next(0) {
        Need::Done(step) => (step.value, step.memory.keys().cloned().collect::<Vec<_>>()),
        other => panic!("it is over: {other:?}"),
    });
    assert_eq!(ends, [(json!(1), vec!["mine".to_owned()]), (json!(2), vec!["yours".to_owned()])]);
}

#[test]
fn r2_22_c23_the_signature_of_a_step_gives_the_types_of_the_next_inputs() {
    let first = Agent::builder("x").signature("() -> {order_ids [:int], _raw :string}").build().unwrap();
    let step =
        run(first, json!({}), &mut Script::new([code("(return {:order-ids [1 2] :_raw \"secret text\"})")]));
    assert_eq!(step.signature.as_deref(), Some("() -> {order_ids [:int], _raw :string}"));
    let mut script = Script::new([code("(return (count data/order_ids))")]);
    let options = RunOptions::new(scripted()).context(step);
    assert_eq!(run_with(worker(), options, &mut script).value, json!(2));
    let told = &script.requests[0].messages[0].content;
    assert!(told.contains("data/order_ids                ; [int], list[2] of int 1 … 2"), "{told}");
    assert!(told.contains("<Firewalled>") && !told.contains("secret text"), "{told}");
}

#[test]
fn r3_35_a_bad_return_costs_a_turn_and_no_retry_of_the_model() {
    let agent = Agent::builder("x").signature(":int").max_turns(3).build().unwrap();
    let mut script = Script::new([code("(return \"a\")"), code("(return \"b\")"), code("(return 3)")]);
    let step = run(agent, json!({}), &mut script);
    assert_eq!((step.value, step.usage.turns, step.usage.llm_requests), (json!(3), 3, 3));
    assert!(script.waits.is_empty());
}

#[test]
fn r3_38_definitions_last_and_plain_values_are_no_inputs() {
    let first = code("(def a 1) (defn twice [n] (* 2 n)) {:b 5}");
    let mut script = Script::new([first, code("(return data/b)"), code("(return (twice a))")]);
    assert_eq!(run(worker(), json!({}), &mut script).value, json!(2));
    assert!(script.told(3).contains("there is no input data/b"), "{}", script.told(3));
}

#[test]
fn r3_52_r18_12_every_turn_is_a_record_of_its_own() {
    let mut script = Script::new([code("(+ 1 1)"), code("(/ 1 0)"), code("(return 3)")]);
    let step = run(worker(), json!({}), &mut script);
    let turns: Vec<(u32, bool, TurnType, &str)> = step
        .trace()
        .iter()
        .map(|turn| (turn.number, turn.success, turn.kind, turn.program.as_deref().unwrap_or_default()))
        .collect();
    assert_eq!(
        turns,
        [
            (1, true, TurnType::Normal, "(+ 1 1)"),
            (2, false, TurnType::Normal, "(/ 1 0)"),
            (3, true, TurnType::Normal, "(return 3)")
        ]
    );
}

#[test]
fn r6_20_r6_33_cached_results_last_one_run_and_native_ones_are_no_history() {
    let tool = Tool::new("rows", |_| json!([1, 2, 3])).expose(Expose::Both).cached();
    let agent = || Agent::builder("x").combined().tool(tool.clone()).build().unwrap();
    let replies = || {
        [
            ptc_agent::model::Reply::calls(vec![call("a", "rows", json!({}))]),
            eval("[*1 (count (tool/rows {}))]"),
            "done".into(),
        ]
    };
    for _ in 0..2 {
        let mut script = Script::new(replies());
        run(agent(), json!({}), &mut script);
        assert_eq!(script.calls.len(), 1, "each run calls it once");
        let told: Json = serde_json::from_str(script.told(3)).unwrap();
        assert_eq!(told["result"], "user=> [nil 3]");
    }
}

#[test]
fn r18_4_the_details_of_a_failure_are_the_map_that_the_program_gave() {
    for (program, details) in [
        (
            "(fail {:reason :gone :message \"m\" :details {:query \"x\" :tried 3}})",
            json!({"query": "x", "tried": 3}),
        ),
        ("(fail {:reason :gone :message \"m\"})", json!(null)),
        // Nothing that the program said is lost.
        ("(fail {:reason :gone :details {:a 1} :a 5 :left 2})", json!({"a": 1, "left": 2})),
        ("(fail {:reason :gone :details [1 2]})", json!({"value": [1, 2]})),
        ("(fail {:left 3})", json!({"value": {"left": 3}})),
        ("(fail \"just so\")", json!({"value": "just so"})),
    ] {
        let step = run(worker(), json!({}), &mut Script::new([code(program)]));
        assert_eq!(step.fail.expect(program).details, details, "{program}");
    }
}

#[test]
fn r2_53_the_failure_of_an_agent_is_the_data_of_the_exception() {
    let child = || Agent::builder("Lift").signature("(n :int) -> :int").description("Lifts").build().unwrap();
    let broken = Tool::new("broken", |_| Err::<Json, _>("it is down"));
    let parent = || {
        let agent = Agent::builder("x").tool(Tool::agent("lift", Arc::new(child()))).tool(broken.clone());
        agent.build().unwrap()
    };
    let tired = "(fail {:reason :tired :message \"not today\" :op \"lift\" :details {:hours 3 :_name \"Rumpelstiltskin\"}})";
    let details = json!({"hours": 3, "_name": "Rumpelstiltskin"});
    let failure = json!({"reason": "tired", "message": "not today", "op": "lift", "details": details});
    for (program, expected) in [
        (
            "(return (try (tool/lift {:n 4}) (catch Exception e [(ex-data e) (ex-message e)])))",
            json!([failure, "tool/lift: tired: not today"]),
        ),
        (
            "(return (try (pmap #(tool/lift {:n %}) [1 2]) (catch ExceptionInfo e (:details (ex-data e)))))",
            details.clone(),
        ),
    ] {
        let mut script = Script::new([code(program), code(tired)]);
        assert_eq!(run(parent(), json!({}), &mut script).value, expected, "{program}");
    }
    // What a function says is a text.
    let nothing = code("(return (try (tool/broken {}) (catch Exception e (ex-data e))))");
    assert_eq!(run(parent(), json!({}), &mut Script::new([nothing])).value, Json::Null);
    // What is hidden from one model of the run is hidden from all.
    let look = code("(try (tool/lift {:n 4}) (catch Exception e (:_name (:details (ex-data e)))))");
    let mut script = Script::new([look, code(tired), code("(return 1)")]);
    run(parent(), json!({}), &mut script);
    assert!(script.told(3).contains("<Firewalled>"), "{}", script.told(3));
}

#[test]
fn r13_events_of_calls_say_who_called_when_they_begin_and_when_they_end() {
    let tool = Tool::new("rows", |_| json!([1])).expose(Expose::Both);
    let agent = Agent::builder("x").combined().tool(tool).build().unwrap();
    let native = ptc_agent::model::Reply::calls(vec![call("a", "rows", json!({}))]);
    let mut script = Script::new([native, eval("(tool/rows {})"), "done".into()]);
    run(agent, json!({}), &mut script);
    for event in ["tool.start", "tool.stop"] {
        let layers: Vec<&Json> =
            script.event(event).iter().map(|event| &event.metadata["exposure_layer"]).collect();
        assert_eq!(layers, ["native", "ptc_lisp"], "{event}");
    }
}
