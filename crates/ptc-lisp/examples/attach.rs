//! What attaching a prelude costs: `cargo run --release -p ptc-lisp --example attach`.
//!
//! In one run, alternating: machines without a prelude, with an empty one, and with one of 500 exports; each
//! attaches, and in a second round each also runs a small program that uses nothing of the prelude.

// Measuring takes a clock.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout, missing_docs)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use ptc_lisp::Limits;
use ptc_lisp::machine::{Machine, Step};
use ptc_lisp::prelude::Prelude;

const EXPORTS: usize = 500;
const ROUNDS: usize = 2_000;
const PROGRAM: &str = "(reduce + (map inc (range 100)))";

fn main() {
    let empty = prelude(0);
    let begun = Instant::now();
    let full = prelude(EXPORTS);
    println!("compiling {EXPORTS} exports: {:.2} ms, once", begun.elapsed().as_secs_f64() * 1e3);
    let lent = [None, Some(empty), Some(full)];
    let mut attach: [Vec<Duration>; 3] = Default::default();
    let mut run: [Vec<Duration>; 3] = Default::default();
    let mut fuel = [0; 3];
    for _ in 0..ROUNDS {
        for (at, prelude) in lent.iter().enumerate() {
            let mut machine = Machine::new(Limits::default());
            let begun = Instant::now();
            lend(&mut machine, prelude.as_ref());
            attach[at].push(begun.elapsed());
            let begun = Instant::now();
            let mut machine = Machine::new(Limits::default());
            lend(&mut machine, prelude.as_ref());
            fuel[at] = finish(&mut machine);
            run[at].push(begun.elapsed());
        }
    }
    assert_eq!(fuel[0], fuel[2], "a prelude that is not used costs no fuel");
    let [_, nothing, all] = attach.map(median);
    println!("attaching an empty prelude:  {:>8.3} us (median of {ROUNDS})", nothing * 1e6);
    println!(
        "attaching {EXPORTS} exports:       {:>8.3} us, {:.2} times the empty one",
        all * 1e6,
        all / nothing
    );
    let [without, empty, full] = run.map(median);
    println!("a program without a prelude: {:>8.3} us", without * 1e6);
    println!("with an empty one:           {:>8.3} us, {:.2} times", empty * 1e6, empty / without);
    println!("with {EXPORTS} exports:            {:>8.3} us, {:.2} times", full * 1e6, full / without);
}

fn prelude(exports: usize) -> Arc<Prelude> {
    let mut source = String::from("(ns crm \"Many.\")\n");
    for at in 0..exports {
        source.push_str(&format!(
            "(defn f{at} \"Calls operation {at}.\" [id]
               (tool/call {{:server \"crm\" :tool \"op_{at}\" :args {{:id id :n {at}}}}}))\n"
        ));
    }
    Arc::new(Prelude::compile_text(&source).expect("it compiles"))
}

fn lend(machine: &mut Machine, prelude: Option<&Arc<Prelude>>) {
    if let Some(prelude) = prelude {
        machine.attach(prelude).expect("the machine is fresh");
    }
}

fn finish(machine: &mut Machine) -> u64 {
    machine.load(PROGRAM).expect("it compiles");
    match machine.run(u64::MAX) {
        Step::Done(_) => machine.fuel_used(),
        other => panic!("{other:?}"),
    }
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64()
}
