//! Values to JSON text. Keywords and symbols become strings, sets become arrays, and any key becomes text.

use std::fmt::Write;

use super::keys::{self, SameKey};
use crate::names::Names;
use crate::value::print::{self, Printer, Style};
use crate::value::walk::{EntryStep, Parts, Place, TooDeep, Visitor, WalkStep, walk};
use crate::value::{Value, ledger};

/// How to write.
#[derive(Clone, Copy, Debug)]
pub struct WriteOptions {
    /// Whether members are in the order of their keys; else they keep the map's order.
    pub sorted: bool,
    /// Whether to write one value per line, indented.
    pub pretty: bool,
    /// Most bytes of text.
    pub limit: usize,
    /// Most work for the digits of big integers.
    pub fuel: u64,
}

/// Why a value could not be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unwritable {
    /// JSON has no such value: where it is, and what it is.
    Value {
        /// The way to the value, `.key[0]`.
        path: String,
        /// What the value is.
        what: String,
    },
    /// Two keys of a map are one in JSON.
    SameKey {
        /// The way to the map, `.key[0]`.
        path: String,
        /// The keys.
        keys: SameKey,
    },
    /// It nests too deeply, or holds itself.
    TooDeep(TooDeep),
    /// The text became longer, or its digits more work, than allowed; the work.
    TooLong(usize),
}

/// The JSON text of a value without unrealised lazy sequences in it, and the work that its digits took.
pub fn write(value: &Value, names: &Names, options: &WriteOptions) -> Result<(String, usize), Unwritable> {
    let mut writer =
        JsonWriter { out: String::new(), names, options, depth: 0, work: 0, parts: 0, path: String::new() };
    match walk(value, &mut writer) {
        Ok(()) => Ok((writer.out, writer.work)),
        Err(WriteStop::TooLong) => Err(Unwritable::TooLong(writer.work)),
        Err(WriteStop::TooDeep(found)) => Err(Unwritable::TooDeep(found)),
        Err(WriteStop::Refused(what)) => Err(Unwritable::Value { path: writer.path, what }),
        Err(WriteStop::SameKey(keys)) => Err(Unwritable::SameKey { path: writer.path, keys }),
    }
}

struct JsonWriter<'a> {
    out: String,
    names: &'a Names,
    options: &'a WriteOptions,
    depth: usize,
    work: usize,
    /// Parts that were walked.
    parts: u64,
    /// The way to the value that was refused.
    path: String,
}

/// Why the writing ended early.
enum WriteStop {
    Refused(String),
    SameKey(SameKey),
    TooLong,
    TooDeep(TooDeep),
}

impl From<print::TooLong> for WriteStop {
    fn from(_: print::TooLong) -> WriteStop {
        WriteStop::TooLong
    }
}

/// What ends a collection, and whether it has had a part.
struct OpenCollection {
    end: char,
    filled: bool,
}

fn refused(value: &Value) -> WriteStop {
    WriteStop::Refused(format!("a {}", value.type_name()))
}

