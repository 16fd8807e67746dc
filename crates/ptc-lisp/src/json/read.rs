//! JSON text to values.

use std::borrow::Cow;

use num_bigint::BigInt;

use crate::interchange::Keys;
use crate::names::Names;
use crate::value::{MAX_DEPTH, Table, Value};

/// How to read.
#[derive(Clone, Copy, Debug)]
pub struct ReadOptions {
    /// What the keys of objects become.
    pub keys: Keys,
    /// Which of two members with the same key counts.
    pub duplicates: Duplicates,
    /// About how many bytes the value may take.
    pub room: usize,
}

/// Which of two members with the same key counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicates {
    /// The first.
    First,
    /// The last.
    Last,
}

/// Why a text could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What happened.
    pub kind: FaultKind,
    /// Where, in bytes.
    pub at: usize,
}

/// What can happen to a text being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// It is not JSON; the text says what was expected.
    Syntax(&'static str),
    /// It nests too deeply.
    TooDeep,
    /// The value takes more than this many bytes.
    TooLarge(usize),
}

/// Longest integer that is read exactly; reading takes quadratic time in its digits.
const MAX_DIGITS: usize = 10_000;

/// The value that `text` spells, and about how many bytes it takes.
pub fn read(text: &str, options: &ReadOptions, names: &mut Names) -> Result<(Value, usize), Fault> {
    let seen = [const { ("", Value::Nil) }; SEEN];
    let mut reader =
        Reader { text, bytes: text.as_bytes(), at: 0, options, names, size: 0, seen, members: 0 };
    let value = reader.document()?;
    Ok((value, reader.size))
}

