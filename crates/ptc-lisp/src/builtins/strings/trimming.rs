//! White space as Java knows it: what `trim` removes and `blank?` overlooks.

use super::super::args::text;
use super::{not_text, read, write};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::Value;

/// Java's `Character.isWhitespace`: separators except the non-breaking ones, and the control characters
/// that move the cursor.
pub(crate) fn is_white(c: char) -> bool {
    match c {
        '\u{a0}' | '\u{2007}' | '\u{202f}' | '\u{85}' => false,
        '\u{1c}'..='\u{1f}' => true,
        _ => c.is_whitespace(),
    }
}

/// Gives back a part of argument 0; the argument itself if nothing is cut off.
fn part(heap: &mut Heap, args: &[Value], cut: impl Fn(&str) -> &str) -> Res {
    let whole = text(args, 0)?;
    let part = cut(whole);
    read(heap, 4 * (whole.len() - part.len()))?;
    if part.len() == whole.len() {
        read(heap, 8)?;
        return Ok(args[0].clone());
    }
    write(heap, part.len())?;
    Ok(Value::str(part))
}

pub(super) fn trim(heap: &mut Heap, args: &mut [Value]) -> Res {
    part(heap, args, |whole| whole.trim_matches(is_white))
}

pub(super) fn triml(heap: &mut Heap, args: &mut [Value]) -> Res {
    part(heap, args, |whole| whole.trim_start_matches(is_white))
}

pub(super) fn trimr(heap: &mut Heap, args: &mut [Value]) -> Res {
    part(heap, args, |whole| whole.trim_end_matches(is_white))
}

pub(super) fn trim_newline(heap: &mut Heap, args: &mut [Value]) -> Res {
    part(heap, args, |whole| whole.trim_end_matches(['\n', '\r']))
}

pub(super) fn is_blank(heap: &mut Heap, args: &mut [Value]) -> Res {
    match &args[0] {
        Value::Nil => Ok(Value::Bool(true)),
        Value::Str(text) => {
            let text = text.as_str();
            let white = text.len() - text.trim_start_matches(is_white).len();
            read(heap, 4 * white)?;
            Ok(Value::Bool(white == text.len()))
        }
        _ => Err(not_text(args, 0).into()),
    }
}
