//! Missions whose model answers by who asks and in which turn, so that any process can go on with them: in
//! all four modes, with agents that call agents and with calls side by side.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use ptc_agent::model::{ModelError, ModelErrorKind, Output, Reply, Request};
use ptc_agent::{
    Agent, AgentRun, Approval, Ask, AskKind, Decision, Expose, LlmTool, Need, Retry, RunOptions, Step,
    Supply, Tool, Transport,
};
use serde_json::{Value as Json, json};

use crate::support::{call, code, eval, scripted};

/// A mission: an agent, its inputs, and how its models answer.
pub struct Mission {
    pub name: &'static str,
    pub agent: fn() -> Agent,
    pub context: fn() -> Json,
    pub model: fn(agent: &str, request: &Request) -> Result<Reply, ModelError>,
    /// The answer.
    pub answer: fn() -> Json,
}

pub static MISSIONS: &[Mission] = &[
    Mission {
        name: "content",
        agent: content,
        context: || json!({"n": 3}),
        model: content_model,
        answer: || json!({"sum": 60, "rows": [1, 4, 9], "kept": 3, "task": 16}),
    },
    Mission {
        name: "nested",
        agent: nested,
        context: || json!({"n": 2}),
        model: nested_model,
        answer: || json!({"kids": [2, 4, 6], "self": 3, "judged": "warm", "asked": "blue"}),
    },
    Mission {
        name: "tool_call",
        agent: || family(Agent::builder("Work").transport(Transport::ToolCall).name("parent")),
        context: || json!({}),
        model: tool_call_model,
        answer: || json!({"a": 8, "b": [2, 4], "seen": "bad"}),
    },
    Mission {
        name: "text",
        agent: || family(Agent::builder("Say {{n}}").signature("(n :int) -> {a :int}").output(Output::Text)),
        context: || json!({"n": 1}),
        model: text_model,
        answer: || json!({"a": 8}),
    },
    Mission {
        name: "combined",
        agent: || family(Agent::builder("Look").signature("{a :int}").combined()),
        context: || json!({}),
        model: combined_model,
        answer: || json!({"a": 13}),
    },
    Mission {
        name: "single_shot",
        agent: || Agent::builder("Add").signature("(n :int) -> :int").max_turns(1).build().unwrap(),
        context: || json!({"n": 4}),
        model: |_, _| Ok(code("(reduce + (map inc (range data/n)))")),
        answer: || json!(10),
    },
    Mission {
        name: "consent",
        agent: consent,
        context: || json!({}),
        model: consent_model,
        answer: || json!({"own": [1, 20, "approval_rejected"], "theirs": [5, 20], "plain": 9}),
    },
];

/// An agent that pays, and one below it that pays too, both with a person's approval.
fn consent() -> Agent {
    let pay = || {
        let pay = Tool::new("pay", |args| args["n"].clone()).signature("(n :int) -> :int").unwrap();
        pay.approval(Approval::Ask)
    };
    let child = Agent::builder("Pay {{n}}").signature("(n :int) -> :int").tool(pay()).name("child");
    let child = Tool::agent("payer", Arc::new(child.description("Pays").build().unwrap()));
    Agent::builder("Pay").name("parent").tools([pay(), square(), child]).build().unwrap()
}

