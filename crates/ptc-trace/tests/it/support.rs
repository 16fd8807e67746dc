//! Runs whose events the tests trace.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptc_agent::model::{Llm, Message, ModelError, Reply, Request, Tokens};
use ptc_agent::{Agent, AgentRun, Event, Host, RunOptions, Step, Tool, drive};
use serde_json::{Value as Json, json};

/// A directory that is gone after the test.
pub struct Dir(pub PathBuf);

impl Dir {
    pub fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("ptc-trace-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        Dir(dir)
    }

    /// The names of the trace files, sorted.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            ptc_trace::list(&self.0, 10_000).into_iter().map(|entry| entry.name).collect();
        names.sort();
        names
    }

    pub fn only(&self) -> PathBuf {
        let names = self.names();
        assert_eq!(names.len(), 1, "{names:?}");
        self.0.join(&names[0])
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The model of the tests: answers with what its agent's mission names.
fn reply(request: &Request) -> Result<Reply, ModelError> {
    let said = request.messages.iter().rev().find_map(first_program);
    let text = said.unwrap_or_else(|| "(fail \"no program\")".to_owned());
    let reply = Reply::text(format!("```clojure\n{text}\n```"));
    Ok(Reply { tokens: Some(Tokens { input: 100, output: 20, ..Tokens::default() }), ..reply })
}

/// Missions of the tests carry their program between `<<` and `>>`.
fn first_program(message: &Message) -> Option<String> {
    let (_, rest) = message.content.split_once("<<")?;
    Some(rest.split_once(">>")?.0.to_owned())
}

struct Clock<'r> {
    now: u64,
    seen: &'r mut dyn FnMut(&Event),
}

impl Host for Clock<'_> {
    fn now(&mut self) -> u64 {
        self.now += 1;
        self.now
    }
    fn wait(&mut self, ms: u64) {
        self.now += ms;
    }
    fn event(&mut self, event: Event) {
        (self.seen)(&event);
    }
}

pub const TRACE: &str = "0123456789abcdef0123456789abcdef";

/// Runs an agent whose model answers with a program, and shows its events.
pub fn run(program: &str, trace_id: &str, seen: &mut dyn FnMut(&Event)) -> Step {
    let child = Agent::builder("Double <<(return (* 2 data/n))>>")
        .signature("(n :int) -> :int")
        .max_turns(1)
        .name("double")
        .description("Doubles a number")
        .build()
        .unwrap();
    let tools = [
        Tool::new("echo", |args: Json| args),
        Tool::new("broken", |_| Err::<Json, _>("the disk is on fire")),
        Tool::agent("double", Arc::new(child)),
    ];
    let agent = Agent::builder(format!("Work: <<{program}>>"))
        .tools(tools)
        .name("worker")
        .max_turns(2)
        .build()
        .unwrap();
    let options = RunOptions {
        trace_id: Some(trace_id.to_owned()),
        context: json!({"rows": [1, 2, 3]}).into(),
        ..RunOptions::new(Llm::function(reply))
    };
    let mut run = AgentRun::new(Arc::new(agent), options, 1_000_000);
    drive(&mut run, &mut Clock { now: 1_000_000, seen })
}

/// The lines of a file as JSON.
pub fn lines(path: &Path) -> Vec<Json> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
