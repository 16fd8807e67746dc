//! The programs of `conformance/adversarial`: `.clj` files of many programs each, and descriptions of
//! programs too large to keep in `generated.jsonl`.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// A program and how it ends: an error kind, or `value …`.
pub struct Attack {
    pub name: String,
    pub end: String,
    pub source: String,
}

fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/adversarial").join(file);
    fs::read_to_string(path).expect("the corpus is there")
}

/// A file of attacks: fuel and memory as the command takes them, and the programs.
pub struct Attacks {
    pub fuel: String,
    pub memory: String,
    pub programs: Vec<Attack>,
}

/// A `.clj` file. It has a line `;; limits: fuel 2m, memory 8mb`; each program begins with
/// `;; == name => end`.
pub fn attacks(file: &str) -> Attacks {
    let text = read(file);
    let limits = text.lines().find_map(|line| line.strip_prefix(";; limits: fuel "));
    let (fuel, memory) =
        limits.and_then(|limits| limits.split_once(", memory ")).expect("the file says its limits");
    let mut programs: Vec<Attack> = Vec::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix(";; == ") {
            let (name, end) = heading.split_once(" => ").expect("a name and how it ends");
            programs.push(Attack { name: name.to_owned(), end: end.to_owned(), source: String::new() });
        } else if let Some(attack) = programs.last_mut() {
            attack.source.push_str(line);
            attack.source.push('\n');
        }
    }
    Attacks { fuel: fuel.to_owned(), memory: memory.to_owned(), programs }
}

/// The number that is written as `500k`, `2m` or `8mb`.
pub fn amount(text: &str) -> u64 {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "k" => 1_000,
        "m" => 1_000_000,
        "mb" => 1 << 20,
        _ => 1,
    };
    digits.parse::<u64>().expect("a number") * unit
}

/// The programs too large to keep, made from their descriptions one at a time.
pub fn generated() -> impl Iterator<Item = Attack> {
    let rows: Vec<String> = read("generated.jsonl").lines().map(str::to_owned).collect();
    rows.into_iter().map(|row| {
        let row: Value = serde_json::from_str(&row).expect("JSON");
        let (name, end) = (row["name"].as_str().expect("a name"), row["end"].as_str().expect("an end"));
        Attack { name: name.to_owned(), end: end.to_owned(), source: repeated(&row["source"]) }
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
