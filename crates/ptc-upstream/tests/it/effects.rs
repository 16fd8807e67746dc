//! Calls that may change the world are made at most once: written down before, answered from what was written.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ptc_upstream::effects::Policy;
use ptc_upstream::model::{Fault, Reason};
use ptc_upstream::runtime::{Begun, EffectJournal, HeldBack, NewEffect, Rehearsed};
use ptc_upstream::{Caps, RunContext, Runtime};
use serde_json::{Value as Json, json};

use crate::fixture::*;

/// Scope and identity.
type Place = (String, String);
/// A call, and what came of it.
type Call = (Json, Option<Json>);

/// A journal in memory that can be told to fail.
#[derive(Default)]
pub struct Book {
    calls: Mutex<BTreeMap<Place, Call>>,
    broken: Mutex<Option<&'static str>>,
    /// Whether answers cannot be written.
    loses_answers: AtomicBool,
    /// Whether what was begun before cannot be looked up.
    unreadable: AtomicBool,
    /// Whether nobody is told that a beginning was written.
    unacknowledged: AtomicBool,
    /// How long a call counts as under way.
    holds: Mutex<Option<Duration>>,
    /// How often it cannot be written that a call was not sent.
    unwritable: AtomicUsize,
}

impl EffectJournal for Book {
    fn begin(&self, scope: &str, call: &NewEffect<'_>) -> Result<Begun, String> {
        if let Some(why) = *self.broken.lock().expect("no panics") {
            return Err(why.to_owned());
        }
        let mut calls = self.calls.lock().expect("no panics");
        let place = (scope.to_owned(), call.identity.to_owned());
        Ok(match calls.get(&place) {
            Some((_, Some(answer))) => Begun::Done(answer.clone()),
            Some((_, None)) => Begun::Unknown,
            None => {
                let told = json!({"server": call.server, "tool": call.tool, "args": call.args});
                calls.insert(place, (told, None));
                if self.unacknowledged.load(Ordering::SeqCst) {
                    return Err("the connection broke".to_owned());
                }
                Begun::Fresh
            }
        })
    }

    fn done(&self, scope: &str, identity: &str, answer: &Json) -> Result<(), String> {
        if self.loses_answers.load(Ordering::SeqCst) {
            return Err("the disk is full".to_owned());
        }
        let mut calls = self.calls.lock().expect("no panics");
        let call = calls.get_mut(&(scope.to_owned(), identity.to_owned())).ok_or("it never began")?;
        call.1 = Some(answer.clone());
        Ok(())
    }

    fn begun_ms(&self, scope: &str, identity: &str) -> Option<i64> {
        let calls = self.calls.lock().expect("no panics");
        calls.contains_key(&(scope.to_owned(), identity.to_owned())).then_some(1_700_000_000_999)
    }

    fn holds(&self) -> Option<Duration> {
        *self.holds.lock().expect("no panics")
    }

    fn unsent(&self, scope: &str, identity: &str) -> Result<(), String> {
        let fails = |left: usize| left.checked_sub(1);
        if self.unwritable.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fails).is_ok() {
            return Err("the store is away".to_owned());
        }
        self.calls.lock().expect("no panics").remove(&(scope.to_owned(), identity.to_owned()));
        Ok(())
    }
}

impl Book {
    /// What was written, without identities; sorted.
    fn told(&self) -> Vec<Json> {
        let calls = self.calls.lock().expect("no panics");
        let mut told: Vec<Json> = calls.values().map(|(call, done)| json!([call, done])).collect();
        told.sort_by_key(Json::to_string);
        told
    }

    /// As if the process had ended before the answers were written.
    fn forget_answers(&self) {
        self.calls.lock().expect("no panics").values_mut().for_each(|call| call.1 = None);
    }

    /// As if somebody had found that no call without an answer happened.
    fn settle_as_not_happened(&self) {
        self.calls.lock().expect("no panics").retain(|_, call| call.1.is_some());
    }

