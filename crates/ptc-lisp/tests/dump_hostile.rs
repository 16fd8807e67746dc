//! Hostile bytes: real dumps with something changed and the checksum made right again. Whatever loads
//! must run within its limits; nothing may panic or take much memory.

#![expect(clippy::disallowed_methods, reason = "tests read the corpus")]

#[path = "dump/programs.rs"]
#[expect(dead_code, reason = "not all of it is needed here")]
mod programs;
#[path = "dump/seal.rs"]
mod seal;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use ptc_lisp::Limits;
use ptc_lisp::machine::{Machine, Step};

use crate::programs::{answer, answer_all, loaded, programs};
use crate::seal::sealed;

/// Notes the largest piece of memory that is asked for.
struct Watching;

static LARGEST: AtomicUsize = AtomicUsize::new(0);

#[expect(unsafe_code, reason = "an allocator that watches can only be written this way")]
// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LARGEST.fetch_max(size, Ordering::Relaxed);
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static WATCHING: Watching = Watching;

/// A stream of numbers that is the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % most.max(1)
    }

    /// One small change, or a few.
    fn changed(&mut self, bytes: &[u8], others: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for _ in 0..=self.below(3) {
            let end = bytes.len() - 8;
            let at = 5 + self.below(end - 5);
            match self.below(8) {
                0 => bytes[at] ^= 1 << self.below(8),
                1 => bytes[at] = self.below(256) as u8,
                2 => bytes[at] = bytes[at].wrapping_add(1),
                3 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][self.below(5)],
                4 => bytes.insert(at, self.below(256) as u8),
                5 if end > 40 => drop(bytes.remove(at)),
                6 if end > 80 => {
                    let count = 1 + self.below(20.min(end - at - 1));
                    bytes.drain(at..at + count);
                }
                _ => {
                    let other = &others[self.below(others.len())];
                    let from = self.below(other.len());
                    let piece = &other[from..(from + 1 + self.below(30)).min(other.len())];
                    bytes.splice(at..at, piece.iter().copied());
                }
            }
        }
        sealed(bytes)
    }
}

/// Loads and runs for a while; tells whether it loaded.
fn tried(bytes: &[u8]) -> bool {
    let limits =
        Limits { fuel: 20_000, memory: 1 << 20, print_bytes: 1 << 14, tool_calls: 20, ..Limits::default() };
    let Ok(mut machine) = Machine::load_dump(bytes, &limits) else { return false };
    let mut calls = machine.outstanding();
    for _ in 0..200 {
        for call in calls.drain(..) {
            if ["price", "echo", "rows", "user", "page"].contains(&call.tool.as_str()) {
                let _ = machine.resume(call.id, answer(&call));
            }
        }
        match machine.run(1_000) {
            Step::Yield => {}
            Step::Calls(more) if !more.is_empty() => calls = more,
            Step::Done(_) => {
                let _ = machine.value();
                break;
            }
            Step::Calls(_) | Step::Failed(_) => break,
        }
    }
    let again = machine.dump().map(|bytes| Machine::load_dump(&bytes, &limits).is_ok());
    assert_ne!(again, Ok(false), "what ran can be written and loaded");
    true
}

/// Every stop of every program of the corpus; some machines have what only version 2 knows.
fn dumps() -> Vec<Vec<u8>> {
    let mut dumps = Vec::new();
    for (at, program) in programs().into_iter().enumerate() {
        let mut machine = loaded(&program.source);
        if at % 3 == 0 {
            machine.set_firewall(true);
            machine.set_overlay(true);
            machine.set_history_bytes(Some(64));
        }
        for _ in 0..4 {
            match machine.run(150) {
                Step::Done(_) | Step::Failed(_) => break,
                Step::Calls(calls) => {
                    dumps.push(machine.dump().expect("it can be written"));
                    answer_all(&mut machine, &calls);
                }
                Step::Yield => dumps.push(machine.dump().expect("it can be written")),
            }
        }
    }
    dumps
}

#[test]
fn changed_dumps_neither_panic_nor_take_much_memory() {
    let dumps = dumps();
    let mut dice = Dice(0x5eed_0123_4567_89ab);
    let (mut loaded, rounds) = (0, std::env::var("PTC_FUZZ_ROUNDS").ok().and_then(|text| text.parse().ok()));
    LARGEST.store(0, Ordering::Relaxed);
    for round in 0..rounds.unwrap_or(4_000) {
        let bytes = dice.changed(&dumps[round % dumps.len()], &dumps);
        let outcome = std::panic::catch_unwind(|| tried(&bytes));
        match outcome {
            Ok(ran) => loaded += usize::from(ran),
            Err(_) => panic!("round {round} panics"),
        }
    }
    let largest = LARGEST.load(Ordering::Relaxed);
    assert!(largest < 8 << 20, "a piece of {largest} bytes was asked for");
    assert!(loaded > 100, "only {loaded} changed dumps got as far as running");
}

