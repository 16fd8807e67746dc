//! A dump whose library functions are no longer what they were.

use std::cell::Cell;

use serde_json::json;

use crate::limits::Limits;
use crate::machine::{Machine, Step};

thread_local! {
    /// Makes the loader believe that no function of the library is the same any more.
    pub(super) static LIBRARY_HAS_CHANGED: Cell<bool> = const { Cell::new(false) };
}

fn finish(mut machine: Machine, reload: bool) -> (String, u64) {
    loop {
        match machine.run(1_000_000) {
            Step::Yield => {}
            Step::Done(_) => return (machine.value(), machine.fuel_used()),
            Step::Failed(error) => return (error.to_string(), machine.fuel_used()),
            Step::Calls(calls) => {
                if reload {
                    let bytes = machine.dump().expect("it can be written");
                    machine = Machine::load_dump(&bytes, &Limits::default()).expect("it loads");
                }
                for call in calls {
                    let answer = json!(call.args["n"].as_i64().unwrap_or(0) * 10);
                    machine.resume(call.id, Ok(answer)).expect("the call waits");
                }
            }
        }
    }
}

#[test]
fn running_functions_of_a_library_that_has_changed_come_from_the_dump() {
    let sources = [
        "(map #(tool/price {:n %}) [1 2 3])",
        "(sort-by #(- (tool/price {:n %})) [3 1 2])",
        "(into [] (comp (map #(tool/price {:n %})) (filter odd?)) (range 4))",
        "(take 3 (map #(tool/price {:n %}) (iterate inc 1)))",
        "(pmap (fn [x] (reduce + (map #(tool/price {:n %}) [x x]))) [1 2])",
        "(let [f (memoize (fn [n] (tool/price {:n n})))] [(f 1) (f 2) (f 1)])",
        "(map (fn [n] (/ 1 (tool/price {:n n}))) [1 0])",
    ];
    for source in sources {
        let machine = || {
            let mut machine = Machine::new(Limits::default());
            machine.set_tools(["price".to_owned()]);
            machine.load(source).expect("it loads");
            machine
        };
        let undisturbed = finish(machine(), false);
        LIBRARY_HAS_CHANGED.set(true);
        let moved = finish(machine(), true);
        LIBRARY_HAS_CHANGED.set(false);
        assert_eq!(moved, undisturbed, "{source}");
    }
}

#[test]
fn running_functions_of_the_library_are_shared_with_it_again() {
    let mut machine = Machine::new(Limits::default());
    machine.set_tools(["price".to_owned()]);
    machine
        .load("(sort-by @(atom #(- (tool/price {:n %}))) (fn [a b] (compare a b)) (map inc [3 1 2]))")
        .expect("it loads");
    assert!(matches!(machine.run(1_000_000), Step::Calls(_)));
    let library = |machine: &Machine| {
        let frames = machine.fiber.frames.iter();
        frames.filter(|frame| crate::machine::library::is_core(frame.unit)).count()
    };
    assert!(library(&machine) > 0);
    let bytes = machine.dump().expect("it can be written");
    let loaded = Machine::load_dump(&bytes, &Limits::default()).expect("it loads");
    assert_eq!(library(&loaded), library(&machine));
    assert_eq!(loaded.units.len(), machine.units.len());
}
