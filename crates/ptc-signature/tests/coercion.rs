//! Reading inputs leniently: rules 7.20 to 7.23.

mod common;

use common::{Data, kw, map, text};
use ptc_signature::{Mode, Signature, Type};
use serde_json::{Value, json};

fn ty(text: &str) -> Type {
    Type::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

/// What a value becomes, and the warning or error about it.
fn outcome(contract: &str, value: &Value) -> Result<(Value, String), String> {
    match ty(contract).coerce(value, Mode::Enabled) {
        Ok(coerced) => {
            Ok((coerced.value, coerced.warnings.first().map(|w| w.message.clone()).unwrap_or_default()))
        }
        Err(rejection) => Err(rejection.errors[0].message.clone()),
    }
}

#[test]
fn r7_20_what_is_converted() {
    let cases = [
        ("42", ":int", json!("42"), json!(42), r#"coerced string "42" to int"#),
        ("a whole float", ":int", json!(5.0), json!(5), "coerced float 5.0 to int"),
        ("negative", ":int", json!("-5"), json!(-5), r#"coerced string "-5" to int"#),
        (
            "beyond i64",
            ":int",
            json!("18446744073709551615"),
            json!(u64::MAX),
            r#"coerced string "18446744073709551615" to int"#,
        ),
        ("3.25", ":float", json!("3.25"), json!(3.25), r#"coerced string "3.25" to float"#),
        ("whole text", ":float", json!("3"), json!(3.0), r#"coerced string "3" to float"#),
        ("true", ":bool", json!("true"), json!(true), r#"coerced string "true" to bool"#),
        ("false", ":bool", json!("false"), json!(false), r#"coerced string "false" to bool"#),
        ("widening is silent", ":float", json!(42), json!(42.0), ""),
        ("in a range", ":int[1..50]", json!("42"), json!(42), r#"coerced string "42" to int"#),
        ("optional", ":int?", json!("42"), json!(42), r#"coerced string "42" to int"#),
        ("nil stays", ":int?", json!(null), json!(null), ""),
        ("union, as it is", ":string|:int", json!("42"), json!("42"), ""),
        ("union, converted", ":int|:bool", json!("true"), json!(true), r#"coerced string "true" to bool"#),
        ("enum of numbers", ":enum[1 2]", json!("2"), json!(2), r#"coerced string "2" to int"#),
        ("keyword stays text in JSON", ":keyword", json!("active"), json!("active"), ""),
        ("time in UTC", ":datetime", json!("2026-01-31T12:00:00Z"), json!("2026-01-31T12:00:00Z"), ""),
        (
            "time with an offset",
            ":datetime",
            json!("2026-01-31T12:00:00+02:00"),
            json!("2026-01-31T10:00:00Z"),
            r#"coerced string "2026-01-31T12:00:00+02:00" to datetime, its offset converted to UTC"#,
        ),
    ];
    for (name, contract, value, expected, warning) in cases {
        assert_eq!(outcome(contract, &value), Ok((expected, warning.to_owned())), "{name}");
    }
}

#[test]
fn r7_20_what_is_refused() {
    let cases = [
        ("a float with a fraction is no int", ":int", json!(42.5), "expected int, got float 42.5"),
        ("a float beyond 2^53 is no certain int", ":int", json!(1e17), "expected int, got float 1e+17"),
        ("a word is no int", ":int", json!("x"), r#"expected int, got string "x""#),
        ("no trailing text", ":float", json!("3.14abc"), r#"expected float, got string "3.14abc""#),
        ("no spaces", ":int", json!(" 42"), r#"expected int, got string " 42""#),
        ("a fraction is no int", ":int", json!("3.0"), r#"expected int, got string "3.0""#),
        (
            "too large",
            ":int",
            json!("99999999999999999999"),
            concat!(
                r#"expected int, got string "99999999999999999999" (an integer beyond 64 bits is a text in JSON: "#,
                "declare it as :string, or give a smaller one)"
            ),
        ),
        ("infinity", ":float", json!("inf"), r#"expected float, got string "inf""#),
        ("other spellings", ":bool", json!("TRUE"), r#"expected bool, got string "TRUE""#),
        ("a number is no bool", ":bool", json!(1), "expected bool, got int 1"),
        ("a number is no string", ":string", json!(1), "expected string, got int 1"),
        ("outside the range", ":int[1..9]", json!("42"), r#"expected int between 1 and 9, got string "42""#),
        (
            "time without an offset",
            ":datetime",
            json!("2026-01-31T12:00:00"),
            r#"expected datetime, got string "2026-01-31T12:00:00" (add an offset, such as Z or +02:00)"#,
        ),
        (
            "a date is no point in time",
            ":datetime",
            json!("2026-01-31"),
            r#"expected datetime, got string "2026-01-31" (write it as 2026-01-31T12:00:00Z)"#,
        ),
        ("nil", ":int", json!(null), "expected int, got nil"),
    ];
    for (name, contract, value, message) in cases {
        assert_eq!(outcome(contract, &value), Err(message.to_owned()), "{name}");
    }
}

#[test]
fn r7_20_keywords_and_times_of_an_interpreter() {
    let time = Data::DateTime("2026-01-31T12:00:00Z".into());
    let cases = [
        (":string", kw("active"), text("active"), "coerced keyword :active to string"),
        (":keyword", text("active"), kw("active"), r#"coerced string "active" to keyword"#),
        (":keyword", text(":active"), kw("active"), r#"coerced string ":active" to keyword"#),
        (":keyword", kw("active"), kw("active"), ""),
        (
            ":string",
            time.clone(),
            text("2026-01-31T12:00:00Z"),
            "coerced datetime 2026-01-31T12:00:00Z to string",
        ),
        (":datetime", time.clone(), time.clone(), ""),
        (
            ":datetime",
            text("2026-01-31T12:00:00Z"),
            time,
            r#"coerced string "2026-01-31T12:00:00Z" to datetime"#,
        ),
        (
            ":int",
            text("99999999999999999999"),
            Data::Int(99_999_999_999_999_999_999),
            r#"coerced string "99999999999999999999" to int"#,
        ),
    ];
    for (contract, value, expected, warning) in cases {
        let coerced =
            ty(contract).coerce(&value, Mode::Enabled).unwrap_or_else(|r| panic!("{contract}: {r}"));
        assert_eq!(coerced.value, expected, "{contract}");
        let first = coerced.warnings.first().map(|w| w.message.as_str()).unwrap_or_default();
        assert_eq!(first, warning, "{contract}");
    }
}

#[test]
fn r7_21_conversion_goes_into_lists_and_maps() {
    let coerced = ty("[{id :int, name :string}]")
        .coerce(&json!([{"id": "42", "name": "Alice"}]), Mode::Enabled)
        .expect("fits");
    assert_eq!(coerced.value, json!([{"id": 42, "name": "Alice"}]));
    assert_eq!(coerced.warnings[0].to_string(), r#"[0].id: coerced string "42" to int"#);
    let coerced = ty(":map[:float]").coerce(&json!({"a": "1.5", "b": 2}), Mode::Enabled).expect("fits");
    assert_eq!(coerced.value, json!({"a": 1.5, "b": 2.0}));
}

#[test]
fn r7_21_only_declared_fields_arrive_under_their_declared_names() {
    let signature =
        Signature::parse("(user_id :int, limit :int?, opts {dry_run :bool?}) -> :any").expect("a signature");
    let call = json!({"user-id": "7", "limt": 5, "opts": {"dry-run": "true", "x": 1}});
    let coerced = signature.coerce_input(&call, Mode::Enabled).expect("fits");
    assert_eq!(coerced.value, json!({"user_id": 7, "opts": {"dry_run": true}}));
    let warnings: Vec<String> = coerced.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            r#"user_id: coerced string "7" to int"#,
            r#"opts.dry_run: coerced string "true" to bool"#,
            "opts.x: dropped unexpected field",
            "limt: dropped unexpected field (did you mean limit?)",
        ]
    );
}

#[test]
fn r7_21_missing_and_closed() {
    let open = Signature::parse("(id :int) -> :any").expect("a signature");
    let missing = open.coerce_input(&json!({}), Mode::Enabled).expect_err("id is required");
    assert_eq!(missing.errors[0].to_string(), "id is missing (int)");
    let closed = Signature::parse("(id :int)! -> :any").expect("a signature");
    let extra = closed.coerce_input(&json!({"id": 1, "x": 2}), Mode::Enabled).expect_err("x is not declared");
    assert_eq!(extra.errors[0].to_string(), "x: unexpected field");
    let positional = open.coerce_input(&json!("budget"), Mode::Enabled).expect_err("not a map");
    assert_eq!(positional.errors[0].to_string(), r#"root: expected map, got string "budget""#);
}

#[test]
fn r7_23_a_tool_call_is_coerced_then_validated() {
    let signature = Signature::parse("(id :int, name :string, limit :int?) -> :bool").expect("a signature");
    let good = signature.coerce_input(&json!({"id": "42", "name": "Alice"}), Mode::Enabled).expect("fits");
    assert_eq!(good.value, json!({"id": 42, "name": "Alice"}));
    let bad = signature
        .coerce_input(&json!({"id": "abc", "name": null, "limit": "10"}), Mode::Enabled)
        .expect_err("two errors");
    assert_eq!(
        bad.feedback("Tool validation"),
        "Tool validation errors:\n- id: expected int, got string \"abc\"\n- name: expected string, got nil\n\n\
         Tool validation warnings:\n- limit: coerced string \"10\" to int"
    );
    let rich = map([("id", text("42")), ("name", kw("alice"))]);
    let coerced = signature.coerce_input(&rich, Mode::Enabled).expect("fits");
    assert_eq!(coerced.value, map([("id", Data::Int(42)), ("name", text("alice"))]));
}
