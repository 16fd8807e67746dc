//! The shorthand parser: recursive descent with a bound on nesting.
//!
//! ```text
//! signature := "(" fields ")" "!"? "->" type | "->"? type
//! type      := single ("|" single)*
//! single    := (":" name refinement? | "[" type "]" | "{" fields "}" "!"?) "?"?
//! fields    := ((":"? name | string) type ","?)*
//! ```

pub(crate) mod error;
pub(crate) mod hints;
pub(crate) mod lexer;
pub(crate) mod refine;

use std::collections::BTreeMap;

use crate::keys;
use crate::types::{Field, MAX_DEPTH, Record, Type};
use error::ParseError;
use lexer::Cursor;

/// A signature as written: its parameters, its result, and where the text of the result begins.
pub(crate) struct Parsed {
    pub(crate) input: Record,
    pub(crate) output: Type,
    pub(crate) output_start: usize,
}

/// Reads a whole signature.
pub(crate) fn signature(source: &str) -> Result<Parsed, ParseError> {
    let mut parser = Parser { cursor: Cursor::new(source), depth: 0 };
    parser.cursor.space();
    if parser.cursor.at_end() {
        return Err(parser
            .cursor
            .error_here("signature is empty")
            .hint("write a type such as {answer :int}, or :any"));
    }
    let input = parser.parameters()?;
    parser.cursor.space();
    let output_start = parser.cursor.at;
    let output = parser.ty()?;
    parser.end()?;
    Ok(Parsed { input, output, output_start })
}

/// Reads a single type.
pub(crate) fn single_type(source: &str) -> Result<Type, ParseError> {
    let mut parser = Parser { cursor: Cursor::new(source), depth: 0 };
    parser.cursor.space();
    let ty = parser.ty()?;
    parser.end()?;
    Ok(ty)
}

/// The message for a name that is there already, perhaps in its other spelling.
pub(crate) fn twice(noun: &str, name: &str, first: &str) -> String {
    match name == first {
        true => format!("{noun} `{name}` is declared twice"),
        false => format!("{noun} `{name}` is the same name as `{first}`: hyphens and underscores are one"),
    }
}

struct Parser<'s> {
    cursor: Cursor<'s>,
    depth: usize,
}

/// What kind of named list is being read; only messages differ.
#[derive(Clone, Copy)]
enum Named {
    Parameter,
    Field,
}

impl Named {
    fn noun(self) -> &'static str {
        match self {
            Named::Parameter => "parameter",
            Named::Field => "field",
        }
    }

    fn close(self) -> &'static str {
        match self {
            Named::Parameter => ")",
            Named::Field => "}",
        }
    }
}

