//! `java.util`: `UUID`, `Date`.

use super::Builtin;

pub(super) static TABLE: &[Builtin] = &[];
