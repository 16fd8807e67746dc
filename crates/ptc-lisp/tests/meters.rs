//! What natives make and do is metered, whatever it is made from: programs that keep much under small limits end in time.

use ptc_lisp::machine::{Machine, Step};
use ptc_lisp::{Error, ErrorKind, Limits};

/// The error that a program ends with under a megabyte of memory and so much fuel, if it ends with one.
fn end(source: &str, fuel: u64) -> Option<Error> {
    let mut machine = Machine::new(Limits { fuel, memory: 1 << 20, ..Limits::default() });
    machine.set_tools(["t", "call"].map(str::to_owned));
    machine.load(source).expect("it compiles");
    loop {
        match machine.run(100_000) {
            Step::Yield => {}
            Step::Done(_) => return None,
            Step::Failed(error) => return Some(error),
            Step::Calls(calls) => panic!("{source} calls {calls:?}"),
        }
    }
}

/// A text is made from something that is no text of the program: each copy counts.
#[test]
fn copies_of_text_that_the_program_holds_otherwise_count() {
    const MATCHER: &str = "m (re-matcher #\"(a*)\" (.repeat \"a\" 50000))";
    let name = |kind: &str| format!("k ({kind} (.repeat \"k\" 50000))");
    let exception = "e (ex-info (.repeat \"m\" 50000) {})".to_owned();
    let cases = [
        (MATCHER.to_owned(), "(do (when (= 0 i) (.find m)) (.group m))"),
        (MATCHER.to_owned(), "(do (when (= 0 i) (.find m)) (re-groups m))"),
        (exception.clone(), "(ex-message e)"),
        (exception.clone(), "(.getMessage e)"),
        (exception.clone(), "(.getLocalizedMessage e)"),
        (exception, "(Throwable->map e)"),
        (format!("r (re-pattern (.repeat \"a\" {}))", 9_999), "(.pattern r)"),
        (name("keyword"), "(clojure.string/lower-case k)"),
        (name("keyword"), "(clojure.string/upper-case k)"),
        (name("symbol"), "(downcase k)"),
        (name("symbol"), "(upcase k)"),
        (name("keyword"), "(name k)"),
        ("t (.repeat \"\\\\E\" 20000)".to_owned(), "(Pattern/quote t)"),
        ("t (.repeat \"\\n\" 2000)".to_owned(), "(.lines t)"),
        ("t (.repeat \"a\" 3000)".to_owned(), "(drop 2 t)"),
        ("t (.repeat \"a\" 3000)".to_owned(), "(drop-while #{\"b\"} t)"),
        ("t (.repeat \"a\" 3000)".to_owned(), "(second (split-with #{\"b\"} t))"),
        ("m (zipmap (range 500) (range))".to_owned(), "(drop 2 m)"),
        ("s (set (range 1000))".to_owned(), "(drop 2 s)"),
        ("s (apply sorted-set (range 1000))".to_owned(), "(drop-while neg? s)"),
    ];
    for (given, kept) in cases {
        let source = format!("(let [{given}] (count (mapv (fn [i] {kept}) (range 400))))");
        let error = end(&source, 50_000_000);
        let is_memory = error.as_ref().is_some_and(|error| error.kind == ErrorKind::MemoryExceeded);
        assert!(is_memory, "{kept} ends with {error:?}");
        let once = source.replace("(range 400)", "(range 1)");
        assert_eq!(end(&once, 50_000_000), None, "{kept} once");
    }
}

