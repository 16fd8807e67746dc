//! The tools that are offered: names, descriptions, schemas and hints.

use serde_json::{Value as Json, json};

use super::api::{Annotations, ToolSpec};
use super::settings::{Profile, Settings};
use super::{cards, schemas};
use crate::options::ApprovalBy;
use ptc_upstream::catalog::{Catalog, units};

/// A tool of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tool {
    /// `lisp_eval`
    Eval,
    /// `lisp_check`
    Check,
    /// `lisp_task`
    Task,
    /// `lisp_debug`
    Debug,
    /// `lisp_result`
    Result,
    /// `lisp_approve`
    Approve,
    /// `lisp_reject`
    Reject,
    /// `lisp_edit`
    Edit,
    /// `lisp_session_start`
    SessionStart,
    /// `lisp_session_list`
    SessionList,
    /// `lisp_session_list_preludes`
    SessionPreludes,
    /// `lisp_session_eval`
    SessionEval,
    /// `lisp_session_inspect`
    SessionInspect,
    /// `lisp_session_forget`
    SessionForget,
    /// `lisp_session_close`
    SessionClose,
}

/// Every tool with its name and title, in the order of listing.
const TOOLS: &[(Tool, &str, &str)] = &[
    (Tool::Eval, "lisp_eval", "Run a PTC-Lisp program"),
    (Tool::Check, "lisp_check", "Check a PTC-Lisp program"),
    (Tool::Task, "lisp_task", "Do a task with upstream tools"),
    (Tool::Debug, "lisp_debug", "Look at recent calls"),
    (Tool::Result, "lisp_result", "Ask what came of a program that waited"),
    (Tool::Approve, "lisp_approve", "Approve calls that wait"),
    (Tool::Reject, "lisp_reject", "Reject calls that wait"),
    (Tool::Edit, "lisp_edit", "Approve a call with other arguments"),
    (Tool::SessionStart, "lisp_session_start", "Start a session"),
    (Tool::SessionList, "lisp_session_list", "List sessions"),
    (Tool::SessionPreludes, "lisp_session_list_preludes", "List the preludes of a session"),
    (Tool::SessionEval, "lisp_session_eval", "Run a PTC-Lisp program in a session"),
    (Tool::SessionInspect, "lisp_session_inspect", "Inspect a session"),
    (Tool::SessionForget, "lisp_session_forget", "Forget parts of a session"),
    (Tool::SessionClose, "lisp_session_close", "Close a session"),
];

impl Tool {
    /// Every tool, in the order of listing.
    pub fn all() -> impl Iterator<Item = Tool> {
        TOOLS.iter().map(|(tool, ..)| *tool)
    }

    /// The name that clients use.
    pub fn name(self) -> &'static str {
        TOOLS.iter().find(|(tool, ..)| *tool == self).map_or("", |(_, name, _)| name)
    }

    fn title(self) -> &'static str {
        TOOLS.iter().find(|(tool, ..)| *tool == self).map_or("", |(.., title)| title)
    }

    /// The tool of this name.
    pub fn named(name: &str) -> Option<Tool> {
        TOOLS.iter().find(|(_, known, _)| *known == name).map(|(tool, ..)| *tool)
    }

    /// Whether it belongs to sessions.
    pub fn is_session(self) -> bool {
        self.name().starts_with("lisp_session_")
    }
}

/// What descriptions depend on.
#[derive(Clone, Copy, Debug)]
pub struct Surface<'a> {
    /// The settings.
    pub settings: &'a Settings,
    /// What upstreams can do, for `lisp_task`.
    pub capabilities: &'a str,
    /// What the prelude of all programs offers.
    pub inventory: Option<&'a str>,
    /// Who decides, if programs may wait for approval.
    pub approves: Option<ApprovalBy>,
    /// What upstreams offer, if there are any.
    pub catalog: Option<&'a Catalog>,
}

/// The most UTF-16 units of the description of a tool that runs programs, and of the server's instructions. Claude Code cuts
/// both at 2,048, and what is cut off does not reach the model.
pub const MOST_UNITS: usize = 2_000;

