//! Static members of `Math`, `Integer`, `Character`, `String`, … and the methods of strings and collections.

use super::Builtin;

pub(super) static TABLE: &[Builtin] = &[];
