//! `java.time`: dates, times, durations, formats.

use super::Builtin;

pub(super) static TABLE: &[Builtin] = &[];
