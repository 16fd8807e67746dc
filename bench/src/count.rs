//! One workload on our own engine, laid out so that callgrind can count its instructions: everything else is
//! done before and after [`measured`], which is the function that the counter is switched on for.
//!
//! `cargo xtask counts` runs it; the command is `ptc-bench --count <workload> <size>`.

use std::hint::black_box;

use anyhow::{Context, Result, bail};

use crate::data::Input;
use crate::engines::{self, Job, Peer};
use crate::workloads::{ALL, Mode};

/// Runs a workload of a size: once to load what is loaded once per process, then once to be counted. The
/// workload `start` is the very first program of a process instead.
pub fn run(mut args: impl Iterator<Item = String>) -> Result<()> {
    let id = args.next().context("which workload?")?;
    let size: usize = args.next().context("which size?")?.parse()?;
    let name = if id == "start" { "w1" } else { id.as_str() };
    let workload = ALL.iter().find(|workload| workload.id == name).context("there is no such workload")?;
    let inputs = (workload.inputs)(size);
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/programs");
    let source = match workload.mode {
        Mode::Load => String::new(),
        _ => std::fs::read_to_string(format!("{folder}/{name}.clj"))?,
    };
    let load = match (workload.mode, inputs.as_slice()) {
        (Mode::Load | Mode::LoadRun, [(name, Input::Json(text))]) => Some((*name, text.as_str())),
        (Mode::Load | Mode::LoadRun, _) => bail!("{id} needs one input in JSON"),
        _ => None,
    };
    let mut ours = engines::ours();
    let job = Job { mode: workload.mode, source: &source, load, repeats: 1 };
    if id != "start" {
        ours.open(&inputs)?;
        ours.measure(&job)?;
    }
    measured(ours.as_mut(), &job)
}

/// What is counted.
#[inline(never)]
fn measured(ours: &mut dyn Peer, job: &Job) -> Result<()> {
    black_box(ours.measure(job)?);
    Ok(())
}
