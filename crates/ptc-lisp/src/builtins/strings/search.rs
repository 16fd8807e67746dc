//! Finding a text in another, and cutting by position.

use super::super::args::{self, int, text};
use super::{named, out_of_range, read, string_bytes, write};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::Value;
use crate::value::text::{byte_offset, char_count, char_index};

/// Where `part` first stands in `whole`, in bytes. The searcher prepares what it looks for, however little it reads then,
/// so both count; what is longer than the text is not in it, and nothing is prepared.
pub(in super::super) fn find_text(heap: &mut Heap, whole: &str, part: &str) -> Res<Option<usize>> {
    let found = if part.len() > whole.len() { None } else { whole.find(part) };
    read(heap, searched(whole, part, found.unwrap_or(whole.len())))?;
    Ok(found)
}

/// Where `part` last stands in `whole`, in bytes.
pub(in super::super) fn find_last_text(heap: &mut Heap, whole: &str, part: &str) -> Res<Option<usize>> {
    let found = if part.len() > whole.len() { None } else { whole.rfind(part) };
    read(heap, searched(whole, part, whole.len() - found.unwrap_or(0)))?;
    Ok(found)
}

/// How often `part` stands in `whole`, or whether it does. Whoever asks pays for `whole`.
pub(super) fn count_text(heap: &mut Heap, whole: &str, part: &str, first: bool) -> Res<usize> {
    heap.work(searched(whole, part, 0) / 8)?;
    Ok(match part.len() <= whole.len() {
        true if first => usize::from(whole.contains(part)),
        true => whole.matches(part).count(),
        false => 0,
    })
}

/// The bytes that a search looks at which reads so much of `whole`.
fn searched(whole: &str, part: &str, read: usize) -> usize {
    if part.len() > whole.len() { 0 } else { read + part.len() }
}

pub(super) fn subs(heap: &mut Heap, args: &mut [Value]) -> Res {
    let whole = text(args, 0)?;
    read(heap, whole.len().min(1 << 20))?;
    let count = char_count(whole);
    let start = int(args, 1)?;
    let end = if args.len() > 2 { int(args, 2)? } else { count as i64 };
    let fits = 0 <= start && start <= end && usize::try_from(end).is_ok_and(|end| end <= count);
    if !fits {
        let hint = format!("keep 0 <= start <= end <= {count}; (min end (count s)) cuts off safely");
        let message = format!("there is no part from {start} to {end} in a string of {count} characters");
        return Err(out_of_range(message, &hint).into());
    }
    let from = byte_offset(whole, start as usize);
    let to = from + byte_offset(&whole[from..], (end - start) as usize);
    if to - from == whole.len() {
        return Ok(args[0].clone());
    }
    write(heap, to - from)?;
    Ok(Value::str(&whole[from..to]))
}

pub(super) fn starts_with(heap: &mut Heap, args: &mut [Value]) -> Res {
    let prefix = text(args, 1)?;
    read(heap, prefix.len())?;
    Ok(Value::Bool(named(heap, args, 0)?.starts_with(prefix)))
}

pub(super) fn ends_with(heap: &mut Heap, args: &mut [Value]) -> Res {
    let suffix = text(args, 1)?;
    read(heap, suffix.len())?;
    Ok(Value::Bool(named(heap, args, 0)?.ends_with(suffix)))
}

pub(super) fn includes(heap: &mut Heap, args: &mut [Value]) -> Res {
    if args[0].shape().depth > 0 {
        let hint = "to look for a member of a collection use (some #{x} coll) or (contains? a-set x)";
        return Err(args::wrong(args, 0, "a string").hint(hint).into());
    }
    let whole = named(heap, args, 0)?;
    let part = text(args, 1)?;
    Ok(Value::Bool(find_text(heap, &whole, part)?.is_some()))
}

pub(super) fn index_of(heap: &mut Heap, args: &mut [Value]) -> Res {
    if matches!(args[0], Value::Vec(_) | Value::Seq(_)) {
        let error = args::wrong(args, 0, "a string");
        return Err(error.hint("the position in a collection is (.indexOf coll x)").into());
    }
    let whole = named(heap, args, 0)?;
    let part = text(args, 1)?;
    let from = if args.len() > 2 { int(args, 2)?.max(0) } else { 0 };
    let start = byte_offset(&whole, usize::try_from(from).unwrap_or(usize::MAX));
    let found = find_text(heap, &whole[start..], part)?.map(|at| start + at);
    Ok(found.map_or(Value::Nil, |at| Value::from(char_index(&whole, at))))
}

pub(super) fn last_index_of(heap: &mut Heap, args: &mut [Value]) -> Res {
    let whole = named(heap, args, 0)?;
    let part = text(args, 1)?;
    let from = if args.len() > 2 { int(args, 2)? } else { i64::MAX };
    let Ok(from) = usize::try_from(from) else { return Ok(Value::Nil) };
    // A match may start at `from` at the latest, so the text after its end does not count.
    let mut end = byte_offset(&whole, from).saturating_add(part.len()).min(whole.len());
    while !whole.is_char_boundary(end) {
        end -= 1;
    }
    let found = find_last_text(heap, &whole[..end], part)?;
    Ok(found.map_or(Value::Nil, |at| Value::from(char_index(&whole, at))))
}

pub(super) fn split_lines(heap: &mut Heap, args: &mut [Value]) -> Res {
    let whole = text(args, 0)?;
    if whole.is_empty() {
        return Ok(Value::vector(vec![Value::str("")]));
    }
    let count = whole.bytes().filter(|&byte| byte == b'\n').count() + 1;
    heap.work(count + whole.len() / 8)?;
    heap.reserve_values(count)?;
    heap.reserve(whole.split('\n').map(|line| string_bytes(line.len())).sum())?;
    let mut items = Vec::with_capacity(count);
    for line in whole.split_inclusive('\n') {
        let line = line.strip_suffix('\n').map_or(line, |line| line.strip_suffix('\r').unwrap_or(line));
        items.push(Value::str(line));
    }
    drop_trailing_empty(&mut items);
    Ok(Value::vector(items))
}

/// Java's `split` leaves out empty strings at the end.
pub(in super::super) fn drop_trailing_empty(items: &mut Vec<Value>) {
    while items.last().is_some_and(|item| item.as_str() == Some("")) {
        items.pop();
    }
}
