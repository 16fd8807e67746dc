//! Whatever a model replies, in every mode: each call is answered once, the run ends within its turns, every call
//! that began is told to have ended, and a run that is saved at every stop comes to the same end.

use std::sync::Arc;

use proptest::prelude::*;
use ptc_agent::model::{Message, Output, Reply, Role, ToolCall};
use ptc_agent::{
    Agent, AgentRun, Approval, AskKind, Builder, Decision, Event, Expose, LlmTool, Need, RunOptions, Step,
    Supply, Tool, Transport, call_function,
};
use serde_json::{Value as Json, json};

use crate::support::{call, scripted};

/// Every call of the assistant is answered once, right after it.
pub fn assert_paired(messages: &[Message]) {
    for (at, message) in messages.iter().enumerate() {
        let ids: Vec<&str> = message.tool_calls.iter().map(|call| call.id.as_str()).collect();
        let answers = messages[at + 1..].iter().take_while(|message| message.role == Role::Tool);
        let answers: Vec<&str> = answers.filter_map(|message| message.tool_call_id.as_deref()).collect();
        assert!(ids.is_empty() || ids == answers, "{ids:?} answered by {answers:?}");
    }
}

fn tools() -> Vec<Tool> {
    let rows = |args: Json| match args["n"].as_u64() {
        Some(n) if n < 9 => Ok(json!(vec![json!({"id": n}); n as usize])),
        _ => Err("no"),
    };
    let child = Agent::builder("Sub").signature("(n :int) -> :int").description("Sub").max_turns(2).build();
    let ask = LlmTool::new("Is {{n}} odd?", "(n :int) -> {odd :bool}").expect("it builds");
    vec![
        Tool::new("rows", rows).expose(Expose::Both).cached().max_cached_bytes(60),
        Tool::new("plain", |args| args).expose(Expose::Both).approval(Approval::Ask),
        Tool::agent("sub", Arc::new(child.expect("it builds"))).expose(Expose::Both),
        Tool::llm("ask", ask).expose(Expose::Both),
    ]
}

fn agents() -> [Builder; 4] {
    let agent = || Agent::builder("Work").tools(tools()).max_turns(4);
    [
        agent(),
        agent().transport(Transport::ToolCall),
        agent().output(Output::Text).signature("{n :int}").max_tool_calls(3),
        agent().combined().signature(":int").max_tool_calls(3),
    ]
}

fn program() -> impl Strategy<Value = String> {
    let programs = [
        "(def x 1)",
        "(return 5)",
        "(return {:n 5})",
        "(fail {:reason :no :message \"m\"})",
        "(/ 1 0)",
        "(def",
        "*1",
        "(tool/rows {:n 3})",
        "(tool/rows {:n 30})",
        "(tool/sub {:n 1})",
        "(tool/ask {:n 3})",
        "(tool/gone {})",
        "(return (pmap (fn [n] (tool/sub {:n n})) [1 2]))",
        "(do (tool/plain {:a 1}) (tool/ask {:n \"x\"}))",
    ];
    prop::sample::select(programs.to_vec()).prop_map(str::to_owned)
}

fn tool_call() -> impl Strategy<Value = ToolCall> {
    let id = prop::sample::select(vec!["", "a", "b"]);
    let lisp =
        (id.clone(), program()).prop_map(|(id, program)| call(id, "lisp_eval", json!({"program": program})));
    let name = prop::sample::select(vec!["rows", "plain", "sub", "ask", "gone", "lisp_eval"]);
    let args =
        prop::sample::select(vec![json!({"n": 2}), json!({"n": 99}), json!({}), json!([1]), Json::Null]);
    let error = prop::option::weighted(0.2, Just("EOF".to_owned()));
    let native = (id, name, args, error)
        .prop_map(|(id, name, args, args_error)| ToolCall { args_error, ..call(id, name, args) });
    prop_oneof![lisp, native]
}

