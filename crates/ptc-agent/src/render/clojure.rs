//! Views as Clojure text of bounded length. Text is never cut inside of a value: what does not fit is left out
//! whole and counted. Everything written here can be read as Clojure: left-out items show as the symbol
//! `...+n`, left-out entries of a map as `... +n`, the rest of a string inside of its quotes.

use std::fmt::Write;

use ptc_lisp::value::print::float_text;
use ptc_lisp::view::{Part, View};
use ptc_lisp::visible::is_format;

use super::{FIREWALLED, ViewLimits};

/// The text of a view in about `limits.chars` characters, and whether nothing is left out.
pub(super) fn fitted(view: &View, limits: ViewLimits) -> (String, bool) {
    let writer = Writer { items: limits.items };
    writer.value(view, limits.chars)
}

/// A sample for an inventory; what is left out is counted behind it (3.16).
pub(super) fn sample(view: &View, limits: ViewLimits) -> String {
    let writer = Writer { items: limits.items };
    match view {
        View::Str { text, chars } if *chars > limits.chars => {
            let shown: String = text.chars().take(limits.chars).collect();
            let quoted = quoted(&shown);
            let inner = &quoted[..quoted.len() - 1];
            format!("{inner}...\" ({}/{chars} chars)", shown.chars().count())
        }
        View::Vector(part) | View::List(part) | View::Set(part) => {
            let (open, close) = brackets(view);
            let (items, shown, _) = writer.items(part, limits.chars);
            counted(open, &items, close, shown, part.total)
        }
        View::Map { entries, total } => {
            let most = (limits.chars / 30).max(1);
            let (items, shown, _) = writer.entries(entries, *total, most, limits.chars);
            counted("{", &items, "}", shown, *total)
        }
        other => writer.value(other, limits.chars).0,
    }
}

fn counted(open: &str, items: &str, close: &str, shown: usize, total: usize) -> String {
    match (shown, total) {
        _ if shown >= total => format!("{open}{items}{close}"),
        (0, _) => format!("{open}...{close} (0/{total})"),
        _ => format!("{open}{items} ...{close} ({shown}/{total})"),
    }
}

fn brackets(view: &View) -> (&'static str, &'static str) {
    match view {
        View::List(_) => ("(", ")"),
        View::Set(_) => ("#{", "}"),
        _ => ("[", "]"),
    }
}

struct Writer {
    /// Items of each collection.
    items: usize,
}

/// What a sign for left-out items may take.
const MARK: usize = 12;

impl Writer {
    /// The text of a view in `room` characters, or the shortest there is; and whether nothing is left out.
    /// Views nest no deeper than their bounds.
    fn value(&self, view: &View, room: usize) -> (String, bool) {
        if let Some(text) = self.whole(view, room) {
            return (text, true);
        }
        match view {
            View::Str { text, chars } => (shortened(text, *chars, room), false),
            View::Vector(part) | View::List(part) | View::Set(part) => {
                let (open, close) = brackets(view);
                let (items, shown, whole) = self.items(part, room.saturating_sub(open.len() + 1));
                let left = part.total.saturating_sub(shown);
                if left == 0 && !part.open {
                    return (format!("{open}{items}{close}"), whole);
                }
                let space = if shown > 0 { " " } else { "" };
                let more = if part.open { "...".to_owned() } else { format!("...+{left}") };
                (format!("{open}{items}{space}{more}{close}"), false)
            }
            View::Map { entries, total } => {
                let most = sharing(entries, room);
                let (items, shown, whole) = self.entries(entries, *total, most, room.saturating_sub(2));
                let left = total.saturating_sub(shown);
                if left == 0 {
                    return (format!("{{{items}}}"), whole);
                }
                let space = if shown > 0 { " " } else { "" };
                (format!("{{{items}{space}... +{left}}}"), false)
            }
            other => match long_atom(other) {
                Some(text) => (text, false),
                None => (atom(other), true),
            },
        }
    }

    /// All of a view, if it is there and fits.
    fn whole(&self, view: &View, room: usize) -> Option<String> {
        let mut out = String::new();
        let mut room = room;
        self.write(view, &mut out, &mut room).then_some(out)
    }

    /// Appends all of a view; false as soon as something is missing or there is no room.
    fn write(&self, view: &View, out: &mut String, room: &mut usize) -> bool {
        let push = |out: &mut String, room: &mut usize, text: &str| {
            let chars = text.chars().count();
            out.push_str(text);
            let fits = chars <= *room;
            *room = room.saturating_sub(chars);
            fits
        };
        match view {
            View::Str { text, chars } => {
                *chars <= *room && text.chars().count() == *chars && push(out, room, &quoted(text))
            }
            View::Vector(part) | View::List(part) | View::Set(part) => {
                let (open, close) = brackets(view);
                if part.open || part.total > part.items.len() || part.total > self.items {
                    return false;
                }
                let items = part.items.iter().enumerate().all(|(at, item)| {
                    let before = if at > 0 { " " } else { open };
                    push(out, room, before) && self.write(item, out, room)
                });
                let empty = part.items.is_empty();
                items && (!empty || push(out, room, open)) && push(out, room, close)
            }
            View::Map { entries, total } => {
                if *total > entries.len() || *total > self.items {
                    return false;
                }
                let entries = entries.iter().enumerate().all(|(at, (key, value))| {
                    push(out, room, if at > 0 { " " } else { "{" })
                        && push(out, room, &key_text(key))
                        && push(out, room, " ")
                        && self.write(value, out, room)
                });
                entries && push(out, room, if *total == 0 { "{}" } else { "}" })
            }
            other => long_atom(other).is_none() && push(out, room, &atom(other)),
        }
    }