impl Surface<'_> {
    /// A tool as clients list it.
    pub fn spec(&self, tool: Tool) -> ToolSpec {
        let (profile, upstreams) = (self.settings.profile, self.catalog.is_some());
        let (description, input_schema, output_schema, annotations) = match tool {
            Tool::Eval => (
                self.described(if upstreams { cards::EVAL_UPSTREAM } else { cards::EVAL }),
                schemas::eval_input(),
                schemas::eval_output(profile, upstreams),
                Some(self.eval_hints()),
            ),
            Tool::Check => (
                cards::CHECK.to_owned(),
                schemas::check_input(),
                Some(schemas::check_output()),
                Some(Annotations::new(true, false, true, false)),
            ),
            Tool::Task => (
                self.task_description(),
                schemas::task_input(),
                Some(schemas::task_output()),
                Some(match self.settings.read_only {
                    true => Annotations::new(true, false, false, true),
                    false => Annotations::new(false, true, false, true),
                }),
            ),
            Tool::Debug => (
                DEBUG.to_owned(),
                schemas::debug_input(),
                Some(json!({"type": "object", "required": ["status"]})),
                Some(Annotations::new(true, false, true, false)),
            ),
            Tool::SessionEval => (
                self.described(if upstreams { cards::SESSION_EVAL_UPSTREAM } else { cards::SESSION_EVAL }),
                schemas::session_eval_input(),
                (profile != Profile::Slim).then(|| schemas::session_output(&["status", "session"])),
                None,
            ),
            Tool::Result => (
                RESULT.to_owned(),
                schemas::closed(
                    json!({"id": {"type": "string", "description": "The id that came with approval_required."}}),
                    &["id"],
                ),
                None,
                Some(Annotations::new(true, false, true, false)),
            ),
            Tool::Approve | Tool::Reject | Tool::Edit => {
                let (text, input) = deciding(tool);
                (text.to_owned(), input, None, Some(Annotations::new(false, true, false, true)))
            }
            other => {
                let (text, input, required) = utility(other);
                (text.to_owned(), input, Some(schemas::session_output(required)), None)
            }
        };
        let waits = self.approves.is_some() && matches!(tool, Tool::Eval | Tool::SessionEval);
        let output_schema =
            output_schema.map(|schema| if waits { schemas::or_waits(schema) } else { schema });
        ToolSpec {
            name: tool.name(),
            title: tool.title(),
            description,
            input_schema,
            output_schema,
            annotations,
        }
    }

    fn task_description(&self) -> String {
        match self.capabilities {
            "" => cards::TASK.to_owned(),
            text => format!("{}\n\nAvailable upstream capabilities:\n{text}", cards::TASK),
        }
    }

    /// What running a program may do to the world.
    fn eval_hints(&self) -> Annotations {
        match (self.catalog.is_some(), self.settings.read_only) {
            (false, _) => Annotations::new(true, false, true, false),
            (true, false) => Annotations::new(false, true, false, true),
            (true, true) => Annotations::new(true, false, false, true),
        }
    }

    /// Which servers there are comes first, and the language last: of the language most is known. What has no room is a page
    /// that programs read.
    fn described(&self, card: &str) -> String {
        let calls = if self.catalog.is_some() { cards::UPSTREAM_CALLS } else { "" };
        let limit = format!("Results are shown whole up to {} bytes.", self.settings.result_bytes);
        let fixed = joined(&[calls, card, self.note(), &limit, self.refusals(), self.waits()]);
        let (inventory, page) = match self.inventory {
            Some(inventory) => (inventory, PRELUDE),
            None => ("", ""),
        };
        let least = joined(&[&fixed, page, cards::LANGUAGE]);
        let room = MOST_UNITS.saturating_sub(units(&least) + units(BETWEEN));
        let catalog = self.catalog.map(|catalog| self.settings.catalog.render(catalog, room));
        let catalog = catalog.unwrap_or_default();
        let whole = |inventory: &str, language: &str| joined(&[&catalog, &fixed, inventory, language]);
        [(inventory, cards::reference()), (inventory, cards::LANGUAGE)]
            .into_iter()
            .map(|(inventory, language)| whole(inventory, language))
            .find(|text| units(text) <= MOST_UNITS)
            .unwrap_or_else(|| whole(page, cards::LANGUAGE))
    }

    /// What answers look like.
    fn note(&self) -> &'static str {
        match self.settings.profile {
            Profile::Slim => cards::SLIM,
            Profile::Structured => cards::STRUCTURED,
            Profile::Debug => "",
        }
    }

    /// Which programs are refused.
    fn refusals(&self) -> &'static str {
        if self.catalog.is_some() && self.settings.read_only { READ_ONLY } else { "" }
    }

    /// What becomes of programs that wait.
    fn waits(&self) -> &'static str {
        match self.approves {
            None => "",
            Some(ApprovalBy::Person) => WAITS,
            Some(ApprovalBy::Model) => MODEL_WAITS,
        }
    }
}

/// What stands between the parts of a description.
const BETWEEN: &str = "\n\n";

fn joined(parts: &[&str]) -> String {
    parts.iter().copied().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(BETWEEN)
}

/// What the server is and which servers are behind it, if there are any.
pub fn instructions(settings: &Settings, catalog: &Catalog) -> Option<String> {
    let room = MOST_UNITS.saturating_sub(units(cards::INSTRUCTIONS) + units(BETWEEN));
    let servers = settings.catalog.render(catalog, room);
    (!servers.is_empty()).then(|| joined(&[cards::INSTRUCTIONS, &servers]))
}

