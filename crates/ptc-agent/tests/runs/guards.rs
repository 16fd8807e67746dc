//! Limits at their very edge, warnings that are told, and words of people that show nothing hidden.

#![allow(clippy::unwrap_used)]

use ptc_agent::model::{Output, Reply, Tokens};
use ptc_agent::{Agent, Approval, Builder, Decision, Price, RunOptions, Tool, Transport};
use serde_json::{Value as Json, json};

use crate::support::{Script, code, eval, reason, run, run_with, scripted};

/// Runs an agent whose only reply takes 5,000 tokens to ask for and 20 to give.
fn ended(option: &str, most: &Json) -> String {
    let agent = Agent::builder("Work").set(option, most).build().unwrap();
    let tokens = Some(Tokens { input: 5_000, output: 20, ..Tokens::default() });
    let mut script = Script::new([Reply { tokens, ..code("(return 1)") }]);
    let options =
        RunOptions { price: Some(Price { input: 3.0, output: 15.0 }), ..RunOptions::new(scripted()) };
    let step = run_with(agent, options, &mut script);
    assert_eq!(script.requests.len(), 1, "{option} {most}: it is asked once");
    reason(&step).to_owned()
}

#[test]
fn a_run_may_use_exactly_what_it_has() {
    for (option, most, expected) in [
        ("token_limit", json!(5_021), "ok"),
        ("token_limit", json!(5_020), "ok"),
        ("token_limit", json!(5_019), "budget_callback_exceeded"),
        // 5,000 × $3 and 20 × $15 per million.
        ("max_cost_usd", json!(0.0154), "ok"),
        ("max_cost_usd", json!(0.0153), "ok"),
        ("max_cost_usd", json!(0.015_299), "cost_exceeded"),
    ] {
        assert_eq!(ended(option, &most), expected, "{option} {most}");
    }
}

#[test]
fn exactly_as_many_tool_calls_as_there_may_be() {
    let ended = |most: u64| {
        let ping = Tool::new("ping", |_| json!(1));
        let agent = Agent::builder("Work").tool(ping).set("tool_call_budget", &json!(most)).max_turns(1);
        let program = code("(return (+ (tool/ping {:n 1}) (tool/ping {:n 2}) (tool/ping {:n 3})))");
        let mut script = Script::new([program]);
        let step = run(agent.build().unwrap(), json!({}), &mut script);
        (step.is_ok(), script.calls.len())
    };
    assert_eq!(ended(4), (true, 3));
    assert_eq!(ended(3), (true, 3));
    assert_eq!(ended(2), (false, 2));
}

/// The modes in which an answer is checked, with a reply whose answer breaks the signature.
fn wrong_answers() -> [(&'static str, Builder, Reply); 3] {
    let agent =
        || Agent::builder("Count").signature("{n :int}").set("signature_validation", &json!("warn_only"));
    [
        ("content", agent(), code("(return {:n \"many\"})")),
        ("tool call", agent().transport(Transport::ToolCall), eval("(return {:n \"many\"})")),
        ("text", agent().output(Output::Text), Reply::text("{\"n\": \"many\"}")),
    ]
}

#[test]
fn what_only_warns_is_told_with_the_answer() {
    for (mode, builder, reply) in wrong_answers() {
        let step = run(builder.build().unwrap(), json!({}), &mut Script::new([reply]));
        assert!(step.is_ok(), "{mode}: {step:#?}");
        assert_eq!(step.value, json!({"n": "many"}), "{mode}");
        assert_eq!(step.warnings.len(), 1, "{mode}: {:?}", step.warnings);
        assert!(
            step.warnings[0].contains('n') && step.warnings[0].contains("int"),
            "{mode}: {:?}",
            step.warnings
        );
    }
}

#[test]
fn what_is_not_checked_does_not_warn_and_what_is_right_does_not_either() {
    let agent = || Agent::builder("Count").signature("{n :int}");
    let disabled = agent().set("signature_validation", &json!("disabled")).build().unwrap();
    let step = run(disabled, json!({}), &mut Script::new([code("(return {:n \"many\"})")]));
    assert_eq!((step.is_ok(), step.warnings.len()), (true, 0), "{step:#?}");
    let warns = agent().set("signature_validation", &json!("warn_only")).build().unwrap();
    let step = run(warns, json!({}), &mut Script::new([code("(return {:n 3})")]));
    assert_eq!((step.is_ok(), step.warnings.len()), (true, 0), "{step:#?}");
}

/// People see whole calls, so what they write may quote what models and traces must not see.
#[test]
fn the_words_of_a_person_show_nothing_hidden_in_events_and_to_the_model() {
    const HIDDEN: &str = "078-05-1120";
    let fetch = Tool::new("fetch", |_| json!({"_ssn": HIDDEN, "name": "Ann"}));
    let pay = Tool::new("pay", |_| json!(1)).approval(Approval::Ask);
    let agent = Agent::builder("Pay").tools([fetch, pay]).max_turns(3).build().unwrap();
    let program = "(def who (tool/fetch {})) (tool/pay {:to (:_ssn who)})";
    let decisions = [Decision::Reject(format!("not for {HIDDEN}"))];
    let mut script =
        Script { decisions: decisions.into(), ..Script::new([code(program), code("(return 1)")]) };
    let step = run(agent, json!({}), &mut script);
    assert!(step.is_ok(), "{step:#?}");
    let decided = script.event("approval.decided");
    let why = decided[0].metadata["reason"].as_str().unwrap();
    assert!(why.starts_with("not for ") && !why.contains(HIDDEN), "{why}");
    for event in &script.events {
        let text = serde_json::to_string(event).unwrap();
        assert!(!text.contains(HIDDEN), "{}: {text}", event.event);
    }
    for request in &script.requests {
        let text = serde_json::to_string(&**request).unwrap();
        assert!(!text.contains(HIDDEN), "{text}");
    }
}
