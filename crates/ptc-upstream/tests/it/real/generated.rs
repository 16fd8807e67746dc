//! Example calls of schemas that nobody wrote: whatever a tool asks for, the call that `doc` shows must fit it.

use std::path::Path;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use ptc_upstream::catalog::{CatalogTool, doc};
use ptc_upstream::config::EffectClass;
use ptc_upstream::model::ToolDef;
use serde_json::{Map, Value as Json, json};

use super::{case, problems};

/// How many schemas are made.
const SCHEMAS: usize = 2_000;

fn string() -> impl Strategy<Value = Json> {
    let patterns = [
        "^[a-z]{2,5}$",
        "^[A-Z]{3}-\\d{2,}$",
        "^(sha256|md5):[0-9a-f]+$",
        "^\\w+@\\w+\\.com$",
        "^v?\\d+(\\.\\d+)*$",
        "[aeiou]",
    ];
    let formats = ["date", "date-time", "email", "uri", "uuid", "ipv4", "ipv6", "time", "hostname"];
    prop_oneof![
        (0..6_u32, 0..8_u32).prop_map(|(least, more)| {
            json!({"type": "string", "minLength": least, "maxLength": least + more})
        }),
        prop::sample::select(patterns.to_vec())
            .prop_map(|pattern| json!({"type": "string", "pattern": pattern})),
        (3..9_u32).prop_map(|least| json!({"type": "string", "pattern": "^[a-z]+$", "minLength": least})),
        prop::sample::select(formats.to_vec()).prop_map(|format| json!({"type": "string", "format": format})),
        Just(json!({"enum": ["a", "bb", "ccc"]})),
        Just(json!({"const": "only"})),
        Just(json!({"type": "string", "maxLength": 3, "default": "longer than it may be"})),
    ]
}

fn number() -> impl Strategy<Value = Json> {
    let bounds = (-50..50_i64, 12..60_i64, any::<[bool; 4]>(), 1..6_i64);
    let bounded = |kind: &'static str| {
        move |(least, more, [low, high, open, steps], step): (i64, i64, [bool; 4], i64)| {
            let mut schema = json!({"type": kind});
            if low {
                schema[if open { "exclusiveMinimum" } else { "minimum" }] = json!(least);
            }
            if high {
                schema[if open { "exclusiveMaximum" } else { "maximum" }] = json!(least + more);
            }
            if steps {
                schema["multipleOf"] = json!(step);
            }
            schema
        }
    };
    prop_oneof![
        bounds.clone().prop_map(bounded("integer")),
        bounds.prop_map(bounded("number")),
        Just(json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1})),
        Just(json!({"type": "number", "minimum": 0.3, "multipleOf": 0.25})),
        Just(json!({"type": "integer", "minimum": 9_007_199_254_740_993_u64})),
    ]
}

fn object(fields: Vec<(Json, bool)>, least: usize, closed: bool, prefix: &str) -> Json {
    let name = |at: usize| format!("{prefix}{at}");
    let required: Vec<String> = (0..fields.len()).filter(|at| fields[*at].1).map(name).collect();
    let count = fields.len();
    let properties: Map<String, Json> =
        fields.into_iter().enumerate().map(|(at, (schema, _))| (name(at), schema)).collect();
    let mut schema = json!({"type": "object", "properties": properties, "required": required});
    if closed {
        schema["additionalProperties"] = json!(false);
    }
    schema["minProperties"] = json!(if closed { least.min(count) } else { least });
    schema
}

fn schema() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        string(),
        number(),
        Just(json!({"type": "boolean"})),
        Just(json!({"type": ["null", "integer"]})),
        Just(json!({}))
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let fields = prop::collection::vec((inner.clone(), any::<bool>()), 0..4);
        prop_oneof![
            (inner.clone(), 0..4_u32).prop_map(|(items, least)| {
                json!({"type": "array", "items": items, "minItems": least, "maxItems": least + 2})
            }),
            (prop::collection::vec(inner.clone(), 1..3)).prop_map(|first| json!({"type": "array", "prefixItems": first})),
            (1..4_usize).prop_map(|least| json!({"type": "array", "items": {"type": "integer", "minimum": 3},
                                                 "minItems": least, "uniqueItems": true})),
            (fields, 0..4_usize, any::<bool>())
                .prop_map(|(fields, least, closed)| object(fields, least, closed, "f")),
            (inner.clone(), inner.clone()).prop_map(|(one, other)| json!({"anyOf": [one, other]})),
            inner.clone().prop_map(|one| json!({"anyOf": [{"type": "null"}, one]})),
            inner.prop_map(|one| json!({"oneOf": [{"type": "object", "properties": {"kind": {"const": "a"}, "x": one}, "required": ["kind", "x"]},
                                                  {"type": "object", "properties": {"kind": {"const": "b"}}, "required": ["kind"]}]})),
        ]
    })
}

/// Arguments of a tool, with what a schema can have at its top.
fn arguments() -> impl Strategy<Value = Json> {
    let fields = || prop::collection::vec((schema(), any::<bool>()), 0..4);
    let plain = |prefix: &'static str| {
        (fields(), 0..3_usize).prop_map(move |(fields, least)| object(fields, least, false, prefix))
    };
    prop_oneof![
        (fields(), 0..3_usize, any::<bool>())
            .prop_map(|(fields, least, closed)| object(fields, least, closed, "a")),
        plain("a").prop_map(|inner| json!({"$ref": "#/$defs/in", "$defs": {"in": inner}})),
        plain("a").prop_map(
            |inner| json!({"$ref": "#/$defs/one", "$defs": {"one": {"$ref": "#/$defs/two"}, "two": inner}})
        ),
        (plain("a"), plain("b")).prop_map(
            |(one, other)| json!({"allOf": [one, {"$ref": "#/$defs/other"}], "$defs": {"other": other}})
        ),
        (plain("a"), plain("b")).prop_map(|(one, other)| json!({"type": "object", "anyOf": [one, other]})),
        (plain("a"), plain("b")).prop_map(|(mut one, mut other)| {
            one["properties"]["kind"] = json!({"const": "one"});
            other["properties"]["kind"] = json!({"const": "other"});
            for way in [&mut one, &mut other] {
                way["required"].as_array_mut().expect("a list").push(json!("kind"));
            }
            json!({"type": "object", "oneOf": [one, other]})
        }),
    ]
}

#[test]
fn example_calls_of_generated_schemas_fit_them() {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/python/bin/python");
    if !python.exists() {
        return crate::skip::skip("Python, which validates schemas,");
    }
    // The same schemas in every run, so that a failure can be looked at again.
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut cases = String::new();
    for number in 0..SCHEMAS {
        let schema = arguments().new_tree(&mut runner).expect("a schema").current();
        let def = ToolDef {
            name: format!("tool{number}"),
            input_schema: schema.as_object().cloned().expect("an object"),
            ..ToolDef::default()
        };
        let tool = CatalogTool { def, effect: EffectClass::Read, place: 0 };
        cases.push_str(&case("x", &tool, &doc("x", &tool, None)));
    }
    let problems = problems(&cases);
    let first = problems.lines().next().unwrap_or_default();
    let name = first.split(':').next().unwrap_or_default();
    let whole = cases.lines().find(|case| !name.is_empty() && case.contains(&format!("\"{name}\"")));
    assert_eq!(problems.lines().count(), 0, "{problems}\n{}", whole.unwrap_or_default());
}
