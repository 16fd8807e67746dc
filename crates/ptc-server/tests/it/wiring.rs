//! Every option ends where it belongs. All numbers are set at once, each to another value, so that two that changed
//! places show.

use std::time::Duration;

use ptc_server::engine::settings::{Debug, SessionSettings, Task};
use ptc_server::engine::{Payloads, Profile, Settings};
use ptc_server::options::{Loaded, Options};

fn options(flags: &[(&str, String)]) -> Options {
    let flags = flags.iter().map(|(flag, value)| ((*flag).to_owned(), value.clone()));
    let loaded = Loaded::read(flags.collect::<Vec<_>>(), Vec::new());
    loaded.unwrap_or_else(|error| panic!("{error}")).options
}

fn settings(flags: &[(&str, String)]) -> Settings {
    Settings::of(&options(flags)).expect("they are right")
}

type Reads<T, V> = fn(&T) -> V;

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).expect("a short time")
}

/// Numbers of the engine.
const ENGINE: &[(&str, Reads<Settings, u64>)] = &[
    ("max-program-bytes", |s| s.max_program_bytes as u64),
    ("max-context-bytes", |s| s.max_context_bytes as u64),
    ("max-concurrent-calls", |s| s.max_concurrent_calls as u64),
    ("program-timeout-ms", |s| millis(s.program_timeout)),
    ("program-memory-limit-bytes", |s| s.program_memory_bytes as u64),
    ("max-programs-memory-bytes", |s| s.programs_memory_bytes as u64),
    ("upstream-call-timeout-ms", |s| millis(s.caps.call_timeout)),
    ("max-upstream-response-bytes", |s| s.caps.max_response_bytes as u64),
    ("max-upstream-calls-per-program", |s| s.caps.calls as u64),
    ("max-catalog-ops-per-program", |s| s.caps.catalog_ops as u64),
    ("max-catalog-result-bytes", |s| s.caps.max_catalog_bytes as u64),
    ("catalog-inline-max-chars", |s| s.catalog.max_chars as u64),
    ("catalog-inline-max-tools", |s| s.catalog.max_tools as u64),
    ("max-result-bytes", |s| s.result_bytes as u64),
    ("max-prints-bytes", |s| s.prints_bytes as u64),
    ("trace-max-files", |s| s.trace_max_files as u64),
    ("record-max-files", |s| s.record_max_files as u64),
    ("record-max-bytes", |s| s.record_max_bytes),
    ("ticket-ttl-ms", |s| millis(s.ticket_ttl)),
    ("max-tickets-per-owner", |s| s.tickets_per_owner),
    ("max-ticket-bytes-per-owner", |s| s.ticket_bytes_per_owner),
];

/// Numbers of sessions.
const SESSIONS: &[(&str, Reads<SessionSettings, u64>)] = &[
    ("max-sessions", |s| s.most as u64),
    ("max-sessions-per-owner", |s| s.per_owner as u64),
    ("max-live-sessions", |s| s.live as u64),
    ("session-ttl-ms", |s| millis(s.ttl)),
    ("session-idle-timeout-ms", |s| millis(s.idle)),
    ("max-session-memory-bytes", |s| s.memory_bytes as u64),
    ("max-session-binding-bytes", |s| s.binding_bytes as u64),
    ("max-session-bindings", |s| s.bindings as u64),
    ("max-session-history-entry-bytes", |s| s.history_entry_bytes as u64),
    ("max-session-print-entries", |s| s.prints.entries as u64),
    ("max-session-print-bytes", |s| s.prints.bytes as u64),
    ("max-session-tool-call-entries", |s| s.tool_calls.entries as u64),
    ("max-session-tool-call-bytes", |s| s.tool_calls.bytes as u64),
    ("max-session-upstream-call-entries", |s| s.upstream_calls.entries as u64),
    ("max-session-upstream-call-bytes", |s| s.upstream_calls.bytes as u64),
    ("max-session-preview-chars", |s| s.preview_chars as u64),
];

/// Numbers of tasks.
const TASKS: &[(&str, Reads<Task, u64>)] = &[
    ("agentic-task-timeout-ms", |t| millis(t.timeout)),
    ("agentic-planner-timeout-ms", |t| millis(t.planner_timeout)),
    ("agentic-max-output-tokens", |t| t.max_output_tokens),
    ("agentic-max-result-bytes", |t| t.max_result_bytes as u64),
    ("agentic-max-turns", |t| u64::from(t.max_turns)),
    ("agentic-retry-turns", |t| u64::from(t.retry_turns)),
    ("agentic-capability-summary-max-bytes", |t| t.capabilities_bytes as u64),
];

/// Numbers of `lisp_debug`.
const DEBUG: &[(&str, Reads<Debug, u64>)] = &[
    ("debug-ring-size", |d| d.ring_size as u64),
    ("max-debug-response-bytes", |d| d.max_response_bytes as u64),
];

/// Settings that are no numbers and stand in the way of none.
fn everything_on() -> Vec<(&'static str, String)> {
    ["sessions", "debug-tool"].map(|flag| (flag, "true".to_owned())).to_vec()
}

