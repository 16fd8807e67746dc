//! What a model thought is neither run nor answered.

use ptc_agent::model::{Output, Reply};
use ptc_agent::{Agent, Profile, Tool};
use serde_json::json;

use crate::support::{Script, reason, run};

const WRONG: &str = "```clojure\n(return 9)\n```";
const RIGHT: &str = "```clojure\n(return 1)\n```";

#[test]
fn thoughts_are_not_run() {
    for reply in [
        format!("I think\n{WRONG}\nno, better.</think>\n{RIGHT}"),
        format!("Sure. <think>\n{WRONG}\nmm</think>\n{RIGHT}"),
        format!("<Think>\n{WRONG}\n</Think>\n{RIGHT}"),
        format!("[THINK]\n{WRONG}\n[/THINK]\n{RIGHT}"),
        format!("<analysis>\n{WRONG}\n</analysis>\n{RIGHT}"),
        format!("<scratchpad>\n{WRONG}\n</scratchpad>\n{RIGHT}"),
    ] {
        for profile in [Profile::Current, Profile::Draft] {
            let agent = Agent::builder("x").profile(profile).build().unwrap();
            let step = run(agent, json!({}), &mut Script::new([reply.as_str()]));
            assert_eq!((&step.value, step.usage.turns), (&json!(1), 1), "{reply}: {:?}", step.fail);
        }
    }
}

#[test]
fn thoughts_without_a_program_behind_them_are_no_program() {
    let agent = Agent::builder("x").max_turns(1).build().unwrap();
    let step =
        run(agent, json!({}), &mut Script::new([format!("I think\n{WRONG}\nhm.</think>\nDone.").as_str()]));
    assert_eq!(reason(&step), "no_code_found");
}

#[test]
fn thinking_code_in_the_thinking_part_is_not_run() {
    let reply = format!("thinking:\nmaybe\n{WRONG}\n\n{RIGHT}");
    for profile in [Profile::Current, Profile::Draft] {
        let agent = Agent::builder("x").profile(profile).thinking(true).build().unwrap();
        let step = run(agent, json!({}), &mut Script::new([reply.as_str()]));
        assert_eq!((&step.value, step.usage.turns), (&json!(1), 1), "{:?}", step.fail);
    }
}

#[test]
fn thoughts_are_no_answers() {
    let agent = |signature: &str| Agent::builder("x").output(Output::Text).signature(signature);
    for (builder, reply, answer) in [
        (agent("() -> {a :int}"), "Maybe {\"a\": 1}? no.</think>\n{\"a\": 2}", json!({"a": 2})),
        (agent("() -> :int"), "41?</think>\n42", json!(42)),
        (agent("() -> :string"), "<think>hm</think>\n\nYes.", json!("Yes.")),
        (Agent::builder("x").output(Output::Text), "<think>hm</think>\n\nYes.", json!("Yes.")),
        (
            Agent::builder("x").output(Output::Text).tool(Tool::new("t", |_| json!(1))),
            "hm</think>\nYes.",
            json!("Yes."),
        ),
        (Agent::builder("x").combined(), "<think>hm</think>Yes.", json!("Yes.")),
        (
            Agent::builder("x").transport(ptc_agent::Transport::ToolCall),
            "<think>hm</think>Yes.",
            json!("Yes."),
        ),
    ] {
        let step = run(builder.build().unwrap(), json!({}), &mut Script::new([Reply::text(reply)]));
        assert_eq!(step.value, answer, "{reply}: {:?}", step.fail);
    }
}
