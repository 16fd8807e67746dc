//! From run to run and from agent to agent: chaining, compiling, previews, nesting (section 2).

use std::sync::Arc;

use ptc_agent::{Agent, AgentRun, Compiled, Fail, Profile, Reason, RunOptions, Step, Tool, TraceMode, drive};
use serde_json::json;

use crate::support::{Script, code, reason, run, run_with, scripted};

fn step(value: serde_json::Value) -> Step {
    Step { value, ..Step::default() }
}

#[test]
fn r2_20_c22_a_failed_step_ends_the_chain_before_a_model_is_asked() {
    let failed = Step::failed(Fail::new(Reason::custom("gone"), "away"));
    let mut script = Script::new([code("(return 1)")]);
    let agent = Agent::builder("x").build().unwrap();
    let step = run_with(agent, RunOptions::new(scripted()).context(failed), &mut script);
    let fail = step.fail.unwrap();
    assert_eq!(fail.reason, "chained_failure");
    assert!(fail.message.contains("gone"));
    assert_eq!(fail.details["upstream"], fail.details["original_failure"]);
    assert_eq!(fail.details["upstream"]["reason"], "gone");
    assert!(script.requests.is_empty());
}

#[test]
fn r2_20_r2_21_a_step_gives_its_map_and_its_descriptions() {
    let agent = || Agent::builder("x").describe_input("a", "Old").build().unwrap();
    let mut given = step(json!({"a": 7}));
    given.field_descriptions.insert("a".into(), "A number of note".into());
    let mut script = Script::new([code("(return data/a)")]);
    let done = run_with(agent(), RunOptions::new(scripted()).context(given), &mut script);
    assert_eq!(done.value, json!(7));
    assert!(script.told(1).contains("A number of note") && !script.told(1).contains("Old"));
    let mut script = Script::new([code("(return data/a)"), code("(return 1)")]);
    run_with(agent(), RunOptions::new(scripted()).context(step(json!([1]))), &mut script);
    assert!(script.told(2).contains("there are no inputs"), "what is no map gives none: {}", script.told(2));
}

#[test]
fn r2_23_r2_24_what_the_next_agent_takes_must_be_there() {
    let next =
        Agent::builder("x").signature("(zeta :int, alpha :int, some-key :int) -> :any").build().unwrap();
    let error = next.accepts(&step(json!({"some_key": 1}))).unwrap_err();
    assert_eq!(error.reason, "chain_error");
    assert!(error.message.contains("alpha, zeta") && error.message.contains("chain mismatch"), "{error:?}");
    assert!(next.accepts(&step(json!({"some_key": 1, "alpha": 1, "zeta": 2}))).is_ok());
    assert!(next.accepts(&Step::failed(Fail::new(Reason::FAILED, "x"))).is_ok(), "failures pass through");
    assert!(Agent::builder("x").build().unwrap().accepts(&step(json!(1))).is_ok());
}

#[test]
fn r2_40_r2_42_a_program_is_written_once_and_runs_without_a_model() {
    let double = Tool::new("double", |args| json!(args["n"].as_i64().unwrap_or(0) * 2));
    let agent = Agent::builder("Double {{n}}").signature("(n :int) -> {n :int}").tool(double).max_turns(1);
    let agent = Arc::new(agent.build().unwrap());
    assert_eq!(agent.to_compile().unwrap().options().retry_turns, 2);
    let mut script = Script::new([code("(return {:n (tool/double {:n data/n})})").tokens(10, 5)]);
    let step = run(agent.to_compile().unwrap(), json!({"n": 42}), &mut script);
    let compiled = Compiled::from_step(agent.clone(), step, None).unwrap();
    assert_eq!((compiled.tokens_used, compiled.turns, compiled.needs_model()), (15, 1, false));
    let mut silent = Script::default();
    let options = compiled.options(RunOptions::default().context(json!({"n": 5})));
    let step = drive(&mut AgentRun::new(agent, options, 0), &mut silent);
    assert_eq!(step.value, json!({"n": 10}));
    assert!(silent.requests.is_empty());
    let many = Agent::builder("x").max_turns(2).build().unwrap();
    assert_eq!(many.to_compile().unwrap_err().option, "max_turns");
}

