//! PTC-Lisp by tool call: rules of section 4.

use ptc_agent::model::{Reply, Role};
use ptc_agent::{Agent, Builder, MemoryStrategy, RunOptions, Step, Tool, Transport};
use serde_json::{Value as Json, json};

use crate::pairing::assert_paired;
use crate::support::{Script, call, eval, reason, run, scripted};

fn agent() -> Builder {
    Agent::builder("Work").transport(Transport::ToolCall)
}

fn add() -> Tool {
    Tool::new("add-one", |args| json!(args["n"].as_i64().unwrap_or(0) + 1))
        .signature("(n :int) -> :int")
        .expect("the signature is right")
}

/// The message that answers the last call before a request, as JSON.
fn answer(script: &Script, request: usize) -> Json {
    serde_json::from_str(script.told(request)).unwrap_or_else(|_| panic!("no JSON: {}", script.told(request)))
}

/// Runs and keeps the conversation.
fn collected(agent: Agent, script: &mut Script) -> Step {
    let options = RunOptions { collect_messages: true, ..RunOptions::new(scripted()) };
    let step = crate::support::run_with(agent, options, script);
    assert_paired(step.messages.as_deref().expect("they are collected"));
    step
}

#[test]
fn r4_1_the_request_has_one_tool_and_the_inventory_the_others() {
    let mut script = Script::new([eval("(return (tool/add-one {:n 41}))")]);
    let step = run(agent().tool(add()).build().unwrap(), json!({}), &mut script);
    assert_eq!(step.value, json!(42));
    let request = &script.requests[0];
    let names: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["lisp_eval"]);
    assert_eq!(request.tools[0].parameters["required"], json!(["program"]));
    assert_eq!(request.tools[0].parameters["additionalProperties"], json!(false));
    assert!(script.told(1).contains("tool/add-one(n int) -> int"), "{}", script.told(1));
}

#[test]
fn r4_3_arguments_without_a_program_are_refused_each_in_its_words() {
    let unreadable =
        ptc_agent::model::ToolCall { args_error: Some("EOF".into()), ..call("c", "lisp_eval", json!({})) };
    let cases = [
        (call("c", "lisp_eval", json!({})), "needs the argument `program`"),
        (call("c", "lisp_eval", json!({"program": 5})), "must be a string"),
        (call("c", "lisp_eval", json!({"program": "  "})), "blank"),
        (unreadable, "EOF"),
    ];
    for (made, part) in cases {
        let mut script = Script::new([Reply::calls(vec![made]), eval("(return 1)")]);
        let step = collected(agent().build().unwrap(), &mut script);
        let told = answer(&script, 2);
        assert_eq!((&told["status"], &told["reason"]), (&json!("error"), &json!("args_error")));
        assert!(told["message"].as_str().unwrap().contains(part), "{told}");
        assert_eq!(step.trace()[0].result["reason"], "args_error");
    }
}

#[test]
fn r4_4_r4_10_other_calls_and_several_calls_are_refused_and_nothing_runs() {
    let lisp = |id: &str| call(id, "lisp_eval", json!({"program": "(tool/add-one {:n 1})"}));
    let cases = [
        (vec![call("a", "add-one", json!({"n": 1}))], "unknown_tool"),
        (vec![lisp("a"), lisp("b")], "multiple_tool_calls"),
        (vec![lisp("a"), call("b", "add-one", json!({"n": 1}))], "multiple_tool_calls"),
    ];
    for (calls, wanted) in cases {
        let count = calls.len();
        let mut script = Script::new([Reply::calls(calls), eval("(return 1)")]);
        let step = collected(agent().tool(add()).build().unwrap(), &mut script);
        assert_eq!(step.value, json!(1));
        assert!(script.calls.is_empty());
        assert_eq!(step.trace()[0].result["reason"], wanted);
        let messages = &script.requests[1].messages;
        for answer in &messages[messages.len() - count..] {
            let body: Json = serde_json::from_str(&answer.content).unwrap();
            assert_eq!(body["reason"], wanted);
        }
        let last = messages.last().unwrap();
        assert_eq!(last.role, Role::Tool, "nothing is said twice");
        assert!(last.content.contains("Turn 2 of 5"), "{}", last.content);
    }
}

