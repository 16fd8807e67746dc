//! The shorthand and the Malli form. Test names carry the number of the rule they show.

use ptc_signature::{MAX_DEPTH, Mode, Signature, Style, Type};
use serde_json::json;

/// Each text parses, and its canonical form is the second.
fn reads_as(cases: &[(&str, &str)]) {
    for (text, canonical) in cases {
        let parsed = Signature::parse(text).unwrap_or_else(|error| panic!("{text}\n{error}"));
        assert_eq!(parsed.to_string(), *canonical, "canonical form of {text}");
        assert_eq!(Signature::parse(canonical).as_ref(), Ok(&parsed), "{canonical} reads back");
    }
}

/// Each text fails; the message and the hint contain what is given.
fn fails_with(cases: &[(&str, &str, &str)]) {
    for (text, message, hint) in cases {
        let error = Signature::parse(text).expect_err(text);
        assert!(error.message.contains(message), "{text}: {error}");
        assert!(error.hint.as_deref().unwrap_or_default().contains(hint), "{text}: {error}");
    }
}

#[test]
fn r7_1_inputs_arrow_output_or_output_alone() {
    reads_as(&[
        (
            "(query :string, limit :int) -> {count :int, items [{id :int}]}",
            "(query :string, limit :int) -> {count :int, items [{id :int}]}",
        ),
        ("() -> {name :string, price :float}", "() -> {name :string, price :float}"),
        ("{name :string, price :float}", "() -> {name :string, price :float}"),
        ("  \n(a :int)\n  ->\n\t:bool  ", "(a :int) -> :bool"),
        ("(a :int)->:bool", "(a :int) -> :bool"),
        ("{a :int} ; a comment", "() -> {a :int}"),
    ]);
    fails_with(&[
        (":int :int", "unexpected `:`", ""),
        ("(a :int) :bool", "expected `->`", "(name :type"),
        ("{a :int} -> :int", "unexpected `-`", "parentheses"),
        ("(a :int", "not closed", "`)`"),
    ]);
}

#[test]
fn r7_1_seed_examples_all_parse() {
    reads_as(&[
        ("{answer :int}", "() -> {answer :int}"),
        ("[{id :int, title :string}]", "() -> [{id :int, title :string}]"),
        (
            "(user_id :int) -> {name :string, orders [:map]}",
            "(user_id :int) -> {name :string, orders [:map]}",
        ),
        (
            "\n(query :string, options {limit :int?, sort :string?}) ->\n{results [{id :int, score :float, metadata :map}], total :int}\n",
            "(query :string, options {limit :int?, sort :string?}) -> {results [{id :int, score :float, metadata :map}], total :int}",
        ),
        (
            "(user {id :int, name :string}, limit :int) -> [{order_id :int}]",
            "(user {id :int, name :string}, limit :int) -> [{order_id :int}]",
        ),
        (
            "{user {profile {settings {theme {colors {primary :string}}}}}}",
            "() -> {user {profile {settings {theme {colors {primary :string}}}}}}",
        ),
        (
            "{summary :string, count :int, _email_ids [:int]}",
            "() -> {summary :string, count :int, _email_ids [:int]}",
        ),
        (
            "(status :enum[pending active closed]) -> {ok :bool}",
            "(status :enum[pending active closed]) -> {ok :bool}",
        ),
        ("(value :string|:int) -> {result :any}", "(value :string|:int) -> {result :any}"),
        (
            "(page :int[>0], limit :int[1..100]) -> [{id :int}]",
            "(page :int[>0], limit :int[1..100]) -> [{id :int}]",
        ),
    ]);
}

