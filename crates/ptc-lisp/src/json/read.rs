//! JSON text to values.
//!
//! Objects mostly repeat the keys of an object that stood in the same place before, so the reader expects
//! those keys: as long as they come, no key is looked up, and the map shares its keys with the others. Even
//! blanks are mostly the same, so what stands between two values is first compared as a whole.

use std::borrow::Cow;

use super::scan::{Scanner, put};
use super::shapes::{Shapes, UNKNOWN};
use crate::error::{Error, ErrorKind};
use crate::interchange::Keys;
use crate::interrupt::Interrupt;
use crate::names::Names;
use crate::value::{MAX_DEPTH, Map, Text, Value};

/// How to read.
#[derive(Clone, Copy, Debug)]
pub struct ReadOptions<'a> {
    /// What the keys of objects become.
    pub keys: Keys,
    /// About how many bytes the value may take.
    pub room: usize,
    /// Who says whether to go on.
    pub interrupt: &'a Interrupt,
}

/// Why a text could not be read.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonFault {
    /// What happened.
    pub kind: FaultKind,
    /// Where, in bytes.
    pub at: usize,
}

impl JsonFault {
    /// The error for a fault of `text`.
    pub fn error(&self, text: &str) -> Error {
        let before = text.get(..self.at).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let (kind, message) = match &self.kind {
            FaultKind::Stopped(error) => return (**error).clone(),
            FaultKind::Syntax(expected) => {
                let message = format!("bad JSON at line {line}, column {column}: expected {expected}");
                (ErrorKind::Format, message)
            }
            FaultKind::TooDeep => {
                (ErrorKind::Format, format!("the JSON nests too deeply at line {line}, column {column}"))
            }
            FaultKind::TooLarge(bytes) => {
                (ErrorKind::MemoryExceeded, format!("the JSON takes more than {bytes} bytes"))
            }
        };
        Error::new(kind, message)
    }
}

/// What can happen to a text being read.
#[derive(Clone, Debug, PartialEq)]
pub enum FaultKind {
    /// It is not JSON; the text says what was expected.
    Syntax(&'static str),
    /// It nests too deeply.
    TooDeep,
    /// The value takes more than this many bytes.
    TooLarge(usize),
    /// The host does not want to wait for it.
    Stopped(Box<Error>),
}

/// The value that `text` spells, and about how many bytes it takes.
pub fn read(text: &str, options: &ReadOptions<'_>, names: &mut Names) -> Result<(Value, usize), JsonFault> {
    let mut reader = JsonReader {
        scan: Scanner::new(text),
        options,
        names,
        size: 0,
        look_at: Interrupt::STRETCH,
        values: Vec::new(),
        shapes: Shapes::default(),
        seen: [const { ("", Value::Nil) }; SEEN],
    };
    let value = reader.document()?;
    Ok((value, reader.size))
}

/// The lines of a text in which every line that is not blank spells a value.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim_matches([' ', '\t', '\r']).is_empty())
}

