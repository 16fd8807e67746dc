//! Sessions: programs that see each other's definitions, one at a time, each all or nothing.
//!
//! A session's machine lives on a worker of the pool ([`machine::Held`]); everything else about it is here.
//! Sessions belong to their owner, end after their time, and keep no more than their limits. `all.rs` has those of this
//! process; with a store, `keep.rs` keeps them beyond it.

mod all;
mod args;
mod error;
mod eval;
mod guidance;
mod keep;
mod log;
mod machine;
mod manage;
mod preludes;
mod record;
mod recorded;
mod start;
mod turn;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ptc_store::sessions::Times;
use ptc_upstream::Grants;
use serde_json::{Map, Value as Json};
use tokio_util::sync::CancellationToken;

pub use self::all::Sessions;
pub(super) use self::error::SessionError;
use self::keep::Hold;
pub use self::keep::Keeper;
use self::log::SessionLog;
use self::machine::HeldMachine;
pub use self::manage::{CLEAR, VIEWS};
use self::preludes::Frozen;
pub use self::preludes::apart;
use self::record::Meta;
pub use self::record::has_definitions;
use super::reason::Reason;
use super::receipt::Filled;
use super::settings;

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

/// What a session is made of.
#[derive(Debug)]
pub struct SessionFacts {
    id: String,
    /// Who may use it.
    owner: Arc<str>,
    /// On whose account it is.
    principal: Arc<str>,
    title: Option<String>,
    mode: Mode,
    /// What is left of its time.
    ttl: Duration,
    tags: Map<String, Json>,
    role: Option<(String, String)>,
    grants: Grants,
    frozen: Frozen,
}

/// A session.
#[derive(Debug)]
pub struct Session {
    facts: SessionFacts,
    created_ms: i64,
    until: Mutex<Until>,
    /// Set when the session is over.
    over: CancellationToken,
    /// Set when what is in memory is not what is stored.
    stale: AtomicBool,
    /// Set when it is over here because another server has taken it over.
    lost: AtomicBool,
    machine: HeldMachine,
    state: Mutex<SessionState>,
}

/// How long a session lives.
#[derive(Clone, Copy, Debug)]
struct Until {
    expires: Instant,
    expires_ms: i64,
    /// Until when a program of it may wait for a decision.
    waits: Option<Instant>,
}

impl std::ops::Deref for Session {
    type Target = SessionFacts;

    fn deref(&self) -> &SessionFacts {
        &self.facts
    }
}

/// What changes with programs.
#[derive(Clone, Debug)]
pub struct SessionState {
    /// Whether a program is running.
    busy: bool,
    /// Whether one was running on another server, when somebody last looked.
    elsewhere: bool,
    /// How often the session was changed in the store.
    version: i64,
    /// Programs that were kept.
    turn: u64,
    /// How often its definitions were changed: by programs that were kept, and by forgetting.
    changes: u64,
    /// Programs that were tried.
    attempts: u64,
    updated_ms: i64,
    used: Instant,
    memory_bytes: usize,
    stored: Vec<String>,
    prints: SessionLog,
    tool_calls: SessionLog,
    upstream_calls: SessionLog,
}

impl SessionState {
    /// Of a session that was stored so.
    fn stored(meta: &Meta, version: i64, settings: &settings::SessionSettings) -> SessionState {
        let log = |most, entries: &[Json]| {
            let mut log = SessionLog::new(most);
            log.extend(entries.iter().cloned());
            log
        };
        SessionState {
            busy: false,
            elsewhere: false,
            version,
            turn: meta.turn,
            changes: meta.changes,
            attempts: meta.attempts,
            updated_ms: meta.updated_ms,
            used: Instant::now(),
            memory_bytes: meta.memory_bytes,
            stored: meta.stored.clone(),
            prints: log(settings.prints, &meta.prints),
            tool_calls: log(settings.tool_calls, &meta.tool_calls),
            upstream_calls: log(settings.upstream_calls, &meta.upstream_calls),
        }
    }
}

/// A session that is about to begin.
#[derive(Debug)]
struct NewSession {
    id: String,
    title: Option<String>,
    mode: Mode,
    ttl: Duration,
    tags: Map<String, Json>,
    role: Option<(String, String)>,
    grants: Grants,
    frozen: Frozen,
}

