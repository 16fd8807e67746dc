//! Requests that a client may send again. A client that names a request by a key of its own gets, for the same key,
//! the one reply that is kept, from whichever server of a store it asks.
//!
//! A request belongs to the server that began it, by a lease in the store. While that server lives, every other answers
//! `busy` and touches nothing. When it is gone, whoever is asked next takes the request over, and runs its program so
//! that no call that may change something is made a second time. Whoever was replaced can neither begin calls nor keep a
//! reply any more.
//!
//! A request goes on to its end although its client went away, since the client may send it again; only one that the
//! client takes back is stopped. A client that was asked about calls in a form answers under the key of its request, and
//! what comes of that is the reply of the request from then on, whichever of its forms is sent again.

use std::sync::Arc;
use std::time::Duration;

use ptc_store::effects::Effects;
use ptc_store::requests::{Began, NewRequest, Reply as KeptReply, RequestError, Stands};
use ptc_store::{Lease, StoreError};
use ptc_upstream::EffectJournal;
use ptc_upstream::pins::digest;
use serde_json::{Value as Json, json};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::api::{Approval, Args, CallError, Caller, Content, Reply, ResourceLink, Signals, Transport};
use super::lease::{give_back_later, lease_ms, renewal};
use super::pulse::{SILENT, ToldOnce, in_time};
use super::reason::Reason;
use super::tickets::{Decided, Which};
use super::tools::Tool;
use super::{Answered, Engine, Handled, fixed, resources};
use crate::effects::{Held, HeldJournal, StoreJournal, call_scope, request_scope};

/// How often what is older is looked for.
pub const SWEEP: Duration = Duration::from_secs(10 * 60);
/// Plans are kept for good: they must not be applied twice, whenever that is tried.
const LASTING: &str = "plan:";
/// Bytes of a key.
const KEY_BYTES: usize = 256;

/// What is known of requests that may come again.
#[derive(Debug)]
pub struct Once {
    journal: Arc<StoreJournal>,
    /// What is being asked or written.
    tasks: TaskTracker,
    runtime: Handle,
    /// Whether it was told that the journal cannot be swept.
    unswept: ToldOnce,
}

impl Once {
    /// For the requests of a store. Must be called on the runtime that serves.
    pub fn new(journal: StoreJournal) -> Once {
        let (tasks, runtime) = (TaskTracker::new(), Handle::current());
        Once { journal: Arc::new(journal), tasks, runtime, unswept: ToldOnce::default() }
    }

    /// Where calls are written down that nobody takes over.
    pub fn journal(&self) -> Arc<dyn EffectJournal> {
        self.journal.clone()
    }

    /// The journal of the store.
    pub fn effects(&self) -> &Effects {
        self.journal.effects()
    }

    /// Where calls of a program are written down that belongs to what is held. One that runs again is told what it was
    /// told before.
    pub async fn held(&self, held: Held, scope: &str, again: bool) -> Result<Arc<HeldJournal>, String> {
        let scope = scope.to_owned();
        let before = match again {
            true => {
                let seen = self
                    .apart(move |journal| journal.effects().seen(&scope).map_err(|error| error.to_string()));
                seen.await?
            }
            false => Vec::new(),
        };
        let journal = HeldJournal::new(&self.journal, held, before);
        Ok(Arc::new(if again { journal } else { journal.for_the_first_time() }))
    }

    /// Calls of a caller whose outcome is not known. Those that belong to nobody, of plans for one, are told to whoever starts
    /// the server.
    pub async fn gaps(&self, caller: &Caller) -> Result<Json, String> {
        let (own, local) = (caller.principal.clone(), caller.transport == Transport::Stdio);
        let gaps = self.apart(move |journal| {
            let mut gaps = journal.gaps()?;
            gaps.retain(|gap| journal.owner(&gap.scope).map_or(local, |owner| *owner == *own));
            Ok::<_, String>(gaps)
        });
        let gaps = gaps.await?;
        let entry = |gap: ptc_store::effects::Gap| {
            json!({"identity": gap.identity, "server": gap.server, "tool": gap.tool, "args": gap.args,
                   "begun": ptc_host::called_at(gap.begun_ms)})
        };
        Ok(gaps.into_iter().map(entry).collect())
    }

