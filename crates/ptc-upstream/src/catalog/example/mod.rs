//! A value that fits a schema, so that a call can be copied and edited. Schemas come from outside, so every walk has a
//! bound; where it is reached, a value is left out or empty.

use regex_syntax::hir::{Class, Hir, HirKind};
use serde_json::{Map, Value as Json, json};

use super::types::Root;

/// How deep examples nest.
const DEPTH: usize = 8;
/// How many values an example has at most.
const VALUES: usize = 200;
/// The longest text that a schema can ask for.
const LONGEST: usize = 400;
/// What stands for a text of which nothing is known.
const ANY_TEXT: &str = "...";

/// Texts of the formats that schemas name.
const FORMATS: &[(&str, &str)] = &[
    ("date", "2026-01-31"),
    ("date-time", "2026-01-31T12:00:00Z"),
    ("time", "12:00:00Z"),
    ("duration", "P1D"),
    ("email", "someone@example.com"),
    ("hostname", "example.com"),
    ("ipv4", "192.0.2.1"),
    ("ipv6", "2001:db8::1"),
    ("uri", "https://example.com"),
    ("url", "https://example.com"),
    ("uuid", "00000000-0000-4000-8000-000000000000"),
];

/// Arguments for a tool: those that it requires.
pub fn arguments(schema: &Map<String, Json>) -> Map<String, Json> {
    let mut making = Making { root: Root(schema), left: VALUES };
    making.object(schema, 0)
}

struct Making<'s> {
    root: Root<'s>,
    left: usize,
}

impl<'s> Making<'s> {
    /// A value that fits; nothing is known of what is no schema.
    fn value(&mut self, schema: &'s Json, depth: usize) -> Json {
        let Some(fields) = self.root.resolve(schema).filter(|_| depth < DEPTH && self.left > 0) else {
            return Json::String(ANY_TEXT.to_owned());
        };
        self.left -= 1;
        if let Some(given) = given(fields) {
            return given;
        }
        match kind(fields) {
            Some("object") => Json::Object(self.object(fields, depth)),
            Some("array") => Json::Array(self.array(fields, depth)),
            Some("string") => Json::String(text(fields)),
            Some(kind @ ("integer" | "number")) => number(fields, kind == "integer"),
            Some("boolean") => Json::Bool(true),
            Some("null") => Json::Null,
            _ => self.choice(fields, depth),
        }
    }

    /// The first way that is not `null`, or all that must fit together.
    fn choice(&mut self, fields: &'s Map<String, Json>, depth: usize) -> Json {
        let lists = ["oneOf", "anyOf"].iter().filter_map(|key| fields.get(*key)?.as_array());
        let mut ways = lists.flatten();
        let is_null = |way: &&Json| way.get("type").and_then(Json::as_str) == Some("null");
        if let Some(way) = ways.find(|way| !is_null(way)) {
            return self.value(way, depth + 1);
        }
        let mut parts = fields.get("allOf").and_then(Json::as_array).into_iter().flatten().take(VALUES);
        let Some(first) = parts.next() else { return Json::String(ANY_TEXT.to_owned()) };
        let mut whole = self.value(first, depth + 1);
        for part in parts {
            if let (Json::Object(whole), Json::Object(more)) = (&mut whole, self.value(part, depth + 1)) {
                whole.extend(more);
            }
        }
        whole
    }

    fn object(&mut self, fields: &'s Map<String, Json>, depth: usize) -> Map<String, Json> {
        let mut made = Map::new();
        let properties = fields.get("properties").and_then(Json::as_object);
        let required = fields.get("required").and_then(Json::as_array).into_iter().flatten();
        for name in required.filter_map(Json::as_str).take(VALUES) {
            let value = match properties.and_then(|properties| properties.get(name)) {
                Some(schema) => self.value(schema, depth + 1),
                None => Json::String(ANY_TEXT.to_owned()),
            };
            made.insert(name.to_owned(), value);
        }
        let wanted = whole(fields, "minProperties").unwrap_or(0).min(VALUES);
        for (name, schema) in properties.into_iter().flatten() {
            if made.len() >= wanted {
                break;
            }
            if !made.contains_key(name) {
                made.insert(name.clone(), self.value(schema, depth + 1));
            }
        }
        for part in fields.get("allOf").and_then(Json::as_array).into_iter().flatten().take(VALUES) {
            if let Json::Object(more) = self.value(part, depth + 1) {
                made.extend(more);
            }
        }
        made
    }

    fn array(&mut self, fields: &'s Map<String, Json>, depth: usize) -> Vec<Json> {
        let first = fields.get("prefixItems").and_then(Json::as_array).into_iter().flatten();
        let mut made: Vec<Json> = first.take(VALUES).map(|schema| self.value(schema, depth + 1)).collect();
        let items = fields.get("items").filter(|items| items.is_object());
        // One item shows what they look like.
        let wanted = whole(fields, "minItems").unwrap_or(usize::from(items.is_some()));
        let most = whole(fields, "maxItems").unwrap_or(usize::MAX);
        while made.len() < wanted.min(most) && self.left > 0 {
            let item =
                items.map_or_else(|| Json::String(ANY_TEXT.to_owned()), |items| self.value(items, depth + 1));
            self.left = self.left.saturating_sub(1);
            let item = if made.contains(&item) { another(&item, made.len()) } else { item };
            made.push(item);
        }
        made
    }
}