impl Session {
    fn new(facts: SessionFacts, times: Times, state: SessionState, machine: HeldMachine) -> Session {
        Session {
            until: Mutex::new(Until {
                expires: Instant::now() + facts.ttl,
                expires_ms: times.expires_ms,
                waits: None,
            }),
            facts,
            created_ms: times.created_ms,
            over: CancellationToken::new(),
            stale: AtomicBool::new(false),
            lost: AtomicBool::new(false),
            machine,
            state: Mutex::new(state),
        }
    }

    fn state(&self) -> MutexGuard<'_, SessionState> {
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
        Ok(Reservation { session: self.clone(), hold: None, unsettled: false })
    }

    /// When it ends at the latest.
    fn until(&self) -> Until {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that it ends then, in milliseconds since 1970.
    fn expires_at(&self, expires_ms: i64) {
        let mut until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        if until.expires_ms != expires_ms {
            until.expires_ms = expires_ms;
            until.expires = instant_of(expires_ms);
        }
    }

    /// Notes that a program of it may wait until then: it lives as long.
    fn waits_until(&self, expires_ms: i64) {
        let mut until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        let then = instant_of(expires_ms);
        until.waits = until.waits.max(Some(then));
        if until.expires_ms < expires_ms {
            until.expires_ms = expires_ms;
            until.expires = then;
        }
    }

    /// Notes that nothing of it waits any more.
    fn nothing_waits(&self) {
        self.until.lock().unwrap_or_else(PoisonError::into_inner).waits = None;
    }

    /// Whether its time is over, if it is kept in this process alone.
    fn is_due(&self, now: Instant, idle: Duration) -> bool {
        let (until, state) = (self.until(), self.state());
        let unused = !state.busy && now.duration_since(state.used) >= idle;
        now >= until.expires || (unused && until.waits.is_none_or(|waits| now >= waits))
    }

    /// Notes that it was used.
    fn touch(&self) {
        self.state().used = Instant::now();
    }

    fn is_over(&self) -> bool {
        self.over.is_cancelled()
    }

    /// Gives up what runs in it, because another server has taken it over.
    fn lose(&self) {
        self.lost.store(true, Ordering::Release);
        self.over.cancel();
    }

    fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    /// Has whoever comes next make the session anew from what is stored.
    fn discard(&self) {
        self.stale.store(true, Ordering::Release);
    }

    fn is_stale(&self) -> bool {
        self.stale.load(Ordering::Acquire)
    }

    /// What lists and inspections say about it.
    fn summary(&self) -> Json {
        let state = self.state();
        let runs = state.busy || state.elsewhere;
        let expires_ms = self.until().expires_ms;
        Meta::without_logs(self, &state).summary(&self.id, self.created_ms, expires_ms, runs)
    }
}

/// A moment of the calendar, as far ahead as clocks go.
fn instant_of(ms: i64) -> Instant {
    /// Longer than anything lives.
    const FOREVER: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
    let left = u64::try_from(ms.saturating_sub(ptc_host::now_ms())).unwrap_or_default();
    Instant::now() + Duration::from_millis(left).min(FOREVER)
}

/// The right to run a program in a session. Dropping it, in whichever way the program ended, frees the session.
#[derive(Debug)]
struct Reservation {
    session: Arc<Session>,
    /// The same right among all servers that share a store.
    hold: Option<Hold>,
    /// Whether the machine may have changed since the last commit.
    unsettled: bool,
}

impl Reservation {
    fn session(&self) -> &Arc<Session> {
        &self.session
    }

    fn held_by(&mut self, hold: Hold) {
        self.hold = Some(hold);
    }

    /// Whether the session is stored.
    fn is_stored(&self) -> bool {
        self.hold.is_some()
    }

    /// Gives the session back as it was, and is done with it when this returns.
    async fn give_back(mut self) {
        if let Some(hold) = self.hold.take() {
            hold.give_back().await;
        }
    }

    /// Notes that the machine changes from now on.
    fn begin(&mut self) {
        self.unsettled = true;
    }

    /// Keeps what a program or a change left behind, in the store first if there is one. Without a dump the machine is
    /// as it was.
    async fn commit(
        &mut self,
        mut next: SessionState,
        dump: Option<Vec<u8>>,
        receipt: Option<Filled>,
    ) -> Result<(), SessionError> {
        if let Some(hold) = &mut self.hold {
            let meta = Meta::of(&self.session, &next);
            next.version = hold.commit(meta, dump, receipt).await?;
        }
        *self.session.state() = next;
        self.unsettled = false;
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.unsettled && self.is_stored() {
            self.session.discard();
        }
        let mut state = self.session.state();
        state.busy = false;
        state.used = Instant::now();
    }
}
