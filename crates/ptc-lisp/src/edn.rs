//! EDN: forms of the reader as values.
//!
//! What the reader knows as code (`'x`, `@x`) becomes the list that Clojure's reader would give; what
//! cannot be data is refused. The reader bounds the nesting, so this module may recurse.

use jiff::civil::{Date, Time as Clock};
use jiff::{SignedDuration, Timestamp};

use crate::error::{Error, ErrorKind, excerpt};
use crate::heap::Heap;
use crate::syntax::{Form, FormKind};
use crate::value::{Map, Table, Time, Value};

/// The value that a form spells. Only the tags `#inst` and `#uuid` are known.
pub fn value_of(form: &Form, heap: &mut Heap) -> Result<Value, Error> {
    Conversion { heap, kept: &|_| false }.value(form)
}

/// The value that a form spells, where a tag that `kept` chooses becomes `(reduced [tag value])`: a mark
/// that no data holds, for the core library to replace by what the program's reader function gives.
pub fn value_with_tags(form: &Form, heap: &mut Heap, kept: &dyn Fn(&str) -> bool) -> Result<Value, Error> {
    Conversion { heap, kept }.value(form)
}

struct Conversion<'a> {
    heap: &'a mut Heap,
    kept: &'a dyn Fn(&str) -> bool,
}

impl Conversion<'_> {
    fn value(&mut self, form: &Form) -> Result<Value, Error> {
        let value = self.bare_value(form)?;
        form.meta.iter().rev().try_fold(value, |value, meta| self.with_meta(value, meta))
    }

    fn bare_value(&mut self, form: &Form) -> Result<Value, Error> {
        self.heap.allocated(size_of::<Value>() * 4);
        Ok(match &form.kind {
            FormKind::Nil => Value::Nil,
            FormKind::Bool(flag) => Value::Bool(*flag),
            FormKind::Int(int) => Value::Int(*int),
            FormKind::BigInt(int) => Value::wide(int.clone()),
            FormKind::Decimal(decimal) => Value::decimal(decimal.clone()),
            FormKind::Float(float) => Value::Float(*float),
            FormKind::Str(text) => Value::str(text),
            FormKind::Keyword(text) => self.heap.keyword(text),
            FormKind::Symbol(text) => self.symbol(text),
            FormKind::List(forms) => Value::list(self.values(forms)?),
            FormKind::Vector(forms) => Value::vector(self.values(forms)?),
            FormKind::Set(forms) => self.set(forms)?,
            FormKind::Map(forms) => self.map(forms)?,
            FormKind::Quote(inner) => self.call("quote", inner)?,
            FormKind::Deref(inner) => self.call("deref", inner)?,
            FormKind::Var(inner) => self.call("var", inner)?,
            FormKind::Tagged(tag, inner) if (self.kept)(tag) => {
                let marked = vec![self.symbol(tag), self.value(inner)?];
                Value::Reduced(Value::vector(marked).into())
            }
            FormKind::Tagged(tag, inner) => tagged(tag, inner)?,
            FormKind::Regex(_) => return Err(not_data(form, "a regular expression")),
            FormKind::ShortFn(_) => return Err(not_data(form, "a function")),
        })
    }

    fn symbol(&mut self, text: &str) -> Value {
        Value::Sym(self.heap.intern(text))
    }

    fn values(&mut self, forms: &[Form]) -> Result<Vec<Value>, Error> {
        forms.iter().map(|form| self.value(form)).collect()
    }

    fn call(&mut self, name: &str, inner: &Form) -> Result<Value, Error> {
        Ok(Value::list(vec![self.symbol(name), self.value(inner)?]))
    }

    fn set(&mut self, forms: &[Form]) -> Result<Value, Error> {
        let mut table = Table::with_capacity(forms.len());
        for form in forms {
            if table.insert(self.value(form)?, ()).is_some() {
                return Err(duplicate(form, "a set holds the same member twice"));
            }
        }
        Ok(Value::set(table))
    }

    fn map(&mut self, forms: &[Form]) -> Result<Value, Error> {
        let mut table = Map::with_capacity(forms.len() / 2);
        for pair in forms.chunks_exact(2) {
            if table.insert(self.value(&pair[0])?, self.value(&pair[1])?).is_some() {
                return Err(duplicate(&pair[0], "a map has the same key twice"));
            }
        }
        Ok(Value::Map(table))
    }

    /// `^:key`, `^Tag` and `^{…}` before a form; what cannot carry metadata is refused as Clojure does.
    fn with_meta(&mut self, value: Value, meta: &Form) -> Result<Value, Error> {
        let mut table = match value.meta().as_deref() {
            Some(Value::Map(body)) => body.entries_only(),
            _ => Map::default(),
        };
        match (&meta.kind, self.value(meta)?) {
            (FormKind::Keyword(_), key) => {
                table.insert(key, Value::Bool(true));
            }
            (FormKind::Map(_), Value::Map(body)) => body.iter().for_each(|(key, value)| {
                table.insert(key.clone(), value.clone());
            }),
            (_, tag) => {
                table.insert(self.heap.keyword("tag"), tag);
            }
        }
        // Symbols have no metadata here, but source text often gives them some.
        if matches!(value, Value::Sym(_)) {
            return Ok(value);
        }
        let name = value.type_name();
        value.with_meta(Some(Value::Map(table).into())).ok_or_else(|| {
            Error::new(ErrorKind::IllegalArgument, format!("a {name} cannot carry metadata")).at(meta.span)
        })
    }
}