fn consent_model(agent: &str, request: &Request) -> Result<Reply, ModelError> {
    Ok(match (agent, request.turn) {
        ("child", _) => code("(return (tool/pay {:n data/n}))"),
        (_, 1) => code(
            "(defn pay [n] (try (tool/pay {:n n}) (catch Exception e (re-find #\"approval_\\w+\" (ex-message e)))))
             (def own (pmap pay [1 2 3]))
             (def mixed (pcalls #(tool/square {:n 3}) #(tool/payer {:n 5}) #(tool/payer {:n 2})))",
        ),
        _ => code("(return {:own own :theirs (rest mixed) :plain (first mixed)})"),
    })
}

fn square() -> Tool {
    let square = |args: Json| json!(args["n"].as_i64().unwrap_or(0) * args["n"].as_i64().unwrap_or(0));
    Tool::new("square", square).signature("(n :int) -> :int").unwrap().description("A square").cached()
}

fn broken() -> Tool {
    Tool::new("broken", |_| Err::<Json, _>("bad".to_owned()))
}

/// A child that doubles in two turns of its own, with a tool.
fn doubler() -> Tool {
    let agent = Agent::builder("Double {{n}}").signature("(n :int) -> :int").tool(square());
    Tool::agent("double", Arc::new(agent.name("child").description("Doubles").build().unwrap()))
}

fn family(builder: ptc_agent::Builder) -> Agent {
    let both = |tool: Tool| tool.expose(Expose::Both);
    builder.tools([both(square()), both(broken()), both(doubler())]).build().unwrap()
}

fn content() -> Agent {
    let retry = Retry { max_attempts: 2, ..Retry::default() };
    let plan = [("look", "Look"), ("sum", "Sum up")];
    Agent::builder("Work on {{n}}")
        .signature("(n :int) -> {sum :int, rows [:int], kept :int, task :int}")
        .name("parent")
        .tools([square(), broken()])
        .max_turns(8)
        .llm_retry(retry)
        .journaling()
        .plan(plan)
        .build()
        .unwrap()
}

fn content_model(_: &str, request: &Request) -> Result<Reply, ModelError> {
    let down = ModelError::new(ModelErrorKind::ServerError, "down");
    Ok(match request.turn {
        1 => code("(def kept data/n) (def rows (pmap #(tool/square {:n %}) (range 1 (inc data/n)))) rows"),
        2 => Reply::text("I am not sure."),
        3 => code("(def lost 1) (tool/broken {})"),
        4 => code("(step-done \"look\" \"looked\") (task \"t\" (tool/square {:n 4}))"),
        5 => code("(def total (+ (apply + rows) (tool/square {:n 4}) (tool/square {:n 5}) 5)) total"),
        6 => return Err(down),
        _ => code("(return {:sum 0})"),
    })
}

/// The model fails at first in turn 6; the retry of the same turn goes through.
fn retried(turn: u32, again: bool, first: Reply) -> Option<Reply> {
    (turn == 6 && again).then_some(first)
}

fn nested() -> Agent {
    let judge = LlmTool::new("Is {{t}} warm?", "(t :int) -> {verdict :string}").unwrap();
    Agent::builder("Delegate {{n}}")
        .signature("(n :int) -> :any")
        .name("parent")
        .tools([square(), doubler(), Tool::this("again"), Tool::llm("judge", judge.description("Judges"))])
        .llm_query()
        .turn_budget(60)
        .build()
        .unwrap()
}

fn nested_model(agent: &str, request: &Request) -> Result<Reply, ModelError> {
    let told = &request.messages[0].content;
    Ok(match (agent, request.turn) {
        ("parent", 1) if told.contains("; int, 2") || told.contains("sample: 2") => {
            code("(def kids (pmap #(tool/double {:n %}) [1 2 3])) (def deep (tool/again {:n 1})) deep")
        }
        ("parent", 1) => code("(return (+ data/n (tool/double {:n 1})))"),
        ("parent", _) => code(
            "(def both (pcalls #(tool/judge {:t 20}) #(tool/llm-query {:prompt \"Colour of {{x}}?\" :x \"sky\"})))
             (return {:kids kids :self deep :judged (:verdict (first both)) :asked (second both)})",
        ),
        ("child", 1) => code("(def root (tool/square {:n 2}))"),
        ("child", _) => code("(return (quot (* data/n root) 2))"),
        ("llm-query", _) => Reply::text("blue"),
        _ => Reply::text("{\"verdict\": \"warm\"}"),
    })
}

fn tool_call_model(agent: &str, request: &Request) -> Result<Reply, ModelError> {
    Ok(match (agent, request.turn) {
        ("child", turn) => return nested_model("child", &Request { turn, ..request.clone() }),
        (_, 1) => eval("(def xs (pmap #(tool/double {:n %}) [1 2]))"),
        (_, 2) => eval("(tool/broken {})"),
        (_, 3) => eval("(def seen (if data/fail \"bad\" \"good\"))"),
        (_, _) => eval("(return {:a (+ 4 (tool/square {:n 2})) :b xs :seen seen})"),
    })
}

fn text_model(agent: &str, request: &Request) -> Result<Reply, ModelError> {
    Ok(match (agent, request.turn) {
        ("child", turn) => return nested_model("child", &Request { turn, ..request.clone() }),
        (_, 1) => Reply::calls(vec![
            call("a", "square", json!({"n": 2})),
            call("b", "double", json!({"n": 2})),
            call("c", "broken", json!({})),
            call("d", "double", json!({"n": 3})),
        ]),
        (_, 2) => Reply::text("{\"a\": \"eight\"}"),
        (_, _) => Reply::text("{\"a\": 8}"),
    })
}

fn combined_model(agent: &str, request: &Request) -> Result<Reply, ModelError> {
    Ok(match (agent, request.turn) {
        ("child", turn) => return nested_model("child", &Request { turn, ..request.clone() }),
        (_, 1) => Reply::calls(vec![
            call("a", "square", json!({"n": 3})),
            call("b", "square", json!({"n": 4})),
            call("c", "double", json!({"n": 1})),
        ]),
        (_, 2) => eval("(def x (tool/square {:n 3})) (+ x (apply + (pmap #(tool/double {:n %}) [1 1])))"),
        (_, 3) => eval("(return *1)"),
        (_, _) => Reply::text("{\"a\": 13}"),
    })
}

/// What was asked, in order.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Log {
    pub models: Vec<(String, u32, String)>,
    pub tools: Vec<(String, Json)>,
    pub events: Vec<String>,
    /// Answers so far; the clock shows it too.
    pub round: u64,
}

impl Mission {
    pub fn start(&self) -> AgentRun {
        AgentRun::new(Arc::new((self.agent)()), self.options(), 1_000)
    }

    pub fn options(&self) -> RunOptions {
        RunOptions::new(scripted()).context((self.context)())
    }

    pub fn load(&self, bytes: &[u8], log: &Log) -> Result<AgentRun, ptc_agent::SaveError> {
        AgentRun::load(Arc::new((self.agent)()), self.options(), bytes, 1_000 + log.round)
    }

    /// Goes on by one need: answers one of what is outstanding, the oldest and the newest in turn, or looks on.
    pub fn go_on(&self, run: &mut AgentRun, log: &mut Log) -> Option<Step> {
        log.round += 1;
        let mut asks = run.outstanding();
        let need = match asks.len() {
            0 => run.next(1_000 + log.round),
            count => {
                let ask = asks.swap_remove(if log.round.is_multiple_of(2) { 0 } else { count - 1 });
                let supply = self.answer_to(&ask, log);
                run.supply(ask.id, supply);
                run.next(1_000 + log.round)
            }
        };
        log.events.extend(run.take_events().into_iter().map(|event| event.event));
        match need {
            Need::Done(step) => Some(*step),
            _ => None,
        }
    }

    fn answer_to(&self, ask: &Ask, log: &mut Log) -> Supply {
        match &ask.kind {
            AskKind::Model { request, .. } => {
                let agent = ask.agent.clone().unwrap_or_default();
                let told = request.messages.last().map(|message| message.content.clone()).unwrap_or_default();
                let again = log.models.last().is_some_and(|(_, turn, _)| *turn == 6);
                log.models.push((agent.clone(), request.turn, told));
                let done = code(
                    "(return {:sum (+ total 0) :rows rows :kept kept :task (task \"t\" (tool/broken {}))})",
                );
                Supply::Model(match retried(request.turn, again, done) {
                    Some(reply) => Ok(reply),
                    None => (self.model)(&agent, request),
                })
            }
            AskKind::Tool { tool, args, .. } => {
                log.tools.push((tool.name.clone(), args.clone()));
                Supply::Tool(ptc_agent::call_function(tool, args.clone()))
            }
            AskKind::Approval { tool, args, .. } => {
                log.tools.push((format!("may {}", tool.name), args.clone()));
                Supply::Approval(match args["n"].as_i64() {
                    Some(2) => Decision::Edit(json!({"n": 20})),
                    Some(3) => Decision::Reject("too much".to_owned()),
                    _ => Decision::Approve,
                })
            }
        }
    }

    /// The whole run without a stop.
    pub fn whole(&self) -> (Step, Log) {
        let (mut run, mut log) = (self.start(), Log::default());
        for _ in 0..1_000 {
            if let Some(step) = self.go_on(&mut run, &mut log) {
                return (step, log);
            }
        }
        panic!("{} does not end: {log:#?}", self.name);
    }
}
