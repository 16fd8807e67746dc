//! JSON Schema in both directions: rules 7.30 to 7.33.

#[path = "common/json_schema.rs"]
mod json_schema;

use json_schema::{Dice, Document};
use ptc_signature::{Mode, SchemaReader, Signature, Type};
use serde_json::{Value, json};

fn ty(text: &str) -> Type {
    Type::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn r7_30_types_as_schemas() {
    let cases = [
        (":string", json!({"type": "string"})),
        (":int", json!({"type": "integer"})),
        (":float", json!({"type": "number"})),
        (":bool", json!({"type": "boolean"})),
        (":keyword", json!({"type": "string"})),
        (":datetime", json!({"type": "string", "format": "date-time"})),
        (":map", json!({"type": "object"})),
        (":any", json!({})),
        ("[:int]", json!({"type": "array", "items": {"type": "integer"}})),
        ("[:int?]", json!({"type": "array", "items": {"type": ["integer", "null"]}})),
        (
            "{a :int, b :string?}",
            json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a"], "additionalProperties": false}),
        ),
        (":enum[a b]", json!({"type": "string", "enum": ["a", "b"]})),
        (":enum[a 1]?", json!({"anyOf": [{"enum": ["a", 1]}, {"type": "null"}]})),
        (":string|:int", json!({"anyOf": [{"type": "string"}, {"type": "integer"}]})),
        (":int[1..100]", json!({"type": "integer", "minimum": 1, "maximum": 100})),
        (":float[>0 <1]", json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1})),
        (":string[1..80]", json!({"type": "string", "minLength": 1, "maxLength": 80})),
        (":map[:int]", json!({"type": "object", "additionalProperties": {"type": "integer"}})),
    ];
    for (contract, schema) in cases {
        assert_eq!(ty(contract).to_json_schema(), schema, "{contract}");
    }
}

#[test]
fn r7_31_lists_are_wrapped_at_the_top() {
    let signature = Signature::parse("(q :string, n :int?) -> [{id :int}]").expect("a signature");
    let schema = signature.output_schema();
    assert_eq!(schema["properties"]["items"]["type"], "array");
    assert_eq!((&schema["required"], &schema["additionalProperties"]), (&json!(["items"]), &json!(false)));
    assert_eq!(signature.unwrap_output(json!({"items": [{"id": 1}]})), json!([{"id": 1}]));
    assert_eq!(signature.input_schema()["required"], json!(["q"]));
    let plain = Signature::parse("{items [:int]}").expect("a signature");
    assert_eq!(plain.unwrap_output(json!({"items": [1]})), json!({"items": [1]}));
}

#[test]
fn r7_32_schemas_as_types() {
    let cases = [
        (json!({"type": "string", "title": "T", "description": "D", "format": "uri"}), ":string"),
        (json!({"type": "integer", "minimum": 1, "exclusiveMaximum": 9}), ":int[>=1 <9]"),
        (json!({"type": "number", "minimum": 0, "exclusiveMinimum": true}), ":float[>0]"),
        (json!({"type": "boolean"}), ":bool"),
        (json!({"type": "null"}), ":nil"),
        (json!({"type": "array", "items": {"type": "string"}}), "[:string]"),
        (json!({"type": "array"}), "[:any]"),
        (json!({"type": "object"}), ":map"),
        (
            json!({"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "integer"}}, "required": ["a"]}),
            "{b :string?, a :int}",
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false}),
            "{a :string?}!",
        ),
        (json!({"type": "object", "additionalProperties": {"type": "integer"}}), ":map[:int]"),
        (json!({"type": "object", "properties": {"a b": {"type": "string"}}}), r#"{"a b" :string?}"#),
        (json!({"type": ["string", "null"]}), ":string?"),
        (json!({"type": "string", "nullable": true}), ":string?"),
        (json!({"enum": ["a", "b", 1, null]}), ":enum[a b 1]?"),
        (json!({"const": "x"}), ":enum[x]"),
        (json!({"type": "string", "enum": ["a"]}), ":enum[a]"),
        (json!({"oneOf": [{"const": "a", "description": "A"}, {"const": "b"}]}), ":enum[a b]"),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
            ":string|[:string]",
        ),
        (json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}), ":int?"),
        (
            json!({"allOf": [{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"type": "object", "properties": {"b": {"type": "string"}}}]}),
            "{a :int, b :string?}",
        ),
        (json!({"$ref": "#/$defs/id", "$defs": {"id": {"type": "integer"}}}), ":int"),
        (
            json!({"type": "object", "properties": {"x": {"$ref": "#/definitions/a~1b%20c"}}, "definitions": {"a/b c": {"type": "boolean"}}}),
            "{x :bool?}",
        ),
        (json!({"type": "object", "properties": {"x": true}}), "{x :any?}"),
        (json!(true), ":any"),
        (json!({}), ":any"),
        (json!({"type": "integer", "minimum": 0.5, "maximum": 2.5}), ":int[1..2]"),
    ];
    for (schema, expected) in cases {
        let strict =
            SchemaReader::strict(&schema).ty(&schema).unwrap_or_else(|error| panic!("{schema}: {error}"));
        assert_eq!(strict.value.to_string(), expected, "{schema}");
        assert_eq!(Type::from_json_schema(&schema).value, strict.value);
    }
}

