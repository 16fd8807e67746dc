//! What stands in the log: every kind of line with its fields, in one place. The functions here write those of the engine,
//! and [`table`] is the list in the documentation.

use std::fmt::Write as _;

/// A kind of line.
#[derive(Debug)]
pub struct LogEvent {
    /// What it is called.
    pub name: &'static str,
    /// Its level, or those that it may have.
    pub level: &'static str,
    /// Whether it is written whatever `--log-level` says.
    pub always: bool,
    /// When it is written.
    pub about: &'static str,
    /// Its fields and what they are.
    pub fields: &'static [(&'static str, &'static str)],
}

/// How the targets of lines of the engine begin; their names follow.
pub const TARGET: &str = concat!(env!("CARGO_CRATE_NAME"), "::event::");

/// Declares lines of the engine: for each a function that writes it, and its row in the list.
macro_rules! engine_events {
    ($($level:ident $always:literal $name:ident: $about:literal,
       { $($field:ident: $kind:ty, $what:literal;)* })*) => {
        $(
            #[doc = $about]
            pub fn $name($($field: $kind),*) {
                tracing::event!(
                    target: concat!(env!("CARGO_CRATE_NAME"), "::event::", stringify!($name)),
                    tracing::Level::$level,
                    $($field = $field),*
                );
            }
        )*

        const OF_ENGINE: &[LogEvent] = &[$(LogEvent {
            name: stringify!($name),
            level: stringify!($level),
            always: $always,
            about: $about,
            fields: &[$((stringify!($field), $what)),*],
        }),*];
    };
}

engine_events! {
    INFO true decision: "Somebody decided about a call, and the program goes on, or ends.", {
        who: &str, "the owner of the ticket";
        ticket: &str, "its id";
        call: u64, "the number of the call; 0 where what waits is damaged and all of it is rejected";
        tool: &str, "server and tool; empty where what waits is damaged";
        decision: &str, "`approved`, `edited` or `rejected`";
        by: &str, "`page`, `form`, or `model` where models decide with tools";
        again: bool, "whether somebody decided before, the same or otherwise, and the server that went on ended";
    }
    INFO false ticket_waiting: "A program waits for a decision.", {
        who: &str, "the owner of the ticket";
        ticket: &str, "its id";
        calls: u64, "how many calls wait";
        tools: &str, "their servers and tools";
    }
    WARN false ticket_expired: "Nobody decided in time.", {
        who: &str, "the owner of the ticket";
        ticket: &str, "its id";
    }
    WARN false tickets_unopened: "The server starts, and programs wait that it cannot open, because their keys are not there; they can only be rejected.", {
        count: u64, "how many";
        keys: &str, "the ids of the keys that they are sealed with";
    }
    ERROR false ticket_keys_gone: "The file of the keys of programs that wait is gone, or has other keys: once this server ends, nobody can open what waits now.", {
        error: &str, "what is wrong with the file";
    }
    INFO false program_timeout: "A program took more time than it has, and was ended.", {
        waited_for: &str, "servers and tools that it waited for then, if any";
        setting: &str, "what gives programs more time";
    }
    WARN false outcome_unknown: "A call that may write ended without an answer, so nobody knows whether it happened; with a store `ptc effects` lists it.", {
        who: &str, "whose call it was, or which ticket it belongs to";
        tool: &str, "server and tool";
        identity: &str, "what `ptc effects settle` takes; empty without a store";
        begun: &str, "when it was made, as `ptc effects` lists it; empty without a store";
    }
    WARN false request_taken_over: "A request under a key that was begun and did not end, mostly because its server did, is carried out again.", {
        who: &str, "whose request it is";
        tool: &str, "the tool of this server";
        key: &str, "its key";
    }
    WARN false request_stale: "A request under a key that was begun and did not end came again and cannot go on as it began; nothing was sent for it.", {
        who: &str, "whose request it is";
        tool: &str, "the tool of this server";
        key: &str, "its key";
    }
    ERROR false store_down: "The store does not answer any more.", {
        error: &str, "what it said, if anything";
    }
    INFO false store_up: "The store answers again.", {
        away_ms: u64, "for how long it did not";
    }
}

const PROCESS: (&str, &str) = ("boot_id, os_pid, version", "the process");

