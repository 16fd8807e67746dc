//! The same program does the same: value, prints, iteration order and fuel, however often it runs and in
//! whatever slices. `crates/ptc/tests/determinism.rs` compares processes.

mod support;

use proptest::prelude::*;
use ptc_lisp::Limits;
use support::programs::program;
use support::trace;

fn limits() -> Limits {
    Limits { fuel: 200_000, memory: 8 << 20, ..Limits::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_programs_do_the_same_in_any_slices(source in program()) {
        let whole = trace(&source, &limits(), u64::MAX);
        for slice in [61, 5_000] {
            prop_assert_eq!(&trace(&source, &limits(), slice), &whole, "{}", source);
        }
    }
}

/// Programs whose answer could depend on hashes, addresses, allocation or time.
const DELICATE: &[&str] = &[
    "(into {} (map (fn [i] [(str \"key\" i) i]) (range 200)))",
    "(set (map (fn [i] [i {:a i}]) (range 100)))",
    "(group-by #(mod % 7) (shuffle (range 100)))",
    "(frequencies (map (fn [i] {:k (mod i 5)}) (range 50)))",
    "(hash [{:a 1} #{1 2} \"x\" 'y nil 2.5 (fn [] 1)])",
    "[(rand) (rand-int 100) (random-uuid) (rand-nth [1 2 3])]",
    "(str (gensym) (fn [] 1) (atom 1))",
    "(reduce (fn [m i] (assoc (dissoc m (- i 5)) i (range i))) {} (range 60))",
    "(count (loop [xs [] i 0] (if (< i 30000) (recur (conj xs (str \"text number \" i)) (inc i)) xs)))",
    "(let [a (atom nil)] (dotimes [i 3000] (reset! a [a (vec (range 100))])) (count @a))",
    "(clojure.set/union (set (range 30)) (set (map str (range 30))))",
    "(pmap (fn [x] (reduce + (map #(* x %) (range 100)))) (range 10))",
    "(take 20 (map vector (iterate inc 1) (cycle [:a :b])))",
    "(loop [] (recur))",
    "(loop [xs []] (recur (conj xs (vec (range 100)))))",
    "(defn f [x] (some-> x f inc)) (f 1)",
    r#"(re-find #"(x)\1*y" (apply str (repeat 20000 "x")))"#,
    "(get {(vec (range 30000)) 1} (vec (range 30000)))",
    "(= (vec (range 60000)) (vec (range 60000)))",
];

#[test]
fn delicate_programs_do_the_same_in_any_slices() {
    // Also with fuel that ends in the midst of what it runs.
    let scarce = Limits { fuel: 100_000, ..limits() };
    for (source, limits) in DELICATE.iter().flat_map(|source| [(source, limits()), (source, scarce.clone())])
    {
        let whole = trace(source, &limits, u64::MAX);
        for slice in [61, 500, 5_000] {
            assert_eq!(trace(source, &limits, slice), whole, "{source} in slices of {slice}");
        }
    }
}

#[test]
fn delicate_programs_do_the_same_a_hundred_times() {
    for source in DELICATE {
        let first = trace(source, &limits(), u64::MAX);
        for _ in 0..100 {
            assert_eq!(trace(source, &limits(), u64::MAX), first, "{source}");
        }
    }
}
