//! What definitions need of the host: read off the tools that they call, their own text and that of
//! everything they reach.

use std::collections::BTreeSet;

use super::Prelude;
use crate::analyze::ToolUse;

/// The tool that calls upstreams.
const CALL: &str = "call";

/// What a definition needs, as far as its text says.
#[derive(Debug, Default)]
pub(super) struct Inferred {
    /// Ids of literal calls.
    pub ids: BTreeSet<String>,
    /// Names of the tools it may call, `call` among them.
    pub tools: BTreeSet<String>,
    /// Whether it calls an upstream that is only known when it runs.
    pub dynamic: bool,
}

impl Inferred {
    fn add(&mut self, tool_use: &ToolUse) {
        self.tools.insert(tool_use.tool.clone());
        if tool_use.tool != CALL {
            self.ids.insert(format!("tool:{}", tool_use.tool));
            return;
        }
        let text = |key: &str| tool_use.args.as_ref()?.get(key)?.as_str().filter(|text| !text.is_empty());
        match (text("server"), text("tool")) {
            (Some(server), Some(tool)) => {
                self.ids.insert(format!("upstream:{server}/{tool}"));
            }
            _ => self.dynamic = true,
        }
    }

    /// The upstream operation, if there is exactly one.
    pub fn only_upstream(&self) -> Option<&String> {
        let mut upstream = self.ids.iter().filter(|id| id.starts_with("upstream:"));
        upstream.next().filter(|_| upstream.next().is_none())
    }
}

impl Prelude {
    /// A definition and all that it reaches.
    pub(super) fn reach(&self, from: u32) -> Vec<u32> {
        let mut seen = vec![false; self.definitions.len()];
        let mut found = vec![from];
        seen[from as usize] = true;
        let mut next = 0;
        while let Some(&at) = found.get(next) {
            next += 1;
            for &called in &self.definitions[at as usize].calls {
                if !std::mem::replace(&mut seen[called as usize], true) {
                    found.push(called);
                }
            }
        }
        found
    }

    /// The tools that a definition may call, itself or through others.
    pub(crate) fn uses(&self, number: u32) -> Vec<ToolUse> {
        let uses = self.reach(number).into_iter().flat_map(|at| &self.definitions[at as usize].uses);
        uses.cloned().collect()
    }

    pub(super) fn inferred(&self, number: u32) -> Inferred {
        let mut inferred = Inferred::default();
        for at in self.reach(number) {
            self.definitions[at as usize].uses.iter().for_each(|tool_use| inferred.add(tool_use));
        }
        inferred
    }
}
