//! The journal of effects. Each rule holds in memory, in a file and on a server alike; and processes that begin the
//! same calls at once, of which some are killed, never both send one.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use ptc_store::Store;
use ptc_store::effects::{
    Became, Begun, EffectError, Effects, Finding, Holder, NewEffect, Open, Seen, WasFound,
};
use ptc_store::requests::{Began, NewRequest, Reply, Requests};
use ptc_store::runs::Runs;
use ptc_store::tickets::{NewTicket, SCOPE, TicketQuota, Tickets};
use serde_json::{Value as Json, json};

use crate::postgres::Server;
use crate::support::{Folder, Rule, everywhere};

const RULES: &[Rule] = &[
    ("a call is begun once, and its answer is for all", once),
    ("calls without an answer are gaps", gaps),
    ("a gap is settled by what a person found", settled),
    ("what is over is forgotten, gaps are not", forgotten),
    ("calls of a request are begun by who holds it, with what the program was told", held),
    ("nothing is forgotten that whoever takes a request or a ticket over needs", needed),
    ("of many threads that begin a call one sends it", raced),
    ("what became of the calls of a scope is told, and how many have no answer", looked),
    ("a call is under way from its row on, until its process says otherwise or is gone", under_way),
];

#[test]
fn effects_are_kept_in_every_place() {
    everywhere("effects", RULES);
}

fn begin(effects: &Effects, scope: &str, identity: &str) -> Begun {
    let args = json!({"to": "ann", "n": 1});
    let call = NewEffect { identity, server: "mail", tool: "send", args: &args };
    effects.begin(scope, &call).expect("journalled")
}

fn once(store: &Arc<Store>) {
    let effects = Effects::new(store.clone());
    assert_eq!(begin(&effects, "run 1", "a"), Begun::Fresh);
    assert_eq!(begin(&effects, "run 1", "a"), Begun::Unknown);
    effects.done("run 1", "a", &json!({"sent": true})).expect("kept");
    assert_eq!(begin(&effects, "run 1", "a"), Begun::Done(json!({"sent": true})));
    effects.done("run 1", "a", &json!("late")).expect("the first answer stays");
    assert_eq!(begin(&effects, "run 1", "a"), Begun::Done(json!({"sent": true})));
    assert_eq!(begin(&effects, "run 1", "b"), Begun::Fresh, "another call");
    assert_eq!(begin(&effects, "run 2", "a"), Begun::Fresh, "another scope");
    let missing = EffectError::Missing { scope: "run 3".to_owned(), identity: "a".to_owned() };
    assert_eq!(effects.done("run 3", "a", &Json::Null), Err(missing));
}

fn looked(store: &Arc<Store>) {
    let effects = Effects::new(store.clone());
    for identity in ["a", "b", "c", "d", "e"] {
        assert_eq!(begin(&effects, "run 1", identity), Begun::Fresh);
    }
    begin(&effects, "run 2", "a");
    effects.done("run 1", "a", &json!(1)).expect("answered");
    effects.settle("run 1", "b", &Finding::Happened(json!(2)), "seen").expect("settled");
    effects.settle("run 1", "c", &Finding::DidNotHappen, "not seen").expect("settled");
    effects.settle("run 1", "d", &Finding::Dismissed, "old").expect("settled");
    let known = effects.of_scope("run 1").expect("a list");
    let told: BTreeMap<&str, (&Became, Option<&str>)> =
        known.iter().map(|call| (call.identity.as_str(), (&call.became, call.note.as_deref()))).collect();
    assert_eq!(told["a"], (&Became::Answered(json!(1)), None));
    assert_eq!(told["b"], (&Became::Answered(json!(2)), Some("seen")));
    assert_eq!(told["c"], (&Became::DidNotHappen, Some("not seen")));
    assert_eq!(told["d"], (&Became::Dismissed, Some("old")));
    assert_eq!(told["e"], (&Became::Unknown, None));
    let args = json!({});
    let request = NewEffect { identity: "request", server: "", tool: "", args: &args };
    effects.begin("run 2", &request).expect("what is no call of a server does not count");
    let open = effects.open().expect("a list");
    let oldest = effects.gaps(None).expect("a list")[0].begun_ms;
    let (server, tool) = ("mail".to_owned(), "send".to_owned());
    assert_eq!(open, [Open { server, tool, calls: 2, oldest_ms: oldest }]);
}

