//! Values that share their parts, hold themselves or nest without end, and every way in which a program uses a value
//! or a host looks at one. Whatever comes of it, it comes soon, takes little memory, and the process lives on.

use ptc_lisp::machine::{Machine, Step};
use ptc_lisp::view::{Bounds, View};
use ptc_lisp::{Error, ErrorKind, Limits};

/// Values by name.
const VALUES: &[(&str, &str)] = &[
    ("array in itself", "(let [a (object-array 1)] (aset a 0 a) a)"),
    ("array in itself through a map", "(let [a (object-array 1)] (aset a 0 {:a [a]}) a)"),
    (
        "arrays in one another",
        "(let [a (object-array 1) b (object-array 1)] (aset a 0 b) (aset b 0 a) [a b])",
    ),
    ("array of shared parts", "(object-array (reduce (fn [a _] [a a]) [] (range 60)))"),
    ("arrays of shared arrays", "(reduce (fn [a _] (object-array [a a])) 1 (range 60))"),
    ("nested arrays", "(reduce (fn [a _] (object-array [a])) 1 (range 2000))"),
    ("shared parts", "(reduce (fn [a _] [a a]) [] (range 60))"),
    ("shared parts of maps", "(reduce (fn [a _] {:a a :b a}) 1 (range 60))"),
    ("shared parts of lists", "(reduce (fn [a _] (list a a)) 1 (range 60))"),
    ("shared parts of sets", "(reduce (fn [a _] #{a [a]}) 1 (range 60))"),
    ("shared parts of sorted maps", "(reduce (fn [a _] (sorted-map 1 a 2 a)) 1 (range 60))"),
    ("shared parts as a key", "{(reduce (fn [a _] [a a]) [] (range 60)) 1}"),
    ("shared parts in metadata", "(with-meta [1] {:t (reduce (fn [a _] [a a]) [] (range 60))})"),
    ("shared parts in an exception", "(ex-info \"x\" {:t (reduce (fn [a _] [a a]) [] (range 60))})"),
    ("exceptions that cause exceptions", "(reduce (fn [e i] (ex-info \"x\" {:e e} e)) nil (range 400))"),
    ("shared parts in an atom", "(atom (reduce (fn [a _] [a a]) [] (range 60)))"),
    ("shared parts in a volatile", "(volatile! (reduce (fn [a _] [a a]) [] (range 60)))"),
    ("shared parts in a delay", "(doto (delay (reduce (fn [a _] [a a]) [] (range 60))) deref)"),
    ("shared parts in a function", "(let [t (reduce (fn [a _] [a a]) [] (range 60))] (fn [] t))"),
    ("shared parts in a lazy sequence", "(map identity [(reduce (fn [a _] [a a]) [] (range 60))])"),
    ("shared parts in a transient", "(transient (reduce (fn [a _] [a a]) [] (range 60)))"),
    ("shared parts in a promise", "(doto (promise) (deliver (reduce (fn [a _] [a a]) [] (range 60))))"),
    ("shared parts in a reduced value", "(reduced (reduce (fn [a _] [a a]) [] (range 60)))"),
    (
        "shared parts in a comparator",
        "(let [t (reduce (fn [a _] [a a]) [] (range 60))] (sorted-map-by (fn [a b] (if t 1 0)) 1 2))",
    ),
    (
        "shared parts in keys of other kinds",
        "(let [t (reduce (fn [a _] [a a]) [] (range 60))] {(reduced [t t]) 1, (transient t) 2, (atom t) 3, (ex-info \"x\" {:t t}) 4, (fn [] t) 5, #{t} 6, (list t) 7})",
    ),
    ("shared lazy sequences", "(reduce (fn [a _] (lazy-seq [a a])) [1] (range 60))"),
    ("lazy sequences in an array", "(object-array [(map inc [1 2 3]) (range)])"),
    ("atom in itself", "(let [a (atom nil)] (reset! a [a a]) a)"),
    ("nested atoms", "(reduce (fn [a _] (atom a)) 1 (range 2000))"),
    ("nested functions", "(reduce (fn [f _] (let [a (atom f)] (fn [] a))) nil (range 2000))"),
    (
        "lazy sequences that were realised from outside in",
        "(let [l (reduce (fn [a _] (lazy-seq [a])) [1] (range 2000))] (loop [x l n 0] (if (< n 2000) (recur (first x) (inc n)) l)))",
    ),
    ("records", "(do (defrecord R [a b]) (reduce (fn [a _] (->R a a)) 1 (range 60)))"),
    ("one long text many times", "(vec (repeat 20000 (apply str (repeat 10000 \"\\u0001\"))))"),
    ("one large integer many times", "(vec (repeat 10000 (reduce *' (repeat 100 1000000007))))"),
    ("one atom with many parts many times", "(vec (repeat 20000 (atom (vec (range 10001)))))"),
    ("atoms with one text", "(vec (repeat 20000 (atom (apply str (repeat 10000 \"x\")))))"),
];

