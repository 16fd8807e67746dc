//! A look at what a model would be sent, without a model.

use ptc_signature::Style;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::native::openai;
use super::tools::{ToolLine, sorted};
use crate::model::ToolSchema;

/// The prompts of an agent's first turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PromptPreview {
    /// The system prompt; of PTC-Lisp agents the part that stays the same in every turn.
    pub system: String,
    /// The first message.
    pub user: String,
    /// The tools: name, signature and description, or as a provider is told about them.
    pub tool_schemas: Vec<Json>,
    /// The schema that the provider holds the answer to, where there is one.
    pub schema: Option<Json>,
}

/// The preview of a PTC-Lisp agent.
pub(crate) fn preview_ptc(system: String, user: String, tools: &[ToolLine], firewall: bool) -> PromptPreview {
    let describe = |tool: &ToolLine| {
        let mut line = json!({"name": tool.name});
        if tool.signature.is_some() {
            line["signature"] = json!(tool.shown(firewall).render(Style::Canonical));
        }
        if let Some(about) = tool.about() {
            line["description"] = json!(about);
        }
        line
    };
    let tool_schemas = sorted(tools).into_iter().map(describe).collect();
    PromptPreview { system, user, tool_schemas, schema: None }
}

/// The preview of a text or combined agent.
pub(crate) fn preview_text(
    system: String,
    user: String,
    tools: &[ToolSchema],
    schema: Option<Json>,
) -> PromptPreview {
    PromptPreview { system, user, tool_schemas: tools.iter().map(openai).collect(), schema }
}

#[cfg(test)]
mod tests {
    use super::super::native::native_tools;
    use super::super::tools::tool;
    use super::*;

    #[test]
    fn r2_10_a_program_s_tools_are_named_with_signature_and_description() {
        let tools = [tool("b", "(q :string) -> {n :int, _x :int}", "Does."), tool("a", "", "")];
        let preview = preview_ptc("S".into(), "U".into(), &tools, true);
        assert_eq!(preview.schema, None);
        assert_eq!(
            json!(preview.tool_schemas),
            json!([{"name": "a"}, {"name": "b", "signature": "(q :string) -> {n :int}", "description": "Does."}])
        );
    }

    #[test]
    fn r2_10_a_text_agent_shows_what_the_provider_gets() {
        let (schemas, _) = native_tools(&[tool("find-it", "(q :string) -> :any", "")]);
        let preview = preview_text("S".into(), "U".into(), &schemas, Some(json!({"type": "object"})));
        assert_eq!(preview.tool_schemas[0]["function"]["name"], "find_it");
        assert_eq!(preview.schema, Some(json!({"type": "object"})));
        assert_eq!((preview.system.as_str(), preview.user.as_str()), ("S", "U"));
    }
}
