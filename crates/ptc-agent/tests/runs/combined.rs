//! Combined mode: rules of section 6.

use std::sync::Arc;

use ptc_agent::model::{Reply, Role, ToolCall};
use ptc_agent::{
    Agent, Builder, Expose, MemoryStrategy, Preview, PreviewError, RunOptions, SystemPrompt, Tool,
};
use serde_json::{Value as Json, json};

use crate::pairing::assert_paired;
use crate::support::{Script, call, eval, reason, run, run_with, scripted};

fn agent() -> Builder {
    Agent::builder("Help").combined()
}

/// Rows of a given number, and how they may be reached.
fn rows() -> Tool {
    Tool::new("find-rows", |args| {
        let n = args["n"].as_i64().unwrap_or(0);
        if n < 0 {
            Err("too few")
        } else {
            Ok((0..n).map(|id| json!({"id": id, "ok": false})).collect::<Json>())
        }
    })
    .signature("(n :int) -> [{id :int}]")
    .expect("the signature is right")
    .description("Rows by number")
}

fn bridged() -> Tool {
    rows().expose(Expose::Both).cached()
}

fn asks(n: i64) -> Reply {
    Reply::calls(vec![call("r", "find_rows", json!({"n": n}))])
}

/// The message that answers the last call before a request, as JSON.
fn answer(script: &Script, request: usize) -> Json {
    let messages = &script.requests[request - 1].messages;
    let told = messages.iter().rev().find(|message| message.role == Role::Tool).expect("a call was answered");
    serde_json::from_str(&told.content).unwrap_or_else(|_| panic!("no JSON: {}", told.content))
}

#[test]
fn r6_1_r6_3_exposure_says_who_may_call() {
    for (expose, native, programs) in [
        (None, true, false),
        (Some(Expose::Native), true, false),
        (Some(Expose::PtcLisp), false, true),
        (Some(Expose::Both), true, true),
    ] {
        let tool = Tool { expose, ..rows() };
        let mut script = Script::new([eval("(count (tool/find-rows {:n 2}))"), asks(2), "done".into()]);
        run(agent().tool(tool).build().unwrap(), json!({}), &mut script);
        let names: Vec<&str> = script.requests[0].tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names.contains(&"find_rows"), native, "{expose:?}");
        let told = answer(&script, 2);
        match programs {
            true => assert_eq!(told["result"], "user=> 2"),
            false => {
                assert_eq!(told["reason"], "runtime_error", "{told}");
                assert!(told["message"].as_str().unwrap().contains("native"), "{told}");
            }
        }
        let told = answer(&script, 3);
        assert_eq!(told.is_array(), native, "{told}");
        assert_eq!(told["reason"] == "unknown_tool", !native, "{told}");
        assert_eq!(script.calls.len(), usize::from(native) + usize::from(programs));
    }
}

#[test]
fn r6_1_programs_of_other_modes_have_their_tools_by_default() {
    let step = run(
        Agent::builder("x").tool(rows()).build().unwrap(),
        json!({}),
        &mut Script::new([crate::support::code("(return (count (tool/find-rows {:n 3})))")]),
    );
    assert_eq!(step.value, json!(3));
}

#[test]
fn r6_2_r6_4_lisp_eval_and_its_card_are_there_without_any_tools() {
    let mut script = Script::new([eval("(+ data/a 1)"), "42".into()]);
    let step = run(agent().build().unwrap(), json!({"a": 41}), &mut script);
    assert_eq!(step.value, json!("42"));
    let request = &script.requests[0];
    assert_eq!(request.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["lisp_eval"]);
    assert!(request.system.contains("lisp_eval") && request.system.contains("data/"), "{}", request.system);
    assert_eq!(answer(&script, 2)["result"], "user=> 42");
}

