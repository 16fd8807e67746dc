//! Combined agents: a text agent's prompt, with the language in brief and the tools of programs.

use ptc_signature::Style;

use super::blocks;
use super::card::Card;
use super::mission::tagged;
use super::system::{SystemPrompt, text_system};
use super::tools::{ToolLine, sorted};

/// The system prompt of a combined agent. What the host replaces is the text agent's part; the card and the
/// inventory are always there, since without them a model could not use `lisp_eval`.
pub(crate) fn combined_system(
    custom: &SystemPrompt,
    tools: &[ToolLine],
    result_bytes: usize,
    firewall: bool,
) -> String {
    let own = text_system(custom, Card::TextToolsSystem);
    let card = Card::Combined.filled(&[("{result_bytes}", result_bytes)]);
    blocks([own.as_str(), &card, &ptc_tools(tools, firewall)])
}

/// The tools that programs may call, native or not.
pub(crate) fn ptc_tools(tools: &[ToolLine], firewall: bool) -> String {
    let line = |tool: &ToolLine| {
        let signature = tool.shown(firewall).render(Style::Prompt);
        let about = tool.about().map(|text| format!(" — {text}")).unwrap_or_default();
        format!("- `(tool/{} {{...}})` — `{signature}`{about}", tool.name)
    };
    let lines: Vec<_> = sorted(tools).into_iter().map(line).collect();
    let none = "none: programs compute and read `data/`, and call no tools";
    tagged("ptc_tools", if lines.is_empty() { none.to_owned() } else { lines.join("\n") }.as_str())
}

#[cfg(test)]
mod tests {
    use super::super::tools::tool;
    use super::*;

    #[test]
    fn r6_4_the_inventory_is_sorted_with_signatures_and_descriptions() {
        let tools = [
            tool("search_logs", "(query :string) -> [{at_ms :int, _raw :string}]", "Search."),
            tool("now", "", ""),
        ];
        assert_eq!(
            ptc_tools(&tools, true),
            "<ptc_tools>\n\
             - `(tool/now {...})` — `() -> :any`\n\
             - `(tool/search_logs {...})` — `(query :string) -> [{at-ms :int}]` — Search.\n\
             </ptc_tools>"
        );
    }

    #[test]
    fn r6_4_the_card_is_there_without_tools_too() {
        let text = combined_system(&SystemPrompt::Standard, &[], 4_096, true);
        let inventory = ptc_tools(&[], true);
        let card = Card::Combined.text().replace("{result_bytes}", "4096");
        assert_eq!(text, [Card::TextToolsSystem.text(), &card, &inventory].join("\n\n"));
        assert!(card.contains("4096 bytes"), "the size limit is the agent's: {card}");
        assert!(inventory.contains("none"));
    }

    #[test]
    fn r6_5_a_replaced_prompt_keeps_the_card() {
        let text = combined_system(&SystemPrompt::Replace("Mine.".into()), &[], 8_192, true);
        assert!(text.starts_with("Mine.\n\n# Programs"), "{text}");
        assert!(!text.contains(Card::TextToolsSystem.text()));
    }
}
