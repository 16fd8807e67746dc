//! The outcome of a program as JSON, the same for `--json` and for the lines of a batch.

use ptc_host::Ran;
use ptc_lisp::machine::{Machine, ProgramEnd};
use ptc_lisp::{Error, ErrorKind, Position};
use serde_json::{Map, Value, json};

use crate::exit::Outcome;

/// What a program gave: `{"ok": true, "value", "json"}` or `{"ok": false, "error"}`, with what it
/// printed, the signal that ended it, and its tool calls when it had tools.
pub fn answer(machine: &Machine, ran: &Ran, with_calls: bool) -> Map<String, Value> {
    let mut answer = match &ran.result {
        Ok(_) => match machine.try_value_json() {
            Ok(json) => fields(json!({"ok": true, "value": machine.value(), "json": json})),
            Err(error) => failed(&error, machine),
        },
        Err(error) => failed(error, machine),
    };
    let signal = match ran.result {
        Ok(ProgramEnd::Return) => Some("return"),
        Ok(ProgramEnd::Fail) => Some("fail"),
        _ => None,
    };
    if let Some(signal) = signal {
        answer.insert("signal".to_owned(), signal.into());
    }
    if !machine.prints().is_empty() {
        answer.insert("prints".to_owned(), machine.prints().into());
    }
    if with_calls {
        let calls = ran.calls.iter().map(|call| json!({"tool": call.tool, "args": call.args})).collect();
        answer.insert("calls".to_owned(), Value::Array(calls));
    }
    answer
}

fn failed(error: &Error, machine: &Machine) -> Map<String, Value> {
    fields(json!({"ok": false, "error": error_fields(error, machine.source())}))
}

/// An error as JSON, with its place in `source`.
pub fn error_fields(error: &Error, source: &str) -> Value {
    let at = error.span.map(|span| Position::of(source, span.start));
    let mut fields = fields(json!({
        "kind": error.kind.reason(),
        "message": error.text(),
        "line": at.map(|at| at.line),
        "column": at.map(|at| at.column),
        "hint": error.hint,
    }));
    if let Some(repaired) = &error.repaired {
        fields.insert("repaired".to_owned(), repaired.as_str().into());
    }
    Value::Object(fields)
}

/// How the command ends that ran this program.
pub fn outcome(result: &Result<ProgramEnd, Error>) -> Outcome {
    match result {
        Ok(ProgramEnd::Value | ProgramEnd::Return) => Outcome::Done,
        Ok(ProgramEnd::Fail) => Outcome::Failed,
        Err(error) if is_limit(error.kind) => Outcome::Limit,
        Err(_) => Outcome::Failed,
    }
}

fn is_limit(kind: ErrorKind) -> bool {
    !kind.is_catchable() || kind == ErrorKind::ProgramTooLarge
}

/// The fields of a JSON object.
pub fn fields(json: Value) -> Map<String, Value> {
    match json {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