#[test]
fn r6_4_the_inventory_lists_what_programs_may_call() {
    let tools = [bridged(), Tool { name: "a-lisp".into(), ..rows().expose(Expose::PtcLisp) }];
    let others =
        [Tool { name: "native".into(), ..rows() }, Tool { name: "hid".into(), ..bridged() }.private()];
    let mut script = Script::new(["ok"]);
    run(agent().tools(tools).tools(others).build().unwrap(), json!({}), &mut script);
    let system = &script.requests[0].system;
    let (_, inventory) = system.split_once("<ptc_tools>").expect("an inventory");
    let (first, second) = (inventory.find("tool/a-lisp").unwrap(), inventory.find("tool/find-rows").unwrap());
    assert!(first < second && inventory.contains("Rows by number"), "{inventory}");
    assert!(!inventory.contains("tool/native") && !system.contains("hid "), "{inventory}");
    for other in [Agent::builder("x").output(ptc_agent::model::Output::Text), Agent::builder("x")] {
        let mut script = Script::new(["(return 1)"]);
        run(other.tool(rows()).build().unwrap(), json!({}), &mut script);
        assert!(!script.requests[0].system.contains("<ptc_tools>"));
    }
}

#[test]
fn r6_5_the_card_follows_a_prompt_of_ones_own_and_the_message_is_that_of_text_mode() {
    let agent =
        agent().system_prompt(SystemPrompt::Replace("Be kind.".into())).tool(bridged()).build().unwrap();
    let mut script = Script::new([eval("data/who"), "ok".into()]);
    run(agent, json!({"who": "Ada"}), &mut script);
    let system = &script.requests[0].system;
    assert!(system.starts_with("Be kind.") && system.contains("lisp_eval"), "{system}");
    let message = script.told(1);
    assert!(message.contains("<context_data>") && message.contains("<mission>\nHelp"), "{message}");
    assert!(!message.contains(";; === tools"));
    assert_eq!(answer(&script, 2)["result"], "user=> \"Ada\"");
}

#[test]
fn r6_5b_the_step_lists_native_calls_and_programs_and_not_the_calls_of_programs() {
    let mut script = Script {
        model_ms: 5,
        ..Script::new([asks(2), eval("(tool/find-rows {:n 3})"), eval("(/ 1 0)"), "ok".into()])
    };
    let step = run(agent().tool(bridged()).build().unwrap(), json!({}), &mut script);
    let listed: Vec<(&str, bool)> =
        step.tool_calls.iter().map(|call| (call.name.as_str(), call.error.is_some())).collect();
    assert_eq!(listed, [("find-rows", false), ("lisp_eval", false), ("lisp_eval", true)]);
    assert_eq!(step.tool_calls[1].args, json!({"program": "(tool/find-rows {:n 3})"}));
    assert_eq!(step.tool_calls[1].result["status"], "ok");
    let layers: Vec<(&Json, &Json)> = script
        .event("tool.call")
        .iter()
        .map(|event| (&event.metadata["tool_name"], &event.metadata["exposure_layer"]))
        .collect::<Vec<_>>();
    let names = |name: &'static str, layer: &'static str| (json!(name), json!(layer));
    let wanted = [
        names("find-rows", "native"),
        names("find-rows", "ptc_lisp"),
        names("lisp_eval", "native"),
        names("lisp_eval", "native"),
    ];
    assert_eq!(layers, wanted.iter().map(|(name, layer)| (name, layer)).collect::<Vec<_>>());
}

#[test]
fn r6_6_r6_7_r6_8_calls_beside_a_program_are_refused_and_native_ones_answered_each_for_itself() {
    let lisp = |id: &str| call(id, "lisp_eval", json!({"program": "(tool/find-rows {:n 1})"}));
    let native = |id: &str| call(id, "find_rows", json!({"n": 1}));
    let bad = |id: &str, name: &str| ToolCall { args_error: Some("EOF".into()), ..call(id, name, json!({})) };
    let secret = Tool { name: "secret".into(), ..bridged() }.private();
    let only = Tool { name: "only".into(), ..rows().expose(Expose::PtcLisp) };
    for (calls, wanted, ran) in [
        (vec![lisp("a"), lisp("b")], vec!["multiple_tool_calls"; 2], 0),
        (vec![lisp("a"), lisp("b"), native("c")], vec!["multiple_tool_calls"; 3], 0),
        (vec![native("a"), lisp("b")], vec!["mixed_with_lisp_eval"; 2], 0),
        (vec![native("a"), bad("b", "nothing")], vec!["", "unknown_tool"], 1),
        (
            vec![call("a", "secret", json!({"n": 1})), call("b", "only", json!({"n": 1}))],
            vec!["unknown_tool"; 2],
            0,
        ),
        (vec![bad("a", "find_rows")], vec!["EOF"], 0),
    ] {
        let count = calls.len();
        let agent = agent().tools([bridged(), secret.clone(), only.clone()]).build().unwrap();
        let mut script = Script::new([Reply::calls(calls), "ok".into()]);
        run(agent, json!({}), &mut script);
        assert_eq!(script.calls.len(), ran, "{wanted:?}");
        let messages = &script.requests[1].messages;
        assert_paired(messages);
        let told = messages[messages.len() - count..]
            .iter()
            .map(|message| serde_json::from_str(&message.content).unwrap());
        for (body, wanted) in told.zip(wanted) {
            let body: Json = body;
            match wanted {
                "" => assert_eq!(body["status"], "ok"),
                "EOF" => assert_eq!(body["error"], "EOF"),
                reason => {
                    assert_eq!((&body["status"], &body["reason"]), (&json!("error"), &json!(reason)));
                    assert!(!body["message"].as_str().unwrap().contains("Turn "), "{body}");
                }
            }
        }
    }
}

