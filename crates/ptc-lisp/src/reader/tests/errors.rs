//! Texts that cannot be read, and what is said about them.

use super::{place, read};
use crate::error::{Error, ErrorKind};
use crate::reader::{ReadLimits, read_all};

fn failure(source: &str) -> Error {
    match read(source) {
        Ok(forms) => panic!("{source:?} reads as {forms:?}"),
        Err(error) => error,
    }
}

/// Source, place, part of the message.
type ErrorCase<'a> = (&'a str, &'a str, &'a str);

fn check(kind: ErrorKind, cases: &[ErrorCase<'_>]) {
    for (source, expected_place, fragment) in cases {
        let error = failure(source);
        assert_eq!(error.kind, kind, "{source:?}: {error:?}");
        assert_eq!(place(source, &error), *expected_place, "{source:?}: {error:?}");
        assert!(error.message.contains(fragment), "{source:?}: {error:?}");
        assert!(error.hint.is_some(), "{source:?} has advice");
    }
}

#[test]
fn delimiters() {
    check(
        ErrorKind::Parse,
        &[
            ("(a", "1:3", "the `(` of line 1, column 1 is still open"),
            ("(a\n  [b\n", "2:5", "the `[` of line 2, column 3 is still open (2 delimiters are open in all)"),
            ("#{1", "1:4", "the `#{` of line 1"),
            ("(a]", "1:3", "expected `)` to close the `(` of line 1, column 1, found `]`"),
            ("[(a]", "1:4", "expected `)` to close the `(` of line 1, column 2, found `]`"),
            ("#(a}", "1:4", "to close the `#(`"),
            (")", "1:1", "this `)` closes nothing"),
            ("(a))\n(b)", "1:4", "this `)` closes nothing"),
            ("a\n ]", "2:2", "this `]` closes nothing"),
            ("(str \"a\n", "1:6", "the string that begins at line 1, column 6 has no closing `\"`"),
            ("#\"a", "1:1", "the regex that begins at line 1, column 1"),
            ("(')", "1:2", "`'` has no form after it"),
            ("[a #_]", "1:4", "`#_` has no form after it"),
            ("(f ^:a)", "1:4", "`^` has no form after it"),
            ("#inst", "1:1", "`#inst` has no form after it"),
        ],
    );
}

#[test]
fn notes_point_at_the_openers() {
    let source = "(let [a 1]\n  (foo [a";
    let notes: Vec<_> = failure(source).notes.iter().map(|(span, text)| (span.start, text.clone())).collect();
    let needs = |closer: char| format!("opened here, needs `{closer}`");
    assert_eq!(notes, [(18, needs(']')), (13, needs(')')), (0, needs(')'))]);
}

#[test]
fn odd_maps_name_the_lonely_form() {
    check(
        ErrorKind::Parse,
        &[
            (
                "{:a}",
                "1:2",
                "the map at line 1, column 1 has 1 forms, but keys and values come in pairs: `:a` has no value",
            ),
            (
                "[{:a 1 :b}]",
                "1:8",
                "the map at line 1, column 2 has 3 forms, but keys and values come in pairs: `:b` has no value",
            ),
            ("{:a :b 1 :c 2}", "1:2", "`:a` has no value"),
            ("{:a 1 2 :b 3}", "1:7", "`2` stands where a key should be"),
            ("{\"a\" 1 \"b\"}", "1:8", "`\"b\"` has no value"),
            ("#:n{:a}", "1:5", "`:a` has no value"),
            ("{:a #_ 1}", "1:2", "`:a` has no value"),
        ],
    );
}

#[test]
fn numbers() {
    check(
        ErrorKind::Parse,
        &[
            ("(+ 08 1)", "1:4", "`08` is not a number: a leading zero means octal"),
            ("1abc", "1:1", "`1abc` is not a number"),
            ("2024-01-01", "1:1", "is not a number"),
            ("1_000", "1:1", "is not a number"),
            ("0x", "1:1", "is not a number"),
            ("0xG", "1:1", "is not a number"),
            ("2r12", "1:1", "is not a number"),
            ("37r1", "1:1", "radix outside 2 to 36"),
            ("1/0", "1:1", "divides by zero"),
            ("1/", "1:1", "is not a number"),
            ("1/-2", "1:1", "is not a number"),
            ("1.2.3", "1:1", "is not a number"),
            ("1e", "1:1", "is not a number"),
            ("1.5N", "1:1", "is not a number"),
            ("1e400", "1:1", "too large for a float"),
            ("1e999999999M", "1:1", "out of the range of decimals"),
            ("1e-10001M", "1:1", "out of the range of decimals"),
            ("1e99999999999999999999M", "1:1", "out of the range of decimals"),
            ("[1 .5]", "1:4", "`.5` is not a number: a digit must stand before the point"),
            ("##Foo", "1:1", "`##` must be followed by"),
        ],
    );
}

#[test]
fn names() {
    check(
        ErrorKind::Parse,
        &[
            (":", "1:1", "`:` alone is not a keyword"),
            ("::", "1:1", "`::` alone is not a keyword"),
            ("{\"a\": 1}", "1:5", "`:` alone"),
            ("{a: 1}", "1:2", "`a:` ends with a colon"),
            (":a:", "1:1", "`:a:` ends with a colon"),
            ("a::b", "1:1", "two colons in a row"),
            (":::a", "1:1", "two colons in a row"),
            ("a/", "1:1", "`/` must stand between"),
            ("/a", "1:1", "`/` must stand between"),
            (":a/", "1:1", "`/` must stand between"),
            ("//", "1:1", "`/` must stand between"),
            ("///", "1:1", "`/` must stand between"),
            ("(* total/2 3)", "1:4", "`total/2` is not a name: what follows `/` begins with a digit"),
            ("a\u{0}b", "1:1", "control character U+0000"),
            ("“hello”", "1:1", "begins with a typographic quote"),
        ],
    );
    assert_eq!(failure("{a: 1}").hint.as_deref(), Some("a keyword has its colon in front, as in `:name`"));
}

#[test]
fn text() {
    check(
        ErrorKind::Parse,
        &[
            (r"\abc", "1:1", r"`\abc` is not a character"),
            (r"\uD83D", "1:1", "is not a character"),
            (r"\u004", "1:1", "is not a character"),
            (r"\o400", "1:1", "is not a character"),
            ("\\", "1:1", "nothing follows"),
            (r#"(f "ab\400")"#, "1:7", r"an octal escape goes up to `\377`"),
            (r#""\uD83D!""#, "1:2", "half of a surrogate pair"),
            (r#""\uDE00""#, "1:2", "half of a surrogate pair"),
        ],
    );
}

#[test]
fn dispatch() {
    check(
        ErrorKind::Parse,
        &[
            ("#(map #(f %) %)", "1:7", "`#()` cannot stand inside another `#()`"),
            ("# note", "1:1", "followed by a space"),
            ("#", "1:1", "nothing after it"),
            ("#<Foo>", "1:1", "cannot be read"),
            ("#[1]", "1:1", "`#[` has no meaning"),
            ("#'1", "1:1", "needs a name"),
            ("^1 x", "1:2", "metadata after `^` must be"),
            ("#?[:clj 1]", "1:1", "a reader conditional needs a list"),
            ("#?(:clj)", "1:4", "pairs of a feature keyword"),
            ("#?(clj 1)", "1:4", "pairs of a feature keyword"),
            ("#?@(:clj [1])", "1:1", "`#?@` splices"),
            ("[#?@(:clj 1)]", "1:11", "`#?@` splices"),
            ("#:a 1", "1:1", "`#:a` has no form after it"),
            ("#:a/b{:c 1}", "1:1", "`/` must stand between"),
            ("```clojure\n(f)\n```", "1:1", "Markdown code fence"),
        ],
    );
}

#[test]
fn unsupported_syntax() {
    check(
        ErrorKind::Unsupported,
        &[
            ("(f `(a b))", "1:4", "syntax quote (backtick)"),
            ("~x", "1:1", "unquote (`~`)"),
            ("[~@xs]", "1:2", "unquote (`~@`)"),
            ("#=(+ 1 2)", "1:1", "`#=` is not supported"),
        ],
    );
    let hint = "write a function, or build the list with `list` and `concat`";
    assert_eq!(failure("`a").hint.as_deref(), Some(hint));
}

#[test]
fn limits() {
    let small = ReadLimits { max_bytes: 12, max_depth: 2, max_digits: 3, max_forms: 4, data: false };
    let cases = [
        ("1234567890123", ErrorKind::ProgramTooLarge, "nowhere", "13 bytes; 12 are allowed"),
        ("[1 2 3 4]", ErrorKind::ProgramTooLarge, "1:1", "more than 4 forms"),
        ("(a (b (c)))", ErrorKind::NestingTooDeep, "1:7", "more than 2 levels"),
        ("'''a", ErrorKind::NestingTooDeep, "1:3", "more than 2 levels"),
        ("1234", ErrorKind::Parse, "1:1", "at most 3 digits"),
        ("-12.34", ErrorKind::Parse, "1:1", "at most 3 digits"),
    ];
    for (source, kind, expected_place, fragment) in cases {
        let error = read_all(source, &small).expect_err(source);
        assert_eq!((error.kind, place(source, &error).as_str()), (kind, expected_place), "{source:?}");
        assert!(error.message.contains(fragment), "{source:?}: {error:?}");
    }
    for source in ["((1)) -123", "123456789012"] {
        let limits = ReadLimits { max_digits: 12, ..small };
        assert!(read_all(source, &limits).is_ok(), "{source:?}");
    }
}

#[test]
fn a_million_openers_are_refused() {
    for opener in ["(", "[", "'", "#_", "^", "{"] {
        let source = opener.repeat(400_000);
        let error = read(&source).expect_err("too deep");
        assert_eq!(
            (error.kind, place(&source, &error)),
            (ErrorKind::NestingTooDeep, format!("1:{}", 256 * opener.len() + 1))
        );
    }
}
