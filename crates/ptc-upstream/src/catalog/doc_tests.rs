//! What `doc` says of arguments, schema by schema: enough that a call can be written from it.

use serde_json::json;

use super::doc::doc;
use super::tests::tool;

#[test]
fn every_variant_is_told_with_the_value_that_chooses_it() {
    let circle = json!({"type": "object", "required": ["kind", "radius"], "properties": {
        "kind": {"const": "circle"}, "radius": {"type": "number", "exclusiveMinimum": 0}, "label": {"type": "string"}}});
    let square = json!({"type": "object", "required": ["kind", "side"], "properties": {
        "kind": {"enum": ["square"]}, "side": {"type": "integer"}, "label": {"type": "integer"}}});
    let point = json!({"type": "object", "required": ["kind"], "properties": {"kind": {"const": "point"}}});
    let schema = json!({"type": "object", "oneOf": [{"$ref": "#/$defs/circle"}, square, point],
                        "$defs": {"circle": circle}});
    let page = doc("s", &tool("draw", "", schema), None);
    for line in [
        "Args: :kind enum<string>, :label string|integer?, :radius number?, :side integer?",
        "  :kind one of \"circle\", \"square\", \"point\"",
        "  :radius more than 0",
        "  with :kind \"circle\": :radius number, :label string?",
        "  with :kind \"square\": :side integer, :label integer?",
        "  with :kind \"point\": nothing else",
        "Required: :kind",
    ] {
        assert!(page.lines().any(|shown| shown == line), "{line}\n{page}");
    }
    assert!(
        page.contains("Or: (s/draw {:kind \"circle\" :radius 0.0}") || page.contains(":radius 1.0"),
        "{page}"
    );
}

#[test]
fn variants_are_bounded() {
    let long: serde_json::Map<String, serde_json::Value> =
        (0..200).map(|at| (format!("a_rather_long_name_{at}"), json!({"type": "string"}))).collect();
    let way = |at: usize| {
        let mut properties = long.clone();
        properties.insert("kind".to_owned(), json!({"const": at}));
        json!({"properties": properties, "required": ["kind"]})
    };
    let schema = json!({"oneOf": (0..40).map(way).collect::<Vec<_>>()});
    let page = doc("s", &tool("t", "", schema), None);
    assert!(page.lines().any(|line| line == "  … 28 more") && page.contains("(meta 's/t)"), "{page}");
    assert!(page.len() < 40_000, "{}", page.len());
}

#[test]
fn names_that_differ_in_hyphens_alone_are_told_apart() {
    let schema = json!({"properties": {"page-size": {"type": "integer"}, "page_size": {"type": "integer"},
                        "dry-run": {"type": "boolean"}}, "required": ["page-size", "page_size", "dry-run"]});
    let page = doc("s", &tool("t", "", schema), None);
    for part in [
        "Args: \"page-size\" integer, :page_size integer, :dry-run boolean",
        "Required: \"page-size\", :page_size, :dry-run",
        "Or: (s/t {\"page-size\" 0 :page_size 0 :dry-run true})",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
}

#[test]
fn what_a_value_must_be_is_told_beside_its_type() {
    for (schema, line) in [
        (json!({"type": "string", "pattern": "^[A-Z]{3}$"}), "  :x matches #\"^[A-Z]{3}$\""),
        (json!({"type": "number", "exclusiveMinimum": 0, "maximum": 1}), "  :x more than 0 and at most 1"),
        (json!({"type": ["string", "null"]}), "  :x string|nil"),
        (json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}), "  :x integer|nil"),
        (json!({"type": "object", "additionalProperties": {"type": "integer"}}), "  :x {\"…\" integer}"),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
                   "additionalProperties": {"type": ["number", "null"]}}),
            "  :x {:a string \"…\" number|nil}",
        ),
        (
            json!({"type": "array", "items": {"type": "object", "additionalProperties": {"enum": ["on", "off"]}}}),
            "  :x [{\"…\" \"on\"|\"off\"}]",
        ),
        // Names that a pattern must match are no others.
        (
            json!({"type": "object", "patternProperties": {"^x-": {"type": "string"}, "^y-": {}},
                   "additionalProperties": false}),
            "  :x {#\"^x-\" string #\"^y-\" any}",
        ),
        (
            json!({"type": "object", "patternProperties": {"^x-": {"type": "string"}},
                   "additionalProperties": {"type": "integer"}}),
            "  :x {#\"^x-\" string \"…\" integer}",
        ),
        // Without "required" all fields may be left out.
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}),
            "  :x {:a string? :b integer?}",
        ),
    ] {
        let page = doc("s", &tool("t", "", json!({"properties": {"x": schema}, "required": ["x"]})), None);
        assert!(page.lines().any(|shown| shown == line), "{line}\n{page}");
    }
    for unsaid in
        [json!({"type": "object"}), json!({"type": "object", "additionalProperties": true}), json!({})]
    {
        let page = doc("s", &tool("t", "", json!({"properties": {"x": unsaid}, "required": ["x"]})), None);
        assert!(!page.lines().any(|shown| shown.starts_with("  :x")), "{page}");
    }
}

