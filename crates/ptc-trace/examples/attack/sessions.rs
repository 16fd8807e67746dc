//! Programs on machines that stay, one per owner: what servers and agents look at between programs.

use std::time::Duration;

use ptc_host::{Bounds as Time, Limits, drive};
use ptc_lisp::machine::Machine;
use ptc_lisp::render;
use ptc_lisp::view::Bounds;
use ptc_signature::{Mode, Signature, mask};
use serde_json::json;

use crate::Tally;
use crate::job::{Allowed, Job, Step};
use crate::meter::used;
use crate::{inputs, planted};

/// Definitions that are looked at.
const LOOKED_AT: usize = 12;

pub fn limits(allowed: &Allowed) -> Limits {
    Limits { fuel: allowed.fuel, memory: allowed.memory, ..Limits::default() }
}

pub fn run(job: &Job, tally: &mut Tally) {
    let mut machines: Vec<Option<Machine>> = (0..job.owners()).map(|_| None).collect();
    for (at, step) in job.steps.iter().enumerate() {
        let begun = used();
        let machine = machines[step.owner].take().map_or_else(|| fresh(job, tally), Ok);
        match machine {
            Err(end) => tally.report.ends.push(end),
            Ok(mut machine) => {
                program(job, step, &mut machine, tally);
                // Programs after it would find nothing of those before.
                if at + 1 == job.steps.len() && job.number.is_multiple_of(3) {
                    tally.exit("take back", || machine.take_back());
                }
                machines[step.owner] = if job.dump { reloaded(machine, job, tally) } else { Some(machine) };
            }
        }
        tally.took(used().saturating_sub(begun));
    }
    let begun = used();
    tally.exit("drop", || drop(machines));
    tally.took(used().saturating_sub(begun));
}

fn fresh(job: &Job, tally: &mut Tally) -> Result<Machine, String> {
    tally.child.place.at("inputs");
    let mut machine = Machine::new(limits(&job.allowed));
    machine.set_clock(1_700_000_000_000);
    machine.set_seed(job.number);
    machine.set_takes_back(job.number.is_multiple_of(3));
    machine.set_overlay(job.number % 3 == 1);
    machine.set_history_bytes(job.number.is_multiple_of(2).then_some(4_096));
    machine.set_firewall(job.number % 2 == 1);
    let prelude = tally.child.inputs.prelude.as_ref().filter(|_| job.prelude);
    let ready = prelude.map_or(Ok(()), |prelude| machine.attach(prelude));
    let ready = ready.and_then(|()| machine.set_data_json(&inputs::text(job.inputs)));
    let ready = ready.and_then(|()| machine.set_budget(&json!({"turns": 3, "tokens": {"left": 1e9}})));
    ready.map(|()| machine).map_err(|error| error.kind.reason().to_owned())
}

fn program(job: &Job, step: &Step, machine: &mut Machine, tally: &mut Tally) {
    if tally.child.planted {
        planted::fall(&step.source);
    }
    let time = Time { timeout: Some(Duration::from_millis(job.allowed.millis)), cancel: None };
    let ran = tally.exit("run", || drive(machine, &step.source, &inputs::tools(), &time));
    let owner = step.owner;
    match &ran.result {
        Err(error) => {
            tally.report.ends.push(error.kind.reason().to_owned());
            let text = tally.exit("error", || {
                let people = render::for_people(error, &step.source, "program");
                format!("{}{people}{}", error.text(), render::for_models(error, &step.source))
            });
            tally.seen(job, owner, "error", &text);
        }
        Ok(signal) => {
            tally.report.ends.push(format!("{signal:?}").to_lowercase());
            let text = tally.exit("value", || machine.value());
            tally.seen(job, owner, "value", &text);
            drop(text);
            schema(job, owner, machine, tally);
            tally.exit("value without JSON", || machine.value_without_json());
        }
    }
    let prints = tally.exit("print", || machine.prints().join("\n"));
    tally.seen(job, owner, "prints", &prints);
    drop((prints, ran));
    look(job, owner, machine, tally);
}

/// The value as JSON, checked as the answer of an agent or a call is.
fn schema(job: &Job, owner: usize, machine: &Machine, tally: &mut Tally) {
    let json = tally.exit("JSON", || machine.value_json());
    let Some(signature) = job.signature.as_deref().and_then(|text| Signature::parse(text).ok()) else {
        let text = json.to_string();
        return tally.seen(job, owner, "JSON", &text);
    };
    let told = tally.exit("schema", || {
        let checked = signature.validate_output(&json, Mode::Enabled);
        let lenient = signature.output.coerce(&json, Mode::Enabled);
        let issues = checked.err().map(|rejection| rejection.feedback("wrong"));
        format!("{issues:?}{}{}", lenient.is_ok(), mask(&json))
    });
    tally.seen(job, owner, "JSON", &told);
}

/// What is looked at between programs.
fn look(job: &Job, owner: usize, machine: &mut Machine, tally: &mut Tally) {
    let narrow = Bounds { items: 5, string_chars: 40, depth: 3, tail: 3, sorted: true, firewall: false };
    for bounds in [Bounds::default(), narrow] {
        let text = tally.exit("view", || {
            let mut text = format!("{:?}{:?}", machine.glimpse_result(&bounds), machine.history(&bounds));
            for name in machine.data_names() {
                text.push_str(&format!("{:?}", machine.view_data(&name, &bounds)));
            }
            text
        });
        tally.seen(job, owner, "view", &text);
        for name in machine.definitions().into_iter().take(LOOKED_AT) {
            let text = tally.exit("view of a definition", || {
                format!("{:?}{:?}", machine.glimpse_definition(&name, &bounds), machine.function(&name))
            });
            tally.seen(job, owner, "definition", &text);
        }
    }
    for name in machine.definitions().into_iter().take(LOOKED_AT) {
        let json = tally.exit("definition", || machine.definition_json(&name));
        let text = json.unwrap_or_default().to_string();
        tally.seen(job, owner, "definition", &text);
    }
    let text = tally.exit("task", || machine.journal().to_string());
    tally.seen(job, owner, "journal", &text);
    tally.exit("step", || machine.take_steps());
    tally.exit("memory", || (machine.memory_bytes(), machine.live_bytes(), machine.size_hint()));
}

/// The machine from its bytes. They and the machine are never more than two at a time.
fn reloaded(machine: Machine, job: &Job, tally: &mut Tally) -> Option<Machine> {
    let written = tally.exit("dump", || machine.dump());
    let Ok(bytes) = written else { return Some(machine) };
    tally.exit("drop", || drop(machine));
    let preludes: Vec<_> = tally.child.inputs.prelude.iter().filter(|_| job.prelude).cloned().collect();
    let loaded = tally.exit("load", || Machine::load_dump_with(&bytes, &limits(&job.allowed), &preludes));
    loaded.map_err(|error| tally.unreadable(&error.to_string())).ok()
}
