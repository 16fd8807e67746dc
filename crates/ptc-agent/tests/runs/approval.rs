//! Calls that wait for a person: asked about before the tool is, in every mode, and decided once.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use ptc_agent::model::{Output, Reply};
use ptc_agent::{
    Agent, AgentRun, Answers, Approval, AskKind, Builder, Decision, Effect, Expose, Need, RunOptions,
    SaveError, Step, Supply, Tool, Transport, Verdict, drive,
};
use serde_json::{Value as Json, json};

use crate::support::{Script, call, code, eval, reason, run, scripted};

/// A tool that answers with what it was given.
fn pay() -> Tool {
    let pay = Tool::new("pay", |args| json!({"paid": args["sum"]})).signature("(sum :int) -> {paid :int}");
    pay.unwrap().description("Pays").approval(Approval::Ask)
}

/// The four modes, each with the replies of a model that pays once and answers.
fn modes() -> [(Builder, Vec<Reply>); 4] {
    let agent = || Agent::builder("Pay").signature("{paid :any}").tool(pay().expose(Expose::Both));
    let program = "(return {:paid (try (:paid (tool/pay {:sum 5})) (catch Exception e (ex-message e)))})";
    let native = || Reply::calls(vec![call("a", "pay", json!({"sum": 5}))]);
    let done = || Reply::text("{\"paid\": 1}");
    [
        (agent(), vec![code(program)]),
        (agent().transport(Transport::ToolCall), vec![eval(program)]),
        (agent().output(Output::Text), vec![native(), done()]),
        (agent().combined(), vec![native(), done()]),
    ]
}

/// All calls of all turns.
fn calls(step: &Step) -> Vec<&ptc_agent::CallRecord> {
    step.turns.iter().flatten().flat_map(|turn| &turn.tool_calls).filter(|call| call.name == "pay").collect()
}

#[test]
fn a_call_is_made_as_it_is_with_other_arguments_or_not_at_all_in_every_mode() {
    let decisions = [
        (Decision::Approve, Verdict::Approved, Some(5)),
        (Decision::Edit(json!({"sum": "3"})), Verdict::Edited, Some(3)),
        (Decision::Reject("too much".to_owned()), Verdict::Rejected, None),
    ];
    for (decision, verdict, paid) in decisions {
        for (at, (builder, replies)) in modes().into_iter().enumerate() {
            let case = format!("mode {at}, {decision:?}");
            let mut script = Script { decisions: [decision.clone()].into(), ..Script::new(replies) };
            let step = run(builder.build().unwrap(), json!({}), &mut script);
            assert!(step.is_ok(), "{case}: {step:#?}");
            assert_eq!(script.asked[0]["tool"], "pay", "{case}");
            assert_eq!(script.asked[0]["args"], json!({"sum": 5}), "{case}: the arguments are whole");
            let made: Vec<Json> = script.calls.iter().map(|(_, args)| args["sum"].clone()).collect();
            assert_eq!(made, paid.map(|sum| json!(sum)).into_iter().collect::<Vec<_>>(), "{case}");
            assert_eq!(calls(&step)[0].approval, Some(verdict), "{case}");
            let told = match at {
                0 | 1 => step.value.to_string(),
                _ => script.told(2).to_owned(),
            };
            match paid {
                Some(sum) => assert!(told.contains(&sum.to_string()), "{case}: {told}"),
                None => {
                    assert!(
                        told.contains("approval_rejected") && told.contains("too much"),
                        "{case}: {told}"
                    );
                }
            }
            let decided = script.event("approval.decided");
            assert_eq!(script.event("approval.asked").len(), 1, "{case}");
            assert_eq!(decided[0].metadata["decision"], verdict.name(), "{case}");
            assert_eq!(step.usage.tool_calls, 1, "{case}");
        }
    }
}

