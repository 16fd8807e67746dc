//! Counters of answers, of decisions and of upstream calls, for monitoring.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use ptc_upstream::model::Reason as WhyFailed;
use serde_json::Value as Json;

use super::api::{CallCount, DecisionCount};

/// How often each tool was answered in which way, and what was decided how often.
#[derive(Debug, Default)]
pub struct Counts {
    answers: Mutex<BTreeMap<(String, String), u64>>,
    decisions: Mutex<BTreeMap<(&'static str, &'static str), u64>>,
}

impl Counts {
    /// Counts an answer. Names come from our own tables, so there are few.
    pub fn add(&self, tool: &str, reason: Option<&str>) {
        let mut counts = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry((tool.to_owned(), reason.unwrap_or("ok").to_owned())).or_default() += 1;
    }

    /// Counts what was decided about a call, and in which way.
    pub fn decided(&self, decision: &'static str, by: &'static str) {
        let mut counts = self.decisions.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry((decision, by)).or_default() += 1;
    }

    /// All answers.
    pub fn all(&self) -> Vec<CallCount> {
        let counts = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let count = |((tool, reason), count): (&(String, String), &u64)| CallCount {
            tool: tool.clone(),
            reason: reason.clone(),
            count: *count,
        };
        counts.iter().map(count).collect()
    }

    /// All decisions.
    pub fn decisions(&self) -> Vec<DecisionCount> {
        let counts = self.decisions.lock().unwrap_or_else(PoisonError::into_inner);
        counts.iter().map(|(&(decision, by), &count)| DecisionCount { decision, by, count }).collect()
    }
}

/// How many upstream calls of a program were made now, and how many of them failed. One that was not let through to its
/// server, or was made before and is answered from what was kept, is none.
pub fn made_and_failed(calls: &[Json]) -> (u64, u64) {
    let is_held_back =
        |call: &Json| call["reason"].as_str().and_then(WhyFailed::named).is_some_and(WhyFailed::is_held_back);
    let made = calls.iter().filter(|call| call["recalled"] != true && !is_held_back(call));
    made.fold((0, 0), |(made, failed), call| (made + 1, failed + u64::from(call["status"] == "error")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_that_was_not_made_counts_neither_as_made_nor_as_failed() {
        let ok = json!({"status": "ok"});
        let failed = |reason: WhyFailed| json!({"status": "error", "reason": reason.name()});
        for (calls, counted) in [
            (vec![], (0, 0)),
            (vec![ok.clone(), failed(WhyFailed::Timeout)], (2, 1)),
            (vec![failed(WhyFailed::ApprovalRejected), ok.clone()], (1, 0)),
            (vec![failed(WhyFailed::UpstreamToolDenied), failed(WhyFailed::CapExhausted)], (0, 0)),
            // The server said so.
            (vec![failed(WhyFailed::AuthFailed), failed(WhyFailed::RateLimited)], (2, 2)),
            (vec![json!({"status": "ok", "recalled": true}), ok], (1, 0)),
        ] {
            assert_eq!(made_and_failed(&calls), counted, "{calls:?}");
        }
    }
}
