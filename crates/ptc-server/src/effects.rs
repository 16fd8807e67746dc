//! The journal of calls that may change the world, in a store.
//!
//! A program makes the calls that follow from what it was told. So `HeldJournal` remembers reads, failures, the catalog, the
//! server's own tools, the seed and the clock, and writes them in the transaction that begins the next write: before a write
//! nothing depends on them, so they need no transaction of their own.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ptc_store::effects::{self, EffectError, Effects, Finding, Gap, Holder, MadeBy, Open, Seen};
use ptc_store::requests::Requests;
use ptc_store::tickets::{self, Tickets};
use ptc_store::{Lease, Store, StoreError};
use ptc_upstream::EffectJournal;
use ptc_upstream::ledger::json_bytes;
use ptc_upstream::pins::digest;
use ptc_upstream::runtime::{Begun, NewEffect};
use serde_json::{Value as Json, json};

use crate::engine::pulse::{SILENT, patience, said_in_time};
use crate::events;
pub use crate::under_way::{Announcing, CallKey};
use crate::under_way::{CallsInFlight, HOLDS, Process};

/// A store as the journal of upstream calls, and of requests that make them. Clones know of each other's calls.
#[derive(Clone, Debug)]
pub struct StoreJournal {
    effects: Effects,
    /// The same for calls that this process makes.
    making: Effects,
    requests: Requests,
    tickets: Tickets,
    calls: Arc<CallsInFlight>,
    retention: Duration,
    /// Whether errors say where the store is.
    openly: bool,
}

/// How long a journal keeps what is over, unless told.
pub const RETENTION: Duration = Duration::from_secs(24 * 60 * 60);

impl StoreJournal {
    /// The journal of a store.
    pub fn new(store: Arc<Store>) -> StoreJournal {
        let holds = i64::try_from(HOLDS.as_millis()).unwrap_or(i64::MAX);
        let (effects, requests) = (Effects::new(store.clone()), Requests::new(store.clone()));
        let making = effects.clone().made_by(&Process::own().text(), holds);
        let (tickets, calls) = (Tickets::new(store), Arc::default());
        StoreJournal { effects, making, requests, tickets, calls, retention: RETENTION, openly: false }
    }

    /// The same for whoever may know where the store is. Programs and models may not.
    #[must_use]
    pub fn openly(self) -> Self {
        StoreJournal { openly: true, ..self }
    }

    /// The same with answers and replies forgotten after so long. Calls without an answer stay.
    #[must_use]
    pub fn retaining(self, retention: Duration) -> Self {
        StoreJournal { retention, ..self }
    }

    /// How long answers and replies are kept, in milliseconds.
    pub fn retention_ms(&self) -> i64 {
        i64::try_from(self.retention.as_millis()).unwrap_or(i64::MAX)
    }

    /// Calls without an answer that nobody is making, by server and tool, most first.
    pub fn left_open(&self) -> Result<Vec<Open>, String> {
        let makes = |process: &str| makes(&MadeBy { process: process.to_owned(), lately: true });
        self.effects.left_open(makes).map_err(|error| self.told(error))
    }

    /// Whom the calls of a scope belong to, if anybody. Blocks.
    pub fn owner(&self, scope: &str) -> Option<String> {
        match scope.strip_prefix(tickets::SCOPE) {
            // What cannot be found out is nobody's.
            Some(ticket) => self.tickets.owner(ticket).ok().flatten(),
            None => owner_in(scope).map(str::to_owned),
        }
    }

    /// What is said of a failure.
    fn told(&self, error: EffectError) -> String {
        let said = match &error {
            EffectError::Store(StoreError::Unacknowledged { .. }) => {
                "the store did not answer, so nobody knows whether it was written down"
            }
            EffectError::Store(_) | EffectError::Missing { .. } => "the store cannot be used at the moment",
            // The store did what it should, and this does not say where it is.
            EffectError::Lost | EffectError::UnderWay => return error.to_string(),
        };
        if self.openly {
            return error.to_string();
        }
        tracing::error!(%error, "the journal of calls cannot be used");
        said.to_owned()
    }

