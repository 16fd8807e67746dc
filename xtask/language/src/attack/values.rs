//! Hostile values: what shares its parts without end, goes in circles, nests, is as large as it may be, or is equal
//! to nothing.

/// A value and how programs make it.
#[derive(Clone, Debug)]
pub struct Hostile {
    pub name: String,
    pub source: String,
    pub sort: Sort,
}

/// Sorts of values, which are equally many in programs however many of them there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// Built of holders.
    Built,
    /// Goes in circles.
    Cycle,
    /// A circle inside of something.
    Held,
    /// Hostile by itself.
    Odd,
}

/// Everything that can hold a value; `x` is the value.
pub const HOLDERS: &[(&str, &str)] = &[
    ("vector", "[x x]"),
    ("list", "(list x x)"),
    ("map", "{:a x :b x}"),
    ("key", "{x 1 [x] 2}"),
    ("set", "#{x [x]}"),
    ("array", "(object-array [x x])"),
    ("atom", "(atom [x x])"),
    ("volatile", "(volatile! [x x])"),
    ("delay", "(doto (delay [x x]) deref)"),
    ("lazy sequence", "(doall (map identity [x x]))"),
    ("unrealised sequence", "(map vector [x x])"),
    ("exception", "(ex-info \"e\" {:a x :b x})"),
    ("cause", "(ex-info \"e\" {:a x} (ex-info \"f\" {:b x}))"),
    ("metadata", "(with-meta [1] {:a x :b x})"),
    ("metadata of a symbol", "(with-meta 'y {:a x :b x})"),
    ("closure", "(let [y x] (fn [] [y x]))"),
    ("partial function", "(partial vector x x)"),
    ("memoized function", "(let [f (memoize identity)] (f x) (f [x]) f)"),
    ("record", "(->Pair x x)"),
    ("queue", "(conj clojure.lang.PersistentQueue/EMPTY x x)"),
    ("sorted map", "(sorted-map 1 x 2 x)"),
    ("sorted set", "(sorted-set-by (fn [a b] (compare (count (pr-str a)) (count (pr-str b)))) x [x])"),
    ("map entry", "(first {x x})"),
    ("reduced", "(reduced [x x])"),
    ("transient", "(transient [x x])"),
    ("watch", "(doto (atom x) (add-watch x (fn [& _] x)))"),
    ("text", "(str [x x])"),
];

/// Values that come back to themselves.
const CYCLES: &[(&str, &str)] = &[
    ("array in itself", "(let [a (object-array 1)] (aset a 0 a) a)"),
    ("array in itself, twice", "(let [a (object-array 2)] (aset a 0 [a]) (aset a 1 {a a}) a)"),
    ("atom in itself", "(let [a (atom nil)] (reset! a [a a]) a)"),
    ("atoms in a circle", "(let [a (atom nil) b (atom a)] (reset! a {:b b}) [a b])"),
    ("volatile in itself", "(let [v (volatile! nil)] (vreset! v {:v v}) v)"),
    ("sequence in itself", "(let [a (atom nil) s (lazy-seq (list @a 1))] (reset! a s) (doall s))"),
    ("delay in itself", "(let [a (atom nil) d (delay [@a])] (reset! a d) @d d)"),
    ("exception in itself", "(let [a (atom nil) e (ex-info \"e\" {:a a})] (reset! a e) e)"),
    ("metadata in itself", "(let [a (atom nil) m (with-meta [1] {:a a})] (reset! a m) m)"),
    ("closure in itself", "(let [a (atom nil) f (fn [] @a)] (reset! a f) f)"),
    ("array in its atom", "(let [a (atom nil) r (object-array [a])] (reset! a r) {:r r})"),
    ("circle as a key", "(let [a (object-array 1)] (aset a 0 a) {a a})"),
    ("circle in metadata", "(let [a (object-array 1)] (aset a 0 a) (with-meta [1] {:a a}))"),
];

