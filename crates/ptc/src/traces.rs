//! Traces and recordings of commands: where they go and how much they keep.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use crate::agents::restore;
use crate::terminal::errln;
use anyhow::{anyhow, bail};
use ptc_host::{Outcome, Tools};
use ptc_runner::tape::Taper;
use ptc_runner::{Event, Step};
use ptc_trace::recording::{Begun, Keeping, Recorder, Running, Shelf, Taped};
use ptc_trace::{Files, Keep, Options, Otlp, Policy, Sink, Span, Tracer, subject};
use ptc_upstream::Redactor;
use serde_json::{Value as Json, json};

/// What help lists them below.
const HEADING: &str = "Traces and recordings";

/// What a command traces.
#[derive(Clone, Debug, clap::Args)]
pub struct TraceArgs {
    /// Write a trace into a directory; `ptc viewer DIR` shows it
    #[arg(long, help_heading = HEADING, value_name = "DIR")]
    trace: Option<PathBuf>,

    /// How much of programs, arguments and results a trace keeps: none, summary or full
    #[arg(long, help_heading = HEADING, value_name = "POLICY", default_value_t = Policy::Summary)]
    trace_payload: Policy,

    /// Send spans to an OpenTelemetry collector, for example http://127.0.0.1:4318
    #[arg(long, help_heading = HEADING, value_name = "URL", env = "OTEL_EXPORTER_OTLP_ENDPOINT")]
    otlp: Option<String>,
}

impl TraceArgs {
    /// The tracer, if anything is to be traced; secrets are covered before any sink sees them.
    pub fn tracer(&self, redactor: &Redactor) -> anyhow::Result<Option<Tracer>> {
        let mut sinks: Vec<Box<dyn Sink>> = Vec::new();
        if let Some(dir) = &self.trace {
            let wrong = |error| anyhow!("--trace: cannot write into {}: {error}", dir.display());
            sinks.push(Box::new(Files::open(dir, Keep::default()).map_err(wrong)?));
        }
        if let Some(address) = self.otlp.as_deref().filter(|address| !address.is_empty()) {
            let service = std::env::var("OTEL_SERVICE_NAME").unwrap_or_else(|_| "ptc".to_owned());
            let complain = Arc::new(|message: &str| errln!("ptc: --otlp: {message}"));
            let otlp = Otlp::new(address, &service, complain).map_err(|error| anyhow!("--otlp: {error}"))?;
            sinks.push(Box::new(otlp));
        }
        let redactor = redactor.clone();
        let scrub = move |text: &str| match redactor.redact_str(text) {
            Cow::Owned(covered) => Some(covered),
            Cow::Borrowed(_) => None,
        };
        let options =
            Options { policy: self.trace_payload, scrub: Some(Arc::new(scrub)), ..Options::default() };
        Ok((!sinks.is_empty()).then(|| Tracer::new(options, sinks)))
    }
}

/// What a run of an agent records.
#[derive(Clone, Debug, clap::Args)]
pub struct RecordArgs {
    #[command(flatten)]
    trace: TraceArgs,

    /// Write everything that comes into the run, with known secrets covered, for `ptc replay`; without FILE, beside the trace
    #[arg(long, help_heading = HEADING, value_name = "FILE", num_args = 0..=1)]
    record: Option<Option<PathBuf>>,
}

impl RecordArgs {
    /// Watches a run as the command line says. What the run is begun from is asked for only if it is recorded.
    pub fn watch(
        &self,
        subject: impl FnOnce() -> anyhow::Result<Json>,
        missing: &[String],
        redactor: &Redactor,
    ) -> anyhow::Result<Watching> {
        let recorder = match self.file()? {
            None => None,
            Some(path) => {
                let wrong = |error| anyhow!("--record: cannot write {}: {error}", path.display());
                let recorder = Recorder::keeping(&path, subject()?, missing, keeping(redactor));
                let recorder = recorder.map_err(wrong)?;
                Some(Running::new(recorder))
            }
        };
        Ok(Watching { tracer: self.trace.tracer(redactor)?, recorder })
    }