/// What a program does with `v`.
const USES: &[&str] = &[
    "v",
    "[v v]",
    "{:a v}",
    "(return v)",
    "(return {:a v})",
    "(fail v)",
    "(def z v)",
    "(do (def z v) 1)",
    "(do (def z (fn [] v)) 1)",
    "(do (println v) 1)",
    "(do (prn [v]) 1)",
    "(count (pr-str v))",
    "(count (str v))",
    "(count (str [v]))",
    "(count (format \"%s %s\" v [v]))",
    "(count (clojure.string/join \",\" [v v]))",
    "(count (with-out-str (clojure.pprint/pprint v)))",
    "(count (json/write-str v))",
    "(count (json/write-str {v 1}))",
    "(count (json/write-str {:a {[v] 1}}))",
    "(count (json/stringify {v v}))",
    "(count (json/generate-string v))",
    "(count (json/generate-string {:a [v]} {:pretty true}))",
    "(count (json/generate-string {v 1}))",
    "(count (cheshire.core/generate-string {v 1}))",
    "(hash v)",
    "(= v v)",
    "(= [v] [[v]])",
    "(compare v v)",
    "(sort [v v])",
    "(sort-by first [[v 1] [v 2]])",
    "(count (distinct [v v [v]]))",
    "(count (set [v v]))",
    "(get {v 1} v)",
    "(count (frequencies [v v]))",
    "(count (group-by identity [v v]))",
    "(throw (ex-info \"no\" {:v v}))",
    "(throw (ex-info (str v) {}))",
    "(try (throw (ex-info \"no\" {:v v})) (catch Exception e (str e)))",
    "(assert (= v 1))",
    "(assert (= v 1) v)",
    "(+ 1 v)",
    "(v 1)",
    "(nth [1] v)",
    "(subs v 1)",
    "(aget v 99)",
    "(keyword (str v))",
    "(clojure.string/replace \"a\" #\"a\" (fn [_] (str v)))",
    "(atom v)",
    "(fn [] v)",
    "(reduced v)",
    "(with-meta [1] {:v v})",
    "(pmap identity [v v])",
    "(count (flatten [v]))",
    "(clojure.walk/postwalk identity [v])",
    "(merge-with vector {:a v} {:a v})",
    "(describe v)",
    "(task \"t\" v)",
    "(do (task \"t\" v) (task \"u\" [v]) 1)",
    "(do (step-done \"a\" (str v)) 1)",
    "(tool/t {:a v})",
    "(tool/t {v 1})",
    "(tool/t :a [v] :b v)",
    "(tool/call {:server \"s\" :tool \"t\" :args {:a v}})",
    "(tool/call v)",
];

/// Uses that leave the value where a host can see it.
const SEEN: &[&str] = &["[v v]", "(do (def z v) 1)", "(atom v)"];

/// The stack of threads that hosts run machines on, unless they ask for more.
const SMALL_STACK: usize = 2 << 20;

