//! What may follow a type name in brackets: enum values, ranges, and the types of map entries.

use super::Parser;
use super::error::ParseError;
use crate::types::{Bound, Literal, Number, Range, Type};

impl Parser<'_> {
    /// The values of `:enum[…]`, the name being read already.
    pub(super) fn enumeration(&mut self, start: usize) -> Result<Type, ParseError> {
        let hint = "list the values, for example :enum[pending active]";
        if !self.cursor.eat("[") {
            return Err(self.cursor.error(start, "`:enum` needs its values").hint(hint));
        }
        let mut literals: Vec<Literal> = Vec::new();
        let mut nullable = false;
        loop {
            self.cursor.separators();
            if self.cursor.eat("]") {
                break;
            }
            match self.literal()? {
                None => nullable = true,
                Some(literal) if literals.contains(&literal) => {}
                Some(literal) => literals.push(literal),
            }
        }
        if literals.is_empty() {
            return Err(self.cursor.error(start, "`:enum` has no values").hint(hint));
        }
        let ty = Type::Enum(literals);
        Ok(if nullable { ty.optional() } else { ty })
    }

    /// One enum value: a bare word, a quoted string, a number, a boolean, or nil (`None`).
    fn literal(&mut self) -> Result<Option<Literal>, ParseError> {
        if let Some(text) = self.cursor.quoted()? {
            return Ok(Some(Literal::String(text)));
        }
        if let Some(number) = self.cursor.number()? {
            return self.number_literal(number).map(Some);
        }
        let start = self.cursor.at;
        let colon = self.cursor.eat(":");
        match self.cursor.name() {
            Some("nil" | "null") if !colon => Ok(None),
            Some("true") if !colon => Ok(Some(Literal::Bool(true))),
            Some("false") if !colon => Ok(Some(Literal::Bool(false))),
            Some(word) => Ok(Some(Literal::String(word.to_owned()))),
            None => {
                let message = format!("expected an enum value, found {}", self.cursor.found());
                Err(self.cursor.error(start, message).hint("values are words, numbers or \"quoted strings\""))
            }
        }
    }

    fn number_literal(&mut self, number: Number) -> Result<Literal, ParseError> {
        // `2x` would silently become two values.
        if self.cursor.peek().is_some_and(|c| !c.is_whitespace() && !matches!(c, ',' | ']' | ';')) {
            return Err(self
                .cursor
                .error_here("unexpected text after a number")
                .hint("put the value in double quotes"));
        }
        Ok(match number {
            Number::Int(i) => Literal::Int(i),
            Number::Float(f) => Literal::Float(f),
        })
    }

    /// The bracket after `:int`, `:float`, `:string` or `:map`.
    pub(super) fn refined(&mut self, plain: Type, start: usize) -> Result<Type, ParseError> {
        match plain {
            Type::Map => self.map_of(),
            Type::Int(_) => self.range(true).map(Type::Int),
            Type::Float(_) => self.range(false).map(Type::Float),
            Type::String(_) => self.range(true).map(Type::String),
            _ => {
                let error = self.cursor.error(start, "this type takes no refinement in brackets");
                Err(error.hint("only :int, :float, :string (its length), :map and :enum do"))
            }
        }
    }

    fn map_of(&mut self) -> Result<Type, ParseError> {
        self.cursor.eat("[");
        self.cursor.space();
        let start = self.cursor.at;
        let first = self.ty()?;
        let after_key = self.cursor.at;
        self.cursor.separators();
        if self.cursor.eat("]") {
            return Ok(Type::map_of(Type::STRING, first));
        }
        if !is_key_type(&first) {
            let error =
                ParseError::new(self.cursor.source, start, after_key, "this type cannot be a map key");
            return Err(error.hint("keys are :string, :keyword, :int, :any or :enum[…]"));
        }
        let value = self.ty()?;
        self.cursor.separators();
        if self.cursor.eat("]") {
            return Ok(Type::map_of(first, value));
        }
        Err(self.cursor.error_here("expected `]`").hint("write :map[:value] or :map[:key :value]"))
    }

    /// `[1..10]`, `[1..]`, `[..10]`, `[5]`, or comparisons: `[>0]`, `[>=0 <1]`.
    fn range(&mut self, whole: bool) -> Result<Range, ParseError> {
        let start = self.cursor.at;
        self.cursor.eat("[");
        let mut range = Range::UNBOUNDED;
        loop {
            self.cursor.separators();
            if self.cursor.eat("]") {
                break;
            }
            range = self.constraint(range, whole)?;
        }
        if range.is_unbounded() {
            return Err(self.cursor.error(start, "the range is empty").hint(RANGE_HINT));
        }
        if range.is_empty() {
            return Err(self
                .cursor
                .error(start, "no value lies in this range")
                .hint("the lower end comes first"));
        }
        Ok(range)
    }

    fn constraint(&mut self, range: Range, whole: bool) -> Result<Range, ParseError> {
        let comparisons = [(">=", true, false), ("<=", false, false), (">", true, true), ("<", false, true)];
        for (token, lower, exclusive) in comparisons {
            if self.cursor.eat(token) {
                self.cursor.space();
                let bound = Bound { value: self.bound(whole)?, exclusive };
                return Ok(if lower { range.with_min(bound) } else { range.with_max(bound) });
            }
        }
        if self.cursor.eat("..") {
            return Ok(range.at_most(self.bound(whole)?));
        }
        let min = self.bound(whole)?;
        if !self.cursor.eat("..") {
            return Ok(range.at_least(min).at_most(min));
        }
        match self.cursor.peek() {
            Some(']' | ',') => Ok(range.at_least(min)),
            Some(c) if c.is_whitespace() => Ok(range.at_least(min)),
            _ => Ok(range.at_least(min).at_most(self.bound(whole)?)),
        }
    }

    fn bound(&mut self, whole: bool) -> Result<Number, ParseError> {
        let start = self.cursor.at;
        match self.cursor.number()? {
            Some(Number::Float(_)) if whole => Err(self
                .cursor
                .error(start, "this limit must be a whole number")
                .hint("use :float for fractions")),
            Some(number) => Ok(number),
            None => {
                let message = format!("expected a limit, found {}", self.cursor.found());
                Err(self.cursor.error_here(message).hint(RANGE_HINT))
            }
        }
    }
}

const RANGE_HINT: &str = "ranges are [1..100], [1..], [..100], [>0] or [>=0 <1]";

/// Whether `ty` can describe the keys of a map: something that is written as one word.
pub(crate) fn is_key_type(ty: &Type) -> bool {
    match ty {
        Type::Any | Type::String(_) | Type::Keyword | Type::Int(_) | Type::Enum(_) => true,
        Type::Union(members) => members.iter().all(is_key_type),
        _ => false,
    }
}
