//! What a model is told after a turn: what its program gave, what went wrong, how many turns are left.
//!
//! Pure functions from plain structures to text. Whatever comes from programs, tools or data stands in an
//! untrusted block; the words around it are ours and quote nothing. Sentences of contracts, which name fields and values of
//! data, stand in blocks too.

mod answer;
mod complaint;
mod execution;
mod turn;

pub(crate) use answer::{Failed, eval_error, eval_ok, protocol_error};
pub(crate) use complaint::{
    EMPTY_REPLY, FENCED_PROGRAM, Invalid, LEFT_OUT, NO_PROGRAM, complaint, direct_final_invalid,
    json_invalid, json_invalid_line, multiple_blocks, return_invalid, return_refused, rolled_back,
    taken_back,
};
pub(crate) use execution::{Execution, Trouble, error, success};
pub(crate) use turn::{Ending, TurnInfo, last_turns, turn_info};

use crate::render::{Cut, FormatOptions, Veil, block, cut};

/// How things are shown in a run: limits, and hidden texts to cover.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lens<'a> {
    /// Limits.
    pub options: &'a FormatOptions,
    /// Hidden texts.
    pub veil: &'a Veil,
}

/// A block around as much of a text as may be shown, and behind it how much is missing.
fn framed(source: &str, text: &str, bytes: usize) -> String {
    let Cut { kept, missing } = cut(text, bytes);
    with_line(block(source, kept), &missing)
}

/// A text with a line behind it, if there is one.
fn with_line(text: String, line: &str) -> String {
    if line.is_empty() { text } else { format!("{text}\n{line}") }
}

/// Sentences of contracts as a list in a block, as much of it as fits: they name fields and values of data.
fn listed(source: &str, items: &[String], lens: &Lens<'_>) -> String {
    framed(source, &lines(items, lens), lens.options.result_max_bytes)
}

/// The same without a block, for fields of JSON.
fn lines(items: &[String], lens: &Lens<'_>) -> String {
    items.iter().map(|item| format!("- {}", lens.veil.cover(item))).collect::<Vec<_>>().join("\n")
}

/// What the contracts of tools had to say about calls; nothing if there is nothing.
pub(crate) fn warned(notes: &[String], lens: &Lens<'_>) -> String {
    if notes.is_empty() {
        String::new()
    } else {
        format!("Warnings about calls:\n{}", listed("warnings", notes, lens))
    }
}

/// Parts with blank lines between them; empty ones are left out.
fn joined<'p>(parts: impl IntoIterator<Item = &'p str>) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}
