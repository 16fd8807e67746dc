//! JSON text to values and back, without a tree in between.
//!
//! Reading keeps integers of any size exact and goes from text straight to [`Value`](crate::value::Value);
//! nesting waits on an explicit stack. Writing names the path of a value that JSON cannot say.

mod exact;
pub(crate) mod keys;
pub mod parts;
#[cfg(test)]
mod properties;
mod read;
mod scan;
mod shapes;
mod strict;
mod tree;
mod write;

pub use exact::{RoundedInteger, exact, numbers, rounded_integer};
pub use keys::SameKey;
pub use read::{FaultKind, JsonFault, ReadOptions, lines, read};
pub use strict::{check_strictly, strict_json};
pub(crate) use tree::{ALLOCATION, FIELD, OBJECT, tree_bytes};
pub use write::{Unwritable, WriteOptions, write};
