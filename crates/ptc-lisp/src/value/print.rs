//! Values as text: `pr-str` (readable), `str` and `print` (for people).

use std::fmt::Write;

use hashbrown::HashMap;
use num_bigint::BigInt;

use super::walk::{EntryStep, Parts, Place, Visitor, WalkStep, walk};
use super::{CellKind, CellObj, ExObj, Value, ledger};
use crate::arith::digits_work;
use crate::builtins::full_name;
use crate::exact::Exact;
use crate::names::Names;
use crate::seed::Unseeded;
use crate::view::is_hidden_name;

/// Strings inside collections: quoted, or as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Quoted, so that the reader gives the value back.
    Readable,
    /// As they are (`print`, `println`).
    Plain,
}

/// The work that a printer of few bytes may do.
const LEAST_FUEL: u64 = 100_000;

/// Work that is not seen in the text, but takes as long as writing a byte of it.
pub(super) const WORK_PER_BYTE: usize = 4;

/// The text became longer than allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

/// Writes values to a string of bounded length.
pub struct Printer<'a> {
    names: &'a Names,
    style: Style,
    limit: usize,
    fuel: u64,
    work: usize,
    /// Parts that were walked.
    parts: u64,
    /// Whether what stands under a key that begins with `_` is left out.
    masked: bool,
    looks: Looks,
    out: String,
}

/// Cells that were looked through, by where they are, and whether what they hold is simple. Whoever prints many
/// values hands it from printer to printer, because the same cell may stand in many places.
pub(crate) type Looks = HashMap<usize, bool, Unseeded>;

/// The readable text of a value, cut off nowhere.
#[cfg(test)]
pub fn pr_str(value: &Value, names: &Names) -> String {
    let mut printer = Printer::new(names, Style::Readable, usize::MAX);
    // The limit cannot be reached.
    let _ = printer.value(value);
    printer.finish()
}

impl<'a> Printer<'a> {
    /// A printer that stops once `limit` bytes are exceeded.
    pub fn new(names: &'a Names, style: Style, limit: usize) -> Self {
        // Nobody waits longer for digits and looks than for so much text.
        let fuel = (limit as u64).saturating_mul(WORK_PER_BYTE as u64).max(LEAST_FUEL);
        Printer {
            names,
            style,
            limit,
            fuel,
            work: 0,
            parts: 0,
            masked: false,
            looks: Looks::with_hasher(Unseeded::with_seed(3)),
            out: String::new(),
        }
    }

    /// The printer, stopping also once big integers and looks into cells took more work than `fuel`.
    pub fn with_fuel(mut self, fuel: u64) -> Self {
        self.fuel = fuel;
        self
    }

    /// The printer, with [`HIDDEN`] in place of what stands under a key that begins with `_`.
    pub fn masked(mut self, masked: bool) -> Self {
        self.mask(masked);
        self
    }

    /// See [`Printer::masked`].
    pub fn mask(&mut self, masked: bool) {
        self.masked = masked;
    }

    /// The work that is not seen in the text: finding the digits of big integers takes time, and a cell
    /// is looked through before it is shown.
    pub fn work(&self) -> usize {
        self.work
    }

    /// Takes over or gives back what is known of cells.
    pub(crate) fn swap_looks(&mut self, looks: &mut Looks) {
        std::mem::swap(&mut self.looks, looks);
    }

    /// What was written.
    pub fn finish(self) -> String {
        self.out
    }

    /// Appends text as it is.
    pub fn text(&mut self, text: &str) -> Result<(), TooLong> {
        let fitting = self.fitting(text);
        self.out.push_str(fitting);
        if fitting.len() < text.len() || self.out.len() > self.limit { Err(TooLong) } else { Ok(()) }
    }