/// Lines of transports and of the command.
const OF_WIRE: &[LogEvent] = &[
    line("application_start", "info", "The server starts.", &[PROCESS, ("http, upstreams", "what it has")]),
    line(
        "application_stop",
        "info",
        "The server has ended.",
        &[
            PROCESS,
            ("asked", "stdio: whether the client asked for it"),
            ("graceful", "HTTP: whether all calls ended"),
        ],
    ),
    line("http_listening", "info", "HTTP is served from now on.", &[PROCESS, ("address, path", "where")]),
    line("http_draining", "info", "No new requests are taken.", &[PROCESS, ("in_flight", "those under way")]),
    line("http_accept", "warn", "A connection cannot be taken.", &[("error", "why")]),
    line(
        "http_connections_full",
        "warn",
        "Connections were closed or refused for want of room.",
        &[("open, displaced, refused", "how many")],
    ),
    line("http_session_created", "info", "An MCP session begins.", &[("owner", "whose it is")]),
    line(
        "http_session_closed",
        "info",
        "An MCP session ends.",
        &[("why", "`client`, or `over` by its time")],
    ),
    line(
        "http_rejected",
        "warn",
        "A request was not admitted.",
        &[("remote", "the address"), ("what", "`token` or `host_or_origin`")],
    ),
    line(
        "http_auth_rate_limited",
        "warn",
        "An address has shown too many wrong tokens.",
        &[("remote", "the address")],
    ),
    line(
        "http_request_stop",
        "debug",
        "A request is answered.",
        &[("method, status, duration_ms", "what was asked and how it went")],
    ),
    line(
        "tools_call_stop",
        "info",
        "A tool is answered, or a form (`approval_form`).",
        &[("tool, duration_ms, ok", "which, how long, whether it went well")],
    ),
    line(
        "approval_page",
        "info, warn",
        "Where people decide, or why they cannot.",
        &[PROCESS, ("address", "of the page"), ("message", "why there is none")],
    ),
    line("configuration", "warn", "Something in the settings looks like a mistake.", &[("message", "what")]),
    line(
        "store_log_torn",
        "warn",
        "The log of the store was torn by a loss of power.",
        &[("message", "what it says")],
    ),
    line(
        "effect_outcome_unknown",
        "warn",
        "At the start: calls that were begun before, that nobody is making, and that have no answer.",
        &[("message", "how many of which tools")],
    ),
    line(
        "effects",
        "warn",
        "At the start: it cannot be read which calls have no answer.",
        &[("message", "why")],
    ),
    line(
        "engine",
        "warn, error",
        "Anything else that operators should know of.",
        &[("message, error", "what")],
    ),
    line(
        "upstream",
        "info, warn, error",
        "What becomes of upstreams, and calls of them of which it cannot be written down what came of them.",
        &[
            ("message", "what"),
            ("upstream, tool", "of whom, if it is about one"),
            ("identity", "of the call, if it is about one, as `ptc effects` lists it"),
        ],
    ),
];

const fn line(
    name: &'static str,
    level: &'static str,
    about: &'static str,
    fields: &'static [(&'static str, &'static str)],
) -> LogEvent {
    LogEvent { name, level, always: false, about, fields }
}

/// All kinds of lines.
pub fn all() -> impl Iterator<Item = &'static LogEvent> {
    OF_ENGINE.iter().chain(OF_WIRE)
}

/// The kind of this name.
pub fn named(name: &str) -> Option<&'static LogEvent> {
    all().find(|event| event.name == name)
}

impl LogEvent {
    /// Whether it has such a field.
    pub fn has(&self, field: &str) -> bool {
        self.fields.iter().any(|(names, _)| names.split(", ").any(|name| name == field))
    }
}

/// The list in the documentation.
pub fn table() -> String {
    let mut out = String::from("| event | level | when | fields |\n|---|---|---|---|\n");
    for event in all() {
        let level = match event.always {
            true => format!("{}, always", event.level.to_lowercase()),
            false => event.level.to_lowercase(),
        };
        let code =
            |names: &str| names.split(", ").map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let fields: Vec<String> =
            event.fields.iter().map(|(names, what)| format!("{}: {what}", code(names))).collect();
        let _ = writeln!(out, "| `{}` | {level} | {} | {} |", event.name, event.about, fields.join("; "));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_lists_every_event_with_its_fields() {
        let docs = include_str!("../../../docs/mcp-server.md");
        assert!(docs.contains(&table()), "docs/mcp-server.md lacks this list:\n{}", table());
    }

    #[test]
    fn every_event_has_one_name() {
        let mut names: Vec<&str> = all().map(|event| event.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(named("decision").is_some_and(|event| event.always && event.has("by") && !event.has("args")));
    }
}