    /// The tape of a program without an agent, if it is recorded.
    pub fn program(
        &self,
        begun: impl FnOnce() -> Begun,
        redactor: &Redactor,
    ) -> anyhow::Result<Option<Taped>> {
        let taped = |path: PathBuf| Taped::new(begun(), keeping(redactor), move || path);
        Ok(self.file()?.map(taped))
    }

    /// The tracer, if anything is to be traced.
    pub fn tracer(&self, redactor: &Redactor) -> anyhow::Result<Option<Tracer>> {
        self.trace.tracer(redactor)
    }

    /// Where the recording goes.
    fn file(&self) -> anyhow::Result<Option<PathBuf>> {
        let dir = match (&self.record, &self.trace.trace) {
            (None, _) => return Ok(None),
            (Some(Some(path)), _) if !path.is_dir() => {
                // Told before anything runs, not when the file is begun.
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
                if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
                    let (path, folder) = (path.display(), folder.display());
                    bail!("--record: cannot write {path}: there is no folder {folder}; make it first");
                }
                return Ok(Some(path.clone()));
            }
            (Some(Some(dir)), _) | (Some(None), Some(dir)) => dir,
            (Some(None), None) => bail!("--record: give a FILE, or --trace DIR to write it beside the trace"),
        };
        let shelf = Shelf::open(dir, usize::MAX)
            .map_err(|error| anyhow!("--record: cannot write into {}: {error}", dir.display()))?;
        Ok(Some(shelf.place()))
    }
}

/// Secrets are covered in recordings as in whatever else leaves: files are kept, copied and sent to others.
fn keeping(redactor: &Redactor) -> Keeping {
    let covers = (!redactor.is_none()).then(|| redactor.clone());
    Keeping {
        cover: covers.map(|redactor| Arc::new(move |json: &mut Json| redactor.redact_json(json)) as _),
        ..Keeping::default()
    }
}

/// What watches a run of an agent.
#[derive(Clone)]
pub struct Watching {
    tracer: Option<Tracer>,
    recorder: Option<Running>,
}

impl Watching {
    /// Takes an event of the run.
    pub fn event(&self, event: Event) {
        self.recorder.iter().for_each(|recorder| recorder.event(&event));
        self.tracer.iter().for_each(|tracer| tracer.agent_event(&event));
    }

    /// What takes everything that comes into the run, if that is recorded.
    pub fn tape(&self) -> Option<Taper> {
        self.recorder.as_ref().map(Running::tape)
    }

    /// The run is over.
    pub fn end(&self, step: &Step) -> anyhow::Result<()> {
        if let Some(tracer) = &self.tracer {
            // What is not on disk by now gets another chance when the tracer goes.
            let _ = tracer.flush();
        }
        let again = |subject: &Json| restore(subject).ok();
        let finished =
            self.recorder.as_ref().map_or(Ok(()), |recorder| recorder.finish_as_covered(step, again));
        finished.map_err(|error| anyhow!("--record: the recording is not whole: {error}"))
    }
}

/// The trace of a program that no agent runs.
pub struct Traced {
    span: Arc<Span>,
    tracer: Tracer,
}

impl Traced {
    /// Begins a trace of a program.
    pub fn begin(tracer: Tracer, name: &str, source: &str, seed: u64) -> Self {
        // As text: readers that know only floating-point numbers would round it.
        let seed = seed.to_string();
        let facts = json!({"program": source, "program_bytes": source.len(), "caller": "eval", "seed": seed});
        let span = Arc::new(tracer.begin("eval", subject::EXECUTE, name, facts));
        Traced { span, tracer }
    }

    /// Tools whose calls stand in the trace.
    pub fn watch(&self, tools: &Tools) -> Tools {
        self.span.watch(tools)
    }

    /// Ends the trace with what came of the program.
    pub fn end(self, outcome: &Outcome) {
        self.span.outcome(outcome);
        self.tracer.flush();
    }
}
