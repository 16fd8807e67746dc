//! Text mode: rules of section 5.

use std::sync::{Arc, Mutex};

use ptc_agent::model::{Message, Output, Reply, Role, ToolCall};
use ptc_agent::{Agent, Builder, Fail, Reason, RunOptions, SystemPrompt, Tool};
use serde_json::{Value as Json, json};

use crate::support::{Script, call, reason, run, run_with, scripted};

fn agent(prompt: &str) -> Builder {
    Agent::builder(prompt).output(Output::Text)
}

fn weather() -> Tool {
    Tool::new("get-weather", |args| match args["city"].as_str() {
        Some("Atlantis") => Err("sunk"),
        city => Ok(json!({"city": city, "degrees": 21, "_station": "s-1"})),
    })
    .signature("(city :string, unit :string?) -> {degrees :int}")
    .expect("the signature is right")
    .description("Weather of a city")
}

fn asks(city: &str) -> ToolCall {
    call("w", "get_weather", json!({"city": city}))
}

/// The message that answers the last call before a request, as JSON.
fn answer(script: &Script, request: usize) -> Json {
    serde_json::from_str(script.told(request)).unwrap_or_else(|_| panic!("no JSON: {}", script.told(request)))
}

#[test]
fn r5_1_r5_3_plain_text_is_the_answer_as_it_is() {
    for signature in [None, Some("(who :string) -> :string")] {
        for text in ["Hello Ada!", ""] {
            let builder = agent("Greet {{who}}");
            let builder = signature.map_or(builder.clone(), |signature| builder.signature(signature));
            let mut script = Script::new([text]);
            let step = run(builder.build().unwrap(), json!({"who": "Ada"}), &mut script);
            assert_eq!(step.result(), Ok(&json!(text)));
            let request = &script.requests[0];
            assert_eq!((step.usage.turns, request.output), (1, Output::Text));
            assert_eq!(request.messages, [Message::user("Greet Ada")]);
            assert!(request.tools.is_empty() && request.schema.is_none());
            assert!(!request.system.is_empty() && step.memory.is_empty());
        }
    }
}

#[test]
fn r5_2_lists_are_written_out_and_what_is_missing_stays() {
    let agent = agent("{{#items}}- {{name}}\n{{/items}}for {{whom}}").build().unwrap();
    let mut script = Script::new(["ok"]);
    run(agent, json!({"items": [{"name": "a"}, {"name": "b"}]}), &mut script);
    assert_eq!(script.told(1), "- a\n- b\nfor {{whom}}");
}

#[test]
fn r5_3_the_system_prompt_can_be_replaced_and_what_came_before_is_kept() {
    let agent = agent("Hi").system_prompt(SystemPrompt::Replace("Be brief.".into())).build().unwrap();
    let before = vec![Message::user("earlier"), Message::assistant("yes")];
    let options = RunOptions { initial_messages: before, ..RunOptions::new(scripted()) };
    let mut script = Script::new(["ok"]);
    run_with(agent, options, &mut script);
    let said: Vec<&str> =
        script.requests[0].messages.iter().map(|message| message.content.as_str()).collect();
    assert_eq!((script.requests[0].system.as_str(), said), ("Be brief.", vec!["earlier", "yes", "Hi"]));
}

#[test]
fn r5_4_r5_17_json_answers_have_a_schema_and_a_task() {
    let agent = agent("Judge {{text}}").signature("(text :string) -> {score :int, tags [:string]}");
    let agent = agent.describe_field("score", "from 0 to 9").build().unwrap();
    let mut script = Script::new(["{\"score\": 5, \"tags\": [\"a\"]}"]);
    let step = run(agent, json!({"text": "nice"}), &mut script);
    assert_eq!(step.result(), Ok(&json!({"score": 5, "tags": ["a"]})));
    let schema = script.requests[0].schema.as_ref().unwrap();
    assert_eq!(schema["required"], json!(["score", "tags"]));
    for part in ["<task>\nJudge nice\n</task>", "<expected_output>", "`score` (integer) - from 0 to 9"] {
        assert!(script.told(1).contains(part), "{part}\n---\n{}", script.told(1));
    }
    assert!(step.usage.schema_used && step.usage.schema_bytes == schema.to_string().len());
}

