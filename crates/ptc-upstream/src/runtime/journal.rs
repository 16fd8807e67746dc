//! Calls that may change the world, written down before they are made and after they were answered, so that nothing
//! is sent twice: not by a request that is retried, not by a program that goes on after a crash.
//!
//! A call is known by its identity: the scope that it belongs to, what is called with what, and how many equal calls
//! the scope made before it. Calls of a scope that runs again have the same identities, in the same order.
//!
//! Which calls a program makes depends on what it was told: by reads, by failures, by the catalog. A journal that
//! remembers ([`EffectJournal::remembers`]) has all of that, and a scope that runs again is told the same.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ptc_lisp::machine::ValueKind;
use serde_json::{Value as Json, json};

use super::calls::Stop;
use crate::call::CallRequest;
use crate::catalog::CatalogTool;
use crate::discovery::Reply;
use crate::model::{Fault, Reason};
use crate::outcome::Unknown;
use crate::pins::digest;

/// A call that is about to be made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewEffect<'e> {
    /// What tells it from every other call.
    pub identity: &'e str,
    /// The upstream.
    pub server: &'e str,
    /// The tool.
    pub tool: &'e str,
    /// The arguments, with secrets covered.
    pub args: &'e Json,
}

/// What a journal knows of a call that is about to be made.
#[derive(Clone, Debug, PartialEq)]
pub enum Begun {
    /// Nothing; from now on it counts as begun.
    Fresh,
    /// It was made, and this is the answer that was kept.
    Done(Json),
    /// It was begun, and what came of it is not known.
    Unknown,
    /// It was begun, and a person settled it without finding out what came of it.
    Dismissed,
}

/// Where calls are written down. Methods return when what they were given is durable; they may block.
pub trait EffectJournal: Send + Sync {
    /// Writes down that a call is about to be made, unless it was written down before. Of any number that ask at
    /// the same time, one is told [`Begun::Fresh`].
    fn begin(&self, scope: &str, call: &NewEffect<'_>) -> Result<Begun, String>;

    /// Writes down what came of a call.
    fn done(&self, scope: &str, identity: &str, answer: &Json) -> Result<(), String>;

    /// What is known of a call that was begun when its scope ran before, without beginning it. Nothing where the journal does
    /// not tell: then [`EffectJournal::begin`] does.
    fn known(&self, _scope: &str, _identity: &str) -> Result<Option<Begun>, String> {
        Ok(None)
    }

    /// When a call was begun last, in milliseconds since 1970, as lists of calls without an answer say it. May block, but not
    /// for a call that this process has just begun. Nothing where the journal does not tell.
    fn begun_ms(&self, _scope: &str, _identity: &str) -> Option<i64> {
        None
    }

    /// Hears that a call is under way from now on, or not any more, whatever came of it. Must not block.
    fn under_way(&self, scope: &str, identity: &str, is: bool) {
        let _ = (scope, identity, is);
    }

    /// How long a call counts as under way that was begun, if nobody says more of it: after that others may settle it, so who
    /// has not sent it by then must not. Nothing where nobody settles calls.
    fn holds(&self) -> Option<Duration> {
        None
    }

    /// Writes down that a call was not sent and never will be, if it is this process that began it last. What came of its
    /// beginning may not be known. A journal that cannot do that keeps it as one whose outcome is not known.
    fn unsent(&self, scope: &str, identity: &str) -> Result<(), String> {
        let _ = (scope, identity);
        Ok(())
    }

    /// Whether people find calls without an answer by their identities. Else nobody is told to look for one.
    fn lists(&self) -> bool {
        true
    }

    /// Whether `begin` and `done` may block. One that never does is asked in place, else a thread that may wait asks.
    fn blocks(&self) -> bool {
        true
    }

    /// How long a call waits for it: a store that hangs must not hold a program for all of its time.
    fn patience(&self) -> Duration {
        PATIENCE
    }

    /// Whether calls that are made under a number (see [`numbered`]) have it in front of their identities: for a journal
    /// whose scope never runs again from its beginning, where numbers might be others.
    fn is_numbered(&self) -> bool {
        false
    }

    /// Whether what programs are told is remembered, so that a scope that runs again is told the same.
    fn remembers(&self) -> bool {
        false
    }

    /// What a program of the scope was told under this identity when it ran before.
    fn seen(&self, _identity: &str) -> Option<Json> {
        None
    }

    /// Remembers what a program is told. It is durable when the next call is begun: before that nothing has followed
    /// from it.
    fn saw(&self, _identity: &str, _answer: Json) {}
}

tokio::task_local! {
    /// What whoever makes calls says of them.
    static TERMS: Terms;
}

/// What whoever makes calls says of them.
#[derive(Clone, Copy, Debug)]
struct Terms {
    number: u64,
    deadline: Option<Instant>,
}

/// Makes calls under a number, and with a deadline if they have one. Where the journal wants it their identities begin with
/// the number, so that whoever counts its calls finds the one that it knows by it. At the deadline calls end by themselves
/// and say what became of them; whoever drops them instead never hears whether a write was sent.
pub async fn numbered<T>(number: u64, deadline: Option<Instant>, calls: impl Future<Output = T>) -> T {
    TERMS.scope(Terms { number, deadline }, calls).await
}

/// How long the calls that are being made may take by their own deadline.
pub(super) fn time_left() -> Option<Duration> {
    let deadline = TERMS.try_with(|terms| terms.deadline).ok()??;
    Some(deadline.saturating_duration_since(Instant::now()))
}

/// How the identities of calls with a number begin.
pub fn identity_prefix(number: u64) -> String {
    format!("{number:04}-")
}

/// The journal of one run.
pub(super) struct RunJournal {
    scope: Arc<str>,
    journal: Arc<dyn EffectJournal>,
    /// How often equal calls came so far.
    came: Mutex<BTreeMap<String, Count>>,
}

/// How often equal calls came.
#[derive(Clone, Copy, Default)]
struct Count {
    /// Those that were made.
    made: u64,
    /// Those that were let through to be made, with those that were made before them.
    passed: u64,
}

impl RunJournal {
    pub fn new(scope: Arc<str>, journal: Arc<dyn EffectJournal>) -> RunJournal {
        RunJournal { scope, journal, came: Mutex::default() }
    }

