//! Sessions: programs that see each other's definitions, one at a time, each all or nothing.
//!
//! A session's machine lives on a worker of the pool ([`machine::Held`]); everything else about it is here.
//! Sessions belong to their owner, end after their time, and keep no more than their limits.

mod args;
mod error;
mod eval;
mod log;
mod machine;
mod manage;
mod preludes;
mod start;
mod turn;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ptc_host::{Pool, now_ms};
use ptc_upstream::Grants;
use serde_json::{Map, Value as Json, json};
use tokio_util::sync::CancellationToken;

use self::error::SessionError;
use self::log::Log;
use self::machine::Held;
pub use self::manage::{CLEAR, VIEWS};
use self::preludes::Frozen;
pub use self::preludes::apart;
use super::reason::Reason;
use super::resources::random_id;
use super::settings;
use super::text::moment;

/// What a session may do with the prelude store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// It may not write.
    #[default]
    ReadOnly,
    /// It may write preludes.
    WriteCapable,
}

impl Mode {
    /// The name that clients use.
    pub fn name(self) -> &'static str {
        match self {
            Mode::ReadOnly => "read_only",
            Mode::WriteCapable => "write_capable",
        }
    }

    /// The mode of this name.
    pub fn named(name: &str) -> Option<Mode> {
        [Mode::ReadOnly, Mode::WriteCapable].into_iter().find(|mode| mode.name() == name)
    }
}

/// What a session is from its beginning to its end.
#[derive(Debug)]
pub struct Session {
    id: String,
    owner: Arc<str>,
    title: Option<String>,
    mode: Mode,
    tags: Map<String, Json>,
    role: Option<(String, String)>,
    grants: Grants,
    frozen: Frozen,
    created_ms: i64,
    expires_ms: i64,
    expires: Instant,
    /// Set when the session is over.
    over: CancellationToken,
    machine: Held,
    state: Mutex<State>,
}

/// What changes with programs.
#[derive(Debug)]
struct State {
    /// Whether a program is running.
    busy: bool,
    /// Programs that were kept.
    turn: u64,
    /// Programs that were tried.
    attempts: u64,
    updated_ms: i64,
    used: Instant,
    memory_bytes: usize,
    stored: Vec<String>,
    prints: Log,
    tool_calls: Log,
    upstream_calls: Log,
}

/// All sessions of a server.
#[derive(Debug)]
pub struct Sessions {
    settings: settings::Sessions,
    all: Mutex<All>,
}

#[derive(Debug, Default)]
struct All {
    open: BTreeMap<String, Arc<Session>>,
    /// Sessions that are over, with their owners; the oldest are forgotten.
    closed: VecDeque<(String, Arc<str>)>,
}

/// Sessions that are over and remembered.
const TOMBSTONES: usize = 1024;

impl Sessions {
    /// No sessions yet.
    pub fn new(settings: settings::Sessions) -> Self {
        Sessions { settings, all: Mutex::default() }
    }

    /// The settings.
    pub fn settings(&self) -> &settings::Sessions {
        &self.settings
    }

    /// Opens a session, if there is room for one more.
    fn open(&self, new: New, pool: &Pool) -> Result<Arc<Session>, SessionError> {
        self.sweep();
        let mut all = self.all();
        let limit = |message| Err(SessionError::new(Reason::SESSION_LIMIT, message));
        if all.open.len() >= self.settings.most {
            return limit("maximum number of sessions reached");
        }
        let own = all.open.values().filter(|session| session.owner == new.owner).count();
        if own >= self.settings.per_owner {
            return limit("maximum number of sessions for this owner reached");
        }
        let (now, created_ms) = (Instant::now(), now_ms());
        let settings = &self.settings;
        let session = Arc::new(Session {
            id: format!("ptcs_{}", random_id::<18>()),
            owner: new.owner,
            title: new.title,
            mode: new.mode,
            tags: new.tags,
            role: new.role,
            grants: new.grants,
            frozen: new.frozen,
            created_ms,
            expires_ms: created_ms.saturating_add(i64::try_from(new.ttl.as_millis()).unwrap_or(i64::MAX)),
            expires: now + new.ttl,
            over: CancellationToken::new(),
            machine: Held::new(pool),
            state: Mutex::new(State {
                busy: false,
                turn: 0,
                attempts: 0,
                updated_ms: created_ms,
                used: now,
                memory_bytes: 0,
                stored: Vec::new(),
                prints: Log::new(settings.prints),
                tool_calls: Log::new(settings.tool_calls),
                upstream_calls: Log::new(settings.upstream_calls),
            }),
        });
        all.open.insert(session.id.clone(), session.clone());
        Ok(session)
    }