    /// Forgets what nobody asks for any more. Calls without an answer stay until somebody has looked at them.
    pub async fn sweep(&self) {
        let swept = self.apart(|journal| {
            let kept = journal.retention_ms();
            journal.requests().sweep(kept).map_err(|error| error.to_string())?;
            journal.effects().sweep(kept, LASTING).map_err(|error| error.to_string())
        });
        match swept.await {
            Ok(_) => self.unswept.went_well(),
            Err(why) if self.unswept.failed() => tracing::warn!("the journal cannot be swept: {why}"),
            Err(_) => {}
        }
    }

    /// Waits until everything is written and every request that ended here is given back.
    pub async fn finish(&self) {
        self.tasks.close();
        self.tasks.wait().await;
        self.tasks.reopen();
    }

    /// Begins a request, or says why it is not run here and now.
    async fn begin(&self, scope: &str, tool: Tool, hash: &str) -> Came<'_> {
        let (scope, digest) = (scope.to_owned(), json!({"sha256": hash}).to_string());
        let (tasks, runtime, own) = (self.tasks.clone(), self.runtime.clone(), self.journal.clone());
        let began = self.apart(move |journal| {
            let new = NewRequest { scope: &scope, tool: tool.name(), digest: digest.as_bytes() };
            let began = journal.requests().begin_within(&new, lease_ms(), journal.retention_ms());
            let began = began.map_err(|error| {
                // It may be held although the store has not said so.
                let requests = journal.requests().clone();
                give_back_later(&runtime, move || requests.give_back_owed(&scope).is_ok());
                NotStarted::from(error)
            })?;
            // From here on it is given back, even if nobody waits for it any more.
            let lease = match &began {
                Began::Held { lease, .. } => Some(lease.clone()),
                _ => None,
            };
            Ok::<_, NotStarted>((
                began,
                Unclaimed { lease, journal: own, _counted: tasks.token(), tasks, runtime },
            ))
        });
        let not = |answered: Answered| Came::Not(Box::new(answered));
        match began.await {
            Ok((Began::Held { lease, again }, unclaimed)) => {
                unclaimed.claim();
                Came::Ours(Claim::new(self, lease.clone()), lease, again)
            }
            Ok((Began::Done(kept), _)) => Came::Before(kept),
            Ok((Began::Busy, _)) => not(under_way()),
            Ok((Began::Another, _)) => {
                not(wrong("this request key belongs to another request; take a new key for each request"))
            }
            Err(why) => not(why.answered()),
        }
    }

    /// How far the request of a scope is.
    async fn stands(&self, scope: String) -> Result<Stands, String> {
        self.apart(move |journal| journal.requests().stands(&scope).map_err(|error| error.to_string())).await
    }

    async fn apart<T: Send + 'static, E: From<String> + Send + 'static>(
        &self,
        work: impl FnOnce(&StoreJournal) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let journal = self.journal.clone();
        let asked = self.tasks.spawn_blocking_on(move || work(&journal), &self.runtime);
        in_time(self.journal.effects().store(), asked).await.unwrap_or_else(|| Err(SILENT.to_owned().into()))
    }
}

/// What becomes of a request that came.
enum Came<'o> {
    /// This server carries it out, by this lease; and whether somebody began it before.
    Ours(Claim<'o>, Lease, bool),
    /// It has a reply.
    Before(Json),
    /// It is not run here and now.
    Not(Box<Answered>),
}

/// A request that was begun for somebody who may not wait for it any more. Dropped, it is given back: nobody runs it, and its
/// client was told that nothing was done.
struct Unclaimed {
    lease: Option<Lease>,
    journal: Arc<StoreJournal>,
    tasks: TaskTracker,
    runtime: Handle,
    /// Goes after the lease has been given back, or the end of the server would not wait for that.
    _counted: TaskTrackerToken,
}