#[test]
fn example_calls_use_what_the_schema_gives() {
    for (schema, call) in [
        (
            json!({"properties": {"q": {"type": "string", "default": "all"}}, "required": ["q"]}),
            "{:q \"all\"}",
        ),
        (
            json!({"properties": {"q": {"type": "string", "examples": ["fjord"]}}, "required": ["q"]}),
            "{:q \"fjord\"}",
        ),
        (
            json!({"properties": {"q": {"type": "string", "example": "fjord"}}, "required": ["q"]}),
            "{:q \"fjord\"}",
        ),
        (
            json!({"properties": {"q": {"anyOf": [{"type": "string"}, {"type": "null"}], "examples": ["fjord"]}},
                   "required": ["q"]}),
            "{:q \"fjord\"}",
        ),
        (
            json!({"properties": {"q": {"type": "string"}, "n": {"type": "integer"}}, "required": ["q"],
                   "examples": [{"q": "fjord", "n": 3}]}),
            "{:q \"fjord\" :n 3}",
        ),
    ] {
        let page = doc("s", &tool("t", "", schema), None);
        assert!(page.contains(&format!("Or: (s/t {call})")), "{call}\n{page}");
    }
}

#[test]
fn what_stands_inside_an_argument_is_told_with_its_path() {
    let edit = json!({"type": "object", "required": ["old"], "properties": {
        "old": {"type": "string", "minLength": 1, "description": "The text\nthat goes"},
        "all": {"type": "boolean", "default": false}, "note": {"type": "string"}}});
    let schema = json!({"properties": {
        "edits": {"type": "array", "items": {"$ref": "#/$defs/edit"}},
        "at": {"allOf": [{"type": "object", "required": ["x"], "properties": {"x": {"type": "integer", "minimum": 3}}},
                         {"type": "object", "required": ["y"], "properties": {"y": {"type": "string", "format": "date"}}}]},
        "both": {"allOf": [{"type": "string", "minLength": 2}, {"pattern": "^a", "description": "Two rules"}]},
        "deep": {"type": "object", "properties": {"n": {"anyOf": [{"type": "null"}, {"type": "integer", "minimum": 1}]}}},
        "pair": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]},
        "either": {"anyOf": [{"type": "string", "maxLength": 2}, {"type": "integer", "maximum": -5}]},
        "labels": {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 2,
                   "propertyNames": {"pattern": "^x-"}}},
        "required": ["edits"], "$defs": {"edit": edit}});
    let page = doc("s", &tool("t", "", schema), None);
    for line in [
        "  [:edits :old] at least 1 characters - The text that goes",
        "  [:edits :all] default false",
        "  :at {:x integer :y string}",
        "  [:at :x] at least 3",
        "  [:at :y] format date",
        "  :both string; at least 2 characters; matches #\"^a\" - Two rules",
        "  [:deep :n] integer: at least 1",
        "  :pair [integer string]",
        "  :either string: at most 2 characters; integer: at most -5",
        "  :labels {\"…\" integer}; at least 2 keys; keys match #\"^x-\"",
    ] {
        assert!(page.lines().any(|shown| shown == line), "{line}\n{page}");
    }
    assert!(!page.contains("(meta ") && !page.contains(":note]"), "{page}");
}

#[test]
fn what_items_and_values_must_be_is_told() {
    let schema = json!({"properties": {
        "tags": {"type": "array", "items": {"type": "string", "pattern": "^a", "maxLength": 9, "description": "A tag"}},
        "rows": {"type": "array", "items": {"type": "array", "items": {"type": "integer", "minimum": 1}}},
        "by": {"type": "object", "additionalProperties": {"type": "string", "format": "date"}},
        "like": {"type": "object", "patternProperties": {"^x-": {"type": "integer", "maximum": 3}},
                 "properties": {"a": {}}, "additionalProperties": {"minLength": 2}},
        "pair": {"type": "array", "prefixItems": [{"type": "integer", "minimum": 5}], "items": {"minLength": 4}},
        "inner": {"type": "object", "properties": {"ids": {"type": "array", "items": {"multipleOf": 5}}}},
    }});
    let page = doc("s", &tool("t", "", schema), None);
    for line in [
        "  each item of :tags at most 9 characters; matches #\"^a\" - A tag",
        "  each item of each item of :rows at least 1",
        "  each value of :by format date",
        "  each value under #\"^x-\" of :like at most 3",
        "  each other value of :like at least 2 characters",
        "  item 0 of :pair at least 5",
        "  each other item of :pair at least 4 characters",
        "  each item of [:inner :ids] a multiple of 5",
    ] {
        assert!(page.lines().any(|shown| shown == line), "{line}\n{page}");
    }
    assert!(!page.contains("(meta "), "{page}");
}