#[test]
fn r7_2_names_begin_with_a_letter_or_underscore() {
    reads_as(&[
        ("{_a :int, b-c :int, D2 :int}", "() -> {_a :int, b-c :int, D2 :int}"),
        (r#"{"$odd name" :int}"#, r#"() -> {"$odd name" :int}"#),
        ("(größe :int, 价格 :float) -> {naïve :bool}", "(größe :int, 价格 :float) -> {naïve :bool}"),
    ]);
    fails_with(&[
        ("{2a :int}", "expected a field name, found `2`", "double quotes"),
        ("{a :int, a :int}", "declared twice", ""),
        ("(a_b :int, a-b :int) -> :int", "parameter `a-b` is the same name as `a_b`", ""),
        ("{x_y :int, x-y :int}", "field `x-y` is the same name as `x_y`", ""),
        ("(a, b :int) -> :int", "parameter `a` has no type", "a :any"),
        ("{[:int]}", "expected a field name", "needs a name"),
    ]);
}

#[test]
fn r7_3_primitives_lists_maps() {
    let primitives = ["string", "int", "float", "bool", "keyword", "any", "map", "datetime", "nil"];
    for name in primitives {
        reads_as(&[(format!(":{name}").as_str(), format!("() -> :{name}").as_str())]);
        reads_as(&[(format!("[:{name}?]").as_str(), format!("() -> [:{name}?]").as_str())]);
    }
    reads_as(&[(":boolean", "() -> :bool"), ("[[:int]]", "() -> [[:int]]"), ("[ :int ]", "() -> [:int]")]);
}

#[test]
fn r7_4_both_seed_dialects() {
    reads_as(&[
        ("{:id :int :name :string}", "() -> {id :int, name :string}"),
        ("{:id :int, :email :string?}", "() -> {id :int, email :string?}"),
        ("{:count :int :items [:string]?}", "() -> {count :int, items [:string]?}"),
        ("{user {id :int}? tags [:string]?}", "() -> {user {id :int}?, tags [:string]?}"),
        ("{:user {:id :int :profile {:bio :string}}}", "() -> {user {id :int, profile {bio :string}}}"),
        ("(a :int b :string) -> :any", "(a :int, b :string) -> :any"),
        ("{a :int,}", "() -> {a :int}"),
        (
            "(email {:subject :string}, tier :string) -> {urgent :bool}",
            "(email {subject :string}, tier :string) -> {urgent :bool}",
        ),
    ]);
}

#[test]
fn r7_5_valid_and_invalid_edge_cases() {
    reads_as(&[
        (":any", "() -> :any"),
        ("() -> :any", "() -> :any"),
        ("{}", "() -> {}"),
        ("[{}]", "() -> [{}]"),
        ("[:any]", "() -> [:any]"),
    ]);
    fails_with(&[
        ("", "empty", "{answer :int}"),
        ("  ", "empty", ""),
        ("[]", "list of what?", "[:any]"),
        ("(items :list) -> :bool", "unknown type `:list`", "[:type]"),
        (":array", "unknown type", "[:type]"),
        (":tuple", "unknown type", "named fields"),
        (":object", "unknown type", ":map"),
        ("[:int, :string]", "one item type", "[:a|:b]"),
    ]);
}

#[test]
fn r7_5_errors_show_line_column_and_caret() {
    let error = Signature::parse("(a :int,\n b :strng) -> :bool").expect_err("a slip");
    assert_eq!((error.line, error.column), (2, 4));
    assert_eq!(
        error.to_string(),
        "unknown type `:strng` at line 2, column 4\n   b :strng) -> :bool\n     ^^^^^^\nhint: did you mean :string?"
    );
}

#[test]
fn r7_5_names_from_other_languages_get_a_hint() {
    let guesses = [
        ("string", ":string"),
        ("str", ":string"),
        ("number", ":float"),
        ("i64", ":int"),
        ("u32", ":int"),
        ("integer", ":int"),
        ("f64", ":float"),
        ("double", ":float"),
        ("boolean", ":bool"),
        ("Boolean", ":bool"),
        ("String", ":string"),
        ("dict", ":map"),
        ("List[int]", "[:type]"),
        ("Vec<String>", "[:type]"),
        ("Optional[str]", "?"),
        ("HashMap<String, i64>", ":map"),
        ("null", ":nil"),
        ("None", ":nil"),
        ("atom", ":keyword"),
        ("unknown", ":any"),
        ("Date", ":datetime"),
        ("string[]", ":string"),
        ("tuple", "named fields"),
    ];
    for (guess, advice) in guesses {
        for text in [guess.to_owned(), format!("(x {guess}) -> :int"), format!("{{x {guess}}}")] {
            let hint = Signature::parse(&text).expect_err(&text).hint.unwrap_or_default();
            assert!(hint.contains(advice), "{text}: hint was {hint:?}");
        }
        // With a colon some of them are types, the others get the same advice.
        if let Err(error) = Signature::parse(&format!("(x :{guess}) -> :int")) {
            let hint = error.hint.unwrap_or_default();
            assert!(hint.contains(advice) || guess == "string[]", ":{guess}: hint was {hint:?}");
        }
    }
    fails_with(&[
        ("{id: int}", "unexpected `:` after the name `id`", "`id :int`"),
        ("{email? :string}", "`?` cannot be part of the name", "email :string?"),
        ("{a :int ?}", "expected a field name", "without a space"),
    ]);
}

#[test]
fn r7_6_a_leading_arrow_is_accepted() {
    reads_as(&[("-> :int", "() -> :int"), ("->{a :int}", "() -> {a :int}")]);
}

#[test]
fn r7_7_malli_data_says_the_same() {
    reads_as(&[
        (
            r#"[:=> [:cat :string] [:map [:status [:enum "pending" "active" "closed"]]]]"#,
            "(arg0 :string) -> {status :enum[pending active closed]}",
        ),
        ("[:=> [:cat :int] [:or :string :nil]]", "(arg0 :int) -> :string?"),
        ("[:=> [:cat] [:map [:score [:and :int [:> 0] [:< 100]]]]]", "() -> {score :int[>0 <100]}"),
        ("[:=> :cat :any]", "() -> :any"),
        (
            "[:=> [:catn [:query :string] [:limit [:maybe :int]]] [:vector :int]]",
            "(query :string, limit :int?) -> [:int]",
        ),
        (
            "[:=> [:cat [:map [:id :int] [:tag {:optional true} :keyword]]] :boolean]",
            "(id :int, tag :keyword?) -> :bool",
        ),
        (
            "[:=> [:cat] [:map-of :keyword [:map {:closed true} [:n :double]]]]",
            "() -> :map[:keyword {n :float}!]",
        ),
        ("[:=> [:cat] [:map-of :string :int]]", "() -> :map[:int]"),
        ("[:=> [:cat] [:or :string :int [:enum :a 1 2.5 true]]]", "() -> :string|:int|:enum[a 1 2.5 true]"),
        ("[:=> [:cat] [:int {:min 1 :max 10}]]", "() -> :int[1..10]"),
        ("[:=> [:cat] [:and :int [:>= 1] [:<= 10]]]", "() -> :int[1..10]"),
        ("[:=> [:cat] [:string {:min 1}]]", "() -> :string[>=1]"),
        ("[:-> :int :string pos-int?]", "(arg0 :int, arg1 :string) -> :int[>0]"),
    ]);
    fails_with(&[
        ("[:=> [:cat] [:tuple :int :int]]", "`:tuple` is not supported", "named fields"),
        ("[:=> [:cat] :strng]", "unknown schema `:strng`", ":string"),
        ("[:=> [:cat] [:and :int :string]]", "nothing satisfies", ""),
        ("[:=> [:cat]]", "arguments and a result", "[:=>"),
        ("[:=> [:cat :int] [:vector]]", "exactly one schema", ""),
        ("[:=> [:cat] [:map [:a]]]", "expected an entry", "[:name schema]"),
        ("[:=> [:cat] [:map [:a :int]]", "not closed", "`]`"),
    ]);
}

#[test]
fn r7_7_malli_as_json_and_as_values() {
    let schema = json!([":=>", [":cat", ":string"], [":map", [":status", [":enum", "pending", "active"]], [":n", {"optional": true}, ":int"]]]);
    let signature = Signature::from_malli(&schema).expect("a function schema");
    assert_eq!(signature.to_string(), "(arg0 :string) -> {status :enum[pending active], n :int?}");
    assert_eq!(
        Type::parse_malli("[:vector [:map [:id :int]]]").map(|t| t.to_string()).as_deref(),
        Ok("[{id :int}]")
    );
}

#[test]
fn r7_8_return_spec_is_the_text_after_the_arrow() {
    let cases = [
        ("(a :int) -> {b :int}", "{b :int}"),
        ("{b :int}", "{b :int}"),
        ("-> [:int] ", "[:int]"),
        ("() ->\n  {b :int, c  [:any]}", "{b :int, c  [:any]}"),
    ];
    for (text, expected) in cases {
        assert_eq!(Signature::return_spec(text), Ok(expected), "{text}");
    }
}

#[test]
fn r7_9_deep_nesting_parses_and_absurd_nesting_is_a_clean_error() {
    let nested = |open: &str, close: &str, n: usize| format!("{}:int{}", open.repeat(n), close.repeat(n));
    for (open, close) in [("[", "]"), ("{a ", "}"), ("[{a ", "}]?"), (":map[", "]")] {
        let levels = open.matches(['[', '{']).count();
        let deep = nested(open, close, (MAX_DEPTH - 1) / levels);
        let ty = Type::parse(&deep).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(Type::parse(&ty.to_string()), Ok(ty));
        let error = Type::parse(&nested(open, close, 10_000)).expect_err("too deep");
        assert!(error.message.contains("nested deeper"), "{error}");
    }
    for levels in [MAX_DEPTH + 1, 10_000] {
        let malli = format!("[:=> [:cat] {}:int{}]", "[:vector ".repeat(levels), "]".repeat(levels));
        assert!(Signature::parse(&malli).expect_err("too deep").message.contains("nested deeper"));
    }
}

#[test]
fn r7_9_every_operation_survives_the_deepest_type_on_a_small_stack() {
    let work = || {
        let levels = MAX_DEPTH / 2 - 1;
        let text = format!("{}:int?{}", "[{a ".repeat(levels), "}]?".repeat(levels));
        let ty = Type::parse(&text).expect("within the bound");
        let mut value = json!("x");
        for _ in 0..levels {
            value = json!([{"a": value}]);
        }
        assert_eq!(ty.validate(&value, Mode::Strict).expect_err("a string").errors.len(), 1);
        assert_eq!(ty.coerce(&value, Mode::Enabled).expect_err("a string").errors.len(), 1);
        let schema = ty.to_json_schema();
        assert!(!Type::from_json_schema(&schema).notes.is_empty());
        assert_eq!(ty.clone(), ty);
        assert_eq!(Type::parse_malli(&ty.to_malli()).map(|t| t == ty), Ok(true));
        assert!(format!("{ty:?}").len() > ty.public().render(Style::Compact).len());
        assert!(ptc_signature::mask(&value) == value && ptc_signature::to_json(&value).is_ok());
    };
    let absurd = || {
        for (open, close) in [("[", "]"), ("{a ", "}"), ("[:vector ", "]"), ("[:map [:a ", "]]")] {
            let text = format!("{}:int{}", open.repeat(10_000), close.repeat(10_000));
            assert!(Type::parse(&text).is_err() && Type::parse_malli(&text).is_err());
        }
    };
    let work = move || {
        work();
        absurd();
    };
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(work).expect("a thread");
    thread.join().expect("no overflow");
}

#[test]
fn enums_unions_and_refinements() {
    reads_as(&[
        (
            r#":enum["in progress" "1" 1 -2.5 true "true" :done]"#,
            r#"() -> :enum["in progress" "1" 1 -2.5 true "true" done]"#,
        ),
        (":enum[a, b, a]", "() -> :enum[a b]"),
        (":enum[a nil]", "() -> :enum[a]?"),
        (":string | :int", "() -> :string|:int"),
        (":string|:int?", "() -> :string|:int?"),
        (":string?|:int", "() -> :string|:int?"),
        ("{a :nil|[:int]}", "() -> {a [:int]?}"),
        (":string|:string", "() -> :string"),
        (":any|:string", "() -> :any"),
        (":int[1..]", "() -> :int[>=1]"),
        (":int[..9]", "() -> :int[<=9]"),
        (":int[5]", "() -> :int[5..5]"),
        (":int[>0 <=10]?", "() -> :int[>0 <=10]?"),
        (":float[0.5..1e3]", "() -> :float[0.5..1000.0]"),
        (":int[-5..-1]", "() -> :int[-5..-1]"),
        (":int[0..340282366920938463463374607431]", "() -> :int[0..340282366920938463463374607431]"),
        (":string[1..80]", "() -> :string[1..80]"),
        (":map[:int]", "() -> :map[:int]"),
        (":map[:keyword [:int]]", "() -> :map[:keyword [:int]]"),
        ("(a :int)! -> {b :int}!", "(a :int)! -> {b :int}!"),
    ]);
    fails_with(&[
        (":enum", "needs its values", ":enum[pending active]"),
        (":enum[]", "no values", ":enum[pending active]"),
        (":enum[2x]", "after a number", "double quotes"),
        (":int[]", "range is empty", "[1..100]"),
        (":int[9..1]", "no value lies", "lower end"),
        (":int[>0 <=0]", "no value lies", ""),
        (":int[0.5..1]", "whole number", ":float"),
        (":int[a]", "expected a limit", "[1..100]"),
        (":bool[1]", "takes no refinement", ":enum"),
        (":map[[:int] :int]", "cannot be a map key", ":keyword"),
        (":int[0..999999999999999999999999999999999999999999]", "too large", ""),
        (r#":enum["a]"#, "not closed", ""),
    ]);
}

#[test]
fn signatures_are_stored_as_text() {
    let signature = Signature::parse("(a :int) -> {b :string?}").expect("a signature");
    let stored = serde_json::to_value(&signature).expect("text");
    assert_eq!(stored, json!("(a :int) -> {b :string?}"));
    assert_eq!(serde_json::from_value::<Signature>(stored).ok(), Some(signature));
    assert!(serde_json::from_value::<Signature>(json!("(a :intt) -> :any")).is_err());
}
