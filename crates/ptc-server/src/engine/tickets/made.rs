//! What a program made before somebody decides about it again, or ends it: calls of its earlier parts, and of servers that
//! went on with it and ended. Whoever is told that nothing is done is told of these, because they stay.

use ptc_store::effects::{Became, Effects, Known};
use ptc_upstream::ledger::LedgerEntry;
use ptc_upstream::model::Reason as Fault;
use serde::Deserialize as _;
use serde_json::{Value as Json, json};

use super::super::once::Once;
use super::super::pulse::in_time;
use super::super::reason::Reason;
use super::super::{Answered, Engine, envelope};
use super::parked::Before;
use super::settle::is_final;
use super::{Desk, blocking};

/// Calls that a program made and that may have changed something, each tool once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// Those that were answered.
    made: Vec<String>,
    /// Those of which nobody knows whether they happened.
    unknown: Vec<String>,
    /// Whether there may be more: a ticket of an earlier version does not tell what its program made before.
    is_partial: bool,
}

/// Where calls that were made stand, in answers and in what may be shown of a ticket.
const MADE: &str = "calls_made";
/// Where those stand of which nobody knows.
const UNKNOWN: &str = "calls_unknown";

impl Made {
    fn is_empty(&self) -> bool {
        self.made.is_empty() && self.unknown.is_empty()
    }

    /// Whether there may be more of them.
    pub fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// Writes it down with a ticket, beside what is sealed: a ticket that is over, or cannot be opened, still tells it.
    pub fn write(&self, about: &mut Json) {
        about[MADE] = json!(self.made);
        about[UNKNOWN] = json!(self.unknown);
    }

    /// What was written down with a ticket.
    pub fn written(about: Option<&Json>) -> Made {
        let names = |key: &str| about.and_then(|about| Vec::deserialize(about.get(key)?).ok());
        match (names(MADE), names(UNKNOWN)) {
            (Some(made), Some(unknown)) => Made { made, unknown, is_partial: false },
            _ => Made { is_partial: true, ..Made::default() },
        }
    }

    /// Of a program that made these calls. The answers of those that are `unwritten` are not in the journal: whoever sends the
    /// request again is told that nobody knows of them. The server's own tools are among these, and not in the account.
    pub fn of<'c>(calls: impl IntoIterator<Item = &'c LedgerEntry>, mut unwritten: Vec<String>) -> Made {
        let mut made = Made::default();
        for call in calls.into_iter().filter(|call| call.may_have_changed()) {
            let name = format!("{}/{}", call.server, call.tool);
            let unwritten_at = unwritten.iter().position(|open| *open == name);
            let is_unwritten = unwritten_at.map(|at| unwritten.swap_remove(at)).is_some();
            match is_unwritten || call.is_open() {
                true => add(&mut made.unknown, name),
                false => add(&mut made.made, name),
            }
        }
        unwritten.into_iter().for_each(|name| add(&mut made.unknown, name));
        made
    }

    /// The same where the answers of these calls are not in the journal.
    #[must_use]
    pub fn unwritten(mut self, unwritten: Vec<String>) -> Made {
        for name in unwritten {
            self.made.retain(|made| *made != name);
            add(&mut self.unknown, name);
        }
        self
    }

    /// Those that were answered, and those of which nobody knows.
    pub fn names(self) -> (Vec<String>, Vec<String>) {
        (self.made, self.unknown)
    }

    /// Counts a call of the account of an earlier part.
    fn count(&mut self, call: &Json) {
        let reason = call["reason"].as_str().unwrap_or_default();
        let name = |key: &str| call[key].as_str().unwrap_or_default();
        let name = format!("{}/{}", name("server"), name("tool"));
        match () {
            () if Fault::named(reason).is_some_and(Fault::is_refusal) => {}
            () if Fault::named(reason).is_some_and(Fault::is_silent) => add(&mut self.unknown, name),
            () => add(&mut self.made, name),
        }
    }

    /// Counts a call that stands in the journal.
    fn count_known(&mut self, call: &Known) {
        let name = format!("{}/{}", call.server, call.tool);
        match &call.became {
            Became::DidNotHappen => {}
            Became::Answered(answer) if answer["unsent"] == true => {}
            Became::Answered(_) => add(&mut self.made, name),
            Became::Unknown | Became::Dismissed => add(&mut self.unknown, name),
        }
    }

    /// The same in words, to be added to a sentence.
    fn words(&self) -> String {
        let made = (!self.made.is_empty()).then(|| format!("it has made {}", self.made.join(", ")));
        let unknown = (!self.unknown.is_empty())
            .then(|| format!("nobody knows whether it has made {}", self.unknown.join(", ")));
        made.into_iter().chain(unknown).collect::<Vec<_>>().join("; ")
    }

    /// An answer that says nothing of calls that were made, with them, and with what to do then.
    pub fn tell(&self, answered: Answered, feedback: Option<&str>) -> Answered {
        if self.is_empty() {
            return answered;
        }
        // An answer that is only a text says what went wrong.
        let plain =
            || json!({"status": "error", "reason": answered.reason, "message": answered.reply.text()});
        let mut object = answered.reply.structured.clone().unwrap_or_else(plain);
        let message = object["message"].as_str().unwrap_or_default();
        object["message"] = format!("{message}. Before that, {}", self.words()).into();
        if let Some(feedback) = feedback {
            object["feedback"] = feedback.into();
        }
        self.write(&mut object);
        Answered { reply: envelope::plain(object, answered.reply.is_error), ..answered }
    }
}

