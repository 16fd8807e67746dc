//! Runs the case files of `conformance/cases`: every program must give the value or the error written beside it.
//!
//! One test per file, so that a failing feature is named by its test. `conformance/README.md` describes the format,
//! `conformance/oracle.py` where the answers come from.

#![expect(clippy::disallowed_methods, reason = "a test reads its cases from files")]

#[path = "conformance/cases.rs"]
mod cases;
#[path = "conformance/edn.rs"]
mod edn;

use std::collections::BTreeSet;
use std::path::PathBuf;

use cases::{Case, Expected};
use ptc_lisp::machine::{Machine, ProgramEnd, Step};
use ptc_lisp::{Error, ErrorKind, Limits};

macro_rules! case_files {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            run_file(stringify!($name));
        })*

        const FILES: &[&str] = &[$(stringify!($name)),*];

        /// A case file that no test runs would be dead weight.
        #[test]
        fn every_case_file_has_a_test() {
            let mut found: Vec<String> = std::fs::read_dir(folder())
                .expect("the case folder exists")
                .filter_map(|entry| Some(entry.ok()?.path().file_stem()?.to_str()?.to_owned()))
                .collect();
            found.sort();
            assert_eq!(found, FILES);
        }
    };
}

case_files! {
    decimals divergences errors forms functions higher_order java_lang java_time maps mutable numbers polymorphism
    programs_algorithms programs_business programs_data programs_idioms programs_mixed programs_reports programs_styles
    programs_text
    programs_time ptc ratios reader reference seqs sharing strings time vars
}

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/cases"))
}

fn load(stem: &str) -> Vec<Case> {
    let text =
        std::fs::read_to_string(folder().join(format!("{stem}.clj"))).expect("the case file can be read");
    cases::parse(stem, &text).unwrap_or_else(|problem| panic!("{problem}"))
}

/// A row of `DIVERGENCES.md` that no case shows is a claim that nobody checks, and a case of no row has no reason.
#[test]
fn every_divergence_has_a_case() {
    let table = std::fs::read_to_string(folder().join("../DIVERGENCES.md")).expect("the table can be read");
    let rows = table.lines().filter_map(|line| line.strip_prefix("| ")?.split(' ').next());
    let is_row = |word: &str| word.strip_prefix('D').is_some_and(|number| number.parse::<u32>().is_ok());
    let rows: BTreeSet<String> = rows.filter(|word| is_row(word)).map(str::to_owned).collect();
    let shown: BTreeSet<String> =
        FILES.iter().flat_map(|stem| load(stem)).filter_map(|case| case.divergence).collect();
    assert!(!rows.is_empty());
    assert_eq!(rows, shown);
}

fn run_file(stem: &str) {
    let cases = load(stem);
    assert!(!cases.is_empty(), "{stem} has no cases");
    let failures: Vec<String> = cases
        .iter()
        .filter(|case| !case.pending)
        .filter_map(|case| complaint(case, evaluate(case)))
        .collect();
    assert!(
        failures.is_empty(),
        "{} of {} cases fail:\n\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n\n")
    );
}

/// The printed value of a program, run without tools.
fn evaluate(case: &Case) -> Result<String, Error> {
    let mut machine = Machine::new(Limits::default());
    machine.set_data(&serde_json::Value::Object(case.data.clone()))?;
    machine.load(&case.src)?;
    loop {
        match machine.run(u64::MAX) {
            Step::Done(ProgramEnd::Fail) => return Err(Error::new(ErrorKind::Runtime, machine.value())),
            Step::Done(_) => return Ok(machine.value()),
            Step::Failed(error) => return Err(error),
            Step::Yield => {}
            Step::Calls(calls) => panic!("{} calls {} tools; cases have none", case.name, calls.len()),
        }
    }
}

/// What is wrong with an answer, if anything.
fn complaint(case: &Case, answer: Result<String, Error>) -> Option<String> {
    let (good, wanted) = match &case.expected {
        Expected::Value(text) => (
            answer.as_ref().is_ok_and(|value| edn::same(&edn::parse(text), &edn::parse(value))),
            text.clone(),
        ),
        Expected::Error(part) => {
            (answer.as_ref().is_err_and(|error| mentions(error, part)), format!("an error: {part}"))
        }
    };
    let got = answer.unwrap_or_else(|error| error.to_string());
    (!good).then(|| format!("{}\n{}\n  wanted {wanted}\n  got    {got}", case.name, case.src))
}

/// Whether `part` is the error's kind, or part of its message or hint.
fn mentions(error: &Error, part: &str) -> bool {
    error.kind.reason() == part
        || error.message.contains(part)
        || error.hint.as_ref().is_some_and(|hint| hint.contains(part))
}
