//! JSON functions, under the names of PTC-Lisp and those that models know from Clojure's libraries.
//!
//! All of them raise for text that is no JSON and for values that JSON cannot say. `json/generate-string` puts
//! members in the order of their keys, the others keep that of the map.

use super::{Builtin, args, native, registry};
use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::interchange::Keys;
use crate::json::{self, FaultKind, JsonFault, ReadOptions, SameKey, Unwritable, WriteOptions};
use crate::signal::{Res, Signal};
use crate::value::walk::Parts;
use crate::value::{Value, ledger};

pub(super) static TABLE: &[Builtin] = &[
    native(
        "json/parse-string",
        "[s] [s key-fn]",
        parse,
        "The value that the JSON text s spells; bad text raises. Keys are strings, or keywords if \
         key-fn is true or keyword. What is data already is given back.",
        &[
            (r#"(json/parse-string "{\"a\": [1, 2.5, null]}")"#, r#"{"a" [1 2.5 nil]}"#),
            (r#"(json/parse-string "{\"a\": 1}" true)"#, "{:a 1}"),
            (r#"(try (json/parse-string "oops") (catch Exception e :bad))"#, ":bad"),
        ],
    ),
    native(
        "json/parse-lines",
        "[s] [s key-fn]",
        parse_lines,
        "The values that the lines of s spell, as a vector; nil for a line that spells none. Blank lines \
         are left out.",
        &[(r#"(json/parse-lines "{\"a\":1}\n\n[2]")"#, r#"[{"a" 1} [2]]"#)],
    ),
    native(
        "json/generate-string",
        "[x] [x opts]",
        generate_string,
        "x as JSON text, members in the order of their keys, keywords as strings. {:pretty true} indents it.",
        &[(r#"(json/generate-string {:b [1 nil], "a" 2.0})"#, r#""{\"a\":2.0,\"b\":[1,null]}""#)],
    ),
    native(
        "json/parse",
        "[s & opts]",
        parse,
        "The value that the JSON text s spells; bad text raises.",
        &[(r#"(json/parse "[1]")"#, "[1]")],
    ),
    native(
        "json/decode",
        "[s & opts]",
        parse,
        "The value that the JSON text s spells; bad text raises.",
        &[(r#"(json/decode "{\"a\":1}" true)"#, "{:a 1}")],
    ),
    native(
        "json/read-str",
        "[s & opts]",
        parse,
        "The value that the JSON text s spells, with keyword keys for :key-fn keyword. Bad text raises.",
        &[(r#"(json/read-str "{\"a\":1}" :key-fn keyword)"#, "{:a 1}")],
    ),
    native(
        "json/write-str",
        "[x & opts]",
        write_str,
        "x as JSON text, members in map order, keywords as strings.",
        &[(r#"(json/write-str {:b :c, :a #{1}})"#, r#""{\"b\":\"c\",\"a\":[1]}""#)],
    ),
    native(
        "json/encode",
        "[x & opts]",
        write_str,
        "x as JSON text, members in map order, keywords as strings.",
        &[(r#"(json/encode [:a 1])"#, r#""[\"a\",1]""#)],
    ),
    native(
        "json/stringify",
        "[x & opts]",
        write_str,
        "x as JSON text, members in map order, keywords as strings.",
        &[(r#"(json/stringify {:a 1})"#, r#""{\"a\":1}""#)],
    ),
    native(
        "cheshire.core/parse-string",
        "[s] [s key-fn]",
        parse,
        "The value that the JSON text s spells, with keyword keys if key-fn is true. Bad text raises.",
        &[(r#"(cheshire.core/parse-string "{\"a\":1}" true)"#, "{:a 1}")],
    ),
    native(
        "cheshire.core/decode",
        "[s] [s key-fn]",
        parse,
        "The value that the JSON text s spells, with keyword keys if key-fn is true. Bad text raises.",
        &[(r#"(cheshire.core/decode "[1]")"#, "[1]")],
    ),
    native(
        "cheshire.core/generate-string",
        "[x] [x opts]",
        write_str,
        "x as JSON text, members in map order, keywords as strings. {:pretty true} indents it.",
        &[(r#"(cheshire.core/generate-string {:a :b})"#, r#""{\"a\":\"b\"}""#)],
    ),
    native(
        "cheshire.core/encode",
        "[x] [x opts]",
        write_str,
        "x as JSON text, members in map order, keywords as strings.",
        &[(r#"(cheshire.core/encode [1 nil])"#, r#""[1,null]""#)],
    ),
    native(
        "clojure.data.json/read-str",
        "[s & opts]",
        parse,
        "The value that the JSON text s spells, with keyword keys for :key-fn keyword. Bad text raises.",
        &[(r#"(clojure.data.json/read-str "{\"a\":1}" :key-fn keyword)"#, "{:a 1}")],
    ),
    native(
        "clojure.data.json/write-str",
        "[x & opts]",
        write_str,
        "x as JSON text, members in map order, keywords as strings.",
        &[(r#"(clojure.data.json/write-str {:a [1 2]})"#, r#""{\"a\":[1,2]}""#)],
    ),
];

/// The options after the first argument: a flag or function alone, a map, or keys and values.
struct JsonOptions {
    keys: Keys,
    pretty: bool,
}

fn options(heap: &mut Heap, args: &[Value]) -> Res<JsonOptions> {
    let mut options = JsonOptions { keys: Keys::Strings, pretty: false };
    match &args[1..] {
        [] | [Value::Nil] => {}
        [Value::Map(map)] => {
            for (name, value) in map.iter() {
                options.set(heap, name, value)?;
            }
        }
        [key_fn] => options.keys = keys(heap, key_fn)?,
        pairs => {
            for pair in pairs.chunks(2) {
                options.set(heap, &pair[0], pair.get(1).unwrap_or(&Value::Nil))?;
            }
        }
    }
    Ok(options)
}

impl JsonOptions {
    fn set(&mut self, heap: &mut Heap, name: &Value, value: &Value) -> Res<()> {
        let Value::Kw(key) = name else { return Err(unknown_option(heap, name).into()) };
        match heap.names.text(*key) {
            "key-fn" if !value.is_nil() => self.keys = keys(heap, value)?,
            "pretty" | "indent" => self.pretty = value.truthy(),
            "escape-slash" | "escape-unicode" | "eof-error?" | "eof-value" | "bigdec" | "key-fn" => {}
            _ => return Err(unknown_option(heap, name).into()),
        }
        Ok(())
    }
}

fn unknown_option(heap: &Heap, name: &Value) -> Error {
    Error::new(ErrorKind::IllegalArgument, format!("there is no option {}", heap.brief(name)))
        .hint("known are :key-fn keyword and :pretty true; transform the data before or after instead")
}

/// Natives call no functions, but the two that matter are known.
fn keys(heap: &Heap, key_fn: &Value) -> Res<Keys> {
    let named = |name: &str| registry().qualified(name).map(Value::Builtin);
    let is = |name: &str| named(name).is_some_and(|known| crate::value::equal::equals(&known, key_fn));
    match key_fn {
        Value::Bool(true) => Ok(Keys::Keywords),
        Value::Bool(false) | Value::Nil => Ok(Keys::Strings),
        _ if is("clojure.core/keyword") => Ok(Keys::Keywords),
        _ if is("clojure.core/identity") || is("clojure.core/str") || is("clojure.core/name") => {
            Ok(Keys::Strings)
        }
        _ => {
            let message = format!("the key function must be keyword or true, got {}", heap.brief(key_fn));
            let hint = "read with string keys and use (update-keys m f), or clojure.walk for nested maps";
            Err(Error::new(ErrorKind::IllegalArgument, message).hint(hint).into())
        }
    }
}

/// Reads a text; the error is a fault of the text.
fn read(heap: &mut Heap, text: &str, keys: Keys) -> Res<Result<Value, JsonFault>> {
    heap.work(1 + text.len() / 4)?;
    let options = ReadOptions { keys, room: heap.room(), interrupt: &heap.interrupt };
    match json::read(text, &options, &mut heap.names) {
        Ok((value, bytes)) => {
            heap.allocated(bytes);
            Ok(Ok(value))
        }
        Err(JsonFault { kind: FaultKind::TooLarge(bytes), .. }) => Err(Signal::Reclaim(bytes).into()),
        Err(JsonFault { kind: FaultKind::Stopped(error), .. }) => Err((*error).into()),
        Err(fault) => Ok(Err(fault)),
    }
}

fn parse_lines(heap: &mut Heap, args: &mut [Value]) -> Res {
    let keys = options(heap, args)?.keys;
    let Some(text) = args[0].as_str() else { return Ok(Value::Nil) };
    let mut items = Vec::new();
    for line in json::lines(text) {
        items.push(read(heap, line, keys)?.unwrap_or(Value::Nil));
        heap.reserve_values(1)?;
    }
    Ok(Value::vector(items))
}

fn parse(heap: &mut Heap, args: &mut [Value]) -> Res {
    let keys = options(heap, args)?.keys;
    let text = match &args[0] {
        Value::Nil => return Ok(Value::Nil),
        Value::Str(text) => text.as_str(),
        // Answers of tools that are JSON text have been read already, which a program need not know.
        Value::Bool(_) | Value::Int(_) | Value::Big(_) | Value::Float(_) | Value::Decimal(_) => {
            return Ok(args::take(args, 0));
        }
        other if Parts::of(other).is_some() => return Ok(args::take(args, 0)),
        _ => return args::fail(args, 0, "JSON text"),
    };
    read(heap, text, keys)?.map_err(|fault| fault.error(text).into())
}

fn generate_string(heap: &mut Heap, args: &mut [Value]) -> Res {
    write(heap, args, true)
}

fn write_str(heap: &mut Heap, args: &mut [Value]) -> Res {
    write(heap, args, false)
}

fn write(heap: &mut Heap, args: &[Value], sorted: bool) -> Res {
    let pretty = options(heap, args)?.pretty;
    heap.realised(&args[0])?;
    const PER_UNIT: usize = 4;
    let limit = heap.most_text(PER_UNIT);
    let options = WriteOptions { sorted, pretty, limit, fuel: heap.fuel_left() };
    match json::write(&args[0], &heap.names, &options) {
        Ok((text, work)) => {
            heap.work(1 + text.len() / PER_UNIT + work)?;
            heap.reserve(text.len())?;
            Ok(Value::string(text))
        }
        Err(Unwritable::TooLong(work)) => {
            heap.spend(ledger::take())?;
            heap.work((1 + limit / PER_UNIT).saturating_add(work))?;
            Err(heap.text_too_long(limit))
        }
        Err(Unwritable::TooDeep(found)) => Err(found.error("what JSON is to hold").into()),
        Err(Unwritable::Value { path, what }) => {
            Err(unwritable(&what, &path).hint("turn it into text first: (str x)").into())
        }
        Err(Unwritable::SameKey { path, keys }) => Err(unwritable(&keys, &path).hint(SameKey::HINT).into()),
    }
}

fn unwritable(what: &dyn std::fmt::Display, path: &str) -> Error {
    let place = if path.is_empty() { String::new() } else { format!(" (at x{path})") };
    Error::new(ErrorKind::Type, format!("JSON cannot hold {what}{place}"))
}

#[cfg(test)]
mod tests {
    use crate::builtins::trial::check;

    #[test]
    fn reading() {
        check(&[
            (r#"(json/parse-string "{\"a\":1,\"b\":[true,null]}")"#, r#"{"a" 1, "b" [true nil]}"#),
            (
                r#"[(json/parse-string nil) (json/parse-string "null") (json/parse-string "1")]"#,
                "[nil nil 1]",
            ),
            (
                r#"[(json/parse-string 5) (json/parse-string {"a" 1}) (json/read-str [true])]"#,
                r#"[5 {"a" 1} [true]]"#,
            ),
            (r#"(json/parse-string inc)"#, "error: type_error"),
            (r#"(json/parse-string "1 2")"#, "error: format_error"),
            (r#"(json/parse-string "")"#, "error: format_error"),
            (r#"(try (json/parse-string "{'a': 1}") (catch Exception e :caught))"#, ":caught"),
            (r#"(json/parse-string "{\"a\":1,\"a\":2}")"#, r#"{"a" 2}"#),
            (r#"(json/read-str "{\"a\":1,\"a\":2}" :key-fn keyword)"#, "{:a 2}"),
            (r#"(json/parse-string "{\"a\":1}" keyword)"#, "{:a 1}"),
            (r#"(json/parse-string "{\"a\":1}" str)"#, r#"{"a" 1}"#),
            (r#"(json/parse-string "{}" count)"#, "error: illegal_argument"),
            (r#"(json/read-str "{}" :value-fn count)"#, "error: illegal_argument"),
            (r#"(json/read-str "{")"#, "error: format_error"),
            (r#"(cheshire.core/parse-string "[1,")"#, "error: format_error"),
            (
                r#"[(json/parse-lines "1\n2") (json/parse-lines "") (json/parse-lines "x\r\n1") (json/parse-lines nil)]"#,
                "[[1 2] [] [nil 1] nil]",
            ),
        ]);
    }

    #[test]
    fn writing() {
        check(&[
            (
                r#"(json/generate-string {"b" 1 "a" [1 2.0 {"c" nil}]})"#,
                r#""{\"a\":[1,2.0,{\"c\":null}],\"b\":1}""#,
            ),
            (r#"(json/generate-string "a\"b\n\u0001é")"#, r#""\"a\\\"b\\n\\u0001é\"""#),
            (
                r#"[(json/generate-string {1 2}) (json/generate-string {:n/a 1}) (json/generate-string 1e20)]"#,
                r#"["{\"1\":2}" "{\"n/a\":1}" "1.0e20"]"#,
            ),
            (r#"(json/generate-string 12345678901234567890)"#, r#""12345678901234567890""#),
            (
                r#"[(json/generate-string {:status :ok}) (json/generate-string {:s #{1}}) (json/generate-string ['a])]"#,
                r#"["{\"status\":\"ok\"}" "{\"s\":[1]}" "[\"a\"]"]"#,
            ),
            (
                r#"(json/generate-string {(LocalDate/parse "2025-01-01") 1, true 2, nil 3, 1.5 4})"#,
                r#""{\"1.5\":4,\"2025-01-01\":1,\"nil\":3,\"true\":2}""#,
            ),
            (
                r#"(json/generate-string {:at #inst "2025-01-01T10:00:00.250Z" #inst "2025-01-02" (Instant/EPOCH)})"#,
                r#""{\"2025-01-02T00:00:00Z\":\"1970-01-01T00:00:00Z\",\"at\":\"2025-01-01T10:00:00.250Z\"}""#,
            ),
            (r#"(json/generate-string ##Inf)"#, "error: type_error"),
            (r#"(json/generate-string {:a 1 "a" 2})"#, "error: type_error"),
            (r#"(json/write-str {1 :x "1" :y})"#, "error: type_error"),
            (
                r#"(json/write-str (sorted-map-by (fn [a b] (compare (str a) (str b))) :b 1 "b" 2))"#,
                "error: type_error",
            ),
            (
                r#"(json/generate-string {:a [] :b {} :c [1 {:d 2}]} {:pretty true})"#,
                r#""{\n  \"a\": [],\n  \"b\": {},\n  \"c\": [\n    1,\n    {\n      \"d\": 2\n    }\n  ]\n}""#,
            ),
            (
                r#"(json/write-str {:b :c 'd #{1} [1] 2.5 nil nil})"#,
                r#""{\"b\":\"c\",\"d\":[1],\"[1]\":2.5,\"nil\":null}""#,
            ),
            (r#"(json/write-str count)"#, "error: type_error"),
        ]);
    }

    #[test]
    fn errors_name_the_path() {
        let cases = [
            (r#"(json/generate-string {"a" [1 {"b" inc}]})"#, "JSON cannot hold a function (at x.a[1].b)"),
            (
                r#"(json/write-str {:m {1 :x "1" :y}})"#,
                "JSON cannot hold a map with two keys that are one in JSON, 1 and \"1\" (at x.m)",
            ),
            (
                r#"(json/write-str {:m {(java.time.LocalDate/parse "2025-01-01") 1 "2025-01-01" 2}})"#,
                "JSON cannot hold a map with two keys that are one in JSON, \"2025-01-01\" (LocalDate) and \"2025-01-01\" \
                 (string) (at x.m)",
            ),
            (r#"(json/parse-string "[1,\n 2,]")"#, "bad JSON at line 2, column 4: expected a value"),
        ];
        for (source, message) in cases {
            let error = crate::builtins::trial::eval(source).expect_err("refused");
            assert_eq!(error.message, message, "{source}");
        }
    }
}
