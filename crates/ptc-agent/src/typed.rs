//! Plain Rust functions as tools. [`tool`] takes the signature from the parameters, the description from
//! the doc comment, and writes the code between JSON and Rust.
//!
//! ```
//! use ptc_agent::typed::{Call, TypedFunction, schemars, tool};
//! use serde::Serialize;
//! use serde_json::json;
//!
//! #[derive(Serialize, schemars::JsonSchema)]
//! struct Order {
//!     id: i64,
//!     total: f64,
//! }
//!
//! /// Orders of one customer, newest first.
//! #[tool]
//! fn find_orders(
//!     customer_id: i64,
//!     /// How many at most.
//!     limit: Option<u32>,
//! ) -> Result<Vec<Order>, String> {
//!     if customer_id < 0 {
//!         return Err(format!("there is no customer {customer_id}"));
//!     }
//!     let order = Order { id: 1, total: 9.5 };
//!     Ok(std::iter::once(order).take(limit.unwrap_or(10) as usize).collect())
//! }
//!
//! assert_eq!(
//!     find_orders::describe().signature.to_string(),
//!     "(customer_id :int, limit :int[>=0]?) -> [{id :int, total :float}]",
//! );
//! let Call::Now(result) = find_orders::call(json!({"customer_id": "7"})) else { unreachable!() };
//! assert_eq!(result, Ok(json!([{"id": 1, "total": 9.5}])));
//!
//! // The function is still there.
//! assert_eq!(find_orders(7, Some(0))?.len(), 0);
//! # Ok::<(), String>(())
//! ```
//!
//! An `async` function gives [`Call::Later`]. A single parameter called `args`, or written as a struct
//! pattern, takes the whole argument map; its type then derives `JsonSchema`.

use std::fmt::Display;

pub use ptc_macros::tool;
pub use ptc_signature::{ToolDescription, schemars};
pub use serde_json::Value as Json;

use ptc_signature::{Field, Mode, Record, SchemaReader, Signature, Style, Type};
use schemars::{JsonSchema, schema_for};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Map;

use crate::model::Pending;
pub use crate::tool::Approval;

/// A function with typed arguments; [`tool`] writes the implementation.
pub trait TypedFunction {
    /// The name that models and programs call.
    const NAME: &'static str;
    /// The doc comment.
    const DOC: &'static str;
    /// Which calls wait until a person has decided.
    const APPROVAL: Approval = Approval::Never;

    /// What a model is told about it, made once.
    fn description() -> &'static ToolDescription;

    /// What a model is told about it.
    fn describe() -> ToolDescription {
        Self::description().clone()
    }

    /// Calls the function with the arguments that a model gave: converted, checked, read into the types of
    /// the parameters. An error is text for the model.
    fn call(args: Json) -> Call;
}

/// The outcome of a call, now or later.
pub enum Call {
    /// The function has run.
    Now(Result<Json, String>),
    /// The function runs when this is waited for.
    Later(Pending<Result<Json, String>>),
}

impl Call {
    /// A call that a driver waits for.
    pub fn later(future: impl Future<Output = Result<Json, String>> + Send + 'static) -> Call {
        Call::Later(Box::pin(future))
    }
}

impl std::fmt::Debug for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Call::Now(result) => f.debug_tuple("Now").field(result).finish(),
            Call::Later(_) => f.write_str("Later(…)"),
        }
    }
}

// ---- what the code that `tool` writes needs ----

/// The type that values of `T` have in JSON.
#[doc(hidden)]
pub fn type_of<T: JsonSchema>() -> Type {
    let schema = schema_for!(T).to_value();
    // Lenient reading cannot fail, it only leaves things out.
    SchemaReader::lenient(&schema).ty(&schema).map_or(Type::Any, |read| read.value)
}

/// A parameter of type `T`.
#[doc(hidden)]
pub fn parameter<T: JsonSchema>(name: &str, doc: &str) -> Field {
    let description =
        Some(doc.split_whitespace().collect::<Vec<_>>().join(" ")).filter(|doc| !doc.is_empty());
    Field { description, ..Field::new(name, type_of::<T>()) }
}

/// The parameters as the fields of the argument map.
#[doc(hidden)]
pub fn record<const N: usize>(parameters: [Field; N]) -> Record {
    Record::open(parameters)
}

/// The fields of the struct `T` as the argument map.
#[doc(hidden)]
pub fn record_of<T: JsonSchema>() -> Record {
    match type_of::<T>() {
        Type::Record(record) => record,
        _ => Record::default(),
    }
}

/// The description of a function.
#[doc(hidden)]
pub fn describe(name: &str, doc: &str, input: Record, output: Type) -> ToolDescription {
    let signature = Signature { input, output };
    ToolDescription { name: name.to_owned(), description: None, signature }.documented(doc)
}

/// Checks the arguments, reads them into the parameters and runs the function with them.
#[doc(hidden)]
pub fn call<P>(
    description: &ToolDescription,
    args: Json,
    read: impl FnOnce(&mut Arguments) -> Result<P, String>,
    run: impl FnOnce(P) -> Call,
) -> Call {
    match Arguments::check(description, args).and_then(|mut args| read(&mut args)) {
        Ok(parameters) => run(parameters),
        Err(error) => Call::Now(Err(error)),
    }
}

/// Arguments that fit the signature.
#[doc(hidden)]
pub struct Arguments(Map<String, Json>);

impl Arguments {
    fn check(description: &ToolDescription, args: Json) -> Result<Arguments, String> {
        let args = if args.is_null() { Json::Object(Map::new()) } else { args };
        let coerced = description.signature.coerce_input(&args, Mode::Enabled).map_err(|rejection| {
            let expected = description.signature.render_tool(&description.name, None, Style::Prompt);
            format!("{}\nCall it as {expected}", rejection.feedback("Tool validation"))
        })?;
        match coerced.value {
            Json::Object(fields) => Ok(Arguments(fields)),
            other => Err(format!("expected a map of arguments, got {other}")),
        }
    }

    /// The argument of one parameter; one that is left out is null.
    pub fn take<T: DeserializeOwned>(&mut self, name: &str) -> Result<T, String> {
        let value = self.0.remove(name).unwrap_or_default();
        serde_json::from_value(value).map_err(|error| format!("{name}: {error}"))
    }

    /// All arguments as one struct.
    pub fn whole<T: DeserializeOwned>(&mut self) -> Result<T, String> {
        let fields = std::mem::take(&mut self.0);
        serde_json::from_value(Json::Object(fields)).map_err(|error| error.to_string())
    }
}

/// A result as JSON.
#[doc(hidden)]
pub fn finish<T: Serialize>(value: T) -> Result<Json, String> {
    serde_json::to_value(value).map_err(|error| format!("the result has no JSON form: {error}"))
}

/// A result as JSON, or the error as text.
#[doc(hidden)]
pub fn finish_result<T: Serialize, E: Display>(result: Result<T, E>) -> Result<Json, String> {
    result.map_err(|error| error.to_string()).and_then(finish)
}
