//! Metadata and types of values.

use super::Builtin;

pub(super) static TABLE: &[Builtin] = &[];
