//! Repeats the tests that depend on when things happen, while all cores are busy: those that start processes some
//! times, and those that ever failed now and then many times.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};

const USAGE: &str = "usage: cargo xtask stress [--times N] [--frail N] [FILTER]
  --times N   how often tests that start processes are repeated (5)
  --frail N   how often tests that ever failed now and then are repeated (50)
  FILTER      only these tests, in the language of nextest, N times: `test(killed)`, `binary_id(ptc::mcp)`";

/// Test programs whose tests start processes.
const STARTERS: &[&str] = &[
    "ptc::adversarial",
    "ptc::bin/ptc",
    "ptc::cli",
    "ptc::determinism",
    "ptc::mcp",
    "ptc::viewer",
    "ptc-agent::runs",
    "ptc-host::hold",
    "ptc-lisp::dump",
    "ptc-runner::driver",
    "ptc-runner::files",
    "ptc-store::it",
    "ptc-upstream::it",
    "xtask-language::bin/xtask-language",
];

/// Tests that failed now and then, or waited for time instead of events, as their names end.
const FRAIL: &[&str] = &[
    "a_mission_that_waits_is_stopped_by_its_time",
    "a_process_that_hangs_in_a_transaction_holds_others_up_for_less_than_a_lease",
    "a_request_of_http2_has_the_time_that_its_answer_takes",
    "a_request_in_a_session_that_is_sent_again_is_applied_once_wherever_the_server_was_killed",
    "a_program_of_a_session_that_was_approved_is_applied_once_wherever_the_server_was_killed",
    "a_run_is_cancelled_from_outside",
    "a_server_that_dies_is_found_again",
    "a_server_that_is_stopped_gives_its_sessions_back_at_once",
    "a_session_keeps_definitions_and_runs_programs_in_order",
    "a_stop_gives_a_session_back_wherever_its_call_is",
    "a_stop_gives_back_the_sessions_of_programs_that_run",
    "a_stop_gives_back_the_tickets_and_sessions_of_programs_that_go_on",
    "a_store_that_is_gone_is_told_to_clients_and_operators",
    "all_bodies_together_have_a_bound_that_small_ones_do_not_feel",
    "an_opening_has_a_bound_and_what_follows_has_none",
    "calls_of_a_pmap_run_at_once",
    "ctrl_c_ends_a_script",
    "ctrl_c_stops_the_program_and_not_the_session",
    "killed_around_any_change_of_its_store_a_mission_goes_on_behind_its_last_answer",
    "killed_at_every_step_of_a_decision_the_write_comes_at_most_once_and_gaps_are_told",
    "no_more_calls_run_at_once_than_allowed",
    "people_decide_about_calls_while_the_worker_is_killed",
    "probe_14_r4_7_secrets_that_upstreams_repeat_are_covered",
    "probe_4_r1_3_5_cancelled_calls_are_not_answered",
    "probe_6_r5_2_kinds_of_answers_and_faults",
    "r1_6_18_sessions_end_when_they_are_idle_or_old",
    "r1_9_logs_are_json_lines_without_programs",
    "r9_4_6_sessions_end_after_their_time",
    "replayed_changed_and_expired_tickets_are_refused_by_every_replica",
    "sessions_in_a_store_end_by_their_time",
    "sessions_are_kept_in_every_place",
    "short_lived_things_are_kept_in_every_place",
    "tickets_are_kept_in_every_place",
    "tickets_that_are_changed_foreign_expired_or_unknown_are_refused_and_nothing_is_done",
    "what_a_server_says_of_its_secrets_is_covered_in_logs",
    "whoever_drops_the_future_drops_the_run",
    "writes_are_made_at_most_once_wherever_the_worker_is_killed",
];

/// How many tests run at once for each core: they get in each other's way, which is what is looked for, and most of them
/// wait most of the time.
const TESTS_PER_CORE: usize = 4;

/// Runs the command.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    let (mut times, mut frail, mut filter) = (5_u32, 50_u32, None);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut number = || -> Result<u32> { args.next().context(USAGE)?.parse().context(USAGE) };
        match arg.as_str() {
            "--times" => times = number()?,
            "--frail" => frail = number()?,
            option if option.starts_with('-') => bail!("{USAGE}"),
            given => filter = Some(given.to_owned()),
        }
    }
    let rounds = match filter {
        Some(filter) => vec![(filter, times)],
        None => vec![(starters(), times), (fragile(), frail)],
    };
    nextest(root, &["--no-run"])?;
    let failed: Vec<String> = with_all_cores_busy(|| {
        let failing = rounds.iter().filter(|(filter, times)| {
            eprintln!("== {times} times: {filter}");
            let (times, threads) = (times.to_string(), (TESTS_PER_CORE * cores()).to_string());
            let run = ["--no-fail-fast", "--test-threads", &threads, "--stress-count", &times, "-E", filter];
            nextest(root, &run).is_err()
        });
        failing.map(|(filter, times)| format!("{times} times: {filter}")).collect()
    });
    match failed.is_empty() {
        true => Ok(()),
        false => bail!("tests failed, see above\n{}", failed.join("\n")),
    }
}

fn starters() -> String {
    STARTERS.iter().map(|binary| format!("binary_id({binary})")).collect::<Vec<_>>().join(" | ")
}

fn fragile() -> String {
    FRAIL.iter().map(|test| format!("test(/{test}$/)")).collect::<Vec<_>>().join(" | ")
}

fn nextest(root: &Path, args: &[&str]) -> Result<()> {
    let mut command = Command::new(crate::packages::cargo_nextest(root)?);
    command.args(["nextest", "run", "--workspace"]).args(args).env("PTC_SKIPS", "fail").current_dir(root);
    match command.status()?.success() {
        true => Ok(()),
        false => bail!("cargo nextest run {}", args.join(" ")),
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Does something while every core has something else to do.
fn with_all_cores_busy<T>(work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..cores() {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let done = work();
        over.store(true, Ordering::Relaxed);
        done
    })
}

#[cfg(test)]
mod unit {
    use super::*;

    /// A name that is no longer there would be repeated never, without a word.
    #[test]
    fn every_name_is_that_of_a_test() {
        let crates = crate::root().join("crates");
        let mut sources = String::new();
        read(&crates, &mut sources);
        for test in FRAIL {
            assert!(sources.contains(&format!("fn {test}(")), "there is no test {test}");
        }
        for binary in STARTERS {
            let (package, name) = binary.split_once("::").expect("a package and a test program");
            let folder = match package.strip_prefix("xtask-") {
                Some(part) => crate::root().join("xtask").join(part),
                None => crates.join(package),
            };
            let tests = folder.join("tests");
            let there = match name.strip_prefix("bin/") {
                Some(_) => folder.join("src/main.rs").exists(),
                None => {
                    tests.join(name).join("main.rs").exists() || tests.join(format!("{name}.rs")).exists()
                }
            };
            assert!(there, "there is no test program {binary}");
        }
    }

    fn read(folder: &Path, into: &mut String) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => read(&path, into),
                false if path.extension().is_some_and(|extension| extension == "rs") => {
                    into.push_str(&std::fs::read_to_string(&path).expect("a source"));
                }
                false => {}
            }
        }
    }
}
