//! MCP sessions of clients that begin with `initialize`: who owns them, which requests they have under way, and when
//! they end.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use tokio::sync::mpsc::Sender;
use tokio_util::sync::CancellationToken;

use super::session_id;
use crate::options::Options;
use crate::wire::adapter::Stop;
use crate::wire::identity::random;

/// A session.
#[derive(Debug)]
pub struct HttpSession {
    /// Its id, which clients send with every request.
    pub id: Arc<str>,
    /// The owner of the token that opened it.
    pub owner: Arc<str>,
    /// What was agreed on.
    pub agreed: Agreed,
    /// What the client calls itself; only the server that it began with knows.
    pub client: OnceLock<Arc<str>>,
    born: Instant,
    /// Set when it is over: nobody waits for its requests any more.
    left: Arc<AtomicBool>,
    state: Mutex<HttpSessionState>,
}

/// What a client and the server agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// The version of the protocol.
    pub protocol: &'static str,
    /// Whether the client can show forms.
    pub forms: bool,
}

#[derive(Debug)]
struct HttpSessionState {
    used: Instant,
    under_way: HashMap<String, Stop>,
    dialogues: HashMap<Arc<str>, Replies>,
}

/// Where the replies of a client to the questions of one request go: the number of the question, and the reply.
pub type Replies = Sender<(u64, Json)>;

/// A request under way; dropped when it is done.
#[derive(Debug)]
pub struct UnderWay {
    session: Arc<HttpSession>,
    id: String,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut state = self.session.state();
        state.under_way.remove(&self.id);
        state.used = Instant::now();
    }
}

/// Why a request cannot begin.
#[derive(Debug, PartialEq, Eq)]
pub enum NotBegun {
    /// One with its id is under way.
    SameId,
    /// Too many are.
    Busy,
}

impl HttpSession {
    fn state(&self) -> MutexGuard<'_, HttpSessionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a request; `most` bounds how many may be under way.
    pub fn begin(self: &Arc<Self>, id: &str, most: Option<usize>) -> Result<(Stop, UnderWay), NotBegun> {
        let mut state = self.state();
        if state.under_way.contains_key(id) {
            return Err(NotBegun::SameId);
        }
        if most.is_some_and(|most| state.under_way.len() >= most) {
            return Err(NotBegun::Busy);
        }
        let stop = Stop { token: CancellationToken::new(), left: Some(self.left.clone()) };
        state.under_way.insert(id.to_owned(), stop.clone());
        state.used = Instant::now();
        Ok((stop, UnderWay { session: self.clone(), id: id.to_owned() }))
    }

    /// Takes a request back, if it is under way.
    pub fn cancel(&self, id: &str) {
        if let Some(stop) = self.state().under_way.get(id) {
            stop.token.cancel();
        }
    }

    /// Lets replies to questions of this name through.
    pub fn listen(&self, name: Arc<str>, replies: Replies) {
        self.state().dialogues.insert(name, replies);
    }

    /// Nobody waits for them any more.
    pub fn leave(&self, name: &str) {
        self.state().dialogues.remove(name);
    }

    /// Hands on what the client replies to the question with the id `NAME-NUMBER`, and gives back what is for no
    /// question of this server.
    pub fn reply(&self, reply: Json) -> Option<Json> {
        let to = reply["id"].as_str().and_then(|id| {
            let (name, number) = id.rsplit_once('-')?;
            Some((self.state().dialogues.get(name)?.clone(), number.parse().ok()?))
        });
        let Some((replies, number)) = to else { return Some(reply) };
        // More than it waits for are of no use.
        let _ = replies.try_send((number, reply));
        None
    }

    /// Nobody waits for what is under way any more.
    fn leave_all(&self) {
        self.left.store(true, Ordering::Release);
        let all: Vec<Stop> = self.state().under_way.values().cloned().collect();
        all.iter().for_each(|stop| stop.token.cancel());
    }
}

/// Why there is no new session.
#[derive(Debug, PartialEq, Eq)]
pub enum SessionsFull {
    /// The owner has as many as one may have.
    Owner,
    /// There are as many as there may be.
    Server,
}

/// All sessions.
#[derive(Debug)]
pub struct HttpSessions {
    most: usize,
    most_of_owner: usize,
    ttl: Duration,
    idle: Duration,
    /// Whether other servers may have opened sessions whose requests come here.
    shared: bool,
    open: Mutex<HashMap<Arc<str>, Arc<HttpSession>>>,
    /// Sessions that clients ended here; the oldest are forgotten.
    ended: Mutex<VecDeque<Arc<str>>>,
}

/// Sessions that clients ended and that are remembered.
const ENDED: usize = 4096;

