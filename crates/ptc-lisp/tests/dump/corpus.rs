//! Every program of the corpus, undisturbed and with a dump at every stop.

use crate::programs::{WHOLE, finish, loaded, programs, reloaded};

#[test]
fn the_corpus_is_large_and_answers_as_written() {
    let programs = programs();
    assert!(programs.len() >= 60, "only {} programs", programs.len());
    for program in programs {
        let outcome = finish(loaded(&program.source), WHOLE, &mut |machine| machine);
        assert_eq!(outcome.value, program.expected, "{}: {}", program.title, program.source);
        assert!(outcome.calls > 0, "{} calls no tool", program.title);
    }
}

#[test]
fn a_program_goes_on_after_every_stop_as_if_nothing_had_happened() {
    for program in programs() {
        let undisturbed = finish(loaded(&program.source), WHOLE, &mut |machine| machine);
        for slice in [WHOLE, 25] {
            let start = reloaded(&loaded(&program.source));
            let moved = finish(start, slice, &mut |machine| reloaded(&machine));
            assert_eq!(moved, undisturbed, "{} in slices of {slice}", program.title);
        }
    }
}

/// Fuel pays for counting memory too: when it is counted next, and how much is found, must not depend on
/// how vectors and stacks came to be as large as they are.
#[test]
fn memory_is_counted_the_same_after_a_stop() {
    let garbage_between_calls = "(loop [i 0 kept [] s 0]
           (if (< i 4)
             (let [made (reduce (fn [all n] (+ all (count (mapv #(str \"text number \" %) (range n))))) 0 (repeat 9 900))]
               (recur (inc i) (conj kept (mapv str (range 500))) (+ s made (tool/price {:n i}))))
             [(count kept) s]))";
    let deep_stack = "(letfn [(down [n] (if (zero? n) 0 (inc (down (dec n)))))]
           [(down 2000) (tool/price {:n 1}) (down 1000) (tool/price {:n 2}) (down 3000)
            (count (mapv #(str % \" and more\") (range 9000)))])";
    for source in [garbage_between_calls, deep_stack] {
        let start = || {
            let mut machine = loaded(source);
            machine.set_limits(ptc_lisp::Limits { memory: 2 << 20, ..ptc_lisp::Limits::default() });
            machine
        };
        let undisturbed = finish(start(), WHOLE, &mut |machine| machine);
        assert!(!undisturbed.value.starts_with("error"), "{source}: {}", undisturbed.value);
        let moved = finish(start(), WHOLE, &mut |machine| reloaded(&machine));
        assert_eq!(moved, undisturbed, "{source}");
    }
}
