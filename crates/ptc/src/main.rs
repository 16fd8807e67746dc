//! The `ptc` command.
use std::io::{BufRead, Write};

use ptc_lisp::machine::{Machine, Signal, Step};
use ptc_lisp::{Error, Limits, Position};

fn eval(source: &str, data: Option<&serde_json::Value>) -> (Machine, Result<Signal, Error>) {
    let mut machine = Machine::new(Limits::default());
    if let Some(data) = data {
        if let Err(error) = machine.set_data(data) {
            return (machine, Err(error));
        }
    }
    if let Err(error) = machine.load(source) {
        return (machine, Err(error));
    }
    loop {
        match machine.run(1_000_000) {
            Step::Done(signal) => return (machine, Ok(signal)),
            Step::Failed(error) => return (machine, Err(error)),
            Step::Yield => {}
            Step::Calls(calls) => {
                for call in calls {
                    let _ = machine.resume(call.id, Ok(serde_json::Value::Null));
                }
            }
        }
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let out = std::io::stdout();
    let mut out = out.lock();
    if args.get(1).map(String::as_str) == Some("--batch") {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            let Ok(row) = serde_json::from_str::<serde_json::Value>(&line) else { continue };
            let source = row["src"].as_str().unwrap_or_default();
            let (machine, result) = eval(source, row.get("data"));
            let answer = match result {
                Ok(_) => {
                    serde_json::json!({"id": row["id"], "ok": true, "value": machine.value(), "json": machine.value_json()})
                }
                Err(error) => {
                    let at = Position::of(machine.source(), error.span.unwrap_or_default().start);
                    serde_json::json!({"id": row["id"], "ok": false, "error": {"kind": error.kind.reason(), "message": error.message, "hint": error.hint, "line": at.line, "column": at.column}})
                }
            };
            let _ = writeln!(out, "{answer}");
        }
        return;
    }
    let source = args.last().cloned().unwrap_or_default();
    let (machine, result) = eval(&source, None);
    for line in machine.prints() {
        let _ = writeln!(out, "{line}");
    }
    let _ = match result {
        Ok(_) => writeln!(out, "{}", machine.value()),
        Err(error) => writeln!(out, "{error} {:?} {:?}", error.hint, error.span),
    };
}
