//! A place in the source that moves forward, and the rules for where tokens end.

/// The unread rest of a source text.
pub(super) struct Cursor<'a> {
    source: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        Cursor { source, at: 0 }
    }

    /// The byte offset of the next character.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn source(&self) -> &'a str {
        self.source
    }

    pub(super) fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn bump(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// Steps over `expected` if it is next.
    pub(super) fn eat(&mut self, expected: char) -> bool {
        let found = self.peek() == Some(expected);
        if found {
            self.at += expected.len_utf8();
        }
        found
    }

    /// Steps over `count` bytes, which the caller knows to be whole characters.
    pub(super) fn skip_bytes(&mut self, count: usize) {
        self.at += count;
    }

    /// Steps over characters as long as `wanted` holds and returns them.
    pub(super) fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Steps over whitespace and `;` comments.
    pub(super) fn skip_blank(&mut self) {
        loop {
            // Most tokens are one space apart, or none.
            match self.rest().as_bytes() {
                [b' ', next, ..] if is_plain(*next) => {
                    self.at += 1;
                    return;
                }
                [next, ..] if is_plain(*next) => return,
                _ => {}
            }
            self.take_while(is_blank);
            if self.peek() != Some(';') {
                return;
            }
            self.skip_line();
        }
    }

    /// Steps to the end of the line.
    pub(super) fn skip_line(&mut self) {
        self.take_while(|c| c != '\n' && c != '\r');
    }

    /// The characters up to the next one that ends a token.
    pub(super) fn token(&mut self) -> &'a str {
        self.take_while(|c| !ends_token(c))
    }
}

/// Whether a byte is a character that is neither blank nor begins a comment.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b',' | b';')
}

/// Whitespace as Clojure sees it, commas included; also the no-break spaces and the byte order mark
/// that come with pasted text, which nobody means as part of a name.
pub(super) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\n' | ',' | '\t' | '\r' | '\u{1c}'..='\u{1f}' | '\u{feff}')
        || (!c.is_ascii() && c.is_whitespace())
        || matches!(c, '\u{b}' | '\u{c}')
}

/// Whether `c` ends the token before it. `'`, `#` and `%` do not: they may be part of a name.
pub(super) fn ends_token(c: char) -> bool {
    matches!(c, '(' | ')' | '[' | ']' | '{' | '}' | '"' | ';' | '@' | '^' | '`' | '~' | '\\') || is_blank(c)
}