/// Loading a dump of a value that nests 1,000 levels takes up to 4 KB for each in a build that is not optimised.
const LOADING_STACK: usize = 6 << 20;

/// How much more memory the process may take than it had, whatever runs.
const MOST_MEMORY: usize = 64 << 20;

fn limits() -> Limits {
    Limits { fuel: 120_000, memory: 2 << 20, output_bytes: 1 << 18, ..Limits::default() }
}

fn machine() -> Machine {
    let mut machine = Machine::new(limits());
    machine.set_tools(["t".to_owned(), "call".to_owned()]);
    machine.set_history_bytes(Some(4096));
    machine.set_takes_back(true);
    machine
}

/// Runs a program as far as it goes without answers.
fn run(machine: &mut Machine, source: &str) -> Result<(), Error> {
    machine.load(source)?;
    loop {
        match machine.run(50_000) {
            Step::Yield => {}
            Step::Failed(error) => return Err(error),
            Step::Done(_) => return Ok(()),
            Step::Calls(calls) => {
                let bytes: usize = calls.iter().map(|call| call.args.to_string().len()).sum();
                assert!(bytes <= 4 * limits().output_bytes, "{source}: {bytes} bytes of arguments");
                return Ok(());
            }
        }
    }
}

/// Looks at a machine in every way a host can; only if `thorough` in those that count up to megabytes.
fn look(machine: &mut Machine, source: &str, thorough: bool) {
    let bounds = Bounds { sorted: true, tail: 3, ..Bounds::default() };
    let small = |bytes: usize, what: &str| {
        assert!(bytes <= 6 * limits().output_bytes, "{source}: {bytes} bytes of {what}");
    };
    small(machine.value().len(), "text");
    small(machine.value_json().to_string().len(), "JSON");
    let _ = machine.value_without_json();
    let _ = machine.view_result(&bounds);
    for name in machine.definitions() {
        assert!(machine.view_data(&name, &bounds).is_none());
        small(machine.definition_json(&name).map_or(0, |json| json.to_string().len()), "a definition");
    }
    let _ = machine.definition_sizes(1 << 16);
    if thorough {
        let _ = machine.glimpse_result(&bounds);
        let _ = machine.history(&bounds);
        for name in machine.definitions() {
            assert!(machine.glimpse_definition(&name, &bounds).is_some());
        }
        let _ = machine.memory_bytes();
    }
    small(machine.journal().to_string().len(), "the journal");
    let _ = machine.live_bytes();
    if let Ok(bytes) = machine.dump() {
        small(bytes.len() / 20, "a dump");
        on_a_stack(LOADING_STACK, move || {
            Machine::load_dump(&bytes, &limits()).expect("what was written can be read");
        });
    }
}

/// The most memory this process has had.
#[expect(clippy::disallowed_methods, reason = "a test looks at its own process")]
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<usize>().ok()).unwrap_or(0) << 10
}

fn on_a_stack(bytes: usize, work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(bytes).spawn(work).expect("a thread");
    assert!(thread.join().is_ok(), "it panicked");
}

fn use_everywhere(values: &'static [(&str, &str)]) {
    on_a_stack(SMALL_STACK, move || {
        run(&mut machine(), "(pr-str (map inc [1 2 3]))").expect("it runs");
        let before = peak();
        for (number, (name, value)) in values.iter().enumerate() {
            run(&mut machine(), &format!("(let [v {value}] nil)")).expect("the value can be made");
            // Values of a kind take turns; where a host sees one, it sees each.
            let due = |at: usize| number == 0 || (number + at).is_multiple_of(2);
            let uses = USES.iter().enumerate().filter(|(at, usage)| due(*at) || SEEN.contains(usage));
            for (_, usage) in uses {
                let source = format!("(let [v {value}] {usage})");
                let mut machine = machine();
                let end = run(&mut machine, &source);
                assert!(
                    !matches!(&end, Err(error) if error.kind == ErrorKind::Internal),
                    "{source}: {end:?}"
                );
                look(&mut machine, &source, SEEN.contains(usage));
                drop(machine);
                let added = peak().saturating_sub(before);
                assert!(added <= MOST_MEMORY, "{name}, {usage}: {} MB", added >> 20);
            }
        }
    });
}

