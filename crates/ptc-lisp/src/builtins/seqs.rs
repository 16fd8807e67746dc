//! Sequences: the parts that need no function argument.

use super::Builtin;

pub(super) static TABLE: &[Builtin] = &[];
