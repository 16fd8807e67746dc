//! Machines between programs: definitions, closures, atoms and results survive, limits only shrink.

use ptc_lisp::machine::{Machine, Step};
use ptc_lisp::{DumpError, ErrorKind, Limits};

use crate::programs::{finish, machine, reloaded};

/// Runs programs in one session, with the machine written and loaded before each and at each stop.
fn session(sources: &[&str], pause: &mut impl FnMut(Machine) -> Machine) -> Vec<String> {
    let mut machine = machine();
    let mut values = Vec::new();
    for source in sources {
        machine = pause(machine);
        machine.load(source).unwrap_or_else(|error| panic!("{source}: {error}"));
        loop {
            match machine.run(1000) {
                Step::Yield => machine = pause(machine),
                Step::Done(_) => break values.push(machine.value()),
                Step::Failed(error) => break values.push(format!("error {error}")),
                Step::Calls(calls) => {
                    machine = pause(machine);
                    crate::programs::answer_all(&mut machine, &calls);
                }
            }
        }
        values.push(format!("{:?} {}", machine.prints(), machine.fuel_used()));
    }
    values
}

/// Programs of one session and what they give, computed by hand: the price of `n` is ten times `n`, and a program that
/// fails is taken back. The random number is the one of the seed.
const SESSION: [(&str, &str); 19] = [
    ("(def x 1) (defn add [y] (+ x y)) (def counter (atom {:n 0}))", "#'counter"),
    (
        "(let [k 10] (def adder (fn [n] (swap! counter update :n + n k) (add (tool/price {:n n})))))",
        "#'adder",
    ),
    ("[(adder 1) (:n @counter)]", "[11 11]"),
    ("[*1 *2 (adder 2)]", "[[11 11] #'adder 21]"),
    ("(def x 100) (adder 3)", "130"),
    ("(def x 7) (reset! counter nil) (tool/price {:n 1}) (/ 1 0)", "error arithmetic_error: Divide by zero"),
    ("[x @counter *1 *2 *3]", "[100 {:n 36} 130 [[11 11] #'adder 21] [11 11]]"),
    ("(def s (map inc (range))) (first s)", "1"),
    ("(take 3 (drop 5 s))", "(6 7 8)"),
    ("(defrecord P [a]) (defmulti m :k) (defmethod m 1 [_] :one) (derive ::a ::b) (def p (->P 1))", "#'p"),
    ("[(m {:k 1}) (isa? ::a ::b) p (instance? P p) (= p (->P 1))]", "[:one true #user.P{:a 1} true true]"),
    ("(def #^{:doc \"documented\"} y 5) (defn ^:private hidden \"does it\" [] y) (hidden)", "5"),
    ("(def shared [1 2 3]) (def both {:a shared :b shared}) (identical? (:a both) (:b both))", "true"),
    ("(identical? (:a both) shared)", "true"),
    ("(def self (atom nil)) (reset! self [self]) (identical? self (first @self))", "true"),
    ("(identical? self (first @(first @self)))", "true"),
    ("(println (gensym)) (rand-int 1000)", "389"),
    ("(fail :on-purpose)", ":on-purpose"),
    ("(sort (map str [x y (count both) (:n @counter)]))", "(\"100\" \"2\" \"36\" \"5\")"),
];

#[test]
fn what_programs_leave_behind_survives() {
    let sources = SESSION.map(|(source, _)| source);
    let undisturbed = session(&sources, &mut |machine| machine);
    let moved = session(&sources, &mut |machine| reloaded(&machine));
    for (number, (a, b)) in undisturbed.iter().zip(&moved).enumerate() {
        assert_eq!(a, b, "{}", sources[number / 2]);
    }
    // Every other line is about prints and fuel.
    for ((source, expected), value) in SESSION.iter().zip(undisturbed.iter().step_by(2)) {
        assert_eq!(value, expected, "{source}");
    }
}

#[test]
fn an_idle_machine_keeps_its_result_and_prints() {
    let mut first = machine();
    first.load("(println \"hello\") (def x 1) {:value x}").expect("it loads");
    assert!(matches!(first.run(1000), Step::Done(_)));
    let second = reloaded(&first);
    assert_eq!((second.value(), second.prints()), (first.value(), first.prints()));
    assert_eq!(second.definitions(), ["x"]);
    assert_eq!(second.outstanding(), []);
}

