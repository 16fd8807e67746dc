//! All sessions of a server: those that there are, or, with a store, copies of those that were used last.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ptc_host::{Pool, now_ms};
use ptc_store::sessions::{SessionError as Refusal, SessionQuota, Times};
use serde_json::Value as Json;

use super::super::api::Caller;
use super::super::reason::Reason;
use super::super::receipt::Filled;
use super::super::settings;
use super::error::SessionError;
use super::keep::{Keeper, StartReceipt};
use super::machine::HeldMachine;
use super::record::Meta;
use super::{NewSession, Session, SessionFacts, SessionState};

/// All sessions of a server.
#[derive(Debug)]
pub struct Sessions {
    settings: settings::SessionSettings,
    all: Mutex<All>,
    keeper: Option<Arc<Keeper>>,
}

#[derive(Debug, Default)]
struct All {
    open: BTreeMap<String, Arc<Session>>,
    /// Sessions that are over, with their owners; the oldest are forgotten.
    closed: VecDeque<(String, Arc<str>)>,
}

/// Sessions that are over and remembered.
const TOMBSTONES: usize = 1024;
/// How long a copy of a stored session stays in memory without use.
const COPY_IDLE: Duration = Duration::from_secs(60);

impl Sessions {
    /// No sessions yet in this process.
    pub fn new(settings: settings::SessionSettings, keeper: Option<Arc<Keeper>>) -> Self {
        Sessions { settings, all: Mutex::default(), keeper }
    }

    /// The settings.
    pub fn settings(&self) -> &settings::SessionSettings {
        &self.settings
    }

    /// Who keeps sessions beyond this process.
    pub(super) fn keeper(&self) -> Option<&Arc<Keeper>> {
        self.keeper.as_ref()
    }

    /// Whom sessions of a caller belong to: to the connection, or, if they outlive it, to who is behind it.
    pub(super) fn owner(&self, caller: &Caller) -> Arc<str> {
        match self.keeper {
            Some(_) => caller.principal.clone(),
            None => caller.owner.clone(),
        }
    }

    /// Opens a session, if there is room for one more.
    pub(super) async fn open(
        &self,
        caller: &Caller,
        new: NewSession,
        pool: &Pool,
        receipt: Option<StartReceipt>,
    ) -> Result<Arc<Session>, SessionError> {
        let facts = SessionFacts {
            id: new.id,
            owner: self.owner(caller),
            principal: caller.principal.clone(),
            title: new.title,
            mode: new.mode,
            ttl: new.ttl,
            tags: new.tags,
            role: new.role,
            grants: new.grants,
            frozen: new.frozen,
        };
        let mut state = SessionState::stored(&Meta::default(), 0, &self.settings);
        state.updated_ms = now_ms();
        let Some(keeper) = &self.keeper else { return self.open_here(facts, state, pool) };
        let count = |most: usize| u64::try_from(most).unwrap_or(u64::MAX);
        let room =
            SessionQuota { most: count(self.settings.most), per_owner: count(self.settings.per_owner) };
        let times = keeper.create(&facts, &state, room, self.settings.idle, receipt).await?;
        state.updated_ms = times.created_ms;
        let session = Arc::new(Session::new(facts, times, state, HeldMachine::new(pool, None)));
        self.remember(&session);
        Ok(session)
    }

    fn open_here(
        &self,
        facts: SessionFacts,
        state: SessionState,
        pool: &Pool,
    ) -> Result<Arc<Session>, SessionError> {
        self.sweep();
        let mut all = self.all();
        let limit = |message| Err(SessionError::new(Reason::SESSION_LIMIT, message));
        if all.open.len() >= self.settings.most {
            return limit("maximum number of sessions reached");
        }
        // Of all connections: whoever opens more of them gets no more room.
        let own = all.open.values().filter(|session| session.principal == facts.principal).count();
        if own >= self.settings.per_owner {
            return limit("maximum number of sessions for this owner reached");
        }
        let created_ms = state.updated_ms;
        let ttl = i64::try_from(facts.ttl.as_millis()).unwrap_or(i64::MAX);
        let times = Times { created_ms, changed_ms: created_ms, expires_ms: created_ms.saturating_add(ttl) };
        let session = Arc::new(Session::new(facts, times, state, HeldMachine::new(pool, None)));
        all.open.insert(session.id.clone(), session.clone());
        Ok(session)
    }

    /// The session of this id, if it belongs to this owner.
    pub(super) fn find(&self, id: &str, owner: &str) -> Result<Arc<Session>, SessionError> {
        self.sweep();
        let all = self.all();
        let (found, owned) = match all.open.get(id) {
            Some(session) => (Ok(session.clone()), Some(&session.owner)),
            None => {
                let closed = all.closed.iter().find(|(closed, _)| closed == id).map(|(_, owner)| owner);
                let error = match closed {
                    Some(_) => SessionError::new(Reason::SESSION_CLOSED, "the session is closed"),
                    None => SessionError::new(Reason::SESSION_NOT_FOUND, "there is no such session"),
                };
                (Err(error), closed)
            }
        };
        match owned {
            Some(of) if &**of != owner => {
                Err(SessionError::new(Reason::SESSION_OWNER, "caller does not own this session"))
            }
            _ => found,
        }
    }