struct JsonReader<'a> {
    scan: Scanner<'a>,
    options: &'a ReadOptions<'a>,
    names: &'a mut Names,
    size: usize,
    /// Where in the text to ask next whether to go on.
    look_at: usize,
    /// Values of arrays and objects that are not closed yet, the latest value last.
    values: Vec<Value>,
    shapes: Shapes,
    /// Keys seen before, each at the place its text gives it.
    seen: [(&'a str, Value); SEEN],
}

const SEEN: usize = 64;
/// What the reader itself may take, however little room there is.
const SMALL: usize = 1 << 12;

/// An array or object that is not closed yet. The place says where it stands, for the keys to expect.
enum OpenContainer {
    /// An array; its items are the values from `start`.
    Array { start: usize, place: u32 },
    /// An object with the keys of a shape so far; its values are those from `start`.
    Row { start: usize, place: u32, shape: u32 },
    /// An object with keys of its own, and the key whose value comes next.
    Object { map: Map, key: Value, place: u32 },
}

/// A new place on top of a stack.
#[inline(always)]
fn top(stack: &mut Vec<Value>) -> &mut Value {
    let at = stack.len();
    stack.push(Value::Nil);
    &mut stack[at]
}

impl<'a> JsonReader<'a> {
    /// Counts memory.
    fn takes(&mut self, bytes: usize) -> Result<(), JsonFault> {
        self.size = self.size.saturating_add(bytes);
        if self.size > self.options.room { self.scan.fault(FaultKind::TooLarge(self.size)) } else { Ok(()) }
    }

    /// Makes room for values of what is not closed yet: as many again, if they fit.
    #[cold]
    fn make_room(&mut self) -> Result<(), JsonFault> {
        let more = self.values.len().max(16);
        let bytes = (self.values.len() + more) * size_of::<Value>();
        if self.size.saturating_add(bytes) > self.options.room.max(SMALL) {
            return self.scan.fault(FaultKind::TooLarge(self.size.saturating_add(bytes)));
        }
        self.values.reserve_exact(more);
        Ok(())
    }

    /// Asks whether to go on.
    #[cold]
    fn look(&mut self) -> Result<(), JsonFault> {
        self.look_at = self.scan.at + Interrupt::STRETCH;
        let stopped = |error| JsonFault { kind: FaultKind::Stopped(Box::new(error)), at: self.scan.at };
        self.options.interrupt.check().map_err(stopped)
    }

    /// One value and nothing after it.
    fn document(&mut self) -> Result<Value, JsonFault> {
        let mut open: Vec<OpenContainer> = Vec::new();
        let mut place = 0;
        loop {
            self.scan.skip_space();
            if self.values.len() == self.values.capacity() {
                self.make_room()?;
            }
            if self.scan.at >= self.look_at {
                self.look()?;
            }
            match self.scan.peek() {
                b'"' => self.text()?,
                b'-' | b'0'..=b'9' => self.scan.number(top(&mut self.values))?,
                byte @ (b'[' | b'{') => {
                    self.scan.at += 1;
                    let opened = match byte {
                        b'[' => self.open_array(&mut open, place),
                        _ => self.open_object(&mut open, place)?,
                    };
                    if open.len() >= usize::from(MAX_DEPTH) {
                        return self.scan.fault(FaultKind::TooDeep);
                    }
                    if let Some(next) = opened {
                        place = next;
                        continue;
                    }
                }
                _ => self.scan.word(top(&mut self.values))?,
            }
            // What the value completes is the value then.
            loop {
                let Some(innermost) = open.last_mut() else { return self.end() };
                match self.after_value(innermost)? {
                    Some(next) => {
                        place = next;
                        break;
                    }
                    None => self.close(open.pop())?,
                }
            }
        }
    }

    /// The only value that is left, if nothing comes after it.
    fn end(&mut self) -> Result<Value, JsonFault> {
        self.scan.skip_space();
        if self.scan.at < self.scan.bytes.len() {
            return self.scan.syntax("the end of the text");
        }
        Ok(self.values.pop().unwrap_or_default())
    }

    /// Opens an array after its bracket: the place of its items, or nothing if it is empty and so a value.
    fn open_array(&mut self, open: &mut Vec<OpenContainer>, place: u32) -> Option<u32> {
        self.scan.skip_space();
        if self.scan.eat(b']') {
            self.values.push(Value::vector(Vec::new()));
            return None;
        }
        open.push(OpenContainer::Array { start: self.values.len(), place });
        Some(place)
    }

    /// Opens an object after its brace: the place of its first value, or nothing if it is empty and so a value.
    fn open_object(&mut self, open: &mut Vec<OpenContainer>, place: u32) -> Result<Option<u32>, JsonFault> {
        let (shape, start, from) = (self.shapes.expected(place), self.values.len(), self.scan.at);
        if self.scan.eat_joint(self.shapes.joint(shape, 0)) {
            open.push(OpenContainer::Row { start, place, shape });
            return Ok(Some(self.shapes.place(shape, 0)));
        }
        self.scan.skip_space();
        if self.scan.eat(b'}') {
            self.values.push(Value::map_of([]));
            return Ok(None);
        }
        if self.expect_key(shape, 0, from) {
            open.push(OpenContainer::Row { start, place, shape });
            return Ok(Some(self.shapes.place(shape, 0)));
        }
        let (map, key) = (Map::with_capacity(4), self.key()?);
        open.push(OpenContainer::Object { map, key, place });
        Ok(Some(UNKNOWN))
    }

    /// Goes past the key of a shape and its colon, if that is what comes, and takes note of how all this is
    /// written from `from` on.
    fn expect_key(&mut self, shape: u32, at: usize, from: usize) -> bool {
        let back = self.scan.at;
        if let Some(key) = self.shapes.key_text(shape, at)
            && self.scan.eat_all(key)
        {
            self.scan.skip_space();
            if self.scan.eat(b':') {
                self.scan.skip_space();
                self.shapes.learn(shape, at, &self.scan.bytes[from..self.scan.at]);
                return true;
            }
        }
        self.scan.at = back;
        false
    }

    /// Reads what comes after a value, comma and key: the place of the next value, or nothing if there is a
    /// closing bracket.
    #[inline]
    fn after_value(&mut self, innermost: &mut OpenContainer) -> Result<Option<u32>, JsonFault> {
        match innermost {
            OpenContainer::Array { place, .. } => {
                self.scan.skip_space();
                if self.scan.eat(b',') {
                    return Ok(Some(*place));
                }
                if self.scan.eat(b']') { Ok(None) } else { self.scan.syntax("`,` or `]`") }
            }
            OpenContainer::Row { start, place, shape } => {
                let (at, from) = (self.values.len() - *start, self.scan.at);
                if self.scan.eat_joint(self.shapes.joint(*shape, at)) {
                    return Ok(Some(self.shapes.place(*shape, at)));
                }
                self.scan.skip_space();
                if self.scan.eat(b',') {
                    self.scan.skip_space();
                    if self.expect_key(*shape, at, from) {
                        return Ok(Some(self.shapes.place(*shape, at)));
                    }
                    let keys = self.shapes.keys(*shape).iter().cloned();
                    let map = keys.zip(self.values.drain(*start..)).collect();
                    *innermost = OpenContainer::Object { map, key: self.key()?, place: *place };
                    return Ok(Some(UNKNOWN));
                }
                if self.scan.eat(b'}') { Ok(None) } else { self.scan.syntax("`,` or `}`") }
            }
            OpenContainer::Object { map, key, .. } => {
                let (added, value) = (std::mem::take(key), self.values.pop().unwrap_or_default());
                // Of two members with the same key the last one counts, as in Python and JavaScript.
                map.insert(added, value);
                self.scan.skip_space();
                if self.scan.eat(b',') {
                    self.scan.skip_space();
                    *key = self.key()?;
                    return Ok(Some(UNKNOWN));
                }
                if self.scan.eat(b'}') { Ok(None) } else { self.scan.syntax("`,` or `}`") }
            }
        }
    }

    /// Puts the value of an array or object that is complete where its parts were.
    fn close(&mut self, closed: Option<OpenContainer>) -> Result<(), JsonFault> {
        match closed {
            Some(OpenContainer::Array { start, .. }) => {
                let items: Vec<Value> = self.values.drain(start..).collect();
                self.takes(80 + items.len() * size_of::<Value>())?;
                self.values.push(Value::vector(items));
            }
            Some(OpenContainer::Row { start, place, shape }) => {
                let count = self.values.len() - start;
                if count < self.shapes.keys(shape).len() {
                    // The object ended before the shape did: it has a shape of its own.
                    let keys = self.shapes.keys(shape)[..count].iter().cloned();
                    let map = keys.zip(self.values.drain(start..)).collect();
                    return self.object(map, place);
                }
                self.takes(Map::bytes_for(count))?;
                self.shapes.expect(place, shape);
                let row = Map::row_of_last(self.shapes.layout(shape).clone(), &mut self.values);
                put(top(&mut self.values), Value::Map(row.unwrap_or_default()));
            }
            Some(OpenContainer::Object { map, place, .. }) => self.object(map, place)?,
            None => {}
        }
        Ok(())
    }

    fn object(&mut self, mut map: Map, place: u32) -> Result<(), JsonFault> {
        self.takes(map.bytes())?;
        if let Some(shape) = self.shapes.of(&map, self.names) {
            map.share_keys(self.shapes.layout(shape));
            self.shapes.expect(place, shape);
        } else {
            self.takes(map.layout().map_or(0, |layout| layout.bytes()))?;
        }
        self.values.push(Value::Map(map));
        Ok(())
    }

    fn text(&mut self) -> Result<(), JsonFault> {
        self.scan.at += 1;
        let text = self.scan.string()?;
        if text.len() > 14 {
            self.takes(text.len() + 40)?;
        }
        let place = top(&mut self.values);
        match (Text::short(&text), text) {
            (Some(short), _) => put(place, Value::Str(short)),
            (None, text) => put(place, Value::string(text.into_owned())),
        }
        Ok(())
    }

    /// A member's key and its colon.
    fn key(&mut self) -> Result<Value, JsonFault> {
        if !self.scan.eat(b'"') {
            return self.scan.syntax("a key in double quotes");
        }
        let key = match self.scan.string()? {
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
        self.scan.skip_space();
        if self.scan.eat(b':') { Ok(key) } else { self.scan.syntax("`:` after a key") }
    }

    /// A key that was not seen before.
    fn named(&mut self, text: &str) -> Result<Value, JsonFault> {
        let before = self.names.bytes();
        let key = match self.options.keys {
            Keys::Strings => Value::str(text),
            Keys::Names if text.contains('/') => Value::str(text),
            Keys::Keywords | Keys::Names => Value::Kw(self.names.intern(text)),
        };
        self.takes(text.len() + self.names.bytes() - before)?;
        Ok(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, keys: Keys) -> String {
        let mut names = Names::default();
        let interrupt = Interrupt::default();
        let options = ReadOptions { keys, room: 1 << 20, interrupt: &interrupt };
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
            ("-0", "-0.0"),
            ("[-0.0, -0, 0]", "[-0.0 -0.0 0]"),
            ("12345678901234567890", "12345678901234567890"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("[1,[],{},[ 2 , \"x\"]]", "[1 [] {} [2 \"x\"]]"),
            ("{\"a\":1, \"b\":[true,false,null]}", "{\"a\" 1, \"b\" [true false nil]}"),
            ("{\"a\":1,\"a\":2}", "{\"a\" 2}"),
            // Objects that begin like the ones before.
            (
                r#"[{"a":1,"b":2},{"a":3,"b":4},{"a":5},{"a":6,"b":7,"c":8},{"a":9,"c":1},{"b" : 2 , "a" : 3},{"a":4,"a":5},{}]"#,
                r#"[{"a" 1, "b" 2} {"a" 3, "b" 4} {"a" 5} {"a" 6, "b" 7, "c" 8} {"a" 9, "c" 1} {"b" 2, "a" 3} {"a" 5} {}]"#,
            ),
            (r#"[{"x\ty":1},{"x\ty":2},{"x\u0079":3}]"#, r#"[{"x\ty" 1} {"x\ty" 2} {"xy" 3}]"#),
            (
                r#"{"p":{"k":{"a":1}},"q":[{"k":{"a":2}},{"k":{"b":3}},{"k":[{"a":4}]}]}"#,
                r#"{"p" {"k" {"a" 1}}, "q" [{"k" {"a" 2}} {"k" {"b" 3}} {"k" [{"a" 4}]}]}"#,
            ),
            (r#""\u00e9\n\ud83d\ude00\"\/\\""#, "\"é\\n😀\\\"/\\\\\""),
            (r#""a\ud83dz""#, "\"a\u{fffd}z\""),
        ];
        for (text, expected) in cases {
            assert_eq!(shown(text, Keys::Strings), expected, "{text}");
        }
        assert_eq!(shown("{\"a b\":{\"n/x\":1}}", Keys::Keywords), r#"{"a b" {:n/x 1}}"#);
        assert_eq!(shown("{\"a b\":{\"n/x\":1}}", Keys::Names), r#"{"a b" {"n/x" 1}}"#);
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
