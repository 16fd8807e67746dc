//! What `ptc eval --batch` and `ptc eval FILE --json` answer, without the rest of the command, so that attacks can be
//! tried on an optimised build which takes a minute to make. `cargo xtask ci` does that with the tests of
//! `crates/ptc/tests/adversarial.rs`; arguments and answers are those of the command, as far as these use them.

#![expect(clippy::print_stdout, reason = "answers are what it is for")]

use std::io::{BufRead as _, Read as _};
use std::time::Duration;

use ptc_host::{Bounds, Limits, Tools, drive, now_ms};
use ptc_lisp::machine::Machine;
use serde_json::{Value, json};

#[path = "../../ptc/tests/adversarial/corpus.rs"]
#[expect(dead_code, reason = "programs come from outside")]
mod corpus;

#[global_allocator]
static ALLOCATOR: ptc_alloc::Allocator = ptc_alloc::Allocator;

/// What programs run under, and where they come from.
struct Asked {
    limits: Limits,
    bounds: Bounds,
    /// A file with one program; lines of standard input if there is none.
    file: Option<String>,
}

fn main() {
    let asked = asked(std::env::args().skip(1));
    let worker = std::thread::Builder::new().stack_size(ptc_host::STACK).spawn(move || run(&asked));
    worker.expect("a thread starts").join().expect("no program stops the process");
}

fn asked(mut args: impl Iterator<Item = String>) -> Asked {
    let mut asked = Asked { limits: Limits::default(), bounds: Bounds::default(), file: None };
    while let Some(arg) = args.next() {
        let mut value = || args.next().expect("the option has a value");
        match arg.as_str() {
            "eval" | "--batch" | "--json" => {}
            "--fuel" => asked.limits.fuel = corpus::amount(&value()),
            "--memory" => {
                asked.limits.memory = usize::try_from(corpus::amount(&value())).expect("it fits");
            }
            "--timeout" => {
                let seconds = value().trim_end_matches('s').parse().expect("seconds");
                asked.bounds.timeout = Some(Duration::from_secs(seconds));
            }
            file => asked.file = Some(file.to_owned()),
        }
    }
    asked
}

fn run(asked: &Asked) {
    if let Some(file) = &asked.file {
        // As much as tells that it is too large, as the command reads it.
        let most = asked.limits.source_bytes as u64 + 1;
        let mut source = Vec::new();
        let file = std::fs::File::open(file).expect("the file can be opened");
        file.take(most).read_to_end(&mut source).expect("the file can be read");
        return println!("{}", answer(asked, &String::from_utf8_lossy(&source)));
    }
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let row: Value = serde_json::from_str(&line).expect("a JSON line");
        println!("{}", answer(asked, row["src"].as_str().expect("a program")));
    }
}

fn answer(asked: &Asked, source: &str) -> Value {
    let mut machine = Machine::new(asked.limits.clone());
    machine.set_clock(now_ms());
    match drive(&mut machine, source, &Tools::new(), &asked.bounds).result {
        Ok(_) => json!({"ok": true, "value": machine.value(), "json": machine.value_json()}),
        Err(error) => {
            json!({"ok": false, "error": {"kind": error.kind.reason(), "message": error.text()}})
        }
    }
}
