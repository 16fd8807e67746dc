//! What sketches say, and what they never do.

use ptc_lisp::view::{Bounds, Part};
use serde_json::json;

use super::*;

fn of(json: &Json) -> Sketch {
    Sketch::of(Datum::Built(json), true, MOST)
}

#[test]
fn keys_are_told_with_types_shares_and_what_values_look_like() {
    let rows: Json = (0..200)
        .map(|id| {
            let mut row = json!({
                "id": id, "day": format!("2026-11-{:02}", id % 4 + 10), "open": id % 3 == 0, "total": 1.5 * f64::from(id),
                "note": null, "who": {"name": "Ann Lee", "tags": ["a", "bb"]},
            });
            if id % 5 == 0 {
                row["owner"] = json!("ann@example.com");
            }
            row
        })
        .collect();
    let sketch = of(&rows);
    assert_eq!(sketch.line, "list of 200 maps");
    assert_eq!(
        sketch.keys,
        [
            ":id int 0 … 200",
            ":day string \"9999-99-99\" (4 distinct)",
            ":open bool",
            ":total float 0 … 300",
            ":note nil",
            ":who {:name string \"Aaa Aaa\" (1 distinct), :tags list of string \"a+\" (2 distinct)}",
            ":owner string \"aaa@aaaaaaa.aaa\" (in 20%, 1 distinct)",
        ]
    );
}

#[test]
fn what_is_no_table_is_told_on_a_line() {
    let cases = [
        (json!(7), "7"),
        (json!(null), "nil"),
        (json!("2026-11-16"), "\"2026-11-16\""),
        (json!("a text that is longer than a name can be"), "string of 40 characters"),
        (json!([]), "list[0]"),
        (json!([1, 2, 30]), "list[3] of int 1 … 30"),
        (json!([1, 2.5, null]), "list[3] of number 1 … 3 (33% nil)"),
        (json!([1, "x1"]), "list[2] of int or string \"a9\""),
        (json!([[1], [2, 3]]), "list[2] of list of int 1 … 3"),
        (json!({}), "map of 0 keys"),
    ];
    for (json, expected) in cases {
        assert_eq!(of(&json).on_a_line().split(": {").next(), Some(expected), "{json}");
    }
    let user = json!({"name": "Ann", "age": 42, "_ssn": "078-05-1120"});
    let told = "map of 3 keys: {:name string \"Aaa\", :age int 40 … 50, :_ssn <Firewalled>}";
    assert_eq!(of(&user).on_a_line(), told);
    let page = json!({"rows": [{"id": 1, "name": "a"}, {"id": 2}], "next": null});
    let told = "map of 2 keys: {:rows list[2] of {:id int 1 … 2, :name string \"a\" (in 50%)}, :next nil}";
    assert_eq!(of(&page).on_a_line(), told);
}

#[test]
fn keys_that_are_data_are_not_told() {
    let by_mail: Json = Json::Object((0..100).map(|n| (format!("user{n}@example.com"), json!(n))).collect());
    assert_eq!(of(&by_mail).line, "map from keys \"aaaa9+@aaaaaaa.aaa\" to int 0 … 100");
    let rows: Json = (0..100).map(|n| json!({format!("2026-11-{n}"): n})).collect();
    assert_eq!(of(&rows).line, "list[100] of map (keys differ, 100 of them)");
}

#[test]
fn reader_7a_few_keys_that_look_like_data_are_not_told_and_long_ones_never() {
    let mails: Json = Json::Object((0..20).map(|n| (format!("user{n}@example.com"), json!(n))).collect());
    assert_eq!(of(&mails).on_a_line(), "map from keys \"aaaa9+@aaaaaaa.aaa\" to int 0 … 20");
    let days = json!({"2026-11-16": 3, "2026-11-17": 4});
    assert_eq!(of(&days).on_a_line(), "map from keys \"9999-99-99\" to int 3 … 4");
    let rows: Json = (0..20).map(|n| json!({format!("user{n}@example.com"): n})).collect();
    assert_eq!(of(&rows).on_a_line(), "list[20] of map (keys differ, 20 of them)");
    let names = ["ann", "bob", "cid", "dan", "eve", "fay", "gus", "hal", "ida", "joe"];
    let rows: Json = names.iter().map(|name| json!({*name: 1})).collect();
    assert_eq!(of(&rows).on_a_line(), "list[10] of map (keys differ, 10 of them)");
    let rows: Json = (0..3).map(|n| json!({"2025-01": n, "2025-02": n})).collect();
    assert_eq!(of(&rows).on_a_line(), "list[3] of map of 2 keys \"9999-99\"");
    let long = "a key of the data that is longer than thirty-two bytes by far and is private";
    let mixed = json!({"id": 1, "name": "Ann", long: true});
    let told = of(&mixed).on_a_line();
    assert_eq!(told, "map of 3 keys: {:id int, :name string \"Aaa\", <key of 76 characters> bool}");
    for (json, keys) in
        [(&mails, None), (&rows, None), (&mixed, Some(vec!["id".to_owned(), "name".to_owned()]))]
    {
        let schema = Schema::of(json, true);
        let text = schema.json.to_string();
        assert!(!text.contains('@') && !text.contains("2025") && !text.contains("private"), "{text}");
        assert_eq!(schema.keys, keys, "{text}");
    }
}

