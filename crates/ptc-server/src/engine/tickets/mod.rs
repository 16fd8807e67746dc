//! Programs that wait for approval. Each has a ticket: sealed, bound to its owner, its program and its grants, for a
//! time, to be used once. What waits lies sealed in the store under the ticket's id; the text that clients get opens to
//! that id and to what it must fit.
//!
//! `parked.rs` is what is sealed, `seal.rs` the encryption (the only user of `ring` here), `decide.rs` takes a ticket and
//! goes on in a task that nobody cancels, `ruling.rs` compares a decision with an earlier one, `settle.rs` writes the result
//! together with the next ticket in one transaction, `made.rs` lists the calls that a program made, `shape.rs` says what must be there of a ticket, `unchanged.rs` looks whether all is as people were shown, `result.rs` is
//! `lisp_result`.
//!
//! Calls of a decided part are journalled under the id of the ticket, so a ticket that is taken again after a crash sends
//! nothing twice. A call that is already in the journal of its request or ticket gets its answer from there before anybody
//! is asked (`ptc-upstream/src/runtime/approval.rs`). Before a ticket is taken, digests are compared: of what the person was
//! shown (`Head::shown`: the definition of the tool and the part of the configuration that
//! `ptc-upstream/src/config/canonical.rs` names), of everything else that the program may call (`Head::used`), and of edits.
//! A session does not end before its tickets (`ptc-store/src/sessions/rows.rs`).

mod choice;
mod decide;
mod made;
mod parked;
mod result;
mod ruling;
mod seal;
mod settle;
mod shape;
mod unchanged;
mod unopened;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ptc_host::{Held, PendingCall, now_ms, visible};
use ptc_lisp::analyze::Manifest;
use ptc_store::tickets::{ListedTicket, NewTicket, SCOPE, TicketError, TicketQuota, Tickets};
use ptc_store::{Store, StoreError};
use ptc_upstream::Grants;
use ptc_upstream::pins::digest as digest_of;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};

pub use self::choice::{By, Choice, Decided, Which, WrongAnswer};
pub use self::decide::{ResumeError, stale};
pub use self::made::Made;
pub use self::parked::Head;
use self::parked::{Parked, for_model, for_people, shown, target};
pub use self::ruling::in_short as decisions_in_short;
pub use self::seal::Keys;
use self::seal::{SealError, Sealed};
pub use self::settle::{Ended, kept};
use self::shape::digest_of_shown;
pub use self::shape::wrong_ticket;
pub use self::unopened::{LackingKeys, rejected_by_operator, wrong_seal};
use super::api::{Approval, Caller, Reply, Signals};
use super::debug::CallFacts;
use super::pulse::{SILENT, ToldOnce, in_time};
use super::reason::Reason;
use super::receipt::{Filled, Receipt};
use super::resources::random_id;
use super::text::{cut_chars, hex, moment};
use super::upstreams::Used;
use super::{Answered, Engine, audit, envelope, fixed, once};
use crate::events;
use crate::options::ApprovalBy;

/// How tickets are kept.
#[derive(Clone, Debug)]
pub struct Desk {
    tickets: Tickets,
    keys: Arc<Keys>,
    ttl: Duration,
    /// Whether other servers on the same store see what waits.
    shared: bool,
    /// Whether it was told that tickets cannot be swept.
    unswept: Arc<ToldOnce>,
    /// Whether it was told that the file of the keys is not as it was.
    unkept: Arc<ToldOnce>,
}

/// What a ticket's text opens to.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Claims {
    id: String,
    owner: String,
    expires_ms: i64,
    program: String,
    grants: String,
}

impl Claims {
    /// Of a program that waits under the ticket of this id.
    fn of(id: &str, owner: &str, expires_ms: i64, head: &Head) -> Claims {
        let (id, owner) = (id.to_owned(), owner.to_owned());
        Claims { id, owner, expires_ms, program: digest(&head.source), grants: head.grants.clone() }
    }
}

/// A ticket that is about to be kept.
#[derive(Debug)]
pub struct UnkeptTicket {
    id: String,
    owner: Arc<str>,
    kind: &'static str,
    session: Option<String>,
    expires_ms: i64,
    sealed: Vec<u8>,
    about: Json,
    /// The answer that shows it.
    pub reply: Reply,
}

impl UnkeptTicket {
    /// Until when it can be used.
    pub fn expires_ms(&self) -> i64 {
        self.expires_ms
    }

    fn row(&self) -> NewTicket<'_> {
        NewTicket {
            id: &self.id,
            owner: &self.owner,
            kind: self.kind,
            session: self.session.as_deref(),
            expires_ms: self.expires_ms,
            sealed: &self.sealed,
            about: &self.about,
        }
    }
}