    /// A call that was begun, as upstreams ask for it.
    fn begun(
        &self,
        scope: &str,
        call: &NewEffect<'_>,
        begun: Result<effects::Begun, EffectError>,
    ) -> Result<Begun, String> {
        let known = self.known(begun)?;
        if known == Begun::Fresh {
            let begun_ms = self.begun_ms(scope, call.identity);
            self.calls.begun(scope, call.identity, &format!("{}/{}", call.server, call.tool), begun_ms);
        }
        Ok(known)
    }

    /// Begins a call of a program that belongs to what is held, and keeps what it was told before.
    fn begin_held(
        &self,
        held: &Held,
        scope: &str,
        call: &NewEffect<'_>,
        told: &[Seen],
    ) -> Result<Begun, String> {
        let holder = match held {
            Held::Request(lease) => Holder::Request(lease),
            Held::Ticket(lease) => Holder::Ticket(lease),
        };
        self.begun(scope, call, self.making.begin_held(scope, &stored(call), holder, told))
    }

    /// What is known of a call, as upstreams ask for it.
    fn known(&self, begun: Result<effects::Begun, EffectError>) -> Result<Begun, String> {
        Ok(match begun.map_err(|error| self.told(error))? {
            effects::Begun::Fresh => Begun::Fresh,
            effects::Begun::Done(answer) => Begun::Done(answer),
            effects::Begun::Unknown => Begun::Unknown,
            effects::Begun::Dismissed => Begun::Dismissed,
        })
    }

    /// What is known of a call that somebody began; nothing if nobody did. Blocks.
    pub fn looked_up(&self, scope: &str, identity: &str) -> Result<Option<Begun>, String> {
        let known = self.effects.known(scope, identity).map_err(|error| self.told(error))?;
        known.map(|known| self.known(Ok(known))).transpose()
    }

    /// The journal itself.
    pub fn effects(&self) -> &Effects {
        &self.effects
    }

    /// Requests that may come again.
    pub fn requests(&self) -> &Requests {
        &self.requests
    }

    /// Says again and again which calls are still under way, until what is given is dropped.
    pub fn announce(&self) -> Announcing {
        Announcing::begin(self.calls.clone(), self.making.clone())
    }

    /// The calls that processes have under way, without those of processes that are known to be gone.
    pub fn calls_under_way(&self) -> Result<Vec<CallKey>, String> {
        let made = |gap: &Gap| gap.made_by().is_some_and(|made| makes(&made));
        Ok(self.gaps()?.into_iter().filter(made).map(|gap| (gap.scope, gap.identity)).collect())
    }

    /// Notes what a person found out about a call without an answer. One that a process is making is refused.
    pub fn settle(&self, gap: &Gap, finding: &Finding, note: &str) -> Result<(), EffectError> {
        self.effects.settle_unless_made(&gap.scope, &gap.identity, finding, note, makes)
    }

    /// Calls that were begun and have no answer, the oldest first. Those under way right now are among them.
    pub fn gaps(&self) -> Result<Vec<Gap>, String> {
        let gaps = self.effects.gaps(None).map_err(|error| self.told(error))?;
        // Earlier versions kept requests here, as calls of no server.
        Ok(gaps.into_iter().filter(|gap| !gap.server.is_empty()).collect())
    }
}

/// What calls of a request under a key belong to.
pub fn request_scope(owner: &str, key: &str) -> String {
    format!("{REQUEST}{owner}:{key}")
}

/// What calls of a program without a key belong to.
pub fn call_scope(owner: &str, id: &str) -> String {
    format!("{CALL}{owner}:{id}")
}

const REQUEST: &str = "request:";
const CALL: &str = "call:";

/// Whom a scope belongs to that says so. Those of calls of earlier versions do not.
pub fn owner_in(scope: &str) -> Option<&str> {
    let rest = scope.strip_prefix(REQUEST).or_else(|| scope.strip_prefix(CALL))?;
    rest.split_once(':').map(|(owner, _)| owner)
}

/// The key of the request that a scope is of, if it is of one under a key.
pub fn key_in(scope: &str) -> Option<&str> {
    scope.strip_prefix(REQUEST)?.split_once(':').map(|(_, key)| key)
}

/// Whether a process may still make a call, as far as this one can tell. One that says nothing may stand still and send the
/// call when it goes on, so it is believed only to be gone if it cannot be found here.
fn makes(made: &MadeBy) -> bool {
    match made.lately {
        true => !Process::own().knows_gone(&made.process),
        false => Process::own().knows_alive(&made.process),
    }
}