impl Unclaimed {
    /// Somebody carries it out from now on.
    fn claim(mut self) {
        self.lease = None;
    }
}

impl Drop for Unclaimed {
    fn drop(&mut self) {
        if let Some(lease) = self.lease.take() {
            let (journal, runtime) = (self.journal.clone(), self.runtime.clone());
            let given = move || drop(given_back(&journal, &runtime, lease));
            self.tasks.spawn_blocking_on(given, &self.runtime);
        }
    }
}

/// A request that this server carries out. Dropped without a reply, it is given back.
struct Claim<'o> {
    once: &'o Once,
    lease: Option<Lease>,
    renewing: AbortHandle,
    /// Set when another server has taken it over.
    lost: CancellationToken,
}

/// Why a request is not begun.
enum NotStarted {
    /// The store refused.
    Store(String),
    /// What is kept of it cannot be read.
    Damaged(String),
    /// The store did not say. If it is begun nevertheless, it is given back.
    Unsaid(String),
}

impl From<RequestError> for NotStarted {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Store(StoreError::Unacknowledged { .. }) => NotStarted::Unsaid(error.to_string()),
            RequestError::Store(StoreError::Damaged { .. }) => NotStarted::Damaged(error.to_string()),
            error => NotStarted::Store(error.to_string()),
        }
    }
}

impl From<String> for NotStarted {
    /// It did not answer in time.
    fn from(silence: String) -> Self {
        NotStarted::Unsaid(silence)
    }
}

impl NotStarted {
    /// The answer. What an earlier try did stays, so it is not said that nothing was ever done.
    fn answered(&self) -> Answered {
        let again = "Send it again under the same key in a moment.";
        let (message, why, fix) = match self {
            NotStarted::Store(why) => {
                ("the request cannot be written down at the moment; nothing was done now", why, again)
            }
            NotStarted::Damaged(why) => (
                "what is kept of the request cannot be read; nothing was done now",
                why,
                "Tell whoever runs the server, who can look with `ptc store check` and restore a backup. It may have been carried \
                 out: look at what it was to change before you send it under another key.",
            ),
            NotStarted::Unsaid(why) => (
                "the store did not say whether the request is written down; its program was not run now",
                why,
                again,
            ),
        };
        tracing::error!("a request cannot be written down: {why}");
        fixed(Reason::STORE, message, fix)
    }
}

/// Why a reply is not kept.
enum NotKept {
    /// Another server carries the request out.
    Lost,
    /// The store failed.
    Store(String),
}

impl From<String> for NotKept {
    fn from(why: String) -> Self {
        NotKept::Store(why)
    }
}

