//! Calls that somebody must approve: which are asked about, what is shown, and what rejecting gives.

use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ptc_host::{Decision, ErrorKind, Held, Pool, Program, Resumption};
use ptc_lisp::machine::Answer;
use ptc_upstream::effects::Policy;
use ptc_upstream::ledger::Status;
use ptc_upstream::model::Reason;
use ptc_upstream::runtime::{Begun, EffectJournal, NewEffect};
use ptc_upstream::{Caps, Config, RunContext, Runtime, RuntimeOptions, SnapshotMode};
use serde_json::{Value as Json, json};

use crate::effects::Memory;
use crate::fixture::{Fixture, open, run, structured, try_start, value};

/// A server that reads and writes; what it got comes back.
fn crm() -> Fixture {
    let schema = json!({"type": "object", "properties": {"user_id": {}, "n": {}}});
    Fixture::new("crm", &[("read", schema.clone()), ("write_it", schema)], |_, args| structured(args.clone()))
}

async fn start(crm: &Fixture, approval: Json, snapshot: SnapshotMode) -> Arc<Runtime> {
    let upstream = json!({"transport": "mcp_stdio", "command": "fixture", "approval": approval});
    let config =
        Config::from_value(json!({"upstreams": {"crm": upstream}}), Path::new("")).expect("it is right");
    try_start(&config, &[crm], RuntimeOptions { snapshot, ..RuntimeOptions::default() })
        .await
        .expect("it starts")
}

async fn frozen(crm: &Fixture, approval: Json) -> Arc<Runtime> {
    start(crm, approval, SnapshotMode::Frozen).await
}

const READ: &str = "(:value (tool/call {:server \"crm\" :tool \"read\" :args {:n 1}}))";
const WRITE: &str = "(tool/call {:server \"crm\" :tool \"write-it\" :args {:user-id 2}})";

async fn held(context: &RunContext, source: &str) -> Held {
    let outcome = run(context, source).await;
    *outcome.held.unwrap_or_else(|| panic!("{source}: {:?}", outcome.result))
}

async fn decided(context: &RunContext, held: Held, decision: Decision) -> String {
    let id = held.pending()[0].id;
    let resumption = Resumption::new(held, [(id, decision)]).expect("it waits");
    Pool::global().run(context.attach(Program::resumed(resumption))).await.value
}

#[tokio::test]
async fn calls_are_asked_about_as_the_configuration_says() {
    let cases = [
        (json!("never"), READ, false),
        (json!("never"), WRITE, false),
        (json!("writes"), READ, false),
        (json!("writes"), WRITE, true),
        (json!("ask"), READ, true),
        (json!({"write-it": "never", "*": "ask"}), WRITE, false),
        (json!({"read": "ask"}), READ, true),
    ];
    for (approval, source, asks) in cases {
        let crm = crm();
        let context = open(&frozen(&crm, approval.clone()).await);
        let outcome = run(&context, source).await;
        assert_eq!(outcome.held.is_some(), asks, "{approval} {source}: {:?}", outcome.result);
        assert_eq!(crm.calls(), usize::from(!asks), "{approval} {source}");
    }
}

#[tokio::test]
async fn what_is_shown_is_the_call_as_it_would_be_made() {
    let context = open(&frozen(&crm(), json!("writes")).await);
    let held = held(&context, WRITE).await;
    let about = json!({"server": "crm", "tool": "write_it", "args": {"user_id": 2}, "effect": "write",
                       "approval": "writes", "description": "The tool write_it"});
    assert_eq!(held.pending()[0].about, about);
}

#[tokio::test]
async fn decisions_make_the_call_once_change_it_or_give_a_fault() {
    let args = |user: u32| json!({"server": "crm", "tool": "write_it", "args": {"user_id": user}});
    let cases = [
        (Decision::Approve, "{:ok true, :value {:user_id 2}, :value_kind :json}", 1),
        (Decision::Edit(args(7)), "{:ok true, :value {:user_id 7}, :value_kind :json}", 1),
        (
            Decision::Reject("not today".to_owned()),
            "{:ok false, :reason :approval_rejected, :message \"not today\"}",
            0,
        ),
    ];
    for (decision, expected, calls) in cases {
        let crm = crm();
        let runtime = frozen(&crm, json!("writes")).await;
        let held = held(&open(&runtime), WRITE).await;
        let context = open(&runtime);
        assert_eq!(decided(&context, held, decision).await, expected);
        assert_eq!(crm.calls(), calls);
        let account = context.finish();
        assert_eq!(account.calls.len(), 1);
        let rejected = account.calls[0].reason == Some(Reason::ApprovalRejected);
        assert_eq!((rejected, account.calls[0].status == Status::Error), (calls == 0, calls == 0));
    }
}

#[tokio::test]
async fn calls_that_fail_by_themselves_are_not_asked_about() {
    let crm = crm();
    let runtime = frozen(&crm, json!("ask")).await;
    for (source, says) in [
        ("(tool/call {:server \"gone\" :tool \"x\"})", "no upstream 'gone'"),
        ("(tool/call {:server \"crm\" :tool \"gone\"})", "no tool 'gone'"),
        ("(tool/call {:server \"crm\"})", "requires :tool"),
    ] {
        let said = value(&open(&runtime), source).await;
        assert!(said.contains(says), "{said}");
    }
    let reading = runtime.context(Caps::default(), Policy::read_only());
    let said = value(&reading, WRITE).await;
    assert!(said.contains("read-only"), "{said}");
    assert_eq!(crm.calls(), 0);
}

