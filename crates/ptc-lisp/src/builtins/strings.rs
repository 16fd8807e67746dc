//! Strings: `clojure.string` and the string functions of `clojure.core`.

use super::Builtin;

pub(super) static TABLE: &[Builtin] = &[];
