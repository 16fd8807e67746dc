//! The small part of EDN that Malli schemas are written in.

use crate::parse::error::ParseError;
use crate::parse::lexer::Cursor;
use crate::render::quote;
use crate::shape::{Kind, Shape};
use crate::types::{MAX_DEPTH, Number};

/// How deep forms may nest: one level of a type takes up to four brackets.
const FORMS: usize = 4 * MAX_DEPTH;

/// A piece of data and where it was read.
#[derive(Debug)]
pub(super) struct Form {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) node: Node,
}

/// The data itself. Symbols only occur as predicate names (`int?`), so they are read like keywords.
#[derive(Debug)]
pub(super) enum Node {
    Keyword(String),
    String(String),
    Number(Number),
    Bool(bool),
    Nil,
    Vector(Vec<Form>),
    Map(Vec<(Form, Form)>),
}

impl Form {
    /// The name, if this is a keyword.
    pub(super) fn keyword(&self) -> Option<&str> {
        match &self.node {
            Node::Keyword(name) => Some(name),
            _ => None,
        }
    }
}

/// Reads the one form in `source`.
pub(super) fn read(source: &str) -> Result<Form, ParseError> {
    let mut cursor = Cursor::new(source);
    let form = form(&mut cursor, 0)?;
    cursor.separators();
    if cursor.at_end() {
        return Ok(form);
    }
    let message = format!("unexpected {} after the schema", cursor.found());
    Err(cursor.error_here(message))
}

fn form(cursor: &mut Cursor<'_>, depth: usize) -> Result<Form, ParseError> {
    cursor.separators();
    let start = cursor.at;
    if depth > FORMS {
        return Err(cursor.error_here(format!("schema is nested deeper than {FORMS} brackets")));
    }
    let node = if cursor.eat("[") {
        Node::Vector(sequence(cursor, "]", start, depth)?)
    } else if cursor.eat("{") {
        map(cursor, start, depth)?
    } else if let Some(text) = cursor.quoted()? {
        Node::String(text)
    } else if let Some(number) = cursor.number()? {
        Node::Number(number)
    } else {
        word(cursor)?
    };
    Ok(Form { start, end: cursor.at, node })
}

fn sequence(
    cursor: &mut Cursor<'_>,
    close: &str,
    start: usize,
    depth: usize,
) -> Result<Vec<Form>, ParseError> {
    let mut forms = Vec::new();
    loop {
        cursor.separators();
        if cursor.eat(close) {
            return Ok(forms);
        }
        if cursor.at_end() {
            let error = ParseError::new(cursor.source, start, start + 1, "bracket is not closed");
            return Err(error.hint(format!("add the closing `{close}`")));
        }
        forms.push(form(cursor, depth + 1)?);
    }
}

fn map(cursor: &mut Cursor<'_>, start: usize, depth: usize) -> Result<Node, ParseError> {
    let mut forms = sequence(cursor, "}", start, depth)?.into_iter();
    let mut pairs = Vec::new();
    while let Some(key) = forms.next() {
        match forms.next() {
            Some(value) => pairs.push((key, value)),
            None => return Err(cursor.error(start, "map has a key without a value")),
        }
    }
    Ok(Node::Map(pairs))
}

fn word(cursor: &mut Cursor<'_>) -> Result<Node, ParseError> {
    let start = cursor.at;
    let colon = cursor.eat(":");
    let word = cursor.take_while(|c| !c.is_whitespace() && !",;[]{}()\"#'`@^~".contains(c));
    match word {
        "" => {
            let message = format!("expected a schema, found {}", cursor.found());
            let error = ParseError::new(cursor.source, start, cursor.at + 1, message);
            Err(error.hint("schemas are keywords such as :int and vectors such as [:vector :int]"))
        }
        "true" | "false" if !colon => Ok(Node::Bool(word == "true")),
        "nil" if !colon => Ok(Node::Nil),
        name => Ok(Node::Keyword(name.to_owned())),
    }
}

/// A value written as EDN. Strings that begin with a colon stand for keywords, so that schemas can also be
/// given as JSON; nesting beyond the bound is cut, which the reader then reports.
pub(super) fn write<V: Shape>(value: &V, out: &mut String, depth: usize) {
    if depth > FORMS + 1 {
        return;
    }
    match value.kind() {
        Kind::Nil => out.push_str("nil"),
        Kind::Keyword => {
            out.push(':');
            out.push_str(value.text().unwrap_or_default());
        }
        Kind::String => match value.text().unwrap_or_default() {
            keyword if keyword.starts_with(':') => out.push_str(keyword),
            text => quote(out, text),
        },
        Kind::List => {
            out.push('[');
            for (index, item) in value.items().into_iter().flatten().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                write(item, out, depth + 1);
            }
            out.push(']');
        }
        Kind::Map => {
            out.push('{');
            for (key, item) in value.fields().into_iter().flatten() {
                let name = key.strip_prefix(':').unwrap_or(&key);
                out.push_str(&format!(":{name} "));
                write(item, out, depth + 1);
                out.push(' ');
            }
            out.push('}');
        }
        _ => out.push_str(&value.print()),
    }
}
