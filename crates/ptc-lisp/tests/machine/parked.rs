//! Branches that wait for tools keep what only they hold, however often memory is counted meanwhile.

use ptc_lisp::Limits;
use ptc_lisp::machine::{Machine, Step};
use serde_json::json;

/// Runs a program whose tools answer with nothing; its value, and how often it waited.
fn value(source: &str) -> (String, usize) {
    // Little memory, so that what programs drop makes the machine count what is live again and again.
    let mut machine = Machine::new(Limits { memory: 4 << 20, ..Limits::default() });
    machine.set_tools(["t".to_owned()]);
    machine.load(source).unwrap_or_else(|error| panic!("{source}: {error}"));
    let mut waited = 0;
    loop {
        match machine.run(10_000) {
            Step::Yield => {}
            Step::Done(_) => return (machine.value(), waited),
            Step::Failed(error) => panic!("{source}: {error}"),
            Step::Calls(calls) => {
                waited += 1;
                calls.iter().for_each(|call| machine.resume(call.id, Ok(json!(null))).expect("it waits"));
            }
        }
    }
}

/// What is made and dropped between two calls: several times the memory of the machine.
const GARBAGE: &str = "(dotimes [i 200] (vec (range 5000)))";

/// An atom or a delay is emptied if the machine finds it unreachable, so one that lives only in a branch that waits
/// shows whether the machine looks there.
#[test]
fn branches_that_wait_keep_their_bindings_locals_and_lazy_values() {
    let cases = [
        // Dynamic bindings.
        "(do (def ^:dynamic *a* nil)
             (pmap (fn [x] (binding [*a* (atom [x x])] (tool/t {}) GARBAGE (tool/t {}) @*a*)) [1 2 3]))",
        // Registers.
        "(pmap (fn [x] (let [a (atom [x x])] (tool/t {}) GARBAGE (tool/t {}) @a)) [1 2 3])",
        // Arguments of a call that waits.
        "(pmap (fn [x] (first [@(atom [x x]) (tool/t {}) (do GARBAGE 1) (tool/t {})])) [1 2 3])",
        // What a function captured.
        "(pmap (fn [x] (let [a (atom [x x]) f (fn [] @a)] (tool/t {}) GARBAGE (tool/t {}) (f))) [1 2 3])",
        // A lazy sequence that nobody has looked at.
        "(pmap (fn [x] (let [s (map identity [x x])] (tool/t {}) GARBAGE (tool/t {}) (vec s))) [1 2 3])",
        // A delay.
        "(pmap (fn [x] (let [d (delay [x x])] (tool/t {}) GARBAGE (tool/t {}) @d)) [1 2 3])",
        // An exception on its way through `finally`.
        "(pmap (fn [x]
                 (try (try (throw (ex-info \"e\" {:a (atom [x x])}))
                           (finally (tool/t {}) GARBAGE (tool/t {})))
                      (catch Exception e @(:a (ex-data e)))))
               [1 2 3])",
    ];
    for source in cases {
        let source = source.replace("GARBAGE", GARBAGE);
        let (value, waited) = value(&source);
        assert_eq!(value, "([1 1] [2 2] [3 3])", "{source}");
        assert!(waited >= 2, "{source}");
    }
}

/// The same for branches that wait for their own branches.
#[test]
fn a_parent_that_waits_for_its_branches_keeps_its_bindings() {
    let source = "(do (def ^:dynamic *a* nil)
        (binding [*a* (atom [7 7])]
          (pmap (fn [x] (tool/t {}) GARBAGE (tool/t {})) [1 2])
          @*a*))";
    assert_eq!(value(&source.replace("GARBAGE", GARBAGE)).0, "[7 7]");
}
