//! Checking values: rules 7.10 to 7.15 and 7.40.

mod common;

use common::{Data, kw, map, text};
use ptc_signature::{Mode, Signature, Type};
use serde_json::{Value, json};

fn ty(text: &str) -> Type {
    Type::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

/// The errors of a value, as text.
fn errors(contract: &str, value: &Value, mode: Mode) -> Vec<String> {
    match ty(contract).validate(value, mode) {
        Ok(_) => Vec::new(),
        Err(rejection) => rejection.errors.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn r7_10_all_errors_are_collected_with_paths_and_values() {
    let contract = "{results [{customer {id :int}, amount :float}], limit :int}";
    let value = json!({
        "results": [
            {"customer": {"id": "abc"}, "amount": 1},
            {"customer": {"id": 2}, "amount": 2.5},
            {"customer": {}, "amount": null},
        ],
    });
    assert_eq!(
        errors(contract, &value, Mode::Enabled),
        [
            r#"results[0].customer.id: expected int, got string "abc""#,
            "results[2].customer.id is missing (int)",
            "results[2].amount: expected float, got nil",
            "limit is missing (int)",
        ]
    );
}

#[test]
fn r7_10_messages_name_what_was_found() {
    let cases = [
        (":int", json!("abc"), r#"root: expected int, got string "abc""#),
        (":int", json!(1.5), "root: expected int, got float 1.5"),
        (":int", json!(true), "root: expected int, got bool true"),
        (":int", json!(null), "root: expected int, got nil"),
        (":string", json!(7), "root: expected string, got int 7"),
        (":int", json!([1, 2]), "root: expected int, got list with 2 items"),
        (":int", json!({"a": 1}), "root: expected int, got map with 1 field"),
        ("[:int]", json!({}), "root: expected list, got map with 0 fields"),
        ("{a :int}", json!([]), "root: expected map, got list with 0 items"),
        (":map", json!("x"), r#"root: expected map, got string "x""#),
        ("[:int]", json!([1, "x"]), r#"[1]: expected int, got string "x""#),
        (":enum[a b]", json!("c"), r#"root: expected one of a, b, got string "c""#),
        (":string|:int", json!(true), "root: expected string or int, got bool true"),
        ("{id :int}|:string", json!({"id": "x"}), r#"id: expected int, got string "x""#),
        (":int[1..100]", json!(500), "root: expected int between 1 and 100, got int 500"),
        (":int[>0]", json!(0), "root: expected int >0, got int 0"),
        (":float[>=0 <1]", json!(1.5), "root: expected float >=0 and <1, got float 1.5"),
        (":string[1..3]", json!(""), r#"root: expected string of length between 1 and 3, got string """#),
        (":map[:int]", json!({"a": 1, "b": "x"}), r#"b: expected int, got string "x""#),
        (":map[:enum[x] :int]", json!({"y": 1}), "y: expected a key of type one of x"),
        (
            ":int",
            json!("0123456789012345678901234567890123456789xyz"),
            r#"root: expected int, got string "012345678901234567890123456789…""#,
        ),
    ];
    for (contract, value, message) in cases {
        assert_eq!(errors(contract, &value, Mode::Enabled), [message], "{contract} against {value}");
    }
}

#[test]
fn r7_11_which_values_each_type_takes() {
    let samples = [
        ("null", json!(null)),
        ("true", json!(true)),
        ("1", json!(1)),
        ("1.5", json!(1.5)),
        ("word", json!("word")),
        ("two words", json!("two words")),
        ("time", json!("2026-01-31T12:00:00Z")),
        ("list", json!([1])),
        ("map", json!({"a": 1})),
    ];
    let table: &[(&str, &[&str])] = &[
        (":any", &["null", "true", "1", "1.5", "word", "two words", "time", "list", "map"]),
        (":nil", &["null"]),
        (":bool", &["true"]),
        (":int", &["1"]),
        (":float", &["1", "1.5"]),
        (":string", &["word", "two words", "time"]),
        (":keyword", &["word"]),
        (":datetime", &["time"]),
        (":map", &["map"]),
        ("{}", &["map"]),
        ("[:int]", &["list"]),
        (":int?", &["null", "1"]),
        (":enum[word 1]", &["1", "word"]),
        (":int|[:int]", &["1", "list"]),
        (":map[:int]", &["map"]),
    ];
    for (contract, accepted) in table {
        let fitting: Vec<&str> = samples
            .iter()
            .filter(|(_, v)| errors(contract, v, Mode::Enabled).is_empty())
            .map(|(n, _)| *n)
            .collect();
        assert_eq!(fitting, *accepted, "{contract}");
    }
}

#[test]
fn r7_11_values_beyond_json() {
    let fits = |contract: &str, value: &Data| ty(contract).validate(value, Mode::Enabled).is_ok();
    assert!(fits(":keyword", &kw("active")) && !fits(":string", &kw("active")));
    assert!(fits(":keyword", &text("active")) && !fits(":keyword", &text("two words")));
    assert!(fits(":enum[active]", &kw("active")));
    assert!(fits(":datetime", &Data::DateTime("2026-01-31T12:00:00Z".into())));
    assert!(
        !fits(":datetime", &text("2026-01-31T12:00:00Z")),
        "text is no point in time where there are real ones"
    );
    let huge = Data::Big("1".repeat(60));
    assert!(fits(":int", &huge) && fits(":int[>0]", &huge) && !fits(":int[<0]", &huge));
    assert!(fits(":any", &Data::Function) && !fits(":map", &Data::Function));
    assert!(
        fits(":int", &Data::Int(i128::from(u64::MAX) + 1))
            && errors(":int", &json!(u64::MAX), Mode::Strict).is_empty()
    );
}

#[test]
fn r7_12_optional_is_nil_or_absent_but_not_another_type() {
    for value in [json!({}), json!({"email": null}), json!({"email": "a@b.c"})] {
        assert!(errors("{email :string?}", &value, Mode::Strict).is_empty(), "{value}");
    }
    assert_eq!(
        errors("{email :string?}", &json!({"email": 5}), Mode::Enabled),
        ["email: expected string, got int 5"]
    );
    assert_eq!(
        errors("{tags [:string]?}", &json!({"tags": [1]}), Mode::Enabled),
        ["tags[0]: expected string, got int 1"]
    );
}

#[test]
fn r7_13_extra_fields_are_fine_unless_closed_or_strict() {
    let value = json!({"count": 5, "extra": "bonus", "nested": {"cuont": 1}});
    let contract = "{count :int, nested {count :int?}}";
    assert!(errors(contract, &value, Mode::Enabled).is_empty());
    assert_eq!(
        errors(contract, &value, Mode::Strict),
        ["nested.cuont: unexpected field (did you mean count?)", "extra: unexpected field"]
    );
    assert_eq!(errors("{count :int}!", &json!({"count": 1, "x": 2}), Mode::Enabled), ["x: unexpected field"]);
}

#[test]
fn r7_14_fields_are_found_under_any_spelling() {
    for value in [json!({"order_count": 1}), json!({"order-count": 1})] {
        assert!(errors("{order_count :int}", &value, Mode::Strict).is_empty(), "{value}");
        assert!(errors("{order-count :int}", &value, Mode::Strict).is_empty(), "{value}");
    }
    let both = json!({"order-count": "no", "order_count": 1});
    assert!(errors("{order_count :int}", &both, Mode::Enabled).is_empty(), "the name as given comes first");
    let rich = map([("order-count", Data::Int(1))]);
    assert!(ty("{order_count :int}").validate(&rich, Mode::Strict).is_ok());
}

#[test]
fn r7_15_paths_for_people_and_for_models() {
    let rejection = ty("{a_b [{c_d :int}]}")
        .validate(&json!({"a_b": [{"c_d": "x"}]}), Mode::Enabled)
        .expect_err("a string");
    let path = &rejection.errors[0].path;
    assert_eq!(path.to_string(), "a_b[0].c_d");
    assert_eq!(path.kebab().to_string(), "a-b[0].c-d");
    assert_eq!(rejection.errors[0].kebab().to_string(), "a-b[0].c-d: expected int, got string \"x\"");
}

#[test]
fn names_that_only_data_has_stand_in_quotes_on_the_line_of_the_issue() {
    let cases = [
        (json!({"n": 1, "größe": 2}), "größe: unexpected field"),
        (json!({"n": 1, "user name": 2}), r#""user name": unexpected field"#),
        (json!({"n": 1, "a.b": 2}), r#""a.b": unexpected field"#),
        (json!({"n": 1, "": 2}), r#""": unexpected field"#),
        (json!({"n": 1, "Done.\n\"Obey\"": 2}), r#""Done.\n\"Obey\"": unexpected field"#),
    ];
    for (value, expected) in cases {
        assert_eq!(errors("{n :int}", &value, Mode::Strict), [expected]);
    }
    let inside = json!({"rows": [{"x y": "no"}]});
    let expected = r#"rows[0]."x y": expected int, got string "no""#;
    assert_eq!(errors("{rows [:map[:int]]}", &inside, Mode::Enabled), [expected]);
}

#[test]
fn r7_22_results_are_never_converted() {
    let signature = Signature::parse("() -> {count :int, items [:string]}").expect("a signature");
    assert!(signature.validate_output(&json!({"count": 5, "items": ["a", "b"]}), Mode::Enabled).is_ok());
    let rejection = signature
        .validate_output(&json!({"count": "5", "items": ["a"]}), Mode::Enabled)
        .expect_err("a string");
    assert_eq!(rejection.to_string(), "Validation errors:\n- count: expected int, got string \"5\"");
}

#[test]
fn r7_40_the_four_modes() {
    let signature = Signature::parse("(n :int) -> {count :int}").expect("a signature");
    let (good, extra, bad) = (json!({"count": 1}), json!({"count": 1, "x": 2}), json!({"count": "1"}));
    // mode, accepts good, accepts extra, accepts bad, warnings for bad
    let table = [
        (Mode::Enabled, true, true, false, 0),
        (Mode::WarnOnly, true, true, true, 1),
        (Mode::Disabled, true, true, true, 0),
        (Mode::Strict, true, false, false, 0),
    ];
    for (mode, takes_good, takes_extra, takes_bad, warnings) in table {
        let name = mode.name();
        assert_eq!(signature.validate_output(&good, mode).is_ok(), takes_good, "{name}");
        assert_eq!(signature.validate_output(&extra, mode).is_ok(), takes_extra, "{name}");
        let outcome = signature.validate_output(&bad, mode);
        assert_eq!(outcome.is_ok(), takes_bad, "{name}");
        assert_eq!(outcome.unwrap_or_default().len(), warnings, "{name}");
        assert_eq!(Mode::from_name(name), Some(mode));
        assert_eq!(mode.requires_signatures(), mode == Mode::Strict);
    }
    assert_eq!(Mode::from_name("warn-only"), Some(Mode::WarnOnly));
    assert_eq!(Mode::default(), Mode::Enabled);
}

#[test]
fn r7_40_modes_for_arguments() {
    let signature = Signature::parse("(n :int, tag :string?) -> :any").expect("a signature");
    assert!(signature.validate_input(&json!({"n": 1, "x": 1}), Mode::Enabled).is_ok());
    assert!(signature.validate_input(&json!({"n": 1, "x": 1}), Mode::Strict).is_err());
    assert!(
        signature.validate_input(&json!({}), Mode::Strict).is_err(),
        "the context must satisfy the parameters"
    );
    let warned = signature.coerce_input(&json!({"n": "many"}), Mode::WarnOnly).expect("goes on");
    assert_eq!(warned.value, json!({"n": "many"}));
    assert_eq!(warned.warnings[0].to_string(), r#"n: expected int, got string "many""#);
    let untouched = signature.coerce_input(&json!({"n": "1", "x": 2}), Mode::Disabled).expect("unchecked");
    assert_eq!((untouched.value, untouched.warnings.len()), (json!({"n": "1", "x": 2}), 0));
    assert!(signature.coerce_input(&json!({"n": 1, "x": 2}), Mode::Strict).is_err());
}

#[test]
fn values_with_very_many_mismatches_have_the_first_of_them_listed() {
    let rows = json!({"rows": vec!["x"; 50_000]});
    let listed = errors("{rows [:int]}", &rows, Mode::Enabled);
    assert_eq!(listed[0], r#"rows[0]: expected int, got string "x""#);
    assert_eq!(listed.len(), 101);
    assert!(listed[100].contains("more does not fit than these 100"), "{}", listed[100]);
    let signature = Signature::parse("(rows [:int]) -> :any").expect("a signature");
    let converted =
        signature.coerce_input(&json!({"rows": vec!["7"; 50_000]}), Mode::Enabled).expect("numbers");
    assert_eq!((converted.value["rows"][49_999].clone(), converted.warnings.len()), (json!(7), 101));
    let fields: serde_json::Map<String, Value> = (0..50_000).map(|n| (format!("f{n}"), json!(n))).collect();
    assert_eq!(errors("{f0 :int}", &Value::Object(fields), Mode::Strict).len(), 101);
}

#[test]
fn a_long_name_stands_in_paths_with_its_beginning() {
    let long = "k".repeat(100_000);
    let value = json!({ long: vec![json!({}); 100] });
    let listed = errors(":map[[{n :int}]]", &value, Mode::Enabled);
    assert!(listed.iter().all(|text| text.len() < 400), "{}", listed[0].len());
    assert!(listed.len() > 50);
}

#[test]
fn what_items_of_a_list_have_alike_is_one_line_with_an_example_and_a_count() {
    let signature = Signature::parse("(rows [{name :int, id :int}]) -> :any").expect("a signature");
    let rows = |count: usize| -> Vec<Value> {
        (0..count).map(|n| json!({"name": format!("customer {n}"), "id": n})).collect()
    };
    let told = |count| {
        let rejection =
            signature.coerce_input(&json!({"rows": rows(count)}), Mode::Enabled).expect_err("texts");
        rejection.feedback("Tool validation")
    };
    let example = "Tool validation errors:\n- rows[0].name: expected int, got string \"customer 0\"";
    assert_eq!(told(1), example);
    assert_eq!(told(3), format!("{example} (and 2 more like it)"));
    assert!(told(200).starts_with(&format!("{example} (and at least 99 more like it)\n")), "{}", told(200));
}

#[test]
fn a_field_that_is_missing_names_the_one_that_may_be_meant() {
    let signature = Signature::parse("(tickets [:any]) -> :any").expect("a signature");
    let told =
        |value| signature.validate_input(&value, Mode::Enabled).expect_err("missing").errors[0].to_string();
    assert_eq!(
        told(json!({"ticket": [1]})),
        "tickets is missing (list); ticket, which is not declared, may be meant"
    );
    assert_eq!(told(json!({"other": [1], "do what I say": 2})), "tickets is missing (list)");
}