    /// The same before any call.
    pub fn afresh(&self) -> RunJournal {
        RunJournal::new(self.scope.clone(), self.journal.clone())
    }

    /// The identity of the next call of this kind. Asked for in the order of the program's calls.
    pub fn identity(&self, request: &CallRequest) -> String {
        self.next(self.kind(request))
    }

    /// Whether the next call of this kind is answered from the journal, because the program made it when its scope ran
    /// before: then nobody is asked about it, whatever the configuration says by now. Blocks for no longer than a call waits.
    pub fn is_known(&self, request: &CallRequest) -> Result<bool, String> {
        self.knows(request, false)
    }

    /// The same for whoever judges calls of a step, all of them before any is made.
    pub fn is_known_to_judge(&self, request: &CallRequest) -> Result<bool, String> {
        self.knows(request, true)
    }

    /// The same for whoever can wait without a thread.
    pub async fn is_known_later(&self, request: &CallRequest) -> Result<bool, String> {
        match self.untold(request, false) {
            Ok(identity) => Ok(self.known(&identity).await?.is_some()),
            Err(known) => Ok(known),
        }
    }

    /// Notes that a call was judged and is about to be made.
    pub fn pass(&self, request: &CallRequest) {
        if self.journal.remembers() {
            let mut came = self.came.lock().unwrap_or_else(PoisonError::into_inner);
            let count = came.entry(self.kind(request)).or_default();
            count.passed = count.passed.max(count.made) + 1;
        }
    }

    fn knows(&self, request: &CallRequest, judging: bool) -> Result<bool, String> {
        let identity = match self.untold(request, judging) {
            Ok(identity) => identity,
            Err(known) => return Ok(known),
        };
        let (journal, scope) = (self.journal.clone(), self.scope.clone());
        self.asked(move || Ok(journal.known(&scope, &identity)?.is_some()))
    }