#[test]
fn arrays_are_used_and_seen_everywhere() {
    use_everywhere(&VALUES[..6]);
}

#[test]
fn shared_parts_are_used_and_seen_everywhere() {
    use_everywhere(&VALUES[6..14]);
}

#[test]
fn values_behind_others_are_used_and_seen_everywhere() {
    use_everywhere(&VALUES[14..27]);
}

#[test]
fn nested_and_long_values_are_used_and_seen_everywhere() {
    use_everywhere(&VALUES[27..]);
}

fn failure(source: &str) -> (ErrorKind, String) {
    failure_within(source, limits().fuel)
}

fn failure_within(source: &str, fuel: u64) -> (ErrorKind, String) {
    let mut machine = Machine::new(Limits { memory: 8 << 20, fuel, ..limits() });
    machine.set_tools(["t".to_owned()]);
    match run(&mut machine, source) {
        Err(error) => (error.kind, error.message),
        Ok(()) => panic!("{source} ended well"),
    }
}

#[test]
fn a_value_that_holds_itself_is_refused_with_the_place() {
    const CIRCLE: &str = "(let [a (object-array 2)] (aset a 1 {:b a}) ";
    let cases = [
        ("a)", "the result holds itself (at x[1].b[1].b[1].b[1].b…)"),
        ("{:x [a]})", "the result holds itself (at x.x[0][1].b[1].b[1].b…)"),
        ("(return a))", "the result holds itself (at x[1].b[1].b[1].b[1].b…)"),
        ("(fail a))", "the result holds itself (at x[1].b[1].b[1].b[1].b…)"),
        ("(tool/t {:q a}))", "what the tools are given holds itself (at x.q[1].b[1].b[1].b[1]…)"),
        ("(task \"t\" a))", "the result of the task holds itself (at x[1].b[1].b[1].b[1].b…)"),
    ];
    for (rest, message) in cases {
        let expected = (ErrorKind::NestingTooDeep, message.to_owned());
        assert_eq!(failure(&format!("{CIRCLE}{rest}")), expected, "{rest}");
    }
    let deep = "(reduce (fn [a _] (object-array [a])) 1 (range 3000))";
    let message = "the result nests deeper than 1000 levels (at x[0][0][0][0][0][0][0][0]…)";
    assert_eq!(failure(deep), (ErrorKind::NestingTooDeep, message.to_owned()));
}

/// Arrays may nest deeper inside of a machine; what leaves it nests no deeper than other values do.
#[test]
fn what_leaves_nests_no_deeper_than_the_limit() {
    let nested = |levels: usize| format!("(reduce (fn [a _] (object-array [a])) 1 (range {levels}))");
    let end = |source: &str| run(&mut Machine::new(Limits::default()), source);
    for (exit, around) in
        [("X", 0), ("[X]", 1), ("{:a {:b X}}", 2), ("(return X)", 0), ("(fail X)", 0), ("(task \"t\" X)", 0)]
    {
        let with = |levels: usize| exit.replace('X', &nested(levels - around));
        assert_eq!(end(&with(1_000)), Ok(()), "{exit}");
        let refused = end(&with(1_001)).expect_err(exit);
        assert!(
            refused.message.contains("nests deeper than 1000 levels (at x"),
            "{exit}: {}",
            refused.message
        );
    }
    let call = |levels: usize| failure_or_call(&format!("(tool/t {{:q {}}})", nested(levels - 1)));
    assert_eq!(call(1_000), None);
    let told = "what the tools are given nests deeper than 1000 levels (at x.q[0][0][0][0][0][0][0]…)";
    assert_eq!(call(1_001).as_deref(), Some(told));
    // What is met again lies deeper there.
    let again = |levels: usize| {
        let wrapped = format!("(reduce (fn [a _] [a]) x (range {levels}))");
        let shared = format!("(let [x [{}]] [(mapv vector (range 5000)) x {wrapped}])", nested(500));
        end(&shared).map_err(|error| error.message)
    };
    assert_eq!(again(498), Ok(()));
    let told = again(499).expect_err("it is one level too many");
    assert_eq!(told, "the result nests deeper than 1000 levels (at x[2][0][0][0][0][0][0][0]…)");
}

