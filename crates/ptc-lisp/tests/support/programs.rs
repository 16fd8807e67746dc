//! Random programs over data functions: always well-formed, mostly well-typed, and they shrink.
//!
//! An expression is made for a type: integer, boolean, string, vector of integers, or map from keywords to
//! integers. Each type has a local of the whole program (`n b s v m`) and the functions inside have `x`.

use proptest::prelude::*;
use proptest::sample::select;

/// Strategies for the five types at one depth.
#[derive(Clone)]
struct Level {
    int: BoxedStrategy<String>,
    bool: BoxedStrategy<String>,
    text: BoxedStrategy<String>,
    vector: BoxedStrategy<String>,
    map: BoxedStrategy<String>,
}

/// A whole program: some definitions, and a vector of expressions.
pub fn program() -> BoxedStrategy<String> {
    let level = (0..4).fold(leaves(), |below, _| above(&below));
    let parts = (level.int.clone(), level.bool, level.text, level.vector, level.map, level.int);
    parts
        .prop_map(|(int, bool, text, vector, map, body)| {
            format!(
                "(defn f [x] {body})\n(let [n {int} b {bool} s {text} v {vector} m {map}]\n  (println n b s)\n  \
                 [n b s v m (f n) (set v) (frequencies v) (group-by even? v)])"
            )
        })
        // Inside of the definition nothing of the body is known but x.
        .prop_map(|source| {
            let (head, rest) = source.split_once('\n').expect("two lines");
            format!("(def n 3) (def b true) (def s \"abc\") (def v [5 1 4]) (def m {{:a 1}})\n{head}\n{rest}")
        })
        .boxed()
}

fn leaves() -> Level {
    Level {
        int: prop_oneof![
            (-9i64..99).prop_map(|int| int.to_string()),
            select(vec!["n", "n", "9223372036854775807", "-1"]).prop_map(str::to_owned),
        ]
        .boxed(),
        bool: select(vec!["true", "false", "b"]).prop_map(str::to_owned).boxed(),
        text: select(vec!["s", "\"\"", "\"a b\"", "\"žluť\"", "\"1,2,3\""]).prop_map(str::to_owned).boxed(),
        vector: select(vec!["v", "[]", "[1]", "[3 1 2]", "(vec (range 20))"]).prop_map(str::to_owned).boxed(),
        map: select(vec!["m", "{}", "{:a 1}", "{:b 2 :a 3 :c 4}"]).prop_map(str::to_owned).boxed(),
    }
}

/// Fills the types in a pattern: `I`, `B`, `S`, `V` and `M` stand for expressions of the level below.
fn filled(pattern: &'static str, below: &Level) -> BoxedStrategy<String> {
    let holes: Vec<(usize, char)> = pattern.char_indices().filter(|(_, c)| c.is_ascii_uppercase()).collect();
    let parts: Vec<BoxedStrategy<String>> = holes
        .iter()
        .map(|(_, hole)| match hole {
            'I' => below.int.clone(),
            'B' => below.bool.clone(),
            'S' => below.text.clone(),
            'V' => below.vector.clone(),
            _ => below.map.clone(),
        })
        .collect();
    parts
        .prop_map(move |parts| {
            let mut out = String::new();
            let mut from = 0;
            for ((at, _), part) in holes.iter().zip(parts) {
                out.push_str(&pattern[from..*at]);
                out.push_str(&part);
                from = at + 1;
            }
            out + &pattern[from..]
        })
        .boxed()
}

