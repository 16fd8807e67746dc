//! The corpus of programs that call tools everywhere, with its tools as tools of a host that count their calls.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ptc_host::{Decision, Held, Judge, Judgement, Outcome, Program, Resumption, Tool, Tools, run_blocking};
use ptc_lisp::machine::Call;
use serde_json::{Value, json};

#[expect(dead_code, reason = "the corpus belongs to the tests of dumps, which use all of it")]
#[path = "../../../ptc-lisp/tests/dump/programs.rs"]
mod programs;

pub use programs::programs;

/// The calls that tools got, in no order.
pub type Seen = Arc<Mutex<Vec<(String, Value)>>>;

/// The tools of the corpus.
pub fn tools(seen: &Seen) -> Tools {
    ["price", "echo", "rows", "user", "page"].into_iter().fold(Tools::new(), |tools, name| {
        let seen = seen.clone();
        let answer = move |args: Value| {
            seen.lock().expect("nobody panics").push((name.to_owned(), args.clone()));
            let answer = programs::answer(&Call { id: 0, tool: name.to_owned(), args, discovery: false });
            answer.map_err(|error| error.message.replace("tool price failed: ", ""))
        };
        tools.with(name, if name == "user" { Tool::blocking(answer) } else { Tool::quick(answer) })
    })
}

/// A program of the corpus with its inputs.
pub fn program(source: &str) -> Program {
    Program::new(source)
        .data(json!({"orders": [{"id": 1, "amount": 5}, {"id": 2, "amount": 7}]}))
        .seed(7)
        .clock_ms(1_700_000_000_000)
}

/// A judge that asks for the calls with these numbers, counted from 0 in the order in which it sees them.
pub fn asks(which: impl Fn(usize) -> bool + Send + Sync + 'static) -> Arc<dyn Judge> {
    let seen = AtomicUsize::new(0);
    Arc::new(move |_: &str, _: &Value| match which(seen.fetch_add(1, Ordering::SeqCst)) {
        true => Judgement::Ask(json!({"why": "the test asks"})),
        false => Judgement::Go,
    })
}

/// Approves all that waits.
pub fn approved(held: Held) -> Resumption {
    let ids: Vec<u64> = held.pending().iter().map(|call| call.id).collect();
    Resumption::new(held, ids.into_iter().map(|id| (id, Decision::Approve))).expect("they wait")
}

/// The same program after a trip as bytes.
pub fn carried(held: &Held) -> Held {
    let read = Held::from_bytes(&held.to_bytes()).expect("they are whole");
    assert_eq!(&read, held);
    read
}

/// Goes on until the end, approving everything.
pub fn approve_all(mut outcome: Outcome, tools: &Tools) -> Outcome {
    while let Some(held) = outcome.held.take() {
        outcome = run_blocking(&Program::resumed(approved(carried(&held))).tools(tools.clone()));
    }
    outcome
}

/// What can be seen of an outcome, apart from time.
pub fn seen_of(outcome: &Outcome) -> String {
    let calls: Vec<_> =
        outcome.calls.iter().map(|call| (call.id, &call.tool, &call.args, call.end)).collect();
    let uses: Vec<_> = outcome.manifest.uses.iter().map(|tool_use| format!("{tool_use:?}")).collect();
    format!(
        "{:?} {} {} {:?} {} {calls:?} {uses:?}",
        outcome.result, outcome.value, outcome.json, outcome.prints, outcome.fuel
    )
}

/// Calls in an order that does not depend on who was faster.
pub fn sorted(seen: &Seen) -> Vec<String> {
    let mut calls: Vec<String> =
        seen.lock().expect("nobody panics").iter().map(|(tool, args)| format!("{tool} {args}")).collect();
    calls.sort();
    calls
}

/// A held program whose head says something else, with the right length and checksum.
pub fn with_head(held: &Held, change: impl FnOnce(&mut Value)) -> Held {
    let bytes = held.to_bytes();
    let length = u64::from_le_bytes(bytes[5..13].try_into().expect("eight bytes")) as usize;
    let mut head: Value = serde_json::from_slice(&bytes[13..13 + length]).expect("a head");
    change(&mut head);
    let head = head.to_string().into_bytes();
    let dump = &bytes[13 + length..bytes.len() - 8];
    let mut changed = [&bytes[..5], &(head.len() as u64).to_le_bytes()[..], &head, dump].concat();
    let sum = ptc_lisp::dump::checksum(&changed);
    changed.extend_from_slice(&sum.to_le_bytes());
    Held::from_bytes(&changed).expect("it is whole")
}

/// What the head of a held program says.
pub fn head(held: &Held) -> Value {
    let mut found = Value::Null;
    with_head(held, |head| found = head.clone());
    found
}
