//! `ptc resume`: goes on with a run that was interrupted.

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use ptc_runner::model::Reply;
use ptc_runner::{Answerer, Decision, Saved, Step, Supply, pending};
use ptc_store::runs::KeptRun;
use ptc_system::owned::{self, Reach};
use ptc_upstream::Redactor;

use super::shell::{Named, models};
use crate::agents::{
    Checkpoints, Conduct, Decisions, From, Mission, Models, Output, ReadyMission, RunsPlace, Shown, conduct,
    finish, may_go_on, missing, runtime, subject,
};
use crate::exit::{Outcome, agent_codes};
use crate::terminal::{self, errln, plain};
use crate::traces::RecordArgs;

/// Go on with a run that was interrupted: by Ctrl-C, by the end of its process, by a model that could not be
/// reached, or because it waits for a person.
///
/// Nothing that was answered is asked again. What was asked and not answered is asked again, if that cannot do
/// harm: models, and tools that only read or are idempotent. Of other calls the program is told what somebody settled
/// with `ptc effects settle`, or that their outcome is unknown.
///
/// Calls that wait for a person are decided with --approve, --reject and --edit, or on the terminal. `ptc runs`
/// lists them.
///
/// A run that is over gives its answer again.
#[derive(Debug, clap::Args)]
#[command(after_long_help = agent_codes!())]
pub struct ResumeArgs {
    /// The run; the beginning of its id is enough
    #[arg(value_name = "RUN")]
    run: String,

    #[command(flatten)]
    place: RunsPlace,

    /// The file of the agent, in place of the one that the checkpoint names
    #[arg(long, value_name = "FILE")]
    agent: Option<PathBuf>,

    /// Another model from here on
    #[arg(long, value_name = "MODEL", value_parser = Named(models), hide_possible_values = true)]
    model: Option<String>,

    /// Make calls again whose outcome is unknown, although they may have changed something
    #[arg(long)]
    repeat: bool,

    #[command(flatten)]
    decisions: Decisions,

    #[command(flatten)]
    output: Output,

    #[command(flatten)]
    record: RecordArgs,
}

/// Runs the command.
pub fn run(args: ResumeArgs) -> anyhow::Result<Outcome> {
    let checkpoints = Checkpoints::existing(&args.place)?;
    let (id, kept) = checkpoints.find(&args.run)?;
    if let Some(step) = settled(&kept) {
        let resume = checkpoints.command(&id);
        let shown = Shown { model: "", run: Some(&id), resume: Some(&resume), printed: false };
        return finish(&step, &shown, args.output, &Redactor::new(&Models::load()?.keys()));
    }
    // Whatever is missing is told before the run is touched.
    let mut mission: Mission = serde_json::from_value(kept.origin.clone())
        .with_context(|| format!("run {id} was kept by another version of ptc"))?;
    if let Some(model) = &args.model {
        mission = mission.with_model(model)?;
    }
    mission = match &args.agent {
        Some(file) => mission.with_agent(file)?,
        None => {
            vouched_for(&mission, checkpoints.folder(), &id)?;
            mission
        }
    };
    let replies = replies(&kept)?;
    let runtime = runtime()?;
    let ready = mission.ready(&replies, &runtime)?;
    let watching = args.record.watch(
        || subject(&mission, &ready, args.output.streams()),
        &missing(&ready),
        &ready.redactor,
    )?;
    let decisions = decide(&args.decisions, &kept, &ready, &mission)?;
    let (keeper, kept, found) = checkpoints.go_on(&id, args.repeat)?;
    let from = match saved(&kept) {
        None => From::Beginning,
        Some(saved) => {
            let answers = saved.answers.iter().cloned().chain(found.answers).collect();
            let (repeat, did_not_happen, open) = (args.repeat, found.did_not_happen, found.open);
            From::Saved(Saved { decisions, repeat, answers, did_not_happen, open, ..saved })
        }
    };
    let what = Conduct { mission: &mission, ready: &ready, from, keeper: Some(keeper), watching };
    conduct(what, &runtime, args.output)
}

