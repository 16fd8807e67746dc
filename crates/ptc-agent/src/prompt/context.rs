//! The context block: everything about a run that a model must know besides its mission.

use std::collections::BTreeMap;

use ptc_signature::Type;

use super::blocks;
use super::card::Card;
use super::data::{DataLine, data_section};
use super::output::expected_output;
use super::tools::{ToolLine, all_tools};
use super::user::{UserLine, user_section};

/// What the context block shows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ContextBlock<'a> {
    /// Tools that programs may call; private ones left out.
    pub tools: &'a [ToolLine],
    /// Tools to plan with, not to call.
    pub catalog: &'a [ToolLine],
    /// Inputs.
    pub data: &'a [DataLine],
    /// Definitions from before.
    pub user: &'a [UserLine],
    /// What attached preludes offer, as ready text.
    pub prelude: Option<&'a str>,
    /// The type of the answer, where a signature says it.
    pub output: Option<&'a Type>,
    /// What fields of the answer mean.
    pub field_descriptions: Option<&'a BTreeMap<String, String>>,
    /// Whether `llm-query` is there.
    pub llm_query: bool,
    /// How many tool calls a program may make.
    pub max_tool_calls: Option<u64>,
    /// Whether names that begin with `_` are hidden.
    pub firewall: bool,
}

impl ContextBlock<'_> {
    /// Tools, inputs, definitions, preludes, expected output, help for `llm-query`, limit of tool calls.
    pub(crate) fn render(&self) -> String {
        let none = BTreeMap::new();
        let about = self.field_descriptions.unwrap_or(&none);
        let prelude = self.prelude.unwrap_or_default().to_owned();
        let output = self.output.map(|ty| expected_output(ty, about)).unwrap_or_default();
        let help = if self.llm_query { Card::LlmQuery.text() } else { "" };
        let limit = self.max_tool_calls.map(call_limit).unwrap_or_default();
        blocks([self.namespaces(), prelude, output, help.to_owned(), limit])
    }

    fn namespaces(&self) -> String {
        blocks([
            all_tools(self.tools, self.catalog, self.firewall),
            data_section(self.data, self.firewall),
            user_section(self.user, self.firewall),
        ])
    }
}

fn call_limit(max: u64) -> String {
    let calls = if max == 1 { "tool call" } else { "tool calls" };
    format!(";; Limit: at most {max} {calls} per program. Calls that are answered from the cache count too.")
}

#[cfg(test)]
mod tests {
    use super::super::data::data;
    use super::super::tools::tool;
    use super::*;

    #[test]
    fn r3_11_sections_come_in_order_and_empty_ones_not_at_all() {
        let tools = [tool("x", "(p :int) -> :int", "")];
        let inputs = [data("a", "", "integer", "1", "")];
        let user = [UserLine::Value { name: "v".into(), sketch: "2".into() }];
        let full = ContextBlock {
            tools: &tools,
            catalog: &[tool("later", "", "")],
            data: &inputs,
            user: &user,
            prelude: Some(";; === preludes ===\ncrm/find"),
            output: Some(&Type::INT),
            llm_query: true,
            max_tool_calls: Some(3),
            firewall: true,
            ..ContextBlock::default()
        };
        let text = full.render();
        let marks = [
            ";; === tools ===",
            ";; === tool catalog",
            ";; === data/ ===",
            ";; === user/",
            ";; === preludes ===",
            "# Expected Output",
            Card::LlmQuery.text(),
            "at most 3 tool calls per program",
        ];
        let places: Vec<_> =
            marks.iter().map(|mark| text.find(mark).unwrap_or_else(|| panic!("{mark}\n{text}"))).collect();
        assert!(places.is_sorted(), "{places:?}");
        assert!(!text.contains("\n\n\n"));
        assert_eq!(ContextBlock::default().render(), ";; No tools available");
    }
}