#[test]
fn a_dump_cut_short_anywhere_is_refused() {
    let dumps = dumps();
    for bytes in dumps.iter().step_by(7) {
        for end in (13..bytes.len()).step_by(3) {
            let cut = sealed(bytes[..end].to_vec());
            assert!(Machine::load_dump(&cut, &Limits::default()).is_err(), "cut at {end}");
        }
    }
}

/// A few bytes stand for a range of any length; as a key it would be hashed to its end.
#[test]
fn keys_that_take_for_ever_are_refused() {
    let mut machine =
        loaded("(def wide (zipmap (map #(range (+ 20000 %)) (range 10)) (range))) (tool/price {:n 1})");
    assert!(matches!(machine.run(u64::MAX / 2), Step::Calls(_)));
    let bytes = machine.dump().expect("it can be written");
    assert!(bytes.len() < 1_000, "{} bytes", bytes.len());
    assert!(Machine::load_dump(&bytes, &Limits::default()).is_ok());
    let refused = Machine::load_dump(&bytes, &Limits { fuel: 50_000, ..Limits::default() });
    assert!(refused.is_err_and(|error| error.to_string().contains("keys take more work")));
}

/// Programs that stop with something of everything that loading looks at: open handlers, branches that wait for each
/// other, what functions captured, lazy sequences, cells, walks, definitions.
const STOPPED: [&str; 6] = [
    "(try (try (tool/price {:n 1}) (catch Exception e 1)) (catch Exception e 2) (finally 3))",
    "(pmap (fn [x] (tool/price {:n x})) [1 2])",
    "(let [a 1 b [2]] ((fn [x] (let [f (fn [y] (+ a y (count b) (tool/price {:n x})))] (inc (f 2)))) 3))",
    "(def m {:k #{1 \"t\" 2.5 'q \\c}}) (def s (map inc [1 2])) (def c (atom {:a s})) (tool/price {:n 1})",
    "(loop [i 0 acc []] (if (< i 2) (recur (inc i) (conj acc (tool/price {:n i}))) acc))",
    "(pcalls #(tool/price {:n 1}) #(first (pcalls (fn [] (tool/price {:n 2})))) (fn [] 5))",
];

/// What loading says of dumps of these programs in which one byte is another one.
const REASONS: [&str; 46] = [
    "a branch has no parent",
    "a branch has no parent that waits",
    "a branch has no place for its result",
    "a branch is its own parent",
    "a branch is missing",
    "a call has a number to come",
    "a cell has unknown flags",
    "a cell is expected",
    "a cell is missing",
    "a definition has unknown flags",
    "a definition is missing",
    "a fiber waits for a call that nobody made",
    "a flag is neither on nor off",
    "a frame begins before its caller",
    "a frame begins beyond the registers",
    "a frame has too few registers",
    "a function does not fit its code",
    "a function has lost what it captured",
    "a function has too many parameters",
    "a function runs outside of its code",
    "a handler belongs to another function",
    "a handler has no register",
    "a handler is older than its function",
    "a handler leads out of its function",
    "a key is not a value",
    "a lazy sequence is expected",
    "a map has no value for a key",
    "a name is missing",
    "a number is too large",
    "a place is out of range",
    "a result has no register",
    "a stack is larger than the memory",
    "a text is not UTF-8",
    "a unit is missing",
    "a value has unknown flags",
    "a value refers to one that is not there",
    "a walk goes over something else",
    "an array is expected",
    "it ends too early",
    "the keys of a map are missing",
    "the running fiber has no place",
    "the source text is missing",
    "there is a handler too many",
    "there is something after the end",
    "two definitions have one name",
    "two fibers have one place",
];

/// What is wrong with a dump is said. A check that is left out shows here, because nothing else has its words.
#[test]
fn each_way_in_which_a_machine_can_be_wrong_is_named() {
    let mut seen = std::collections::BTreeSet::new();
    for source in STOPPED {
        let mut machine = loaded(source);
        assert!(matches!(machine.run(100_000), Step::Calls(_)), "{source}");
        let bytes = machine.dump().expect("it can be written");
        for at in 5..bytes.len() - 8 {
            for value in [0, 1, 2, 3, 0x7f, bytes[at].wrapping_add(1), bytes[at].wrapping_sub(1)] {
                let mut changed = bytes.clone();
                changed[at] = value;
                if let Err(error) = Machine::load_dump(&sealed(changed), &Limits::default()) {
                    seen.insert(error.to_string().replace("the dump is damaged: ", ""));
                }
            }
        }
    }
    let missing: Vec<&str> = REASONS.into_iter().filter(|reason| !seen.contains(*reason)).collect();
    assert_eq!(missing, [""; 0], "no change is refused for these reasons any more");
}
