//! Expressions: calls of every documented function, every special form, and mutated examples of declarations.

use ptc_lisp::builtins::{Entry, registry};

use super::forms::{Form, parse};
use super::job::Job;
use super::random::Random;
use super::values::{self, Hostile, Sort};

/// A form for each head that is not a function; `$` is any expression. Those that belong into another stand in it.
pub const SPECIAL_FORMS: &[(&str, &str)] = &[
    ("def", "(def d $)"),
    ("defonce", "(defonce d $)"),
    ("defn", "(do (defn g \"doc\" [a & {:keys [b] :or {b $}}] [a b $]) (g $ :b $))"),
    ("defn-", "(do (defn- g [{:keys [a] :as m} [b & c]] [a m b c]) (g $ $))"),
    ("declare", "(do (declare later) (defn g [] (later $)) (defn later [x] x) (g))"),
    ("fn", "((fn self ([] (self $)) ([a] [a $]) ([a & more] [a more])) $)"),
    ("fn*", "((fn* [a] [a $]) $)"),
    ("let", "(let [[a & b :as c] $ {:keys [d] :strs [e] :or {d $}} $] [a b c d e])"),
    ("let*", "(let* [a $ b a] [a b])"),
    ("letfn", "(letfn [(g [a] [a $]) (h [a] (g a))] (h $))"),
    ("loop", "(loop [n 0 a $] (if (< n 5) (recur (inc n) [a a $]) a))"),
    ("recur", "(loop [a $ n 3] (if (pos? n) (recur $ (dec n)) a))"),
    ("if", "(if $ $ $)"),
    ("if-not", "(if-not $ $ $)"),
    ("if-let", "(if-let [a $] [a $] $)"),
    ("if-some", "(if-some [a $] [a $] $)"),
    ("when", "(when $ $)"),
    ("when-not", "(when-not $ $)"),
    ("when-let", "(when-let [a $] [a $])"),
    ("when-some", "(when-some [a $] [a $])"),
    ("when-first", "(when-first [a $] [a $])"),
    ("cond", "(cond $ $ (= $ $) $ :else $)"),
    ("condp", "(condp = $ $ $ $ :>> vector $)"),
    ("case", "(case $ 1 $ [1 2] $ (:a \"b\") $ $)"),
    ("do", "(do $ $)"),
    ("and", "(and $ $)"),
    ("or", "(or $ $)"),
    ("->", "(-> $ (vector $) first)"),
    ("->>", "(->> $ (map vector) (take 3))"),
    ("as->", "(as-> $ a [a $] (vec a))"),
    ("cond->", "(cond-> $ $ (vector $) true vector)"),
    ("cond->>", "(cond->> $ $ (vector $))"),
    ("some->", "(some-> $ (vector $) first)"),
    ("some->>", "(some->> $ (vector $) last)"),
    ("doto", "(doto $ (vector $))"),
    ("..", "(.. $ (toString) (concat \"x\"))"),
    ("for", "(for [a $ :let [b [a $]] :when b c [a b] :while c] [a b c])"),
    ("doseq", "(doseq [a $ b [a $]] (vector a b))"),
    ("dotimes", "(dotimes [n 20] (vector n $))"),
    ("while", "(let [a (atom 5)] (while (pos? (swap! a dec)) $))"),
    ("try", "(try $ (catch Exception e [e (ex-data e) $]) (finally $))"),
    ("catch", "(try (throw $) (catch ArithmeticException e $) (catch Throwable e e))"),
    ("finally", "(try $ (finally $))"),
    ("throw", "(throw (ex-info \"m\" {:a $} (ex-info (str $) {})))"),
    ("quote", "'(a [b {:c #{1}}] \"d\")"),
    ("comment", "(comment $)"),
    ("defmulti", "(do (defmulti g (fn [x] x)) (defmethod g :default [x] [x $]) (g $))"),
    (
        "defmethod",
        "(do (defmulti g class) (defmethod g java.lang.Long [x] $) (defmethod g :default [x] x) (g $))",
    ),
    ("defrecord", "(do (defrecord Box [a b]) (assoc (->Box $ $) :c $))"),
    ("deftype", "(do (deftype Cell [a]) (.-a (->Cell $)))"),
    (
        "defprotocol",
        "(do (defprotocol P (p [x y])) (extend-type java.lang.Object P (p [x y] [x y])) (p $ $))",
    ),
    ("extend-type", "(do (defprotocol P (p [x])) (extend-type java.lang.String P (p [x] $)) (p \"a\"))"),
    (
        "extend-protocol",
        "(do (defprotocol P (p [x])) (extend-protocol P nil (p [x] $) Object (p [x] [x $])) (p $))",
    ),
    ("reify", "(do (defprotocol P (p [x])) (p (reify P (p [x] [x $]))))"),
    ("new", "(new StringBuilder $)"),
    (".", "(. $ toString)"),
    ("lazy-seq", "(lazy-seq [$ $])"),
    ("lazy-cat", "(lazy-cat $ $)"),
    ("delay", "(let [d (delay $)] [d @d])"),
    ("future", "(let [d (future $)] [d @d])"),
    ("binding", "(do (def ^:dynamic *b* $) (binding [*b* $] [*b* $]))"),
    ("with-redefs", "(do (defn g [x] x) (with-redefs [g (fn [x] [x $])] (g $)))"),
    ("with-bindings", "(do (def ^:dynamic *b* $) (with-bindings {#'*b* $} *b*))"),
    ("bound-fn", "(do (def ^:dynamic *b* 1) ((binding [*b* $] (bound-fn [] [*b* $]))))"),
    ("with-out-str", "(with-out-str (prn $))"),
    ("with-meta*", "(with-meta* $ $)"),
    ("assert", "(assert $ $)"),
    ("time", "(time $)"),
    ("var", "(do (def d $) [(var d) @(var d) (meta (var d))])"),
    ("ns", "(do (ns other.space \"doc\") (def d $) d)"),
    ("require", "(do (require '[clojure.string :as s]) (s/upper-case (str $)))"),
    ("use", "(do (use 'clojure.set) (union #{1} (set $)))"),
    ("import", "(do (import java.time.LocalDate) $)"),
    ("in-ns", "(do (in-ns 'elsewhere) (def d $) d)"),
    ("refer", "(do (refer 'clojure.string) $)"),
    ("return", "(return $)"),
    ("fail", "(fail $)"),
    ("task", "[(task \"a\" $) (task \"a\" $) (task (str $) $)]"),
    ("step-done", "(step-done \"gather\" (str $))"),
    ("task-reset", "(do (task \"a\" $) (task-reset \"a\") (task \"a\" $))"),
    ("call", "(call \"t\" {:a $})"),
    ("doc", "(do (def d $) [(doc map) (doc d)])"),
    ("source", "(do (defn g [] $) (source g))"),
    ("dir", "(do (def d $) (dir clojure.string))"),
    ("ns-publics", "(do (def d $) (ns-publics 'clojure.set))"),
    ("pvalues", "(pvalues $ $)"),
    ("with-local-vars", "(with-local-vars [a $] [a $])"),
    ("locking", "(locking $ $)"),
    ("io!", "(io! $)"),
    ("dosync", "(dosync $ $)"),
    ("with-precision", "(with-precision 5 (/ 1M $))"),
    ("memfn", "((memfn toString) $)"),
    ("areduce", "(areduce (object-array [$ $]) n sum 0 [sum n])"),
    ("amap", "(amap (object-array [$ $]) n out $)"),
];