/// What is to be told of a ticket once it is kept.
pub struct WaitingNote {
    who: Arc<str>,
    ticket: String,
    calls: u64,
    tools: String,
}

impl WaitingNote {
    /// Of this ticket.
    pub fn of(new: &UnkeptTicket) -> WaitingNote {
        let pending = new.about["pending"].as_array().map(Vec::as_slice).unwrap_or_default();
        let (who, ticket, calls) = (new.owner.clone(), new.id.clone(), pending.len() as u64);
        WaitingNote { who, ticket, calls, tools: audit::tools(pending) }
    }

    /// Tells that its program waits.
    pub fn tell(&self) {
        events::ticket_waiting(&self.who, &self.ticket, self.calls, &self.tools);
    }
}

/// What the text of a ticket is bound to.
const TEXT: &str = "ptc ticket 1";

/// What the machine of a ticket is bound to.
fn machine_of(id: &str, owner: &str) -> String {
    format!("ptc machine 1\0{id}\0{owner}")
}

/// Characters of a program that are shown.
const PROGRAM_CHARS: usize = 4_000;
/// Characters of what a client calls itself that are shown.
const CLIENT_CHARS: usize = 100;

impl Desk {
    /// Tickets in a store, or in memory if there is none.
    pub fn open(store: Option<Arc<Store>>, keys: Option<Arc<Keys>>, ttl: Duration) -> Result<Desk, String> {
        let keys = keys.map_or_else(|| Keys::random().map(Arc::new), Ok)?;
        let shared = store.is_some();
        let store = match store {
            Some(store) => store,
            None => Arc::new(Store::open(":memory:").map_err(|error| error.to_string())?),
        };
        Ok(Desk {
            tickets: Tickets::new(store).read_by(wrong_ticket),
            keys,
            ttl,
            shared,
            unswept: Arc::default(),
            unkept: Arc::default(),
        })
    }

    fn claims(&self, text: &str) -> Result<Claims, SealError> {
        let plain = self.keys.open(TEXT, &Sealed::from_text(text)?)?;
        serde_json::from_slice(&plain).map_err(|_| SealError::Tampered)
    }

    /// The text of a ticket that claims this.
    fn text(&self, claims: &Claims) -> Result<String, String> {
        Ok(self.keys.seal(TEXT, json!(claims).to_string().as_bytes())?.to_text())
    }

    fn parked(&self, id: &str, owner: &str, sealed: &[u8]) -> Result<Parked, String> {
        let opened =
            Sealed::from_bytes(sealed).and_then(|sealed| self.keys.open(&machine_of(id, owner), &sealed));
        Parked::from_bytes(&opened.map_err(|error| error.to_string())?)
    }

    /// Forgets tickets whose time is over.
    pub async fn sweep(&self) {
        let tickets = self.tickets.clone();
        match blocking(&self.tickets, move || tickets.sweep_telling(events::ticket_expired)).await {
            Ok(_) => self.unswept.went_well(),
            Err(error) if self.unswept.failed() => tracing::warn!("tickets cannot be swept: {error}"),
            Err(_) => {}
        }
    }

    /// Tells once when the keys of programs that wait are nowhere but in this process.
    pub async fn look_at_keys(&self) {
        let keys = self.keys.clone();
        match tokio::task::spawn_blocking(move || keys.check_file()).await {
            Ok(Ok(())) => self.unkept.went_well(),
            Ok(Err(error)) if self.unkept.failed() => events::ticket_keys_gone(&error),
            _ => {}
        }
    }
}

impl Engine {
    /// Whether programs may wait for approval.
    pub fn approves(&self) -> bool {
        self.desk.is_some()
    }

