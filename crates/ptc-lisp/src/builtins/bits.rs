//! Bitwise operations on integers of any size.

use super::Builtin;

pub(super) static TABLE: &[Builtin] = &[];
