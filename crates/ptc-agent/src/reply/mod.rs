//! Reads what a model answered: programs in replies and in calls, and final values in text.
//!
//! | file | what it knows |
//! |---|---|
//! | `thoughts` | what a model thought before it answered, which is no answer |
//! | `blocks` | where code stands in a reply |
//! | `program` | which block is the program, and what the history keeps of it |
//! | `repair`, `chars`, `unwrap` | mistakes of writing whose correction cannot change what is meant |
//! | `argument` | the program in a call of `lisp_eval` |
//! | `json` | where JSON stands in a reply |
//! | `final_value`, `scalar` | the text of a final answer as a value of the declared type |

mod argument;
mod blocks;
mod chars;
mod final_value;
mod json;
mod program;
mod repair;
mod scalar;
mod thoughts;
mod unwrap;

#[cfg(test)]
mod properties;

pub(crate) use argument::program_argument;
pub(crate) use final_value::{FinalError, final_value};
pub use program::Multiple;
pub(crate) use program::{Found, holds_code, only_program, read_program};
pub(crate) use repair::repair;
pub use repair::{Fix, FixKind};
pub(crate) use thoughts::spoken;