#[test]
fn r5_4_a_schema_of_ones_own_goes_before_that_of_the_signature() {
    let own = json!({"type": "object", "title": "mine"});
    let agent = agent("x").signature("{n :int}").set("schema", &own).build().unwrap();
    let mut script = Script::new(["{\"n\": 1}"]);
    run(agent, json!({}), &mut script);
    assert_eq!(script.requests[0].schema, Some(own));
}

#[test]
fn r5_5_r5_6_r5_18_json_is_found_in_the_reply() {
    for (signature, reply, value) in [
        ("{n :int}", "```json\n{\"n\": 1}\n```", json!({"n": 1})),
        ("{n :int}", "Here: {\"n\": 1}. Done {", json!({"n": 1})),
        ("{s :string}", "{\"s\": \"a } b\"}", json!({"s": "a } b"})),
        ("[:int]", "[1, 2]", json!([1, 2])),
        ("[:int]", "{\"items\": [1, 2]}", json!([1, 2])),
        ("{order_count :int}", "{\"order-count\": 1}", json!({"order_count": 1})),
    ] {
        let step =
            run(agent("x").signature(signature).build().unwrap(), json!({}), &mut Script::new([reply]));
        assert_eq!(step.result(), Ok(&value), "{reply}");
    }
}

#[test]
fn r5_7_q7_a_wrong_answer_is_sent_back_with_the_task_still_there() {
    for (reply, terminal) in [("no json", "json_parse_error"), ("{\"n\": \"x\"}", "validation_error")] {
        let agent = || agent("Count").signature("{n :int}").max_turns(2).build().unwrap();
        let before = vec![Message::user("earlier"), Message::assistant("yes")];
        let options = RunOptions { initial_messages: before, ..RunOptions::new(scripted()) };
        let mut script = Script::new([reply, "{\"n\": 2}"]);
        let step = run_with(agent(), options, &mut script);
        assert_eq!((&step.value, step.usage.turns), (&json!({"n": 2}), 2));
        let messages = &script.requests[1].messages;
        assert_eq!(messages.len(), 5);
        assert_eq!(messages[0].content, "earlier");
        assert!(
            messages[2].content.contains("<task>\nCount\n</task>"),
            "the card stays: {}",
            messages[2].content
        );
        assert!(!messages[2].content.contains(";; ==="));
        let told = script.told(2);
        assert!(told.contains("source=\"invalid_response\"") && told.contains("\"n\""), "{told}");
        let step = run(agent(), json!({}), &mut Script::new([reply]));
        assert_eq!((reason(&step), step.usage.turns), (terminal, 2));
    }
}

#[test]
fn r5_9_q6_d8_scalars_are_answers_and_are_asked_for_as_such() {
    for (signature, reply, value) in [
        (":int", "42", json!(42)),
        (":float", "2.5", json!(2.5)),
        (":bool", "true", json!(true)),
        (":datetime", "2026-01-02T03:04:05Z", json!("2026-01-02T03:04:05Z")),
        (":int?", "null", Json::Null),
    ] {
        for tools in [vec![], vec![weather()]] {
            let agent = agent("x").signature(signature).tools(tools).build().unwrap();
            let mut script = Script::new([reply]);
            let step = run(agent, json!({}), &mut script);
            assert_eq!(step.result(), Ok(&value), "{signature}");
            assert!(!script.told(1).contains("JSON object"), "{}", script.told(1));
        }
    }
}

#[test]
fn r5_10_r5_11_tools_are_told_natively_and_the_message_has_inputs_form_and_mission() {
    let agent = agent("Report on {{city}}").signature("(city :string) -> {degrees :int}").tool(weather());
    let agent = agent.tool(Tool::new("secret", |_| json!(1)).private()).build().unwrap();
    let mut script = Script::new([Reply::calls(vec![asks("Oslo")]), "{\"degrees\": 21}".into()]);
    let step = run(agent, json!({"city": "Oslo"}), &mut script);
    assert_eq!(step.result(), Ok(&json!({"degrees": 21})));
    let request = &script.requests[0];
    assert!(request.schema.is_none(), "never with tools");
    let [tool] = request.tools.as_slice() else { panic!("{:?}", request.tools) };
    assert_eq!((tool.name.as_str(), tool.description.as_str()), ("get_weather", "Weather of a city"));
    assert_eq!(tool.parameters["required"], json!(["city"]));
    for part in [
        "<context_data>\n- city = (in the mission)",
        "<output_format>",
        "<mission>\nReport on Oslo\n</mission>",
    ] {
        assert!(script.told(1).contains(part), "{part}\n---\n{}", script.told(1));
    }
    assert_eq!(script.calls, [("get-weather".to_owned(), json!({"city": "Oslo"}))]);
}