fn under_way(store: &Arc<Store>) {
    const LONG: i64 = 3_600_000;
    let plain = Effects::new(store.clone());
    let made_by = |process: &str, holds_ms| plain.clone().made_by(process, holds_ms);
    let call = |identity: &str| ("run".to_owned(), identity.to_owned());
    let settle = |identity: &str, lives: bool| {
        plain.settle_unless("run", identity, &Finding::DidNotHappen, "looked", |_| lives)
    };
    let makers = || {
        let gaps = plain.gaps(Some("run")).expect("a list");
        gaps.into_iter().map(|gap| (gap.identity, gap.maker)).collect::<BTreeMap<_, _>>()
    };
    let one = made_by("one", LONG);
    for (effects, identity) in [(&one, "a"), (&made_by("two", 0), "b"), (&plain, "c")] {
        assert_eq!(begin(effects, "run", identity), Begun::Fresh);
    }
    let marked = |identity: &str| makers()[identity].clone();
    assert_eq!(marked("a").as_deref(), Some("one"), "from its first moment");
    assert_eq!((marked("b"), marked("c")), (None, None), "nobody says so any more, or at all");
    assert_eq!(settle("a", true), Err(EffectError::UnderWay));
    assert_eq!((settle("b", true), settle("c", true)), (Ok(()), Ok(())));
    // One that says nothing any more may stand still; whoever settles it can look for it.
    assert_eq!(begin(&made_by("still", 0), "run", "d"), Begun::Fresh);
    let silent = plain.gaps(Some("run")).expect("a list").into_iter().find(|gap| gap.identity == "d");
    let silent = silent.expect("it is listed");
    assert_eq!((silent.maker, silent.silent_maker.as_deref()), (None, Some("still")));
    let looked = |makes: bool| {
        plain.settle_unless_made("run", "d", &Finding::DidNotHappen, "looked", |made| {
            assert_eq!((made.process.as_str(), made.lately), ("still", false));
            makes
        })
    };
    assert_eq!((looked(true), looked(false)), (Err(EffectError::UnderWay), Ok(())));
    // What was begun and never sent is taken back, and whoever tries again makes it.
    assert_eq!(begin(&one, "run", "e"), Begun::Fresh);
    one.unsent("run", "e").expect("taken back");
    assert!(!makers().contains_key("e"));
    assert_eq!(begin(&made_by("two", LONG), "run", "e"), Begun::Fresh);
    one.unsent("run", "e").expect("nothing of it is its own");
    assert_eq!(marked("e").as_deref(), Some("two"));
    // Only the process that began a call says more of it.
    made_by("two", LONG).let_go(&[call("a")]).expect("told");
    assert_eq!(marked("a").as_deref(), Some("one"));
    one.let_go(&[call("a")]).expect("told");
    assert_eq!(marked("a"), None);
    one.hold(&[call("a"), call("of another")]).expect("told");
    assert_eq!(marked("a").as_deref(), Some("one"));
    assert_eq!(settle("a", false), Ok(()), "its process is known to be gone");
    // It is made again, by another, and counts as under way at once.
    assert_eq!(begin(&made_by("three", LONG), "run", "a"), Begun::Fresh);
    assert_eq!(settle("a", true), Err(EffectError::UnderWay));
    plain.done("run", "a", &json!(1)).expect("answered");
    assert_eq!((settle("a", true), makers().contains_key("a")), (Ok(()), false), "its answer stays");
}

