//! Lines about decisions: who decided what about which call. Arguments are not in them; people see those before they
//! decide, and whoever may see them finds them in recordings.

use ptc_host::{Decision, PendingCall};

use super::text::cut;

/// Where these lines come from, by which the log calls them `decision`.
pub const TARGET: &str = concat!(env!("CARGO_CRATE_NAME"), "::decision");

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
            Decision::Reject(_) => "rejected",
        };
        AuditLine { call: *id, tool: call.map(named).unwrap_or_default(), what }
    };
    decisions.iter().map(line).collect()
}

/// Tells of decisions that were taken. One that is taken again goes on with what a server left that ended.
pub fn decided(who: &str, ticket: &str, again: bool, lines: &[AuditLine]) {
    let who = cut(who, NAME);
    for AuditLine { call, tool, what } in lines {
        tracing::info!(target: TARGET, who, ticket, call = *call, tool = tool.as_str(), decision = *what, again);
    }
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
