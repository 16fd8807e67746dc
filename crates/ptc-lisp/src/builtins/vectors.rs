//! Vectors and lists.

use super::Builtin;

pub(super) static TABLE: &[Builtin] = &[];
