//! What stands in a request stands there once, and samples are as many rows as were asked for.

use ptc_agent::model::{Output, Reply};
use ptc_agent::{Agent, Builder, Profile, Tool, Transport};
use serde_json::{Value as Json, json};

use crate::support::{Script, call, code, run};

fn first(agent: Builder, context: Json) -> String {
    let mut script = Script::new([Reply::text("```clojure\n1\n```")]);
    run(agent.build().expect("it builds"), context, &mut script);
    script.requests[0].messages[0].content.clone()
}

fn tool() -> Tool {
    Tool::new("look_up", |_| json!(1))
}

#[test]
fn inputs_of_a_mission_stand_in_the_request_once() {
    let agents: [fn() -> Builder; 4] = [
        || Agent::builder("Judge {{t}}").output(Output::Text).tool(tool()),
        || Agent::builder("Judge {{t}}").max_turns(1),
        || Agent::builder("Judge {{t}}").max_turns(1).tool(tool()).transport(Transport::ToolCall),
        || Agent::builder("Judge {{t}}").combined(),
    ];
    for text in ["2026-11-16".to_owned(), "a text of some hundred characters ".repeat(3), "long ".repeat(300)]
    {
        for agent in agents {
            let told = first(agent(), json!({"t": text, "other": 1}));
            let count = told.matches(text.trim()).count();
            assert!(count == 1 || (text.len() > 1_000 && count == 0), "{count} times\n{told}");
            assert!(told.contains("data/t") || told.contains("- t ="), "its name is told: {told}");
            assert!(!told.contains("long long") || told.matches(&"long ".repeat(9)).count() < 40, "{told}");
        }
    }
    let told = first(agents[0](), json!({"t": "x".repeat(2_000)}));
    assert_eq!(
        told.matches(&"x".repeat(150)).count(),
        2_000 / 150,
        "all of it, below the mission only: {told}"
    );
}

#[test]
fn samples_are_so_many_rows_with_all_their_columns() {
    let row = |row: usize| -> Json {
        let column = |at: usize| {
            (format!("c{at:02}"), json!(format!("value {at:02} of row {row} that is long enough")))
        };
        Json::Object((0..12).map(column).collect())
    };
    let rows: Json = (0..5).map(row).collect();
    for (agent, shown) in [
        (Agent::builder("x").samples(3), 3),
        (Agent::builder("x").samples(2).combined(), 2),
        (Agent::builder("x").profile(Profile::Draft), 5),
    ] {
        let mut script = Script::new([code("1")]);
        run(agent.build().unwrap(), json!({"rows": rows}), &mut script);
        let told = format!("{}\n{}", script.requests[0].system, script.requests[0].messages[0].content);
        for (at, row) in (0..5).map(|at| (at, row(at))) {
            let whole = row.as_object().unwrap().values().all(|value| told.contains(value.as_str().unwrap()));
            assert_eq!(whole, at < shown, "row {at}: {told}");
        }
        assert!(shown == 5 || told.contains(&format!("({shown}/5)")), "what is left out is counted: {told}");
    }
    let wide: Json = (0..5).map(|_| json!({"text": "y".repeat(5_000)})).collect();
    let told = first(Agent::builder("x").samples(3), json!({"rows": wide}));
    assert!(told.len() < 12_000 && told.contains("/5)"), "one limit of size: {}", told.len());
}

#[test]
fn warnings_about_native_calls_stand_in_no_result_and_in_a_block_of_their_own() {
    let t = Tool::new("t", |args| args).signature("(n :int) -> :any").unwrap();
    let agent = Agent::builder("x").output(Output::Text).tool(t).build().unwrap();
    let calls = Reply::calls(vec![call("a", "t", json!({"n": "5"}))]);
    let mut script = Script::new([calls, Reply::text("ok")]);
    run(agent, json!({}), &mut script);
    let messages = &script.requests[1].messages;
    let [result, ours] = &messages[messages.len() - 2..] else { panic!("{messages:?}") };
    assert_eq!(result.content, "{\"n\":5}");
    let told = "Warnings about calls:\n<untrusted_ptc_output source=\"warnings\">\n- t: n: coerced string";
    assert!(ours.content.starts_with(told), "{}", ours.content);
}
