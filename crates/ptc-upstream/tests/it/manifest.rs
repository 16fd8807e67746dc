//! What a program calls was in its manifest: over random programs that hide calls behind names, functions,
//! closures, data and sequences, whatever reaches an upstream is among the tools that were foreseen.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use ptc_host::{Pool, Program};
use ptc_lisp::machine::Machine;
use ptc_upstream::effects::{Policy, plan};
use ptc_upstream::{Caps, Runtime};
use serde_json::{Value as Json, json};

use crate::fixture::{Fixture, start, structured};

const SERVERS: [&str; 2] = ["a", "b"];
const TOOLS: [&str; 3] = ["read_one", "read_two", "write_it"];

/// Tools that were called.
type Seen = Arc<Mutex<BTreeSet<String>>>;

fn upstream(name: &'static str, seen: &Seen) -> Fixture {
    let seen = seen.clone();
    Fixture::new(name, &TOOLS.map(|tool| (tool, json!({}))), move |tool, args| {
        seen.lock().expect("no panics").insert(format!("{name}/{tool}"));
        structured(args.clone())
    })
}

/// A literal or computed name.
fn name(names: &'static [&'static str]) -> impl Strategy<Value = String> {
    let literal = prop::sample::select(names);
    prop_oneof![
        20 => literal.clone().prop_map(|name| format!("{name:?}")),
        1 => literal.clone().prop_map(|name| format!("(str {name:?} \"\")")),
        1 => literal.clone().prop_map(|name| format!("(keyword {name:?})")),
        1 => literal.prop_map(|name| format!("(let [n {name:?}] n)")),
        1 => Just(format!("(get data/names {})", names.len() % 2)),
    ]
}

/// The map of a call.
fn target() -> impl Strategy<Value = String> {
    (name(&SERVERS), name(&TOOLS), prop::bool::weighted(0.9)).prop_map(|(server, tool, args)| match args {
        true => format!("{{:server {server} :tool {tool} :args {{:n data/n :k 1}}}}"),
        false => format!("(assoc {{:server {server}}} :tool {tool})"),
    })
}

/// An expression that calls, directly or behind something.
fn expression() -> impl Strategy<Value = String> {
    let symbol = (prop::sample::select(&SERVERS[..]), prop::sample::select(&TOOLS[..]))
        .prop_map(|(server, tool)| format!("(tool/call '{server}/{tool} {{:n 1}})"));
    let leaf = prop_oneof![
        9 => target().prop_map(|target| format!("(tool/call {target})")),
        9 => symbol,
        1 => target().prop_map(|target| format!("(let [f tool/call] (f {target}))")),
        1 => target().prop_map(|target| format!("((comp identity tool/call) {target})")),
        1 => target().prop_map(|target| format!("(apply tool/call [{target}])")),
        1 => target().prop_map(|target| format!("((partial tool/call) {target})")),
        1 => (target(), target()).prop_map(|(one, two)| format!("(pmap tool/call [{one} {two}])")),
        1 => (target(), target()).prop_map(|(one, two)| format!("(pcalls #(tool/call {one}) (fn [] (tool/call {two})))")),
        1 => target().prop_map(|target| format!("((:f {{:f tool/call}}) {target})")),
        1 => target().prop_map(|target| format!("(let [a (atom tool/call)] (@a {target}))")),
        1 => Just("(map tool/call data/calls)".to_owned()),
        1 => Just("(tool/call data/call)".to_owned()),
        6 => Just("(+ 1 data/n)".to_owned()),
    ];
    leaf.prop_recursive(2, 6, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(one, two)| format!("(do {one} {two})")),
            inner.clone().prop_map(|one| format!("(when (pos? data/n) {one})")),
            inner.clone().prop_map(|one| format!("(if (neg? data/n) {one} nil)")),
            inner.clone().prop_map(|one| format!("((fn [x] (if x {one})) data/n)")),
            inner.clone().prop_map(|one| format!("(mapv (fn [_] {one}) (range 2))")),
            inner.clone().prop_map(|one| format!("(loop [i 0] (if (< i 2) (do {one} (recur (inc i))) i))")),
            inner.clone().prop_map(|one| format!("(try {one} (catch Exception e nil))")),
            inner.clone().prop_map(|one| format!("(first (lazy-seq [{one}]))")),
            inner.clone().prop_map(|one| format!("(let [g (fn [] {one}) h (fn [k] (k))] (h g))")),
            inner.prop_map(|one| format!("(reduce (fn [_ _] {one}) nil [1 2])")),
        ]
    })
}

