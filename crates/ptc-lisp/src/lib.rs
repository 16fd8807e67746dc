//! PTC-Lisp: a small Clojure for data work, run by a metered machine that never touches the outside.

pub mod error;
pub mod names;
pub mod span;
pub mod syntax;

pub use error::{Error, ErrorKind};
pub use span::{Position, Span};
