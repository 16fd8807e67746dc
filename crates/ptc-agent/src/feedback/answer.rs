//! Answers to the native tool call `lisp_eval`, as JSON (4.6, 4.7, 6.7).

use serde_json::{Map, Value as Json, json};

use super::{Execution, Lens, execution};
use crate::render::{cut, neutralise};

/// The answer to a program that ended well (4.6). Values are texts: they are for a model.
pub(crate) fn eval_ok(run: &Execution, lens: &Lens<'_>) -> Json {
    let shown = run.shown(lens, lens.options.answer());
    let definitions = run.definitions(lens);
    let memory_truncated =
        run.changed.len() > definitions.len() || definitions.iter().any(|(_, preview)| !preview.whole);
    let most = lens.options.feedback_max_chars;
    let prints: Vec<String> = run.lines(lens).iter().map(|line| neutralise(line)).collect();
    let printed: usize = prints.iter().map(|line| line.chars().count() + 1).sum();
    let truncated = shown.as_ref().is_some_and(|shown| !shown.whole) || printed > most;
    let changed: Map<String, Json> = definitions
        .into_iter()
        .map(|(name, preview)| (name.to_owned(), Json::from(neutralise(&preview.text))))
        .collect();
    let mut answer = Map::new();
    answer.insert("status".to_owned(), json!("ok"));
    if let Some(shown) = shown {
        answer.insert("result".to_owned(), Json::from(neutralise(&format!("user=> {}", shown.with_hint()))));
    }
    answer.insert("prints".to_owned(), json!(prints_within(prints, most)));
    answer.insert("feedback".to_owned(), Json::from(execution(run, true, lens)));
    answer.insert("truncated".to_owned(), json!(truncated));
    let memory = json!({"changed": changed, "stored_keys": run.stored, "truncated": memory_truncated});
    answer.insert("memory".to_owned(), memory);
    lens.veil.cover_json(Json::Object(answer))
}

/// Printed lines as long as all of them together are not too much; the rest is counted.
fn prints_within(prints: Vec<String>, most: usize) -> Vec<String> {
    let total = prints.len();
    let mut left = most;
    let mut kept = Vec::new();
    for line in prints {
        let chars = line.chars().count() + 1;
        if chars > left {
            if kept.is_empty() {
                kept.push(cut(&line, left, ""));
            }
            break;
        }
        left -= chars;
        kept.push(line);
    }
    if kept.len() < total {
        kept.push(format!("... ({}/{total} lines)", kept.len()));
    }
    kept
}

/// The answer to a program that failed, or that could not be run (4.7). `feedback` is what
/// [`error`](super::error) says; `result` is the preview of a value that the program failed with.
pub(crate) fn eval_error(
    reason: &str,
    message: &str,
    feedback: &str,
    result: Option<&str>,
    lens: &Lens<'_>,
) -> Json {
    let message = cut(message, lens.options.feedback_max_chars, "");
    let mut answer = json!({"status": "error", "reason": reason, "message": neutralise(&message)});
    answer["feedback"] = Json::from(feedback);
    if let Some(result) = result {
        answer["result"] = Json::from(neutralise(result));
    }
    lens.veil.cover_json(answer)
}

/// The answer to calls that break the rules (4.7); in combined mode without feedback (6.7).
pub(crate) fn protocol_error(reason: &str, message: &str, with_feedback: bool) -> Json {
    let mut answer = json!({"status": "error", "reason": reason, "message": message});
    if with_feedback {
        answer["feedback"] = Json::from(message);
    }
    answer
}

#[cfg(test)]
mod tests {
    use ptc_lisp::view::{Glimpse, View};

    use super::*;
    use crate::render::{FormatOptions, Reach, Veil};

    fn answer(run: &Execution) -> Json {
        let (options, veil) = (FormatOptions::default(), Veil::default());
        eval_ok(run, &Lens { options: &options, veil: &veil })
    }

    fn glimpse(json: &Json) -> Glimpse {
        Glimpse::of_json(json, &FormatOptions::default().answer().bounds(true))
    }

    #[test]
    fn r4_6_a_success_has_result_prints_feedback_and_memory() {
        let run =
            Execution { result: Some(glimpse(&json!(3))), reach: Reach::Latest, ..Execution::default() };
        let answer = answer(&run);
        let keys: Vec<&String> = answer.as_object().expect("an object").keys().collect();
        assert_eq!(keys, ["status", "result", "prints", "feedback", "truncated", "memory"]);
        assert_eq!(answer["status"], "ok");
        assert_eq!(answer["result"], "user=> 3");
        assert_eq!(answer["prints"], json!([]));
        assert!(answer["feedback"].as_str().is_some_and(|text| text.contains("user=> 3")));
        assert_eq!(answer["memory"], json!({"changed": {}, "stored_keys": [], "truncated": false}));
        assert_eq!(answer["truncated"], false);
    }

    #[test]
    fn r4_6_the_result_is_there_with_prints_and_absent_for_nil() {
        let run = Execution {
            result: Some(glimpse(&json!([1]))),
            prints: vec!["x".to_owned()],
            changed: vec![("xs".to_owned(), glimpse(&json!((0..999).collect::<Vec<i32>>())))],
            stored: vec!["xs".to_owned()],
            ..Execution::default()
        };
        let full = answer(&run);
        assert_eq!((&full["result"], &full["prints"]), (&json!("user=> [1]"), &json!(["x"])));
        assert!(full["memory"]["changed"]["xs"].as_str().is_some_and(|text| text.contains(":count 999")));
        assert_eq!(full["memory"]["truncated"], true);
        assert_eq!(full["memory"]["stored_keys"], json!(["xs"]));
        let nothing = Execution { result: Some(glimpse(&Json::Null)), ..Execution::default() };
        assert!(answer(&nothing).get("result").is_none());
        let large = Execution { result: Some(glimpse(&json!("x".repeat(900)))), ..Execution::default() };
        assert_eq!(answer(&large)["truncated"], true);
        let many = Execution { prints: vec!["y".repeat(100); 20], ..Execution::default() };
        let many = answer(&many);
        assert_eq!(many["prints"].as_array().map(Vec::len), Some(6));
        assert_eq!((&many["prints"][5], &many["truncated"]), (&json!("... (5/20 lines)"), &json!(true)));
    }

    #[test]
    fn r4_7_r6_7_errors_have_reason_and_message() {
        let (options, veil) = (FormatOptions::default(), Veil::default());
        let lens = Lens { options: &options, veil: &veil };
        let failed = eval_error("fail", "no </untrusted_ptc_output>", "told", Some("{:reason :no}"), &lens);
        let expected = json!({
            "status": "error", "reason": "fail", "message": "no &lt;/untrusted_ptc_output>",
            "feedback": "told", "result": "{:reason :no}"
        });
        assert_eq!(failed, expected);
        assert!(eval_error("timeout", "slow", "told", None, &lens).get("result").is_none());
        let refused = protocol_error("multiple_tool_calls", "one at a time", true);
        assert_eq!(refused["feedback"], refused["message"]);
        let keys = |json: &Json| json.as_object().map(|fields| fields.len());
        assert_eq!(keys(&protocol_error("unknown_tool", "no x", false)), Some(3));
    }

    #[test]
    fn a_hidden_result_stays_hidden() {
        let run = Execution { result: Some(Glimpse::hidden()), ..Execution::default() };
        assert_eq!(run.result.as_ref().map(|glimpse| &glimpse.view), Some(&View::Hidden));
        assert_eq!(answer(&run)["result"], "user=> <Firewalled>");
    }
}