#[test]
fn r5_12_several_calls_run_in_order_and_each_is_answered() {
    let calls = vec![asks("Oslo"), call("", "get_weather", json!({"city": "Rome"}))];
    let mut script = Script::new([Reply::calls(calls), "done".into()]);
    let step = run(agent("x").tool(weather()).build().unwrap(), json!({}), &mut script);
    assert_eq!(step.value, json!("done"));
    let cities: Vec<&str> = script.calls.iter().filter_map(|(_, args)| args["city"].as_str()).collect();
    assert_eq!(cities, ["Oslo", "Rome"]);
    let answers: Vec<(&str, Json)> = script.requests[1]
        .messages
        .iter()
        .filter(|message| message.role == Role::Tool)
        .map(|message| {
            (message.tool_call_id.as_deref().unwrap(), serde_json::from_str(&message.content).unwrap())
        })
        .collect();
    let oslo = json!({"city": "Oslo", "degrees": 21, "_station": "<Firewalled>"});
    let rome = json!({"city": "Rome", "degrees": 21, "_station": "<Firewalled>"});
    assert_eq!(answers, [("w", oslo), ("tc_2", rome)]);
    let names: Vec<&str> = step.tool_calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(names, ["get-weather", "get-weather"], "r14.7b");
}

#[test]
fn r5_12_missing_ids_are_numbers_that_no_call_before_has() {
    let twice = Reply::calls(vec![call("", "get_weather", json!({"city": "Oslo"}))]);
    let mut script = Script::new([twice.clone(), twice, "done".into()]);
    run(agent("x").tool(weather()).build().unwrap(), json!({}), &mut script);
    let ids: Vec<&str> =
        script.requests[2].messages.iter().filter_map(|message| message.tool_call_id.as_deref()).collect();
    assert_eq!(ids, ["tc_1", "tc_2"]);
}

#[test]
fn r7_35_native_arguments_are_one_map() {
    let echo = || Tool::new("echo", |args| args);
    for (args, told) in [
        (json!({"customer-id": 7, "deep": {"a-b": 1}}), json!({"customer-id": 7, "deep": {"a-b": 1}})),
        (Json::Null, json!({})),
        (json!([1]), Json::Null),
        (json!("x"), Json::Null),
    ] {
        let mut script = Script::new([Reply::calls(vec![call("e", "echo", args)]), "done".into()]);
        run(agent("x").tool(echo()).build().unwrap(), json!({}), &mut script);
        match told {
            Json::Null => {
                assert!(script.calls.is_empty());
                assert!(answer(&script, 2)["error"].as_str().unwrap().contains("one map"));
            }
            told => assert_eq!(answer(&script, 2), told),
        }
    }
}

#[test]
fn r5_13_q8_what_is_wrong_with_a_call_is_told() {
    let unreadable = ToolCall { args_error: Some("EOF".into()), ..call("w", "get_weather", json!({})) };
    for (made, error) in [
        (call("w", "get_wether", json!({})), "Tool 'get_wether' not found"),
        (unreadable, "EOF"),
        (asks("Atlantis"), "sunk"),
        (call("w", "get_weather", json!({"city": []})), "expected string"),
        (call("w", "get_weather", json!({})), "city"),
    ] {
        let mut script = Script::new([Reply::calls(vec![made]), "sorry".into()]);
        let step = run(agent("x").tool(weather()).build().unwrap(), json!({}), &mut script);
        assert_eq!(step.value, json!("sorry"));
        let told = answer(&script, 2);
        assert!(told["error"].as_str().unwrap().contains(error), "{error}: {told}");
    }
}