#[test]
fn r7_32_what_types_cannot_say_is_noted_or_refused() {
    let cases = [
        (
            json!({"type": "string", "pattern": "^a"}),
            ":string",
            "root: keyword `pattern` is not supported and left out",
        ),
        (json!({"not": {"type": "string"}}), ":any", "root: keyword `not` is not supported and left out"),
        (
            json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true}),
            "[:string]",
            "root: keyword `uniqueItems` is not supported and left out",
        ),
        (
            json!({"type": "object", "required": ["x"]}),
            "{x :any}",
            "root: required property `x` is not declared, read as :any",
        ),
        (
            json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false}),
            "[:string|:int]",
            "root: the positions of a tuple are not kept",
        ),
        (
            json!({"$ref": "other.json#/x"}),
            ":any",
            "root: reference `other.json#/x` is not in the document, read as :any",
        ),
        (
            json!({"allOf": [{"type": "string"}, {"type": "integer"}]}),
            ":string",
            "root: the parts exclude each other, only the first is kept",
        ),
        (
            json!({"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}}}),
            "{kids [{kids [:map]?}]?}",
            "properties.kids.items.properties.kids.items: reference `#` contains itself, which is left out",
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "integer"}}),
            "{a :string?}",
            "root: the type of additional properties is not kept",
        ),
        (
            json!({"type": "object", "patternProperties": {"^x": {}}, "additionalProperties": false}),
            ":map",
            "root: keyword `patternProperties` is not supported and left out",
        ),
        (json!({"properties": {"x": true}}), "{x :any?}", "root: no `type` is given, read as object"),
        (json!({"type": "strnig"}), ":any", "root: unknown type `strnig`, read as :any"),
        (json!({"enum": [[1]]}), ":any", "root: lists and maps among the fixed values, which are left out"),
        (json!(false), ":any", "root: nothing is valid here, read as :any"),
        (json!("string"), ":any", "root: not a schema, read as :any"),
    ];
    for (schema, expected, note) in cases {
        let read = Type::from_json_schema(&schema);
        assert_eq!(read.value.to_string(), expected, "{schema}");
        assert_eq!(read.notes.iter().map(ToString::to_string).collect::<Vec<_>>(), [note], "{schema}");
        let refused = SchemaReader::strict(&schema).ty(&schema).expect_err("strict");
        assert_eq!(refused.problems, read.notes, "{schema}");
    }
}

#[test]
fn r7_32_crossing_alternatives_has_a_bound() {
    let object = |name: String| json!({"type": "object", "properties": {&name: {"type": "integer"}}, "required": [name]});
    let crossed = |parts: usize, members: usize| {
        let part = |part| json!({"anyOf": (0..members).map(|member| object(format!("p{part}_{member}"))).collect::<Vec<_>>()});
        json!({"allOf": (0..parts).map(part).collect::<Vec<_>>()})
    };
    let wide = |from: usize| {
        Value::Object((from..from + 300).map(|n| (format!("w{n}"), json!({"type": "integer"}))).collect())
    };
    let tall = json!({"allOf": [
        {"anyOf": (0..30).map(|n| json!({"type": "object", "properties": wide(n)})).collect::<Vec<_>>()},
        {"anyOf": (30..60).map(|n| json!({"type": "object", "properties": wide(n)})).collect::<Vec<_>>()},
    ]});
    // What is as large as anybody would write is exact; beyond that the first parts are kept.
    for (schema, alternatives, left_out) in
        [(crossed(4, 4), 256, 0), (crossed(8, 4), 256, 4), (crossed(20, 8), 512, 17), (tall, 30, 1)]
    {
        let read = Type::from_json_schema(&schema);
        let Type::Union(members) = &read.value else { panic!("{}", read.value) };
        assert_eq!(members.len(), alternatives);
        let note = "root: the parts are too large together, only the first is kept";
        let notes: Vec<String> = read.notes.iter().map(ToString::to_string).collect();
        assert_eq!(notes, vec![note; left_out]);
        assert_eq!(SchemaReader::strict(&schema).ty(&schema).is_ok(), left_out == 0);
    }
    let part = |part: usize| {
        let members = (0..8).map(|member| format!(" [:map [:p{part}_{member} :int]]")).collect::<String>();
        format!(" [:or{members}]")
    };
    let refused = Type::parse_malli(&format!("[:and{}]", (0..20).map(part).collect::<String>()));
    let message = refused.expect_err("too large").to_string();
    assert!(message.contains("the parts of `:and` are too large together"), "{message}");
}