    /// As if the answers that were missing had come after all.
    fn answer_late(&self) {
        let answer = json!({"ok": true, "value": "late", "kind": "text"});
        let mut calls = self.calls.lock().expect("no panics");
        for call in calls.values_mut() {
            call.1.get_or_insert_with(|| answer.clone());
        }
    }
}

/// A journal that remembers what programs are told, for good when a call is begun.
#[derive(Default)]
pub struct Memory {
    book: Book,
    pending: Mutex<Vec<(String, Json)>>,
    kept: Mutex<BTreeMap<String, Json>>,
    /// How often it cannot be read from now on.
    unreadable: AtomicUsize,
}

impl EffectJournal for Memory {
    fn begin(&self, scope: &str, call: &NewEffect<'_>) -> Result<Begun, String> {
        let begun = self.book.begin(scope, call)?;
        self.kept.lock().expect("no panics").extend(self.pending.lock().expect("no panics").drain(..));
        Ok(begun)
    }

    fn done(&self, scope: &str, identity: &str, answer: &Json) -> Result<(), String> {
        self.book.done(scope, identity, answer)
    }

    fn known(&self, scope: &str, identity: &str) -> Result<Option<Begun>, String> {
        if self.book.unreadable.load(Ordering::SeqCst) {
            return Err("the store is away".to_owned());
        }
        let fails = |left: usize| left.checked_sub(1);
        if self.unreadable.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fails).is_ok() {
            return Err("the disk is away".to_owned());
        }
        let calls = self.book.calls.lock().expect("no panics");
        let found = calls.get(&(scope.to_owned(), identity.to_owned()));
        Ok(found.map(|(_, answer)| answer.clone().map_or(Begun::Unknown, Begun::Done)))
    }

    fn remembers(&self) -> bool {
        true
    }

    fn seen(&self, identity: &str) -> Option<Json> {
        self.kept.lock().expect("no panics").get(identity).cloned()
    }

    fn saw(&self, identity: &str, answer: Json) {
        self.pending.lock().expect("no panics").push((identity.to_owned(), answer));
    }
}

/// A journal that hangs in one of its methods until it is let go.
struct Hanging {
    book: Book,
    at: &'static str,
    free: Mutex<Receiver<()>>,
    /// How often it was waited for: while a call is looked up, while it begins, while its answer is written down.
    waited: AtomicUsize,
    /// What it did after that.
    late: Mutex<Sender<&'static str>>,
}

impl Hanging {
    fn new(at: &'static str) -> (Arc<Hanging>, Sender<()>, Receiver<&'static str>) {
        let ((free, freed), (late, did)) = (channel(), channel());
        let (free_end, late_end) = (Mutex::new(freed), Mutex::new(late));
        let book = Book::default();
        let hanging = Hanging { book, at, free: free_end, waited: AtomicUsize::new(0), late: late_end };
        (Arc::new(hanging), free, did)
    }

    fn hang(&self, at: &'static str) {
        if self.at == at {
            self.free.lock().expect("no panics").recv().expect("it is let go");
            self.late.lock().expect("no panics").send(at).expect("somebody listens");
        }
    }
}

impl EffectJournal for Hanging {
    fn begin(&self, scope: &str, call: &NewEffect<'_>) -> Result<Begun, String> {
        self.hang("begin");
        self.book.begin(scope, call)
    }

    fn done(&self, scope: &str, identity: &str, answer: &Json) -> Result<(), String> {
        self.hang("done");
        self.book.done(scope, identity, answer)
    }

    fn unsent(&self, scope: &str, identity: &str) -> Result<(), String> {
        self.book.unsent(scope, identity)?;
        self.late.lock().expect("no panics").send("unsent").expect("somebody listens");
        Ok(())
    }

    fn patience(&self) -> Duration {
        // Only what hangs is not waited for.
        let now = ["look up", "begin", "done"].get(self.waited.fetch_add(1, Ordering::SeqCst));
        if now == Some(&self.at) { Duration::ZERO } else { Duration::from_secs(3600) }
    }
}

