//! What chains cost: in proportion to the rows, the same whether the functions are written in the chain or come as values,
//! but for the calls, and no more for a row that fails at the end.

use crate::limits::Limits;
use crate::machine::{Machine, Step};

/// What a program gives, or the kind of its error, and its fuel, after another one that makes its data.
fn run(data: &str, source: &str) -> (String, u64) {
    let mut machine = Machine::new(Limits { fuel: 1 << 40, ..Limits::default() });
    let mut last = (String::new(), 0);
    for program in [data, source] {
        machine.load(program).unwrap_or_else(|error| panic!("{program}: {error}"));
        let shown = loop {
            match machine.run(u64::MAX) {
                Step::Yield => {}
                Step::Done(_) => break machine.value(),
                Step::Failed(error) => break format!("{:?} {}", error.kind, error.message),
                step => panic!("{program} stops at {step:?}"),
            }
        };
        last = (shown, machine.fuel_used());
    }
    last
}

fn rows(count: usize) -> String {
    format!("(def xs (mapv (fn [n] {{:n n :k 3 :s \"text\"}}) (range {count})))")
}

const FUNCTIONS: &[(&str, &str)] = &[
    ("map", "(fn [x] (assoc x :n (inc (:n x))))"),
    ("map", "#(update % :n + 2)"),
    ("map", "identity"),
    ("map", "(fn [{:keys [n k]}] {:n (* n k) :k k})"),
    ("map", "(fn [x] (let [f (fn [] (:n x))] {:n (f) :k 2}))"),
    ("map", "(fn [x] (loop [i 0 x x] (if (< i 3) (recur (inc i) x) x)))"),
    ("map", "(fn [x] (try (if (= 3 (:n x)) (throw (ex-info \"no\" {})) x) (catch Exception e {:n 0})))"),
    ("filter", "(fn [x] (and (:n x) (even? (:n x))))"),
    ("filter", ":n"),
    ("filter", "(comp pos? :n)"),
    ("remove", "#(= 5 (:n %))"),
    ("remove", "(complement :k)"),
    ("keep", "(fn [x] (when (:n x) x))"),
    ("take-while", "(fn [x] (not= 900 (:n x)))"),
    ("drop-while", "(fn [x] (= 0 (:n x)))"),
    ("mapcat", "(fn [x] [x x])"),
];

const ENDS: &[(&str, &str)] = &[
    ("reduce", "(fn [a x] (+ a (:n x))) 0"),
    ("reduce", "(fn [a x] (if (> (:n x) 7) (reduced a) (assoc a (:n x) x))) {}"),
    ("group-by", ":k"),
    ("group-by", "(fn [x] (odd? (:n x)))"),
    ("mapv", "(fn [x] [(:n x) (:k x)])"),
    ("some", "(fn [x] (when (> (:n x) 100) x))"),
    ("every?", ":k"),
    ("sort-by", "(juxt :k :n)"),
    ("filterv", "(fn [x] (< (:n x) 50))"),
    ("count", ""),
    ("first", ""),
    ("map", "(fn [x] (/ 10 (:n x)))"),
];

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// A chain, with its functions as they are written, as values that the compiler does not know, and with functions of the
/// library that it does not know.
fn chain(dice: &mut Dice) -> [String; 3] {
    let mut forms = [(); 3].map(|()| "xs".to_owned());
    let stages = dice.below(4);
    for at in 0..=stages {
        let (name, arguments) = match at == stages {
            true => ENDS[dice.below(ENDS.len())],
            false => FUNCTIONS[dice.below(FUNCTIONS.len())],
        };
        let depth = arguments.find(|c: char| c == '(' || c == '#' || c.is_alphabetic() || c == ':');
        let hidden = match depth {
            Some(_) => {
                let end = function_end(arguments);
                format!("@(atom {}){}", &arguments[..end], &arguments[end..])
            }
            None => String::new(),
        };
        let [written, passed, apart] = &mut forms;
        *written = format!("({name} {arguments} {written})");
        *passed = format!("({name} {hidden} {passed})");
        *apart = format!("(@(atom {name}) {arguments} {apart})");
    }
    forms
}

/// Where the function ends that arguments begin with.
fn function_end(arguments: &str) -> usize {
    let mut open = 0;
    for (at, c) in arguments.char_indices() {
        match c {
            '(' | '[' | '{' => open += 1,
            ')' | ']' | '}' => {
                open -= 1;
                if open == 0 {
                    return at + 1;
                }
            }
            ' ' if open == 0 => return at,
            _ => {}
        }
    }
    arguments.len()
}