impl JsonWriter<'_> {
    /// The shortest digits that read back, always with a fraction.
    fn float(&mut self, float: f64) -> Result<(), WriteStop> {
        if !float.is_finite() {
            return Err(WriteStop::Refused("an infinite number or NaN".to_owned()));
        }
        let text = format!("{float:?}");
        match text.split_once('e') {
            Some((digits, exponent)) if !digits.contains('.') => {
                let _ = write!(self.out, "{digits}.0e{exponent}");
            }
            _ => self.out.push_str(&text),
        }
        Ok(())
    }

    fn string(&mut self, text: &str) -> Result<(), WriteStop> {
        // Before it is written: one text may be as long as everything there is.
        self.room(text.len())?;
        self.out.push('"');
        let mut plain = 0;
        for (at, byte) in text.bytes().enumerate() {
            let escape = match byte {
                b'"' => "\\\"",
                b'\\' => "\\\\",
                b'\n' => "\\n",
                b'\r' => "\\r",
                b'\t' => "\\t",
                0x8 => "\\b",
                0xc => "\\f",
                0..=0x1f => "",
                _ => continue,
            };
            self.out.push_str(&text[plain..at]);
            self.out.push_str(escape);
            if escape.is_empty() {
                let _ = write!(self.out, "\\u{byte:04x}");
            }
            self.room(text.len() - at)?;
            plain = at + 1;
        }
        self.out.push_str(&text[plain..]);
        self.out.push('"');
        Ok(())
    }

    /// Whether there is room for so many more bytes.
    fn room(&self, more: usize) -> Result<(), WriteStop> {
        match self.out.len().saturating_add(more) > self.options.limit {
            true => Err(WriteStop::TooLong),
            false => Ok(()),
        }
    }

    /// The text that `pr-str` makes of a value, as far as there is room and work left.
    fn printed(&mut self, value: &Value) -> Result<String, WriteStop> {
        let room = self.options.limit.saturating_sub(self.out.len());
        let fuel = self.options.fuel.saturating_sub(self.work as u64);
        let mut printer = Printer::new(self.names, Style::Readable, room).with_fuel(fuel);
        let done = printer.value(value);
        let (work, text) = (printer.work(), printer.finish());
        self.work = self.work.saturating_add(work);
        done?;
        Ok(text)
    }

    /// Begins a new line if the text is to be indented.
    fn line(&mut self) -> Result<(), WriteStop> {
        if self.options.pretty {
            self.room(2 * self.depth)?;
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n("  ", self.depth));
        }
        Ok(())
    }

    /// Begins a part.
    fn part(&mut self, open: &mut OpenCollection) -> Result<(), WriteStop> {
        if open.filled {
            self.out.push(',');
        }
        open.filled = true;
        self.line()
    }

    fn open(&mut self, begin: char, end: char) -> OpenCollection {
        self.out.push(begin);
        self.depth += 1;
        OpenCollection { end, filled: false }
    }

    fn object(&mut self, value: &Value) -> Result<WalkStep<OpenCollection>, WriteStop> {
        let Some(parts) = Parts::of(value) else { return Err(refused(value)) };
        let room = self.options.limit.saturating_sub(self.out.len());
        if let Some(keys) = SameKey::of(value, self.names, room) {
            return Err(WriteStop::SameKey(keys));
        }
        let parts = if self.options.sorted { Parts::members(self.members(value)?) } else { parts };
        Ok(WalkStep::Into(parts, self.open('{', '}')))
    }

    /// Members in the order of their keys, which are texts.
    fn members(&mut self, value: &Value) -> Result<Vec<(Value, Value)>, WriteStop> {
        let entries: Vec<(&Value, &Value)> = match value {
            Value::Map(body) => body.iter().collect(),
            Value::Sorted(body) => body.entries.iter().map(|(key, value)| (key, value)).collect(),
            _ => Vec::new(),
        };
        let mut members = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            members.push((self.key(key)?, value.clone()));
        }
        members.sort_by(|(a, _), (b, _)| a.as_str().cmp(&b.as_str()));
        Ok(members)
    }

    /// A key as a string.
    fn key(&mut self, key: &Value) -> Result<Value, WriteStop> {
        Ok(match (key, keys::text(key, self.names)) {
            (Value::Str(_), _) => key.clone(),
            (_, Some(text)) => Value::str(&text),
            (_, None) => Value::string(self.printed(key)?),
        })
    }
}

impl Visitor for JsonWriter<'_> {
    type Mark = OpenCollection;
    type Stop = WriteStop;

    fn enter(&mut self, value: &Value) -> Result<WalkStep<OpenCollection>, WriteStop> {
        self.room(0)?;
        self.parts += 1;
        if !ledger::lets_walk(self.parts) {
            return Err(WriteStop::TooLong);
        }
        match value {
            Value::Nil => self.out.push_str("null"),
            Value::Bool(flag) => self.out.push_str(if *flag { "true" } else { "false" }),
            Value::Int(int) => {
                // Writing to a string cannot fail.
                let _ = write!(self.out, "{int}");
            }
            Value::Decimal(exact) if exact.ratio().is_some() => self.float(exact.to_f64())?,
            Value::Big(_) | Value::Decimal(_) => {
                let digits = self.printed(value)?;
                self.out.push_str(digits.trim_end_matches('M'));
            }
            Value::Float(float) => self.float(*float)?,
            Value::Str(text) => self.string(text.as_str())?,
            Value::Time(time) => self.string(&time.json_text())?,
            Value::Kw(name) | Value::Sym(name) => {
                self.string(self.names.text(*name))?;
            }
            _ if value.is_map() => return self.object(value),
            Value::Cell(_) => return Err(refused(value)),
            _ => match Parts::of(value) {
                Some(parts) => return Ok(WalkStep::Into(parts, self.open('[', ']'))),
                None => return Err(refused(value)),
            },
        }
        Ok(WalkStep::Done)
    }

    fn item(&mut self, open: &mut OpenCollection, _: usize) -> Result<(), WriteStop> {
        self.part(open)
    }

    fn entry(&mut self, open: &mut OpenCollection, _: usize, key: &Value) -> Result<EntryStep, WriteStop> {
        self.part(open)?;
        match key {
            Value::Str(text) => self.string(text.as_str())?,
            Value::Kw(name) => self.string(self.names.text(*name))?,
            other => {
                let text = self.key(other)?;
                self.string(text.as_str().unwrap_or_default())?;
            }
        }
        self.out.push_str(if self.options.pretty { ": " } else { ":" });
        Ok(EntryStep::Value)
    }

    fn leave(&mut self, open: OpenCollection) -> Result<(), WriteStop> {
        self.depth -= 1;
        if open.filled {
            self.line()?;
        }
        self.out.push(open.end);
        Ok(())
    }

    fn too_deep(&mut self, _: OpenCollection, place: Place<'_>) -> Result<(), WriteStop> {
        Err(WriteStop::TooDeep(place.too_deep(self.names)))
    }

    fn stopped(&mut self, place: Place<'_>) {
        self.path = place.path(self.names);
    }
}
