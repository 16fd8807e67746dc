//! Large inputs of agents: how much memory they take, and that agents are told the same about them.

use super::agents::{folder, ptc_in, write};
use super::*;

/// Runs a command and prints the most memory that it took, in KiB, as the last line.
const MEASURED: &str = "import resource, subprocess, sys\n\
    code = subprocess.run(sys.argv[1:]).returncode\n\
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n\
    sys.exit(code)\n";

/// Twice the memory of a program, and 20 MB for the command itself.
const MOST_KIB: u64 = (2 * (64 << 20) + 20_000_000) >> 10;

/// Runs the command in a folder; the most memory that it took, in KiB, and what it printed.
fn measured(folder: &std::path::Path, args: &[&str]) -> (u64, Ran) {
    let output = Command::new("python3")
        .args(["-c", MEASURED, env!("CARGO_BIN_EXE_ptc")])
        .args(args)
        .current_dir(folder)
        .env("XDG_CONFIG_HOME", folder)
        .env("XDG_STATE_HOME", folder.join("state"))
        .stdin(Stdio::null())
        .output()
        .expect("python3 starts");
    let out = String::from_utf8(output.stdout).expect("UTF-8");
    let (out, peak) = out.trim_end().rsplit_once('\n').unwrap_or(("", out.trim_end()));
    let peak = peak.parse().expect("a number");
    let err = String::from_utf8(output.stderr).expect("UTF-8");
    (peak, Ran { code: output.status.code().unwrap_or(-1), out: out.to_owned(), err })
}

/// So many rows of a table as JSON.
fn rows(count: usize) -> String {
    let row = |at: usize| format!(r#"{{"a": {at}, "b": "text {at}", "_c": [1, 2, 3]}}"#);
    format!("[{}]", (0..count).map(row).collect::<Vec<_>>().join(", "))
}

const COUNT: &str = r#"{"program": "(return (+ (count data/xs) (:a (last data/xs))))"}"#;

/// Python counts the memory of processes in KiB only there.
#[cfg(target_os = "linux")]
#[test]
fn inputs_take_no_more_than_twice_the_memory_of_a_program() {
    let folder = folder("memory");
    let fits = rows(60_000);
    let object = format!(r#"{{"other": {{"deep": {fits}}}, "xs": [{{"a": 0}}]}}"#);
    let files =
        [("fits.json", &*fits), ("object.json", &object), ("no.json", &rows(100_000)), ("s.jsonl", COUNT)];
    write(&folder, &files);
    let typed = ["--signature", "(xs [{a :int, b :string}]) -> :int", "--model", "script:s.jsonl"];
    let plain = &typed[2..];
    let kept = ["--checkpoint", "runs", "--record", "run.recording", "--model", "script:s.jsonl"];
    let less = ["--set", "max_heap=2000000", "--model", "script:s.jsonl"];
    let over = "the inputs are more than fits the 16000000 bytes of memory of a program";
    for (given, options, says) in [
        (["--data", "xs=@fits.json"], &typed[..], Ok("119999")),
        (["--data", "xs=@fits.json"], &kept, Ok("119999")),
        (["--input", "object.json"], plain, Ok("1")),
        (["--data", "xs=@no.json"], &less, Err(over)),
    ] {
        let args = [&["run", "Count {{xs}}"], &given[..], options].concat();
        let (peak, ran) = measured(&folder, &args);
        match says {
            Ok(answer) => assert_eq!((ran.code, ran.out.as_str()), (0, answer), "{args:?}: {}", ran.err),
            Err(message) => assert!(ran.code == 3 && ran.err.contains(message), "{args:?}: {}", ran.err),
        }
        assert!(peak < MOST_KIB, "{args:?} took {peak} KiB, more than {MOST_KIB}");
    }
}

#[test]
fn large_inputs_that_are_wrong_are_refused_as_small_ones_are() {
    let folder = folder("refused");
    let many = rows(3_000);
    let twice = many.replacen("\"b\"", "\"a\"", 1);
    let wrong = many.replacen("\"a\": 2999", "\"a\": \"x\"", 1);
    let rounded = many.replacen("\"a\": 7,", "\"a\": 123456789012345678901,", 1);
    write(
        &folder,
        &[("twice.json", &twice), ("wrong.json", &wrong), ("rounded.json", &rounded), ("s.jsonl", COUNT)],
    );
    for (file, says) in [
        (
            "twice.json",
            "ptc: --data xs: twice.json is not JSON: the key \"a\" stands twice in one object at line 1 column ",
        ),
        ("wrong.json", "\n  - xs[2999].a: expected int, got string \"x\"\n"),
        (
            "rounded.json",
            "ptc: --data xs: the integer 123456789012345678901 does not fit 64 bits and would be rounded",
        ),
    ] {
        let given = format!("xs=@{file}");
        let options = ["--signature", "(xs [{a :int}]) -> :int", "--model", "script:s.jsonl"];
        let ran = ptc_in(&folder, &[&["run", "Count", "--data", &given], &options[..]].concat());
        assert!(ran.code == 2 && ran.err.contains(says), "{file}: {}", ran.err);
    }
}

/// A run that was begun with a large input is played back to the byte, and goes on from where it was kept.
#[test]
fn runs_with_large_inputs_are_recorded_and_kept() {
    let folder = folder("kept-inputs");
    let twice =
        "{\"program\": \"(def n (count data/xs))\"}\n{\"program\": \"(return (+ n (count data/xs)))\"}";
    write(
        &folder,
        &[
            ("xs.json", &rows(3_000)),
            ("s.jsonl", twice),
            ("one.jsonl", twice.lines().next().expect("a line")),
        ],
    );
    let given = ["run", "Count {{xs}}", "--data", "xs=@xs.json"];
    let ran =
        ptc_in(&folder, &[&given[..], &["--model", "script:s.jsonl", "--record", "run.recording"]].concat());
    assert_eq!((ran.code, ran.out.trim()), (0, "6000"), "{}", ran.err);
    let played = ptc_in(&folder, &["replay", "run.recording"]);
    assert_eq!(played.code, 0, "{}{}", played.out, played.err);
}