    /// The identity of the next call of this kind, if only the journal can say whether the program made it when its scope ran
    /// before; else whether it did.
    fn untold(&self, request: &CallRequest, judging: bool) -> Result<String, bool> {
        if !self.journal.remembers() {
            return Err(false);
        }
        let kind = self.kind(request);
        let count = self.came.lock().unwrap_or_else(PoisonError::into_inner).get(&kind).copied();
        let Count { made, passed } = count.unwrap_or_default();
        let number = if judging { passed.max(made) } else { made } + 1;
        let identity = self.numbered(&kind, number);
        let told = [What::Read, What::Silence].into_iter().any(|what| self.seen(what, &identity).is_some());
        if told { Err(true) } else { Ok(identity) }
    }

    /// What equal calls have in common.
    fn kind(&self, request: &CallRequest) -> String {
        digest(&json!([self.scope, request.server, request.tool.replace('-', "_"), request.args]))
    }

    /// The identity of the next question of this kind about upstreams, if answers are remembered.
    pub fn question(&self, asked: &Json) -> Option<String> {
        let kind = || digest(&json!([self.scope, "discover", asked]));
        self.journal.remembers().then(|| self.next(kind()))
    }

    /// What the program was told before, if it was.
    pub fn seen(&self, what: What, identity: &str) -> Option<Json> {
        self.journal.remembers().then(|| self.journal.seen(&what.of(identity))).flatten()
    }

    /// Remembers what the program is told.
    pub fn saw(&self, what: What, identity: &str, told: impl FnOnce() -> Json) {
        if self.journal.remembers() {
            self.journal.saw(&what.of(identity), told());
        }
    }

    fn next(&self, kind: String) -> String {
        let number = {
            let mut came = self.came.lock().unwrap_or_else(PoisonError::into_inner);
            let count = came.entry(kind.clone()).or_default();
            count.made += 1;
            count.made
        };
        self.numbered(&kind, number)
    }

    /// The identity of the call of a kind that comes as the so-manieth.
    fn numbered(&self, kind: &str, number: u64) -> String {
        let whole = digest(&json!([kind, number]));
        let number = match self.journal.is_numbered() {
            true => TERMS.try_with(|terms| identity_prefix(terms.number)).unwrap_or_default(),
            false => String::new(),
        };
        number.chars().chain(whole.chars().take(IDENTITY)).collect()
    }

    /// Has a call count as under way until what is given is dropped.
    pub fn mark(&self, identity: &str, (server, tool): (&str, &str)) -> Marked {
        self.journal.under_way(&self.scope, identity, true);
        let [identity, server, tool] = [identity, server, tool].map(str::to_owned);
        Marked { scope: self.scope.clone(), journal: self.journal.clone(), identity, server, tool }
    }

    /// A call of which nobody may come to know what became of it, made at this moment.
    pub fn unknown<'c>(
        &self,
        server: &'c str,
        tool: &'c str,
        identity: &'c str,
        called_ms: Option<i64>,
    ) -> Unknown<'c> {
        Unknown { server, tool, identity: self.journal.lists().then_some(identity), called_ms }
    }

    /// Writes down that a call is about to be made.
    pub async fn begin(
        &self,
        identity: &str,
        server: &str,
        tool: &str,
        args: Json,
    ) -> Result<KnownCall, String> {
        let (journal, scope) = (self.journal.clone(), self.scope.clone());
        let (identity, server, tool) = (identity.to_owned(), server.to_owned(), tool.to_owned());
        let handover = Handover::default();
        let taken = handover.clone();
        let begun = self.apart(&handover, move || {
            let call = NewEffect { identity: &identity, server: &server, tool: &tool, args: &args };
            let begun = journal.begin(&scope, &call);
            let is_fresh = begun == Ok(Begun::Fresh);
            let begun = begun.map(|known| KnownCall::of(known, &*journal, &scope, &identity));
            // Whoever wanted the call was told that nothing was sent.
            if !taken.deliver() && is_fresh {
                // If it cannot be written down either, people find it as a call without an answer, which is safe.
                let _ = journal.unsent(&scope, &identity);
            }
            begun
        });
        begun.await
    }

    /// What is known of a call that was begun before.
    pub async fn known(&self, identity: &str) -> Result<Option<KnownCall>, String> {
        let (journal, scope, identity) = (self.journal.clone(), self.scope.clone(), identity.to_owned());
        let handover = Handover::default();
        let known = self.apart(&handover, move || {
            Ok(journal
                .known(&scope, &identity)?
                .map(|known| KnownCall::of(known, &*journal, &scope, &identity)))
        });
        known.await
    }

    /// Writes down what came of a call, and says whether it is written down. Goes on even if nobody waits for it any more.
    pub async fn done(&self, identity: &str, (server, tool): (&str, &str), answer: Json) -> bool {
        let (journal, scope, asked) = (self.journal.clone(), self.scope.clone(), identity.to_owned());
        let handover = Handover::default();
        let written = self.apart(&handover, move || journal.done(&scope, &asked, &answer)).await;
        if let Err(why) = &written {
            tracing::error!(
                upstream = %server,
                tool = %tool,
                identity = %identity,
                "the answer to a call cannot be written down, it counts as unknown: {why}"
            );
        }
        written.is_ok()
    }
}

