//! Figures that are not times of programs: memory, dumps, process starts, throughput of the pool.

use std::collections::VecDeque;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Result;
use ptc_host::{Pool, PoolConfig, Program};

use crate::Options;
use crate::data;
use crate::engines::Peer;
use crate::stats::median;

/// One figure.
pub struct Extra {
    /// Which row it is of.
    pub id: &'static str,
    /// What was measured.
    pub what: String,
    /// Of which engine or command.
    pub engine: String,
    /// The figure.
    pub figure: f64,
    /// Its unit.
    pub unit: &'static str,
}

/// All of them.
#[derive(Default)]
pub struct Extras {
    /// The figures.
    pub figures: Vec<Extra>,
    /// Which engines failed, and how.
    pub failures: Vec<String>,
}

impl Extras {
    fn add(&mut self, id: &'static str, what: &str, engine: &str, figure: f64, unit: &'static str) {
        self.figures.push(Extra { id, what: what.to_owned(), engine: engine.to_owned(), figure, unit });
    }

    /// Takes a figure that an engine may not have.
    fn take<T>(&mut self, engine: &str, result: Result<Option<T>>) -> Option<T> {
        result.unwrap_or_else(|error| {
            self.failures.push(format!("{engine}: {error:#}"));
            None
        })
    }
}

/// Measures all that was asked for.
pub fn all(engines: &mut [Box<dyn Peer>], options: &Options) -> Result<Extras> {
    let mut extras = Extras::default();
    if options.wants("w8") {
        eprintln!("w8 idle sandbox");
        for engine in engines.iter_mut() {
            let bytes = engine.idle_bytes();
            if let Some(bytes) = extras.take(engine.name(), bytes) {
                extras.add("w8", "idle sandbox with a definition", engine.name(), bytes, "bytes");
            }
        }
    }
    if options.wants("records") {
        records(&mut extras, engines, options);
    }
    if options.wants("w10") {
        eprintln!("w10 dump, load, resume");
        suspension(&mut extras, engines, options);
    }
    if options.wants("start") {
        eprintln!("start of processes");
        starts(&mut extras, options);
    }
    if options.wants("pool") {
        eprintln!("pool");
        let seconds = if options.shrink > 1 { 0.5 } else { 3.0 };
        extras.add(
            "pool",
            "(reduce + (range 1000)) from source",
            "ptc-host, 2 workers",
            pool(seconds),
            "evals/s",
        );
    }
    Ok(extras)
}

/// Memory of 100,000 orders against their text.
fn records(extras: &mut Extras, engines: &mut [Box<dyn Peer>], options: &Options) {
    let text = data::orders(100_000 / options.shrink);
    let name = format!("{} orders: memory / JSON text", 100_000 / options.shrink);
    eprintln!("{name}");
    for engine in engines.iter_mut() {
        let bytes = engine.data_bytes("orders", &text);
        if let Some(bytes) = extras.take(engine.name(), bytes) {
            extras.add("records", &name, engine.name(), bytes / text.len() as f64, "×");
        }
    }
}

fn suspension(extras: &mut Extras, engines: &mut [Box<dyn Peer>], options: &Options) {
    let repeats = if options.shrink > 1 { 200 } else { 2_000 };
    for engine in engines.iter_mut() {
        let cost = engine.suspension(repeats);
        if let Some(cost) = extras.take(engine.name(), cost) {
            let figures = [
                ("dump", cost.dump_ns, "ns"),
                ("load and resume", cost.resume_ns, "ns"),
                ("size of the dump", cost.bytes as f64, "bytes"),
            ];
            for (what, figure, unit) in figures {
                extras.add("w10", what, engine.name(), figure, unit);
            }
        }
    }
}

/// Commands from start to end, taking turns.
fn starts(extras: &mut Extras, options: &Options) {
    let ptc = options.ptc.to_string_lossy().into_owned();
    let commands: &[(&str, &[&str])] = &[
        ("/bin/true", &[]),
        (&ptc, &["eval", "-e", "1"]),
        ("python3", &["-c", "1"]),
        ("node", &["-e", "1"]),
        ("luajit", &["-e", "local x = 1"]),
    ];
    let passes = options.passes * if options.shrink > 1 { 2 } else { 10 };
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); commands.len()];
    for _ in 0..passes {
        for ((command, args), times) in commands.iter().zip(&mut times) {
            let started = Instant::now();
            let status =
                Command::new(command).args(*args).stdin(Stdio::null()).stdout(Stdio::null()).status();
            if status.is_ok_and(|status| status.success()) {
                times.push(started.elapsed().as_nanos() as f64);
            }
        }
    }
    for ((command, args), mut times) in commands.iter().zip(times) {
        let name = Path::new(command).file_name().unwrap_or_default().to_string_lossy();
        if times.is_empty() {
            eprintln!("without the start of {command}: it is not there or fails");
        } else {
            let shown = format!("{name} {}", args.join(" "));
            extras.add("start", "process start to end", shown.trim(), median(&mut times), "ns");
        }
    }
}

/// Programs a second through a pool of two workers, a thousand of them under way at a time.
fn pool(seconds: f64) -> f64 {
    let pool = Pool::new(PoolConfig { workers: 2, ..PoolConfig::default() });
    let program = Program::new("(reduce + (range 1000))");
    let mut flying = VecDeque::new();
    let mut batch = || {
        while flying.len() < 1_000 {
            flying.push_back(pool.run(program.clone()));
        }
        flying.drain(..500).map(|running| assert_eq!(running.wait().value, "499500")).count()
    };
    batch();
    let (started, mut done) = (Instant::now(), 0);
    while started.elapsed() < Duration::from_secs_f64(seconds) {
        done += batch();
    }
    done as f64 / started.elapsed().as_secs_f64()
}
