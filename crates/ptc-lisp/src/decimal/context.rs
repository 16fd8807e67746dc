//! How many digits results keep: what `with-precision` sets for the time of its body.
//!
//! Arithmetic has no machine at hand, and a machine runs on one thread at a time. So the machine that runs puts its
//! context here, whenever that may have changed: when it begins or goes on, and when `binding` and fibers change it.

use std::cell::Cell;

use super::Rounding;

/// A precision and how to round to it, as `java.math.MathContext` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Context {
    /// How many digits; zero asks for all.
    pub precision: u32,
    /// What happens to the others.
    pub rounding: Rounding,
}

/// The definition that `with-precision` gives a value, as `binding` would.
pub const VAR: &str = "*math-context*";

thread_local! {
    static CURRENT: Cell<Option<Context>> = const { Cell::new(None) };
}

/// The context of the machine that runs; nothing if results are exact.
pub fn current() -> Option<Context> {
    CURRENT.get()
}

/// Sets the context of the machine that runs.
pub fn set(context: Option<Context>) {
    CURRENT.set(context);
}
