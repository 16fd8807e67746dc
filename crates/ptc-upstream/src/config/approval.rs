//! Which calls somebody must approve before they are made.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::fields::{Fields, kind};
use super::problem::{closest, listed};
use super::{EffectClass, by_tool};

/// When somebody is asked about a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Approval {
    /// Never.
    #[default]
    Never,
    /// If it changes something, or nobody knows what it does.
    Writes,
    /// Always.
    Ask,
}

impl Approval {
    /// The settings by the names that configurations use.
    pub const NAMES: &[(&str, Approval)] =
        &[("ask", Approval::Ask), ("writes", Approval::Writes), ("never", Approval::Never)];

    /// The name that configurations use.
    pub fn name(self) -> &'static str {
        match self {
            Approval::Ask => "ask",
            Approval::Writes => "writes",
            Approval::Never => "never",
        }
    }

    /// Whether somebody is asked about a call of this class.
    pub fn asks(self, effect: EffectClass) -> bool {
        match self {
            Approval::Ask => true,
            Approval::Writes => effect != EffectClass::Read,
            Approval::Never => false,
        }
    }
}

/// What holds for the tools of an upstream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApprovalRules {
    /// For tools that are not named.
    pub rest: Approval,
    /// For single tools.
    pub tools: BTreeMap<String, Approval>,
}

/// The name that stands for all other tools.
const REST: &str = "*";

impl ApprovalRules {
    /// What holds for a tool. A rule for the name that clients show their models can only be the stricter one: which of the
    /// tools it was meant for is not known.
    pub fn of(&self, tool: &str) -> Approval {
        let said = |name: &str| by_tool::find(&self.tools, name).copied().unwrap_or(self.rest);
        match self.tools.get(tool) {
            Some(own) => *own,
            None => said(tool).max(said(&by_tool::client_tool_name(tool))),
        }
    }

    /// Whether somebody is asked about a call of a tool of this class.
    pub fn asks(&self, tool: &str, effect: EffectClass) -> bool {
        self.of(tool).asks(effect)
    }

    /// Whether somebody may be asked at all.
    pub fn any(&self) -> bool {
        self.rest != Approval::Never || self.tools.values().any(|each| *each != Approval::Never)
    }

    /// Reads a word for all tools, or an object of words by tool with `*` for the rest.
    pub(super) fn parse(fields: &mut Fields) -> ApprovalRules {
        const KEY: &str = "approval";
        let entries = match fields.take(KEY) {
            None => return ApprovalRules::default(),
            Some(Json::Object(entries)) => entries,
            Some(word @ Json::String(_)) => [(REST.to_owned(), word)].into_iter().collect(),
            Some(other) => {
                let message = format!("must be a word or an object by tool, not {}", kind(&other));
                fields.problem(KEY, message, "write \"writes\", or {\"*\": \"writes\", \"tool\": \"ask\"}");
                return ApprovalRules::default();
            }
        };
        let names = || Approval::NAMES.iter().map(|(name, _)| *name);
        let mut rules = ApprovalRules::default();
        for (tool, word) in entries {
            let said = word.as_str().unwrap_or_default();
            let Some((_, approval)) = Approval::NAMES.iter().find(|(name, _)| *name == said) else {
                let fix = match closest(said, names()) {
                    Some(best) => format!("did you mean \"{best}\"?"),
                    None => format!("use one of {}", listed(names())),
                };
                let whose = if tool == REST { String::new() } else { format!(" for the tool {tool:?}") };
                fields.problem(KEY, format!("does not know {word}{whose}"), fix);
                continue;
            };
            match tool.as_str() {
                REST => rules.rest = *approval,
                _ => drop(rules.tools.insert(tool, *approval)),
            }
        }
        rules
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;
    use crate::config::Config;

    fn read(approval: Json) -> Result<ApprovalRules, String> {
        let upstream = json!({"transport": "mcp_stdio", "command": "x", "approval": approval});
        Config::from_value(json!({"upstreams": {"crm": upstream}}), Path::new(""))
            .map(|config| config.upstreams[0].approval.clone())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_word_or_an_object_says_when_somebody_is_asked() {
        use EffectClass::{Read, Unknown, Write};
        let cases = [
            (json!("ask"), [("get", Read, true), ("put", Write, true)]),
            (json!("writes"), [("get", Read, false), ("put", Unknown, true)]),
            (json!("never"), [("get", Read, false), ("put", Write, false)]),
            (json!({"put-it": "ask"}), [("get", Write, false), ("put_it", Read, true)]),
            (json!({"*": "writes", "put": "never"}), [("get", Write, true), ("put", Write, false)]),
            (json!({"p*": "ask"}), [("get", Write, false), ("put", Read, true)]),
            // Clients show `put.it` to their models as `put_it`.
            (json!({"put_it": "ask"}), [("get.it", Read, false), ("put.it", Read, true)]),
            (json!({"*": "ask", "put_it": "never"}), [("put_it", Read, false), ("put.it", Read, true)]),
        ];
        for (approval, expected) in cases {
            let rules = read(approval.clone()).expect("it is right");
            for (tool, effect, asks) in expected {
                assert_eq!(rules.asks(tool, effect), asks, "{approval} {tool}");
            }
            assert_eq!(rules.any(), approval != "never");
        }
    }

    #[test]
    fn mistakes_are_named() {
        let cases = [
            (json!("write"), "did you mean \"writes\"?"),
            (json!({"put": "always"}), "does not know \"always\" for the tool \"put\""),
            (json!({"put": 1}), "does not know 1 for the tool \"put\""),
            (json!(true), "must be a word or an object by tool, not true or false"),
        ];
        for (approval, expected) in cases {
            let error = read(approval).expect_err(expected);
            assert!(error.contains(expected) && error.contains("upstream 'crm', key 'approval'"), "{error}");
        }
    }
}
