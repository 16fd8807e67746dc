//! The ways by which a value leaves a program. What hosts do with every program (JSON, view, dump, trace, recording …)
//! is done by the process that runs it.

use super::random::Random;

/// A way out: what it is called, and a program that takes it. `$` is an expression, `ID` the id of a task or step.
pub const EXITS: &[(&str, &str)] = &[
    ("value", "$"),
    ("value inside", "[$ {:a $}]"),
    ("value as a key", "{$ 1}"),
    ("print", "(println $)"),
    ("print", "(prn $)"),
    ("print", "(print (pr-str $))"),
    ("print", "(clojure.pprint/pprint $)"),
    ("print", "(printf \"%s %s\" $ $)"),
    ("tool argument", "(tool/t {:a $})"),
    ("tool argument", "(tool/t $)"),
    ("tool argument", "(tool/t {$ 1})"),
    ("tool argument", "(call \"t\" {:a $})"),
    ("tool argument", "(tool/call {:server \"s\" :tool \"t\" :args {:a $}})"),
    ("tool argument", "(pmap (fn [x] (tool/t {:a x :b $})) [1 2])"),
    ("definition", "(do (def d $) nil)"),
    ("definition", "(defonce d $)"),
    ("definition", "(do (def d (atom nil)) (reset! d $) nil)"),
    ("definition", "(do (let [x $] (defn d [] x)) nil)"),
    ("task", "(task ID $)"),
    ("task", "(do (task ID $) nil)"),
    ("task", "(task ID {$ $})"),
    ("step", "(step-done ID $)"),
    ("step", "(step-done ID (str $))"),
    ("return", "(return $)"),
    ("return", "(return {:a $ :n 1})"),
    ("fail", "(fail $)"),
    ("fail", "(fail {:reason :x :message $})"),
    ("error", "(throw (ex-info \"m\" {:a $}))"),
    ("error", "(throw (ex-info (str $) {}))"),
    ("error", "(throw $)"),
    ("error", "(assert false $)"),
    ("error", "(+ 1 $)"),
    ("error", "($ 1)"),
    ("text", "(str $)"),
    ("text", "(count (pr-str $))"),
    ("text", "(format \"%s\" $)"),
    ("JSON text", "(json/write-str $)"),
    ("JSON text", "(json/generate-string {$ 1})"),
    ("JSON text", "(json/stringify {:a $} {:pretty true})"),
    ("hash", "(hash $)"),
    ("hash", "(get {$ 1} $)"),
    ("equality", "(= $ $)"),
    ("order", "(compare $ $)"),
];

