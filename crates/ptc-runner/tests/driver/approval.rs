//! People who decide: asked while a run goes on, or long after in another process.

#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ptc_runner::tape::{Entry, play};
use ptc_runner::{
    Agent, Answer, Approval, Chat, Decision, Effect, Journal, Outcome, Paused, PendingCall, RunOptions,
    Saved, Surroundings, Tool, begin, go_on, pending, run_in, tool,
};
use serde_json::{Value as Json, json};

use crate::{code, reason, script};

/// An agent that pays twice at once and looks meanwhile, and how often its tools were called.
fn payer() -> (Arc<Agent>, Arc<Mutex<Vec<Json>>>) {
    let paid: Arc<Mutex<Vec<Json>>> = Arc::default();
    let seen = paid.clone();
    let pay = Tool::new("pay", move |args| {
        seen.lock().unwrap().push(args["sum"].clone());
        args["sum"].clone()
    });
    let pay = pay.signature("(sum :int) -> :int").unwrap().approval(Approval::Ask);
    let look = Tool::new("look", |_| json!(100)).effect(Effect::Read);
    (Arc::new(Agent::builder("Pay").tools([pay, look]).build().unwrap()), paid)
}

fn options() -> RunOptions {
    let program = "(defn pay [n] (try (tool/pay {:sum n}) (catch Exception e (re-find #\"rejected|unknown\" (ex-message e)))))
                   (return (pcalls #(pay 1) #(tool/look {}) #(pay 2)))";
    RunOptions::new(script(&[&code(program)]))
}

async fn paused() -> (Arc<Agent>, Arc<Mutex<Vec<Json>>>, Paused) {
    let (agent, paid) = payer();
    match begin(agent.clone(), options(), Surroundings::default()).await {
        Outcome::Paused(paused) => (agent, paid, paused),
        Outcome::Over(step) => panic!("{step:#?}"),
    }
}

#[tokio::test]
async fn an_approver_is_asked_about_calls_that_are_made_at_once_at_once() {
    let (agent, paid) = payer();
    let both = Arc::new(tokio::sync::Barrier::new(2));
    let approver = move |call: PendingCall| {
        let both = both.clone();
        async move {
            // Nobody decides before both are asked.
            both.wait().await;
            Some(if call.args["sum"] == 1 { Decision::Approve } else { Decision::Reject("no".into()) })
        }
    };
    let around = Surroundings { approver: Some(Arc::new(approver)), ..Surroundings::default() };
    let step = run_in(agent, options(), around).await;
    assert_eq!(step.value, json!([1, 100, "rejected"]), "{step:#?}");
    assert_eq!(*paid.lock().unwrap(), [json!(1)]);
}

#[tokio::test]
async fn a_run_without_an_approver_pauses_and_goes_on_with_decisions() {
    let (agent, paid, paused) = paused().await;
    assert_eq!(reason(&paused.step), "approval_required");
    let sums: Vec<&Json> = paused.pending.iter().map(|call| &call.args["sum"]).collect();
    assert_eq!(sums, [1, 2]);
    assert!(paid.lock().unwrap().is_empty());
    let ids: Vec<u64> = paused.pending.iter().map(|call| call.id).collect();
    // One is decided: its call is made, the other is still waited for.
    let saved = paused.decided([(ids[1], Decision::Edit(json!({"sum": 20})))]);
    let second = match go_on(agent.clone(), RunOptions::default(), saved, Surroundings::default()).await {
        Outcome::Paused(second) => second,
        Outcome::Over(step) => panic!("{step:#?}"),
    };
    assert_eq!(second.pending.iter().map(|call| call.id).collect::<Vec<_>>(), ids[..1]);
    let saved = Saved::from(second.state);
    assert_eq!(pending(agent.clone(), RunOptions::default(), &saved).unwrap()[0].args, json!({"sum": 1}));
    let saved = Saved { decisions: vec![(ids[0], Decision::Approve)], ..saved };
    let step = go_on(agent, RunOptions::default(), saved, Surroundings::default()).await.step();
    assert_eq!(step.value, json!([1, 100, 20]), "{step:#?}");
    assert_eq!(*paid.lock().unwrap(), [json!(20), json!(1)], "each once");
}

#[tokio::test]
async fn decisions_that_make_no_sense_are_refused_before_anything_is_done() {
    let (agent, paid, paused) = paused().await;
    let ids: Vec<u64> = paused.pending.iter().map(|call| call.id).collect();
    let cases = [
        (vec![(999, Decision::Approve)], "no call 999 waits"),
        (vec![(ids[0], Decision::Approve), (ids[0], Decision::Approve)], "decided twice"),
        (vec![(ids[0], Decision::Approve), (ids[1], Decision::Edit(json!({"sum": "x"})))], "new arguments"),
    ];
    for (decisions, expected) in cases {
        let saved = Saved { decisions, ..Saved::from(paused.state.clone()) };
        let step = go_on(agent.clone(), RunOptions::default(), saved, Surroundings::default()).await.step();
        assert_eq!(reason(&step), "resume_error");
        let message = step.fail.unwrap().message;
        assert!(message.contains(expected), "{message}");
    }
    assert!(paid.lock().unwrap().is_empty());
}

#[tokio::test]
async fn whoever_does_not_decide_or_panics_leaves_the_run_paused() {
    let (agent, paid) = payer();
    let approver = |call: PendingCall| async move {
        assert_ne!(call.args["sum"], 2, "this one panics");
        None
    };
    let around = Surroundings { approver: Some(Arc::new(approver)), ..Surroundings::default() };
    let Outcome::Paused(paused) = begin(agent, options(), around).await else { panic!("nobody decided") };
    assert_eq!((paused.pending.len(), paid.lock().unwrap().len()), (2, 0));
}

#[tokio::test]
async fn a_tape_has_the_decisions() {
    let (agent, _) = payer();
    let tape: Arc<Mutex<Vec<Entry>>> = Arc::default();
    let events: Arc<Mutex<Vec<Json>>> = Arc::default();
    let (taped, told) = (tape.clone(), events.clone());
    let approver = |call: PendingCall| async move {
        // It takes a time that events tell of, which playing must give as well: the clock goes on first.
        let asked = ptc_host::now_ms();
        while ptc_host::now_ms() == asked {
            tokio::task::yield_now().await;
        }
        Some(if call.args["sum"] == 1 { Decision::Edit(json!({"sum": 5})) } else { Decision::Approve })
    };
    let around = Surroundings {
        approver: Some(Arc::new(approver)),
        tape: Some(Arc::new(move |entry| taped.lock().unwrap().push(entry))),
        subscriber: Some(Arc::new(move |event| {
            told.lock().unwrap().push(serde_json::to_value(event).unwrap())
        })),
        ..Surroundings::default()
    };
    let step = run_in(agent.clone(), options(), around).await;
    assert_eq!(step.value, json!([5, 100, 2]));
    let tape = serde_json::to_string(&*tape.lock().unwrap()).unwrap();
    assert!(tape.contains(r#"{"decision":{"edit":{"sum":5}}}"#), "{tape}");
    let tape: Vec<Entry> = serde_json::from_str(&tape).unwrap();
    let played = play(agent, options(), &tape, |_, _| {}, || true).unwrap();
    assert_eq!(*played.step, step);
    let again: Vec<Json> = played.events.iter().map(|event| serde_json::to_value(event).unwrap()).collect();
    assert_eq!(again, *events.lock().unwrap());
}

/// Keeps what a journal is given, and ends its process at a moment: from then on nothing is written.
#[derive(Default)]
struct Kept {
    state: Mutex<Vec<u8>>,
    answers: Mutex<Vec<(u64, Vec<u8>)>>,
    writes: AtomicUsize,
    dies_at: Option<usize>,
}

impl Kept {
    fn write(&self) -> Result<(), String> {
        match self.dies_at {
            Some(at) if self.writes.fetch_add(1, Ordering::Relaxed) >= at => Err("gone".into()),
            _ => Ok(()),
        }
    }
}

impl Journal for Kept {
    fn state(&self, bytes: &[u8]) -> Result<(), String> {
        self.write()?;
        bytes.clone_into(&mut self.state.lock().unwrap());
        self.answers.lock().unwrap().clear();
        Ok(())
    }

    fn answers(&self, answers: &[Answer]) -> Result<(), String> {
        self.write()?;
        let kept = answers.iter().map(|answer| (answer.ask, answer.bytes.clone()));
        self.answers.lock().unwrap().extend(kept);
        Ok(())
    }
}

#[tokio::test]
async fn nothing_is_called_or_asked_twice_wherever_the_journal_ends() {
    for dies_at in 1..9 {
        let (agent, paid) = payer();
        let kept = Arc::new(Kept { dies_at: Some(dies_at), ..Kept::default() });
        let decided: Arc<Mutex<Vec<u64>>> = Arc::default();
        let approver = {
            let decided = decided.clone();
            move |call: PendingCall| {
                decided.lock().unwrap().push(call.id);
                async { Some(Decision::Approve) }
            }
        };
        let around = |journal: Arc<Kept>| Surroundings {
            approver: Some(Arc::new(approver.clone())),
            journal: Some(journal),
            ..Surroundings::default()
        };
        let first = run_in(agent.clone(), options(), around(kept.clone())).await;
        let state = kept.state.lock().unwrap().clone();
        let saved = Saved { state, answers: kept.answers.lock().unwrap().clone(), ..Saved::default() };
        if first.is_ok() {
            assert_eq!(first.value, json!([1, 100, 2]));
            continue;
        }
        assert_eq!(reason(&first), "checkpoint_error", "{dies_at}");
        let written = pending(agent.clone(), options(), &saved).unwrap();
        let step = ptc_runner::resume(agent, options(), saved, around(Arc::default())).await;
        assert!(step.is_ok(), "{dies_at}: {step:#?}");
        let mut paid = paid.lock().unwrap().clone();
        paid.sort_by_key(|sum| sum.as_i64());
        // Either an answer is known, or the outcome of the call is said to be unknown; it is never made again.
        paid.windows(2).for_each(|pair| assert_ne!(pair[0], pair[1], "{dies_at}"));
        for (at, sum) in [(0, 1), (2, 2)] {
            assert!(step.value[at] == sum || step.value[at] == "unknown", "{dies_at}: {}", step.value);
        }
        let asked_again = decided.lock().unwrap().len().saturating_sub(2);
        assert!(asked_again <= written.len(), "{dies_at}: only what was not decided");
    }
}

/// Gives money away.
#[tool(approval = "ask", crate = ptc_runner)]
fn give(sum: i64) -> i64 {
    sum
}

#[tokio::test]
async fn typed_functions_say_that_they_wait() {
    let agent = Agent::builder("Give").tool(Tool::typed::<give>()).build().unwrap();
    let options = RunOptions::new(script(&[&code("(return (tool/give {:sum 3}))")]));
    let Outcome::Paused(paused) = begin(agent, options, Surroundings::default()).await else { panic!() };
    assert_eq!(paused.pending[0].json()["args"], json!({"sum": 3}));
}

/// The state that a program of a chat left behind, as the next one sees it.
async fn says(chat: &mut Chat, program: &str) -> Json {
    chat.say("And now?", RunOptions::new(script(&[&code(program)]))).await.unwrap()
}

#[tokio::test]
async fn a_message_of_a_chat_waits_and_goes_on_and_the_chat_with_it() {
    let (agent, paid) = payer();
    let mut chat = Chat::new(agent);
    assert_eq!(says(&mut chat, "(def before 1) (return before)").await, json!(1));
    let program = "(def sums [(tool/pay {:sum 1}) (tool/pay {:sum before})])
                   (return (conj sums (try (tool/pay {:sum 3}) (catch Exception e \"no\"))))";
    let fail = chat.say("Pay", RunOptions::new(script(&[&code(program)]))).await.unwrap_err();
    assert_eq!(fail.reason.as_str(), "approval_required");
    let branch = chat.clone();
    // Decisions that make no sense change nothing.
    let step = chat.go_on([(999, Decision::Approve)], RunOptions::default(), Surroundings::default()).await;
    assert_eq!((reason(&step), chat.pending().len()), ("resume_error", 1));
    let mut sums = Vec::new();
    while let [call] = chat.pending() {
        sums.push(call.args["sum"].clone());
        let decision = match call.args["sum"].as_u64() {
            Some(3) => Decision::Reject("no".into()),
            _ => Decision::Approve,
        };
        let decided = [(call.id, decision)];
        let step = chat.go_on(decided, RunOptions::default(), Surroundings::default()).await;
        if chat.pending().is_empty() {
            assert_eq!(step.value, json!([1, 1, "no"]), "{step:#?}");
        }
    }
    assert_eq!(sums, [1, 1, 3]);
    assert_eq!(*paid.lock().unwrap(), [json!(1), json!(1)]);
    // What the message defined is there for the next one.
    assert_eq!(says(&mut chat, "(return [before sums])").await, json!([1, [1, 1]]));
    let step = chat.go_on([], RunOptions::default(), Surroundings::default()).await;
    assert_eq!(reason(&step), "resume_error");
    // A branch waits on its own. Saying something else gives up what waits, and the chat is as it was before.
    let mut branch = branch;
    assert_eq!(branch.pending().len(), 1);
    assert_eq!(says(&mut branch, "(return before)").await, json!(1));
    assert!(branch.say("Sums?", RunOptions::new(script(&[&code("(return sums)")]))).await.is_err());
    assert!(branch.pending().is_empty());
    assert_eq!(paid.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn a_message_that_goes_on_may_ask_an_approver() {
    let (agent, paid) = payer();
    let mut chat = Chat::new(agent);
    let fail = chat.say("Pay", options()).await.unwrap_err();
    assert_eq!((fail.reason.as_str(), chat.pending().len()), ("approval_required", 2));
    let approver = |call: PendingCall| async move {
        Some(Decision::Edit(json!({"sum": call.args["sum"].as_u64().unwrap() + 10})))
    };
    let around = Surroundings { approver: Some(Arc::new(approver)), ..Surroundings::default() };
    let step = chat.go_on([], RunOptions::default(), around).await;
    assert_eq!(step.value, json!([11, 100, 12]), "{step:#?}");
    assert_eq!(paid.lock().unwrap().len(), 2);
}
