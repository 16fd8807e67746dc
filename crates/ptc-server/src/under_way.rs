//! Which calls this process makes right now. The row of a call in the store says so from its first moment on, for some
//! seconds; this says it again while the call lasts, and takes it back when the call ended without an answer.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ptc_store::effects::Effects;
use ptc_upstream::pins::digest;
use serde_json::json;

use crate::effects::owner_in;
use crate::events;

/// How long a row is believed that says who makes its call.
pub const HOLDS: Duration = Duration::from_secs(10);
/// How often it is said again while the call lasts.
const AGAIN: Duration = Duration::from_secs(3);

/// A scope and an identity.
pub type CallKey = (String, String);

/// The calls of this process.
#[derive(Debug, Default)]
pub struct CallsInFlight {
    state: Mutex<State>,
    woken: Condvar,
}

#[derive(Debug, Default)]
struct State {
    calls: BTreeMap<CallKey, MadeCall>,
    /// Calls that ended without an answer, for whoever tells the store.
    ended: Vec<CallKey>,
    /// Those of which the store could not be told: nobody else says that they are over while this process lives.
    owed: Vec<CallKey>,
    /// Whether somebody tells the store.
    told: bool,
    /// Whether whoever tells waits for a call to begin.
    idle: bool,
    over: bool,
}

/// What is known of a call.
#[derive(Debug, Default)]
struct MadeCall {
    /// A retry may meet its own call, so they are counted.
    count: usize,
    /// Whether its row names this process, and there is no answer.
    open: bool,
    /// Server and tool.
    tool: String,
    /// When its row says that it was begun.
    begun_ms: Option<i64>,
}

impl State {
    fn open(&self) -> impl Iterator<Item = &CallKey> {
        self.calls.iter().filter(|(_, made)| made.open).map(|(call, _)| call)
    }

    fn nothing_to_tell(&self) -> bool {
        self.ended.is_empty() && self.owed.is_empty() && self.open().next().is_none()
    }
}

/// What is to be told.
#[derive(Debug, Default, PartialEq)]
struct News {
    ended: Vec<CallKey>,
    last: Vec<CallKey>,
}

impl CallsInFlight {
    /// A call is about to begin, or ends, whatever came of it.
    pub fn note(&self, scope: &str, identity: &str, is: bool) {
        let call = (scope.to_owned(), identity.to_owned());
        let mut state = self.locked();
        if is {
            state.calls.entry(call).or_default().count += 1;
            return;
        }
        let Some(made) = state.calls.get_mut(&call) else { return };
        made.count -= 1;
        if made.count > 0 {
            return;
        }
        let Some(made) = state.calls.remove(&call) else { return };
        if made.open && state.told {
            state.ended.push(call);
            self.woken.notify_all();
        }
        drop(state);
        if made.open {
            let begun = made.begun_ms.map(ptc_host::called_at).unwrap_or_default();
            events::outcome_unknown(owner_in(scope).unwrap_or(scope), &made.tool, identity, &begun);
        }
    }

    /// The row of a call that was noted names this process from now on.
    pub fn begun(&self, scope: &str, identity: &str, tool: &str, begun_ms: Option<i64>) {
        self.set(scope, identity, true);
        let mut state = self.locked();
        if let Some(made) = state.calls.get_mut(&(scope.to_owned(), identity.to_owned())) {
            tool.clone_into(&mut made.tool);
            made.begun_ms = begun_ms;
        }
    }

    /// The row of a call has its answer.
    pub fn answered(&self, scope: &str, identity: &str) {
        self.set(scope, identity, false);
    }