fn add(names: &mut Vec<String>, name: String) {
    if !names.contains(&name) {
        names.push(name);
    }
}

/// The calls of a scope, as the journal has them.
async fn of_scope(effects: Effects, scope: String) -> Result<Vec<Known>, String> {
    let store = effects.store().clone();
    let asked = tokio::task::spawn_blocking(move || effects.of_scope(&scope));
    let known = in_time(&store, asked).await.ok_or("the store did not answer in time")?;
    known.map_err(|error| error.to_string())
}

impl Engine {
    /// What was made before under a ticket, and by earlier parts of its program: as their account says if it could be opened,
    /// else as it was written down with the ticket.
    pub(super) async fn made(&self, desk: &Desk, id: &str, before: Option<&Before>) -> Result<Made, String> {
        let mut made = match before {
            Some(before) => self.made_before(before),
            None => {
                let (tickets, asked) = (desk.tickets.clone(), id.to_owned());
                let about = blocking(&desk.tickets, move || tickets.about(&asked))
                    .await
                    .map_err(|error| error.to_string())?;
                Made::written(about.as_ref())
            }
        };
        let Some(once) = self.once.as_ref().filter(|once| desk.tickets.is_beside(once.effects())) else {
            return Ok(made);
        };
        let known = of_scope(once.effects().clone(), super::scope_of(id)).await?;
        known.iter().for_each(|call| made.count_known(call));
        Ok(made)
    }

    /// What earlier parts of a program made.
    pub(super) fn made_before(&self, before: &Before) -> Made {
        let mut made = Made::default();
        match before.changing() {
            Some(changing) => {
                let calls = before.calls().iter().zip(changing).filter(|(_, changing)| **changing);
                calls.for_each(|(call, _)| made.count(call));
            }
            // Of an earlier version: the catalog tells what its tools do, if their servers are there.
            None => {
                before.calls().iter().filter(|call| !self.only_reads(call)).for_each(|call| made.count(call))
            }
        }
        made
    }

    /// An answer to a request that was begun before and is not carried out now, with what it has made. The reply that it has
    /// from then on is not kept without that.
    pub(in super::super) async fn refused_with_made(
        &self,
        once: &Once,
        scope: &str,
        answered: Answered,
    ) -> Answered {
        let told = answered.reply.structured.as_ref();
        if told.is_some_and(|told| told.get(MADE).is_some() || told.get(UNKNOWN).is_some()) {
            return answered;
        }
        let mut made = Made::default();
        match of_scope(once.effects().clone(), scope.to_owned()).await {
            Ok(known) => known.iter().for_each(|call| made.count_known(call)),
            Err(why) => {
                tracing::error!("what a request made before cannot be read: {why}");
                return Answered { is_last: false, ..advised(answered, UNREAD) };
            }
        }
        // These say themselves what to do.
        let is_clear = [Reason::REQUEST_STALE, Reason::OUTCOME_UNKNOWN]
            .iter()
            .any(|reason| answered.reason.as_deref() == Some(reason.name));
        made.tell(answered, (!is_clear).then_some(BEGUN))
    }

    /// Whether a call in an account changes nothing, as far as its tool is known.
    fn only_reads(&self, call: &Json) -> bool {
        let Some(upstreams) = &self.upstreams else { return false };
        let (Some(server), Some(tool)) = (call["server"].as_str(), call["tool"].as_str()) else {
            return false;
        };
        let catalog = upstreams.runtime.catalog();
        let tool = catalog.server(server).and_then(|server| server.tool(tool));
        tool.is_some_and(|tool| tool.effect == ptc_upstream::config::EffectClass::Read)
    }

