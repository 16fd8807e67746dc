//! System prompts: cards, then what the host changes about them, then what belongs to the run.

use std::fmt;
use std::sync::Arc;

use super::blocks;
use super::card::Card;
use super::spec::{LanguageSpec, SpecInput};

/// How programs reach the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ProgramTransport {
    /// In a code block of the reply.
    #[default]
    Content,
    /// In a call of `lisp_eval`.
    ToolCall,
}

/// Changes a prompt.
pub type PromptFn = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// What a host changes about the system prompt.
#[derive(Clone, Default)]
pub enum SystemPrompt {
    /// Nothing.
    #[default]
    Standard,
    /// The whole text.
    Replace(String),
    /// Whatever a function makes of it.
    Transform(PromptFn),
    /// Some parts of it.
    Parts(PromptParts),
}

/// Parts of a system prompt that a host sets.
#[derive(Clone, Debug, Default)]
pub struct PromptParts {
    /// Stands before everything.
    pub prefix: Option<String>,
    /// Stands after everything.
    pub suffix: Option<String>,
    /// In place of the cards about the language.
    pub language_spec: Option<LanguageSpec>,
    /// In place of the card about the form of replies.
    pub output_format: Option<String>,
}

impl SystemPrompt {
    fn parts(&self) -> Option<&PromptParts> {
        match self {
            SystemPrompt::Parts(parts) => Some(parts),
            _ => None,
        }
    }

    /// The text with the host's changes.
    pub(crate) fn apply(&self, text: String) -> String {
        match self {
            SystemPrompt::Standard => text,
            SystemPrompt::Replace(whole) => whole.clone(),
            SystemPrompt::Transform(change) => change(&text),
            SystemPrompt::Parts(parts) => {
                let [prefix, suffix] =
                    [&parts.prefix, &parts.suffix].map(|part| part.as_deref().unwrap_or(""));
                blocks([prefix, &text, suffix])
            }
        }
    }

    fn language(&self, standard: &LanguageSpec, input: &SpecInput<'_>) -> String {
        self.parts().and_then(|parts| parts.language_spec.as_ref()).unwrap_or(standard).text(input)
    }

    fn format(&self, transport: ProgramTransport, thinking: bool) -> String {
        let own = self.parts().and_then(|parts| parts.output_format.clone());
        own.unwrap_or_else(|| output_format(transport, thinking).text().to_owned())
    }
}

impl fmt::Debug for SystemPrompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SystemPrompt::Standard => f.write_str("Standard"),
            SystemPrompt::Replace(text) => f.debug_tuple("Replace").field(text).finish(),
            SystemPrompt::Transform(_) => f.write_str("Transform(…)"),
            SystemPrompt::Parts(parts) => f.debug_tuple("Parts").field(parts).finish(),
        }
    }
}

/// The card about the form of replies.
fn output_format(transport: ProgramTransport, thinking: bool) -> Card {
    match (transport, thinking) {
        (ProgramTransport::Content, false) => Card::OutputContent,
        (ProgramTransport::Content, true) => Card::OutputContentThinking,
        (ProgramTransport::ToolCall, false) => Card::OutputToolCall,
        (ProgramTransport::ToolCall, true) => Card::OutputToolCallThinking,
    }
}

/// The part of a system prompt that is the same in every turn, so that providers can cache it.
pub(crate) fn static_system(
    custom: &SystemPrompt,
    standard: &LanguageSpec,
    input: &SpecInput<'_>,
    transport: ProgramTransport,
    thinking: bool,
) -> String {
    custom.apply(blocks([custom.language(standard, input), custom.format(transport, thinking)]))
}

/// A whole system prompt: the fixed part, the context where the host wants it here, and the mission log.
pub(crate) fn system_prompt(fixed: &str, context: Option<&str>, mission_log: Option<&str>) -> String {
    blocks([Some(fixed), context, mission_log].into_iter().flatten())
}

/// The system prompt of a text agent, around the card of its variant.
pub(crate) fn text_system(custom: &SystemPrompt, card: Card) -> String {
    let format = custom.parts().and_then(|parts| parts.output_format.as_deref()).unwrap_or("");
    custom.apply(blocks([card.text(), format]))
}

