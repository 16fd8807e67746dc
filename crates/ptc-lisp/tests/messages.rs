//! What programs are told about the mistakes models make most: the exact words, as a model reads them.

use ptc_lisp::machine::{Machine, Step};
use ptc_lisp::render::for_models;
use ptc_lisp::{Error, Limits};

/// The error that a program ends with.
fn failure(source: &str) -> Error {
    let mut machine = Machine::new(Limits::default());
    if let Err(error) = machine.load(source) {
        return error;
    }
    loop {
        match machine.run(1_000_000) {
            Step::Failed(error) => return error,
            Step::Yield => {}
            other => panic!("{source} does not fail: {other:?} {}", machine.value()),
        }
    }
}

fn check(cases: &[(&str, &str)]) {
    for (source, expected) in cases {
        assert_eq!(for_models(&failure(source), source), *expected, "{source}");
    }
}

#[test]
fn calls_with_the_wrong_number_of_arguments() {
    check(&[
        ("((fn [x] x) 1 2)", "arity_error at 1:1: this function takes 1 argument, got 2."),
        ("(defn f [a b] a) (f 1)", "arity_error at 1:18: f takes 2 arguments, got 1."),
        ("(let [f (fn [a & more] a)] (f))", "arity_error at 1:28: f takes at least 1 argument, got 0."),
        ("(defn g ([a] 1) ([a b] 2)) (g 1 2 3)", "arity_error at 1:28: g takes 1 or 2 arguments, got 3."),
        (
            "(get {})",
            "arity_error at 1:1: get takes 2 or 3 arguments, got 1. \
             Fix: write (get coll key) or (get coll key not-found)",
        ),
        (
            "(update {} :a)",
            "arity_error at 1:1: update takes at least 3 arguments, got 2. \
             Fix: write (update m k f) or (update m k f a b c & more)",
        ),
        (
            "(reduce (fn [a] a) [1 2 3])",
            "arity_error at 1:1: reduce: this function takes 1 argument, got 2. \
             Fix: reduce calls it with 2 arguments",
        ),
        (
            "(map (fn [a b] a) [1 2])",
            "arity_error at 1:1: map: this function takes 2 arguments, got 1. \
             Fix: map calls it with 1 argument",
        ),
        ("(:a {} 1 2)", "arity_error at 1:1: a keyword takes 1 or 2 arguments as a function, got 3."),
    ]);
}

#[test]
fn functions_that_were_passed_are_blamed_and_not_those_that_call_them() {
    for (source, text) in [
        ("(map parse-long [[]])", "parse-long: argument 1 must be a string or a number, got vector"),
        ("(mapv inc [1 :a])", "inc: expected a number, got keyword"),
        ("(reduce + [1 :a])", "+: expected a number, got keyword"),
        ("(sort-by inc [:a :b])", "inc: expected a number, got keyword"),
        ("(apply inc [:a])", "inc: expected a number, got keyword"),
        ("(update {:a :b} :a inc)", "inc: expected a number, got keyword"),
        ("(swap! (atom :a) inc)", "inc: expected a number, got keyword"),
        ("(map (partial + 1) [:a])", "+: expected a number, got keyword"),
        ("(map (comp inc :a) [{:a :b}])", "inc: expected a number, got keyword"),
        ("(map str/upper-case [1])", "upper-case: argument 1 must be a string, got integer"),
        ("(->> [[]] (map parse-long))", "parse-long: argument 1 must be a string or a number, got vector"),
        ("(map key [[1 2]])", "key: argument 1 must be a map entry, got vector"),
        ("(let [f inc] (mapv f [:a]))", "inc: expected a number, got keyword"),
        ("(defn each [f] (mapv f [:a])) (each inc)", "inc: expected a number, got keyword"),
        // What functions of the library use themselves is not known to the program.
        ("(map first 5)", "map: expected a collection, got integer 5"),
        ("(frequencies 5)", "frequencies: expected a collection, got integer 5"),
        ("(into {} [1])", "into: expected a [key value] entry or a map, got 1"),
        ("(into {} [1 \"conj\" 'conj])", "into: expected a [key value] entry or a map, got 1"),
    ] {
        assert_eq!(failure(source).text(), text, "{source}");
    }
}