#[test]
fn r7_32_tools_with_alternative_parameters() {
    let input = json!({"type": "object", "anyOf": [
        {"type": "object", "properties": {"id": {"type": "integer"}, "n": {"type": "integer"}}, "required": ["id", "n"]},
        {"type": "object", "properties": {"name": {"type": "string"}, "n": {"type": "string"}}, "required": ["name", "n"]},
    ]});
    let read = SchemaReader::lenient(&input).signature(&input, None).expect("lenient");
    assert_eq!(read.value.to_string(), "(id :int?, n :int|:string, name :string?) -> :any");
    let nothing = json!({"type": "object"});
    assert_eq!(
        SchemaReader::strict(&nothing)
            .signature(&nothing, Some(&nothing))
            .map(|r| r.value.to_string())
            .as_deref(),
        Ok("() -> :map")
    );
}

#[test]
fn r7_32_the_schemas_of_a_tool_are_documents_of_their_own() {
    let input = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/t"}}, "$defs": {"t": {"type": "integer"}}});
    let output = json!({"type": "object", "properties": {"y": {"$ref": "#/$defs/t"}}, "$defs": {"t": {"type": "string", "pattern": "a"}}});
    let read = Signature::from_json_schema(&input, Some(&output));
    assert_eq!(read.value.to_string(), "(x :int?) -> {y :string?}");
    assert_eq!(read.notes.len(), 1);
    assert_eq!(Signature::from_json_schema(&input, None).value.output, Type::Any);
}

#[test]
fn r7_33_times_in_json_are_text_with_an_offset() {
    let contract = ty("{at :datetime}");
    assert!(contract.validate(&json!({"at": "2026-01-31T12:00:00+02:00"}), Mode::Enabled).is_ok());
    assert!(contract.validate(&json!({"at": "2026-01-31T12:00:00"}), Mode::Enabled).is_err());
    let typed = contract.coerce(&json!({"at": "2026-01-31T12:00:00+02:00"}), Mode::Enabled).expect("fits");
    assert_eq!(typed.value, json!({"at": "2026-01-31T10:00:00Z"}));
}

#[test]
fn hostile_schemas_end() {
    let mut deep = json!({"type": "integer"});
    for _ in 0..120 {
        deep = json!({"type": "array", "items": deep});
    }
    let read = Type::from_json_schema(&deep);
    assert!(!read.notes.is_empty() && Type::parse(&read.value.to_string()).as_ref() == Ok(&read.value));
    // Each level refers twice to the next: two to the fortieth without a limit.
    let mut definitions = serde_json::Map::new();
    for level in 0..40 {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        definitions
            .insert(format!("d{level}"), json!({"type": "object", "properties": {"a": next, "b": next}}));
    }
    definitions.insert("d40".to_owned(), json!({"type": "integer"}));
    let bomb = json!({"$ref": "#/$defs/d0", "$defs": definitions});
    assert!(!Type::from_json_schema(&bomb).notes.is_empty());
}

/// Tools of a fixture: name, input schema, output schema.
fn tools(document: &Value) -> impl Iterator<Item = (&str, &Value, Option<&Value>)> {
    let listed = document["tools"].as_array().expect("tools").iter();
    listed.map(|tool| {
        (tool["name"].as_str().unwrap_or_default(), &tool["inputSchema"], tool.get("outputSchema"))
    })
}

#[test]
fn real_tools_convert_and_valid_values_stay_valid() {
    // fixture, text, number of tools
    let fixtures = [
        ("everything", include_str!("fixtures/everything.json"), 16),
        ("filesystem", include_str!("fixtures/filesystem.json"), 14),
        ("memory", include_str!("fixtures/memory.json"), 9),
        ("github", include_str!("fixtures/github.json"), 189),
    ];
    for (name, text, count) in fixtures {
        let document: Value = serde_json::from_str(text).expect("JSON");
        let checker = Document(&document);
        let mut seen = 0;
        for (tool, input, output) in tools(&document) {
            seen += 1;
            let signature = SchemaReader::lenient(&document).signature(input, output).expect("lenient").value;
            let again = Signature::parse(&signature.to_string()).expect("the shorthand reads back");
            assert_eq!(again.to_string(), signature.to_string());
            let mut valid = 0;
            for seed in 0..24 {
                let mut dice = Dice::new(seed * 1000 + seen);
                let args = checker.make(input, &mut dice, 0);
                if checker.accepts(input, &args) {
                    valid += 1;
                    signature
                        .validate_input(&args, Mode::Enabled)
                        .unwrap_or_else(|e| panic!("{name} {tool} {args}\n{e}\n{signature}"));
                }
                let Some(output) = output else { continue };
                let result = checker.make(output, &mut dice, 0);
                if checker.accepts(output, &result) {
                    signature
                        .validate_output(&result, Mode::Enabled)
                        .unwrap_or_else(|e| panic!("{name} {tool} {result}\n{e}\n{signature}"));
                }
            }
            assert!(valid > 0, "{name} {tool}: no value to check with");
        }
        assert_eq!(seen, count, "{name}");
    }
}
