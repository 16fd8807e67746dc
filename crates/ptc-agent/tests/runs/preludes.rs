//! Agents with a prelude: attached before anything runs, in the prompt, through bytes, and guarded.

use std::sync::Arc;

use ptc_agent::{
    Agent, AgentRun, AskKind, Compiled, Host, Need, Reason, RunOptions, Step, Supply, Tool, drive,
};
use ptc_lisp::prelude::{Effect, Offer, Prelude, Upstreams};
use serde_json::{Value as Json, json};

use crate::support::{Script, code, eval, reason, run_with, scripted};

const CRM: &str = r#"
(ns crm "CRM helpers.")
(defn- tag [id] (str "norm:" id))
(defn get-user "Return a CRM user by id." [id]
  (tool/call {:server "crm" :tool "get_user" :args {:id (tag id)}}))
(defn add-user "Add a user." {:effect :write} [user]
  (tool/call {:server "crm" :tool "add_user" :args user}))
(defn quiet "Not for prompts." {:visibility :discoverable} [] :quiet)
"#;

fn prelude(source: &str) -> Arc<Prelude> {
    Arc::new(Prelude::compile_text(source).unwrap_or_else(|problem| panic!("{problem}")))
}

/// The tool that calls upstreams.
fn call() -> Tool {
    Tool::new("call", |args: Json| json!({"ok": true, "value": args["args"]}))
}

fn agent(turns: u32) -> Agent {
    agent_with(turns, CRM, [call()])
}

fn agent_with(turns: u32, source: &str, tools: impl IntoIterator<Item = Tool>) -> Agent {
    let builder = Agent::builder("Look up the user").max_turns(turns).prelude(prelude(source)).tools(tools);
    builder.build().expect("it fits together")
}

/// A runtime with these operations.
struct Runtime(&'static [(&'static str, Effect)]);

impl Upstreams for Runtime {
    fn offer(&self, server: &str, tool: &str) -> Offer {
        match (server, self.0.iter().any(|(name, _)| *name == tool)) {
            ("crm", true) => Offer::Granted,
            ("crm", false) => Offer::UnknownTool,
            _ => Offer::UnknownServer,
        }
    }

    fn effect(&self, _: &str, tool: &str) -> Effect {
        self.0.iter().find(|(name, _)| *name == tool).map_or(Effect::Unknown, |(_, effect)| *effect)
    }
}

const ALL: Runtime = Runtime(&[("get_user", Effect::Read), ("add_user", Effect::Write)]);

fn with(runtime: Runtime) -> RunOptions {
    RunOptions { upstreams: Some(Arc::new(runtime)), ..RunOptions::new(scripted()) }
}

fn answer(step: &Step) -> &Json {
    step.result().unwrap_or_else(|fail| panic!("{fail:?}"))
}

#[test]
fn exports_can_be_called_and_stand_in_the_prompt() {
    let mut script = Script::new([code("(def res (crm/get-user 7))"), code("(return (:id (res :value)))")]);
    let step = run_with(agent(5), with(ALL), &mut script);
    assert_eq!(answer(&step), "norm:7");
    let told = script.told(1).to_owned() + &script.requests[0].system;
    assert!(told.contains("crm/get-user (get-user id) [read] — Return a CRM user by id."), "{told}");
    assert!(!told.contains("quiet") && !told.contains("norm:"), "{told}");
    let trace = step.prelude_trace.as_ref().expect("the step says what was lent");
    assert_eq!(trace["protected_namespaces"], json!(["crm"]));
    let started = script.event("run.start");
    assert_eq!(started[0].metadata["prelude"]["artifact_hash"], trace["artifact_hash"]);
    let everything = serde_json::to_string(&script.events).expect("JSON");
    assert!(!everything.contains("defn-") && !everything.contains("(str "), "traces have no source");
}

