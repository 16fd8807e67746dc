//! Prompts: what a model is told before its first turn.
//!
//! The fixed parts are cards, one file per subject in `prompts/`. The moving parts (tools, inputs,
//! definitions, the expected output, the mission) are rendered here from plain structs, so that a prompt
//! can be looked at without a run and tested without a model. Nothing here knows what an agent is.

// The run takes these up piece by piece.
mod card;
mod combined;
mod context;
mod data;
mod example;
mod mission;
mod native;
mod output;
mod preview;
mod spec;
mod system;
mod text;
mod tools;
mod user;

#[cfg(test)]
mod card_tests;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod shape_tests;

pub use card::Card;
pub(crate) use combined::combined_system;
pub(crate) use context::ContextBlock;
pub(crate) use data::DataLine;
pub(crate) use mission::{Expanded, Expansion, expand, expand_in_words, first_message, harmless, tagged};
pub use native::{EvalProfile, lisp_eval};
pub(crate) use native::{NameMap, native_tools};
pub use preview::PromptPreview;
pub(crate) use preview::{preview_ptc, preview_text};
pub use spec::{Behavior, LanguageSpec, SpecError, SpecInput, SpecOptions};
pub(crate) use system::{ProgramTransport, static_system, system_prompt, text_system, truncate};
pub use system::{PromptParts, SystemPrompt};
pub(crate) use text::{
    ContextLine, TextVariant, json_example, json_message, plain_message, text_card, text_tools_message,
};
pub(crate) use tools::{ToolLine, catalog_section};
pub(crate) use user::UserLine;

/// Joins what is not empty with blank lines.
pub(crate) fn blocks<S: AsRef<str>>(parts: impl IntoIterator<Item = S>) -> String {
    let mut out = String::new();
    for part in parts {
        let part = part.as_ref().trim_matches('\n');
        if part.is_empty() {
            continue;
        }
        if !out.is_empty() {
            out.push_str("\n\n");
        }
        out.push_str(part);
    }
    out
}

/// A description on one line, since it stands in a comment or a list.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
