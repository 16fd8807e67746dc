//! Chains give what their calls give one by one: every program is run as it is, and with names for what is in
//! between, which nothing fuses.

use serde_json::json;

use crate::builtins::trial::check;
use crate::limits::Limits;
use crate::machine::{Answer, Machine, Step};

/// What a program gives, or its error in all detail with the text of its place.
fn outcome(source: &str, limits: &Limits) -> (String, u64) {
    let mut machine = Machine::new(limits.clone());
    machine.load(source).unwrap_or_else(|error| panic!("{source}: {error}"));
    let shown = loop {
        match machine.run(u64::MAX) {
            Step::Yield => {}
            Step::Done(_) => break machine.value(),
            Step::Failed(error) => {
                let place = error.span.and_then(|span| source.get(span.start as usize..span.end as usize));
                let place = place.unwrap_or_default();
                // A loop calls what the function of the library would call, so either may be the one that fails.
                break format!("{:?} {} {:?} at \"{place}\"", error.kind, error.message, error.hint);
            }
            step => panic!("{source} stops at {step:?}"),
        }
    };
    (shown, machine.fuel_used())
}

/// A chain of calls from the outside to the inside, around a source.
struct Case {
    calls: Vec<String>,
    source: String,
}

/// A call of a function that the compiler does not know.
fn opaque(call: &str) -> String {
    let (head, rest) = call.split_once(' ').unwrap_or((call, ""));
    format!("@(atom {head}) {rest}")
}

impl Case {
    fn fused(&self) -> String {
        let inner =
            self.calls.iter().rev().fold(self.source.clone(), |coll, call| format!("({call} {coll})"));
        format!("(let [rows {ROWS} few {FEW}] {inner})")
    }

    /// The calls one by one. Over a lazy source no call takes an item before the next one asks for it: what fails
    /// there fails in the order of a loop.
    fn apart(&self, lazily: bool) -> String {
        let of = if lazily { format!("(lazy-seq {})", self.source) } else { self.source.clone() };
        let mut source = format!("(let [rows {ROWS} few {FEW} x {of}");
        let (outer, inner) = self.calls.split_first().expect("there is an end");
        for call in inner.iter().rev() {
            source += &format!(" x ({} x)", opaque(call));
        }
        source + &format!("] ({} x))", opaque(outer))
    }

    /// Runs it both ways. The text of a place is cut where it goes on with the collection.
    fn differs(&self) -> Option<String> {
        let shown = |source: String| {
            // Endless sources end soon.
            let (shown, _) = outcome(&source, &Limits { fuel: 1_000_000, ..Limits::default() });
            let Some((error, place)) = shown.split_once(" at ") else { return shown };
            let place =
                self.calls.iter().fold(place.to_owned(), |place, call| place.replace(&opaque(call), call));
            let call = self.calls.iter().find(|call| place.contains(&format!("\"({call} ")));
            format!("{error} at {}", call.map_or(place.as_str(), |call| call))
        };
        // What fails in a lazy sequence fails where that is used, which is a name here.
        let fits = |fused: &str, apart: &str| {
            let used = apart.strip_suffix(" at \"x\"");
            fused == apart || used.is_some_and(|error| fused.split(" at ").next() == Some(error))
        };
        let (fused, apart) = (shown(self.fused()), shown(self.apart(false)));
        let fits = fits(&fused, &apart) || fits(&fused, &shown(self.apart(true)));
        (!fits).then(|| format!("{}\n  gives {fused}\n  not   {apart}", self.fused()))
    }
}

/// Rows with a key that is missing, a key as text, and a row of another shape.
const ROWS: &str = r#"(conj (mapv (fn [n] {:n n :k (mod n 3) :s (str "s" n) :f (* 0.5 n)}) (range 20))
  {:n 7} {"n" 8, :k nil} {:k 1 :n -1 :x 2})"#;
const FEW: &str = "[{:n 1 :k 1} {:n 2}]";

const SOURCES: &[&str] = &[
    "rows",
    "few",
    "[]",
    "nil",
    "(list 1 2 3 nil)",
    "(range 300)",
    "(range 0 -9 -1)",
    "[1 2 :a nil 4 5 6 7 8 9 10]",
    "{:a 1 :b 2}",
    "#{1 2 3}",
    "(sorted-map :b 1 :a 2)",
    "\"text\"",
    "(map inc (iterate inc 1))",
    "(lazy-seq [1 2 3])",
    "[9223372036854775807 1 -9223372036854775808]",
    "[[1 2] [3 4] [1 2]]",
    "^{:m 1} [1 2 3]",
    "5",
];

