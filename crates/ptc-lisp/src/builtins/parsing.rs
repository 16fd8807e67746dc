//! `parse-long`, `parse-double`, `edn/read-string` and their like.

use super::Builtin;

pub(super) static TABLE: &[Builtin] = &[];