/// What the schema itself gives.
fn given(fields: &Map<String, Json>) -> Option<Json> {
    if let Some(value) = fields.get("const") {
        return Some(value.clone());
    }
    let allowed = fields.get("enum").and_then(Json::as_array);
    let default =
        fields.get("default").filter(|default| allowed.is_none_or(|allowed| allowed.contains(default)));
    let fits = |value: &&Json| kind(fields).is_none_or(|kind| is_of(value, kind));
    default
        .filter(fits)
        .filter(|value| is_short(value))
        .or_else(|| allowed?.iter().find(|value| !value.is_null()))
        .cloned()
}

fn is_short(value: &Json) -> bool {
    crate::ledger::json_bytes(value) <= LONGEST
}

/// The type that a schema names first, or that its keys imply.
fn kind(fields: &Map<String, Json>) -> Option<&str> {
    match fields.get("type") {
        Some(Json::String(kind)) => Some(kind),
        Some(Json::Array(kinds)) => {
            kinds.iter().filter_map(Json::as_str).find(|kind| *kind != "null").or(Some("null"))
        }
        _ if fields.contains_key("properties") => Some("object"),
        _ if fields.contains_key("items") => Some("array"),
        _ => None,
    }
}

fn is_of(value: &Json, kind: &str) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        _ => value.is_null(),
    }
}

fn whole(fields: &Map<String, Json>, key: &str) -> Option<usize> {
    fields.get(key)?.as_u64().map(|number| usize::try_from(number).unwrap_or(usize::MAX))
}

fn text(fields: &Map<String, Json>) -> String {
    let word = |key: &str| fields.get(key).and_then(Json::as_str);
    if let Some((_, text)) = FORMATS.iter().find(|(format, _)| word("format") == Some(format)) {
        return (*text).to_owned();
    }
    let mut made = word("pattern").and_then(matching).unwrap_or_else(|| ANY_TEXT.to_owned());
    let least = whole(fields, "minLength").unwrap_or(0).min(LONGEST);
    let missing = least.saturating_sub(made.chars().count());
    // A text that fits a pattern mostly goes on as it ends.
    let last = made.chars().last().unwrap_or('.');
    made.extend(std::iter::repeat_n(last, missing));
    let most = whole(fields, "maxLength").unwrap_or(usize::MAX);
    if let Some((cut, _)) = made.char_indices().nth(most) {
        made.truncate(cut);
    }
    made
}

/// The shortest text that a pattern matches, more or less.
fn matching(pattern: &str) -> Option<String> {
    let hir = regex_syntax::parse(pattern).ok()?;
    let mut text = String::new();
    write(&hir, &mut text, 0);
    (!text.is_empty()).then_some(text)
}

fn write(hir: &Hir, text: &mut String, depth: usize) {
    if depth > 64 || text.len() > LONGEST {
        return;
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(class) => text.extend(member(class)),
        HirKind::Repetition(repeated) => {
            // What may be left out is shown once, unless that leads too far.
            let times = repeated.min.max(u32::from(repeated.max != Some(0) && depth < 8));
            (0..times.min(LONGEST as u32)).for_each(|_| write(&repeated.sub, text, depth + 1));
        }
        HirKind::Capture(group) => write(&group.sub, text, depth + 1),
        HirKind::Concat(parts) => parts.iter().for_each(|part| write(part, text, depth + 1)),
        HirKind::Alternation(ways) => ways.iter().take(1).for_each(|way| write(way, text, depth + 1)),
    }
}

/// A character of a class, one that people can read if there is one.
fn member(class: &Class) -> Option<char> {
    let holds = |wanted: char| match class {
        Class::Unicode(class) => {
            class.ranges().iter().any(|range| (range.start()..=range.end()).contains(&wanted))
        }
        Class::Bytes(class) => {
            class.ranges().iter().any(|range| (range.start()..=range.end()).contains(&(wanted as u8)))
        }
    };
    let readable = ('a'..='z').chain('0'..='9').chain('A'..='Z');
    readable.into_iter().find(|c| holds(*c)).or_else(|| match class {
        Class::Unicode(class) => class.ranges().first().map(|range| range.start()),
        Class::Bytes(class) => class.ranges().first().map(|range| char::from(range.start())),
    })
}

