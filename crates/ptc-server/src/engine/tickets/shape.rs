//! What must be there of a ticket for anybody to decide about it, and whether what people are shown is what waits: what is approved
//! is what was shown.

use std::collections::BTreeSet;

use ptc_upstream::Redactor;
use ptc_upstream::pins::digest as digest_of;
use ptc_upstream::redact::COVER;
use serde_json::Value as Json;

use super::parked::{Parked, for_people, shown};
use super::ruling;

/// Why what is shown of a ticket that waits, or what was decided about it, is none of a ticket, if it is not.
pub fn wrong_ticket(about: &Json, decided: Option<&Json>) -> Option<String> {
    let Some(calls) = calls(about) else {
        return Some("what is shown of it does not say which calls of which program wait".to_owned());
    };
    let is_about = |decided: &&Json| {
        let decisions = ruling::read(decided).unwrap_or_default();
        !decisions.is_empty() && decisions.iter().all(|(call, _)| calls.contains(call))
    };
    let wrong = decided.filter(|decided| !is_about(decided))?;
    let what = if wrong.is_null() { "nothing" } else { "something else" };
    Some(format!("what was decided cannot be read: it says {what} about its calls"))
}

/// The numbers of the calls that wait, if all is there that people are shown.
fn calls(about: &Json) -> Option<BTreeSet<u64>> {
    let number = |call: &Json| {
        let is_whole = call["tool"].is_string() && call.get("args").is_some();
        call["call"].as_u64().filter(|_| is_whole)
    };
    let is_whole = about["program"].is_string() && about["tool"].is_string();
    let calls = about["pending"].as_array().filter(|calls| is_whole && !calls.is_empty())?;
    calls.iter().map(number).collect()
}

/// A digest of what is shown of a ticket.
pub fn digest_of_shown(about: &Json) -> String {
    digest_of(about)
}

/// Whether what is shown is what waits. A ticket of an earlier version holds no digest of what is shown; of its calls numbers, tools
/// and arguments are compared, as far as no secret is covered in them.
pub fn is_shown(about: &Json, parked: &Parked) -> bool {
    if !parked.head.about.is_empty() {
        return parked.head.about == digest_of_shown(about);
    }
    let sealed = shown(parked.held.pending(), &Redactor::default());
    let pending = about["pending"].as_array().map(Vec::as_slice).unwrap_or_default();
    pending.len() == sealed.len() && pending.iter().zip(&sealed).all(|(shown, call)| is_alike(shown, call))
}

fn is_alike(shown: &Json, call: &Json) -> bool {
    let visible = for_people(call);
    let is_name = |name: &str| shown[name] == call[name] || shown[name] == visible[name];
    let is_covered = shown["args"].to_string().contains(COVER);
    shown["call"] == call["call"]
        && is_name("server")
        && is_name("tool")
        && (is_covered || shown["args"] == call["args"])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_no_ticket_is_told() {
        let call = json!({"call": 1, "server": "crm", "tool": "put", "args": {"n": 1}});
        let whole = json!({"program": "(put)", "tool": "lisp_eval", "pending": [call]});
        let decided = [
            (Some(json!([[1, "approve"]])), true),
            (Some(json!({"rejected": [[1, {"reject": "no"}]], "after": [[1, "approve"]]})), true),
            (None, true),
            (Some(json!({})), false),
            (Some(json!(null)), false),
            (Some(json!([])), false),
            (Some(json!([[2, "approve"]])), false),
            (Some(json!([[1, "perhaps"]])), false),
        ];
        for (decided, is_right) in decided {
            assert_eq!(wrong_ticket(&whole, decided.as_ref()).is_none(), is_right, "{decided:?}");
        }
        for about in [json!({}), json!(null), json!([]), json!("x"), json!(5)] {
            assert!(wrong_ticket(&about, None).is_some(), "{about}");
        }
        for (field, value) in [
            ("program", json!(null)),
            ("tool", json!(7)),
            ("pending", json!([])),
            ("pending", json!({})),
            ("pending", json!([{}])),
            ("pending", json!([5])),
            ("pending", json!([{"call": "1", "tool": "put", "args": {}}])),
            ("pending", json!([{"call": 1, "tool": "put"}])),
        ] {
            let mut about = whole.clone();
            about[field] = value;
            assert!(wrong_ticket(&about, None).is_some(), "{about}");
        }
    }

    #[test]
    fn calls_that_are_shown_are_compared_with_those_that_wait() {
        let sealed = json!({"call": 1, "server": "crm", "tool": "put", "args": {"n": 1}});
        assert!(is_alike(&for_people(&sealed), &sealed) && is_alike(&sealed, &sealed));
        for (field, value, is_right) in [
            ("call", json!(2), false),
            ("server", json!("erp"), false),
            ("tool", json!("get"), false),
            ("args", json!({"n": 2}), false),
            ("args", json!({"n": COVER}), true),
        ] {
            let mut shown = for_people(&sealed);
            shown[field] = value;
            assert_eq!(is_alike(&shown, &sealed), is_right, "{shown}");
        }
    }
}