/// Ways by which a program makes its machine or its host keep something, again and again.
pub const HOARDS: &[&str] = &[
    "(loop [n 0 kept []] (recur (inc n) (conj kept $)))",
    "(let [v $] (loop [n 0 kept []] (recur (inc n) (conj kept [n v]))))",
    "(let [v $] (loop [n 0] (step-done (str n) (str v)) (recur (inc n))))",
    "(let [v $] (loop [n 0] (task (str n) v) (recur (inc n))))",
    "(loop [n 0] (task (str n) $) (recur (inc n)))",
    "(let [v $] (loop [n 0] (println v n) (recur (inc n))))",
    "(let [v $] (loop [n 0] (tool/t {:n n :v v}) (recur (inc n))))",
    "(let [v $ a (atom [])] (loop [n 0] (swap! a conj v n) (recur (inc n))))",
    "(let [v $ a (atom 0)] (loop [n 0] (add-watch a [v n] (fn [& _] v)) (recur (inc n))))",
    "(do (def d 1) (let [v $] (loop [n 0] (alter-meta! #'d assoc n v) (recur (inc n)))))",
    "(let [v $] (loop [n 0 e nil] (recur (inc n) (ex-info (str n) {:v v :n n} e))))",
    "(let [v $] (loop [n 0 f identity] (recur (inc n) (fn [x] [v n (f x)]))))",
    "(let [v $] (loop [n 0 m {}] (recur (inc n) (assoc m [n v] (with-meta [n] {:v v :n n})))))",
    "(let [v $] (loop [n 0] (derive (keyword (str \"k\" n)) ::all) (recur (inc n))))",
    "(let [v $ f (memoize (fn [n] [n v]))] (loop [n 0] (f n) (recur (inc n))))",
    "(do (defmulti g identity) (let [v $] (loop [n 0] (defmethod g n [_] v) (recur (inc n)))))",
    "(let [v $ s (map (fn [n] [n v]) (range))] (loop [n 0] (nth s n) (recur (inc n))))",
    "(let [v $] (loop [n 0 s \"\"] (recur (inc n) (str s v))))",
    "(let [v $ b (StringBuilder.)] (loop [] (.append b v) (recur)))",
    "(let [v $] (loop [n 0] (try (throw (ex-info (str n) {:v v})) (catch Exception e nil)) (recur (inc n))))",
    "(let [v $] (pmap (fn [n] (loop [k [] i 0] (if (< i 9) (recur (conj k v [n i]) (inc i)) (tool/t {:k k})))) (range 400)))",
    "(let [v $] (loop [k []] (recur (conj k (pcalls (fn [] #{1 2}) (fn [] v))))))",
    "(loop [k []] (recur (conj k (pmap identity [1 $]))))",
    "(let [v $] (loop [n 0 t (transient [])] (recur (inc n) (conj! t [v n]))))",
    "(let [v $] (loop [n 0 ks []] (recur (inc n) (conj ks (keyword (str v n))))))",
    "(let [v $] (loop [n 0 ks []] (recur (inc n) (conj ks (re-pattern (str \"(\" n \"|b)*c{9}\"))))))",
    "(let [v $] (loop [n 0 q []] (recur (inc n) (conj q (delay [v n]) (lazy-seq [v n])))))",
    "(let [v $] (with-out-str (loop [n 0] (println v n) (recur (inc n)))))",
    "(let [v $] (loop [k []] (recur (conj k v))))",
    "(let [v $] (loop [n 0 m (sorted-map)] (recur (inc n) (assoc m n v))))",
    "(let [v $] (loop [n 0 s #{}] (recur (inc n) (conj s n))))",
];

/// What is done around a way out; `$` is it.
const AROUND: &[(&str, usize)] = &[
    ("$", 60),
    ("(try $ (catch Throwable e [(ex-message e) (ex-data e) e]))", 8),
    ("(loop [n 0] $ (recur (inc n)))", 10),
    ("(loop [n 0 kept []] (recur (inc n) (conj kept $)))", 8),
    ("(mapv (fn [n] $) (range 500))", 6),
    ("(map (fn [n] $) (range))", 3),
    ("(pmap (fn [n] $) (range 20))", 3),
    ("(with-out-str $)", 2),
];

/// A program that takes a way out with an expression.
pub fn program(random: &mut Random, exit: &str, expression: &str) -> String {
    let around = weighted(random);
    let id = if around.contains("[n") { "(str n)" } else { "\"gather\"" };
    let exit = exit.replace("ID", id);
    // A value that is made once may leave many times.
    let (value, bound) = match random.percent(50) && exit.contains('$') {
        true => ("v", true),
        false => (expression, false),
    };
    let body = around.replacen('$', &exit.replace('$', value), 1);
    let body = if bound { format!("(let [v {expression}] {body})") } else { body };
    whole(&body)
}

/// A program that takes a way out once, with nothing around it.
pub fn once(exit: &str, expression: &str) -> String {
    whole(&exit.replace('$', expression))
}

/// A program that keeps an expression.
pub fn hoard(random: &mut Random, expression: &str) -> String {
    whole(&random.pick(HOARDS).replacen('$', expression, 1))
}

/// With the definitions that it needs.
fn whole(body: &str) -> String {
    let record = if body.contains("->Pair") { "(defrecord Pair [a b])\n" } else { "" };
    format!("{record}{body}")
}

fn weighted(random: &mut Random) -> &'static str {
    let total: usize = AROUND.iter().map(|(_, weight)| weight).sum();
    let mut left = random.below(total);
    for (text, weight) in AROUND {
        if left < *weight {
            return text;
        }
        left -= weight;
    }
    "$"
}
