//! What a program calls was in its manifest: over random programs that hide calls behind names, functions,
//! closures, data, sequences and the exports of a prelude, whatever reaches an upstream is among the tools that were foreseen.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use ptc_host::{Bounds, drive};
use ptc_lisp::machine::Machine;
use ptc_lisp::prelude::Prelude;
use ptc_upstream::effects::{Policy, plan};
use ptc_upstream::{Caps, RunContext, Runtime};
use serde_json::{Value as Json, json};

use crate::fixture::{Fixture, start, structured};

const SERVERS: [&str; 2] = ["a", "b"];
const TOOLS: [&str; 3] = ["read_one", "read_two", "write_it"];

/// Functions that programs find in a prelude.
const PRELUDE: &str = "(ns lib)
(defn one [x] (tool/call {:server \"a\" :tool \"read_one\" :args {:x x}}))
(defn- hidden [] (tool/call 'b/write_it {}))
(defn two [] (hidden))
(defn any [tool] (tool/call {:server \"b\" :tool tool}))
(defn handed [f] (f tool/call))";

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
        2 => Just("(lib/one data/n)".to_owned()),
        1 => Just("(map lib/one [1 2])".to_owned()),
        1 => Just("(lib/two)".to_owned()),
        1 => Just("(let [f lib/two] (f))".to_owned()),
        1 => name(&TOOLS).prop_map(|tool| format!("(lib/any {tool})")),
        1 => target().prop_map(|target| format!("(lib/handed (fn [f] (f {target})))")),
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

/// A machine with the prelude and inputs.
fn machine(prelude: &Arc<Prelude>) -> Machine {
    let mut machine = Machine::new(ptc_lisp::Limits::default());
    machine.attach(prelude).expect("nothing is there before it");
    machine.set_tools(["call".to_owned()]);
    machine.set_discovery(true);
    machine.set_data(&data()).expect("inputs");
    machine
}

/// Two upstreams, and what of them is called.
struct World {
    tokio: tokio::runtime::Runtime,
    runtime: Arc<Runtime>,
    seen: Seen,
    prelude: Arc<Prelude>,
}

impl World {
    fn new() -> World {
        let tokio = tokio::runtime::Runtime::new().expect("a runtime");
        let seen = Seen::default();
        let (a, b) = (upstream("a", &seen), upstream("b", &seen));
        let runtime = tokio.block_on(start(&[&a, &b]));
        let prelude = Arc::new(Prelude::compile_text(PRELUDE).expect("a prelude"));
        World { tokio, runtime, seen, prelude }
    }

    fn context(&self, policy: Policy) -> RunContext {
        self.runtime.context(Caps { calls: 200, ..Caps::default() }, policy)
    }

    /// Runs a program; the tools that it called. It may fail, for a tool that no server has for instance.
    fn run(&self, machine: &mut Machine, source: &str, context: &RunContext) -> BTreeSet<String> {
        self.seen.lock().expect("no panics").clear();
        let _inside = self.tokio.enter();
        let _ = drive(machine, source, &context.tools(), &Bounds::default());
        self.seen.lock().expect("no panics").clone()
    }
}

fn runner(cases: u32) -> proptest::test_runner::TestRunner {
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    proptest::test_runner::TestRunner::new(config)
}

#[test]
fn tools_that_are_called_were_foreseen() {
    let world = World::new();
    let counts = Mutex::new((0usize, 0usize));
    let result = runner(300).run(&program(), |source| {
        let mut machine = machine(&world.prelude);
        let manifest = machine.check(&source).unwrap_or_else(|error| panic!("{source}\n{error}"));
        let planned = plan(&manifest, &world.runtime.catalog(), &Policy::open());
        let foreseen: BTreeSet<String> =
            planned.into_iter().flat_map(|each| each.reaches).map(|(tool, _)| tool).collect();
        let called = world.run(&mut machine, &source, &world.context(Policy::open()));
        prop_assert!(called.is_subset(&foreseen), "{source}\ncalled {called:?}\nforeseen {foreseen:?}");
        let mut counts = counts.lock().expect("no panics");
        counts.0 += usize::from(!called.is_empty());
        counts.1 += usize::from(foreseen.len() < 6);
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    let (calling, narrow) = *counts.lock().expect("no panics");
    assert!(calling > 150, "most programs call something, else this shows nothing: {calling}");
    assert!(narrow > 20, "manifests that name everything would be sound and useless: {narrow}");
}

#[test]
fn read_only_programs_never_write() {
    let world = World::new();
    let admitted = Mutex::new(0usize);
    let result = runner(200).run(&program(), |source| {
        let mut machine = machine(&world.prelude);
        let manifest = machine.check(&source).unwrap_or_else(|error| panic!("{source}\n{error}"));
        let context = world.context(Policy::read_only());
        if context.admit(&manifest).is_err() {
            return Ok(());
        }
        *admitted.lock().expect("no panics") += 1;
        let called = world.run(&mut machine, &source, &context);
        prop_assert!(!called.iter().any(|tool| tool.ends_with("write_it")), "{source}\n{called:?}");
        // The manifest alone was enough: nothing had to be stopped at the last moment.
        let account = context.finish();
        prop_assert!(account.calls.iter().all(|call| call.effect == "read"), "{source}\n{account:?}");
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    let admitted = *admitted.lock().expect("no panics");
    assert!(admitted > 20, "few programs were admitted: {admitted}");
}
