//! Keywords and symbols: making them, taking them apart.

use super::Builtin;

pub(super) static TABLE: &[Builtin] = &[];