#[test]
fn r6_9_a_program_never_ends_the_run() {
    let replies = [
        eval("(return {:n 1})"),
        eval("(fail {:reason :no :message \"m\"})"),
        eval("(+ 1 1)"),
        "{\"n\": 7}".into(),
    ];
    let mut script = Script::new(replies);
    let step = run(agent().signature("{n :int}").build().unwrap(), json!({}), &mut script);
    assert_eq!((step.result(), step.usage.turns), (Ok(&json!({"n": 7})), 4));
    assert_eq!(
        (&answer(&script, 2)["status"], &answer(&script, 2)["result"]),
        (&json!("ok"), &json!("user=> {:n 1}"))
    );
    let failed = answer(&script, 3);
    assert_eq!((&failed["status"], &failed["reason"]), (&json!("error"), &json!("fail")));
    assert!(failed["result"].as_str().unwrap().contains(":no"), "{failed}");
}

#[test]
fn r6_10_a_program_on_the_last_turn_is_answered_and_the_run_is_over() {
    let options = RunOptions { collect_messages: true, ..RunOptions::new(scripted()) };
    let step =
        run_with(agent().max_turns(1).build().unwrap(), options, &mut Script::new([eval("(return 1)")]));
    assert_eq!((reason(&step), &step.value), ("max_turns_exceeded", &Json::Null));
    let messages = step.messages.unwrap();
    assert_paired(&messages);
    assert_eq!(messages.last().unwrap().role, Role::Tool);
}

#[test]
fn r6_11_programs_do_not_count_as_tool_calls() {
    let agent = agent().tool(rows()).max_tool_calls(1).max_turns(9).build().unwrap();
    let mut script = Script::new([eval("1"), eval("2"), asks(1), eval("3"), asks(1), "ok".into()]);
    let step = run(agent, json!({}), &mut script);
    assert_eq!((step.value, script.calls.len()), (json!("ok"), 1));
    assert_eq!(answer(&script, 5)["status"], "ok");
    assert!(answer(&script, 6)["error"].as_str().unwrap().contains("limit of 1"));
}

#[test]
fn r6_11_only_native_calls_count_and_not_those_of_programs() {
    let agent = agent().tool(rows().expose(Expose::Both)).max_tool_calls(1).build().unwrap();
    let program = "(mapv (fn [n] (count (tool/find-rows {:n n}))) [1 2 3])";
    let mut script = Script::new([eval(program), asks(1), eval(program), "ok".into()]);
    run(agent, json!({}), &mut script);
    let results = [2, 4].map(|request| answer(&script, request)["result"].clone());
    assert_eq!((results, script.calls.len()), ([json!("user=> [1 2 3]"), json!("user=> [1 2 3]")], 7));
    assert!(answer(&script, 3).is_array());
}

#[test]
fn r6_12_what_programs_leave_behind_is_on_the_step() {
    let replies = [
        eval("(def x 1) (task \"t\" 5) (step-done \"s\" \"did\")"),
        eval("(tool/find-rows {:n x})"),
        "3".into(),
    ];
    let step =
        run(agent().signature(":int").tool(bridged()).build().unwrap(), json!({}), &mut Script::new(replies));
    assert_eq!((&step.value, &step.memory["x"], &step.journal["t"]), (&json!(3), &json!(1), &json!(5)));
    assert_eq!((step.summaries["s"].as_str(), step.tool_cache.len()), ("did", 1));
}