impl Parser<'_> {
    fn parameters(&mut self) -> Result<Record, ParseError> {
        if self.cursor.eat("->") {
            return Ok(Record::default());
        }
        if !self.cursor.eat("(") {
            return Ok(Record::default());
        }
        let input = self.fields(Named::Parameter)?;
        self.cursor.space();
        if !self.cursor.eat("->") {
            let message = format!("expected `->` after the parameters, found {}", self.cursor.found());
            return Err(self.cursor.error_here(message).hint("a signature is (name :type, …) -> :type"));
        }
        Ok(input)
    }

    /// Fields up to and including the closing bracket, then an optional `!`.
    fn fields(&mut self, named: Named) -> Result<Record, ParseError> {
        let open = self.cursor.at - 1;
        let mut fields: Vec<Field> = Vec::new();
        let mut names = BTreeMap::new();
        loop {
            self.cursor.separators();
            if self.cursor.eat(named.close()) {
                let closed = self.cursor.eat("!");
                return Ok(Record { fields, closed });
            }
            if self.cursor.at_end() {
                let what = if matches!(named, Named::Parameter) { "parameter list" } else { "map" };
                let message = format!("{what} is not closed");
                let error = ParseError::new(self.cursor.source, open, open + 1, message);
                return Err(error.hint(format!("add the closing `{}`", named.close())));
            }
            let start = self.cursor.at;
            let field = self.field(named)?;
            if let Some(first) = names.insert(keys::snake(&field.name), field.name.clone()) {
                return Err(self.cursor.error(start, twice(named.noun(), &field.name, &first)));
            }
            fields.push(field);
        }
    }

    fn field(&mut self, named: Named) -> Result<Field, ParseError> {
        let name = self.field_name(named)?;
        self.cursor.space();
        let next = self.cursor.peek();
        if matches!(next, None | Some(',' | ')' | '}')) {
            let message = format!("{} `{name}` has no type", named.noun());
            return Err(self
                .cursor
                .error_here(message)
                .hint(format!("write `{name} :any`, or a narrower type")));
        }
        Ok(Field::new(name, self.ty()?))
    }

    fn field_name(&mut self, named: Named) -> Result<String, ParseError> {
        let start = self.cursor.at;
        if let Some(text) = self.cursor.quoted()? {
            return Ok(text);
        }
        self.cursor.eat(":");
        let Some(name) = self.cursor.name() else {
            let message = format!("expected a {} name, found {}", named.noun(), self.cursor.found());
            return Err(self.bad_name(message, named));
        };
        match self.cursor.peek() {
            Some('?') => {
                self.cursor.eat("?");
                let hint = format!("the `?` belongs after the type: `{name} :string?`");
                Err(self.cursor.error(start, format!("`?` cannot be part of the name `{name}`")).hint(hint))
            }
            Some(':') => {
                self.cursor.eat(":");
                let hint = format!("names have no colon after them: write `{name} :int`");
                Err(self.cursor.error(start, format!("unexpected `:` after the name `{name}`")).hint(hint))
            }
            _ => Ok(name.to_owned()),
        }
    }

    fn bad_name(&self, message: String, named: Named) -> ParseError {
        let error = self.cursor.error_here(message);
        let hint = match self.cursor.peek() {
            Some('[' | '{') => {
                format!("every {} needs a name before its type, for example `items [:any]`", named.noun())
            }
            Some('|') => "alternatives follow their type directly: `:string|:int`".to_owned(),
            Some('?' | '!') => "the mark must follow its type directly, without a space".to_owned(),
            _ => "names begin with a letter or `_`; other names go in double quotes".to_owned(),
        };
        error.hint(hint)
    }

    fn ty(&mut self) -> Result<Type, ParseError> {
        let first = self.single()?;
        let mut members = vec![first];
        loop {
            let before = self.cursor.clone();
            self.cursor.space();
            if !self.cursor.eat("|") {
                self.cursor = before;
                break;
            }
            self.cursor.space();
            members.push(self.single()?);
        }
        match members.len() {
            1 => Ok(members.remove(0)),
            _ => Ok(Type::union(members)),
        }
    }

    fn single(&mut self) -> Result<Type, ParseError> {
        if self.depth >= MAX_DEPTH {
            let message = format!("types are nested deeper than {MAX_DEPTH} levels");
            return Err(self.cursor.error_here(message).hint("use :map or :any for the inner part"));
        }
        self.depth += 1;
        let ty = match self.cursor.peek() {
            Some('[') => self.list(),
            Some('{') => {
                self.cursor.eat("{");
                self.fields(Named::Field).map(Type::Record)
            }
            Some(':') => self.named_type(),
            _ => Err(self.not_a_type()),
        }?;
        self.depth -= 1;
        Ok(if self.cursor.eat("?") { ty.optional() } else { ty })
    }

    fn list(&mut self) -> Result<Type, ParseError> {
        let open = self.cursor.at;
        self.cursor.eat("[");
        self.cursor.space();
        if self.cursor.eat("]") {
            return Err(self.cursor.error(open, "list of what?").hint("use [:any] for a list of anything"));
        }
        let item = self.ty()?;
        self.cursor.separators();
        if self.cursor.eat("]") {
            return Ok(Type::list(item));
        }
        if self.cursor.at_end() {
            let error = ParseError::new(self.cursor.source, open, open + 1, "list is not closed");
            return Err(error.hint("add the closing `]`"));
        }
        let hint =
            "use [:a|:b] for mixed items, or a map with named fields; Malli forms need `[:=> …]` around them";
        Err(self.cursor.error_here("a list has one item type").hint(hint))
    }

    fn named_type(&mut self) -> Result<Type, ParseError> {
        let start = self.cursor.at;
        self.cursor.eat(":");
        let name = self.cursor.name().unwrap_or_default();
        let plain = match name {
            "string" => Type::STRING,
            "int" => Type::INT,
            "float" => Type::FLOAT,
            "bool" | "boolean" => Type::Bool,
            "keyword" => Type::Keyword,
            "any" => Type::Any,
            "map" => Type::Map,
            "datetime" => Type::DateTime,
            "nil" => Type::Nil,
            "enum" => return self.enumeration(start),
            "" => {
                let message = format!("expected a type name after `:`, found {}", self.cursor.found());
                return Err(self.cursor.error(start, message).hint(hints::general()));
            }
            unknown => {
                let error = self.cursor.error(start, format!("unknown type `:{unknown}`"));
                return Err(error.hint(hints::for_type(unknown)));
            }
        };
        if self.cursor.peek() == Some('[') { self.refined(plain, start) } else { Ok(plain) }
    }

    /// A type that does not begin like one: most often a name from another language.
    fn not_a_type(&mut self) -> ParseError {
        let start = self.cursor.at;
        if self.cursor.peek() == Some('(') {
            let error = self.cursor.error_here("expected a type, found `(`");
            return error.hint("parentheses only hold the parameters at the start: (name :type) -> :type");
        }
        match self.cursor.name() {
            Some(name) => {
                let error = self.cursor.error(start, format!("expected a type, found `{name}`"));
                error.hint(format!("type names begin with a colon; {}", hints::for_type(name)))
            }
            None => {
                let message = format!("expected a type, found {}", self.cursor.found());
                self.cursor.error_here(message).hint(hints::general())
            }
        }
    }

    fn end(&mut self) -> Result<(), ParseError> {
        self.cursor.space();
        if self.cursor.at_end() {
            return Ok(());
        }
        let found = self.cursor.found();
        let hint = match self.cursor.peek() {
            Some('-') => "parameters go in parentheses before the arrow: (name :type) -> :type",
            Some('?' | '!') => "the mark must follow its type directly, without a space",
            Some('<') => "there are no generics: lists are [:type], optional types :type?",
            Some('[') => "lists are written [:type]",
            _ => "a signature is one type, or (name :type, …) -> :type",
        };
        Err(self.cursor.error_here(format!("unexpected {found} after the signature")).hint(hint))
    }
}