    /// As much of a text as there is room for: it may be as long as everything there is.
    fn fitting<'t>(&self, text: &'t str) -> &'t str {
        let room = self.limit.saturating_sub(self.out.len());
        &text[..text.floor_char_boundary(room)]
    }

    /// Appends a value as `str` shows it: nil as nothing, strings as they are, infinities by name.
    pub fn display(&mut self, value: &Value) -> Result<(), TooLong> {
        match value {
            Value::Nil => Ok(()),
            Value::Str(text) => self.text(text.as_str()),
            Value::Float(float) => self.text(&float_text(*float, ["NaN", "Infinity", "-Infinity"])),
            Value::Decimal(decimal) => self.decimal(decimal, ""),
            Value::Regex(body) => self.text(&body.source),
            Value::Time(time) => self.text(&time.to_string()),
            Value::Cell(cell) if cell.kind == CellKind::Builder => {
                let text = cell.state.borrow().value.clone();
                self.text(text.as_str().unwrap_or_default())
            }
            Value::Ex(ex) => self.thrown(ex),
            Value::Type(name) => self.text(&format!("class {}", full_name(self.names.text(*name)))),
            _ => self.value(value),
        }
    }

    /// Appends a value in this printer's style.
    pub fn value(&mut self, value: &Value) -> Result<(), TooLong> {
        match value {
            // Alone it cannot be taken for several.
            Value::Kw(name) => self.keyword(self.names.text(*name)),
            _ => walk(value, self),
        }
    }

    fn keyword(&mut self, text: &str) -> Result<(), TooLong> {
        self.out.push(':');
        self.text(text)
    }

    fn big(&mut self, int: &BigInt) -> Result<(), TooLong> {
        let length = usize::try_from(int.bits()).unwrap_or(usize::MAX);
        let words = length / 64;
        self.work = self.work.saturating_add(digits_work(words));
        // Three bits are less than a digit: what certainly does not fit is not worth computing.
        let fits = self.out.len().saturating_add(length / 4) <= self.limit;
        if !fits || self.work as u64 > self.fuel {
            return Err(TooLong);
        }
        self.text(&int.to_string())
    }

    /// A decimal and what ends it: `M`, unless it is text for itself. A ratio has no end.
    fn decimal(&mut self, decimal: &Exact, end: &str) -> Result<(), TooLong> {
        let words = decimal.words();
        self.work = self.work.saturating_add(digits_work(words));
        let fits = self.out.len().saturating_add(decimal.text_len()) <= self.limit;
        if !fits || self.work as u64 > self.fuel {
            return Err(TooLong);
        }
        self.text(&decimal.to_string())?;
        self.text(if decimal.ratio().is_some() { "" } else { end })
    }

    /// An exception as Java shows it: class, message and, behind them, the data of `ex-info`.
    fn thrown(&mut self, ex: &ExObj) -> Result<(), TooLong> {
        self.text(&full_name(ex.class))?;
        if !ex.error.message.is_empty() {
            self.text(": ")?;
            self.text(&ex.error.message)?;
        }
        if ex.data.is_nil() {
            return Ok(());
        }
        self.out.push(' ');
        self.value(&ex.data)
    }

    /// Values that have no literal form.
    fn opaque(&mut self, value: &Value) -> Result<WalkStep<Around>, TooLong> {
        match value {
            Value::Fn(body) => match body.unit.function_name(body.func) {
                Some(name) => self.text(&format!("#<fn {name}>"))?,
                None => self.text("#<fn>")?,
            },
            Value::Builtin(_) => self.text("#<builtin>")?,
            Value::Tool(name) => self.text(&format!("#<tool {}>", self.names.text(*name)))?,
            Value::Var(name) => self.text(&format!("#'{}", self.names.text(*name)))?,
            Value::Cell(cell) => return self.cell(cell),
            Value::Ex(ex) => {
                self.text("#error {:message ")?;
                self.quoted(&ex.error.message)?;
                if ex.data.is_nil() {
                    self.text("}")?;
                } else {
                    self.text(", :data ")?;
                    return Ok(WalkStep::Into(Parts::listed(vec![ex.data.clone()]), Around::only("}")));
                }
            }
            Value::Reduced(_) => {
                self.text("#<reduced ")?;
                return Ok(Parts::held_by(value)
                    .map_or(WalkStep::Done, |parts| WalkStep::Into(parts, Around::only(">"))));
            }
            _ => self.text("#<iterator>")?,
        }
        Ok(WalkStep::Done)
    }

    /// A cell may hold itself, so what it holds is shown only if it is small and leads to no further cell.
    fn cell(&mut self, cell: &CellObj) -> Result<WalkStep<Around>, TooLong> {
        self.text(match cell.kind {
            CellKind::Atom => "#<atom ",
            CellKind::Volatile => "#<volatile ",
            CellKind::Delay => "#<delay ",
            CellKind::Promise => "#<promise ",
            CellKind::Matcher => "#<matcher ",
            CellKind::Builder => "#<StringBuilder ",
            CellKind::Transient => "#<transient ",
            CellKind::Array => "#<array ",
            CellKind::Format => "#<DecimalFormat ",
        })?;
        let state = cell.state.borrow();
        if state.ready && self.is_simple(cell, &state.value)? {
            return Ok(WalkStep::Into(Parts::listed(vec![state.value.clone()]), Around::only(">")));
        }
        self.text(if state.ready { "…>" } else { "pending>" })?;
        Ok(WalkStep::Done)
    }

    /// Whether what a cell holds is small and leads to no further cell: only plain data does not, at any depth.
    fn is_simple(&mut self, cell: &CellObj, value: &Value) -> Result<bool, TooLong> {
        const LEVELS: u16 = 8;
        const PARTS: usize = 10_000;
        let address = std::ptr::from_ref(cell).addr();
        if let Some(simple) = self.looks.get(&address) {
            return Ok(*simple);
        }
        let shape = value.shape();
        let left = self.fuel.saturating_sub(self.work as u64);
        let room = usize::try_from(left).map_or(PARTS, |left| left.min(PARTS));
        let mut look = SimplicityCheck { room };
        let simple = shape.depth <= LEVELS && !shape.lazy && walk(value, &mut look).is_ok();
        self.work = self.work.saturating_add(room - look.room);
        if !simple && look.room == 0 && room < PARTS {
            // The next unit of work would be too much.
            self.work = self.work.saturating_add(1);
            return Err(TooLong);
        }
        self.looks.insert(address, simple);
        Ok(simple)
    }

    fn quoted(&mut self, text: &str) -> Result<(), TooLong> {
        self.out.push('"');
        let fitting = self.fitting(text);
        for c in fitting.chars() {
            if self.out.len() > self.limit {
                return Err(TooLong);
            }
            match c {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\t' => self.out.push_str("\\t"),
                '\r' => self.out.push_str("\\r"),
                '\u{8}' => self.out.push_str("\\b"),
                '\u{c}' => self.out.push_str("\\f"),
                _ => self.out.push(c),
            }
        }
        if fitting.len() < text.len() {
            return Err(TooLong);
        }
        self.text("\"")
    }

    /// The text before the parts of a collection, and what stands around them.
    fn open(&mut self, value: &Value) -> Result<Around, TooLong> {
        let (open, end) = match value {
            Value::Vec(_) => ("[", "]"),
            Value::Map(body) => {
                if let Some(record) = body.record() {
                    self.out.push_str("#user.");
                    self.text(self.names.text(record))?;
                }
                ("{", "}")
            }
            Value::Set(_) => ("#{", "}"),
            Value::Sorted(body) => (if body.is_set { "#{" } else { "{" }, "}"),
            _ => ("(", ")"),
        };
        self.text(open)?;
        Ok(Around { between: if value.is_map() { ", " } else { " " }, end })
    }
}

