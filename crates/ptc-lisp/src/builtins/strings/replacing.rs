//! `replace` and `replace-first`: by text, by pattern with `$1` in the replacement, by a map, and, with
//! the help of the core library, by a function.

use super::super::args::{self, text};
use super::super::regexes::{charge, match_value, pattern, pay};
use super::super::registry;
use super::search::count_text;
use super::{not_text, string_bytes, write};
use crate::error::{Error, ErrorKind, excerpt};
use crate::heap::Heap;
use crate::regex::{Matcher, Search};
use crate::signal::{Res, Signal, illegal, raise};
use crate::value::{RegexObj, Value};

pub(super) fn replace(heap: &mut Heap, args: &mut [Value]) -> Res {
    replace_some(heap, args, false)
}

pub(super) fn replace_first(heap: &mut Heap, args: &mut [Value]) -> Res {
    replace_some(heap, args, true)
}

fn replace_some(heap: &mut Heap, args: &mut [Value], first: bool) -> Res {
    // The text of a pattern is never meant.
    if matches!(args[0], Value::Nil | Value::Regex(_)) {
        return Err(not_text(args, 0).into());
    }
    if args[0].as_str().is_none() {
        // The text of a value stands for the value if the call is made again.
        args[0] = Value::string(heap.display(&args[0])?);
    }
    let whole = text(args, 0)?;
    match (&args[1], &args[2]) {
        (Value::Str(part), Value::Str(by)) => {
            by_text(heap, &args[0], whole, part.as_str(), by.as_str(), first)
        }
        (Value::Regex(regex), Value::Str(by)) => by_template(heap, regex, whole, by.as_str(), first),
        (Value::Regex(regex), Value::Map(table)) => by_match(heap, regex, whole, first, |heap, found| {
            let by = table.get(&found).cloned().unwrap_or_default();
            match by {
                Value::Str(by) => Ok(by.as_str().to_owned()),
                _ => Err(bad_replacement(heap, &found, &by).into()),
            }
        }),
        (Value::Regex(_), by) if is_callable(by) => call_core(args, first),
        (Value::Regex(_), _) => args::fail(args, 2, "a string, a function or a map"),
        (Value::Str(_), by) if is_callable(by) => {
            let hint = "write the part to replace as a regex: #\"…\"";
            args::fail_with_hint("a function can only replace the matches of a regex".into(), hint)
        }
        (Value::Str(_), _) => args::fail(args, 2, "a string"),
        _ => args::fail(args, 1, "a string or a regex"),
    }
}

/// Whether a value may be called.
pub(super) fn is_callable(value: &Value) -> bool {
    matches!(
        value,
        Value::Fn(_)
            | Value::Builtin(_)
            | Value::Kw(_)
            | Value::Sym(_)
            | Value::Set(_)
            | Value::Sorted(_)
            | Value::Var(_)
    )
}

/// Natives call no functions: the core library goes on with the same arguments.
fn call_core(args: &mut [Value], first: bool) -> Res {
    let Some(id) = registry().qualified("ptc.impl/replace-by") else {
        return illegal("a function as replacement is not supported");
    };
    let mut args: Vec<Value> = args.iter_mut().map(std::mem::take).collect();
    args.push(if first { Value::Int(1) } else { Value::Nil });
    Err(Signal::Call(Value::Builtin(id), args).into())
}

fn bad_replacement(heap: &Heap, found: &Value, by: &Value) -> Error {
    let message =
        format!("the replacement of {} must be a string, got {}", heap.brief(found), by.type_name());
    Error::new(ErrorKind::Type, message)
}

pub(in super::super) fn by_text(
    heap: &mut Heap,
    value: &Value,
    whole: &str,
    part: &str,
    by: &str,
    first: bool,
) -> Res {
    let count = count_text(heap, whole, part, first)?;
    let bytes = whole.len().saturating_add(count.saturating_mul(by.len()));
    if count == 0 {
        heap.work(1 + whole.len() / 8)?;
        return Ok(value.clone());
    }
    write(heap, bytes)?;
    Ok(Value::string(if first { whole.replacen(part, by, 1) } else { whole.replace(part, by) }))
}

/// A piece of a replacement.
enum Piece {
    Text(String),
    Group(usize),
}

/// Replaces matches by a text in which `$1` and `${name}` stand for groups and `\` quotes.
fn by_template(heap: &mut Heap, regex: &RegexObj, whole: &str, by: &str, first: bool) -> Res {
    let groups = by.contains('$');
    // As in Java a wrong reference matters only once there is a match.
    let mut pieces = None;
    let mut out = Output::default();
    let mut search = Search::new(&regex.matcher, whole);
    let mut from = 0;
    loop {
        let found = search.next(groups);
        pay(heap, &mut search)?;
        let Some(found) = found? else { break };
        let pieces = match &pieces {
            Some(pieces) => pieces,
            None => pieces.insert(template(by, &regex.matcher)?),
        };
        out.push(heap, &whole[from..found.start])?;
        for piece in pieces {
            match piece {
                Piece::Text(text) => out.push(heap, text)?,
                Piece::Group(group) => out.push(heap, search.group_text(*group).unwrap_or_default())?,
            }
        }
        from = found.end;
        if first {
            break;
        }
    }
    out.push(heap, &whole[from..])?;
    Ok(Value::string(out.text))
}

