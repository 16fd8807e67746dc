//! A machine between programs, as hosts see it: views, memory, history, journal, inputs, the firewall.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ptc_lisp::machine::{Answer, Function, Machine, ProgramEnd, Step};
use ptc_lisp::view::{Bounds, Glimpse, Part, View};
use ptc_lisp::{Error, ErrorKind, Interrupt, Limits};
use serde_json::json;

/// Runs a program to its end; gives its value, or the message of its error.
fn run(machine: &mut Machine, source: &str) -> String {
    if let Err(error) = machine.load(source) {
        return error.to_string();
    }
    loop {
        match machine.run(1000) {
            Step::Yield => {}
            Step::Done(ProgramEnd::Fail) => return format!("failed with {}", machine.value()),
            Step::Done(_) => return machine.value(),
            Step::Failed(error) => return error.to_string(),
            Step::Calls(calls) => panic!("{source} calls {calls:?}"),
        }
    }
}

fn machine() -> Machine {
    Machine::new(Limits::default())
}

/// The machine after a dump and a load.
fn moved(machine: &Machine) -> Machine {
    let bytes = machine.dump().expect("it can be written");
    Machine::load_dump(&bytes, &Limits::default()).expect("it can be loaded")
}

fn view(source: &str, bounds: &Bounds) -> View {
    let mut machine = machine();
    run(&mut machine, source);
    machine.view_result(bounds)
}

fn text(text: &str) -> View {
    View::Str { text: text.to_owned(), chars: text.chars().count() }
}

#[test]
fn views_keep_the_kinds_of_values() {
    let whole = |items: Vec<View>| Part { total: items.len(), items, open: false };
    let keyword = |name: &str| View::Keyword(name.to_owned());
    let cases = [
        ("nil", View::Nil),
        ("[true 1 1.5 \"a\" :k 'x]", {
            let parts = [View::Bool(true), View::Int(1), View::Float(1.5), text("a"), keyword("k")];
            View::Vector(whole(parts.into_iter().chain([View::Symbol("x".to_owned())]).collect()))
        }),
        ("(* 10000000000N 10000000000N)", View::Big("100000000000000000000".to_owned())),
        ("(map inc [1 2])", View::List(whole(vec![View::Int(2), View::Int(3)]))),
        ("#{:a}", View::Set(whole(vec![keyword("a")]))),
        ("{:a nil}", View::Map { entries: vec![(keyword("a"), View::Nil)], total: 1 }),
        (
            "(java.time.LocalDate/parse \"2026-01-02\")",
            View::Time { text: "2026-01-02".to_owned(), class: "LocalDate" },
        ),
        ("(fn [a b & more] a)", View::Opaque("#fn[%1 %2 & %&]".to_owned())),
        ("(def x 1)", View::Opaque("#'x".to_owned())),
        ("inc", View::Opaque("#<builtin>".to_owned())),
        ("(atom {:n 1})", View::Opaque("#<atom {:n 1}>".to_owned())),
    ];
    for (source, expected) in cases {
        assert_eq!(view(source, &Bounds::default()), expected, "{source}");
    }
}

#[test]
fn views_are_bounded_and_say_how_much_there_is() {
    let bounds = Bounds { items: 2, string_chars: 3, depth: 2, ..Bounds::default() };
    let View::Vector(part) = view("[\"abcdef\" [[1 2 3]] 3 4]", &bounds) else { panic!("a vector") };
    assert_eq!((part.items.len(), part.total), (2, 4));
    assert_eq!(part.items[0], View::Str { text: "abc".to_owned(), chars: 6 });
    let deep = Part { items: Vec::new(), total: 3, open: false };
    assert_eq!(part.items[1], View::Vector(Part { items: vec![View::Vector(deep)], total: 1, open: false }));
    // An endless sequence in a definition is not walked.
    let mut machine = Machine::new(Limits { memory: 1 << 20, ..Limits::default() });
    run(&mut machine, "(def xs (iterate inc 1)) (take 3 xs)");
    let View::List(part) = machine.view_definition("xs", &bounds).expect("it is defined") else {
        panic!("a list")
    };
    assert!(part.open && part.items.len() == 2, "{part:?}");
    // Shared parts make a tree of 2^40 leaves.
    run(&mut machine, "(def tree (reduce (fn [t _] [t t]) 1 (range 40))) nil");
    let wide = Bounds { items: 50, depth: 60, ..Bounds::default() };
    assert!(machine.view_definition("tree", &wide).is_some_and(|view| !view.is_whole()));
    assert!(machine.memory_bytes() > 1 << 20);
}

#[test]
fn sorted_views_choose_entries_by_key() {
    let bounds = Bounds { items: 2, sorted: true, ..Bounds::default() };
    let entries = |view: View| match view {
        View::Map { entries, total } => (entries, total),
        other => panic!("a map, not {other:?}"),
    };
    let keyword = |name: &str| View::Keyword(name.to_owned());
    let expected = (vec![(keyword("a"), View::Int(2)), (keyword("b"), View::Int(3))], 3);
    assert_eq!(entries(view("{:c 1 :a 2 :b 3}", &bounds)), expected);
    assert_eq!(entries(View::of_json(&json!({"c": 1, "a": 2, "b": 3}), &bounds)), expected);
}