#[test]
fn r4_4_text_beside_a_call_is_kept() {
    let reply = Reply { content: Some("Let me see.".into()), ..eval("(+ 1 2)") };
    let mut script = Script::new([reply, eval("(return 1)")]);
    let step = collected(agent().build().unwrap(), &mut script);
    assert_eq!(script.requests[1].messages[1].content, "Let me see.");
    let raw = &step.trace()[0].raw_response;
    assert!(raw.starts_with("Let me see.") && raw.contains("lisp_eval"), "r4.17: {raw}");
    assert_eq!(step.trace()[0].program.as_deref(), Some("(+ 1 2)"));
}

#[test]
fn r4_5_every_call_is_answered_once_however_the_run_ends() {
    let big = "(def big (apply str (repeat 5000 \"x\")))";
    for (program, ends) in [
        ("(return 1)", "ok"),
        ("(fail {:reason :no :message \"m\"})", "no"),
        ("(/ 1 0)", "max_turns_exceeded"),
        ("(tool/nothing {})", "max_turns_exceeded"),
        ("(def", "max_turns_exceeded"),
        (big, "memory_limit_exceeded"),
    ] {
        let agent = {
            let strict =
                agent().max_turns(2).memory_limit(Some(2_000)).memory_strategy(MemoryStrategy::Strict);
            strict.build().unwrap()
        };
        let step = collected(agent, &mut Script::new([eval(program)]));
        assert_eq!(reason(&step), ends, "{program}");
        assert_eq!(step.messages.unwrap().last().unwrap().role, Role::Tool, "{program}");
    }
}

#[test]
fn r4_6_a_success_is_told_in_full() {
    let mut script = Script::new([
        eval("(+ 1 2)"),
        eval("(println \"hi\") (def x 5) x"),
        eval("nil"),
        eval("(return [*1 *2])"),
    ]);
    run(agent().build().unwrap(), json!({}), &mut script);
    let told = answer(&script, 2);
    assert_eq!(
        json!({"status": "ok", "result": "user=> 3", "prints": [], "truncated": false,
               "memory": {"changed": {}, "stored_keys": [], "truncated": false},
               "feedback": "Turn 2 of 5 (4 remaining)"}),
        told
    );
    let told = answer(&script, 3);
    assert_eq!((&told["result"], &told["prints"]), (&json!("user=> 5"), &json!(["hi"])));
    assert_eq!(told["memory"], json!({"changed": {"x": "5"}, "stored_keys": ["x"], "truncated": false}));
    assert_eq!(answer(&script, 4)["result"], "user=> nil");
}

#[test]
fn r4_7_r4_8_errors_have_one_of_few_reasons() {
    for (program, wanted) in [
        ("(def", "parse_error"),
        ("(/ 1 0)", "runtime_error"),
        ("(nonsense 1)", "runtime_error"),
        ("(tool/nothing {})", "runtime_error"),
        ("(let [x] x)", "runtime_error"),
    ] {
        let mut script = Script::new([eval(program), eval("(return 1)")]);
        run(agent().build().unwrap(), json!({}), &mut script);
        let told = answer(&script, 2);
        assert_eq!(
            (&told["status"], &told["reason"]),
            (&json!("error"), &json!(wanted)),
            "{program}: {told}"
        );
        let feedback = told["feedback"].as_str().unwrap_or_default();
        assert!(feedback.ends_with("Turn 2 of 5 (4 remaining)"), "{program}: {told}");
        assert!(told.get("result").is_none(), "{program}: {told}");
        let message = told["message"].as_str().unwrap_or_default();
        assert!(!message.contains("Fix: "), "our words are feedback: {message}");
        assert!(message.starts_with(wanted), "it is named as the reason is: {message}");
    }
}

#[test]
fn r4_8_time_and_memory_have_their_own_reasons() {
    let slow = agent().tool(Tool::new("slow", |_| json!(1))).timeout_ms(100).build().unwrap();
    let mut script = Script { tool_ms: 150, ..Script::new([eval("(tool/slow {})"), eval("(return 1)")]) };
    assert_eq!(run(slow, json!({}), &mut script).value, json!(1));
    let told = answer(&script, 2);
    assert_eq!(told["reason"], "timeout");
    let message = told["message"].as_str().unwrap_or_default();
    assert!(message.contains("tool/slow") && message.contains("100 ms that the option timeout"), "{message}");
    let small = agent().set("max_heap", &json!(20_000)).build().unwrap();
    let mut script = Script::new([eval("(count (vec (range 1000000)))"), eval("(return 1)")]);
    assert_eq!(run(small, json!({}), &mut script).value, json!(1));
    assert_eq!(answer(&script, 2)["reason"], "memory_limit", "{}", script.told(2));
}

