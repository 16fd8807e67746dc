//! Strings, characters and regular expressions.

use super::cursor::{Cursor, ends_token};
use super::fault::{self, Failure};
use crate::span::Span;

/// Characters with a name, as `\newline` writes them.
pub(super) const CHARACTER_NAMES: [(&str, char); 6] = [
    ("newline", '\n'),
    ("space", ' '),
    ("tab", '\t'),
    ("return", '\r'),
    ("backspace", '\u{8}'),
    ("formfeed", '\u{c}'),
];

const MAX_OCTAL: u32 = 0o377;

/// The string whose opening quote was just read, at `start`; in `data` all escapes must be known.
pub(super) fn string(cursor: &mut Cursor<'_>, start: usize, data: bool) -> Result<String, Failure> {
    let mut text = String::new();
    loop {
        text.push_str(cursor.take_while(|c| c != '"' && c != '\\'));
        let escape = cursor.at();
        match cursor.bump() {
            Some('"') => return Ok(text),
            Some(_) => {
                let known = unescape(cursor, escape, &mut text)?;
                if data && !known {
                    return Err(fault::unknown_escape(Span::new(escape, cursor.at())));
                }
            }
            None => return Err(fault::unclosed_text("string", Span::new(start, start + 1), cursor.source())),
        }
    }
}

/// Reads what follows a backslash, and says whether it is an escape. One that Clojure does not know stays as it was
/// written, because models write `"\d"` for regexes and `"C:\dir"` for paths and mean just that.
fn unescape(cursor: &mut Cursor<'_>, start: usize, text: &mut String) -> Result<bool, Failure> {
    let Some(letter) = cursor.peek() else { return Ok(true) };
    let plain = match letter {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'b' => '\u{8}',
        'f' => '\u{c}',
        '\\' | '"' => letter,
        '0'..='7' => return octal_escape(cursor, start, text).map(|()| true),
        'u' => return unicode_escape(cursor, start, text),
        _ => {
            cursor.bump();
            text.extend(['\\', letter]);
            return Ok(false);
        }
    };
    cursor.bump();
    text.push(plain);
    Ok(true)
}

fn octal_escape(cursor: &mut Cursor<'_>, start: usize, text: &mut String) -> Result<(), Failure> {
    let digits = cursor.rest().bytes().take(3).take_while(|b| (b'0'..=b'7').contains(b)).count();
    let value = u32::from_str_radix(&cursor.rest()[..digits], 8).ok().filter(|value| *value <= MAX_OCTAL);
    cursor.skip_bytes(digits);
    let span = Span::new(start, cursor.at());
    text.push(value.and_then(char::from_u32).ok_or_else(|| fault::octal_too_large(span))?);
    Ok(())
}

fn unicode_escape(cursor: &mut Cursor<'_>, start: usize, text: &mut String) -> Result<bool, Failure> {
    let Some(unit) = hex_unit(&cursor.rest()[1..]) else {
        text.push('\\');
        return Ok(false);
    };
    cursor.skip_bytes(5);
    let mut code = unit;
    if (0xd800..0xdc00).contains(&unit) {
        let low = cursor.rest().strip_prefix("\\u").and_then(hex_unit);
        if let Some(low) = low.filter(|low| (0xdc00..0xe000).contains(low)) {
            cursor.skip_bytes(6);
            code = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
        }
    }
    let span = Span::new(start, cursor.at());
    text.push(char::from_u32(code).ok_or_else(|| fault::lone_surrogate(span))?);
    Ok(true)
}

/// The value of four hexadecimal digits at the start of `text`.
fn hex_unit(text: &str) -> Option<u32> {
    let digits = text.get(..4)?;
    digits.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
}

/// The source of the regex whose `#"` was just read, at `start`. Backslashes are for the regex engine,
/// so they stay; they only keep a quote from ending the text.
pub(super) fn regex(cursor: &mut Cursor<'_>, start: usize) -> Result<String, Failure> {
    let from = cursor.at();
    loop {
        cursor.take_while(|c| c != '"' && c != '\\');
        let end = cursor.at();
        match cursor.bump() {
            Some('"') => return Ok(cursor.source()[from..end].to_owned()),
            Some(_) => cursor.bump(),
            None => {
                return Err(fault::unclosed_text("regex", Span::new(start, start + 2), cursor.source()));
            }
        };
    }
}

/// The character whose backslash was just read, at `start`. The character after the backslash counts
/// whatever it is (`\(`); a name goes on until the token ends.
pub(super) fn character(cursor: &mut Cursor<'_>, start: usize) -> Result<String, Failure> {
    let from = cursor.at();
    let Some(first) = cursor.bump() else {
        return Err(fault::lone_backslash(Span::new(start, from)));
    };
    cursor.take_while(|c| !ends_token(c));
    let token = &cursor.source()[from..cursor.at()];
    let mut tail = token.chars();
    tail.next();
    let digits = tail.as_str();
    let found = match first {
        _ if digits.is_empty() => Some(first),
        'u' if digits.len() == 4 => hex_unit(digits).and_then(char::from_u32),
        'o' if digits.len() <= 3 && digits.bytes().all(|b| (b'0'..=b'7').contains(&b)) => {
            u32::from_str_radix(digits, 8).ok().filter(|code| *code <= MAX_OCTAL).and_then(char::from_u32)
        }
        _ => CHARACTER_NAMES.iter().find(|(name, _)| *name == token).map(|(_, c)| *c),
    };
    let span = Span::new(start, cursor.at());
    found.map(String::from).ok_or_else(|| fault::unknown_character(token, span))
}