#[test]
fn a_rejection_has_a_reason_of_its_own() {
    let rejected = || Decision::Reject("no".to_owned());
    let agent = Agent::builder("Pay").tool(pay()).build().unwrap();
    let replies = [code("(tool/pay {:sum 5})"), code("(return (:reason data/fail))")];
    let mut script = Script { decisions: [rejected()].into(), ..Script::new(replies) };
    assert_eq!(run(agent, json!({}), &mut script).value, json!("approval_rejected"));
    // Upstreams answer with faults as data, and so does whoever stands before them.
    let upstream = Tool::new("call", |_| json!({"ok": true, "value": 1, "value_kind": "json"}));
    let agent = Agent::builder("Pay").tool(upstream.answers(Answers::Upstream).approval(Approval::Ask));
    let program = code("(let [r (tool/call {:server \"s\" :tool \"t\"})] (return [(:ok r) (:reason r)]))");
    let mut script = Script { decisions: [rejected()].into(), ..Script::new([program]) };
    let step = run(agent.build().unwrap(), json!({}), &mut script);
    assert_eq!(step.value, json!([false, "approval_rejected"]), "{step:#?}");
}

#[test]
fn arguments_that_a_person_breaks_are_those_of_nobody() {
    let agent = Agent::builder("Pay").tool(pay()).build().unwrap();
    let program = code("(return (try (tool/pay {:sum 5}) (catch Exception e (ex-message e))))");
    let edits = [Decision::Edit(json!({"sum": "many"}))];
    let mut script = Script { decisions: edits.into(), ..Script::new([program]) };
    let told = run(agent, json!({}), &mut script).value.to_string();
    assert!(told.contains("Tool validation") && told.contains("A person"), "{told}");
    assert!(script.calls.is_empty());
}

#[test]
fn results_of_edited_calls_are_kept_under_the_arguments_that_were_used() {
    let agent = Agent::builder("Pay").tool(pay().cached()).build().unwrap();
    let program =
        code("(return [(tool/pay {:sum 5}) (tool/pay {:sum 3}) (tool/pay {:sum 5}) (tool/pay {:sum 5})])");
    let decisions = [Decision::Edit(json!({"sum": 3})), Decision::Approve, Decision::Approve];
    let mut script = Script { decisions: decisions.into(), ..Script::new([program]) };
    let step = run(agent, json!({}), &mut script);
    assert_eq!(step.value, json!([{"paid": 3}, {"paid": 3}, {"paid": 5}, {"paid": 5}]), "{step:#?}");
    assert_eq!(script.asked.len(), 2, "what is known needs nobody");
}

#[test]
fn only_the_calls_that_a_tool_says_wait() {
    let tools = [
        ("writes, writes", pay().approval(Approval::Writes).effect(Effect::Write), 2),
        ("writes, unknown", pay().approval(Approval::Writes), 2),
        ("writes, reads", pay().approval(Approval::Writes).effect(Effect::Read), 0),
        ("never", pay().approval(Approval::Never), 0),
        ("large ones", pay().approval(Approval::of(|args| (args["sum"] == 9).then(|| json!("large")))), 1),
        ("a function that breaks", pay().approval(Approval::of(|_| panic!("oh"))), 2),
    ];
    for (case, tool, expected) in tools {
        let agent = Agent::builder("Pay").tool(tool).build().unwrap();
        let replies = [code("(return (map :paid [(tool/pay {:sum 5}) (tool/pay {:sum 9})]))")];
        let mut script = Script { decisions: vec![Decision::Approve; 2].into(), ..Script::new(replies) };
        assert_eq!(run(agent, json!({}), &mut script).value, json!([5, 9]), "{case}");
        assert_eq!(script.asked.len(), expected, "{case}: {:?}", script.asked);
    }
}

#[test]
fn models_are_told_that_calls_wait() {
    for (builder, replies) in modes() {
        let mut script = Script { decisions: vec![Decision::Approve].into(), ..Script::new(replies) };
        run(builder.build().unwrap(), json!({}), &mut script);
        let request = &script.requests[0];
        let shown = format!("{} {:?} {:?}", request.system, request.messages, request.tools);
        assert!(shown.contains("Pays. Each call waits for a person's approval"), "{shown}");
    }
}

/// The asks of a run that begins with this reply, and the run.
fn after_reply(agent: Agent, reply: Reply) -> (AgentRun, Vec<ptc_agent::Ask>) {
    let mut run = AgentRun::new(Arc::new(agent), RunOptions::new(scripted()), 0);
    let Need::Asks(asks) = run.next(0) else { panic!("it asks its model") };
    run.supply(asks[0].id, Supply::Model(Ok(reply)));
    let Need::Asks(asks) = run.next(0) else { panic!("it asks for its calls") };
    (run, asks)
}

