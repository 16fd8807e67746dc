//! What came of a run, for people and for machines.

pub use ptc_runner::grouped;
use ptc_runner::{Reason, Step, Turn, Usage};
use ptc_upstream::Redactor;
use serde_json::{Value as Json, json};

use super::consent;
use super::highlight::{self, Paint};
use crate::exit::Outcome;
use crate::terminal;

/// What a step is shown with.
pub struct Shown<'a> {
    /// The model that was asked.
    pub model: &'a str,
    /// The run, if it was kept.
    pub run: Option<&'a str>,
    /// Whether the answer was printed while it came.
    pub printed: bool,
    /// The command that goes on with it.
    pub resume: Option<&'a str>,
}

/// The answer for people: text as it is, everything else as JSON.
pub fn answer(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        value => highlight::json(value, Paint::for_stream(&terminal::stdout())),
    }
}

/// So many of something.
pub fn several(count: u64, one: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{} {one}s", grouped(count)),
    }
}

/// What a run cost, in one line.
pub fn cost(usage: &Usage) -> String {
    let mut parts = vec![
        several(usage.turns.into(), "turn"),
        several(usage.tool_calls, "tool call"),
        format!("{} fuel", grouped(usage.fuel)),
        format!("{} kept out of the context", several(usage.bytes_kept, "byte")),
    ];
    if usage.total_tokens > 0 {
        parts.push(format!("{} tokens", grouped(usage.total_tokens)));
    }
    parts.extend(usage.cost_usd.map(dollars));
    parts.push(format!("{:.1} s", usage.duration_ms as f64 / 1e3));
    parts.join(", ")
}

/// A run for machines: one JSON document.
pub fn document(step: &Step, shown: &Shown<'_>) -> Json {
    let turns = step.turns.as_deref().unwrap_or_default();
    json!({
        "ok": step.is_ok(),
        "answer": step.value,
        "fallback": step.usage.fallback_used,
        "fail": step.fail,
        "programs": turns.iter().filter_map(|turn| turn.program.as_deref()).collect::<Vec<_>>(),
        "turns": step.usage.turns,
        "calls": step.usage.tool_calls,
        "fuel": step.usage.fuel,
        "bytes_kept": step.usage.bytes_kept,
        "usage": step.usage,
        "trace": turns.iter().map(turn_fields).collect::<Vec<_>>(),
        "warnings": step.warnings,
        "pending": pending(step),
        "upstream_calls": step.upstream_calls,
        "model": shown.model,
        "run": shown.run,
        "resume": shown.resume.filter(|_| may_go_on(step)),
    })
}

/// Warnings of a run that were not told while it ran, as those of its calls were.
pub fn untold_warnings(step: &Step) -> impl Iterator<Item = &str> {
    step.warnings.iter().map(String::as_str).filter(|warning| !warning.contains("tool/"))
}

/// The calls of a run that wait for a person.
pub fn pending(step: &Step) -> &[Json] {
    let fail = step.fail.as_ref().filter(|fail| fail.reason == Reason::APPROVAL_REQUIRED);
    fail.and_then(|fail| fail.details["pending"].as_array()).map_or(&[], Vec::as_slice)
}

fn turn_fields(turn: &Turn) -> Json {
    let call = |call: &ptc_runner::CallRecord| {
        json!({
            "tool": call.name, "args": call.args, "error": call.error, "approval": call.approval,
            "cached": call.cached, "refused": call.refused, "result_bytes": call.result_bytes,
            "duration_ms": call.duration_ms,
            "warnings": call.warnings,
        })
    };
    json!({
        "turn": turn.number, "type": turn.kind, "program": turn.program, "success": turn.success,
        "result": turn.result, "prints": turn.prints, "fuel": turn.fuel, "fixes": turn.fixes,
        "calls": turn.tool_calls.iter().map(call).collect::<Vec<_>>(),
    })
}

/// How a command ends that ran an agent.
pub fn outcome(step: &Step) -> Outcome {
    let Some(fail) = &step.fail else {
        return if step.usage.fallback_used { Outcome::Fallback } else { Outcome::Done };
    };
    match &fail.reason {
        reason if *reason == Reason::CANCELLED => Outcome::Cancelled,
        reason if *reason == Reason::APPROVAL_REQUIRED => Outcome::Waiting,
        // Whoever asked must change something: the model, its key, an input.
        reason if USAGE.contains(reason) || reason.as_str() == RESUME_ERROR => Outcome::Usage,
        reason if LIMITS.contains(reason) => Outcome::Limit,
        _ => Outcome::Failed,
    }
}

/// Whether a run that ended like this can go on: it was stopped, or something outside failed.
pub fn may_go_on(step: &Step) -> bool {
    let reason = step.fail.as_ref().map(|fail| &fail.reason);
    reason.is_some_and(|reason| {
        [Reason::CANCELLED, Reason::APPROVAL_REQUIRED].contains(reason)
            || USAGE.contains(reason)
            || reason.as_str() == CHECKPOINT_ERROR
    })
}

