//! What a model is told after a turn: what its program gave, what went wrong, how many turns are left.
//!
//! Pure functions from plain structures to text. Whatever comes from programs, tools or data stands in an
//! untrusted block; the words around it are ours.

mod answer;
mod complaint;
mod execution;
mod turn;

pub(crate) use answer::{Failed, eval_error, eval_ok, protocol_error};
pub(crate) use complaint::{
    CORRECT, EMPTY_REPLY, FENCED_PROGRAM, Invalid, NO_PROGRAM, complaint, direct_final_invalid, json_invalid,
    json_invalid_line, multiple_blocks, return_invalid, rolled_back, taken_back,
};
pub(crate) use execution::{Execution, Trouble, error, success};
pub(crate) use turn::{Ending, TurnInfo, last_turn, turn_info};

use crate::render::{FormatOptions, Veil};

/// How things are shown in a run: limits, and hidden texts to cover.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lens<'a> {
    /// Limits.
    pub options: &'a FormatOptions,
    /// Hidden texts.
    pub veil: &'a Veil,
}

/// Parts with blank lines between them; empty ones are left out.
fn joined<'p>(parts: impl IntoIterator<Item = &'p str>) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}
