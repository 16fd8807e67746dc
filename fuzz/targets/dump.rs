//! Any bytes as a dump, their checksum made right: they are refused, or they are a machine that runs
//! within its limits and can be dumped again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ptc_lisp::Limits;
use ptc_lisp::dump::checksum;
use ptc_lisp::machine::{Machine, Step};

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits {
        fuel: 50_000,
        memory: 4 << 20,
        print_bytes: 1 << 14,
        output_bytes: 1 << 16,
        tool_calls: 20,
        ..Limits::default()
    };
    let mut sealed = bytes.to_vec();
    if let Some(end) = bytes.len().checked_sub(8) {
        let sum = checksum(&bytes[..end]);
        sealed[end..].copy_from_slice(&sum.to_le_bytes());
    }
    let Ok(mut machine) = Machine::load_dump(&sealed, &limits) else { return };
    let _ = machine.dump();
    for call in machine.outstanding() {
        let _ = machine.resume(call.id, Ok(serde_json::json!(1)));
    }
    for _ in 0..1_000 {
        match machine.run(1_000) {
            Step::Yield => {}
            Step::Done(_) => {
                let _ = (machine.value(), machine.value_json());
                return;
            }
            Step::Failed(_) => return,
            Step::Calls(calls) if calls.is_empty() => return,
            Step::Calls(calls) => {
                for call in calls {
                    let _ = machine.resume(call.id, Ok(serde_json::json!([call.id])));
                }
            }
        }
    }
});