#[test]
fn values_that_are_not_functions() {
    check(&[
        (
            "((+ 1 2))",
            "not_callable at 1:1: 3 is not a function. Fix: there may be one pair of parentheses too many",
        ),
        (
            "(filter 5 [1])",
            "not_callable at 1:1: filter: 5 is not a function. \
             Fix: pass a function, for example inc, :key or #(…); the set #{x} finds the value x",
        ),
        (
            "(data/orders)",
            "invalid_form at 1:2: data/orders is data, not a function. \
             Fix: write data/orders without parentheses",
        ),
    ]);
}

#[test]
fn values_of_the_wrong_type() {
    check(&[
        (
            "(map key [[1 2]])",
            "type_error at 1:1: key: argument 1 must be a map entry, got vector. \
             Fix: use (first pair) for a vector of two",
        ),
        (
            "(parse-boolean [])",
            "type_error at 1:1: parse-boolean: argument 1 must be a string or a boolean, got vector.",
        ),
        (
            "(+ 1 nil)",
            "type_error at 1:1: +: expected a number, got nil. \
             Fix: a value is missing: check the key or path, or give a default such as (or x 0)",
        ),
        (
            "(Math/sqrt \"a\")",
            "type_error at 1:1: Math/sqrt: expected a number, got string \"a\". \
             Fix: parse-long and parse-double read a number from text that is one; (str a b) joins texts",
        ),
        ("(count 5)", "type_error at 1:1: count: expected a collection, got integer 5."),
        (
            "(str/upper-case nil)",
            "type_error at 1:1: upper-case: argument 1 must be a string, got nil. \
             Fix: handle nil first: (or s \"\") or (when s …)",
        ),
        (
            "(sort [1 \"a\"])",
            "type_error at 1:1: sort: cannot compare string with integer. \
             Fix: compare values of one type: numbers, strings, keywords, vectors or dates",
        ),
        (
            "(let [[a b] 5] a)",
            "destructure_error at 1:7: a vector pattern needs a vector or list, got 5. \
             Fix: give it a vector, or bind the value to a plain name",
        ),
        (
            "(let [{:keys [a]} 5] a)",
            "destructure_error at 1:7: a map pattern needs a map, got 5. \
             Fix: give it a map, or bind the value to a plain name",
        ),
        (
            "(nth [1 2] 5)",
            "index_out_of_bounds at 1:1: nth: index 5 is outside the vector of 2 items. \
             Fix: use (get coll index) or (nth coll index default)",
        ),
    ]);
}

#[test]
fn advice_for_what_is_no_collection_fits_the_function() {
    for name in ["count", "first", "keys", "set", "concat", "vals", "seq"] {
        let hint = failure(&format!("({name} inc)")).hint.unwrap_or_default();
        assert!(!hint.contains("swapped"), "{name}: {hint}");
    }
    for source in ["(map [1] inc)", "(group-by [1] inc)", "(sum-by [1] inc)"] {
        let hint = failure(source).hint.unwrap_or_default();
        assert!(hint.contains("swapped"), "{source}: {hint}");
    }
    let error = failure("(partition-by [{:id 1}] :id)");
    assert_eq!(error.hint.as_deref(), Some("the arguments look swapped: write (partition-by f coll)"));
    assert_eq!(error.function.as_deref(), Some("partition-by"));
}

#[test]
fn names_that_are_not_there() {
    check(&[
        (
            "(let [total 1]\n  (+ totl (fliter odd? [])))",
            "unbound_var at 2:6: undefined names: totl, fliter. \
             Fix: did you mean total in place of totl?; did you mean filter in place of fliter?",
        ),
        ("(length [1])", "unbound_var at 1:2: undefined name: length. Fix: write (count coll)"),
        (
            "(str/uper-case \"a\")",
            "invalid_form at 1:2: str/uper-case is not available. Fix: did you mean str/upper-case?",
        ),
        (
            "(tool/search {})",
            "unknown_tool at 1:1: unknown tool: search. Fix: no tools are available to this program",
        ),
    ]);
}

