//! Questions about one value.

use super::Builtin;

pub(super) static TABLE: &[Builtin] = &[];
