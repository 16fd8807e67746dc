//! Answers to tool calls: plain values, and the tagged maps that calls of upstreams give.
//!
//! An upstream's answer says with `:ok` whether it worked and names a failure with a keyword. JSON has
//! no keywords, and a convention inside JSON would let a result from outside pose as a tag, so the tag
//! is part of the type.

use serde_json::Value as Json;

use super::Machine;
use crate::builtins::exceptions::{from_error, with_data};
use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::interchange::{Keys, from_json, from_json_text};
use crate::value::Value;

/// What a tool call gave.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// A value, seen by the program as it is.
    Value(Json),
    /// A value as JSON text, which is read straight into the machine.
    Json(String),
    /// A value from an upstream: `{:ok true :value v :value_kind kw}`.
    Upstream {
        /// The value.
        value: Json,
        /// Where it stood in the upstream's answer.
        kind: ValueKind,
    },
    /// A failure of the world outside: `{:ok false :reason kw :message text}`. The program goes on.
    Fault {
        /// The name of the failure, `timeout` for instance.
        reason: String,
        /// What happened.
        message: String,
    },
    /// An exception at the place of the call.
    Raise(Error),
}

/// What kind of payload an upstream's answer had. It does not follow from the value: a text in structured
/// content is JSON, and so is a null there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// Structured content, or text that is JSON.
    Json,
    /// Other text.
    Text,
    /// No payload at all.
    None,
}

impl ValueKind {
    /// The name that programs see as a keyword.
    pub fn name(self) -> &'static str {
        match self {
            ValueKind::Json => "json",
            ValueKind::Text => "text",
            ValueKind::None => "none",
        }
    }
}

impl Answer {
    /// A value from an upstream of which nothing else is known: text is text, null is no payload.
    pub fn upstream(value: Json) -> Answer {
        let kind = match value {
            Json::Null => ValueKind::None,
            Json::String(_) => ValueKind::Text,
            _ => ValueKind::Json,
        };
        Answer::Upstream { value, kind }
    }
}

impl Machine {
    /// Answers a tool call. An answer that does not fit the memory that is left is refused with an error,
    /// before it is made into values; the host then gives the program up.
    pub fn answer(&mut self, id: u64, answer: Answer) -> Result<(), Error> {
        // What an upstream is called is not known here: names in answers about it stay texts.
        let discovery = self.pending.iter().any(|call| call.id == id && call.discovery);
        let keys = if discovery { Keys::Strings } else { Keys::Names };
        let value = match answer {
            Answer::Value(json) => {
                Ok(self.fitted(|heap| from_json(heap, &json, keys)).map_err(ask_for_less)?)
            }
            Answer::Json(text) => {
                Ok(self.fitted(|heap| from_json_text(heap, &text, keys)).map_err(ask_for_less)?)
            }
            Answer::Fault { .. } if discovery => Ok(Value::Nil),
            Answer::Upstream { value, kind } => {
                Ok(self.fitted(|heap| tagged(heap, &value, kind)).map_err(ask_for_less)?)
            }
            Answer::Fault { reason, message } => Ok(self.fitted(|heap| fault(heap, &reason, &message))?),
            Answer::Raise(error) => Err(from_error(error)),
        };
        self.resume_with(id, value)
    }

    /// Answers a tool call with an exception that programs find data in (`ex-data`), with the limits of
    /// [`Machine::answer`]. Data that is no map is nothing an exception can have.
    pub fn answer_failed(&mut self, id: u64, error: Error, data: &Json) -> Result<(), Error> {
        if !data.is_object() || !error.kind.is_catchable() {
            return self.answer(id, Answer::Raise(error));
        }
        let data = self.fitted(|heap| from_json(heap, data, Keys::Keywords))?;
        self.resume_with(id, Err(with_data(error, data)))
    }

    /// Gives up the program that runs, if any: its definitions are taken back.
    pub fn cancel(&mut self) {
        if self.running {
            self.end(false);
        }
    }
}