fn kinds(asks: &[ptc_agent::Ask]) -> Vec<&'static str> {
    let kind = |ask: &ptc_agent::Ask| match ask.kind {
        AskKind::Model { .. } => "model",
        AskKind::Tool { .. } => "tool",
        AskKind::Approval { .. } => "approval",
    };
    asks.iter().map(kind).collect()
}

#[test]
fn calls_side_by_side_are_one_list_and_those_that_need_nobody_go_on() {
    let look = Tool::new("look", |_| json!(1));
    let agent = Agent::builder("Pay").tools([pay(), look]).build().unwrap();
    let program =
        "(return (pcalls #(:paid (tool/pay {:sum 1})) #(tool/look {}) #(:paid (tool/pay {:sum 2}))))";
    let (mut run, asks) = after_reply(agent, code(program));
    assert_eq!(kinds(&asks), ["approval", "tool", "approval"]);
    assert!(!run.is_paused(), "a tool is waited for too");
    run.supply(asks[1].id, Supply::Tool(Ok(json!(7))));
    assert!(matches!(run.next(0), Need::Wait { until: None }));
    assert!(run.is_paused());
    assert_eq!(run.pending().len(), 2);
    // The second is decided first; the first is still waited for.
    run.supply(asks[2].id, Supply::Approval(Decision::Approve));
    let Need::Asks(tools) = run.next(0) else { panic!("what is approved goes on") };
    assert_eq!(kinds(&tools), ["tool"]);
    run.supply(tools[0].id, Supply::Tool(Ok(json!({"paid": 2}))));
    assert!(matches!(run.next(0), Need::Wait { .. }));
    run.supply(asks[0].id, Supply::Approval(Decision::Approve));
    // A decision that comes twice changes nothing.
    run.supply(asks[0].id, Supply::Approval(Decision::Reject("no".to_owned())));
    let Need::Asks(tools) = run.next(0) else { panic!("the last goes on") };
    run.supply(tools[0].id, Supply::Tool(Ok(json!({"paid": 1}))));
    let Need::Done(step) = run.next(0) else { panic!("all is answered") };
    assert_eq!(step.value, json!([1, 7, 2]));
}

#[test]
fn native_calls_are_asked_about_together_and_made_in_order() {
    let note = Tool::new("note", |_| json!("noted")).effect(Effect::Write);
    let agent = Agent::builder("Pay").output(Output::Text).tools([pay(), note]).build().unwrap();
    let calls = vec![
        call("a", "pay", json!({"sum": 1})),
        call("b", "note", json!({})),
        call("c", "pay", json!({"sum": 3})),
        call("d", "pay", json!({"sum": "x"})),
    ];
    let (mut run, asks) = after_reply(agent, Reply::calls(calls));
    assert_eq!(kinds(&asks), ["approval", "approval"], "the last call makes no sense");
    run.supply(asks[1].id, Supply::Approval(Decision::Approve));
    assert!(matches!(run.next(0), Need::Wait { .. }), "the first is waited for");
    run.supply(asks[0].id, Supply::Approval(Decision::Approve));
    for (tool, result) in [("pay", json!({"paid": 1})), ("note", json!("noted")), ("pay", json!({"paid": 3}))]
    {
        let Need::Asks(asks) = run.next(0) else { panic!("{tool} is due") };
        let AskKind::Tool { tool: asked, .. } = &asks[0].kind else { panic!("{asks:?}") };
        assert_eq!((asked.name.as_str(), asks.len()), (tool, 1));
        run.supply(asks[0].id, Supply::Tool(Ok(result)));
    }
    let Need::Asks(asks) = run.next(0) else { panic!("the model is told") };
    let AskKind::Model { request, .. } = &asks[0].kind else { panic!("{asks:?}") };
    let told: Vec<&str> = request.messages.iter().rev().take(4).map(|it| it.content.as_str()).collect();
    assert!(told[0].contains("Tool validation"), "{told:?}");
    assert_eq!(told[1..], ["{\"paid\":3}", "\"noted\"", "{\"paid\":1}"]);
}

