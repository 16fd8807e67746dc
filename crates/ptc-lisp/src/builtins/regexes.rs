//! Regular expression functions.

use super::Builtin;

pub(super) static TABLE: &[Builtin] = &[];