fn tagged(tag: &str, inner: &Form) -> Result<Value, Error> {
    let FormKind::Str(text) = &inner.kind else {
        return Err(bad_tag(inner, format!("#{} must be followed by a string", excerpt(tag))));
    };
    let time = match tag {
        "inst" => instant(text).map(Time::JavaDate),
        "uuid" => uuid(text).map(Time::Uuid),
        _ => {
            return Err(bad_tag(inner, format!("there is no reader for #{}", excerpt(tag)))
                .hint("#inst and #uuid are the tags that can be read"));
        }
    };
    time.map(Value::time).ok_or_else(|| {
        bad_tag(inner, format!("#{tag} cannot be read from \"{}\"", excerpt(text))).hint(match tag {
            "inst" => "write it as 2024-03-01T10:20:30.000Z",
            _ => "write it as 550e8400-e29b-41d4-a716-446655440000",
        })
    })
}

fn bad_tag(form: &Form, message: String) -> Error {
    Error::new(ErrorKind::Format, message).at(form.span)
}

fn duplicate(form: &Form, message: &str) -> Error {
    Error::new(ErrorKind::DuplicateKey, message).at(form.span)
}

fn not_data(form: &Form, what: &str) -> Error {
    Error::new(ErrorKind::Format, format!("{what} is not data that can be read")).at(form.span)
}

/// The instant that the text of `#inst` names: a date cut off anywhere after the year, and an offset.
pub fn instant(text: &str) -> Option<Timestamp> {
    let mut rest = text;
    let year = digits(&mut rest, "", 4)?;
    let month = digits(&mut rest, "-", 2);
    let day = month.and_then(|_| digits(&mut rest, "-", 2));
    let hour = day.and_then(|_| digits(&mut rest, "T", 2));
    let minute = hour.and_then(|_| digits(&mut rest, ":", 2));
    let second = minute.and_then(|_| digits(&mut rest, ":", 2));
    let nanos = second.and_then(|_| fraction(&mut rest));
    let small = |number: Option<i32>, default: i8| number.map_or(Some(default), |n| i8::try_from(n).ok());
    let date = Date::new(i16::try_from(year).ok()?, small(month, 1)?, small(day, 1)?).ok()?;
    let clock = Clock::new(small(hour, 0)?, small(minute, 0)?, small(second, 0)?, nanos.unwrap_or(0)).ok()?;
    let seconds = offset_seconds(rest)?;
    let local = date.to_datetime(clock).to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    local.timestamp().checked_sub(SignedDuration::from_secs(seconds.into())).ok()
}

