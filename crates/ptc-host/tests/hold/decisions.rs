//! Approve, edit and reject, all at once or one at a time, and what counts as time.

use std::sync::Arc;
use std::time::Duration;

use ptc_host::{
    Answer, CallEnd, Decision, ErrorKind, Held, HeldError, Judge, Judgement, Outcome, Pool, Program,
    Resumption, Tool, Tools, run_blocking,
};
use serde_json::{Value, json};

use crate::support::{Seen, approved, carried, head, sorted, with_head};

/// `read` answers, `write` must be approved; both give back what they got and are counted.
fn tools(seen: &Seen) -> Tools {
    let tool = |name: &'static str| {
        let seen = seen.clone();
        Tool::blocking(move |args: Value| {
            seen.lock().expect("nobody panics").push((name.to_owned(), args.clone()));
            args["n"].clone()
        })
    };
    let judge = |tool: &str, args: &Value| match tool {
        "write" if args["n"] == 666 => {
            Judgement::Answer(Answer::Raise(ptc_host::Error::new(ErrorKind::Tool, "nobody may write 666")))
        }
        "write" => Judgement::Ask(json!({"effect": "write"})),
        _ => Judgement::Go,
    };
    Tools::new().with("read", tool("read")).with("write", tool("write")).judge(Arc::new(judge))
}

fn held(source: &str, tools: &Tools) -> Held {
    let outcome = run_blocking(&Program::new(source).tools(tools.clone()));
    *outcome.held.unwrap_or_else(|| panic!("{source}: {:?}", outcome.result))
}

fn decide(held: Held, decisions: &[(usize, Decision)], tools: &Tools) -> Outcome {
    let ids: Vec<u64> = held.pending().iter().map(|call| call.id).collect();
    let decisions = decisions.iter().map(|(at, decision)| (ids[*at], decision.clone()));
    let resumption = Resumption::new(carried(&held), decisions).expect("they wait");
    run_blocking(&Program::resumed(resumption).tools(tools.clone()))
}

const TWO_OF_FOUR: &str = "(pmap (fn [n] (if (even? n) (tool/read {:n n}) (tool/write {:n n}))) (range 4))";

#[test]
fn calls_of_other_branches_are_made_at_once_and_their_answers_kept() {
    let seen = Seen::default();
    let tools = tools(&seen);
    let held = held(TWO_OF_FOUR, &tools);
    assert_eq!(sorted(&seen), ["read {\"n\":0}", "read {\"n\":2}"]);
    let pending: Vec<_> = held.pending().iter().map(|call| (&*call.tool, &call.args, &call.about)).collect();
    let about = json!({"effect": "write"});
    assert_eq!(pending, [("write", &json!({"n": 1}), &about), ("write", &json!({"n": 3}), &about)]);
    let outcome = decide(held, &[(0, Decision::Approve), (1, Decision::Approve)], &tools);
    assert_eq!(outcome.value, "(0 1 2 3)");
    assert_eq!(sorted(&seen).len(), 4);
    let order: Vec<_> = outcome.calls.iter().map(|call| call.args["n"].clone()).collect();
    assert_eq!(order, [0, 1, 2, 3]);
}

#[test]
fn a_step_that_is_decided_in_part_is_held_again() {
    let seen = Seen::default();
    let tools = tools(&seen);
    let first = held(TWO_OF_FOUR, &tools);
    let outcome = decide(first, &[(1, Decision::Approve)], &tools);
    assert_eq!(outcome.result.expect_err("one waits").kind, ErrorKind::ApprovalRequired);
    assert_eq!(sorted(&seen), ["read {\"n\":0}", "read {\"n\":2}", "write {\"n\":3}"]);
    let second = *outcome.held.expect("it is held");
    assert_eq!(second.pending().len(), 1);
    let outcome = decide(second, &[(0, Decision::Approve)], &tools);
    assert_eq!(outcome.value, "(0 1 2 3)");
    assert_eq!(sorted(&seen).len(), 4);
    let whole = run_blocking(&Program::new(TWO_OF_FOUR).tools(tools.judge(Arc::new(goes))));
    assert_eq!(outcome.fuel, whole.fuel);
}

fn goes(_: &str, _: &Value) -> Judgement {
    Judgement::Go
}

#[test]
fn decisions_change_what_a_call_gives() {
    let source = "(try (tool/write {:n 1}) (catch Exception e (ex-message e)))";
    let cases = [
        (Decision::Approve, "1"),
        (Decision::Edit(json!({"n": 7})), "7"),
        (Decision::Reject("not today".to_owned()), "\"tool write failed: approval_rejected: not today\""),
        // What is forbidden stays forbidden, whoever approves it.
        (Decision::Edit(json!({"n": 666})), "\"nobody may write 666\""),
    ];
    for (decision, expected) in cases {
        let tools = tools(&Seen::default());
        let outcome = decide(held(source, &tools), &[(0, decision.clone())], &tools);
        assert_eq!(outcome.value, expected, "{decision:?}");
    }
}

/// A rejection is one thing everywhere: programs of agents fail with the same kind.
#[test]
fn a_rejection_that_nobody_catches_has_a_kind_of_its_own() {
    let tools = tools(&Seen::default());
    let outcome =
        decide(held("(tool/write {:n 1})", &tools), &[(0, Decision::Reject("no".to_owned()))], &tools);
    assert_eq!(outcome.result.map_err(|error| error.kind), Err(ErrorKind::Rejected));
}

