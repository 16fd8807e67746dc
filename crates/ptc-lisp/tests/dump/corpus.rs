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
