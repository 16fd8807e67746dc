//! Sets.

use super::Builtin;

pub(super) static TABLE: &[Builtin] = &[];
