//! Any text as a program under tight limits: it ends in a value or an error, uses no more than it may,
//! and does exactly the same when it is run again in other slices.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ptc_lisp::machine::{Machine, Step};
use ptc_lisp::{ErrorKind, Limits};

const FUEL: u64 = 100_000;

fn run(source: &str, slice: u64) -> (String, Vec<String>, u64) {
    let limits = Limits {
        fuel: FUEL,
        memory: 8 << 20,
        source_bytes: 1 << 14,
        source_depth: 100,
        print_bytes: 1 << 14,
        output_bytes: 1 << 16,
        tool_calls: 20,
    };
    let mut machine = Machine::new(limits);
    machine.set_tools(["search".to_owned(), "get".to_owned()]);
    machine.set_clock(1_700_000_000_000);
    let data = serde_json::json!({"xs": [3, 1, 2], "rows": [{"id": 1, "n": "a"}, {"id": 2, "n": null}]});
    machine.set_data(&data).expect("the data fits");
    if let Err(error) = machine.load(source) {
        return (error.to_string(), Vec::new(), 0);
    }
    let outcome = loop {
        match machine.run(slice) {
            Step::Yield => {}
            Step::Done(_) => break format!("{} {}", machine.value(), machine.value_json()),
            Step::Failed(error) => {
                assert_ne!(error.kind, ErrorKind::Cancelled);
                break error.to_string();
            }
            Step::Calls(calls) if calls.is_empty() => break "waits".to_owned(),
            Step::Calls(calls) => {
                for call in calls {
                    let answer = serde_json::json!({"args": call.args, "n": call.id});
                    machine.resume(call.id, Ok(answer)).expect("the call waits");
                }
            }
        }
    };
    (outcome, machine.prints().to_vec(), machine.fuel_used())
}

fuzz_target!(|source: &str| {
    let first = run(source, u64::MAX);
    assert!(first.2 <= FUEL, "used {} of {FUEL}", first.2);
    let second = run(source, 500);
    // Functions and cells show nothing that differs from run to run.
    assert_eq!(first, second);
});