#[test]
fn the_firewall_hides_what_stands_under_names_with_an_underscore() {
    let hidden = View::Map { entries: vec![(View::Keyword("_ssn".to_owned()), View::Hidden)], total: 1 };
    let bounds = Bounds::default();
    assert_eq!(view("{:_ssn \"123\"}", &bounds), hidden);
    assert_eq!(View::of_json(&json!({"_ssn": "123"}), &bounds), hidden);
    let open = Bounds { firewall: false, ..bounds.clone() };
    let shown = View::Map { entries: vec![(View::Keyword("_ssn".to_owned()), text("123"))], total: 1 };
    assert_eq!(view("{:_ssn \"123\"}", &open), shown);
    assert_eq!(View::of_json(&json!({"_ssn": "123"}), &open), shown);
    let mut machine = machine();
    machine.set_data(&json!({"_key": "123", "n": 1})).expect("data");
    run(&mut machine, "(def _tmp \"123\") (def box (atom {\"_ssn\" \"123\"}))");
    assert_eq!(machine.view_data("_key", &bounds), Some(View::Hidden));
    assert_eq!(machine.view_data("n", &bounds), Some(View::Int(1)));
    assert_eq!(machine.view_data("missing", &bounds), None);
    assert_eq!(machine.view_definition("_tmp", &bounds), Some(View::Hidden));
    let text = View::Opaque("#<atom {\"_ssn\" <Firewalled>}>".to_owned());
    assert_eq!(machine.view_definition("box", &bounds), Some(text));
    assert_eq!(machine.data_names(), ["_key", "n"]);
}

#[test]
fn printed_lines_leave_out_what_is_behind_the_firewall() {
    let cases = [
        ("(println {:a 1 :_b \"123\"} [{\"_c\" \"123\"}])", "{:a 1, :_b <Firewalled>} [{_c <Firewalled>}]"),
        ("(prn (sorted-map :_b \"123\"))", "{:_b <Firewalled>}"),
        ("(print {:_b {:c \"123\"}})", "{:_b <Firewalled>}"),
        ("(pr {:x/_b \"123\"})", "{:x/_b <Firewalled>}"),
        ("(clojure.pprint/pprint {:_b \"123\" :c 1})", "{:_b <Firewalled>, :c 1}"),
        // Text belongs to the program.
        ("(println (pr-str {:_b 1}) (str {:_b 2}) (with-out-str (pr {:_b 3})))", "{:_b 1} {:_b 2} {:_b 3}"),
    ];
    let mut machine = machine();
    machine.set_firewall(true);
    for (source, line) in cases {
        machine = moved(&machine);
        run(&mut machine, source);
        assert_eq!(machine.prints().join("\n"), line, "{source}");
    }
    let long = "(clojure.pprint/pprint {:_b (vec (range 80)) :c (vec (range 40))})";
    run(&mut machine, long);
    assert!(
        machine.prints().join("\n").starts_with("{:_b <Firewalled>,\n :c\n [0"),
        "{:?}",
        machine.prints()
    );
    machine.set_firewall(false);
    run(&mut machine, "(println {:_b 1})");
    assert_eq!(machine.prints(), ["{:_b 1}"]);
}

#[test]
fn glimpses_have_the_end_and_the_size() {
    let bounds = Bounds { items: 2, tail: 2, ..Bounds::default() };
    let mut machine = machine();
    run(&mut machine, "(vec (range 100 110))");
    let glimpse = machine.glimpse_result(&bounds);
    assert_eq!((glimpse.tail, glimpse.bytes), (vec![View::Int(108), View::Int(109)], 41));
    let glimpse = Glimpse::of_json(&json!([1, 2, 3]), &bounds);
    assert_eq!((glimpse.tail, glimpse.bytes), (vec![View::Int(3)], 7));
}

#[test]
fn changed_names_are_those_the_program_defined_or_changed() {
    let mut machine = machine();
    // Programs one after the other, with what each changes.
    let programs: [(&str, &[&str]); 9] = [
        ("(def b 1) (defn a [x] x) (def state (atom 0))", &["a", "b", "state"]),
        ("(+ b 1)", &[]),
        ("(def b 1)", &["b"]),
        ("(swap! state inc)", &["state"]),
        ("(def ^:dynamic *d* 1)", &["*d*"]),
        ("(binding [*d* 2] *d*)", &[]),
        ("(def b 2) (/ 1 0)", &[]),
        ("(def b 2) (fail :no)", &[]),
        ("(def c 3) (return 1)", &["c"]),
    ];
    for (source, names) in programs {
        run(&mut machine, source);
        assert_eq!(machine.changed(), names, "{source}");
    }
}

#[test]
fn a_program_that_ended_well_can_be_taken_back() {
    let mut machine = machine();
    machine.set_takes_back(true);
    machine.set_overlay(true);
    run(&mut machine, "(def n 1) (def state (atom [1])) {:seen 1}");
    let program = "(def n 2) (def m 3) (swap! state conj 2) {:seen 2}";
    run(&mut machine, program);
    assert!(machine.take_back());
    assert_eq!(machine.definitions(), ["n", "state"]);
    assert_eq!(run(&mut machine, "[n @state *1 ctx/seen]"), "[1 [1] {:seen 1} 1]");
    assert!(machine.changed().is_empty());
    // Once, and not after the next program was loaded or one that failed.
    run(&mut machine, program);
    machine.load("n").expect("it compiles");
    assert!(!machine.take_back());
    run(&mut machine, program);
    assert!(machine.take_back() && !machine.take_back());
    run(&mut machine, "(def n 5) (/ 1 0)");
    assert!(!machine.take_back());
    assert_eq!(run(&mut machine, "n"), "2");
}

#[test]
fn garbage_of_earlier_programs_leaves_all_memory_to_later_ones() {
    for source in [
        "(do (reduce (fn [a _] (atom a)) nil (range 100000)) nil)",
        "(do (reduce (fn [a _] (delay a)) nil (range 100000)) nil)",
        "(do (reduce (fn [a _] (object-array [a])) nil (range 100000)) nil)",
        "(do (atom (vec (range 1200000))) nil)",
        "(let [a (atom (vec (range 1200000)))] (swap! a conj a) nil)",
        "(do (def x (atom (vec (range 1000000)))) (def x nil))",
    ] {
        let mut machine = machine();
        for program in 1..=8 {
            let value = run(&mut machine, source);
            assert!(["nil", "#'x"].contains(&value.as_str()), "{source} the {program}th time: {value}");
        }
        assert_eq!(run(&mut machine, "(+ 1 1)"), "2", "{source}");
        assert!(machine.live_bytes() < 1 << 20, "{source}: {}", machine.live_bytes());
    }
}