#[test]
fn reader_7b_what_is_no_data_is_told_without_what_it_holds() {
    let opaque = |text: &str| Sketch::of_view(&View::Opaque(text.to_owned())).line;
    assert_eq!(opaque("#<atom {:note \"private note of a customer\", :n 0}>"), "#<atom …>");
    assert_eq!(opaque("#\"private note of a customer that is long\""), "# …");
    assert_eq!(opaque("#<atom 5>"), "#<atom 5>");
    assert_eq!(
        opaque("#fn[%1 %2 %3 %4 %5 %6 %7 %8 %9 %10 & %&]"),
        "#fn[%1 %2 %3 %4 %5 %6 %7 %8 %9 %10 & %&]"
    );
}

#[test]
fn reader_10_nothing_false_is_said_of_what_was_not_looked_at() {
    let mut ones = vec![json!(1); 100_001];
    ones[50_000] = json!(1_000_000_000);
    assert_eq!(of(&Json::from(ones)).line, "list[100,001] of int 1 … 1,000,000,000 (2 distinct)");
    let mut texts = vec![json!("a"); 100_001];
    texts[50_000] = json!("bb");
    assert_eq!(of(&Json::from(texts)).line, "list[100,001] of string \"a+\" (2 distinct)");
    let many: Json = (0..600_000).map(|at| json!(i32::from(at == 300_001))).collect();
    assert_eq!(of(&many).line, "list[600,000] of int (1 distinct, 1,000 looked at)");
    // Texts that differ behind their beginning differ.
    let long = |end: char| format!("{}{end}", "x".repeat(500));
    let pair = json!([long('a'), long('b'), long('a'), long('b')]);
    assert_eq!(of(&pair).line, "list[4] of string of 501 characters (2 distinct)");
    let large = json!([
        9_007_199_254_740_992_u64,
        9_007_199_254_740_993_u64,
        9_007_199_254_740_992_u64,
        9_007_199_254_740_993_u64
    ]);
    assert!(of(&large).line.ends_with("(2 distinct)"), "{}", of(&large).line);
    let view =
        |json: &Json| View::of_json(json, &Bounds { items: 100, string_chars: 128, ..Bounds::default() });
    let numbers: Json = (0..1_000).map(Json::from).collect();
    assert_eq!(Sketch::of_view(&view(&numbers)).line, "list[1,000] of int 0 … 100 (the first 100 looked at)");
    assert_eq!(Sketch::of_view(&view(&pair)).line, "list[4] of string of 501 characters");
    let dictionary = Json::Object((0..1_500).map(|n| (format!("{n:05}"), json!(n % 2))).collect());
    assert_eq!(
        of(&dictionary).line,
        "map from keys \"99999\" to int 0 … 1 (2 distinct, 1,000 of 1,500 entries looked at)"
    );
    // A field that was not looked at is there all the same.
    let rows: Json =
        (0..40).map(|_| json!({"xs": [{"y": vec![json!({"z": 1}); 2_000]}], "late": 1})).collect();
    assert!(!of(&rows).on_a_line().contains(":late int (in"), "{}", of(&rows).on_a_line());
}