#[test]
fn r6_13_only_programs_that_went_well_advance_the_history() {
    let mut script =
        Script::new([eval("1"), asks(2), eval("(/ 1 0)"), eval("(return 9)"), eval("[*1 *2]"), "ok".into()]);
    run(agent().tool(bridged()).max_turns(9).build().unwrap(), json!({}), &mut script);
    assert_eq!(answer(&script, 6)["result"], "user=> [1 nil]");
}

#[test]
fn r6_14_definitions_beyond_the_limit_end_the_run_or_are_taken_back() {
    let big =
        || Script::new([eval("(def a 1)"), eval("(def b (apply str (repeat 5000 \"x\")))"), "ok".into()]);
    let limited = || agent().memory_limit(Some(2_000));
    let options = RunOptions { collect_messages: true, ..RunOptions::new(scripted()) };
    let strict = limited().memory_strategy(MemoryStrategy::Strict).build().unwrap();
    let step = run_with(strict, options, &mut big());
    assert_eq!(reason(&step), "memory_limit_exceeded");
    assert_paired(&step.messages.unwrap());
    let mut script = big();
    let step =
        run(limited().memory_strategy(MemoryStrategy::Rollback).build().unwrap(), json!({}), &mut script);
    assert_eq!((&step.value, answer(&script, 3)["reason"].as_str()), (&json!("ok"), Some("memory_limit")));
    assert_eq!(step.memory.keys().collect::<Vec<_>>(), ["a"]);
}

#[test]
fn r6_15_q4_the_failure_of_the_program_before_is_data_until_something_goes_well() {
    for between in [eval("1"), asks(1)] {
        let replies = [
            eval("(/ 1 0)"),
            eval("(:reason data/fail)"),
            eval("(/ 1 0)"),
            between,
            eval("[data/fail]"),
            "ok".into(),
        ];
        let mut script = Script::new(replies);
        run(agent().tool(rows()).max_turns(9).build().unwrap(), json!({}), &mut script);
        assert_eq!(answer(&script, 3)["result"], "user=> \"arithmetic_error\"");
        assert_eq!(answer(&script, 6)["result"], "user=> [nil]");
    }
}

#[test]
fn r6_16_r6_17_results_are_shared_only_where_both_may_call_and_may_cache() {
    for (tool, runs, preview) in
        [(bridged(), 1, true), (rows().expose(Expose::Both), 4, false), (rows().cached(), 2, false)]
    {
        let programs = tool.expose.is_some();
        let replies = [
            asks(3),
            asks(3),
            eval("(count (tool/find-rows {:n 3}))"),
            eval("(tool/find-rows {:n 3})"),
            "ok".into(),
        ];
        let mut script = Script::new(replies);
        run(agent().tool(tool).build().unwrap(), json!({}), &mut script);
        assert_eq!(script.calls.len(), runs);
        for request in [2, 3] {
            let told = answer(&script, request);
            assert_eq!((told["full_result_cached"] == true, told.is_array()), (preview, !preview), "{told}");
        }
        assert_eq!(answer(&script, 4)["status"] == "ok", programs);
    }
}

#[test]
fn r6_16_errors_are_not_cached() {
    let mut script = Script::new([asks(-1), asks(-1), eval("(tool/find-rows {:n -1})"), "ok".into()]);
    let step = run(agent().tool(bridged()).build().unwrap(), json!({}), &mut script);
    assert_eq!((script.calls.len(), step.tool_cache.len()), (3, 0));
    assert!(answer(&script, 2)["error"].as_str().unwrap().contains("too few"));
}

#[test]
fn r6_18_arguments_that_mean_the_same_are_the_same() {
    let tool = || {
        let tool = Tool::new("look", |_| json!([1])).expose(Expose::Both).cached();
        agent().tool(tool).max_turns(9).build().unwrap()
    };
    let native = |args: Json| Reply::calls(vec![call("l", "look", args)]);
    for (first, then) in [
        (json!({"was_improved": 1}), "{:was-improved 1.0}"),
        (json!({"a": 1, "b": {"c": 2, "d": 3}}), "{:b {:d 3 :c 2} :a 1}"),
        (json!({"p": [1, 2]}), "{:p '(1 2)}"),
        (json!({"z": -0.0}), "{:z 0}"),
        (json!({}), ""),
    ] {
        let mut script = Script::new([native(first), eval(&format!("(tool/look {then})")), "ok".into()]);
        run(tool(), json!({}), &mut script);
        assert_eq!(script.calls.len(), 1, "{then}");
    }
    let mut script = Script::new([native(json!({"x": 1.5})), eval("(tool/look {:x 1})"), "ok".into()]);
    run(tool(), json!({}), &mut script);
    assert_eq!(script.calls.len(), 2);
}

