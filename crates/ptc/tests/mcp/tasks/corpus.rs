//! The files of `conformance/tasks`, and what answers are compared by.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json, json};

/// A question with the program that answers it.
pub struct Task {
    pub id: String,
    pub question: String,
    pub program: String,
    pub inputs: Map<String, Json>,
    /// Whether it calls tools by their own names, which programs of the server do not have.
    pub direct: bool,
    /// The doors at which it is known to miss.
    missing: Vec<String>,
}

impl Task {
    pub fn misses(&self, door: &str) -> bool {
        self.missing.iter().any(|missing| missing == door)
    }
}

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/tasks")
}

pub fn read(name: &str) -> String {
    let path = folder().join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The right answers by task.
pub fn answers() -> BTreeMap<String, Json> {
    let of = |name| -> BTreeMap<String, Json> { serde_json::from_str(&read(name)).unwrap() };
    of("answers.json").into_iter().chain(of("more.json")).collect()
}

/// The tasks of a file.
pub fn tasks(file: &str) -> Vec<Task> {
    let text = read(file);
    text.split("\n;; == ").skip(1).map(task).collect()
}

/// A task: `id question`, lines of facts that begin with `;; `, the program.
fn task(block: &str) -> Task {
    let (head, body) = block.split_once('\n').unwrap();
    let (id, question) = head.split_once(' ').unwrap();
    let is_fact = |line: &&str| line.starts_with(";; ");
    let facts: Vec<&str> = body.lines().take_while(is_fact).collect();
    let program: Vec<&str> = body.lines().skip(facts.len()).collect();
    let program = program.join("\n");
    let mut inputs = Map::new();
    let mut missing = Vec::new();
    for fact in facts {
        match fact.trim_start_matches(";; ").split_once(": ") {
            Some(("data", data)) => {
                let (name, value) = data.split_once(' ').unwrap();
                inputs.insert(name.to_owned(), serde_json::from_str(value).unwrap());
            }
            Some(("miss", miss)) => {
                let (doors, _reason) = miss.split_once(": ").expect("doors and a reason");
                missing.extend(doors.split(", ").map(str::to_owned));
            }
            _ => {}
        }
    }
    for name in names(&program) {
        let file = || serde_json::from_str(&read(&format!("data/{name}.json"))).unwrap();
        inputs.entry(name.clone()).or_insert_with(file);
    }
    let direct = program.contains("(tool/") && !program.contains("(tool/call ");
    Task { id: id.to_owned(), question: question.to_owned(), program, inputs, direct, missing }
}

/// The inputs that a program reads.
fn names(program: &str) -> Vec<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let after = program.split("data/").skip(1);
    after.map(|rest| rest.chars().take_while(|c| is_name(*c)).collect()).collect()
}

/// Whether an answer is the expected one. Floats may differ by what adding in another order changes.
pub fn same(expected: &Json, got: &Json) -> bool {
    match (expected, got) {
        (Json::Number(a), Json::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => a == b,
            _ => {
                let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
                (a - b).abs() <= 1e-12 * a.abs().max(b.abs())
            }
        },
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => expected == got,
    }
}

/// The narrowest schema that an answer fits.
pub fn schema(answer: &Json) -> Json {
    match answer {
        Json::Null => json!({}),
        Json::Bool(_) => json!({"type": "boolean"}),
        Json::Number(n) if n.is_f64() => json!({"type": "number"}),
        Json::Number(_) => json!({"type": "integer"}),
        Json::String(_) => json!({"type": "string"}),
        Json::Array(items) => {
            let items = items.iter().map(schema).reduce(|a, b| either(&a, &b));
            json!({"type": "array", "items": items.unwrap_or(json!({}))})
        }
        Json::Object(fields) => {
            let properties: Map<String, Json> =
                fields.iter().map(|(name, value)| (name.clone(), schema(value))).collect();
            let required: Vec<&String> = fields.keys().collect();
            json!({"type": "object", "required": required, "additionalProperties": false, "properties": properties})
        }
    }
}

/// A schema for what fits one or the other.
fn either(a: &Json, b: &Json) -> Json {
    let numbers = [json!("integer"), json!("number")];
    match (&a["properties"], &b["properties"]) {
        _ if a == b => a.clone(),
        (Json::Object(left), Json::Object(right)) if left.keys().eq(right.keys()) => {
            let both = left.iter().map(|(name, a)| (name.clone(), either(a, &right[name])));
            let mut schema = a.clone();
            schema["properties"] = Json::Object(both.collect());
            schema
        }
        _ if numbers.contains(&a["type"]) && numbers.contains(&b["type"]) => json!({"type": "number"}),
        _ => json!({}),
    }
}
