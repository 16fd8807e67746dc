//! Functions of a program that natives can run: code that only looks up, compares, computes, chooses and
//! builds, like `#(> (:amount %) 100)` or `(fn [{:keys [a b]}] {:sum (+ a b)})`.
//!
//! The code is followed once (`follow`) and becomes an expression (`expr`); that is evaluated for one item
//! after the other without a call. Only what the code would compute in any case may be computed: where a result
//! that might be an error goes unused, the function is left to the machine.

use std::borrow::Cow;
use std::sync::LazyLock;

use super::expr::Expr;
use super::follow::follow;
use super::numeric::{sum, sum_of_ints};
use super::{BuiltinId, NativeFn, Run, registry};
use crate::heap::Heap;
use crate::machine::is_core;
use crate::signal::Res;
use crate::value::{Closure, Value};

/// Builtins without effects.
const PURE: &[&str] = &[
    "clojure.core/*",
    "clojure.core/+",
    "clojure.core/-",
    "clojure.core//",
    "clojure.core/<",
    "clojure.core/<=",
    "clojure.core/=",
    "clojure.core/>",
    "clojure.core/>=",
    "clojure.core/abs",
    "clojure.core/boolean",
    "clojure.core/compare",
    "clojure.core/contains?",
    "clojure.core/count",
    "clojure.core/dec",
    "clojure.core/double",
    "clojure.core/empty?",
    "clojure.core/even?",
    "clojure.core/false?",
    "clojure.core/ffirst",
    "clojure.core/first",
    "clojure.core/get",
    "clojure.core/get-in",
    "clojure.core/identity",
    "clojure.core/inc",
    "clojure.core/integer?",
    "clojure.core/key",
    "clojure.core/keyword",
    "clojure.core/keyword?",
    "clojure.core/last",
    "clojure.core/long",
    "clojure.core/map?",
    "clojure.core/max",
    "clojure.core/min",
    "clojure.core/mod",
    "clojure.core/name",
    "clojure.core/neg?",
    "clojure.core/nil?",
    "clojure.core/not",
    "clojure.core/not=",
    "clojure.core/nth",
    "clojure.core/number?",
    "clojure.core/odd?",
    "clojure.core/parse-boolean",
    "clojure.core/parse-double",
    "clojure.core/parse-long",
    "clojure.core/peek",
    "clojure.core/pos?",
    "clojure.core/quot",
    "clojure.core/re-matches",
    "clojure.core/re-seq",
    "clojure.core/rem",
    "clojure.core/second",
    "clojure.core/some?",
    "clojure.core/str",
    "clojure.core/string?",
    "clojure.core/subs",
    "clojure.core/true?",
    "clojure.core/val",
    "clojure.core/vector?",
    "clojure.core/zero?",
    "clojure.string/blank?",
    "clojure.string/capitalize",
    "clojure.string/ends-with?",
    "clojure.string/includes?",
    "clojure.string/index-of",
    "clojure.string/join",
    "clojure.string/lower-case",
    "clojure.string/replace",
    "clojure.string/split",
    "clojure.string/starts-with?",
    "clojure.string/trim",
    "clojure.string/trim-newline",
    "clojure.string/triml",
    "clojure.string/trimr",
    "clojure.string/upper-case",
    "prim/bindable-map",
    "prim/nth",
];

/// Builtins without effects unless they have one argument: the next match of a matcher is not the one before.
const PURE_OF_TWO: &[&str] = &["clojure.core/re-find"];

/// Builtins without effects that change their first argument in place if nobody else has it. Natives keep
/// what they hand over, so these copy: right for one item after the other, wrong for what a fold builds up.
const COPYING: &[&str] = &[
    "clojure.core/assoc",
    "clojure.core/conj",
    "clojure.core/dissoc",
    "clojure.core/merge",
    "clojure.core/select-keys",
];

/// The native behind a builtin without effects that takes `count` arguments, one that copies included.
pub(super) fn copying_native_of(id: BuiltinId, count: usize) -> Option<NativeFn> {
    let entry = registry().get(id);
    match entry.run {
        Run::Native(run) if COPYING.contains(&entry.name) && entry.arity().accepts(count) => Some(run),
        _ => native_of(id, count),
    }
}

