//! Programs as replies of models: an agent, and one that it may call.

use std::sync::Arc;
use std::time::Duration;

use ptc_agent::model::{Llm, ModelError, Reply, Request};
use ptc_agent::{
    Agent, AgentRun, AskKind, BuildError, Decision, Need, REASONS, RunOptions, Step as Answer, Supply, Tool,
    ask_model, call_function,
};
use ptc_trace::{Memory, Options, Policy, Tracer};
use serde_json::{Value as Json, json};

use crate::job::Job;
use crate::meter::used;
use crate::{Tally, inputs, planted};

/// Times that a run is asked what it needs: a bound, should it never end.
const MOST_NEEDS: usize = 100_000;

pub fn run(job: &Job, tally: &mut Tally) {
    let begun = used();
    for step in job.steps.iter().filter(|_| tally.child.planted) {
        planted::fall(&step.source);
    }
    let agent = match agents(job, tally) {
        Ok(agent) => Arc::new(agent),
        Err(error) => return tally.report.ends.push(format!("no agent: {error}")),
    };
    let tracer = job.record.then(|| {
        let options = Options { policy: Policy::Full, queue_bytes: 8 << 20, ..Options::default() };
        Tracer::new(options, vec![Box::new(Memory::new(1 << 20))])
    });
    let (answer, driven) = drive(job, &agent, tracer.as_ref(), tally);
    let Some(answer) = answer else { return tally.report.ends.push("no end".to_owned()) };
    let texts = tally.exit("answer of an agent", || {
        let children: Vec<String> =
            answer.child_steps.iter().map(|child| json!(child.value).to_string()).collect();
        // Piece by piece, as it is sent: a text of all of it would be memory of whoever sends it.
        let written = serde_json::to_writer(std::io::sink(), &answer);
        (written.is_ok(), children)
    });
    texts.1.iter().for_each(|text| tally.seen(job, 1, "answer", text));
    if let Some(tracer) = tracer {
        tally.exit("trace", || tracer.flush());
    }
    tally.report.ends.push(end(&answer));
    tally.exit("drop", || drop((answer, texts)));
    // An agent runs more than one program; each has the time of one.
    tally.took(used().saturating_sub(begun + driven.saving) / driven.programs.max(1));
}

/// How it ended. Programs may give reasons of their own.
fn end(answer: &Answer) -> String {
    let Some(fail) = &answer.fail else { return "return".to_owned() };
    let known = REASONS.iter().find(|info| info.name == fail.reason.as_str());
    known.map_or("a reason of its own", |info| info.name).to_owned()
}

/// What models answer: the programs of an owner in order, the last one again and again.
fn model(job: &Job, owner: usize) -> Llm {
    let steps = job.steps.iter().filter(|step| step.owner == owner);
    let programs: Vec<String> = steps.map(|step| step.source.clone()).collect();
    Llm::function(move |request: &Request| {
        let turn = (request.turn.max(1) - 1) as usize;
        let program = programs.get(turn).or(programs.last()).cloned().unwrap_or_default();
        Ok::<Reply, ModelError>(Reply::text(format!("```clojure\n{program}\n```")))
    })
}

fn agents(job: &Job, tally: &Tally) -> Result<Agent, BuildError> {
    let builder = |owner: usize, mission: &str| {
        let turns = job.steps.iter().filter(|step| step.owner == owner).count().max(1);
        let mut builder = Agent::builder(mission)
            .llm(model(job, owner))
            .max_turns(u32::try_from(turns).unwrap_or(1))
            .timeout_ms(job.allowed.millis)
            .journaling()
            .plan(["gather", "answer"])
            .memory_limit(Some(job.allowed.memory))
            .set("fuel", &json!(job.allowed.fuel))
            .set("max_heap", &json!(job.allowed.memory / 8))
            .tool(Tool::new("t", |args: Json| args))
            .tool(Tool::new("items", |_: Json| json!([{"id": 1}, {"id": 2}])));
        if let Some(prelude) = tally.child.inputs.prelude.as_ref().filter(|_| job.prelude) {
            builder = builder.prelude(prelude.clone());
        }
        builder
    };
    let child = builder(1, "Look").description("Looks").build()?;
    let parent = builder(0, "Answer").tool(Tool::agent("child", Arc::new(child)));
    match &job.signature {
        Some(signature) => parent.signature(signature).build(),
        None => parent.build(),
    }
}

/// What running an agent to its end took.
#[derive(Default)]
struct Driven {
    programs: u32,
    /// Processor time of saving and loading it at each call: as often as a host likes, so each time counts by itself.
    saving: Duration,
}

/// Runs the agent to its end.
fn drive(
    job: &Job,
    agent: &Arc<Agent>,
    tracer: Option<&Tracer>,
    tally: &mut Tally,
) -> (Option<Answer>, Driven) {
    // The clock of the run is the processor's, so that no program is stopped because the computer is busy.
    let now = || u64::try_from(used().as_millis()).unwrap_or(u64::MAX);
    let context: Json = serde_json::from_str(&inputs::text(job.inputs)).unwrap_or_default();
    let options =
        RunOptions { seed: job.number, ..RunOptions::default() }.context(context).collect_messages();
    let mut run = AgentRun::new(agent.clone(), options.clone(), now());
    run.set_clock(Arc::new(now));
    let mut driven = Driven::default();
    for _ in 0..MOST_NEEDS {
        let need = tally.exit("run", || run.next(now()));
        let events = run.take_events();
        if let Some(tracer) = tracer {
            tally.exit("trace", || events.iter().for_each(|event| tracer.agent_event(event)));
        }
        let asks = match need {
            Need::Done(step) => return (Some(*step), driven),
            Need::Asks(asks) => asks,
            Need::Busy => continue,
            Need::Wait { .. } => {
                run.cancel(now());
                continue;
            }
        };
        if job.dump {
            let saving = used();
            let Some(loaded) = saved_and_loaded(run, agent, &options, &now, tally) else {
                return (None, driven);
            };
            run = loaded;
            run.set_clock(Arc::new(now));
            let took = used().saturating_sub(saving);
            tally.took(took);
            driven.saving += took;
        }
        for ask in asks {
            let supply = match ask.kind {
                AskKind::Model { llm, request, .. } => {
                    driven.programs += 1;
                    Supply::Model(ask_model(&llm, &request))
                }
                AskKind::Tool { tool, args, .. } => Supply::Tool(call_function(&tool, args)),
                AskKind::Approval { .. } => Supply::Approval(Decision::Approve),
            };
            run.supply(ask.id, supply);
        }
    }
    (None, driven)
}

/// The run from its bytes. They and the run are never more than two at a time.
fn saved_and_loaded(
    run: AgentRun,
    agent: &Arc<Agent>,
    options: &RunOptions,
    now: &impl Fn() -> u64,
    tally: &mut Tally,
) -> Option<AgentRun> {
    let Ok(bytes) = tally.exit("dump", || run.save()) else { return Some(run) };
    tally.exit("drop", || drop(run));
    let loaded = tally.exit("load", || AgentRun::load(agent.clone(), options.clone(), &bytes, now()));
    loaded.map_err(|error| tally.unreadable(&error.to_string())).ok()
}