#[test]
fn functions_that_come_as_values_give_and_cost_the_same_but_for_the_calls() {
    /// What a call costs beside what the function does, for each stage.
    const CALL: u64 = 12;
    let mut dice = Dice(7);
    for turn in 0..400 {
        let count = [0, 1, 7, 8, 9, 60][turn % 6];
        let [written, passed, apart] = chain(&mut dice);
        let data = rows(count);
        let (value, fuel) = run(&data, &written);
        for (form, calls) in [(passed, CALL), (apart, 2 * CALL)] {
            let (other, cost) = run(&data, &form);
            assert_eq!(value, other, "{written}\n{form}");
            // `mapcat` doubles the rows, up to three times.
            let most = fuel + 150 + calls * 5 * 8 * count as u64;
            assert!(cost <= most && fuel <= cost + 150, "{written} {fuel}\n{form} {cost} of {count}");
        }
    }
}

#[test]
fn cost_is_in_proportion_to_the_rows() {
    for program in [
        "(mapv (fn [x] (+ 1 (* 2 (:n x)))) xs)",
        "(reduce + (map :n (filter :k xs)))",
        "(group-by :k xs)",
        "(frequencies (map :s xs))",
        "(into {} (map (juxt :s :n) xs))",
        "(count (mapcat (fn [x] [x x]) xs))",
        "(for [x xs :when (:k x)] (:n x))",
    ] {
        let fuel = |count: usize| run(&rows(count), program).1;
        // Without rows, a fold asks its function.
        let one = fuel(1);
        let per_row = |count: usize| (fuel(count) - one) as f64 / (count - 1) as f64;
        let many = per_row(4096);
        for count in [2, 3, 7, 8, 9, 16, 100, 1000] {
            let here = per_row(count);
            assert!((here / many - 1.0).abs() < 0.2, "{program}: {here} for one of {count}, {many} of many");
        }
    }
}

#[test]
fn a_row_does_not_cost_more_than_its_neighbours() {
    let texts = |count: usize| {
        format!("(def xs (mapv (fn [n] (apply str (repeat 5000 \"abcdefghij\"))) (range {count})))")
    };
    let rows = "(mapv (fn [t] (let [s (clojure.string/upper-case t) p [(subs s 0 1) (subs s 1 2)] \
                q [p p] r [q q] v [r r]] v)) xs)";
    let each = |count: usize| run(&texts(count), rows).1 as f64 / count as f64;
    assert!((each(8) / each(7) - 1.0).abs() < 0.2, "{} {}", each(7), each(8));
    for program in [
        "(try (mapv #(+ 1 (* 2 %)) xs) (catch Exception e nil))",
        "(try (reduce + (map inc (filter (fn [x] (or (nil? x) (even? x))) xs))) (catch Exception e nil))",
    ] {
        let good = run("(def xs (vec (range 10000)))", program).1;
        let bad = run("(def xs (conj (vec (range 10000)) nil))", program).1;
        assert!(bad as f64 <= 1.1 * good as f64, "{program}: {good} and {bad}");
    }
}

#[test]
fn numbers_that_are_added_at_once_cost_what_the_loop_costs() {
    let cases = [
        ("(reduce + xs)", "(reduce (fn [a x] (+ a x)) xs)"),
        ("(reduce + 0.5 xs)", "(reduce (fn [a x] (+ a x)) 0.5 xs)"),
        ("(reduce + (map :n rows))", "(reduce + (map (fn [x] (:n x)) rows))"),
        ("(reduce + 0 (map :n rows))", "(reduce + 0 (map (fn [x] (:n x)) rows))"),
        (
            "(reduce + (map inc (filter odd? xs)))",
            "(reduce + (map (fn [x] (inc x)) (filter (fn [x] (odd? x)) xs)))",
        ),
    ];
    for (at_once, one_by_one) in cases {
        let fuel = |program: &str, count: usize| {
            let data = format!("(def xs (vec (range {count}))) (def rows (mapv (fn [n] {{:n n}}) xs))");
            run(&data, program)
        };
        assert_eq!(fuel(at_once, 900).0, fuel(one_by_one, 900).0, "{at_once}");
        let for_more = |program: &str| fuel(program, 900).1 - fuel(program, 300).1;
        assert_eq!(for_more(at_once), for_more(one_by_one), "{at_once}");
    }
}
