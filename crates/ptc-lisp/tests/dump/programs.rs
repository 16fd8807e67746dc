//! The corpus: reading it, the tools its programs call, and running one program.

use ptc_lisp::machine::{Call, Machine, Step};
use ptc_lisp::{Error, ErrorKind, Limits};
use serde_json::{Value, json};

/// A program of the corpus.
pub struct Program {
    pub title: String,
    pub source: String,
    /// The value as it prints, or `error kind: message`.
    pub expected: String,
}

/// What can be seen of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub value: String,
    pub prints: Vec<String>,
    pub fuel: u64,
    pub calls: u64,
    pub manifest: Vec<String>,
}

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/suspend/programs.clj");

/// All programs of the corpus.
pub fn programs() -> Vec<Program> {
    let text = std::fs::read_to_string(FILE).expect("the corpus is there");
    let blocks = text.split("\n\n").filter(|block| block.contains(";=> "));
    let program = |block: &str| {
        let (head, expected) = block.trim().rsplit_once("\n;=> ").expect("a program has an answer");
        let (title, source) = head.split_once('\n').expect("a program has a title");
        let title = title.trim_start_matches([';', ' ']).to_owned();
        Program { title, source: source.to_owned(), expected: expected.to_owned() }
    };
    blocks.map(program).collect()
}

/// A machine with the tools and inputs of the corpus.
pub fn machine() -> Machine {
    let mut machine = Machine::new(Limits::default());
    machine.set_tools(["price", "echo", "rows", "user", "page"].map(str::to_owned));
    machine.set_clock(1_700_000_000_000);
    machine.set_seed(7);
    let orders = json!({"orders": [{"id": 1, "amount": 5}, {"id": 2, "amount": 7}]});
    machine.set_data(&orders).expect("the inputs fit");
    machine
}

/// What a tool of the corpus answers. They are described at the top of the file.
pub fn answer(call: &Call) -> Result<Value, Error> {
    let number = |name: &str| call.args[name].as_i64().unwrap_or(0);
    Ok(match call.tool.as_str() {
        "price" if number("n") == 13 => {
            return Err(Error::new(ErrorKind::Tool, "tool price failed: unlucky"));
        }
        "price" => json!(number("n") * 10),
        "echo" => call.args["value"].clone(),
        "rows" => json!([
            {"id": 1, "name": "Ann", "tags": ["a", "b"], "at": "2024-01-31"},
            {"id": 2, "name": "Bob", "tags": [], "at": "2024-02-29"},
            {"id": 3, "name": "Cid", "tags": ["b"], "at": "2023-12-01"},
        ]),
        "user" => {
            let id = number("id");
            let parent = if id > 1 { json!(id / 2) } else { Value::Null };
            json!({"id": id, "name": format!("user-{id}"), "parent": parent})
        }
        "page" => {
            let at = number("at");
            let next = if at < 2 { json!(at + 1) } else { Value::Null };
            json!({"items": [at * 2, at * 2 + 1], "next": next})
        }
        other => panic!("nobody granted {other}"),
    })
}

/// Answers calls in the order given.
pub fn answer_all(machine: &mut Machine, calls: &[Call]) {
    for call in calls {
        machine.resume(call.id, answer(call)).expect("the call waits");
    }
}

/// Runs to the end. At every stop `pause` may exchange the machine; what it gives then has the calls
/// that are outstanding.
pub fn finish(mut machine: Machine, slice: u64, pause: &mut impl FnMut(Machine) -> Machine) -> Outcome {
    let value = loop {
        match machine.run(slice) {
            Step::Yield => machine = pause(machine),
            Step::Done(_) => break machine.value(),
            Step::Failed(error) => {
                let place = error.span.map(|span| &machine.source()[span.start as usize..span.end as usize]);
                break format!("error {error}{}", place.map_or(String::new(), |at| format!(" at {at}")));
            }
            Step::Calls(calls) => {
                assert!(!calls.is_empty(), "{} waits for nothing", machine.source());
                machine = pause(machine);
                assert_eq!(machine.outstanding(), calls, "{}", machine.source());
                answer_all(&mut machine, &calls);
                machine = pause(machine);
            }
        }
    };
    let manifest = machine.manifest().uses.iter().map(|tool_use| format!("{tool_use:?}")).collect();
    Outcome {
        value,
        prints: machine.prints().to_vec(),
        fuel: machine.fuel_used(),
        calls: machine.tool_calls(),
        manifest,
    }
}

/// Writes a machine and loads it again, twice: the second dump is the last word. (The first may know of
/// owners that nothing can reach any more.)
pub fn reloaded(machine: &Machine) -> Machine {
    let load = |bytes: &[u8]| {
        Machine::load_dump(bytes, &Limits::default())
            .unwrap_or_else(|error| panic!("{}: {error}", machine.source()))
    };
    let first = load(&machine.dump().expect("it can be written"));
    let bytes = first.dump().expect("it can be written again");
    let second = load(&bytes);
    assert!(second.dump().as_ref() == Ok(&bytes), "{} is written differently", machine.source());
    second
}

/// A loaded program that has not run.
pub fn loaded(source: &str) -> Machine {
    let mut machine = machine();
    machine.load(source).unwrap_or_else(|error| panic!("{source}: {error}"));
    machine
}

/// A slice that is never used up.
pub const WHOLE: u64 = u64::MAX / 2;