    /// An answer which says that nothing was done, because the program does not go on, with what was done before. Without the
    /// account of its earlier parts the ticket is over, or cannot be opened.
    pub(super) async fn with_made(
        &self,
        desk: &Desk,
        id: &str,
        before: Option<&Before>,
        answered: Answered,
    ) -> Answered {
        let is = |reason: Reason| answered.reason.as_deref() == Some(reason.name);
        let (unasked, is_open) = (is(Reason::UPSTREAM), before.is_some() || is(Reason::TICKET_INVALID));
        if before.is_some() && !unasked && !is_final(&answered) {
            return answered;
        }
        let made = match self.made(desk, id, before).await {
            Ok(made) => made,
            Err(why) => {
                tracing::error!("what a program made before cannot be read: {why}");
                return advised(answered, UNREAD);
            }
        };
        let feedback = match (unasked, is_open) {
            (true, _) => {
                "Nothing was done now, what was made stays, and the program waits on. See to it that the server can be \
                          reached, then decide the same again; or reject the call."
            }
            (false, true) => STAYS,
            (false, false) => OVER,
        };
        let answered = if made.is_partial { advised(answered, UNTOLD) } else { answered };
        made.tell(answered, Some(feedback))
    }
}

/// What to do about a program that cannot go on and has made calls.
const STAYS: &str = "Nothing was done now, and what was made stays. Reject the calls to end the program. To run it again makes \
                     those calls again, so look first what they did.";
/// The same if its ticket is over.
const OVER: &str = "Nothing was done now, and what was made stays. To run the program again makes those calls again, so look \
                    first what they did.";
/// The same if it cannot wait, because there is no room or its session is over.
pub const UNKEPT: &str = "The calls that must be approved were not made, and what was made stays. Decide about programs that wait, \
                          if there are too many. To run the program again makes those calls again, so look first what they did.";
/// The same for a request under a key.
pub const UNKEPT_UNDER_KEY: &str = "The calls that must be approved were not made, and what was made stays. Decide about programs \
                                    that wait, if there are too many. Send the request again under the same key: calls that \
                                    were answered are not made again.";
/// What to do about a request under a key that was begun before and is not carried out now.
const BEGUN: &str = "What was made stays, and nothing is decided under the key of the request: send it again under the same key, and \
                     calls that were made are not made again.";
/// What to do if its ticket does not tell what it has made.
const UNTOLD: &str =
    "Nothing was done now. What calls of the program did before stays; look at that before you run it again.";
/// What to do if nobody can tell what it has made.
const UNREAD: &str = "Nothing was done now. Whether the program made calls before cannot be read at the moment: ask again before \
                      you run it again.";

/// An answer with something else to do.
fn advised(mut answered: Answered, feedback: &str) -> Answered {
    if let Some(object) = &mut answered.reply.structured {
        object["feedback"] = feedback.into();
        answered.reply = envelope::plain(object.clone(), answered.reply.is_error);
    }
    answered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_stands_beside_what_nobody_knows_and_what_was_not_made_is_left_out() {
        let mut made = Made::default();
        for (tool, reason) in [
            ("put", Json::Null),
            ("put", Json::Null),
            ("odd", json!("tool_error")),
            ("late", json!("timeout")),
            ("no", json!("approval_rejected")),
        ] {
            made.count(&json!({"server": "crm", "tool": tool, "reason": reason}));
        }
        let known = |tool: &str, became| Known {
            identity: "i".to_owned(),
            server: "crm".to_owned(),
            tool: tool.to_owned(),
            begun_ms: 0,
            became,
            note: None,
        };
        made.count_known(&known("send", Became::Answered(json!({"ok": true}))));
        made.count_known(&known("gap", Became::Unknown));
        made.count_known(&known("void", Became::DidNotHappen));
        made.count_known(&known("unsent", Became::Answered(json!({"ok": false, "unsent": true}))));
        assert_eq!(made.made, ["crm/put", "crm/odd", "crm/send"]);
        assert_eq!(made.unknown, ["crm/late", "crm/gap"]);
        let told = made.tell(super::super::stale("it has changed"), Some(STAYS));
        let object = told.reply.structured.expect("an object");
        assert_eq!(
            object["message"],
            "it has changed. Before that, it has made crm/put, crm/odd, crm/send; nobody knows whether it has made \
             crm/late, crm/gap"
        );
        assert!(!object.to_string().contains("Nothing was done. Run"), "{object}");
        let told = made.unwritten(vec!["crm/put".to_owned(), "ptc/prelude_write".to_owned()]).names();
        assert_eq!(told.0, ["crm/odd", "crm/send"], "what is not written down is not known later");
        assert_eq!(told.1, ["crm/late", "crm/gap", "crm/put", "ptc/prelude_write"]);
        let told = Made::default().tell(super::super::stale("it has changed"), Some(STAYS));
        assert!(told.reply.text().contains("Nothing was done. Run the program again."));
    }
}
