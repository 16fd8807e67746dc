//! `cargo xtask simulate`: servers, their store, upstreams and clients in one process, under one seeded scheduler with a
//! simulated clock, disk and network. Every schedule is made by number from a seed, and a number replays it exactly.

mod clients;
mod decide;
mod fault;
mod journal;
#[cfg(test)]
mod lease_tests;
mod messages;
mod minimise;
mod oracle;
mod programs;
mod random;
mod rates;
mod schedule;
mod scheduler;
mod server;
mod sessions;
mod tasks;
#[cfg(test)]
mod tests;
mod upstream;
mod world;

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};

use fault::Fault;
use schedule::{Kit, Outcome, Plan};
use world::Counts;

const USAGE: &str = "usage: cargo xtask simulate [MINUTES] [SEED] [OPTION]…
  MINUTES         how long, 5 unless told
  SEED            what schedules are made from, the time unless told
  --schedules N   so many schedules, however long they take
  --from N        begin with this schedule of the seed, where a run was stopped
  --only N        this schedule of the seed, with all that happens in it
  --fault NAME    with a planted mistake, which must be found; `all` for one after the other
  --jobs N        threads; one per processor unless told
  --help          print this";

/// Schedules after which a long run says how far it is.
const NEWS: u64 = 10_000;

/// Schedules within which a planted mistake must be found.
const SOON: u64 = 10_000;

/// What the command line asks for.
#[derive(Clone, Debug, PartialEq)]
enum Asked {
    Help,
    Simulation(Options),
}

/// A simulation that is asked for.
#[derive(Clone, Debug, PartialEq)]
struct Options {
    minutes: f64,
    seed: u64,
    schedules: Option<u64>,
    from: u64,
    only: Option<u64>,
    faults: Vec<Fault>,
    jobs: usize,
}

impl Options {
    fn parse(args: &[String]) -> Result<Asked> {
        if args.iter().any(|arg| ["--help", "-h", "help"].contains(&arg.as_str())) {
            return Ok(Asked::Help);
        }
        let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        let (schedules, only) = (None, None);
        let mut options =
            Options { minutes: 5.0, seed: clock, schedules, from: 1, only, faults: Vec::new(), jobs };
        let (mut args, mut plain) = (args.iter(), 0);
        while let Some(arg) = args.next() {
            if !arg.starts_with('-') {
                plain += 1;
                match plain {
                    1 => options.minutes = minutes(arg)?,
                    2 => options.seed = whole("SEED", arg)?,
                    _ => bail!("{arg} is too much: there are MINUTES and SEED"),
                }
                continue;
            }
            if !OPTIONS.contains(&arg.as_str()) {
                bail!("{arg} is unknown");
            }
            let value = args.next().with_context(|| format!("{arg} takes a value"))?;
            match arg.as_str() {
                "--schedules" => options.schedules = Some(whole(arg, value)?),
                "--from" => options.from = whole(arg, value)?,
                "--only" => options.only = Some(whole(arg, value)?),
                "--jobs" => options.jobs = usize::try_from(whole(arg, value)?)?,
                _ if value == "all" => options.faults = Fault::ALL.to_vec(),
                _ => {
                    let known = || Fault::ALL.iter().map(|fault| fault.name()).collect::<Vec<_>>().join(", ");
                    let fault = Fault::named(value);
                    let unknown = || format!("--fault takes `all` or one of {}, not {value}", known());
                    options.faults = vec![fault.with_context(unknown)?];
                }
            }
        }
        Ok(Asked::Simulation(options))
    }
}

/// Options that take a value.
const OPTIONS: [&str; 5] = ["--schedules", "--from", "--only", "--fault", "--jobs"];

fn whole(what: &str, text: &str) -> Result<u64> {
    text.parse().ok().with_context(|| format!("{what} is a whole number, not {text}"))
}

/// A time that can be waited for.
fn minutes(text: &str) -> Result<f64> {
    let known = text.parse().ok().filter(|minutes: &f64| (0.0..=1e6).contains(minutes));
    known.with_context(|| format!("MINUTES is a number like 5 or 0.5, not {text}"))
}