impl EffectJournal for StoreJournal {
    fn begin(&self, scope: &str, call: &NewEffect<'_>) -> Result<Begun, String> {
        self.begun(scope, call, self.making.begin(scope, &stored(call)))
    }

    fn done(&self, scope: &str, identity: &str, answer: &Json) -> Result<(), String> {
        self.effects.done(scope, identity, answer).map_err(|error| self.told(error))?;
        self.calls.answered(scope, identity);
        Ok(())
    }

    fn begun_ms(&self, scope: &str, identity: &str) -> Option<i64> {
        // What is said of the call does not wait for its time.
        self.making.begun_ms(scope, identity).ok().flatten()
    }

    fn under_way(&self, scope: &str, identity: &str, is: bool) {
        self.calls.note(scope, identity, is);
    }

    fn holds(&self) -> Option<Duration> {
        Some(HOLDS)
    }

    fn patience(&self) -> Duration {
        patience(self.effects.store())
    }

    fn unsent(&self, scope: &str, identity: &str) -> Result<(), String> {
        self.making.unsent(scope, identity).map_err(|error| self.told(error))?;
        self.calls.answered(scope, identity);
        Ok(())
    }
}

/// What a program belongs to that may be run again by another server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// A request under a key.
    Request(Lease),
    /// A ticket.
    Ticket(Lease),
}

/// Bytes of what a program was told that are kept for whoever runs it again.
pub const SEEN_BYTES: usize = 16 << 20;

/// What is remembered of how a program began. It is kept with its first call that may change something.
pub const BEGUN: &str = "begun";

/// The journal of one program that another server may take over: from then on it begins no call. Whatever the program
/// is told is kept with the next call that it begins, and told again to whoever runs it again.
#[derive(Debug)]
pub struct HeldJournal {
    journal: StoreJournal,
    held: Held,
    /// What the program was told when it ran before.
    before: BTreeMap<String, Json>,
    told: Mutex<ToldLog>,
    /// Whether nobody ran the program before, so that none of its calls was begun.
    is_first: bool,
    /// The request that it was begun for before, until it is known whether it goes on.
    again: Mutex<Option<BegunAgain>>,
}

/// A request under a key that comes again and did not end.
#[derive(Debug)]
struct BegunAgain {
    who: String,
    tool: String,
    key: String,
}

/// The server of calls of the server's own tools, as the journal names it.
pub const OWN: &str = "ptc";

/// Why a tool of the server's own was not called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unmade {
    /// It was begun when the program ran before, and nobody knows what became of it.
    Before {
        /// Under this identity.
        identity: String,
        /// When, in milliseconds since 1970, if that can be looked up.
        begun_ms: Option<i64>,
    },
    /// It cannot be written down, for this reason.
    NotBegun(String),
}

/// A call of the server's own that is under way until this is dropped.
struct OwnCall<'j> {
    journal: &'j HeldJournal,
    scope: &'j str,
    identity: &'j str,
}

impl<'j> OwnCall<'j> {
    fn mark(journal: &'j HeldJournal, scope: &'j str, identity: &'j str) -> OwnCall<'j> {
        journal.under_way(scope, identity, true);
        OwnCall { journal, scope, identity }
    }
}

impl Drop for OwnCall<'_> {
    fn drop(&mut self) {
        self.journal.under_way(self.scope, self.identity, false);
    }
}

/// What a program was told and what is not kept yet.
#[derive(Debug, Default)]
struct ToldLog {
    pending: VecDeque<Seen>,
    /// How many things before those that are pending were kept.
    kept: usize,
    /// Bytes of everything that it was told.
    bytes: usize,
    /// How often the server's own tools were called in the same way.
    made: BTreeMap<String, u64>,
    /// Calls that were begun and whose answers are not written down: their identities, servers and tools.
    open: BTreeMap<String, String>,
}

impl HeldJournal {
    /// The journal of a program of whoever holds this, which was told so much when it ran before.
    pub fn new(journal: &StoreJournal, held: Held, before: Vec<Seen>) -> HeldJournal {
        let bytes = before.iter().map(size).sum();
        HeldJournal {
            journal: journal.clone(),
            held,
            before: before.into_iter().map(|seen| (seen.identity, seen.answer)).collect(),
            told: Mutex::new(ToldLog { bytes, ..ToldLog::default() }),
            is_first: false,
            again: Mutex::default(),
        }
    }

