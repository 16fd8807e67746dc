//! A dump goes on in another process, and dumps of every version that was released still load.

use std::path::{Path, PathBuf};
use std::process::Command;

use ptc_lisp::machine::{Machine, Step};
use ptc_lisp::{DumpError, Limits};

use crate::programs::{Outcome, WHOLE, answer_all, finish, loaded, programs};

/// Names the directory with the dumps to a process that is to finish them.
const HELPER: &str = "PTC_FINISH_DUMPS_IN";

/// Dumps of a program at each of its rounds of calls.
fn dumps(source: &str) -> Vec<Vec<u8>> {
    let mut machine = loaded(source);
    let mut dumps = Vec::new();
    loop {
        match machine.run(WHOLE) {
            Step::Yield => {}
            Step::Done(_) | Step::Failed(_) => return dumps,
            Step::Calls(calls) => {
                dumps.push(machine.dump().expect("it can be written"));
                answer_all(&mut machine, &calls);
            }
        }
    }
}

/// Loads a dump, answers what it waits for and runs it to its end.
fn finished(bytes: &[u8]) -> Outcome {
    let mut machine = Machine::load_dump(bytes, &Limits::default()).expect("it loads");
    let calls = machine.outstanding();
    answer_all(&mut machine, &calls);
    finish(machine, WHOLE, &mut |machine| machine)
}

fn sorted_files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).expect("the directory is there");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

/// The other side: finishes all dumps in a directory and writes each outcome beside its dump.
fn finish_dumps(directory: &Path) {
    for file in sorted_files(directory) {
        let outcome = finished(&std::fs::read(&file).expect("a dump"));
        std::fs::write(file.with_extension("outcome"), format!("{outcome:?}")).expect("room for an outcome");
    }
}

#[test]
fn a_new_process_finishes_what_another_began() {
    if let Some(directory) = std::env::var_os(HELPER) {
        return finish_dumps(Path::new(&directory));
    }
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("dumps-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory for dumps");
    let programs = programs();
    for (number, program) in programs.iter().enumerate() {
        for (round, dump) in dumps(&program.source).into_iter().enumerate() {
            let file = directory.join(format!("{number:03}-{round:03}.dump"));
            std::fs::write(file, dump).expect("room for a dump");
        }
    }
    let status = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "processes::a_new_process_finishes_what_another_began"])
        .env(HELPER, &directory)
        .output()
        .expect("a new process");
    assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stdout));
    let mut compared = 0;
    for (number, program) in programs.iter().enumerate() {
        let undisturbed = finish(loaded(&program.source), WHOLE, &mut |machine| machine);
        let prefix = format!("{number:03}-");
        for file in sorted_files(&directory) {
            let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if name.starts_with(&prefix) && name.ends_with(".outcome") {
                let outcome = std::fs::read_to_string(&file).expect("an outcome");
                assert_eq!(outcome, format!("{undisturbed:?}"), "{} from {name}", program.title);
                compared += 1;
            }
        }
    }
    assert!(compared >= 200, "only {compared} dumps");
    std::fs::remove_dir_all(&directory).expect("the dumps go");
}

/// Dumps of released versions: the programs they are of, by title, at the round of calls given.
const GOLDEN: &[(&str, &str, usize)] = &[
    ("loop", "loop and recur", 2),
    ("map", "map over a vector", 1),
    ("lazy", "a lazy sequence that is looked at twice", 2),
    ("pmap", "pmap in pmap", 0),
    ("try", "nested try in a loop", 1),
    ("sort", "sort with a comparator that calls", 3),
    ("records", "records", 1),
    ("dates", "dates as keys and in sets, formatters, durations", 0),
    ("shapes", "keys that are collections", 0),
    ("watch", "an atom with a watch and a validator", 0),
];

fn golden(name: &str) -> PathBuf {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/suspend/v1");
    Path::new(directory).join(format!("{name}.ptcm"))
}

/// To add a file for a new version, run this test with `PTC_WRITE_GOLDEN=1` once, before its release.
#[test]
fn dumps_of_version_1_load_and_finish() {
    let programs = programs();
    for (name, title, round) in GOLDEN {
        let program = programs.iter().find(|program| program.title == *title).expect("a program");
        if std::env::var_os("PTC_WRITE_GOLDEN").is_some() {
            std::fs::write(golden(name), &dumps(&program.source)[*round]).expect("room for a dump");
        }
        let bytes = std::fs::read(golden(name)).expect("a dump of version 1");
        assert_eq!(finished(&bytes).value, program.expected, "{name}");
    }
}

#[test]
fn a_builtin_that_this_build_does_not_have_is_named() {
    let bytes = dumps("(tool/price {:n 1}) (clojure.string/trim \" x\")").swap_remove(0);
    let renamed = renamed(&bytes, "clojure.string/trim", "clojure.string/twim");
    let refused = Machine::load_dump(&renamed, &Limits::default()).map(|_| ());
    assert_eq!(refused, Err(DumpError::Missing("clojure.string/twim".to_owned())));
}

/// The dump with one name for another of the same length.
fn renamed(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = bytes.to_vec();
    let found: Vec<usize> =
        (0..bytes.len() - from.len()).filter(|at| bytes[*at..].starts_with(from.as_bytes())).collect();
    for at in found {
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    crate::seal::sealed(bytes)
}
