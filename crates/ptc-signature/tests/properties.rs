//! What holds for every type and every value.

mod common;
#[path = "common/json_schema.rs"]
mod json_schema;
#[path = "common/types.rs"]
mod types;

use common::Data;
use json_schema::{Dice, Document};
use proptest::prelude::*;
use ptc_signature::{
    Mode, OnMissing, SchemaReader, Shape, Signature, Style, Template, Type, keys, mask, to_json,
};
use serde_json::{Value, json};

/// Any JSON value; map keys are drawn from names that types use too.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(|f| json!(f)),
        any::<String>().prop_map(Value::from),
        "[a-z0-9.:T+-]{0,25}".prop_map(Value::from),
    ];
    let key = || prop_oneof!["[a-z_-]{1,3}", any::<String>()];
    leaf.prop_recursive(4, 32, 4, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((key(), inner), 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// The same value with everything under hidden names replaced by a secret.
fn with_secrets(value: Value, secret: &str) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(|item| with_secrets(item, secret)).collect(),
        Value::Object(map) => {
            let hide = |key: &String| key.starts_with(['_', '-']);
            let entry = |(key, inner): (String, Value)| match hide(&key) {
                true if key.len() % 2 == 0 => (key, json!({"deep": [secret]})),
                true => (key, json!(secret)),
                false => (key, with_secrets(inner, secret)),
            };
            Value::Object(map.into_iter().map(entry).collect())
        }
        other => other,
    }
}