/// Harmless arguments by what parameters are called.
const PLAIN: &[(&[&str], &[&str])] = &[
    (
        &["f", "g", "fn", "pred", "xform", "keyfn", "fns", "comp", "rf"],
        &[
            "inc",
            "vector",
            "str",
            "identity",
            ":a",
            "#{1 :a}",
            "(fn [& xs] xs)",
            "(map inc)",
            "<",
            "compare",
            "first",
        ],
    ),
    (
        &["s", "text", "string", "sep", "substr", "prefix", "suffix", "pattern-text", "format", "other"],
        &[
            "\"a,b;c\"",
            "\"\"",
            "\"2024-01-31\"",
            "\"[1,{\\\"a\\\":2}]\"",
            "\"%s %d\"",
            "\"\u{e9}\u{1f44d}\"",
            "\"yyyy-MM-dd\"",
        ],
    ),
    (&["re", "regex", "pattern", "match"], &["#\"a\"", "#\"(\\w)(\\d)?\"", "(re-pattern \"[a-c]+\")"]),
    (
        &[
            "n", "i", "index", "start", "end", "count", "size", "step", "num", "x", "y", "digits", "amount",
            "days",
        ],
        &["0", "1", "3", "-1", "2.5", "100", "1000000", "9223372036854775807", "(/ 1 3)"],
    ),
    (
        &["m", "map", "record", "kmap", "opts", "options"],
        &["{}", "{:a 1 :b {:c 2}}", "{\"a\" [1]}", "{:key-fn keyword}", "(sorted-map 1 2)"],
    ),
    (&["k", "key", "ks", "keys", "path", "kw", "tag"], &[":a", "[:a :b]", "\"a\"", "'a", "[0]", "nil"]),
    (
        &["date", "time", "temporal", "instant", "moment", "start-date"],
        &[
            "(LocalDate/of 2024 1 31)",
            "(Instant/ofEpochMilli 0)",
            "(LocalDateTime/of 2024 1 31 10 15)",
            "\"2024-01-31\"",
            "(ZonedDateTime/parse \"2024-01-31T10:00:00+01:00[Europe/Berlin]\")",
        ],
    ),
    (
        &["formatter"],
        &["DateTimeFormatter/ISO_LOCAL_DATE", "(DateTimeFormatter/ofPattern \"dd.MM.yyyy HH:mm\")"],
    ),
    (&["zone", "offset"], &["(ZoneId/of \"Europe/Paris\")", "ZoneOffset/UTC", "\"UTC\""]),
    (&["unit", "field"], &["ChronoUnit/DAYS", "ChronoField/DAY_OF_WEEK", "ChronoUnit/CENTURIES"]),
    (&["array", "arr"], &["(object-array 3)", "(int-array [1 2 3])", "(make-array Object 2 2)"]),
    (&["a", "ref", "atom", "volatile", "cell"], &["(atom 0)", "(volatile! [])", "(delay 1)", "(promise)"]),
    (&["matcher"], &["(re-matcher #\"b\" \"abc\")"]),
    (&["builder"], &["(StringBuilder. \"abc\")"]),
    (&["exception", "ex", "cause"], &["(ex-info \"m\" {:a 1})", "(Exception. \"e\")"]),
];

