//! `cargo xtask attack`: goes on looking for holes in the sandbox. Jobs are generated from all documented functions and
//! forms with hostile values, run in child processes (`crates/ptc-trace/examples/attack`) that take what comes of them
//! through every way out, and judged from here.

mod calls;
mod child;
mod exits;
mod forms;
mod generate;
#[path = "../../../../crates/ptc-trace/examples/attack/job.rs"]
mod job;
mod minimise;
mod pairs;
mod random;
mod summary;
mod values;
mod verdict;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};

use child::{Child, Outcome};
use generate::{Generator, OPTIMISED, Pace, UNOPTIMISED};
use job::Job;
use summary::{Hole, Summary};
use verdict::{Find, judge};

pub const USAGE: &str = "cargo xtask attack [MINUTES] [OPTION]…
  --build release|debug|both   which build is attacked; both share the minutes (both)
  --profile NAME               the profile of the release build (tune, which is the same code built sooner)
  --program FILE               the process to attack, built by somebody else: with a sanitizer, or of another commit
  --seed N                     where jobs begin; one of the clock's unless told
  --only N,N…                  these jobs of the seed, in one process
  --jobs N                     processes at a time; one per processor unless told
  --help                       print this";

/// Jobs that one process runs.
const JOBS_OF_A_PROCESS: usize = 2_000;
/// Attempts to make a find smaller, and how long they may take.
const TRIALS: usize = 150;
const SMALLER: Duration = Duration::from_secs(20);

/// What is asked for.
#[derive(Clone, Debug, PartialEq)]
struct Options {
    minutes: f64,
    builds: Vec<&'static str>,
    profile: String,
    program: Option<PathBuf>,
    seed: u64,
    only: Vec<u64>,
    jobs: usize,
}

impl Options {
    fn parse(args: &[String]) -> Result<Options> {
        let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let mut options = Options {
            minutes: 5.0,
            builds: vec!["release", "debug"],
            profile: "tune".to_owned(),
            program: None,
            seed: clock,
            only: Vec::new(),
            jobs: processors,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            if let Ok(minutes) = arg.parse::<f64>() {
                options.minutes = minutes;
                continue;
            }
            let value =
                args.next().with_context(|| format!("{arg} takes a value, or is unknown\n{USAGE}"))?;
            match (arg.as_str(), value.as_str()) {
                ("--build", "both") => options.builds = vec!["release", "debug"],
                ("--build", "release") => options.builds = vec!["release"],
                ("--build", "debug") => options.builds = vec!["debug"],
                ("--profile", name) => options.profile = name.to_owned(),
                ("--program", file) => options.program = Some(PathBuf::from(file)),
                ("--seed", seed) => options.seed = seed.parse().context("--seed takes a number")?,
                ("--jobs", jobs) => options.jobs = jobs.parse().context("--jobs takes a number")?,
                ("--only", numbers) => {
                    let numbers = numbers.split(',').map(str::parse::<u64>);
                    options.only =
                        numbers.collect::<Result<_, _>>().context("--only takes numbers of jobs")?;
                }
                _ => bail!("{arg} {value} is unknown\n{USAGE}"),
            }
        }
        Ok(options)
    }
}

/// Attacks until the minutes are over, and fails if anything was found.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    if args.iter().any(|arg| arg == "--help" || arg == "-h") {
        eprintln!("{USAGE}");
        return Ok(());
    }
    let options = Options::parse(args)?;
    let mut holes = 0;
    for build in &options.builds {
        let attack = Attack::of(root, build, &options)?;
        eprintln!("== attack on the {build} build, seed {}", options.seed);
        let begun = Instant::now();
        let mut summary = match options.only.is_empty() {
            true => {
                let minutes = options.minutes / options.builds.len() as f64;
                attack.run(Instant::now() + Duration::from_secs_f64(minutes * 60.0), options.jobs)?
            }
            false => attack.again(&options.only)?,
        };
        summary.took = begun.elapsed();
        eprintln!("{}", summary.text(options.seed, build));
        holes += summary.holes.len();
    }
    match holes {
        0 => Ok(()),
        _ => bail!("{holes} holes: mend each, with its program as a case in conformance/adversarial"),
    }
}

/// An attack on one build.
struct Attack {
    program: PathBuf,
    folder: PathBuf,
    generator: Generator,
    /// Whether the process has holes for the test.
    planted: bool,
}

