//! Tokens: what stands at one place of the text, whatever is around it.

use super::ReadLimits;
use super::cursor::{Cursor, ends_token};
use super::fault::{self, Failure, NameFault};
use super::{name, number, text};
use crate::span::Span;
use crate::syntax::FormKind;

/// One token.
#[derive(Debug)]
pub(super) enum Token {
    /// An opening delimiter.
    Open(OpeningKind),
    /// A closing delimiter.
    Close(char),
    /// Something that belongs to the form after it.
    Prefix(Prefix),
    /// A form in itself.
    Atom(FormKind),
}

/// What an opening delimiter begins.
#[derive(Debug)]
pub(super) enum OpeningKind {
    List,
    Vector,
    Map,
    /// `#:ns{`
    NamespacedMap(String),
    Set,
    ShortFn,
    /// `#?(` and `#?@(`
    Conditional {
        splice: bool,
    },
}

impl OpeningKind {
    pub(super) fn closer(&self) -> char {
        match self {
            OpeningKind::List | OpeningKind::ShortFn | OpeningKind::Conditional { .. } => ')',
            OpeningKind::Vector => ']',
            OpeningKind::Map | OpeningKind::NamespacedMap(_) | OpeningKind::Set => '}',
        }
    }
}

/// What a prefix does to the form after it.
#[derive(Debug)]
pub(super) enum Prefix {
    Quote,
    Deref,
    Var,
    Discard,
    Meta,
    Tag(String),
}