/// Harmless arguments for everything else.
const ANY: &[&str] = &[
    "[1 2 3]",
    "'(3 1 2)",
    "#{1 2}",
    "{:a 1}",
    "[]",
    "nil",
    "\"abc\"",
    "7",
    "2.5",
    ":a",
    "'b",
    "true",
    "inc",
    "[[1 2] [3 4]]",
    "(range 10)",
    "(vec (range 100))",
    "[{:id 1 :n 2} {:id 2 :n 3}]",
    "(map inc [1 2])",
    "(sorted-set 3 1)",
    "\\a",
];

/// What expressions are made of.
pub struct Library {
    pub functions: Vec<&'static Entry>,
    examples: Vec<Vec<Form>>,
    pub hostile: Vec<Hostile>,
}

impl Library {
    /// Everything documented, and every hostile value.
    pub fn new() -> Library {
        let documented = |entry: &&Entry| !matches!(entry.ns, "prim" | "ptc.impl");
        let functions: Vec<&'static Entry> =
            registry().iter().map(|(_, entry)| entry).filter(documented).collect();
        let examples = functions.iter().flat_map(|entry| entry.examples()).map(|(source, _)| parse(source));
        Library {
            examples: examples.filter(|forms| !forms.is_empty()).collect(),
            functions,
            hostile: values::all(),
        }
    }

    /// The names of the hostile values in a job.
    pub fn values_in(&self, job: &Job) -> Vec<String> {
        let stands = |value: &&Hostile| job.steps.iter().any(|step| step.source.contains(&value.source));
        self.hostile.iter().filter(stands).map(|value| value.name.clone()).collect()
    }

    /// Any hostile value.
    pub fn hostile(&self, random: &mut Random) -> String {
        let sort = match random.below(100) {
            0..40 => Sort::Built,
            40..55 => Sort::Cycle,
            55..70 => Sort::Held,
            _ => Sort::Odd,
        };
        self.hostile_of(random, sort)
    }

    /// A hostile value of a sort.
    pub fn hostile_of(&self, random: &mut Random, sort: Sort) -> String {
        let fitting: Vec<&Hostile> = self.hostile.iter().filter(|value| value.sort == sort).collect();
        random.pick(&fitting).source.clone()
    }

    /// Any expression.
    pub fn expression(&self, random: &mut Random, depth: usize) -> String {
        match random.below(100) {
            0..45 => self.call(random, depth),
            45..65 => self.mutated(random),
            65..80 => self.special(random, depth),
            _ => self.hostile(random),
        }
    }

