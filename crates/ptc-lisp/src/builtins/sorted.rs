//! Sorted maps and sets.

use super::Builtin;

pub(super) static TABLE: &[Builtin] = &[];
