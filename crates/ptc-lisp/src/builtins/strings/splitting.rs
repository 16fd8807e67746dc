//! Cutting text at matches of a pattern, with Java's rules for what is left out.

use super::super::args::{self, int, text};
use super::super::regexes::{pay, take_parts};
use super::search::drop_trailing_empty;
use super::string_bytes;
use crate::error::{Error, ErrorKind, excerpt};
use crate::heap::Heap;
use crate::regex::Search;
use crate::signal::Res;
use crate::value::text::{char_count, characters};
use crate::value::{RegexObj, Value};

pub(super) fn split(heap: &mut Heap, args: &mut [Value]) -> Res {
    split_at(heap, args, false)
}

/// The unqualified `split`: keeps what groups of the pattern matched.
pub(super) fn split_keeping_groups(heap: &mut Heap, args: &mut [Value]) -> Res {
    split_at(heap, args, true)
}

fn split_at(heap: &mut Heap, args: &[Value], keep_groups: bool) -> Res {
    let whole = text(args, 0).map_err(|_| super::not_text(args, 0))?;
    let limit = if args.len() > 2 { int(args, 2)? } else { 0 };
    match &args[1] {
        Value::Regex(regex) => pieces(heap, regex, whole, limit, keep_groups).map(Value::vector),
        Value::Str(separator) => split_at_text(heap, whole, separator.as_str(), limit),
        _ => args::fail(args, 1, "a regex such as #\",\""),
    }
}

/// A string separates if it is one character; a longer one is most often meant as a pattern.
fn split_at_text(heap: &mut Heap, whole: &str, separator: &str, limit: i64) -> Res {
    if char_count(separator) > 1 {
        let message = format!("argument 2 must be a regex or one character, got \"{}\"", excerpt(separator));
        return Err(Error::new(ErrorKind::Type, message)
            .hint("write the separator as a regex: #\"…\"")
            .into());
    }
    let most = usize::try_from(limit).ok().filter(|most| *most > 0).unwrap_or(usize::MAX);
    let count = if separator.is_empty() { char_count(whole) } else { whole.matches(separator).count() + 1 };
    heap.work(1 + count + whole.len() / 8)?;
    heap.reserve_values(count)?;
    heap.reserve(string_bytes(whole.len()))?;
    let mut items: Vec<Value> = Vec::with_capacity(count.min(most));
    if separator.is_empty() {
        items.extend(characters(whole).map(Value::str));
    } else {
        items.extend(whole.splitn(most, separator).map(Value::str));
    }
    Ok(Value::vector(items))
}

/// The parts of a text between the matches of a pattern: at most `limit` if that is positive; without
/// empty ones at the end if it is zero.
pub(in super::super) fn pieces(
    heap: &mut Heap,
    regex: &RegexObj,
    whole: &str,
    limit: i64,
    keep_groups: bool,
) -> Res<Vec<Value>> {
    let groups = if keep_groups { regex.matcher.groups() } else { 0 };
    let most = usize::try_from(limit).ok().filter(|most| *most > 0).unwrap_or(usize::MAX);
    let mut search = Search::new(&regex.matcher, whole);
    let mut items = Vec::new();
    let mut from = 0;
    while items.len() + 1 < most {
        let found = search.next(groups > 0);
        pay(heap, &mut search)?;
        let Some(found) = found? else { break };
        if found.is_empty() && found.start == 0 {
            continue;
        }
        heap.reserve(size_of::<Value>() * 2 + string_bytes(found.start - from))?;
        take_parts(heap, (1..=groups).map(|group| search.group(group)))?;
        heap.grow_by(&mut items, 1 + groups)?;
        items.push(Value::str(&whole[from..found.start]));
        items.extend((1..=groups).map(|group| Value::str(search.group_text(group).unwrap_or_default())));
        from = found.end;
    }
    if from == 0 && items.is_empty() {
        heap.reserve(string_bytes(whole.len()))?;
        return Ok(vec![Value::str(whole)]);
    }
    heap.reserve(string_bytes(whole.len() - from))?;
    items.push(Value::str(&whole[from..]));
    if limit == 0 {
        drop_trailing_empty(&mut items);
    }
    Ok(items)
}
