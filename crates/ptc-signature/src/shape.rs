//! How the crate looks at values: [`Shape`] to read them, [`Build`] to make new ones.
//!
//! JSON is the usual form, so both traits are implemented for [`serde_json::Value`]. A value type of its own,
//! such as that of an interpreter with keywords and points in time, implements the same few methods and is
//! then validated, coerced and rendered directly, without a detour over JSON.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::datetime;
use crate::types::Number;

/// What a value is, as named in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No value.
    Nil,
    /// `true` or `false`.
    Bool,
    /// A whole number.
    Int,
    /// Any other number.
    Float,
    /// Text.
    String,
    /// A keyword such as `:active`.
    Keyword,
    /// A point in time.
    DateTime,
    /// A sequence of values.
    List,
    /// Values under string (or keyword) keys.
    Map,
    /// Anything that cannot cross the boundary, such as a function.
    Opaque,
}

impl Kind {
    /// The name used in messages.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Nil => "nil",
            Kind::Bool => "bool",
            Kind::Int => "int",
            Kind::Float => "float",
            Kind::String => "string",
            Kind::Keyword => "keyword",
            Kind::DateTime => "datetime",
            Kind::List => "list",
            Kind::Map => "map",
            Kind::Opaque => "opaque value",
        }
    }
}

/// The items of a list.
pub type Items<'v, V> = Box<dyn Iterator<Item = &'v V> + 'v>;
/// The entries of a map, keys as text.
pub type Fields<'v, V> = Box<dyn Iterator<Item = (Cow<'v, str>, &'v V)> + 'v>;

/// A value that can be looked at.
pub trait Shape {
    /// What the value is.
    fn kind(&self) -> Kind;
    /// The text of a string, or the name of a keyword without its colon.
    fn text(&self) -> Option<&str>;
    /// A number, for comparing.
    fn number(&self) -> Option<Number>;
    /// A boolean.
    fn boolean(&self) -> Option<bool>;
    /// The items, if this is a list.
    fn items(&self) -> Option<Items<'_, Self>>;
    /// The entries, if this is a map.
    fn fields(&self) -> Option<Fields<'_, Self>>;
    /// The value under exactly this key, if this is a map; string and keyword keys are equal.
    fn field(&self, name: &str) -> Option<&Self>;
    /// A scalar as bare text: strings without quotes, keywords without colon, times in ISO 8601.
    fn print(&self) -> String;
    /// Whether this is a point in time. Value types without one of their own say yes to the text of one.
    fn is_datetime(&self) -> bool {
        self.kind() == Kind::DateTime
    }
}

/// A value that can be made, for coercion and masking.
pub trait Build: Shape + Clone {
    /// Nil.
    fn nil() -> Self;
    /// A boolean.
    fn from_bool(value: bool) -> Self;
    /// A whole number from its decimal digits; `None` if this value type cannot hold it.
    fn from_int(digits: &str) -> Option<Self>;
    /// A float; `None` if this value type cannot hold it.
    fn from_float(value: f64) -> Option<Self>;
    /// A string.
    fn from_string(value: String) -> Self;
    /// A keyword; `None` if this value type has no keywords and uses strings for them.
    fn from_keyword(name: &str) -> Option<Self>;
    /// A point in time from ISO 8601 text in UTC.
    fn from_datetime(utc: &str) -> Self;
    /// A list.
    fn from_items(items: Vec<Self>) -> Self;
    /// A map with string keys, in this order.
    fn from_fields(fields: Vec<(String, Self)>) -> Self;
}

impl Shape for Value {
    fn kind(&self) -> Kind {
        match self {
            Value::Null => Kind::Nil,
            Value::Bool(_) => Kind::Bool,
            Value::Number(n) if n.is_f64() => Kind::Float,
            Value::Number(_) => Kind::Int,
            Value::String(_) => Kind::String,
            Value::Array(_) => Kind::List,
            Value::Object(_) => Kind::Map,
        }
    }

    fn text(&self) -> Option<&str> {
        self.as_str()
    }

    fn number(&self) -> Option<Number> {
        match self {
            Value::Number(n) => n.as_i128().map(Number::Int).or_else(|| n.as_f64().map(Number::Float)),
            _ => None,
        }
    }

    fn boolean(&self) -> Option<bool> {
        self.as_bool()
    }

    fn items(&self) -> Option<Items<'_, Self>> {
        self.as_array().map(|items| Box::new(items.iter()) as Items<'_, Self>)
    }

    fn fields(&self) -> Option<Fields<'_, Self>> {
        let entries = self.as_object()?.iter().map(|(key, value)| (Cow::Borrowed(key.as_str()), value));
        Some(Box::new(entries))
    }

    fn field(&self, name: &str) -> Option<&Self> {
        self.as_object()?.get(name)
    }

    fn print(&self) -> String {
        match self {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }

    fn is_datetime(&self) -> bool {
        self.as_str().is_some_and(|text| datetime::to_utc(text).is_ok())
    }
}

impl Build for Value {
    fn nil() -> Self {
        Value::Null
    }

    fn from_bool(value: bool) -> Self {
        Value::Bool(value)
    }

    fn from_int(digits: &str) -> Option<Self> {
        let small = digits.parse::<i64>().map(Value::from);
        small.or_else(|_| digits.parse::<u64>().map(Value::from)).ok()
    }

    fn from_float(value: f64) -> Option<Self> {
        serde_json::Number::from_f64(value).map(Value::Number)
    }

    fn from_string(value: String) -> Self {
        Value::String(value)
    }

    fn from_keyword(_name: &str) -> Option<Self> {
        None
    }

    fn from_datetime(utc: &str) -> Self {
        Value::String(utc.to_owned())
    }

    fn from_items(items: Vec<Self>) -> Self {
        Value::Array(items)
    }

    fn from_fields(fields: Vec<(String, Self)>) -> Self {
        Value::Object(fields.into_iter().collect::<Map<_, _>>())
    }
}
