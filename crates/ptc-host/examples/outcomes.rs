//! What every program of the corpora does, one line each: value or error, prints and fuel. Two builds must
//! print the same; `cargo xtask compare` and `cargo xtask sanitize` look at that.
//!
//! Case files run at once; programs that call tools are written as bytes and loaded at each stop; attacks run
//! in slices. The allocator is the system's, so that sanitizers see every allocation.

#![expect(clippy::print_stdout, reason = "a report")]

#[path = "../../ptc-lisp/tests/conformance/cases.rs"]
#[expect(dead_code, reason = "answers are compared between builds, not with what is expected")]
mod cases;
#[path = "../../ptc/tests/adversarial/corpus.rs"]
#[expect(dead_code, reason = "answers are compared between builds, not with what is expected")]
mod corpus;
#[path = "../../ptc-lisp/tests/dump/programs.rs"]
#[expect(dead_code, reason = "answers are compared between builds, not with what is expected")]
mod programs;

use std::path::Path;

use ptc_lisp::machine::{Machine, Step};
use ptc_lisp::{ErrorKind, Limits};
use serde_json::{Value, json};

/// Files of attacks.
const ATTACKS: [&str; 9] = [
    "loops.clj",
    "catching.clj",
    "memory.clj",
    "nesting.clj",
    "shared.clj",
    "strings.clj",
    "regex.clj",
    "numbers.clj",
    "data.clj",
];

/// A program at work must leave this much native stack for what debug builds and sanitizers add.
const STACK: usize = 4 * ptc_host::STACK;

fn main() {
    let all = std::thread::Builder::new().stack_size(STACK).spawn(|| {
        conformance();
        suspension();
        attacks();
    });
    all.expect("a thread starts").join().expect("no program stops the process");
}

/// Prints a line: long texts as their beginning, length and checksum.
fn line(name: &str, outcome: &str, prints: &[String], fuel: u64) {
    const SHOWN: usize = 200;
    let checksum = outcome.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let shown: String = outcome.chars().take(SHOWN).collect();
    let row = json!([name, shown, outcome.len(), format!("{checksum:x}"), prints, fuel]);
    println!("{row}");
}

/// Runs a program to its end; it has no tools.
fn run(name: &str, source: &str, data: &Value, limits: &Limits, slice: u64) {
    let mut machine = Machine::new(limits.clone());
    let mut fuel_counts = true;
    machine.set_clock(1_700_000_000_000);
    let loaded = machine.set_data(data).and_then(|()| machine.load(source).map(|_| ()));
    let outcome = match loaded {
        Err(error) => error.to_string(),
        Ok(()) => loop {
            match machine.run(slice) {
                Step::Yield => {}
                Step::Done(signal) => break format!("{signal:?} {}", machine.value()),
                Step::Failed(error) => {
                    // The parts of a large table depend on how its keys hash, which no two processes agree on.
                    fuel_counts = error.kind != ErrorKind::MemoryExceeded;
                    break error.to_string();
                }
                Step::Calls(_) => break "a call of a tool".to_owned(),
            }
        },
    };
    let fuel = if fuel_counts { machine.fuel_used() } else { 0 };
    line(name, &outcome, machine.prints(), fuel);
}

fn conformance() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/cases");
    let entries = std::fs::read_dir(folder).expect("the cases are there");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    for file in files {
        let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let text = std::fs::read_to_string(&file).expect("a file of cases");
        for case in cases::parse(stem, &text).expect("cases") {
            run(&case.name, &case.src, &Value::Object(case.data), &Limits::default(), u64::MAX);
        }
    }
}

fn suspension() {
    for program in programs::programs() {
        let machine = programs::loaded(&program.source);
        let mut reload = |machine: Machine| programs::reloaded(&machine);
        let outcome = programs::finish(machine, programs::WHOLE, &mut reload);
        let manifest = outcome.manifest.join(" ");
        let value = format!("{} after {} calls of {manifest}", outcome.value, outcome.calls);
        line(&program.title, &value, &outcome.prints, outcome.fuel);
    }
}

fn attacks() {
    const SLICE: u64 = 20_000;
    let nothing = json!({});
    for file in ATTACKS {
        let attacks = corpus::attacks(file);
        let (fuel, memory) = (corpus::amount(&attacks.fuel), corpus::amount(&attacks.memory) as usize);
        let limits = Limits { fuel, memory, ..Limits::default() };
        for attack in attacks.programs {
            run(&format!("{file} {}", attack.name), &attack.source, &nothing, &limits, SLICE);
        }
    }
    let limits = Limits { fuel: 2_000_000, memory: 32 << 20, ..Limits::default() };
    for attack in corpus::generated() {
        run(&format!("generated {}", attack.name), &attack.source, &nothing, &limits, SLICE);
    }
}
