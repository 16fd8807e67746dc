//! Typed tools from plain Rust functions.
//!
//! The argument struct brings its types and field descriptions (through `schemars`), the function its name and
//! doc comment; together they make the signature and the description a model reads.

use std::fmt;

use schemars::{JsonSchema, schema_for};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::issue::{Mode, Rejection};
use crate::render::Style;
use crate::schema::SchemaReader;
use crate::signature::Signature;
use crate::types::{Record, Type};

/// What a model is told about a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDescription {
    /// The name it is called by.
    pub name: String,
    /// What it does.
    pub description: Option<String>,
    /// What it takes and gives.
    pub signature: Signature,
}

impl ToolDescription {
    /// The description of a function from `A` to `R`. The doc comment of `A` is the description.
    pub fn of<A: JsonSchema, R: JsonSchema>(name: &str) -> ToolDescription {
        let schema = schema_for!(A).to_value();
        let description = schema.get("description").and_then(Value::as_str).and_then(first_paragraph);
        let input = match type_of(&schema) {
            Type::Record(record) => record,
            _ => Record::default(),
        };
        let signature = Signature { input, output: type_of(&schema_for!(R).to_value()) };
        ToolDescription { name: name.to_owned(), description, signature }
    }

    /// The same tool described by `doc`, if that says anything.
    pub fn documented(mut self, doc: &str) -> ToolDescription {
        self.description = first_paragraph(doc).or(self.description);
        self
    }

    /// The tool in signature syntax, its description on the next line.
    pub fn render(&self, style: Style) -> String {
        self.signature.render_tool(&self.name, self.description.as_deref(), style)
    }

    /// The tool as providers want it: `name`, `description`, `parameters`.
    pub fn to_function(&self) -> Value {
        let description = self.description.as_deref().unwrap_or_default();
        json!({"name": self.name, "description": description, "parameters": self.signature.input_schema()})
    }
}

fn type_of(schema: &Value) -> Type {
    // Lenient reading cannot fail, it only leaves things out.
    SchemaReader::lenient(schema).ty(schema).map_or(Type::Any, |read| read.value)
}

/// The first paragraph of a doc comment, on one line; `None` if there is none.
fn first_paragraph(doc: &str) -> Option<String> {
    let lines = doc.lines().map(str::trim).skip_while(|line| line.is_empty());
    let words: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    if words.is_empty() { None } else { Some(words.join(" ")) }
}

/// A function with typed arguments; [`tool!`](crate::tool!) writes the implementation.
pub trait TypedTool {
    /// The argument struct.
    type Args: DeserializeOwned + JsonSchema;
    /// The result.
    type Output: Serialize + JsonSchema;
    /// The name of the function.
    const NAME: &'static str;
    /// Its doc comment.
    const DOC: &'static str;

    /// Runs the function; an error is text for the model.
    fn run(args: Self::Args) -> Result<Self::Output, String>;

    /// What a model is told about it.
    fn describe() -> ToolDescription {
        ToolDescription::of::<Self::Args, Self::Output>(Self::NAME).documented(Self::DOC)
    }

    /// Calls the function with the arguments a model gave: converted, checked, read into the struct.
    fn call(args: &Value) -> Result<Value, CallError> {
        let coerced =
            Self::describe().signature.coerce_input(args, Mode::Enabled).map_err(CallError::Rejected)?;
        let args = serde_json::from_value(coerced.value)
            .map_err(|error| CallError::Conversion(error.to_string()))?;
        let output = Self::run(args).map_err(CallError::Failed)?;
        serde_json::to_value(output).map_err(|error| CallError::Conversion(error.to_string()))
    }
}

/// Why a typed tool gave no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallError {
    /// The arguments break the signature.
    Rejected(Rejection),
    /// Arguments or result do not convert between JSON and Rust.
    Conversion(String),
    /// The function itself failed.
    Failed(String),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::Rejected(rejection) => f.write_str(&rejection.feedback("Tool validation")),
            CallError::Conversion(text) | CallError::Failed(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for CallError {}

/// Declares a function together with a [`TypedTool`] of the same name.
///
/// ```
/// use ptc_signature::{Style, TypedTool};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Deserialize, schemars::JsonSchema)]
/// struct SearchArgs {
///     query: String,
///     limit: Option<i64>,
/// }
///
/// #[derive(Serialize, schemars::JsonSchema)]
/// struct Hit {
///     id: i64,
///     title: String,
/// }
///
/// ptc_signature::tool! {
///     /// Search for items matching query.
///     fn search(args: SearchArgs) -> Vec<Hit> {
///         let hit = Hit { id: 1, title: args.query };
///         std::iter::once(hit).take(args.limit.unwrap_or(10) as usize).collect()
///     }
/// }
///
/// assert_eq!(
///     search::describe().render(Style::Prompt),
///     "search(query :string, limit :int?) -> [{id :int, title :string}]\n  Search for items matching query.",
/// );
/// let hits = search::call(&serde_json::json!({"query": "budget", "limit": "5"}))?;
/// assert_eq!(hits[0]["title"], "budget");
/// assert_eq!(search(SearchArgs { query: "tea".into(), limit: None }).len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[macro_export]
macro_rules! tool {
    ($(#[doc = $doc:literal])* $vis:vis fn $name:ident($arg:ident: $args:ty $(,)?) -> Result<$ok:ty, $error:ty> $body:block) => {
        $(#[doc = $doc])*
        $vis fn $name($arg: $args) -> Result<$ok, $error> $body
        $crate::tool!(@typed $vis $name, $args, $ok, concat!($($doc, "\n"),*), |args| {
            $name(args).map_err(|error| error.to_string())
        });
    };
    ($(#[doc = $doc:literal])* $vis:vis fn $name:ident($arg:ident: $args:ty $(,)?) -> $ok:ty $body:block) => {
        $(#[doc = $doc])*
        $vis fn $name($arg: $args) -> $ok $body
        $crate::tool!(@typed $vis $name, $args, $ok, concat!($($doc, "\n"),*), |args| Ok($name(args)));
    };
    (@typed $vis:vis $name:ident, $args:ty, $ok:ty, $doc:expr, |$arg:ident| $run:expr) => {
        // A struct with braces lives among the types, so it can share its name with the function.
        #[doc = $doc]
        #[allow(non_camel_case_types)]
        $vis struct $name {}

        impl $crate::TypedTool for $name {
            type Args = $args;
            type Output = $ok;
            const NAME: &'static str = stringify!($name);
            const DOC: &'static str = $doc;

            fn run($arg: Self::Args) -> Result<Self::Output, String> {
                $run
            }
        }
    };
}
