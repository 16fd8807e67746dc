//! Bounds of what is kept on disk: how many files, how long, how many at once, and what is said of the rest.

use std::time::{Duration, SystemTime};

use ptc_agent::tape::{Entry, Given, Of, Question};
use ptc_trace::recording::{Keeping, Recorder, Recording, RecordingError};
use ptc_trace::{Files, Keep, Record, Sink};
use serde_json::{Value as Json, json};

use crate::support::{Dir, lines};

/// The first event of a trace, its last one, and one between them.
fn event(trace: &str, name: &str) -> Record {
    Record { span_id: Some("root".to_owned()), ..Record::new(name, trace, 1_000) }
}

fn inner(trace: &str) -> Record {
    let mut record = Record {
        span_id: Some("inner".to_owned()),
        parent_span_id: Some("root".to_owned()),
        ..event(trace, "turn.start")
    };
    record.data.insert("note".to_owned(), json!("x".repeat(500)));
    record
}

fn files(dir: &Dir, keep: Keep) -> Files {
    Files::open(&dir.0, keep).unwrap()
}

#[test]
fn a_trace_that_is_too_long_says_how_many_events_it_left_out() {
    let dir = Dir::new("too-long");
    let mut files = files(&dir, Keep { max_bytes: 2_000, ..Keep::default() });
    files.take(&event("t", "run.start"));
    for _ in 0..20 {
        files.take(&inner("t"));
    }
    files.shed(3);
    files.take(&event("t", "run.stop"));
    let path = dir.only();
    assert!(path.metadata().unwrap().len() < 4_000, "{:?}", path.metadata());
    let lines = lines(&path);
    let stop = lines.last().unwrap();
    assert_eq!(stop["event"], "trace.stop", "the end is always there");
    let (written, omitted) = (lines.len() as u64 - 1, stop["data"]["omitted"].as_u64().unwrap());
    // A head, the first event, twenty, and the last one.
    assert_eq!(written + omitted, 23, "{stop}");
    assert!(omitted > 10, "{stop}");
    assert_eq!(stop["data"]["shed"], 3, "{stop}");
}

#[test]
fn stragglers_of_a_trace_that_ended_begin_no_file() {
    let dir = Dir::new("stragglers");
    let mut files = files(&dir, Keep::default());
    files.take(&event("t", "run.start"));
    files.take(&event("t", "run.stop"));
    files.take(&inner("t"));
    files.close();
    assert_eq!(dir.names().len(), 1, "{:?}", dir.names());
}

#[test]
fn only_so_many_traces_are_written_at_once() {
    let dir = Dir::new("at-once");
    let mut files = files(&dir, Keep { max_open: 2, ..Keep::default() });
    for trace in ["a", "b", "c"] {
        files.take(&event(trace, "run.start"));
    }
    assert_eq!(dir.names().len(), 2, "the third is lost");
    files.take(&event("a", "run.stop"));
    files.take(&event("d", "run.start"));
    assert_eq!(dir.names().len(), 3, "there is room again");
}

#[test]
fn the_oldest_files_go_first_and_never_one_that_is_being_written() {
    let dir = Dir::new("oldest");
    let at = |age: u64| SystemTime::now() - Duration::from_secs(age);
    for (name, age) in [("new", 10), ("old", 3_000), ("older", 4_000), ("newer", 5)] {
        let path = dir.0.join(format!("{name}-ok.jsonl"));
        std::fs::File::create(&path).unwrap().set_modified(at(age)).unwrap();
    }
    std::fs::write(dir.0.join("notes.txt"), "not a trace").unwrap();
    let mut files = files(&dir, Keep { max_files: 4, ..Keep::default() });
    files.take(&event("t", "run.start"));
    let own = dir.names().into_iter().find(|name| name.ends_with("-pending.jsonl")).unwrap();
    std::fs::File::open(dir.0.join(&own)).unwrap().set_modified(at(9_000)).unwrap();
    assert!(
        !dir.0.join("older-ok.jsonl").exists() && dir.0.join("old-ok.jsonl").exists(),
        "{:?}",
        dir.names()
    );
    files.take(&event("u", "run.start"));
    files.take(&event("v", "run.start"));
    let names = dir.names();
    assert!(names.contains(&own), "it is being written, however old it looks: {names:?}");
    assert!(!names.contains(&"old-ok.jsonl".to_owned()) && names.len() <= 4, "{names:?}");
    assert!(dir.0.join("notes.txt").exists(), "what is no trace is left alone");
}