#[test]
fn q8_an_agent_as_a_tool_gives_its_value_bare() {
    let child =
        Agent::builder("Double {{n}}").signature("(n :int) -> {twice :int}").description("Doubles").build();
    let parent = agent("x").tool(Tool::agent("double", Arc::new(child.unwrap()))).build().unwrap();
    let replies = [
        Reply::calls(vec![call("d", "double", json!({"n": 4}))]),
        crate::support::code("(return {:twice (* 2 data/n)})"),
        "eight".into(),
    ];
    let mut script = Script::new(replies);
    let step = run(parent, json!({}), &mut script);
    assert_eq!((step.value, answer(&script, 3)), (json!("eight"), json!({"twice": 8})));
    assert_eq!(step.child_steps.len(), 1);
}

#[test]
fn r5_14_calls_are_limited_over_the_whole_run_those_skipped_included() {
    let agent = agent("x").tool(weather()).max_tool_calls(2).build().unwrap();
    let replies = [
        Reply::calls(vec![call("a", "nothing", json!({})), asks("Oslo"), asks("Rome")]),
        Reply::calls(vec![asks("Paris")]),
        "done".into(),
    ];
    let mut script = Script::new(replies);
    let step = run(agent, json!({}), &mut script);
    assert_eq!((step.value, script.calls.len()), (json!("done"), 1));
    for request in [2, 3] {
        assert!(answer(&script, request)["error"].as_str().unwrap().contains("limit of 2"));
    }
}

#[test]
fn r5_15_q14_an_empty_reply_is_told_and_its_tokens_count() {
    let agent = || agent("x").tool(weather()).max_turns(2).build().unwrap();
    let mut script = Script::new([Reply::text("").tokens(10, 1), Reply::text("done").tokens(20, 2)]);
    let step = run(agent(), json!({}), &mut script);
    assert_eq!((&step.value, step.usage.total_tokens), (&json!("done"), 33));
    assert!(script.told(2).contains("empty") && !script.told(2).contains("(return"), "{}", script.told(2));
    let step = run(agent(), json!({}), &mut Script::new([""]));
    assert_eq!((reason(&step), step.usage.turns), ("empty_response", 2));
}

#[test]
fn r5_16_turns_run_out_and_retries_and_fallback_do_not_apply() {
    let agent = agent("x").tool(weather()).max_turns(2).retry_turns(3).build().unwrap();
    let step = run(agent, json!({}), &mut Script::new([Reply::calls(vec![asks("Oslo")])]));
    assert_eq!((reason(&step), step.usage.turns), ("max_turns_exceeded", 2));
    assert!(step.memory.is_empty() && !step.usage.fallback_used);
    let failing = Script::of([Err("down".into())]);
    let step = run(self::agent("x").build().unwrap(), json!({}), &mut { failing });
    assert_eq!(reason(&step), "llm_error");
}

#[test]
fn q18_budgets_and_guards_hold_in_text_mode_too() {
    let agent = || agent("x").tool(weather()).build().unwrap();
    let replies = || Script::new([Reply::calls(vec![asks("Oslo")]).tokens(5_000, 10), Reply::text("done")]);
    let base = || RunOptions::new(scripted());
    let limited = RunOptions { token_limit: Some(4_000), ..base() };
    assert_eq!(reason(&run_with(agent(), limited, &mut replies())), "budget_callback_exceeded");
    let checked = RunOptions { budget: Some(Arc::new(|spent| spent.llm_requests < 1)), ..base() };
    assert_eq!(reason(&run_with(agent(), checked, &mut replies())), "budget_callback_exceeded");
    let stop = Fail::new(Reason::custom("stopped"), "by the guard");
    let guarded = RunOptions { guard: Some(Arc::new(move |_| Some(stop.clone()))), ..base() };
    let mut script = replies();
    assert_eq!(reason(&run_with(agent(), guarded, &mut script)), "stopped");
    assert_eq!(script.requests.len(), 1);
}

#[test]
fn r6_16_pure_text_never_caches() {
    let agent = agent("x").tool(weather().cached()).build().unwrap();
    let twice = Reply::calls(vec![asks("Oslo")]);
    let mut script = Script::new([twice.clone(), twice, "done".into()]);
    let step = run(agent, json!({}), &mut script);
    assert_eq!((script.calls.len(), step.tool_cache.len()), (2, 0));
}