#[test]
fn r6_21_q3_a_program_that_fails_leaves_the_cache_alone() {
    for broken in ["(def", "(loop [] (recur))", "(tool/nothing {})", "(fail 1)"] {
        let agent = agent().tool(bridged()).set("fuel", &json!(10_000)).build().unwrap();
        let mut script =
            Script::new([asks(3), eval(broken), eval("(count (tool/find-rows {:n 3}))"), "ok".into()]);
        run(agent, json!({}), &mut script);
        assert_eq!(
            (script.calls.len(), answer(&script, 4)["result"].as_str()),
            (1, Some("user=> 3")),
            "{broken}"
        );
    }
}

#[test]
fn r6_22_r6_23_r6_25_r6_27_previews_show_the_shape_or_the_first_rows() {
    let schema = json!({"type": "array", "items": {"type": "object", "properties": {"id": "integer", "ok": "boolean"}}});
    for (preview, rows) in [(Preview::Metadata, None), (Preview::Rows { limit: 2 }, Some(2))] {
        let agent = agent().tool(bridged().native_result(preview)).build().unwrap();
        let mut script = Script::new([asks(3), "ok".into()]);
        run(agent, json!({}), &mut script);
        let mut told = answer(&script, 2);
        let hint = told.as_object_mut().unwrap().remove("cache_hint").unwrap();
        assert!(hint.as_str().unwrap().contains("(tool/find-rows {:n 3})"), "{hint}");
        let mut wanted = json!({
            "status": "ok", "full_result_cached": true, "result_count": 3, "schema": schema, "sample_keys": ["id", "ok"],
        });
        if rows.is_some() {
            wanted["rows"] = json!([{"id": 0, "ok": false}, {"id": 1, "ok": false}]);
        }
        assert_eq!(told, wanted);
        let event = script.event("tool.call")[0];
        assert_eq!(event.metadata["result_preview_truncated"], json!(rows.is_some()));
    }
}

#[test]
fn r6_26_a_preview_of_the_host_is_merged_and_one_that_fails_gives_the_shape_and_a_warning() {
    let raised: ptc_agent::PreviewFunction = Arc::new(|_| Err(PreviewError::Raised("boom".into())));
    let panics: ptc_agent::PreviewFunction = Arc::new(|_| panic!("it breaks"));
    let opaque: std::collections::BTreeMap<Vec<u8>, u8> = [(vec![1], 1)].into();
    for (preview, category) in [
        (Preview::custom(|rows| json!({"first": rows[0]["id"], "status": "mine"})), None),
        (Preview::Custom(raised), Some("raised")),
        (Preview::Custom(panics), Some("raised")),
        (Preview::custom(|_| json!([1])), Some("non_map")),
        (Preview::custom(move |_| opaque.clone()), Some("non_encodable")),
    ] {
        let agent = agent().tool(bridged().native_result(preview)).build().unwrap();
        let mut script = Script::new([asks(3), eval("(count (tool/find-rows {:n 3}))"), "ok".into()]);
        let step = run(agent, json!({}), &mut script);
        let told = answer(&script, 2);
        assert_eq!((&told["status"], &told["full_result_cached"]), (&json!("ok"), &json!(true)));
        assert_eq!(answer(&script, 3)["result"], "user=> 3", "the result itself is not touched");
        match category {
            None => assert_eq!((&told["first"], told.get("result_count")), (&json!(0), None)),
            Some(category) => {
                assert_eq!(told["result_count"], 3);
                let warned = script.event("preview.fallback")[0];
                assert_eq!(warned.metadata["category"], category);
                assert!(step.warnings[0].contains("find-rows"), "{:?}", step.warnings);
            }
        }
    }
}