impl<'o> Claim<'o> {
    fn new(once: &'o Once, lease: Lease) -> Claim<'o> {
        let lost = CancellationToken::new();
        let (journal, held, told) = (once.journal.clone(), lease.clone(), lost.clone());
        let saying = once.runtime.spawn(async move {
            loop {
                tokio::time::sleep(renewal()).await;
                let (journal, held) = (journal.clone(), held.clone());
                let at = journal.clone();
                let said = tokio::task::spawn_blocking(move || at.requests().renew(&held, lease_ms()));
                // A store that does not answer may do so next time; the reply decides.
                if let Some(Err(RequestError::Lost)) = in_time(journal.effects().store(), said).await {
                    return told.cancel();
                }
            }
        });
        Claim { once, lease: Some(lease), renewing: saying.abort_handle(), lost }
    }

    /// Keeps the reply.
    async fn keep(&mut self, reply: Json) -> Result<(), NotKept> {
        let Some(lease) = self.lease.clone() else { return Err(NotKept::Lost) };
        let kept = self.once.apart(move |journal| {
            let kept = journal.requests().keep(&KeptReply { lease: &lease, answer: &reply });
            kept.map_err(|error| match error {
                RequestError::Lost => NotKept::Lost,
                RequestError::Store(error) => NotKept::Store(error.to_string()),
            })
        });
        kept.await.inspect(|()| self.lease = None)
    }

    /// Gives the request back, and is done with it when this returns; false if another server has taken it over.
    async fn give_back(mut self) -> bool {
        let Some(lease) = self.lease.take() else { return true };
        let runtime = self.once.runtime.clone();
        let given = self
            .once
            .apart(move |journal| given_back(journal, &runtime, lease).map_err(|error| error.to_string()));
        // One that cannot be given back now is not known to be lost.
        given.await.unwrap_or(true)
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.renewing.abort();
        if let Some(lease) = self.lease.take() {
            let (journal, runtime) = (self.once.journal.clone(), self.once.runtime.clone());
            let given = move || drop(given_back(&journal, &runtime, lease));
            self.once.tasks.spawn_blocking_on(given, &self.once.runtime);
        }
    }
}

/// Gives a request back, now or as soon as the store can, and says whether it was held. Blocks.
fn given_back(journal: &StoreJournal, runtime: &Handle, lease: Lease) -> Result<bool, RequestError> {
    let given = journal.requests().give_back(&lease);
    if given.is_err() {
        let requests = journal.requests().clone();
        give_back_later(runtime, move || requests.give_back(&lease).is_ok());
    }
    given
}

impl Engine {
    /// The engine, for a call that goes on to its end although nobody waits for it: whoever sends it again gets its reply.
    pub(super) fn going_on(&self, tool: Tool, signals: &Signals) -> Option<Arc<Engine>> {
        let keyed = self.once.is_some() && signals.request_key.is_some();
        (keyed && may_come_again(tool)).then(|| self.own.upgrade()).flatten()
    }

    /// Does something to its end. Whoever goes is not waited for; the work is, when the server ends.
    pub(super) async fn to_its_end(
        &self,
        work: impl Future<Output = Result<Reply, CallError>> + Send + 'static,
        gone: Option<CancellationToken>,
    ) -> Result<Reply, CallError> {
        let task = self.under_way.spawn(work);
        let left = async {
            match gone {
                Some(gone) => gone.cancelled_owned().await,
                None => std::future::pending().await,
            }
        };
        let failed = || CallError::Internal("a request could not be carried out".to_owned());
        tokio::select! {
            biased;
            ended = task => ended.unwrap_or_else(|_| Err(failed())),
            () = left => Err(CallError::Cancelled),
        }
    }

    /// Handles a call so that it can be sent again.
    pub(super) async fn handle_once(
        &self,
        caller: &Caller,
        tool: Tool,
        args: Args,
        signals: &Signals,
    ) -> Handled {
        let (once, key) = match (&self.once, &signals.request_key) {
            (_, _) if !may_come_again(tool) => return self.handle(caller, tool, args, signals).await,
            (None, None) => return self.handle(caller, tool, args, signals).await,
            (None, Some(_)) => {
                return Ok(wrong(
                    "a request key needs a server with a store; start it with --store, or leave it out",
                ));
            }
            (Some(_), None) => {
                let scope = Some(call_scope(&caller.principal, &resources::random_id::<16>()).into());
                return self.handle(caller, tool, args, &Signals { scope, ..signals.clone() }).await;
            }
            (Some(once), Some(key)) => (once, key),
        };
        if let Some(refused) = unusable(key) {
            return Ok(refused);
        }
        let scope = request_scope(&caller.principal, key);
        let hash = digest(&json!([tool.name(), args]));
        let (claim, lease, again) = match once.begin(&scope, tool, &hash).await {
            Came::Ours(claim, lease, again) => (claim, lease, again),
            Came::Before(kept) => return last_reply(once, caller, key, kept).await,
            Came::Not(answered) => return Ok(*answered),
        };
        let journal = match once.held(Held::Request(lease.clone()), &scope, again).await {
            Ok(journal) => journal,
            Err(why) => return Ok(unread("what the program of the request was told before", &why)),
        };
        if again {
            journal.begun_again(&caller.principal, tool.name(), key);
        }
        let scoped = Signals {
            cancel: signals.cancel.child_token(),
            scope: Some(scope.as_str().into()),
            claim: Some((lease, hash.as_str().into())),
            journal: Some(journal.clone()),
            ..signals.clone()
        };
        let handling = async {
            let answered = self.handle(caller, tool, args, &scoped).await?;
            match answered.reason.as_deref() == Some(Reason::REQUEST_STALE.name) {
                true => journal.goes_on(false),
                // One that is refused for now comes again.
                false if answered.is_refusal() => {}
                false => journal.goes_on(true),
            }
            Ok::<_, CallError>(match again && answered.is_refusal() {
                true => self.refused_with_made(once, &scope, answered).await,
                false => answered,
            })
        };
        let unwritten = || journal.unwritten();
        Box::pin(carry_out(handling, &scoped.cancel, claim, &hash, unwritten)).await
    }