/// Why a program ends that calls a tool; nothing if it came to the call.
fn failure_or_call(source: &str) -> Option<String> {
    run(&mut machine(), source).err().map(|error| error.message)
}

#[test]
fn what_is_too_large_is_refused_before_it_is_made() {
    const TOWER: &str = "(reduce (fn [a _] [a a]) [] (range 60))";
    let cases = [
        (format!("(object-array {TOWER})"), ErrorKind::OutputExceeded),
        (format!("(tool/t {{:a {TOWER}}})"), ErrorKind::OutputExceeded),
        (format!("(task \"t\" {TOWER})"), ErrorKind::OutputExceeded),
        (format!("(json/write-str {{{TOWER} 1}})"), ErrorKind::MemoryExceeded),
        (format!("(json/stringify {{{TOWER} 1}})"), ErrorKind::MemoryExceeded),
        (format!("(cheshire.core/generate-string {{{TOWER} 1}})"), ErrorKind::MemoryExceeded),
    ];
    for (source, kind) in cases {
        let (found, message) = failure_within(&source, Limits::default().fuel);
        assert_eq!(found, kind, "{source}: {message}");
    }
}

#[test]
fn results_of_all_tasks_together_have_a_bound() {
    let mut machine = Machine::new(Limits { fuel: 10_000_000, ..limits() });
    let source = "(doseq [i (range 100)] (task (str i) (vec (range 3000))))";
    let error = run(&mut machine, source).expect_err("it is too much");
    assert_eq!(error.kind, ErrorKind::OutputExceeded, "{error:?}");
    let journal = machine.journal();
    let tasks = journal.as_object().expect("an object");
    assert!(
        !tasks.is_empty() && tasks.values().all(|task| task.as_array().is_some_and(|all| all.len() == 3000))
    );
}

#[test]
fn arrays_are_json_arrays() {
    let mut machine = machine();
    run(&mut machine, "(def a (object-array [1 (int-array [2 3]) {:k (to-array [])}])) a").expect("it runs");
    let expected = serde_json::json!([1, [2, 3], {"k": []}]);
    assert_eq!(machine.value_json(), expected);
    assert_eq!(machine.definition_json("a"), Some(expected));
    assert_eq!(machine.value_without_json(), None);
    assert!(matches!(machine.view_result(&Bounds::default()), View::Vector(part) if part.total == 3));
}

#[test]
fn a_definition_that_has_no_json_is_still_seen() {
    let mut machine = machine();
    run(&mut machine, "(let [a (object-array 1)] (aset a 0 a) (def z a) nil)").expect("it runs");
    assert_eq!(machine.definition_json("z"), None);
    assert!(machine.view_definition("z", &Bounds::default()).is_some());
    assert!(machine.memory_bytes() < 1000);
}

#[test]
fn keys_and_cells_of_shared_parts_are_measured_before_they_leave() {
    const TOWER: &str = "(reduce (fn [x _] [x x]) 1 (range 60))";
    for key in [format!("(let [x {TOWER}] (reduced [x x]))"), format!("(ex-info \"x\" {{:x {TOWER}}})")] {
        assert_eq!(failure(&format!("{{{key} 1}}")).0, ErrorKind::OutputExceeded, "{key}");
    }
    let mut machine = machine();
    run(&mut machine, &format!("{{(transient {TOWER}) 1}}")).expect("a cell is shown as text");
    assert_eq!(machine.value(), "{#<transient …> 1}");
    assert!(machine.glimpse_result(&Bounds::default()).bytes > 1 << 20, "its parts are counted all the same");
}

