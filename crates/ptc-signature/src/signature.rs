//! A whole contract: named parameters in, one type out.

use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::coerce::{Coerced, coerce_record};
use crate::issue::{Issue, Mode, Rejection};
use crate::parse::{self, error::ParseError};
use crate::shape::{Build, Shape};
use crate::types::{Record, Type};
use crate::validate::{validate_record, validate_type};
use crate::{keys, malli};

/// What an agent or tool takes and gives.
///
/// ```
/// use ptc_signature::{Mode, Signature};
/// use serde_json::json;
///
/// let signature = Signature::parse("(query :string, limit :int?) -> {count :int, items [{id :int}]}")?;
/// let call = signature.coerce_input(&json!({"query": "budget", "limit": "10"}), Mode::Enabled)?;
/// assert_eq!(call.value, json!({"query": "budget", "limit": 10}));
/// assert_eq!(call.warnings[0].to_string(), r#"limit: coerced string "10" to int"#);
///
/// let wrong = json!({"count": 1, "items": [{"id": "abc"}]});
/// let rejection = signature.validate_output(&wrong, Mode::Enabled).unwrap_err();
/// assert_eq!(rejection.errors[0].to_string(), r#"items[0].id: expected int, got string "abc""#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    /// The parameters, as the fields of the one argument map.
    pub input: Record,
    /// The type of the result.
    pub output: Type,
}

impl Default for Signature {
    /// `() -> :any`: nothing is required and everything is accepted.
    fn default() -> Signature {
        Signature { input: Record::default(), output: Type::Any }
    }
}

impl Signature {
    /// Reads the shorthand, or a Malli function schema (`[:=> …]`).
    pub fn parse(text: &str) -> Result<Signature, ParseError> {
        if malli::is_function(text) {
            return malli::parse_signature(text);
        }
        let parsed = parse::signature(text)?;
        Ok(Signature { input: parsed.input, output: parsed.output })
    }

    /// The text of the result alone: the part after the arrow, or the whole text if it has no parameters.
    pub fn return_spec(text: &str) -> Result<&str, ParseError> {
        let parsed = parse::signature(text)?;
        Ok(text[parsed.output_start..].trim_end())
    }

    /// The signature that only describes this result.
    pub fn returning(output: Type) -> Signature {
        Signature { input: Record::default(), output }
    }

    /// The signature as the model of a calling agent may see it: without the firewalled fields of the result.
    ///
    /// Parameters stay, since the caller has to know what to pass; only their values are hidden from models.
    pub fn public(&self) -> Signature {
        Signature { input: self.input.clone(), output: self.output.public() }
    }

    /// Checks the arguments of a call as they are. `Ok` carries what [`Mode::WarnOnly`] found.
    pub fn validate_input<V: Shape>(&self, args: &V, mode: Mode) -> Result<Vec<Issue>, Rejection> {
        mode.decide(|strict| validate_record(&self.input, args, strict))
    }

    /// Converts the arguments of a call to the declared types, then checks them.
    ///
    /// Undeclared arguments are dropped with a warning, or rejected where the mode or the signature says so.
    pub fn coerce_input<V: Build>(&self, args: &V, mode: Mode) -> Result<Coerced<V>, Rejection> {
        coerce_record(&self.input, args, mode)
    }

    /// Checks a result strictly; nothing is converted. `Ok` carries what [`Mode::WarnOnly`] found.
    pub fn validate_output<V: Shape>(&self, result: &V, mode: Mode) -> Result<Vec<Issue>, Rejection> {
        mode.decide(|strict| validate_type(&self.output, result, strict))
    }

    /// The type at a dotted path below the parameters (`user.name`), through maps, lists and optionals.
    ///
    /// `Ok(None)` means the type there is not known, because the path runs into `:any` or `:map`.
    pub fn resolve(&self, path: &str) -> Result<Option<&Type>, UnknownPath> {
        let mut segments = path.split('.');
        let first = segments.next().unwrap_or_default();
        let field = self.input.field(first).ok_or_else(|| UnknownPath::new(first, &self.input))?;
        let mut here = Some(&field.ty);
        for segment in segments {
            here = match here {
                Some(ty) => ty.member(segment)?,
                None => None,
            };
        }
        Ok(here)
    }
}

impl FromStr for Signature {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Signature, ParseError> {
        Signature::parse(text)
    }
}

impl Type {
    /// Reads one type in the shorthand.
    pub fn parse(text: &str) -> Result<Type, ParseError> {
        parse::single_type(text)
    }

    /// Checks a value. `Ok` carries what [`Mode::WarnOnly`] found.
    pub fn validate<V: Shape>(&self, value: &V, mode: Mode) -> Result<Vec<Issue>, Rejection> {
        mode.decide(|strict| validate_type(self, value, strict))
    }

    /// The type of field `name`, seen through optionals and list items; `Ok(None)` where it is not known.
    pub(crate) fn member(&self, name: &str) -> Result<Option<&Type>, UnknownPath> {
        match self {
            Type::Optional(inner) | Type::List(inner) => inner.member(name),
            Type::Record(record) => match record.field(name) {
                Some(field) => Ok(Some(&field.ty)),
                None => Err(UnknownPath::new(name, record)),
            },
            Type::MapOf(map) => Ok(Some(&map.value)),
            Type::Any | Type::Map => Ok(None),
            Type::Union(members) => {
                let found: Vec<_> = members.iter().map(|m| m.member(name)).collect();
                // Known only if there is exactly one way to read it.
                match found.iter().flatten().count() {
                    0 => found.into_iter().next().unwrap_or(Ok(None)),
                    1 => found.into_iter().find(Result::is_ok).unwrap_or(Ok(None)),
                    _ => Ok(None),
                }
            }
            _ => Err(UnknownPath { name: name.to_owned(), known: Vec::new() }),
        }
    }
}

impl FromStr for Type {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Type, ParseError> {
        Type::parse(text)
    }
}

/// A path names something the signature does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPath {
    /// The segment that was not found.
    pub name: String,
    /// What there is instead.
    pub known: Vec<String>,
}

impl UnknownPath {
    pub(crate) fn new(name: &str, record: &Record) -> UnknownPath {
        UnknownPath { name: name.to_owned(), known: record.fields.iter().map(|f| f.name.clone()).collect() }
    }
}

impl std::fmt::Display for UnknownPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` is not declared", self.name)?;
        let folded = keys::snake(&self.name);
        match parse::hints::nearest(&folded, self.known.iter().map(String::as_str)) {
            Some(near) => write!(f, " (did you mean `{near}`?)"),
            None if self.known.is_empty() => Ok(()),
            None => write!(f, " (there is {})", self.known.join(", ")),
        }
    }
}

impl std::error::Error for UnknownPath {}

/// Signatures travel as their canonical shorthand.
impl Serialize for Signature {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Signature {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Signature, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Signature::parse(&text).map_err(serde::de::Error::custom)
    }
}
