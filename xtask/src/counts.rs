//! Instruction counts: the guard against slow changes, and two questions that counts answer better than
//! clocks do on a noisy computer: what the meters cost, and whether cost grows in proportion to the size.
//!
//! Callgrind counts what the function `measured` of the benchmark does, so the counts are the same on every
//! computer with the same compiler, but for what the C library does with its processor. The recorded ones
//! stand in `bench/counts.txt`, one line per workload: name, size, instructions.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use anyhow::{Context, Result, bail};

/// How much a count may differ from the recorded one.
const TOLERANCE: f64 = 0.03;

/// How much more than in proportion a workload may cost at a larger size.
const GROWTH: f64 = 1.2;

/// What limits may cost.
const METERS: f64 = 1.05;

/// What is counted: workloads of the benchmark with sizes that take callgrind a second or two. The last
/// column is what the cost is proportional to.
const WORKLOADS: &[(&str, usize, Cost)] = &[
    ("start", 1, Cost::Fixed),
    ("w1", 1, Cost::Fixed),
    ("w2", 20_000, Cost::Linear),
    ("w3", 18, Cost::Fixed),
    ("w4", 50_000, Cost::Linear),
    ("w5a", 2_000, Cost::Linear),
    ("w5b", 10_000, Cost::Linear),
    ("w6", 4_000, Cost::Sorting),
    ("w7", 100_000, Cost::Linear),
    ("w9", 1_000, Cost::Linear),
    ("report", 1_000, Cost::Linear),
    ("digest", 500, Cost::Linear),
    ("tools", 50, Cost::Linear),
    ("cleanup", 500, Cost::Linear),
    ("join", 2_000, Cost::Linear),
    ("nested", 2_000, Cost::Linear),
    ("dates", 200, Cost::Linear),
];

/// How cost grows with the size.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cost {
    /// It does not.
    Fixed,
    /// As the size does.
    Linear,
    /// As n log n does.
    Sorting,
}

/// The commands: compare with the record, write it, or print one of the two tables.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    match args {
        [] => check(root),
        [flag] if flag == "--write" => write_record(root),
        [flag] if flag == "--growth" => growth(root),
        [flag] if flag == "--meters" => meters(root),
        _ => bail!("usage: cargo xtask counts [--write | --growth | --meters]"),
    }
}

/// Compares all counts with the recorded ones.
fn check(root: &Path) -> Result<()> {
    crate::packages::valgrind()?;
    let record = record(root)?;
    let counts = all_counts(&build(root, Meters::On)?, 1, |_| true)?;
    let mut faults = String::new();
    for (&(name, size, _), count) in WORKLOADS.iter().zip(&counts) {
        let recorded = record.iter().find(|(of, at, _)| of == name && *at == size).map(|(.., count)| *count);
        let Some(recorded) = recorded else {
            writeln!(faults, "{name} {size}: not recorded")?;
            continue;
        };
        let change = *count as f64 / recorded as f64 - 1.0;
        eprintln!("{name:8} {size:7} {count:12} {:+.2} %", change * 100.0);
        if change.abs() > TOLERANCE {
            writeln!(faults, "{name} {size}: {count} instructions, recorded are {recorded}")?;
        }
    }
    if !faults.is_empty() {
        bail!(
            "instruction counts have changed by more than {} %:\n{faults}If that is meant, run `cargo xtask \
             counts --write` and commit bench/counts.txt with the change.",
            TOLERANCE * 100.0
        );
    }
    Ok(())
}

fn record_path(root: &Path) -> PathBuf {
    root.join("bench/counts.txt")
}

fn record(root: &Path) -> Result<Vec<(String, usize, u64)>> {
    let path = record_path(root);
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    text.lines()
        .map(|line| match line.split_whitespace().collect::<Vec<_>>().as_slice() {
            [name, size, count] => Ok(((*name).to_owned(), size.parse()?, count.parse()?)),
            _ => bail!("{}: cannot read `{line}`", path.display()),
        })
        .collect()
}

fn write_record(root: &Path) -> Result<()> {
    let counts = all_counts(&build(root, Meters::On)?, 1, |_| true)?;
    let mut text = String::new();
    for (&(name, size, _), count) in WORKLOADS.iter().zip(&counts) {
        writeln!(text, "{name} {size} {count}")?;
    }
    std::fs::write(record_path(root), text)?;
    Ok(())
}

