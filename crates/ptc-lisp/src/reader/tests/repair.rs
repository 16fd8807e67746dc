//! Unbalanced texts: which are repaired and how, and which are left alone.

use super::{print, read};

/// Source, repaired text, part of the advice.
const CERTAIN: &[(&str, &str, &str)] = &[
    // One line, closers miscounted at its end.
    ("(+ 1 (* 2 3)", "(+ 1 (* 2 3))", "add `)` at the end of line 1"),
    ("(+ 1 (* 2 3))))", "(+ 1 (* 2 3))", "remove the `))` at line 1, column 14"),
    ("(map inc [1 2))", "(map inc [1 2])", "write `]` in place of the `)` at line 1, column 14"),
    ("[(a b])", "[(a b)]", "write `)]` in place of the `])` at line 1, column 6"),
    ("(f {:a (g 1)} ; why\n", "(f {:a (g 1)}) ; why\n", "add `)` at the end of line 1"),
    ("(f {:a (g (h 1))", "(f {:a (g (h 1))})", "add `})` at the end of line 1"),
    // A wrong closer inside a line.
    ("(f [1 2) 3)", "(f [1 2] 3)", "write `]` in place of the `)` at line 1, column 8"),
    ("(f [1 (g 2] 3)", "(f [1 (g 2)] 3)", "add `)` before the `]` at line 1, column 11"),
    // The next line in the first column begins a new form.
    ("(defn f [x]\n  (inc x)\n(f 2)", "(defn f [x]\n  (inc x))\n(f 2)", "add `)` at the end of line 2"),
    (
        "(defn f [x]\n  (inc x\n\n; call\n(f 2)",
        "(defn f [x]\n  (inc x))\n\n; call\n(f 2)",
        "add `))` at the end of line 2",
    ),
    ("(def a (inc 1)\n(f a)", "(def a (inc 1))\n(f a)", "add `)` at the end of line 1"),
    (
        "(println (f 1)\n(defn g [x]\n  x)",
        "(println (f 1))\n(defn g [x]\n  x)",
        "add `)` at the end of line 1",
    ),
    // The end of the text.
    (
        "(let [x 1]\n  (when x\n    (f x))",
        "(let [x 1]\n  (when x\n    (f x)))",
        "add `)` at the end of line 3",
    ),
    ("(let [x 1]\n  (f x)\n", "(let [x 1]\n  (f x))\n", "add `)` at the end of line 2"),
    (
        "(let [x 1]\n  (f\n    x)\n)\n)\n",
        "(let [x 1]\n  (f\n    x)\n)\n\n",
        "remove the `)` at line 5, column 1",
    ),
    // Indentation tells where inside a form.
    (
        "(defn f [x]\n  (let [y (inc x)\n    (+ y 1)))\n(f 2)",
        "(defn f [x]\n  (let [y (inc x)]\n    (+ y 1)))\n(f 2)",
        "add `]` at the end of line 2",
    ),
    (
        "(defn f [x]\n  (when (pos? x\n    (g x)))",
        "(defn f [x]\n  (when (pos? x)\n    (g x)))",
        "add `)` at the end of line 2",
    ),
    ("(let [x 1]\n  (f x))\n  (g x))", "(let [x 1]\n  (f x)\n  (g x))", "remove the `)` at line 2, column 8"),
    ("{:a {:x 1\n :b 3}", "{:a {:x 1}\n :b 3}", "add `}` at the end of line 1"),
    (
        "(->> xs\n     (map inc)\n     (filter odd?)\n     (reduce +)))\n(f)",
        "(->> xs\n     (map inc)\n     (filter odd?)\n     (reduce +))\n(f)",
        "remove the `)` at line 4, column 17",
    ),
    // Results set deeper than their tests do not confuse it.
    (
        "(cond\n  (a)\n    (b)\n  (c)\n    (d 1\n  :else 3)",
        "(cond\n  (a)\n    (b)\n  (c)\n    (d 1)\n  :else 3)",
        "add `)` at the end of line 5",
    ),
    // Neither do other forms, however they are laid out, as long as they balance.
    (
        "(cond\n  (a)\n    (b))\n(f (g 1)\n   2))",
        "(cond\n  (a)\n    (b))\n(f (g 1)\n   2)",
        "remove the `)` at line 5, column 6",
    ),
];