#[test]
fn r6_30_final_answers_by_type() {
    for (signature, reply, value) in [
        (None, "It is 5", json!("It is 5")),
        (Some(":string"), "5", json!("5")),
        (Some(":any"), "5", json!("5")),
        (Some(":int"), "5", json!(5)),
        (Some(":float"), "2.5", json!(2.5)),
        (Some(":bool"), " true\n", json!(true)),
        (Some(":datetime"), "\"2026-01-02T03:04:05Z\"", json!("2026-01-02T03:04:05Z")),
        (Some("[:int]"), "[1]", json!([1])),
        (Some("{n :int?}"), "{}", json!({})),
    ] {
        let builder = signature.map_or_else(agent, |signature| agent().signature(signature));
        let step = run(builder.build().unwrap(), json!({}), &mut Script::new([eval("1"), reply.into()]));
        assert_eq!(step.result(), Ok(&value), "{signature:?}");
    }
    let wrong = || agent().signature(":int").max_turns(2).build().unwrap();
    let mut script = Script::new(["five", "5"]);
    assert_eq!(run(wrong(), json!({}), &mut script).value, json!(5));
    assert!(script.told(2).contains("int"), "{}", script.told(2));
    let step = run(wrong(), json!({}), &mut Script::new(["\"five\""]));
    assert_eq!((reason(&step), step.usage.turns), ("validation_error", 2));
}

#[test]
fn r6_31_r6_32_q15_every_call_is_told_with_its_layer_and_its_place_in_the_cache() {
    let agent = agent().name("helper").tool(bridged()).build().unwrap();
    let twice = Reply::calls(vec![call("a", "find_rows", json!({"n": 2})), call("b", "nothing", json!({}))]);
    let mut script = Script::new([twice, eval("(tool/find-rows {:n 2})"), "ok".into()]);
    run(agent, json!({}), &mut script);
    let events = script.event("tool.call");
    let facts: Vec<[&Json; 3]> = events
        .iter()
        .map(|event| ["tool_name", "exposure_layer", "cached"].map(|name| &event.metadata[name]))
        .collect();
    let row = |name: &str, layer: &str, cached: bool| [json!(name), json!(layer), json!(cached)];
    let wanted = [
        row("nothing", "native", false),
        row("find-rows", "native", false),
        row("find-rows", "ptc_lisp", true),
        row("lisp_eval", "native", false),
    ];
    assert_eq!(facts, wanted.iter().map(|row| row.each_ref()).collect::<Vec<_>>());
    assert!(events[0].metadata["error"].as_str().unwrap().contains("nothing"));
    assert!(
        events
            .iter()
            .all(|event| event.agent_name.as_deref() == Some("helper") && !event.agent_id.is_empty())
    );
    assert!(events.iter().all(|event| event.measurements.contains_key("duration_ms")));
    let (stored, hit) = (&events[1].metadata, &events[2].metadata);
    assert_eq!((&stored["full_result_cached"], &hit["full_result_cached"]), (&json!(true), &json!(true)));
    assert_eq!(stored["cache_key_hash"], hit["cache_key_hash"]);
    assert_eq!(stored["retained_bytes"], json!(41));
}

#[test]
fn limits_of_the_cache_hold_and_what_is_dropped_is_announced() {
    // Ten rows are about 215 bytes.
    let few = || bridged().max_cached_bytes(500);
    for agent in [agent().tool(few()), agent().tool(bridged()).tool_cache_limit(500)] {
        let replies = [asks(10), asks(11), eval("(count (tool/find-rows {:n 12}))"), asks(99), "ok".into()];
        let mut script = Script::new(replies);
        let step = run(agent.build().unwrap(), json!({}), &mut script);
        assert_eq!(answer(&script, 3).get("evicted"), None);
        let told = answer(&script, 4);
        assert_eq!(told["result"], "user=> 12");
        assert!(told["evicted"].as_str().unwrap().contains("(tool/find-rows {:n 10})"), "{told}");
        let whole = answer(&script, 5);
        assert_eq!(whole["full_result_cached"], json!(false), "{whole}");
        assert!(whole["evicted"].as_str().unwrap().contains("too large"), "{whole}");
        assert!(step.tool_cache.values().sum::<usize>() <= 500);
    }
}

