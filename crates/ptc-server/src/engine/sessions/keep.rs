//! Sessions that survive: a store has them, and this server only has copies of those that it used last.
//!
//! Whoever changes a session takes it in the store first, so of two servers that evaluate in one session one is told
//! that it is busy. A change is answered only after machine and state were committed in one transaction. A copy whose
//! program did not come so far is never used again ([`Session::is_stale`]), and one that another server has overtaken
//! is recognised by the version: both are made anew from what is stored.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ptc_store::sessions::{
    KeptSession, ListedSession, NewSession, SessionError as Refusal, SessionQuota, Sessions as Rows, Times,
};
use ptc_store::{Lease, Store, StoreError};
use ptc_upstream::Grants;
use serde::Deserialize as _;
use serde_json::Value as Json;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::super::api::Caller;
use super::super::evaluate;
use super::super::lease::{give_back, give_back_later, lease_ms, renewal};
use super::super::pulse::{SILENT, in_time};
use super::super::reason::Reason;
use super::super::receipt::{Filled, Receipt};
use super::super::{Answered, Engine};
use super::error::SessionError;
use super::machine::{HeldMachine, NotLoaded};
use super::record::{FORMAT, Meta, SessionOrigin};
use super::{Mode, Reservation, Session, SessionFacts, SessionState, Sessions};

/// What is said if the store has not said whether a session is held: if it is, it is given back.
const UNSAID: &str = "the store of sessions did not answer, so nothing was run in the session";
/// Sweeps from one count of all sessions to the next.
const COUNTED: usize = 12;

/// The reply of the request that starts a session, which is known when the session begins.
pub struct StartReceipt {
    lease: Lease,
    reply: Box<dyn Fn(&Times) -> Json + Send>,
}

impl StartReceipt {
    /// With this answer. Sessions are not started by tickets.
    pub fn new(
        receipt: Receipt,
        answered: impl Fn(&Times) -> Answered + Send + 'static,
    ) -> Option<StartReceipt> {
        let Receipt::Request(lease, _) = &receipt else { return None };
        let lease = lease.clone();
        Some(StartReceipt {
            lease,
            reply: Box::new(move |times| {
                let filled = receipt.filled(&answered(times));
                filled.reply().map(|reply| reply.answer.clone()).unwrap_or_default()
            }),
        })
    }
}

/// Who asks the store, on threads that may wait.
#[derive(Debug)]
pub struct Keeper {
    rows: Rows,
    /// What is being asked or written, and whoever still holds a session.
    tasks: TaskTracker,
    runtime: Handle,
    /// How many sessions there were when somebody last looked.
    count: AtomicUsize,
    sweeps: AtomicUsize,
}

impl Keeper {
    /// For the sessions of a store. Must be called on the runtime that serves.
    pub fn new(store: Arc<Store>) -> Arc<Keeper> {
        let rows = Rows::new(store);
        Arc::new(Keeper {
            rows,
            tasks: TaskTracker::new(),
            runtime: Handle::current(),
            count: 0.into(),
            sweeps: 0.into(),
        })
    }

