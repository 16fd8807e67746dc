//! How a hidden collection begins wherever a program may show it: in feedback, in what it prints, in JSON. A collection
//! is known again by its first characters; how much of it is shown behind them does not matter.

use serde_json::Value as Json;

use super::FIREWALLED;
use super::clojure::quoted;

/// Shorter beginnings would cover what is not hidden.
const SHORTEST: usize = 8;
/// So many characters tell one collection from another.
const LONGEST: usize = 32;

/// A way to write values.
struct Spelling {
    /// Between the entries of a map.
    entries: &'static str,
    /// Between the items of a list.
    items: &'static str,
    /// As JSON.
    json: bool,
    /// With the keys of maps in order.
    sorted: bool,
    /// Whether strings stand in quotes.
    quotes: bool,
    /// Strings of so many characters are covered before the value is written.
    covered_from: usize,
}

/// As feedback shows values.
const SHOWN: Spelling =
    Spelling { entries: " ", items: " ", json: false, sorted: false, quotes: true, covered_from: usize::MAX };

const SPELLINGS: [Spelling; 6] = [
    // Before and after strings are covered.
    SHOWN,
    Spelling { covered_from: super::veil::SHORTEST, ..SHOWN },
    // `println`, then `prn` and `str`.
    Spelling { entries: ", ", quotes: false, ..SHOWN },
    Spelling { entries: ", ", ..SHOWN },
    Spelling { entries: ",", items: ",", json: true, sorted: true, ..SHOWN },
    // As samples of definitions have it.
    Spelling { sorted: true, ..SHOWN },
];

/// What may stand behind the opening bracket of a collection; nothing of one that could be anybody's.
pub(super) fn beginnings(json: &Json) -> impl Iterator<Item = String> {
    openings(json).map(|text| text.chars().take(LONGEST).collect())
}

/// The same with some more of it, at least four times as many bytes where there are as many.
pub(super) fn openings(json: &Json) -> impl Iterator<Item = String> {
    let spellings: &[Spelling] = if json.is_array() || json.is_object() { &SPELLINGS } else { &[] };
    spellings.iter().filter_map(move |spelling| {
        let mut out = String::new();
        spelling.parts(json, &mut out);
        out.chars().nth(SHORTEST - 1).is_some().then_some(out)
    })
}

impl Spelling {
    /// The parts of a collection. It ends as soon as there is enough, so it goes no deeper than that.
    fn parts(&self, json: &Json, out: &mut String) {
        match json {
            Json::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    if out.len() > LONGEST * 4 {
                        return;
                    }
                    out.push_str(if at > 0 { self.items } else { "" });
                    self.value(item, out);
                }
            }
            Json::Object(fields) => {
                let mut fields: Vec<(&String, &Json)> = fields.iter().collect();
                if self.sorted {
                    fields.sort_unstable_by_key(|(key, _)| *key);
                }
                for (at, (key, value)) in fields.into_iter().enumerate() {
                    if out.len() > LONGEST * 4 {
                        return;
                    }
                    out.push_str(if at > 0 { self.entries } else { "" });
                    match self.json {
                        true => out.push_str(&format!("{}:", Json::from(key.as_str()))),
                        false => out.push_str(&format!(":{key} ")),
                    }
                    self.value(value, out);
                }
            }
            _ => {}
        }
    }

    fn value(&self, json: &Json, out: &mut String) {
        match json {
            Json::Null if !self.json => out.push_str("nil"),
            Json::String(text) => {
                // More than is looked at need not be copied.
                let end = text.char_indices().nth(LONGEST).map_or(text.len(), |(at, _)| at);
                let hidden = text.chars().nth(self.covered_from.saturating_sub(1)).is_some();
                let text = if hidden { FIREWALLED } else { &text[..end] };
                match (self.quotes, self.json) {
                    (false, _) => out.push_str(text),
                    (true, true) => out.push_str(&Json::from(text).to_string()),
                    (true, false) => out.push_str(&quoted(text)),
                }
            }
            Json::Array(_) => self.within(json, ['[', ']'], out),
            Json::Object(_) => self.within(json, ['{', '}'], out),
            other => out.push_str(&other.to_string()),
        }
    }

    fn within(&self, json: &Json, [open, close]: [char; 2], out: &mut String) {
        out.push(open);
        // Each level has added a bracket, so that deep ones end here.
        if out.len() <= LONGEST * 4 {
            self.parts(json, out);
        }
        out.push(close);
    }
}

/// How many bytes of a text stand before the bracket that closes what it stands in.
pub(super) fn enclosed(text: &str) -> usize {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '[' | '(' | '{' => depth += 1,
            ']' | ')' | '}' if depth == 0 => return at,
            ']' | ')' | '}' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn collections_begin_as_they_are_shown() {
        let of = |json: Json| beginnings(&json).collect::<Vec<_>>();
        assert_eq!(of(json!([11, 22, 33]))[..1], ["11 22 33"]);
        assert_eq!(of(json!([11, 22, 33]))[4], "11,22,33");
        let row = of(json!({"id": 1, "who": "Yak", "name": "Ann Lee", "tags": ["a", {"b": null}]}));
        assert_eq!(row[1], ":id 1 :who \"Yak\" :name \"<Firewal");
        assert_eq!(row[2], ":id 1, :who Yak, :name Ann Lee, ");
        assert_eq!(row[4], "\"id\":1,\"name\":\"Ann Lee\",\"tags\":[");
        for anybodys in [json!([]), json!([1, 2, 3]), json!({"a": 1})] {
            assert!(of(anybodys).iter().all(|text| text.len() >= SHORTEST));
        }
        let mut deep = json!(1);
        for _ in 0..100 {
            deep = json!([deep]);
        }
        assert!(of(deep).iter().all(|text| text.chars().count() <= LONGEST));
    }

    #[test]
    fn a_collection_ends_with_its_bracket() {
        for (text, covered) in [("1 2] 3", 3), ("1 [2 (3)] \"]\" {4}) x", 17), ("1 \"\\\"]", 6), ("1 2", 3)] {
            assert_eq!(enclosed(text), covered, "{text}");
        }
    }
}
