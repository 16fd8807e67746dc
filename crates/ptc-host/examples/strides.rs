//! How long a machine goes without looking up: calls every function of the library with large arguments, in
//! slices of 1,000 units of fuel, and lists those with the longest slice and the most time per unit; then calls
//! each in a loop with small arguments, and lists again those with the most time per unit.
//! `cargo run --release -p ptc-host --example strides [-- [--small] [NAME…]]`, `--small` for the loops alone.
//!
//! A slice ends only between instructions, so a long one is a native that does much at once. Time per unit far
//! above the others means that its work is not charged.

#![expect(clippy::print_stdout, reason = "a report")]

use std::collections::BTreeMap;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use ptc_lisp::Limits;
use ptc_lisp::builtins::registry;
use ptc_lisp::machine::{Machine, Step};

/// Definitions that hold much.
const LARGE: &[(&str, &str)] = &[
    ("ints", "(vec (range 100000))"),
    ("mixed", "(vec (shuffle (range 50000)))"),
    ("listed", "(apply list (range 50000))"),
    ("words", "(mapv #(str \"word\" %) (range 50000))"),
    ("rows", "(mapv (fn [i] {:id i :name (str \"name\" i)}) (range 20000))"),
    ("table", "(into {} (map (fn [i] [i (str i)])) (range 50000))"),
    ("members", "(set (range 50000))"),
    ("ordered", "(into (sorted-map) (map (fn [i] [i i])) (range 5000))"),
    ("ascii", "(apply str (repeat 100000 \"ab, 1\"))"),
    ("marks", "(apply str (repeat 50000 \"é👍🏽 \"))"),
    ("digits", "(apply str (repeat 9000 \"7\"))"),
    ("json", "(str \"[\" (apply str (repeat 50000 \"{\\\"a\\\":1},\")) \"1]\")"),
    ("wide", "(reduce *' (range 1 8000))"),
];

/// Arguments of calls in a loop, beside [`SMALL`]: little to hold, but not nothing to work with.
const MIDDLING: &[&str] =
    &["(range 1000000)", "'map", "\"map\"", "\"2024-05-01\"", "wide", "1.5M", "1/3", "(vec (range 30))"];

/// Arguments beside them.
const SMALL: &[&str] = &["2", "\"a\"", ":id", "inc", "<", "#\"[a-z]+\\d\"", "nil", "[1 2]", "{}"];

/// The longest slice of a function.
#[derive(Default)]
struct Longest {
    took: Duration,
    fuel: u64,
    call: String,
}

fn machine() -> Machine {
    let limits = Limits { fuel: 20_000_000, ..Limits::default() };
    let mut machine = Machine::new(limits);
    for (name, source) in LARGE {
        machine.load(&format!("(def {name} {source}) nil")).expect("it loads");
        while let Step::Yield = machine.run(u64::MAX) {}
    }
    machine
}

/// Calls a function and remembers its longest slice.
fn call(machine: &mut Machine, call: String, longest: &mut Longest) {
    if machine.load(&format!("{call} nil")).is_err() {
        return;
    }
    loop {
        let (begun, before) = (processor_time(), machine.fuel_used());
        let step = machine.run(1_000);
        let took = processor_time().saturating_sub(begun);
        if took > longest.took {
            *longest = Longest { took, fuel: machine.fuel_used().saturating_sub(before), call: call.clone() };
        }
        if !matches!(step, Step::Yield) {
            return;
        }
    }
}

/// Argument lists of one to three, at least one of them large.
fn arguments() -> Vec<String> {
    let mut all = Vec::new();
    for (large, _) in LARGE {
        all.extend([(*large).to_owned(), format!("{large} {large}"), format!("{large} 2 {large}")]);
        for small in SMALL {
            all.extend([format!("{large} {small}"), format!("{small} {large}")]);
            all.extend([format!("{small} {small} {large}"), format!("{large} {small} {small}")]);
        }
    }
    all
}

/// Argument lists of none to three, all of them small.
fn small_arguments() -> Vec<String> {
    let each = || SMALL.iter().chain(MIDDLING);
    let mut all = vec![String::new()];
    for first in each() {
        all.extend([(*first).to_owned(), format!("{first} {first} {first}")]);
        all.extend(each().map(|second| format!("{first} {second}")));
    }
    all
}

/// Calls a function again and again, for at most `PATIENCE`, and remembers the dearest call by time per unit.
fn call_often(machine: &mut Machine, call: String, dearest: &mut Longest) {
    const PATIENCE: Duration = Duration::from_millis(1);
    let source =
        format!("(loop [n 0] (when (< n 2000) (try {call} (catch Exception _ nil)) (recur (inc n)))) nil");
    if machine.load(&source).is_err() {
        return;
    }
    let (begun, before) = (processor_time(), machine.fuel_used());
    while matches!(machine.run(1_000), Step::Yield) && processor_time().saturating_sub(begun) < PATIENCE {}
    let (took, fuel) = (processor_time().saturating_sub(begun), machine.fuel_used().saturating_sub(before));
    if rate(took, fuel) > rate(dearest.took, dearest.fuel) {
        *dearest = Longest { took, fuel, call };
    }
}

fn report(title: &str, rows: &mut [(&String, &Longest)], by: impl Fn(&Longest) -> u128) {
    const SHOWN: usize = 40;
    println!("{title}\n{:>9} {:>9} {:>7}  call", "µs", "fuel", "ns/fuel");
    rows.sort_by_key(|(_, longest)| std::cmp::Reverse(by(longest)));
    for (_, Longest { took, fuel, call }) in rows.iter().take(SHOWN) {
        println!("{:>9} {fuel:>9} {:>7}  {call}", took.as_micros(), rate(*took, *fuel));
    }
}

/// Of this thread: a busy machine must not make a function look dear.
fn processor_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from).unwrap_or_default()
}

fn rate(took: Duration, fuel: u64) -> u128 {
    took.as_nanos() / u128::from(fuel.max(1))
}

fn main() {
    let (small, wanted): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|arg| arg == "--small");
    let mut found: BTreeMap<String, Longest> = BTreeMap::new();
    let mut often: BTreeMap<String, Longest> = BTreeMap::new();
    for (_, entry) in registry().iter() {
        let internal = matches!(entry.ns, "prim" | "ptc.impl");
        if internal || !(wanted.is_empty() || wanted.iter().any(|name| name == entry.name)) {
            continue;
        }
        // A fresh machine each: what one call leaves behind must not slow the next.
        let mut machine = machine();
        let longest = found.entry(entry.name.to_owned()).or_default();
        for arguments in arguments().into_iter().filter(|_| small.is_empty()) {
            call(&mut machine, format!("({} {arguments})", entry.name), longest);
        }
        let mut machine = self::machine();
        let dearest = often.entry(entry.name.to_owned()).or_default();
        for arguments in small_arguments() {
            call_often(&mut machine, format!("({} {arguments})", entry.name), dearest);
        }
    }
    // What takes less than this does not matter, whatever it charges.
    let noticed = |longest: &Longest| longest.took >= Duration::from_micros(300);
    let mut rows: Vec<_> = found.iter().filter(|(_, longest)| noticed(longest)).collect();
    report("longest slices", &mut rows, |longest| longest.took.as_nanos());
    report("most time per unit of fuel", &mut rows, |longest| rate(longest.took, longest.fuel));
    let mut rows: Vec<_> = often.iter().filter(|(_, dearest)| noticed(dearest)).collect();
    report("in a loop, most time per unit of fuel", &mut rows, |dearest| rate(dearest.took, dearest.fuel));
}
