//! Every program of the corpus, held at each of its calls in turn and at all of them, here and in a new process.

use std::path::{Path, PathBuf};
use std::process::Command;

use ptc_host::{ErrorKind, Held, Outcome, Program, run_blocking};

use crate::support::{Seen, approve_all, approved, asks, program, programs, seen_of, sorted, tools};

/// A program run without any judge, and the calls its tools saw.
fn undisturbed(source: &str) -> (Outcome, Vec<String>) {
    let seen = Seen::default();
    let outcome = run_blocking(&program(source).tools(tools(&seen)));
    (outcome, sorted(&seen))
}

/// The program as it stops at its call with this number.
fn held_at(source: &str, number: usize, seen: &Seen) -> Held {
    let tools = tools(seen).judge(asks(move |call| call == number));
    let outcome = run_blocking(&program(source).tools(tools));
    let error = outcome.result.expect_err("it waits");
    assert_eq!(error.kind, ErrorKind::ApprovalRequired, "{source}: {error}");
    *outcome.held.expect("it is held")
}

#[test]
fn held_at_each_call_a_program_comes_to_the_same_end_and_calls_nothing_twice() {
    for case in programs() {
        let (whole, calls) = undisturbed(&case.source);
        for number in 0..whole.calls.len() {
            let seen = Seen::default();
            let held = held_at(&case.source, number, &seen);
            assert_eq!(held.pending().len(), 1, "{}", case.title);
            let before = sorted(&seen).len();
            assert!(before < calls.len(), "{}: the call that waits was made", case.title);
            let outcome = run_blocking(&Program::resumed(approved(held)).tools(tools(&seen)));
            assert_eq!(seen_of(&outcome), seen_of(&whole), "{} held at call {number}", case.title);
            assert_eq!(sorted(&seen), calls, "{} held at call {number}", case.title);
        }
    }
}

#[test]
fn held_at_every_call_and_carried_as_bytes_each_time() {
    for case in programs() {
        let (whole, calls) = undisturbed(&case.source);
        let seen = Seen::default();
        let tools = tools(&seen).judge(asks(|_| true));
        let outcome = run_blocking(&program(&case.source).tools(tools.clone()));
        assert!(seen.lock().expect("nobody panics").is_empty(), "{}", case.title);
        assert_eq!(seen_of(&approve_all(outcome, &tools)), seen_of(&whole), "{}", case.title);
        assert_eq!(sorted(&seen), calls, "{}", case.title);
    }
}

/// Names the directory with the held programs to a process that is to finish them.
const HELPER: &str = "PTC_FINISH_HELD_IN";

fn files(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).expect("the directory is there");
    let all = entries.map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> =
        all.filter(|path| path.extension().is_some_and(|found| found == extension)).collect();
    files.sort();
    files
}

/// The other side: finishes all held programs in a directory and writes each outcome beside its program.
fn finish_all(directory: &Path) {
    for file in files(directory, "held") {
        let held = Held::from_bytes(&std::fs::read(&file).expect("a held program")).expect("it is whole");
        let tools = tools(&Seen::default());
        let outcome = run_blocking(&Program::resumed(approved(held)).tools(tools));
        std::fs::write(file.with_extension("outcome"), seen_of(&outcome)).expect("room for an outcome");
    }
}

#[test]
fn a_new_process_finishes_what_another_held() {
    if let Some(directory) = std::env::var_os(HELPER) {
        return finish_all(Path::new(&directory));
    }
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("held-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let programs = programs();
    let mut expected = Vec::new();
    for (number, case) in programs.iter().enumerate() {
        let (whole, _) = undisturbed(&case.source);
        for call in 0..whole.calls.len() {
            let held = held_at(&case.source, call, &Seen::default());
            let file = directory.join(format!("{number:03}-{call:03}.held"));
            std::fs::write(&file, held.to_bytes()).expect("room");
            expected.push((file.with_extension("outcome"), seen_of(&whole), &case.title));
        }
    }
    let ended = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "corpus::a_new_process_finishes_what_another_held"])
        .env(HELPER, &directory)
        .output()
        .expect("a new process");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
    assert!(expected.len() >= 200, "only {} held programs", expected.len());
    for (file, outcome, title) in expected {
        assert_eq!(std::fs::read_to_string(file).expect("an outcome"), outcome, "{title}");
    }
    std::fs::remove_dir_all(&directory).expect("they go");
}