fn held(store: &Arc<Store>) {
    let (effects, requests) = (Effects::new(store.clone()), Requests::new(store.clone()));
    let request = NewRequest { scope: "k", tool: "eval", digest: b"d" };
    let take = || match requests.begin(&request, 0) {
        Ok(Began::Held { lease, .. }) => lease,
        other => panic!("nobody holds it: {other:?}"),
    };
    let seen = |identity: &str, answer| Seen { identity: identity.to_owned(), answer };
    let begin = |identity, lease: &_, told: &[Seen]| {
        let args = json!({});
        let call = NewEffect { identity, server: "mail", tool: "send", args: &args };
        effects.begin_held("k", &call, Holder::Request(lease), told)
    };
    let first = take();
    let told = [seen("read 1", json!([1])), seen("read 2", json!(null))];
    assert_eq!(begin("a", &first, &told), Ok(Begun::Fresh));
    let second = take();
    let late = [seen("read 3", json!(3))];
    assert_eq!(begin("b", &first, &late), Err(EffectError::Lost), "who was replaced begins nothing");
    assert_eq!(effects.seen("k"), Ok(told.to_vec()), "and keeps nothing");
    let other = [seen("read 1", json!([2])), seen("read 4", json!(4))];
    assert_eq!(begin("a", &second, &other), Ok(Begun::Unknown));
    let all = [told[0].clone(), told[1].clone(), other[1].clone()];
    assert_eq!(effects.seen("k"), Ok(all.to_vec()), "what was told first stays");
    assert_eq!(effects.gaps(None).expect("a list").len(), 1, "what was told is no call");
    requests.give_back(&second).expect("given back");
    assert_eq!(begin("b", &second, &[]), Err(EffectError::Lost), "nor does who gave it back");
    assert_eq!(effects.seen("another"), Ok(vec![]));
    assert_eq!(effects.sweep(0, "plan:"), Ok(0), "whoever takes it up needs it");
    let third = take();
    assert_eq!(begin("b", &third, &told), Ok(Begun::Fresh));
    requests.keep(&Reply { lease: &third, answer: &json!("done") }).expect("kept");
    assert_eq!(effects.seen("k"), Ok(vec![]), "and at once when nobody runs the program again");
}

fn gaps(store: &Arc<Store>) {
    let effects = Effects::new(store.clone());
    assert_eq!(effects.gaps(None), Ok(vec![]));
    for (scope, identity) in [("run 1", "a"), ("run 1", "b"), ("run 2", "a")] {
        begin(&effects, scope, identity);
    }
    effects.done("run 1", "a", &Json::Null).expect("kept");
    let all = effects.gaps(None).expect("a list");
    assert_eq!(all.len(), 2);
    let of_one = effects.gaps(Some("run 1")).expect("a list");
    assert_eq!((of_one.len(), of_one[0].identity.as_str()), (1, "b"));
    assert_eq!(
        (of_one[0].server.as_str(), of_one[0].tool.as_str(), &of_one[0].args),
        ("mail", "send", &json!({"to": "ann", "n": 1}))
    );
    assert!(of_one[0].begun_ms > 0);
}

