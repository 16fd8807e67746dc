//! Answers that wait for the others of their step.
//!
//! A list of small values takes many times the memory of its text, and the answers to calls that run at once are all there
//! before the program sees the first. So large ones wait as text, and are decoded one at a time, when the machine takes them.

use ptc_lisp::machine::{Answer, ValueKind};
use serde_json::Value as Json;

/// How many values an answer may have and still wait as it is.
const SMALL: usize = 4_096;

/// How deep a value may be nested to be read back.
const DEEPEST: usize = 100;

/// An answer that waits.
pub(crate) enum WaitingAnswer {
    /// As it came.
    Answer(Answer),
    /// A large value as JSON text; with its kind if it is that of an upstream.
    Text { json: String, kind: Option<ValueKind> },
}

impl WaitingAnswer {
    /// Makes an answer ready to wait.
    pub fn new(answer: Answer) -> Self {
        match answer {
            Answer::Value(value) if is_large(&value) => {
                WaitingAnswer::Text { json: value.to_string(), kind: None }
            }
            Answer::Upstream { value, kind } if is_large(&value) => {
                WaitingAnswer::Text { json: value.to_string(), kind: Some(kind) }
            }
            answer => WaitingAnswer::Answer(answer),
        }
    }

    /// The answer as it came.
    pub fn take(self) -> Answer {
        let (json, kind) = match self {
            WaitingAnswer::Answer(answer) => return answer,
            WaitingAnswer::Text { json, kind } => (json, kind),
        };
        // What is nested deeper than the decoder goes is not kept as text, so it reads back.
        match (serde_json::from_str(&json), kind) {
            (Ok(value), Some(kind)) => Answer::Upstream { value, kind },
            (Ok(value), None) => Answer::Value(value),
            (Err(_), _) => Answer::Json(json),
        }
    }
}

/// Whether a value is worth keeping as text, and can be read back.
fn is_large(value: &Json) -> bool {
    let (mut values, mut open) = (0, vec![(value, 0)]);
    while let Some((value, depth)) = open.pop() {
        values += 1;
        match value {
            Json::Array(_) | Json::Object(_) if depth == DEEPEST => return false,
            Json::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Json::Object(fields) => open.extend(fields.values().map(|field| (field, depth + 1))),
            _ => {}
        }
    }
    values > SMALL
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn nested(levels: usize) -> Json {
        (0..levels).fold(json!(0), |inner, _| json!([inner]))
    }

    #[test]
    fn answers_come_back_as_they_came_and_large_ones_wait_as_text() {
        let rows = |last: Json| Json::Array((0..SMALL).map(|n| json!({"n": n})).chain([last]).collect());
        for (value, waits_as_text) in [
            (json!(null), false),
            (json!([0.1, 1e300, u64::MAX, i64::MIN, "a\u{0}\"b"]), false),
            (rows(json!([0.1, 1e300, u64::MAX, i64::MIN, 5e-324, "a\u{0}\"b", {"": {}, "k": []}])), true),
            (rows(nested(DEEPEST - 1)), true),
            (rows(nested(DEEPEST)), false),
            (rows(nested(500)), false),
        ] {
            for answer in [
                Answer::Value(value.clone()),
                Answer::Upstream { value: value.clone(), kind: ValueKind::Json },
                Answer::Upstream { value: value.clone(), kind: ValueKind::Text },
            ] {
                let landed = WaitingAnswer::new(answer.clone());
                assert_eq!(matches!(landed, WaitingAnswer::Text { .. }), waits_as_text);
                assert_eq!(landed.take(), answer);
            }
        }
    }
}