/// Takes `prefix` and exactly `count` digits off the front; leaves the text alone if they are not there.
fn digits(rest: &mut &str, prefix: &str, count: usize) -> Option<i32> {
    let after = rest.strip_prefix(prefix)?;
    let number = after.get(..count).filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()))?;
    *rest = &after[count..];
    number.parse().ok()
}

fn fraction(rest: &mut &str) -> Option<i32> {
    let after = rest.strip_prefix('.')?;
    let count = after.bytes().take_while(u8::is_ascii_digit).count();
    let number = after.get(..count.min(9)).filter(|number| !number.is_empty())?;
    *rest = &after[count..];
    format!("{number:0<9}").parse().ok()
}

/// Seconds east of Greenwich for ``, `Z`, `+01:30` or `-05:00`.
fn offset_seconds(text: &str) -> Option<i32> {
    if matches!(text, "" | "Z") {
        return Some(0);
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let mut rest = text.strip_prefix(['+', '-'])?;
    let hours = digits(&mut rest, "", 2).filter(|hours| *hours <= 23)?;
    let minutes = digits(&mut rest, ":", 2).filter(|minutes| *minutes <= 59)?;
    rest.is_empty().then_some(sign * (hours * 3600 + minutes * 60))
}

/// The UUID that a text spells. As in Java the five parts may be shorter than usual; longer ones keep
/// their last digits.
pub fn uuid(text: &str) -> Option<u128> {
    const DIGITS: [u32; 5] = [8, 4, 4, 4, 12];
    if text.len() > 36 {
        return None;
    }
    let mut parts = text.split('-');
    let mut value: u128 = 0;
    for digits in DIGITS {
        let part = parts.next().filter(|part| part.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        let number = u128::from_str_radix(part, 16).ok()?;
        value = value << (4 * digits) | number & ((1 << (4 * digits)) - 1);
    }
    parts.next().is_none().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::{instant, uuid};

    #[test]
    fn instants_are_read_as_clojure_reads_them() {
        let cases = [
            ("2010-01-01T01:01:01.001-01:01", Some(1_262_311_321_001)),
            ("2010-12-31T23:59:59.999-23:59", Some(1_293_926_339_999)),
            ("2010-11-12T18:14:15.666Z", Some(1_289_585_655_666)),
            ("1985-04-12T23:20:50.52Z", Some(482_196_050_520)),
            ("2010-11-12T13:14:15Z", Some(1_289_567_655_000)),
            ("2026-02-03", Some(1_770_076_800_000)),
            ("1969-12-31T23:59:59.500Z", Some(-500)),
            ("2010-02-29T00:00:00.000Z", None),
            ("2010-01-01T24:00:00.000Z", None),
            ("not-an-inst", None),
            ("2010-01-01x", None),
            ("", None),
        ];
        for (text, millis) in cases {
            assert_eq!(instant(text).map(|instant| instant.as_millisecond()), millis, "{text}");
        }
    }

    #[test]
    fn uuids_may_have_short_parts() {
        assert_eq!(uuid("0-0-0-0-ff"), Some(255));
        assert_eq!(uuid("5-4-3-DEADBEEF0002-9000000001"), uuid("00000005-0004-0003-0002-009000000001"));
        for bad in [
            "",
            "0",
            "df0993",
            "b6883c0a-0342-4007-9966-bc2dfa6b109eb",
            "0-0-0-0-",
            "0-0-0-0-0-0",
            "+1-0-0-0-0",
        ] {
            assert_eq!(uuid(bad), None, "{bad}");
        }
    }
}
