//! `str`, `pr-str`, `println` and their like.

use super::Builtin;

pub(super) static TABLE: &[Builtin] = &[];
