//! Lines about decisions: who decided what about which call. Arguments are not in them; people see those before they
//! decide, and whoever may see them finds them in recordings.

use ptc_host::{Decision, PendingCall};

use super::counts::Counts;
use super::text::cut;
use crate::events;

/// Bytes of a name in a line.
const NAME: usize = 200;

/// A decision about one call.
#[derive(Debug, PartialEq, Eq)]
pub struct AuditLine {
    call: u64,
    tool: String,
    what: &'static str,
}

/// What is to be told of decisions about calls that wait.
pub fn lines(pending: &[PendingCall], decisions: &[(u64, Decision)]) -> Vec<AuditLine> {
    let line = |(id, decision): &(u64, Decision)| {
        let call = pending.iter().find(|call| call.id == *id);
        let what = match decision {
            Decision::Approve => "approved",
            Decision::Edit(_) => "edited",
            Decision::Reject(_) => REJECTED,
        };
        AuditLine { call: *id, tool: call.map(named).unwrap_or_default(), what }
    };
    decisions.iter().map(line).collect()
}

/// What is to be told of calls that are rejected although nobody can read which they are.
pub fn all_rejected() -> AuditLine {
    AuditLine { call: 0, tool: String::new(), what: REJECTED }
}

/// What a call is that was rejected.
const REJECTED: &str = "rejected";

/// Decisions that were taken, to be told when their program goes on or ends: until then they may be given back.
#[derive(Debug)]
pub struct AuditNote {
    /// Who decided.
    pub who: String,
    /// About which ticket.
    pub ticket: String,
    /// In which way.
    pub by: &'static str,
    /// Whether it goes on with what a server left that ended.
    pub again: bool,
    /// What about which calls.
    pub lines: Vec<AuditLine>,
}

impl AuditNote {
    /// Tells of them, and counts them.
    pub fn tell(&self, counts: &Counts) {
        let who = cut(&self.who, NAME);
        for AuditLine { call, tool, what } in &self.lines {
            counts.decided(what, self.by);
            events::decision(who, &self.ticket, *call, tool, what, self.by, self.again);
        }
    }
}

/// The tools of calls that wait, as lists of calls for people hold them, in words.
pub fn tools(pending: &[serde_json::Value]) -> String {
    let name = |call: &serde_json::Value| {
        let text = |key: &str| call[key].as_str().unwrap_or_default().to_owned();
        match text("server").as_str() {
            "" => text("tool"),
            server => format!("{server}/{}", text("tool")),
        }
    };
    let mut names: Vec<String> = pending.iter().map(name).collect();
    names.dedup();
    cut(&names.join(", "), NAME).to_owned()
}

/// The tool of a call: behind `call` that of a server.
fn named(call: &PendingCall) -> String {
    let text = |key: &str| call.args[key].as_str().unwrap_or_default();
    match call.tool.as_str() {
        "call" => cut(&format!("{}/{}", text("server"), text("tool")), NAME).to_owned(),
        tool => cut(tool, NAME).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_names_the_call_and_the_decision_and_no_arguments() {
        let call = |id, tool: &str, args| PendingCall { id, tool: tool.to_owned(), args, about: json!({}) };
        let pending = [
            call(3, "call", json!({"server": "crm", "tool": "put", "args": {"secret": 1}})),
            call(4, "mail", json!({"to": "ann"})),
        ];
        let decisions = [
            (3, Decision::Approve),
            (4, Decision::Edit(json!({"to": "bob"}))),
            (4, Decision::Reject("no".to_owned())),
        ];
        let line = |call, tool: &str, what| AuditLine { call, tool: tool.to_owned(), what };
        assert_eq!(
            lines(&pending, &decisions),
            [line(3, "crm/put", "approved"), line(4, "mail", "edited"), line(4, "mail", "rejected")]
        );
    }
}
