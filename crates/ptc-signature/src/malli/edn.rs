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

/// A bracket whose end has not come yet.
struct Open {
    start: usize,
    close: &'static str,
    forms: Vec<Form>,
}

/// Reads the one form in `source`, with a stack of its own instead of the native one.
pub(super) fn read(source: &str) -> Result<Form, ParseError> {
    let mut cursor = Cursor::new(source);
    let mut open: Vec<Open> = Vec::new();
    loop {
        cursor.separators();
        let start = cursor.at;
        if let Some(close) = opening(&mut cursor) {
            if open.len() >= FORMS {
                return Err(cursor.error(start, format!("schema is nested deeper than {FORMS} brackets")));
            }
            open.push(Open { start, close, forms: Vec::new() });
            continue;
        }
        let form = match open.pop_if(|bracket| cursor.eat(bracket.close)) {
            Some(bracket) => closed(&cursor, bracket)?,
            None => match open.last().filter(|_| cursor.at_end()) {
                Some(bracket) => return Err(unclosed(source, bracket)),
                None => atom(&mut cursor)?,
            },
        };
        match open.last_mut() {
            Some(bracket) => bracket.forms.push(form),
            None => return only(&mut cursor, form),
        }
    }
}

/// Steps over an opening bracket and says what closes it.
fn opening(cursor: &mut Cursor<'_>) -> Option<&'static str> {
    [("[", "]"), ("{", "}")].into_iter().find(|(open, _)| cursor.eat(open)).map(|(_, close)| close)
}

fn unclosed(source: &str, bracket: &Open) -> ParseError {
    let error = ParseError::new(source, bracket.start, bracket.start + 1, "bracket is not closed");
    error.hint(format!("add the closing `{}`", bracket.close))
}

/// The form a bracket and its contents make.
fn closed(cursor: &Cursor<'_>, bracket: Open) -> Result<Form, ParseError> {
    let Open { start, close, forms } = bracket;
    let node = if close == "]" { Node::Vector(forms) } else { Node::Map(pairs(cursor, start, forms)?) };
    Ok(Form { start, end: cursor.at, node })
}

fn pairs(cursor: &Cursor<'_>, start: usize, forms: Vec<Form>) -> Result<Vec<(Form, Form)>, ParseError> {
    let mut forms = forms.into_iter();
    let mut pairs = Vec::new();
    while let Some(key) = forms.next() {
        match forms.next() {
            Some(value) => pairs.push((key, value)),
            None => return Err(cursor.error(start, "map has a key without a value")),
        }
    }
    Ok(pairs)
}

/// The form, if nothing follows it.
fn only(cursor: &mut Cursor<'_>, form: Form) -> Result<Form, ParseError> {
    cursor.separators();
    if cursor.at_end() {
        return Ok(form);
    }
    let message = format!("unexpected {} after the schema", cursor.found());
    Err(cursor.error_here(message))
}

fn atom(cursor: &mut Cursor<'_>) -> Result<Form, ParseError> {
    let start = cursor.at;
    let node = if let Some(text) = cursor.quoted()? {
        Node::String(text)
    } else if let Some(number) = cursor.number()? {
        Node::Number(number)
    } else {
        word(cursor)?
    };
    Ok(Form { start, end: cursor.at, node })
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
