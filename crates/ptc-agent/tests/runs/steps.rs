//! Steps, journals, plans and long conversations (sections 10, 11, 12, 14).

use ptc_agent::model::{ModelError, ModelErrorKind};
use ptc_agent::{Agent, Compaction, Retry, RunOptions, Tool};
use serde_json::json;

use crate::support::{Script, code, reason, run, run_with, scripted};

#[test]
fn r12_1_r12_3_tasks_are_done_once_over_turns_and_over_runs() {
    let agent = || Agent::builder("x").tool(Tool::new("work", |_| json!(7))).journaling().build().unwrap();
    let mut script = Script::new([
        code("(task \"a\" (tool/work {})) (/ 1 0)"),
        code("(return (task \"a\" (tool/work {})))"),
    ]);
    let step = run(agent(), json!({}), &mut script);
    assert_eq!((step.value.clone(), script.calls.len()), (json!(7), 1), "{step:#?}");
    assert_eq!(step.journal, *json!({"a": 7}).as_object().unwrap());
    assert!(
        script.requests[1].system.contains("<mission_log>") && script.requests[1].system.contains("a: 7")
    );
    let mut again = Script::new([code("(return (task \"a\" (tool/work {})))")]);
    let options = RunOptions { journal: step.journal, ..RunOptions::new(scripted()) };
    assert_eq!(run_with(agent(), options, &mut again).value, json!(7));
    assert!(again.calls.is_empty());
}

#[test]
fn r12_2_r12_6_r12_8_steps_that_are_done_show_in_the_progress_and_the_step() {
    let agent = Agent::builder("x").plan([("look", "Look around"), ("sum", "Sum up")]).build().unwrap();
    let mut script = Script::new([
        code("(step-done \"look\" \"nothing there\")"),
        code("(step-done \"sum\" \"lost\") (/ 1 0)"),
        code("(return 1)"),
    ]);
    let step = run(agent, json!({}), &mut script);
    assert!(script.told(1).contains("- [ ] **look.** Look around"), "{}", script.told(1));
    assert!(script.told(2).contains("- [x] **look.** Look around — nothing there"), "{}", script.told(2));
    assert!(!script.told(3).contains("## Progress"), "only after turns that went well");
    assert_eq!(step.summaries.into_iter().collect::<Vec<_>>(), [("look".into(), "nothing there".into())]);
}

#[test]
fn r11_2_r11_5_long_conversations_are_shortened_in_requests_only() {
    let compaction =
        Compaction::from_json(&json!({"trigger": {"turns": 3}, "keep_recent_turns": 1})).unwrap();
    let agent = Agent::builder("x").max_turns(8).compaction(compaction.unwrap()).build().unwrap();
    let replies = (1..6).map(|n| code(&n.to_string())).chain([code("(return 1)")]);
    let mut script = Script::new(replies);
    let options = RunOptions::new(scripted()).collect_messages();
    let step = run_with(agent, options, &mut script);
    let sent: Vec<usize> = script.requests.iter().map(|request| request.messages.len()).collect();
    assert_eq!(sent[..3], [1, 3, 5]);
    assert!(sent[3..].iter().all(|count| *count <= 3), "{sent:?}");
    assert!(script.requests[5].messages[0].content.contains("<mission>"), "the first message stays");
    assert_eq!(step.messages.unwrap().len(), 1 + 12, "the history stays whole");
    let stats = step.usage.compaction.unwrap();
    assert!(stats.enabled && stats.triggered && stats.messages_after < stats.messages_before);
    assert!(!script.event("compaction.triggered").is_empty());
}

