//! Measures what a trace costs a mission beside its model: five turns with ten tool calls, with a trace on disk and
//! without, in turns. Run it with `cargo run --release -p ptc-trace --example overhead`.
//! On a busy machine, run the built example under `chrt -f 10`.

// A benchmark looks at the clock.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::unwrap_used, clippy::print_stdout)]

use std::sync::Arc;
use std::time::Instant;

use ptc_agent::model::{Llm, Reply, Request};
use ptc_agent::{
    Agent, AgentRun, AskKind, Decision, Need, RunOptions, Supply, Tool, ask_model, call_function,
};
use ptc_trace::{Policy, Subscriber, subscriber};
use serde_json::{Value as Json, json};

/// Missions of one sample: enough that the thread which writes traces is not idle when it ends.
const MISSIONS: u32 = 20;
/// Samples of each kind: fewer traces than a directory keeps, because deleting files is not what is measured.
const SAMPLES: usize = 45;

/// What the command allocates with.
#[global_allocator]
static ALLOCATOR: ptc_alloc::Allocator = ptc_alloc::Allocator;

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

fn mission(agent: &Arc<Agent>, number: u64, subscriber: Option<&Subscriber>) {
    let trace_id = Some(format!("{number:032x}"));
    let options = RunOptions { trace_id, ..RunOptions::new(Llm::function(reply)) };
    let mut run = AgentRun::new(agent.clone(), options, 0);
    loop {
        let need = run.next(0);
        let events = run.take_events();
        if let Some(subscriber) = subscriber {
            events.into_iter().for_each(|event| subscriber(event));
        }
        match need {
            Need::Done(step) => return assert_eq!(step.value, json!({"count": 28})),
            Need::Asks(asks) => asks.into_iter().for_each(|ask| {
                let supply = match ask.kind {
                    AskKind::Model { llm, request, .. } => Supply::Model(ask_model(&llm, &request)),
                    AskKind::Tool { tool, args, .. } => Supply::Tool(call_function(&tool, args)),
                    AskKind::Approval { .. } => Supply::Approval(Decision::Approve),
                };
                run.supply(ask.id, supply);
            }),
            Need::Busy | Need::Wait { .. } => {}
        }
    }
}

/// Time of the processor that a thread used, in microseconds: what others on the machine do does not count.
fn used(thread: &std::path::Path) -> u64 {
    let text = std::fs::read_to_string(thread.join("schedstat")).unwrap_or_default();
    text.split(' ').next().and_then(|used| used.parse::<u64>().ok()).unwrap_or(0) / 1_000
}

/// What this thread used, and what all threads used.
fn cpu() -> [u64; 2] {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    [used("/proc/thread-self".as_ref()), tasks.map(|task| used(&task.path())).sum()]
}

fn main() {
    let dir = std::env::temp_dir().join(format!("ptc-overhead-{}", std::process::id()));
    let agent = agent();
    let mut number = 0;
    let mut sample = |subscriber: Option<&Subscriber>| {
        let (began, [own, all]) = (Instant::now(), cpu());
        for _ in 0..MISSIONS {
            number += 1;
            mission(&agent, number, subscriber);
        }
        let [own_now, all_now] = cpu();
        [began.elapsed().as_micros() as u64, own_now - own, all_now - all]
            .map(|time| time / u64::from(MISSIONS))
    };
    let traced = subscriber(&dir, Policy::Summary).unwrap();
    let (mut off, mut on) = (Vec::new(), Vec::new());
    for _ in 0..SAMPLES {
        off.push(sample(None));
        on.push(sample(Some(&traced)));
    }
    drop(traced);
    let files = std::fs::read_dir(&dir).map_or(0, Iterator::count);
    let median = |samples: &[[u64; 3]], at: usize| {
        let mut times: Vec<u64> = samples.iter().map(|sample| sample[at]).collect();
        times.sort_unstable();
        times[times.len() / 2]
    };
    for (at, what) in
        ["wall clock", "processor of the run", "processor of all threads"].into_iter().enumerate()
    {
        let (off, on) = (median(&off, at), median(&on, at));
        let more = 100.0 * (on as f64 / off.max(1) as f64 - 1.0);
        println!("{what}: {off} µs without, {on} µs with a trace, {more:+.1} %");
    }
    println!("{} missions, {files} traces on disk", number);
    let _ = std::fs::remove_dir_all(dir);
}