#[test]
fn a_failing_program_leaves_atoms_as_they_were_after_any_census() {
    let mut machine = Machine::new(Limits { memory: 8 << 20, ..Limits::default() });
    run(
        &mut machine,
        "(def a (atom (atom [1]))) (def b (atom @a)) (def held (let [c (atom 7)] (fn [] c))) nil",
    );
    let program = "(let [inner @a c (held)]
                     (reset! inner [2]) (reset! a nil) (reset! b nil) (reset! c 8) (def held nil) (def a nil))
                   (dotimes [_ 50] (vec (range 100000)))
                   (/ 1 0)";
    for _ in 0..2 {
        assert!(run(&mut machine, program).contains("ivide by zero"));
        assert_eq!(run(&mut machine, "[@@a @@b (identical? @a @b) @(held)]"), "[[1] [1] true 7]");
        machine = moved(&machine);
    }
}

#[test]
fn memory_is_measured_as_text() {
    let mut machine = machine();
    assert_eq!(machine.memory_bytes(), 0);
    run(&mut machine, "(def xs [1 \"a\"])");
    assert_eq!(machine.memory_bytes(), "xs".len() + "[1 \"a\"]".len());
    let before = machine.memory_bytes();
    let function = "(defn f \"Doubles.\" [x & more] (* 2 x))";
    run(&mut machine, function);
    assert!(machine.memory_bytes() >= before + function.len());
    assert_eq!(moved(&machine).memory_bytes(), machine.memory_bytes());
}

/// Programs that leave little text behind, and what keeps 100,000 bytes or more out of sight.
const OUT_OF_SIGHT: &[&str] = &[
    "(def x (let [s (apply str (repeat 100000 \"a\"))] (lazy-seq [s])))",
    "(def x (with-meta [1] {:s (apply str (repeat 100000 \"a\"))}))",
    "(def x (with-meta (list 1) {:s (apply str (repeat 100000 \"a\"))}))",
    "(def x [(with-meta {} {:s (apply str (repeat 100000 \"a\"))})])",
    "(def x (with-meta (fn [] 1) {:s (apply str (repeat 100000 \"a\"))}))",
    "(def x (atom 1 :meta {:s (apply str (repeat 100000 \"a\"))}))",
    "(def x (let [s (apply str (repeat 100000 \"a\"))] (atom 1 :validator (fn [_] s))))",
    "(def x (let [s (apply str (repeat 100000 \"a\"))] (doto (atom 1) (add-watch :k (fn [k r o n] s)))))",
    "(def x 1) (let [s (apply str (repeat 100000 \"a\"))] (add-watch #'x :k (fn [k r o n] s)) nil)",
    "(def x 1) (let [s (apply str (repeat 100000 \"a\"))] (alter-meta! #'x assoc :s s) nil)",
    "(def x (ex-info \"no\" {} (ex-info (apply str (repeat 100000 \"a\")) {})))",
    "(def x (repeat (vec (range 10000))))",
    "(def x (cycle (vec (range 10000))))",
    "(def x (subvec (vec (range 10000)) 0 1))",
    "(def x (rest (subvec (vec (range 10000)) 9997 9999)))",
    "(def x (take 1 (vec (range 10000))))",
    "(def x (map inc (vec (range 10000))))",
    "(def x (let [s (apply str (repeat 100000 \"a\"))] (sorted-map-by (fn [a b] (count s) (compare a b)))))",
    "(def x (let [s (apply str (repeat 100000 \"a\"))] (fn [] s)))",
    "(defprotocol P (f [_])) (def x (let [s (apply str (repeat 100000 \"a\"))] (reify P (f [_] s))))",
    "(def x (delay (apply str (repeat 100000 \"a\")))) (force x) nil",
    "(def x (reduce (fn [a i] (atom a)) (vec (range 10000)) (range 1100))) nil",
    "(def x (reduce (fn [a i] (fn [] a)) (vec (range 10000)) (range 1100))) nil",
    "(def x (.iterator (vec (range 10000)))) nil",
    "(def x (reduce (fn [a _] (let [l (lazy-seq a)] (first l) l)) [1] (range 2000))) nil",
    "(let [s (apply str (repeat 100000 \"a\"))] (defprotocol P (f [_])) (extend-type Object P (f [_] s)) nil)",
];

#[test]
fn what_definitions_hold_and_do_not_show_is_measured_too() {
    for source in OUT_OF_SIGHT {
        let mut machine = machine();
        let value = run(&mut machine, source);
        assert!(value.len() < 1000, "{source}: {value}");
        assert!(machine.memory_bytes() > 90_000, "{source}: {}", machine.memory_bytes());
        if source.starts_with("(def x") {
            let sizes = machine.definition_sizes(1 << 20);
            let (_, bytes) = sizes.iter().find(|(name, _)| name == "x").expect("it is defined");
            assert!(*bytes > 90_000, "{source}: {sizes:?}");
            // The end is near, wherever it is.
            assert!(machine.definition_sizes(1 << 10).iter().any(|(_, bytes)| *bytes > 1 << 10), "{source}");
        }
        let moved = moved(&machine);
        assert_eq!(moved.memory_bytes(), machine.memory_bytes(), "{source}");
    }
}

