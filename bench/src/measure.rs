//! Runs one workload on all engines in turn and compares their answers.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::Value as Json;

use crate::Options;
use crate::data::{Input, Inputs};
use crate::engines::{Job, Peer, Timed};
use crate::stats::median;
use crate::workloads::{Mode, Workload};

/// What one workload gave.
pub struct Row {
    /// Its short name.
    pub id: &'static str,
    /// What it does.
    pub title: &'static str,
    /// Median nanoseconds by engine; engines that have no program for it have none.
    pub ns: Vec<Option<f64>>,
    /// How much more a quarter and all of the size cost us than in proportion to a sixteenth.
    pub growth: Option<[f64; 2]>,
    /// Which engines failed, and how.
    pub failures: Vec<String>,
}

/// An engine that takes part in a workload.
struct Entry {
    place: usize,
    source: String,
    repeats: u32,
    times: Vec<f64>,
}

/// Measures one workload.
pub fn row(workload: &Workload, engines: &mut [Box<dyn Peer>], options: &Options) -> Result<Row> {
    let size = if workload.grows { (workload.size / options.shrink).max(16) } else { workload.size };
    let inputs = (workload.inputs)(size);
    let mut row = Row {
        id: workload.id,
        title: workload.title,
        ns: vec![None; engines.len()],
        growth: None,
        failures: Vec::new(),
    };
    let mut entries = Vec::new();
    let mut expected = workload.answer.filter(|_| size == workload.size).map(Json::from);
    for (place, engine) in engines.iter_mut().enumerate() {
        let Some(source) = program(workload, engine.as_ref())? else { continue };
        let mut entry = Entry { place, source, repeats: 1, times: Vec::new() };
        match first(workload, engine.as_mut(), &mut entry, &inputs, options) {
            Ok(answer) => {
                let right = expected.get_or_insert_with(|| answer.clone());
                if same(right, &answer) {
                    entries.push(entry);
                } else {
                    row.failures.push(format!("{} answers {answer} instead of {right}", engine.name()));
                }
            }
            Err(error) => row.failures.push(format!("{}: {error:#}", engine.name())),
        }
    }
    for _ in 0..options.passes {
        for entry in &mut entries {
            let timed = once(workload, engines[entry.place].as_mut(), entry, &inputs)?;
            entry.times.push(timed.ns / per(workload, size));
        }
    }
    for entry in &mut entries {
        row.ns[entry.place] = Some(median(&mut entry.times));
    }
    // The inputs of this workload must not weigh on the next.
    engines.iter_mut().try_for_each(|engine| engine.open(&Inputs::new()))?;
    row.growth = workload.grows.then(|| growth(workload, engines[0].as_mut(), size, options)).transpose()?;
    Ok(row)
}

fn per(workload: &Workload, size: usize) -> f64 {
    if workload.per > 1 { size as f64 } else { 1.0 }
}

/// The program of a workload for an engine, if there is one.
fn program(workload: &Workload, engine: &dyn Peer) -> Result<Option<String>> {
    if !engine.can(workload.mode) {
        return Ok(None);
    }
    if workload.mode == Mode::Load {
        return Ok(Some(String::new()));
    }
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/programs"));
    let files = engine.languages().iter().map(|end| folder.join(format!("{}.{end}", workload.id)));
    match files.into_iter().find(|file| file.exists()) {
        Some(file) => Ok(Some(std::fs::read_to_string(&file).with_context(|| file.display().to_string())?)),
        None => Ok(None),
    }
}

/// Opens a sandbox, runs once for the answer and again to find how often a pass should repeat; compilers
/// at run time have some time to warm up.
fn first(
    workload: &Workload,
    engine: &mut dyn Peer,
    entry: &mut Entry,
    inputs: &Inputs,
    options: &Options,
) -> Result<Json> {
    let loads = matches!(workload.mode, Mode::Load | Mode::LoadRun);
    engine.open(if loads { const { &Vec::new() } } else { inputs })?;
    let answer = once(workload, engine, entry, inputs)?.answer;
    let started = Instant::now();
    let mut ns = once(workload, engine, entry, inputs)?.ns;
    while engine.jit() && started.elapsed() < options.warm_up {
        ns = once(workload, engine, entry, inputs)?.ns;
    }
    entry.repeats = (options.pass_ns / ns).clamp(1.0, 10_000.0) as u32;
    Ok(answer)
}

fn once(workload: &Workload, engine: &mut dyn Peer, entry: &Entry, inputs: &Inputs) -> Result<Timed> {
    let load = match (workload.mode, inputs.as_slice()) {
        (Mode::Load | Mode::LoadRun, [(name, Input::Json(text))]) => Some((*name, text.as_str())),
        (Mode::Load | Mode::LoadRun, _) => bail!("{} needs one input in JSON", workload.id),
        _ => None,
    };
    engine.measure(&Job { mode: workload.mode, source: &entry.source, load, repeats: entry.repeats })
}

/// Our cost at a quarter and at all of the size, each against its share of the cost at a sixteenth.
fn growth(workload: &Workload, ours: &mut dyn Peer, size: usize, options: &Options) -> Result<[f64; 2]> {
    let source = program(workload, ours)?.context("we have every program")?;
    let mut sizes = Vec::new();
    for part in [16, 4, 1] {
        let inputs = (workload.inputs)((size / part).max(1));
        let entry = Entry { place: 0, source: source.clone(), repeats: 1, times: Vec::new() };
        sizes.push((part, inputs, entry));
    }
    for _ in 0..options.passes {
        for (_, inputs, entry) in &mut sizes {
            if entry.times.is_empty() {
                first(workload, ours, entry, inputs, options)?;
            } else {
                let loads = matches!(workload.mode, Mode::Load | Mode::LoadRun);
                ours.open(if loads { const { &Vec::new() } } else { inputs })?;
            }
            let ns = once(workload, ours, entry, inputs)?.ns;
            entry.times.push(ns);
        }
    }
    ours.open(&Inputs::new())?;
    let costs: Vec<f64> =
        sizes.iter_mut().map(|(part, _, entry)| median(&mut entry.times) * *part as f64).collect();
    Ok([costs[1] / costs[0], costs[2] / costs[0]])
}

/// Whether two answers are the same; numbers may differ by rounding.
fn same(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap_or(f64::NAN), b.as_f64().unwrap_or(f64::NAN));
            (a - b).abs() <= 1e-9 * a.abs().max(1.0)
        }
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::same;

    #[test]
    fn answers_are_compared_by_value() {
        assert!(same(&json!([1, {"a": 0.1 + 0.2, "b": 2}]), &json!([1.0, {"b": 2, "a": 0.3}])));
        for other in [json!([1]), json!([1, 2, 3]), json!([1, "2"]), json!([1, 2.001]), json!({"a": 1})] {
            assert!(!same(&json!([1, 2]), &other), "{other}");
        }
    }
}