    /// Asks the store for what changes no session. It is asked to the end even if nobody waits any more.
    async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Rows) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let silent = |place, cause| StoreError::Busy { place, cause };
        self.asked(work).await.unwrap_or_else(|(place, cause)| Err(silent(place, cause).into()))
    }

    /// Has the store change a session. If it does not answer in time, nobody knows whether it did.
    async fn change<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Rows) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let silent = |place, cause| StoreError::Unacknowledged { place, cause };
        self.asked(work).await.unwrap_or_else(|(place, cause)| Err(silent(place, cause).into()))
    }

    /// What the store says; else its place, and why it says nothing.
    async fn asked<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Rows) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<Result<T, Refusal>, (String, String)> {
        let rows = self.rows.clone();
        let asked = self.tasks.spawn_blocking_on(move || work(&rows), &self.runtime);
        in_time(self.rows.store(), asked)
            .await
            .ok_or_else(|| (self.rows.place().to_owned(), SILENT.to_owned()))
    }

    /// Tells the store something that nobody waits for.
    fn tell(&self, work: impl FnOnce(&Rows) + Send + 'static) {
        let rows = self.rows.clone();
        self.tasks.spawn_blocking_on(move || work(&rows), &self.runtime);
    }

    /// Begins a session, and keeps the reply of the request that asked for it, both or none.
    pub async fn create(
        &self,
        facts: &SessionFacts,
        state: &SessionState,
        room: SessionQuota,
        idle: Duration,
        receipt: Option<StartReceipt>,
    ) -> Result<Times, SessionError> {
        let origin = SessionOrigin { format: FORMAT, preludes: facts.frozen.recipe() };
        let origin = serde_json::to_value(origin).unwrap_or_default();
        let meta = Meta::of(facts, state).to_json();
        let (id, owner, ttl) = (facts.id.clone(), facts.owner.clone(), facts.ttl);
        let created = self.change(move |rows| {
            let new = NewSession {
                id: &id,
                owner: &owner,
                origin: &origin,
                meta: &meta,
                ttl_ms: milliseconds(ttl),
                idle_ms: milliseconds(idle),
            };
            let reply = receipt.as_ref().map(|receipt| (&receipt.lease, &*receipt.reply));
            rows.create_along(
                &new,
                room,
                reply.map(|(lease, reply)| (lease, reply as &dyn Fn(&Times) -> Json)),
            )
        });
        let times = created.await?;
        self.count.fetch_add(1, Ordering::Relaxed);
        Ok(times)
    }

    /// What is said of the sessions of an owner.
    pub async fn summaries(&self, owner: Arc<str>) -> Result<Vec<Json>, SessionError> {
        let listed = self.ask(move |rows| rows.list(&owner)).await?;
        Ok(listed.iter().map(summary).collect())
    }

    /// Ends a session, wherever a program of it runs.
    pub async fn close(
        &self,
        id: &str,
        owner: Arc<str>,
        receipt: Option<Filled>,
    ) -> Result<(), SessionError> {
        let id = id.to_owned();
        let closed = self.change(move |rows| {
            rows.close_along(&id, &owner, receipt.as_ref().and_then(Filled::reply).as_ref())
        });
        Ok(closed.await?)
    }

    /// Ends the sessions of an owner who is gone.
    pub fn close_owner(&self, owner: &str) {
        let owner = owner.to_owned();
        self.tell(move |rows| {
            if rows.list(&owner).is_ok_and(|own| !own.is_empty()) {
                // What cannot be closed now ends by its time.
                let _ = rows.close_owner(&owner);
            }
        });
    }

    /// Ends sessions whose time is over, and now and then counts the others: that takes longer the more there are.
    pub async fn sweep(&self) {
        let due = self.sweeps.fetch_add(1, Ordering::Relaxed).is_multiple_of(COUNTED);
        let swept = self.ask(move |rows| {
            let ended = rows.sweep()?;
            (due || ended > 0).then(|| rows.count()).transpose()
        });
        if let Ok(Some(count)) = swept.await {
            self.count.store(usize::try_from(count).unwrap_or(usize::MAX), Ordering::Relaxed);
        }
    }

    /// How many sessions there were when somebody last looked.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Waits until no session is held any more and nothing is being written.
    pub async fn finish(&self) {
        self.tasks.close();
        self.tasks.wait().await;
        self.tasks.reopen();
    }
}

/// A session that this server holds in the store. Dropped without a commit, it is given back as it was.
#[derive(Debug)]
pub struct Hold {
    keeper: Arc<Keeper>,
    lease: Option<Lease>,
    version: i64,
    renewing: Option<AbortHandle>,
    /// Goes after the lease has been given back, or the end of the server would not wait for that.
    _counted: TaskTrackerToken,
}

impl Hold {
    /// Says again and again that this server lives. A session that was lost or closed meanwhile is over here.
    fn renew(&mut self, session: &Arc<Session>) {
        let Some(lease) = self.lease.clone() else { return };
        let (keeper, session) = (self.keeper.clone(), session.clone());
        let renewing = self.keeper.runtime.spawn(async move {
            loop {
                tokio::time::sleep(renewal()).await;
                let lease = lease.clone();
                match keeper.ask(move |rows| rows.renew(&lease, lease_ms())).await {
                    // A store that does not answer may do so next time; the commit decides.
                    Ok(()) | Err(Refusal::Store(_)) => {}
                    Err(Refusal::Lost) => return session.lose(),
                    Err(_) => return session.over.cancel(),
                }
            }
        });
        self.renewing = Some(renewing.abort_handle());
    }