#[test]
fn wide_long_and_deep_data_is_told_in_few_bytes_and_looked_at_in_bounds() {
    let wide: Json = (0..300)
        .map(|_| Json::Object((0..500).map(|n| (format!("column_{n}"), json!(n))).collect()))
        .collect();
    let sketch = of(&wide);
    assert!(sketch.on_a_line().len() < MOST + 100, "{}", sketch.on_a_line().len());
    assert!(sketch.keys.last().is_some_and(|line| line.ends_with("other keys")), "{:?}", sketch.keys.last());
    assert!(sketch.line.starts_with("list of 300 maps, "), "{}", sketch.line);
    let mut rows: Vec<Json> = vec![json!({"id": 1}); 100_000];
    rows.push(json!({"id": 2, "late": true}));
    let sketch = of(&Json::from(rows));
    assert_eq!(sketch.line, "list of 100,001 maps, 1,000 looked at, the keys of all");
    assert_eq!(sketch.keys[1], ":late bool (in <1%)", "the last row is among them");
    let mut rows: Vec<Json> = vec![json!({"id": 1, "n": 2}); 50_000];
    rows[2] = json!({"id": 1, "n": 2, "rare": "x", "_key": 1});
    let sketch = of(&Json::from(rows));
    let rare = [":rare string \"a\" (in <1%)", ":_key <Firewalled> (in <1%)"];
    assert_eq!(sketch.keys[2..], rare, "rows between those that are looked at have keys too");
    let rows: Vec<Json> = vec![json!({"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}); 100_000];
    let line = of(&Json::from(rows)).line;
    assert_eq!(line, "list of 100,000 maps, 1,000 looked at, the keys of 40,000");
    let deep = (0..100).fold(json!(1), |inner, _| json!({ "in": inner }));
    assert!(of(&deep).on_a_line().len() < 100, "{}", of(&deep).on_a_line());
    let lists: Json = (0..200).map(|n| json!({"xs": vec![n; 2_000]})).collect();
    assert!(of(&lists).on_a_line().contains(":xs list of int"), "{}", of(&lists).on_a_line());
}

#[test]
fn views_and_json_give_the_same_sketch() {
    let rows: Json = (0..20).map(|id| json!({"id": id, "name": "Ann", "_k": 1})).collect();
    let view = View::of_json(&rows, &Bounds { items: 100, ..Bounds::default() });
    assert_eq!(Sketch::of_view(&view), of(&rows));
    assert_eq!(Sketch::of_view(&View::Keyword("ok".to_owned())).line, ":ok");
}

#[test]
fn schemas_tell_all_keys_with_types_and_shares_and_nothing_of_values() {
    let of = |json: Json| Schema::of(&json, true);
    let rows = of(json!([{"id": 1, "name": "a"}, {"id": 2}]));
    let properties = json!({"id": "integer", "name": "string (in 50%)"});
    assert_eq!(rows.json, json!({"type": "array", "items": {"type": "object", "properties": properties}}));
    assert_eq!(rows.keys.unwrap(), ["id", "name"]);
    let page = of(json!({"rows": [{"id": 1}], "next": null, "_k": 1}));
    let rows = json!({"type": "array", "items": {"type": "object", "properties": {"id": "integer"}}});
    assert_eq!(page.json["properties"], json!({"_k": "<Firewalled>", "next": "null", "rows": rows}));
    assert_eq!(of(json!([])).json, json!({"type": "array", "items": {}}));
    assert_eq!(of(json!(["a", 1])).json, json!({"type": "array", "items": {"type": "string or integer"}}));
}

#[test]
fn narrow_ways_are_followed_to_the_columns_at_their_end() {
    let issues =
        json!({"data": {"repository": {"issues": {"totalCount": 1, "nodes": [{"id": 1, "title": "x"}]}}}});
    let told = "map of 1 key: {:data {:repository {:issues {:totalCount int, :nodes list[1] of {:id int, :title string \"a\"}}}}}";
    assert_eq!(of(&issues).on_a_line(), told);
    let users = json!([{"user": {"profile": {"address": {"city": "Rome", "zip": "00100"}}}}]);
    let told = "list of 1 maps: {:user {:profile {:address {:city string \"Aaaa\", :zip string \"99999\"}}}}";
    assert_eq!(of(&users).on_a_line(), told);
    // Rows with many columns, within the room that there is.
    let row: Json = Json::Object((0..40).map(|at| (format!("column_{at}"), json!("some text"))).collect());
    let wide = json!({"data": {"viewer": {"nodes": [row]}}});
    let whole = of(&wide).on_a_line();
    assert!(whole.contains(":column_39 string") && whole.len() <= MOST + 64, "{whole}");
    let brief = Sketch::of(Datum::Built(&wide), true, BRIEF).on_a_line();
    assert!(brief.contains(":column_3 string") && brief.contains("other keys"), "{brief}");
    assert!(brief.len() <= BRIEF + 64, "{brief}");
    // What is looked at has an end.
    let deep = (0..100).fold(json!(1), |inner, _| json!({ "k": inner }));
    assert!(of(&deep).on_a_line().contains(":k map}"), "{}", of(&deep).on_a_line());
}

#[test]
fn values_of_several_kinds_are_not_counted_as_texts_are() {
    let mixed = of(&json!([1, "two", {"k": "v"}, null])).on_a_line();
    assert!(!mixed.contains("distinct") && mixed.contains("25% nil"), "{mixed}");
}

#[test]
fn decimals_large_integers_and_keys_of_kept_values_are_told_as_those_of_inputs_are() {
    let list = |items: &[View]| {
        Sketch::of_view(&View::Vector(Part { items: items.to_vec(), total: items.len(), open: false })).line
    };
    let decimal = |text: &str| View::Decimal(text.to_owned());
    let big = || View::Big("12345678901234567890".to_owned());
    let text = |text: &str| View::Str { text: text.to_owned(), chars: text.chars().count() };
    let half = [decimal("1.5"), decimal("2.5"), decimal("1.50"), decimal("2.5")];
    assert_eq!(list(&half), "list[4] of decimal 1 … 3 (2 distinct)");
    let mixed = [View::Int(1), decimal("2.5"), View::Int(1), decimal("2.5"), View::Float(9.5)];
    assert_eq!(list(&mixed), "list[5] of number 1 … 10");
    assert_eq!(list(&mixed[..4]), "list[4] of number 1 … 3 (2 distinct)");
    assert_eq!(list(&[big(), big()]), "list[2] of int 1e19 … 1e20 (1 distinct)");
    let words =
        [View::Keyword("a".into()), View::Keyword("b".into()), text("c"), text("c"), text("c"), text("c")];
    assert_eq!(list(&words), "list[6] of keyword or string \"a\" (3 distinct)");
    let days = [text("soon"), View::Time { text: "2026-11-18".into(), class: "LocalDate" }, text("later")];
    assert_eq!(list(&days), "list[3] of string \"a+\" or date \"9999-99-99\"");
    let map = View::Map { entries: vec![(text("a b"), View::Int(1)), (text("c d"), View::Int(2))], total: 2 };
    assert_eq!(Sketch::of_view(&map).line, "map from keys \"a a\" to int 1 … 2");
}

#[test]
fn rows_with_texts_for_keys_have_columns_as_inputs_have() {
    let text = |text: &str| View::Str { text: text.to_owned(), chars: text.chars().count() };
    let map = |entries: Vec<(View, View)>| View::Map { total: entries.len(), entries };
    let list = |items: Vec<View>| View::Vector(Part { total: items.len(), items, open: false });
    let row = |qty: i64| map(vec![(text("Order ID"), View::Int(qty)), (text("day"), text("2026-11-18"))]);
    let sketch = Sketch::of_view(&list(vec![row(7), row(8)]));
    let told = "list of 2 maps: {\"Order ID\" int 7 … 8, \"day\" string \"9999-99-99\" (1 distinct)}";
    assert_eq!(sketch.on_a_line(), told);
    // A text is another key than a keyword.
    let both = map(vec![(View::Keyword("id".into()), View::Int(1)), (text("id"), text("x"))]);
    assert_eq!(Sketch::of_view(&both).on_a_line(), "map of 2 keys: {:id int, \"id\" string \"a\"}");
    // What a program groups by is data, and so are rows under it, but for their columns.
    let totals = map(vec![(text("Ann Lee"), View::Int(1)), (text("Bob Day"), View::Int(2))]);
    assert_eq!(Sketch::of_view(&totals).on_a_line(), "map from keys \"Aaa Aaa\" to int 1 … 2");
    let grouped = map(vec![(text("Ann Lee"), list(vec![row(1)])), (text("Bob Day"), list(vec![row(2)]))]);
    let told = "map from keys \"Aaa Aaa\" to list of {\"Order ID\" int 1 … 2, \"day\" string \"9999-99-99\" (1 distinct)}";
    assert_eq!(Sketch::of_view(&grouped).on_a_line(), told);
    // Columns of rows that only a key of another kind is among stay a dictionary.
    let numbered = list(vec![map(vec![(View::Int(1), View::Int(2)), (text("a"), View::Int(2))])]);
    assert_eq!(
        Sketch::of_view(&numbered).on_a_line(),
        "list[1] of map from keys of 1 characters to int (1 distinct)"
    );
}

#[test]
fn a_key_that_looks_like_data_is_not_told_beside_others() {
    let row = json!({"id": 1, "name": "Ann", "city": "Rome", "ann@example.com": true});
    let told = "map of 4 keys: {:id int, :name string \"Aaa\", :city string \"Aaaa\", <key \"aaa@aaaaaaa.aaa\"> bool}";
    assert_eq!(of(&row).on_a_line(), told);
    let rows: Json =
        (0..9).map(|n| json!({"id": n, "sum": 3, "kind": "a", "2025-01": n, "2025-02": 1.5})).collect();
    assert!(
        of(&rows)
            .on_a_line()
            .ends_with(":kind string \"a\" (1 distinct), <2 keys \"9999-99\"> int or float}")
    );
    let schema = Schema::of(&rows, true);
    assert!(!schema.json.to_string().contains("2025") && schema.truncated);
    assert_eq!(schema.keys.unwrap(), ["id", "kind", "sum"]);
    assert_eq!(of(&json!([{"a/b": 1, "c": 2}])).on_a_line(), "list of 1 maps: {\"a/b\" int, :c int}");
}
