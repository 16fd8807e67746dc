//! The ways by which a value leaves a program. What hosts do with every program (JSON, view, dump, trace, recording …)
//! is done by the process that runs it.

use super::random::Random;

/// A way out: what it is called, and a program that takes it. `$` is an expression, `%` the id of a task or step.
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
    ("task", "(task % $)"),
    ("task", "(do (task % $) nil)"),
    ("task", "(task % {$ $})"),
    ("step", "(step-done % $)"),
    ("step", "(step-done % (str $))"),
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
    let exit = exit.replace('%', id);
    // A value that is made once may leave many times.
    let (value, bound) = match random.percent(50) && exit.contains('$') {
        true => ("v", true),
        false => (expression, false),
    };
    let body = around.replacen('$', &exit.replace('$', value), 1);
    let body = if bound { format!("(let [v {expression}] {body})") } else { body };
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