#[tokio::test]
async fn a_server_that_was_never_listed_is_asked_about() {
    let crm = crm();
    let runtime = start(&crm, json!("writes"), SnapshotMode::Live).await;
    if runtime.catalog().server("crm").is_some_and(|server| server.tools.is_none()) {
        let held = held(&open(&runtime), READ).await;
        assert_eq!(held.pending()[0].about["effect"], "unknown");
    }
}

#[tokio::test]
async fn drivers_that_ask_nobody_are_refused() {
    let crm = crm();
    let context = open(&frozen(&crm, json!("writes")).await);
    let args = json!({"server": "crm", "tool": "write_it", "args": {}});
    let Answer::Fault { reason, .. } = context.call(args.clone()).await else { panic!("it is refused") };
    assert_eq!((reason.as_str(), crm.calls()), ("approval_required", 0));
    assert!(context.asks(&args) && context.judge().is_some());
    assert!(matches!(context.call_approved(args).await, Answer::Upstream { .. }));
    assert_eq!(crm.calls(), 1);
}

#[tokio::test]
async fn calls_made_before_count_against_the_cap() {
    let runtime = frozen(&crm(), json!("never")).await;
    let context = runtime.context(Caps { calls: 2, ..Caps::default() }, Policy::open());
    context.made_before(1);
    let said = value(&context, &format!("[{READ} (:reason {WRITE})]")).await;
    assert_eq!(said, "[{:n 1} :cap_exhausted]");
}

#[tokio::test]
async fn plans_say_which_calls_will_ask() {
    let runtime = frozen(&crm(), json!("writes")).await;
    let mut machine = ptc_lisp::machine::Machine::new(ptc_lisp::Limits::default());
    machine.set_tools(["call".to_owned()]);
    let asks = |source: &str, machine: &mut ptc_lisp::machine::Machine| {
        let manifest = machine.check(source).expect("it is right");
        let planned = open(&runtime).admit(&manifest).expect("everything is allowed");
        planned.iter().flat_map(|each| each.asks.clone()).collect::<Vec<_>>()
    };
    assert_eq!(asks(WRITE, &mut machine), ["crm/write_it"]);
    assert!(asks(READ, &mut machine).is_empty());
    assert_eq!(asks("(tool/call {:server \"crm\" :tool data/t})", &mut machine), ["crm/write_it"]);
}

#[tokio::test]
async fn nobody_catches_the_wait() {
    let context = open(&frozen(&crm(), json!("writes")).await);
    let outcome = run(&context, &format!("(try {WRITE} (catch Exception e :caught))")).await;
    assert_eq!(outcome.result.expect_err("it waits").kind, ErrorKind::ApprovalRequired);
}

#[tokio::test]
async fn calls_that_a_program_made_when_it_ran_before_are_not_asked_about() {
    let (crm, memory) = (crm(), Arc::new(Memory::default()));
    let scoped = |runtime: &Arc<Runtime>| {
        runtime.context(Caps::default(), Policy::open()).journalled("a", memory.clone())
    };
    let before = frozen(&crm, json!("never")).await;
    run(&scoped(&before), &format!("[{READ} {WRITE} {WRITE}]")).await;
    assert_eq!(crm.calls(), 3);
    let now = frozen(&crm, json!("ask")).await;
    let over = value(&scoped(&now), &format!("[(:n {READ}) (:ok {WRITE}) (:ok {WRITE})]")).await;
    assert_eq!(over, "[1 true true]", "all of them are answered from the journal");
    let mut call = Json::Null;
    for three in
        [format!("[{READ} {WRITE} {WRITE} {WRITE}]"), format!("{READ} (pmap (fn [_] {WRITE}) [1 2 3])")]
    {
        let held = held(&scoped(&now), &three).await;
        assert_eq!(
            (held.pending().len(), crm.calls()),
            (1, 3),
            "{three}: an equal call that is new is asked about"
        );
        call = held.pending()[0].args.clone();
    }
    let context = scoped(&now);
    for known in [true, true, false] {
        assert_eq!(context.asks(&call), !known);
        context.call(call.clone()).await;
    }
    assert_eq!(crm.calls(), 3);
}

/// A journal that does not say what was begun before until it is let go.
struct Silent(Mutex<Receiver<()>>);

impl EffectJournal for Silent {
    fn begin(&self, _: &str, _: &NewEffect<'_>) -> Result<Begun, String> {
        Ok(Begun::Fresh)
    }

    fn done(&self, _: &str, _: &str, _: &Json) -> Result<(), String> {
        Ok(())
    }

    fn known(&self, _: &str, _: &str) -> Result<Option<Begun>, String> {
        let _ = self.0.lock().expect("no panics").recv();
        Ok(None)
    }

    fn remembers(&self) -> bool {
        true
    }

    fn patience(&self) -> Duration {
        Duration::ZERO
    }
}

/// Who looks at calls cannot be paused, and held its program for as long as the store said nothing.
#[tokio::test]
async fn a_journal_that_hangs_holds_nobody_who_judges_calls() {
    let crm = crm();
    let (free, freed) = channel();
    let silent = Arc::new(Silent(Mutex::new(freed)));
    let runtime = frozen(&crm, json!("writes")).await;
    let context = runtime.context(Caps::default(), Policy::open()).journalled("a", silent);
    let told = value(&context, &format!("(let [r {WRITE}] [(:reason r) (:message r)])")).await;
    assert!(told.contains(":outcome_unknown") && told.contains("did not answer in time"), "{told}");
    assert!(told.contains("If it was begun, `ptc effects` lists it"), "{told}");
    let args = json!({"server": "crm", "tool": "write_it", "args": {}});
    assert!(context.asks(&args));
    let Answer::Fault { reason, .. } = context.call(args).await else { panic!("it is refused") };
    assert_eq!((reason.as_str(), crm.calls()), ("approval_required", 0));
    drop(free);
}
