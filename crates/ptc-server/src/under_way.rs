//! Which calls this process has under way, told in the store to people who look at calls without an answer: one that is
//! being made must not be settled.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use ptc_store::Store;
use ptc_store::under_way::{Told, UnderWay};
use serde_json::{Value as Json, json};

/// How long what was told holds.
const HOLDS: Duration = Duration::from_secs(10);
/// How often it is told again while calls are under way.
const AGAIN: Duration = Duration::from_secs(3);
/// How long a call takes at least that is told of.
const PAUSE: Duration = Duration::from_millis(250);

/// A scope and an identity.
pub type Call = (String, String);

/// The calls of this process.
#[derive(Debug, Default)]
pub struct Calls {
    state: Mutex<State>,
    woken: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// A retry may meet its own call, so they are counted.
    calls: BTreeMap<Call, usize>,
    /// Whether they are others than those that were told.
    changed: bool,
    over: bool,
}

impl Calls {
    /// A call begins, or ends.
    pub fn note(&self, scope: &str, identity: &str, is: bool) {
        let call = (scope.to_owned(), identity.to_owned());
        let mut state = self.locked();
        if is {
            *state.calls.entry(call).or_default() += 1;
        } else if let Some(count) = state.calls.get_mut(&call) {
            *count -= 1;
            if *count == 0 {
                state.calls.remove(&call);
            }
        }
        state.changed = true;
        self.woken.notify_all();
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is something to tell; false when it is over. What was told must be told again before it is
    /// forgotten.
    fn wait(&self, told: bool) -> bool {
        let idle = |state: &mut State| !state.changed && !state.over;
        let state = self.locked();
        let state = match told {
            true => {
                self.woken.wait_timeout_while(state, AGAIN, idle).unwrap_or_else(PoisonError::into_inner).0
            }
            false => self.woken.wait_while(state, idle).unwrap_or_else(PoisonError::into_inner),
        };
        !state.over
    }

    /// Lets those that are quick come to their end: nobody could look at them anyway.
    fn pause(&self) {
        let until_over = |state: &mut State| !state.over;
        drop(self.woken.wait_timeout_while(self.locked(), PAUSE, until_over));
    }

    fn now(&self) -> Vec<Call> {
        let mut state = self.locked();
        state.changed = false;
        state.calls.keys().cloned().collect()
    }
}

/// Tells of calls until it is dropped.
#[derive(Debug)]
pub struct Announcing {
    calls: Arc<Calls>,
    thread: Option<JoinHandle<()>>,
}

impl Announcing {
    /// Tells of these calls in a store. What cannot be told is not: calls do not wait for it.
    pub fn begin(calls: Arc<Calls>, store: Arc<Store>) -> Announcing {
        let own = calls.clone();
        let tell = move || {
            let (under_way, process) = (UnderWay::new(store), Process::own());
            let (id, by) = (process.id(), process.json());
            let holds = i64::try_from(HOLDS.as_millis()).unwrap_or(i64::MAX);
            let mut told = false;
            while own.wait(told) {
                own.pause();
                let calls = own.now();
                if told || !calls.is_empty() {
                    told = under_way.tell(&id, &by, &calls, holds).is_ok() && !calls.is_empty();
                }
            }
            if told {
                // Else it is forgotten by itself.
                let _ = under_way.tell(&id, &by, &[], holds);
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

/// The calls that processes have under way in a store, without those of processes that are known to be gone.
pub fn calls(store: &Arc<Store>) -> Result<Vec<Call>, String> {
    let told = UnderWay::new(store.clone()).told().map_err(|error| error.to_string())?;
    let own = Process::own();
    Ok(told.into_iter().filter(|Told { by, .. }| !own.knows_gone(by)).flat_map(|told| told.calls).collect())
}

/// A process, as others of the same machine can look for it.
struct Process {
    pid: u32,
    /// When it began, as the system counts.
    began: Option<String>,
    /// The machine since it was started, and the processes that see each other there.
    world: Option<String>,
}

impl Process {
    fn own() -> Process {
        let pid = std::process::id();
        Process { pid, began: began(pid), world: world() }
    }

    fn id(&self) -> String {
        let text = |part: &Option<String>| part.clone().unwrap_or_default();
        format!("{}-{}-{}", self.pid, text(&self.began), text(&self.world))
    }

    fn json(&self) -> Json {
        json!({"pid": self.pid, "began": self.began, "world": self.world})
    }

    /// Whether another process is certainly gone. Of those on other machines nothing is known.
    fn knows_gone(&self, other: &Json) -> bool {
        let (Some(world), Some(there)) = (&self.world, other["world"].as_str()) else { return false };
        let pid = other["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
        world == there && pid.is_some_and(|pid| began(pid).as_deref() != other["began"].as_str())
    }
}

/// When a process began: the 22nd field that Linux tells of it, behind a name that may hold anything.
fn began(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(19).map(str::to_owned)
}

fn world() -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let processes = std::fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{} {}", boot.trim(), processes.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> Arc<Store> {
        Arc::new(Store::open(":memory:").expect("a store"))
    }

    /// Waits for an event: what the store says changes when the thread has told.
    fn until(store: &Arc<Store>, expected: &[Call]) {
        while calls(store).expect("a list") != expected {
            std::thread::yield_now();
        }
    }

    #[test]
    fn calls_are_told_while_they_are_under_way() {
        let (own, store) = (Arc::new(Calls::default()), store());
        let announcing = Announcing::begin(own.clone(), store.clone());
        let call = ("request".to_owned(), "c0ffee".to_owned());
        own.note(&call.0, &call.1, true);
        until(&store, std::slice::from_ref(&call));
        own.note(&call.0, &call.1, true);
        own.note(&call.0, &call.1, false);
        assert_eq!(
            calls(&store).expect("a list"),
            std::slice::from_ref(&call),
            "it was begun twice and ended once"
        );
        own.note(&call.0, &call.1, false);
        until(&store, &[]);
        own.note(&call.0, &call.1, true);
        until(&store, std::slice::from_ref(&call));
        drop(announcing);
        assert!(calls(&store).expect("a list").is_empty(), "a process that ends takes them back");
    }

    #[test]
    fn what_a_process_told_that_is_gone_does_not_count() {
        let (store, own) = (store(), Process::own());
        let Some(world) = own.world.clone() else { return };
        let call = vec![("request".to_owned(), "c0ffee".to_owned())];
        let told = UnderWay::new(store.clone());
        for (by, counts) in [
            (json!({"pid": own.pid, "began": own.began, "world": world}), true),
            (json!({"pid": own.pid, "began": "another time", "world": world}), false),
            (json!({"pid": u32::MAX, "began": "1", "world": world}), false),
            (json!({"pid": u32::MAX, "began": "1", "world": "another machine"}), true),
        ] {
            told.tell("it", &by, &call, 60_000).expect("told");
            assert_eq!(!calls(&store).expect("a list").is_empty(), counts, "{by}");
        }
    }
}