    /// The ticket of a program that stopped at calls that somebody must approve.
    pub(super) async fn ticket(
        &self,
        caller: &Caller,
        mut head: Head,
        held: Held,
    ) -> Result<UnkeptTicket, Box<Answered>> {
        let Some(desk) = &self.desk else {
            return Err(Box::new(fixed(Reason::RUNTIME, "nobody can be asked for approval here", "")));
        };
        let id = format!("tkt-{}", random_id::<18>());
        if head.scope.is_empty() {
            head.scope.clone_from(&id);
            head.owner = caller.owner.to_string();
        }
        let expires_ms = now_ms().saturating_add(i64::try_from(desk.ttl.as_millis()).unwrap_or(i64::MAX));
        let claims = Claims::of(&id, &account(caller), expires_ms, &head);
        head.shown = self.shown_tools(held.pending()).await;
        let session = head.session.as_ref().map(|(id, _)| id.clone());
        let pending = shown(held.pending(), &self.redactor);
        let (program, _) = cut_chars(&head.source, PROGRAM_CHARS);
        let client = caller.client.as_deref().map(|name| visible(cut_chars(name, CLIENT_CHARS).0));
        let mut about = json!({
            "client": client,
            "transport": caller.transport.name(),
            "tool": if head.session.is_some() { "lisp_session_eval" } else { "lisp_eval" },
            "session_id": head.session.as_ref().map(|(id, _)| id),
            "program": visible(&self.redactor.redact_string(program.to_owned())),
            "pending": pending.iter().map(for_people).collect::<Vec<_>>(),
        });
        self.made_before(&head.before).write(&mut about);
        head.about = digest_of_shown(&about);
        let kind = if head.session.is_some() { "session" } else { "eval" };
        let sealed = |bound: &str, plain: &[u8]| {
            desk.keys.seal(bound, plain).map_err(|error| Box::new(fixed(Reason::RUNTIME, &error, "")))
        };
        let ticket = desk.text(&claims).map_err(|error| Box::new(fixed(Reason::RUNTIME, &error, "")))?;
        let machine = Parked { head, held }.to_bytes();
        let sealed = sealed(&machine_of(&id, &account(caller)), &machine)?.to_bytes();
        let approval = Approval { id: id.clone(), ticket, pending, expires_ms, wrong: None };
        let reply = self.required(approval);
        Ok(UnkeptTicket { id, owner: account(caller), kind, session, expires_ms, sealed, about, reply })
    }

    /// The answer of a program that waits, to whoever is to see to it that somebody decides.
    fn required(&self, approval: Approval) -> Reply {
        match self.settings.approval_by {
            ApprovalBy::Model => for_models(approval),
            ApprovalBy::Person => required(approval, self.page.get(), &self.where_to_decide()),
        }
    }

    /// Whether calls must be approved by people who can only do so in forms of their clients: there is no page, and no
    /// store that another server could show.
    pub fn only_forms_decide(&self) -> bool {
        let alone = self.desk.as_ref().is_some_and(|desk| !desk.shared);
        alone && self.settings.approval_by == ApprovalBy::Person && self.page.get().is_none()
    }

    /// What a model is to do about calls that people decide about.
    fn where_to_decide(&self) -> String {
        let place = match self.page.get() {
            Some(Place { page, how }) => format!("at {page}{how}"),
            None if self.only_forms_decide() => return NOBODY.to_owned(),
            None => {
                "on the page /approvals of a server on the same store, `ptc mcp --http --store …`".to_owned()
            }
        };
        format!(
            "A person decides, {place}. You cannot. Tell the user what waits and where, whole; then ask for the answer with \
             lisp_result and the id. Do not run the program again."
        )
    }

    /// What a program with these grants may call, as it is now, for whoever decides about it.
    pub(super) fn used(&self, manifest: &Manifest, grants: Grants) -> BTreeMap<String, Used> {
        self.upstreams.as_ref().map(|upstreams| upstreams.used(manifest, grants)).unwrap_or_default()
    }