/// Reads a replacement text.
fn template(by: &str, matcher: &Matcher) -> Res<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut plain = String::new();
    let mut rest = by;
    while let Some(at) = rest.find(['$', '\\']) {
        plain.push_str(&rest[..at]);
        let special = rest.as_bytes()[at];
        rest = &rest[at + 1..];
        if special == b'\\' {
            let Some(c) = rest.chars().next() else {
                return illegal("the replacement ends with a lone `\\`");
            };
            plain.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        }
        let (group, used) = reference(rest, matcher)?;
        pieces.push(Piece::Text(std::mem::take(&mut plain)));
        pieces.push(Piece::Group(group));
        rest = &rest[used..];
    }
    plain.push_str(rest);
    pieces.push(Piece::Text(plain));
    Ok(pieces)
}

/// The group that `1` or `{name}` after a `$` means, and how many bytes that takes.
fn reference(rest: &str, matcher: &Matcher) -> Res<(usize, usize)> {
    if let Some(inner) = rest.strip_prefix('{') {
        let Some((name, _)) = inner.split_once('}') else {
            return illegal("`${` in the replacement is never closed");
        };
        return match matcher.group_named(name) {
            Some(group) => Ok((group, name.len() + 2)),
            None => illegal(format!("the pattern has no group named {}", excerpt(name))),
        };
    }
    let Some(digit) = rest.chars().next().and_then(|c| c.to_digit(10)) else {
        let error = Error::new(ErrorKind::IllegalArgument, "`$` in the replacement must name a group");
        return Err(error
            .hint("write $1 or ${name}, or \\\\$ (re-quote-replacement) for a dollar sign")
            .into());
    };
    let mut group = digit as usize;
    let mut used = 1;
    if group > matcher.groups() {
        return raise(ErrorKind::IndexOutOfBounds, format!("the pattern has no group {group}"));
    }
    // As many digits as name a group.
    while let Some(digit) = rest[used..].chars().next().and_then(|c| c.to_digit(10)) {
        let longer = group * 10 + digit as usize;
        if longer > matcher.groups() {
            break;
        }
        group = longer;
        used += 1;
    }
    Ok((group, used))
}

/// Text that grows and is charged for as it does.
#[derive(Default)]
struct Output {
    text: String,
    reserved: usize,
}

impl Output {
    fn push(&mut self, heap: &mut Heap, part: &str) -> Res<()> {
        let wanted = self.text.len() + part.len();
        if wanted > self.reserved {
            write(heap, wanted)?;
            self.reserved = wanted * 2;
        }
        self.text.push_str(part);
        Ok(())
    }
}

fn by_match(
    heap: &mut Heap,
    regex: &RegexObj,
    whole: &str,
    first: bool,
    replacement: impl Fn(&mut Heap, Value) -> Res<String>,
) -> Res {
    let groups = regex.matcher.groups();
    let mut out = Output::default();
    let mut search = Search::new(&regex.matcher, whole);
    let mut from = 0;
    loop {
        let found = search.next(true);
        charge(heap, &mut search, groups)?;
        let Some(found) = found? else { break };
        out.push(heap, &whole[from..found.start])?;
        let by = replacement(heap, match_value(&search, groups))?;
        out.push(heap, &by)?;
        from = found.end;
        if first {
            break;
        }
    }
    out.push(heap, &whole[from..])?;
    Ok(Value::string(out.text))
}

/// For the core library: a text cut at the matches of a pattern, at most so many if the third argument
/// is a number, into `[before match between match … after]`, matches as `re-find` gives them.
pub(super) fn re_pieces(heap: &mut Heap, args: &mut [Value]) -> Res {
    let regex = pattern(args, 0)?;
    let whole = text(args, 1)?;
    let mut left = if args[2].is_nil() { usize::MAX } else { args::count(args, 2)? };
    let groups = regex.matcher.groups();
    let mut search = Search::new(&regex.matcher, whole);
    let mut items = Vec::new();
    let mut from = 0;
    while left > 0 {
        let found = search.next(true);
        charge(heap, &mut search, groups)?;
        let Some(found) = found? else { break };
        heap.reserve(2 * size_of::<Value>() + string_bytes(found.start - from))?;
        items.push(Value::str(&whole[from..found.start]));
        items.push(match_value(&search, groups));
        from = found.end;
        left -= 1;
    }
    heap.reserve(string_bytes(whole.len() - from))?;
    items.push(Value::str(&whole[from..]));
    Ok(Value::vector(items))
}

pub(super) fn re_quote_replacement(heap: &mut Heap, args: &mut [Value]) -> Res {
    let plain = match &args[0] {
        Value::Str(text) => text.as_str().to_owned(),
        Value::Nil => return Err(not_text(args, 0).into()),
        other => heap.display(other)?,
    };
    write(heap, plain.len() * 2)?;
    Ok(Value::string(plain.replace('\\', "\\\\").replace('$', "\\$")))
}