fn any_of(patterns: &[&'static str], below: &Level, leaf: &BoxedStrategy<String>) -> BoxedStrategy<String> {
    let filled: Vec<BoxedStrategy<String>> = patterns.iter().map(|pattern| filled(pattern, below)).collect();
    // Shrinking goes to the leaf, which comes first.
    prop_oneof![1 => leaf.clone(), 4 => proptest::strategy::Union::new(filled)].boxed()
}

fn above(below: &Level) -> Level {
    Level {
        int: any_of(INTS, below, &below.int),
        bool: any_of(BOOLS, below, &below.bool),
        text: any_of(TEXTS, below, &below.text),
        vector: any_of(VECTORS, below, &below.vector),
        map: any_of(MAPS, below, &below.map),
    }
}

const INTS: &[&str] = &[
    "(+ I I)",
    "(- I I)",
    "(* I I)",
    "(quot I 7)",
    "(mod I 5)",
    "(count V)",
    "(count M)",
    "(count S)",
    "(reduce + 0 V)",
    "(reduce (fn [a x] (+ a (* x I))) 0 (take 5 V))",
    "(get M :a I)",
    "(if B I I)",
    "(let [x I] (+ x x))",
    "((fn [x] (- x I)) I)",
    "(nth V 0 I)",
    "(loop [i 0 a I] (if (< i 4) (recur (inc i) (+ a i)) a))",
    "(try (nth V I) (catch Exception e I))",
    "(let [c (atom I)] (doseq [x (take 3 V)] (swap! c + x)) @c)",
    "(apply max I V)",
    "(case (mod I 3) 0 I 1 I I)",
    "(or (parse-long S) I)",
    "(:a M I)",
];

const BOOLS: &[&str] = &[
    "(< I I)",
    "(= V V)",
    "(= M M)",
    "(not B)",
    "(and B B)",
    "(or B B)",
    "(even? I)",
    "(contains? M :a)",
    "(every? pos? V)",
    "(boolean (some neg? V))",
    "(str/blank? S)",
    "(= (hash V) (hash V))",
    "(boolean (re-find #\"[a-c]+\" S))",
    "(= (sort V) V)",
];

const TEXTS: &[&str] = &[
    "(str S I)",
    "(str V M)",
    "(str/upper-case S)",
    "(str/join \",\" V)",
    "(pr-str M)",
    "(str/replace S \"a\" S)",
    "(if B S S)",
    "(json/generate-string V)",
    "(format \"%05d|%s\" I S)",
    "(apply str (reverse S))",
    "(with-out-str (print V))",
    "(name (first (keys (assoc M :z 1))))",
];

const VECTORS: &[&str] = &[
    "(conj V I)",
    "(into V V)",
    "(mapv (fn [x] (+ x I)) V)",
    "(filterv (fn [x] (< x I)) V)",
    "(vec (sort V))",
    "(vec (sort-by - V))",
    "(vec (distinct V))",
    "(vec (take 6 (iterate inc I)))",
    "(vec (for [x V :when (odd? x)] (* x I)))",
    "(vec (vals M))",
    "(assoc (conj V 0) 0 I)",
    "(update (conj V 1) 0 + I)",
    "(vec (concat V V))",
    "(vec (partition-all 2 V))",
    "(vec (map + V V))",
    "(let [[x & more] V] (vec more))",
    "(vec (pmap inc V))",
    "(vec (set V))",
    "(into [] (comp (map inc) (filter even?)) V)",
    "(vec (reductions + V))",
    "(vec (interleave V V))",
    "(vec (range (mod I 30)))",
    "(vec (shuffle V))",
];

const MAPS: &[&str] = &[
    "(assoc M :b I)",
    "(dissoc M :a)",
    "(merge M M)",
    "(merge-with + M M)",
    "(update M :a (fnil inc 0))",
    "(zipmap [:a :b :c] V)",
    "(into {} (map (fn [[k x]] [k (+ x 1)])) M)",
    "(update-vals M inc)",
    "(select-keys M [:a :c])",
    "(reduce (fn [acc x] (assoc acc (keyword (str \"k\" x)) x)) M V)",
    "(into (sorted-map) M)",
    "(reduce-kv (fn [acc k x] (assoc acc k (* x I))) {} M)",
    "(if B M M)",
];