    /// The session of this id, if it belongs to this owner.
    fn find(&self, id: &str, owner: &str) -> Result<Arc<Session>, SessionError> {
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

    /// The open sessions of an owner, the last used first.
    fn of(&self, owner: &str) -> Vec<Arc<Session>> {
        self.sweep();
        let all = self.all();
        let mut own: Vec<_> = all.open.values().filter(|one| &*one.owner == owner).cloned().collect();
        own.sort_by_key(|session| std::cmp::Reverse(session.state().updated_ms));
        own
    }

    /// Ends a session; a program that runs in it is given up.
    fn close(&self, session: &Session) {
        self.all().close(&session.id);
    }

    /// Ends the sessions of an owner who is gone.
    pub fn close_owner(&self, owner: &str) {
        let own: Vec<String> = self.of(owner).iter().map(|session| session.id.clone()).collect();
        let mut all = self.all();
        own.iter().for_each(|id| all.close(id));
    }

    /// Ends all sessions.
    pub fn close_all(&self) {
        let mut all = self.all();
        let ids: Vec<String> = all.open.keys().cloned().collect();
        ids.iter().for_each(|id| all.close(id));
    }

    /// Ends sessions whose time is over.
    pub fn sweep(&self) {
        let now = Instant::now();
        let mut all = self.all();
        let over = all.open.values().filter(|session| {
            let state = session.state();
            now >= session.expires || (!state.busy && now.duration_since(state.used) >= self.settings.idle)
        });
        let over: Vec<String> = over.map(|session| session.id.clone()).collect();
        over.iter().for_each(|id| all.close(id));
    }

    /// How many sessions are open.
    pub fn count(&self) -> usize {
        self.all().open.len()
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
}

/// A session that is about to begin.
#[derive(Debug)]
struct New {
    owner: Arc<str>,
    title: Option<String>,
    mode: Mode,
    ttl: Duration,
    tags: Map<String, Json>,
    role: Option<(String, String)>,
    grants: Grants,
    frozen: Frozen,
}

impl Session {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the session for a program or a change.
    fn reserve(self: &Arc<Self>) -> Result<Reservation, SessionError> {
        let mut state = self.state();
        if state.busy {
            let message = "an eval is already running for this session";
            return Err(SessionError::new(Reason::SESSION_BUSY, message));
        }
        state.busy = true;
        drop(state);
        Ok(Reservation(self.clone()))
    }

    /// Notes that it was used.
    fn touch(&self) {
        self.state().used = Instant::now();
    }

    fn is_over(&self) -> bool {
        self.over.is_cancelled()
    }

    /// What lists and inspections say about it.
    fn summary(&self) -> Json {
        let state = self.state();
        let mut summary = json!({
            "session_id": self.id,
            "title": self.title,
            "mode": self.mode.name(),
            "turn": state.turn,
            "created_at": moment(self.created_ms),
            "updated_at": moment(state.updated_ms),
            "expires_at": moment(self.expires_ms),
            "eval_status": if state.busy { "running" } else { "idle" },
            "memory_bytes": state.memory_bytes,
            "binding_count": state.stored.len(),
        });
        if let Some((role, fingerprint)) = &self.role {
            summary["role"] = role.as_str().into();
            summary["grant_fingerprint"] = fingerprint.as_str().into();
        }
        if !self.tags.is_empty() {
            summary["tags"] = self.tags.clone().into();
        }
        summary
    }
}

/// The right to run a program in a session. Dropping it, in whichever way the program ended, frees the session.
#[derive(Debug)]
struct Reservation(Arc<Session>);

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.busy = false;
        state.used = Instant::now();
    }
}
