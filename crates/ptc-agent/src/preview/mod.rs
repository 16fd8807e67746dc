//! What a model sees of a result that is kept for programs: its shape, some rows, or what the host's own
//! function makes of it, and how to get at the whole.
//!
//! | file | what it knows |
//! |---|---|
//! | `call` | a tool call as Lisp text that a model can paste |
//! | `shape` | the shape of a result: counts, types, names of fields |
//! | `render` | the preview itself |

mod call;
mod render;
mod shape;

pub(crate) use call::call_text;
pub use render::CustomError as PreviewError;
pub(crate) use render::{PreviewKind, ResultOf, preview};
