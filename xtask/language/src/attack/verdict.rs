//! What is a hole: a process that is lost, something that one owner has of another, memory and time above twice what a
//! program may have, a dump that is damaged when it has just been written.

use super::child::Outcome;
use super::job::Job;

/// Kinds of holes, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Foreign,
    Lost,
    Dump,
    Memory,
    Time,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Foreign => "a foreign object",
            Kind::Lost => "a lost process",
            Kind::Dump => "a damaged dump",
            Kind::Memory => "too much memory",
            Kind::Time => "too much time",
        }
    }

    /// How a program of this kind will probably end when the hole is closed.
    pub fn end(self) -> &'static str {
        match self {
            Kind::Foreign | Kind::Lost | Kind::Dump => "output_exceeded",
            Kind::Memory => "memory_exceeded",
            Kind::Time => "fuel_exceeded",
        }
    }
}

/// A hole.
#[derive(Clone, Debug)]
pub struct Find {
    pub kind: Kind,
    /// What happened.
    pub what: String,
    /// Finds with the same key are probably the same hole.
    pub key: String,
}

/// Beyond twice its memory, what a program may add for all that is made of it.
const SLACK: usize = 20 << 20;

/// Bytes that a job may take.
pub fn most_memory(job: &Job) -> usize {
    2 * job.allowed.memory * job.owners() + SLACK
}

/// Microseconds that a program of a job may take.
pub fn most_time(job: &Job) -> u64 {
    2_000 * job.allowed.millis
}

/// Whether an outcome shows a hole.
pub fn judge(job: &Job, outcome: &Outcome) -> Option<Find> {
    let find =
        |kind: Kind, what: String, key: &str| Some(Find { kind, what, key: format!("{kind:?} {key}") });
    let report = match outcome {
        Outcome::Lost(how) => return find(Kind::Lost, how.clone(), how),
        Outcome::Stopped(place) => return find(Kind::Time, format!("no end, at {place}"), place),
        Outcome::Told(report) => report,
    };
    if let Some(panic) = &report.panic {
        let kind = if panic.contains("foreign object") { Kind::Foreign } else { Kind::Lost };
        // The place of a panic says which hole it is; numbers in its message do not.
        let key: String = panic.chars().take_while(|c| *c != ' ' || !panic.contains(".rs:")).collect();
        let place = panic.split_whitespace().find(|word| word.contains(".rs:")).map_or(key, str::to_owned);
        return find(kind, panic.clone(), &place);
    }
    if let Some(foreign) = &report.foreign {
        return find(Kind::Foreign, foreign.clone(), foreign);
    }
    // What does not fit its limits any more may be refused.
    if let Some(why) = report.refused.as_ref().filter(|why| why.contains("damaged")) {
        return find(Kind::Dump, why.clone(), why);
    }
    if report.memory > most_memory(job) {
        let what = format!(
            "{} MB at a limit of {} MB{}",
            report.memory >> 20,
            job.allowed.memory >> 20,
            if job.owners() > 1 { " for each machine" } else { "" }
        );
        return find(Kind::Memory, what, "");
    }
    if report.micros > most_time(job) {
        let what =
            format!("{} ms of processor time at a limit of {} ms", report.micros / 1_000, job.allowed.millis);
        return find(Kind::Time, what, "");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::generate::{Generator, OPTIMISED};
    use crate::attack::job::Report;

    #[test]
    fn what_stays_within_twice_its_limits_is_no_hole() {
        let job = Generator::new(1, OPTIMISED).job(1);
        let fits = Report { memory: most_memory(&job), micros: most_time(&job), ..Report::default() };
        let kind = |report: Report| judge(&job, &Outcome::Told(report)).map(|find| find.kind);
        assert_eq!(kind(fits.clone()), None);
        assert_eq!(kind(Report { memory: fits.memory + 1, ..fits.clone() }), Some(Kind::Memory));
        assert_eq!(kind(Report { micros: fits.micros + 1, ..fits.clone() }), Some(Kind::Time));
        let panic = |text: &str| Report { panic: Some(text.to_owned()), ..fits.clone() };
        let refused = |why: &str| Report { refused: Some(why.to_owned()), ..fits.clone() };
        assert_eq!(kind(refused("the dump is damaged: it ends too early")), Some(Kind::Dump));
        assert_eq!(kind(refused("it needs more memory than there is")), None);
        assert_eq!(kind(panic("panicked at a.rs:1:2: index")), Some(Kind::Lost));
        assert_eq!(kind(panic("panicked at a.rs:1:2: foreign object")), Some(Kind::Foreign));
    }
}
