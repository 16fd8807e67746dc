//! `ptc run`: runs an agent and prints its answer.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use super::shell::{Named, models};
use crate::agents::{
    Checkpoints, Conduct, From, Inputs, Mission, Output, conduct, missing, runtime, subject,
};
use crate::exit::{Outcome, agent_codes};
use crate::traces::RecordArgs;

/// Run an agent: a model writes a program, the program works on the inputs and calls tools, and its answer is
/// printed.
///
/// The answer goes to standard output. Standard error shows turns, programs and calls while they happen, and at
/// the end what the run cost.
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct RunArgs {
    /// The file of an agent (agent.toml, agent.json), a folder with an agent.toml, or the mission in words
    #[arg(value_name = "AGENT")]
    agent: String,

    #[command(flatten)]
    inputs: Inputs,

    #[command(flatten)]
    changes: Changes,

    /// Where random numbers of programs begin; at random by default
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Keep the run in this folder while it goes on: `ptc resume` goes on with it, whatever ends it
    #[arg(long, value_name = "DIR")]
    checkpoint: Option<PathBuf>,

    #[command(flatten)]
    output: Output,

    #[command(flatten)]
    record: RecordArgs,
}

/// What the command line changes of an agent.
#[derive(Clone, Debug, clap::Args)]
pub struct Changes {
    /// What the agent takes and gives, for example "(rows [:map]) -> {total :float}"
    #[arg(long, value_name = "SIGNATURE", allow_hyphen_values = true)]
    signature: Option<String>,

    /// The model: a short name, provider:id, script:FILE, replay:FILE or record:FILE,MODEL
    #[arg(long, value_name = "MODEL", value_parser = Named(models), hide_possible_values = true)]
    model: Option<String>,

    /// An option of the agent, over what its file says; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    set: Vec<(String, Value)>,
}

const AFTER_HELP: &str = concat!(
    agent_codes!(),
    r#"
Examples:
  ptc run agent.toml --input data.json
  ptc run "How many rows have no owner?" --data rows=@rows.json --signature "(rows [:map]) -> :int" --model haiku
  ptc run agent.toml --input data.json --json | jq .answer
  ptc run "Write a poem about rain" --set output=text --model haiku --stream
  ptc run agent.toml --input data.json --checkpoint runs
  ptc run agent.toml --model replay:calls.jsonl      # no network: answers that were recorded
  ptc run agent.toml --model record:calls.jsonl,haiku
  ptc run agent.toml --input data.json --trace traces && ptc viewer traces
  ptc run agent.toml --input data.json --record run.recording && ptc replay run.recording

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
pub fn run(args: RunArgs) -> anyhow::Result<Outcome> {
    let mission = args.changes.mission(&args.agent, &args.inputs)?.with_seed(args.seed);
    let runtime = runtime()?;
    let ready = mission.ready(&[], &runtime)?;
    let watching = args.record.watch(
        || subject(&mission, &ready, args.output.streams()),
        &missing(&ready),
        &ready.redactor,
    )?;
    let keeper = match &args.checkpoint {
        Some(folder) => Some(Checkpoints::open(Some(folder))?.begin(&mission.title(&ready.agent), &mission)?),
        None => None,
    };
    let what = Conduct { mission: &mission, ready: &ready, from: From::Beginning, keeper, watching };
    conduct(what, &runtime, args.output)
}