#[test]
fn the_name_of_a_file_says_how_its_trace_ended() {
    let dir = Dir::new("named");
    let mut files = files(&dir, Keep::default());
    files.take(&event("a", "run.start"));
    // Only the end of the whole counts.
    files.take(&Record {
        status: Some("error".to_owned()),
        ..Record { event: "turn.stop".to_owned(), ..inner("a") }
    });
    files.take(&Record { status: Some("ok".to_owned()), ..event("a", "run.stop") });
    files.take(&event("b", "run.start"));
    files.take(&Record { status: Some("error".to_owned()), ..event("b", "run.stop") });
    files.take(&event("c", "run.start"));
    files.close();
    let mut ends: Vec<String> =
        dir.names().iter().map(|name| name.rsplit_once('-').unwrap().1.to_owned()).collect();
    ends.sort();
    assert_eq!(ends, ["error.jsonl", "ok.jsonl", "pending.jsonl"]);
}

fn question(id: u64) -> Entry {
    let of = Of::Tool { tool: "fetch".to_owned(), args: json!({"n": id}) };
    Entry::Ask(Question { id, agent: None, of })
}

fn answer(id: u64, value: Json) -> Entry {
    Entry::Answer { id, now: 1, given: Given::Value(value) }
}

fn step() -> ptc_agent::Step {
    ptc_agent::Step::failed(ptc_agent::Fail::new(ptc_agent::Reason::LLM_ERROR, "none"))
}

#[test]
fn a_recording_that_is_too_long_is_cut_off_and_says_so() {
    let dir = Dir::new("cut-off");
    let path = dir.0.join("r.recording");
    let keeping = Keeping { most_bytes: Some(3_000), ..Keeping::default() };
    let mut recorder = Recorder::keeping(&path, json!({}), &[], keeping).unwrap();
    recorder.entry(Entry::Begin { now: 1 });
    for id in 1..100 {
        recorder.entry(question(id));
        recorder.entry(answer(id, json!("x".repeat(100))));
    }
    recorder.finish(&step()).unwrap();
    assert!(path.metadata().unwrap().len() < 3_200);
    let recording = Recording::read(&path).unwrap();
    assert!(recording.end.is_none(), "what came of it is not there");
    assert!((3..20).contains(&recording.calls().count()));
    let missing = recording.not_captured();
    assert!(missing.last().unwrap().contains("a recording may have 3000 bytes"), "{missing:?}");
}

#[test]
fn secrets_in_recordings_are_covered_and_the_answer_counts_as_it_stands() {
    let dir = Dir::new("covered");
    let path = dir.0.join("r.recording");
    let cover = |json: &mut Json| {
        *json = serde_json::from_str(&json.to_string().replace("hunter2", "***")).unwrap();
    };
    let keeping = Keeping { cover: Some(std::sync::Arc::new(cover)), ..Keeping::default() };
    let mut recorder = Recorder::keeping(&path, json!({"key": "hunter2"}), &[], keeping).unwrap();
    recorder.entry(Entry::Begin { now: 1 });
    for (id, value) in [(1, "it is hunter2"), (2, "plain")] {
        recorder.entry(question(id));
        recorder.entry(answer(id, json!(value)));
    }
    recorder.finish(&step()).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("***") && !text.contains("hunter2"), "{text}");
    let recording = Recording::read(&path).unwrap();
    assert!(recording.changed().is_none(), "what was covered was not changed afterwards");
    let covered = recording.end.as_ref().unwrap().covered;
    assert_eq!(covered, 2, "the head and one answer");
    assert!(recording.not_captured().iter().any(|text| text.contains("covered in 2 lines")));
}

#[test]
fn damaged_recordings_say_what_is_wrong_with_them() {
    let dir = Dir::new("damaged");
    let path = dir.0.join("r.recording");
    let mut recorder = Recorder::create(&path, json!({}), &[]).unwrap();
    recorder.entry(Entry::Begin { now: 1 });
    recorder.entry(question(1));
    recorder.entry(answer(1, json!(1)));
    recorder.finish(&step()).unwrap();
    let whole = std::fs::read_to_string(&path).unwrap();
    let read = |text: &str| Recording::read_from(text.as_bytes());
    assert!(read(&whole).unwrap().end.is_some());
    let torn = read(whole.trim_end()).unwrap();
    assert!(
        torn.end.is_none() && torn.calls().next().unwrap().given.is_some(),
        "only the torn line is left out"
    );
    assert!(matches!(read(""), Err(RecordingError::Torn)));
    assert!(matches!(read("{\"a\": 1}\n"), Err(RecordingError::NoHead)));
    let without_head: String = whole.lines().skip(1).map(|line| format!("{line}\n")).collect();
    assert!(matches!(read(&without_head), Err(RecordingError::NoHead)));
    let newer = whole.replacen("\"ptc_recording\":1", "\"ptc_recording\":2", 1);
    assert!(matches!(read(&newer), Err(RecordingError::Version(2))));
    let mut broken: Vec<&str> = whole.lines().collect();
    broken[2] = "{\"nothing\": 1}";
    let broken = format!("{}\n", broken.join("\n"));
    assert!(
        matches!(read(&broken), Err(RecordingError::BadLine { line: 3, .. })),
        "{:?}",
        read(&broken).err()
    );
}