/// Values that are hostile by themselves.
const ODD: &[(&str, &str)] = &[
    ("long text", "(apply str (repeat 100000 \"xxxxxxxxxx\"))"),
    ("long text of wide characters", "(apply str (repeat 50000 \"\u{e9}\u{1f44d}\u{1f3fd} \"))"),
    ("text of quotes", "(apply str (repeat 200000 \"\\\"\\n\"))"),
    ("bidi text", "\"\u{202e}abc\u{2066}\u{200b}\u{feff}\""),
    ("terminal text", "(str (char 27) \"]52;c;eA==\" (char 7) (char 27) \"[2J\" (char 0))"),
    ("digits", "(apply str (repeat 9000 \"7\"))"),
    ("brackets", "(apply str (repeat 50000 \"[\"))"),
    ("keyword of a long text", "(keyword (apply str (repeat 100000 \"k\")))"),
    ("many keywords", "(mapv (fn [n] (keyword (str \"k\" n))) (range 5000))"),
    ("not a number", "##NaN"),
    ("not-a-number keys", "(into {} (map (fn [n] [##NaN n])) (range 2000))"),
    ("infinity", "##Inf"),
    ("negative zero", "-0.0"),
    ("smallest integer", "-9223372036854775808"),
    ("largest integer", "9223372036854775807"),
    ("huge integer", "(reduce *' (range 1 2500))"),
    ("huge integers", "(mapv (fn [n] (reduce *' (range 1 (+ 500 n)))) (range 50))"),
    ("quotient", "(/ 1 3)"),
    ("ratio", "-22/7"),
    ("longest denominator", "(reduce * (repeat 2500 1/3))"),
    ("longest numerator", "(* 1/7919 (reduce *' (range 1 2500)))"),
    ("ratio of huge integers", "(/ (reduce *' (range 1 500)) (inc (reduce *' (range 1 400))))"),
    ("tiny float", "4.9E-324"),
    ("exact decimal", "1E-400M"),
    ("smallest decimal", "1E-10000M"),
    ("longest decimal", "(+ 1E9999M 1E-9999M)"),
    ("decimals of all scales", "(mapv (fn [n] (.movePointLeft 7M n)) (range -500 500))"),
    ("formatter of numbers", "(java.text.DecimalFormat. \"#,##0.00\")"),
    ("colliding integers", "(into {} (map (fn [n] [(* n 4294967296) n])) (range 3000))"),
    ("colliding floats", "(set (map (fn [n] (* 1.0 n 4294967296)) (range 3000)))"),
    ("colliding vectors", "(into #{} (map (fn [n] [n (- n)])) (range 3000))"),
    ("largest formatter", "(DateTimeFormatter/ofPattern (apply str (repeat 490 \"y-\")))"),
    ("formatter with optional parts", "(DateTimeFormatter/ofPattern (apply str (repeat 200 \"[y]\")))"),
    ("largest pattern", "(re-pattern (apply str (repeat 400 \"(a|b)*\")))"),
    ("pattern that multiplies", "(re-pattern \"(?:(?:x{50}){50}){20}\")"),
    ("pattern of classes", "(re-pattern (apply str (repeat 150 \"\\\\p{L}{9}\")))"),
    ("pattern that backtracks", "#\"(a*)*b(?=c)\""),
    ("matcher", "(re-matcher #\"(a*)*b\" (apply str (repeat 5000 \"a\")))"),
    ("wide format", "\"%1000000d%-99999s%.9999f\""),
    ("builder", "(let [b (StringBuilder.)] (dotimes [n 1000] (.append b \"xxxxxxxxxx\")) b)"),
    ("endless range", "(range)"),
    ("endless sequence of itself", "(iterate (fn [x] [x x]) 1)"),
    ("endless circle", "(cycle [1 :a \"b\"])"),
    ("endless repetition", "(repeat (range))"),
    ("endless filter", "(filter neg? (range))"),
    ("sequence that fails", "(map (fn [n] (/ 1 (- n 3))) (range 10))"),
    ("sequence that needs itself", "(let [a (atom nil)] (reset! a (lazy-seq (cons 1 @a))) @a)"),
    ("wide range", "(range -9223372036854775808 9223372036854775807)"),
    ("billion numbers", "(range 1000000000)"),
    ("tower of nothing", "(reduce (fn [x _] [x x]) [] (range 60))"),
    ("rows without fields", "(vec (repeat 20000 {}))"),
    ("many items", "(vec (range 30000))"),
    ("many rows", "(mapv (fn [n] {:id n :name (str n) [n] #{n}}) (range 3000))"),
    ("wide map", "(into {} (map (fn [n] [n n])) (range 20000))"),
    ("long array", "(int-array 100000)"),
    ("endless function", "(fn [& xs] (loop [] (recur)))"),
    ("function that calls itself", "(fn f [& xs] (apply f xs))"),
    ("function that grows", "(fn [& xs] (apply vector xs xs))"),
    ("function that fails", "(fn [& xs] (throw (ex-info \"no\" {:xs xs})))"),
    ("function that prints", "(fn [& xs] (println xs) true)"),
    ("function that calls a tool", "(fn [& xs] (tool/t {:xs xs}))"),
    ("function that returns", "(fn [& xs] (return xs))"),
    ("function that defines", "(fn [& xs] (def d xs))"),
    ("deep composition", "(apply comp (repeat 5000 inc))"),
    ("stacked sequences", "(reduce (fn [s _] (map inc s)) (range 5) (range 2000))"),
    ("stacked concatenation", "(reduce (fn [s n] (concat s [n])) [] (range 2000))"),
    ("date far away", "(LocalDate/of 999999999 12 31)"),
    ("long duration", "(Duration/ofSeconds 9223372036854775807)"),
    ("rows of the inputs", "data/rows"),
    ("inputs", "data/x"),
    ("answer of a tool", "(tool/items {})"),
    ("last value", "*1"),
    ("nil", "nil"),
];

/// Levels of a tower: its parts are shared, so that walking it takes 2^60 steps.
const TOWER: usize = 60;
/// Levels of what nests.
const NESTED: usize = 100_000;

fn built(holder: &str, levels: usize) -> String {
    format!("(reduce (fn [x _] {holder}) 1 (range {levels}))")
}

/// All of them.
pub fn all() -> Vec<Hostile> {
    let mut all = Vec::new();
    let mut add = |sort: Sort, name: String, source: String| all.push(Hostile { name, source, sort });
    let tower = built("[x x]", TOWER);
    for (name, holder) in HOLDERS {
        add(Sort::Built, format!("tower of {name}"), built(holder, TOWER));
        add(Sort::Built, format!("nested {name}"), built(holder, NESTED));
        add(Sort::Built, format!("{name}, 900 levels"), built(holder, 900));
        add(Sort::Built, format!("tower in {name}"), format!("(let [x {tower}] {holder})"));
        add(Sort::Built, format!("{name} of texts"), format!("(let [x {}] {holder})", ODD[0].1));
    }
    for (sort, table) in [(Sort::Cycle, CYCLES), (Sort::Odd, ODD)] {
        for (name, source) in table {
            add(sort, (*name).to_owned(), (*source).to_owned());
        }
    }
    // What is refused as a value must not slip through inside of something else.
    for (name, source) in CYCLES {
        for (holder, text) in HOLDERS {
            add(Sort::Held, format!("{name}, in {holder}"), format!("(let [x {source}] {text})"));
        }
    }
    all
}
