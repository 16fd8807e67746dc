//! The exact texts of errors, for people and for models.

use ptc_lisp::machine::Machine;
use ptc_lisp::render::{Role, for_models, for_people, pieces};
use ptc_lisp::{Error, ErrorKind, Limits, Span};

/// The error that checking a program finds.
fn mistake(source: &str) -> Error {
    let checked = Machine::new(Limits::default()).check(source);
    checked.err().unwrap_or_else(|| panic!("{source} has no mistake"))
}

fn at(source: &str, part: &str) -> Span {
    let start = source.find(part).expect("the part is there");
    Span::new(start, start + part.len())
}

#[test]
fn people_see_the_place() {
    let source = "(let [x 1]\n  (+ x \"a\"))";
    let error = Error::new(ErrorKind::Type, "expected a number, got string \"a\"")
        .at(at(source, "(+ x \"a\")"))
        .hint("turn text into a number first with parse-long");
    assert_eq!(
        for_people(&error, source, "sum.clj"),
        "\
type_error: expected a number, got string \"a\"
 --> sum.clj:2:3
  |
2 |   (+ x \"a\"))
  |   ^^^^^^^^^
  = help: turn text into a number first with parse-long"
    );
}

#[test]
fn an_error_without_a_place_is_one_line() {
    let error = Error::new(ErrorKind::Timeout, "the program took longer than 10s");
    assert_eq!(for_people(&error, "(f)", "-e"), "timeout: the program took longer than 10s");
    assert_eq!(for_models(&error, "(f)"), "timeout: the program took longer than 10s.");
}

#[test]
fn people_see_notes_and_what_a_repair_changes() {
    let source = "(defn f [x]\n  (inc x)\n(f 2)";
    assert_eq!(
        for_people(&mistake(source), source, "-e"),
        "\
parse_error: the text ends, but the `(` of line 1, column 1 is still open
 --> -e:3:6
  |
1 | (defn f [x]
  | - opened here, needs `)`
2 |   (inc x)
  |          - `)` is missing here
3 | (f 2)
  |      ^
  = help: add `)` at the end of line 2
  = it would then read:
2 -   (inc x)
2 +   (inc x))"
    );
}

#[test]
fn lines_between_places_are_left_out() {
    let source = "(a\n(b)\n(c)\n(d]";
    let error = Error::new(ErrorKind::Parse, "no").at(at(source, "]")).note(at(source, "(a"), "from here");
    assert_eq!(
        for_people(&error, source, "-e"),
        "\
parse_error: no
 --> -e:4:3
  |
1 | (a
  | -- from here
...
4 | (d]
  |   ^"
    );
}

#[test]
fn line_numbers_stand_in_a_column() {
    let source = format!("{}(x)", "1\n".repeat(99));
    let error = Error::new(ErrorKind::Type, "no").at(at(&source, "(x)")).note(Span::new(2, 3), "here");
    assert_eq!(
        for_people(&error, &source, "-e"),
        "\
type_error: no
   --> -e:100:1
    |
  2 | 1
    | - here
...
100 | (x)
    | ^^^"
    );
}

#[test]
fn marks_stand_below_wide_combining_and_tabbed_text() {
    for (source, columns) in [("(f \"日本\" x)", 10), ("(f \"e\u{301}\" x)", 7), ("\t(g x)", 4)] {
        let error = Error::new(ErrorKind::Type, "no").at(at(source, "x"));
        let text = for_people(&error, source, "-e");
        assert_eq!(text.lines().last(), Some(format!("  | {}^", " ".repeat(columns)).as_str()), "{text}");
    }
}

#[test]
fn a_long_line_is_shown_around_the_place() {
    let source = format!("({} x {})", "a ".repeat(200), "b ".repeat(200));
    let error = Error::new(ErrorKind::Type, "no").at(at(&source, "x"));
    let text = for_people(&error, &source, "-e");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[3].chars().count(), "1 | ".len() + 102);
    assert!(lines[3].starts_with("1 | …") && lines[3].ends_with('…'), "{text}");
    let column = lines[4].find('^').expect("a mark");
    assert_eq!(lines[3].chars().nth(column), Some('x'), "{text}");
}

#[test]
fn a_place_over_several_lines_is_marked_on_its_first() {
    let source = "(f\n  1\n  2)";
    let error = Error::new(ErrorKind::Type, "no").at(Span::new(0, source.len()));
    assert_eq!(for_people(&error, source, "-e"), "type_error: no\n --> -e:1:1\n  |\n1 | (f\n  | ^^");
}

#[test]
fn hostile_text_cannot_take_over_the_terminal() {
    let source = "(f \"\u{1b}[2J\u{202e}\")";
    let error = Error::new(ErrorKind::Type, "got \u{1b}]0;owned\u{7}").at(at(source, "f"));
    let text = for_people(&error, source, "-e");
    assert_eq!(
        text,
        "type_error: got \u{fffd}]0;owned\u{fffd}\n --> -e:1:2\n  |\n1 | (f \"\u{fffd}[2J\u{fffd}\")\n  |  ^"
    );
    assert!(!for_models(&error, source).contains('\u{1b}'));
}

#[test]
fn what_a_program_can_make_an_error_say_is_bounded() {
    let long = "long ".repeat(10_000);
    let mut error = Error::new(ErrorKind::Exception, &long).hint(&long).at(Span::new(0, 5));
    error.notes = vec![(Span::new(5, 6), long.clone()); 1_000];
    error.repaired = Some(long.replace(' ', "\n"));
    assert!(for_people(&error, &long, "-e").len() < 5_000);
    assert!(for_models(&error, &long).len() < 1_300);
}

#[test]
fn places_outside_the_text_are_harmless() {
    for (source, span) in [("", Span::new(5, 9)), ("é", Span::new(1, 2)), ("a\n", Span::new(2, 2))] {
        let error = Error::new(ErrorKind::Parse, "no").at(span).note(Span::new(1, 0), "backwards");
        assert!(for_people(&error, source, "-e").contains('^'), "{source:?}");
        assert!(for_models(&error, source).starts_with("parse_error at "), "{source:?}");
    }
}

#[test]
fn models_get_one_line_with_the_fix() {
    let cases = [
        (
            "(let [total 1]\n  (+ totl 1))",
            "unbound_var at 2:6: undefined name: totl. Fix: did you mean total in place of totl?",
        ),
        (
            "(defmacro m [x] x)",
            "unsupported_form at 1:2: defmacro is not part of PTC-Lisp: programs cannot define macros. \
             Fix: write a function with defn",
        ),
        (
            "(defn f [x]\n  (inc x)\n(f 2)",
            "parse_error at 3:6: the text ends, but the `(` of line 1, column 1 is still open. \
             Fix: add `)` at the end of line 2\nLine 2 would read: (inc x))",
        ),
    ];
    for (source, expected) in cases {
        assert_eq!(for_models(&mistake(source), source), expected);
    }
}

#[test]
fn pieces_say_what_is_what() {
    let source = "(a)";
    let mut error = Error::new(ErrorKind::Type, "no").at(at(source, "a")).hint("yes");
    error.repaired = Some("(b)".to_owned());
    let roles: Vec<(Role, String)> =
        pieces(&error, source, "-e").into_iter().filter(|(role, _)| *role != Role::Frame).collect();
    let expected = [
        (Role::Kind, "type_error"),
        (Role::Message, ": no"),
        (Role::Source, "-e:1:2"),
        (Role::Source, "(a)"),
        (Role::Mark, "^"),
        (Role::Hint, "help: yes"),
        (Role::Hint, "it would then read:"),
        (Role::Removed, "- (a)"),
        (Role::Added, "+ (b)"),
    ];
    assert_eq!(roles, expected.map(|(role, text)| (role, text.to_owned())));
}