#[test]
fn r2_33_a_chat_keeps_cache_and_definitions_where_its_state_is_handed_on() {
    let agent = Arc::new(agent().tool(bridged()).build().unwrap());
    let options = |carried| RunOptions { keep_state: true, carried, ..RunOptions::new(scripted()) };
    let mut first = Script::new([asks(3), eval("(def x 1)"), "one".into()]);
    let mut run = ptc_agent::AgentRun::new(agent.clone(), options(None), 0);
    ptc_agent::drive(&mut run, &mut first);
    let carried = run.take_carried().map(Arc::new);
    let mut second = Script::new([eval("(+ x (count (tool/find-rows {:n 3})))"), "two".into()]);
    let mut run = ptc_agent::AgentRun::new(agent, options(carried), 0);
    assert_eq!(ptc_agent::drive(&mut run, &mut second).value, json!("two"));
    assert_eq!((second.calls.len(), answer(&second, 2)["result"].as_str()), (0, Some("user=> 4")));
}

#[test]
fn r6_4_d7_the_card_is_short_and_says_what_is_needed() {
    let agent = agent().system_prompt(SystemPrompt::Replace("x".into())).build().unwrap();
    let mut script = Script::new(["ok"]);
    run(agent, json!({}), &mut script);
    let card = &script.requests[0].system;
    let tokens = crate::tokens::of(card);
    assert!(tokens <= 300, "{tokens} tokens");
    for part in ["lisp_eval", "program", "data/", "tool/", "def", "(return"] {
        assert!(card.contains(part), "{part}\n---\n{card}");
    }
}

#[test]
fn a_reply_that_is_only_a_program_is_run_as_a_call() {
    for reply in ["```clojure\n(+ 1 2)\n```", "(+ 1 2)", "```clj\n(+ 1 2)\n```", "<clojure>(+ 1 2)</clojure>"]
    {
        let mut script = Script::new([reply.into(), Reply::text("It is 3.")]);
        let options = RunOptions { collect_messages: true, ..RunOptions::new(scripted()) };
        let step = run_with(agent().build().unwrap(), options, &mut script);
        assert_eq!((&step.value, step.usage.turns), (&json!("It is 3."), 2), "{reply}");
        assert_eq!(answer(&script, 2)["result"], "user=> 3", "{reply}");
        assert_paired(&step.messages.unwrap());
        assert_eq!(step.turns.unwrap()[0].program.as_deref(), Some("(+ 1 2)"), "{reply}");
    }
}

#[test]
fn the_last_turns_are_announced_after_native_calls_and_programs() {
    let agent = || agent().tool(rows()).max_turns(3).build().unwrap();
    for replies in [[asks(1), asks(2)], [eval("1"), eval("2")]] {
        let mut script = Script::new(replies.into_iter().chain(["done".into()]));
        run(agent(), json!({}), &mut script);
        for (request, text) in [(2, "The turn after this one is the last"), (3, "Turn 3 is the last")] {
            assert_eq!(script.told(request).matches(text).count(), 1, "{}", script.told(request));
        }
    }
    let text = ptc_agent::model::Output::Text;
    let agent = ptc_agent::Agent::builder("x").output(text).signature(":int").tool(rows()).max_turns(2);
    let mut script = Script::new([asks(1), "5".into()]);
    run(agent.build().unwrap(), json!({}), &mut script);
    assert!(script.told(2).contains("⚠️ Turn 2 is the last"), "{}", script.told(2));
}

#[test]
fn an_only_turn_is_announced_before_it_where_there_are_calls() {
    let text = ptc_agent::model::Output::Text;
    let plain = || ptc_agent::Agent::builder("x").output(text);
    for (builder, announced) in [
        (agent().max_turns(1), true),
        (plain().tool(rows()).max_turns(1), true),
        (plain().max_turns(1), false),
        (agent().max_turns(5), false),
    ] {
        let mut script = Script::new(["done"]);
        run(builder.build().unwrap(), json!({}), &mut script);
        assert_eq!(script.told(1).contains("⚠️ Turn 1 is the last"), announced, "{}", script.told(1));
    }
}

#[test]
fn several_values_that_fit_and_differ_are_sent_back() {
    let agent = agent().signature("{n :int}").build().unwrap();
    let mut script = Script::new(["I used {\"n\": 0} first; final {\"n\": 3}", "{\"n\": 3}"]);
    let step = run(agent, json!({}), &mut script);
    assert_eq!((step.value, step.usage.turns), (json!({"n": 3}), 2));
    assert!(script.told(2).contains("Answer with that one alone"), "{}", script.told(2));
}
