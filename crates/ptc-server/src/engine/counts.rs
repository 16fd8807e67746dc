//! Counters of answers, for monitoring.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::api::CallCount;

/// How often each tool was answered in which way.
#[derive(Debug, Default)]
pub struct Counts(Mutex<BTreeMap<(String, String), u64>>);

impl Counts {
    /// Counts an answer. Names come from our own tables, so there are few.
    pub fn add(&self, tool: &str, reason: Option<&str>) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry((tool.to_owned(), reason.unwrap_or("ok").to_owned())).or_default() += 1;
    }

    /// All counts.
    pub fn all(&self) -> Vec<CallCount> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = |((tool, reason), count): (&(String, String), &u64)| CallCount {
            tool: tool.clone(),
            reason: reason.clone(),
            count: *count,
        };
        counts.iter().map(count).collect()
    }
}