#[test]
fn r10_9_text_comes_piece_by_piece_or_at_once() {
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let listener = heard.clone();
    let on_chunk: ptc_agent::model::TextSink =
        Arc::new(move |text: &str| listener.lock().unwrap().push(text.to_owned()));
    let options = || RunOptions { on_chunk: Some(on_chunk.clone()), ..RunOptions::new(scripted()) };
    let mut script = Script::new(["hello"]);
    run_with(agent("x").build().unwrap(), options(), &mut script);
    assert!(script.requests[0].stream, "the driver streams it");
    let mut script = Script::new(["all"]);
    run_with(agent("x").tool(weather()).build().unwrap(), options(), &mut script);
    assert!(!script.requests[0].stream);
    assert_eq!(*heard.lock().unwrap(), ["all"]);
}

#[test]
fn text_answers_are_held_to_the_bounds_of_their_type() {
    for (combined, ty) in [(false, ":string[1..3]"), (false, ":string[1..3]?"), (true, ":string[1..3]")] {
        let agent = || {
            let agent = Agent::builder("x").signature(ty).max_turns(2);
            if combined { agent.combined() } else { agent.output(Output::Text) }.build().unwrap()
        };
        let mut script = Script::new(["abcd", "abc"]);
        assert_eq!(run(agent(), json!({}), &mut script).value, json!("abc"), "{ty}");
        let told = &script.requests[1].messages.last().expect("a message").content;
        assert!(told.contains("string of length") && !told.contains("JSON"), "{told}");
        let step = run(agent(), json!({}), &mut Script::new(["abcd", "abcd"]));
        assert_eq!(reason(&step), "validation_error", "{ty}");
    }
}

#[test]
fn builtin_tools_and_several_agents_answer_native_calls() {
    let child =
        Agent::builder("Double {{n}}").signature("(n :int) -> :int").description("Doubles").build().unwrap();
    let agent =
        agent("x").tool(Tool::agent("double", Arc::new(child))).builtin_tools("grep").build().unwrap();
    let calls = vec![
        call("a", "double", json!({"n": 1})),
        call("b", "grep_n", json!({"pattern": "b", "text": "a\nb"})),
        call("c", "double", json!({"n": "x"})),
        call("d", "double", json!({"n": 2})),
    ];
    let fails = crate::support::code("(fail {:reason :tired :message \"not today\"})");
    let mut script = Script::new([
        Reply::calls(calls),
        crate::support::code("(return (* 2 data/n))"),
        fails,
        "done".into(),
    ]);
    let step = run(agent, json!({}), &mut script);
    assert_eq!(step.value, json!("done"));
    let told: Vec<Json> = script.requests[3]
        .messages
        .iter()
        .filter(|message| message.role == Role::Tool)
        .map(|message| serde_json::from_str(&message.content).unwrap())
        .collect();
    assert_eq!(told[0], json!(2));
    assert_eq!(told[1], json!([{"line": 2, "text": "b", "match": true}]));
    assert!(told[2]["error"].as_str().unwrap().contains("expected int"), "{}", told[2]);
    assert_eq!(told[3]["error"], "tired: not today");
}

#[test]
fn hidden_fields_of_an_answer_are_asked_for_because_this_model_makes_them() {
    let agent = || agent("x").signature("{summary :string, _refs [:string]?}").build().unwrap();
    for (reply, value) in [
        ("{\"summary\": \"s\"}", json!({"summary": "s"})),
        ("{\"summary\": \"s\", \"_refs\": [\"r\"]}", json!({"summary": "s", "_refs": ["r"]})),
    ] {
        let mut script = Script::new([reply]);
        assert_eq!(run(agent(), json!({}), &mut script).result(), Ok(&value));
        assert!(script.told(1).contains("`_refs`"), "{}", script.told(1));
    }
}

#[test]
fn r18_5_text_agents_see_the_catalog_and_cannot_call_it() {
    let later = Tool { name: "send-mail".into(), ..weather() };
    for builder in
        [agent("x").tool(weather()), agent("x").tool(weather()).transport(ptc_agent::Transport::ToolCall)]
    {
        let mut script = Script::new([Reply::calls(vec![call("m", "send_mail", json!({}))]), "done".into()]);
        run(builder.catalog(later.clone()).build().unwrap(), json!({}), &mut script);
        assert!(
            script.told(1).contains("not callable") && script.told(1).contains("send-mail("),
            "{}",
            script.told(1)
        );
        assert!(!script.requests[0].tools.iter().any(|tool| tool.name == "send_mail"));
        assert!(script.told(2).contains("planning") && script.calls.is_empty(), "{}", script.told(2));
    }
}
