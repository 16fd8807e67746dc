//! `ptc eval --batch`: JSON lines in, JSON lines out, one program each.
//!
//! Nothing a line says can stop the batch: lines that make no sense are answered with an error, every
//! program has its own machine and limits, and a panic is caught and reported.

use std::io::{BufRead, Write};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;

use anyhow::Context;
use ptc_host::drive;
use ptc_lisp::Error;
use serde_json::{Map, Value, json};

use super::eval::{Common, ignore_closed_pipe};
use crate::attached::AttachedUpstreams;
use crate::exit::Outcome;
use crate::{report, stubs};

/// Answers every line of `input`. Programs call `upstreams`, if there are any.
pub fn run(
    mut common: Common,
    upstreams: Option<&AttachedUpstreams>,
    mut input: impl BufRead,
    out: &mut impl Write,
) -> anyhow::Result<Outcome> {
    common.fix_clock();
    panic::set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        let message = info.payload_as_str().unwrap_or("no message");
        if let Ok(mut last) = LAST_PANIC.lock() {
            *last = format!("{message} ({place})");
        }
    }));
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        if input.read_until(b'\n', &mut line).context("cannot read standard input")? == 0 {
            break;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let answer = answer_line(&common, upstreams, &line, number);
        if let Err(error) = writeln!(out, "{answer}").and_then(|()| out.flush()) {
            ignore_closed_pipe(Err(error))?;
            break;
        }
    }
    Ok(Outcome::Done)
}

/// What the last panic said; panics are answers here, not output.
static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

fn answer_line(common: &Common, upstreams: Option<&AttachedUpstreams>, line: &[u8], number: u64) -> Value {
    let row = match serde_json::from_slice::<Value>(line) {
        Ok(row) => row,
        Err(error) => {
            // Skipping over the other fields needs no recursion, so a line that nests too deeply still
            // gets an answer of its own.
            let id = serde_json::from_slice::<OnlyId>(line).map(|row| row.id).unwrap_or_default();
            return identified(&id, invalid(format!("line {number} is not JSON: {error}")));
        }
    };
    let id = row.get("id").cloned().unwrap_or_default();
    let answer = guarded(|| match answer_row(common, upstreams, &row, line) {
        Ok(answer) => answer,
        Err(problem) => invalid(format!("line {number}: {problem}")),
    });
    identified(&id, answer)
}

#[derive(serde::Deserialize)]
struct OnlyId {
    id: Value,
}

/// The text of a field of a line.
fn field_text<'l>(line: &'l [u8], field: &str) -> Result<&'l str, String> {
    let line = std::str::from_utf8(line).map_err(|error| error.to_string())?;
    let fields = ptc_host::parts::fields(line, usize::MAX - 1).map_err(|error| error.to_string())?;
    let mut found = fields.into_iter().filter_map(|(name, text)| (name == field).then_some(text));
    match (found.next(), found.next()) {
        (Some(text), None) => Ok(text),
        _ => Err(format!("duplicate field `{field}`")),
    }
}

fn identified(id: &Value, answer: Map<String, Value>) -> Value {
    let mut with_id = Map::new();
    with_id.insert("id".to_owned(), id.clone());
    with_id.extend(answer);
    Value::Object(with_id)
}

fn invalid(message: String) -> Map<String, Value> {
    let hint = r#"write {"id": 1, "src": "(+ 1 2)"}, with "data", "tools" and "upstream" as needed"#;
    failure("invalid_line", message, Some(hint))
}

fn failure(kind: &str, message: String, hint: Option<&str>) -> Map<String, Value> {
    let error = json!({"kind": kind, "message": message, "line": null, "column": null, "hint": hint});
    report::fields(json!({"ok": false, "error": error}))
}

/// Runs `work`; a panic in it becomes an answer.
fn guarded(work: impl FnOnce() -> Map<String, Value>) -> Map<String, Value> {
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let message = LAST_PANIC.lock().map(|last| last.clone()).unwrap_or_default();
        failure("internal_error", message, Some("this is a bug in ptc, not in the program"))
    })
}

fn answer_row(
    common: &Common,
    upstreams: Option<&AttachedUpstreams>,
    row: &Value,
    line: &[u8],
) -> Result<Map<String, Value>, String> {
    let Some(source) = row["src"].as_str() else {
        return Err("\"src\" must be the text of a program".to_owned());
    };
    let given = |name: &str| row.get(name).filter(|value| !value.is_null());
    for canned in ["tools", "upstream"].into_iter().filter(|name| given(name).is_some()) {
        ptc_host::exact(field_text(line, canned)?).map_err(|error| format!("\"{canned}\": {error}"))?;
    }
    let tools = stubs::tools(given("tools"), given("upstream"))?;
    let mut machine = common.machine().map_err(|error| error.message)?;
    machine.set_interrupt(common.bounds().interrupt());
    if let Some(data) = given("data") {
        if !data.is_object() {
            return Err("\"data\" must be an object of inputs by name".to_owned());
        }
        // The tree has lost the digits of large integers, so the machine reads the text.
        machine
            .set_data_json(field_text(line, "data")?)
            .map_err(|error: Error| format!("\"data\": {}", error.message))?;
        machine.set_strict_inputs(true);
    }
    let shows_calls = given("tools").is_some() || given("upstream").is_some();
    // Canned servers stand in for real ones.
    let Some(upstreams) = upstreams.filter(|_| given("upstream").is_none()) else {
        let ran = drive(&mut machine, source, &tools, &common.bounds());
        return Ok(report::answer(&machine, &ran, shows_calls));
    };
    let run = upstreams.begin();
    let tools = run.grant(&tools);
    let ran = run.drive(&mut machine, source, &tools, &common.bounds());
    let account = run.finish();
    let mut answer = report::answer(&machine, &ran, shows_calls);
    answer.insert("upstream_calls".to_owned(), account.upstream_calls());
    let redactor = upstreams.redactor();
    if let Some(prints) = answer.get_mut("prints") {
        *prints = redactor.redact_lines(machine.prints().to_vec()).into();
    }
    redactor.redact_map(&mut answer);
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_answer() {
        let answer = guarded(|| panic!("on purpose"));
        assert_eq!(answer["ok"], false);
        assert_eq!(answer["error"]["kind"], "internal_error");
    }
}