/// A source text and how far it has been cut into tokens.
pub(super) struct Lexer<'a> {
    cursor: Cursor<'a>,
    limits: &'a ReadLimits,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(source: &'a str, limits: &'a ReadLimits) -> Self {
        Lexer { cursor: Cursor::new(source), limits }
    }

    /// The byte offset after the last token.
    pub(super) fn at(&self) -> usize {
        self.cursor.at()
    }

    /// The next token and its place; `None` at the end of the text.
    pub(super) fn next(&mut self) -> Result<Option<(Token, Span)>, Failure> {
        self.skip_blank();
        let start = self.cursor.at();
        let Some(first) = self.cursor.bump() else { return Ok(None) };
        let token = match first {
            '(' => Token::Open(OpeningKind::List),
            '[' => Token::Open(OpeningKind::Vector),
            '{' => Token::Open(OpeningKind::Map),
            ')' | ']' | '}' => Token::Close(first),
            '\'' => Token::Prefix(Prefix::Quote),
            '@' => Token::Prefix(Prefix::Deref),
            '^' => Token::Prefix(Prefix::Meta),
            '"' => Token::Atom(FormKind::Str(text::string(&mut self.cursor, start, self.limits.data)?)),
            '\\' => Token::Atom(FormKind::Str(text::character(&mut self.cursor, start)?)),
            '#' => self.dispatch(start)?,
            ':' => {
                let token = self.cursor.token();
                if self.limits.data && token.starts_with(':') {
                    return Err(self.bad_name(NameFault::InnerColons, start));
                }
                Token::Atom(name::keyword(token).map_err(|fault| self.bad_name(fault, start))?)
            }
            '`' | '~' => return Err(self.refuse_syntax_quote(first, start)),
            _ => Token::Atom(self.word(start)?),
        };
        Ok(Some((token, self.since(start))))
    }

    /// Steps over whitespace and comments, `#!` lines among them.
    fn skip_blank(&mut self) {
        self.cursor.skip_blank();
        while !self.limits.data && self.cursor.rest().starts_with("#!") {
            self.cursor.skip_line();
            self.cursor.skip_blank();
        }
    }

    /// A number, a symbol, or `nil`, `true`, `false`; its first character is already read.
    fn word(&mut self, start: usize) -> Result<FormKind, Failure> {
        let next = self.cursor.peek();
        let is_number = number::looks_numeric(self.written(start), next);
        // `'`, `#` and `%` may be part of a name, but not of a number.
        let ends = |c| ends_token(c) || (is_number && matches!(c, '\'' | '#' | '%'));
        self.cursor.take_while(|c| !ends(c));
        let token = self.written(start);
        if is_number {
            let groups = if self.limits.data { 0 } else { number::groups(token, self.cursor.rest()) };
            if groups > 0 {
                self.cursor.skip_bytes(groups);
                return Err(fault::grouped_digits(self.written(start), self.since(start)));
            }
            number::parse(token, self.limits)
                .map_err(|fault| fault::bad_number(&fault, token, self.since(start), self.limits))
        } else if !self.limits.data && number::lacks_zero(token) {
            Err(fault::missing_zero(token, self.since(start)))
        } else if token.starts_with(['“', '”', '„', '‘', '’']) {
            Err(self.bad_name(NameFault::TypographicQuote, start))
        } else {
            name::symbol(token).map_err(|fault| self.bad_name(fault, start))
        }
    }

    /// What `#` begins; the `#` is already read.
    fn dispatch(&mut self, start: usize) -> Result<Token, Failure> {
        let next = self.cursor.peek();
        match next {
            Some(c) if c.is_alphabetic() => {
                return Ok(Token::Prefix(Prefix::Tag(self.cursor.token().to_owned())));
            }
            Some('#') => return self.symbolic(start),
            _ => self.cursor.bump(),
        };
        match next {
            Some('{') => Ok(Token::Open(OpeningKind::Set)),
            Some('(') => Ok(Token::Open(OpeningKind::ShortFn)),
            Some('?') => self.conditional(start),
            Some(':') => self.namespaced_map(start),
            Some('_') => Ok(Token::Prefix(Prefix::Discard)),
            Some('\'') => Ok(Token::Prefix(Prefix::Var)),
            Some('^') => Ok(Token::Prefix(Prefix::Meta)),
            Some('"') => Ok(Token::Atom(FormKind::Regex(text::regex(&mut self.cursor, start)?))),
            Some('=') => Err(fault::read_eval(self.since(start))),
            _ => Err(fault::unknown_dispatch(next, self.since(start))),
        }
    }

    /// `##Inf` and its like; the first `#` is already read.
    fn symbolic(&mut self, start: usize) -> Result<Token, Failure> {
        let value = match self.cursor.token() {
            "#Inf" => f64::INFINITY,
            "#-Inf" => f64::NEG_INFINITY,
            "#NaN" => f64::NAN,
            token => {
                let at_end = token == "#" && self.cursor.peek().is_none();
                return Err(fault::unknown_symbolic(self.since(start), at_end));
            }
        };
        Ok(Token::Atom(FormKind::Float(value)))
    }

    /// `#?(` and `#?@(`; the `#?` is already read.
    fn conditional(&mut self, start: usize) -> Result<Token, Failure> {
        let splice = self.cursor.eat('@');
        let prefix = self.since(start);
        self.cursor.skip_blank();
        if self.cursor.eat('(') {
            Ok(Token::Open(OpeningKind::Conditional { splice }))
        } else {
            Err(fault::conditional_without_list(prefix, self.cursor.peek().is_none()))
        }
    }

    /// `#:ns{` and `#::{`; the `#:` is already read.
    fn namespaced_map(&mut self, start: usize) -> Result<Token, Failure> {
        let namespace =
            name::map_namespace(self.cursor.token()).map_err(|fault| self.bad_name(fault, start))?;
        let (prefix, written) = (self.since(start), self.written(start));
        self.cursor.skip_blank();
        if self.cursor.eat('{') {
            Ok(Token::Open(OpeningKind::NamespacedMap(namespace)))
        } else {
            Err(fault::dangling_prefix(written, prefix, self.cursor.peek().is_none()))
        }
    }

    fn refuse_syntax_quote(&mut self, first: char, start: usize) -> Failure {
        if first == '`' && self.cursor.rest().starts_with("``") {
            return fault::markdown_fence(Span::new(start, start + 3));
        }
        if first == '~' {
            self.cursor.eat('@');
        }
        fault::syntax_quote(self.written(start), self.since(start))
    }

    fn bad_name(&self, fault: NameFault, start: usize) -> Failure {
        fault::bad_name(fault, self.written(start), self.since(start))
    }

    fn since(&self, start: usize) -> Span {
        Span::new(start, self.cursor.at())
    }

    fn written(&self, start: usize) -> &'a str {
        &self.cursor.source()[start..self.cursor.at()]
    }
}