#[test]
fn every_number_ends_where_it_belongs() {
    let names = ENGINE.iter().map(|(flag, _)| *flag);
    let names = names.chain(SESSIONS.iter().map(|(flag, _)| *flag));
    let names = names.chain(TASKS.iter().map(|(flag, _)| *flag));
    let names: Vec<&str> = names.chain(DEBUG.iter().map(|(flag, _)| *flag)).collect();
    // Above every least value and below every greatest one.
    let value =
        |flag: &str| 4_200 + names.iter().position(|name| *name == flag).expect("it is listed") as u64;
    let numbers = names.iter().map(|name| (*name, value(name).to_string()));
    // Tasks need upstreams.
    let upstreams = ("upstreams-config", "upstreams.json".to_owned());
    let flags: Vec<(&str, String)> = everything_on()
        .into_iter()
        .chain(["agentic", "aggregator-read-only"].map(|flag| (flag, "true".to_owned())))
        .chain([upstreams])
        .chain(numbers)
        .collect();
    let settings = settings(&flags);
    for (flag, read) in ENGINE {
        assert_eq!(read(&settings), value(flag), "--{flag}");
    }
    let sessions = settings.sessions.as_ref().expect("they are on");
    for (flag, read) in SESSIONS {
        assert_eq!(read(sessions), value(flag), "--{flag}");
    }
    let task = settings.task.as_ref().expect("they are on");
    for (flag, read) in TASKS {
        assert_eq!(read(task), value(flag), "--{flag}");
    }
    let debug = settings.debug.expect("it is on");
    for (flag, read) in DEBUG {
        assert_eq!(read(&debug), value(flag), "--{flag}");
    }
}

/// A switch: its name, how it is turned on, and what it turns on.
type Switch = (&'static str, fn(&mut Options), Reads<Settings, bool>);

#[test]
fn every_switch_turns_on_what_it_names_and_nothing_else() {
    let switches: [Switch; 5] = [
        ("read_only", |o| o.aggregator_read_only = true, |s| s.read_only),
        (
            "prelude_write",
            |o| o.sessions_allow_prelude_write = true,
            |s| s.sessions.as_ref().is_some_and(|sessions| sessions.allow_prelude_write),
        ),
        (
            "collection_hint",
            |o| o.collection_hint = true,
            |s| s.sessions.as_ref().is_some_and(|sessions| sessions.collection_hint),
        ),
        (
            "trace_prompts",
            |o| o.agentic_trace_prompts = true,
            |s| s.task.as_ref().is_some_and(|task| task.trace_prompts),
        ),
        (
            "allow_writes",
            |o| o.agentic_allow_writes = true,
            |s| s.task.as_ref().is_some_and(|task| task.allow_writes),
        ),
    ];
    let base = || Options { sessions: true, debug_tool: true, agentic: true, ..Options::default() };
    for (name, turn_on, _) in &switches {
        let mut options = base();
        turn_on(&mut options);
        let settings = Settings::of(&options).expect("they are right");
        for (other, _, read) in &switches {
            assert_eq!(read(&settings), other == name, "{name} and {other}");
        }
    }
    let plain = Settings::of(&Options::default()).expect("it is right");
    assert!(plain.sessions.is_none() && plain.debug.is_none() && plain.task.is_none());
    for shown in [true, false] {
        let options = Options { agentic_include_program: shown, ..base() };
        let task = Settings::of(&options).expect("they are right").task.expect("it is on");
        assert_eq!(task.include_program, shown);
    }
}

#[test]
fn every_choice_is_the_one_that_was_named() {
    for (name, profile) in
        [("slim", Profile::Slim), ("structured", Profile::Structured), ("debug", Profile::Debug)]
    {
        assert_eq!(settings(&[("response-profile", name.to_owned())]).profile, profile);
    }
    for (name, payloads) in
        [("none", Payloads::None), ("summary", Payloads::Summary), ("full", Payloads::Full)]
    {
        assert_eq!(settings(&[("trace-payloads", name.to_owned())]).payloads, payloads);
    }
    let folders = ["trace-dir", "record-dir", "turn-log-dir"].map(|flag| (flag, format!("/tmp/of-{flag}")));
    let set = settings(&folders);
    let shown = |path: &Option<std::path::PathBuf>| path.as_ref().map(|path| path.display().to_string());
    assert_eq!(shown(&set.trace_dir).as_deref(), Some("/tmp/of-trace-dir"));
    assert_eq!(shown(&set.record_dir).as_deref(), Some("/tmp/of-record-dir"));
    assert_eq!(shown(&set.turn_log_dir).as_deref(), Some("/tmp/of-turn-log-dir"));
}

/// A library that takes the defaults and a command without flags behave alike.
#[test]
fn defaults_are_the_same_with_and_without_options() {
    let of_options = Settings::of(&Options::default()).expect("it is right");
    assert_eq!(format!("{of_options:#?}"), format!("{:#?}", Settings::default()));
    let on = settings(&everything_on());
    assert_eq!(format!("{:#?}", on.sessions), format!("{:#?}", Some(SessionSettings::default())));
}
