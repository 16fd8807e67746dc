//! Recordings of real runs, played back.

use std::fs;
use std::path::{Path, PathBuf};

use ptc_trace::recording::{Place, Recording, first_difference};
use serde_json::{Value as Json, json};

use crate::browser::agent;
use crate::support::{err, examples, folder, ptc};

fn out(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The commands that the READMEs of examples show; examples in Rust run by their agents, with the same data.
fn commands(folder: &Path) -> Vec<(String, Vec<String>)> {
    let text = |path: PathBuf| fs::read_to_string(path).expect("a file");
    let mut all = Vec::new();
    for entry in fs::read_dir(examples()).expect("the examples").flatten() {
        let name = entry.file_name().into_string().expect("a name");
        let readme = text(entry.path().join("README.md"));
        let shown = readme.lines().find_map(|line| line.strip_prefix("$ ptc "));
        let command = shown.map_or_else(|| by_file(&name, folder), str::to_owned);
        all.push((name, command.split(' ').map(str::to_owned).collect()));
    }
    assert!(all.len() >= 8, "{all:?}");
    all
}

fn by_file(name: &str, folder: &Path) -> String {
    let (input, file) = match name {
        "compile-once" => ("shipments", "shipments.json"),
        "chat" => ("expenses", "expenses.json"),
        other => panic!("{other}: its README shows no command"),
    };
    let text = fs::read_to_string(examples().join(name).join(file)).expect("a file");
    let data: Json = serde_json::from_str(&text).expect("JSON");
    // Months of shipments: one is enough for one run.
    let data = data.as_object().and_then(|months| months.values().next()).cloned().unwrap_or(data);
    let path = folder.join(file);
    fs::write(&path, data.to_string()).expect("a file");
    format!("run examples/{name}/agent.toml --data {input}=@{}", path.display())
}

#[test]
fn every_example_is_played_back_to_the_byte_a_hundred_times() {
    let root = examples().join("..");
    let folder = folder("replay-examples");
    std::thread::scope(|scope| {
        for (name, command) in commands(&folder) {
            let (root, folder) = (&root, &folder);
            scope.spawn(move || played_back(root, folder, &name, &command));
        }
    });
}

fn played_back(root: &Path, folder: &Path, name: &str, command: &[String]) {
    let file = folder.join(format!("{name}.recording")).display().to_string();
    let args: Vec<&str> = command.iter().map(String::as_str).chain(["-q", "--record", &file]).collect();
    let ran = ptc(root, &args);
    assert!(matches!(ran.status.code(), Some(0 | 1)), "{name}: {}", err(&ran));
    let recording = Recording::read(Path::new(&file)).expect("a recording");
    let expected = recording.calls().count();
    assert!(expected > 0, "{name} makes calls");
    // Elsewhere, where none of its files are.
    let played = ptc(folder, &["replay", &file, "--times", "100"]);
    assert_eq!(played.status.code(), Some(0), "{name}: {}{}", out(&played), err(&played));
    let told = format!("equal, 100 times: {expected} call{}, ", if expected == 1 { "" } else { "s" });
    assert!(out(&played).starts_with(&told), "{name}: {}", out(&played));
    assert!(out(&played).contains("not on record:\n  what tools and models did outside the run"), "{name}");
}

/// Records the report with its parallel calls; its files are gone afterwards.
fn recorded(folder: &Path, name: &str) -> PathBuf {
    let toml = agent(folder, name);
    let file = folder.join(format!("{name}.recording"));
    let args = ["run", &toml.display().to_string(), "-q", "--record", &file.display().to_string()];
    let ran = ptc(folder, &args);
    assert!(ran.status.success(), "{}", err(&ran));
    fs::remove_dir_all(toml.parent().expect("a folder")).expect("removed");
    file
}

/// Changes the answer of a tool on a line of a recording.
fn mutate(lines: &mut [String], at: usize) -> bool {
    let mut line: Json = serde_json::from_str(&lines[at]).expect("a line");
    let given = &mut line["answer"]["entry"]["answer"]["given"];
    let Some(value) = given.get_mut("value") else { return false };
    match value.pointer_mut("/1/amount") {
        Some(amount) => *amount = json!(4_711.5),
        None => *value = json!({"topic": "changed", "facts": 9}),
    }
    lines[at] = line.to_string();
    true
}

#[test]
fn a_result_that_was_changed_is_found_at_exactly_its_call() {
    let folder = folder("replay-mutated");
    let file = recorded(&folder, "report");
    let original = Recording::read(&file).expect("a recording");
    let lines: Vec<String> = fs::read_to_string(&file).expect("text").lines().map(str::to_owned).collect();
    let mut found = 0;
    for at in 0..lines.len() {
        let mut changed = lines.clone();
        if !changed[at].contains("\"answer\"") || !mutate(&mut changed, at) {
            continue;
        }
        found += 1;
        let line: Json = serde_json::from_str(&lines[at]).expect("a line");
        let id = line["answer"]["entry"]["answer"]["id"].as_u64().expect("an id");
        let number = original.calls().find(|call| call.question.id == id).expect("its call").number;
        let other = folder.join("changed.recording");
        fs::write(&other, changed.join("\n") + "\n").expect("a file");
        let played = ptc(&folder, &["replay", "changed.recording"]);
        assert_eq!(played.status.code(), Some(1), "{}", out(&played));
        let told = format!("changed at call {number}, tool sales ");
        assert!(out(&played).starts_with(&told), "{told}: {}", out(&played));
        let difference = first_difference(&original, &Recording::read(&other).expect("a recording"));
        let difference = difference.expect("a difference");
        assert_eq!(
            (difference.place, difference.path.as_str()),
            (Place::Answered(number), "/value/1/amount")
        );
        assert_eq!(difference.right, json!(4_711.5));
        let told = ptc(&folder, &["replay", "report.recording", "--diff", "changed.recording"]);
        assert_eq!(told.status.code(), Some(1));
        let text = out(&told);
        let head = format!("first difference: call {number}, what was answered\n  at /value/1/amount\n  - ");
        assert!(text.starts_with(&head) && text.ends_with("\n  + 4711.5\n"), "{text}");
    }
    assert_eq!(found, 4, "calls of tools");
    let same = ptc(&folder, &["replay", "report.recording", "--diff", "report.recording"]);
    assert_eq!((same.status.code(), out(&same).as_str()), (Some(0), "no difference in 9 calls\n"));
}

#[test]
fn what_a_changed_result_leads_to_is_told_by_value() {
    let folder = folder("replay-effect");
    let file = recorded(&folder, "newsroom");
    let text = fs::read_to_string(&file).expect("text");
    // One more fact from a researcher's search changes what the model is told next.
    let title = r#"{"title":"An atlas"}"#;
    let at = text.find(title).expect("a result");
    let changed = format!("{}{title},{}", &text[..at], &text[at..]);
    fs::write(&file, changed).expect("a file");
    let played = ptc(&folder, &["replay", "newsroom.recording"]);
    assert_eq!(played.status.code(), Some(1));
    let told = out(&played);
    assert!(told.starts_with("changed at call "), "{told}");
    assert!(told.contains("tool search"), "{told}");
    assert!(
        told.contains("differs at call 6, model script, turn 2 (newsroom): it asks for something else"),
        "{told}"
    );
    assert!(told.contains("  at /model/request/messages/"), "{told}");
}

#[test]
fn calls_are_shown_one_after_the_other_and_in_full() {
    let folder = folder("replay-step");
    recorded(&folder, "report");
    let stepped = ptc(&folder, &["replay", "report.recording", "--step"]);
    assert_eq!(stepped.status.code(), Some(0), "{}", err(&stepped));
    let text = out(&stepped);
    assert!(
        text.starts_with("call 1, model script, turn 1 (quarterly-report)\n  I look at one region first"),
        "{text}"
    );
    assert!(
        text.contains("call 2, tool sales {\"region\":\"north\"} (quarterly-report)\n  [{\"month\""),
        "{text}"
    );
    assert!(text.contains("\nequal: 9 calls, 5 turns, "), "{text}");
    let one = ptc(&folder, &["replay", "report.recording", "--at", "call", "2"]);
    assert!(out(&one).contains("\"region\": \"north\"") && out(&one).contains("1200.5"), "{}", out(&one));
    for (at, wanted) in [("99", "there is no call 99; the recording has 9"), ("x", "is no number of a call")]
    {
        let none = ptc(&folder, &["replay", "report.recording", "--at", at]);
        assert_eq!(none.status.code(), Some(2));
        assert!(err(&none).contains(wanted), "{}", err(&none));
    }
}

#[test]
fn recordings_that_are_cut_off_damaged_or_none_are_told() {
    let folder = folder("replay-torn");
    let file = recorded(&folder, "report");
    let text = fs::read_to_string(&file).expect("text");
    let end = text.find("{\"end\"").expect("an end");
    fs::write(folder.join("cut"), &text[..end - 40]).expect("a file");
    let cut = ptc(&folder, &["replay", "cut"]);
    assert_eq!(cut.status.code(), Some(0), "{}", out(&cut));
    assert!(out(&cut).starts_with("equal so far: 9 calls; the recording was cut off"), "{}", out(&cut));
    let head = text.lines().next().expect("a head");
    for (text, wanted) in [
        ("hello\n".to_owned(), "this is no recording; `ptc run --record FILE` writes one"),
        (String::new(), "its process ended before the first line of the recording was whole"),
        (format!("{head}\nnonsense\n"), "line 2 is no line of a recording"),
        (head.replace("\"ptc_recording\":1", "\"ptc_recording\":9") + "\n", "version 9"),
        (head.replace("\"source\":", "\"sauce\":") + "\n", "makes no sense"),
    ] {
        fs::write(folder.join("bad"), text).expect("a file");
        let bad = ptc(&folder, &["replay", "bad"]);
        assert_eq!(bad.status.code(), Some(2), "{}", out(&bad));
        assert!(err(&bad).contains(wanted), "{wanted}: {}", err(&bad));
    }
    fs::write(folder.join("replies.jsonl"), "\"hi\"\n").expect("a file");
    let gone = ptc(&folder, &["run", "x", "--model", "script:replies.jsonl", "--record"]);
    assert!(err(&gone).contains("--record: give a FILE, or --trace DIR"), "{}", err(&gone));
}

#[test]
fn a_recording_may_stand_beside_its_trace() {
    let folder = folder("replay-beside");
    let toml = agent(&folder, "newsroom").display().to_string();
    let ran = ptc(&folder, &["run", &toml, "-q", "--trace", "traces", "--record"]);
    assert!(ran.status.success(), "{}", err(&ran));
    let files = fs::read_dir(folder.join("traces")).expect("a folder").flatten();
    let names: Vec<String> = files.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let recording = names.iter().find(|name| name.ends_with(".recording")).expect("a recording");
    let path = folder.join("traces").join(recording).display().to_string();
    let played = ptc(&folder, &["replay", &path]);
    assert_eq!(played.status.code(), Some(0), "{}", out(&played));
}

#[test]
fn an_agent_that_changed_is_held_against_what_was_recorded() {
    let folder = folder("replay-against");
    let toml = agent(&folder, "newsroom");
    let path = toml.display().to_string();
    for _ in 0..3 {
        let ran = ptc(&folder, &["run", &path, "-q", "--trace", "traces", "--record"]);
        assert!(ran.status.success(), "{}", err(&ran));
    }
    let against = |last: &str| ptc(&folder, &["replay", "traces", "--against", &path, "--last", last]);
    let same = against("2");
    assert_eq!(same.status.code(), Some(0), "{}{}", out(&same), err(&same));
    assert_eq!(out(&same).lines().filter(|line| line.ends_with(": the same answer")).count(), 2);
    // With one turn, what the first one gave has to be the answer.
    let text = fs::read_to_string(&toml).expect("text");
    fs::write(&toml, text.replace("max_turns = 3", "max_turns = 1")).expect("a file");
    let other = against("1");
    assert_eq!(other.status.code(), Some(1), "{}{}", out(&other), err(&other));
    assert!(out(&other).contains(": another answer\n  at /"), "{}", out(&other));
    // A tool that is called otherwise was never asked that.
    fs::write(&toml, &text).expect("a file");
    let child = toml.with_file_name("researcher.toml");
    let text = fs::read_to_string(&child).expect("text");
    fs::write(&child, text.replace("[tools.search]", "[tools.look]")).expect("a file");
    let unknown = against("1");
    assert!(!out(&unknown).contains("the same answer"), "{}", out(&unknown));
    let none = ptc(&folder, &["replay", ".", "--against", &path]);
    assert!(
        err(&none).contains(". has no recordings; `ptc run --trace . --record` writes them"),
        "{}",
        err(&none)
    );
}
