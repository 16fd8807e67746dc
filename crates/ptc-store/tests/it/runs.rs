//! Runs in a store. Each rule holds in memory, in a file and on a server alike.

use std::sync::Arc;

use ptc_store::Store;
use ptc_store::runs::{Ending, NewAnswer, RunError, Runs, Status};
use serde_json::json;

use crate::postgres::Server;
use crate::support::Folder;

type Rule = fn(&Runs);

const RULES: &[(&str, Rule)] = &[
    ("a run goes on from its state and the answers behind it", goes_on),
    ("whoever goes on with a run takes it from who held it", taken_over),
    ("runs end, and are listed with how", listed),
    ("a run is found by the beginning of its id", found),
    ("what is large or strange is kept as it is", kept_exactly),
];

fn open(place: &str) -> Runs {
    Runs::new(Arc::new(Store::open(place).expect("the store opens")))
}

#[test]
fn runs_are_kept_in_memory() {
    RULES.iter().for_each(|(_, rule)| rule(&open(":memory:")));
}

#[test]
fn runs_are_kept_in_a_file() {
    let folder = Folder::new("runs");
    for (number, (name, rule)) in RULES.iter().enumerate() {
        eprintln!("{name}");
        rule(&open(&folder.place(&format!("{number}.db"))));
    }
}

#[test]
fn runs_are_kept_in_postgresql() {
    let Some(server) = Server::start("runs") else { return };
    for (number, (name, rule)) in RULES.iter().enumerate() {
        eprintln!("{name}");
        rule(&open(&server.place(&format!("runs{number}"))));
    }
}

fn answer<'a>(ask: u64, bytes: &'a [u8]) -> NewAnswer<'a> {
    NewAnswer { ask, kind: "tool", name: "t", bytes }
}

fn goes_on(runs: &Runs) {
    let run = runs.begin("x", &json!({"n": 1})).expect("begins");
    let (_, kept) = runs.go_on(run.id()).expect("there is one");
    assert_eq!((kept.state, kept.origin), (None, json!({"n": 1})), "it may end before it has a state");
    let (run, _) = runs.go_on(run.id()).expect("there is one");
    run.state(b"first").expect("kept");
    run.answers(&[answer(1, b"a"), answer(2, b"b")]).expect("kept");
    run.state(b"second").expect("kept");
    run.answers(&[answer(4, b"d")]).expect("kept");
    run.answers(&[answer(3, b"c")]).expect("kept");
    let (_, kept) = runs.go_on(run.id()).expect("there is one");
    assert_eq!((kept.state.as_deref(), kept.state_answers), (Some(&b"second"[..]), 2));
    let behind: Vec<(u64, &[u8])> =
        kept.answers_after_state().map(|answer| (answer.ask, answer.bytes.as_slice())).collect();
    assert_eq!(behind, [(4, &b"d"[..]), (3, &b"c"[..])], "in the order in which they came");
    assert_eq!(kept.answers.len(), 4);
}

fn taken_over(runs: &Runs) {
    let first = runs.begin("x", &json!(null)).expect("begins");
    first.state(b"mine").expect("kept");
    let (second, _) = runs.go_on(first.id()).expect("there is one");
    let late = RunError::TakenOver { id: first.id().to_owned() };
    assert_eq!(first.state(b"late"), Err(late.clone()));
    assert_eq!(first.answers(&[answer(1, b"late")]), Err(late.clone()));
    assert_eq!(first.end(Ending::Finished, &json!(1)), Err(late));
    second.answers(&[answer(1, b"in time")]).expect("kept");
    let kept = runs.read(first.id()).expect("there is one");
    assert_eq!((kept.state.as_deref(), kept.answers.len()), (Some(&b"mine"[..]), 1));
}

fn listed(runs: &Runs) {
    let endings = [Ending::Interrupted, Ending::Failed, Ending::Finished];
    for ending in endings {
        let run = runs.begin("title", &json!(null)).expect("begins");
        run.state(b"s").expect("kept");
        run.end(ending, &json!({"return": 1})).expect("ends");
        let kept = runs.read(run.id()).expect("there is one");
        assert_eq!((kept.status, kept.step), (Status::from(ending), Some(json!({"return": 1}))));
        assert_eq!(kept.state.is_some(), ending != Ending::Finished, "who is finished needs no state");
    }
    let open = runs.begin("open", &json!(null)).expect("begins");
    let listed = runs.list().expect("a list");
    let mut states: Vec<&str> = listed.iter().map(|run| run.status.name()).collect();
    states.sort_unstable();
    assert_eq!(states, ["failed", "finished", "interrupted", "open"]);
    runs.remove(open.id()).expect("removed");
    assert!(matches!(runs.remove(open.id()), Err(RunError::Missing { .. })));
    assert_eq!(runs.list().expect("a list").len(), 3);
    // A run that goes on after it was stopped is open again.
    let stopped = listed.iter().find(|run| run.status == Status::Interrupted).expect("one");
    let (_, kept) = runs.go_on(&stopped.id).expect("there is one");
    assert_eq!(kept.status, Status::Interrupted);
    assert_eq!(runs.read(&stopped.id).expect("there is one").status, Status::Open);
}

fn found(runs: &Runs) {
    let ids: Vec<String> =
        (0..40).map(|_| runs.begin("x", &json!(null)).expect("begins").id().to_owned()).collect();
    assert_eq!(runs.find(&ids[7]).expect("one").id, ids[7]);
    assert!(runs.find(&ids[7][..9]).is_ok());
    assert!(matches!(runs.find(""), Err(RunError::Ambiguous { .. })));
    assert!(matches!(runs.find("1"), Err(RunError::Missing { .. })), "no id has a 1");
    let error = runs.find("no such run").expect_err("none").to_string();
    assert!(error.contains("`no such run`") && error.contains("ptc runs"), "{error}");
}

fn kept_exactly(runs: &Runs) {
    let large = vec![0xa5_u8; 3 << 20];
    let run = runs.begin("x\u{0301} 'quoted' ?1", &json!({"text": "\u{1f600} \\ \" ?2"})).expect("begins");
    run.state(&large).expect("kept");
    run.answers(&[answer(u64::MAX / 4, &large), answer(0, b"")]).expect("kept");
    let kept = runs.read(run.id()).expect("there is one");
    assert_eq!(kept.state.as_deref(), Some(large.as_slice()));
    assert_eq!(kept.answers[0].ask, u64::MAX / 4);
    assert_eq!((&kept.answers[0].bytes, kept.answers[1].bytes.len()), (&large, 0));
    assert_eq!(kept.origin, json!({"text": "\u{1f600} \\ \" ?2"}));
    assert_eq!(runs.list().expect("a list")[0].title, "x\u{0301} 'quoted' ?1");
}
