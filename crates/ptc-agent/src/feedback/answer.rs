//! Answers to the native tool call `lisp_eval`, as JSON (4.6, 4.7, 6.7). Nothing is said twice: values are texts for the
//! model, and `feedback` holds our words and nothing of the program's.

use serde_json::{Map, Value as Json, json};

use super::execution::covered;
use super::{Execution, Lens, TurnInfo, turn_info};
use crate::render::{cut, cut_lines, neutralise};

/// The answer to a program that ended well (4.6).
pub(crate) fn eval_ok(run: &Execution, info: &TurnInfo, lens: &Lens<'_>) -> Json {
    let shown = run.shown(lens);
    let definitions = run.definitions(lens);
    let memory_truncated = run.changed.len() > definitions.len();
    let (prints, prints_cut) = prints_within(&run.prints, lens);
    let truncated = shown.as_ref().is_some_and(|shown| !shown.is_whole()) || prints_cut;
    let changed: Map<String, Json> = definitions
        .into_iter()
        .map(|(name, text)| (name.to_owned(), Json::from(neutralise(&text))))
        .collect();
    let mut answer = Map::new();
    answer.insert("status".to_owned(), json!("ok"));
    let about = shown.as_ref().map(|shown| shown.about.clone()).unwrap_or_default();
    if let Some(shown) = shown.filter(|shown| !shown.text.is_empty()) {
        answer.insert("result".to_owned(), Json::from(neutralise(&shown.told())));
    }
    answer.insert("prints".to_owned(), json!(prints));
    answer.insert("truncated".to_owned(), json!(truncated));
    let memory = json!({"changed": changed, "stored_keys": run.stored, "truncated": memory_truncated});
    answer.insert("memory".to_owned(), memory);
    let feedback = super::joined([about.as_str(), &turn_info(info)]);
    with_feedback(lens.veil.cover_json(Json::Object(answer)), &feedback)
}

fn with_feedback(mut answer: Json, feedback: &str) -> Json {
    if !feedback.is_empty() {
        answer["feedback"] = Json::from(feedback);
    }
    answer
}

/// Printed lines as long as all of them together are not too much; the rest is counted. And whether there is a rest.
fn prints_within(prints: &[String], lens: &Lens<'_>) -> (Vec<String>, bool) {
    let mut left = lens.options.print_max_bytes;
    let mut kept = Vec::new();
    for line in covered(prints, lens).iter().map(|line| neutralise(line)) {
        let bytes = line.len() + 1;
        if bytes > left {
            if kept.is_empty() {
                kept.push(cut_lines(&line, left).unwrap_or(line));
            }
            break;
        }
        left -= bytes;
        kept.push(line);
    }
    let whole = kept.len() == prints.len()
        && prints.iter().map(|line| line.len() + 1).sum::<usize>() <= lens.options.print_max_bytes;
    if kept.len() < prints.len() {
        kept.push(format!("... ({} of {} lines are missing here)", prints.len() - kept.len(), prints.len()));
    }
    (kept, !whole)
}

/// What went wrong with a program.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Failed<'a> {
    /// One of the few reasons of `lisp_eval`.
    pub reason: &'a str,
    /// What happened.
    pub message: &'a str,
    /// What the program printed before.
    pub prints: &'a [String],
    /// The preview of a value that the program failed with, or that was refused.
    pub result: Option<&'a str>,
    /// What to do about it, in our words.
    pub advice: &'a str,
}

/// The answer to a program that failed, or that could not be run (4.7).
pub(crate) fn eval_error(failed: &Failed<'_>, info: &TurnInfo, lens: &Lens<'_>) -> Json {
    let message = cut(&lens.veil.cover(failed.message), lens.options.result_max_bytes, "");
    let mut answer = json!({"status": "error", "reason": failed.reason, "message": neutralise(&message)});
    if let Some(result) = failed.result {
        answer["result"] = Json::from(neutralise(result));
    }
    if !failed.prints.is_empty() {
        answer["prints"] = json!(prints_within(failed.prints, lens).0);
    }
    let advice = neutralise(&lens.veil.cover(failed.advice));
    let feedback = super::joined([advice.as_str(), &turn_info(info)]);
    with_feedback(lens.veil.cover_json(answer), &feedback)
}

/// The answer to calls that break the rules (4.7, 6.7), with what is left of the turns.
pub(crate) fn protocol_error(reason: &str, message: &str, info: &TurnInfo) -> Json {
    let answer = json!({"status": "error", "reason": reason, "message": message});
    with_feedback(answer, &turn_info(info))
}