#[test]
fn r2_10_a_preview_asks_nobody_and_hides_private_tools() {
    let secret = Tool::new("hidden", |_| json!(1)).private();
    let agent = Agent::builder("Add {{a}}").signature("(a :int) -> {n :int}").tool(secret);
    let agent = Arc::new(agent.tool(Tool::this("again")).build().unwrap());
    let preview = agent.preview_prompt(&json!({"a": 1})).unwrap();
    assert!(preview.user.contains("<mission>") && preview.user.contains("tool/again(a int)"), "{preview:?}");
    assert!(!format!("{preview:?}").contains("hidden"));
}

#[test]
fn r2_12_validate_says_what_would_go_wrong() {
    let agent = Agent::builder("Hi {{a}}").signature("(a :int) -> :any").tool(Tool::new("t", |_| json!(1)));
    let agent = agent.build().unwrap();
    let reasons = |context| -> Vec<String> {
        agent.validate(&context).iter().map(|fail| fail.reason.as_str().to_owned()).collect()
    };
    assert_eq!(reasons(json!({"a": 1})), Vec::<String>::new());
    assert_eq!(reasons(json!({"a": 1, "t": 2})), ["context_clash"], "r2.7");
    assert_eq!(reasons(json!({})), ["validation_error"], "what is missing is told once");
}

#[test]
fn r9_8_c21_a_placeholder_without_a_value_fails_in_the_draft_and_stays_today() {
    let build = |profile| Agent::builder("Hi {{who}}").profile(profile).build().unwrap();
    let mut script = Script::new([code("(return 1)")]);
    assert_eq!(reason(&run(build(Profile::Draft), json!({}), &mut script)), "template_error");
    assert!(script.requests.is_empty());
    assert_eq!(run(build(Profile::Current), json!({}), &mut script).value, json!(1));
    assert!(script.told(1).contains("{{who}}"));
}

#[test]
fn r2_55_c13_agents_nest_as_deep_as_the_profile_says() {
    for (profile, levels) in [(Profile::Current, 3), (Profile::Draft, 4)] {
        let agent = Agent::builder("x").signature("(n :int) -> :any").profile(profile);
        let agent = agent.tool(Tool::this("again")).build().unwrap();
        let mut script = Script::new([code("(return (tool/again {:n 1}))")]);
        run(agent, json!({"n": 0}), &mut script);
        let deepest = script.event("run.start").iter().map(|event| event.metadata["depth"].as_u64()).max();
        assert_eq!(deepest, Some(Some(levels - 1)), "{profile:?}");
    }
}

#[test]
fn r2_56_c14_all_agents_of_a_run_share_the_turns() {
    let agent = Agent::builder("x").signature("(n :int) -> :any").tool(Tool::this("again")).turn_budget(4);
    let mut script = Script::new([code("(tool/again {:n 1})")]);
    let step = run(agent.build().unwrap(), json!({"n": 0}), &mut script);
    assert_eq!((reason(&step), script.requests.len()), ("turn_budget_exhausted", 4));
}

#[test]
fn r13_42_r14_5_traces_and_conversations_are_kept_as_told() {
    let agent = || Agent::builder("x").build().unwrap();
    for (trace, program, kept) in [
        (TraceMode::On, "(return 1)", true),
        (TraceMode::Off, "(return 1)", false),
        (TraceMode::OnError, "(return 1)", false),
        (TraceMode::OnError, "(fail 1)", true),
    ] {
        let options = RunOptions { trace, ..RunOptions::new(scripted()).collect_messages() };
        let step = run_with(agent(), options, &mut Script::new([code(program)]));
        assert_eq!(step.turns.is_some(), kept, "{trace:?} {program}");
        assert_eq!(step.messages.unwrap()[0].role, ptc_agent::model::Role::System);
    }
    assert_eq!(run(agent(), json!({}), &mut Script::new([code("(return 1)")])).messages, None);
}

#[test]
fn q12_steps_know_their_trace_and_their_signature() {
    let agent = Agent::builder("x").signature("{n :int}").build().unwrap();
    let step = run(agent, json!({}), &mut Script::new([code("(return {:n 1})")]));
    assert_eq!(step.signature.as_deref(), Some("{n :int}"));
    assert_eq!(step.trace_id.map(|id| id.len()), Some(32));
}

#[test]
fn q16_a_model_that_fails_leaves_a_record_of_its_turn() {
    let agent = Agent::builder("x").build().unwrap();
    let step = run(agent, json!({}), &mut Script::default());
    assert_eq!((reason(&step), step.usage.turns, step.trace().len()), ("llm_error", 1, 1));
}
