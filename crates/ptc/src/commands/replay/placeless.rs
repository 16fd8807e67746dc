//! What two recordings were begun from, without what says nothing about the project: where it lies, and what is drawn
//! anew for every run. The same project in two folders is the same.

use std::path::Path;

use serde_json::{Map, Value as Json};

/// The subject of a recording as it is compared with that of another.
pub fn placeless(mut subject: Json) -> Json {
    if let Some(program) = subject.get_mut("program") {
        without_place_of_program(program);
    } else if let Some(project) = Project::of(&subject) {
        without_place_of_mission(&mut subject, &project);
    }
    subject
}

/// A program knows its own file and those of its preludes by the names that somebody gave on a command line.
fn without_place_of_program(program: &mut Json) {
    let parts = program.pointer_mut("/prelude/parts").and_then(Json::as_array_mut);
    for part in parts.into_iter().flatten() {
        each(part, &["origin"], file_name);
    }
    each(program, &["name"], file_name);
    remove(program, &["seed", "clock_ms"]);
}

/// The folder of an agent, as the recording names it.
struct Project {
    /// From the root.
    absolute: String,
    /// From where the command was run.
    near: String,
}

impl Project {
    fn of(subject: &Json) -> Option<Project> {
        let text = |place: &str| subject.pointer(place).and_then(Json::as_str);
        let folder = |file: &str| match Path::new(file).parent().map(Path::display) {
            Some(folder) if !folder.to_string().is_empty() => format!("{folder}/"),
            _ => String::new(),
        };
        let absolute = folder(text("/mission/source/file")?);
        let near = text("/root").map_or_else(String::new, folder);
        Some(Project { absolute, near })
    }

    /// A file, from the folder of the agent.
    fn file(&self, path: &str) -> String {
        let inside = |folder: &str| if folder.is_empty() { None } else { path.strip_prefix(folder) };
        inside(&self.absolute).or_else(|| inside(&self.near)).unwrap_or(path).to_owned()
    }

    /// The name of a model: `script:FILE`, `replay:FILE` and `record:FILE,MODEL` have a file.
    fn model(&self, name: &str) -> String {
        let files = name.split(',').map(|part| match part.split_once(':') {
            Some((kind @ ("script" | "replay" | "record"), file)) => format!("{kind}:{}", self.file(file)),
            _ => part.to_owned(),
        });
        files.collect::<Vec<String>>().join(",")
    }
}

fn without_place_of_mission(subject: &mut Json, project: &Project) {
    let (file, model) = (|path: &str| project.file(path), |name: &str| project.model(name));
    if let Some(mission) = subject.get_mut("mission") {
        each(mission, &["model"], model);
        remove(mission, &["seed"]);
        if let Some(source) = mission.get_mut("source") {
            each(source, &["file"], file);
        }
    }
    each(subject, &["root"], file);
    each(subject, &["model"], model);
    rename(subject, "files", file);
    rename(subject, "models", model);
    remove(subject, &["seed"]);
}

fn file_name(path: &str) -> String {
    Path::new(path).file_name().map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Changes the texts of these fields.
fn each(object: &mut Json, fields: &[&str], change: impl Fn(&str) -> String) {
    for field in fields {
        if let Some(Json::String(text)) = object.get_mut(*field) {
            *text = change(text);
        }
    }
}

/// Changes the keys of a field. They are compared in one order, whichever they had.
fn rename(object: &mut Json, field: &str, change: impl Fn(&str) -> String) {
    if let Some(Json::Object(entries)) = object.get_mut(field) {
        let renamed = std::mem::take(entries).into_iter().map(|(key, value)| (change(&key), value));
        *entries = renamed.collect::<Map<String, Json>>();
        entries.sort_keys();
    }
}

fn remove(object: &mut Json, fields: &[&str]) {
    if let Json::Object(entries) = object {
        fields.iter().for_each(|field| drop(entries.shift_remove(*field)));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A mission whose agent lies in a folder, told from where the command was run.
    fn mission(folder: &str, near: &str, seed: u64) -> Json {
        json!({
            "mission": {"source": {"file": format!("{folder}/agent.toml")},
                        "model": format!("script:{folder}/replies.jsonl"), "inputs": "{}", "seed": seed},
            "files": {format!("{near}agent.toml"): "prompt = 1", format!("{near}lib/crm.clj"): "(ns crm)"},
            "root": format!("{near}agent.toml"),
            "model": format!("record:{near}calls.jsonl,script:{folder}/replies.jsonl"),
            "models": {format!("script:{near}replies.jsonl"): "script"},
            "seed": seed,
        })
    }

    #[test]
    fn a_project_is_the_same_wherever_it_lies() {
        let one = placeless(mission("/home/a/project", "", 1));
        assert_eq!(one, placeless(mission("/srv/project", "project/", 2)));
        assert_eq!(one, placeless(mission("/srv/project", "/srv/project/", 3)));
        assert_eq!(one["model"], "record:calls.jsonl,script:replies.jsonl");
        assert_eq!(one["files"]["lib/crm.clj"], "(ns crm)");
    }

    #[test]
    fn what_is_in_a_project_still_counts() {
        let one = placeless(mission("/a", "", 1));
        for (place, value) in [
            ("/files/agent.toml", json!("prompt = 2")),
            ("/mission/inputs", json!("{\"n\": 1}")),
            ("/mission/source/file", json!("/a/other.toml")),
        ] {
            let mut other = mission("/a", "", 1);
            *other.pointer_mut(place).expect("a place") = value;
            assert_ne!(one, placeless(other), "{place}");
        }
    }

    #[test]
    fn programs_are_compared_by_the_names_of_their_files() {
        let program = |folder: &str, seed: u64| {
            json!({"program": {"name": format!("{folder}sum.clj"), "source": "(+ 1 2)", "seed": seed, "clock_ms": seed,
                               "prelude": {"parts": [{"id": "crm", "origin": format!("{folder}crm.clj")}]}}})
        };
        assert_eq!(placeless(program("", 1)), placeless(program("/srv/x/", 2)));
        let mut other = program("", 1);
        other["program"]["source"] = json!("(+ 1 3)");
        assert_ne!(placeless(program("", 1)), placeless(other));
    }
}