/// What stands around the parts of a value.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    between: &'static str,
    end: &'static str,
}

impl Around {
    /// For a value with one part.
    fn only(end: &'static str) -> Around {
        Around { between: "", end }
    }
}

impl Visitor for Printer<'_> {
    type Mark = Around;
    type Stop = TooLong;

    fn enter(&mut self, value: &Value) -> Result<WalkStep<Around>, TooLong> {
        self.parts += 1;
        if !ledger::lets_walk(self.parts) {
            return Err(TooLong);
        }
        match value {
            Value::Unbound => self.text("#<unbound>")?,
            Value::Nil => self.text("nil")?,
            Value::Bool(true) => self.text("true")?,
            Value::Bool(false) => self.text("false")?,
            Value::Int(int) => {
                let _ = write!(self.out, "{int}");
                self.text("")?;
            }
            Value::Float(float) => self.text(&float_text(*float, ["##NaN", "##Inf", "##-Inf"]))?,
            Value::Big(int) => self.big(int)?,
            Value::Decimal(decimal) => self.decimal(decimal, "M")?,
            Value::Kw(name) => {
                let text = self.names.text(*name);
                match self.style == Style::Plain || is_readable_keyword(text) {
                    true => self.keyword(text)?,
                    false => self.quoted(text)?,
                }
            }
            Value::Sym(name) => self.text(self.names.text(*name))?,
            Value::Type(name) => self.text(&full_name(self.names.text(*name)))?,
            Value::Str(text) => match self.style {
                Style::Readable => self.quoted(text.as_str())?,
                Style::Plain => self.text(text.as_str())?,
            },
            Value::Regex(body) => {
                self.out.push_str("#\"");
                self.text(&body.source)?;
                self.text("\"")?;
            }
            Value::Time(time) => match self.style {
                Style::Readable => self.text(&time.readable())?,
                Style::Plain => self.text(&time.to_string())?,
            },
            Value::Cell(cell) => return self.cell(cell),
            _ => match Parts::of(value) {
                Some(parts) => return Ok(WalkStep::Into(parts, self.open(value)?)),
                None => return self.opaque(value),
            },
        }
        Ok(WalkStep::Done)
    }

    fn item(&mut self, around: &mut Around, at: usize) -> Result<(), TooLong> {
        if at > 0 {
            self.out.push_str(around.between);
        }
        Ok(())
    }

    fn entry(&mut self, around: &mut Around, at: usize, _: &Value) -> Result<EntryStep, TooLong> {
        self.item(around, at)?;
        Ok(EntryStep::Both)
    }

    fn between(&mut self, _: &mut Around, key: &Value) -> Result<bool, TooLong> {
        self.out.push(' ');
        let hidden = self.masked && is_hidden_key(key, self.names);
        if hidden {
            self.text(HIDDEN)?;
        }
        Ok(!hidden)
    }

    /// An unrealised tail shows as `...`.
    fn unrealised(&mut self, around: &mut Around, at: usize) -> Result<(), TooLong> {
        self.item(around, at)?;
        self.text("...")
    }

    fn leave(&mut self, around: Around) -> Result<(), TooLong> {
        self.text(around.end)
    }

    /// Whoever prints for a program has refused such a value before.
    fn too_deep(&mut self, around: Around, _: Place<'_>) -> Result<(), TooLong> {
        self.text("…")?;
        self.text(around.end)
    }
}