fn number(fields: &Map<String, Json>, is_integer: bool) -> Json {
    let bound = |key: &str| fields.get(key).and_then(Json::as_f64);
    let above = bound("exclusiveMinimum").map(|least| if is_integer { least.floor() + 1.0 } else { least });
    let least = [bound("minimum"), above].into_iter().flatten().fold(f64::NEG_INFINITY, f64::max);
    let below = bound("exclusiveMaximum").map(|most| if is_integer { most.ceil() - 1.0 } else { most });
    let most = [bound("maximum"), below].into_iter().flatten().fold(f64::INFINITY, f64::min);
    let mut value = 0.0_f64.clamp(least.min(most), most.max(least));
    let is_open =
        |value: f64| bound("exclusiveMinimum") == Some(value) || bound("exclusiveMaximum") == Some(value);
    if !is_integer && is_open(value) {
        value = match (least.is_finite(), most.is_finite()) {
            (true, true) => f64::midpoint(least, most),
            (true, false) => least + 1.0,
            _ => most - 1.0,
        };
    }
    if let Some(step) = bound("multipleOf").filter(|step| *step > 0.0) {
        value = (value / step).ceil() * step;
    }
    match is_integer {
        true => json!(value.ceil() as i64),
        false => json!(value),
    }
}

/// Another value of the same kind, where one may not stand twice.
fn another(value: &Json, number: usize) -> Json {
    match value {
        Json::String(text) => json!(format!("{text}{number}")),
        Json::Number(given) if given.is_i64() => {
            json!(given.as_i64().unwrap_or_default().saturating_add(number as i64))
        }
        Json::Number(given) => json!(given.as_f64().unwrap_or_default() + number as f64),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fit_their_schemas() {
        for (schema, expected) in [
            (json!({"type": "string"}), json!("...")),
            (json!({"type": "string", "minLength": 5}), json!(".....")),
            (json!({"type": "string", "maxLength": 2}), json!("..")),
            (json!({"type": "string", "format": "date"}), json!("2026-01-31")),
            (json!({"type": "string", "pattern": "^[A-Z]{3}-\\d{2,}$"}), json!("AAA-00")),
            (json!({"type": "string", "pattern": "^(sha256|md5):[0-9a-f]+$"}), json!("sha256:a")),
            (json!({"type": "string", "enum": ["a", "b"]}), json!("a")),
            (json!({"enum": [null, "a"]}), json!("a")),
            (json!({"type": "string", "enum": ["a", "b"], "default": "b"}), json!("b")),
            (json!({"type": "integer", "default": "b"}), json!(0)),
            (json!({"const": null}), json!(null)),
            (json!({"type": ["null", "integer"]}), json!(0)),
            (json!({"type": "integer", "minimum": 1}), json!(1)),
            (json!({"type": "integer", "exclusiveMinimum": 1, "maximum": 100}), json!(2)),
            (json!({"type": "integer", "maximum": -3}), json!(-3)),
            (json!({"type": "integer", "minimum": 7, "multipleOf": 5}), json!(10)),
            (json!({"type": "number"}), json!(0.0)),
            (json!({"type": "number", "exclusiveMinimum": 0, "maximum": 1}), json!(0.5)),
            (json!({"type": "boolean"}), json!(true)),
            (json!({"type": "array"}), json!([])),
            (json!({"type": "array", "items": {"type": "integer"}}), json!([0])),
            (json!({"type": "array", "items": {"type": "integer"}, "minItems": 3}), json!([0, 1, 2])),
            (json!({"type": "array", "items": {"type": "integer"}, "maxItems": 0}), json!([])),
            (
                json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}),
                json!(["...", 0]),
            ),
            (json!({"anyOf": [{"type": "null"}, {"type": "boolean"}]}), json!(true)),
            (
                json!({"allOf": [{"properties": {"a": {"type": "integer"}}, "required": ["a"]},
                                 {"properties": {"b": {"type": "string"}}, "required": ["b"]}]}),
                json!({"a": 0, "b": "..."}),
            ),
            (
                json!({"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "integer"}},
                       "required": ["b"]}, "c": {"type": "string"}}, "required": ["a"]}),
                json!({"a": {"b": 0}}),
            ),
            (
                json!({"type": "object", "properties": {"a": {}, "b": {}}, "minProperties": 1}),
                json!({"a": "..."}),
            ),
        ] {
            let arguments = arguments(
                json!({"properties": {"x": schema}, "required": ["x"]}).as_object().expect("an object"),
            );
            assert_eq!(arguments["x"], expected, "{schema}");
        }
    }

    #[test]
    fn schemas_that_contain_themselves_end() {
        let tree = json!({"properties": {"kids": {"type": "array", "items": {"$ref": "#"}}, "next": {"$ref": "#"}},
                          "required": ["kids", "next"]});
        let made = arguments(tree.as_object().expect("an object"));
        assert!(crate::ledger::json_bytes(&Json::Object(made)) < 10_000);
        let wide = json!({"properties": {"x": {"type": "array", "items": {"type": "array", "items": {"type": "string"},
                          "minItems": 1_000_000_000}, "minItems": 1_000_000_000}}, "required": ["x"]});
        let made = arguments(wide.as_object().expect("an object"));
        assert!(crate::ledger::json_bytes(&Json::Object(made)) < 10_000);
    }
}
