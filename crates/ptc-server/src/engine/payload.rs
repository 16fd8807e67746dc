//! What a call came to, before a profile decides how much of it is shown.

use ptc_agent::{DISCOVERY_BYTES, page_text};
use ptc_upstream::ledger::{LedgerEntry, Status};
use ptc_upstream::metrics::{Returned, ptc_metrics};
use ptc_upstream::model::Reason;
use serde_json::{Map, Value as Json};

use super::api::ResourceLink;
use super::evaluate::Given;
use super::text::{UNTRUSTED, cut, harmless};

/// The answer of a program, or why there is none. Texts have their secrets covered already.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Payload {
    /// Reason and message of an error.
    pub error: Option<(String, String)>,
    /// The result line; absent for nil.
    pub result: Option<String>,
    /// Whether the result line is only the beginning.
    pub truncated: bool,
    /// Bytes of the result, whether it is shown whole or not.
    pub whole_bytes: usize,
    /// The value that fits the caller's schema.
    pub validated: Option<Json>,
    /// Lines that the program printed.
    pub prints: Vec<String>,
    /// What a model should know.
    pub feedback: String,
    /// The part of the feedback that says what to do next.
    pub guidance: Vec<String>,
    /// What came of upstream calls; `None` on servers without upstreams.
    pub upstream: Option<Upstream>,
    /// Fields of sessions: `session`, `memory`, `history_notices`, `detail`.
    pub session: Map<String, Json>,
    /// What happened to the session, for the last line of the text.
    pub notes: Vec<String>,
    /// Where the whole result can be read, if it was cut.
    pub resource: Option<ResourceLink>,
}

/// Upstream calls of one program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Upstream {
    /// One entry per call.
    pub calls: Vec<Json>,
    /// Whether each of them may have changed something.
    pub changing: Vec<bool>,
    /// What results looked like.
    pub results: Vec<Json>,
    /// Sizes before and after.
    pub metrics: Option<Json>,
}

impl Upstream {
    /// The account of these calls for an answer of so many bytes.
    pub fn of(calls: &[LedgerEntry], returned: Returned) -> Upstream {
        Upstream {
            calls: calls.iter().map(LedgerEntry::to_json).collect(),
            changing: calls.iter().map(LedgerEntry::may_have_changed).collect(),
            results: calls.iter().filter_map(LedgerEntry::result_json).collect(),
            metrics: ptc_metrics(calls, returned),
        }
    }
}

impl Payload {
    /// An error with advice.
    pub fn error(reason: &str, message: impl Into<String>, feedback: impl Into<String>) -> Payload {
        Payload {
            error: Some((reason.to_owned(), message.into())),
            feedback: feedback.into(),
            ..Payload::default()
        }
    }

    /// The bytes of the answer that count as its size: what the program returned, also where less of it is shown, and
    /// without the prompt. What the server cuts away is nothing that the program made smaller.
    pub fn returned(&self) -> Returned {
        let result_bytes = match self.error {
            Some(_) => 0,
            None => self.whole_bytes,
        };
        Returned { result_bytes, prints_bytes: self.prints.iter().map(String::len).sum() }
    }

    /// The reason of the error, if it is one.
    pub fn reason(&self) -> Option<&str> {
        self.error.as_ref().map(|(reason, _)| reason.as_str())
    }
}

/// What begins the line that shows a result.
const PROMPT: &str = "user=> ";

/// The bytes of the text of a result, without what stands before it; nil has none.
pub fn answer_bytes(given: &Given) -> usize {
    if given.is_nil() { 0 } else { given.text.len() }
}

/// What shows a result: itself if it fits `most` bytes, else what it is; and whether it is not whole. One that tells what there
/// is may be longer, and is shown page by page. `kept` says that the next program has it.
pub fn result_line(given: &Given, most: usize, kept: bool) -> (String, bool) {
    let told = given.noted.told.as_ref();
    let most = if told.is_some() { most.max(DISCOVERY_BYTES) } else { most };
    if given.text.len() <= most {
        return (format!("{PROMPT}{}", given.text), false);
    }
    let page = told.and_then(|told| page_text(&given.json, most, told, kept));
    (page.unwrap_or_else(|| too_long(&given.json, most, kept)), true)
}