#[test]
fn what_is_shown_is_measured_as_text_however_it_is_built() {
    for (source, text) in [
        ("(vec (range 1000))", "(vec (range 1000))"),
        ("(map inc (range 1000))", "(doall (map inc (range 1000)))"),
        ("(map inc (vec (range 1000)))", "(doall (map inc (vec (range 1000))))"),
        ("(rest (vec (range 1000)))", "(rest (vec (range 1000)))"),
        ("(range 1000)", "(range 1000)"),
        ("(partition 10 (vec (range 1000)))", "(doall (partition 10 (vec (range 1000))))"),
        ("(zipmap (map str (range 1000)) (range))", "(zipmap (map str (range 1000)) (range))"),
        ("{:a 1}", "(reduce (fn [m k] (dissoc (assoc m k 1) k)) {:a 1} [:b :c :d])"),
        ("[{:a \"b\"} {:a \"c\"}]", "(mapv (fn [t] (assoc {} :a t)) [\"b\" \"c\"])"),
        ("(into (sorted-map) {:b 1 :a 2})", "(into (sorted-map) {:b 1 :a 2})"),
        ("#{1 2 3}", "(into #{} [1 2 3])"),
    ] {
        let mut machine = machine();
        run(&mut machine, &format!("(def x {text}) (dorun x)"));
        let shown = run(&mut machine, source);
        // The array of which a tail is shown has an item more.
        let bytes = machine.memory_bytes();
        assert!((1 + shown.len()..=1 + shown.len() + 16).contains(&bytes), "{text}: {bytes} {}", shown.len());
    }
}

#[test]
fn what_is_not_shown_counts_once_for_all_definitions() {
    let mut machine = machine();
    let source = "(def a (let [s (apply str (repeat 100000 \"a\"))] (lazy-seq [s])))";
    run(&mut machine, source);
    let alone = machine.memory_bytes();
    run(&mut machine, "(def b a) (def c (with-meta [] {:a a}))");
    assert!(machine.definition_sizes(1 << 20).iter().all(|(_, bytes)| *bytes > 100_000));
    assert!(machine.memory_bytes() < alone + 1000, "{} {alone}", machine.memory_bytes());
    // What one definition shows is not out of sight for another.
    run(&mut machine, "(def d [(first a)]) (dorun a)");
    assert!(machine.memory_bytes() < 3 * alone + 1000);
}

#[test]
fn earlier_values_keep_nothing_out_of_sight_that_does_not_fit() {
    let mut machine = machine();
    machine.set_history_bytes(Some(65_536));
    for source in OUT_OF_SIGHT.iter().filter_map(|source| source.strip_prefix("(def x ")) {
        let Some(value) = source.split_inclusive(") (").next().and_then(|text| text.strip_suffix(')')) else {
            continue;
        };
        machine.forget_history();
        run(&mut machine, &format!("(do (def kept {value}) kept)"));
        if machine.definitions().contains(&"kept".to_owned()) {
            let whole = machine.live_bytes();
            machine.forget("kept");
            assert!(machine.live_bytes() + 90_000 < whole, "{source}: {} of {whole}", machine.live_bytes());
        }
    }
    run(&mut machine, "(with-meta [1] {:s (apply str (repeat 500000 \"x\"))})");
    assert!(!machine.history_is_whole());
    assert_eq!(run(&mut machine, "[*1 (count (:s (meta *1)))]"), "[[1] 0]");
    run(&mut machine, "(with-meta [1] {:s (apply str (repeat 5000 \"x\"))})");
    assert_eq!(run(&mut machine, "[*1 (count (:s (meta *1)))]"), "[[1] 5000]");
}

#[test]
fn functions_say_what_they_take() {
    let mut machine = machine();
    run(
        &mut machine,
        "(defn f \"Doubles.\" [x & more] (* 2 x)) (defn g ([] 1) ([{:keys [a]} b] a)) (def n 1)",
    );
    let f = Function { params: vec!["[x & more]".to_owned()], doc: Some("Doubles.".to_owned()) };
    assert_eq!(machine.function("f"), Some(f));
    let params = vec!["[]".to_owned(), "[{:keys [a]} b]".to_owned()];
    assert_eq!(machine.function("g"), Some(Function { params, doc: None }));
    assert_eq!(machine.function("n"), None);
    let shown = machine.view_definition("f", &Bounds::default());
    assert_eq!(shown, Some(View::Opaque("#fn[x & more]".to_owned())));
}

#[test]
fn hosts_define_and_read_definitions_as_json() {
    let mut machine = machine();
    machine.define_json("rows", &json!([{"id": 1}])).expect("it is defined");
    assert_eq!(run(&mut machine, "(:id (first rows))"), "1");
    // A failing program does not take away what the host defined.
    run(&mut machine, "(def rows 2) (/ 1 0)");
    assert_eq!(machine.definition_json("rows"), Some(json!([{"id": 1}])));
    assert_eq!(machine.definition_json("other"), None);
}

#[test]
fn earlier_values_are_cut_to_size() {
    let cases = [
        ("\"0123456789abcdefghijklmnopqrstuvwxyz\"", "\"0123456789abcde...\""),
        ("(vec (range 100))", "[0 1 2 3 4 5 6 7 8]"),
        ("[1 2 \"0123456789abcdefghijkl\"]", "[1 2 \"012345678...\"]"),
        ("{:a \"0123456789abcdefghijkl\"}", "{:a \"01234567...\"}"),
        ("(map inc (range 100))", "(1 2 3 4 5 6 7 8 9)"),
        ("12", "12"),
    ];
    let mut machine = machine();
    machine.set_history_bytes(Some(20));
    for (source, kept) in cases {
        let value = run(&mut machine, source);
        assert_eq!(machine.history_is_whole(), value == kept, "{source}");
        machine = moved(&machine);
        assert_eq!(machine.history_is_whole(), value == kept, "{source}");
        assert_eq!(run(&mut machine, "(return *1)"), kept, "{source}");
        assert_eq!(machine.history_is_whole(), value == kept, "a beginning stays one: {source}");
        run(&mut machine, "(count (str *1))");
        assert!(machine.history_is_whole(), "{source}");
    }
    machine.set_history_bytes(None);
    run(&mut machine, "(range 100)");
    assert!(machine.history_is_whole());
    assert_eq!(run(&mut machine, "(count *1)"), "100");
}