    /// The same of a program that nobody ran before: whatever becomes of the store, none of its calls was begun.
    #[must_use]
    pub fn for_the_first_time(self) -> HeldJournal {
        HeldJournal { is_first: true, ..self }
    }

    /// Notes that the program is of a request that was begun before and did not end.
    pub fn begun_again(&self, who: &str, tool: &str, key: &str) {
        let [who, tool, key] = [who, tool, key].map(str::to_owned);
        *self.again.lock().unwrap_or_else(PoisonError::into_inner) = Some(BegunAgain { who, tool, key });
    }

    /// Tells operators, once, whether a request that was begun before is carried out now.
    pub fn goes_on(&self, carried_out: bool) {
        let again = self.again.lock().unwrap_or_else(PoisonError::into_inner).take();
        match again {
            Some(BegunAgain { who, tool, key }) if carried_out => {
                events::request_taken_over(&who, &tool, &key)
            }
            Some(BegunAgain { who, tool, key }) => events::request_stale(&who, &tool, &key),
            None => {}
        }
    }

    /// What a tool of the server's own says, or what it said when the program ran before.
    pub fn told(&self, tool: &str, args: &Json, ask: impl FnOnce() -> Json) -> Json {
        let identity = self.own(tool, args);
        self.seen(&identity).unwrap_or_else(|| {
            let answer = ask();
            self.saw(&identity, answer.clone());
            answer
        })
    }

    /// What a tool of the server's own says that changes something, which it does once: what it said when the program ran
    /// before, or why nobody knows that. `shown` are its arguments as people see them; what it says is written down if
    /// `is_known` says that it tells what became of the call. Blocks.
    pub fn made(
        &self,
        tool: &str,
        (args, shown): (&Json, &Json),
        make: impl FnOnce() -> Json,
        is_known: impl FnOnce(&Json) -> bool,
    ) -> Result<Json, Unmade> {
        let identity = self.own(tool, args);
        // Versions before this one remembered it as something that the program was told.
        if let Some(answer) = self.seen(&identity) {
            return Ok(answer);
        }
        let scope = self.scope();
        let _marked = OwnCall::mark(self, &scope, &identity);
        let call = NewEffect { identity: &identity, server: OWN, tool, args: shown };
        match self.begin_in_time(&scope, &call) {
            Ok(Begun::Fresh) => {}
            Ok(Begun::Done(answer)) => return Ok(answer),
            Ok(Begun::Unknown | Begun::Dismissed) => {
                let begun_ms = self.in_time((&scope, &identity), |journal, scope, identity| {
                    Ok(journal.begun_ms(scope, identity))
                });
                return Err(Unmade::Before { identity: identity.clone(), begun_ms: begun_ms.ok().flatten() });
            }
            Err(why) => {
                // It may be written down all the same. If not even this can be, people find it.
                let unsent =
                    |journal: &StoreJournal, scope: &str, identity: &str| journal.unsent(scope, identity);
                let _ = self.written(&identity, self.in_time((&scope, &identity), unsent));
                return Err(Unmade::NotBegun(why));
            }
        }
        let answer = make();
        let kept = answer.clone();
        let done =
            move |journal: &StoreJournal, scope: &str, identity: &str| journal.done(scope, identity, &kept);
        if is_known(&answer)
            && let Err(why) = self.written(&identity, self.in_time((&scope, &identity), done))
        {
            tracing::error!("the answer to a call cannot be written down, it counts as unknown: {why}");
        }
        Ok(answer)
    }