#[test]
fn clojure_that_is_left_out() {
    check(&[
        (
            "(defmacro m [] 1)",
            "unsupported_form at 1:2: defmacro is not part of PTC-Lisp: programs cannot define macros. \
             Fix: write a function with defn",
        ),
        (
            "(slurp \"x\")",
            "unsupported_form at 1:2: slurp is not part of PTC-Lisp: programs cannot read files. \
             Fix: inputs are in data/, other data comes from tools",
        ),
        (
            "(go 1)",
            "unsupported_form at 1:2: go is not part of PTC-Lisp: there are no channels. Fix: use pmap or pcalls",
        ),
        (
            "(map #(map #(inc %) %) [[1]])",
            "parse_error at 1:12: `#()` cannot stand inside another `#()`: it would not be clear whose `%` is \
             meant. Fix: write one of them as `(fn [x] …)`",
        ),
    ]);
}

#[test]
fn forms_written_wrongly() {
    check(&[
        ("(let (a 1) a)", "invalid_form at 1:6: expected a vector of bindings: (let [name value …] body…)."),
        (
            "(loop [x 1] (+ 1 (recur 2)))",
            "invalid_form at 1:18: recur must be in tail position. \
             Fix: nothing may happen after recur: make it the last expression of its branch",
        ),
        (
            "(cond (= 1 2) :a :b)",
            "invalid_form at 1:18: cond needs pairs of test and value. \
             Fix: the last test has no value; write :else before a default",
        ),
        (
            "{:a 1 :a 2}",
            "duplicate_key at 1:7: duplicate key in a map literal. Fix: keep one of the two; each key may stand once",
        ),
        (
            "{1.0M 1 1.00M 2}",
            "duplicate_key at 1:9: duplicate key in a map literal. Fix: keep one of the two; each key may stand once",
        ),
        (
            "#{1.0M 1.00M}",
            "duplicate_key at 1:8: duplicate element in a set literal. Fix: keep one of the two; each element may stand once",
        ),
    ]);
}

#[test]
fn limits() {
    check(&[
        (
            "(loop [] (recur))",
            "fuel_exceeded at 1:10: the program used up its 100000000 units of fuel. \
             Fix: check for an endless loop, or do less work per run: a search through a collection inside a loop over \
             another is quadratic; build an index once with group-by or (into {} …), or a set; what grows in a reduce or \
             loop grows with (conj acc x) or (into acc xs), not with concat",
        ),
        (
            "(vec (repeat 5000000 \"x\"))",
            "memory_exceeded at 1:6: the program needs more than its 67108864 bytes of memory. \
             Fix: keep less at once: filter early, aggregate with reduce, return less; \
             (into [] (comp (map f) (filter pred)) coll) makes no collections in between",
        ),
    ]);
}

#[test]
fn exceptions_that_nobody_catches_tell_their_data() {
    check(&[
        ("(throw (ex-info \"no\" {:id 7}))", "exception at 1:1: no. Note: its data is {:id 7}"),
        ("(throw (ex-info \"no\" {}))", "exception at 1:1: no."),
        ("(throw (Exception. \"no\"))", "exception at 1:1: no."),
        (
            "(try (throw (ex-info \"no\" {:id 7})) (catch Exception e (throw e)))",
            "exception at 1:6: no. Note: its data is {:id 7}",
        ),
        (
            "(throw (ex-info \"no\" {:rows (map inc [1 2])}))",
            "exception at 1:1: no. Note: its data is {:rows (2 3)}",
        ),
    ]);
    // What is long is left out rather than cut: hosts cover what is hidden where it stands whole.
    let long = failure("(throw (ex-info \"no\" {:id 7 :text (apply str (repeat 40 \"x\"))}))");
    assert_eq!(long.hint.as_deref(), Some("its data is {:id 7, :text …}"));
    let wide = failure("(throw (ex-info \"no\" (zipmap (range 10) (range 10))))");
    assert_eq!(wide.hint.as_deref(), Some("its data is {0 0, 1 1, 2 2, 3 3, 4 4, 5 5, 6 6, 7 7, …}"));
}

/// A text in which no two pieces of 32 bytes are alike.
fn long_text() -> String {
    let digit = |first: u8, n: u32| char::from(first + u8::try_from(n).expect("a small number"));
    (0..60).flat_map(|n| [digit(b'a', n * 7 % 26), digit(b'A', n * 11 % 26), digit(b'0', n % 10)]).collect()
}