    /// The first items in `room` characters, how many, and whether each is whole.
    fn items(&self, part: &Part, room: usize) -> (String, usize, bool) {
        let mut out = String::new();
        let (mut shown, mut whole) = (0, true);
        let mut left = room;
        for item in part.items.iter().take(self.items) {
            let space = usize::from(shown > 0);
            // Behind the last item there is no sign.
            let sign = if shown + 1 == part.total { 0 } else { MARK };
            let (text, all) = self.value(item, left.saturating_sub(space + sign));
            let chars = text.chars().count() + space;
            // A later item that would only be a crumb is left out.
            if chars + sign > left || (!all && shown > 0 && left < room / 3) {
                break;
            }
            if shown > 0 {
                out.push(' ');
            }
            out.push_str(&text);
            left -= chars;
            shown += 1;
            whole &= all;
        }
        (out, shown, whole)
    }

    /// The first entries of `total`, at most `most`, in `room` characters; how many, and whether each is whole.
    fn entries(
        &self,
        entries: &[(View, View)],
        total: usize,
        most: usize,
        room: usize,
    ) -> (String, usize, bool) {
        let count = entries.len().min(self.items).min(most);
        let mut out = String::new();
        let (mut shown, mut whole) = (0, true);
        let mut left = room;
        for (key, value) in entries.iter().take(count) {
            let key = format!("{}{} ", if shown > 0 { " " } else { "" }, key_text(key));
            let sign = if shown + 1 == total { 0 } else { MARK };
            let here = left.saturating_sub(key.chars().count() + sign);
            // What short values leave is for those that follow.
            let waiting = count - shown;
            let each = (left.saturating_sub(10 * waiting) / waiting).max(10);
            let (value, all) = self.value(value, each.min(here));
            let chars = key.chars().count() + value.chars().count();
            if chars + sign > left {
                break;
            }
            out.push_str(&key);
            out.push_str(&value);
            left -= chars;
            shown += 1;
            whole &= all;
        }
        (out, shown, whole)
    }
}

/// How many entries of a map share `room` characters: 30 for each where values are large (3.16), else as many
/// as fit.
fn sharing(entries: &[(View, View)], room: usize) -> usize {
    let large = |view: &View| {
        matches!(view, View::Vector(_) | View::List(_) | View::Set(_) | View::Map { .. })
            || matches!(view, View::Str { chars, .. } if *chars > 30)
    };
    let many = entries.iter().any(|(_, value)| large(value));
    if many { (room / 30).max(1) } else { (room / 10).max(1) }
}

/// Names and numbers longer than this are not written.
const LONGEST: usize = 120;

/// What stands for a name or number that is too long to write.
fn long_atom(view: &View) -> Option<String> {
    let (text, what) = match view {
        View::Big(text) | View::Decimal(text) => (text, "digits"),
        View::Keyword(text) | View::Symbol(text) | View::Opaque(text) | View::Time { text, .. } => {
            (text, "chars")
        }
        _ => return None,
    };
    let chars = text.chars().count();
    (chars > LONGEST).then(|| quoted(&format!("...+{chars} {what}")))
}

/// What is written as it is. Collections and strings are not.
pub(super) fn atom(view: &View) -> String {
    match view {
        View::Bool(value) => value.to_string(),
        View::Int(int) => int.to_string(),
        View::Float(float) => float_text(*float, ["##NaN", "##Inf", "##-Inf"]),
        View::Keyword(name) => keyword(name),
        View::Time { text, .. } => quoted(text),
        View::Big(text) => text.clone(),
        View::Decimal(text) => format!("{text}M"),
        View::Symbol(text) | View::Opaque(text) => printable(text),
        View::Hidden => FIREWALLED.to_owned(),
        _ => "nil".to_owned(),
    }
}

/// The text of a key.
pub(crate) fn key_text(key: &View) -> String {
    Writer { items: 8 }.value(key, LONGEST).0
}

/// A keyword that can be read back; a name that no keyword can have becomes a string, which finds the same
/// entry.
fn keyword(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "*+!_?<>=.-/%&$|#'".contains(c);
    let inner = !name.is_empty() && name.chars().all(plain);
    let ends = !name.starts_with(['/', '#', '\'']) && !name.ends_with('/') && !name.contains("//");
    let one_slash = name.matches('/').count() < 2;
    if inner && ends && one_slash { format!(":{name}") } else { quoted(name) }
}

/// A string in quotes. Characters that cannot be seen are written as numbers.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    text.chars().for_each(|c| push_escaped(&mut out, c));
    out.push('"');
    out
}

fn push_escaped(out: &mut String, c: char) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\t' => out.push_str("\\t"),
        '\r' => out.push_str("\\r"),
        c if is_invisible(c) => {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
        c => out.push(c),
    }
}

/// Control characters, characters that cannot be seen, and those that reorder text.
pub(super) fn is_invisible(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') || is_format(c)
}

fn printable(text: &str) -> String {
    text.chars().map(|c| if is_invisible(c) { '\u{fffd}' } else { c }).collect()
}

/// The beginning of a string of `chars` characters, in quotes, with what is left counted.
fn shortened(text: &str, chars: usize, room: usize) -> String {
    let budget = room.saturating_sub(MARK + 10);
    let mut out = String::from("\"");
    let (mut shown, mut used) = (0, 0);
    for c in text.chars() {
        let before = out.len();
        push_escaped(&mut out, c);
        used += out[before..].chars().count();
        if used > budget {
            out.truncate(before);
            break;
        }
        shown += 1;
    }
    let left = chars - shown;
    // Writing to a string cannot fail.
    let _ = write!(out, "...+{left} chars\"");
    out
}
