//! Making and reading exceptions.

use super::Builtin;

pub(super) static TABLE: &[Builtin] = &[];