    /// Decides what a client answered in a form, so that the answer can be sent again under the key of the request that
    /// it was asked about.
    pub(super) async fn decide_once(&self, caller: &Caller, decided: Decided, signals: &Signals) -> Handled {
        // Forms that were dismissed decide nothing, and can be answered later.
        let is_dismissed = decided.is_dismissed();
        let (Some(once), Some(key), Which::Text(ticket), false) =
            (&self.once, &signals.request_key, &decided.which, is_dismissed)
        else {
            return self.decided_in_form(caller, decided, signals).await;
        };
        if let Some(refused) = unusable(key) {
            return Ok(refused);
        }
        // Which of the answers counts is settled by the first.
        let (scope, hash) = (form(caller, key, ticket), digest(&json!(["form", ticket])));
        let (claim, lease) = match once.begin(&scope, Tool::Approve, &hash).await {
            Came::Ours(claim, lease, _) => (claim, lease),
            Came::Before(kept) => return last_reply(once, caller, key, kept).await,
            Came::Not(answered) => return Ok(*answered),
        };
        let cancel = signals.cancel.child_token();
        let scoped = Signals { claim: Some((lease, hash.as_str().into())), ..signals.clone() };
        let handling = self.decided_in_form(caller, decided, &scoped);
        // What a decided program makes is written down under its ticket.
        Box::pin(carry_out(handling, &cancel, claim, &hash, Vec::new)).await
    }
}

impl Engine {
    /// Decides what a client answered in a form. Whoever is asked may find that it was decided elsewhere, and is told what
    /// came of it.
    pub(super) async fn decided_in_form(
        &self,
        caller: &Caller,
        decided: Decided,
        signals: &Signals,
    ) -> Handled {
        let which = decided.which.clone();
        let answered = match decided.is_dismissed() {
            true => self.dismissed(caller, &decided).await,
            false => self.decided(caller, decided, signals).await?,
        };
        let used = answered.reason.as_deref() == Some(Reason::TICKET_USED.name);
        let elsewhere = if used { self.decided_elsewhere(caller, &which).await } else { None };
        Ok(elsewhere.unwrap_or(answered))
    }
}

/// The scope of what a client answers in a form about a ticket of its request.
fn form(caller: &Caller, key: &str, ticket: &str) -> String {
    format!("form:{}:{}:{key}", caller.principal, digest(&json!(ticket)))
}

/// Carries out a request that is held, and keeps its reply. The answers of calls that are `unwritten` then are not in the
/// journal.
async fn carry_out(
    handling: impl Future<Output = Handled>,
    cancel: &CancellationToken,
    mut claim: Claim<'_>,
    hash: &str,
    unwritten: impl Fn() -> Vec<String>,
) -> Handled {
    let handled = {
        let mut handling = std::pin::pin!(handling);
        tokio::select! {
            biased;
            handled = &mut handling => handled,
            () = claim.lost.cancelled() => {
                // What is being kept at this moment decides whether it was in time.
                cancel.cancel();
                handling.await
            }
        }
    };
    let answered = match handled {
        Err(CallError::Cancelled) if claim.lost.is_cancelled() => return Ok(taken_over()),
        Err(error) => {
            return match claim.give_back().await {
                true => Err(error),
                false => Ok(taken_over()),
            };
        }
        Ok(answered) => answered,
    };
    if answered.kept {
        claim.lease = None;
        return Ok(answered);
    }
    // What the store did not acknowledge may still come to be kept. The request is given back beside it: whichever comes first
    // counts, and the other changes nothing.
    if answered.reason.as_deref() == Some(Reason::OUTCOME_UNKNOWN.name) {
        return Ok(answered);
    }
    // A program that was not run has no reply: if nothing was ever made, the key is free again.
    if answered.is_refusal() && !answered.is_last {
        // What a server says that was replaced meanwhile, of its session for one, is not for the client.
        return Ok(if claim.give_back().await { answered } else { taken_over() });
    }
    match claim.keep(written(hash, &answered)).await {
        Ok(()) => {}
        Err(NotKept::Lost) => return Ok(taken_over()),
        Err(NotKept::Store(why)) => {
            tracing::error!("a reply cannot be kept, so its request runs again if it comes again: {why}");
            return Ok(answered.facts.made.unwritten(unwritten()).tell(not_kept(), None));
        }
    }
    Ok(answered)
}

/// The reply of a request that was carried out: the kept one, or, if its client was asked about calls and answered under
/// the same key, what came of that.
async fn last_reply(once: &Once, caller: &Caller, key: &str, mut kept: Json) -> Handled {
    while let Some(ticket) = kept["reply"]["approval"]["ticket"].as_str() {
        match once.stands(form(caller, key, ticket)).await {
            Ok(Stands::Done(next)) => kept = next,
            Ok(Stands::Free) => break,
            Ok(Stands::UnderWay) => return Ok(under_way()),
            Err(why) => return Ok(unread("what became of the request", &why)),
        }
    }
    recalled(kept)
}

/// Why a text cannot be a key, if it cannot.
fn unusable(key: &str) -> Option<Answered> {
    if key.contains('\0') {
        return Some(wrong("the request key must not contain the character U+0000"));
    }
    let wrong_length = key.is_empty() || key.len() > KEY_BYTES;
    wrong_length.then(|| wrong(&format!("the request key must be a text of 1 to {KEY_BYTES} bytes")))
}

/// Whether a tool does what its client may want done once: it changes a session, runs a program, or decides about one.
fn may_come_again(tool: Tool) -> bool {
    match tool {
        Tool::Eval | Tool::Task | Tool::Approve | Tool::Reject | Tool::Edit => true,
        Tool::SessionStart | Tool::SessionEval | Tool::SessionForget | Tool::SessionClose => true,
        Tool::Check | Tool::Debug | Tool::Result => false,
        Tool::SessionList | Tool::SessionPreludes | Tool::SessionInspect => false,
    }
}

fn wrong(message: &str) -> Answered {
    fixed(Reason::ARGS, message, "Mend the request and send it again.")
}

/// The answer while somebody carries the request out.
fn under_way() -> Answered {
    let message = "the request with this key is under way; nothing was done for this one";
    fixed(Reason::BUSY, message, "Wait a moment, then send it again: you get its reply.")
}

/// The answer of who was replaced.
pub fn taken_over() -> Answered {
    fixed(
        Reason::BUSY,
        "another server has taken the request over; its reply is the one that is kept",
        "Send it again under the same key: you get that reply.",
    )
}

/// The answer of a program that ended and whose reply is not kept. It is not told: whoever sends the request again might be
/// told another one.
fn not_kept() -> Answered {
    fixed(
        Reason::OUTCOME_UNKNOWN,
        "the program ended, but the store did not keep its reply",
        "Send the request again under the same key: what was made is not made again, and you get the reply that is kept.",
    )
}

/// The answer of a request that was begun before, while the store is away.
fn unread(what: &str, why: &str) -> Answered {
    tracing::error!("{what} cannot be read: {why}");
    let message = format!("{what} cannot be read at the moment; nothing was done now");
    fixed(
        Reason::STORE,
        &message,
        "Send it again under the same key in a moment. If that fails too, whoever runs the server can look with `ptc store check`.",
    )
}

/// What is kept of an answer for a request that comes again.
pub fn written(digest: &str, answered: &Answered) -> Json {
    json!({"sha256": digest, "reason": answered.reason, "reply": kept(&answered.reply)})
}

/// A reply as it is kept.
fn kept(reply: &Reply) -> Json {
    let content = reply.content.iter().map(|content| match content {
        Content::Text(text) => json!({"text": text}),
        Content::ResourceLink(link) => {
            json!({"uri": link.uri, "name": link.name, "description": link.description, "size": link.size})
        }
    });
    let approval = reply.approval.as_ref().map(|approval| {
        let Approval { id, ticket, pending, expires_ms, wrong: _ } = approval;
        json!({"id": id, "ticket": ticket, "pending": pending, "expires_ms": expires_ms})
    });
    let (content, structured) = (content.collect::<Vec<_>>(), &reply.structured);
    json!({"content": content, "structured": structured, "is_error": reply.is_error, "approval": approval})
}

/// What waits for approval, as it was kept. Replies of earlier versions do not say.
fn approval(kept: &mut Json) -> Option<Approval> {
    let text = |name: &str| kept[name].as_str().map(str::to_owned);
    let (id, ticket, expires_ms) = (text("id")?, text("ticket")?, kept["expires_ms"].as_i64()?);
    let Json::Array(pending) = kept["pending"].take() else { return None };
    Some(Approval { id, ticket, pending, expires_ms, wrong: None })
}

/// A reply that was kept, marked as such.
fn recalled(mut kept: Json) -> Handled {
    let reply = &mut kept["reply"];
    let content = reply["content"].as_array().into_iter().flatten().map(|content| {
        let text = |name: &str| content[name].as_str().unwrap_or_default().to_owned();
        match content.get("text") {
            Some(_) => Content::Text(text("text")),
            None => Content::ResourceLink(ResourceLink {
                uri: text("uri"),
                name: text("name"),
                description: text("description"),
                mime_type: resources::MIME,
                size: content["size"].as_u64().unwrap_or_default(),
            }),
        }
    });
    let (content, is_error) = (content.collect(), reply["is_error"] == true);
    let structured = Some(reply["structured"].take()).filter(|structured| !structured.is_null());
    let approval = approval(&mut reply["approval"]);
    let reply = Reply { content, structured, is_error, approval, recalled: true };
    Ok(Answered::new(reply, kept["reason"].as_str()))
}

#[cfg(test)]
mod tests {
    use ptc_store::Store;

    use super::*;

    #[tokio::test]
    async fn a_request_that_was_begun_when_nobody_waited_any_more_is_given_back() {
        let once = Once::new(StoreJournal::new(Arc::new(Store::open(":memory:").expect("a store"))));
        let begin = |scope: &str| {
            let new = NewRequest { scope, tool: "lisp_eval", digest: b"one" };
            once.journal.requests().begin(&new, lease_ms()).expect("the store answers")
        };
        let unclaimed = |lease| Unclaimed {
            lease: Some(lease),
            journal: once.journal.clone(),
            _counted: once.tasks.token(),
            tasks: once.tasks.clone(),
            runtime: once.runtime.clone(),
        };
        for (scope, is_claimed) in [("left", false), ("claimed", true)] {
            let Began::Held { lease, .. } = begin(scope) else { panic!("{scope} is new") };
            match is_claimed {
                true => unclaimed(lease).claim(),
                false => drop(unclaimed(lease)),
            }
            once.finish().await;
            let expected = matches!(begin(scope), Began::Held { again: false, .. });
            assert_eq!(expected, !is_claimed, "{scope}");
        }
    }
}