/// The lines of a text in which every line that is not blank spells a value.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim_matches([' ', '\t', '\r']).is_empty())
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    options: &'a ReadOptions,
    names: &'a mut Names,
    size: usize,
    /// Keys seen before, each at the place its text gives it: most objects repeat them.
    seen: [(&'a str, Value); SEEN],
    /// How many members the last object had: the next one is likely to have as many.
    members: usize,
}

const SEEN: usize = 64;

/// An array or object that is not closed yet.
enum Open {
    Array(Vec<Value>),
    Object(Table<Value>, Value),
}

impl<'a> Reader<'a> {
    fn fault<T>(&self, kind: FaultKind) -> Result<T, Fault> {
        Err(Fault { kind, at: self.at })
    }

    fn syntax<T>(&self, expected: &'static str) -> Result<T, Fault> {
        self.fault(FaultKind::Syntax(expected))
    }

    /// Counts memory.
    fn takes(&mut self, bytes: usize) -> Result<(), Fault> {
        self.size = self.size.saturating_add(bytes);
        if self.size > self.options.room { self.fault(FaultKind::TooLarge(self.size)) } else { Ok(()) }
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let there = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(there);
        there
    }

    /// One value and nothing after it.
    fn document(&mut self) -> Result<Value, Fault> {
        let mut open: Vec<Open> = Vec::new();
        loop {
            self.skip_space();
            let mut value = match self.bytes.get(self.at) {
                Some(b'[') => {
                    self.at += 1;
                    self.skip_space();
                    if self.eat(b']') {
                        self.array(Vec::new())?
                    } else {
                        self.nest(&mut open, Open::Array(Vec::new()))?;
                        continue;
                    }
                }
                Some(b'{') => {
                    self.at += 1;
                    self.skip_space();
                    if self.eat(b'}') {
                        self.object(Table::default())?
                    } else {
                        let key = self.key()?;
                        let table = Table::with_capacity(self.members);
                        self.nest(&mut open, Open::Object(table, key))?;
                        continue;
                    }
                }
                _ => self.scalar()?,
            };
            // The value goes into what is open; what that closes goes on as the value.
            loop {
                match self.close(&mut open, value)? {
                    Closing::Done(whole) => return Ok(whole),
                    Closing::Closed(whole) => value = whole,
                    Closing::More => break,
                }
            }
        }
    }

    fn nest(&self, open: &mut Vec<Open>, new: Open) -> Result<(), Fault> {
        if open.len() + 1 >= usize::from(MAX_DEPTH) {
            return self.fault(FaultKind::TooDeep);
        }
        open.push(new);
        Ok(())
    }

    /// Puts a value where it belongs and reads the comma or bracket after it.
    fn close(&mut self, open: &mut Vec<Open>, value: Value) -> Result<Closing, Fault> {
        self.skip_space();
        let Some(innermost) = open.last_mut() else {
            return if self.at == self.bytes.len() {
                Ok(Closing::Done(value))
            } else {
                self.syntax("the end of the text")
            };
        };
        match innermost {
            Open::Array(items) => {
                items.push(value);
                if self.eat(b',') {
                    return Ok(Closing::More);
                }
                if !self.eat(b']') {
                    return self.syntax("`,` or `]`");
                }
            }
            Open::Object(table, key) => {
                let key = std::mem::take(key);
                match table.insert(key.clone(), value) {
                    Some(first) if self.options.duplicates == Duplicates::First => {
                        table.insert(key, first);
                    }
                    _ => {}
                }
                if self.eat(b',') {
                    self.skip_space();
                    let next = self.key()?;
                    if let Some(Open::Object(_, key)) = open.last_mut() {
                        *key = next;
                    }
                    return Ok(Closing::More);
                }
                if !self.eat(b'}') {
                    return self.syntax("`,` or `}`");
                }
            }
        }
        Ok(Closing::Closed(match open.pop() {
            Some(Open::Array(items)) => self.array(items)?,
            Some(Open::Object(table, _)) => self.object(table)?,
            None => Value::Nil,
        }))
    }

    fn array(&mut self, mut items: Vec<Value>) -> Result<Value, Fault> {
        items.shrink_to_fit();
        self.takes(80 + items.len() * size_of::<Value>())?;
        Ok(Value::vector(items))
    }

    fn object(&mut self, table: Table<Value>) -> Result<Value, Fault> {
        self.takes(128 + table.bytes())?;
        self.members = table.len().min(64);
        Ok(Value::map(table))
    }

    /// A member's key and its colon.
    fn key(&mut self) -> Result<Value, Fault> {
        if !self.eat(b'"') {
            return self.syntax("a key in double quotes");
        }
        let key = match self.string()? {
            Cow::Borrowed(text) => {
                let bytes = text.as_bytes();
                let ends =
                    bytes.first().zip(bytes.last()).map_or(0, |(a, b)| usize::from(*a) * 7 + usize::from(*b));
                let place = (text.len() * 31 + ends) % SEEN;
                if self.seen[place].0 != text || text.is_empty() {
                    self.seen[place] = (text, self.named(text)?);
                }
                self.seen[place].1.clone()
            }
            Cow::Owned(text) => self.named(&text)?,
        };
        self.skip_space();
        if self.eat(b':') { Ok(key) } else { self.syntax("`:` after a key") }
    }

    /// A key that was not seen before.
    fn named(&mut self, text: &str) -> Result<Value, Fault> {
        let before = self.names.bytes();
        let key = match self.options.keys {
            Keys::Strings => Value::str(text),
            Keys::Keywords => Value::Kw(self.names.intern(text)),
        };
        self.takes(text.len() + self.names.bytes() - before)?;
        Ok(key)
    }

    fn scalar(&mut self) -> Result<Value, Fault> {
        match self.bytes.get(self.at) {
            Some(b'"') => {
                self.at += 1;
                let text = self.string()?;
                self.takes(if text.len() > 14 { text.len() + 40 } else { 0 })?;
                Ok(match text {
                    Cow::Borrowed(text) => Value::str(text),
                    Cow::Owned(text) => Value::string(text),
                })
            }
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Nil),
            _ => self.syntax("a value"),
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, Fault> {
        if !self.text[self.at..].starts_with(word) {
            return self.syntax("a value");
        }
        self.at += word.len();
        Ok(value)
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> Result<Value, Fault> {
        let start = self.at;
        self.eat(b'-');
        let first = self.at;
        let count = self.digits();
        if count == 0 || (count > 1 && self.bytes[first] == b'0') {
            return self.syntax("a number without leading zeros");
        }
        let mut is_float = false;
        if self.eat(b'.') {
            is_float = true;
            if self.digits() == 0 {
                return self.syntax("digits after the point");
            }
        }
        if self.eat(b'e') || self.eat(b'E') {
            is_float = true;
            let _ = self.eat(b'+') || self.eat(b'-');
            if self.digits() == 0 {
                return self.syntax("digits of the exponent");
            }
        }
        let text = &self.text[start..self.at];
        if is_float {
            return match text.parse::<f64>() {
                Ok(float) if float.is_finite() => Ok(Value::Float(float)),
                _ => self.syntax("a number that fits a float"),
            };
        }
        if let Ok(int) = text.parse::<i64>() {
            return Ok(Value::Int(int));
        }
        if count > MAX_DIGITS {
            return self.syntax("at most 10000 digits");
        }
        self.takes(count)?;
        Ok(text.parse::<BigInt>().map_or(Value::Nil, Value::big))
    }

    /// A string after its opening quote.
    fn string(&mut self) -> Result<Cow<'a, str>, Fault> {
        let start = self.at;
        match self.plain() {
            Some(b'"') => {
                self.at += 1;
                Ok(Cow::Borrowed(&self.text[start..self.at - 1]))
            }
            Some(b'\\') => self.escaped(start).map(Cow::Owned),
            Some(_) => self.syntax("no control characters inside a string; write them as escapes"),
            None => self.syntax("a closing quote"),
        }
    }

    /// Goes to the next byte of a string that is not plain text.
    fn plain(&mut self) -> Option<u8> {
        let rest = &self.bytes[self.at..];
        let skip = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f));
        self.at += skip.unwrap_or(rest.len());
        self.bytes.get(self.at).copied()
    }

    fn escaped(&mut self, start: usize) -> Result<String, Fault> {
        let mut out = self.text[start..self.at].to_owned();
        loop {
            let from = self.at;
            match self.plain() {
                Some(b'"') => {
                    out.push_str(&self.text[from..self.at]);
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    out.push_str(&self.text[from..self.at]);
                    self.at += 1;
                    let c = self.escape()?;
                    out.push(c);
                }
                Some(_) => {
                    return self.syntax("no control characters inside a string; write them as escapes");
                }
                None => return self.syntax("a closing quote"),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Fault> {
        let Some(byte) = self.bytes.get(self.at) else { return self.syntax("a closing quote") };
        self.at += 1;
        Ok(match byte {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode(),
            _ => return self.syntax("an escape such as \\n or \\u00e9"),
        })
    }

    /// `\u` with four digits; two of them may make one character. Half a pair becomes U+FFFD.
    fn unicode(&mut self) -> Result<char, Fault> {
        let unit = self.hex()?;
        if !(0xd800..0xdc00).contains(&unit) {
            return Ok(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        let back = self.at;
        if self.eat(b'\\') && self.eat(b'u') {
            let low = self.hex()?;
            if (0xdc00..0xe000).contains(&low) {
                let code = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
        }
        self.at = back;
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn hex(&mut self) -> Result<u32, Fault> {
        let digits =
            self.text.get(self.at..self.at + 4).filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()));
        let Some(code) = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()) else {
            return self.syntax("four hexadecimal digits after \\u");
        };
        self.at += 4;
        Ok(code)
    }
}

/// What a value that was put in its place leads to.
enum Closing {
    /// The document ends with this value.
    Done(Value),
    /// It closed what was open, which is a value now.
    Closed(Value),
    /// More values follow.
    More,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, keys: Keys) -> String {
        let mut names = Names::default();
        let options = ReadOptions { keys, duplicates: Duplicates::First, room: 1 << 20 };
        match read(text, &options, &mut names) {
            Ok((value, _)) => crate::value::print::pr_str(&value, &names),
            Err(fault) => match fault.kind {
                FaultKind::Syntax(expected) => format!("{}: {expected}", fault.at),
                kind => format!("{}: {kind:?}", fault.at),
            },
        }
    }

    #[test]
    fn json_becomes_values() {
        let cases = [
            ("1", "1"),
            (" -0.5e2 ", "-50.0"),
            ("-0", "0"),
            ("12345678901234567890", "12345678901234567890"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("[1,[],{},[ 2 , \"x\"]]", "[1 [] {} [2 \"x\"]]"),
            ("{\"a\":1, \"b\":[true,false,null]}", "{\"a\" 1, \"b\" [true false nil]}"),
            ("{\"a\":1,\"a\":2}", "{\"a\" 1}"),
            (r#""\u00e9\n\ud83d\ude00\"\/\\""#, "\"é\\n😀\\\"/\\\\\""),
            (r#""a\ud83dz""#, "\"a\u{fffd}z\""),
        ];
        for (text, expected) in cases {
            assert_eq!(shown(text, Keys::Strings), expected, "{text}");
        }
        assert_eq!(shown("{\"a b\":{\"n/x\":1}}", Keys::Keywords), "{:a b {:n/x 1}}");
    }

    #[test]
    fn what_is_not_json_is_refused_where_it_goes_wrong() {
        let cases = [
            ("", "0: a value"),
            ("1 2", "2: the end of the text"),
            ("[1,]", "3: a value"),
            ("[1 2]", "3: `,` or `]`"),
            ("{a:1}", "1: a key in double quotes"),
            ("{\"a\" 1}", "5: `:` after a key"),
            ("{\"a\":1,}", "7: a key in double quotes"),
            ("'a'", "0: a value"),
            ("nul", "0: a value"),
            ("01", "2: a number without leading zeros"),
            ("1.", "2: digits after the point"),
            ("1e400", "5: a number that fits a float"),
            ("\"a", "2: a closing quote"),
            ("\"a\nb\"", "2: no control characters inside a string; write them as escapes"),
            (r#""\x""#, "3: an escape such as \\n or \\u00e9"),
        ];
        for (text, expected) in cases {
            assert_eq!(shown(text, Keys::Strings), expected, "{text}");
        }
        let deep = "[".repeat(100_000);
        assert!(shown(&deep, Keys::Strings).ends_with("TooDeep"));
        let large = format!("[{}1]", "[],".repeat(100_000));
        assert!(shown(&large, Keys::Strings).contains("TooLarge"));
    }
}
