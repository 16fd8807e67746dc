//! Maps: reading with flexible keys, writing with exact ones.

use super::Builtin;

pub(super) static TABLE: &[Builtin] = &[];