/// The files in the name of a model, which say what it answers or are written: `script:FILE`, `replay:FILE`,
/// `record:FILE,MODEL`.
fn files_of(model: &str) -> Vec<PathBuf> {
    match model.split_once(':') {
        Some(("script" | "replay", file)) => vec![file.into()],
        Some(("record", rest)) => {
            let (file, inner) = rest.split_once(',').unwrap_or((rest, ""));
            [vec![file.into()], files_of(inner)].concat()
        }
        _ => Vec::new(),
    }
}

/// Makes sure that somebody vouches for what a checkpoint names before anything of it is started: the files are the
/// user's own and nobody else can write them, or the person at the terminal says so.
fn vouched_for(mission: &Mission, folder: &Path, id: &str) -> anyhow::Result<()> {
    let (_, Some(file)) = mission.agent()? else { return Ok(()) };
    let named = mission.path().into_iter().chain(file.upstreams.clone()).chain(file.preludes.iter().cloned());
    let started = file.words.iter().filter(|path| path.is_file()).cloned();
    let replies = file.model.iter().chain(&file.tool_models).flat_map(|model| files_of(model));
    let mut all = named.chain(file.texts.keys().cloned()).chain(started).chain(replies);
    let checked =
        owned::check(folder, Reach::AllRead).and_then(|()| all.try_for_each(|path| owned::trusted(&path)));
    let Err(problem) = checked else { return Ok(()) };
    let path = mission.path().unwrap_or_default();
    let mut lines = vec![format!(
        "run {id} goes on with the agent of {}, but {}",
        plain(&path.display().to_string()),
        plain(&problem)
    )];
    for (tool, words) in &file.commands {
        lines.push(format!("  its tool {} runs: {}", plain(tool), plain(&words.join(" "))));
    }
    if let Some(upstreams) = &file.upstreams {
        lines.push(format!("  it starts the servers of {}", plain(&upstreams.display().to_string())));
    }
    if !(io::stdin().is_terminal() && terminal::stderr().is_terminal()) {
        bail!("{}\nname the agent yourself: ptc resume {id} --agent FILE", lines.join("\n"));
    }
    let columns = terminal::columns();
    lines.iter().for_each(|line| errln!("{}", terminal::quoting(line, columns)));
    terminal::look();
    match terminal::answer("start it (y/n)? ")?.unwrap_or_default().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => bail!("nothing was started"),
    }
}

/// The run as it was kept, if it got that far.
fn saved(kept: &KeptRun) -> Option<Saved> {
    let answers = kept.answers_after_state().map(|answer| (answer.ask, answer.bytes.clone()));
    Some(Saved { state: kept.state.clone()?, answers: answers.collect(), ..Saved::default() })
}

/// What the command line decides about the calls that wait.
fn decide(
    decisions: &Decisions,
    kept: &KeptRun,
    ready: &ReadyMission,
    mission: &Mission,
) -> anyhow::Result<Vec<(u64, Decision)>> {
    if decisions.is_empty() {
        return Ok(Vec::new());
    }
    let pending = match saved(kept) {
        None => Vec::new(),
        Some(saved) => pending(ready.agent.clone(), ready.options(mission.inputs.clone()), &saved)
            .map_err(|error| anyhow!("the run cannot go on: {error}"))?,
    };
    decisions.about(&pending)
}

/// The end of a run that would come to the same end again.
fn settled(kept: &KeptRun) -> Option<Step> {
    let step: Step = serde_json::from_value(kept.step.clone()?).ok()?;
    (!may_go_on(&step)).then_some(step)
}

/// What models said before.
fn replies(kept: &KeptRun) -> anyhow::Result<Vec<Reply>> {
    let mut replies = Vec::new();
    for answer in kept.answers.iter().filter(|answer| answer.kind == Answerer::Model.name()) {
        let supply = Supply::from_bytes(&answer.bytes)
            .map_err(|error| anyhow!("answer {} of the run: {error}", answer.number))?;
        if let Supply::Model(Ok(reply)) = supply {
            replies.push(reply);
        }
    }
    Ok(replies)
}
