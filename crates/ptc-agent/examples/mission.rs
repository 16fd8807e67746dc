//! Measures what a mission costs beside its model: the time of a run of five turns with ten tool calls, and
//! the memory of a thousand that wait side by side. Run it with `cargo run --release --example mission`.

// A benchmark looks at the clock and at its memory; the library does neither.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::unwrap_used, clippy::print_stdout)]

use std::sync::Arc;
use std::time::Instant;

use ptc_agent::model::{Llm, Reply, Request};
use ptc_agent::{
    Agent, AgentRun, AskKind, Decision, Need, RunOptions, Supply, Tool, TraceMode, ask_model, call_function,
};
use serde_json::{Value as Json, json};

/// Bytes of memory that this process has, as Linux counts them.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1_024
}

/// Five turns with two tool calls each.
fn reply(request: &Request) -> Result<Reply, ptc_agent::model::ModelError> {
    let program = match request.turn {
        1 => "(def a (pmap #(tool/orders {:customer %}) [1 2]))",
        2 => "(def b (concat (tool/orders {:customer 3}) (tool/orders {:customer 4})))",
        3 => {
            "(def big (filter #(> (:total %) 10) (concat (apply concat a) b (tool/orders {:customer 5}) (tool/orders {:customer 6}))))"
        }
        4 => "(def more (pmap #(tool/orders {:customer %}) [7 8])) (println (count big))",
        _ => {
            "(return {:count (+ (count big) (count (tool/orders {:customer 9})) (count (tool/orders {:customer 10})))})"
        }
    };
    Ok(Reply::text(format!("```clojure\n{program}\n```")))
}

fn agent() -> Arc<Agent> {
    let orders = |args: Json| {
        let row = |n: i64| json!({"id": n, "total": n * 7, "customer": args["customer"]});
        Json::Array((0..5).map(row).collect())
    };
    let tool = Tool::new("orders", orders).signature("(customer :int) -> [{id :int, total :int}]").unwrap();
    Arc::new(Agent::builder("Count the orders").signature("{count :int}").tool(tool).build().unwrap())
}

fn start(agent: &Arc<Agent>, trace: TraceMode) -> AgentRun {
    let options = RunOptions { trace, ..RunOptions::new(Llm::function(reply)) };
    AgentRun::new(agent.clone(), options, 0)
}

/// Answers everything until a turn is asked for, or the run is over.
fn until_turn(run: &mut AgentRun, turn: u32) -> Option<Json> {
    loop {
        let need = run.next(0);
        // As drivers do: events that nobody takes stay in the run.
        run.take_events();
        match need {
            Need::Done(step) => return Some(step.value),
            Need::Asks(asks) => {
                for ask in asks {
                    match ask.kind {
                        AskKind::Model { request, .. } if request.turn == turn => return None,
                        AskKind::Model { llm, request, .. } => {
                            run.supply(ask.id, Supply::Model(ask_model(&llm, &request)));
                        }
                        AskKind::Tool { tool, args, .. } => {
                            run.supply(ask.id, Supply::Tool(call_function(&tool, args)));
                        }
                        AskKind::Approval { .. } => run.supply(ask.id, Supply::Approval(Decision::Approve)),
                    }
                }
            }
            Need::Busy | Need::Wait { .. } => {}
        }
    }
}

fn main() {
    let agent = agent();
    let mut times: Vec<u128> = (0..2_000)
        .map(|_| {
            let began = Instant::now();
            let value = until_turn(&mut start(&agent, TraceMode::On), 0);
            assert_eq!(value, Some(json!({"count": 28})));
            began.elapsed().as_micros()
        })
        .collect();
    times.sort_unstable();
    println!("mission of 5 turns and 10 tool calls: median {} µs, p99 {} µs", times[1_000], times[1_980]);

    // Memory that one mode gave back would hide what the other takes, so a process measures one of them.
    let quiet = std::env::args().any(|argument| argument == "--no-trace");
    memory(&agent, if quiet { TraceMode::Off } else { TraceMode::On });
}

/// What a thousand missions hold while they wait for their models.
fn memory(agent: &Arc<Agent>, trace: TraceMode) {
    let before = resident();
    let mut runs: Vec<AgentRun> = (0..1_000).map(|_| start(agent, trace)).collect();
    for turn in 1..=5 {
        for run in &mut runs {
            for ask in run.outstanding() {
                if let AskKind::Model { llm, request, .. } = ask.kind {
                    run.supply(ask.id, Supply::Model(ask_model(&llm, &request)));
                }
            }
            assert_eq!(until_turn(run, turn), None);
        }
        let each = resident().saturating_sub(before) / runs.len();
        println!("1000 missions, trace {trace:?}, that wait for turn {turn}: {each} bytes each");
    }
}