    /// Keeps a change, with the receipt of whoever asked for it, and gives the session back; says its new version.
    pub async fn commit(
        &mut self,
        meta: Meta,
        state: Option<Vec<u8>>,
        receipt: Option<Filled>,
    ) -> Result<i64, SessionError> {
        let Some(lease) = self.lease.take() else { return Err(Refusal::Lost.into()) };
        let (version, runtime) = (self.version, self.keeper.runtime.clone());
        let kept = self.keeper.change(move |rows| {
            let along = receipt.as_ref().and_then(Filled::along);
            let kept = rows.commit_along(&lease, version, &meta.to_json(), state.as_deref(), along.as_ref());
            // A commit that failed has not given the session back. If it is kept after all, this changes nothing.
            kept.inspect_err(|_| release(rows, &runtime, lease))
        });
        Ok(kept.await?)
    }
}

impl Hold {
    /// Gives the session back as it was, and is done with it when this returns.
    pub async fn give_back(mut self) {
        if let Some(lease) = self.lease.take() {
            let runtime = self.keeper.runtime.clone();
            let given = self.keeper.ask(move |rows| {
                release(rows, &runtime, lease);
                Ok(())
            });
            // A store that does not answer is told when it does.
            let _ = given.await;
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(renewing) = &self.renewing {
            renewing.abort();
        }
        if let Some(lease) = self.lease.take() {
            let runtime = self.keeper.runtime.clone();
            self.keeper.tell(move |rows| release(rows, &runtime, lease));
        }
    }
}

/// Gives a session back as it was, now or as soon as the store can. Blocks.
fn release(rows: &Rows, runtime: &Handle, lease: Lease) {
    let rows = rows.clone();
    give_back(runtime, move || rows.release(&lease).is_ok());
}

/// A session as the store has it.
struct StoredSession {
    version: i64,
    times: Times,
    kept: KeptSession,
}

impl Engine {
    /// The session of this id, if it belongs to the caller; it counts as used.
    pub(super) async fn found(
        &self,
        sessions: &Sessions,
        caller: &Caller,
        id: &str,
    ) -> Result<Arc<Session>, SessionError> {
        let Some(keeper) = sessions.keeper() else {
            let session = sessions.find(id, &caller.owner)?;
            session.touch();
            return Ok(session);
        };
        let (owner, cached) = (sessions.owner(caller), sessions.cached(id));
        let known = cached.as_ref().map(|session| session.state().version);
        let (wanted, of) = (id.to_owned(), owner.clone());
        let seen = keeper.ask(move |rows| {
            let seen = rows.read(&wanted, &of, known)?;
            rows.touch(&wanted, &of)?;
            Ok(seen)
        });
        let seen = seen.await.map_err(|refusal| sessions.refused(id, refusal))?;
        let session = match (seen.kept, cached) {
            (Some(kept), _) => {
                let stored = StoredSession { version: seen.version, times: seen.times, kept };
                self.revived(sessions, caller, id, stored).await?
            }
            (None, Some(cached)) => cached,
            (None, None) => return Err(Refusal::Missing.into()),
        };
        session.expires_at(seen.times.expires_ms);
        let mut state = session.state();
        state.elsewhere = seen.busy && !state.busy;
        state.used = std::time::Instant::now();
        drop(state);
        Ok(session)
    }

