//! What a dump costs: its size, the time to write it, and the time to load it and go on to the next stop.
//!
//! `cargo run --release -p ptc-lisp --example dump_cost`

#![expect(clippy::disallowed_methods, reason = "an example measures time")]
#![expect(clippy::print_stdout, reason = "an example shows what it measures")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use ptc_lisp::Limits;
use ptc_lisp::machine::{Machine, Step};
use serde_json::json;

const PROGRAMS: &[(&str, &str)] = &[
    ("call", "(tool/price {:n 1})"),
    ("loop", "(loop [i 0 s 0] (if (< i 50) (recur (inc i) (+ s (tool/price {:n i}))) s))"),
    (
        "report",
        "(let [rows [{:id 1 :qty 2} {:id 2 :qty 5}]
               priced (mapv (fn [{:keys [id qty]}] {:id id :total (* qty (tool/price {:n id}))}) rows)]
           {:rows priced :sum (reduce + (map :total priced))})",
    ),
    ("map", "(map #(tool/price {:n %}) [1 2 3])"),
    ("pmap", "(pmap #(tool/price {:n %}) [1 2 3])"),
    ("lazy", "(take 3 (map #(tool/price {:n %}) (iterate inc 1)))"),
    ("try", "(try (tool/price {:n 1}) (catch Exception e (ex-message e)) (finally (println :done)))"),
    (
        "data",
        "(let [rows (mapv (fn [i] {:id i :name (str \"row \" i)}) (range 1000))] (tool/price {:n 1}) rows)",
    ),
];

fn paused(source: &str) -> Machine {
    let mut machine = Machine::new(Limits::default());
    machine.set_tools(["price".to_owned()]);
    machine.load(source).expect("it loads");
    loop {
        match machine.run(1_000_000) {
            Step::Yield => {}
            Step::Calls(_) => return machine,
            other => panic!("{source} stops at {other:?}"),
        }
    }
}

/// The median time of one call.
fn median(mut work: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..2001)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

fn main() {
    println!("{:8} {:>7} {:>12} {:>12} {:>14}", "program", "bytes", "dump", "load", "load + resume");
    for (name, source) in PROGRAMS {
        let machine = paused(source);
        let bytes = machine.dump().expect("it can be written");
        let limits = Limits::default();
        let load = || Machine::load_dump(&bytes, &limits).expect("it loads");
        let dump = median(|| drop(black_box(machine.dump())));
        let loaded = median(|| drop(black_box(load())));
        let resumed = median(|| {
            let mut machine = load();
            for call in machine.outstanding() {
                machine.resume(call.id, Ok(json!(10))).expect("the call waits");
            }
            drop(black_box(machine.run(1_000_000)));
        });
        println!("{name:8} {:>7} {dump:>12.2?} {loaded:>12.2?} {resumed:>14.2?}", bytes.len());
    }
}