#[test]
fn r4_15_a_provider_without_tool_calls_ends_the_run() {
    let refused =
        ptc_agent::model::ModelError::new(ptc_agent::model::ModelErrorKind::ClientError, "no tools here");
    let mut script = Script::of([Err(refused)]);
    let step = run(agent().build().unwrap(), json!({}), &mut script);
    assert_eq!((reason(&step), script.requests.len()), ("llm_error", 1));
    assert!(step.fail.unwrap().message.contains("no tools here"));
}

#[test]
fn r4_9_a_return_that_fits_ends_the_run_and_one_that_does_not_goes_on() {
    let mut script =
        Script::new([eval("(return {:n \"three\"})"), eval("(return {:n 3})"), eval("(return 0)")]);
    let step = collected(agent().signature("{n :int}").build().unwrap(), &mut script);
    assert_eq!((step.value, script.requests.len()), (json!({"n": 3}), 2));
    let told = answer(&script, 2);
    assert_eq!((&told["status"], &told["reason"]), (&json!("error"), &json!("validation_error")));
    assert!(told["message"].as_str().unwrap().contains("expected int"), "{told}");
    assert_eq!(told["result"], "{:n \"three\"}");
    let feedback = told["feedback"].as_str().unwrap();
    assert!(feedback.starts_with("Correct the value") && !told.to_string().contains("untrusted"), "{told}");
}

#[test]
fn r4_9_fail_ends_the_run_with_its_value() {
    let step = collected(
        agent().build().unwrap(),
        &mut Script::new([eval("(fail {:reason :gone :message \"away\"})")]),
    );
    assert_eq!(reason(&step), "gone");
    let told: Json = serde_json::from_str(&step.messages.unwrap().last().unwrap().content).unwrap();
    assert_eq!(told["reason"], "fail");
    assert!(told["result"].as_str().unwrap().contains(":reason"), "{told}");
}

#[test]
fn r4_9_c27_one_turn_takes_a_plain_value_if_it_fits() {
    let agent = || agent().signature(":int").max_turns(1).build().unwrap();
    assert_eq!(run(agent(), json!({}), &mut Script::new([eval("(+ 1 2)")])).value, json!(3));
    assert_eq!(reason(&run(agent(), json!({}), &mut Script::new([eval("\"no\"")]))), "validation_error");
    assert_eq!(reason(&run(agent(), json!({}), &mut Script::new([eval("(fail \"x\")")]))), "failed");
}

#[test]
fn r4_11_text_is_a_final_answer_in_the_shape_of_the_signature() {
    for (signature, text, value) in [
        (None, "It is 5.", json!("It is 5.")),
        (Some(":string"), "It is 5.", json!("It is 5.")),
        (Some(":any"), "5", json!("5")),
        (Some(":int"), " 5 ", json!(5)),
        (Some("{n :int}"), "{\"n\": 5}", json!({"n": 5})),
        (Some(":datetime"), "2026-01-02T03:04:05Z", json!("2026-01-02T03:04:05Z")),
    ] {
        let builder = signature.map_or_else(agent, |signature| agent().signature(signature));
        let mut script = Script::new([eval("(def x 1)"), text.into()]);
        let step = run(builder.build().unwrap(), json!({}), &mut script);
        assert_eq!(step.result(), Ok(&value), "{signature:?}");
        assert_eq!(step.memory["x"], json!(1));
    }
}

#[test]
fn r4_11_r4_12_text_that_is_no_answer_is_sent_back_and_costs_a_turn() {
    for (text, wanted, part) in [
        ("five", "direct_final_invalid", "JSON"),
        ("{\"n\": \"five\"}", "direct_final_invalid", "expected int"),
        ("```clojure\n(return {:n 1})\n```", "direct_final_invalid", "lisp_eval"),
        ("```\n(return {:n 1})\n```", "direct_final_invalid", "lisp_eval"),
        ("", "empty_response", "empty"),
    ] {
        let mut script = Script::new([text.into(), eval("(return {:n 2})")]);
        let step = run(agent().signature("{n :int}").build().unwrap(), json!({}), &mut script);
        assert_eq!((&step.value, step.usage.turns), (&json!({"n": 2}), 2), "{text}");
        assert_eq!(step.trace()[0].result["reason"], wanted, "{text}");
        assert!(script.told(2).contains(part), "{part}\n---\n{}", script.told(2));
    }
}