#[test]
fn every_way_to_run_programs_has_the_prelude() {
    let single =
        run_with(agent(1), RunOptions::new(scripted()), &mut Script::new([code("(:ok (crm/get-user 1))")]));
    assert_eq!(answer(&single), &json!(true));
    let by_tool = Agent::builder("Look")
        .transport(ptc_agent::Transport::ToolCall)
        .prelude(prelude(CRM))
        .tool(call())
        .build()
        .expect("it fits together");
    let step =
        run_with(by_tool, RunOptions::new(scripted()), &mut Script::new([eval("(return (crm/quiet))")]));
    assert_eq!(answer(&step), "quiet");
    let compiled = Compiled::from_source(Arc::new(agent(1)), "(:id (:value (crm/get-user 2)))");
    let mut script = Script::default();
    let mut run = AgentRun::new(compiled.agent().clone(), compiled.options(RunOptions::default()), 0);
    assert_eq!(answer(&drive(&mut run, &mut script)), "norm:2");
    let without = Agent::builder("Look").max_turns(1).tool(call()).build().expect("it fits together");
    let step = run_with(without, RunOptions::new(scripted()), &mut Script::new([code("(crm/get-user 1)")]));
    assert!(!step.is_ok(), "nothing was lent");
    assert!(
        step.fail.as_ref().is_some_and(|fail| fail.message.contains("unknown namespace crm/")),
        "{step:?}"
    );
}

#[test]
fn r10_4_what_is_missing_stops_the_run_before_a_model_is_asked() {
    let log = "(ns log) (defn all [] (tool/log_all))";
    let cases: Vec<(&str, Agent, RunOptions, &str)> = vec![
        ("tool", agent_with(5, log, []), RunOptions::new(scripted()), "requires granted tool `log_all`"),
        ("upstream", agent(5), with(Runtime(&[("get_user", Effect::Read)])), "upstream:crm/add_user"),
        ("single", agent(1), with(Runtime(&[])), "upstream:crm/get_user"),
    ];
    for (name, agent, options, message) in cases {
        let mut script = Script::new([code("(return 1)")]);
        let step = run_with(agent, options, &mut script);
        assert_eq!(reason(&step), "prelude_attach_failed", "{name}");
        let fail = step.fail.as_ref().expect("it failed");
        assert!(fail.message.contains(message), "{name}: {}", fail.message);
        assert!(!fail.details["missing"].as_array().expect("a list").is_empty(), "{name}");
        assert!(script.requests.is_empty() && script.calls.is_empty(), "{name}: nothing was asked or called");
    }
    let compiled = Compiled::from_source(Arc::new(agent_with(1, log, [])), "(println 1)");
    let mut run = AgentRun::new(compiled.agent().clone(), compiled.options(RunOptions::default()), 0);
    assert_eq!(reason(&drive(&mut run, &mut Script::default())), "prelude_attach_failed");
    run_with(agent(1), RunOptions::new(scripted()), &mut Script::new([code("(crm/quiet)")]))
        .result()
        .expect("without a runtime nobody asks for upstream operations");
}

/// A runtime that loses its operations when somebody says so.
struct Fading(Arc<std::sync::atomic::AtomicBool>);

impl Upstreams for Fading {
    fn offer(&self, _: &str, _: &str) -> Offer {
        match self.0.load(std::sync::atomic::Ordering::SeqCst) {
            true => Offer::UnknownTool,
            false => Offer::Granted,
        }
    }

    fn effect(&self, _: &str, _: &str) -> Effect {
        Effect::Read
    }
}

#[test]
fn r10_4_5_what_goes_away_between_turns_is_a_hard_stop() {
    let gone = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let runtime = Fading(gone.clone());
    let after_a_turn: ptc_agent::Guard = Arc::new(move |_| {
        gone.store(true, std::sync::atomic::Ordering::SeqCst);
        None
    });
    let options = RunOptions {
        upstreams: Some(Arc::new(runtime)),
        guard: Some(after_a_turn),
        ..RunOptions::new(scripted())
    };
    let mut script = Script::new([code("(crm/get-user 1)"), code("(crm/get-user 2)")]);
    let step = run_with(agent(5), options, &mut script);
    assert_eq!(reason(&step), "prelude_attach_failed");
    assert_eq!(script.calls.len(), 1, "no further program ran");
}

