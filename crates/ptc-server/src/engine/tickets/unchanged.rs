//! Before a ticket is taken: whether what is decided about is what people were shown, and can be done as they wrote it. The
//! servers are asked at that moment, since what this process knows of their tools may be older than the ticket.

use std::collections::BTreeSet;

use ptc_host::{Decision, PendingCall};

use super::super::upstreams::{Unlisted, Unseen, Upstreams};
use super::super::{Answered, Engine};
use super::Head;
use super::choice::WrongAnswer;
use super::decide::{answer, stale};
use super::parked::{Parked, target};
use crate::engine::Reason;

/// Why a decision cannot be carried out.
pub enum Unfit {
    /// The program cannot go on like this.
    Answer(Box<Answered>),
    /// A call cannot be made as somebody wrote it.
    Edit(WrongAnswer),
}

impl From<Box<Answered>> for Unfit {
    fn from(answered: Box<Answered>) -> Self {
        Unfit::Answer(answered)
    }
}

impl Engine {
    /// Whether the calls that are decided about are what people were shown, those that they wrote can be made, and all that
    /// the program may call is as it was.
    pub(super) async fn unfit(&self, parked: &Parked, decisions: &[(u64, Decision)]) -> Result<(), Unfit> {
        let Some(upstreams) = &self.upstreams else { return Ok(()) };
        let unlisted = upstreams.look(&servers(parked, decisions), makes_calls(decisions)).await;
        let mut rejected = Vec::new();
        for (id, decision) in decisions {
            let call = parked.held.pending().iter().find(|call| call.id == *id);
            let Some((server, tool)) = call.and_then(target) else { continue };
            // A call that is rejected is not made, whatever became of its tool; another one of it is asked about anew.
            if matches!(decision, Decision::Reject(_)) {
                rejected.push((server, tool));
                continue;
            }
            self.is_as_shown(upstreams, (server, tool), &parked.head, &unlisted)?;
            if let Decision::Edit(call) = decision
                && let Some(why) = upstreams.wrong(call).await
            {
                let why = self.redactor.redact_string(why);
                return Err(Unfit::Edit(WrongAnswer { call: Some(*id), why }));
            }
        }
        match upstreams.changed(&parked.head.used, &rejected, &unlisted) {
            Some(what) => {
                Err(Box::new(stale(&format!("{what}, has changed since the program stopped"))).into())
            }
            None => Ok(()),
        }
    }

    /// Whether a tool is what people were shown. What cannot be looked at is not taken for it.
    fn is_as_shown(
        &self,
        upstreams: &Upstreams,
        (server, tool): (&str, &str),
        head: &Head,
        unlisted: &Unlisted,
    ) -> Result<(), Box<Answered>> {
        let name = format!("{server}/{tool}");
        let seen = match unlisted.get(server) {
            Some(why) => Err(Unseen::Unlisted(why.clone())),
            None => upstreams.seen(server, tool),
        };
        let refusal = match (seen, head.shown.get(&name)) {
            (Ok(now), Some(shown)) if now == *shown => return Ok(()),
            (Ok(_), Some(_)) => {
                stale(&format!("the tool {name}, or how its server is set up, is not what was shown"))
            }
            (Ok(_), None) => stale(&format!(
                "nobody was shown what the tool {name} is: its server could not be asked when the program stopped"
            )),
            (Err(Unseen::Gone), _) => stale(&format!("the tool {name} is not there any more")),
            (Err(Unseen::Withheld(why)), _) => stale(&self.redactor.redact_string(why)),
            (Err(Unseen::Unlisted(why)), _) => {
                let why = self.redactor.redact_string(why);
                let message = format!(
                    "nobody can tell whether the tool {name} is what was shown, because its server cannot be asked: {why}"
                );
                let feedback = format!(
                    "Nothing was done, and the program waits on. See to it that the server {server} can be reached, then decide \
                     the same again; or reject the call."
                );
                answer(Reason::UPSTREAM, &message, &feedback)
            }
        };
        Err(Box::new(refusal))
    }
}

/// Whether a decision has calls made.
pub fn makes_calls(decisions: &[(u64, Decision)]) -> bool {
    decisions.iter().any(|(_, decision)| !matches!(decision, Decision::Reject(_)))
}

/// The servers that a program may call, and those of the calls that are decided about.
fn servers<'p>(parked: &'p Parked, decisions: &[(u64, Decision)]) -> BTreeSet<&'p str> {
    let decided = |call: &&PendingCall| decisions.iter().any(|(id, _)| *id == call.id);
    let pending = parked.held.pending().iter().filter(decided).filter_map(target);
    let used =
        parked.head.used.iter().filter(|(_, used)| used.names_tools()).map(|(server, _)| server.as_str());
    pending.map(|(server, _)| server).chain(used).collect()
}