const STAGES: &[&str] = &[
    "map inc",
    "map :n",
    "map dec",
    "map identity",
    "map (juxt :n :k)",
    "map (fn [x] (:n x))",
    "map (fn [x] [(:k x) x])",
    "map #(vector % 1)",
    "map str",
    "map {1 :one}",
    "mapv first",
    "filter even?",
    "filter :n",
    "filter #(> (:n %) 4)",
    "filter #{1 2 3}",
    "filterv some?",
    "filter (fn [x] (println x) true)",
    "remove nil?",
    "remove #(= 1 (:k %))",
    "keep :k",
    "keep #(when (> % 2) %)",
    "take-while some?",
    "take-while (fn [x] (println x) (< x 3))",
    "map (fn [a b] a)",
    "map 5",
];

const ENDS: &[&str] = &[
    "reduce +",
    "reduce + 0",
    "reduce + 0.5",
    "reduce max",
    "reduce (fn [a x] (+ a (:n x))) 0",
    "reduce (fn [a x] (if (> a 30) (reduced a) (+ a x))) 0",
    "reduce (fn [a b] [a b])",
    "reduce conj []",
    "apply +",
    "apply max",
    "apply str",
    "count",
    "distinct",
    "empty?",
    "every? some?",
    "every? pos?",
    "filter some?",
    "filterv even?",
    "first",
    "frequencies",
    "group-by :k",
    "group-by identity",
    "group-by #(mod % 3)",
    "into []",
    "into [0]",
    "into #{}",
    "into {}",
    "into {:z 1}",
    "into ()",
    "into nil",
    "keep :n",
    "map :n",
    "mapv str",
    "not-any? nil?",
    "not-any? #(> % 3)",
    "remove nil?",
    "second",
    "set",
    "some :n",
    "some #{3}",
    "some #(when (> % 3) %)",
    "take 0",
    "take 2",
    "take 2.5",
    "take :a",
    "take-while #(< % 3)",
    "vec",
];

