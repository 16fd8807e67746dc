//! A value type with keywords, points in time and functions, as an interpreter has them: shows that the crate
//! works on more than JSON.
#![allow(dead_code)]

use std::borrow::Cow;

use ptc_signature::{Build, Fields, Items, Kind, Number, Shape};

/// A value of a small interpreter.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    Nil,
    Bool(bool),
    Int(i128),
    /// An integer beyond 128 bits, by its digits.
    Big(String),
    Float(f64),
    Str(String),
    Keyword(String),
    DateTime(String),
    List(Vec<Data>),
    Map(Vec<(String, Data)>),
    Function,
}

pub fn kw(name: &str) -> Data {
    Data::Keyword(name.to_owned())
}

pub fn text(text: &str) -> Data {
    Data::Str(text.to_owned())
}

pub fn map<const N: usize>(fields: [(&str, Data); N]) -> Data {
    Data::Map(fields.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())
}

impl Shape for Data {
    fn kind(&self) -> Kind {
        match self {
            Data::Nil => Kind::Nil,
            Data::Bool(_) => Kind::Bool,
            Data::Int(_) | Data::Big(_) => Kind::Int,
            Data::Float(_) => Kind::Float,
            Data::Str(_) => Kind::String,
            Data::Keyword(_) => Kind::Keyword,
            Data::DateTime(_) => Kind::DateTime,
            Data::List(_) => Kind::List,
            Data::Map(_) => Kind::Map,
            Data::Function => Kind::Opaque,
        }
    }

    fn text(&self) -> Option<&str> {
        match self {
            Data::Str(text) | Data::Keyword(text) => Some(text),
            _ => None,
        }
    }

    fn number(&self) -> Option<Number> {
        match self {
            Data::Int(i) => Some(Number::Int(*i)),
            Data::Big(digits) => digits.parse().ok().map(Number::Float),
            Data::Float(f) => Some(Number::Float(*f)),
            _ => None,
        }
    }

    fn boolean(&self) -> Option<bool> {
        if let Data::Bool(b) = self { Some(*b) } else { None }
    }

    fn items(&self) -> Option<Items<'_, Self>> {
        if let Data::List(items) = self { Some(Box::new(items.iter())) } else { None }
    }

    fn fields(&self) -> Option<Fields<'_, Self>> {
        let Data::Map(entries) = self else { return None };
        Some(Box::new(entries.iter().map(|(k, v)| (Cow::Borrowed(k.as_str()), v))))
    }

    fn field(&self, name: &str) -> Option<&Self> {
        let Data::Map(entries) = self else { return None };
        entries.iter().find(|(k, _)| k == name).map(|(_, v)| v)
    }

    fn print(&self) -> String {
        match self {
            Data::Bool(b) => b.to_string(),
            Data::Int(i) => i.to_string(),
            Data::Float(f) => format!("{f:?}"),
            Data::Big(text) | Data::Str(text) | Data::Keyword(text) | Data::DateTime(text) => text.clone(),
            _ => String::new(),
        }
    }
}

impl Build for Data {
    fn nil() -> Self {
        Data::Nil
    }

    fn from_bool(value: bool) -> Self {
        Data::Bool(value)
    }

    fn from_int(digits: &str) -> Option<Self> {
        Some(digits.parse().map_or_else(|_| Data::Big(digits.to_owned()), Data::Int))
    }

    fn from_float(value: f64) -> Option<Self> {
        Some(Data::Float(value))
    }

    fn from_string(value: String) -> Self {
        Data::Str(value)
    }

    fn from_keyword(name: &str) -> Option<Self> {
        Some(kw(name))
    }

    fn from_datetime(utc: &str) -> Self {
        Data::DateTime(utc.to_owned())
    }

    fn from_items(items: Vec<Self>) -> Self {
        Data::List(items)
    }

    fn from_fields(fields: Vec<(String, Self)>) -> Self {
        Data::Map(fields)
    }
}
