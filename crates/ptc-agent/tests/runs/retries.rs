//! Agents of one turn whose answer may be corrected: `retry_turns` beside `max_turns = 1`, and the agents that write
//! programs to compile.

use std::sync::Arc;

use ptc_agent::model::Reply;
use ptc_agent::{Agent, Builder, Compiled, Completion, Step, Tool, Transport};
use serde_json::{Value as Json, json};

use crate::support::{Script, code, eval, reason, run};

/// A way in which programs come.
type Way = (Transport, fn(&str) -> Reply);

/// Both ways in which programs come.
const TRANSPORTS: [Way; 2] = [(Transport::Content, code), (Transport::ToolCall, eval)];

fn rows() -> Tool {
    Tool::new("rows", |_| json!([1, 2])).signature("() -> [:int]").expect("a signature")
}

fn one_turn(retries: u32) -> Builder {
    Agent::builder("How many?").signature("() -> {n :int}").tool(rows()).max_turns(1).retry_turns(retries)
}

fn answered(agent: Builder, replies: Vec<Reply>) -> (Step, Script) {
    let mut script = Script::new(replies);
    let step = run(agent.build().expect("it builds"), json!({}), &mut script);
    for request in &script.requests {
        assert!(
            request
                .messages
                .iter()
                .all(|message| !message.content.is_empty() || !message.tool_calls.is_empty())
        );
    }
    (step, script)
}

#[test]
fn retry_turns_the_value_of_the_last_form_is_the_answer_as_the_card_says() {
    for (transport, program) in TRANSPORTS {
        let agent = one_turn(2).transport(transport);
        let (step, script) = answered(agent, vec![program("{:n (count (tool/rows))}")]);
        assert_eq!((&step.value, step.usage.turns), (&json!({"n": 2}), 1), "{:?}", step.fail);
        assert!(script.requests[0].system.contains("value of the last form is the answer"));
    }
}

#[test]
fn retry_turns_correct_what_one_turn_got_wrong() {
    let wrong = ["{:n \"two\"}", "(+ 1 nil)", "{:x-y 1 \"x_y\" 2}", "(def"];
    for (transport, program) in TRANSPORTS {
        for first in wrong {
            let replies = vec![program(first), program("{:n (count (tool/rows))}")];
            let (step, script) = answered(one_turn(2).transport(transport), replies);
            assert_eq!(step.value, json!({"n": 2}), "{first}: {:?}", step.fail);
            let told = script.told(2);
            assert!(
                told.contains("Turn 2: retry 1/2, 2 left.") && told.contains("last form"),
                "{first}: {told}"
            );
            assert!(!told.contains("(return"), "{first}: {told}");
        }
        let (step, script) = answered(one_turn(1).transport(transport), vec![program("{:n nil}")]);
        assert_eq!((reason(&step), script.requests.len()), ("validation_error", 2));
        assert!(script.told(2).contains("last retry"), "{}", script.told(2));
    }
}

#[test]
fn retry_turns_agents_that_must_return_are_told_so() {
    let agent = Agent::builder("x").max_turns(1).completion(Completion::Explicit);
    let (step, script) = answered(agent, vec![code("(return 5)")]);
    let system = &script.requests[0].system;
    assert_eq!(step.value, json!(5));
    assert!(system.contains("Only these do, at once") && !system.contains("single try"), "{system}");
}

#[test]
fn compile_takes_a_program_with_tools_as_the_card_has_it() {
    let agent = one_turn(0).build().expect("it builds");
    let mut script = Script::new([code("{:n (count (tool/rows))}")]);
    let step = run(agent.to_compile().expect("one turn"), json!({}), &mut script);
    let compiled = Compiled::from_step(Arc::new(agent), step, None).expect("a program");
    assert_eq!(compiled.source(), "{:n (count (tool/rows))}");
}

#[test]
fn compile_makes_up_inputs_that_fit_whatever_the_signature_says() {
    for ty in [
        ":enum[open closed]",
        ":datetime",
        ":int[1..10]",
        ":string[1..3]",
        ":float[>0 <1]",
        ":int|:bool",
        ":nil",
        ":keyword",
        ":map[:int]",
        ":map[:string [:enum[a b]]]",
        "[:enum[a b]]",
        "{at :datetime, level :int[<=5]}",
    ] {
        let agent = Agent::builder("Look").signature(&format!("(s {ty}) -> :any")).max_turns(1).build();
        let agent = agent.unwrap_or_else(|error| panic!("{ty}: {error}"));
        let context = agent.sample_context(&Json::Null);
        let step = run(agent.to_compile().expect("one turn"), context, &mut Script::new([code("data/s")]));
        assert!(Compiled::from_step(Arc::new(agent), step, None).is_ok(), "{ty}");
    }
}

#[test]
fn one_turn_agents_with_tools_read_names_that_need_no_explanation() {
    let all: Json = (0..600).map(|id| json!({"id": id})).collect();
    for (transport, program) in TRANSPORTS {
        let agent = Agent::builder("Look at {{all}}").tool(rows()).max_turns(1).transport(transport);
        let mut script = Script::new([program("1")]);
        run(agent.build().expect("it builds"), json!({"all": all}), &mut script);
        let told = &script.requests[0].messages[0].content;
        assert!(told.contains("Look at `data/all`") && !told.contains("~{"), "{told}");
    }
}