#[test]
fn the_journal_survives_a_failing_program_and_summaries_do_not() {
    let mut machine = machine();
    machine.set_journal(&json!({"old": {"n": 1}})).expect("a journal");
    run(&mut machine, "(task \"new\" [(:n (task \"old\" (/ 1 0)))]) (step-done \"1\" \"begun\") (/ 1 0)");
    assert_eq!(machine.journal(), json!({"old": {"n": 1}, "new": [1]}));
    assert!(machine.take_steps().is_empty());
    let mut machine = moved(&machine);
    run(&mut machine, "(step-done \"1\" \"begun\") (task-reset \"old\")");
    assert_eq!(machine.take_steps(), [("1".to_owned(), "begun".to_owned())]);
    assert!(machine.take_steps().is_empty());
    assert_eq!(machine.journal(), json!({"new": [1]}));
}

#[test]
fn inputs_and_budget_come_and_go() {
    let mut machine = machine();
    machine.set_input("fail", &json!({"reason": "timeout"})).expect("an input");
    machine.set_budget(&json!({"turns": 3, "depth": {"max": 2}})).expect("a budget");
    let program =
        "[(:reason data/fail) (:turns (budget/remaining)) (get-in (budget/remaining) [:depth :max])]";
    assert_eq!(run(&mut machine, program), "[\"timeout\" 3 2]");
    assert!(machine.remove_input("fail") && !machine.remove_input("fail"));
    assert_eq!(run(&mut machine, program), "[nil 3 2]");
}

#[test]
fn results_show_through_the_drafts_context_and_nowhere_else() {
    let mut machine = machine();
    machine.set_data(&json!({"n": 1, "k": 2})).expect("data");
    run(&mut machine, "{:n 10 \"total-sum\" 5}");
    assert_eq!(run(&mut machine, "[ctx/n ctx/k data/n ctx/missing]"), "[1 2 1 nil]");
    machine.set_overlay(true);
    run(&mut machine, "{:n 10 \"total-sum\" 5}");
    run(&mut machine, "{:n 20} (/ 1 0)");
    run(&mut machine, "(return {:n 30})");
    run(&mut machine, "[1 2]");
    let mut machine = moved(&machine);
    assert_eq!(run(&mut machine, "[ctx/n ctx/k data/n data/total-sum ctx/total_sum]"), "[10 2 1 nil 5]");
}

/// An interrupt that lets so many questions pass, and how many were asked.
fn interrupt(pass: usize) -> (Interrupt, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let check = move || match count.fetch_add(1, Ordering::Relaxed) < pass {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::Timeout, "the time is up")),
    };
    (Interrupt::new(check), asked)
}

/// A machine that waits for the answer of a tool.
fn waiting() -> (Machine, u64) {
    let mut machine = machine();
    machine.set_tools(["get".to_owned()]);
    machine.load("(count (tool/get {}))").expect("it loads");
    let Step::Calls(calls) = machine.run(1000) else { panic!("it calls") };
    (machine, calls[0].id)
}

#[test]
fn whatever_is_read_can_be_interrupted() {
    let rows: Vec<_> = (0..20_000).map(|n| json!({"id": n, "name": format!("row {n}")})).collect();
    let json = json!({"rows": rows});
    let text = json.to_string();
    type Read = Box<dyn Fn(&mut Machine, u64) -> Result<(), Error>>;
    let (tree, other) = (json.clone(), text.clone());
    let ways: Vec<(&str, Read)> = vec![
        ("set_data", Box::new(|machine, _| machine.set_data(&json!({"rows": vec!["text"; 50_000]})))),
        ("set_data_json", Box::new(move |machine, _| machine.set_data_json(&text))),
        ("set_input", Box::new(move |machine, _| machine.set_input("rows", &tree))),
        ("set_journal", Box::new(|machine, _| machine.set_journal(&json!({"t": vec![1; 50_000]})))),
        ("answer with text", Box::new(move |machine, id| machine.answer(id, Answer::Json(other.clone())))),
        ("answer", Box::new(move |machine, id| machine.answer(id, Answer::Value(json.clone())))),
        ("upstream", Box::new(|machine, id| machine.answer(id, Answer::upstream(json!(vec![1; 50_000]))))),
    ];
    for (way, read) in &ways {
        let (mut machine, id) = waiting();
        let (stops, asked) = interrupt(3);
        machine.set_interrupt(stops);
        let error = read(&mut machine, id).expect_err(way);
        assert_eq!(error.kind, ErrorKind::Timeout, "{way}");
        assert_eq!(asked.load(Ordering::Relaxed), 4, "{way} stops where it was told to");
        let (mut machine, id) = waiting();
        machine.set_interrupt(interrupt(usize::MAX).0);
        read(&mut machine, id).expect(way);
    }
}

#[test]
fn a_program_that_reads_json_can_be_interrupted_and_cannot_catch_that() {
    let program =
        "(try (json/parse-string (str \"[\" (str/join \",\" (range 50000)) \"]\")) (catch Exception e 1))";
    let mut machine = machine();
    machine.set_interrupt(interrupt(2).0);
    assert_eq!(run(&mut machine, program), "timeout: the time is up");
    machine.set_interrupt(Interrupt::default());
    assert!(run(&mut machine, program).starts_with("[0 1 2"));
}