    /// Begins a call like [`EffectJournal::begin`] for a thread that waits no longer than a call does. What is begun later is
    /// taken back: nobody makes the call.
    fn begin_in_time(&self, scope: &str, call: &NewEffect<'_>) -> Result<Begun, String> {
        let (pending, count) = self.pending()?;
        let [scope_of, identity, server, tool] =
            [scope, call.identity, call.server, call.tool].map(str::to_owned);
        let (journal, held, args) = (self.journal.clone(), self.held.clone(), call.args.clone());
        let (late_at, late) = (self.journal.clone(), (scope.to_owned(), call.identity.to_owned()));
        let begin = move || {
            let call = NewEffect { identity: &identity, server: &server, tool: &tool, args: &args };
            journal.begin_held(&held, &scope_of, &call, &pending)
        };
        let take_back = move |begun: Result<Begun, String>| {
            if begun == Ok(Begun::Fresh) {
                // If it cannot be written down either, people find it as a call without an answer, which is safe.
                let _ = late_at.unsent(&late.0, &late.1);
            }
        };
        let begun = said_in_time(self.journal.effects.store(), begin, take_back);
        self.has_begun(call, count, begun.unwrap_or_else(|| Err(SILENT.to_owned())))
    }

    /// What the journal says of a call to a thread that waits no longer than a call does.
    fn in_time<T: Send + 'static>(
        &self,
        (scope, identity): (&str, &str),
        ask: impl FnOnce(&StoreJournal, &str, &str) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let (journal, scope, identity) = (self.journal.clone(), scope.to_owned(), identity.to_owned());
        let said = said_in_time(self.journal.effects.store(), move || ask(&journal, &scope, &identity), drop);
        said.unwrap_or_else(|| Err(SILENT.to_owned()))
    }

    /// Notes what became of the beginning of a call, with which so much is kept of what the program was told.
    fn has_begun(
        &self,
        call: &NewEffect<'_>,
        count: usize,
        begun: Result<Begun, String>,
    ) -> Result<Begun, String> {
        let known = begun?;
        self.kept(count);
        if known == Begun::Fresh {
            self.lock().open.insert(call.identity.to_owned(), format!("{}/{}", call.server, call.tool));
        }
        Ok(known)
    }

    /// The identity of the next call of a tool of the server's own with these arguments.
    fn own(&self, tool: &str, args: &Json) -> String {
        let kind = digest(&json!([tool, args]));
        let mut told = self.lock();
        let count = told.made.entry(kind.clone()).or_default();
        *count += 1;
        format!("own {kind} {count}")
    }

    /// What the calls of the program belong to.
    fn scope(&self) -> String {
        match &self.held {
            Held::Request(lease) => lease.id().to_owned(),
            Held::Ticket(lease) => format!("{}{}", tickets::SCOPE, lease.id()),
        }
    }

    /// The seed and the clock with which the program runs: these, or those of its first run, if that may have changed
    /// something. What it depended on then, if it cannot run as it did because that is not what it was.
    pub fn begun_with(&self, seed: u64, clock_ms: i64, basis: &str) -> Result<(u64, i64), String> {
        let Some(before) = self.seen(BEGUN) else {
            self.saw(BEGUN, json!({"seed": seed, "clock_ms": clock_ms, "basis": basis}));
            return Ok((seed, clock_ms));
        };
        let was = before["basis"].as_str().unwrap_or_default();
        let with = before["seed"].as_u64().zip(before["clock_ms"].as_i64());
        with.filter(|_| was == basis).ok_or_else(|| was.to_owned())
    }

    fn lock(&self) -> MutexGuard<'_, ToldLog> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is to be kept with a call, and how many things there were with it; why not, if it is too much.
    fn pending(&self) -> Result<(Vec<Seen>, usize), String> {
        let told = self.lock();
        if told.bytes > SEEN_BYTES {
            return Err(format!(
                "the program was told more than the {SEEN_BYTES} bytes that are kept for a retry, so a retry could make \
                 another call; read less before it, or leave the request key out"
            ));
        }
        Ok((told.pending.iter().cloned().collect(), told.kept + told.pending.len()))
    }

    /// Calls that the program began and whose answers are not written down, by server and tool: whoever runs it again is told
    /// that nobody knows of them.
    pub fn unwritten(&self) -> Vec<String> {
        self.lock().open.values().cloned().collect()
    }

    /// Notes that the journal knows what became of a call.
    fn written(&self, identity: &str, written: Result<(), String>) -> Result<(), String> {
        if written.is_ok() {
            self.lock().open.remove(identity);
        }
        written
    }

    /// Notes that so many things are kept.
    fn kept(&self, count: usize) {
        let mut told = self.lock();
        while told.kept < count && told.pending.pop_front().is_some() {
            told.kept += 1;
        }
    }
}