    fn set(&self, scope: &str, identity: &str, open: bool) {
        let mut state = self.locked();
        if let Some(made) = state.calls.get_mut(&(scope.to_owned(), identity.to_owned())) {
            made.open = open;
            if open && state.idle {
                self.woken.notify_all();
            }
        }
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is something to tell; nothing when it is over. Calls that last are told of when it is time.
    fn news(&self, due: &mut Instant) -> Option<News> {
        let mut state = self.locked();
        if state.nothing_to_tell() {
            state.idle = true;
            let nothing = |state: &mut State| !state.over && state.nothing_to_tell();
            state = self.woken.wait_while(state, nothing).unwrap_or_else(PoisonError::into_inner);
            state.idle = false;
            *due = Instant::now() + AGAIN;
        }
        let left = due.saturating_duration_since(Instant::now());
        let quiet = |state: &mut State| !state.over && state.ended.is_empty();
        let waited = self.woken.wait_timeout_while(state, left, quiet);
        let (mut state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.over {
            return None;
        }
        let mut ended = std::mem::take(&mut state.ended);
        let mut last = Vec::new();
        if timeout.timed_out() {
            ended.append(&mut state.owed);
            last.extend(state.open().cloned());
            *due = Instant::now() + AGAIN;
        }
        Some(News { ended, last })
    }

    /// What has to be taken back when nobody tells any more.
    fn left(&self) -> Vec<CallKey> {
        let mut state = self.locked();
        state.told = false;
        let (ended, owed) = (std::mem::take(&mut state.ended), std::mem::take(&mut state.owed));
        ended.into_iter().chain(owed).chain(state.open().cloned()).collect()
    }

    /// Has the store told again, after a while, that calls are over.
    fn owe(&self, ended: Vec<CallKey>) {
        self.locked().owed.extend(ended);
    }
}

/// Tells the store of calls until it is dropped.
#[derive(Debug)]
pub struct Announcing {
    calls: Arc<CallsInFlight>,
    thread: Option<JoinHandle<()>>,
}

impl Announcing {
    /// Tells of these calls in a journal. What cannot be told is not: calls do not wait for it.
    pub fn begin(calls: Arc<CallsInFlight>, effects: Effects) -> Announcing {
        let own = calls.clone();
        calls.locked().told = true;
        let tell = move || {
            let mut due = Instant::now() + AGAIN;
            while let Some(News { ended, last }) = own.news(&mut due) {
                // What could not be told is told the next time.
                if !ended.is_empty() && effects.let_go(&ended).is_err() {
                    own.owe(ended);
                }
                if !last.is_empty() {
                    let _ = effects.hold(&last);
                }
            }
            let left = own.left();
            if !left.is_empty() {
                let _ = effects.let_go(&left);
            }
        };
        let thread = std::thread::Builder::new().name("ptc-under-way".to_owned()).spawn(tell);
        Announcing { calls, thread: thread.ok() }
    }
}

impl Drop for Announcing {
    fn drop(&mut self) {
        self.calls.locked().over = true;
        self.calls.woken.notify_all();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing left to say.
            let _ = thread.join();
        }
    }
}

/// A process, as others of the same machine can look for it.
#[derive(Debug)]
pub struct Process {
    pid: u32,
    /// When it began, as the system counts.
    began: Option<String>,
    world: Option<String>,
}

/// What stands for what a system does not tell.
const UNKNOWN: &str = "-";

impl Process {
    /// This one.
    pub fn own() -> &'static Process {
        static OWN: OnceLock<Process> = OnceLock::new();
        OWN.get_or_init(|| {
            let pid = std::process::id();
            Process { pid, began: began(pid), world: world() }
        })
    }

    /// As rows of calls name it.
    pub fn text(&self) -> String {
        let [began, world] = [&self.began, &self.world].map(|part| part.as_deref().unwrap_or(UNKNOWN));
        format!("{} {began} {world}", self.pid)
    }

    /// Whether another process is certainly gone. Of those on other machines nothing is known.
    pub fn knows_gone(&self, other: &str) -> bool {
        self.finds(other) == Some(false)
    }

    /// Whether another process is certainly there. It may stand still.
    pub fn knows_alive(&self, other: &str) -> bool {
        self.finds(other) == Some(true)
    }

    /// Whether another process is there, if it would be on this machine.
    fn finds(&self, other: &str) -> Option<bool> {
        let parts: Vec<&str> = other.split(' ').collect();
        let (Some(world), [pid, then, there]) = (&self.world, parts.as_slice()) else { return None };
        let pid = pid.parse().ok().filter(|_| world == there)?;
        Some(began(pid).as_deref() == Some(*then))
    }
}

/// When a process began that lives: the 22nd field that Linux tells of it, behind a name that may hold anything. One that
/// ended and that nobody has asked for yet is gone as well.
fn began(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let state = fields.next()?;
    fields.nth(18).filter(|_| !matches!(state, "Z" | "X")).map(str::to_owned)
}