/// Says what is wrong in its own words: where it was found in this program tells nobody anything.
fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match Options::parse(&args) {
        Ok(Asked::Help) => {
            // Whoever reads no more knows enough.
            let _ = writeln!(std::io::stdout(), "{USAGE}");
            return ExitCode::SUCCESS;
        }
        Ok(Asked::Simulation(options)) => simulated(&options),
        Err(error) => {
            eprintln!("{error:#}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn simulated(options: &Options) -> Result<()> {
    if let Some(number) = options.only {
        let plan =
            Plan { seed: options.seed, number, fault: options.faults.first().copied(), ..Plan::default() };
        return replay(&plan);
    }
    if !options.faults.is_empty() {
        return options.faults.iter().try_for_each(|fault| planted(options, *fault));
    }
    let until =
        options.schedules.is_none().then(|| Instant::now() + Duration::from_secs_f64(options.minutes * 60.0));
    let found = simulate(options, None, options.schedules.unwrap_or(u64::MAX), until)?;
    eprintln!("{}", found.text(options.seed));
    match found.failed {
        None => Ok(()),
        Some(number) => {
            let failed = replay(&Plan { seed: options.seed, number, ..Plan::default() });
            eprintln!("replay it with `cargo xtask simulate 1 {} --only {number}`", options.seed);
            failed
        }
    }
}

/// Runs one schedule with all that happens in it, and makes it smaller if something is wrong.
fn replay(plan: &Plan) -> Result<()> {
    let kit = Kit::new()?;
    let outcome = schedule::run(&kit, &Plan { logs: true, ..plan.clone() })?;
    let Some(violation) = &outcome.violation else {
        eprintln!(
            "{}\nnothing is wrong with schedule {}: {} steps",
            outcome.log.join("\n"),
            plan.number,
            outcome.steps
        );
        return Ok(());
    };
    let smaller = minimise::smaller(&kit, plan, &outcome)?;
    eprintln!("{}", smaller.log.join("\n"));
    bail!(
        "schedule {} of seed {}: {violation} ({} steps; {} of {} faults are needed for it)",
        plan.number,
        plan.seed,
        smaller.steps,
        smaller.faults,
        outcome.faults
    )
}

/// Looks for a planted mistake.
fn planted(options: &Options, fault: Fault) -> Result<()> {
    let began = Instant::now();
    let found = simulate(options, Some(fault), options.schedules.unwrap_or(SOON), None)?;
    let Some(number) = found.failed else {
        bail!("{} is not found in {} schedules", fault.name(), found.schedules)
    };
    let outcome = schedule::run(
        &Kit::new()?,
        &Plan { seed: options.seed, number, fault: Some(fault), ..Plan::default() },
    )?;
    let what = outcome.violation.unwrap_or_default();
    eprintln!(
        "{:26} found in schedule {number:>5}, {:.1} s: {what}",
        fault.name(),
        began.elapsed().as_secs_f64()
    );
    Ok(())
}

/// What came of many schedules.
#[derive(Debug, Default)]
struct Found {
    schedules: u64,
    steps: u64,
    counts: Counts,
    took: Duration,
    /// The first schedule in which something is wrong.
    failed: Option<u64>,
}

impl Found {
    fn add(&mut self, outcome: Outcome) {
        self.schedules += 1;
        self.steps += outcome.steps;
        outcome.counts.into_iter().for_each(|(what, count)| *self.counts.entry(what).or_default() += count);
    }

    fn text(&self, seed: u64) -> String {
        let seconds = self.took.as_secs_f64();
        let mut text = format!(
            "{} schedules of seed {seed}, {} steps, in {seconds:.1} s ({:.0} schedules a second)",
            self.schedules,
            self.steps,
            self.schedules as f64 / seconds.max(0.001)
        );
        for (what, count) in &self.counts {
            text.push_str(&format!("\n{count:>12}  {what}"));
        }
        text
    }
}

/// Runs schedules on all threads, until there are so many, or the time is over, or something is wrong.
fn simulate(options: &Options, fault: Option<Fault>, most: u64, until: Option<Instant>) -> Result<Found> {
    let (next, stop, found) =
        (AtomicU64::new(options.from), AtomicBool::new(false), Mutex::new(Found::default()));
    let began = Instant::now();
    let work = || -> Result<()> {
        let (kit, mut own) = (Kit::new()?, Found::default());
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let over = until.is_some_and(|until| Instant::now() >= until);
            let done = number.saturating_sub(options.from);
            if done >= most || over || stop.load(Ordering::Relaxed) {
                break;
            }
            if done > 0 && done.is_multiple_of(NEWS) {
                eprintln!(
                    "{done} schedules begun, up to {number} of seed {}: nothing wrong yet",
                    options.seed
                );
            }
            let plan = Plan { seed: options.seed, number, fault, ..Plan::default() };
            let outcome = schedule::run(&kit, &plan)?;
            let wrong = outcome.violation.is_some();
            own.add(outcome);
            if wrong {
                own.failed = Some(number);
                stop.store(true, Ordering::Relaxed);
            }
        }
        let mut all = found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        all.schedules += own.schedules;
        all.steps += own.steps;
        own.counts.into_iter().for_each(|(what, count)| *all.counts.entry(what).or_default() += count);
        all.failed = all.failed.into_iter().chain(own.failed).min();
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..options.jobs.max(1))
            .map(|_| std::thread::Builder::new().stack_size(ptc_host::STACK).spawn_scoped(scope, work))
            .collect();
        threads.into_iter().try_for_each(|thread| match thread?.join() {
            Ok(done) => done,
            Err(_) => bail!("a schedule panicked"),
        })
    })?;
    let mut found = found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    found.took = began.elapsed();
    Ok(found)
}
