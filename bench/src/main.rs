//! PTC-Lisp beside its peers: the same work on every engine, the same answers, one run.
//!
//! Engines take turns within each pass, so that a noisy computer is noisy for all of them; figures are
//! medians over the passes. See README.md for the options.

mod alloc;
mod count;
mod data;
mod engines;
mod extras;
mod measure;
mod report;
mod stats;
mod workloads;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::workloads::{ALL, Workload};

#[global_allocator]
static ALLOCATOR: alloc::Counting = alloc::Counting;

/// How thorough a run is.
pub struct Options {
    /// Passes over all engines.
    pub passes: usize,
    /// Nanoseconds that a pass should take at least, so that the clock does not matter.
    pub pass_ns: f64,
    /// How long engines with a JIT run before they are measured.
    pub warm_up: Duration,
    /// What the sizes are divided by.
    pub shrink: usize,
    /// Where the command is, for its start time.
    pub ptc: PathBuf,
    /// Print JSON instead of tables.
    pub json: bool,
    /// Names of workloads to run; all if empty.
    pub only: Vec<String>,
    /// Names of engines to run; all if empty.
    pub engines: Vec<String>,
}

impl Options {
    fn parse(args: impl Iterator<Item = String>) -> Result<Options> {
        let mut options = Options {
            passes: 9,
            pass_ns: 5e6,
            warm_up: Duration::from_secs(1),
            shrink: 1,
            ptc: concat!(env!("CARGO_MANIFEST_DIR"), "/../target/release/ptc").into(),
            json: false,
            only: Vec::new(),
            engines: Vec::new(),
        };
        let mut args = args;
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| anyhow::anyhow!("{arg} needs a value"));
            match arg.as_str() {
                "--quick" => {
                    (options.passes, options.pass_ns, options.shrink) = (3, 1e6, 10);
                    options.warm_up = Duration::ZERO;
                }
                "--passes" => options.passes = value()?.parse()?,
                "--ptc" => options.ptc = value()?.into(),
                "--engines" => options.engines = value()?.split(',').map(str::to_lowercase).collect(),
                "--json" => options.json = true,
                flag if flag.starts_with('-') => bail!("there is no option {flag}; see README.md"),
                name => options.only.push(name.to_owned()),
            }
        }
        Ok(options)
    }

    /// Whether a row was asked for.
    pub fn wants(&self, id: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == id)
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(0) => ExitCode::SUCCESS,
        Ok(wrong) => {
            eprintln!("{wrong} engines failed or gave another answer");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Measures and prints; gives how many engines failed or answered differently.
fn run() -> Result<usize> {
    let mut args = std::env::args().skip(1).peekable();
    if args.next_if_eq("--count").is_some() {
        return count::run(args).map(|()| 0);
    }
    let options = Options::parse(args)?;
    let wanted = |name: &str| options.engines.is_empty() || options.engines.contains(&name.to_lowercase());
    let mut engines = engines::all(wanted);
    let chosen: Vec<&Workload> = ALL.iter().filter(|workload| options.wants(workload.id)).collect();
    let mut rows = Vec::new();
    for workload in chosen {
        eprintln!("{} {}", workload.id, workload.title);
        rows.push(measure::row(workload, &mut engines, &options)?);
    }
    let extras = extras::all(&mut engines, &options)?;
    let report = report::Report { engines: &engines, rows: &rows, extras: &extras };
    if options.json {
        report::print(&format!("{:#}\n", report.json()));
    } else {
        report::print(&report.table());
    }
    Ok(rows.iter().flat_map(|row| &row.failures).chain(&extras.failures).count())
}