/// Bytes of something that a program was told, as it is kept.
fn size(seen: &Seen) -> usize {
    seen.identity.len() + json_bytes(&seen.answer)
}

impl EffectJournal for HeldJournal {
    fn begin(&self, scope: &str, call: &NewEffect<'_>) -> Result<Begun, String> {
        let (pending, count) = self.pending()?;
        self.has_begun(call, count, self.journal.begin_held(&self.held, scope, call, &pending))
    }

    fn known(&self, scope: &str, identity: &str) -> Result<Option<Begun>, String> {
        // A request that never ran before has begun nothing. A ticket that was taken before may have, without its program having
        // been told anything.
        if self.is_first || (self.before.is_empty() && matches!(self.held, Held::Request(_))) {
            return Ok(None);
        }
        self.journal.looked_up(scope, identity)
    }

    fn done(&self, scope: &str, identity: &str, answer: &Json) -> Result<(), String> {
        self.written(identity, self.journal.done(scope, identity, answer))
    }

    fn begun_ms(&self, scope: &str, identity: &str) -> Option<i64> {
        self.journal.begun_ms(scope, identity)
    }

    fn under_way(&self, scope: &str, identity: &str, is: bool) {
        self.journal.under_way(scope, identity, is);
    }

    fn holds(&self) -> Option<Duration> {
        self.journal.holds()
    }

    fn patience(&self) -> Duration {
        self.journal.patience()
    }

    fn unsent(&self, scope: &str, identity: &str) -> Result<(), String> {
        self.written(identity, self.journal.unsent(scope, identity))
    }

    fn remembers(&self) -> bool {
        true
    }

    fn seen(&self, identity: &str) -> Option<Json> {
        self.before.get(identity).cloned()
    }

    fn saw(&self, identity: &str, answer: Json) {
        let seen = Seen { identity: identity.to_owned(), answer };
        let bytes = size(&seen);
        let mut told = self.lock();
        told.bytes = told.bytes.saturating_add(bytes);
        match told.bytes > SEEN_BYTES {
            // No call is begun any more, so nothing of it is needed.
            true => told.pending.clear(),
            false => told.pending.push_back(seen),
        }
    }
}

fn stored<'c>(call: &NewEffect<'c>) -> effects::NewEffect<'c> {
    effects::NewEffect { identity: call.identity, server: call.server, tool: call.tool, args: call.args }
}

#[cfg(test)]
mod tests {
    use ptc_store::requests::{Began, NewRequest};

    use super::*;
    use crate::engine::pulse::hung::hang;
    use crate::under_way::world;

    /// The journal of a request that is held, and of whoever takes it over then.
    fn held(journal: &StoreJournal) -> HeldJournal {
        let request = NewRequest { scope: "k", tool: "eval", digest: b"d" };
        let Ok(Began::Held { lease, .. }) = journal.requests().begin(&request, 0) else {
            panic!("nobody holds it")
        };
        HeldJournal::new(journal, Held::Request(lease), journal.effects().seen("k").expect("a list"))
    }

    fn begin(journal: &HeldJournal, identity: &str) -> Result<Begun, String> {
        begin_in(journal, "k", identity)
    }

    fn begin_in(journal: &HeldJournal, scope: &str, identity: &str) -> Result<Begun, String> {
        let args = json!({});
        journal.begin(scope, &NewEffect { identity, server: "mail", tool: "send", args: &args })
    }

    fn journal() -> StoreJournal {
        StoreJournal::new(Arc::new(Store::open(":memory:").expect("a store")))
    }

    #[test]
    fn programs_are_not_told_where_the_store_is() {
        let journal = journal();
        let place = "postgres://ptc@10.0.0.7:5432/ptc".to_owned();
        for error in [
            StoreError::Busy { place: place.clone(), cause: "10.0.0.7 is slow".to_owned() },
            StoreError::Unacknowledged { place: place.clone(), cause: "10.0.0.7 is gone".to_owned() },
        ] {
            let told = journal.told(EffectError::Store(error.clone()));
            assert!(!told.contains("10.0.0.7"), "{told}");
            let told = journal.clone().openly().told(EffectError::Store(error));
            assert!(told.contains(&place), "{told}");
        }
    }

