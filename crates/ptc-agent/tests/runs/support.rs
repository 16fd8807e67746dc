//! A host with a script in place of a model, which remembers what it was asked.

#![allow(dead_code)]

use std::collections::VecDeque;
use std::sync::Arc;

use ptc_agent::model::{Llm, ModelError, Reply, Request, ToolCall};
use ptc_agent::{
    Agent, AgentRun, Decision, Event, Host, PendingCall, RunOptions, Step, Tool, ToolResult, drive,
};
use serde_json::{Value as Json, json};

/// A small generator of numbers, the same in every run.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    /// A place among so many.
    pub fn pick(&mut self, count: usize) -> usize {
        self.roll(count as u64) as usize
    }

    /// A number between these, or none.
    pub fn maybe(&mut self, low: u64, high: u64) -> Option<u64> {
        (self.roll(2) == 0).then(|| low + self.roll(high - low))
    }
}

/// A program in a fence, as models write it.
pub fn code(program: &str) -> Reply {
    Reply::text(format!("```clojure\n{program}\n```"))
}

/// A call of a tool.
pub fn call(id: &str, name: &str, args: Json) -> ToolCall {
    ToolCall { id: id.into(), name: name.into(), args, args_error: None }
}

/// A reply that runs a program by tool call.
pub fn eval(program: &str) -> Reply {
    Reply::calls(vec![call("c1", "lisp_eval", json!({"program": program}))])
}

/// The outside of a run, from a script.
#[derive(Default)]
pub struct Script {
    /// Replies in order; the last is repeated.
    pub replies: VecDeque<Result<Reply, ModelError>>,
    pub requests: Vec<Arc<Request>>,
    pub calls: Vec<(String, Json)>,
    pub events: Vec<Event>,
    pub waits: Vec<u64>,
    pub now: u64,
    /// Milliseconds that each model call takes.
    pub model_ms: u64,
    /// Milliseconds that each tool call takes.
    pub tool_ms: u64,
    /// What a person decides, in order; then nobody does.
    pub decisions: VecDeque<Decision>,
    /// Milliseconds that a person takes.
    pub person_ms: u64,
    /// Calls that a person was asked about.
    pub asked: Vec<Json>,
}

impl Script {
    pub fn new<R: Into<Reply>>(replies: impl IntoIterator<Item = R>) -> Self {
        Script { replies: replies.into_iter().map(|reply| Ok(reply.into())).collect(), ..Script::default() }
    }

    pub fn of(replies: impl IntoIterator<Item = Result<Reply, ModelError>>) -> Self {
        Script { replies: replies.into_iter().collect(), ..Script::default() }
    }

    /// The text of the last message of a request, from 1.
    pub fn told(&self, request: usize) -> &str {
        &self.requests[request - 1].messages.last().expect("a request has messages").content
    }

    pub fn event(&self, name: &str) -> Vec<&Event> {
        self.events.iter().filter(|event| event.event == name).collect()
    }
}

impl Host for Script {
    fn now(&mut self) -> u64 {
        self.now
    }

    fn wait(&mut self, ms: u64) {
        self.waits.push(ms);
        self.now += ms;
    }

    fn model(&mut self, _llm: &Llm, request: &Arc<Request>) -> Result<Reply, ModelError> {
        self.requests.push(request.clone());
        self.now += self.model_ms;
        match self.replies.len() {
            0 => Err("the script is over".into()),
            1 => self.replies[0].clone(),
            _ => self.replies.pop_front().expect("there is one"),
        }
    }

    fn tool(&mut self, tool: &Tool, args: Json) -> ToolResult {
        self.now += self.tool_ms;
        self.calls.push((tool.name.clone(), args.clone()));
        ptc_agent::call_function(tool, args)
    }

    fn approve(&mut self, call: &PendingCall) -> Option<Decision> {
        let decision = self.decisions.pop_front()?;
        self.asked.push(call.json());
        self.now += self.person_ms;
        Some(decision)
    }

    fn event(&mut self, event: Event) {
        self.events.push(event);
    }
}

/// A model that the script stands for.
pub fn scripted() -> Llm {
    Llm::function(|_: &Request| Err::<Reply, _>("the script answers"))
}

/// Runs an agent on a script.
pub fn run(agent: Agent, context: Json, script: &mut Script) -> Step {
    run_with(agent, RunOptions::new(scripted()).context(context), script)
}

/// Runs an agent on a script with options.
pub fn run_with(agent: Agent, options: RunOptions, script: &mut Script) -> Step {
    let mut run = AgentRun::new(Arc::new(agent), options, script.now);
    drive(&mut run, script)
}

/// The reason of a step that failed.
pub fn reason(step: &Step) -> &str {
    step.fail.as_ref().map_or("ok", |fail| fail.reason.as_str())
}