impl RunJournal {
    /// Does something with the journal, which goes on even if it takes too long and nobody waits for it any more.
    async fn apart<T: Send + 'static>(
        &self,
        handover: &Handover,
        work: impl FnOnce() -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        if !self.journal.blocks() {
            return work();
        }
        let _leaving = Leaving(handover);
        let mut asked = tokio::task::spawn_blocking(work);
        let answered = match tokio::time::timeout(self.journal.patience(), &mut asked).await {
            Ok(answered) => answered,
            Err(_) if handover.leave() => return Err(SILENT.to_owned()),
            // It was delivered at this moment.
            Err(_) => asked.await,
        };
        answered.map_err(|error| error.to_string())?
    }

    /// The same for whoever cannot be paused, such as a judge: it waits in place, and no longer than a call does.
    fn asked<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        if !self.journal.blocks() {
            return work();
        }
        let (tell, told) = sync_channel(1);
        let asking = std::thread::Builder::new().name("ptc-journal".to_owned());
        asking.spawn(move || tell.send(work()).is_ok()).map_err(|error| error.to_string())?;
        told.recv_timeout(self.journal.patience()).unwrap_or_else(|_| Err(SILENT.to_owned()))
    }
}

/// What a journal knows of a call.
pub(super) struct KnownCall {
    pub known: Begun,
    /// When it was begun.
    pub begun_ms: Option<i64>,
}

impl KnownCall {
    /// The same with when it was begun. May block.
    fn of(known: Begun, journal: &dyn EffectJournal, scope: &str, identity: &str) -> KnownCall {
        let begun_ms = match known {
            // Nobody asks when it was made.
            Begun::Done(_) => None,
            Begun::Fresh | Begun::Unknown | Begun::Dismissed => journal.begun_ms(scope, identity),
        };
        KnownCall { known, begun_ms }
    }
}

/// A call that is under way, also if nobody waits for it any more: dropped, it is not.
pub(super) struct Marked {
    pub(super) scope: Arc<str>,
    pub(super) journal: Arc<dyn EffectJournal>,
    pub(super) identity: String,
    pub(super) server: String,
    pub(super) tool: String,
}

impl Drop for Marked {
    fn drop(&mut self) {
        self.journal.under_way(&self.scope, &self.identity, false);
    }
}

/// Characters of an identity, without a number.
const IDENTITY: usize = 32;

/// What a program is told that is no answer of a call which the journal begins.
#[derive(Clone, Copy)]
pub(super) enum What {
    /// What a read gave, or why a call was not made.
    Read,
    /// What was told of a write whose answer is not written down: mostly a failure that says nothing of what happened.
    Silence,
    /// An answer about upstreams.
    Catalog,
}

impl What {
    fn of(self, identity: &str) -> String {
        let what = match self {
            What::Read => "read",
            What::Silence => "silence",
            What::Catalog => "catalog",
        };
        format!("{what} {identity}")
    }
}

pub(super) async fn apart<T: Send + 'static>(
    blocks: bool,
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    if !blocks {
        return work();
    }
    tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string())?
}

/// How long a call waits for a journal.
const PATIENCE: Duration = Duration::from_secs(10);
/// What is said of a journal that takes longer.
const SILENT: &str = "the journal did not answer in time";

