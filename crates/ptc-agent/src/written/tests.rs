//! Texts against the same values built: nobody can tell from what is looked at which of them it was.

use ptc_lisp::view::{Bounds, View};
use ptc_signature::{Mode, Signature};
use serde_json::json;

use super::*;
use crate::render::Sketch;
use crate::render::properties::any_json;

/// Inputs that are long, and some that are nearly so.
fn inputs() -> Vec<Json> {
    let row = |at: usize| {
        json!({"id": at, "name": format!("n {at} \"\\\u{e9}"), "_key": format!("secret {at}"), "tags": [at, [at % 3]],
               "rare": if at == 2_345 { json!({"x": 1}) } else { json!(null) }})
    };
    let rows: Vec<Json> = (0..3_000).map(row).collect();
    let late: Vec<Json> =
        (0..4_000).map(|at| if at == 3_501 { json!({"late": 1}) } else { json!({"a": 1.5}) }).collect();
    let numbers: Vec<usize> = (0..30_000).collect();
    let texts: Vec<String> = (0..9_000).map(|at| format!("text {}", at % 7)).collect();
    let by_name: Map<String, Json> = (0..3_000).map(|at| (format!("key {at}"), row(at))).collect();
    vec![
        json!(rows),
        json!(late),
        json!(numbers),
        json!(texts),
        json!(by_name),
        json!({"title": "t", "rows": rows, "a/b": [], "inner": {"numbers": numbers}}),
        json!([rows, numbers, {"texts": texts}]),
        json!("é\"\\\n\u{1}😀 ".repeat(9_000)),
        json!(["x".repeat(70_000), "y".repeat(70_000), null]),
        json!([[], {}, null, true, 1e300, -1, u64::MAX]),
    ]
}

/// The text of a value with white space where it may stand.
fn spread(json: &Json) -> String {
    format!(" {json:#}\n").replace("é", "\\u00e9").replace("😀", "\\ud83d\\ude00")
}

#[test]
fn sketches_and_views_of_texts_are_those_of_the_values() {
    let bounds = |sorted| Bounds { items: 20, string_chars: 30, depth: 4, sorted, ..Bounds::default() };
    for json in inputs() {
        for text in [json.to_string(), spread(&json)] {
            let text = text.trim();
            let (built, written) = (Datum::Built(&json), Datum::Written(text));
            for firewall in [true, false] {
                assert_eq!(
                    Sketch::of(written, firewall, 4_096),
                    Sketch::of(built, firewall, 4_096),
                    "{text:.60}"
                );
            }
            for sorted in [true, false] {
                assert_eq!(
                    view(written, &bounds(sorted)),
                    View::of_json(&json, &bounds(sorted)),
                    "{text:.60}"
                );
            }
            assert_eq!((written.kind(), &*written.json()), (built.kind(), &json));
        }
        let text = json.to_string();
        assert_eq!(weight(&format!("{json:#}")), text.len() as u64, "{text:.60}");
    }
}

proptest::proptest! {
    #[test]
    fn parts_of_texts_are_the_parts_of_the_values(json in any_json()) {
        let text = spread(&json);
        let text = text.trim();
        let read = |text: &str| serde_json::from_str::<Json>(text).expect("JSON");
        match &json {
            Json::Array(all) => assert_eq!(&items(text).map(read).collect::<Vec<_>>(), all),
            Json::Object(all) => {
                let found = fields(text).map(|(name, value)| (name.into_owned(), read(value)));
                assert_eq!(&found.collect::<Map<_, _>>(), all);
            }
            Json::String(all) => {
                let begun: String = all.chars().take(3).collect();
                assert_eq!(text_parts(text, 3), (begun, all.chars().count(), all.len()));
            }
            _ => {}
        }
    }
}

