//! Types and signatures as text.
//!
//! `Display` gives the canonical shorthand, which parses back to the same value. The text a model reads
//! differs in a few ways, gathered in [`Style`].

use std::fmt::{self, Display, Write};

use crate::keys;
use crate::parse::lexer::is_bare_name;
use crate::signature::Signature;
use crate::types::{Bound, Field, Literal, Number, Range, Record, Type};

/// How types are written out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Style {
    /// The shorthand as it is parsed: `{order_count :int}!`.
    Canonical,
    /// As a model reads it in signature syntax: `{order-count :int}`, without the mark of closed maps.
    Prompt,
    /// As [`Style::Prompt`], also without the colons of types: `{order-count int}`.
    Compact,
}

impl Type {
    /// The type as text in the given style.
    pub fn render(&self, style: Style) -> String {
        let mut out = Writer { style, out: String::new() };
        out.ty(self);
        out.out
    }
}

impl Signature {
    /// The signature as text in the given style.
    pub fn render(&self, style: Style) -> String {
        let mut out = Writer { style, out: String::new() };
        out.signature(self);
        out.out
    }

    /// The signature as a tool: `search(query :string) -> [{id :int}]`, the description indented below.
    pub fn render_tool(&self, name: &str, description: Option<&str>, style: Style) -> String {
        let mut text = format!("{name}{}", self.render(style));
        for line in description.unwrap_or_default().lines().filter(|line| !line.trim().is_empty()) {
            text.push_str("\n  ");
            text.push_str(line.trim());
        }
        text
    }
}

impl Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Style::Canonical))
    }
}

impl Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Style::Canonical))
    }
}

struct Writer {
    style: Style,
    out: String,
}

impl Writer {
    fn signature(&mut self, signature: &Signature) {
        self.record(&signature.input, '(', ')');
        self.out.push_str(" -> ");
        self.ty(&signature.output);
    }

    fn record(&mut self, record: &Record, open: char, close: char) {
        self.out.push(open);
        for (index, field) in record.fields.iter().enumerate() {
            if index > 0 {
                self.out.push_str(", ");
            }
            self.field(field);
        }
        self.out.push(close);
        if record.closed && self.style == Style::Canonical {
            self.out.push('!');
        }
    }

    fn field(&mut self, field: &Field) {
        let name = if self.style == Style::Canonical { field.name.clone() } else { keys::kebab(&field.name) };
        if is_bare_name(&name) {
            self.out.push_str(&name);
        } else {
            quote(&mut self.out, &name);
        }
        self.out.push(' ');
        self.ty(&field.ty);
    }

    fn named(&mut self, name: &str) {
        if self.style != Style::Compact {
            self.out.push(':');
        }
        self.out.push_str(name);
    }

    fn ty(&mut self, ty: &Type) {
        match ty {
            Type::Any => self.named("any"),
            Type::Nil => self.named("nil"),
            Type::Bool => self.named("bool"),
            Type::Keyword => self.named("keyword"),
            Type::DateTime => self.named("datetime"),
            Type::Map => self.named("map"),
            Type::String(range) => self.ranged("string", range),
            Type::Int(range) => self.ranged("int", range),
            Type::Float(range) => self.ranged("float", range),
            Type::Enum(literals) => self.enumeration(literals),
            Type::List(item) => {
                self.out.push('[');
                self.ty(item);
                self.out.push(']');
            }
            Type::Record(record) => self.record(record, '{', '}'),
            Type::MapOf(map) => {
                self.named("map[");
                if map.key != Type::STRING {
                    self.ty(&map.key);
                    self.out.push(' ');
                }
                self.ty(&map.value);
                self.out.push(']');
            }
            Type::Union(members) => {
                for (index, member) in members.iter().enumerate() {
                    if index > 0 {
                        self.out.push('|');
                    }
                    self.ty(member);
                }
            }
            Type::Optional(inner) => {
                self.ty(inner);
                self.out.push('?');
            }
        }
    }

    fn ranged(&mut self, name: &str, range: &Range) {
        self.named(name);
        if !range.is_unbounded() {
            let _ = write!(self.out, "[{range}]");
        }
    }

    fn enumeration(&mut self, literals: &[Literal]) {
        self.named("enum[");
        for (index, literal) in literals.iter().enumerate() {
            if index > 0 {
                self.out.push(' ');
            }
            let _ = write!(self.out, "{literal}");
        }
        self.out.push(']');
    }
}

impl Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Int(i) => write!(f, "{i}"),
            Number::Float(x) => write!(f, "{x:?}"),
        }
    }
}

impl Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.min, self.max) {
            (Some(Bound { value: min, exclusive: false }), Some(Bound { value: max, exclusive: false })) => {
                write!(f, "{min}..{max}")
            }
            (min, max) => {
                if let Some(bound) = min {
                    write!(f, "{}{}", if bound.exclusive { ">" } else { ">=" }, bound.value)?;
                }
                if let Some(bound) = max {
                    let gap = if min.is_some() { " " } else { "" };
                    write!(f, "{gap}{}{}", if bound.exclusive { "<" } else { "<=" }, bound.value)?;
                }
                Ok(())
            }
        }
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Literal::String(text) if is_bare_word(text) => f.write_str(text),
            Literal::String(text) => {
                let mut quoted = String::new();
                quote(&mut quoted, text);
                f.write_str(&quoted)
            }
            Literal::Int(i) => write!(f, "{i}"),
            Literal::Float(x) => write!(f, "{x:?}"),
            Literal::Bool(b) => write!(f, "{b}"),
        }
    }
}

/// Whether an enum value needs no quotes: it reads as a name and as nothing else.
fn is_bare_word(text: &str) -> bool {
    is_bare_name(text) && !matches!(text, "true" | "false" | "nil" | "null")
}

/// Writes `text` as JSON writes strings, which signatures and EDN read back unchanged. What terminals would obey is
/// escaped, too.
pub(crate) fn quote(out: &mut String, text: &str) {
    for c in serde_json::Value::from(text).to_string().chars() {
        let _ = match c.is_control() {
            true => write!(out, "\\u{:04x}", u32::from(c)),
            false => out.write_char(c),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::quote;
    use crate::parse::lexer::Cursor;

    #[test]
    fn quoted_texts_are_json_and_read_back() {
        for (text, quoted) in [
            ("plain ü", r#""plain ü""#),
            ("a \"b\" \\ c\n\r\t", r#""a \"b\" \\ c\n\r\t""#),
            ("\u{1}\u{8}\u{1b}\u{7f}\u{9b}", r#""\u0001\b\u001b\u007f\u009b""#),
        ] {
            let mut out = String::new();
            quote(&mut out, text);
            assert_eq!(out, quoted);
            assert_eq!(serde_json::from_str::<String>(&out).ok().as_deref(), Some(text));
            assert_eq!(Cursor::new(&out).quoted(), Ok(Some(text.to_owned())));
        }
        assert_eq!(Cursor::new(r#""\u{1f980}\/\u0041""#).quoted(), Ok(Some("🦀/A".to_owned())));
        for wrong in [r#""\u12""#, r#""\ud800""#, r#""\x""#] {
            assert!(Cursor::new(wrong).quoted().is_err(), "{wrong}");
        }
    }
}
