//! Key spelling, the firewall and what models see: rules 7.34 to 7.39.

mod common;

use common::{Data, kw, map, text};
use ptc_signature::{Issue, Mode, Signature, Style, Type, keys, mask, to_json};
use serde_json::json;

#[test]
fn r7_34_what_has_no_json_form_is_an_error_with_its_path() {
    let value = map([("rows", Data::List(vec![map([("ts", Data::Function)])]))]);
    assert_eq!(
        to_json(&value).map_err(|issue: Issue| issue.to_string()),
        Err("rows[0].ts: opaque value cannot leave the program".into())
    );
}

#[test]
fn r7_34_numbers_json_cannot_hold() {
    let huge = map([("n", Data::Big("9".repeat(30)))]);
    let message = to_json(&huge).map_err(|issue| issue.to_string());
    assert_eq!(message, Err(format!("n: int {} does not fit 64 bits, send it as a string", "9".repeat(30))));
    assert_eq!(
        to_json(&Data::Float(f64::NAN)).map_err(|issue| issue.message),
        Err("float NaN cannot leave the program".into())
    );
}

#[test]
fn r7_35_tools_get_string_keys_with_underscores_at_every_depth() {
    let value =
        json!({"user-name": "Ada", "orders": [{"order-count": 1, "tags": {"is-new": true}}], "plain": "a-b"});
    let expected =
        json!({"user_name": "Ada", "orders": [{"order_count": 1, "tags": {"is_new": true}}], "plain": "a-b"});
    assert_eq!(keys::snake_keys(value.clone()), expected);
    assert_eq!(to_json(&value), Ok(expected));
    let rich = map([
        ("created-at", Data::DateTime("2026-01-31T12:00:00Z".into())),
        ("status", kw("on-hold")),
        ("n", text("x")),
    ]);
    assert_eq!(
        to_json(&rich),
        Ok(json!({"created_at": "2026-01-31T12:00:00Z", "status": "on-hold", "n": "x"}))
    );
    let clash = json!({"a-b": 1, "a_b": 2});
    assert_eq!(keys::snake_keys(clash), json!({"a_b": 2}));
}

#[test]
fn r7_36_models_read_hyphens() {
    assert_eq!(keys::kebab("order_count"), "order-count");
    assert_eq!(keys::kebab("_email_ids"), "_email-ids");
    assert_eq!(keys::kebab_keys(json!({"a_b": [{"c_d": 1}]})), json!({"a-b": [{"c-d": 1}]}));
    let signature = Signature::parse("(customer_id :int)! -> [{order_total :float?}!]").expect("a signature");
    assert_eq!(signature.render(Style::Prompt), "(customer-id :int) -> [{order-total :float?}]");
    assert_eq!(signature.render(Style::Compact), "(customer-id int) -> [{order-total float?}]");
}

#[test]
fn r7_37_firewalled_fields_are_marked_masked_and_left_out() {
    let signature = Signature::parse(
        "(topic :string) -> {summary :string, count :int, _email_ids [:int], rows [{id :int, _raw :map}]}",
    )
    .expect("a signature");
    let Type::Record(record) = &signature.output else { panic!("a record") };
    let marked: Vec<&str> =
        record.fields.iter().filter(|f| f.is_firewalled()).map(|f| f.name.as_str()).collect();
    assert_eq!(marked, ["_email_ids"]);
    assert_eq!(
        signature.public().to_string(),
        "(topic :string) -> {summary :string, count :int, rows [{id :int}]}"
    );

    let value = json!({"summary": "s", "count": 1, "_email_ids": [7], "rows": [{"id": 1, "-raw": {"secret": 1}}], "x": {"_y": "z"}});
    assert_eq!(
        mask(&value),
        json!({"summary": "s", "count": 1, "_email_ids": "<Firewalled>", "rows": [{"id": 1, "-raw": "<Firewalled>"}], "x": {"_y": "<Firewalled>"}})
    );
    assert!(
        signature
            .validate_output(
                &json!({"summary": "s", "count": 1, "_email_ids": [7], "rows": []}),
                Mode::Strict
            )
            .is_ok()
    );
    assert_eq!(
        Signature::parse("{summary :string, _raw_data [:map]}")
            .expect("a signature")
            .public()
            .output
            .to_string(),
        "{summary :string}"
    );
}

#[test]
fn r7_37_messages_do_not_show_firewalled_values() {
    let signature =
        Signature::parse("(_token :int, opts {_key :int}) -> {_ids [:int]}").expect("a signature");
    let rejection = signature
        .coerce_input(&json!({"_token": "hunter2", "opts": {"-key": "sesame"}}), Mode::Enabled)
        .expect_err("strings");
    assert_eq!(
        rejection.feedback("Tool validation"),
        "Tool validation errors:\n- _token: expected int, got string\n- opts._key: expected int, got string"
    );
    let rejection =
        signature.validate_output(&json!({"_ids": ["hunter2"]}), Mode::Enabled).expect_err("a string");
    assert_eq!(rejection.errors[0].to_string(), "_ids[0]: expected int, got string");
    let warned =
        signature.coerce_input(&json!({"_token": "4711", "opts": {"_key": 1}}), Mode::Enabled).expect("fits");
    assert_eq!(warned.warnings[0].to_string(), "_token: coerced string to int");
}

#[test]
fn r7_38_tools_are_shown_in_signature_syntax_with_their_description_below() {
    let tools = [
        (
            "search",
            "(query :string, limit :int) -> [{id :int, title :string}]",
            "Search for items matching query.",
        ),
        ("get_user", "(id :int) -> {name :string, email :string?}", "Fetch user by ID. Email may be null."),
    ];
    for (name, text, description) in tools {
        let signature = Signature::parse(text).expect("a signature");
        assert_eq!(
            signature.render_tool(name, Some(description), Style::Canonical),
            format!("{name}{text}\n  {description}")
        );
    }
    let none = Signature::default();
    assert_eq!(none.render_tool("ping", None, Style::Compact), "ping() -> any");
}

#[test]
fn r7_39_types_at_dotted_paths() {
    let signature =
        Signature::parse("(user {name :string, tags [{label :keyword}]?}, data :map, m :map[:int]) -> :any")
            .expect("a signature");
    let known = [
        ("user.name", ":string"),
        ("user.tags.label", ":keyword"),
        ("user.tags", "[{label :keyword}]?"),
        ("m.x", ":int"),
    ];
    for (path, expected) in known {
        let found =
            signature.resolve(path).unwrap_or_else(|e| panic!("{path}: {e}")).map(ToString::to_string);
        assert_eq!(found.as_deref(), Some(expected), "{path}");
    }
    assert_eq!(signature.resolve("data.any.thing"), Ok(None));
    let slip = signature.resolve("user.nmae").expect_err("no such field");
    assert_eq!(slip.to_string(), "`nmae` is not declared (did you mean `name`?)");
    assert!(signature.resolve("user.name.first").is_err(), "a string has no fields");
    let ty = |text: &str| Type::parse(text).expect("a type");
    assert!(
        ty(":string?").is_scalar()
            && !ty("[:int]?").is_scalar()
            && ty("[:int]?").is_iterable()
            && !ty(":map").is_iterable()
    );
}
