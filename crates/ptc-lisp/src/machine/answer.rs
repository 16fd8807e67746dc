//! Answers to tool calls: plain values, and the tagged maps that calls of upstreams give.
//!
//! An upstream's answer says with `:ok` whether it worked and names a failure with a keyword. JSON has
//! no keywords, and a convention inside JSON would let a result from outside pose as a tag, so the tag
//! is part of the type.

use serde_json::Value as Json;

use super::Machine;
use crate::error::Error;
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
        let keys = if discovery { Keys::Strings } else { Keys::Keywords };
        let value = match answer {
            Answer::Value(json) => Ok(self.fitted(|heap| from_json(heap, &json, keys))?),
            Answer::Json(text) => Ok(self.fitted(|heap| from_json_text(heap, &text, keys))?),
            Answer::Fault { .. } if discovery => Ok(Value::Nil),
            Answer::Upstream { value, kind } => Ok(self.fitted(|heap| tagged(heap, &value, kind))?),
            Answer::Fault { reason, message } => Ok(self.fitted(|heap| fault(heap, &reason, &message))?),
            Answer::Raise(error) => Err(error),
        };
        self.resume_with(id, value)
    }

    /// Gives up the program that runs, if any: its definitions are taken back.
    pub fn cancel(&mut self) {
        if self.running {
            self.end(false);
        }
    }
}

fn tagged(heap: &mut Heap, json: &Json, kind: ValueKind) -> Result<Value, Error> {
    let value = from_json(heap, json, Keys::Keywords)?;
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
