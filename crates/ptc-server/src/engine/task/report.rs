//! The answer of `lisp_task`: always the whole of it, whatever the profile.

use std::time::Duration;

use ptc_agent::{Fail, Step};
use ptc_upstream::Redactor;
use ptc_upstream::ledger::LedgerEntry;
use ptc_upstream::metrics::{Planner, Returned, add_planner, ptc_metrics};
use ptc_upstream::model::Reason as Fault;
use serde_json::{Value as Json, json};

use super::super::depth::too_deep;
use super::super::payload::upstream_summary;
use super::super::reason::Reason;
use super::super::settings::Task;
use super::super::text::{cut, json_bytes};
use super::planner::Spent;
use super::{last_program, milliseconds};

/// Calls that were not allowed and are told in warnings; the account has all of them.
const DENIED: usize = 8;

/// All that is known when a task is over.
pub struct Report<'r> {
    pub settings: &'r Task,
    pub redactor: &'r Redactor,
    pub model: String,
    pub ledger: Vec<LedgerEntry>,
    pub spent: Spent,
    pub elapsed: Duration,
    /// What was asked for and is not supported.
    pub warnings: Vec<Json>,
    pub trace_id: String,
}

impl Report<'_> {
    /// The answer to a task that was never begun.
    pub fn refused(reason: &str, message: String) -> (Json, String) {
        let object = json!({
            "status": "error",
            "reason": reason,
            "message": message,
            "feedback": "Nothing was run.",
            "warnings": [],
            "planner": Json::Null,
            "execution": Json::Null,
            "upstream_calls": [],
        });
        (object, reason.to_owned())
    }

    /// The answer, and the reason of the error if it is one. Without a step the task took too long.
    pub fn object(&self, step: Option<&Step>) -> (Json, Option<String>) {
        let (mut object, reason) = match step.map(|step| (step, &step.fail)) {
            Some((step, None)) => (self.succeeded(step), None),
            Some((step, Some(fail))) => {
                let (object, reason) = self.failed(Some(step), &reason(fail, &self.spent), &fail.message);
                (object, Some(reason))
            }
            None => {
                let message = "the task took longer than it may; calls that were made are listed";
                let reason = if self.spent.late { Reason::PLANNER_TIMEOUT } else { Reason::BUDGET };
                let (object, reason) = self.failed(None, reason.name, message);
                (object, Some(reason))
            }
        };
        object["planner"] = self.planner();
        object["upstream_calls"] = self.ledger.iter().map(entry).collect();
        let results: Vec<Json> = self.ledger.iter().filter_map(LedgerEntry::result_json).collect();
        if !results.is_empty() {
            object["upstream_results"] = results.into();
        }
        object["trace_id"] = self.trace_id.as_str().into();
        if self.settings.include_program
            && let Some(program) = step.and_then(last_program)
        {
            object["program"] = program.into();
        }
        self.redactor.redact_json(&mut object);
        (object, reason)
    }

    /// What whoever asked should know, also if there is an answer: what was not supported, and calls that were not
    /// allowed, without which the answer may lack something.
    fn warnings(&self) -> Vec<Json> {
        let mut warnings = self.warnings.clone();
        let mut denied = 0;
        for call in &self.ledger {
            let Some(reason @ (Fault::UpstreamToolDenied | Fault::ApprovalRequired)) = call.reason else {
                continue;
            };
            let why = call.error.as_deref().unwrap_or_default();
            let detail = format!("{}/{} was not called: {why}", call.server, call.tool);
            let warning = json!({"code": reason.name(), "detail": detail});
            if denied < DENIED && !warnings.contains(&warning) {
                denied += 1;
                warnings.push(warning);
            }
        }
        warnings
    }

    fn succeeded(&self, step: &Step) -> Json {
        let most = self.settings.max_result_bytes;
        let mut warnings = self.warnings();
        let answer = match &step.value {
            Json::String(text) => text.clone(),
            Json::Object(fields) => match fields.get("answer") {
                Some(Json::String(answer)) => answer.clone(),
                _ => step.value.to_string(),
            },
            other => other.to_string(),
        };
        // Secrets first: a cut must not leave a part of one.
        let answer = self.redactor.redact_string(answer);
        let shown = cut(&answer, most);
        let returned_bytes = json_bytes(&step.value);
        let whole = returned_bytes <= most;
        if shown.len() < answer.len() || !whole {
            warnings.push(json!({
                "code": "max_result_bytes",
                "detail": format!("the answer was cut at {most} bytes; ask for less"),
            }));
        }
        let deep = too_deep(&step.value, "structured_result").filter(|_| whole);
        if let Some(why) = &deep {
            warnings.push(json!({"code": "structured_levels", "detail": format!("the result {why}; answer has its text")}));
        }
        let structured = if whole && deep.is_none() { step.value.clone() } else { Json::Null };
        let bytes = json_bytes(&json!({"answer": shown, "structured_result": structured}));
        let returned = Returned {
            // The value once, and whole: the answer may have it twice, or less of it.
            result_bytes: returned_bytes,
            prints_bytes: step.prints.iter().map(String::len).sum(),
        };
        json!({
            "status": "ok",
            "answer": shown,
            "structured_result": structured,
            "warnings": warnings,
            "planner": Json::Null,
            "execution": self.execution(Some(step), bytes, shown.len() < answer.len() || !whole),
            "upstream_calls": [],
            "ptc_metrics": self.metrics(returned),
        })
    }

    fn failed(&self, step: Option<&Step>, reason: &str, message: &str) -> (Json, String) {
        let message = self.redactor.redact_string(message.to_owned());
        let mut feedback = match reason {
            "partial_side_effects" => {
                "Look at upstream_calls before you ask again: they may have had effects."
            }
            "planner_timeout" | "planner_error" => "The planning model failed; ask again, or use lisp_eval.",
            _ => "Say more exactly what you need, or write the program yourself with lisp_eval.",
        }
        .to_owned();
        if let Some(summary) = upstream_summary(&self.ledger, &message) {
            feedback.push_str(&format!("\n{summary}"));
        }
        let mut object = json!({
            "status": "error",
            "reason": reason,
            "message": cut(&message, 2_000),
            "feedback": feedback,
            "warnings": self.warnings(),
            "planner": Json::Null,
            "execution": self.execution(step, 0, false),
            "upstream_calls": [],
            "ptc_metrics": self.metrics(Returned::default()),
        });
        let details = step.and_then(|step| step.fail.as_ref()).map(|fail| &fail.details["matched_calls"]);
        if let Some(calls) = details.filter(|calls| calls.is_array()) {
            object["details"] = json!({"matched_calls": calls});
        }
        (object, reason.to_owned())
    }

    fn execution(&self, step: Option<&Step>, result_bytes: usize, truncated: bool) -> Json {
        json!({
            "result_bytes": result_bytes,
            "truncated": truncated,
            "max_result_bytes": self.settings.max_result_bytes,
            "duration_ms": milliseconds(self.elapsed),
            "turn_count": step.map_or(0, |step| step.usage.turns),
        })
    }

    fn planner(&self) -> Json {
        json!({
            "model": self.model,
            "duration_ms": milliseconds(self.spent.elapsed),
            "prompt_bytes": self.spent.prompt_bytes,
            "output_bytes": self.spent.completion_bytes,
            "completion_bytes": self.spent.completion_bytes,
            "tokens": self.spent.tokens.map(|(input, output)| {
                json!({"input": input, "output": output, "total": input + output})
            }),
            "calls": self.spent.calls,
        })
    }

    fn metrics(&self, returned: Returned) -> Json {
        let Some(mut metrics) = ptc_metrics(&self.ledger, returned) else { return Json::Null };
        add_planner(
            &mut metrics,
            &Planner {
                calls: self.spent.calls,
                prompt_bytes: self.spent.prompt_bytes,
                completion_bytes: self.spent.completion_bytes,
                tokens: self.spent.tokens,
            },
        );
        metrics
    }
}

/// One call, with what it does to the world. A call that nobody heard the end of may have had its effect.
fn entry(call: &LedgerEntry) -> Json {
    let mut entry = call.to_json();
    entry["effect"] = call.effect.into();
    if matches!(call.reason, Some(Fault::RunContextClosed | Fault::OutcomeUnknown)) {
        entry["status"] = "attempted".into();
    }
    entry
}

/// The reason of a failed run, as clients see it.
fn reason(fail: &Fail, spent: &Spent) -> String {
    let name = fail.reason.as_str();
    let fixed = match name {
        "partial_side_effects" => Some(Reason::PARTIAL),
        _ if spent.late => Some(Reason::PLANNER_TIMEOUT),
        _ if spent.failed => Some(Reason::PLANNER),
        "failed" => Some(Reason::AGENT_FAILED),
        // The deadline of the run is that of the task.
        "mission_timeout" => Some(Reason::BUDGET),
        _ => None,
    };
    fixed.map_or_else(|| format!("ptc_{name}"), |reason| reason.name.to_owned())
}