impl Attack {
    fn of(root: &Path, build: &str, options: &Options) -> Result<Attack> {
        let (profile, pace) = match build {
            "debug" => ("dev", UNOPTIMISED),
            _ => (options.profile.as_str(), OPTIMISED),
        };
        let program = options.program.clone().map_or_else(|| built(root, profile), Ok)?;
        Attack::new(program, options.seed, pace, false)
    }

    fn new(program: PathBuf, seed: u64, pace: Pace, planted: bool) -> Result<Attack> {
        let folder = std::env::temp_dir().join(format!("ptc-attack-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Attack { program, folder, generator: Generator::new(seed, pace), planted })
    }

    fn start(&self) -> Result<Child> {
        Child::start(&self.program, &self.folder, self.planted)
    }

    /// Runs jobs in several processes until a moment.
    fn run(&self, until: Instant, processes: usize) -> Result<Summary> {
        let (summary, next) = (Mutex::new(Summary::default()), AtomicU64::new(0));
        let work = || -> Result<()> {
            let mut child = self.start()?;
            while Instant::now() < until {
                if child.history.len() >= JOBS_OF_A_PROCESS {
                    child = self.start()?;
                }
                let job = self.generator.job(next.fetch_add(1, Ordering::Relaxed));
                self.one(&mut child, job, &summary)?;
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..processes.max(1)).map(|_| scope.spawn(work)).collect();
            workers.into_iter().try_for_each(|worker| match worker.join() {
                Ok(done) => done,
                Err(_) => bail!("a worker panicked"),
            })
        })?;
        Ok(summary.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// Runs some jobs again, one after the other.
    fn again(&self, numbers: &[u64]) -> Result<Summary> {
        let summary = Mutex::new(Summary::default());
        let mut child = self.start()?;
        for number in numbers {
            let job = self.generator.job(*number);
            eprintln!("job {number}: {job:#?}");
            self.one(&mut child, job, &summary)?;
        }
        Ok(summary.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    fn one(&self, child: &mut Child, job: Job, summary: &Mutex<Summary>) -> Result<()> {
        let outcome = child.run(&job)?;
        let lock = || summary.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let Some(find) = judge(&job, &outcome) else {
            if let Outcome::Told(report) = &outcome {
                lock().count(&job, report);
            }
            return Ok(());
        };
        let look_into = lock().met(&job, &find);
        let before = std::mem::take(&mut child.history);
        *child = self.start()?;
        if look_into {
            let hole = self.looked_into(job, find, &before[..before.len() - 1])?;
            eprintln!("{}", hole.find.what);
            lock().add(hole);
        }
        Ok(())
    }

    /// The smallest job that shows the hole, or the jobs that it takes.
    fn looked_into(&self, job: Job, find: Find, before: &[u64]) -> Result<Hole> {
        let mut child = self.start()?;
        let mut shows = |job: &Job| -> Result<Option<Find>> {
            let found = judge(job, &child.run(job)?);
            if found.is_some() {
                child = self.start()?;
            }
            Ok(found.filter(|found| found.kind == find.kind))
        };
        let values = self.generator.library.values_in(&job);
        if shows(&job)?.is_none() {
            return Ok(Hole { find, job, before: before.to_vec(), values });
        }
        let (mut latest, mut failed, until) = (find.clone(), None, Instant::now() + SMALLER);
        let small = minimise::minimise(&job, TRIALS, |job| {
            if Instant::now() > until {
                return false;
            }
            match shows(job) {
                Ok(Some(found)) => latest = found,
                Ok(None) => return false,
                Err(error) => {
                    failed = Some(error);
                    return false;
                }
            }
            true
        });
        failed.map_or(Ok(Hole { find: latest, job: small, before: Vec::new(), values }), Err)
    }
}

impl Drop for Attack {
    fn drop(&mut self) {
        // Temporary files are nobody's loss.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Builds the process that is attacked.
fn built(root: &Path, profile: &str) -> Result<PathBuf> {
    // Of the unoptimised build most is there: with all of the workspace the features are those of tests.
    let args = match profile {
        "dev" => vec!["--workspace"],
        profile => vec!["--package", "ptc-trace", "--profile", profile],
    };
    let args = [vec!["build", "--quiet", "--example", "attack"], args].concat();
    let status = Command::new("cargo").args(&args).current_dir(root).status()?;
    if !status.success() {
        bail!("cargo {} failed", args.join(" "));
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join(if profile == "dev" { "debug" } else { profile }).join("examples/attack"))
}

#[cfg(test)]
mod tests {
    use super::job::{Step, Way};
    use super::verdict::Kind;
    use super::*;

    /// An attack on a build with holes.
    fn attack() -> Attack {
        let program = built(&crate::root(), "dev").expect("it builds");
        Attack::new(program, 1, UNOPTIMISED, true).expect("a folder")
    }

    fn job(attack: &Attack, way: Way, source: &str) -> Job {
        let step = Step { owner: 0, source: source.to_owned() };
        let usual = attack.generator.job(1);
        let allowed = job::Allowed { fuel: 100_000, memory: 1 << 20, millis: 500 };
        Job { way, allowed, inputs: job::Inputs::Small, steps: vec![step], ..usual }
    }

    #[test]
    fn planted_holes_are_found_and_made_small() {
        let attack = attack();
        for (hole, kind) in
            [("abort", Kind::Lost), ("panic", Kind::Lost), ("memory", Kind::Memory), ("time", Kind::Time)]
        {
            for way in [Way::Eval, Way::Sessions, Way::Agents] {
                let summary = Mutex::new(Summary::default());
                let mut child = attack.start().expect("it starts");
                let source = format!("(def a [1 2])\n(let [x {{:a :planted/{hole}}}] (count x))");
                let harmless = job(&attack, way, "(+ 1 2)");
                attack.one(&mut child, harmless, &summary).expect("it runs");
                attack.one(&mut child, job(&attack, way, &source), &summary).expect("it runs");
                let summary = summary.into_inner().expect("nobody panicked");
                let found: Vec<&Hole> = summary.holes.values().collect();
                let [found] = found.as_slice() else { panic!("{hole} {way:?}: {found:?}") };
                assert_eq!((found.find.kind, summary.jobs), (kind, 2), "{hole} {way:?}");
                assert_eq!(found.job.steps[0].source, format!(":planted/{hole}"), "{way:?}");
                assert!(summary.text(1, "debug").contains(";; == job"), "{hole} {way:?}");
            }
        }
    }

    #[test]
    fn nothing_that_programs_are_made_of_names_what_does_not_exist() {
        let attack = attack();
        let library = &attack.generator.library;
        let forms = calls::SPECIAL_FORMS.iter().map(|(_, form)| *form).filter(|form| {
            // Refused by name: one is the core library's, one is not there. That they are is tried, too.
            !form.contains("with-meta*") && !form.contains("with-local-vars")
        });
        let ways_out = exits::EXITS.iter().map(|(_, exit)| *exit).chain(exits::HOARDS.iter().copied());
        let filled = forms.chain(ways_out).map(|text| exits::once(&text.replace("ID", "\"a\""), "[1]"));
        let hostile = library.hostile.iter().map(|value| exits::once("$", &value.source));
        let later = generate::WITH_DEFINITION.iter().chain(generate::AFTERWARDS);
        let sources = filled.chain(hostile).chain(later.map(|text| format!("(def d (atom 1))\n{text}")));
        let mut child = attack.start().expect("it starts");
        for source in sources {
            let mut job = job(&attack, Way::Sessions, &source);
            job.allowed.fuel = 20_000;
            let outcome = child.run(&job).expect("it runs");
            let Outcome::Told(report) = outcome else { panic!("{source}: {outcome:?}") };
            assert!(!report.ends.iter().any(|end| end == "unbound_var"), "{source}");
        }
    }

    #[test]
    fn what_one_owner_has_of_another_is_found() {
        let attack = attack();
        let mut job = job(&attack, Way::Sessions, "(def a \"PLANTED-0\")");
        // What is told about is what the owner sees; here the owner was given it.
        job.steps.push(Step { owner: 1, source: "(str \"PLANTED\" \"-0\")".to_owned() });
        let outcome = attack.start().and_then(|mut child| child.run(&job)).expect("it runs");
        assert_eq!(judge(&job, &outcome).map(|find| find.kind), Some(Kind::Foreign));
    }

    #[test]
    fn arguments_are_read_strictly() {
        let parse = |text: &str| Options::parse(&text.split(' ').map(str::to_owned).collect::<Vec<_>>());
        let options = parse("1.5 --seed 7 --build debug --only 3,4").expect("all known");
        assert_eq!((options.minutes, options.seed, options.only), (1.5, 7, vec![3, 4]));
        assert_eq!(options.builds, ["debug"]);
        assert!(parse("--seed x").is_err() && parse("--fast").is_err() && parse("--build quick").is_err());
    }
}
