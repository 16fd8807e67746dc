//! Every example in the declaration of a builtin runs and prints what it says.

use ptc_lisp::builtins::registry;
use ptc_lisp::machine::{Machine, Step};
use ptc_lisp::{Error, Limits};

fn eval(source: &str) -> Result<String, Error> {
    let mut machine = Machine::new(Limits::default());
    machine.load(source)?;
    loop {
        match machine.run(1_000_000) {
            Step::Done(_) => return Ok(machine.value()),
            Step::Failed(error) => return Err(error),
            Step::Yield => {}
            Step::Calls(calls) => panic!("an example calls {calls:?}"),
        }
    }
}

#[test]
fn examples_print_what_they_say() {
    let mut wrong = Vec::new();
    for (_, entry) in registry().iter() {
        for (source, expected) in entry.examples() {
            match eval(source) {
                Ok(value) if value == *expected => {}
                Ok(value) => wrong.push(format!("{}: {source} gives {value}, not {expected}", entry.name)),
                Err(error) => wrong.push(format!("{}: {source} fails: {error}", entry.name)),
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong examples:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_public_builtin_is_documented() {
    let missing: Vec<&str> = registry()
        .iter()
        .map(|(_, entry)| entry)
        // Host calls are declared only to be refused, so nothing of them can be shown.
        .filter(|entry| !matches!(entry.ns, "prim" | "ptc.impl" | "System" | "Thread" | "Runtime"))
        .filter(|entry| entry.doc().is_empty() || entry.examples().is_empty())
        .map(|entry| entry.name)
        .collect();
    assert!(missing.is_empty(), "without doc or example: {}", missing.join(" "));
}