#[test]
fn r10_5_r10_7_q5_models_are_asked_again_by_the_agents_rule_without_costing_turns() {
    let fails = |kind| Err(ModelError::new(kind, "no"));
    let agent = |retry| Agent::builder("x").llm_retry(retry).build().unwrap();
    let thrice = || Retry { max_attempts: 3, ..Retry::default() };
    let down = || [fails(ModelErrorKind::RateLimit), fails(ModelErrorKind::Timeout), Ok(code("(return 1)"))];
    let mut script = Script::of(down());
    let step = run(agent(thrice()), json!({}), &mut script);
    assert_eq!((step.usage.turns, script.waits), (1, vec![1_000, 2_000]));
    let mut script = Script::of([fails(ModelErrorKind::ClientError), Ok(code("(return 1)"))]);
    assert_eq!(
        reason(&run(agent(thrice()), json!({}), &mut script)),
        "llm_error",
        "not worth another attempt"
    );
    let once = Retry { max_attempts: 1, ..Retry::default() };
    let options = RunOptions { llm_retry: Some(once), ..RunOptions::new(scripted()) };
    let step = run_with(agent(thrice()), options, &mut Script::of(down()));
    assert_eq!(reason(&step), "llm_error", "what the run says counts more");
}

#[test]
fn r14_1_r14_3_a_step_says_what_it_was_and_what_it_used() {
    let agent = Agent::builder("Hi {{who}}").name("greeter").describe_field("n", "Count");
    let agent = agent.tool(Tool::new("t", |_| json!(1)).description("One")).build().unwrap();
    let mut script = Script::new([
        code("(def a (tool/t {})) (println a)").tokens(10, 5),
        code("(return 2)").tokens(20, 5),
    ]);
    let step = run(agent, json!({"who": "Ann"}), &mut script);
    assert_eq!(
        (step.prompt.as_deref(), step.original_prompt.as_deref()),
        (Some("Hi Ann"), Some("Hi {{who}}"))
    );
    assert_eq!(
        (step.name.as_deref(), step.tools["t"].description.as_deref()),
        (Some("greeter"), Some("One"))
    );
    assert_eq!(step.field_descriptions["n"], "Count");
    let usage = &step.usage;
    assert_eq!((usage.turns, usage.llm_requests, usage.tool_calls), (2, 2, 1));
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.total_tokens), (30, 10, 40));
    assert!(usage.system_prompt_tokens > 0 && usage.memory_bytes > 0 && usage.fuel > 0);
    assert_eq!((step.trace()[0].prints.as_slice(), step.prints.len()), (&["1".to_owned()][..], 0), "r14.7b");
    let read: ptc_agent::Step = serde_json::from_value(serde_json::to_value(&step).unwrap()).unwrap();
    assert_eq!(read, step, "a step is JSON and back");
}

#[test]
fn q1_a_single_shot_has_tools_time_retries_validation_and_events() {
    let agent = Agent::builder("x").signature("[:string]").max_turns(1).builtin_tools("grep");
    let agent = agent.llm_retry(Retry { max_attempts: 2, ..Retry::default() }).build().unwrap();
    let fail = Err(ModelError::new(ModelErrorKind::ServerError, "down"));
    let grep = code("(tool/grep {:pattern \"b\" :text \"abc\\nxyz\"})");
    let mut script = Script::of([fail, Ok(grep)]);
    let step = run(agent, json!({}), &mut script);
    assert_eq!(step.value, json!(["abc"]), "{step:#?}");
    for event in ["run.start", "turn.start", "llm.stop", "turn.stop", "run.stop"] {
        assert_eq!(script.event(event).len(), 1, "{event}");
    }
}

#[test]
fn q10_format_options_do_something() {
    let shown = |options| {
        let agent = Agent::builder("x").set("format_options", &options).build().unwrap();
        let mut script = Script::new([code("(vec (range 200))"), code("(return 1)")]);
        run(agent, json!({}), &mut script);
        script.told(2).to_owned()
    };
    let standard = shown(json!({}));
    assert!(standard.contains(" 198 199]"), "{standard}");
    let short = shown(json!({"result_max_bytes": 60}));
    assert!(short.len() < standard.len() && short.contains("up to 60 bytes"), "{short}");
}

#[test]
fn q13_nothing_is_called_nil() {
    let agent = Agent::builder("x").signature("{n :int}").max_turns(2).build().unwrap();
    let mut script = Script::new([code("(return {:n nil})"), code("(return {:n 1})")]);
    run(agent, json!({}), &mut script);
    assert!(script.told(2).contains("nil") && !script.told(2).contains("keyword"), "{}", script.told(2));
}