/// The longest piece of a text that stands in another, in bytes, if it is longer than `allowed`.
fn repeated(said: &str, text: &str, allowed: usize) -> Option<usize> {
    (allowed + 1..=text.len())
        .take_while(|length| (0..=text.len() - length).any(|at| said.contains(&text[at..at + length])))
        .last()
}

/// The same of a text that an error says, if it is longer than errors may quote.
fn quoted_too_long(error: &Error, text: &str) -> Option<usize> {
    const QUOTED: usize = 31;
    repeated(&format!("{} {:?} {:?}", error.message, error.hint, error.notes), text, QUOTED)
}

/// What inputs a function may be called with, as a program writes them.
const HANDED: [&str; 31] = [
    "data/d",
    "data/d 1",
    "1 data/d",
    "data/d data/d",
    ":a data/d",
    "{} data/d",
    "[1] data/d",
    "data/d inc",
    "inc data/d",
    "inc data/d [1 2]",
    "data/m",
    "data/m data/d",
    "(keyword data/d)",
    "(keyword data/d) [{:a 1} {:a 2}]",
    ":a (keyword data/d) [{:a 1} {:a 2}]",
    "[:a data/d] [{:a 1} {:a 2}]",
    "(symbol data/d)",
    "(symbol data/d) 1",
    "'x data/d 1",
    "\"x\" data/d 1",
    "#\"x\" data/d 1",
    "\"a\" #\"(?<a>a)\" (str \"${\" data/d \"}\")",
    "(str \"{\" data/d)",
    "(str \"{\\\"\" data/d \"\\\"}\")",
    "(str \"#\" data/d)",
    "(str \"#\" data/d \" 1\")",
    "(str \"#inst \\\"\" data/d \"\\\"\")",
    "(str \"0\" data/d)",
    "(str data/d \":\")",
    "(str \"\\\\\" data/d)",
    "(str \"\\\\p{\" data/d \"}\")",
];

/// Functions whose errors are what the program says.
const SAY: [&str; 3] = ["throw", "assert", "fail"];

/// The errors of all functions that are called with what a program may have of a text, by the programs.
fn errors_about(text: &str) -> Vec<(String, Error)> {
    let data = serde_json::json!({"d": text, "m": {"a": text, text: 1}});
    let ends = |source: String| {
        let mut machine = Machine::new(Limits { fuel: 100_000, ..Limits::default() });
        machine.set_data(&data).expect("the inputs fit");
        machine.load(&source).ok()?;
        match machine.run(1_000_000) {
            Step::Failed(error) => Some((source, error)),
            _ => None,
        }
    };
    let formatted =
        "(LocalDate/parse \"x\" (DateTimeFormatter/ofPattern (str \"'\" data/d \"'\")))".to_owned();
    let functions = ptc_lisp::builtins::registry().iter().filter(|(_, entry)| !SAY.contains(&entry.local));
    functions
        .flat_map(|(_, entry)| HANDED.map(|args| format!("({} {args})", entry.name)))
        .chain([formatted])
        .filter_map(ends)
        .collect()
}

#[test]
fn no_error_quotes_more_than_31_bytes_of_an_input() {
    let text = long_text();
    let errors = errors_about(&text);
    assert!(errors.len() > 10_000, "{}", errors.len());
    let said: Vec<String> = errors
        .iter()
        .filter_map(|(source, error)| {
            let bytes = quoted_too_long(error, &text)?;
            Some(format!("{source}: {bytes} bytes: {}", error.message))
        })
        .collect();
    assert!(said.is_empty(), "{}:\n{}", said.len(), said.join("\n"));
}

/// Hosts show advice outside of the frame around data: it holds our words alone.
#[test]
fn no_advice_has_words_of_an_input() {
    const WORDS: usize = 4;
    let text = "Qzwvx-Kjyqg-Jxzkw-Zqvbn";
    let mut said = Vec::new();
    for (source, error) in errors_about(text) {
        let advice = error.hint.clone().filter(|_| error.advises()).unwrap_or_default();
        if repeated(&advice, text, WORDS).is_some() {
            said.push(format!("{source}: {advice}"));
        }
    }
    assert!(said.is_empty(), "{}:\n{}", said.len(), said.join("\n"));
}
