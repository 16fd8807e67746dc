//! Characters and small tokens of the shorthand: spaces, names, numbers, quoted strings.

use super::error::ParseError;
use crate::types::Number;

/// A position in the text, with the small steps the grammar is made of.
#[derive(Clone)]
pub(crate) struct Cursor<'s> {
    pub(crate) source: &'s str,
    pub(crate) at: usize,
}

impl<'s> Cursor<'s> {
    pub(crate) fn new(source: &'s str) -> Cursor<'s> {
        Cursor { source, at: 0 }
    }

    pub(crate) fn rest(&self) -> &'s str {
        &self.source[self.at..]
    }

    pub(crate) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(crate) fn at_end(&self) -> bool {
        self.at >= self.source.len()
    }

    /// Steps over `token` if it comes next.
    pub(crate) fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    /// Steps over characters as long as `keep` holds, and returns them.
    pub(crate) fn take_while(&mut self, keep: impl Fn(char) -> bool) -> &'s str {
        let rest = self.rest();
        let end = rest.find(|c| !keep(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Steps over white space and `;` comments.
    pub(crate) fn space(&mut self) {
        loop {
            self.take_while(char::is_whitespace);
            if !self.rest().starts_with(';') {
                return;
            }
            self.take_while(|c| c != '\n');
        }
    }

    /// Steps over white space, comments and commas.
    pub(crate) fn separators(&mut self) {
        self.space();
        while self.eat(",") {
            self.space();
        }
    }

    /// A name: a letter or `_`, then letters, digits, `_` and `-`.
    pub(crate) fn name(&mut self) -> Option<&'s str> {
        if !self.peek().is_some_and(begins_name) {
            return None;
        }
        let rest = self.rest();
        let mut end = rest.find(|c: char| !is_name_char(c)).unwrap_or(rest.len());
        // `a->` is the name `a` and an arrow.
        if rest[..end].ends_with('-') && rest[end..].starts_with('>') {
            end -= 1;
        }
        self.at += end;
        Some(&rest[..end])
    }

    /// A number; `1..2` reads as `1` and leaves the dots.
    pub(crate) fn number(&mut self) -> Result<Option<Number>, ParseError> {
        let start = self.at;
        let mut probe = self.clone();
        let _sign = probe.eat("-") || probe.eat("+");
        if probe.take_while(|c| c.is_ascii_digit()).is_empty() {
            return Ok(None);
        }
        let mut whole = true;
        let fraction =
            probe.rest().strip_prefix('.').is_some_and(|r| r.starts_with(|c: char| c.is_ascii_digit()));
        if fraction {
            probe.eat(".");
            probe.take_while(|c| c.is_ascii_digit());
            whole = false;
        }
        if probe.exponent() {
            whole = false;
        }
        self.at = probe.at;
        let text = &self.source[start..self.at];
        let parsed = if whole {
            text.parse().ok().map(Number::Int)
        } else {
            text.parse().ok().filter(|f: &f64| f.is_finite()).map(Number::Float)
        };
        match parsed {
            Some(number) => Ok(Some(number)),
            None => Err(self.error(start, format!("number `{text}` is too large"))),
        }
    }

    fn exponent(&mut self) -> bool {
        let mut probe = self.clone();
        if !(probe.eat("e") || probe.eat("E")) {
            return false;
        }
        let _sign = probe.eat("-") || probe.eat("+");
        let found = !probe.take_while(|c| c.is_ascii_digit()).is_empty();
        if found {
            self.at = probe.at;
        }
        found
    }

    /// A string in double quotes, with the escapes of JSON and `\u{…}`.
    pub(crate) fn quoted(&mut self) -> Result<Option<String>, ParseError> {
        let start = self.at;
        if !self.eat("\"") {
            return Ok(None);
        }
        let mut text = String::new();
        loop {
            text.push_str(self.take_while(|c| c != '"' && c != '\\'));
            if self.eat("\"") {
                return Ok(Some(text));
            }
            if !self.eat("\\") {
                return Err(self.error(start, "string is not closed").hint("add the closing `\"`"));
            }
            text.push(self.escape()?);
        }
    }

    fn escape(&mut self) -> Result<char, ParseError> {
        let start = self.at - 1;
        let simple = [
            ("\"", '"'),
            ("\\", '\\'),
            ("/", '/'),
            ("n", '\n'),
            ("r", '\r'),
            ("t", '\t'),
            ("b", '\u{8}'),
            ("f", '\u{c}'),
        ];
        if let Some((_, c)) = simple.iter().find(|(token, _)| self.eat(token)) {
            return Ok(*c);
        }
        if self.eat("u{") {
            let digits = self.take_while(|c| c.is_ascii_hexdigit());
            let code = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
            if let Some(c) = code.filter(|_| self.eat("}")) {
                return Ok(c);
            }
        } else if self.eat("u") {
            let four = self.rest().get(..4).filter(|digits| digits.chars().all(|c| c.is_ascii_hexdigit()));
            let code = four.and_then(|digits| u32::from_str_radix(digits, 16).ok());
            if let Some(c) = code.and_then(char::from_u32) {
                self.at += 4;
                return Ok(c);
            }
        }
        self.take_while(|c| c != '"' && !c.is_whitespace());
        Err(self
            .error(start, "unknown escape in string")
            .hint("use \\\" \\\\ \\n \\r \\t, \\u0041 or \\u{41}"))
    }

    /// An error about the text from `start` to here.
    pub(crate) fn error(&self, start: usize, message: impl Into<String>) -> ParseError {
        ParseError::new(self.source, start, self.at, message)
    }

    /// An error about the next character.
    pub(crate) fn error_here(&self, message: impl Into<String>) -> ParseError {
        let width = self.peek().map_or(0, char::len_utf8);
        ParseError::new(self.source, self.at, self.at + width, message)
    }

    /// How a message names what comes next.
    pub(crate) fn found(&self) -> String {
        match self.peek() {
            None => "the end of the text".to_owned(),
            Some(c) => format!("`{c}`"),
        }
    }
}

/// Whether `c` can begin a name. Letters are those of all languages.
fn begins_name(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// Whether `c` can continue a name.
pub(crate) fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}

/// Whether `text` can be written as a field name without quotes.
pub(crate) fn is_bare_name(text: &str) -> bool {
    text.starts_with(begins_name) && text.chars().all(is_name_char)
}
