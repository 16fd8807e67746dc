//! JSON text to values and back.

use super::Builtin;

pub(super) static TABLE: &[Builtin] = &[];