/// An answer that does not fit the memory is nothing that the program could have made smaller.
fn ask_for_less(error: Error) -> Error {
    match error.kind {
        ErrorKind::MemoryExceeded => error.hint(
            "the result of the tool does not fit the memory: ask it for less, with a filter, a page or fewer fields",
        ),
        _ => error,
    }
}

fn tagged(heap: &mut Heap, json: &Json, kind: ValueKind) -> Result<Value, Error> {
    let value = from_json(heap, json, Keys::Names)?;
    let kind = heap.keyword(kind.name());
    let [ok, value_key, kind_key] = ["ok", "value", "value_kind"].map(|name| heap.keyword(name));
    heap.allocated(192);
    Ok(Value::map_of([(ok, Value::Bool(true)), (value_key, value), (kind_key, kind)]))
}

fn fault(heap: &mut Heap, reason: &str, message: &str) -> Result<Value, Error> {
    heap.take_room(192 + message.len())?;
    let [ok, reason_key, message_key] = ["ok", "reason", "message"].map(|name| heap.keyword(name));
    let reason = heap.keyword(reason);
    Ok(Value::map_of([(ok, Value::Bool(false)), (reason_key, reason), (message_key, Value::str(message))]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::machine::Step;
    use crate::{ErrorKind, Limits};

    /// What a program makes of a failed call, on a machine that is dumped and loaded before it goes on if asked to be.
    fn failed(source: &str, data: &Json, dumped: bool) -> String {
        let mut machine = Machine::new(Limits::default());
        machine.set_tools(["t".to_owned()]);
        machine.load(source).expect("it compiles");
        let Step::Calls(calls) = machine.run(u64::MAX) else { panic!("it calls") };
        let error = Error::new(ErrorKind::Tool, "tool/t: no");
        machine.answer_failed(calls[0].id, error, data).expect("it waits");
        if dumped {
            let dump = machine.dump().expect("a dump");
            machine = Machine::load_dump(&dump, &Limits::default()).expect("it loads");
        }
        match machine.run(u64::MAX) {
            Step::Done(_) => machine.value(),
            Step::Failed(error) => error.message,
            other => panic!("it ends: {other:?}"),
        }
    }

    #[test]
    fn an_answer_that_does_not_fit_the_memory_says_to_ask_for_less() {
        let mut machine = Machine::new(Limits { memory: 1 << 20, ..Limits::default() });
        machine.set_tools(["t".to_owned()]);
        machine.load("(count (tool/t {}))").expect("it compiles");
        let Step::Calls(calls) = machine.run(u64::MAX) else { panic!("it calls") };
        let rows: Json = (0..100_000).map(|n| json!({"n": n})).collect();
        let error = machine.answer(calls[0].id, Answer::Value(rows)).expect_err("it is too large");
        assert_eq!(error.kind, ErrorKind::MemoryExceeded);
        assert!(error.hint.is_some_and(|hint| hint.contains("ask it for less")));
    }

    #[test]
    fn failures_of_calls_have_data_that_programs_find() {
        let data = json!({"reason": "tired", "details": {"hours": 3}});
        let caught = "(try (tool/t {}) (catch Exception e [(ex-data e) (ex-message e) (instance? RuntimeException e)]))";
        for dumped in [false, true] {
            for (source, data, expected) in [
                (caught, &data, "[{:reason \"tired\", :details {:hours 3}} \"tool/t: no\" true]"),
                (caught, &json!(null), "[nil \"tool/t: no\" true]"),
                (caught, &json!("text"), "[nil \"tool/t: no\" true]"),
                ("(tool/t {})", &data, "tool/t: no"),
                (
                    "(try (pmap (fn [_] (tool/t {})) [1]) (catch ExceptionInfo e (:reason (ex-data e))))",
                    &data,
                    "\"tired\"",
                ),
            ] {
                assert_eq!(failed(source, data, dumped), expected, "{source}");
            }
        }
    }
}