impl HttpSessions {
    /// None yet.
    pub fn new(options: &Options) -> HttpSessions {
        let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        HttpSessions {
            most: count(options.http_max_sessions),
            most_of_owner: count(options.http_max_sessions_per_owner),
            ttl: Duration::from_millis(options.http_session_ttl_ms),
            idle: Duration::from_millis(options.http_session_idle_timeout_ms),
            shared: options.store.0.is_some(),
            open: Mutex::default(),
            ended: Mutex::default(),
        }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<HttpSession>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a session.
    pub fn open(&self, owner: &Arc<str>, agreed: Agreed) -> Result<Arc<HttpSession>, SessionsFull> {
        let id = match self.shared {
            true => session_id::sealed(owner, agreed, seconds()),
            false => format!("mcp_{}", random::<24>()),
        };
        let now = Instant::now();
        self.insert(id.into(), owner, agreed, now, now)
    }

    fn insert(
        &self,
        id: Arc<str>,
        owner: &Arc<str>,
        agreed: Agreed,
        born: Instant,
        now: Instant,
    ) -> Result<Arc<HttpSession>, SessionsFull> {
        let mut all = self.all();
        // Those whose time is over count for nothing, also before they are swept.
        let counts = |session: &&Arc<HttpSession>| !self.over(session, now);
        let of_owner = |session: &&Arc<HttpSession>| session.owner == *owner;
        if all.values().filter(of_owner).filter(counts).count() >= self.most_of_owner {
            return Err(SessionsFull::Owner);
        }
        if all.len() >= self.most && all.values().filter(counts).count() >= self.most {
            return Err(SessionsFull::Server);
        }
        let state = HttpSessionState { used: now, under_way: HashMap::new(), dialogues: HashMap::new() };
        let (owner, client, state) = (owner.clone(), OnceLock::new(), Mutex::new(state));
        let session = Arc::new(HttpSession { id, owner, agreed, client, born, left: Arc::default(), state });
        all.insert(session.id.clone(), session.clone());
        Ok(session)
    }

    /// The session of that id, if that owner has it and its time is not over.
    pub fn find(&self, id: &str, owner: &Arc<str>, now: Instant) -> Option<Arc<HttpSession>> {
        let found = self.all().get(id).cloned();
        let found = found.or_else(|| self.adopted(id, owner, now));
        found.filter(|session| session.owner == *owner && !self.over(session, now))
    }

    /// A session that another server opened, or this one before it was started anew.
    fn adopted(&self, id: &str, owner: &Arc<str>, now: Instant) -> Option<Arc<HttpSession>> {
        if !self.shared || self.ended().iter().any(|ended| &**ended == id) {
            return None;
        }
        let (agreed, born) = session_id::opened(id, owner)?;
        let age = Duration::from_secs(u64::from(seconds().saturating_sub(born)));
        let born = now.checked_sub(age).filter(|_| age <= self.ttl)?;
        self.insert(id.into(), owner, agreed, born, now).ok()
    }

    fn ended(&self) -> MutexGuard<'_, VecDeque<Arc<str>>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends a session for good, because its client says so; false if there was none.
    pub fn end(&self, id: &Arc<str>) -> bool {
        let mut ended = self.ended();
        ended.push_back(id.clone());
        while ended.len() > ENDED {
            ended.pop_front();
        }
        drop(ended);
        self.close(id)
    }

    fn over(&self, session: &HttpSession, now: Instant) -> bool {
        let state = session.state();
        let idle = state.under_way.is_empty() && now.duration_since(state.used) > self.idle;
        now.duration_since(session.born) > self.ttl || idle
    }

    /// Ends a session; false if there was none.
    pub fn close(&self, id: &str) -> bool {
        let closed = self.all().remove(id);
        closed.inspect(|session| session.leave_all()).is_some()
    }

    /// Ends the sessions whose time is over, and gives their ids.
    pub fn sweep(&self, now: Instant) -> Vec<Arc<str>> {
        let over: Vec<Arc<HttpSession>> =
            self.all().values().filter(|session| self.over(session, now)).cloned().collect();
        over.iter().filter(|session| self.close(&session.id)).map(|session| session.id.clone()).collect()
    }

    /// How many are open.
    pub fn count(&self) -> usize {
        self.all().len()
    }
}

/// Seconds since 1970.
fn seconds() -> u32 {
    u32::try_from(ptc_host::now_ms() / 1_000).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::StorePlace;

    const NEW: Agreed = Agreed { protocol: "2025-11-25", forms: false };
    const OLD: Agreed = Agreed { protocol: "2025-06-18", forms: true };

    fn sessions() -> HttpSessions {
        HttpSessions::new(&Options {
            http_max_sessions: 3,
            http_max_sessions_per_owner: 2,
            ..Options::default()
        })
    }

    #[test]
    fn r1_6_11_caps_of_owners_and_of_the_server() {
        let (sessions, a, b): (_, Arc<str>, Arc<str>) = (sessions(), "a".into(), "b".into());
        let first = sessions.open(&a, NEW).unwrap();
        sessions.open(&a, NEW).unwrap();
        assert_eq!(sessions.open(&a, NEW).unwrap_err(), SessionsFull::Owner);
        sessions.open(&b, NEW).unwrap();
        assert_eq!(sessions.open(&b, NEW).unwrap_err(), SessionsFull::Server);
        assert!(sessions.find(&first.id, &b, Instant::now()).is_none(), "of somebody else");
        assert!(sessions.close(&first.id));
        assert!(!sessions.close(&first.id));
    }

    #[test]
    fn r1_6_18_sessions_end_by_age_and_when_idle_but_not_while_they_work() {
        let (sessions, a): (_, Arc<str>) = (sessions(), "a".into());
        let idle = sessions.open(&a, NEW).unwrap();
        let busy = sessions.open(&a, NEW).unwrap();
        let (stop, under_way) = busy.begin("1", None).unwrap();
        let later = Instant::now() + Duration::from_secs(16 * 60);
        assert_eq!(sessions.sweep(later), std::slice::from_ref(&idle.id));
        assert!(sessions.find(&busy.id, &a, later).is_some());
        assert_eq!(
            sessions.sweep(Instant::now() + Duration::from_secs(61 * 60)),
            std::slice::from_ref(&busy.id)
        );
        assert!(stop.token.is_cancelled());
        assert!(stop.left.is_some_and(|left| left.load(Ordering::Acquire)), "nobody took it back");
        drop(under_way);
        assert_eq!(sessions.count(), 0);
    }

    #[test]
    fn sessions_whose_time_is_over_count_for_nothing_before_they_are_swept() {
        let (sessions, a): (_, Arc<str>) = (sessions(), "a".into());
        let now = Instant::now();
        let open = |id: &str, now| {
            sessions.insert(id.into(), &a, NEW, now, now).map(|session| session.id.to_string())
        };
        for id in ["one", "two"] {
            assert_eq!(open(id, now).as_deref(), Ok(id));
        }
        assert_eq!(open("three", now), Err(SessionsFull::Owner));
        let later = now + sessions.ttl * 2;
        for id in ["three", "four"] {
            assert_eq!(open(id, later).as_deref(), Ok(id));
        }
        assert_eq!((sessions.count(), open("five", later)), (4, Err(SessionsFull::Owner)));
    }

    #[test]
    fn r1_6_16_requests_under_way_are_bounded_and_leave() {
        let (sessions, a): (_, Arc<str>) = (sessions(), "a".into());
        let session = sessions.open(&a, NEW).unwrap();
        let (_, first) = session.begin("1", Some(1)).unwrap();
        assert_eq!(session.begin("1", Some(9)).unwrap_err(), NotBegun::SameId);
        assert_eq!(session.begin("2", Some(1)).unwrap_err(), NotBegun::Busy);
        drop(first);
        session.begin("2", Some(1)).unwrap();
    }

    #[test]
    fn servers_that_share_a_store_know_each_others_sessions() {
        let store = StorePlace(Some("postgres://x".into()));
        let server = || HttpSessions::new(&Options { store: store.clone(), ..Options::default() });
        let (first, second, a, b): (_, _, Arc<str>, Arc<str>) = (server(), server(), "a".into(), "b".into());
        let id = first.open(&a, OLD).unwrap().id.clone();
        assert!(second.find(&id, &b, Instant::now()).is_none(), "of somebody else");
        let found = second.find(&id, &a, Instant::now()).expect("the id says it all");
        assert_eq!((found.agreed, second.count()), (OLD, 1));
        assert!(second.end(&id));
        assert!(second.find(&id, &a, Instant::now()).is_none(), "its client ended it");
        let late = server();
        let old = session_id::sealed("a", OLD, seconds() - 3_700);
        assert!(late.find(&old, &a, Instant::now()).is_none(), "its time is over");
        let alone = sessions();
        assert!(alone.find(&id, &a, Instant::now()).is_none(), "without a store nobody shares anything");
    }

    #[test]
    fn replies_find_the_request_that_asked() {
        let (sessions, a): (_, Arc<str>) = (sessions(), "a".into());
        let session = sessions.open(&a, OLD).unwrap();
        let (sender, mut replies) = tokio::sync::mpsc::channel(1);
        session.listen("q-1".into(), sender);
        let reply = |id: Json| session.reply(serde_json::json!({"jsonrpc": "2.0", "id": id, "result": {}}));
        for strange in ["", "q-1", "q-1-", "q-1-x", "q-2-0", "-"] {
            assert!(reply(strange.into()).is_some());
        }
        assert!(reply(0.into()).is_some() && replies.try_recv().is_err());
        assert!(reply("q-1-7".into()).is_none());
        assert!(reply("q-1-8".into()).is_none());
        assert_eq!(replies.try_recv().unwrap().0, 7, "one more than there is room for is dropped");
        session.leave("q-1");
        assert!(reply("q-1-9".into()).is_some());
        assert!(replies.try_recv().is_err());
    }
}
