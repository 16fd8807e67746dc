//! Random numbers from the seeded stream.

use super::Builtin;

pub(super) static TABLE: &[Builtin] = &[];
