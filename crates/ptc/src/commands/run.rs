//! `ptc run`: runs an agent and prints its answer.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use anyhow::Context;
use ptc_runner::{RunOptions, Step, Surroundings, run_in};
use ptc_trace::Tracer;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::eval::ignore_closed_pipe;
use crate::agents::{self, Inputs, Mission, Progress, Ready, Shown};
use crate::exit::{Outcome, agent_codes};
use crate::traces::TraceArgs;

/// Run an agent: a model writes a program, the program works on the inputs and calls tools, and its answer is
/// printed.
///
/// The answer goes to standard output. Standard error shows turns, programs and calls while they happen, and at
/// the end what the run cost.
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    /// The file of an agent (agent.toml, agent.json), or the mission in words
    #[arg(value_name = "AGENT")]
    agent: String,

    #[command(flatten)]
    inputs: Inputs,

    #[command(flatten)]
    changes: Changes,

    #[command(flatten)]
    output: Output,

    #[command(flatten)]
    trace: TraceArgs,
}

/// What the command line changes of an agent.
#[derive(Clone, Debug, clap::Args)]
pub struct Changes {
    /// What the agent takes and gives, for example "(rows [:map]) -> {total :float}"
    #[arg(long, value_name = "SIGNATURE", allow_hyphen_values = true)]
    signature: Option<String>,

    /// The model: a short name, provider:id, script:FILE, replay:FILE or record:FILE,MODEL
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,

    /// An option of the agent, over what its file says; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    set: Vec<(String, Value)>,
}

/// How much is shown, and in which form.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Output {
    /// Print one JSON document instead of text: answer, programs, usage, turns, calls, fuel, bytes kept
    #[arg(long)]
    json: bool,

    /// Show nothing but the answer
    #[arg(long, short)]
    quiet: bool,

    /// Print an answer in text while the model writes it
    #[arg(long, conflicts_with = "json")]
    stream: bool,
}

const AFTER_HELP: &str = concat!(
    agent_codes!(),
    r#"
Examples:
  ptc run agent.toml --input data.json
  ptc run "How many rows have no owner?" --data rows=@rows.json --signature "(rows [:map]) -> :int" --model haiku
  ptc run agent.toml --input data.json --json | jq .answer
  ptc run "Write a poem about rain" --set output=text --model haiku --stream
  ptc run agent.toml --model replay:calls.jsonl      # no network: answers that were recorded
  ptc run agent.toml --model record:calls.jsonl,haiku
  ptc run agent.toml --input data.json --trace traces && ptc viewer traces

docs/agent-options.md lists what --set and files take."#
);

/// `name=value`; a value that is no JSON is a text.
fn setting(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE, for example max_turns=3")?;
    Ok((name.to_owned(), serde_json::from_str(value).unwrap_or_else(|_| Value::from(value))))
}

impl Changes {
    /// The mission of an agent with these changes.
    pub fn mission(&self, agent: &str, inputs: &Inputs) -> anyhow::Result<Mission> {
        let mut set: BTreeMap<String, Value> = self.set.iter().cloned().collect();
        if let Some(signature) = &self.signature {
            set.insert("signature".to_owned(), Value::from(signature.as_str()));
        }
        Mission::new(agent, self.model.as_deref(), set, inputs.read()?)
    }
}

/// Runs the command.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let mission = args.changes.mission(&args.agent, &args.inputs)?;
    let ready = mission.ready()?;
    let tracer = args.trace.tracer()?;
    let progress = Arc::new(Progress::new(args.output.quiet));
    let mut options = ready.options(&mission.inputs);
    if args.output.stream {
        let progress = progress.clone();
        options.on_chunk = Some(Arc::new(move |piece| progress.answer(piece)));
    }
    let step = runtime()?.block_on(drive(&ready, options, &progress, tracer.clone()));
    progress.end();
    tracer.map(|tracer| tracer.flush());
    let shown = Shown { model: &ready.model, run: None, printed: progress.has_answered() };
    finish(&step, &shown, args.output)
}

/// Only commands that ask models have a runtime.
pub fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.enable_all().worker_threads(2).build().context("cannot start")
}

async fn drive(ready: &Ready, options: RunOptions, progress: &Arc<Progress>, tracer: Option<Tracer>) -> Step {
    let shown = progress.clone();
    let around = Surroundings {
        subscriber: Some(Arc::new(move |event| {
            shown.event(event);
            tracer.iter().for_each(|tracer| tracer.agent_event(event));
        })),
        cancel: Some(stop_on_interrupt()),
        ..Surroundings::default()
    };
    run_in(ready.agent.clone(), options, around).await
}

/// Ctrl-C stops the run, a second one the process.
fn stop_on_interrupt() -> CancellationToken {
    let token = CancellationToken::new();
    let stop = token.clone();
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() {
            if stop.is_cancelled() {
                std::process::exit(Outcome::Cancelled as i32);
            }
            stop.cancel();
        }
    });
    token
}

/// Prints what came of a run.
pub fn finish(step: &Step, shown: &Shown<'_>, output: Output) -> anyhow::Result<Outcome> {
    let mut out = io::stdout().lock();
    let written = match (output.json, step.is_ok()) {
        (true, _) => writeln!(out, "{}", agents::document(step, shown)),
        // What is there already ends with its line.
        (false, _) if shown.printed => writeln!(out),
        (false, true) => writeln!(out, "{}", agents::answer(&step.value)),
        (false, false) => Ok(()),
    };
    ignore_closed_pipe(written.and_then(|()| out.flush()))?;
    if let Some(failure) = agents::failure(step, shown) {
        eprintln!("ptc: {failure}");
    }
    if !output.quiet {
        eprintln!("{}", agents::cost(&step.usage));
    }
    Ok(agents::outcome(step))
}