/// Texts that could mean several things.
const DOUBTFUL: &[&str] = &[
    // Perhaps cut off.
    "(+ 1 2",
    "(tool/delete {:ids [1 2 3",
    "(let [x 1]",
    "(f\n  (g",
    "(f {:a (g 1)",
    // Perhaps a closer is missing inside the line.
    "(map inc [1 2)",
    "(f (g 1 2)",
    // Perhaps not indented.
    "(let [x 1]\n(+ x 1)",
    "(defn g [x]\n  x)\n(let [y 2]\n(g y)",
    "(f 1\n(g 2)",
    "(defn f [x]\n(let [y 1]\n(+ x y)\n(f 2)",
    "(defn f [x]\n  (let [y 1]\n(+ x y)",
    // Perhaps an opener is missing.
    "(f x) y)",
    "f x)",
    "a b) (c)",
    ")",
    "(f x) (g y))",
    "(f x] y)",
    // More than one mistake.
    "(a (b)\n(c]\n",
    "(f (g 1)\n(h (i 2)\n(j)",
    // More than the delimiters is wrong.
    "(f \"a)",
    "(f foo: (g 1)",
];

#[test]
fn certain_repairs_read() {
    for (source, expected, advice) in CERTAIN {
        let error = read(source).expect_err(source);
        assert_eq!(error.repaired.as_deref(), Some(*expected), "repairing {source:?}: {error:?}");
        assert!(read(expected).is_ok(), "{expected:?} reads");
        let hint = error.hint.as_deref().unwrap_or_default();
        assert!(hint.contains(advice), "repairing {source:?}: {hint}");
    }
}

#[test]
fn doubtful_texts_are_left_alone() {
    for source in DOUBTFUL {
        let error = read(source).expect_err(source);
        assert_eq!(error.repaired, None, "{source:?}");
        assert!(error.hint.is_some(), "{source:?} still has advice");
    }
}

/// Well-indented programs, as they should be.
const PROGRAMS: &[&str] = &[
    "(defn total [orders]\n  (->> orders\n       (filter #(= (:status %) \"paid\"))\n       (map :amount)\n       (reduce + 0)))\n\n(total data/orders)\n",
    "(let [xs [1 2 3]\n      m {:a 1\n         :b (inc 2)}\n      f (fn [x]\n          (if (odd? x)\n            (* x 2)\n            x))]\n  (println (map f xs)) ; show\n  {:sum (reduce + xs)\n   :m m})\n",
    "(def limit 10)\n(defn ok? [x]\n  (and (> x 1)\n       (< x limit)))\n(loop [i 0\n       acc []]\n  (if (ok? i)\n    (recur (inc i) (conj acc i))\n    acc))\n",
];

/// Whatever closer is dropped, doubled or swapped: the repair gives the program back, or there is none.
#[test]
fn a_repair_restores_the_program() {
    let (mut broken, mut restored) = (0, 0);
    for program in PROGRAMS {
        let meant = print(&read(program).expect("it reads"));
        for (at, closer) in program.match_indices([')', ']', '}']) {
            let (before, after) = (&program[..at], &program[at + 1..]);
            let doubled = closer.repeat(2);
            let swapped = if closer == ")" { "]" } else { ")" };
            for instead in ["", doubled.as_str(), swapped] {
                let error = read(&[before, instead, after].concat()).expect_err("it is broken");
                broken += 1;
                if let Some(repaired) = error.repaired {
                    let read_back = print(&read(&repaired).expect("a repaired text reads"));
                    assert_eq!(read_back, meant, "{before}⟨{instead}⟩{after}");
                    restored += 1;
                }
            }
        }
    }
    assert!(restored * 10 >= broken * 7, "{restored} of {broken} repaired");
}

#[test]
fn advice_stays_short() {
    let source = format!("(f{}", ")".repeat(1000));
    let error = read(&source).expect_err("too many closers");
    assert_eq!(error.repaired.as_deref(), Some("(f)"));
    assert!(error.hint.is_some_and(|hint| hint.len() < 200));
}
