//! `format` and its directives.

use super::Builtin;

pub(super) static TABLE: &[Builtin] = &[];
