//! Traces of commands: where they go and how much they keep.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::anyhow;
use ptc_host::{Outcome, Ran, Tools};
use ptc_lisp::machine::Machine;
use ptc_trace::{Files, Keep, Options, Policy, Sink, Span, Tracer, subject};
use serde_json::json;

/// What a command traces.
#[derive(Clone, Debug, clap::Args)]
pub struct TraceArgs {
    /// Write a trace into a directory; `ptc viewer DIR` shows it
    #[arg(long, value_name = "DIR")]
    trace: Option<PathBuf>,

    /// How much of programs, arguments and results a trace keeps: none, summary or full
    #[arg(long, value_name = "POLICY", default_value_t = Policy::Summary)]
    trace_payload: Policy,
}

impl TraceArgs {
    /// The tracer, if anything is to be traced.
    pub fn tracer(&self) -> anyhow::Result<Option<Tracer>> {
        let mut sinks: Vec<Box<dyn Sink>> = Vec::new();
        if let Some(dir) = &self.trace {
            let wrong = |error| anyhow!("--trace: cannot write into {}: {error}", dir.display());
            sinks.push(Box::new(Files::open(dir, Keep::default()).map_err(wrong)?));
        }
        let options = Options { policy: self.trace_payload, ..Options::default() };
        Ok((!sinks.is_empty()).then(|| Tracer::new(options, sinks)))
    }
}

/// The trace of a program that no agent runs.
pub struct Traced {
    span: Arc<Span>,
    tracer: Tracer,
}

impl Traced {
    /// Begins a trace of a program.
    pub fn begin(tracer: Tracer, name: &str, source: &str) -> Self {
        let facts = json!({"program": source, "program_bytes": source.len(), "caller": "eval"});
        let span = Arc::new(tracer.begin("eval", subject::EXECUTE, name, facts));
        Traced { span, tracer }
    }

    /// Tools whose calls stand in the trace.
    pub fn watch(&self, tools: &Tools) -> Tools {
        self.span.watch(tools)
    }

    /// Ends the trace with what came of the program.
    pub fn end(self, machine: &mut Machine, ran: &Ran) {
        let outcome = Outcome {
            result: ran.result.clone(),
            value: ran.result.as_ref().map_or_else(|_| String::new(), |_| machine.value()),
            json: serde_json::Value::Null,
            prints: machine.prints().to_vec(),
            fuel: machine.fuel_used(),
            calls: ran.calls.clone(),
            manifest: ran.manifest.clone(),
            elapsed: ran.elapsed,
            turns: ran.turns,
        };
        self.span.outcome(&outcome);
        self.tracer.flush();
    }
}