#[tokio::test]
async fn a_journal_that_hangs_holds_no_program_and_what_it_begins_late_is_taken_back() {
    let world = world();
    let runtime = start(&[&world]).await;
    let (journal, free, did) = Hanging::new("begin");
    let run = runtime.context(Caps::default(), Policy::open()).journalled("a", journal.clone());
    let told = value(&run, "(:message (tool/call 's/write {:n 1}))").await;
    assert!(told.contains("nothing was sent") && told.contains("did not answer in time"), "{told}");
    assert_eq!((did.recv(), journal.book.told()), (Ok("unsent"), vec![]), "it may have been written down");
    free.send(()).expect("it hangs");
    assert_eq!((did.recv(), did.recv()), (Ok("begin"), Ok("unsent")));
    assert_eq!(journal.book.told(), [] as [Json; 0], "nobody has to look for it");

    let (journal, free, did) = Hanging::new("done");
    let run = runtime.context(Caps::default(), Policy::open()).journalled("b", journal.clone());
    assert_eq!(value(&run, "(:ok (tool/call 's/write {:n 2}))").await, "true", "its outcome is known");
    assert_eq!(journal.book.told()[0][1], Json::Null);
    free.send(()).expect("it hangs");
    assert_eq!(did.recv(), Ok("done"));
}

