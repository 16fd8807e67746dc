//! The names of events. Traces write the short ones; subscribers that match on names of telemetry get the full
//! one, and the one of the first draft where it had one.

use crate::record::Record;

/// Families that do not stand under `ptc_runner.sub_agent`.
const ROOTS: [(&str, &str); 4] = [
    ("lisp.", "ptc_runner.lisp."),
    ("upstream.", "ptc_runner.upstream."),
    ("mcp.", "ptc_lisp."),
    ("trace.", "ptc_runner.trace."),
];

/// Names of the first draft.
const DRAFT: [(&str, &str); 4] = [
    ("run.start", "ptc.subagent.mission_start"),
    ("run.stop", "ptc.subagent.mission_stop"),
    ("turn.start", "ptc.subagent.turn_start"),
    ("turn.stop", "ptc.subagent.turn_stop"),
];

/// The full name of an event.
pub fn full_name(event: &str) -> String {
    for (short, root) in ROOTS {
        if let Some(rest) = event.strip_prefix(short) {
            return format!("{root}{rest}");
        }
    }
    format!("ptc_runner.sub_agent.{event}")
}

/// The name of the first draft, if it had one.
pub fn draft_name(event: &str) -> Option<&'static str> {
    DRAFT.iter().find(|(short, _)| *short == event).map(|(_, draft)| *draft)
}

/// Calls a listener with every name that a record has: the full one, then the draft's.
pub fn for_each_name(record: &Record, mut listener: impl FnMut(&str, &Record)) {
    listener(&full_name(&record.event), record);
    if let Some(draft) = draft_name(&record.event) {
        listener(draft, record);
    }
}
