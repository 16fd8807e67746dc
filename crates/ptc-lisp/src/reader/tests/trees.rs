//! Texts and the forms they read as.

use super::{print, print_form, read};
use crate::reader::{ReadLimits, is_incomplete, read_one};

fn check(cases: &[(&str, &str)]) {
    for (source, expected) in cases {
        match read(source) {
            Ok(forms) => assert_eq!(print(&forms), *expected, "reading {source:?}"),
            Err(error) => panic!("{source:?} does not read: {error:?}"),
        }
    }
}

#[test]
fn integers() {
    check(&[
        ("0 42 -7 +5 -0", "0 42 -7 5 0"),
        ("9223372036854775807", "9223372036854775807"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("9223372036854775808", "9223372036854775808N"),
        ("-123456789012345678901234567890", "-123456789012345678901234567890N"),
        ("5N -5N 0N 123456789012345678901234567890N", "5N -5N 0N 123456789012345678901234567890N"),
        ("0x10 0XfF -0x1F 0xFFN", "16 255 -31 255N"),
        ("017 007 00 -010 017N", "15 7 0 -8 15N"),
        ("2r1010 36rZZ 16Rff -2r11", "10 1295 255 -3"),
        ("0xFFFFFFFFFFFFFFFFFF", "4722366482869645213695N"),
        ("1,200 1, 000", "1 200 1 0"),
        ("#(* 2%) [1'a] 1#{}", "#(* 2 %) [1 'a] 1 #{}"),
    ]);
}

#[test]
fn floats_and_ratios() {
    check(&[
        ("1.5 -0.0 5. 00.5 08.5", "1.5 -0.0 5.0 0.5 8.5"),
        ("1e3 1E3 1.5e-3 2e+2 1.e2", "1000.0 1000.0 0.0015 200.0 100.0"),
        ("1.50M 2M -1e2M 5.M 08.5M +0.5M", "1.50M 2M -1E+2M 5M 8.5M 0.5M"),
        ("1/2 -1/4 4/2 -6/3 0/5 6/4", "1/2 -1/4 2 -2 0 3/2"),
        ("100000000000000000000/10", "10000000000000000000N"),
        ("100000000000000000001/100000000000000000000", "100000000000000000001/100000000000000000000"),
        ("##Inf ##-Inf ##NaN", "inf -inf NaN"),
        ("1e-400", "0.0"),
    ]);
}

#[test]
fn ratios_are_read_in_lowest_terms() {
    let tiny = format!("1/1{}", "0".repeat(320));
    let same = format!("3{}/1{}", "0".repeat(400), "0".repeat(401));
    check(&[(&tiny, &tiny), (&same, "3/10")]);
}

#[test]
fn strings() {
    check(&[
        (r#""" "a b" "a,;(""#, r#""" "a b" "a,;(""#),
        (r#""\n\t\r\b\f\\\"""#, r#""\n\t\r\u{8}\u{c}\\\"""#),
        ("\"two\nlines\"", r#""two\nlines""#),
        (r#""\u0041\u00e9" "\uD83D\uDE00!""#, r#""Aé" "😀!""#),
        (r#""\0\7\101\377\18""#, r#""\0\u{7}Aÿ\u{1}8""#),
        // Escapes that mean nothing stay as written.
        (r#""\d+ \. C:\users \u12 \8""#, r#""\\d+ \\. C:\\users \\u12 \\8""#),
        (r#""a""b""#, r#""a" "b""#),
    ]);
}

#[test]
fn characters() {
    check(&[
        (r"\a \A \1 \λ \😀", r#""a" "A" "1" "λ" "😀""#),
        (r"\newline \space \tab \return \backspace \formfeed", r#""\n" " " "\t" "\r" "\u{8}" "\u{c}""#),
        (r"\u0041 \u00e9 \u \o101 \o7 \o", r#""A" "é" "u" "A" "\u{7}" "o""#),
        (r"[\a\b]", r#"["a" "b"]"#),
        (r"(f \newline)", r#"(f "\n")"#),
        (r"[\(] [\)] \\ \; \, \' \#", "[\"(\"] [\")\"] \"\\\\\" \";\" \",\" \"'\" \"#\""),
        ("\\\"", r#""\"""#),
        (r"{\a\b}", r#"{"a" "b"}"#),
    ]);
}

#[test]
fn keywords() {
    check(&[
        (":a :a/b :a.b/c :my-key? :x!", ":a :a/b :a.b/c :my-key? :x!"),
        ("::a ::x/y", ":user/a :x/y"),
        (":1 :2nd :a/1 :50%", ":1 :2nd :a/1 :50%"),
        (":a.b :a' :a# :a&b :a:b :+ :/ :-> :<=", ":a.b :a' :a# :a&b :a:b :+ :/ :-> :<="),
        (":é :名前 :😀", ":é :名前 :😀"),
        (":nil :true", ":nil :true"),
        (":a[:b]:c\"s\"", ":a [:b] :c \"s\""),
    ]);
}

#[test]
fn symbols() {
    let themselves = [
        "+",
        "-",
        "*",
        "/",
        "<",
        ">",
        "=",
        "?",
        "!",
        "_",
        "%",
        "%1",
        "%&",
        "&",
        ".",
        "..",
        "...",
        "a",
        "a.b/c",
        "java.time.LocalDate/parse",
        "Foo.",
        ".method",
        ".-field",
        "foo'",
        "foo''",
        "a#",
        "<=>",
        "->x",
        "->>",
        "some->",
        "*1",
        "*earmuffs*",
        "clojure.core//",
        "a/b/c",
        "nil?",
        "true-ish",
        "nilly",
        "-a",
        "+a",
        "-",
        "--1",
        "a1",
        "x:y",
        "λ",
        "größe",
        "名前",
        "tool/get-user",
        "$",
        "|",
    ];
    for symbol in themselves {
        let forms = read(symbol).unwrap_or_else(|error| panic!("{symbol}: {error:?}"));
        assert_eq!(forms[0].as_symbol(), Some(symbol), "reading {symbol:?}");
        assert_eq!(forms.len(), 1, "reading {symbol:?}");
    }
    check(&[("nil true false", "nil true false"), ("a@b a\"s\"", "a @b a \"s\""), ("a'b", "a'b")]);
}

#[test]
fn collections() {
    check(&[
        ("", ""),
        ("() [] {} #{}", "() [] {} #{}"),
        ("(+ 1 [2 {:a #{3}}])", "(+ 1 [2 {:a #{3}}])"),
        ("(a)(b)[c]", "(a) (b) [c]"),
        ("{:a 1, :b 2}", "{:a 1 :b 2}"),
        ("{:a 1 :a 2} #{1 1}", "{:a 1 :a 2} #{1 1}"),
    ]);
}

#[test]
fn namespaced_maps() {
    check(&[
        ("#:a{:b 1 :_/c 2 :d/e 3 f 4 \"g\" 5}", "{:a/b 1 :c 2 :d/e 3 a/f 4 \"g\" 5}"),
        ("#:a.b {:c {:d 1}}", "{:a.b/c {:d 1}}"),
        ("#::{:a 1} #::x{:a 1}", "{:user/a 1} {:x/a 1}"),
        ("#:a{}", "{}"),
    ]);
}

#[test]
fn regexes_keep_their_backslashes() {
    check(&[
        (r#"#"\d+" #"a\\b" #"" #"(?i)x""#, r"#/\d+/ #/a\\b/ #// #/(?i)x/"),
        (r#"#"say \"hi\"" 1"#, r#"#/say \"hi\"/ 1"#),
        ("#\"a\nb\"", "#/a\nb/"),
    ]);
}

#[test]
fn prefixes() {
    check(&[
        ("'a '(1 2) ''a ' b", "'a '(1 2) ''a 'b"),
        ("@a @(f) '@a", "@a @(f) '@a"),
        ("#'a #'a.b/c", "#'a #'a.b/c"),
        ("#(+ % %2) #()", "#(+ % %2) #()"),
        ("[#(f %) #(g %)]", "[#(f %) #(g %)]"),
        ("#inst \"2024-01-01\" #uuid\"0\" #my/tag {:a 1}", "#inst \"2024-01-01\" #uuid \"0\" #my/tag {:a 1}"),
        ("#a #b c", "#a #b c"),
    ]);
}

#[test]
fn discards() {
    check(&[
        ("#_a b", "b"),
        ("#_ #_ a b c", "c"),
        ("#_#_a b c", "c"),
        ("(a #_ b) [#_(c d)] {:a #_ x 1}", "(a) [] {:a 1}"),
        ("'#_a b", "'b"),
        ("#_'a b", "b"),
        ("#_ ^:m a b", "b"),
        ("#_#inst \"x\" 1", "1"),
    ]);
}

#[test]
fn metadata_stands_outermost_first() {
    check(&[
        ("^:a x", "^:a x"),
        ("^String x ^\"T\" y ^{:doc \"d\"} z", "^String x ^\"T\" y ^{:doc \"d\"} z"),
        ("^:a ^:b x", "^:a ^:b x"),
        ("#^:a x", "^:a x"),
        ("(defn ^:private f [^long n] n)", "(defn ^:private f [^long n] n)"),
        ("^{:a ^:b c} x", "^{:a ^:b c} x"),
        ("'^:a x", "'^:a x"),
        ("^:a 'x", "^:a 'x"),
    ]);
}

#[test]
fn reader_conditionals_choose_clj() {
    check(&[
        ("#?(:clj a :cljs b :default c)", "a"),
        ("#?(:cljs b :default c)", "c"),
        ("#?(:cljs b) d", "d"),
        ("[1 #?@(:clj [2 3] :cljs [4]) 5]", "[1 2 3 5]"),
        ("[1 #?@(:cljs [4]) 5]", "[1 5]"),
        ("['#?@(:clj [a b])]", "['a b]"),
        ("'#?(:cljs a) b", "'b"),
        ("{:a #?(:clj 1 :cljs 2)}", "{:a 1}"),
        ("#?()", ""),
    ]);
}

#[test]
fn blanks_and_comments() {
    check(&[
        (" ,\t\r\n", ""),
        ("a ; comment ) \"\nb", "a b"),
        ("; only", ""),
        ("#!/usr/bin/env ptc\n1", "1"),
        ("1 #! rest ) \n2", "1 2"),
        ("[1,2,,3]", "[1 2 3]"),
        ("\u{feff}1\u{a0}2\u{2003}3", "1 2 3"),
        ("(a;c\n)", "(a)"),
        ("1;c\r2", "1 2"),
    ]);
}

#[test]
fn spans_cover_exactly_the_form() {
    let source = "  (def é 'x)  ^:m [1 #inst \"t\"]";
    let mut seen = Vec::new();
    let forms = read(source).expect("it reads");
    let mut pending: Vec<_> = forms.iter().rev().collect();
    while let Some(form) = pending.pop() {
        seen.push(&source[form.span.start as usize..form.span.end as usize]);
        use crate::syntax::FormKind::{List, Quote, Tagged, Vector};
        match &form.kind {
            List(items) | Vector(items) => pending.extend(items.iter().rev()),
            Quote(inner) | Tagged(_, inner) => pending.push(inner),
            _ => {}
        }
    }
    assert_eq!(seen, ["(def é 'x)", "def", "é", "'x", "x", "[1 #inst \"t\"]", "1", "#inst \"t\"", "\"t\""]);
}

#[test]
fn read_one_stops_after_the_first_form() {
    let limits = ReadLimits::default();
    let cases = [
        ("", None),
        (" ; nothing", None),
        ("#_ a", None),
        ("1 )", Some(("1", 1))),
        ("  (a b) \"unclosed", Some(("(a b)", 7))),
        ("#_x :k]", Some((":k", 6))),
        ("'é z", Some(("'é", 3))),
    ];
    for (source, expected) in cases {
        let found = read_one(source, &limits).expect("it reads");
        let found = found.as_ref().map(|(form, after)| (print_form(form), *after));
        assert_eq!(found, expected.map(|(text, after)| (text.to_owned(), after)), "reading {source:?}");
    }
    assert!(read_one(") 1", &limits).is_err());
}

#[test]
fn incomplete_texts_could_go_on() {
    for source in [
        "(",
        "[1 (2",
        "{:a",
        "#{",
        "#(f",
        "\"abc",
        "(str \"a)",
        "\"a\\",
        "#\"a",
        "'",
        "(a '",
        "#_",
        "^:a",
        "^",
        "#inst",
        "#?(:clj",
        "#?",
        "#:a{",
        "#:a",
        "\\",
        "#",
        "##",
        "(a ; comment",
    ] {
        assert!(is_incomplete(source), "{source:?} could go on");
    }
    for source in
        ["", "1", "(a)", ")", "(]", "(a))", ":", "foo:", "(08", "\"a\" ; \"", "{:a}", "`a", "##foo", "(')"]
    {
        assert!(!is_incomplete(source), "{source:?} cannot go on");
    }
}
