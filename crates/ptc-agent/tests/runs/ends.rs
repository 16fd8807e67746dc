//! Ends in the middle of things, and what crosses the borders between agents.

use std::sync::Arc;

use ptc_agent::model::{Llm, Reply, Request};
use ptc_agent::{Agent, AgentRun, Need, RunOptions, Supply, Tool};
use serde_json::json;

use crate::support::{Script, call, code, eval, reason, run, scripted};

fn rows() -> Tool {
    Tool::new("rows", |_| json!([{"name": "Ann", "_ssn": "123-45-6789"}]))
}

/// Every text that any model was sent.
fn sent(script: &Script) -> String {
    serde_json::to_string(&script.requests).expect("requests are JSON")
}

#[test]
fn d1_what_is_hidden_from_one_model_is_hidden_from_all() {
    let child = Agent::builder("Look at {{text}}").signature("(text :string) -> :any").build().unwrap();
    let agent = || {
        Agent::builder("x")
            .tool(rows())
            .tool(Tool::agent("child", Arc::new(child.clone())).description("d"))
            .llm_query()
            .build()
            .unwrap()
    };
    let programs = [
        "(tool/child {:text (:_ssn (first (tool/rows)))})",
        "(tool/llm-query {:prompt \"Classify {{t}}\" :t (:_ssn (first (tool/rows)))})",
        "(step-done \"1\" (:_ssn (first (tool/rows))))",
        "(println (:_ssn (first (tool/rows))))",
        "(throw (ex-info (:_ssn (first (tool/rows))) {}))",
        "(fail {:reason (:_ssn (first (tool/rows))) :message (:_ssn (first (tool/rows)))})",
    ];
    for program in programs {
        let mut script = Script::new([code(program), code("(return 1)")]);
        run(agent(), json!({}), &mut script);
        assert!(!sent(&script).contains("123-45-6789"), "{program}\n{}", sent(&script));
        let events = serde_json::to_string(&script.events).unwrap();
        assert!(!events.contains("123-45-6789"), "{program}\n{events}");
    }
}

#[test]
fn d1_what_a_child_learned_to_hide_its_caller_hides_too() {
    let child = Agent::builder("x").signature("() -> :any").tool(rows()).max_turns(1).build().unwrap();
    let agent =
        Agent::builder("x").tool(Tool::agent("child", Arc::new(child)).description("d")).build().unwrap();
    for reply in
        ["(fail {:message (:_ssn (first (tool/rows)))})", "(return {:id (:_ssn (first (tool/rows)))})"]
    {
        let mut script = Script::new([code("(tool/child {})"), code(reply), code("(return 1)")]);
        run(agent.clone(), json!({}), &mut script);
        assert!(!sent(&script).contains("123-45-6789"), "{reply}");
    }
}

#[test]
fn r4_5_a_run_that_ends_in_the_middle_of_a_turn_pairs_its_calls() {
    let slow = || Tool::new("slow", |_| json!(1));
    let agents = [
        (Agent::builder("x").tool(slow()).transport(ptc_agent::Transport::ToolCall), eval("(tool/slow {})")),
        (
            Agent::builder("x").tool(slow()).output(ptc_agent::model::Output::Text),
            Reply::calls(vec![call("a", "slow", json!({})), call("b", "slow", json!({}))]),
        ),
    ];
    for (builder, reply) in agents {
        let agent = Arc::new(builder.build().unwrap());
        let options = RunOptions::new(scripted()).collect_messages();
        let mut run = AgentRun::new(agent, options, 0);
        let Need::Asks(asks) = run.next(0) else { panic!("it asks the model") };
        run.supply(asks[0].id, Supply::Model(Ok(reply)));
        assert!(matches!(run.next(1), Need::Asks(_)), "it asks for the tool");
        run.cancel(2);
        let Need::Done(step) = run.next(2) else { panic!("it is over") };
        assert_eq!(reason(&step), "cancelled");
        let messages = step.messages.as_ref().unwrap();
        let calls: Vec<&str> =
            messages.iter().flat_map(|message| &message.tool_calls).map(|call| call.id.as_str()).collect();
        let answers: Vec<&str> =
            messages.iter().filter_map(|message| message.tool_call_id.as_deref()).collect();
        assert_eq!(calls, answers);
        assert_eq!(step.trace().len(), 1, "q16: the turn has a record");
        assert!(!step.trace()[0].tool_calls.is_empty());
    }
}