    /// What people are shown of the tools of calls that wait, as digests.
    async fn shown_tools(&self, pending: &[PendingCall]) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        let Some(upstreams) = &self.upstreams else { return all };
        for (server, tool) in pending.iter().filter_map(target) {
            // What could not be shown cannot be approved later either.
            if let Ok(shown) = upstreams.shown(server, tool).await {
                all.insert(format!("{server}/{tool}"), shown);
            }
        }
        all
    }

    /// Drops what waits in a session of this process that is over or has changed. The store sees to its own sessions.
    pub(super) async fn drop_waiting(&self, session: &str) {
        let Some(desk) = &self.desk else { return };
        let (tickets, session) = (desk.tickets.clone(), session.to_owned());
        if let Err(error) = blocking(&desk.tickets, move || tickets.session_gone(&session)).await {
            tracing::warn!("tickets of a session cannot be dropped: {error}");
        }
    }

    /// Keeps a new ticket, with the answer that shows it if its request may come again.
    pub(super) async fn keep_ticket(
        &self,
        new: UnkeptTicket,
        facts: CallFacts,
        signals: &Signals,
    ) -> Answered {
        let Some(desk) = &self.desk else { return fixed(Reason::RUNTIME, "there are no tickets", "") };
        let answered = Answered::new(new.reply.clone(), Some(Reason::APPROVAL.name));
        let (tickets, filled) = (desk.tickets.clone(), Receipt::of(signals).map(|one| one.filled(&answered)));
        let kept = filled.is_some();
        let room = TicketQuota {
            tickets: self.settings.tickets_per_owner,
            bytes: self.settings.ticket_bytes_per_owner,
        };
        let (note, made) = (WaitingNote::of(&new), Made::written(Some(&new.about)));
        let put = move || tickets.put(&new.row(), room, filled.as_ref().and_then(Filled::reply).as_ref());
        match changing(&desk.tickets, put).await {
            Ok(()) => {
                note.tell();
                Answered { facts, kept, ..answered }
            }
            // A ticket that is new has no holder yet: it is the request that was lost.
            Err(TicketError::Lost) => once::taken_over(),
            Err(error @ TicketError::Store(_)) => made.tell(refused(&error), None),
            Err(error) if kept => made.tell(refused(&error), Some(made::UNKEPT_UNDER_KEY)),
            Err(error) => made.tell(refused(&error), Some(made::UNKEPT)),
        }
    }

    /// The open tickets of a caller, the oldest first: ids, times and the calls that wait.
    pub async fn open_tickets(&self, caller: &Caller) -> Result<Vec<Json>, String> {
        let Some(desk) = &self.desk else { return Ok(Vec::new()) };
        let (tickets, owner) = (desk.tickets.clone(), account(caller));
        let listed = blocking(&desk.tickets, move || tickets.list_open(&owner))
            .await
            .map_err(|error| error.to_string())?;
        let entry = |ticket: ListedTicket| {
            let mut entry = match &ticket.damaged {
                Some(why) => json!({"damaged": why}),
                None => ticket.about,
            };
            // Tickets of earlier versions hold no text for people.
            for call in entry["pending"].as_array_mut().into_iter().flatten() {
                if call.get("args_text").is_none() {
                    *call = for_people(call);
                }
            }
            entry["id"] = ticket.id.into();
            entry["busy"] = ticket.busy.into();
            entry["decided"] = ticket
                .decided
                .as_ref()
                .map_or(Json::Null, |decided| ruling::for_people(decided, &self.redactor));
            entry["created_at"] = moment(ticket.created_ms).into();
            entry["expires_at"] = moment(ticket.expires_ms).into();
            entry
        };
        Ok(listed.into_iter().map(entry).collect())
    }

    /// A digest of what a program is granted: the same program with other grants is another one.
    pub(super) fn grants_digest(&self, grants: &Grants, session: Option<&str>) -> String {
        let prelude = self.prelude.as_ref().map(|prelude| prelude.artifact_hash());
        digest_of(&json!([grants.canonical(), self.settings.read_only, prelude, session]))
    }
}

/// What the calls of a ticket's program belong to in the journal.
fn scope_of(id: &str) -> String {
    format!("{SCOPE}{id}")
}

/// Whom tickets belong to.
fn account(caller: &Caller) -> Arc<str> {
    caller.principal.clone()
}

/// Asks the store for what changes no ticket, apart from the threads that answer.
async fn blocking<T: Send + 'static>(
    tickets: &Tickets,
    work: impl FnOnce() -> Result<T, TicketError> + Send + 'static,
) -> Result<T, TicketError> {
    let (place, cause) = (STORE.to_owned(), SILENT.to_owned());
    let silent = || Err(StoreError::Busy { place, cause }.into());
    in_time(tickets.store(), tokio::task::spawn_blocking(work)).await.unwrap_or_else(silent)
}

/// Has the store change a ticket. If it does not answer in time, nobody knows whether it did.
async fn changing<T: Send + 'static>(
    tickets: &Tickets,
    work: impl FnOnce() -> Result<T, TicketError> + Send + 'static,
) -> Result<T, TicketError> {
    let (place, cause) = (STORE.to_owned(), SILENT.to_owned());
    let silent = || Err(StoreError::Unacknowledged { place, cause }.into());
    in_time(tickets.store(), tokio::task::spawn_blocking(work)).await.unwrap_or_else(silent)
}

/// What logs call the store where it says nothing.
const STORE: &str = "tickets";

/// How many calls wait, in words.
fn calls(approval: &Approval) -> String {
    match approval.pending.len() {
        1 => "1 call waits".to_owned(),
        count => format!("{count} calls wait"),
    }
}

/// Where people decide.
#[derive(Debug)]
pub struct Place {
    /// The address of the page.
    pub page: String,
    /// How people come there, to be added to a sentence.
    pub how: &'static str,
}