#[test]
fn texts_are_held_to_signatures_as_values_are() {
    let many: Vec<Json> = (0..9_000).map(|at| json!({"id": at, "_k": "s"})).collect();
    let (mut wrong, mut hidden) = (many.clone(), many.clone());
    wrong[7_777]["id"] = json!("x");
    hidden[8_000]["_k"] = json!(1);
    let by_key: Map<String, Json> =
        many.iter().enumerate().map(|(at, row)| (format!("k{at}"), row.clone())).collect();
    let mut wrong_key = by_key.clone();
    wrong_key.insert("k8500".to_owned(), json!([1]));
    let text = "x".repeat(70_000);
    let values = [
        json!(many),
        json!(wrong),
        json!(hidden),
        json!({"rows": wrong, "n": "no"}),
        json!({"rows": many, "more": many}),
        json!(by_key),
        json!(wrong_key),
        json!([many, wrong]),
        json!(text),
        json!([text, 1]),
        json!(vec![1; 90_000]),
        json!({"_rows": vec!["x"; 40_000]}),
    ];
    let types = [
        ":any",
        ":map",
        "[:map]",
        "[{id :int, _k :string}]",
        "[{id :int}]!",
        "{rows [{id :int}], n :int?}",
        "{rows :any}",
        "[[{id :int}]]",
        ":string",
        "[:string]",
        "{_rows [:int]}",
        "[:int]?",
        ":map<:string, {id :int}>",
        "{more [:int]}!",
    ];
    let mut checked = 0;
    for ty in types {
        let Ok(signature) = Signature::parse(&format!("(in {ty}, other :int) -> :any")) else { continue };
        checked += 1;
        for value in &values {
            for mode in [Mode::Enabled, Mode::Strict] {
                let context = json!({"in": value, "spare": value});
                let expected =
                    signature.validate_input(&context, mode).err().map(|it| it.errors).unwrap_or_default();
                let whole = value.to_string();
                let parts = ["in", "spare"].map(|name| (Cow::Borrowed(name), Datum::Written(&whole)));
                let found = issues(&signature.input, parts.into_iter(), mode);
                if expected.len() > 100 {
                    // Which of them are listed is open.
                    assert_eq!((found.len(), found.last()), (101, expected.last()), "{ty} {whole:.60}");
                    continue;
                }
                let told = |issues: &[ptc_signature::Issue]| {
                    let mut all: Vec<String> = issues.iter().map(|issue| issue.to_string()).collect();
                    all.sort();
                    all
                };
                assert_eq!(told(&found), told(&expected), "{ty} {whole:.60}");
            }
        }
    }
    assert!(checked > 10, "{checked} types");
}

#[test]
fn inputs_that_are_read_are_refused_in_the_words_of_the_strict_reader() {
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    for text in ["", "[1,", r#"{"a": 1, "b": {"c": 1, "c": 2}}"#, r#""\ud83d""#, "1e999", "1 2", &deep, "[1]"]
    {
        let refused =
            WrittenInputs::new([("x".to_owned(), Arc::from(text))]).err().map(|it| it.error.to_string());
        let strict = ptc_lisp::json::strict_json(text).err().map(|error| error.to_string());
        assert_eq!(refused, strict, "{text}");
    }
}

#[test]
fn inputs_are_written_as_they_were_read() {
    let all = json!({"rows": inputs()[0], "n": 1, "a\"b": "x"});
    let text = all.to_string();
    let fields = WrittenInputs::fields(&text).expect("JSON").expect("an object");
    let written = WrittenInputs::new(fields).expect("JSON");
    assert!(written.is_long());
    assert_eq!(written.text(), text);
    assert_eq!(written.brief()["n"], 1);
    assert!(written.brief()["rows"].as_array().is_some_and(|rows| !rows.is_empty() && rows.len() < 3_000));
    assert!(WrittenInputs::fields("[1]").expect("JSON").is_none());
}

#[test]
fn blanks_around_a_long_input_do_not_change_what_it_is() {
    for json in inputs().into_iter().filter(|json| json.to_string().len() > LONG) {
        let inputs = WrittenInputs::new([("x".to_owned(), Arc::from(spread(&json)))]).expect("JSON");
        let brief = inputs.brief()["x"].clone();
        let datum = inputs.datum("x", &brief);
        assert_eq!((datum.kind(), &*datum.json()), (Datum::Built(&json).kind(), &json));
    }
}