    /// What is said of the caller's open sessions, the last used first.
    pub(super) async fn summaries(&self, caller: &Caller) -> Result<Vec<Json>, SessionError> {
        if let Some(keeper) = &self.keeper {
            return keeper.summaries(self.owner(caller)).await;
        }
        self.sweep();
        let mut own: Vec<_> =
            self.all().open.values().filter(|one| one.owner == caller.owner).cloned().collect();
        own.sort_by_key(|session| std::cmp::Reverse(session.state().updated_ms));
        Ok(own.iter().map(|session| session.summary()).collect())
    }

    /// Ends a session; a program that runs in it is given up.
    pub(super) async fn close(
        &self,
        id: &str,
        caller: &Caller,
        receipt: Option<Filled>,
    ) -> Result<(), SessionError> {
        match &self.keeper {
            Some(keeper) => {
                keeper.close(id, self.owner(caller), receipt).await?;
                self.forget(id);
            }
            None => {
                self.find(id, &caller.owner)?;
                self.all().close(id);
            }
        }
        Ok(())
    }

    /// Ends a session whose time is over while a program of it runs.
    pub(super) fn expire(&self, session: &Session) {
        match &self.keeper {
            // The store ends it by its own clock.
            Some(_) => self.forget(&session.id),
            None => self.all().close(&session.id),
        }
    }

    /// Ends the sessions of an owner who is gone, and says which of this process they were. Those of a principal outlive
    /// its connections.
    pub fn close_owner(&self, owner: &str) -> Vec<String> {
        if let Some(keeper) = &self.keeper {
            keeper.close_owner(owner);
            return Vec::new();
        }
        let mut all = self.all();
        let own = all.open.values().filter(|session| &*session.owner == owner);
        let own: Vec<String> = own.map(|session| session.id.clone()).collect();
        own.iter().for_each(|id| all.close(id));
        own
    }

    /// Ends all sessions that end with this process, and gives up what runs in the others.
    pub fn close_all(&self) {
        let ids: Vec<String> = self.all().open.keys().cloned().collect();
        match &self.keeper {
            Some(_) => ids.iter().for_each(|id| self.forget(id)),
            None => {
                let mut all = self.all();
                ids.iter().for_each(|id| all.close(id));
            }
        }
    }

    /// Waits until this server holds no session in the store any more and writes nothing.
    pub async fn finish(&self) {
        if let Some(keeper) = &self.keeper {
            keeper.finish().await;
        }
    }

    /// Ends sessions whose time is over, in the store too, and drops copies that nobody uses.
    pub async fn tidy(&self) {
        let Some(keeper) = &self.keeper else { return self.sweep() };
        keeper.sweep().await;
        self.all().drop_copies(self.settings.live, Instant::now());
    }

    fn sweep(&self) {
        let now = Instant::now();
        let mut all = self.all();
        let over = all.open.values().filter(|session| session.is_due(now, self.settings.idle));
        let over: Vec<String> = over.map(|session| session.id.clone()).collect();
        over.iter().for_each(|id| all.close(id));
    }

    /// How many sessions are open.
    pub fn count(&self) -> usize {
        match &self.keeper {
            Some(keeper) => keeper.count(),
            None => self.all().open.len(),
        }
    }

    /// The copy of a stored session, if there is one that can be used.
    pub(super) fn cached(&self, id: &str) -> Option<Arc<Session>> {
        self.all().open.get(id).filter(|session| !session.is_stale() && !session.is_over()).cloned()
    }

    /// Remembers a copy of a stored session, in place of an older one.
    pub(super) fn remember(&self, session: &Arc<Session>) {
        let mut all = self.all();
        all.open.insert(session.id.clone(), session.clone());
        all.drop_copies(self.settings.live, Instant::now());
    }

    /// Drops the copy of a stored session and gives up what runs in it.
    fn forget(&self, id: &str) {
        if let Some(session) = self.all().open.remove(id) {
            session.over.cancel();
        }
    }

    /// The error for a refusal of the store. A copy of a session that is not there any more goes.
    pub(super) fn refused(&self, id: &str, refusal: Refusal) -> SessionError {
        if matches!(refusal, Refusal::Missing | Refusal::Closed) {
            self.forget(id);
        }
        refusal.into()
    }

    fn all(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl All {
    fn close(&mut self, id: &str) {
        let Some(session) = self.open.remove(id) else { return };
        session.over.cancel();
        self.closed.push_back((session.id.clone(), session.owner.clone()));
        while self.closed.len() > TOMBSTONES {
            self.closed.pop_front();
        }
    }

    /// Drops copies that were not used for long or must not be used, and of the others those used first if there are
    /// too many. What runs stays.
    fn drop_copies(&mut self, most: usize, now: Instant) {
        self.open.retain(|_, session| {
            let state = session.state();
            state.busy || (!session.is_stale() && now.duration_since(state.used) < COPY_IDLE)
        });
        let surplus = self.open.len().saturating_sub(most);
        if surplus == 0 {
            return;
        }
        let mut idle: Vec<(Instant, String)> = self
            .open
            .values()
            .filter(|session| !session.state().busy)
            .map(|session| (session.state().used, session.id.clone()))
            .collect();
        idle.sort_unstable();
        for (_, id) in idle.iter().take(surplus) {
            self.open.remove(id);
        }
    }
}
