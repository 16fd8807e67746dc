//! Two owners on one thread: one plants values that can hold others where both may meet, and the other looks. Whatever
//! one writes names its owner, so that it is known where it must not be.

use super::job::{Step, canary};
use super::random::Random;

/// Maps whose insides machines may share: constants of the library, of preludes and of programs, rows of inputs.
pub const BASES: &[&str] = &[
    "(make-hierarchy)",
    "(derive (make-hierarchy) :x :y)",
    "{:a 1}",
    "{:parents {} :a [1 2]}",
    "shared/table",
    "(shared/base)",
    "(shared/row 1)",
    "(first shared/rows)",
    "shared/nothing",
    "(first data/rows)",
    "(first (tool/items {}))",
    "(meta #'clojure.core/map)",
    "(frequencies [:a :b])",
    "(group-by odd? [1 2])",
    "(ex-data (ex-info \"e\" {:a 1}))",
    "(json/parse-string \"{\\\"a\\\":1}\" true)",
    "(zipmap [:a] [1])",
    "(hash-map :a 1)",
    "(array-map :a 1)",
    "(select-keys shared/table [:a])",
    "(into {} [[:a 1]])",
    "{}",
];

/// Keys that are equal and not the same: with room for something of the owner's (`M`), and plain.
pub const KEYS: &[(&str, &str)] = &[
    ("(with-meta [1 2] M)", "[1 2]"),
    ("(with-meta (list 1 2) M)", "[1 2]"),
    ("(with-meta (list 1 2) M)", "'(1 2)"),
    ("(with-meta {:k 1} M)", "{:k 1}"),
    ("(with-meta #{1} M)", "#{1}"),
    ("(with-meta 'sym M)", "'sym"),
    ("[(with-meta [1] M)]", "[[1]]"),
    ("{:k (with-meta [] M)}", "{:k []}"),
    ("(map identity [1 2])", "[1 2]"),
    ("(with-meta (map identity [1 2]) M)", "[1 2]"),
    ("(lazy-seq (list (with-meta [1] M)))", "[[1]]"),
    ("(doall (map (fn [x] (with-meta [x] M)) [1]))", "[[1]]"),
    ("1.0", "1"),
    (":k", ":k"),
    ("\"k\"", "\"k\""),
];

/// Ways to put an entry into a map; `B`, `K` and `V` stand for map, key and value.
pub const CHANGES: &[&str] = &[
    "(assoc B K V)",
    "(conj B [K V])",
    "(merge B {K V})",
    "(into B [[K V]])",
    "(update B K (constantly V))",
    "(assoc-in B [K] V)",
    "(update-in B [K :deep] (constantly V))",
    "(shared/put B K V)",
    "(reduce-kv assoc B {K V})",
    "(persistent! (assoc! (transient B) K V))",
    "(dissoc (assoc B K V :gone 1) :gone)",
    "(clojure.set/rename-keys (assoc B :old V) {:old K})",
    "(with-meta B {K V})",
    "(zipmap [:a K] [1 V])",
    "(set/map-invert {V K})",
    "(merge-with vector B {K V})",
    "(into (sorted-map-by (fn [a b] (compare (str a) (str b)))) (assoc B K V))",
    "(set (conj (keys B) K))",
    "(group-by (constantly K) [V V])",
    "(frequencies [K K V])",
];

fn change(text: &str, base: &str, key: &str, value: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            'B' => out.push_str(base),
            'K' => out.push_str(key),
            'V' => out.push_str(value),
            other => out.push(other),
        }
    }
    out
}

/// A pair: one plants, the other looks, the first looks again. The programs may be turns of agents.
pub fn steps(random: &mut Random, agents: bool) -> Vec<Step> {
    let (base, (planted, plain)) = (*random.pick(BASES), *random.pick(KEYS));
    let text = *random.pick(CHANGES);
    let other = if random.percent(80) { text } else { *random.pick(CHANGES) };
    let (planter, looker) = if agents || random.percent(50) { (0, 1) } else { (1, 0) };
    let mut steps = vec![
        Step { owner: planter, source: plant(base, planted, text, planter, random.percent(70)) },
        Step { owner: looker, source: look(base, plain, other, looker) },
        Step { owner: planter, source: "[@cell (map meta (keys m)) (pr-str m)]".to_owned() },
    ];
    if agents {
        steps[0].source.push_str("\n(def seen (tool/child {}))");
        steps[1].source = format!("(return {{:seen (pr-str {})}})", steps[1].source);
        steps[2].source = format!("(return {{:seen (pr-str {})}})", steps[2].source);
    }
    steps
}

fn plant(base: &str, key: &str, text: &str, owner: usize, many: bool) -> String {
    let own = canary(owner);
    let key = key.replace('M', "held");
    // Rows that change alike come to share the keys that they have then.
    let from = if many { "(cs 0)" } else { base };
    let planted = change(text, from, &key, "1");
    format!(
        "(defn f [x] (let [a (str \"{own}\" x) b [a a a] c {{:a a :b b}}] (mapv (fn [y] [y a b c]) (range 9))))\n\
         (def cell (atom \"{own}\"))\n\
         (def held {{\"n\" \"{own}\" \"c\" cell \"f\" f :strange-{owner}/name 'strange-{owner}}})\n\
         (def cs (mapv (fn [n] (assoc {base} :parents n)) (range 10)))\n\
         (def m {planted})\n(def ms (mapv (fn [b] {}) cs))",
        change(text, "b", &key, "1")
    )
}

fn look(base: &str, key: &str, text: &str, owner: usize) -> String {
    let own = canary(owner);
    let made = change(text, base, key, ":mine");
    let again = change(text, &format!("(assoc {base} :parents 1)"), key, ":mine");
    format!(
        "(let [all (fn [m] (concat [m] (if (map? m) (concat (keys m) (vals m)) m)))\n\
         deep (fn deep [n x] (concat [x (meta x)] (vals (meta x)) (if (and (coll? x) (pos? n)) (mapcat (fn [y] (deep (dec n) y)) (all x)) [])))\n\
         found (doall (take 200 (mapcat (fn [m] (deep 2 m)) [{made} {again}])))]\n\
         [(mapv pr-str found)\n\
         (mapv (fn [v] (try (if (fn? v) (pr-str (v 1)) nil) (catch Throwable e (ex-message e)))) found)\n\
         (mapv (fn [v] (try (reset! v \"{own}\") (catch Throwable e nil))) found)])"
    )
}