#[test]
fn limits_of_the_host_hold_for_a_loaded_machine() {
    let mut first = machine();
    first.load("(tool/price {:n 1}) (reduce + (range 100000))").expect("it loads");
    assert!(matches!(first.run(1000), Step::Calls(_)));
    let bytes = first.dump().expect("it can be written");
    let limits = Limits { fuel: 5_000, ..Limits::default() };
    let mut tight = Machine::load_dump(&bytes, &limits).expect("it loads");
    let calls = tight.outstanding();
    crate::programs::answer_all(&mut tight, &calls);
    let outcome = finish(tight, 1000, &mut |machine| machine);
    assert!(outcome.value.contains(ErrorKind::FuelExceeded.reason()), "{}", outcome.value);
    // The dump of a machine with tight limits keeps them, whatever the next host allows.
    let tight = Machine::load_dump(&bytes, &limits).expect("it loads");
    let mut wide = reloaded(&tight);
    let calls = wide.outstanding();
    crate::programs::answer_all(&mut wide, &calls);
    let outcome = finish(wide, 1000, &mut |machine| machine);
    assert!(outcome.value.contains(ErrorKind::FuelExceeded.reason()), "{}", outcome.value);
}

#[test]
fn deep_and_long_values_are_written_without_deep_recursion() {
    let sources = [
        "(def deep (reduce (fn [v _] [v]) 1 (range 900))) (tool/price {:n 1}) (count (pr-str deep))",
        "(def long (reduce (fn [l n] (cons n l)) nil (range 20000))) (tool/price {:n 1}) (reduce + long)",
        "(def lazy (doall (take 20000 (iterate inc 0)))) (tool/price {:n 1}) (last lazy)",
        "(def cells (reduce (fn [a _] (atom a)) nil (range 5000))) (tool/price {:n 1}) (nil? @cells)",
        "(def metas (reduce (fn [m _] (with-meta (list 1) {:m m})) nil (range 300))) (tool/price {:n 1}) (count metas)",
    ];
    for source in sources {
        let mut machine = machine();
        machine.load(source).expect("it loads");
        let undisturbed = finish(machine, 10_000_000, &mut |machine| machine);
        let mut machine = crate::programs::loaded(source);
        machine.run(10_000_000);
        let mut machine = reloaded(&machine);
        let calls = machine.outstanding();
        crate::programs::answer_all(&mut machine, &calls);
        assert_eq!(finish(machine, 10_000_000, &mut |machine| machine), undisturbed, "{source}");
    }
}

#[test]
fn keys_that_are_written_once_and_used_last_take_no_more_bytes() {
    let sources = [
        "(def small (into #{} (range 3000)))",
        "(def same (with-meta small {:m 1})) (count same)",
        "(def rows (mapv (fn [n] {:a n}) (range 3))) (def other (with-meta (last rows) {:m 2})) (:a other)",
        "[(= small same) (meta same) (meta other)]",
    ];
    let values = session(&sources, &mut |machine| reloaded(&machine));
    assert_eq!(values[2], "3000");
    assert_eq!(values[6], "[true {:m 1} {:m 2}]");
}

#[test]
fn a_result_is_realised_across_dumps() {
    for (source, value) in [
        ("(map #(tool/price {:n %}) (range 4))", "(0 10 20 30)"),
        ("(return (map #(tool/price {:n %}) (range 4)))", "(0 10 20 30)"),
        ("(fail (map #(tool/price {:n %}) (range 4)))", "(0 10 20 30)"),
    ] {
        let values = session(&[source], &mut |machine| reloaded(&machine));
        assert_eq!(values[0], value, "{source}");
    }
}

#[test]
fn other_bytes_are_refused_with_the_reason() {
    let mut machine = machine();
    machine.load("(tool/price {:n 1})").expect("it loads");
    machine.run(1000);
    let bytes = machine.dump().expect("it can be written");
    let load = |bytes: &[u8]| Machine::load_dump(bytes, &Limits::default()).map(|_| ());
    let mut newer = bytes.clone();
    newer[4] = 9;
    let mut damaged = bytes.clone();
    damaged[40] ^= 1;
    let longer = crate::seal::sealed([&bytes[..bytes.len() - 8], &[0; 9]].concat());
    assert_eq!(load(&bytes), Ok(()));
    assert_eq!(load(b""), Err(DumpError::NotADump));
    assert_eq!(load(b"PNG and more"), Err(DumpError::NotADump));
    assert_eq!(load(&newer), Err(DumpError::Version(9)));
    assert_eq!(load(&damaged), Err(DumpError::Checksum));
    assert_eq!(load(&bytes[..bytes.len() - 1]), Err(DumpError::Checksum));
    assert_eq!(load(&longer), Err(DumpError::Damaged("there is something after the end".into())));
}
