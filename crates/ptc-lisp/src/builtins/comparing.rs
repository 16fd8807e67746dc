//! Equality and order.

use super::Builtin;

pub(super) static TABLE: &[Builtin] = &[];
