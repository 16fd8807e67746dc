//! `lisp_result`: what came of a program that waited, and who decides about one that still does.

use ptc_store::tickets::{TicketError, Waiting};
use serde_json::{Value as Json, json};

use super::super::api::{Approval, Args, Caller, Content, Reply};
use super::super::args;
use super::super::text::moment;
use super::super::{Answered, Engine, envelope};
use super::choice::Which;
use super::decide::{NotTaken, wrong};
use super::parked::{for_model, shown};
use super::{Claims, account, blocking, ruling};
use crate::engine::Reason;
use crate::options::ApprovalBy;

/// Tickets of one program that `lisp_result` follows.
const MOST_TICKETS: usize = 10_000;

impl Engine {
    /// `lisp_result`: what came of a program that waited, or that it still does.
    pub(in super::super) async fn result_of(&self, caller: &Caller, mut args: Args) -> Answered {
        if let Err(message) = args::known(&args, &["id"], &[]) {
            return wrong(&message);
        }
        let Some(Json::String(id)) = args.remove("id") else {
            return wrong("give `id`, which came with approval_required");
        };
        match self.followed(caller, id).await {
            Followed::Waits(id, waiting) => self.still_waits(caller, &id, *waiting).await,
            Followed::Over(answered) => *answered,
        }
    }

    /// What is said to a client that is about to be asked about a ticket, if it does not wait any more: nobody is asked about
    /// what was decided elsewhere.
    pub async fn no_longer_waits(&self, caller: &Caller, approval: &Approval) -> Option<Reply> {
        self.came_of(caller, &approval.id).await.map(|answered| answered.reply)
    }

    /// What came of a program that waited under the ticket of this id, if it is not the one that it still waits under.
    async fn came_of(&self, caller: &Caller, id: &str) -> Option<Answered> {
        match self.followed(caller, id.to_owned()).await {
            Followed::Waits(last, _) if last == id => None,
            Followed::Waits(last, waiting) => Some(self.still_waits(caller, &last, *waiting).await),
            Followed::Over(answered) => Some(*answered),
        }
    }

    /// What came of the program whose form this was about, if somebody decided about it elsewhere.
    pub(in super::super) async fn decided_elsewhere(
        &self,
        caller: &Caller,
        which: &Which,
    ) -> Option<Answered> {
        let Which::Text(text) = which else { return None };
        let claims = self.desk.as_ref()?.claims(text).ok()?;
        self.came_of(caller, &claims.id).await
    }

    /// Follows a program through its tickets. It may wait several times, and each of them names the next one.
    async fn followed(&self, caller: &Caller, mut id: String) -> Followed {
        let over = |answered: Answered| Followed::Over(Box::new(answered));
        let Some(desk) = &self.desk else { return over(wrong("this server asks nobody for approval")) };
        for _ in 0..MOST_TICKETS {
            let (tickets, owner, asked) = (desk.tickets.clone(), account(caller), id.clone());
            let ended = match blocking(&desk.tickets, move || tickets.read(&asked, &owner)).await {
                Ok(waiting) => return Followed::Waits(id, Box::new(waiting)),
                Err(TicketError::Used { ended }) => ended,
                Err(error) => return over(self.not_taken(desk, &id, NotTaken::Refused(error)).await),
            };
            match ended["id"].as_str().filter(|_| ended["status"] == "approval_required") {
                Some(next) => id = next.to_owned(),
                None => return over(told(&id, &ended)),
            }
        }
        over(wrong("this program waited more often than can be followed"))
    }

    /// The answer about a program that waits under the ticket of this id. Where models decide, they get the ticket once more.
    pub(super) async fn still_waits(&self, caller: &Caller, id: &str, waiting: Waiting) -> Answered {
        let message = match (waiting.busy, &waiting.decided) {
            (false, _) if waiting.damage().is_some() => {
                "what is kept of the program cannot be read, so it cannot go on: it can only be rejected"
            }
            (true, _) => "somebody decided, and the program goes on right now",
            (false, Some(_)) => {
                "somebody decided, and the server that went on with the program ended: the same must be decided again, or the \
                 calls rejected"
            }
            (false, None) => "nobody has decided yet",
        };
        let mut object = json!({
            "status": "approval_required",
            "message": message,
            "id": id,
            "expires_at": moment(waiting.expires_ms),
        });
        if let Some(decided) = &waiting.decided {
            object["decided"] = ruling::in_short(decided);
        }
        object["feedback"] = match (self.settings.approval_by, waiting.busy) {
            (ApprovalBy::Person, _) => self.where_to_decide().into(),
            (ApprovalBy::Model, true) => UNDER_WAY.into(),
            (ApprovalBy::Model, false) => match self.approval_again(caller, id, waiting).await {
                Some(approval) => {
                    object["ticket"] = approval.ticket.into();
                    object["pending"] = approval.pending.iter().map(for_model).collect();
                    MODEL_DECIDES.into()
                }
                None => UNOPENED.into(),
            },
        };
        Answered::new(envelope::plain(object, false), Some(Reason::APPROVAL.name))
    }

    /// What waits under a ticket, with its text, if it can be opened here.
    async fn approval_again(&self, caller: &Caller, id: &str, waiting: Waiting) -> Option<Approval> {
        let desk = self.desk.clone()?;
        let (owner, id, redactor) = (account(caller), id.to_owned(), self.redactor.clone());
        let tickets = desk.tickets.clone();
        let opened = blocking(&tickets, move || {
            let Ok(parked) = desk.parked(&id, &owner, &waiting.sealed) else { return Ok(None) };
            let claims = Claims::of(&id, &owner, waiting.expires_ms, &parked.head);
            let pending = shown(parked.held.pending(), &redactor);
            let ticket = desk.text(&claims).ok();
            Ok(ticket.map(|ticket| Approval {
                id,
                ticket,
                pending,
                expires_ms: waiting.expires_ms,
                wrong: None,
            }))
        });
        opened.await.ok().flatten()
    }
}

/// How far a program is that waited.
enum Followed {
    /// It waits, under the ticket of this id.
    Waits(String, Box<Waiting>),
    /// It does not.
    Over(Box<Answered>),
}

/// The answer of a program that is over, as it was given to whoever decided.
fn told(id: &str, ended: &Json) -> Answered {
    let text = ended["text"].as_str().unwrap_or_default();
    let is_error = ended["status"] == "error";
    let object = json!({"status": ended["status"], "id": id, "text": text});
    let content = vec![Content::Text(text.to_owned())];
    let reply = Reply { content, structured: Some(object), is_error, approval: None, recalled: false };
    Answered::new(reply, is_error.then_some(Reason::RUNTIME.name))
}

/// What to do while somebody else goes on with a program, where models decide.
const UNDER_WAY: &str = "Nothing is to be decided. Ask again in a moment with lisp_result and the id.";
/// Who decides about a program that waits, where models do.
const MODEL_DECIDES: &str = "You decide, for the user: show the pending calls to the user, whole, then call lisp_approve, lisp_reject \
                             or lisp_edit with the ticket. Do not run the program again.";
/// The same if this server cannot open what waits.
const UNOPENED: &str = "This server cannot show what waits: call lisp_approve, lisp_reject or lisp_edit with the ticket that came with \
                        approval_required, on the server that it came from, after the user has agreed. Do not run the program again.";
