//! Recordings of calls: everything that came into a program or a task, as files in a folder that holds so many.
//! `ptc replay` plays them. Nothing here can fail a call; what cannot be written is lost, and the log says so.

use std::sync::Arc;

use ptc_host::{Outcome, Program};
use ptc_trace::recording::{Begun, Keeping, Recorder, Running, Shelf, Taped};
use ptc_upstream::Redactor;
use serde_json::{Map, Value as Json};

use super::context::Context;
use super::settings::Settings;

/// Where calls are recorded, if they are.
#[derive(Default)]
pub struct Recordings(Option<KeptRecording>);

struct KeptRecording {
    shelf: Arc<Shelf>,
    keeping: Keeping,
}

impl std::fmt::Debug for Recordings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Recordings({})", self.0.is_some())
    }
}

impl Recordings {
    /// Opens what the settings name; a folder that cannot be written keeps the server from starting.
    pub fn open(settings: &Settings, redactor: &Redactor) -> Result<Recordings, String> {
        let Some(dir) = &settings.record_dir else { return Ok(Recordings(None)) };
        let shelf = Shelf::open(dir, settings.record_max_files)
            .map_err(|error| format!("--record-dir {}: {error}", dir.display()))?;
        let redactor = redactor.clone();
        let keeping = Keeping {
            cover: Some(Arc::new(move |json| redactor.redact_json(json))),
            most_bytes: Some(settings.record_max_bytes),
        };
        Ok(Recordings(Some(KeptRecording { shelf: Arc::new(shelf), keeping })))
    }

    /// Inputs as recordings keep them; none if nothing is recorded.
    pub fn inputs(&self, context: &Context) -> Map<String, Json> {
        self.0.as_ref().map(|_| context.texts()).unwrap_or_default()
    }

    /// A program, with what records it.
    pub fn program(&self, program: Program, begun: impl FnOnce(&Program) -> Begun) -> (Program, Recorded) {
        let Some(kept) = &self.0 else { return (program, Recorded(None)) };
        let shelf = kept.shelf.clone();
        let taped = Taped::new(begun(&program), kept.keeping.clone(), move || shelf.place());
        (taped.attach(program), Recorded(Some(taped)))
    }

    /// What records the run of a task.
    pub fn run(&self, subject: impl FnOnce() -> Json) -> Option<Running> {
        let kept = self.0.as_ref()?;
        match Recorder::keeping(&kept.shelf.place(), subject(), &[], kept.keeping.clone()) {
            Ok(recorder) => Some(Running::new(recorder)),
            Err(error) => {
                lost(&error);
                None
            }
        }
    }
}

/// The recording of a program, if there is one.
#[derive(Default)]
pub struct Recorded(Option<Taped>);

impl Recorded {
    /// Ends it with what came of the program.
    pub async fn end(self, outcome: &Outcome) {
        let Some(taped) = self.0 else { return };
        let outcome = outcome.clone();
        apart(move || taped.finish(&outcome).map(drop)).await;
    }
}

/// Ends the recording of a task.
pub async fn end_run(running: Option<Running>, step: Option<&ptc_agent::Step>) {
    if let (Some(running), Some(step)) = (running, step.cloned()) {
        apart(move || running.finish(&step)).await;
    }
}

/// Writes where nobody waits.
async fn apart(work: impl FnOnce() -> std::io::Result<()> + Send + 'static) {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => lost(&error),
        Err(error) => lost(&std::io::Error::other(error)),
    }
}

fn lost(error: &std::io::Error) {
    tracing::warn!("a call is not recorded: {error}");
}