/// A program of definitions that call each other, and of expressions.
fn program() -> impl Strategy<Value = String> {
    let definition = (0..3u8, expression()).prop_map(|(n, body)| format!("(defn f{n} [] {body})"));
    let alias = (0..3u8).prop_map(|n| format!("(def f{n} (fn [] (map (fn [c] (tool/call c)) data/calls)))"));
    let call = prop_oneof![
        2 => expression(),
        1 => (0..3u8).prop_map(|n| format!("(f{n})")),
        1 => (0..3u8).prop_map(|n| format!("(map (fn [g] (g)) [f{n} f{n}])")),
    ];
    let definitions = prop::collection::vec(prop_oneof![9 => definition, 1 => alias], 0..3);
    (definitions, prop::collection::vec(call, 1..3)).prop_map(|(definitions, calls)| {
        // Every name is defined before the expressions, whatever the random ones are.
        let first = "(declare f0 f1 f2) (defn f0 [] nil) (defn f1 [] nil) (defn f2 [] nil)";
        format!("{first}\n{}\n{}", definitions.join("\n"), calls.join("\n"))
    })
}

fn data() -> Json {
    let call = json!({"server": "b", "tool": "read_two"});
    json!({"n": 3, "call": call, "calls": [call, {"server": "a", "tool": "write_it"}], "names": ["a", "read_one"]})
}

/// What was foreseen and what was called.
async fn observe(runtime: &Arc<Runtime>, seen: &Seen, source: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    seen.lock().expect("no panics").clear();
    let context = runtime.context(Caps { calls: 200, ..Caps::default() }, Policy::open());
    let mut machine = Machine::new(ptc_lisp::Limits::default());
    machine.set_tools(["call".to_owned()]);
    machine.set_discovery(true);
    machine.set_data(&data()).expect("inputs");
    let manifest = machine.check(source).unwrap_or_else(|error| panic!("{source}\n{error}"));
    let planned = plan(&manifest, &runtime.catalog(), &Policy::open());
    let foreseen = planned.into_iter().flat_map(|each| each.reaches).map(|(tool, _)| tool).collect();
    let program = context.attach(Program::new(source).data(data()));
    let outcome = Pool::global().run(program).await;
    // Programs may fail, for a name that is a tool of no server for instance; what they called counts all the same.
    drop(outcome);
    let called = seen.lock().expect("no panics").clone();
    (foreseen, called)
}

#[test]
fn tools_that_are_called_were_foreseen() {
    let tokio = tokio::runtime::Runtime::new().expect("a runtime");
    let seen = Seen::default();
    let (a, b) = (upstream("a", &seen), upstream("b", &seen));
    let runtime = tokio.block_on(start(&[&a, &b]));
    let calls = Mutex::new((0usize, 0usize));
    let config = ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let result = runner.run(&program(), |source| {
        let (foreseen, called) = tokio.block_on(observe(&runtime, &seen, &source));
        prop_assert!(called.is_subset(&foreseen), "{source}\ncalled {called:?}\nforeseen {foreseen:?}");
        let mut calls = calls.lock().expect("no panics");
        calls.0 += usize::from(!called.is_empty());
        calls.1 += usize::from(foreseen.len() < 6);
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    let (calling, narrow) = *calls.lock().expect("no panics");
    assert!(calling > 150, "most programs call something, else this shows nothing: {calling}");
    assert!(narrow > 20, "manifests that name everything would be sound and useless: {narrow}");
}

#[test]
fn read_only_programs_never_write() {
    let tokio = tokio::runtime::Runtime::new().expect("a runtime");
    let seen = Seen::default();
    let (a, b) = (upstream("a", &seen), upstream("b", &seen));
    let runtime = tokio.block_on(start(&[&a, &b]));
    let config = ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let result = runner.run(&program(), |source| {
        seen.lock().expect("no panics").clear();
        let context = runtime.context(Caps::default(), Policy::read_only());
        let program = context.attach(Program::new(source.as_str()).data(data()));
        drop(tokio.block_on(async { Pool::global().run(program).await }));
        let called = seen.lock().expect("no panics").clone();
        prop_assert!(!called.iter().any(|tool| tool.ends_with("write_it")), "{source}\n{called:?}");
        let account = context.finish();
        // The manifest alone was enough: nothing had to be stopped at the last moment.
        prop_assert!(account.calls.iter().all(|call| call.effect == "read"), "{source}\n{account:?}");
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}