#[test]
fn a_program_that_waits_for_agents_stops_its_clock() {
    let child = Agent::builder("y").signature("() -> :int").build().unwrap();
    let agent = Agent::builder("x")
        .tool(Tool::agent("child", Arc::new(child)).description("d"))
        .timeout_ms(50)
        .build()
        .unwrap();
    let mut script =
        Script { model_ms: 400, ..Script::new([code("(return (inc (tool/child {})))"), code("(return 1)")]) };
    let step = run(agent, json!({}), &mut script);
    assert_eq!(step.value, json!(2), "{step:#?}");
}

#[test]
fn a_budget_of_fuel_is_shared_with_the_agents_that_a_program_waits_for() {
    let child = || Agent::builder("y").signature("() -> :int").build().unwrap();
    let agent = |fuel: u64| {
        Agent::builder("x")
            .tool(Tool::agent("child", Arc::new(child())).description("d"))
            .set("fuel_budget", &json!(fuel))
            .build()
            .unwrap()
    };
    let script =
        || Script::new([code("(return (inc (tool/child {})))"), code("(return (count (range 1000)))")]);
    let step = run(agent(100_000), json!({}), &mut script());
    assert_eq!(step.value, json!(1001), "{step:#?}");
    assert!(step.usage.fuel <= 100_000);
    let step = run(agent(600), json!({}), &mut Script::new([code("(reduce + (map inc (range 100000)))")]));
    assert_eq!((reason(&step), step.usage.turns), ("fuel_budget_exhausted", 1));
    assert!(step.usage.fuel <= 600, "{}", step.usage.fuel);
}

#[test]
fn a_loaded_run_whose_model_is_gone_says_so() {
    let agent = Arc::new(Agent::builder("x").build().unwrap());
    let mut run = AgentRun::new(agent.clone(), RunOptions::new(scripted()), 0);
    assert!(matches!(run.next(0), Need::Asks(_)));
    let bytes = run.save().unwrap();
    let mut loaded = AgentRun::load(agent, RunOptions::default(), &bytes, 1_000).unwrap();
    let Need::Done(step) = loaded.next(1_000) else { panic!("it is over") };
    assert_eq!(reason(&step), "llm_required");
}

#[test]
fn the_time_between_saving_and_loading_does_not_count() {
    let tool = Tool::new("slow", |_| json!(1));
    let agent =
        Arc::new(Agent::builder("x").tool(tool).timeout_ms(100).mission_timeout_ms(1_000).build().unwrap());
    let llm = || RunOptions::new(Llm::function(|_: &Request| Err::<Reply, _>("the script answers")));
    let mut run = AgentRun::new(agent.clone(), llm(), 0);
    let Need::Asks(asks) = run.next(0) else { panic!("it asks the model") };
    run.supply(asks[0].id, Supply::Model(Ok(code("(return (tool/slow {}))"))));
    let Need::Asks(asks) = run.next(10) else { panic!("it asks for the tool") };
    let bytes = run.save().unwrap();
    let day = 86_400_000;
    let mut run = AgentRun::load(agent, llm(), &bytes, day).unwrap();
    assert!(matches!(run.next(day + 10), Need::Wait { .. }));
    run.supply(asks[0].id, Supply::Tool(Ok(json!(7))));
    let Need::Done(step) = run.next(day + 20) else { panic!("it is over") };
    assert_eq!(step.value, json!(7));
}