#[tokio::test]
async fn a_scope_that_runs_again_is_told_what_it_was_told_and_makes_the_calls_that_it_made() {
    let (counted, memory) = (Arc::new(AtomicUsize::new(0)), Arc::new(Memory::default()));
    let (counter, mended) = (counted.clone(), memory.clone());
    let tools = ["get", "get_fails", "get_mend", "write", "write_late"].map(|name| (name, json!({})));
    let world = Fixture::new("s", &tools, move |tool, args| match tool {
        "get" => structured(json!(counter.fetch_add(1, Ordering::SeqCst))),
        "get_fails" => Err(Fault::new(Reason::ToolError, format!("{}", counter.load(Ordering::SeqCst)))),
        "get_mend" => {
            *mended.book.broken.lock().expect("no panics") = None;
            text("mended")
        }
        "write_late" => Err(Fault::new(Reason::Timeout, "no answer within 5 ms")),
        _ => structured(json!({"did": args})),
    });
    let runtime = start(&[&world]).await;
    let again = || runtime.context(Caps::default(), Policy::open()).journalled("a", memory.clone());
    // A read, the same once more, a read that fails, a write of which nobody knows, one that cannot be written down.
    let source = "
        (let [read #(:value (tool/call 's/get {})) write #(tool/call 's/write {:n %})
              seen [(read) (read) (:message (tool/call 's/get_fails {})) (count (tool/servers))]
              late (:reason (tool/call 's/write_late {}))]
          [seen late (:reason (write :lost)) (:value (tool/call 's/get_mend {})) (:value (write [seen late]))])";
    *memory.book.broken.lock().expect("no panics") = Some("the disk is full");
    // The first write cannot be written down either.
    let lost = value(&again(), source).await;
    assert!(lost.contains(":upstream_unavailable"), "{lost}");
    let made = world.calls();
    for _ in 0..2 {
        assert_eq!(value(&again(), source).await, lost);
        assert_eq!(world.calls(), made, "everything was remembered");
    }
    let silent = "(let [r (tool/call 's/write_late {:n 2})] [(:reason r) (:ok (tool/call 's/write {:n 3}))])";
    for _ in 0..2 {
        assert_eq!(value(&again(), silent).await, "[:outcome_unknown true]", "it goes on as it did");
    }
    let account = again();
    value(&account, source).await;
    assert!(account.finish().calls.iter().all(|call| call.recalled), "the account says so");
}

/// Whichever way a program went on, it goes on that way again.
#[tokio::test]
async fn what_a_program_was_told_of_a_write_stays_whatever_came_of_it_since() {
    let (world, memory) = (world(), Arc::new(Memory::default()));
    let runtime = start(&[&world]).await;
    let again = || runtime.context(Caps::default(), Policy::open()).journalled("a", memory.clone());
    let branches = |first: u32| {
        format!(
            "(let [r (tool/call 's/write {{:n {first}}})]
               [(:ok r) (:reason r) (:ok (tool/call 's/write {{:n (if (:ok r) :went-on :undo)}}))])"
        )
    };
    // Another server began it, and its answer comes when this one has told that nobody knows.
    value(&again(), "(tool/call 's/write {:n 1})").await;
    memory.book.forget_answers();
    assert_eq!(value(&again(), &branches(1)).await, "[false :outcome_unknown true]");
    memory.book.answer_late();
    let made = world.calls();
    assert_eq!(value(&again(), &branches(1)).await, "[false :outcome_unknown true]");
    assert_eq!(world.calls(), made, "nothing else is sent");
    // An answer that cannot be written down was told all the same.
    memory.book.loses_answers.store(true, Ordering::SeqCst);
    assert_eq!(value(&again(), &branches(2)).await, "[true nil true]");
    let made = world.calls();
    assert_eq!(value(&again(), &branches(2)).await, "[true nil false]", "only the last answer is not known");
    assert_eq!(world.calls(), made, "nothing else is sent");
}

/// Whoever settles the call too late changes nothing for the program: it has acted on what it was told.
#[tokio::test]
async fn a_call_that_is_settled_after_its_program_went_on_is_not_made_by_it() {
    let (world, memory) = (world(), Arc::new(Memory::default()));
    let runtime = start(&[&world]).await;
    let again = || runtime.context(Caps::default(), Policy::open()).journalled("a", memory.clone());
    let source = "(let [r (tool/call 's/write_late {})]
                    [(:ok r) (:reason r) (:ok (tool/call 's/write {:n (if (:ok r) :went-on :undo)}))])";
    assert_eq!(value(&again(), source).await, "[false :outcome_unknown true]");
    memory.book.settle_as_not_happened();
    let made = world.calls();
    assert_eq!(value(&again(), source).await, "[false :outcome_unknown true]");
    assert_eq!(world.calls(), made, "nothing else is sent");
    // One that did not go on makes it.
    let last = "(:reason (tool/call 's/write_late {:n 2}))";
    for sent in [1, 2] {
        assert_eq!(value(&again(), last).await, ":outcome_unknown");
        assert_eq!(world.calls(), made + sent);
        memory.book.settle_as_not_happened();
    }
}

/// Others may have settled it by then, and made it themselves.
#[tokio::test]
async fn a_call_whose_beginning_took_too_long_is_not_sent_and_taken_back() {
    let (world, book) = (world(), Arc::new(Book::default()));
    let runtime = start(&[&world]).await;
    let write = "(:message (tool/call 's/write {:n 1}))";
    *book.holds.lock().expect("no panics") = Some(Duration::ZERO);
    let told = value(&scoped(&runtime, "a", &book), write).await;
    assert!(told.contains("nothing was sent, because writing the call down first took"), "{told}");
    assert_eq!((world.calls(), book.told()), (0, vec![]));
    *book.holds.lock().expect("no panics") = Some(Duration::from_secs(3_600));
    assert_eq!(value(&scoped(&runtime, "a", &book), write).await, "nil");
    assert_eq!(world.calls(), 1, "whoever tries again makes it");
}

#[tokio::test]
async fn a_call_whose_beginning_was_not_acknowledged_is_not_sent_and_taken_back() {
    let (world, book) = (world(), Arc::new(Book::default()));
    let runtime = start(&[&world]).await;
    book.unacknowledged.store(true, Ordering::SeqCst);
    // The store is away for a moment longer.
    book.unwritable.store(1, Ordering::SeqCst);
    let told = value(&scoped(&runtime, "a", &book), "(:message (tool/call 's/write {:n 1}))").await;
    assert!(told.contains("nothing was sent") && told.contains("the connection broke"), "{told}");
    while !book.told().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(world.calls(), 0);
}

/// A write that was answered is recalled, also where its tool says by now that it only reads, or is gone.
#[tokio::test]
async fn a_write_that_was_answered_is_recalled_whatever_its_tool_is_by_now() {
    let memory = Arc::new(Memory::default());
    let source = "[(:value (tool/call 's/write {:n 1})) (:value (tool/call 's/write {:n 2}))]";
    let before = world();
    let runtime = start(&[&before]).await;
    let context = |runtime: &Arc<Runtime>| {
        runtime.context(Caps::default(), Policy::open()).journalled("a", memory.clone())
    };
    let told = value(&context(&runtime), source).await;
    let without = Fixture::new("s", &[("get", json!({}))], |_, _| text("seen"));
    let runtime = start(&[&without]).await;
    assert_eq!(value(&context(&runtime), source).await, told);
    assert_eq!(without.calls(), 0, "nothing is sent");
}

/// A write of which nobody knows whether it happened says so, and which call it is, whatever the cause.
#[tokio::test]
async fn a_write_without_an_answer_names_server_tool_and_identity_and_a_read_only_its_cause() {
    let book = Arc::new(Book::default());
    let silent = Fault::new(Reason::StreamClosedBeforeResponse, "the stream ended");
    let late = || Err(Fault::new(Reason::Timeout, "no answer within 5 ms"));
    let tools = ["get_late", "write_late", "write_cut", "write_down"].map(|name| (name, json!({})));
    let world = Fixture::new("s", &tools, move |tool, _| match tool {
        "write_cut" => Err(silent.clone()),
        "write_down" => Err(Fault::new(Reason::UpstreamUnavailable, "http 503")),
        _ => late(),
    });
    let runtime = start(&[&world]).await;
    for (tool, cause) in [
        ("write_late", "(timeout: no answer within 5 ms)"),
        ("write_cut", "(stream_closed_before_response: the stream ended)"),
        ("write_down", "(upstream_unavailable: http 503)"),
    ] {
        let source = format!("(tool/call {{:server \"s\" :tool \"{tool}\"}})");
        let context = scoped(&runtime, "a", &book);
        let told = run(&context, &source).await.json;
        assert_eq!(told["reason"], "outcome_unknown", "{told}");
        let message = told["message"].as_str().unwrap_or_default();
        // The time at which it is listed.
        let call = format!("outcome unknown: s/{tool}, called at 2023-11-14T22:13:20Z, was ");
        assert!(message.starts_with(&call) && message[call.len()..].starts_with("sent"), "{message}");
        assert!(message.contains(cause) && message.contains("`ptc effects settle`"), "{message}");
        let identity = message.rsplit(' ').next().unwrap_or_default();
        let listed = book.calls.lock().expect("no panics").keys().any(|(_, known)| known == identity);
        assert!(listed, "{message}");
        let entry = context.finish().calls.remove(0);
        assert_eq!((entry.reason, entry.error.as_deref()), (Some(Reason::OutcomeUnknown), Some(message)));
        let again = run(&scoped(&runtime, "a", &book), &source).await.json;
        let before = again["message"].as_str().unwrap_or_default();
        assert!(before.starts_with(&format!("{call}begun before")), "{before}");
        // Nobody finds it anywhere, so nobody is told to look for it.
        let now = ptc_host::called_at(ptc_host::now_ms());
        let told = run(&open(&runtime), &source).await.json;
        assert_eq!(told["reason"], "outcome_unknown", "{told}");
        assert!(
            told["message"].as_str().is_some_and(|text| text.ends_with("before it is made again")),
            "{told}"
        );
        assert!(called_at(&told) >= now, "when it was sent: {told}");
    }
    let read = run(&scoped(&runtime, "a", &book), "(tool/call 's/get_late)").await.json;
    let message = read["message"].as_str().unwrap_or_default();
    assert!(read["reason"] == "timeout" && message.starts_with("no answer within 5 ms; "), "{read}");
}

/// When a call was made, as a program is told.
fn called_at(told: &Json) -> String {
    let message = told["message"].as_str().unwrap_or_default();
    let at = message.split_once(", called at ").and_then(|(_, rest)| rest.split_once(','));
    at.expect("a time").0.to_owned()
}

/// A call that the program went on without is told of without its server, and so is one that cannot be looked up.
#[tokio::test]
async fn what_was_not_sent_is_told_again_although_its_server_is_gone() {
    let memory = Arc::new(Memory::default());
    let mended = memory.clone();
    let tools = ["get_mend", "write"].map(|name| (name, json!({})));
    let world = Fixture::new("s", &tools, move |tool, args| {
        if tool == "get_mend" {
            *mended.book.broken.lock().expect("no panics") = None;
        }
        structured(json!({"did": args}))
    });
    let again = |runtime: &Arc<Runtime>| {
        runtime.context(Caps::default(), Policy::open()).journalled("a", memory.clone())
    };
    let source = "(let [r (tool/call 's/write {:n 1})]
                    (tool/call 's/get_mend {})
                    [(:message r) (:ok (tool/call 's/write {:n 2}))])";
    *memory.book.broken.lock().expect("no panics") = Some("the disk is full");
    let told = value(&again(&start(&[&world]).await), source).await;
    assert!(told.contains("the disk is full") && told.ends_with("true]"), "{told}");
    let gone = Fixture::new("s", &[], |_, _| text("")).silent();
    let runtime = start_live(&[&gone]).await;
    assert_eq!(value(&again(&runtime), source).await, told);
    assert_eq!((gone.lists(), gone.calls()), (0, 0), "nobody is asked");

    memory.book.unreadable.store(true, Ordering::SeqCst);
    let lost = run(&again(&runtime), "(tool/call 's/write {:n 7})").await.json;
    assert_eq!(lost["reason"], "outcome_unknown", "{lost}");
    let message = lost["message"].as_str().unwrap_or_default();
    assert!(message.contains("which cannot be looked up (the store is away)"), "{message}");
    assert_eq!(gone.lists(), 0);
}

fn world() -> Fixture {
    let keyed = |name: &str| json!({"properties": {name: {"type": "string"}, "n": {}}, "required": [name]});
    Fixture::new(
        "s",
        &[
            ("get", json!({})),
            ("write", json!({})),
            ("write_fails", json!({})),
            ("write_late", json!({})),
            ("write_down", json!({})),
            ("write_key", keyed("idempotency_key")),
            ("write_camel", keyed("idempotencyKey")),
            ("write_header", keyed("Idempotency-Key")),
        ],
        |tool, args| match tool {
            "write_fails" => Err(Fault::new(Reason::ToolError, "it is closed")),
            "write_late" => Err(Fault::new(Reason::Timeout, "no answer within 5 ms")),
            "write_down" => Err(Fault::new(Reason::UpstreamUnavailable, "cannot connect").before_sending()),
            "get" => text("seen"),
            _ => structured(json!({"did": args})),
        },
    )
}

fn scoped(runtime: &Arc<Runtime>, scope: &str, book: &Arc<Book>) -> RunContext {
    runtime.context(Caps::default(), Policy::open()).journalled(scope, book.clone())
}

const TWICE: &str = "(do (tool/call 's/get {:n 0})
                         [(:value (tool/call 's/write {:n 1})) (:value (tool/call 's/write {:n 1}))])";

#[tokio::test]
async fn a_scope_that_runs_again_sends_nothing_again() {
    let (world, book) = (world(), Arc::new(Book::default()));
    let runtime = start(&[&world]).await;
    let first = scoped(&runtime, "a", &book);
    let expected = "[{:did {:n 1}} {:did {:n 1}}]";
    assert_eq!(value(&first, TWICE).await, expected);
    assert_eq!(world.calls(), 3, "equal calls of one program are two calls");
    assert!(first.finish().calls.iter().all(|call| !call.recalled));

    let again = scoped(&runtime, "a", &book);
    assert_eq!(value(&again, TWICE).await, expected);
    assert_eq!(world.calls(), 4, "reads are made again, writes are not");
    let account = again.finish();
    assert_eq!(account.calls.iter().map(|call| call.recalled).collect::<Vec<_>>(), [false, true, true]);
    assert_eq!(account.upstream_calls()[1]["recalled"], true);

    let other = scoped(&runtime, "b", &book);
    assert_eq!(value(&other, TWICE).await, expected);
    assert_eq!(world.calls(), 7, "another scope is another matter");
}

#[tokio::test]
async fn parallel_calls_are_told_apart_by_their_order() {
    let (world, book) = (world(), Arc::new(Book::default()));
    let runtime = start(&[&world]).await;
    let source = "(count (pmap #(tool/call 's/write {:n (quot % 2)}) (range 6)))";
    for made in [6, 6] {
        assert_eq!(value(&scoped(&runtime, "a", &book), source).await, "6");
        assert_eq!((world.calls(), book.told().len()), (made, 6));
    }
}

#[tokio::test]
async fn a_call_without_an_answer_is_unknown_and_not_made_again() {
    let (world, book) = (world(), Arc::new(Book::default()));
    let runtime = start(&[&world]).await;
    value(&scoped(&runtime, "a", &book), "(tool/call 's/write {:n 1})").await;
    book.forget_answers();
    let again = scoped(&runtime, "a", &book);
    let told = run(&again, "(tool/call 's/write {:n 1})").await.json;
    assert_eq!((&told["ok"], &told["reason"]), (&json!(false), &json!("outcome_unknown")));
    let message = told["message"].as_str().unwrap_or_default();
    let identity = message.rsplit(' ').next().unwrap_or_default();
    assert!(message.contains("s/write, called at ") && message.contains(" was begun before"), "{message}");
    assert_eq!(identity.len(), 32, "{message}");
    let known = book.calls.lock().expect("no panics").keys().any(|(_, known)| known == identity);
    assert!(known && world.calls() == 1);
}

#[tokio::test]
async fn only_answers_that_say_what_happened_are_kept() {
    let (world, book) = (world(), Arc::new(Book::default()));
    let runtime = start(&[&world]).await;
    for (tool, reason, then, sent) in [
        ("write_fails", "tool_error", "tool_error", 1),
        ("write_late", "outcome_unknown", "outcome_unknown", 2),
        ("write_down", "upstream_unavailable", "upstream_unavailable", 3),
    ] {
        let source = format!("(name (:reason (tool/call {{:server \"s\" :tool \"{tool}\"}})))");
        for expected in [reason, then] {
            let told = value(&scoped(&runtime, "a", &book), &source).await;
            assert_eq!(told, format!("\"{expected}\""), "{tool}");
        }
        assert_eq!(world.calls(), sent, "{tool} is sent once");
    }
}

/// What the program writes depends on whether the read was made, so a retry must not make it after all.
#[tokio::test]
async fn a_read_that_could_not_be_looked_up_is_not_made_by_a_scope_that_runs_again() {
    let (world, memory) = (world(), Arc::new(Memory::default()));
    let runtime = start(&[&world]).await;
    let source = "(let [r (tool/call 's/get)] [(:ok r) (:ok (tool/call 's/write {:n (if (:ok r) 1 0)}))])";
    memory.unreadable.store(1, Ordering::SeqCst);
    for run in ["first", "again"] {
        let context = runtime.context(Caps::default(), Policy::open()).journalled("a", memory.clone());
        assert_eq!(value(&context, source).await, "[false true]", "{run}");
    }
    assert_eq!(world.calls(), 1, "the write, once");
}

#[tokio::test]
async fn what_cannot_be_written_down_is_not_sent() {
    let (world, book) = (world(), Arc::new(Book::default()));
    let runtime = start(&[&world]).await;
    *book.broken.lock().expect("no panics") = Some("the disk is full");
    let told = value(&scoped(&runtime, "a", &book), "(:message (tool/call 's/write {:n 1}))").await;
    assert!(told.contains("nothing was sent") && told.contains("the disk is full"), "{told}");
    assert_eq!(value(&scoped(&runtime, "a", &book), "(:value (tool/call 's/get))").await, "\"seen\"");
    assert_eq!(world.calls(), 1);
}

#[tokio::test]
async fn a_tool_that_takes_a_key_is_given_one() {
    let (world, book) = (world(), Arc::new(Book::default()));
    let runtime = start(&[&world]).await;
    for (tool, name) in [
        ("write_key", "idempotency_key"),
        ("write_camel", "idempotencyKey"),
        ("write_header", "Idempotency-Key"),
    ] {
        let call = |scope: &'static str, args: &'static str| {
            let context = scoped(&runtime, scope, &book);
            let source = format!("(:value (tool/call {{:server \"s\" :tool \"{tool}\" :args {args}}}))");
            async move { run(&context, &source).await.json["did"].clone() }
        };
        let sent = call("a", "{:n 1}").await;
        let key = sent[name].as_str().unwrap_or_default();
        assert_eq!(key.len(), 32, "{tool}: {sent}");
        assert_ne!(call("b", "{:n 1}").await[name], sent[name], "{tool}: scopes have keys of their own");
        assert_ne!(call("a", "{:n 2}").await[name], sent[name], "{tool}: calls have keys of their own");
    }
    let own = "(:value (tool/call 's/write-key {:idempotency_key \"mine\" :n 1}))";
    let sent = run(&scoped(&runtime, "a", &book), own).await.json;
    assert_eq!(sent["did"]["idempotency_key"], "mine", "what the program gives is left alone");
    let unkept = value(&open(&runtime), "(tool/call 's/write-key {:n 1})").await;
    assert!(unkept.contains("idempotency_key"), "without a journal it is the program's: {unkept}");
}

#[tokio::test]
async fn a_program_that_goes_on_counts_what_it_did_before() {
    let (world, book) = (world(), Arc::new(Book::default()));
    let runtime = start(&[&world]).await;
    let source = "(:ok (tool/call 's/write {:n 1}))";
    assert_eq!(value(&scoped(&runtime, "a", &book), source).await, "true");
    let on = scoped(&runtime, "a", &book);
    on.earlier_calls(&[json!({"server": "s", "tool": "write", "args": {"n": 1}})]);
    assert_eq!(value(&on, source).await, "true");
    assert_eq!((world.calls(), book.told().len()), (2, 2));
}

#[tokio::test]
async fn calls_are_looked_at_without_being_made() {
    let world = world();
    let runtime = start(&[&world]).await;
    let context = runtime.context(Caps { calls: 2, ..Caps::default() }, Policy::open());
    let call = |tool: &str, args: Json| json!({"server": "s", "tool": tool, "args": args});
    let reads = context.rehearse(&call("get", json!({}))).await;
    assert_eq!(reads, Rehearsed::Reads { server: "s".to_owned(), tool: "get".to_owned() });
    let Rehearsed::Writes(HeldBack { tool, args, effect, .. }) =
        context.rehearse(&call("write-key", json!({"n": 1}))).await
    else {
        panic!("it writes")
    };
    assert_eq!((tool.as_str(), json!(args), effect.name()), ("write_key", json!({"n": 1}), "write"));
    for (call, part) in [
        (call("gone", json!({})), "no tool 'gone'"),
        (json!({"server": "x", "tool": "y"}), "no upstream 'x'"),
        (json!(5), "requires a map"),
    ] {
        let refused = context.rehearse(&call).await;
        assert!(format!("{refused:?}").contains(part), "{refused:?}");
    }
    context.rehearse(&call("write", json!({}))).await;
    let over = context.rehearse(&call("write", json!({}))).await;
    assert!(format!("{over:?}").contains("cap_exhausted"), "{over:?}");
    assert_eq!(world.calls(), 0);
}
