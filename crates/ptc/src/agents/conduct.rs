//! Conducts a mission from its beginning, or from where it was kept, to its end: progress, Ctrl-C, the journal,
//! and what is printed.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use ptc_runner::{
    Checkpoint, Journal, LostCall, OnLost, RunOptions, Saved, Step, Surroundings, resume, run_in, waiting,
};
use ptc_upstream::Redactor;
use serde_json::Value as Json;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use super::checkpoint::{Checkpoints, Keeper};
use super::consent::Terminal;
use super::lent::RunCalls;
use super::mission::{Mission, ReadyMission};
use super::progress::Progress;
use super::show::{self, Shown};
use crate::commands::ignore_closed_pipe;
use crate::exit::Outcome;
use crate::terminal::{self, errln};
use crate::traces::Watching;

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

impl Output {
    /// Whether pieces of the answer are printed as they come.
    pub fn streams(self) -> bool {
        self.stream
    }
}

/// Where a run begins.
pub enum From {
    /// At its beginning.
    Beginning,
    /// Where it was kept.
    Saved(Saved),
}

/// What is conducted.
pub struct Conduct<'a> {
    /// The mission.
    pub mission: &'a Mission,
    /// What it needs.
    pub ready: &'a ReadyMission,
    /// Where it begins.
    pub from: From,
    /// Who keeps it.
    pub keeper: Option<Keeper>,
    /// Who watches it.
    pub watching: Watching,
}

/// Conducts a mission and prints what came of it.
pub fn conduct(what: Conduct<'_>, runtime: &Runtime, output: Output) -> anyhow::Result<Outcome> {
    let Conduct { mission, ready, from, keeper, watching } = what;
    let progress = Arc::new(Progress::new(output.quiet, ready.redactor.clone()));
    let keeper = keeper.map(Arc::new);
    if let Some(keeper) = &keeper {
        progress.say(&format!("run {}", keeper.id()));
        if let Some(upstreams) = &ready.upstreams {
            upstreams.calls().keep(keeper.id(), keeper.journal.clone(), &BTreeSet::new())?;
        }
    }
    let notes = ready.upstreams.as_ref().map(|upstreams| upstreams.notes(&ready.agent));
    notes.iter().flatten().for_each(|note| progress.say(note));
    let left = Arc::new(Left::default());
    let calls = ready.upstreams.as_ref().map(|upstreams| upstreams.calls().clone());
    let (shown, watched) = (progress.clone(), watching.clone());
    let around = Surroundings {
        subscriber: Some(Arc::new(move |event| {
            shown.event(&event);
            watched.event(event);
        })),
        journal: keeper.clone().map(|keeper| keeper as Arc<dyn Journal>),
        on_lost: Some(left.clone().hear()),
        on_stop: Some(left.clone().keep(mission.clone(), mission.title(&ready.agent), calls)),
        tape: watching.tape(),
        approver: Terminal::open(&progress),
        ..Surroundings::default()
    };
    let mut options = ready.options(mission.inputs.clone());
    if output.stream {
        let progress = progress.clone();
        options.on_chunk = Some(Arc::new(move |piece| progress.answer(piece)));
    }
    let step = runtime.block_on(async {
        let step = drive(ready, options, from, around).await;
        if let Some(upstreams) = &ready.upstreams {
            upstreams.close().await;
        }
        step
    });
    progress.end_answer();
    // Of servers that came up meanwhile.
    let warnings = ready.upstreams.as_ref().map(|upstreams| upstreams.pin_warnings());
    warnings.iter().flatten().for_each(|warning| progress.say(warning));
    progress.end();
    watching.end(&step)?;
    let (left, problem) = match left.take() {
        Some(Ok(keeper)) => (Some(Arc::new(keeper)), None),
        Some(Err(problem)) => (None, Some(problem)),
        None => (None, None),
    };
    let keeper = keeper.or(left);
    if let Some(keeper) = &keeper {
        keeper.end(&step)?;
    }
    let (run, resume) = (keeper.as_ref().map(|it| it.id()), keeper.as_ref().map(|it| it.resume.as_str()));
    let shown = Shown { model: &ready.model, run, resume, printed: progress.has_answered() };
    let outcome = finish(&step, &shown, output, &ready.redactor)?;
    if let Some(problem) = problem {
        errln!("ptc: what it has done so far cannot be kept: {problem}");
    }
    Ok(outcome)
}

/// Only commands that ask models have a runtime.
pub fn runtime() -> anyhow::Result<Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.enable_all().worker_threads(2).build().context("cannot start")
}