/// What a model is to do where nobody has answered a form and there is no other way to decide.
const NOBODY: &str = "A person must decide, but nobody can here: no form was answered, and the server has neither a page for \
                      decisions (--approval-page off) nor a store (--store). Tell the user what waits, whole, and that whoever \
                      runs the server can give it a page. Do not run the program again.";

/// The answer of a program that waits for a person. Nothing in it decides.
fn required(approval: Approval, place: Option<&Place>, feedback: &str) -> Reply {
    let object = json!({
        "status": "approval_required",
        "message": format!("{} for the approval of a person; the program goes on from there", calls(&approval)),
        "id": approval.id,
        "page": place.map(|place| &place.page),
        "expires_at": moment(approval.expires_ms),
        "pending": approval.pending.iter().map(for_model).collect::<Vec<_>>(),
        "feedback": feedback,
    });
    Reply { approval: Some(approval), ..envelope::plain(object, false) }
}

/// The answer of a program that waits, where models decide.
fn for_models(approval: Approval) -> Reply {
    let object = json!({
        "status": "approval_required",
        "message": format!("{} for approval; the program goes on from there", calls(&approval)),
        "id": approval.id,
        "ticket": approval.ticket,
        "expires_at": moment(approval.expires_ms),
        "pending": approval.pending.iter().map(for_model).collect::<Vec<_>>(),
        "feedback": "Show the pending calls to the user, whole. Then call lisp_approve, lisp_reject or lisp_edit \
                     with the ticket. Do not run the program again.",
    });
    Reply { approval: Some(approval), ..envelope::plain(object, false) }
}

/// What is said of a ticket that is damaged.
const UNREADABLE: &str = "what is kept of the ticket cannot be read; nothing was changed";
/// What to do about it.
const ONLY_REJECTED: &str = "Its program cannot go on. Reject its calls, which ends it; or have whoever runs the server look with \
                             `ptc store check` and restore a backup. What its calls did before stays, so look at that before you run \
                             it again.";

/// Why a ticket cannot be used, as an answer.
fn refused(error: &TicketError) -> Answered {
    let again = "Run the program again to get a new ticket.";
    let (reason, feedback) = match error {
        TicketError::Missing => (
            Reason::TICKET_INVALID,
            "If its program waited here, its time is over for long: look first at what its calls did, then run it again.",
        ),
        TicketError::Owner => (Reason::TICKET_OWNER, "Use a ticket of your own."),
        TicketError::Expired => (Reason::TICKET_EXPIRED, again),
        TicketError::Gone => (Reason::TICKET_STALE, again),
        TicketError::Used { .. } => (Reason::TICKET_USED, "See ended for what came of it."),
        TicketError::Busy | TicketError::Decided { .. } => {
            (Reason::TICKET_BUSY, "Somebody decided already; wait for what comes of it.")
        }
        TicketError::Lost => (Reason::TICKET_BUSY, "Another server went on with the ticket."),
        TicketError::Full => (
            Reason::TICKET_LIMIT,
            "The calls that must be approved were not made. Decide about programs that wait, then run it again.",
        ),
        TicketError::TooLarge { .. } => (
            Reason::TICKET_LIMIT,
            "The calls that must be approved were not made. Pass less to them, decide about programs that wait, or have \
             --max-ticket-bytes-per-owner raised.",
        ),
        TicketError::Store(StoreError::Unacknowledged { .. }) => (
            Reason::OUTCOME_UNKNOWN,
            "Send the request again under the same key, if it has one. Else look first at what waits, and call again only \
             if the change is not there.",
        ),
        TicketError::Store(StoreError::Damaged { .. }) => (Reason::STORE, ONLY_REJECTED),
        TicketError::Exists | TicketError::Store(_) => (Reason::STORE, "Call again in a moment."),
    };
    let message = match error {
        // Where the store is, and what it said, is nothing for clients.
        TicketError::Store(StoreError::Unacknowledged { .. }) => {
            "the store did not answer; the change may or may not be kept".to_owned()
        }
        TicketError::Store(StoreError::Damaged { .. }) => UNREADABLE.to_owned(),
        TicketError::Store(_) => "the store cannot be used at the moment; nothing was changed".to_owned(),
        error => error.to_string(),
    };
    if let TicketError::Store(error) = error {
        tracing::error!(%error, "tickets cannot be stored");
    }
    let mut object = json!({"status": "error", "reason": reason.name, "message": message,
                            "feedback": feedback});
    if let TicketError::Used { ended } = error {
        object["ended"] = ended.clone();
    }
    Answered::new(envelope::plain(object, true), Some(reason.name))
}

fn digest(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes())[..16])
}
