//! Texts against the same values built: nobody can tell from what is looked at which of them it was.

use std::collections::BTreeSet;

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
            let (built, text) = (Datum::Built(&json), LongText::new(text.into()));
            let (written, text) = (Datum::Written(text.passage()), text.passage().text());
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
        let passage = Passage::alone(text);
        let read = |text: &str| serde_json::from_str::<Json>(text).expect("JSON");
        match &json {
            Json::Array(all) => {
                assert_eq!(&items(passage).map(|item| read(item.text())).collect::<Vec<_>>(), all)
            }
            Json::Object(all) => {
                let found = fields(passage).map(|(name, value)| (name.into_owned(), read(value.text())));
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
        ":map[:string {id :int}]",
        ":int|[{id :int}]",
        "[{id :int}]|:map[:keyword :map]",
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
                let whole = LongText::new(value.to_string().into());
                let parts =
                    ["in", "spare"].map(|name| (Cow::Borrowed(name), Datum::Written(whole.passage())));
                let whole = whole.passage().text();
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

/// Inputs that are hard on walks: many fields of a middling size, depth, breadth, and both.
fn hard() -> Vec<(&'static str, String)> {
    let ones = |count: usize| format!("[{}1]", "1,".repeat(count));
    let within = |depth: usize, text: &str| format!("{}{text}{}", "[".repeat(depth), "]".repeat(depth));
    let fields = |count: usize, value: &str| {
        let all: Vec<String> = (0..count).map(|at| format!("\"k{at}\":{value}")).collect();
        format!("{{{}}}", all.join(","))
    };
    let chain = (0..100).fold(ones(1_000), |inner, _| format!("{{\"a\":{},\"b\":{inner}}}", ones(2_000)));
    vec![
        ("fields", fields(20, &ones(30_000))),
        ("fields of fields", fields(4, &fields(6, &ones(30_000)))),
        ("deep", within(110, &ones(200_000))),
        ("deep and broad", fields(8, &within(100, &ones(40_000)))),
        ("a chain", chain),
        ("hidden", fields(3, &fields(3, &format!("{{\"_k\":1,\"r\":{}}}", within(90, &ones(40_000)))))),
        ("rows", format!("[{}]", vec![fields(3, &ones(400)); 800].join(","))),
        ("small fields", fields(30_000, "1")),
    ]
}

#[test]
fn no_walk_reads_a_text_for_each_of_its_levels_or_builds_more_than_it_may() {
    let bounds = Bounds { items: 20, string_chars: 30, depth: 64, sorted: true, ..Bounds::default() };
    for (name, text) in hard() {
        let (length, long) = (text.len(), LongText::new(text.as_str().into()));
        let datum = Datum::Written(long.passage());
        let (read, built) = tally::of(|| drop(beginning(long.passage(), &mut { BUILT })));
        assert!(
            read <= 2 * length && built <= BUILT + LONG,
            "beginning of {name}: {read} {built} of {length}"
        );
        let (read, built) = tally::of(|| drop(Sketch::of(datum, true, 4_096)));
        assert!(read <= 8 * length && built <= 3 * length, "sketch of {name}: {read} {built} of {length}");
        let (read, built) = tally::of(|| drop(view(datum, &bounds)));
        assert!(read <= 2 * length && built <= length, "view of {name}: {read} {built} of {length}");
        let (read, built) = tally::of(|| {
            let _ = crate::render::Veil::default().learn_written("x", &text);
        });
        assert!(read <= 2 * length && built <= length, "veil of {name}: {read} {built} of {length}");
        for ty in [
            "[{id :int}]",
            "{k0 :any}!",
            "{k0 [[:string]], a [:int], b {b {b :int}}}",
            ":map[:string [:int]]",
        ] {
            let Ok(signature) = Signature::parse(&format!("(in {ty}) -> :any")) else { continue };
            let inputs = || [(Cow::Borrowed("in"), datum)].into_iter();
            let (read, built) = tally::of(|| drop(issues(&signature.input, inputs(), Mode::Enabled)));
            assert!(read <= 4 * length && built <= length, "{ty} of {name}: {read} {built} of {length}");
        }
    }
}

#[test]
fn what_is_of_another_kind_is_told_without_being_built() {
    for (name, text) in hard() {
        let long = LongText::new(text.as_str().into());
        let value: Json = serde_json::from_str(&text).expect("JSON");
        for ty in [
            ":int",
            ":string",
            ":bool?",
            "{a :int}",
            "[{id :int}]",
            ":map",
            "[:int]|[:string]",
            ":int|[:map]|:nil",
        ] {
            let signature = Signature::parse(&format!("(in {ty}, _in {ty}) -> :any")).expect("a signature");
            let mut found = Vec::new();
            let inputs = || ["in", "_in"].map(|name| (Cow::Borrowed(name), Datum::Written(long.passage())));
            let (_, built) =
                tally::of(|| found = issues(&signature.input, inputs().into_iter(), Mode::Enabled));
            let inputs = json!({"in": value, "_in": value});
            let expected = signature.validate_input(&inputs, Mode::Enabled).err();
            let expected = expected.map(|rejection| rejection.errors).unwrap_or_default();
            let told = |issues: &[ptc_signature::Issue]| -> BTreeSet<String> {
                issues.iter().map(ptc_signature::Issue::to_string).collect()
            };
            if expected.len() <= 100 {
                assert_eq!(told(&found), told(&expected), "{ty} {name}");
            }
            let is_map = text.starts_with('{');
            let is_wrong = match ty {
                ":int" | ":string" | ":bool?" => true,
                "{a :int}" | ":map" => !is_map,
                "[{id :int}]" | "[:int]|[:string]" => is_map,
                _ => false,
            };
            assert!(built == 0 || !is_wrong, "{ty} {name}: {built}");
        }
    }
}

#[test]
fn what_is_built_of_all_inputs_together_is_bounded_and_none_of_them_is_lost() {
    let many: Vec<(String, Arc<str>)> =
        (0..100).map(|at| (format!("k{at}"), format!("[{}{at}]", "1,".repeat(20_000)).into())).collect();
    let mut written = None;
    let (_, built) = tally::of(|| written = WrittenInputs::new(many.clone()).ok());
    let written = written.expect("JSON");
    assert!(built <= BUILT + LONG && written.is_long(), "{built}");
    let all: Vec<String> = many.iter().map(|(name, text)| format!("\"{name}\":{text}")).collect();
    assert_eq!(written.text(), format!("{{{}}}", all.join(",")));
    // Of a map that is long as much is built, and what a mission names in the rest of it is found.
    let whole = WrittenInputs::new([("x".to_owned(), Arc::from(written.text()))]).expect("JSON");
    let mut brief = Json::clone(whole.brief());
    let place = Placeholder { path: "x.k77".to_owned(), section: false };
    assert!(brief.to_string().len() <= BUILT + LONG && whole.stands_for_less(&brief, &place));
    let (_, built) = tally::of(|| whole.build(&mut brief, &place));
    assert!(built <= LONG && !whole.stands_for_less(&brief, &place), "{built}");
    assert_eq!(brief["x"]["k77"][20_000], 77);
}
