//! Matchers: a pattern, a text and how far the search has come, as `re-matcher` makes them.
//!
//! A matcher is a cell that holds `[pattern text last spans]`: the byte span of the last match, and the
//! spans of all its groups (nil if the last search found nothing).

use super::{Search, match_value, pattern};
use crate::builtins::args;
use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::regex::MatchSpan;
use crate::signal::Res;
use crate::value::text::char_index;
use crate::value::{CellKind, RegexObj, Shared, Value};

/// What a matcher holds.
struct MatcherState {
    regex: Shared<RegexObj>,
    text: Value,
    last: Option<MatchSpan>,
    groups: Vec<Option<MatchSpan>>,
}

pub(super) fn make(heap: &mut Heap, args: &mut [Value]) -> Res {
    let regex = pattern(args, 0)?.clone();
    args::text(args, 1)?;
    let state = MatcherState { regex, text: args[1].clone(), last: None, groups: Vec::new() };
    Ok(heap.cell(CellKind::Matcher, state.value(), true))
}

/// A matcher argument.
fn state(heap: &mut Heap, args: &[Value]) -> Res<MatcherState> {
    if let Some(Value::Cell(cell)) = args.first()
        && cell.kind == CellKind::Matcher
        && let Value::Vec(fields) = &cell.state.borrow().value
        && let [Value::Regex(regex), text, last, Value::Vec(groups)] = fields.items.as_slice()
    {
        heap.work(groups.items.len() / 8)?;
        let groups = groups.items.iter().map(span_of).collect();
        return Ok(MatcherState { regex: regex.clone(), text: text.clone(), last: span_of(last), groups });
    }
    args::fail(args, 0, "a matcher (re-matcher)")
}

pub(super) fn span_of(value: &Value) -> Option<MatchSpan> {
    match value {
        Value::Range(range) => {
            let start = usize::try_from(range.start).ok()?;
            Some(start..start + usize::try_from(range.count).ok()? - 1)
        }
        _ => None,
    }
}

/// A span as a range one longer than it, so that an empty one is still there.
pub(super) fn span_value(span: &Option<MatchSpan>) -> Value {
    match span {
        Some(span) => crate::value::RangeObj::value(span.start as i64, 1, span.len() as u64 + 1),
        None => Value::Nil,
    }
}

impl MatcherState {
    fn value(&self) -> Value {
        let groups = Value::vector(self.groups.iter().map(span_value).collect());
        Value::vector(vec![
            Value::Regex(self.regex.clone()),
            self.text.clone(),
            span_value(&self.last),
            groups,
        ])
    }

    fn text(&self) -> &str {
        self.text.as_str().unwrap_or_default()
    }

    /// The span of a group of the last match; the argument is a number or a name.
    fn group(&self, args: &[Value]) -> Res<Option<MatchSpan>> {
        let index = match args.get(1) {
            None => Some(0),
            Some(Value::Str(name)) => self.regex.matcher.group_named(name.as_str()),
            Some(_) => usize::try_from(args::int(args, 1)?).ok(),
        };
        if self.groups.is_empty() {
            return Err(no_match().into());
        }
        match index.and_then(|index| self.groups.get(index)) {
            Some(span) => Ok(span.clone()),
            None => {
                let message =
                    format!("the pattern has {} groups, and not this one", self.regex.matcher.groups());
                Err(Error::new(ErrorKind::IndexOutOfBounds, message).into())
            }
        }
    }
}

fn no_match() -> Error {
    Error::new(ErrorKind::Runtime, "the matcher has no match").hint("call re-find on the matcher first")
}

/// What a matcher takes for the span of a group.
const SPAN: usize = 64;

/// Searches on and keeps the result; the match as `re-find` shows it.
fn advance(heap: &mut Heap, args: &[Value], whole: bool) -> Res {
    let mut state = state(heap, args)?;
    let regex = state.regex.clone();
    let count = regex.matcher.groups();
    let text = state.text.clone();
    let mut search = Search::new(&regex.matcher, text.as_str().unwrap_or_default());
    search.resume(state.last.clone());
    let found = if whole { search.whole() } else { search.next(true).map(|found| found.is_some()) };
    super::charge(heap, &mut search, count)?;
    let found = found?;
    state.groups = if found { (0..=count).map(|group| search.group(group)).collect() } else { Vec::new() };
    if found {
        state.last = search.group(0);
    }
    heap.allocated(state.groups.len() * SPAN);
    if let Value::Cell(cell) = &args[0] {
        cell.state.borrow_mut().value = state.value();
    }
    Ok(if found { match_value(&search, count) } else { Value::Nil })
}

pub(super) fn find_next(heap: &mut Heap, args: &mut [Value]) -> Res {
    advance(heap, args, false)
}

pub(super) fn find(heap: &mut Heap, args: &mut [Value]) -> Res {
    Ok(Value::Bool(!advance(heap, args, false)?.is_nil()))
}

/// Whether the whole text of a matcher matches.
pub(in super::super) fn matches_whole(heap: &mut Heap, args: &mut [Value]) -> Res {
    Ok(Value::Bool(!advance(heap, args, true)?.is_nil()))
}

pub(super) fn groups(heap: &mut Heap, args: &mut [Value]) -> Res {
    let state = state(heap, args)?;
    if state.groups.is_empty() {
        return Err(no_match().into());
    }
    super::take_parts(heap, state.groups.iter().cloned())?;
    let part =
        |span: &Option<MatchSpan>| span.clone().map_or(Value::Nil, |span| Value::str(&state.text()[span]));
    let mut parts: Vec<Value> = state.groups.iter().map(part).collect();
    Ok(if parts.len() == 1 { parts.remove(0) } else { Value::vector(parts) })
}

pub(super) fn group(heap: &mut Heap, args: &mut [Value]) -> Res {
    let state = state(heap, args)?;
    let span = state.group(args)?;
    super::take_parts(heap, std::iter::once(span.clone()))?;
    Ok(span.map_or(Value::Nil, |span| Value::str(&state.text()[span])))
}

pub(super) fn group_count(heap: &mut Heap, args: &mut [Value]) -> Res {
    Ok(Value::from(state(heap, args)?.regex.matcher.groups()))
}

pub(super) fn start(heap: &mut Heap, args: &mut [Value]) -> Res {
    let state = state(heap, args)?;
    Ok(state.group(args)?.map_or(Value::Int(-1), |span| units(state.text(), span.start)))
}

pub(super) fn end(heap: &mut Heap, args: &mut [Value]) -> Res {
    let state = state(heap, args)?;
    Ok(state.group(args)?.map_or(Value::Int(-1), |span| units(state.text(), span.end)))
}

/// A byte offset in characters.
fn units(text: &str, offset: usize) -> Value {
    Value::from(char_index(text, offset))
}