#[test]
fn a_native_that_goes_on_for_long_can_be_interrupted() {
    for program in [
        "(flatten (reduce (fn [a _] [a a]) [] (range 60)))",
        "(sum (range 1000000000))",
        "(avg (range 1000000000))",
        "(= (range 1000000000) (range 1000000000))",
        "(hash (range 1000000000))",
        "(contains? #{[(range 1000000000)]} [(range 1000000000)])",
        "(.hashCode (range 1000000000))",
        "(reduce + (range 100000000))",
        "(reduce * 1.0 (range 100000000))",
        "(reduce (fn [a b] (max a b)) 0 (range 100000000))",
        // A realised sequence that goes on with itself, looked through for one that is not realised.
        "(def d (let [a (atom nil)] (reset! a (lazy-seq (cons 1 @a))) @a)) (nth d 9) (alter-meta! #'d assoc :m d)",
        "(let [a (atom nil)] (reset! a (lazy-seq (cons 1 @a))) (nth @a 9) (group-by identity [@a]))",
        // NaN is unlike any other, so all of them are looked at for each.
        "(into #{} (repeat 20000 ##NaN))",
        "(into #{} (map (fn [i] ##NaN) (range 20000)))",
        "(set (repeat 20000 ##NaN))",
        "(frequencies (repeat 20000 ##NaN))",
        "(distinct (repeat 20000 ##NaN))",
        "(group-by identity (repeat 20000 ##NaN))",
        "(zipmap (repeat 20000 ##NaN) (range 20000))",
        "(apply hash-map (repeat 40000 ##NaN))",
        "(apply merge (map (fn [i] {##NaN i}) (range 20000)))",
        "(clojure.set/union (set (repeat 2000 ##NaN)) (set (repeat 2000 ##NaN)))",
        "(apply array-map (repeat 40000 ##NaN))",
        // Text of parts that are shared is long before it is too long.
        "(str (reduce (fn [a _] [a a]) [] (range 60)))",
        "(pr-str (reduce (fn [a _] {a a}) {} (range 60)))",
        "(format \"%s\" (reduce (fn [a _] [a a]) [] (range 60)))",
        "(str/join (repeat 3 (reduce (fn [a _] [a a]) [] (range 60))))",
        "(println (reduce (fn [a _] [a a]) [] (range 60)))",
        "(clojure.pprint/pprint (reduce (fn [a _] [a a]) [] (range 60)))",
        "(ex-info (reduce (fn [a _] [a a]) [] (range 60)) {})",
        "(.append (StringBuilder.) (reduce (fn [a _] [a a]) [] (range 60)))",
        "(json/generate-string (reduce (fn [a _] [a a]) [] (range 60)))",
        "(let [x (vec (range 1000))] (str (vec (repeat 100000 x))))",
    ] {
        let mut machine = Machine::new(Limits { fuel: 1_000_000_000, ..Limits::default() });
        machine.set_interrupt(interrupt(1).0);
        let ended = run(&mut machine, program);
        assert_eq!(ended, "timeout: the time is up", "{program}");
        assert!(machine.fuel_used() <= 1_000_000_000, "{program}");
    }
}

/// Comparing two keys may take as long as the memory is large, and natives compare many.
#[test]
fn natives_that_compare_long_keys_end_with_the_fuel_and_can_be_interrupted() {
    let one_native = [
        "(count (sort v))",
        "(count (sort compare v))",
        "(count (sort (map vector v)))",
        "(count (sort-by (juxt identity count) v))",
        "(count (into (sorted-set) v))",
        "(count (apply sorted-map (interleave v v)))",
        "(Collections/frequency v s)",
        "(Collections/max v)",
        "(.lastIndexOf v (str (subs s 1) \"b\"))",
        "(let [a (into-array v)] (java.util.Arrays/sort a) (count a))",
    ];
    let many = [
        "(count (keep (sorted-map s 1) v))",
        "(count (filter #{s} v))",
        "(count (frequencies v))",
        "(count (select-keys {s 1} v))",
    ];
    let program = |body: &str| {
        let texts = "text #(apply str (repeat 1000000 \"a\")) s (text) t (text)";
        format!("(let [{texts} v (vec (take 20000 (cycle [s t])))] {body})")
    };
    let limits = |fuel| Limits { fuel, ..Limits::default() };
    for body in one_native.iter().chain(&many) {
        let ended = run(&mut Machine::new(limits(30_000_000)), &program(body));
        assert!(ended.starts_with("fuel_exceeded"), "{body}: {ended}");
    }
    for body in one_native {
        let mut machine = Machine::new(limits(1_000_000_000));
        machine.set_interrupt(interrupt(40).0);
        assert_eq!(run(&mut machine, &program(body)), "timeout: the time is up", "{body}");
    }
}

/// Fuel that is used up while keys are compared ends the search for them, too.
#[test]
fn keys_that_are_unlike_each_other_end_with_the_fuel() {
    for program in
        ["(count (into #{} (repeat 200000 ##NaN)))", "(count (zipmap (repeat 200000 ##NaN) (range)))"]
    {
        let mut machine = Machine::new(Limits { fuel: 1_000_000, ..Limits::default() });
        let ended = run(&mut machine, program);
        assert!(ended.starts_with("fuel_exceeded"), "{program}: {ended}");
    }
}