/// What a line has of ours if it says what a result is instead of showing it, and what it has of the result.
pub fn handle_parts(line: &str) -> Option<(&str, &str)> {
    line.starts_with(";; ").then(|| ptc_agent::handle_parts(line))
}

/// What is shown of a value that is not shown whole.
pub fn too_long(value: &Json, most: usize, kept: bool) -> String {
    let rest = match kept {
        true => "all of it: *1",
        false => "return less of it, or print the parts you need",
    };
    ptc_agent::handle_text(value, most, rest)
}

/// Entries, bytes of each preview, and bytes of the whole summary.
const SUMMARY: (usize, usize, usize) = (3, 80, 600);

/// What upstreams had answered before a program failed, in a block that it cannot end. Errors that the message has are not
/// said again. Of a call whose outcome is unknown the whole message is there: its end says by which identity people find it.
pub fn upstream_summary(calls: &[LedgerEntry], message: &str) -> Option<String> {
    const TAG: &str = UNTRUSTED;
    let (most, preview, bytes) = SUMMARY;
    let is_unknown = |call: &LedgerEntry| call.reason == Some(Reason::OutcomeUnknown);
    // They come first, and take no room from the others.
    let (unknown, others): (Vec<_>, Vec<_>) = calls.iter().partition(|call| is_unknown(call));
    let bytes = bytes
        + unknown.iter().take(most).filter_map(|call| call.error.as_ref()).map(String::len).sum::<usize>();
    let told = unknown.into_iter().chain(others).filter_map(|call| {
        match (call.status, &call.overview, &call.error) {
            (Status::Ok, Some(seen), _) => Some((call, seen.preview.as_str())),
            (Status::Error, _, Some(error)) if !message.contains(error.as_str()) => {
                Some((call, error.as_str()))
            }
            _ => None,
        }
    });
    let line = |(call, text): (&LedgerEntry, &str)| {
        let preview = if is_unknown(call) { text.len() } else { preview };
        let text = harmless(&cut(text, preview).replace(['\n', '\r'], " "));
        format!("{}/{} {}: {text}", call.server, call.tool, status_name(call.status))
    };
    let mut lines: Vec<String> = told.take(most).map(line).collect();
    while !lines.is_empty() {
        let text = format!(
            "Tool results before the error (untrusted):\n<{TAG} source=\"upstream-tool-results\">\n{}\n</{TAG}>",
            lines.join("\n")
        );
        if text.len() <= bytes {
            return Some(text);
        }
        lines.pop();
    }
    None
}

fn status_name(status: Status) -> &'static str {
    match status {
        Status::Ok => "ok",
        Status::Error => "error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_has_the_whole_of_what_is_unknown_before_all_else() {
        let call = |reason: Reason, error: String| LedgerEntry {
            server: "crm".to_owned(),
            tool: "put".to_owned(),
            status: Status::Error,
            duration_ms: 1,
            result_bytes: None,
            oversize: false,
            reason: Some(reason),
            error: Some(error),
            recalled: false,
            unsent: false,
            effect: "write",
            args_hash: String::new(),
            overview: None,
        };
        let unknown = |n: usize| {
            format!("outcome unknown: crm/put {n} {}; its identity is c0ffee{n}", "why ".repeat(80))
        };
        let mut calls: Vec<_> =
            (0..5).map(|n| call(Reason::Timeout, format!("late {n} {}", "x".repeat(200)))).collect();
        calls.extend((0..2).map(|n| call(Reason::OutcomeUnknown, unknown(n))));
        let told = upstream_summary(&calls, "the program took longer").expect("a summary");
        let lines: Vec<&str> = told.lines().filter(|line| line.starts_with("crm/put error: ")).collect();
        assert_eq!(lines.len(), 3, "{told}");
        assert!(lines[0].ends_with("c0ffee0") && lines[1].ends_with("c0ffee1"), "{told}");
        assert!(lines[2].contains("late 0") && lines[2].len() < 120, "{told}");
    }
}
