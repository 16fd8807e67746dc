//! Printing: to the print list of the run, to a capture of `with-out-str`, or to a string.

use super::{Builtin, args, constant, native};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::print::Style;
use crate::value::{Map, Value, ledger};

pub(super) static TABLE: &[Builtin] = &[
    native(
        "clojure.core/print",
        "[& xs]",
        print,
        "Prints its arguments for people, with spaces between them. Returns nil.",
        &[(r#"(print "a" [1 "b"])"#, "nil")],
    ),
    native(
        "clojure.core/println",
        "[& xs]",
        println,
        "Prints its arguments for people, with spaces between them, and ends the line. Returns nil.",
        &[(r#"(println "total:" 3)"#, "nil")],
    ),
    native(
        "clojure.core/pr",
        "[& xs]",
        pr,
        "Prints its arguments so that they can be read back. Returns nil.",
        &[(r#"(pr "a" 1)"#, "nil")],
    ),
    native(
        "clojure.core/prn",
        "[& xs]",
        prn,
        "Prints its arguments so that they can be read back, and ends the line. Returns nil.",
        &[(r#"(prn "a" 1)"#, "nil")],
    ),
    native(
        "clojure.core/newline",
        "[]",
        newline,
        "Ends the printed line. Returns nil.",
        &[("(newline)", "nil")],
    ),
    native(
        "clojure.core/flush",
        "[]",
        flush,
        "Does nothing: printed text needs no flushing here. Returns nil.",
        &[("(flush)", "nil")],
    ),
    native(
        "clojure.core/print-str",
        "[& xs]",
        print_str,
        "What print would print, as a string.",
        &[(r#"(print-str "a" [1 "b"])"#, r#""a [1 b]""#)],
    ),
    native(
        "clojure.core/println-str",
        "[& xs]",
        println_str,
        "What println would print, as a string.",
        &[(r#"(println-str "a" 1)"#, r#""a 1\n""#)],
    ),
    native(
        "clojure.core/pr-str",
        "[& xs]",
        pr_str,
        "Its arguments as text that can be read back, with spaces between them.",
        &[(r#"(pr-str [1 "a"] nil)"#, r#""[1 \"a\"] nil""#)],
    ),
    native(
        "clojure.core/prn-str",
        "[& xs]",
        prn_str,
        "What prn would print, as a string.",
        &[(r#"(prn-str "a")"#, r#""\"a\"\n""#)],
    ),
    constant(
        "clojure.core/char-escape-string",
        |heap| {
            by_character(
                heap,
                &[
                    ("\n", "\\n"),
                    ("\t", "\\t"),
                    ("\r", "\\r"),
                    ("\"", "\\\""),
                    ("\\", "\\\\"),
                    ("\u{c}", "\\f"),
                    ("\u{8}", "\\b"),
                ],
            )
        },
        "Characters that are escaped in strings, with their escapes.",
        &[(r#"(get char-escape-string "\n")"#, r#""\\n""#)],
    ),
    constant(
        "clojure.core/char-name-string",
        |heap| {
            by_character(
                heap,
                &[
                    ("\n", "newline"),
                    ("\t", "tab"),
                    (" ", "space"),
                    ("\u{8}", "backspace"),
                    ("\u{c}", "formfeed"),
                    ("\r", "return"),
                ],
            )
        },
        "Characters that have names, with their names.",
        &[(r#"(get char-name-string " ")"#, r#""space""#)],
    ),
    native(
        "prim/capture-begin",
        "[]",
        capture_begin,
        "Starts to capture printed text; gives the number to end the capture with.",
        &[],
    ),
    native(
        "prim/capture-end",
        "[] [capture]",
        capture_end,
        "Ends the last capture, or the given one with those that an error left open inside; gives the text.",
        &[],
    ),
];

/// Made anew wherever it is named, and paid for there.
fn by_character(heap: &mut Heap, pairs: &[(&str, &str)]) -> Value {
    heap.allocated(Map::bytes_for(pairs.len()));
    ledger::note(2 * pairs.len() as u64);
    Value::map_of(pairs.iter().map(|(character, text)| (Value::str(character), Value::str(text))))
}

fn show(heap: &mut Heap, args: &[Value], style: Style, end: &str) -> Res {
    let text = heap.printed_line(args, style, end)?;
    heap.print(&text)?;
    Ok(Value::Nil)
}

fn print(heap: &mut Heap, args: &mut [Value]) -> Res {
    show(heap, args, Style::Plain, "")
}

fn println(heap: &mut Heap, args: &mut [Value]) -> Res {
    show(heap, args, Style::Plain, "\n")
}

fn pr(heap: &mut Heap, args: &mut [Value]) -> Res {
    show(heap, args, Style::Readable, "")
}

fn prn(heap: &mut Heap, args: &mut [Value]) -> Res {
    show(heap, args, Style::Readable, "\n")
}

fn newline(heap: &mut Heap, _: &mut [Value]) -> Res {
    show(heap, &[], Style::Plain, "\n")
}

fn flush(_: &mut Heap, _: &mut [Value]) -> Res {
    Ok(Value::Nil)
}

fn print_str(heap: &mut Heap, args: &mut [Value]) -> Res {
    heap.printed_row(args, Style::Plain, "").map(Value::string)
}

fn println_str(heap: &mut Heap, args: &mut [Value]) -> Res {
    heap.printed_row(args, Style::Plain, "\n").map(Value::string)
}

fn pr_str(heap: &mut Heap, args: &mut [Value]) -> Res {
    heap.printed_row(args, Style::Readable, "").map(Value::string)
}

fn prn_str(heap: &mut Heap, args: &mut [Value]) -> Res {
    heap.printed_row(args, Style::Readable, "\n").map(Value::string)
}

fn capture_begin(heap: &mut Heap, _: &mut [Value]) -> Res {
    let capture = heap.captures.len();
    heap.allocated(128);
    heap.captures.push(String::new());
    Ok(Value::from(capture))
}

fn capture_end(heap: &mut Heap, args: &mut [Value]) -> Res {
    let last = heap.captures.len().saturating_sub(1);
    let capture = if args.is_empty() { last } else { args::count(args, 0)?.min(last) };
    let text = heap.captures.drain(capture..).next().unwrap_or_default();
    Ok(Value::string(text))
}
