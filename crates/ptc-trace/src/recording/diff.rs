//! Where two recordings part: the first thing that differs, by value.

use ptc_agent::tape::Given;
use serde::Serialize;
use serde_json::Value as Json;

use super::measured::Measured;
use super::{Call, Recording};

/// Where a difference is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In what the runs were begun from.
    Beginning,
    /// In what a call asks for.
    Asked(usize),
    /// In what a call was answered.
    Answered(usize),
    /// One run has a call that the other does not have.
    Missing(usize),
    /// In what came of them.
    End,
}

/// The first difference of two recordings.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Where.
    pub place: Place,
    /// The path to the value, as `/request/messages/2/content`.
    pub path: String,
    /// The value of the first; null if it is not there.
    pub left: Json,
    /// The value of the second.
    pub right: Json,
}

/// The first difference of two recordings, in the order in which things happened. Clocks do not count, and neither does what
/// was measured (`measured.rs`), nor what a recording lacks that was cut off.
pub fn first_difference(left: &Recording, right: &Recording) -> Option<Difference> {
    let mut measured = Measured::default();
    let mut between = |place: Place, left: &Json, right: &Json, in_failure: bool| {
        let same = &mut |left: &str, right: &str| measured.same(left, right, in_failure);
        let (path, left, right) = parts_by(left, right, same)?;
        Some(Difference { place, path, left, right })
    };
    between(Place::Beginning, &left.head.subject, &right.head.subject, false)
        .or_else(|| calls(left, right, &mut between))
        .or_else(|| match left.is_cut_off() || right.is_cut_off() {
            true => None,
            false => between(Place::End, &ended(left), &ended(right), has_failed(left)),
        })
}

/// Whether a run failed.
fn has_failed(recording: &Recording) -> bool {
    recording.end.as_ref().is_some_and(|end| !end.step["fail"].is_null())
}

/// Whether an answer is a failure, in which durations and times stand that were measured.
fn is_failure(given: &Given) -> bool {
    match given {
        Given::Refusal(_) | Given::Error(_) | Given::Lost(_) => true,
        Given::Value(value) => value["ok"] == false,
        // As drivers of programs write it: a value under the name of its kind, or what went wrong.
        Given::Answer(answer) => {
            let value = answer.pointer("/upstream/value").unwrap_or(answer);
            ["fault", "raise"].iter().any(|kind| answer.get(kind).is_some()) || value["ok"] == false
        }
        Given::Reply(_) | Given::Decision(_) => false,
    }
}

fn calls(
    left: &Recording,
    right: &Recording,
    between: &mut dyn FnMut(Place, &Json, &Json, bool) -> Option<Difference>,
) -> Option<Difference> {
    let (left_cut, right_cut) = (left.is_cut_off(), right.is_cut_off());
    for number in 1..=left.tape.asked().max(right.tape.asked()) {
        let (left, right) = match (left.tape.call(number), right.tape.call(number)) {
            (Some(left), Some(right)) => (left, right),
            (None, Some(_)) if left_cut => return None,
            (Some(_), None) if right_cut => return None,
            (left, right) => {
                let asked = |call: Option<Call>| call.map_or(Json::Null, |call| json_of(&call.question.of));
                let (left, right) = (asked(left), asked(right));
                return Some(Difference { place: Place::Missing(number), path: String::new(), left, right });
            }
        };
        let asked = between(Place::Asked(number), &json_of(&left.question), &json_of(&right.question), false);
        // Calls of one step are answered in any order, so later ones may have answers.
        let is_open = left.given.is_none() && left_cut || right.given.is_none() && right_cut;
        let failed = [&left, &right].iter().all(|call| call.given.as_ref().is_some_and(is_failure));
        let answered = || match is_open {
            true => None,
            false => between(Place::Answered(number), &json_of(&left.given), &json_of(&right.given), failed),
        };
        if let Some(found) = asked.or_else(answered) {
            return Some(found);
        }
    }
    None
}

fn ended(recording: &Recording) -> Json {
    recording.end.as_ref().map_or(Json::Null, |end| outcome(&end.step))
}

/// What is compared of steps: the answer or the failure.
pub(super) fn outcome(step: &Json) -> Json {
    serde_json::json!({"return": step["return"], "fail": step["fail"]})
}

pub(super) fn json_of(value: &impl Serialize) -> Json {
    serde_json::to_value(value).unwrap_or_default()
}

/// The first place where two values differ.
pub(super) fn parts(left: &Json, right: &Json) -> Option<(String, Json, Json)> {
    parts_by(left, right, &mut |left, right| left == right)
}

/// The same where some texts say the same. What was read as JSON is not deeper than its reader allows.
fn parts_by(
    left: &Json,
    right: &Json,
    same: &mut dyn FnMut(&str, &str) -> bool,
) -> Option<(String, Json, Json)> {
    if left == right {
        return None;
    }
    let mut inside = |key: &str, left: Option<&Json>, right: Option<&Json>| {
        let key = key.replace('~', "~0").replace('/', "~1");
        match (left, right) {
            (Some(left), Some(right)) => {
                parts_by(left, right, same).map(|(path, left, right)| (format!("/{key}{path}"), left, right))
            }
            (left, right) => Some((
                format!("/{key}"),
                left.cloned().unwrap_or_default(),
                right.cloned().unwrap_or_default(),
            )),
        }
    };
    match (left, right) {
        (Json::Array(a), Json::Array(b)) => {
            (0..a.len().max(b.len())).find_map(|at| inside(&at.to_string(), a.get(at), b.get(at)))
        }
        (Json::Object(a), Json::Object(b)) => {
            let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
            keys.into_iter().find_map(|key| match (a.get(key), b.get(key)) {
                (one, other) if one == other => None,
                (one, other) => inside(key, one, other),
            })
        }
        (Json::String(a), Json::String(b)) if same(a, b) => None,
        _ => Some((String::new(), left.clone(), right.clone())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_difference_has_its_path_and_both_values() {
        let left = json!({"a": [1, {"b/c": "x"}], "d": 1});
        for (right, path, one, other) in [
            (json!({"a": [1, {"b/c": "y"}], "d": 2}), "/a/1/b~1c", json!("x"), json!("y")),
            (json!({"a": [1], "d": 1}), "/a/1", json!({"b/c": "x"}), json!(null)),
            (json!({"a": [1, {"b/c": "x"}], "d": 1, "e": 5}), "/e", json!(null), json!(5)),
            (json!(7), "", left.clone(), json!(7)),
        ] {
            assert_eq!(parts(&left, &right), Some((path.to_owned(), one, other)));
        }
        assert_eq!(parts(&left, &left), None);
    }
}
