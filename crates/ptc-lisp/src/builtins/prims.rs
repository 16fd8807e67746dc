//! Primitives that only the core library's own source may use.

use super::Builtin;

pub(super) static TABLE: &[Builtin] = &[];