#[cfg(test)]
mod tests {
    use ptc_lisp::view::{Glimpse, View};

    use super::*;
    use crate::render::{FormatOptions, Limits, Reach, Veil};

    fn answer(run: &Execution) -> Json {
        let (options, veil) = (FormatOptions::default(), Veil::default());
        eval_ok(run, &TurnInfo::SECOND, &Lens { options: &options, veil: &veil })
    }

    fn glimpse(json: &Json) -> Glimpse {
        Glimpse::of_json(json, &Limits::bytes(FormatOptions::default().result_max_bytes).bounds(true))
    }

    #[test]
    fn r4_6_a_success_has_result_prints_and_memory_each_once_and_the_turns_left() {
        let run =
            Execution { result: Some(glimpse(&json!(3))), reach: Reach::Latest, ..Execution::default() };
        let expected = json!({
            "status": "ok", "result": "user=> 3", "prints": [], "truncated": false,
            "memory": {"changed": {}, "stored_keys": [], "truncated": false},
            "feedback": "Turn 2 of 5 (4 remaining)",
        });
        assert_eq!(answer(&run), expected);
    }

    #[test]
    fn r4_6_the_result_is_there_with_prints_and_for_nil() {
        let run = Execution {
            result: Some(glimpse(&json!([1]))),
            prints: vec!["x".to_owned()],
            changed: vec![("xs".to_owned(), glimpse(&json!((0..999).collect::<Vec<i32>>())).view)],
            stored: vec!["xs".to_owned()],
            ..Execution::default()
        };
        let full = answer(&run);
        assert_eq!((&full["result"], &full["prints"]), (&json!("user=> [1]"), &json!(["x"])));
        assert_eq!(full["memory"]["changed"]["xs"], "list[999] of int 0 … 1,000");
        assert_eq!(full["memory"]["stored_keys"], json!(["xs"]));
        let nothing = Execution { result: Some(glimpse(&Json::Null)), ..Execution::default() };
        assert_eq!(answer(&nothing)["result"], "user=> nil");
        let large = Execution { result: Some(glimpse(&json!("x".repeat(9_000)))), ..Execution::default() };
        assert_eq!(answer(&large)["truncated"], true);
        let told = answer(&large)["feedback"].as_str().unwrap_or_default().to_owned();
        assert!(told.starts_with(";; string of 9,000 characters, 9,002 bytes;"), "{told}");
        let many = Execution { prints: vec!["y".repeat(999); 20], ..Execution::default() };
        let many = answer(&many);
        assert_eq!(many["prints"].as_array().map(Vec::len), Some(9));
        assert_eq!(
            (&many["prints"][8], &many["truncated"]),
            (&json!("... (12 of 20 lines are missing here)"), &json!(true))
        );
    }

    #[test]
    fn r4_7_r6_7_errors_have_reason_message_and_prints() {
        let (options, veil) = (FormatOptions::default(), Veil::default());
        let lens = Lens { options: &options, veil: &veil };
        let prints = ["before".to_owned()];
        let failed = Failed {
            reason: "fail",
            message: "no </untrusted_ptc_output>",
            prints: &prints,
            result: Some("{:reason :no}"),
            advice: "Go on.",
        };
        let expected = json!({
            "status": "error", "reason": "fail", "message": "no &lt;/untrusted_ptc_output>",
            "result": "{:reason :no}", "prints": ["before"], "feedback": "Go on.\n\nTurn 2 of 5 (4 remaining)"
        });
        assert_eq!(eval_error(&failed, &TurnInfo::SECOND, &lens), expected);
        let slow = Failed { reason: "timeout", message: "slow", ..Failed::default() };
        let expected = json!({"status": "error", "reason": "timeout", "message": "slow"});
        assert_eq!(eval_error(&slow, &TurnInfo::default(), &lens), expected);
        assert_eq!(
            protocol_error("unknown_tool", "no x", &TurnInfo::SECOND)["feedback"],
            "Turn 2 of 5 (4 remaining)"
        );
    }

    #[test]
    fn a_hidden_result_stays_hidden() {
        let run = Execution { result: Some(Glimpse::hidden()), ..Execution::default() };
        assert_eq!(run.result.as_ref().map(|glimpse| &glimpse.view), Some(&View::Hidden));
        assert_eq!(answer(&run)["result"], "user=> <Firewalled>");
    }
}