#[test]
fn what_is_made_on_the_way_is_not_taken_for_what_was_there_before() {
    // Entries of a map that is walked as a sequence are made one after the other, and may lie in one place.
    let mut machine = Machine::new(Limits::default());
    let source = "(let [n 20000 a (zipmap (range n) (range n)) b (assoc a (dec n) :other)] \
                  [(= (lazy-seq a) (lazy-seq b)) (= (hash (lazy-seq a)) (hash (lazy-seq b))) \
                   (= (hash (lazy-seq a)) (hash (vec a))) (= (lazy-seq a) (vec a))])";
    run(&mut machine, source).expect("it runs");
    assert_eq!(machine.value(), "[false false true true]");
    let count = "(let [n 20000 a (zipmap (range n) (map str (range n)))] (def l (lazy-seq a)) (count l) (def v (vec a)) 1)";
    run(&mut machine, count).expect("it runs");
    let sizes = machine.definition_sizes(usize::MAX);
    assert_eq!(sizes.len(), 2);
    assert_eq!(sizes[0].1, sizes[1].1, "{sizes:?}");
}

#[test]
fn one_cell_is_looked_through_once_wherever_it_is_shown() {
    let source = "(let [a (atom (vec (range 10001)))] (count (pr-str (vec (repeat 1000 a)))))";
    let mut machine = Machine::new(Limits { fuel: 200_000, ..Limits::default() });
    run(&mut machine, source).expect("it runs");
    assert_eq!(machine.value(), "10001");
    let many = "(let [v (vec (range 10001))] (count (pr-str (mapv (fn [_] (atom v)) (range 1000)))))";
    assert_eq!(run(&mut machine, many).map_err(|error| error.kind), Err(ErrorKind::FuelExceeded));
}

/// Looking for an end that is not there took a worker for ever, whatever the limits.
#[test]
fn a_realised_sequence_that_goes_on_with_itself_is_taken_from_lazily() {
    for (expression, value) in [
        ("(take 3 (map inc ones))", "(2 2 2)"),
        ("(take 3 (filter odd? ones))", "(1 1 1)"),
        ("(take 3 (concat ones ones))", "(1 1 1)"),
        ("(take 2 (partition 2 ones))", "((1 1) (1 1))"),
        ("(take 2 (interleave ones ones))", "(1 1)"),
        ("(nth (map-indexed vector ones) 2)", "[2 1]"),
        ("(second (mapcat list ones))", "1"),
    ] {
        let source = format!(
            "(def ones (let [a (atom nil)] (reset! a (lazy-seq (cons 1 @a))) @a)) (second ones) ((fn [] {expression}))"
        );
        let mut machine = Machine::new(Limits::default());
        run(&mut machine, &source).expect(expression);
        assert_eq!(machine.value(), value, "{expression}");
    }
}

/// Counting up to such a limit would not end.
#[test]
fn a_sequence_that_goes_on_with_itself_is_endless_at_once() {
    let source = "(def ones (let [a (atom nil)] (reset! a (lazy-seq (cons 1 @a))) @a))
                  (def later (let [a (atom nil)] (reset! a (lazy-seq (cons 1 @a))) (concat (range 100) @a)))
                  (def finite (map inc (range 100)))
                  (+ (first ones) (nth later 200) (count finite))";
    let mut machine = Machine::new(Limits { memory: usize::MAX / 4, ..Limits::default() });
    run(&mut machine, source).expect("it runs");
    assert!(machine.memory_bytes() > usize::MAX / 4, "it counts as more than there is");
    let sizes = machine.definition_sizes(usize::MAX / 4);
    let endless: Vec<&str> =
        sizes.iter().filter(|(_, size)| *size > usize::MAX / 4).map(|(name, _)| name.as_str()).collect();
    assert_eq!(endless, ["ones", "later"]);
}
