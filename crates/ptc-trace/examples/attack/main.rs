//! The process that `cargo xtask attack` attacks: it runs the programs that it is sent, takes what comes of them
//! through every way out, and says what each job took. It is to survive all of them.
//!
//! `attack [--place FILE] [--planted]`: jobs come on standard input, reports go to standard output, and the file always
//! says what is being done. With `--planted` it has holes, which shows whether its parent finds them.

#![expect(unsafe_code, reason = "an allocator that counts cannot be written in safe code")]
#![expect(clippy::print_stdout, reason = "reports are what it is for")]
#![allow(clippy::disallowed_methods, reason = "it is measured by the clock")]

mod agents;
mod eval;
mod inputs;
mod job;
mod meter;
mod planted;
mod sessions;

use std::io::{BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::Duration;

use job::{Job, Report, Way, canary};
use meter::{Bytes, Place};

#[global_allocator]
static ALLOCATOR: meter::Counting = meter::Counting;

/// The last panic, as the hook saw it.
static PANIC: Mutex<Option<String>> = Mutex::new(None);

/// What is used again from job to job.
struct Child {
    place: Place,
    inputs: inputs::Prepared,
    planted: bool,
}

/// A job under way.
struct Tally<'c> {
    child: &'c Child,
    report: Report,
}

impl Tally<'_> {
    /// Takes a way out; what comes of it is looked at by whoever asked for it.
    fn exit<T>(&mut self, name: &str, take: impl FnOnce() -> T) -> T {
        self.child.place.at(name);
        let begun = meter::used();
        let taken = take();
        *self.report.exits.entry(name.to_owned()).or_default() += micros(meter::used().saturating_sub(begun));
        taken
    }

    /// A program is over, with all that was done about it.
    fn took(&mut self, time: Duration) {
        self.report.micros = self.report.micros.max(micros(time));
    }

    /// A dump that was written is not read again. What does not fit its limits any more may be refused.
    fn unreadable(&mut self, why: &str) {
        self.report.ends.push("a dump that is refused".to_owned());
        self.report.refused.get_or_insert_with(|| why.chars().take(300).collect());
    }

    /// Looks for what belongs to other owners in a text that one owner can see.
    fn seen(&mut self, job: &Job, owner: usize, what: &str, text: &str) {
        for other in (0..job.owners()).filter(|other| *other != owner) {
            let planted = canary(other);
            let own = job.steps.iter().any(|step| step.owner == owner && step.source.contains(&planted));
            if !own && text.contains(&planted) && self.report.foreign.is_none() {
                self.report.foreign = Some(format!("owner {owner} sees {planted} in its {what}"));
            }
        }
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn main() {
    std::panic::set_hook(Box::new(|info| {
        let text = info.to_string().replace('\n', " ");
        *PANIC.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(text);
    }));
    let args: Vec<String> = std::env::args().skip(1).collect();
    let value = args.iter().position(|arg| arg == "--place").and_then(|at| args.get(at + 1)).cloned();
    let planted = args.iter().any(|arg| arg == "--planted");
    // As much stack as the threads of servers have.
    let work = std::thread::Builder::new().stack_size(ptc_host::STACK).spawn(move || {
        let place = Place::in_file(value.as_deref());
        serve(&Child { place, inputs: inputs::Prepared::new(), planted });
    });
    if work.map(std::thread::JoinHandle::join).is_err() {
        std::process::exit(2);
    }
}

fn serve(child: &Child) {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let Ok(job) = serde_json::from_str::<Job>(&line) else {
            eprintln!("this is no job: {line}");
            std::process::exit(2);
        };
        let report = run(child, &job);
        let over = report.panic.is_some();
        println!("{}", serde_json::to_string(&report).unwrap_or_default());
        if over || std::io::stdout().flush().is_err() {
            // What a panic left behind is not what the next job should meet.
            return;
        }
    }
}

fn run(child: &Child, job: &Job) -> Report {
    let bytes = Bytes::begin();
    let mut tally = Tally { child, report: Report { number: job.number, ..Report::default() } };
    let ran = catch_unwind(AssertUnwindSafe(|| match job.way {
        Way::Eval => eval::run(job, &mut tally),
        Way::Sessions => sessions::run(job, &mut tally),
        Way::Agents => agents::run(job, &mut tally),
    }));
    child.place.at("between jobs");
    let mut report = tally.report;
    report.memory = bytes.most();
    let panic = PANIC.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
    // Panics of tools and previews are caught where they happen; they are defects all the same.
    report.panic = panic.or_else(|| ran.is_err().then(|| "a panic without a message".to_owned()));
    report
}