/// The machine since it was started, and the processes that see each other there: enough of a hash to tell them apart.
pub fn world() -> Option<String> {
    const CHARS: usize = 16;
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let processes = std::fs::read_link("/proc/self/ns/pid").ok()?;
    let world = digest(&json!([boot.trim(), processes.to_string_lossy()]));
    Some(world.chars().take(CHARS).collect())
}

#[cfg(test)]
mod tests {
    use ptc_store::Store;
    use ptc_store::effects::{Begun, NewEffect};

    use super::*;

    fn effects(holds: Duration) -> Effects {
        let holds = i64::try_from(holds.as_millis()).expect("a number");
        Effects::new(Arc::new(Store::open(":memory:").expect("a store"))).made_by("this one", holds)
    }

    fn begin(calls: &CallsInFlight, effects: &Effects, identity: &str) {
        calls.note("k", identity, true);
        let args = json!({});
        let call = NewEffect { identity, server: "mail", tool: "send", args: &args };
        assert_eq!(effects.begin("k", &call), Ok(Begun::Fresh));
        calls.begun("k", identity, "mail/send", None);
    }

    /// Calls that the store says are being made.
    fn made(effects: &Effects) -> Vec<String> {
        let gaps = effects.gaps(None).expect("a list");
        gaps.into_iter().filter(|gap| gap.maker.is_some()).map(|gap| gap.identity).collect()
    }

    /// Waits for an event: what the store says changes when the thread has told.
    fn until(effects: &Effects, expected: &[&str]) {
        while made(effects) != expected {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_call_is_under_way_from_its_row_on_until_it_ends_or_its_process_does() {
        let (calls, effects) = (Arc::new(CallsInFlight::default()), effects(HOLDS));
        let announcing = Announcing::begin(calls.clone(), effects.clone());
        begin(&calls, &effects, "a");
        assert_eq!(made(&effects), ["a"], "nobody has to tell of it first");
        // A retry meets it.
        calls.note("k", "a", true);
        calls.note("k", "a", false);
        assert_eq!(made(&effects), ["a"], "it was begun twice and ended once");
        calls.note("k", "a", false);
        until(&effects, &[]);
        begin(&calls, &effects, "b");
        drop(announcing);
        assert_eq!(made(&effects), Vec::<String>::new(), "a process that ends takes them back");
    }

    #[test]
    fn a_call_that_lasts_is_told_of_again_before_its_row_is_not_believed_any_more() {
        // Nothing is believed unless somebody tells of it after the row.
        let (calls, effects) = (Arc::new(CallsInFlight::default()), effects(Duration::ZERO));
        begin(&calls, &effects, "a");
        let mut due = Instant::now();
        let news = calls.news(&mut due).expect("it is not over");
        assert_eq!(news, News { ended: vec![], last: vec![("k".to_owned(), "a".to_owned())] });
        assert!(due > Instant::now(), "and again later");
        calls.answered("k", "a");
        calls.locked().told = true;
        calls.note("k", "a", false);
        begin(&calls, &effects, "b");
        calls.note("k", "b", false);
        let news = calls.news(&mut due).expect("it is not over");
        assert_eq!(news, News { ended: vec![("k".to_owned(), "b".to_owned())], last: vec![] }, "at once");
    }

    #[test]
    fn a_call_of_whose_end_the_store_could_not_be_told_is_told_of_again() {
        let calls = CallsInFlight::default();
        let call = ("k".to_owned(), "a".to_owned());
        calls.owe(vec![call.clone()]);
        let mut due = Instant::now();
        assert_eq!(calls.news(&mut due), Some(News { ended: vec![call.clone()], last: vec![] }));
        calls.owe(vec![call.clone()]);
        assert_eq!(calls.left(), [call], "also when nobody tells any more");
    }

    #[test]
    fn a_process_of_this_machine_that_is_gone_is_known() {
        let own = Process::own();
        assert!(!own.knows_gone(&own.text()));
        let Some(world) = &own.world else { return };
        assert!(own.knows_alive(&own.text()));
        for (other, gone) in [
            (format!("{} another-time {world}", own.pid), true),
            (format!("{} 1 {world}", u32::MAX), true),
            (format!("{} 1 another-machine", u32::MAX), false),
            (format!("{} 1 {UNKNOWN}", u32::MAX), false),
            ("what a later version says".to_owned(), false),
        ] {
            assert_eq!((own.knows_gone(&other), own.knows_alive(&other)), (gone, false), "{other}");
        }
    }
}