#[test]
fn the_log_has_the_call_as_it_was_made() {
    let tools = tools(&Seen::default());
    let outcome = decide(
        held("[(tool/write {:n 1}) (tool/read {:n 2})]", &tools),
        &[(0, Decision::Edit(json!({"n": 5})))],
        &tools,
    );
    assert_eq!(outcome.value, "[5 2]");
    let calls: Vec<_> = outcome.calls.iter().map(|call| (&*call.tool, &call.args, call.end)).collect();
    let expected = [("write", &json!({"n": 5}), CallEnd::Value), ("read", &json!({"n": 2}), CallEnd::Value)];
    assert_eq!(calls, expected);
}

/// A judge that answers rejections like failures of the world.
struct AsData;

impl Judge for AsData {
    fn judge(&self, _: &str, _: &Value) -> Judgement {
        Judgement::Ask(Value::Null)
    }

    fn rejected(&self, _: &str, _: &Value, why: &str) -> Answer {
        Answer::Fault { reason: "approval_rejected".to_owned(), message: why.to_owned() }
    }
}

#[test]
fn a_judge_may_answer_rejections_as_data() {
    let tools = tools(&Seen::default()).judge(Arc::new(AsData));
    let outcome =
        decide(held("(tool/read {:n 1})", &tools), &[(0, Decision::Reject("no".to_owned()))], &tools);
    assert_eq!(outcome.value, "{:ok false, :reason :approval_rejected, :message \"no\"}");
}

#[test]
fn decisions_must_fit_what_waits() {
    let tools = tools(&Seen::default());
    let held = held("(tool/write {:n 1})", &tools);
    let id = held.pending()[0].id;
    let cases = [
        (vec![(id + 1, Decision::Approve)], HeldError::NotPending(id + 1)),
        (vec![(id, Decision::Approve), (id, Decision::Approve)], HeldError::Twice(id)),
        (vec![(id, Decision::Edit(json!([1])))], HeldError::Arguments(id)),
    ];
    for (decisions, expected) in cases {
        assert_eq!(Resumption::new(held.clone(), decisions).err(), Some(expected));
    }
}

/// The time of a program is what it spent running and waiting for tools, over all its parts. Hours until somebody
/// decides are not part of it; seconds before are.
#[test]
fn only_time_spent_counts_against_the_timeout_when_a_program_goes_on() {
    let tools = tools(&Seen::default());
    let timeout = Duration::from_secs(60);
    let program = Program::new("[(tool/write {:n 1}) (tool/write {:n 2})]").tools(tools.clone());
    let held = *run_blocking(&program.timeout(timeout)).held.expect("it is held");
    let goes_on = |held: &Held| {
        run_blocking(&Program::resumed(approved(held.clone())).tools(tools.clone()).timeout(timeout))
    };
    let waited = with_head(&held, |head| head["elapsed"]["secs"] = json!(3_600));
    let outcome = goes_on(&waited);
    let second = *outcome.held.expect("an hour of waiting is nothing");
    assert!(outcome.elapsed >= Duration::from_secs(3_600), "what is told is the whole time");
    assert!(goes_on(&second).result.is_ok());
    let spent = with_head(&held, |head| head["spent"]["secs"] = json!(60));
    let outcome = goes_on(&spent);
    assert_eq!(outcome.result.map_err(|error| error.kind), Err(ErrorKind::Timeout));
    assert!(outcome.held.is_none(), "it is over");
}

/// Each part of a program adds to what it has spent, its turns and its calls.
#[test]
fn what_was_spent_grows_from_part_to_part() {
    let seen = Seen::default();
    let tools = tools(&seen);
    let timeout = Duration::from_secs(60);
    let source = "[(tool/read {:n 0}) (tool/write {:n 1}) (tool/write {:n 2})]";
    let program = Program::new(source).tools(tools.clone());
    let first = *run_blocking(&program.timeout(timeout)).held.expect("it is held");
    let first = with_head(&first, |head| {
        head["spent"]["secs"] = json!(7);
        head["turns"] = json!(1_000);
    });
    let outcome = run_blocking(&Program::resumed(approved(first.clone())).tools(tools).timeout(timeout));
    let second = *outcome.held.expect("it is held again");
    let after = head(&second);
    assert!(after["spent"]["secs"].as_u64() >= Some(7), "{after}");
    assert!(after["turns"].as_u64() > Some(1_000), "{after}");
    assert_eq!((first.calls().len(), second.calls().len()), (1, 2));
    let second = approved(second);
    assert_eq!(["read", "write", "nothing"].map(|tool| second.calls_made(tool)), [1, 1, 0]);
}

#[test]
fn nobody_catches_that_a_program_waits() {
    let tools = tools(&Seen::default());
    let source = "(try (tool/write {:n 1}) (catch Exception e :caught) (finally (println \"left\")))";
    let held = held(source, &tools);
    let outcome = decide(held, &[(0, Decision::Approve)], &tools);
    assert_eq!((outcome.value.as_str(), outcome.prints.as_slice()), ("1", ["left".to_owned()].as_slice()));
}

#[test]
fn deep_arguments_are_refused_where_they_could_not_be_read_again() {
    let tools = tools(&Seen::default());
    let source = "(tool/write {:n (reduce (fn [v _] [v]) [] (range 150))})";
    let outcome = run_blocking(&Program::new(source).tools(tools));
    assert_eq!(outcome.result.expect_err("too deep").kind, ErrorKind::NestingTooDeep);
    assert!(outcome.held.is_none());
}

#[test]
fn a_pool_holds_and_goes_on_like_the_other_driver() {
    let pool = Pool::global();
    let seen = Seen::default();
    let tools = tools(&seen);
    let outcome = pool.run(Program::new(TWO_OF_FOUR).tools(tools.clone())).wait();
    let held = *outcome.held.expect("it is held");
    let outcome = pool.run(Program::resumed(approved(carried(&held))).tools(tools)).wait();
    assert_eq!((outcome.value.as_str(), sorted(&seen).len()), ("(0 1 2 3)", 4));
}