#[test]
fn every_end_after_every_stage_gives_what_the_calls_give() {
    // Endless sources have no end but those that look at one item.
    let ends =
        |source: &str| if source.contains("iterate") { &["first", "second", "empty?"][..] } else { ENDS };
    let (mut wrong, mut turn) = (Vec::new(), 0);
    for source in SOURCES {
        for end in ends(source) {
            for stage in STAGES {
                // One of five, other ones for each source: all of them take a minute.
                turn += 1;
                if turn % 5 != 0 {
                    continue;
                }
                let calls = vec![(*end).to_owned(), (*stage).to_owned()];
                wrong.extend(Case { calls, source: (*source).to_owned() }.differs());
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn stages_after_stages_give_what_the_calls_give() {
    let chains: &[(&[&str], &str)] = &[
        (&["reduce +", "map inc", "filter even?", "range"], "1000"),
        (&["reduce + 1", "map :n", "filter #(= 1 (:k %))"], "rows"),
        (&["group-by first", "map (juxt :k :n)", "remove (comp nil? :k)"], "rows"),
        (&["group-by first", "map (juxt :k :n)", "remove #(nil? (:k %))"], "rows"),
        (&["count", "keep :x", "filter :n", "map identity"], "rows"),
        (&["vec", "map inc", "map :n", "filter :n"], "rows"),
        (&["vec", "map inc", "map :x"], "rows"),
        (&["some #(when (> % 30) %)", "map inc", "map #(* % %)"], "(range 900)"),
        (&["every? odd?", "map inc", "filter even?"], "(range 700)"),
        (&["first", "filter #(> % 300)", "map inc"], "(range 700)"),
        (&["second", "filter #(> % 300)", "map inc"], "(range 700)"),
        (&["second", "mapv inc", "filter #(> % 300)"], "(range 700)"),
        (&["second", "map #(/ 10 %)", "map dec"], "[3 2 1]"),
        (&["empty?", "filter #(> % 900)", "map inc"], "(range 700)"),
        (&["empty?", "keep :x"], "rows"),
        (&["not-any? #(> % 700)", "map inc", "filter even?"], "(range 700)"),
        (&["not-any? #(> % 30)", "map #(* % %)"], "(range 700)"),
        (&["first", "map #(/ 10 %)", "map dec"], "[2 1]"),
        (&["take 3", "map #(do (println %) %)", "filter odd?", "map inc"], "(range 700)"),
        (&["take 3", "map #(/ 10 %)", "map dec"], "[4 3 2 1]"),
        (&["reduce (fn [a] a)", "map #(do (println %) %)"], "[1 2]"),
        (&["reduce (fn [a b] b)", "map #(do (println %) %)"], "[]"),
        (&["sort-by - ", "map inc", "filter odd?"], "(range 9)"),
        (&["reduce +", "map val", "filter #(> (val %) 1)"], "{:a 1 :b 2 :c 3}"),
        (&["into {}", "map (juxt :n :s)", "filter :s"], "rows"),
    ];
    for (calls, source) in chains {
        let calls = calls.iter().map(|call| (*call).to_owned()).collect();
        assert_eq!(Case { calls, source: (*source).to_owned() }.differs(), None);
    }
}

#[test]
fn functions_with_chains_inside_give_what_calls_give() {
    let sums = |function: &str| {
        format!("(let [groups (group-by #(mod % 12) (range 100))] (nth (map {function} groups) 11))")
    };
    let cases = [
        ("(fn [[k xs]] [k (reduce + (map inc xs)) (count xs)])", "[11 432 8]"),
        ("(fn [[k xs]] {:k k :sum (reduce + xs) :even (filterv even? xs)})", "{:k 11, :sum 424, :even []}"),
        ("(fn [[k xs]] (let [s (reduce + (map dec xs))] [s s]))", "[416 416]"),
        ("(fn [[k xs]] (map #(- % k) xs))", "(0 12 24 36 48 60 72 84)"),
        ("(fn [[k xs]] (if (> k 5) (apply max (map inc xs)) (apply min (map dec xs))))", "96"),
        ("(fn [[k xs]] (first (map :x xs)))", "nil"),
        ("(fn [[k xs]] (reduce + (map :x xs)))", "error: type_error"),
        ("(fn [[k xs]] (do (reduce + (map :x xs)) 1))", "error: type_error"),
    ];
    let sources = cases.map(|(function, expected)| (sums(function), expected));
    check(&sources.each_ref().map(|(source, expected)| (source.as_str(), *expected)));
}

#[test]
fn arguments_are_evaluated_once_and_in_their_order() {
    check(&[
        (
            "(let [log (atom []) say (fn [x v] (swap! log conj x) v)]
               [(reduce (say :f +) (say :init 0) (map (say :g inc) (filter (say :p odd?) (say :source [1 2 3]))))
                @log])",
            "[6 [:f :init :g :p :source]]",
        ),
        ("(let [seen (atom [])] (reduce + (map #(do (swap! seen conj %) %) (filter even? (range 10)))) @seen)", "[0 2 4 6 8]"),
        ("(with-out-str (count (map println (filter odd? (range 6)))))", "\"1\\n3\\n5\\n\""),
        ("(let [x (atom 0)] [(try (reduce + (map #(/ 1 %) [1 (swap! x inc) 0])) (catch Exception e :caught)) @x])", "[:caught 1]"),
    ]);
}

#[test]
fn names_of_the_program_are_its_own() {
    check(&[
        ("(let [map (fn [f coll] [100])] (reduce + (map inc [1 2])))", "100"),
        ("(let [reduce (fn [f coll] (vec coll))] (reduce + (map inc [1 2])))", "[2 3]"),
        ("((fn [filter] (count (filter even? [1 2]))) (fn [f coll] [1 2 3]))", "3"),
        ("(do (defn twice [f coll] (map (fn [x] (f (f x))) coll)) (reduce + (twice inc [1 2])))", "7"),
    ]);
}

#[test]
fn what_is_lazy_stays_lazy() {
    check(&[
        ("(first (map inc (iterate inc 1)))", "2"),
        ("(first (filter #(> % 5) (range)))", "6"),
        ("(let [n (atom 0)] (first (map (fn [x] (swap! n inc) x) (iterate inc 1))) @n)", "1"),
        ("(some #(when (> % 10) %) (map inc (range 100000000000)))", "11"),
        ("(first (filter odd? (range 100000000000)))", "1"),
        ("(realized? (map inc (filter odd? (iterate inc 1))))", "false"),
        ("(reduce + (map inc (range 2000000)))", "2000001000000"),
        ("(vec (take 2 (map inc (filter odd? (range 2000000)))))", "[2 4]"),
    ]);
}

#[test]
fn collections_in_between_are_not_made() {
    let limits = Limits { memory: 2 << 20, ..Limits::default() };
    let pipe = "(reduce + (map inc (filter even? (range 400000))))";
    assert_eq!(outcome(pipe, &limits).0, "40000000000");
    let rows = "(let [rows (mapv (fn [n] {:n n}) (range 2000))]
                  (loop [i 0 sum 0] (if (< i 20) (recur (inc i) (+ sum (count (filter odd? (map :n rows))))) sum)))";
    assert_eq!(outcome(rows, &limits).0, "20000");
}

#[test]
fn no_function_sees_more_items_than_are_needed() {
    let seen = |chain: &str| {
        format!("(let [n (atom []) f (fn [x] (swap! n conj x) x) xs (vec (range 500))] {chain} @n)")
    };
    let cases = [
        ("(first (map f xs))", "[0]"),
        ("(first (filter #(> % 2) (map f xs)))", "[0 1 2 3]"),
        ("(first (map f {:a 1 :b 2}))", "[[:a 1]]"),
        ("(first (map f (sorted-set 3 1 2)))", "[1]"),
        ("(doall (take 3 (apply concat (map (fn [x] [(f x) x]) (iterate inc 1)))))", "[1 2]"),
        ("(take 2 (map f xs))", "[0 1]"),
        ("(take 0 (map f xs))", "[]"),
        ("(->> xs (map f) (filter odd?) (take 2))", "[0 1 2 3]"),
        ("(some #(when (> % 1) %) (map f xs))", "[0 1 2]"),
        ("(every? #(< % 1) (map f xs))", "[0 1]"),
        ("(take-while #(< % 2) (map f xs))", "[0 1 2]"),
        ("(count (take-while #(< % 2) (map f xs)))", "[0 1 2]"),
        ("(reduce (fn [a x] (if (> x 1) (reduced a) x)) (map f xs))", "[0 1 2]"),
        ("(first (keep #(when (> % 1) (f %)) xs))", "[2]"),
        // These take all before anybody asks.
        ("(count (first (list (mapv f [1 2]))))", "[1 2]"),
        ("(first (mapv f [1 2 3]))", "[1 2 3]"),
        ("(let [ys (map f [1 2 3])] (first ys))", "[1 2 3]"),
    ];
    let sources = cases.map(|(chain, expected)| (seen(chain), expected));
    check(&sources.each_ref().map(|(source, expected)| (source.as_str(), *expected)));
}

#[test]
fn what_a_loop_drops_makes_room() {
    let limits = Limits { memory: 4 << 20, ..Limits::default() };
    for (source, expected) in [
        // Natives know these functions, and a census cannot come while they are at it.
        (
            "(count (filter some? (map #(re-matches #\"a(\\d+)9\" %) (map #(str \"a\" %) (range 100000)))))",
            "9999",
        ),
        // Nor do they know these.
        (
            "(reduce + (map count (filter seq (map (fn [n] (let [a (atom (vec (range 20)))] @a)) (range 50000)))))",
            "1000000",
        ),
        ("(count (filter odd? (map (fn [n] @(atom n)) (vec (range 50000)))))", "25000"),
    ] {
        assert_eq!(outcome(source, &limits).0, expected, "{source}");
    }
}

#[test]
fn a_juxt_of_many_functions_is_paid_for() {
    let many = |functions: &str, sink: &str| {
        format!("(let [j (apply juxt {functions}) rows (vec (repeat 3000 {{}}))] {sink})")
    };
    let limits = Limits { memory: 8 << 20, ..Limits::default() };
    for functions in ["(map #(keyword (str \"k\" %)) (range 3000))", "(repeat 3000 some?)"] {
        let (made, _) = outcome(&many(functions, "(count (mapv j rows))"), &limits);
        assert!(made.starts_with("MemoryExceeded"), "{functions}: {made}");
        let enough = Limits { fuel: 1 << 40, ..limits };
        for sink in ["(count (filterv j rows))", "(count (filter j rows))", "(count (vec (filter j rows)))"] {
            let (kept, _) = outcome(&many(functions, sink), &enough);
            assert_eq!(kept, "3000", "{functions} {sink}: what the function gave is garbage");
        }
        let (_, fuel) = outcome(&many(functions, "(count (filterv j rows))"), &Limits::default());
        assert!(fuel > 8_000_000, "{functions}: {fuel}");
    }
}

#[test]
fn rows_of_a_short_juxt_count_while_they_are_kept() {
    let limits = Limits { memory: 8 << 20, fuel: 1 << 40, ..Limits::default() };
    for (sink, wanted) in [
        ("(count (mapv j xs))", "MemoryExceeded"),
        ("(count (group-by j xs))", "MemoryExceeded"),
        ("(count (filterv j xs))", "100000"),
        ("(count (filter j xs))", "100000"),
        ("(count (group-by (juxt odd? even? odd? even? odd? even? odd? even?) xs))", "2"),
    ] {
        let source =
            format!("(let [j (juxt inc inc inc inc inc inc inc inc) xs (vec (range 100000))] {sink})");
        let (shown, _) = outcome(&source, &limits);
        assert!(shown.starts_with(wanted), "{sink}: {shown}");
    }
}

#[test]
fn every_item_costs_fuel_in_every_stage() {
    let fuel = |source: &str| {
        let (shown, fuel) = outcome(source, &Limits::default());
        assert!(!shown.contains("error"), "{shown}");
        fuel
    };
    let one = fuel("(count (map inc (range 10000)))");
    let two = fuel("(count (map inc (map inc (range 10000))))");
    assert!(one >= 20_000 && two >= 30_000, "{one} {two}");
    assert_eq!(one, fuel("(count (map inc (range 10000)))"));
    let limits = Limits { fuel: 25_000, ..Limits::default() };
    assert!(outcome("(count (map inc (map inc (range 10000))))", &limits).0.starts_with("FuelExceeded"));
}

#[test]
fn what_is_too_large_says_so_in_either_way() {
    let limits = Limits { memory: 1 << 20, ..Limits::default() };
    for source in
        ["(vec (map inc (filter even? (range 900000))))", "(group-by odd? (map inc (range 900000)))"]
    {
        assert!(outcome(source, &limits).0.starts_with("MemoryExceeded"), "{source}");
    }
    // Garbage from before makes room.
    let again = "(loop [i 0] (when (< i 50) (vec (map inc (filter even? (range 20000)))) (recur (inc i))))";
    assert_eq!(outcome(again, &limits).0, "nil");
}

#[test]
fn tools_in_stages_leave_the_machine_one_by_one() {
    let mut machine = Machine::new(Limits::default());
    machine.set_tools(["w".to_owned()]);
    machine
        .load("(reduce + (map :n (map #(tool/w {:n %}) (filter odd? (range 7)))))")
        .expect("it is a program");
    let mut asked = Vec::new();
    let value = loop {
        match machine.run(10) {
            Step::Yield => {}
            Step::Calls(calls) => {
                for call in calls {
                    asked.push(call.args["n"].clone());
                    machine.answer(call.id, Answer::Value(json!({"n": 10}))).expect("it waits");
                }
            }
            Step::Done(_) => break machine.value(),
            step => panic!("{step:?}"),
        }
    };
    assert_eq!((value.as_str(), asked), ("30", vec![json!(1), json!(3), json!(5)]));
}

#[test]
fn results_have_the_kind_and_no_metadata_as_from_calls() {
    check(&[
        ("(meta (vec (map inc (filter odd? ^{:m 1} [1 2]))))", "nil"),
        ("(meta (into ^{:m 1} [] (map inc [1 2])))", "{:m 1}"),
        ("(meta (into ^{:m 1} {} (map (juxt :a :b) [{:a 1}])))", "{:m 1}"),
        (
            "[(vector? (mapv inc (map inc [1]))) (seq? (map inc (map inc [1]))) (list? (map inc (map inc [1])))]",
            "[true true false]",
        ),
        ("(let [v [1 2]] [(into v (map inc [3])) v])", "[[1 2 4] [1 2]]"),
        ("(let [m {:a 1}] [(try (into m (map inc [3])) (catch Exception e :no)) m])", "[:no {:a 1}]"),
        ("(map-entry? (first (filter val {:a 1})))", "true"),
    ]);
}