/// Whether nothing in the type depends on more than JSON Schema says (keyword names, texts of times).
fn is_plain(ty: &Type) -> bool {
    match ty {
        Type::Keyword | Type::DateTime => false,
        Type::List(inner) | Type::Optional(inner) => is_plain(inner),
        Type::Record(record) => record.fields.iter().all(|field| is_plain(&field.ty)),
        Type::MapOf(map) => map.key == Type::STRING && is_plain(&map.value),
        Type::Union(members) => members.iter().all(is_plain),
        _ => true,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parsing_undoes_rendering(signature in types::any_signature()) {
        let text = signature.to_string();
        prop_assert_eq!(Signature::parse(&text).map_err(|e| e.to_string()), Ok(signature.clone()), "{}", text);
        let malli = signature.to_malli();
        let mut open = signature;
        open.input.closed = false;
        let read = Signature::parse(&malli).map_err(|e| e.to_string());
        prop_assert_eq!(read, Ok(open), "{}", malli);
    }

    #[test]
    fn samples_fit_whatever_the_signature_says(signature in types::any_signature()) {
        let sample = signature.input.sample();
        prop_assert!(sample.is_some(), "{}", signature);
        let sample = sample.unwrap_or_default();
        prop_assert!(signature.validate_input(&sample, Mode::Strict).is_ok(), "{}: {}", signature, sample);
        let output = signature.output.sample();
        prop_assert!(output.is_some_and(|value| signature.output.validate(&value, Mode::Strict).is_ok()));
    }

    #[test]
    fn parsing_ends_without_panic(text in "[\\[\\]{}()a-z:?|!.\"<>=0-9,; -]{0,40}", odd in any::<String>()) {
        for text in [&text, &odd] {
            if let Ok(signature) = Signature::parse(text) {
                prop_assert_eq!(Signature::parse(&signature.to_string()), Ok(signature));
            }
            let _ = Type::parse_malli(text).map(|ty| ty.to_malli());
            let _ = Template::parse(text).map(|template| template.placeholders());
        }
    }

    #[test]
    fn what_the_table_converts_is_valid_afterwards(signature in types::any_signature(), seed in any::<u64>()) {
        let mut dice = Dice::new(seed);
        let args: Value = types::fields(&signature.input, &mut dice, true);
        let coerced = signature.coerce_input(&args, Mode::Strict);
        prop_assert!(coerced.is_ok(), "{} {} {:?}", signature, args, coerced);
        let value = coerced.map(|c| c.value).unwrap_or_default();
        prop_assert!(signature.validate_input(&value, Mode::Strict).is_ok(), "{} {}", signature, value);
        let again = signature.coerce_input(&value, Mode::Strict).map(|c| (c.value, c.warnings.len()));
        prop_assert_eq!(again, Ok((value, 0)), "converting twice changes nothing");

        let rich: Data = types::make(&signature.output, &mut dice, true);
        let coerced = signature.output.coerce(&rich, Mode::Strict);
        prop_assert!(coerced.is_ok(), "{} {:?} {:?}", signature.output, rich, coerced);
        let value = coerced.map(|c| c.value).unwrap_or(Data::Nil);
        prop_assert!(signature.output.validate(&value, Mode::Strict).is_ok(), "{} {:?}", signature.output, value);
    }

    #[test]
    fn values_made_for_a_type_are_valid(ty in types::any_type(), seed in any::<u64>()) {
        let value: Value = types::make(&ty, &mut Dice::new(seed), false);
        prop_assert!(ty.validate(&value, Mode::Strict).is_ok(), "{} {}", ty, value);
    }

    #[test]
    fn nothing_panics_on_any_value_and_type(signature in types::any_signature(), value in any_value()) {
        for (mode, _) in Mode::ALL {
            let checked = signature.validate_output(&value, mode).is_ok();
            let coerced = signature.output.coerce(&value, mode);
            prop_assert!(!checked || coerced.is_ok() , "what is valid can be coerced: {} {}", signature.output, value);
            let _ = signature.validate_input(&value, mode).is_ok();
            let _ = signature.coerce_input(&value, mode).is_ok();
        }
        prop_assert!(value.kind() != ptc_signature::Kind::Map || to_json(&value).is_ok());
        let _ = Type::from_json_schema(&value).value.to_string();
        let _ = Type::from_malli(&value).is_ok();
        let _ = signature.render(Style::Compact);
        let template = Template::parse("{{a}}{{#b}}{{.}}{{c.d}}{{/b}}{{^e}}x{{/e}}").expect("a template");
        let _ = template.render(&value, OnMissing::Keep).is_ok();
        let _ = template.check(&signature).is_ok();
    }

    #[test]
    fn hidden_values_never_show(signature in types::any_signature(), value in any_value(), kind in 0..2) {
        let secret = if kind == 0 { "TOPSECRET" } else { "70959059" };
        let value = with_secrets(value, secret);
        let masked = mask(&value);
        prop_assert!(!masked.to_string().contains(secret), "{}", masked);
        prop_assert!(!keys::kebab_keys(masked).to_string().contains(secret));
        for (mode, _) in Mode::ALL {
            let mut said = Vec::new();
            said.extend(signature.validate_output(&value, mode).map_err(|r| r.to_string()).map(|w| format!("{w:?}")));
            said.extend(signature.validate_output(&value, mode).err().map(|r| r.to_string()));
            said.extend(signature.coerce_input(&value, mode).err().map(|r| r.to_string()));
            said.extend(signature.coerce_input(&value, mode).ok().map(|c| format!("{:?}", c.warnings)));
            prop_assert!(!said.join("\n").contains(secret), "{} {:?}", signature, said);
        }
        let template = Template::parse("{{#a}}{{_b}}{{#_c}}{{.}}{{/_c}}{{/a}}{{_a}}").expect("a template");
        let shown = template.render(&mask(&value), OnMissing::Keep).unwrap_or_default();
        prop_assert!(!shown.contains(secret), "{}", shown);
    }

    #[test]
    fn public_signatures_name_no_hidden_field(ty in types::any_type()) {
        fn hidden(ty: &Type) -> bool {
            match ty {
                Type::List(inner) | Type::Optional(inner) => hidden(inner),
                Type::Record(record) => record.fields.iter().any(|f| f.is_firewalled() || hidden(&f.ty)),
                Type::MapOf(map) => hidden(&map.value),
                Type::Union(members) => members.iter().any(hidden),
                _ => false,
            }
        }
        prop_assert!(!hidden(&ty.public()));
    }

    #[test]
    fn what_fits_the_exported_schema_fits_the_type(ty in types::any_type().prop_filter("plain", is_plain), seed in any::<u64>()) {
        let schema = ty.to_json_schema();
        let checker = Document(&schema);
        let value = checker.make(&schema, &mut Dice::new(seed), 0);
        if checker.accepts(&schema, &value) {
            prop_assert!(ty.validate(&value, Mode::Enabled).is_ok(), "{} {} {}", ty, schema, value);
        }
    }

    #[test]
    fn reading_an_exported_schema_loses_no_value(ty in types::any_type(), seed in any::<u64>()) {
        let schema = ty.to_json_schema();
        let back = SchemaReader::lenient(&schema).ty(&schema).map(|read| read.value).expect("lenient");
        let value: Value = types::make(&ty, &mut Dice::new(seed), false);
        // A field that is nil is left out of what the schema describes.
        let described = Document(&schema).accepts(&schema, &value);
        prop_assert!(!described || back.validate(&value, Mode::Enabled).is_ok(), "{} {} {}", ty, back, value);
    }
}