    #[test]
    fn a_call_that_is_being_made_is_refused_to_whoever_settles_it_at_every_moment() {
        let journal = journal();
        let held = held(&journal);
        let gap = || journal.gaps().expect("a list").remove(0);
        let settle = || journal.settle(&gap(), &Finding::DidNotHappen, "looked");
        held.under_way("k", "w1", true);
        assert_eq!(begin(&held, "w1"), Ok(Begun::Fresh));
        let call = ("k".to_owned(), "w1".to_owned());
        assert_eq!(journal.calls_under_way(), Ok(vec![call.clone()]), "from its row on");
        assert_eq!(settle(), Err(EffectError::UnderWay));
        let announcing = journal.announce();
        assert_eq!(settle(), Err(EffectError::UnderWay));
        // Nobody knows what came of it.
        held.under_way("k", "w1", false);
        drop(announcing);
        assert_eq!(journal.calls_under_way(), Ok(vec![]));
        assert_eq!(settle(), Ok(()));
        assert_eq!(begin(&held, "w1"), Ok(Begun::Fresh), "a person said so");
        // Another process of this machine made it, which is gone.
        let Some(world) = world() else { return };
        let dead = format!("{} 1 {world}", u32::MAX);
        let gone = journal.effects().clone().made_by(&dead, 60_000);
        let args = json!({});
        let lost = effects::NewEffect { identity: "w2", server: "mail", tool: "send", args: &args };
        assert_eq!(gone.begin("k", &lost), Ok(effects::Begun::Fresh));
        assert_eq!(journal.calls_under_way(), Ok(vec![call]));
    }

    /// It goes on where it stood when it is woken, and sends what it began.
    #[test]
    fn a_call_of_a_process_of_this_machine_that_stands_still_is_under_way_however_long() {
        let journal = journal();
        // Elsewhere the system does not tell which processes there are.
        if world().is_none() {
            return;
        }
        let still = journal.effects().clone().made_by(&Process::own().text(), 0);
        let args = json!({});
        let call = effects::NewEffect { identity: "w1", server: "mail", tool: "send", args: &args };
        assert_eq!(still.begin("k", &call), Ok(effects::Begun::Fresh));
        let key = ("k".to_owned(), "w1".to_owned());
        assert_eq!(journal.calls_under_way(), Ok(vec![key.clone()]));
        let gap = journal.gaps().expect("a list").remove(0);
        assert_eq!(gap.maker, None, "it has not said so lately");
        let settle = || journal.settle(&gap, &Finding::DidNotHappen, "looked");
        assert_eq!(settle(), Err(EffectError::UnderWay));
        still.let_go(&[key]).expect("told");
        assert_eq!((journal.calls_under_way(), settle()), (Ok(vec![]), Ok(())), "it says that it is over");
    }

    #[test]
    fn a_call_that_was_begun_and_not_sent_is_not_listed_and_made_by_whoever_tries_again() {
        let journal = journal();
        let first = held(&journal);
        first.under_way("k", "w1", true);
        assert_eq!(begin(&first, "w1"), Ok(Begun::Fresh));
        assert_eq!(first.unsent("k", "w1"), Ok(()));
        first.under_way("k", "w1", false);
        assert_eq!(journal.gaps(), Ok(vec![]));
        assert_eq!(begin(&held(&journal), "w1"), Ok(Begun::Fresh));
    }

    #[test]
    fn what_a_program_was_told_is_kept_with_the_next_call() {
        let journal = journal();
        let first = held(&journal);
        first.saw("a", json!(1));
        assert_eq!(journal.effects().seen("k"), Ok(vec![]), "nothing has followed from it");
        assert_eq!(begin(&first, "w1"), Ok(Begun::Fresh));
        first.saw("b", json!([2]));
        let own = |journal: &HeldJournal, answer: i64| journal.told("store", &json!({}), || json!(answer));
        assert_eq!([own(&first, 7), own(&first, 8)], [json!(7), json!(8)]);
        assert_eq!(begin(&first, "w2"), Ok(Begun::Fresh));
        first.saw("c", json!(3));
        let second = held(&journal);
        assert_eq!(
            ["a", "b", "c"].map(|identity| second.seen(identity)),
            [Some(json!(1)), Some(json!([2])), None]
        );
        assert_eq!([own(&second, 0), own(&second, 0), own(&second, 9)], [json!(7), json!(8), json!(9)]);
        assert!(begin(&first, "w3").is_err_and(|why| why.contains("another server")));
        assert_eq!(begin(&second, "w2"), Ok(Begun::Unknown));
    }

