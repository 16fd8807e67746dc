//! PTC-Lisp: a small Clojure for data work, run by a metered machine that never touches the outside.

pub mod analyze;
pub mod arith;
pub mod builtins;
mod code;
mod compile;
mod core;
pub mod dump;
pub mod edn;
pub mod error;
pub mod float;
mod globals;
pub mod heap;
pub mod interchange;
pub mod json;
pub mod lexical;
pub mod limits;
pub mod machine;
pub mod names;
pub mod prelude;
pub mod reader;
pub mod regex;
pub mod render;
mod residue;
mod seed;
pub mod signal;
pub mod span;
pub mod syntax;
pub mod value;
mod verify;
pub mod view;

pub use dump::DumpError;
pub use error::{Error, ErrorKind};
pub use limits::Limits;
pub use span::{Position, Span};