    /// Takes the session of this id for a program or a change.
    pub(super) async fn taken(
        &self,
        sessions: &Sessions,
        caller: &Caller,
        id: &str,
    ) -> Result<Reservation, SessionError> {
        let Some(keeper) = sessions.keeper() else { return sessions.find(id, &caller.owner)?.reserve() };
        let owner = sessions.owner(caller);
        // Who is busy here need not ask the store.
        let here = sessions.cached(id).filter(|session| session.owner == owner);
        let here = here.map(|session| session.reserve()).transpose()?;
        let known = here.as_ref().map(|reservation| reservation.session().state().version);
        let (wanted, of, holder) = (id.to_owned(), owner.clone(), keeper.clone());
        let taken = keeper.ask(move |rows| {
            let taken = rows.take(&wanted, &of, lease_ms(), known).inspect_err(|refusal| {
                if let Refusal::Store(_) = refusal {
                    // It may be held although the store has not said so.
                    let rows = rows.clone();
                    give_back_later(&holder.runtime, move || rows.release_owed(&wanted).is_ok());
                }
            })?;
            // From here on it is given back, even if nobody waits for it any more.
            let hold = Hold {
                _counted: holder.tasks.token(),
                keeper: holder,
                lease: Some(taken.lease),
                version: taken.version,
                renewing: None,
            };
            Ok((hold, taken.times, taken.kept))
        });
        let (mut hold, times, kept) = taken.await.map_err(|refusal| match refusal {
            Refusal::Store(error @ StoreError::Unacknowledged { .. }) => {
                tracing::error!(%error, "nobody knows whether a session is held");
                SessionError::new(Reason::SESSIONS_UNAVAILABLE, UNSAID)
            }
            refusal => sessions.refused(id, refusal),
        })?;
        let stored = kept.map(|kept| StoredSession { version: hold.version, times, kept });
        match self.readied(sessions, caller, id, here, stored).await {
            Ok(mut reservation) => {
                reservation.session().expires_at(times.expires_ms);
                hold.renew(reservation.session());
                reservation.held_by(hold);
                Ok(reservation)
            }
            Err(error) => {
                hold.give_back().await;
                Err(error)
            }
        }
    }

    /// Readies a session that is held in the store: the copy that is here, or a new one.
    async fn readied(
        &self,
        sessions: &Sessions,
        caller: &Caller,
        id: &str,
        here: Option<Reservation>,
        stored: Option<StoredSession>,
    ) -> Result<Reservation, SessionError> {
        let reservation = match (stored, here) {
            (Some(stored), here) => {
                drop(here);
                self.revived(sessions, caller, id, stored).await?.reserve()?
            }
            (None, Some(here)) => here,
            (None, None) => return Err(Refusal::Missing.into()),
        };
        self.loaded(reservation.session()).await?;
        Ok(reservation)
    }

    /// Makes a session from what is stored.
    async fn revived(
        &self,
        sessions: &Sessions,
        caller: &Caller,
        id: &str,
        stored: StoredSession,
    ) -> Result<Arc<Session>, SessionError> {
        let StoredSession { version, times, kept } = stored;
        let meta = serde_json::from_value::<Meta>(kept.meta).ok();
        let origin = serde_json::from_value::<SessionOrigin>(kept.origin).ok();
        let known = meta.zip(origin.filter(|origin| origin.format == FORMAT));
        let known = known.and_then(|(meta, origin)| Some((Mode::named(&meta.mode)?, meta, origin)));
        let Some((mode, meta, origin)) = known else {
            let message = "the session was stored in a form that this server cannot read; update the server";
            return Err(SessionError::new(Reason::SESSIONS_UNAVAILABLE, message));
        };
        if meta.has_definitions() && kept.state.is_none() {
            tracing::error!("what the session {id} has defined is missing");
            return Err(SessionError::new(Reason::SESSIONS_UNAVAILABLE, DAMAGED).lasting());
        }
        let (owner, settings) = (sessions.owner(caller), sessions.settings());
        let grants = granted(sessions, caller, &meta)?;
        let frozen = self.thawed(settings, &owner, origin.preludes).await?;
        let state = SessionState::stored(&meta, version, settings);
        let left = times.expires_ms.saturating_sub(ptc_host::now_ms());
        let facts = SessionFacts {
            id: id.to_owned(),
            owner,
            principal: caller.principal.clone(),
            title: meta.title,
            mode,
            ttl: Duration::from_millis(u64::try_from(left).unwrap_or_default()),
            tags: meta.tags,
            role: meta.role,
            grants,
            frozen,
        };
        let session = Arc::new(Session::new(facts, times, state, HeldMachine::new(&self.pool, kept.state)));
        sessions.remember(&session);
        Ok(session)
    }