/// Looking for the name that a text spells reads all of it, and so does finding the float that is nearest to an integer.
#[test]
fn long_texts_and_large_integers_are_paid_for_wherever_they_are_read() {
    let text = "(apply str (repeat 100000 \"a\"))";
    let name = format!("(keyword {text})");
    let number = "(reduce *' (repeat 10000 1000000007))";
    for (made, use_of, least) in [
        (text, "(find-keyword x)", 1_562),
        (text, "(find-keyword x x)", 3_125),
        (text, "(get {:a 1} x)", 1_562),
        (text, "({:a 1} x)", 1_562),
        (&*name, "(get {:a 1} x)", 1_562),
        (number, "(Math/floorMod x 7)", 4_670),
        (number, "(Math/floorMod 7 x)", 4_670),
        (number, "(Math/floorMod x 1000000000000000000000)", 4_670),
        (number, "(Math/pow x 3)", 580),
        (number, "(Math/sqrt x)", 580),
        (number, "(double x)", 580),
        (number, "(+ 1.5 x)", 580),
        ("nil", "char-escape-string", 14),
    ] {
        let cost = |times: u64| {
            let mut machine = Machine::new(Limits { fuel: 1_000_000_000, ..Limits::default() });
            let ended = run(&mut machine, &format!("(let [x {made}] (dotimes [_ {times}] {use_of}))"));
            assert_eq!(ended, "nil", "{use_of}");
            machine.fuel_used()
        };
        let each = (cost(10) - cost(0)) / 10;
        assert!(each >= least, "{use_of}: {each}");
    }
}

/// What is paid for reading a text does not depend on what is found in it.
#[test]
fn searches_in_vain_cost_what_they_read() {
    for search in [
        r#"(re-seq #"(a|b)*c" s)"#,
        r#"(re-find #"(a|b)*c" s)"#,
        r#"(re-matches #"(a|b)*c" s)"#,
        r#"(clojure.string/replace s #"(a|b)*c" "x")"#,
        r#"(re-find #"(?m)^c" s)"#,
        r#"(clojure.string/split s #"(c)$")"#,
    ] {
        for piece in ["ab", "abéé"] {
            let cost = |times: usize| {
                let mut machine = Machine::new(Limits { fuel: 1_000_000_000, ..Limits::default() });
                let text = format!("(apply str (repeat 100000 \"{piece}\"))");
                run(&mut machine, &format!("(let [s {text}] (dotimes [_ {times}] {search}))"));
                machine.fuel_used()
            };
            let each = (cost(11) - cost(1)) / 10;
            assert!(each > 200_000 / 100, "{search} of {piece}: {each} for a search");
        }
    }
}

#[test]
fn what_a_program_holds_while_branches_begin_counts() {
    for branches in ["(pcalls (fn [] #{1 2}) (fn [] 2))", "(pmap identity [1 2])", "(pvalues 1 2 3)"] {
        let mut machine = Machine::new(Limits { fuel: 1_000_000_000, memory: 4 << 20, ..Limits::default() });
        let ended = run(&mut machine, &format!("(loop [k []] (recur (conj k {branches})))"));
        assert!(ended.starts_with("memory_exceeded"), "{branches}: {ended}");
    }
}

#[test]
fn steps_of_a_plan_have_a_number_and_a_size() {
    let mut machine = machine();
    assert_eq!(run(&mut machine, "(dotimes [n 1000] (step-done n \"done\"))"), "nil");
    assert_eq!(machine.take_steps().len(), 1000);
    let many = run(&mut machine, "(dotimes [n 1001] (step-done n \"done\"))");
    assert_eq!(many, "output_exceeded: the program noted more than 1000 steps as done");
    let long =
        run(&mut machine, "(let [s (apply str (repeat 100000 \"x\"))] (dotimes [n 3] (step-done n s)))");
    assert_eq!(long, "output_exceeded: the summaries of steps are more than 262144 bytes");
    assert!(machine.take_steps().is_empty());
}

#[test]
fn code_that_a_session_keeps_counts_as_memory() {
    let mut machine = machine();
    let empty = machine.live_bytes();
    let dead: String = (0..2000).map(|n| format!("(when false (println \"never {n}\" (+ {n} 1)))")).collect();
    run(&mut machine, &format!("(defn small [] 1) {dead}"));
    run(&mut machine, "1");
    let kept = machine.live_bytes() - empty;
    assert!(kept > 2 * dead.len(), "{kept} bytes for a program of {}", dead.len());
}

/// A program that fails gives definitions and atoms their values back, so they are there until it is over.
#[test]
fn values_that_may_be_given_back_count_as_memory() {
    const BIG: &str = "(vec (range 100000))";
    let cases = [
        (format!("(def a (atom {BIG}))"), "(reset! a nil)"),
        (format!("(def a (atom {BIG}))"), "(swap! a empty)"),
        (format!("(def a {BIG})"), "(def a nil)"),
    ];
    for (define, forget) in cases {
        let mut machine = machine();
        machine.set_tools(["get".to_owned()]);
        let empty = machine.live_bytes();
        run(&mut machine, &format!("{define} nil"));
        let big = machine.live_bytes() - empty;
        assert!(big > 400_000, "{define}: {big}");
        machine.load(&format!("{forget} (tool/get {{}})")).expect("it loads");
        let calls = loop {
            match machine.run(1000) {
                Step::Yield => {}
                Step::Calls(calls) => break calls,
                other => panic!("{forget}: {other:?}"),
            }
        };
        let under_way = machine.live_bytes() - empty;
        assert!(under_way >= big, "{forget}: {under_way} bytes of {big}");
        machine.answer(calls[0].id, Answer::Value(json!(1))).expect("it fits");
        assert!(matches!(machine.run(u64::MAX), Step::Done(_)), "{forget}");
        run(&mut machine, "nil");
        let after = machine.live_bytes() - empty;
        assert!(after < big / 2, "{forget}: {after} bytes of {big}");
    }
}