#[test]
fn arguments_of_open_names_are_told() {
    let schema = json!({"properties": {"q": {"type": "string"}}, "required": ["q"],
                        "patternProperties": {"^x-": {"type": "integer", "minimum": 3}},
                        "additionalProperties": {"type": "object", "properties": {"n": {"type": "string", "maxLength": 2}}}});
    let page = doc("s", &tool("t", "", schema), None);
    for line in [
        "Args: :q string, #\"^x-\" integer, \"…\" object",
        "  #\"^x-\" at least 3",
        "  \"…\" {:n string?}",
        "  [\"…\" :n] at most 2 characters",
    ] {
        assert!(page.lines().any(|shown| shown == line), "{line}\n{page}");
    }
    for (schema, args) in [
        (json!({"additionalProperties": true}), "Args: \"…\" any"),
        (json!({"additionalProperties": false}), "Args: none"),
        (json!({}), "Args: none"),
    ] {
        let page = doc("s", &tool("t", "", schema), None);
        assert!(page.lines().any(|shown| shown == args), "{args}\n{page}");
    }
}

#[test]
fn what_is_cut_says_where_the_rest_is() {
    let long = "a ".repeat(1_500);
    let page = doc("s", &tool("t", &long, json!({})), None);
    assert!(
        page.contains("\n  … is not all: (meta 's/t) has the rest under \"description\"\nArgs: "),
        "{page}"
    );
    let page = doc("s", &tool("t", "", json!({"properties": {"x": {"description": long}}})), None);
    assert!(page.contains("  … is not all: (meta 's/t) has the rest under \"input_schema\""), "{page}");
    let page =
        doc("s", &tool("t", &long[..1_999], json!({"properties": {"x": {"description": "short"}}})), None);
    assert!(!page.contains("is not all"), "{page}");
}

#[test]
fn an_example_that_may_not_fit_says_so() {
    for (schema, doubt) in [
        (
            json!({"type": "string", "pattern": "^(?!foo)[a-z]+$"}),
            Some("a pattern of the schema cannot be checked here"),
        ),
        (
            json!({"type": "string", "pattern": "^[a-z]+$", "enum": ["A"]}),
            Some("no value was found that fits"),
        ),
        (json!({"type": "string", "pattern": "^[a-z]+$"}), None),
    ] {
        let page = doc("s", &tool("t", "", json!({"properties": {"x": schema}, "required": ["x"]})), None);
        match doubt {
            Some(doubt) => assert!(page.contains(&format!("\n  … may not fit: {doubt}")), "{schema}\n{page}"),
            None => assert!(!page.contains("may not fit"), "{schema}\n{page}"),
        }
    }
}

#[test]
fn a_name_stays_in_its_line() {
    let page = doc("s", &tool("a\nb", "", json!({})), None);
    assert_eq!(page.lines().next(), Some("s/a\\nb"), "{page}");
    let page = doc("s", &tool(&"x".repeat(5_000), "", json!({})), None);
    assert_eq!(page.lines().next().map(str::len), Some("s/".len() + 128 + "…".len()), "{page}");
}

#[test]
fn conditions_without_words_are_pointed_at() {
    let depends = json!({"properties": {"a": {}, "b": {}}, "dependentRequired": {"a": ["b"]}});
    let chosen = json!({"properties": {"kind": {"enum": ["a", "b"]}, "r": {}}, "if": {"properties": {"kind": {"const": "a"}}},
                        "then": {"required": ["r"]}});
    let not = json!({"properties": {"x": {"type": "object", "properties": {"y": {"type": "string", "not": {"const": ""}}}}}});
    for schema in [depends, chosen, not] {
        let page = doc("s", &tool("t", "", schema), None);
        assert!(page.contains("(meta 's/t) has the rest"), "{page}");
    }
    // Names of arguments that read like conditions are none.
    let named =
        json!({"properties": {"if": {"type": "string"}, "x": {"type": "object", "properties": {"not": {}}}}});
    let page = doc("s", &tool("t", "", named), None);
    assert!(!page.contains("(meta "), "{page}");
}

#[test]
fn a_schema_that_contains_itself_is_told_once() {
    let schema = json!({"properties": {"tree": {"$ref": "#/$defs/node"}}, "required": ["tree"], "$defs": {"node": {
        "type": "object", "properties": {"name": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}}});
    let page = doc("s", &tool("t", "", schema), None);
    assert!(page.lines().any(|line| line == "  :tree {:name string? :kids […]?}"), "{page}");
    let list = json!({"type": "array", "items": {"$ref": "#/$defs/list"}});
    let page = doc(
        "s",
        &tool("t", "", json!({"properties": {"l": {"$ref": "#/$defs/list"}}, "$defs": {"list": list}})),
        None,
    );
    assert!(page.contains("(meta 's/t) has the rest"), "{page}");
}

#[test]
fn names_of_tools_and_keys_are_written_so_that_they_mean_themselves() {
    let page = doc("s", &tool("1st", "", json!({})), None);
    assert!(
        page.contains("Call: (tool/call {:server \"s\" :tool \"1st\"") && !page.contains("Or: ("),
        "{page}"
    );
    let open = json!({"properties": {"k": {"type": "object", "propertyNames": {"pattern": "^x-"},
                      "additionalProperties": {"type": "string"}, "minProperties": 1}}, "required": ["k"]});
    let page = doc("s", &tool("t", "", open), None);
    assert!(page.contains("Or: (s/t {:k {\"x-\" \"...\"}})"), "{page}");
}