fn settled(store: &Arc<Store>) {
    let effects = Effects::new(store.clone());
    for identity in ["a", "b", "c", "d"] {
        begin(&effects, "run", identity);
    }
    effects.settle("run", "a", &Finding::Happened(json!("ok")), "in the log of the server").expect("noted");
    effects.settle("run", "b", &Finding::DidNotHappen, "not\0 there").expect("noted");
    effects.settle("run", "c", &Finding::Dismissed, "").expect("noted");
    assert_eq!(begin(&effects, "run", "a"), Begun::Done(json!("ok")));
    assert_eq!(begin(&effects, "run", "b"), Begun::Fresh);
    assert_eq!(begin(&effects, "run", "b"), Begun::Unknown, "once again, and only once");
    assert_eq!(begin(&effects, "run", "c"), Begun::Dismissed, "and never sent");
    let left: Vec<String> = effects.gaps(None).expect("a list").into_iter().map(|gap| gap.identity).collect();
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left.contains(&"b".to_owned()) && left.contains(&"d".to_owned()), "{left:?}");
    effects.done("run", "d", &json!(1)).expect("kept");
    effects.settle("run", "d", &Finding::DidNotHappen, "").expect("an answer is better than a finding");
    assert_eq!(begin(&effects, "run", "d"), Begun::Done(json!(1)));
    assert!(effects.settle("run", "z", &Finding::Dismissed, "").is_err());
    // What people found stays when the call is made again, and is answered.
    let found = || {
        let calls = effects.settled().expect("a list").into_iter();
        calls.map(|call| (call.identity, call.found, call.note.unwrap_or_default())).collect::<BTreeSet<_>>()
    };
    let once = |identity: &str, found, note: &str| (identity.to_owned(), found, note.to_owned());
    let all = BTreeSet::from([
        once("a", WasFound::Answered { bytes: 4 }, "in the log of the server"),
        once("b", WasFound::DidNotHappen, "not there"),
        once("c", WasFound::Dismissed, ""),
    ]);
    assert_eq!(found(), all);
    effects.done("run", "b", &json!(2)).expect("kept");
    assert_eq!(found(), all);
    effects.set_aside("run", "c", "made again").expect("noted");
    assert_eq!(found(), all, "what a run notes itself is no finding");
    assert_eq!(effects.sweep(-1_000, "plan:"), Ok(4));
    assert_eq!(found(), BTreeSet::new(), "and goes when the journal forgets the call");
}

fn forgotten(store: &Arc<Store>) {
    let effects = Effects::new(store.clone());
    for identity in ["a", "b"] {
        begin(&effects, "run", identity);
    }
    begin(&effects, "other", "a");
    effects.done("run", "a", &json!(1)).expect("kept");
    assert_eq!(effects.sweep(60_000, "plan:"), Ok(0), "somebody may retry it");
    let plan = NewEffect { identity: "p", server: "mail", tool: "send", args: &json!({}) };
    effects.begin("plan:1", &plan).expect("it begins");
    effects.done("plan:1", "p", &json!(1)).expect("it ends");
    assert_eq!(effects.sweep(-1_000, "plan:"), Ok(1));
    assert_eq!(effects.has("plan:1"), Ok(true), "a plan may be applied again at any time");
    assert_eq!(effects.sweep(-1_000, "other"), Ok(1));
    assert_eq!(effects.has("plan:1"), Ok(false));
    assert_eq!(effects.gaps(None).expect("a list").len(), 2, "gaps stay");
    effects.forget_scope("run").expect("forgotten");
    assert_eq!(effects.gaps(None).expect("a list").len(), 1);
}

fn needed(store: &Arc<Store>) {
    const LONG: i64 = 3_600_000;
    let (effects, requests) = (Effects::new(store.clone()), Requests::new(store.clone()));
    let request = NewRequest { scope: "k", tool: "eval", digest: b"d" };
    let Ok(Began::Held { lease, .. }) = requests.begin(&request, LONG) else { panic!("it is new") };
    let (tickets, about) = (Tickets::new(store.clone()), json!({}));
    let new = NewTicket {
        id: "t",
        owner: "ann",
        kind: "eval",
        session: None,
        expires_ms: i64::MAX,
        sealed: b"x",
        about: &about,
    };
    tickets.put(&new, TicketQuota { tickets: 1, bytes: 1 << 20 }, None).expect("kept");
    let taken = tickets.take("t", "ann", &json!("approve"), LONG).expect("taken");
    for scope in ["k", format!("{SCOPE}t").as_str()] {
        begin(&effects, scope, "a");
        effects.done(scope, "a", &json!(1)).expect("answered");
    }
    let runs = Runs::new(store.clone());
    let run = runs.begin("x", &json!(null)).expect("begins").id().to_owned();
    begin(&effects, &format!("run:{run}"), "c");
    effects.done(&format!("run:{run}"), "c", &json!(1)).expect("it ends");
    assert_eq!(effects.sweep(-1_000, "plan:"), Ok(0));
    runs.remove(&run).expect("it is forgotten");
    assert_eq!(effects.sweep(-1_000, "plan:"), Ok(1), "nobody goes on with the run");
    requests.keep(&Reply { lease: &lease, answer: &json!("done") }).expect("kept");
    assert_eq!(effects.sweep(-1_000, "plan:"), Ok(1), "the request has its reply");
    tickets.done(&taken.lease, &json!("done"), None).expect("used");
    assert_eq!(effects.sweep(-1_000, "plan:"), Ok(1), "the ticket is used");
}