    /// A call of a documented function, with as many arguments as it takes; seldom with others.
    pub fn call(&self, random: &mut Random, depth: usize) -> String {
        let entry = *random.pick(&self.functions);
        let arities = parameters(entry.params());
        let Some(names) = (!arities.is_empty()).then(|| random.pick(&arities).clone()) else {
            return entry.name.to_owned();
        };
        let mut arguments: Vec<String> =
            names.iter().map(|name| self.argument(random, name, depth)).collect();
        if random.percent(2) {
            arguments.push(self.argument(random, "", depth));
        }
        match random.below(20) {
            0 => format!("(apply {} [{}])", entry.name, arguments.join(" ")),
            1 => format!(
                "(map (fn [x] ({} {})) {})",
                entry.name,
                arguments.join(" "),
                self.argument(random, "", 0)
            ),
            _ => format!("({} {})", entry.name, arguments.join(" ")),
        }
    }

    /// A call that is made again and again with arguments that are made once: a function that costs less than it does
    /// is not stopped in time.
    pub fn repeated(&self, random: &mut Random) -> String {
        let entry = *random.pick(&self.functions);
        let arities = parameters(entry.params());
        let names = if arities.is_empty() { Vec::new() } else { random.pick(&arities).clone() };
        let large = |random: &mut Random, name: &str| match random.percent(60) {
            true => self.hostile_of(random, Sort::Odd),
            false => plain(random, name),
        };
        let made: Vec<String> =
            names.iter().enumerate().map(|(at, name)| format!("v{at} {}", large(random, name))).collect();
        let arguments: String = (0..names.len()).map(|at| format!(" v{at}")).collect();
        let call = format!("(try ({}{arguments}) (catch Throwable _ nil))", entry.name);
        format!("(let [{}] (dotimes [_ 1000000] {call}))", made.join(" "))
    }

    fn argument(&self, random: &mut Random, name: &str, depth: usize) -> String {
        match random.below(100) {
            0..40 => self.hostile(random),
            40..60 if depth > 0 => self.expression(random, depth - 1),
            _ => plain(random, name),
        }
    }

    /// An example with some of its parts replaced.
    fn mutated(&self, random: &mut Random) -> String {
        let mut forms = random.pick(&self.examples).clone();
        for _ in 0..1 + random.below(3) {
            let top = random.below(forms.len());
            let size = forms[top].size();
            let with = match random.below(10) {
                0..6 => self.hostile(random),
                6..8 => plain(random, ""),
                _ => random.pick(&self.examples)[0].text(),
            };
            // The head of a call stays: what is called is what is tried.
            let number = if size > 2 { 2 + random.below(size - 2) } else { 0 };
            if let Some(part) = forms[top].part(number) {
                *part = Form::Atom(with);
            }
        }
        match forms.as_slice() {
            [one] => one.text(),
            _ => format!("(do {})", super::forms::write(&forms)),
        }
    }

    /// A special form.
    fn special(&self, random: &mut Random, depth: usize) -> String {
        let (_, template) = random.pick(SPECIAL_FORMS);
        let mut out = String::new();
        for (at, part) in template.split('$').enumerate() {
            if at > 0 {
                out.push_str(&self.argument(random, "", depth.saturating_sub(1)));
            }
            out.push_str(part);
        }
        out
    }
}

fn plain(random: &mut Random, name: &str) -> String {
    let fitting = PLAIN.iter().find(|(names, _)| names.contains(&name));
    let from = fitting.map_or(ANY, |(_, choices)| choices);
    let from = if random.percent(80) { from } else { ANY };
    (*random.pick(from)).to_owned()
}

/// The parameters of each arity; of those that take any number, with none and two more.
fn parameters(text: &str) -> Vec<Vec<String>> {
    let mut arities = Vec::new();
    for form in parse(text) {
        let Form::Group { items, .. } = form else { continue };
        let names: Vec<String> = items.iter().map(Form::text).collect();
        match names.iter().position(|name| name == "&") {
            None => arities.push(names),
            Some(at) => {
                let more = names.get(at + 1).cloned().unwrap_or_default();
                let with =
                    |count: usize| names[..at].iter().cloned().chain(vec![more.clone(); count]).collect();
                arities.extend([with(0), with(1), with(2), with(3)]);
            }
        }
    }
    arities
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_special_form_has_a_template() {
        for name in ptc_lisp::analyze::SPECIALS {
            let template = SPECIAL_FORMS.iter().find(|(known, _)| known == name);
            assert!(
                template.is_some_and(|(_, text)| text.contains(&format!("({name} ")) || *name == "quote"),
                "{name}"
            );
        }
    }

    #[test]
    fn arities_are_read_from_declarations() {
        assert_eq!(parameters("[] [a b]"), [vec![], vec!["a".to_owned(), "b".to_owned()]]);
        assert_eq!(parameters("[f & xs]").len(), 4);
    }
}
