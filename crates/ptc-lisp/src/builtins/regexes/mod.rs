//! Regular expressions: `re-find` and its family, and the extensions of PTC-Lisp.

mod matcher;

use std::rc::Rc;

use super::parsing::long;
use super::strings::string_bytes;
use super::{Builtin, args, native, registry};
use crate::error::Error;
use crate::heap::Heap;
use crate::regex::{MatchSpan, Matcher, Search};
use crate::signal::{Res, Signal};
use crate::value::{RegexObj, Shared, Stamp, Value};

pub(super) use matcher::matches_whole;

pub(super) static TABLE: &[Builtin] = &[
    native(
        "clojure.core/re-pattern",
        "[s]",
        re_pattern,
        "The pattern that s spells, in Java's syntax. A pattern is given back as it is.",
        &[(r#"(re-pattern "a+")"#, r##"#"a+""##)],
    ),
    native(
        "clojure.core/re-find",
        "[matcher] [re s]",
        re_find,
        "The first match of re in s: its text, or a vector of it and the groups; nil if there is none. \
         With a matcher, its next match.",
        &[
            (r##"(re-find #"\d+" "abc 123")"##, r#""123""#),
            (r##"(re-find #"(\w)(\d)" "a1 b2")"##, r#"["a1" "a" "1"]"#),
        ],
    ),
    native(
        "clojure.core/re-matches",
        "[re s]",
        re_matches,
        "Like re-find, but re must match all of s.",
        &[
            (r##"(re-matches #"(\d+)-(\d+)" "1-2")"##, r#"["1-2" "1" "2"]"#),
            (r##"(re-matches #"a" "ab")"##, "nil"),
        ],
    ),
    native(
        "clojure.core/re-seq",
        "[re s]",
        re_seq,
        "All matches of re in s, each as re-find gives it; nil if there is none. Lazy beyond 10,000.",
        &[(r##"(re-seq #"\d+" "1 22 333")"##, r#"("1" "22" "333")"#)],
    ),
    native("prim/re-seq", "[re s last]", re_seq, "The matches of re in s behind the last one.", &[]),
    native(
        "clojure.core/re-matcher",
        "[re s]",
        matcher::make,
        "A matcher: re-find on it gives one match of re in s after the other.",
        &[(r##"(re-find (re-matcher #"\d" "a1"))"##, r#""1""#)],
    ),
    native(
        "clojure.core/re-groups",
        "[matcher]",
        matcher::groups,
        "The last match of a matcher, as re-find gives it.",
        &[(r##"(let [m (re-matcher #"(a)(b)" "ab")] (re-find m) (re-groups m))"##, r#"["ab" "a" "b"]"#)],
    ),
    native(
        ".find",
        "[matcher]",
        matcher::find,
        "Goes to the next match of a matcher; whether there is one.",
        &[(r##"(.find (re-matcher #"\d" "a1"))"##, "true")],
    ),
    native(
        ".group",
        "[matcher] [matcher group]",
        matcher::group,
        "The text of the last match of a matcher, or of one of its groups by number or name.",
        &[(r##"(let [m (re-matcher #"(?<y>\d+)" "in 2024")] (.find m) (.group m "y"))"##, r#""2024""#)],
    ),
    native(
        ".groupCount",
        "[matcher]",
        matcher::group_count,
        "How many groups the pattern of a matcher has.",
        &[(r##"(.groupCount (re-matcher #"(a)(b)" ""))"##, "2")],
    ),
    native(
        ".start",
        "[matcher] [matcher group]",
        matcher::start,
        "Where the last match of a matcher, or one of its groups, begins; -1 if the group took no part.",
        &[(r##"(let [m (re-matcher #"b" "ab")] (.find m) (.start m))"##, "1")],
    ),
    native(
        ".end",
        "[matcher] [matcher group]",
        matcher::end,
        "Where the last match of a matcher, or one of its groups, ends; -1 if the group took no part.",
        &[(r##"(let [m (re-matcher #"b" "ab")] (.find m) (.end m))"##, "2")],
    ),
    native(
        "ptc/re-split",
        "[re s]",
        re_split,
        "The parts of s between the matches of re, empty ones at the end included.",
        &[(r##"(re-split #"," "a,b,")"##, r#"["a" "b" ""]"#)],
    ),
    native(
        "ptc/extract",
        "[pattern s] [pattern s group]",
        extract,
        "What a group (1 unless told) of the first match of pattern in s holds; nil if nothing.",
        &[(r##"(extract #"id=(\d+)" "id=42")"##, r#""42""#), (r##"(extract #"a(b)?" "a")"##, "nil")],
    ),
    native(
        "ptc/extract-int",
        "[pattern s] [pattern s group] [pattern s group default]",
        extract_int,
        "What extract gives, as an integer; default (nil unless told) if there is none.",
        &[(r##"(extract-int #"id=(\d+)" "id=42")"##, "42"), (r##"(extract-int #"(\d)" "x" 1 0)"##, "0")],
    ),
];

/// A pattern argument.
pub(super) fn pattern(args: &[Value], at: usize) -> Res<&Shared<RegexObj>> {
    match args.get(at) {
        Some(Value::Regex(body)) => Ok(body),
        _ => Err(not_pattern(args, at).into()),
    }
}

fn not_pattern(args: &[Value], at: usize) -> Error {
    let error = args::wrong(args, at, "a regex");
    match args.get(at) {
        Some(Value::Str(_)) if args.iter().any(|arg| matches!(arg, Value::Regex(_))) => {
            error.hint("the pattern comes first, then the text")
        }
        Some(Value::Str(_)) => error.hint("write the pattern as #\"…\", or use (re-pattern s)"),
        _ => error,
    }
}

/// Compiles a pattern that the program made.
pub(super) fn compile(heap: &mut Heap, source: &str) -> Res<Shared<RegexObj>> {
    heap.work(Matcher::compile_work(source.len()))?;
    let matcher = Matcher::compile(source)?;
    heap.allocated(matcher.bytes());
    Ok(Rc::new(RegexObj { source: source.to_owned(), matcher, stamp: Stamp::new() }))
}

/// A pattern argument, or a string that spells one.
fn pattern_or_text(heap: &mut Heap, args: &[Value], at: usize) -> Res<Shared<RegexObj>> {
    match &args[at] {
        Value::Regex(body) => Ok(body.clone()),
        Value::Str(source) => compile(heap, source.as_str()),
        _ => args::fail(args, at, "a regex or a string"),
    }
}

fn re_pattern(heap: &mut Heap, args: &mut [Value]) -> Res {
    match &args[0] {
        Value::Regex(_) => Ok(args[0].clone()),
        Value::Str(source) => Ok(Value::Regex(compile(heap, source.as_str())?)),
        _ => args::fail(args, 0, "a string"),
    }
}

/// The last match of a search as Clojure shows it: a string, or a vector with the groups.
pub(super) fn match_value(search: &Search<'_>, groups: usize) -> Value {
    let part = |index| search.group_text(index).map_or(Value::Nil, Value::str);
    if groups == 0 { part(0) } else { Value::vector((0..=groups).map(part).collect()) }
}

/// Charges for what a search has done and made.
pub(super) fn pay(heap: &mut Heap, search: &mut Search<'_>) -> Res<()> {
    heap.allocated(search.take_made());
    heap.work(search.take_cost())
}

/// Charges for what a search has done and for the match it found.
pub(super) fn charge(heap: &mut Heap, search: &mut Search<'_>, groups: usize) -> Res<()> {
    pay(heap, search)?;
    if search.group(0).is_none() {
        return Ok(());
    }
    take_parts(heap, (0..=groups).map(|group| search.group(group)))?;
    heap.reserve(if groups == 0 { 0 } else { 64 })
}

/// Charges for copies of parts of a text before they are made. Each counts: a group inside of look-around may be longer
/// than the match, and many may hold the same.
pub(super) fn take_parts(heap: &mut Heap, spans: impl Iterator<Item = Option<MatchSpan>>) -> Res<()> {
    const COPIED_PER_UNIT: usize = 64;
    let (mut bytes, mut copied) = (0usize, 0usize);
    for span in spans {
        let text = string_bytes(span.map_or(0, |span| span.len()));
        copied = copied.saturating_add(text);
        bytes = bytes.saturating_add(size_of::<Value>() + text);
    }
    heap.reserve(bytes)?;
    heap.work(copied / COPIED_PER_UNIT)
}

fn re_find(heap: &mut Heap, args: &mut [Value]) -> Res {
    if args.len() == 1 {
        return matcher::find_next(heap, args);
    }
    let regex = pattern(args, 0)?;
    let text = args::text(args, 1)?;
    let groups = regex.matcher.groups();
    let mut search = Search::new(&regex.matcher, text);
    let found = search.next(true);
    charge(heap, &mut search, groups)?;
    Ok(if found?.is_some() { match_value(&search, groups) } else { Value::Nil })
}

fn re_matches(heap: &mut Heap, args: &mut [Value]) -> Res {
    let regex = pattern(args, 0)?;
    let text = args::text(args, 1)?;
    let groups = regex.matcher.groups();
    let mut search = Search::new(&regex.matcher, text);
    let found = search.whole();
    charge(heap, &mut search, groups)?;
    Ok(if found? { match_value(&search, groups) } else { Value::Nil })
}

/// All matches behind the last one that is known, or so many that the rest is found when somebody asks for it:
/// what looks at the first of a long text, or filters them, has no room for all.
fn re_seq(heap: &mut Heap, args: &mut [Value]) -> Res {
    const AT_ONCE: usize = 10_000;
    let regex = pattern(args, 0)?;
    let text = args::text(args, 1)?;
    let groups = regex.matcher.groups();
    let mut search = Search::new(&regex.matcher, text);
    search.resume(args.get(2).and_then(matcher::span_of));
    let mut items = Vec::new();
    while items.len() < AT_ONCE {
        let found = search.next(true);
        charge(heap, &mut search, groups)?;
        if found?.is_none() {
            return Ok(if items.is_empty() { Value::Nil } else { Value::seq(items) });
        }
        heap.grow(&mut items)?;
        items.push(match_value(&search, groups));
    }
    let last = matcher::span_value(&search.group(0));
    let go_on = registry().qualified("ptc.impl/re-seq-on").map_or(Value::Nil, Value::Builtin);
    let (regex, text) = (args[0].clone(), args[1].clone());
    Err(Box::new(Signal::Call(go_on, vec![Value::seq(items), regex, text, last])))
}

fn re_split(heap: &mut Heap, args: &mut [Value]) -> Res {
    let regex = pattern(args, 0)?;
    let text = args::text(args, 1)?;
    super::strings::pieces(heap, regex, text, -1, false).map(Value::vector)
}

/// The text of the asked group of the first match.
fn extracted(heap: &mut Heap, args: &[Value]) -> Res<Option<String>> {
    let regex = pattern_or_text(heap, args, 0)?;
    let text = args::text(args, 1)?;
    let group = if args.len() > 2 { args::int(args, 2)? } else { 1 };
    let mut search = Search::new(&regex.matcher, text);
    let found = search.next(true);
    pay(heap, &mut search)?;
    if found?.is_none() {
        return Ok(None);
    }
    let group = usize::try_from(group).ok().filter(|group| *group <= regex.matcher.groups());
    take_parts(heap, group.map(|group| search.group(group)).into_iter())?;
    Ok(group.and_then(|group| search.group_text(group)).map(str::to_owned))
}

fn extract(heap: &mut Heap, args: &mut [Value]) -> Res {
    Ok(extracted(heap, args)?.map_or(Value::Nil, Value::string))
}

fn extract_int(heap: &mut Heap, args: &mut [Value]) -> Res {
    let found = extracted(heap, args)?.and_then(|text| long(&text));
    Ok(found.map_or_else(|| args::take(args, 3), Value::Int))
}