fn raced(store: &Arc<Store>) {
    let effects = Effects::new(store.clone());
    for round in 0..5 {
        let identity = format!("c{round}");
        let told: Vec<Begun> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..6).map(|_| scope.spawn(|| begin(&effects, "run", &identity))).collect();
            all.into_iter().map(|one| one.join().expect("its answer")).collect()
        });
        assert_eq!(told.iter().filter(|begun| **begun == Begun::Fresh).count(), 1, "{told:?}");
    }
}

/// Where a sender writes; set only for senders.
const PLACE: &str = "PTC_STORE_TEST_SENDER";
/// Calls that every sender wants to send.
const CALLS: usize = 60;

/// Whether this process is a sender; then it has sent.
fn sent() -> bool {
    let Some(place) = std::env::var_os(PLACE) else { return false };
    let store = Arc::new(Store::open(&place.to_string_lossy()).expect("opens"));
    let effects = Effects::new(store);
    for number in 0..CALLS {
        if begin(&effects, "run", &number.to_string()) == Begun::Fresh {
            writeln!(std::io::stdout(), "sent {number}").expect("says so");
            effects.done("run", &number.to_string(), &json!(number)).expect("kept");
        }
    }
    true
}

/// Senders that want the same calls; every other one is killed in their middle.
fn senders(test: &str, place: &str) {
    drop(Store::open(place).expect("opens"));
    let start = || {
        Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", test, "--nocapture", "--test-threads=2"])
            .env(PLACE, place)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a sender")
    };
    let mut all: Vec<Child> = (0..6).map(|_| start()).collect();
    let mut lines: Vec<_> = all
        .iter_mut()
        .map(|child| BufReader::new(child.stdout.take().expect("its output")).lines())
        .collect();
    let mut count = BTreeMap::<usize, usize>::new();
    let mut note = |line: &str| {
        if let Some(number) = line.strip_prefix("sent ") {
            *count.entry(number.parse().expect("a number")).or_default() += 1;
        }
    };
    for (child, lines) in all.iter_mut().zip(&mut lines).step_by(2) {
        while let Some(Ok(line)) = lines.next() {
            note(&line);
            if line.starts_with("sent ") {
                break;
            }
        }
        child.kill().expect("kill -9");
    }
    for lines in &mut lines {
        lines.map_while(Result::ok).for_each(|line| note(&line));
    }
    all.iter_mut().for_each(|child| drop(child.wait()));
    assert!(count.values().all(|times| *times == 1), "sent twice: {count:?}");
    let effects = Effects::new(Arc::new(Store::open(place).expect("opens")));
    let gaps = effects.gaps(Some("run")).expect("a list");
    assert!(gaps.len() <= 3, "at most one of each who was killed: {gaps:?}");
    for number in 0..CALLS {
        let known = begin(&effects, "run", &number.to_string());
        let is_gap = gaps.iter().any(|gap| gap.identity == number.to_string());
        let expected = if is_gap { Begun::Unknown } else { Begun::Done(json!(number)) };
        assert_eq!(known, expected, "call {number}");
        assert!(is_gap || count.contains_key(&number), "call {number} was never sent");
    }
}

#[test]
fn killed_senders_send_nothing_twice_with_a_file() {
    if sent() {
        return;
    }
    let folder = Folder::new("senders");
    senders("effects::killed_senders_send_nothing_twice_with_a_file", &folder.place("store.db"));
}

#[test]
fn killed_senders_send_nothing_twice_with_a_server() {
    if sent() {
        return;
    }
    let Some(server) = Server::start("senders") else { return };
    senders("effects::killed_senders_send_nothing_twice_with_a_server", &server.place("shared"));
}