/// A text that became longer when secrets in it were covered, cut to what reaches a model.
pub fn fitted(mut text: String) -> String {
    if units(&text) > MOST_UNITS {
        let mut used = '…'.len_utf16();
        let mut goes_on = |c: char| {
            used += c.len_utf16();
            used <= MOST_UNITS
        };
        let kept = text.chars().take_while(|c| goes_on(*c)).map(char::len_utf8).sum();
        text.truncate(kept);
        text.push('…');
    }
    text
}

/// Where a program reads what the prelude of all programs offers.
pub const PRELUDE: &str = "Functions of this server's prelude: `(doc 'ptc/prelude)`.";

const READ_ONLY: &str = "This server only reads: a program that may call a tool that writes, or whose effect is unknown, is refused.";

const WAITS: &str = "Some calls must be approved by a person. A program that makes one stops there and answers `approval_required` \
with an id. You cannot decide. Tell the user, then ask lisp_result for the answer; the program goes on from that call. Do not \
run it again.";

const RESULT: &str = "Asks what came of a program that answered `approval_required`: its answer if somebody has decided, \
`approval_required` if nobody has. Decides nothing.";

const MODEL_WAITS: &str = "Some calls must be approved by the user. A program that makes one stops there and answers \
`approval_required` with a ticket and the calls. Show them to the user, then call lisp_approve, lisp_reject or lisp_edit with \
the ticket; the program goes on from that call. Do not run it again.";

const DEBUG: &str = "Looks at the server's recent calls: `stats` sums them up (errors, durations, upstream calls, \
how much payload programs collapsed), `recent` lists them, `get` shows one by request_id. Programs and inputs are \
shown as far as the server's policy allows, secrets are covered.";

/// Description and input schema of the tools that decide about calls that wait.
fn deciding(tool: Tool) -> (&'static str, Json) {
    let ticket = json!({"type": "string", "description": "The ticket that came with approval_required."});
    let calls = json!({"type": "array", "items": {"type": "integer"},
                       "description": "Numbers of pending calls; all of them unless given."});
    match tool {
        Tool::Approve => (
            "Makes the calls that wait, and lets the program go on from there. Only after the user has seen the \
             pending calls and agreed: the operator lets you decide, and nothing checks that anybody was asked. \
             Answers what the program would have answered.",
            schemas::closed(json!({"ticket": ticket, "calls": calls}), &["ticket"]),
        ),
        Tool::Reject => (
            "Does not make the calls that wait. The program goes on and gets the reason as a failed call.",
            schemas::closed(
                json!({"ticket": ticket, "calls": calls,
                       "reason": {"type": "string", "description": "Why, for the program."}}),
                &["ticket"],
            ),
        ),
        _ => (
            "Makes a call that waits with other arguments, and lets the program go on from there.",
            schemas::closed(
                json!({"ticket": ticket,
                       "call": {"type": "integer", "description": "The number of the pending call, if there are several."},
                       "args": {"type": "object", "description": "All arguments of the call, as the user wants them."}}),
                &["ticket", "args"],
            ),
        ),
    }
}

/// Description, input schema and required fields of the answer of the session tools that run nothing.
fn utility(tool: Tool) -> (&'static str, Json, &'static [&'static str]) {
    match tool {
        Tool::SessionStart => (
            "Starts a session whose programs see each other's definitions. Gives its session_id. It ends after \
             ttl_ms, after some time without use, or with lisp_session_close.",
            schemas::session_start_input(),
            &["status", "session_id"],
        ),
        Tool::SessionList => (
            "Lists your open sessions, the last used first, without their values.",
            schemas::closed(json!({}), &[]),
            &["status", "count", "sessions"],
        ),
        Tool::SessionPreludes => (
            "Lists the exact preludes that a session was started with.",
            schemas::closed(schemas::session_id(), &["session_id"]),
            &["status", "session_id", "prelude_refs"],
        ),
        Tool::SessionInspect => (
            "Shows what a session holds: overview, memory (definitions), prints, tool_calls, history (*1 *2 *3) \
             or limits.",
            schemas::session_inspect_input(),
            &["status", "session_id", "session"],
        ),
        Tool::SessionForget => (
            "Forgets definitions by name, or clears memory, history, prints, tool_calls or upstream_calls.",
            schemas::session_forget_input(),
            &["status", "session_id"],
        ),
        _ => (
            "Closes a session and forgets it. A program that runs in it is stopped.",
            schemas::session_close_input(),
            &["status", "session_id", "closed"],
        ),
    }
}

#[cfg(test)]
mod tests;
