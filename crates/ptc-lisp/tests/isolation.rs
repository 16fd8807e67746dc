//! Nothing of one machine is reachable from another, on one thread too: not what programs attach to values that
//! machines share, and not by what a program takes.
//!
//! Debug builds stamp every object with its machine and stop at a foreign one, so whatever runs here in two machines
//! at once is held to that as well.

#![expect(clippy::disallowed_methods, reason = "a test reads its cases from files and starts threads")]

#[path = "conformance/cases.rs"]
#[expect(dead_code, reason = "what is expected of a case is asked elsewhere")]
mod cases;
#[path = "../../ptc/tests/adversarial/corpus.rs"]
#[expect(dead_code, reason = "how an attack ends and what it may use is asked elsewhere")]
mod corpus;

use std::path::PathBuf;
use std::sync::Arc;

use ptc_lisp::Limits;
use ptc_lisp::builtins::registry;
use ptc_lisp::machine::{Machine, Step};
use ptc_lisp::prelude::Prelude;
use serde_json::Value as Json;

/// Everything that a prelude can share: constants of all kinds, nested ones, functions with and without constants.
const PRELUDE: &str = r#"
(ns p)
(def row {:a 1 :b 2})
(def tags #{:x :y})
(def words ["one" "two"])
(def deep {:rows [{:k 1} {:k 2}] :sets [#{1}]})
(def digits #"[0-9]+")
(def word #"(a|bc)+[0-9]x?")
(def twice #"([a-z]+) \1")
(defn make [] {:a 1 :b {:c 2}})
(defn members [] #{:m :n})
(defn digits-of [text] (re-seq #"[0-9]+" text))
(defn word-of [text] (re-seq #"(a|bc)+[0-9]x?" text))
(defn twice-of [text] (re-seq #"([a-z]+) \1" text))
"#;

/// What a program did: its value or error, what it printed, and the fuel it used.
#[derive(Debug, PartialEq)]
struct Trace {
    outcome: String,
    prints: Vec<String>,
    fuel: u64,
}

/// A program under way; it runs in small slices, so that others come in between.
struct Under<'m> {
    machine: &'m mut Machine,
    outcome: Option<String>,
}

impl<'m> Under<'m> {
    fn way(machine: &'m mut Machine, source: &str) -> Self {
        let outcome = machine.load(source).err().map(|error| error.to_string());
        Under { machine, outcome }
    }

    /// Goes on for a slice; whether there is more to do.
    fn goes_on(&mut self, slice: u64) -> bool {
        if self.outcome.is_none() {
            self.outcome = match self.machine.run(slice) {
                Step::Yield => None,
                Step::Done(_) => Some(self.machine.value()),
                Step::Failed(error) => Some(error.to_string()),
                Step::Calls(calls) => panic!("nothing here calls {calls:?}"),
            };
        }
        self.outcome.is_none()
    }

    fn trace(self) -> Trace {
        let (prints, fuel) = (self.machine.prints().to_vec(), self.machine.fuel_used());
        Trace { outcome: self.outcome.expect("it is over"), prints, fuel }
    }
}

/// Runs a program to its end.
fn run(machine: &mut Machine, source: &str) -> Trace {
    let mut under = Under::way(machine, source);
    while under.goes_on(u64::MAX) {}
    under.trace()
}

fn machine(prelude: Option<&Arc<Prelude>>) -> Machine {
    let mut machine = Machine::new(Limits::default());
    if let Some(prelude) = prelude {
        machine.attach(prelude).expect("the machine is new");
    }
    machine.set_clock(1_700_000_000_000);
    machine
}

fn prelude() -> Arc<Prelude> {
    Arc::new(Prelude::compile_text(PRELUDE).unwrap_or_else(|problem| panic!("{problem}")))
}

/// Definitions of an owner who leaves a key with a secret wherever it may go: `key` carries a text, a cell and a
/// function in its metadata and equals what anybody writes as `[1 2]`.
const KEY: &str = r#"
(def cell (atom "untouched"))
(def f (fn [x] [:called x @cell]))
(def key (with-meta [1 2] {"text" "SECRET" "cell" cell "f" f}))
"#;

/// Values that all machines have, and what another owner would find there.
const SHARED: &[(&str, &str)] = &[
    // A value of the shared kind as a map: the key goes in after its keys were shared by many.
    ("(make-hierarchy)", "(last (keys (assoc (make-hierarchy) [1 2] 0)))"),
    (
        "(derive (make-hierarchy) :u/a :u/b)",
        "(last (keys (assoc (derive (make-hierarchy) :u/a :u/b) [1 2] 0)))",
    ),
    ("p/row", "(last (keys (assoc p/row [1 2] 0)))"),
    ("(p/make)", "(last (keys (assoc (p/make) [1 2] 0)))"),
    ("(:b (p/make))", "(last (keys (assoc (:b (p/make)) [1 2] 0)))"),
    ("(first (:rows p/deep))", "(last (keys (assoc (first (:rows p/deep)) [1 2] 0)))"),
    ("{:written 1 :alike 2}", "(last (keys (assoc {:written 1 :alike 2} [1 2] 0)))"),
    ("data/row", "(last (keys (assoc data/row [1 2] 0)))"),
];

/// The same for sets.
const SHARED_SETS: &[&str] = &["p/tags", "(p/members)", "(first (:sets p/deep))", "#{:written :alike}"];

/// All places where an owner can leave something, with the program that leaves it and the one that looks there.
fn plants() -> Vec<(String, String)> {
    let mut plants = Vec::new();
    for (value, look) in SHARED {
        let plant = format!(
            "{KEY} (def many (mapv #(assoc {value} (first (keys {value})) %) (range 10)))
             (def kept [(assoc (many 0) key 1) (assoc {value} key 1) (assoc (dissoc (many 1) :none) key 2)])
             (count kept)"
        );
        plants.push((plant, (*look).to_owned()));
        let dissoc =
            format!("(let [m (dissoc {value} (first (keys {value})))] (last (keys (assoc m [1 2] 0))))");
        let plant = format!(
            "{KEY} (def many (mapv (fn [_] (dissoc {value} (first (keys {value})))) (range 10)))
             (def kept (mapv #(assoc % key 1) many)) (count kept)"
        );
        plants.push((plant, dissoc));
    }
    for value in SHARED_SETS {
        let plant = format!(
            "{KEY} (def many (mapv (fn [_] (conj {value} :more)) (range 10)))
             (def kept [(conj (many 0) key) (conj {value} key)]) (count kept)"
        );
        plants.push((plant.clone(), format!("(last (seq (conj {value} [1 2])))")));
        plants.push((plant, format!("(last (seq (conj (conj {value} :more) [1 2])))")));
    }
    for value in
        ["p/row", "p/words", "p/tags", "p/make", "p/deep", "(p/make)", "(make-hierarchy)", "[]", "{}"]
    {
        let plant = format!("{KEY} (def kept (vary-meta {value} assoc :key key)) (some? kept)");
        plants.push((plant, format!("[{value}]")));
        plants.push((plant_meta(value), value.to_owned()));
    }
    plants
}

fn plant_meta(value: &str) -> String {
    format!("{KEY} (def kept (with-meta {value} {{\"text\" key}})) (some? kept)")
}

/// What somebody who looks can do with what is there.
fn probe(found: &str) -> String {
    format!(
        r#"(let [found {found} m (meta found) inner (when (coll? found) (some meta found))]
             (when m (when-let [cell (get m "cell")] (reset! cell "written by another")))
             (when m (when-let [f (get m "f")] (f 1)))
             (pr-str [(vector? found) (seq? found) m inner]))"#
    )
}

#[test]
fn what_one_machine_leaves_on_shared_values_no_other_finds() {
    let prelude = prelude();
    for (plant, found) in plants() {
        let look = probe(&found);
        let expected = alone(&prelude, &look);
        let mut first = with_data(&prelude);
        let planted = run(&mut first, &plant);
        let mut second = with_data(&prelude);
        assert_eq!(run(&mut second, &look), expected, "{plant}\n{look}\nafter {planted:?}");
        assert_eq!(run(&mut first, "@cell").outcome, "\"untouched\"", "{plant}\n{look}");
        // And the other way round, with the owner of the key still there.
        assert_eq!(run(&mut second, &look).outcome, expected.outcome, "{plant}\n{look}");
    }
}

fn with_data(prelude: &Arc<Prelude>) -> Machine {
    let mut machine = machine(Some(prelude));
    machine.set_data(&serde_json::json!({"row": {"id": 1, "name": "n"}})).expect("it fits");
    machine
}

/// What a program does on a thread where nothing else ever ran.
fn alone(prelude: &Arc<Prelude>, source: &str) -> Trace {
    std::thread::scope(|scope| {
        scope.spawn(|| run(&mut with_data(prelude), source)).join().expect("it does not panic")
    })
}

/// The hierarchy that the core library gives to everybody, as it was once used to reach a secret, a cell and a
/// function of another session.
#[test]
fn a_key_that_another_session_added_to_a_hierarchy_stays_there() {
    let (mut first, mut second) = (machine(None), machine(None));
    let planted = format!(
        "{KEY} (def cs (mapv #(assoc (make-hierarchy) :parents %) (range 10)))
         (def m (assoc (cs 0) key 1)) (meta (last (keys m)))"
    );
    assert!(run(&mut first, &planted).outcome.contains("SECRET"));
    let stolen = "(def stolen (meta (last (keys (assoc (make-hierarchy) [1 2] :mine))))) stolen";
    assert_eq!(run(&mut second, stolen).outcome, "nil");
    assert_eq!(run(&mut second, "(last (keys (assoc (make-hierarchy) '(1 2) :mine)))").outcome, "(1 2)");
    assert_eq!(run(&mut first, "@cell").outcome, "\"untouched\"");
}

/// Constants with patterns keep engines and caches; what they count does not depend on who used them before.
#[test]
fn fuel_and_memory_do_not_depend_on_what_others_did_with_shared_patterns() {
    let prelude = prelude();
    let small = Limits { memory: 6 << 20, ..Limits::default() };
    // Searches for the first need no engine; the second has one for long texts and one for whole ones; the third goes back.
    for (pattern, text) in [("digits", "a1b2 "), ("word", "abc1x "), ("twice", "go go ")] {
        let heavy = format!(
            "(let [text (apply str (repeat 20000 \"{text}\"))]
               [(count (p/{pattern}-of text)) (re-find p/{pattern} text) (re-matches p/{pattern} text)])"
        );
        let look = format!(
            "(def mine p/{pattern})
             (let [n (reduce + (map count (p/{pattern}-of (apply str (repeat 10 \"{text}\")))))]
               [n (some? (re-find mine \"{text}\")) (count (vec (range 100000)))])"
        );
        let look_at = |machine: &mut Machine| {
            machine.set_limits(small.clone());
            let trace = run(machine, &look);
            (trace, machine.size_hint(), machine.live_bytes())
        };
        let expected = std::thread::scope(|scope| {
            scope.spawn(|| look_at(&mut machine(Some(&prelude)))).join().expect("it does not panic")
        });
        assert!(expected.0.outcome.ends_with("true 100000]"), "{pattern}: {expected:?}");
        let mut first = machine(Some(&prelude));
        run(&mut first, &heavy);
        assert_eq!(look_at(&mut machine(Some(&prelude))), expected, "{pattern}");
    }
}

fn case_programs() -> Vec<(String, Json)> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/cases"));
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the case folder exists")
        .map(|entry| entry.expect("it can be read").path())
        .collect();
    files.sort();
    let mut programs = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a case file can be read");
        let cases = cases::parse("case", &text).unwrap_or_else(|problem| panic!("{problem}"));
        programs.extend(cases.into_iter().map(|case| (case.src, Json::Object(case.data))));
    }
    programs
}

/// Runs each program in two machines by turns, and expects of both what it does alone.
fn in_turns(programs: impl IntoIterator<Item = (String, Json)>, limits: &Limits, slice: u64) -> usize {
    let furnished = |data: &Json| {
        let mut machine = machine(None);
        machine.set_limits(limits.clone());
        machine.set_data(data).expect("it fits");
        machine
    };
    let mut elder = machine(None);
    let mut count = 0;
    for (source, data) in programs {
        let expected = run(&mut furnished(&data), &source);
        let (mut a, mut b) = (furnished(&data), furnished(&data));
        let (mut first, mut second) = (Under::way(&mut a, &source), Under::way(&mut b, &source));
        while first.goes_on(slice) | second.goes_on(slice + 1) {}
        let (first, second) = (first.trace(), second.trace());
        assert_eq!((&first.outcome, &first.prints), (&expected.outcome, &expected.prints), "{source}");
        assert_eq!(first, second, "{source}");
        // A session that keeps what all of them define; what comes of it is not asked.
        if count % 50 == 0 {
            elder = machine(None);
            elder.set_limits(limits.clone());
        }
        elder.set_data(&data).expect("it fits");
        run(&mut elder, &source);
        count += 1;
    }
    count
}

#[test]
fn cases_run_in_two_machines_by_turns_as_they_do_alone() {
    assert!(in_turns(case_programs(), &Limits::default(), 61) > 1_000);
}

#[test]
fn examples_run_in_two_machines_by_turns_as_they_do_alone() {
    let examples = registry().iter().flat_map(|(_, entry)| entry.examples().to_vec());
    let examples = examples.map(|(source, _)| (source.to_owned(), Json::Null));
    assert!(in_turns(examples, &Limits::default(), 17) > 500);
}

/// With little to use, so that they end soon; values that nest deeply want a stack as workers have it.
#[test]
fn attacks_run_in_two_machines_by_turns_as_they_do_alone() {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/adversarial"));
    let entries = std::fs::read_dir(folder).expect("the corpus is there");
    let names = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"));
    let mut files: Vec<String> = names.filter(|name| name.ends_with(".clj")).collect();
    files.sort();
    let limits = Limits { fuel: 10_000, memory: 2 << 20, ..Limits::default() };
    let run = move || {
        let attacks = files.iter().flat_map(|file| corpus::attacks(file).programs);
        in_turns(attacks.map(|attack| (attack.source, Json::Null)), &limits, 997)
    };
    let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(run).expect("it starts");
    assert!(thread.join().expect("it does not panic") > 300);
}

/// What outlives a machine on its thread can lead from one to the next. Statics cannot hold values, which are not
/// `Sync`; variables of threads can, so each is looked at by a person before it is listed here.
#[test]
fn all_variables_of_threads_are_known_to_lead_nowhere() {
    const KNOWN: &[(&str, &str)] = &[
        // Counts of tests.
        ("ptc-agent/src/written/scan.rs", "BUILT"),
        ("ptc-agent/src/written/scan.rs", "READ"),
        // The precision of decimals, a number, which a machine sets before it runs and takes away behind itself.
        ("ptc-lisp/src/decimal/context.rs", "CURRENT"),
        // Whether a test wants it.
        ("ptc-lisp/src/dump/tests.rs", "LIBRARY_HAS_CHANGED"),
        // Frozen: made from constants alone.
        ("ptc-lisp/src/machine/attached.rs", "SHELVES"),
        ("ptc-lisp/src/machine/library.rs", "LIBRARY"),
        // Code as data, by owner.
        ("ptc-lisp/src/machine/prepared.rs", "LATEST"),
        // What searches work in, found by the pattern that made it: a machine's own, or frozen for one owner.
        ("ptc-lisp/src/regex/linear.rs", "CACHES"),
        // Numbers, and who is asked whether to go on, which a machine sets before it runs.
        ("ptc-lisp/src/value/ledger.rs", "INTERRUPT"),
        ("ptc-lisp/src/value/ledger.rs", "LIMIT"),
        ("ptc-lisp/src/value/ledger.rs", "LOOKS_UP_AT"),
        ("ptc-lisp/src/value/ledger.rs", "USED"),
        // Values that nobody has any more.
        ("ptc-lisp/src/value/seq.rs", "DROP_DEPTH"),
        ("ptc-lisp/src/value/seq.rs", "DROP_QUEUE"),
        // The number of the machine that runs.
        ("ptc-lisp/src/value/stamp.rs", "MAKER"),
        // Text, emptied after each event.
        ("ptc-trace/src/tracer.rs", "PACKED"),
    ];
    let crates = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let (mut folders, mut found) = (vec![crates.clone()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("it can be read") {
            let path = entry.expect("it can be read").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(&crates).expect("it is below").to_string_lossy().into_owned();
            if !name.contains("/src/") || !name.ends_with(".rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("it is text");
            // The names of all statics between `thread_local! {` and the brace that ends it.
            for block in text.split("thread_local! {").skip(1) {
                let end = block.split("\n}").next().unwrap_or(block);
                let end = end.split("\n        }").next().unwrap_or(end);
                for line in end.lines().filter_map(|line| line.split_once("static ")) {
                    let variable = line.1.split(':').next().unwrap_or_default().trim();
                    found.push((name.clone(), variable.to_owned()));
                }
            }
        }
    }
    found.sort();
    let found: Vec<(&str, &str)> = found.iter().map(|(file, name)| (file.as_str(), name.as_str())).collect();
    assert_eq!(found, KNOWN);
}
