//! Values to JSON text.

use std::borrow::Cow;
use std::fmt::Write;

use crate::names::Names;
use crate::value::print::pr_str;
use crate::value::{Items, Value};

/// How to write.
#[derive(Clone, Copy, Debug)]
pub struct WriteOptions {
    /// Whether members are in the order of their keys; else they keep the map's order.
    pub sorted: bool,
    /// Whether keywords and symbols become strings, sets become arrays, and any key becomes text.
    /// Otherwise they are refused, except keywords as keys.
    pub lenient: bool,
    /// Whether to write one value per line, indented.
    pub pretty: bool,
    /// Most bytes of text.
    pub limit: usize,
}

/// Why a value could not be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unwritable {
    /// JSON has no such value: where it is, and what it is.
    Value {
        /// The way to the value, innermost step first.
        path: Vec<String>,
        /// What the value is.
        what: String,
    },
    /// The text became longer than allowed.
    TooLong,
}

/// The JSON text of a value without unrealised lazy sequences in it.
pub fn write(value: &Value, names: &Names, options: &WriteOptions) -> Result<String, Unwritable> {
    let mut writer = Writer { out: String::new(), names, options, depth: 0 };
    writer.value(value)?;
    Ok(writer.out)
}

struct Writer<'a> {
    out: String,
    names: &'a Names,
    options: &'a WriteOptions,
    depth: usize,
}

fn refused(value: &Value, what: &str) -> Unwritable {
    let what = if what.is_empty() { format!("a {}", value.type_name()) } else { what.to_owned() };
    Unwritable::Value { path: Vec::new(), what }
}

impl<'a> Writer<'a> {
    fn value(&mut self, value: &Value) -> Result<(), Unwritable> {
        // Before it is written: one text may be as long as everything there is.
        let more = value.as_str().map_or(0, str::len);
        if self.out.len().saturating_add(more) > self.options.limit {
            return Err(Unwritable::TooLong);
        }
        match value {
            Value::Nil => self.out.push_str("null"),
            Value::Bool(flag) => self.out.push_str(if *flag { "true" } else { "false" }),
            Value::Int(int) => {
                // Writing to a string cannot fail.
                let _ = write!(self.out, "{int}");
            }
            Value::Big(int) => self.out.push_str(&int.to_string()),
            Value::Float(float) if float.is_finite() => self.float(*float),
            Value::Float(_) => return Err(refused(value, "an infinite number or NaN")),
            Value::Str(text) => self.string(text.as_str()),
            Value::Time(time) => self.string(&time.to_string()),
            Value::Kw(name) | Value::Sym(name) if self.options.lenient => {
                let text = self.names.text(*name).to_owned();
                self.string(&text);
            }
            Value::Map(body) => return self.object(body.iter()),
            Value::Sorted(body) if !body.is_set => {
                return self.object(body.entries.iter().map(|(key, value)| (key, value)));
            }
            Value::Set(_) | Value::Sorted(_) if !self.options.lenient => return Err(refused(value, "")),
            _ => return self.array(value),
        }
        Ok(())
    }

    /// The shortest digits that read back, always with a fraction.
    fn float(&mut self, float: f64) {
        let text = format!("{float:?}");
        match text.split_once('e') {
            Some((digits, exponent)) if !digits.contains('.') => {
                let _ = write!(self.out, "{digits}.0e{exponent}");
            }
            _ => self.out.push_str(&text),
        }
    }

    fn string(&mut self, text: &str) {
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
            plain = at + 1;
        }
        self.out.push_str(&text[plain..]);
        self.out.push('"');
    }

    /// Begins a new line if the text is to be indented.
    fn line(&mut self) {
        if self.options.pretty {
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n("  ", self.depth));
        }
    }

    fn array(&mut self, value: &Value) -> Result<(), Unwritable> {
        let items = if value.is_sequential() || matches!(value, Value::Set(_) | Value::Sorted(_)) {
            Items::over(value)
        } else {
            None
        };
        let Some(mut items) = items else { return Err(refused(value, "")) };
        self.out.push('[');
        self.depth += 1;
        let mut count = 0usize;
        while let Ok(Some(item)) = items.next() {
            if count > 0 {
                self.out.push(',');
            }
            self.line();
            self.value(&item).map_err(|fault| fault.inside(|| format!("[{count}]")))?;
            count += 1;
        }
        self.depth -= 1;
        if count > 0 {
            self.line();
        }
        self.out.push(']');
        Ok(())
    }

    fn object<'v>(&mut self, entries: impl Iterator<Item = (&'v Value, &'v Value)>) -> Result<(), Unwritable>
    where
        'a: 'v,
    {
        let mut members = Vec::with_capacity(entries.size_hint().0);
        for (key, value) in entries {
            members.push((key_text(key, self.names, self.options.lenient)?, value));
        }
        if self.options.sorted {
            members.sort_by(|(a, _), (b, _)| a.cmp(b));
            if let Some(pair) = members.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                let what = format!("a map with two keys that are both \"{}\" in JSON", pair[0].0);
                return Err(Unwritable::Value { path: Vec::new(), what });
            }
        }
        self.out.push('{');
        self.depth += 1;
        for (at, (key, value)) in members.iter().enumerate() {
            if at > 0 {
                self.out.push(',');
            }
            self.line();
            self.string(key);
            self.out.push_str(if self.options.pretty { ": " } else { ":" });
            self.value(value).map_err(|fault| fault.inside(|| format!(".{key}")))?;
        }
        self.depth -= 1;
        if !members.is_empty() {
            self.line();
        }
        self.out.push('}');
        Ok(())
    }
}

/// The text of a key.
fn key_text<'v>(key: &'v Value, names: &'v Names, lenient: bool) -> Result<Cow<'v, str>, Unwritable> {
    Ok(match key {
        Value::Str(text) => text.as_str().into(),
        Value::Kw(name) => names.text(*name).into(),
        Value::Int(int) => int.to_string().into(),
        Value::Big(int) => int.to_string().into(),
        Value::Sym(name) if lenient => names.text(*name).into(),
        Value::Time(time) if lenient => time.to_string().into(),
        _ if lenient => pr_str(key, names).into(),
        _ => return Err(refused(key, &format!("a {} as a key", key.type_name()))),
    })
}

impl Unwritable {
    /// Adds a step of the way to the value.
    fn inside(mut self, step: impl Fn() -> String) -> Unwritable {
        if let Unwritable::Value { path, .. } = &mut self {
            path.push(step());
        }
        self
    }
}