/// Whether a keyword of this text can be written as one. A key of a JSON object may be any text, and `{:New York 1}`
/// would look like three parts; as a string it reads the same entry.
pub(crate) fn is_readable_keyword(text: &str) -> bool {
    let plain = |byte: u8| {
        !matches!(
            byte,
            0..=b' '
                | 0x7f
                | b'"'
                | b'('
                | b')'
                | b','
                | b';'
                | b'@'
                | b'['
                | b'\\'
                | b']'
                | b'^'
                | b'`'
                | b'{'
                | b'}'
                | b'~'
        )
    };
    let ends = |byte: u8| matches!(byte, b'/' | b':');
    match text.as_bytes() {
        [] => false,
        [one] => plain(*one) && *one != b':',
        bytes @ [first, .., last] => bytes.iter().all(|byte| plain(*byte)) && !ends(*first) && !ends(*last),
    }
}

/// What is shown in place of a value behind the firewall.
pub const HIDDEN: &str = "<Firewalled>";

/// Whether the firewall hides what stands under a key.
pub fn is_hidden_key(key: &Value, names: &Names) -> bool {
    match key {
        Value::Str(text) => is_hidden_name(text.as_str()),
        Value::Kw(name) | Value::Sym(name) => is_hidden_name(names.text(*name)),
        _ => false,
    }
}

/// Looks for what is not simple.
struct SimplicityCheck {
    room: usize,
}

/// It is not simple.
struct Odd;

impl Visitor for SimplicityCheck {
    type Mark = ();
    type Stop = Odd;

    fn enter(&mut self, value: &Value) -> Result<WalkStep<()>, Odd> {
        self.room = self.room.checked_sub(1).ok_or(Odd)?;
        match value {
            Value::Vec(_) | Value::Map(_) | Value::Set(_) => {
                Ok(Parts::of(value).map_or(WalkStep::Done, |parts| WalkStep::Into(parts, ())))
            }
            Value::Time(_) | Value::Range(_) => Ok(WalkStep::Done),
            _ if value.is_scalar() => Ok(WalkStep::Done),
            _ => Err(Odd),
        }
    }

    fn leave(&mut self, (): ()) -> Result<(), Odd> {
        Ok(())
    }

    fn too_deep(&mut self, (): (), _: Place<'_>) -> Result<(), Odd> {
        Err(Odd)
    }
}

/// A float as Java writes it: the shortest digits that read back, with an exponent outside
/// 0.001–10,000,000. `special` names NaN and the infinities.
pub fn float_text(float: f64, special: [&str; 3]) -> String {
    if float.is_nan() {
        return special[0].to_owned();
    }
    if float.is_infinite() {
        return special[if float > 0.0 { 1 } else { 2 }].to_owned();
    }
    let size = float.abs();
    if size == 0.0 || (1e-3..1e7).contains(&size) {
        return format!("{float:?}");
    }
    // Two digits at least, and of those the nearest: 4.9E-324, though 5E-324 would be as clear.
    let short = format!("{float:e}");
    let text = if short.contains('.') { short } else { format!("{float:.1e}") };
    match text.split_once('e') {
        Some((digits, exponent)) => format!("{digits}E{exponent}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::float_text;

    #[test]
    fn floats_print_as_java_prints_them() {
        let cases = [
            (1.0, "1.0"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1e7, "1.0E7"),
            (1234567.0, "1234567.0"),
            (1.5e300, "1.5E300"),
            (0.001, "0.001"),
            (0.0001, "1.0E-4"),
            (-0.0, "-0.0"),
            (5e-324, "4.9E-324"),
            (1e-323, "9.9E-324"),
            (1e23, "1.0E23"),
            (f64::INFINITY, "Inf"),
        ];
        for (float, text) in cases {
            assert_eq!(float_text(float, ["NaN", "Inf", "-Inf"]), text);
        }
    }
}