/// The native behind a builtin without effects that takes `count` arguments.
pub(super) fn native_of(id: BuiltinId, count: usize) -> Option<NativeFn> {
    static IDS: LazyLock<Vec<BuiltinId>> = LazyLock::new(|| {
        let mut ids: Vec<_> = PURE.iter().filter_map(|name| registry().qualified(name)).collect();
        ids.sort_unstable();
        ids
    });
    let entry = registry().get(id);
    let pure = || IDS.binary_search(&id).is_ok() || (count == 2 && PURE_OF_TWO.contains(&entry.name));
    match entry.run {
        Run::Native(run) if entry.arity().accepts(count) && pure() => Some(run),
        _ => None,
    }
}

/// A function of one or two arguments as an expression.
pub(super) struct Pure {
    body: Expr,
    /// Fuel for one item, which callers charge.
    pub(super) cost: usize,
    /// Whether it makes something that takes memory.
    makes: bool,
}

impl Pure {
    /// The expression of a function with so many parameters, if it has one.
    pub(super) fn of(heap: &Heap, function: &Closure, params: u8) -> Option<Pure> {
        let (body, steps) = follow(heap, function, params)?;
        Some(Pure { cost: body.size().max(steps), makes: body.makes(), body })
    }

    /// The result for an item, or for what a fold has so far and an item.
    #[inline]
    pub(super) fn apply<'i>(&'i mut self, heap: &mut Heap, items: [&'i Value; 2]) -> Res<Cow<'i, Value>> {
        if self.makes {
            heap.work(0)?;
        }
        self.body.eval(heap, items)
    }

    /// Whether the result for an item counts as true.
    #[inline]
    pub(super) fn test(&mut self, heap: &mut Heap, item: &Value) -> Res<bool> {
        if self.makes {
            heap.work(0)?;
        }
        self.body.test(heap, [item, item])
    }
}

/// Whether a function takes any number of arguments and is a fold of two.
pub(super) fn folds_arguments(function: &Value) -> bool {
    const FOLDING: &[&str] = &["clojure.core/+", "clojure.core/max", "clojure.core/min", "clojure.core/*"];
    matches!(function, Value::Builtin(id) if FOLDING.contains(&registry().get(*id).name))
}

/// A function of two arguments that natives can fold with.
pub(super) enum Fold {
    Sum,
    Native(NativeFn),
    Pure(Pure),
}

impl Fold {
    /// Recognises a function.
    pub(super) fn of(heap: &Heap, function: &Value) -> Option<Fold> {
        match function {
            Value::Builtin(id) if registry().get(*id).name == "clojure.core/+" => Some(Fold::Sum),
            Value::Builtin(id) => native_of(*id, 2).map(Fold::Native),
            Value::Fn(body) if !is_core(body.unit.id) => Pure::of(heap, body, 2).map(Fold::Pure),
            _ => None,
        }
    }

    /// Fuel for one item, which callers charge.
    pub(super) fn cost(&self) -> usize {
        match self {
            Fold::Pure(function) => function.cost,
            Fold::Sum | Fold::Native(_) => 0,
        }
    }

    /// The fold over some items.
    pub(super) fn over<'i>(
        &mut self,
        heap: &mut Heap,
        mut so_far: Value,
        items: impl Iterator<Item = &'i Value>,
    ) -> Res {
        match self {
            Fold::Sum => return sum(heap, so_far, items),
            Fold::Native(run) => {
                for item in items {
                    so_far = run(heap, &mut [so_far, item.clone()])?;
                }
            }
            Fold::Pure(function) => {
                for item in items {
                    let next = function.apply(heap, [&so_far, item])?.into_owned();
                    so_far = next;
                }
            }
        }
        Ok(so_far)
    }

