//! Whatever a model answers, reading it ends, never panics, and repairs nothing twice.

use proptest::prelude::*;
use ptc_lisp::reader::{ReadLimits, read_all};
use ptc_signature::{Mode, Type};

use super::json::extract_json;
use super::{Found, Multiple, final_value, read_program, repair};

/// Texts made of the pieces that the rules look at.
fn reply() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "(f x)",
        "x",
        "data/x",
        "1.5",
        ":k",
        "\"",
        "\\",
        "\\\"",
        "\n",
        "\r\n",
        "  ",
        ";",
        "; c\n",
        "#_",
        "“",
        "”",
        "‘",
        "’",
        "\u{feff}",
        "\u{200b}",
        "\u{200d}",
        "\u{a0}",
        "（",
        "）",
        "```",
        "```clojure\n",
        "\n```\n",
        "```json\n",
        "`",
        "clojure ",
        "<clojure>",
        "</clojure>",
        "{\"program\": \"(f)\"}",
        "{\"items\": [1]}",
        "42",
        "null",
        "“a”",
        "\"(inc 1)\"",
        "é",
        "\u{0}",
    ]);
    prop::collection::vec(piece, 0..25).prop_map(|pieces| pieces.concat())
}

fn types() -> impl Strategy<Value = Type> {
    let texts = [
        ":int",
        ":bool?",
        "[:int]",
        "{a :int}",
        ":datetime",
        ":enum[a b]",
        ":string",
        ":int|:string",
        ":map",
    ];
    prop::sample::select(texts.to_vec()).prop_map(|text| Type::parse(text).expect("a type"))
}

proptest! {
    #[test]
    fn a_repaired_program_needs_no_repair(text in reply()) {
        let once = repair(&text);
        let twice = repair(&once.code);
        // Wrappings come off only so often; a program in more of them is none.
        if once.fixes.len() < 4 {
            prop_assert_eq!(&twice.code, &once.code, "{:?}", text);
        }
    }

    #[test]
    fn plain_programs_that_read_stay_as_they_are(text in reply()) {
        let trimmed = text.trim();
        let plain = trimmed.is_ascii() && trimmed.starts_with('(') && !trimmed.contains(['`', '\r']);
        if plain && read_all(trimmed, &ReadLimits::default()).is_ok() {
            let repaired = repair(trimmed);
            prop_assert_eq!(repaired.code, trimmed);
            prop_assert!(repaired.fixes.is_empty());
        }
    }

    #[test]
    fn every_reply_is_read_somehow(text in reply()) {
        for multiple in [Multiple::Reject, Multiple::Sequence] {
            match read_program(&text, multiple, false) {
                Found::Program(program) => prop_assert!(!program.code.is_empty() && program.blocks >= 1),
                Found::Multiple(count) => prop_assert!(count > 1 && multiple == Multiple::Reject),
                Found::None => {}
            }
        }
    }

    #[test]
    fn a_final_value_fits_its_type(text in reply(), ty in types()) {
        if let Ok(found) = final_value(&text, &ty, Mode::Enabled) {
            prop_assert!(ty.validate(&found.value, Mode::Enabled).is_ok(), "{} from {:?}", found.value, text);
        }
        prop_assert_eq!(extract_json(&text), extract_json(&text.replace("\r\n", "\n")));
    }
}

/// The work grows with the length of a reply and no faster, so that these take no time that anybody notices.
#[test]
fn long_hostile_replies_are_read() {
    let pieces = [
        "<clojure>",
        "<clojure></clojure>",
        "’a ",
        "“a ",
        "“a\" ",
        "(",
        ")",
        "(f ",
        "```\n",
        "```clojure\n",
        "`",
        "{\"a\":",
        "[",
        "\\",
        "\"",
        "; x\n",
        "（",
        "\u{200b}",
        "clojure ",
    ];
    for piece in pieces {
        let text = piece.repeat(60_000 / piece.len());
        let found = read_program(&text, Multiple::Sequence, false);
        let wrapped = read_program(&format!("(f {text}"), Multiple::Reject, false);
        assert!(!matches!(found, Found::Multiple(_)) && wrapped != Found::None, "{piece:?}");
        assert!(extract_json(&text).is_err(), "{piece:?}");
    }
    for piece in ["a <think>", "</think>", "<think></think> ", "\"<think>\" ", "[/think]\n", "<"] {
        let text = piece.repeat(60_000 / piece.len());
        assert!(extract_json(&text).is_err(), "{piece:?}");
        read_program(&text, Multiple::Sequence, false);
    }
}