#[test]
fn r4_13_history_advances_with_programs_that_went_well() {
    let mut script = Script::new([eval("1"), eval("(/ 1 0)"), eval("2"), eval("(return [*1 *2 *3])")]);
    let step = run(agent().build().unwrap(), json!({}), &mut script);
    assert_eq!(step.value, json!([2, 1, null]));
}

#[test]
fn r4_13_definitions_beyond_the_limit_are_taken_back_as_memory_limit() {
    let agent = agent().memory_limit(Some(2_000)).memory_strategy(MemoryStrategy::Rollback).build().unwrap();
    let mut script =
        Script::new([eval("(def a 1)"), eval("(def b (apply str (repeat 5000 \"x\")))"), eval("(return a)")]);
    let step = run(agent, json!({}), &mut script);
    assert_eq!(step.value, json!(1));
    assert_eq!(answer(&script, 3)["reason"], "memory_limit");
}

#[test]
fn r4_14_only_the_tools_of_a_program_count() {
    let agent = agent().tool(add()).max_tool_calls(1).build().unwrap();
    let mut script = Script::new([
        eval("(tool/add-one {:n 1})"),
        eval("(tool/add-one {:n 2})"),
        eval("[(tool/add-one {:n 3}) (tool/add-one {:n 4})]"),
        eval("(return 1)"),
    ]);
    let step = run(agent, json!({}), &mut script);
    assert_eq!(step.value, json!(1));
    let went: Vec<bool> = step.trace().iter().map(|turn| turn.success).collect();
    assert_eq!(went, [true, true, false, true]);
    assert_eq!(step.trace()[2].result["reason"], "tool_call_limit_exceeded");
}

#[test]
fn r4_16_progress_stays_out_of_the_answers() {
    let agent = agent().plan(["first", "second"]).build().unwrap();
    let mut script = Script::new([eval("(step-done \"1\" \"did it\")"), eval("(return 1)")]);
    let step = run(agent, json!({}), &mut script);
    assert!(script.told(1).contains("first"));
    assert!(!script.told(2).contains("second"), "{}", script.told(2));
    assert_eq!(step.summaries["1"], "did it");
}

#[test]
fn q3_an_error_of_a_program_leaves_the_cache_alone() {
    for broken in ["(def", "(loop [] (recur))", "(tool/nothing {})"] {
        let agent = agent().tool(add().cached()).set("fuel", &json!(10_000)).build().unwrap();
        let mut script = Script::new([
            eval("(tool/add-one {:n 1})"),
            eval(broken),
            eval("(return (tool/add-one {:n 1}))"),
        ]);
        let step = run(agent, json!({}), &mut script);
        assert_eq!((step.value, script.calls.len()), (json!(2), 1), "{broken}");
        assert!(step.tool_calls[0].cached);
    }
}

#[test]
fn issue_9_a_program_in_a_fence_or_a_broken_one_is_repaired_first() {
    for program in
        ["```clojure\n(return 5)\n```", "(return (+ 2 3)", "(return\u{a0}5)", "{\"program\": \"(return 5)\"}"]
    {
        let step =
            run(agent().build().unwrap(), json!({}), &mut Script::new([eval(program), eval("(return 0)")]));
        assert_eq!((&step.value, step.usage.turns), (&json!(5), 1), "{program}: {:#?}", step.trace()[0]);
        assert!(!step.trace()[0].fixes.is_empty(), "{program}");
    }
}

#[test]
fn the_last_turn_is_announced_and_nothing_is_told_twice() {
    let rows = Tool::new("rows", |_| {
        (0..50).map(|id| json!({"id": id, "who": format!("person {id}")})).collect::<Json>()
    });
    let agent = agent().tool(rows).max_turns(2).build().unwrap();
    let mut script = Script::new([eval("(def rows (tool/rows)) {:total (count rows)}"), eval("(return 1)")]);
    run(agent, json!({}), &mut script);
    let told = script.told(2);
    assert!(answer(&script, 2)["feedback"].as_str().unwrap().contains("last work turn"), "{told}");
    assert_eq!(told.matches(":total 50").count(), 1, "{told}");
    assert!(
        !told.contains("person 0") && told.contains("\"rows\":\"list of 50 maps: {:id int 0 … 50"),
        "{told}"
    );
}
