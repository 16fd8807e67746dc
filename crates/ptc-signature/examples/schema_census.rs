//! Reads every schema of an OpenAPI document, and checks that values valid under each schema are valid under
//! the type read from it.
//!
//! `cargo run --release -p ptc-signature --example schema_census -- path/to/openapi.json`
#![allow(clippy::print_stdout, clippy::disallowed_methods)]

#[path = "../tests/common/json_schema.rs"]
mod json_schema;

use std::collections::BTreeMap;

use json_schema::{Dice, Document};
use ptc_signature::{Mode, SchemaReader, Signature};
use serde_json::Value;

/// Every schema in the document, with the path to it: component schemas, and whatever stands under a `schema` key.
fn schemas<'d>(value: &'d Value, path: &str, found: &mut Vec<(String, &'d Value)>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                let here = format!("{path}/{key}");
                if key == "schema" || path == "/components/schemas" {
                    found.push((here.clone(), inner));
                } else {
                    schemas(inner, &here, found);
                }
            }
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, inner)| schemas(inner, &format!("{path}/{i}"), found))
        }
        _ => {}
    }
}

fn main() {
    let path = std::env::args().nth(1).expect("path of an OpenAPI document");
    let text = std::fs::read_to_string(&path).expect("a readable file");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let mut found = Vec::new();
    schemas(&document, "", &mut found);
    let checker = Document(&document);
    let (mut exact, mut values, mut checked) = (0, 0, 0);
    let mut notes: BTreeMap<String, usize> = BTreeMap::new();
    for (index, (place, schema)) in found.iter().enumerate() {
        let read = SchemaReader::lenient(&document).ty(schema).expect("lenient reading does not fail");
        let shown = Signature::returning(read.value.clone()).to_string();
        let again = Signature::parse(&shown).unwrap_or_else(|error| panic!("{place}: {error}"));
        assert_eq!(again.to_string(), shown, "{place}");
        exact += usize::from(read.notes.is_empty());
        for note in &read.notes {
            let kind: String =
                note.message.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).collect();
            *notes.entry(kind).or_default() += 1;
        }
        for seed in 0..8 {
            let value = checker.make(schema, &mut Dice::new(index as u64 * 8 + seed), 0);
            values += 1;
            if checker.accepts(schema, &value) {
                checked += 1;
                let outcome = read.value.validate(&value, Mode::Enabled);
                outcome.unwrap_or_else(|error| panic!("{place}\n{value}\n{error}\n{shown}"));
            }
        }
    }
    println!(
        "{} schemas, {exact} read exactly; {values} values made, {checked} valid, all of those fit",
        found.len()
    );
    let mut common: Vec<_> = notes.into_iter().collect();
    common.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for (note, count) in common.iter().take(12) {
        println!("{count:>7}  {note}");
    }
}