/// Prints what each workload costs at once, four and sixteen times the size, against its share.
fn growth(root: &Path) -> Result<()> {
    let program = build(root, Meters::On)?;
    let grows = |cost: Cost| cost != Cost::Fixed;
    let counts = [1, 4, 16].map(|factor| all_counts(&program, factor, grows));
    let [once, four, sixteen] = counts;
    let (once, four, sixteen) = (once?, four?, sixteen?);
    let mut steep = Vec::new();
    eprintln!("| workload | size | instructions | 4 × | 16 × |\n|---|---|---|---|---|");
    let chosen = WORKLOADS.iter().filter(|(.., cost)| grows(*cost));
    for (&(name, size, cost), ((once, four), sixteen)) in chosen.zip(once.iter().zip(&four).zip(&sixteen)) {
        let share = |count: u64, factor: f64| {
            let logs = match cost {
                Cost::Sorting => (size as f64 * factor).ln() / (size as f64).ln(),
                _ => 1.0,
            };
            count as f64 / *once as f64 / factor / logs
        };
        let (at_four, at_sixteen) = (share(*four, 4.0), share(*sixteen, 16.0));
        eprintln!("| {name} | {size} | {once} | {at_four:.2} | {at_sixteen:.2} |");
        if at_four.max(at_sixteen) > GROWTH {
            steep.push(name);
        }
    }
    if !steep.is_empty() {
        bail!("cost grows more than {GROWTH} times as much as the size: {}", steep.join(", "));
    }
    Ok(())
}

/// Prints what the limits cost: a build that has them beside one that does not.
fn meters(root: &Path) -> Result<()> {
    let metered = all_counts(&build(root, Meters::On)?, 1, |_| true)?;
    let free = all_counts(&build(root, Meters::Off)?, 1, |_| true)?;
    let mut dear = Vec::new();
    eprintln!("| workload | size | with meters | without | ratio |\n|---|---|---|---|---|");
    for (&(name, size, _), (metered, free)) in WORKLOADS.iter().zip(metered.iter().zip(&free)) {
        let ratio = *metered as f64 / *free as f64;
        eprintln!("| {name} | {size} | {metered} | {free} | {ratio:.3} |");
        if ratio > METERS {
            dear.push(name);
        }
    }
    if !dear.is_empty() {
        bail!("meters cost more than {:.0} % of {}", (METERS - 1.0) * 100.0, dear.join(", "));
    }
    Ok(())
}

/// Builds what is counted.
pub fn prepare(root: &Path) -> Result<()> {
    build(root, Meters::On).map(drop)
}

/// Whether a build has meters.
#[derive(Clone, Copy)]
enum Meters {
    On,
    /// Only to see what they cost.
    Off,
}

/// Builds the benchmark without peers and says where it is.
fn build(root: &Path, meters: Meters) -> Result<PathBuf> {
    // Without padding before loops: it counts, does nothing, and comes and goes with changes elsewhere.
    let (name, flags) = match meters {
        Meters::On => ("count", "-Cllvm-args=-align-loops=1"),
        Meters::Off => ("unmetered", "-Cllvm-args=-align-loops=1 --cfg ptc_unmetered"),
    };
    let target = root.join("target").join(name);
    let mut command = Command::new("cargo");
    command
        .args(["build", "--quiet", "--profile", "count", "--no-default-features"])
        .arg("--target-dir")
        .arg(&target)
        .current_dir(root.join("bench"));
    command.env("RUSTFLAGS", flags);
    let status = command.status()?;
    if !status.success() {
        bail!("the benchmark does not build");
    }
    Ok(target.join("count/ptc-bench"))
}

/// The counts of the chosen workloads in order, two at a time.
fn all_counts(program: &Path, factor: usize, chosen: impl Fn(Cost) -> bool) -> Result<Vec<u64>> {
    let jobs: Vec<(&str, usize)> = WORKLOADS
        .iter()
        .filter(|(.., cost)| chosen(*cost))
        .map(|(name, size, _)| (*name, size * factor))
        .collect();
    let left = Mutex::new((0..jobs.len()).collect::<Vec<_>>());
    let counts: Vec<Mutex<Result<u64>>> = jobs.iter().map(|_| Mutex::new(Ok(0))).collect();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(at) = left.lock().ok().and_then(|mut left| left.pop()) {
                    let (name, size) = jobs[at];
                    if let Ok(mut count) = counts[at].lock() {
                        *count = counted(program, name, size);
                    }
                }
            });
        }
    });
    counts.into_iter().map(|count| count.into_inner().unwrap_or_else(|_| bail!("a thread died"))).collect()
}

/// How many instructions a workload of a size takes.
fn counted(program: &Path, name: &str, size: usize) -> Result<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=*count*measured*"])
        .arg(program)
        .args(["--count", name, &size.to_string()])
        .output()
        .context("valgrind counts instructions: install it (Debian: apt-get install valgrind)")?;
    let said = String::from_utf8_lossy(&output.stderr);
    let count = said.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok());
    match count {
        Some(count) if output.status.success() && count > 0 => Ok(count),
        _ => bail!("{name} {size} could not be counted:\n{said}"),
    }
}
