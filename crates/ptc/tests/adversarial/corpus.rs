//! The programs of `conformance/adversarial`: `.clj` files of many programs each, and descriptions of
//! programs too large to keep in `generated.jsonl`.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// A program with the ways it may end: error kinds, or `value …`.
pub struct Attack {
    pub name: String,
    pub ends: Vec<String>,
    pub source: String,
}

fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/adversarial").join(file);
    fs::read_to_string(path).expect("the corpus is there")
}

fn split(ends: &str) -> Vec<String> {
    ends.split(" or ").map(str::to_owned).collect()
}

/// The fuel and the programs of a `.clj` file. It has a line `;; fuel: amount`; each program begins with
/// `;; == name => end or end`.
pub fn attacks(file: &str) -> (String, Vec<Attack>) {
    let text = read(file);
    let fuel = text.lines().find_map(|line| line.strip_prefix(";; fuel: ")).expect("the file says its fuel");
    let mut attacks: Vec<Attack> = Vec::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix(";; == ") {
            let (name, ends) = heading.split_once(" => ").expect("a name and how it ends");
            attacks.push(Attack { name: name.to_owned(), ends: split(ends), source: String::new() });
        } else if let Some(attack) = attacks.last_mut() {
            attack.source.push_str(line);
            attack.source.push('\n');
        }
    }
    (fuel.to_owned(), attacks)
}

/// The programs too large to keep, made from their descriptions one at a time.
pub fn generated() -> impl Iterator<Item = Attack> {
    let rows: Vec<String> = read("generated.jsonl").lines().map(str::to_owned).collect();
    rows.into_iter().map(|row| {
        let row: Value = serde_json::from_str(&row).expect("JSON");
        let (name, ends) = (row["name"].as_str().expect("a name"), row["ends"].as_str().expect("an end"));
        Attack { name: name.to_owned(), ends: split(ends), source: repeated(&row["source"]) }
    })
}

/// A source made of texts, each repeated: `{i}` in a text is the number of the repetition.
fn repeated(parts: &Value) -> String {
    let mut source = String::new();
    for part in parts.as_array().expect("parts") {
        let text = part[0].as_str().expect("a text");
        for number in 0..part[1].as_u64().expect("a count") {
            match text.contains("{i}") {
                true => source.push_str(&text.replace("{i}", &number.to_string())),
                false => source.push_str(text),
            }
        }
    }
    source
}
