//! What a step keeps of calls: whole while there is room in the run, as the beginning of their text beyond it.

use serde_json::Value as Json;

use super::node::{Book, bounded, brief};
use super::{Shared, What};
use crate::cache::json_bytes;
use crate::step::CallRecord;

/// Arguments and results whose JSON text is longer are never kept whole.
const RECORD_BYTES: usize = 16_384;
/// Memory that all records of a run together take for what they keep whole: a program can call often, and nothing of
/// its records counts as memory of its machine.
const ROOM: usize = 4 << 20;
/// How much is kept of what is not kept whole.
const PREVIEW_CHARS: usize = 200;

impl Shared {
    /// Puts a result into the record of its call.
    pub fn record_result(&mut self, record: &mut CallRecord, value: &Json) {
        record.result_bytes = text_bytes(value);
        record.result_truncated = !self.keeps(value, record.result_bytes);
        record.result = if record.result_truncated { shorten(value) } else { value.clone() };
    }

    /// The record of a call that is over, as the step keeps it.
    pub fn recorded(&mut self, mut record: CallRecord) -> CallRecord {
        record.args_truncated = !self.keeps(&record.args, text_bytes(&record.args));
        if record.args_truncated {
            record.args = shorten(&record.args);
        }
        record
    }

    /// The arguments that the tool of a call is asked with, if it is under way.
    pub fn asked_with(&self, node: usize, at: usize) -> Option<Json> {
        self.asks.values().filter(|asked| asked.node == node).find_map(|asked| match &asked.what {
            What::Tool { slot, args, .. } if *slot == at => Some(args.clone()),
            _ => None,
        })
    }

    /// Whether there is room for a value, which is taken then.
    fn keeps(&mut self, value: &Json, bytes: usize) -> bool {
        if bytes > RECORD_BYTES {
            return false;
        }
        let with = self.recorded_bytes.saturating_add(memory(value));
        if with > ROOM {
            return false;
        }
        self.recorded_bytes = with;
        true
    }
}

fn text_bytes(value: &Json) -> usize {
    usize::try_from(json_bytes(value)).unwrap_or(usize::MAX)
}

impl Book {
    /// A value as the record of a turn keeps it: whole while the turns of the agent have room, otherwise as text.
    pub fn kept(&mut self, value: Json) -> Json {
        let value = bounded(value);
        let with = self.kept_bytes.saturating_add(memory(&value));
        if with > ROOM {
            return brief(&value);
        }
        self.kept_bytes = with;
        value
    }
}

/// About how many bytes a value takes.
fn memory(value: &Json) -> usize {
    let (mut open, mut bytes) = (vec![value], 0);
    while let Some(value) = open.pop() {
        bytes += size_of::<Json>();
        match value {
            Json::String(text) => bytes += text.len(),
            Json::Array(items) => open.extend(items),
            Json::Object(fields) => {
                bytes += fields.keys().map(|key| key.len() + size_of::<(usize, String)>()).sum::<usize>();
                open.extend(fields.values());
            }
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
        }
    }
    bytes
}

/// A long value as records keep it.
fn shorten(value: &Json) -> Json {
    let text = value.to_string();
    let end = text.char_indices().nth(PREVIEW_CHARS).map_or(text.len(), |(at, _)| at);
    Json::from(format!("{}… ({} bytes)", &text[..end], text.len()))
}