#[test]
fn printed_lines_take_room_even_if_they_are_empty() {
    let exceeded = "output_exceeded: the program printed more than its 1000 bytes";
    for (program, ended) in [
        ("(print (apply str (repeat 1000 \"x\")))", "nil"),
        ("(print (apply str (repeat 1001 \"x\")))", exceeded),
        ("(dotimes [_ 30] (println))", "nil"),
        ("(dotimes [_ 31] (println))", exceeded),
        ("(print (apply str (repeat 30 \"\\n\")))", "nil"),
        ("(print (apply str (repeat 31 \"\\n\")))", exceeded),
    ] {
        let mut machine = Machine::new(Limits { print_bytes: 1000, ..Limits::default() });
        assert_eq!(run(&mut machine, program), ended, "{program}");
    }
}

#[test]
fn every_program_of_a_session_may_print_as_much_as_the_first() {
    let mut machine = Machine::new(Limits { print_bytes: 1000, ..Limits::default() });
    let exceeded = "output_exceeded: the program printed more than its 1000 bytes";
    for (number, (bytes, ended)) in
        [(600, "nil"), (1000, "nil"), (1001, exceeded), (600, "nil")].into_iter().enumerate()
    {
        let program = format!("(print (apply str (repeat {bytes} \"x\")))");
        assert_eq!(run(&mut machine, &program), ended, "program {number} prints {bytes} bytes");
    }
}

/// Groups of a collection are parts of it, not copies: a moving average takes room for its windows, not for what is in
/// them, and whatever is done with a part sees that part only.
#[test]
fn groups_are_parts_of_their_collection() {
    let mut machine = machine();
    let windows = "(apply max (map avg (partition 50 1 (vec (range 500000)))))";
    assert_eq!(run(&mut machine, windows), "499974.5");
    let uses = "[count first last rest next butlast reverse vec set seq hash str pr-str sort empty? not-empty second
                 #(nth % 2) #(nth % 3 :none) #(conj % 9) #(into [] %) #(into % [7]) #(concat % %) #(drop 1 %) #(drop 9 %)
                 #(take 2 %) #(take 9 %) #(reduce + %) #(apply + %) #(map inc %) #(filter odd? %) #(partition 2 1 %)
                 #(split-at 1 %) #(vec (rest %)) #(mapv identity (next %)) #(let [[a & more] %] [a more]) #(zipmap % %)
                 #(reduce conj () %) #(loop [s (seq %) out []] (if s (recur (next s) (conj out (first s))) out))
                 #(with-meta % {:a 1}) #(pop (into clojure.lang.PersistentQueue/EMPTY %)) #(interleave % %) #(subvec (vec %) 1)
                 #(json/generate-string %) #(compare (vec %) [1 2 3]) #(= % '(1 2 3)) #(cons 0 %) #(list* 5 %) #(frequencies %)
                 #(some #{3} %) #(take-last 2 %) #(drop-last 1 %) #(distinct %) #(to-array %) #(vec (to-array %))]";
    let same = format!(
        "(def parts (concat (partition 3 1 [0 1 2 3 4 5]) (partition-all 3 2 [1 2 3 4 5]) (split-at 3 [1 2 3 4 5])
                            [(first (partition 3 (rest [9 1 2 3 4])))]))
         (def v (vec (range 100)))
         (def parts (concat parts [(take 3 [1 2 3 4 5]) (take-last 3 [0 1 2 3]) (butlast [1 2 3 4]) (drop-last 2 [1 2 3 4 5])
                                   (take 40 v) (take-last 40 (butlast v)) (drop-last 30 (rest v)) (take 3 (drop 1 v))
                                   (butlast (drop 60 v))]))
         (for [part parts, f {uses}
               :let [copy (apply list part), ask #(try (pr-str (f %)) (catch Exception e (ex-message e)))]
               :when (not= (ask part) (ask copy))]
           [part (ask part) (ask copy)])"
    );
    assert_eq!(run(&mut machine, &same), "()");
    let kept = "(map (juxt identity count vec) parts)";
    let before = run(&mut machine, kept);
    assert_eq!(run(&mut moved(&machine), kept), before);
}

/// A part of a vector is a view of it: windows cost neither the fuel nor the room of what is in them, a few items do not
/// keep a long vector alive, and a vector that grows while somebody looks at its end is not copied each time.
#[test]
fn parts_of_vectors_copy_only_what_is_cheaper_to_copy() {
    let cost = |program: &str| {
        let mut machine = machine();
        let value = run(&mut machine, program);
        (value, machine.fuel_used(), machine.live_bytes())
    };
    let kept = |part: &str| {
        format!("(def v (vec (range 20000))) (def parts (mapv #({part} % v) (range 20000))) (count parts)")
    };
    let grow = "(loop [i 0 v [] sum 0]
                  (if (< i 20000)
                    (let [sum (+ sum (reduce + (take-last 50 v)))] (recur (inc i) (conj v i) sum))
                    sum))";
    let windows =
        "(def v (vec (range 20000))) (apply + (mapv #(reduce + (take 10 (drop % v))) (range (count v))))";
    let few = "(def v (vec (range 100000))) (def top (take 5 v)) (def v nil) (count top)";
    for (program, value, most_fuel, most_bytes) in [
        (windows.to_owned(), "1999899880", 1_500_000, 2 << 20),
        // Hundreds of millions of items, all within reach at once.
        (kept("take"), "20000", 1_500_000, 8 << 20),
        (kept("take-last"), "20000", 1_500_000, 8 << 20),
        (kept("drop-last"), "20000", 1_500_000, 8 << 20),
        ("(def top (take 100 (vec (range 500000)))) (count top)".to_owned(), "100", 2_000_000, 64 << 10),
        (few.to_owned(), "5", 1_000_000, 64 << 10),
        (grow.to_owned(), "9974022100", 5_000_000, 1 << 20),
    ] {
        let (got, fuel, bytes) = cost(&program);
        assert_eq!(got, value, "{program}");
        assert!(fuel <= most_fuel, "{program} takes {fuel} units of fuel");
        assert!(bytes <= most_bytes, "{program} keeps {bytes} bytes");
    }
}
