//! `pprint`: a value over several lines when it does not fit on one.

use super::{Builtin, native};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::Value;
use crate::value::print::{HIDDEN, Style, is_hidden_key};
use crate::value::text::char_count;

pub(super) static TABLE: &[Builtin] = &[native(
    "clojure.pprint/pprint",
    "[x]",
    pprint,
    "Prints a value so that people can read it; gives nil.",
    &[("(with-out-str (clojure.pprint/pprint {:a [1 2]}))", "\"{:a [1 2]}\\n\"")],
)];

/// The longest line, as in Clojure.
const WIDTH: usize = 72;

fn pprint(heap: &mut Heap, args: &mut [Value]) -> Res {
    heap.realised(&args[0])?;
    let mut page = PrettyText { text: String::new(), column: 0 };
    page.value(heap, &args[0].clone(), 0)?;
    page.push(heap, "\n")?;
    heap.print(&page.text)?;
    Ok(Value::Nil)
}

struct PrettyText {
    text: String,
    column: usize,
}

impl PrettyText {
    fn push(&mut self, heap: &mut Heap, text: &str) -> Res<()> {
        heap.grow_text(&mut self.text, text.len())?;
        self.column += char_count(text);
        self.text.push_str(text);
        Ok(())
    }

    /// Begins a line. Deep in a value, all its lines together may be much longer than the value.
    fn line(&mut self, heap: &mut Heap, indent: usize) -> Res<()> {
        heap.work(indent / 8)?;
        heap.grow_text(&mut self.text, 1 + indent)?;
        self.text.push('\n');
        self.text.extend(std::iter::repeat_n(' ', indent));
        self.column = indent;
        Ok(())
    }

    /// Writes a value of which so many characters follow on the same line. Values nest no deeper than
    /// the machine allows.
    fn value(&mut self, heap: &mut Heap, value: &Value, after: usize) -> Res<()> {
        let flat = heap.printed_line(std::slice::from_ref(value), Style::Readable, "")?;
        let fits = self.column + char_count(&flat) + after <= WIDTH;
        match value {
            _ if fits => self.push(heap, &flat)?,
            Value::Map(body) if body.record().is_none() => {
                let entries = body.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
                self.map(heap, entries, after)?;
            }
            Value::Sorted(body) if !body.is_set => self.map(heap, body.entries.clone(), after)?,
            Value::Vec(_) => self.items(heap, value, ("[", "]"), after)?,
            Value::Set(_) | Value::Sorted(_) => self.items(heap, value, ("#{", "}"), after)?,
            Value::Seq(_) | Value::Cons(_) | Value::Lazy(_) | Value::Range(_) => {
                self.items(heap, value, ("(", ")"), after)?;
            }
            _ => self.push(heap, &flat)?,
        }
        Ok(())
    }

    fn items(
        &mut self,
        heap: &mut Heap,
        value: &Value,
        (open, close): (&str, &str),
        after: usize,
    ) -> Res<()> {
        let items = heap.collect(value)?;
        self.push(heap, open)?;
        let indent = self.column;
        for (at, item) in items.iter().enumerate() {
            let last = at + 1 == items.len();
            self.value(heap, item, if last { after + 1 } else { 0 })?;
            if !last {
                self.line(heap, indent)?;
            }
        }
        self.push(heap, close)
    }

    fn map(&mut self, heap: &mut Heap, entries: Vec<(Value, Value)>, after: usize) -> Res<()> {
        heap.work(entries.len())?;
        self.push(heap, "{")?;
        let indent = self.column;
        for (at, (key, value)) in entries.iter().enumerate() {
            let last = at + 1 == entries.len();
            let after = if last { after + 1 } else { 1 };
            self.value(heap, key, 1)?;
            let hidden = heap.firewall && heap.captures.is_empty() && is_hidden_key(key, &heap.names);
            let flat = if hidden {
                HIDDEN.to_owned()
            } else {
                heap.printed_line(std::slice::from_ref(value), Style::Readable, "")?
            };
            if self.column + 1 + char_count(&flat) + after <= WIDTH {
                self.push(heap, " ")?;
            } else {
                self.line(heap, indent)?;
            }
            match hidden {
                true => self.push(heap, HIDDEN)?,
                false => self.value(heap, value, after)?,
            }
            if !last {
                self.push(heap, ",")?;
                self.line(heap, indent)?;
            }
        }
        self.push(heap, "}")
    }
}
