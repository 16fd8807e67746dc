//! Names of arguments as a program writes them: keywords, which stand for names with hyphens and with underscores alike, and
//! texts where a keyword cannot say which one is meant.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json};

/// How many names of a schema are compared.
const NAMES: usize = 2_000;
/// How deep they stand.
const DEPTH: usize = 32;

/// How the names of one schema are written.
#[derive(Debug, Default)]
pub struct Keys {
    /// Names with hyphens that keywords can say: they are declared, and the same with underscores is not.
    hyphened: BTreeSet<String>,
}

impl Keys {
    /// Those of a schema.
    pub fn of(schema: &Map<String, Json>) -> Keys {
        let mut names = BTreeSet::new();
        collect(schema, &mut names, 0);
        let mut alike: BTreeMap<String, usize> = BTreeMap::new();
        names.iter().for_each(|name| *alike.entry(name.replace('-', "_")).or_default() += 1);
        let is_single = |name: &&&str| name.contains('-') && alike.get(&name.replace('-', "_")) == Some(&1);
        let hyphened = names.iter().filter(is_single).map(|name| (*name).to_owned()).collect();
        Keys { hyphened }
    }

    /// A name as a program writes it in a map.
    pub fn key(&self, name: &str) -> String {
        let is_exact = name.contains('-') && !self.hyphened.contains(name);
        if is_exact { Json::from(name).to_string() } else { key(name) }
    }
}

/// The names that any object in a schema declares.
fn collect<'s>(schema: &'s Map<String, Json>, names: &mut BTreeSet<&'s str>, depth: usize) {
    if depth >= DEPTH {
        return;
    }
    for (word, inside) in schema {
        match inside {
            Json::Object(fields) => {
                if word == "properties" {
                    let room = NAMES.saturating_sub(names.len());
                    names.extend(fields.keys().take(room).map(String::as_str));
                }
                collect(fields, names, depth + 1);
            }
            Json::Array(items) => {
                let objects = items.iter().filter_map(Json::as_object);
                objects.for_each(|fields| collect(fields, names, depth + 1));
            }
            _ => {}
        }
    }
}

/// A name as a program writes it in a map, where no other is like it.
pub fn key(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '?' | '!' | '*' | '.');
    let letter = |c: char| c.is_alphabetic() || c == '_';
    match name.starts_with(letter) && name.chars().all(plain) {
        true => format!(":{name}"),
        false => Json::from(name).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_that_a_keyword_would_mix_up_are_texts() {
        let schema = json!({"properties": {"page-size": {}, "page_size": {}, "dry-run": {}, "a b": {}, "at": {
            "properties": {"x-y": {}, "x_y": {}}}}});
        let keys = Keys::of(schema.as_object().expect("an object"));
        for (name, written) in [
            ("page-size", "\"page-size\""),
            ("page_size", ":page_size"),
            ("dry-run", ":dry-run"),
            ("a b", "\"a b\""),
            ("x-y", "\"x-y\""),
            // One that the schema leaves open: a keyword would be sent with an underscore.
            ("x-own", "\"x-own\""),
        ] {
            assert_eq!(keys.key(name), written);
        }
    }
}
