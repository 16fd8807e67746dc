//! What a decision is beside an earlier one whose server ended before it came to an end.
//!
//! Decisions are the same if they do the same: the order of keys and the reasons for rejecting do not matter, and what was
//! decided first stays, with its reason. Whoever rejects all that was decided before ends the program, because calls that
//! were approved may have been made: it is never told that they were rejected. From then on nothing else can be decided.

use ptc_host::{Decision, visible_json};
use ptc_store::tickets::Ruling;
use ptc_upstream::Redactor;
use serde_json::{Value as Json, json};

/// In what is kept of a decision: the rejections that end a program.
const REJECTED: &str = "rejected";

/// Decisions as they are kept.
pub fn written(decisions: &[(u64, &Decision)]) -> Json {
    json!(decisions)
}

/// Decisions that were kept, by the numbers of their calls.
pub fn read(decided: &Json) -> Option<Vec<(u64, Decision)>> {
    let decisions = decided.get(REJECTED).unwrap_or(decided);
    serde_json::from_value(decisions.clone()).ok()
}

/// Whether a program ends with what was decided, and does not go on.
pub fn ends(decided: &Json) -> bool {
    decided.get(REJECTED).is_some()
}

/// What a decision is beside the earlier one.
pub fn ruling(before: &Json, now: &Json) -> Ruling {
    let (Some(earlier), Some(later)) = (read(before), read(now)) else {
        return if before == now { Ruling::Same } else { Ruling::Otherwise };
    };
    let rejects = later.iter().all(|(_, decision)| matches!(decision, Decision::Reject(_)));
    if ends(before) {
        return if rejects { Ruling::Same } else { Ruling::Otherwise };
    }
    let same = |((id, one), (other_id, other)): (&(u64, Decision), &(u64, Decision))| {
        let both_reject = matches!((one, other), (Decision::Reject(_), Decision::Reject(_)));
        id == other_id && (both_reject || one == other)
    };
    if earlier.len() == later.len() && earlier.iter().zip(&later).all(same) {
        return Ruling::Same;
    }
    let all = earlier.iter().all(|(id, _)| later.iter().any(|(other, _)| id == other));
    match rejects && all {
        true => Ruling::Instead(json!({REJECTED: now, "after": before})),
        false => Ruling::Otherwise,
    }
}

/// What was decided about each call, without arguments and reasons.
pub fn in_short(decided: &Json) -> Json {
    let short = |(call, decision): (u64, Decision)| json!({"call": call, "decision": decision.name()});
    read(decided).unwrap_or_default().into_iter().map(short).collect()
}

/// The same for people who decide, who are shown the arguments that somebody wrote: they may have to write them again.
pub fn for_people(decided: &Json, redactor: &Redactor) -> Json {
    let told = |(call, decision): (u64, Decision)| {
        let mut told = json!({"call": call, "decision": decision.name()});
        if let Decision::Edit(mut call) = decision {
            redactor.redact_json(&mut call["args"]);
            told["args_text"] = visible_json(&call["args"]).into();
        }
        told
    };
    read(decided).unwrap_or_default().into_iter().map(told).collect()
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;

    use super::*;

    #[test]
    fn decisions_are_compared_by_what_they_do_and_a_rejection_of_all_counts_instead() {
        let approve = json!([[1, "approve"]]);
        let reject = |why: &str| json!([[1, {"reject": why}]]);
        let edit = |args: Json| json!([[1, {"edit": args}]]);
        let instead = |now: &Json, before: &Json| Ruling::Instead(json!({"rejected": now, "after": before}));
        let both = json!([[1, "approve"], [2, "approve"]]);
        let neither = json!([[1, {"reject": "no"}], [2, {"reject": "no"}]]);
        let cases = [
            (&approve, approve.clone(), Ruling::Same),
            (&reject("a"), reject("b"), Ruling::Same),
            (
                &edit(json!({"a": 1, "b": {"c": 2, "d": 3}})),
                edit(json!({"b": {"d": 3, "c": 2}, "a": 1})),
                Ruling::Same,
            ),
            (&edit(json!({"a": 1})), edit(json!({"a": 2})), Ruling::Otherwise),
            (&approve, edit(json!({"a": 2})), Ruling::Otherwise),
            (&reject("a"), approve.clone(), Ruling::Otherwise),
            (&approve, reject("no"), instead(&reject("no"), &approve)),
            (&both, neither.clone(), instead(&neither, &both)),
            (&both, reject("only one"), Ruling::Otherwise),
            (&approve, neither.clone(), instead(&neither, &approve)),
            (&json!({"rejected": reject("a"), "after": approve}), reject("b"), Ruling::Same),
            (&json!({"rejected": reject("a"), "after": approve}), approve.clone(), Ruling::Otherwise),
        ];
        for (before, now, expected) in cases {
            assert_eq!(ruling(before, &now), expected, "{before} {now}");
        }
    }

    #[test]
    fn what_was_decided_is_told_without_what_it_holds() {
        let edited = json!([[1, {"edit": {"secret": 1}}], [2, "approve"]]);
        let expected = json!([{"call": 1, "decision": "edit"}, {"call": 2, "decision": "approve"}]);
        assert_eq!(in_short(&edited), expected);
        let secret = Redactor::new([&SecretString::from("hunter2-hunter2")]);
        let edited_with =
            json!([[1, {"edit": {"args": {"n": 2, "key": "hunter2-hunter2"}}}], [2, "approve"]]);
        let told = for_people(&edited_with, &secret);
        let args = told[0]["args_text"].as_str().expect("people see what was written");
        assert!(args.contains("\"n\"") && !args.contains("hunter2"), "{args}");
        assert_eq!(told[1], expected[1]);
        let over = json!({"rejected": [[1, {"reject": "no"}]], "after": edited});
        assert_eq!(in_short(&over), json!([{"call": 1, "decision": "reject"}]));
        assert!(ends(&over) && !ends(&edited));
    }
}
