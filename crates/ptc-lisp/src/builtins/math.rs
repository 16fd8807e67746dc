//! `clojure.math` and the rounding functions.

use super::Builtin;

pub(super) static TABLE: &[Builtin] = &[];
