//! Patterns as Java understands them.

use super::search::Engine;
use super::{MatchSpan, Matcher, Search};

/// All matches of a pattern in a text: `start-end` in characters, groups after it.
fn all(pattern: &str, text: &str) -> String {
    match Matcher::compile(pattern) {
        Ok(matcher) => found(Search::new(&matcher, text), &matcher, text),
        Err(_) => "error".into(),
    }
}

fn found(mut search: Search<'_>, matcher: &Matcher, text: &str) -> String {
    let mut found = Vec::new();
    while let Some(span) = search.next(true).expect("few steps") {
        let count = |end: usize| text[..end].encode_utf16().count();
        let mut shown = format!("{}-{}", count(span.start), count(span.end));
        for group in 1..=matcher.groups() {
            shown.push(' ');
            shown.push_str(&search.group_text(group).map_or("nil".into(), |text| format!("{text:?}")));
        }
        found.push(shown);
    }
    found.join(", ")
}

/// Vectors of a pattern, a text, and what Java 17 finds.
const JAVA: &str = include_str!("java.edn");

#[test]
fn patterns_find_what_java_finds() {
    let limits = crate::reader::ReadLimits::default();
    let mut wrong = Vec::new();
    for form in crate::reader::read_all(JAVA, &limits).expect("readable") {
        let case: Vec<&str> = form.as_vector().expect("vector").iter().map(text_of).collect();
        let got = all(case[0], case[1]);
        if got != case[2] {
            wrong.push(format!("{} in {:?}\n  finds {got}\n  not   {}", case[0], case[1], case[2]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn text_of(form: &crate::syntax::Form) -> &str {
    match &form.kind {
        crate::syntax::FormKind::Str(text) => text,
        _ => "",
    }
}

#[test]
fn all_engines_agree() {
    let limits = crate::reader::ReadLimits::default();
    for form in crate::reader::read_all(JAVA, &limits).expect("readable") {
        let case: Vec<&str> = form.as_vector().expect("vector").iter().map(text_of).collect();
        let Ok(mut matcher) = Matcher::compile(case[0]) else { continue };
        let whole = Search::new(&matcher, case[1]).whole().expect("few steps");
        matcher.scan = None;
        for engine in [Engine::Linear, Engine::Quick, Engine::Backtracking] {
            let mut search = Search::new(&matcher, case[1]);
            // What a search gives to the backtracking engine only that one can do.
            if search.engine == Engine::Backtracking && engine == Engine::Linear {
                continue;
            }
            search.engine = engine;
            assert_eq!(
                found(search, &matcher, case[1]),
                case[2],
                "{} in {:?} by {engine:?}",
                case[0],
                case[1]
            );
            let mut search = Search::new(&matcher, case[1]);
            search.engine = engine;
            assert_eq!(
                search.whole().expect("few steps"),
                whole,
                "{} on {:?} by {engine:?}",
                case[0],
                case[1]
            );
        }
    }
}

#[test]
fn a_quick_try_that_takes_too_long_is_not_an_error() {
    let matcher = Matcher::compile("(a+)+b|a+c").expect("pattern");
    let text = format!("{}c", "a".repeat(40));
    assert_eq!(Search::new(&matcher, &text).next(true), Ok(Some(0..41)));
    let matcher = Matcher::compile("(a+)+").expect("pattern");
    assert_eq!(Search::new(&matcher, &text).whole(), Ok(false));
}

#[test]
fn endless_backtracking_is_given_up() {
    let matcher = Matcher::compile(r"(?=(a+)+b)").expect("pattern");
    let text = "a".repeat(40);
    let error = Search::new(&matcher, &text).next(true).expect_err("too many steps");
    assert!(error.message.contains("steps"), "{}", error.message);
}

#[test]
fn a_pattern_that_reads_ahead_in_vain_is_not_quadratic() {
    let matcher = Matcher::compile("(?s)a.*z|a").expect("pattern");
    let text = "a".repeat(200_000);
    let mut search = Search::new(&matcher, &text);
    let mut cost = 0;
    let stopped = loop {
        match search.next(false) {
            Ok(Some(_)) => cost += search.take_cost(),
            Ok(None) => break false,
            Err(_) => break true,
        }
        if cost > 10_000_000 {
            break true;
        }
    };
    assert!(stopped);
}

#[test]
fn patterns_whose_automaton_has_too_many_states_are_given_up() {
    let text = "x".repeat(1_000_000);
    for (pattern, whole) in [
        ("x".repeat(9_000) + "y", false),
        ("x{1,900}[ab]x{1,900}y".to_owned(), false),
        ("(x{1,900}){1,900}y".to_owned(), true),
    ] {
        let matcher = Matcher::compile(&pattern).expect("pattern");
        let mut search = Search::new(&matcher, &text);
        let found = if whole { search.whole() } else { search.next(false).map(|found| found.is_some()) };
        let cut = &pattern[..pattern.len().min(30)];
        assert!(found.as_ref().is_ok_and(|found| !found) || found.is_err(), "{cut}: {found:?}");
        assert!(search.take_cost() < 100_000_000, "{cut}");
    }
}

#[test]
fn searches_that_end_by_themselves_find_what_others_find() {
    // Only the end of the text has matches.
    let end = "ab12 x-1 \u{e9} \u{663} 99y";
    let text = ". ".repeat(1_000_000) + end;
    for pattern in
        [r"(\p{L}+)(\p{N}+)", r"\w+\d", r"([\d\u0663]+)\b", r"(?i)([a-z]+)-(\d)", "nothing here", r"\pL$"]
    {
        let matcher = Matcher::compile(pattern).expect("pattern");
        let found = |text: &str| {
            let mut search = Search::new(&matcher, text);
            search.engine = Engine::Linear;
            let moved = |span: MatchSpan| text.len() - span.end..text.len() - span.start;
            let mut found = Vec::new();
            while let Some(span) = search.next(true).expect("few steps") {
                found.push((moved(span), search.group(1).map(moved), search.group(2).map(moved)));
            }
            found
        };
        assert_eq!(found(&text), found(end), "{pattern}");
    }
}

#[test]
fn errors_say_where_and_how_to_write_it() {
    for (pattern, part, hint) in [
        ("a(b", "`(` is never closed (at position 1", "\\("),
        ("*a", "`*` has nothing before it", "\\*"),
        ("[a-", "`[` is never closed", "\\["),
        (r"\y", "`\\y` is not an escape", "leave the"),
        (r"\p{Foo}", "no character property named Foo", "IsGreek"),
        ("(?P<n>a)", "not a kind of group", "(?<name>"),
    ] {
        let error = Matcher::compile(pattern).expect_err(pattern);
        assert!(error.message.contains(part), "{}", error.message);
        assert!(error.hint.is_some_and(|text| text.contains(hint)));
    }
    let deep = "(".repeat(5000);
    assert!(Matcher::compile(&deep).is_err());
    let long = "a".repeat(super::MAX_PATTERN + 1);
    assert!(Matcher::compile(&long).is_err());
}