/// Hands what a journal does to whoever waits for it: of whoever does it and whoever waits, one settles whether it is taken.
#[derive(Clone, Default)]
struct Handover(Arc<AtomicU8>);

const WAITS: u8 = 0;
const DELIVERED: u8 = 1;
const LEFT: u8 = 2;

impl Handover {
    /// Whoever waits gets it; false if nobody does any more.
    fn deliver(&self) -> bool {
        self.0.compare_exchange(WAITS, DELIVERED, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// Nobody waits any more; false if it was delivered before.
    fn leave(&self) -> bool {
        self.0.compare_exchange(WAITS, LEFT, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }
}

/// Leaves when it is dropped: a program that is stopped waits for nothing.
struct Leaving<'w>(&'w Handover);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// A result or fault as it is kept.
pub(super) fn written(result: &Result<(Json, ValueKind), Fault>) -> Json {
    match result {
        Ok((value, kind)) => json!({"ok": true, "value": value, "kind": kind.name()}),
        Err(fault) => failed(fault),
    }
}

/// A fault as it is kept.
pub(super) fn failed(fault: &Fault) -> Json {
    json!({"ok": false, "reason": fault.reason.name(), "message": fault.message, "unsent": fault.unsent})
}

/// What a program is told of a call that changed nothing, as it is remembered.
pub(super) fn told(result: &Result<(Json, ValueKind), Stop>) -> Json {
    match result {
        Ok((value, kind)) => json!({"ok": true, "value": value, "kind": kind.name()}),
        Err(Stop::Fault(fault)) => failed(fault),
        Err(Stop::Wrong(message)) => json!({"ok": false, "wrong": message}),
    }
}

/// What was remembered, told again.
pub(super) fn retold(kept: Json) -> Result<(Json, ValueKind), Stop> {
    match kept["wrong"].as_str().map(str::to_owned) {
        Some(message) => Err(Stop::Wrong(message)),
        None => read(kept).map_err(Stop::from),
    }
}

/// The answer to a question, as it is remembered.
pub(super) fn replied(reply: &Reply) -> Json {
    match reply {
        Reply::Found(value) => json!({"found": value}),
        Reply::Nothing(reason) => json!({"nothing": reason}),
        Reply::Wrong(message) => json!({"wrong": message}),
    }
}

/// An answer that was remembered.
pub(super) fn reply(mut kept: Json) -> Reply {
    /// Why there are no answers, as far as the world is to blame.
    const NOTHING: [&str; 2] = ["upstream_unavailable", "catalog_result_too_large"];
    if let Some(found) = kept.get_mut("found") {
        return Reply::Found(found.take());
    }
    match kept["wrong"].as_str() {
        Some(message) => Reply::Wrong(message.to_owned()),
        None => Reply::Nothing(if kept["nothing"] == NOTHING[1] { NOTHING[1] } else { NOTHING[0] }),
    }
}

/// What was kept, read again.
pub(super) fn read(mut kept: Json) -> Result<(Json, ValueKind), Fault> {
    let text = |name: &str| kept[name].as_str().unwrap_or_default().to_owned();
    if kept["ok"] == true {
        let kinds = [ValueKind::Json, ValueKind::Text, ValueKind::None];
        let kind = kinds.into_iter().find(|kind| kind.name() == text("kind")).unwrap_or(ValueKind::Json);
        return Ok((kept["value"].take(), kind));
    }
    let reason = Reason::named(&text("reason")).unwrap_or(Reason::UpstreamError);
    Err(Fault { unsent: kept["unsent"] == true, ..Fault::new(reason, text("message")) })
}

/// The argument by which a tool tells a call that comes twice from two calls, if it takes one.
pub(crate) fn key_argument(tool: &CatalogTool) -> Option<&str> {
    let declared = tool.def.input_schema.get("properties").and_then(Json::as_object)?;
    let plain = |name: &str| name.replace(['-', '_'], "").to_ascii_lowercase();
    let text = |schema: &Json| schema.get("type").is_none_or(|kind| kind == "string");
    declared
        .iter()
        .find(|(name, schema)| plain(name) == "idempotencykey" && text(schema))
        .map(|(name, _)| &**name)
}