    #[test]
    fn a_tool_of_the_servers_own_changes_something_once() {
        let journal = journal();
        let args = json!({"id": "paged"});
        let write = |journal: &HeldJournal, answer: Json| {
            journal.made("write", (&args, &args), || answer, |answer| answer["status"] == "ok")
        };
        let first = held(&journal);
        assert_eq!(
            write(&first, json!({"status": "ok", "version": 1})),
            Ok(json!({"status": "ok", "version": 1}))
        );
        assert_eq!(write(&first, json!({"status": "unclear"})), Ok(json!({"status": "unclear"})));
        let gaps = journal.gaps().expect("a list");
        let [gap] = &gaps[..] else { panic!("one is open: {gaps:?}") };
        assert_eq!((&*gap.server, &*gap.tool, &gap.args), (OWN, "write", &args));
        // Whoever runs the program again makes the same calls, and another one.
        let second = held(&journal);
        let never = || json!("made again");
        assert_eq!(write(&second, never()), Ok(json!({"status": "ok", "version": 1})));
        let before = Unmade::Before { identity: gap.identity.clone(), begun_ms: Some(gap.begun_ms) };
        assert_eq!(write(&second, never()), Err(before), "with the time at which it is listed");
        assert_eq!(write(&second, json!({"status": "ok"})), Ok(json!({"status": "ok"})));
        let lost = write(&first, never());
        assert!(matches!(&lost, Err(Unmade::NotBegun(why)) if why.contains("another server")), "{lost:?}");
    }

    #[test]
    fn a_store_that_hangs_holds_no_tool_of_the_servers_own() {
        let journal = journal();
        let (first, args) = (held(&journal), json!({}));
        let free = hang(journal.effects().store());
        let made = first.made("write", (&args, &args), || panic!("it was not begun"), |_| true);
        assert!(matches!(&made, Err(Unmade::NotBegun(why)) if why.contains("in time")), "{made:?}");
        drop(free);
        assert_eq!(begin(&held(&journal), "w1"), Ok(Begun::Fresh), "and it goes on when it answers");
    }

    /// Where the journal cannot be looked at, whoever asks would have to say that a call may have been begun.
    #[test]
    fn of_a_ticket_that_nobody_took_before_no_call_was_begun_whatever_the_store_says() {
        let journal = journal();
        let (tickets, about) = (Tickets::new(journal.effects().store().clone()), json!({}));
        let new = tickets::NewTicket {
            id: "t",
            owner: "anna",
            kind: "eval",
            session: None,
            expires_ms: i64::MAX,
            sealed: b"sealed",
            about: &about,
        };
        tickets.put(&new, tickets::TicketQuota { tickets: 9, bytes: 99 }, None).expect("kept");
        let taken = tickets.take("t", "anna", &json!("approve"), 60_000).expect("it is free");
        let ticket = || HeldJournal::new(&journal, Held::Ticket(taken.lease.clone()), Vec::new());
        let free = hang(journal.effects().store());
        assert_eq!(ticket().for_the_first_time().known("ticket:t", "w1"), Ok(None), "nobody is asked");
        drop(free);
        assert_eq!(begin_in(&ticket(), "ticket:t", "w1"), Ok(Begun::Fresh));
        assert_eq!(ticket().known("ticket:t", "w1"), Ok(Some(Begun::Unknown)), "one that was taken before");
    }

    #[test]
    fn a_program_that_was_told_too_much_begins_no_call() {
        let journal = journal();
        let first = held(&journal);
        let piece = json!("x".repeat(SEEN_BYTES / 4));
        for number in 0..3 {
            first.saw(&format!("read {number}"), piece.clone());
        }
        assert_eq!(begin(&first, "w1"), Ok(Begun::Fresh), "so much is kept");
        for journal in [&first, &held(&journal)] {
            journal.saw("read 3", piece.clone());
            let refused = begin(journal, "w2").expect_err("it is too much");
            assert!(refused.contains("leave the request key out"), "{refused}");
        }
    }
}