/// The run could not be kept.
pub const CHECKPOINT_ERROR: &str = "checkpoint_error";

/// The run could not be gone on with.
pub const RESUME_ERROR: &str = "resume_error";

/// Reasons that are not the agent's fault.
const USAGE: [Reason; 6] = [
    Reason::LLM_ERROR,
    Reason::LLM_REQUIRED,
    Reason::MODEL_NOT_FOUND,
    Reason::INVALID_LLM_REGISTRY,
    Reason::TEMPLATE_ERROR,
    Reason::PRELUDE_ATTACH_FAILED,
];

/// Reasons that are a limit.
const LIMITS: [Reason; 16] = [
    Reason::MAX_TURNS_EXCEEDED,
    Reason::BUDGET_EXHAUSTED,
    Reason::TURN_BUDGET_EXHAUSTED,
    Reason::MAX_DEPTH_EXCEEDED,
    Reason::MISSION_TIMEOUT,
    Reason::BUDGET_CALLBACK_EXCEEDED,
    Reason::FUEL_EXHAUSTED,
    Reason::FUEL_EXCEEDED,
    Reason::OUTPUT_EXCEEDED,
    Reason::NESTING_TOO_DEEP,
    Reason::COST_EXCEEDED,
    Reason::CONSECUTIVE_FAILURES,
    Reason::TOOL_CALL_LIMIT_EXCEEDED,
    Reason::TIMEOUT,
    Reason::MEMORY_EXCEEDED,
    Reason::MEMORY_LIMIT_EXCEEDED,
];

/// Characters of a value that stands in an error.
const LAST_VALUE: usize = 200;

/// Why a run failed, and what to do about it.
pub fn failure(step: &Step, shown: &Shown<'_>, redactor: &Redactor) -> Option<String> {
    let fail = step.fail.as_ref()?;
    let model = shown.model;
    let resume = shown.resume.filter(|_| may_go_on(step));
    let go_on = resume.map(|command| format!("\n  = go on with: {command}")).unwrap_or_default();
    if fail.reason == Reason::LLM_ERROR {
        let fix = match fail.details["kind"].as_str() {
            Some("rate_limit") => {
                "wait a while, or allow more attempts with --set 'llm_retry={\"max_attempts\": 5}'"
            }
            Some("client_error") => "check the key and the id of the model",
            Some("config_error") => "name another with --model, or put right what it names",
            _ => "check that it can be reached from here, or name another with --model",
        };
        return Some(format!("the model `{model}` gave no reply: {}\n  = fix: {fix}{go_on}", fail.message));
    }
    if fail.reason == Reason::APPROVAL_REQUIRED {
        let columns = terminal::columns();
        let calls: Vec<String> = pending(step)
            .iter()
            .map(|call| format!("\n{}", consent::shown(call, redactor, columns)))
            .collect();
        let how = shown.resume.map(|resume| {
            format!(
                "\n  = go on with: {resume} --approve all\n    or decide about each: --approve CALL, --reject CALL REASON, --edit CALL JSON"
            )
        });
        return Some(format!("{}{}{}", fail.message, calls.concat(), how.unwrap_or_default()));
    }
    if fail.reason == Reason::CANCELLED {
        return Some(format!("stopped{go_on}"));
    }
    match fail.reason.as_str() {
        CHECKPOINT_ERROR => return Some(format!("the run cannot be kept: {}{go_on}", fail.message)),
        RESUME_ERROR => {
            let fix = "give the agent the name, prompt, signature and tools that it had when the run began";
            return Some(format!("the run cannot go on: {}\n  = fix: {fix}", fail.message));
        }
        _ => {}
    }
    let last = fail.details["last_values"].get(0).map(|value| {
        let text: String = value.to_string().chars().take(LAST_VALUE).collect();
        let take = match fail.details["no_fallback"].as_bool() {
            Some(true) => "",
            _ => ", or take that value with --set fallback=true",
        };
        format!("\n  = its last value, which no program returned: {text}\n  = fix: allow more turns with --set max_turns=N{take}")
    });
    Some(format!("the agent failed: {} ({}){}", fail.message, fail.reason, last.unwrap_or_default()))
}

/// An amount of money, small ones included.
pub fn dollars(amount: f64) -> String {
    if amount < 0.01 { format!("${amount:.5}") } else { format!("${amount:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_one_line() {
        let usage = Usage {
            turns: 1,
            tool_calls: 2,
            fuel: 12_345,
            bytes_kept: 1_000_000,
            total_tokens: 999,
            cost_usd: Some(0.00123),
            duration_ms: 1_250,
            ..Usage::default()
        };
        assert_eq!(
            cost(&usage),
            "1 turn, 2 tool calls, 12,345 fuel, 1,000,000 bytes kept out of the context, 999 tokens, $0.00123, 1.2 s"
        );
    }
}