async fn drive(ready: &ReadyMission, options: RunOptions, from: From, around: Surroundings) -> Step {
    let around = Surroundings { cancel: Some(stop_on_signal()), ..around };
    match from {
        From::Beginning => run_in(ready.agent.clone(), options, around).await,
        From::Saved(saved) => resume(ready.agent.clone(), options, saved, around).await,
    }
}

/// What is left of a run that was stopped and that no journal kept.
#[derive(Default)]
struct Left {
    /// Who keeps it now, or why nobody does.
    kept: Mutex<Option<Result<Keeper, String>>>,
    /// Calls of its own tools without which it went on, and of which nobody knows.
    lost: Mutex<Vec<LostCall>>,
}

impl Left {
    /// Remembers calls that were lost, until the run is kept.
    fn hear(self: Arc<Self>) -> OnLost {
        Arc::new(move |call| self.lost.lock().unwrap_or_else(PoisonError::into_inner).push(call.clone()))
    }

    /// Keeps a run in the usual folder, with its calls of which nobody knows.
    fn keep(self: Arc<Self>, mission: Mission, title: String, calls: Option<Arc<RunCalls>>) -> Checkpoint {
        let left = self.clone();
        let keep = move |bytes: &[u8]| -> anyhow::Result<Keeper> {
            let keeper = Checkpoints::open(None)?.begin(&title, &mission)?;
            if let Some(calls) = &calls {
                let waits = waiting(bytes)?.into_iter().map(|waits| waits.id).collect();
                // First, so that no call of a run that is kept passes for one that was never made.
                calls.keep(keeper.id(), keeper.journal.clone(), &waits)?;
            }
            for call in left.lost.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
                keeper.lost(&call).map_err(anyhow::Error::msg)?;
            }
            keeper.state(bytes).map_err(anyhow::Error::msg)?;
            Ok(keeper)
        };
        Arc::new(move |bytes: &[u8]| {
            let kept = keep(bytes).map_err(|error| format!("{error:#}"));
            *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
            Ok(())
        })
    }

    fn take(&self) -> Option<Result<Keeper, String>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Ctrl-C stops the run, a second one the process. So does the signal that asks processes to end.
fn stop_on_signal() -> CancellationToken {
    let token = CancellationToken::new();
    let stop = token.clone();
    let mut asked = asked_to_stop();
    tokio::spawn(async move {
        while asked.await.is_ok() {
            asked = asked_to_stop();
            if stop.is_cancelled() {
                std::process::exit(Outcome::Cancelled as i32);
            }
            stop.cancel();
        }
    });
    token
}

/// Waits until the process is asked to end. From the call on that does not kill it any more.
pub fn asked_to_stop() -> std::pin::Pin<Box<dyn Future<Output = io::Result<()>> + Send>> {
    #[cfg(unix)]
    let end = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate());
    Box::pin(async move {
        #[cfg(unix)]
        {
            let mut end = end?;
            tokio::select! {
                asked = tokio::signal::ctrl_c() => asked,
                _ = end.recv() => Ok(()),
            }
        }
        #[cfg(not(unix))]
        tokio::signal::ctrl_c().await
    })
}

/// Prints what came of a run, with secrets covered.
pub fn finish(
    step: &Step,
    shown: &Shown<'_>,
    output: Output,
    redactor: &Redactor,
) -> anyhow::Result<Outcome> {
    let covered = |mut value: Json| {
        redactor.redact_json(&mut value);
        value
    };
    let mut out = terminal::stdout();
    let written = match (output.json, step.is_ok()) {
        (true, _) => writeln!(out, "{}", covered(show::document(step, shown))),
        // What is there already ends with its line.
        (false, _) if shown.printed => writeln!(out),
        (false, true) => writeln!(out, "{}", show::answer(&covered(step.value.clone()))),
        (false, false) => Ok(()),
    };
    ignore_closed_pipe(written.and_then(|()| out.flush()))?;
    if let Some(failure) = show::failure(step, shown, redactor) {
        errln!("ptc: {}", redactor.redact_str(&failure));
    }
    // Where no warning is shown this is: an answer that is none must not pass for one.
    if output.quiet && step.usage.fallback_used {
        errln!("ptc: no program returned an answer; this is the last value (fallback)");
    }
    if !output.quiet {
        for warning in show::untold_warnings(step) {
            errln!("ptc: warning: {}", redactor.redact_str(&terminal::plain(warning)));
        }
        errln!("{}", show::cost(&step.usage));
    }
    Ok(show::outcome(step))
}