#[test]
fn groups_that_are_longer_than_the_match_count() {
    let text = "t (.repeat \"a\" 4000)";
    for search in [
        "(re-seq #\"(?=(a*))a\" t)",
        "(clojure.string/replace t #\"(?=(a*))a\" first)",
        "(clojure.string/replace t #\"(?=(a*))a\" {[\"a\" t] \"b\"})",
        "(split t #\"(?=(a*))a\")",
        "(mapv (fn [_] (extract #\"(?=(a*))a\" t)) (range 1000))",
        "(mapv (fn [_] (re-find #\"(?=(a*))a\" t)) (range 1000))",
    ] {
        let error = end(&format!("(let [{text}] (count {search}))"), 50_000_000);
        let is_memory = error.as_ref().is_some_and(|error| error.kind == ErrorKind::MemoryExceeded);
        // A replacement that is over keeps nothing.
        assert!(is_memory || search.contains("replace"), "{search} ends with {error:?}");
    }
}

/// A searcher prepares what it looks for, so that a long needle takes time whatever it is looked for in.
#[test]
fn what_is_looked_for_counts_as_what_is_looked_through() {
    let texts = "s (.repeat \"ab \" 20000) a (str s \"c\") b (str s \"d\")";
    for search in [
        "(.indexOf a b)",
        "(.lastIndexOf a b)",
        "(.contains a b)",
        "(.startsWith a b)",
        "(.endsWith a b)",
        "(.replace a b \"\")",
        "(.compareTo a b)",
        "(.compareToIgnoreCase a b)",
        "(clojure.string/includes? a b)",
        "(clojure.string/index-of a b)",
        "(clojure.string/last-index-of a b)",
        "(clojure.string/replace a b \"\")",
        "(clojure.string/replace-first a b \"\")",
        "(clojure.string/starts-with? a b)",
    ] {
        let error = end(&format!("(let [{texts}] (dotimes [_ 200] {search}))"), 500_000);
        let is_fuel = error.as_ref().is_some_and(|error| error.kind == ErrorKind::FuelExceeded);
        assert!(is_fuel, "{search} ends with {error:?}");
        let longer = search.replace(" a b", " \"ab c\" b");
        let error = end(&format!("(let [{texts}] (dotimes [_ 20] {longer}))"), 500_000);
        assert_eq!(error, None, "{longer}");
    }
}

/// Small maps take many times their text as JSON; what is given to tools is bounded as results are.
#[test]
fn arguments_of_tools_take_no_more_memory_as_json_than_the_program_may() {
    for (argument, fits) in [
        ("(vec (repeat 1000 {}))", true),
        ("(vec (repeat 8000 {}))", false),
        ("(vec (repeat 1000 {\"a\" \"b\"}))", true),
        ("(vec (repeat 20000 []))", false),
        ("(.repeat \"a\" 200000)", true),
    ] {
        let mut machine = Machine::new(Limits { memory: 1 << 20, ..Limits::default() });
        machine.set_tools(["t".to_owned()]);
        machine.load(&format!("(tool/t {{:a {argument}}})")).expect("it compiles");
        match machine.run(u64::MAX) {
            Step::Calls(_) => assert!(fits, "{argument}"),
            Step::Failed(error) => {
                let kinds = [ErrorKind::OutputExceeded, ErrorKind::MemoryExceeded];
                assert!(!fits && kinds.contains(&error.kind), "{argument}: {error}");
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Nothing is made by the look whether JSON has a form for all of it, so that only fuel and time can bound it.
#[test]
fn a_look_through_the_arguments_of_a_tool_costs_fuel() {
    for kind in ["object-array", "vec"] {
        // A million parts that JSON has, and one that it has not.
        let odd = format!("{{:a [(reduce (fn [x _] ({kind} [x x])) 1 (range 20)) ##NaN]}}");
        for call in
            [format!("(tool/t {odd})"), format!("(tool/call {{:server \"s\" :tool \"t\" :args {odd}}})")]
        {
            let error = end(&format!("(try {call} (catch Exception e nil))"), 10_000);
            let kind = error.as_ref().map(|error| error.kind);
            // Arrays are no arguments of upstreams, which is seen at once.
            let refused = call.contains("array") && call.contains("call");
            assert_eq!(kind, (!refused).then_some(ErrorKind::FuelExceeded), "{call}: {error:?}");
        }
    }
}
