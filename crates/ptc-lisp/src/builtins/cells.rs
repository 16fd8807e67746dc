//! Atoms, volatiles, delays, promises, `reduced`.

use super::Builtin;

pub(super) static TABLE: &[Builtin] = &[];