fn reply() -> impl Strategy<Value = Reply> {
    let texts = ["", "5", "{\"n\": 5}", "{\"odd\": true}", "hm", "```clojure\n(return 5)\n```"];
    let text = prop::sample::select(texts.to_vec()).prop_map(Reply::from);
    let fenced = program().prop_map(|program| Reply::text(format!("```clojure\n{program}\n```")));
    let calls = prop::collection::vec(tool_call(), 1..4).prop_map(Reply::calls);
    prop_oneof![text, fenced, calls]
}

/// What came of a run, and what was seen on the way.
struct Seen {
    step: Step,
    events: Vec<Event>,
    tool_calls: usize,
}

/// Drives a run on replies, the last of which is repeated; saved and read again at every stop if wanted.
fn drive(agent: &Arc<Agent>, replies: &[Reply], saving: bool) -> Seen {
    let options = RunOptions { collect_messages: true, ..RunOptions::new(scripted()) };
    let mut run = AgentRun::new(agent.clone(), options.clone(), 0);
    let (mut events, mut asked, mut tool_calls) = (Vec::new(), 0, 0);
    loop {
        let need = run.next(0);
        events.extend(run.take_events());
        if saving && !matches!(need, Need::Done(_)) {
            let bytes = run.save().expect("a run can be saved");
            run = AgentRun::load(agent.clone(), options.clone(), &bytes, 0).expect("and read");
        }
        match need {
            Need::Done(step) => return Seen { step: *step, events, tool_calls },
            Need::Busy => {}
            Need::Wait { .. } => panic!("nothing is outstanding"),
            Need::Asks(asks) => {
                for ask in asks {
                    let supply = match ask.kind {
                        AskKind::Model { request, .. } => {
                            assert_paired(&request.messages);
                            asked += 1;
                            Supply::Model(Ok(replies[(asked - 1).min(replies.len() - 1)].clone()))
                        }
                        AskKind::Tool { tool, args, .. } => {
                            tool_calls += 1;
                            Supply::Tool(call_function(&tool, args))
                        }
                        AskKind::Approval { args, .. } => Supply::Approval(match tool_calls % 3 {
                            0 => Decision::Approve,
                            1 => Decision::Edit(args),
                            _ => Decision::Reject("no".to_owned()),
                        }),
                    };
                    run.supply(ask.id, supply);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_model_replies_calls_are_paired_and_runs_end(replies in prop::collection::vec(reply(), 1..8)) {
        for agent in agents() {
            let agent = Arc::new(agent.build().unwrap());
            let seen = drive(&agent, &replies, false);
            assert_paired(seen.step.messages.as_deref().unwrap());
            prop_assert!(seen.step.usage.turns <= 4);
            let count = |name: &str| seen.events.iter().filter(|event| event.event == name).count();
            prop_assert_eq!(count("tool.start"), count("tool.stop") + count("tool.exception"));
            let saved = drive(&agent, &replies, true);
            prop_assert_eq!(&saved.step, &seen.step);
            prop_assert_eq!(saved.tool_calls, seen.tool_calls, "nothing is asked twice");
        }
    }
}

#[test]
fn an_answer_after_a_program_is_no_change_of_memory_saved_or_not() {
    let call = ToolCall {
        id: String::new(),
        name: "lisp_eval".to_owned(),
        args: json!({"program": "(def x 1)"}),
        args_error: None,
    };
    let program = Reply::calls(vec![call]);
    let answer = Reply::text("5");
    let replies = [program, answer];
    for agent in agents() {
        let agent = Arc::new(agent.build().unwrap());
        let seen = drive(&agent, &replies, false);
        assert_eq!(drive(&agent, &replies, true).step, seen.step);
        if let Some([first, last]) = seen.step.turns.as_deref() {
            assert!(last.program.is_some() || last.memory.is_empty(), "{first:?} {last:?}");
        }
    }
}