    /// The fold over some integers.
    pub(super) fn over_ints(
        &mut self,
        heap: &mut Heap,
        so_far: Value,
        ints: impl Iterator<Item = i64>,
    ) -> Res {
        match self {
            Fold::Sum => sum_of_ints(heap, so_far, ints),
            _ => ints
                .map(Value::Int)
                .try_fold(so_far, |so_far, int| self.over(heap, so_far, std::iter::once(&int))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::check;
    use super::*;

    #[test]
    fn pure_builtins_are_natives_in_the_order_of_their_names() {
        assert!(PURE.is_sorted());
        for name in PURE {
            let id = registry().qualified(name).unwrap_or_else(|| panic!("{name} is not declared"));
            assert!(matches!(registry().get(id).run, Run::Native(_)), "{name} is not native");
        }
    }

    #[test]
    fn functions_without_effects_give_what_calls_give() {
        let each = |function: &str| {
            format!("(nth (mapv {function} (mapv (fn [n] {{:n n :s (str \"s\" n)}}) (range 20))) 5)")
        };
        let cases = [
            ("#(> (:n %) 4)", "true"),
            ("(fn [{:keys [n s]}] {:twice (* 2 n) :s s})", "{:twice 10, :s \"s5\"}"),
            ("(fn [x] (if (even? (:n x)) :even (do :odd)))", ":odd"),
            ("(fn [x] (and (> (:n x) 4) (:s x)))", "\"s5\""),
            ("(fn [x] (or (:missing x) (when-not (:n x) 1) [(:n x) (- (:n x))]))", "[5 -5]"),
            ("(fn [x] (cond (< (:n x) 3) :low (< (:n x) 9) :middle :else :high))", ":middle"),
            ("(let [k 10] (fn [x] (+ k (:n x))))", "15"),
            ("(fn [x] (let [n (:n x)] (loop [i 0] (if (< i n) (recur (inc i)) i))))", "5"),
            ("(fn [x] (count (:s x)))", "2"),
            ("(fn [x] (if-some [v (:none x)] v :nothing))", ":nothing"),
            ("(fn [x] (inc :a) x)", "error: type_error"),
            ("(fn [x] (let [bad (+ 1 (:s x))] (if (:n x) 1 bad)))", "error: type_error"),
            ("(fn [x] (+ 1 (:s x)))", "error: type_error"),
            ("(fn [x] {:a 1 (:n x) 2})", "{:a 1, 5 2}"),
            ("(let [m {5 :five}] (fn [x] (m (:n x))))", ":five"),
            ("(let [m {5 :five}] (fn [x] [(m (:n x)) (#{5} (:n x))]))", "[:five 5]"),
            ("(let [twice (fn [n] (if (< n 0) 0 (* 2 n)))] (fn [x] (inc (twice (:n x)))))", "11"),
            ("(fn [x] (if (= 5 (:n x)) (if (>= (:n x) 5) :yes :less) :no))", ":yes"),
            ("(fn [x] (assoc x :m (:n x)))", "{:n 5, :s \"s5\", :m 5}"),
            ("(fn [x] (if (< (:s x) 1) 1 2))", "error: type_error"),
            ("(let [f (fn [s] (+ 1 s))] (fn [x] (f (:s x)) 1))", "error: type_error"),
            ("(let [f (fn [s] (if s 1 (+ 1 s)))] (fn [x] (f (:s x)) 2))", "2"),
        ];
        let sources = cases.map(|(function, expected)| (each(function), expected));
        check(&sources.each_ref().map(|(source, expected)| (source.as_str(), *expected)));
    }

    #[test]
    fn functions_of_the_session_are_followed_and_recursion_is_not() {
        check(&[
            ("(do (defn half [n] (/ n 2)) (mapv #(half %) (range 0 20 2)))", "[0 1 2 3 4 5 6 7 8 9]"),
            ("(do (defn half [n] (/ n 2)) (mapv (fn [x] (half x) 1) (repeat 20 :a)))", "error: type_error"),
            (
                "(do (defn down [n] (if (> n 0) (down (dec n)) :end)) (set (mapv #(down %) (range 20))))",
                "#{:end}",
            ),
        ]);
    }

    #[test]
    fn a_short_function_may_not_become_a_huge_expression() {
        let bindings: Vec<String> = (1..60).map(|n| format!("x{n} (- (+ x{0} x{0}) x{0})", n - 1)).collect();
        let program = format!("(nth (mapv (fn [x0] (let [{}] x59)) (range 20)) 7)", bindings.join(" "));
        check(&[(program.as_str(), "7")]);
    }

    #[test]
    fn effects_happen_once() {
        check(&[(
            "(let [seen (atom 0)] (mapv (fn [x] (swap! seen inc) (:n x)) (repeat 20 {:n 1})) @seen)",
            "20",
        )]);
    }
}
