//! The simulation finds what it is for, and nothing else.

use crate::fault::Fault;
use crate::schedule::{self, Kit, Plan};
use crate::{Asked, Options, minimise, simulate};

/// The seed of `cargo xtask ci`.
const SEED: u64 = 1;

fn parsed(line: &str) -> anyhow::Result<Asked> {
    Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
}

fn options() -> Options {
    match parsed(&format!("1 {SEED}")) {
        Ok(Asked::Simulation(options)) => options,
        other => panic!("they are right: {other:?}"),
    }
}

#[test]
fn help_is_given_and_what_is_wrong_with_a_command_line_is_said_in_words() {
    for line in ["--help", "-h", "help", "1 2 --jobs --help"] {
        assert_eq!(parsed(line).expect("help"), Asked::Help, "{line}");
    }
    for (line, message) in [
        ("--halp", "--halp is unknown"),
        ("-x", "-x is unknown"),
        ("soon", "MINUTES is a number like 5 or 0.5, not soon"),
        ("inf", "MINUTES is a number like 5 or 0.5, not inf"),
        ("1 x", "SEED is a whole number, not x"),
        ("1 2 3", "3 is too much: there are MINUTES and SEED"),
        ("--only", "--only takes a value"),
        ("--from x", "--from is a whole number, not x"),
        ("--jobs many", "--jobs is a whole number, not many"),
    ] {
        assert_eq!(parsed(line).expect_err("refused").to_string(), message, "{line}");
    }
    let unknown = parsed("--fault none").expect_err("refused").to_string();
    assert!(
        unknown.starts_with("--fault takes `all` or one of ") && unknown.ends_with(", not none"),
        "{unknown}"
    );
}

#[test]
fn a_seed_replays_a_schedule_exactly() {
    let (first, second) = (Kit::new().expect("a kit"), Kit::new().expect("a kit"));
    for number in 1..=20 {
        let plan = Plan { seed: SEED, number, logs: true, ..Plan::default() };
        // One of them has run others before.
        let [one, other] = [&first, &second].map(|kit| schedule::run(kit, &plan).expect("it runs"));
        let _ = schedule::run(&second, &Plan { number: number + 100, ..plan });
        assert_eq!(one.log, other.log, "schedule {number}");
    }
}

#[test]
fn planted_faults_are_found_within_10_000_schedules() {
    for fault in Fault::ALL {
        let found = simulate(&options(), Some(*fault), 10_000, None).expect("it runs");
        assert!(found.failed.is_some(), "{} is not found", fault.name());
    }
}

#[test]
fn nothing_is_wrong_without_a_planted_fault() {
    let found = simulate(&options(), None, 200, None).expect("it runs");
    assert_eq!((found.failed, found.schedules), (None, 200));
}

#[test]
fn a_run_that_was_stopped_goes_on_at_its_schedule() {
    let run = |from, most| {
        let found = simulate(&Options { from, ..options() }, None, most, None).expect("it runs");
        (found.schedules, found.steps)
    };
    let (first, rest, whole) = (run(1, 4), run(5, 6), run(1, 10));
    assert_eq!((first.0 + rest.0, first.1 + rest.1), whole);
}

#[test]
fn a_violation_is_told_with_the_faults_that_it_needs() {
    let fault = Some(Fault::RowAndSendSwapped);
    let number = simulate(&options(), fault, 10_000, None).expect("it runs").failed.expect("it is found");
    let (kit, plan) = (Kit::new().expect("a kit"), Plan { seed: SEED, number, fault, ..Plan::default() });
    let outcome = schedule::run(&kit, &plan).expect("it runs");
    let smaller = minimise::smaller(&kit, &plan, &outcome).expect("it runs");
    assert!(smaller.faults <= outcome.faults, "{} of {}", smaller.faults, outcome.faults);
    assert!(smaller.log.last().is_some_and(|line| line.contains("VIOLATION: a write at most once")));
}

#[test]
fn faults_are_known_by_their_names() {
    for fault in Fault::ALL {
        assert_eq!(Fault::named(&fault.name()), Some(*fault));
    }
    assert_eq!(Fault::SyncLeftOut.name(), "sync-left-out");
}