    /// Has the machine of a session loaded, if it is not.
    pub(super) async fn loaded(&self, session: &Session) -> Result<(), SessionError> {
        let prelude = session.frozen.prelude.clone();
        let ready =
            session.machine.ready(evaluate::limits(&self.settings), prelude, session.owner.clone()).await;
        ready.map_err(|error| {
            session.discard();
            let told = |reason| SessionError::new(reason, format!("the session cannot be loaded: {error}"));
            match error {
                NotLoaded::Prelude(_) => told(Reason::PRELUDE_ATTACH),
                NotLoaded::Never(_) => told(Reason::SESSIONS_UNAVAILABLE).lasting(),
                NotLoaded::Other(_) => told(Reason::SESSIONS_UNAVAILABLE),
            }
        })
    }
}

/// What the role of a session grants, if that is what it granted when the session began.
fn granted(sessions: &Sessions, caller: &Caller, meta: &Meta) -> Result<Grants, SessionError> {
    let changed = || {
        let message = "what the session's role grants has changed since it began";
        SessionError::new(Reason::SESSION_CLOSED, message).here_only()
    };
    match (&sessions.settings().roles, &meta.role) {
        (None, None) => Ok(Grants::all()),
        (Some(policy), Some((name, fingerprint))) => {
            let chosen = policy.choose(Some(name), caller.roles.as_deref());
            let role = chosen.ok().map(|(_, role)| role).filter(|role| role.fingerprint() == *fingerprint);
            role.map(|role| role.grants()).ok_or_else(changed)
        }
        _ => Err(changed()),
    }
}

impl From<Refusal> for SessionError {
    fn from(refusal: Refusal) -> Self {
        let (reason, message) = match &refusal {
            Refusal::Missing => (Reason::SESSION_NOT_FOUND, "there is no such session"),
            Refusal::Owner => (Reason::SESSION_OWNER, "caller does not own this session"),
            Refusal::Busy => (Reason::SESSION_BUSY, "an eval is already running for this session"),
            Refusal::Closed => (Reason::SESSION_CLOSED, "the session is closed"),
            Refusal::Lost => (
                Reason::SESSION_BUSY,
                "another server has taken the session over; nothing of this call was kept",
            ),
            Refusal::Full => (Reason::SESSION_LIMIT, "maximum number of sessions reached"),
            Refusal::OwnerFull => {
                (Reason::SESSION_LIMIT, "maximum number of sessions for this owner reached")
            }
            // Where the store is, and what it said, is nothing for clients.
            Refusal::Store(StoreError::Unacknowledged { .. }) => (
                Reason::OUTCOME_UNKNOWN,
                "the store of sessions did not answer; the change may or may not be kept",
            ),
            Refusal::Store(_) | Refusal::Exists => (
                Reason::SESSIONS_UNAVAILABLE,
                "the store of sessions cannot be used at the moment; nothing was kept",
            ),
        };
        if let Refusal::Store(error) = &refusal {
            tracing::error!(%error, "sessions cannot be stored");
        }
        match refusal {
            Refusal::Store(StoreError::Damaged { .. }) => SessionError::new(reason, DAMAGED).lasting(),
            _ => SessionError::new(reason, message),
        }
    }
}

/// What is said of a session in a list; of one that is damaged, what is known and what to do.
fn summary(one: &ListedSession) -> Json {
    let read = match &one.damaged {
        Some(why) => Err(why.clone()),
        None => Meta::deserialize(&one.meta).map_err(|error| error.to_string()),
    };
    let said = |meta: &Meta| meta.summary(&one.id, one.times.created_ms, one.times.expires_ms, one.busy);
    read.as_ref().map(said).unwrap_or_else(|why| {
        tracing::error!("what is kept of the session {} cannot be read: {why}", one.id);
        let meta = Meta { updated_ms: one.times.changed_ms, ..Meta::default() };
        let mut told = said(&meta);
        told["eval_status"] = "damaged".into();
        told["message"] = DAMAGED.into();
        told
    })
}

/// What is said of a session of which what is kept cannot be read.
const DAMAGED: &str = "what is kept of the session cannot be read, so it cannot be used: close it with lisp_session_close, or tell \
                       whoever runs the server, who can look with `ptc store check` and restore a backup";

fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