#[test]
fn r10_10_writes_and_unknown_effects_stop_before_the_next_request() {
    let secret = "s3cret";
    let write = code(&format!("(crm/get-user 1) (crm/add-user {{:name \"{secret}\"}})"));
    let mut script = Script::new([write.clone(), code("(return 1)")]);
    let step = run_with(agent(5), with(ALL), &mut script);
    assert_eq!(reason(&step), "partial_side_effects");
    let fail = step.fail.as_ref().expect("it failed");
    let expected = json!({"matched_calls": [{"server": "crm", "tool": "add_user", "effect": "write"}]});
    assert_eq!(fail.details, expected);
    assert!(fail.message.contains("crm/add_user") && !fail.message.contains(secret), "{}", fail.message);
    assert_eq!(script.requests.len(), 1, "the model was not asked again");

    let mut script = Script::new([code("(crm/get-user 1)"), code("(return 1)")]);
    assert_eq!(answer(&run_with(agent(5), with(ALL), &mut script)), 1, "reading goes on");

    let mut script =
        Script::new([code("(tool/call {:server \"x\" :tool \"y\" :args {}})"), code("(return 1)")]);
    let step = run_with(agent(5), with(ALL), &mut script);
    assert_eq!(reason(&step), "partial_side_effects", "direct calls count too");
    assert_eq!(step.fail.expect("it failed").details["matched_calls"][0]["effect"], "unknown");

    let last = code("(return (:ok (crm/add-user {:name 1})))");
    let mut script = Script::new([last]);
    assert_eq!(answer(&run_with(agent(5), with(ALL), &mut script)), true, "an answer is no next request");

    let allow = RunOptions { guard: Some(Arc::new(|_| None)), ..with(ALL) };
    let mut script = Script::new([write.clone(), code("(return 2)")]);
    assert_eq!(answer(&run_with(agent(5), allow, &mut script)), 2, "a guard of the host takes its place");

    let mut script = Script::new([write, code("(return 3)")]);
    let step = run_with(agent(5), RunOptions::new(scripted()), &mut script);
    assert_eq!(answer(&step), 3, "without upstreams there is no guard");
}

#[test]
fn private_tools_are_for_exports_only() {
    let source = "(ns store) (defn read [id] (tool/store_read {:id id}))";
    let tool = || Tool::new("store_read", |args: Json| args).private();
    let mut script = Script::new([code("(return (:id (store/read 4)))")]);
    let step = run_with(agent_with(5, source, [tool()]), RunOptions::new(scripted()), &mut script);
    assert_eq!(answer(&step), 4);
    assert!(
        !script.requests[0].system.contains("store_read") && !script.told(1).contains("tool/store"),
        "hidden"
    );
    let mut script = Script::new([code("(tool/store_read {:id 1})"), code("(return 1)")]);
    run_with(agent_with(5, source, [tool()]), RunOptions::new(scripted()), &mut script);
    assert!(script.calls.is_empty(), "a program cannot call it");
    assert!(script.told(2).contains("Private tool may only be called"), "{}", script.told(2));
}

#[test]
fn runs_with_a_prelude_go_through_bytes() {
    let agent = Arc::new(agent(5));
    let mut script = Script::new([
        code("(def f crm/get-user) (def n (:id (:value (f 1))))"),
        code("(return [n (:ok (f 2))])"),
    ]);
    let mut run = AgentRun::new(agent.clone(), RunOptions::new(scripted()), 0);
    let mut steps = 0;
    let step = loop {
        let bytes = run.save().expect("it is between needs");
        run = AgentRun::load(agent.clone(), RunOptions::new(scripted()), &bytes, 0).expect("it loads");
        for ask in run.outstanding() {
            let supply = match &ask.kind {
                AskKind::Model { request, .. } => Supply::Model(script.model(&scripted(), request)),
                AskKind::Tool { tool, args, .. } => Supply::Tool(script.tool(tool, args.clone())),
                AskKind::Approval { .. } => Supply::Approval(ptc_agent::Decision::Approve),
            };
            run.supply(ask.id, supply);
        }
        if let Need::Done(step) = run.next(0) {
            break step;
        }
        steps += 1;
        assert!(steps < 50, "it ends");
    };
    assert_eq!(answer(&step), &json!(["norm:1", true]));
    assert_eq!(Reason::PRELUDE_ATTACH_FAILED, "prelude_attach_failed");
}
