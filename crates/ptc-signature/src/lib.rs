//! The contract between agents, tools and programs.
//!
//! A [`Signature`] says what goes in and what comes out, in a few tokens a model can read:
//!
//! ```
//! use ptc_signature::{Mode, Signature, Style, mask};
//! use serde_json::json;
//!
//! let find = Signature::parse(
//!     "(query :string, limit :int[1..100]?, status :enum[open closed]?)
//!      -> {total :int, _raw_ids [:int], rows [{id :int, score :float, note :string?}]}",
//! )?;
//!
//! // Arguments from a model are read leniently, with a note of everything that was converted …
//! let call = find.coerce_input(&json!({"query": "budget", "limit": "10"}), Mode::Enabled)?;
//! assert_eq!(call.value, json!({"query": "budget", "limit": 10}));
//!
//! // … results are checked strictly, and every error says where it is.
//! let result = json!({"total": 1, "_raw_ids": [7], "rows": [{"id": 7, "score": "high"}]});
//! let rejection = find.validate_output(&result, Mode::Enabled).unwrap_err();
//! assert_eq!(rejection.errors[0].to_string(), r#"rows[0].score: expected float, got string "high""#);
//!
//! // Fields that begin with `_` flow to programs and to the host, but no model sees them.
//! assert_eq!(mask(&result)["_raw_ids"], "<Firewalled>");
//! assert_eq!(
//!     find.public().output.render(Style::Prompt),
//!     "{total :int, rows [{id :int, score :float, note :string?}]}",
//! );
//!
//! // Providers and MCP speak JSON Schema.
//! assert_eq!(find.input_schema()["properties"]["limit"]["maximum"], 100);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Besides the shorthand, contracts are read from Malli data ([`Signature::from_malli`]), JSON Schema
//! ([`SchemaReader`]) and Rust types ([`tool!`](crate::tool!)); all become the same [`Type`]s. Prompts with
//! placeholders are [`Template`]s, checked against the parameters when they are made.
//!
//! Nothing here does I/O, reads clocks or recurses without a bound over what it is given.

mod boundary;
mod coerce;
mod datetime;
mod firewall;
mod intersect;
mod issue;
pub mod keys;
mod malli;
mod parse;
mod render;
mod sample;
mod schema;
mod shape;
mod signature;
mod template;
#[cfg(feature = "schemars")]
mod tool;
mod types;
mod validate;

pub use boundary::to_json;
pub use coerce::Coerced;
pub use firewall::{FIREWALLED, is_firewalled, mask};
pub use issue::{Issue, Mode, Path, Rejection, Segment};
pub use parse::error::ParseError;
pub use render::Style;
pub use schema::{Imported, SchemaError, SchemaReader};
pub use shape::{Build, Fields, Items, Kind, Shape};
pub use signature::{Signature, UnknownPath};
pub use template::{OnMissing, Placeholder, Template, TemplateError};
#[cfg(feature = "schemars")]
pub use tool::{CallError, ToolDescription, TypedTool};
pub use types::{Bound, Field, Literal, MAX_DEPTH, MapOf, Number, Range, Record, Type};

#[doc(hidden)]
#[cfg(feature = "schemars")]
pub use schemars;