/// Cuts a prompt to so many characters and says so. Also tells whether it did, for a warning.
pub(crate) fn truncate(prompt: String, max_chars: Option<usize>) -> (String, bool) {
    let cut = max_chars.and_then(|max| prompt.char_indices().nth(max)).map(|(at, _)| at);
    match cut {
        None => (prompt, false),
        Some(at) => {
            let total = prompt.chars().count();
            let shown = max_chars.unwrap_or(total);
            let notice = format!("\n\n[The system prompt was cut: {shown} of {total} characters are shown.]");
            (prompt[..at].to_owned() + &notice, true)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::Behavior;

    fn fixed(custom: &SystemPrompt) -> String {
        static_system(
            custom,
            &LanguageSpec::default_for(Behavior::ExplicitReturn, false),
            &SpecInput::FIRST,
            ProgramTransport::Content,
            false,
        )
    }

    #[test]
    fn r3_3_language_cards_then_format_then_context_then_mission_log() {
        let fixed = fixed(&SystemPrompt::Standard);
        let cards = [Card::Reference, Card::MultiTurn, Card::ExplicitReturn, Card::OutputContent];
        assert_eq!(fixed, cards.map(|card| SpecInput::FIRST.filled(card)).join("\n\n"));
        assert_eq!(system_prompt(&fixed, None, None), fixed);
        let whole = system_prompt(&fixed, Some("CONTEXT"), Some("LOG"));
        assert_eq!(whole, format!("{fixed}\n\nCONTEXT\n\nLOG"));
    }

    #[test]
    fn r3_8_the_format_card_follows_transport_and_thinking() {
        use ProgramTransport::{Content, ToolCall};
        let cases = [
            (Content, false, Card::OutputContent),
            (Content, true, Card::OutputContentThinking),
            (ToolCall, false, Card::OutputToolCall),
            (ToolCall, true, Card::OutputToolCallThinking),
        ];
        for (transport, thinking, card) in cases {
            let spec = LanguageSpec::default_for(Behavior::ExplicitReturn, false);
            let text = static_system(&SystemPrompt::Standard, &spec, &SpecInput::FIRST, transport, thinking);
            assert!(text.ends_with(card.text()), "{card:?}");
        }
    }

    #[test]
    fn r3_6_hosts_replace_map_or_surround_the_prompt() {
        assert_eq!(fixed(&SystemPrompt::Replace("all mine".into())), "all mine");
        let shout = SystemPrompt::Transform(Arc::new(|text| format!("<<{text}>>")));
        assert!(fixed(&shout).starts_with("<<You write"));
        let parts = PromptParts {
            prefix: Some("BEFORE".into()),
            suffix: Some("AFTER".into()),
            language_spec: Some(LanguageSpec::Text("LANGUAGE".into())),
            output_format: Some("FORMAT".into()),
        };
        assert_eq!(fixed(&SystemPrompt::Parts(parts)), "BEFORE\n\nLANGUAGE\n\nFORMAT\n\nAFTER");
        let only = PromptParts { suffix: Some("AFTER".into()), ..PromptParts::default() };
        let text = fixed(&SystemPrompt::Parts(only));
        assert!(text.starts_with(Card::Reference.text()) && text.ends_with("\n\nAFTER"));
    }

    #[test]
    fn r3_7_a_long_prompt_is_cut_by_characters_with_a_notice() {
        assert_eq!(truncate("äöü".into(), None), ("äöü".into(), false));
        assert_eq!(truncate("äöü".into(), Some(3)), ("äöü".into(), false));
        let (text, cut) = truncate("äöüß".into(), Some(2));
        assert!(cut);
        assert_eq!(text, "äö\n\n[The system prompt was cut: 2 of 4 characters are shown.]");
    }

    #[test]
    fn r5_3_text_agents_take_the_same_changes() {
        let plain = text_system(&SystemPrompt::Standard, Card::PlainSystem);
        assert_eq!(plain, Card::PlainSystem.text());
        let own = SystemPrompt::Replace("own".into());
        assert_eq!(text_system(&own, Card::PlainSystem), "own");
        let prefix = PromptParts { prefix: Some("P".into()), ..PromptParts::default() };
        let prefixed = text_system(&SystemPrompt::Parts(prefix), Card::JsonSystem);
        assert_eq!(prefixed, format!("P\n\n{}", Card::JsonSystem.text()));
    }
}
