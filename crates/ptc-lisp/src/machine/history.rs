//! Values of earlier programs, made to fit: `*1 *2 *3` keep the beginning of what is too large.

use super::kept::kept;
use crate::names::Names;
use crate::value::print::{Printer, Style};
use crate::value::walk::DEEPEST;
use crate::value::{Items, Value};

/// What is put behind a text that was cut.
const MORE: &str = "...";

/// A value that keeps at most about `limit` bytes: itself, or the beginning of what it shows. Also says whether it was cut.
pub(super) fn fitted(value: Value, names: &Names, limit: usize) -> (Value, bool) {
    if kept(&value, names, limit) <= limit {
        return (value, false);
    }
    (cut(&value, names, limit, 0), true)
}

/// Recurses into the first part that does not fit, no deeper than [`DEEPEST`].
fn cut(value: &Value, names: &Names, limit: usize, depth: u16) -> Value {
    let room = limit.saturating_sub(2);
    let items = |value: &Value| items(value, names, room, depth + 1);
    match value {
        _ if depth >= DEEPEST => Value::str(MORE),
        Value::Str(text) => Value::string(beginning(text.as_str(), room)),
        Value::Map(body) => Value::map_of(entries(body.iter(), names, room, depth + 1)),
        Value::Sorted(body) if !body.is_set => {
            let pairs = body.entries.iter().map(|(key, value)| (key, value));
            Value::map_of(entries(pairs, names, room, depth + 1))
        }
        Value::Vec(_) => Value::vector(items(value)),
        Value::Set(_) | Value::Sorted(_) => Value::set_of(items(value)),
        Value::Seq(_) | Value::Cons(_) | Value::Range(_) | Value::Lazy(_) => Value::list(items(value)),
        _ => {
            let mut printer = Printer::new(names, Style::Readable, room).with_fuel(limit as u64);
            // What came before the limit is wanted.
            let _ = printer.value(value);
            Value::string(beginning(&printer.finish(), room))
        }
    }
}

/// Less than this is not worth a part of its own.
const LEAST: usize = 8;

fn items(value: &Value, names: &Names, mut room: usize, depth: u16) -> Vec<Value> {
    let mut out = Vec::new();
    let mut walk = Items::over(value).unwrap_or(Items::Empty);
    while let Ok(Some(item)) = walk.next() {
        let bytes = kept(&item, names, room) + 1;
        if bytes > room {
            if room >= LEAST {
                out.push(cut(&item, names, room, depth));
            }
            break;
        }
        room -= bytes;
        out.push(item);
    }
    out
}

fn entries<'v>(
    entries: impl Iterator<Item = (&'v Value, &'v Value)>,
    names: &Names,
    mut room: usize,
    depth: u16,
) -> Vec<(Value, Value)> {
    let mut out = Vec::new();
    for (key, value) in entries {
        let key_bytes = kept(key, names, room) + 3;
        let bytes = key_bytes.saturating_add(kept(value, names, room));
        if bytes > room {
            if room >= key_bytes.saturating_add(LEAST) {
                out.push((key.clone(), cut(value, names, room - key_bytes, depth)));
            }
            break;
        }
        room -= bytes;
        out.push((key.clone(), value.clone()));
    }
    out
}

/// The beginning of a text with a sign that there was more, at most `limit` bytes.
fn beginning(text: &str, limit: usize) -> String {
    let end = text.floor_char_boundary(limit.saturating_sub(MORE.len()));
    format!("{}{MORE}", &text[..end])
}