#[test]
fn without_anybody_who_decides_a_run_pauses_and_goes_on_where_it_was() {
    let agent = Arc::new(Agent::builder("Pay").tool(pay()).build().unwrap());
    let mut script =
        Script::new([code("(return (+ (:paid (tool/pay {:sum 5})) (:paid (tool/pay {:sum 6}))))")]);
    let mut run = AgentRun::new(agent.clone(), RunOptions::new(scripted()), 0);
    for sum in [5, 6] {
        let step = drive(&mut run, &mut script);
        assert_eq!(reason(&step), "approval_required");
        let pending = &step.fail.as_ref().unwrap().details["pending"];
        assert_eq!(pending[0]["args"], json!({"sum": sum}));
        assert_eq!(step.usage.turns, 1);
        let bytes = run.save().unwrap();
        run = AgentRun::load(agent.clone(), RunOptions::new(scripted()), &bytes, script.now).unwrap();
        run.supply(run.pending()[0].id, Supply::Approval(Decision::Approve));
    }
    assert_eq!(drive(&mut run, &mut script).value, json!(11));
    assert_eq!(script.requests.len(), 1, "the program goes on; it is not written again");
    assert_eq!(script.calls.len(), 2);
}

#[test]
fn the_time_of_a_person_is_nobodys() {
    let hour = 3_600_000;
    let agent =
        Agent::builder("Pay").tool(pay()).timeout_ms(1_000).mission_timeout_ms(5_000).build().unwrap();
    let program = code("(return (map :paid [(tool/pay {:sum 5}) (tool/pay {:sum 6})]))");
    let decisions = vec![Decision::Approve; 2];
    let mut script =
        Script { decisions: decisions.into(), person_ms: hour, tool_ms: 300, ..Script::new([program]) };
    let step = run(agent, json!({}), &mut script);
    assert_eq!(step.value, json!([5, 6]), "{step:#?}");
    assert_eq!(step.usage.duration_ms, 600, "what the tools took");
    assert_eq!(script.event("approval.decided")[0].measurements["duration_ms"], hour);
}

#[test]
fn a_program_waits_for_a_person_while_others_work() {
    // Two agents side by side: one waits for a person longer than its program may take, one asks its model.
    let child = |name: &str| {
        let agent = Agent::builder("Pay").signature("(n :int) -> :int").tool(pay()).timeout_ms(1_000);
        let agent = agent.name(name).description("Pays").build().unwrap();
        Tool::agent(name, Arc::new(agent))
    };
    let agent = Agent::builder("x").tools([child("one"), child("two")]).build().unwrap();
    let program = "(return (pcalls #(tool/one {:n 1}) #(tool/two {:n 2})))";
    let (mut run, asks) = after_reply(agent, code(program));
    run.supply(asks[0].id, Supply::Model(Ok(code("(return (:paid (tool/pay {:sum data/n})))"))));
    let Need::Asks(first) = run.next(0) else { panic!("it asks a person") };
    assert!(matches!(run.next(500_000), Need::Wait { .. }), "two is still asking its model");
    run.supply(asks[1].id, Supply::Model(Ok(code("(return 2)"))));
    run.next(500_000);
    run.at(900_000);
    run.supply(first[0].id, Supply::Approval(Decision::Approve));
    let Need::Asks(tool) = run.next(900_000) else { panic!("the call is made") };
    run.supply(tool[0].id, Supply::Tool(Ok(json!({"paid": 1}))));
    let Need::Done(step) = run.next(900_500) else { panic!("nothing is left") };
    assert_eq!(step.value, json!([1, 2]), "{step:#?}");
}

#[test]
fn answers_of_the_wrong_kind_make_no_call() {
    let agent = Agent::builder("Pay").tool(pay()).build().unwrap();
    let (mut run, asks) =
        after_reply(agent, code("(return (try (tool/pay {:sum 1}) (catch Exception e (ex-message e))))"));
    run.supply(asks[0].id, Supply::Tool(Ok(json!({"paid": 1}))));
    let Need::Done(step) = run.next(0) else { panic!("it is over") };
    assert!(step.value.to_string().contains("the host answered with a tool's result"), "{step:#?}");
}

#[test]
fn a_run_does_not_go_on_with_an_agent_that_lacks_its_tool() {
    let agent = || Agent::builder("Pay").name("payer");
    let program = code("(return (try (tool/pay {:sum 1}) (catch Exception e (ex-message e))))");
    let (run, _) = after_reply(agent().tool(pay()).build().unwrap(), program);
    let bytes = run.save().unwrap();
    let less = Arc::new(agent().build().unwrap());
    let loaded = AgentRun::load(less, RunOptions::new(scripted()), &bytes, 0);
    assert!(matches!(loaded, Err(SaveError::OtherAgent { .. })), "its call was approved with the tool");
}
