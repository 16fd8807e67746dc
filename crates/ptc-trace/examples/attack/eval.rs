//! Programs by themselves, as `ptc eval` and `lisp_eval` run them: what came of one, its trace, and its recording,
//! which is played.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ptc_host::{Outcome, Program, run_blocking};
use ptc_trace::recording::{Allowance, Begun, Keeping, Recording, Taped, verify_program};
use ptc_trace::{Memory, Options, Policy, Tracer};
use serde_json::json;

use crate::job::{Job, Step};
use crate::meter::used;
use crate::sessions::limits;
use crate::{Tally, inputs, planted};

pub fn run(job: &Job, tally: &mut Tally) {
    for step in &job.steps {
        let begun = used();
        if tally.child.planted {
            planted::fall(&step.source);
        }
        let program = program(job, step, tally);
        let (outcome, file) = match job.record {
            true => recorded(program, tally),
            false => (tally.exit("run", || run_blocking(&program)), None),
        };
        tally.report.ends.push(match &outcome.result {
            Ok(signal) => format!("{signal:?}").to_lowercase(),
            Err(error) => error.kind.reason().to_owned(),
        });
        for (what, text) in [("value", outcome.value.clone()), ("JSON", outcome.json.to_string())] {
            tally.seen(job, step.owner, what, &text);
        }
        drop(outcome);
        tally.took(used().saturating_sub(begun));
        if let Some(file) = file {
            let begun = used();
            let most = Allowance::new(limits(&job.allowed), Duration::from_millis(job.allowed.millis));
            tally.exit("replay", || {
                Recording::read(&file).map(|recording| verify_program(&recording, &most)).is_ok()
            });
            tally.took(used().saturating_sub(begun));
            // A folder of temporary files may have been emptied by others.
            let _ = std::fs::remove_file(file);
        }
    }
}

fn program(job: &Job, step: &Step, tally: &Tally) -> Program {
    let program = Program::new(step.source.as_str())
        .data_text(inputs::text(job.inputs))
        .tools(inputs::tools())
        .limits(limits(&job.allowed))
        .seed(job.number)
        .clock_ms(1_700_000_000_000)
        .timeout(Duration::from_millis(job.allowed.millis));
    match tally.child.inputs.prelude.as_ref().filter(|_| job.prelude) {
        Some(prelude) => program.prelude(prelude.clone()),
        None => program,
    }
}

/// With a trace that keeps payloads, and a recording.
fn recorded(mut program: Program, tally: &mut Tally) -> (Outcome, Option<PathBuf>) {
    // Events wait on another thread; what waits is part of what is measured.
    let options = Options { policy: Policy::Full, queue_bytes: 8 << 20, ..Options::default() };
    let tracer = Tracer::new(options, vec![Box::new(Memory::new(1 << 20))]);
    let span = Arc::new(tracer.begin("eval", "eval", "program", json!({"source": &*program.source})));
    program.tools = span.watch(&program.tools);
    let file = std::env::temp_dir().join(format!("ptc-attack-{}.jsonl", std::process::id()));
    let place = file.clone();
    let taped = Taped::new(Begun::of("eval", &program), Keeping::default(), move || place);
    let program = taped.attach(program);
    let outcome = tally.exit("run", || run_blocking(&program));
    tally.exit("trace", || {
        span.outcome(&outcome);
        tracer.flush();
    });
    let kept = tally.exit("recording", || taped.finish(&outcome));
    (outcome, matches!(kept, Ok(true)).then_some(file))
}
