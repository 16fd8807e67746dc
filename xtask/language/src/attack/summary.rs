//! What came of all jobs: counts, the worst of what was within limits, and the holes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::time::Duration;

use super::forms::{Form, parse};
use super::job::{Job, Report};
use super::verdict::{Find, most_memory, most_time};

/// Finds with the same key that are looked into; the others are only counted.
const LOOKED_INTO: usize = 3;

/// A hole that was looked into.
#[derive(Debug)]
pub struct Hole {
    pub find: Find,
    pub job: Job,
    /// Jobs that the process had run before, if it takes them.
    pub before: Vec<u64>,
    /// The hostile values of the job before it was made smaller.
    pub values: Vec<String>,
}

/// Everything so far.
#[derive(Debug, Default)]
pub struct Summary {
    pub jobs: u64,
    pub programs: u64,
    /// How often each way out was taken, and its processor time in microseconds.
    exits: BTreeMap<String, (u64, u64)>,
    ends: BTreeMap<String, u64>,
    /// The most memory and time that jobs took, in percent of what they may, and which.
    memory: (u64, u64),
    time: (u64, u64),
    /// Why dumps were refused that had just been written.
    refused: BTreeMap<String, u64>,
    seen: BTreeMap<String, u64>,
    /// How long it took, without the build.
    pub took: Duration,
    pub holes: BTreeMap<String, Hole>,
}

impl Summary {
    /// Counts a job that was told about.
    pub fn count(&mut self, job: &Job, report: &Report) {
        self.jobs += 1;
        self.programs += job.steps.len() as u64;
        for (exit, micros) in &report.exits {
            let (times, sum) = self.exits.entry(exit.clone()).or_default();
            (*times, *sum) = (*times + 1, *sum + micros);
        }
        if let Some(why) = &report.refused {
            *self.refused.entry(plain(why)).or_default() += 1;
        }
        for end in &report.ends {
            *self.ends.entry(end.clone()).or_default() += 1;
        }
        let memory = 100 * report.memory as u64 / most_memory(job) as u64;
        let time = 100 * report.micros / most_time(job);
        self.memory = self.memory.max((memory, job.number));
        self.time = self.time.max((time, job.number));
    }

    /// Counts a hole. Whether it should be looked into.
    pub fn met(&mut self, job: &Job, find: &Find) -> bool {
        self.jobs += 1;
        self.programs += job.steps.len() as u64;
        let times = self.seen.entry(plain(&find.key)).or_default();
        *times += 1;
        *times <= LOOKED_INTO as u64
    }

    /// Adds a hole; those whose programs call the same are one.
    pub fn add(&mut self, hole: Hole) {
        let heads: BTreeSet<String> =
            hole.job.steps.iter().flat_map(|step| heads(&parse(&step.source))).collect();
        let key = format!("{:?} {}", hole.find.kind, heads.into_iter().collect::<Vec<_>>().join(" "));
        let longer = |old: &Hole| old.job.steps[0].source.len() > hole.job.steps[0].source.len();
        if self.holes.get(&key).is_none_or(longer) {
            self.holes.insert(key, hole);
        }
    }

    /// The report.
    pub fn text(&self, seed: u64, build: &str) -> String {
        let (seconds, rate) =
            (self.took.as_secs(), self.programs as f64 / self.took.as_secs_f64().max(0.001));
        let mut out = format!(
            "{} programs in {} jobs of seed {seed} on the {build} build, {seconds} s, {rate:.0} per second\n",
            self.programs, self.jobs
        );
        let exits = self.exits.iter().map(|(name, (times, sum))| {
            let seconds = *sum as f64 / 1e6;
            format!("{name} {times} ({seconds:.1} s)")
        });
        let _ = writeln!(out, "ways out, with processor time: {}", exits.collect::<Vec<_>>().join(", "));
        for (title, counts) in [("ends", &self.ends), ("dumps refused", &self.refused)] {
            let counts: Vec<String> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
            let _ = writeln!(
                out,
                "{title}: {}",
                if counts.is_empty() { "none".to_owned() } else { counts.join(", ") }
            );
        }
        let ((memory, fattest), (time, slowest)) = (self.memory, self.time);
        let _ = writeln!(
            out,
            "most memory: {memory} % of what is bearable (job {fattest}); time: {time} % (job {slowest})"
        );
        for (what, times) in &self.seen {
            let _ = writeln!(out, "{times} times: {what}");
        }
        for hole in self.holes.values() {
            out.push_str(&hole.text(seed, build));
        }
        out
    }
}

impl Hole {
    fn text(&self, seed: u64, build: &str) -> String {
        let Hole { find, job, before, values } = self;
        let numbers: Vec<String> = before.iter().chain([&job.number]).map(u64::to_string).collect();
        let mut out = format!(
            "\n{}: {}\n  again: cargo xtask attack --seed {seed} --build {build} --only {}\n  {:?}, fuel {}, memory {} MB, \
             inputs {:?}, dump {}, record {}, prelude {}, signature {:?}\n  hostile \
             values: {}\n",
            find.kind.name(),
            find.what,
            numbers.join(","),
            job.way,
            job.allowed.fuel,
            job.allowed.memory >> 20,
            job.inputs,
            job.dump,
            job.record,
            job.prelude,
            job.signature,
            values.join(", "),
        );
        let _ = writeln!(out, ";; == job {} of seed {seed} => {}", job.number, find.kind.end());
        for step in &job.steps {
            if job.steps.len() > 1 {
                let _ = writeln!(out, ";; owner {}", step.owner);
            }
            let _ = writeln!(out, "{}", step.source);
        }
        out
    }
}

/// Without what differs from time to time: numbers of threads and processes.
fn plain(text: &str) -> String {
    let short: String = text.chars().take(160).collect();
    short
        .split('(')
        .map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit()))
        .collect::<Vec<_>>()
        .join("(")
}

fn heads(forms: &[Form]) -> Vec<String> {
    let mut all = Vec::new();
    for form in forms {
        if let Form::Group { open, items, .. } = form {
            if let (true, Some(Form::Atom(head))) = (open.ends_with('('), items.first()) {
                all.push(head.clone());
            }
            all.extend(heads(items));
        }
    }
    all
}
