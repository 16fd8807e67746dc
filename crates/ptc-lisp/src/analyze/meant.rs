//! Names that people and models know from elsewhere, with what to write here. A name that merely looks like another one
//! is the business of [`super::suggest`]; what stands here was met in programs, or is common in other languages.

use crate::builtins::registry;

/// How to read CSV; a case of `conformance/cases/programs_text.clj` does it this way.
const CSV: &str = "(map #(str/split % #\",\" -1) (str/split-lines s)), of which the first row has the names; where fields may \
                   stand in quotes, those of a line are (map (fn [[_ quoted plain]] (if quoted (str/replace quoted \"\\\"\\\"\" \
                   \"\\\"\") plain)) (re-seq #\",(?:\\\"((?:[^\\\"]|\\\"\\\")*)\\\"|([^,]*))\" (str \",\" line)))";

/// How to round to some places.
const PLACES: &str = "(/ (Math/round (* x 100.0)) 100.0), (.setScale (bigdec x) 2 RoundingMode/HALF_UP) for an exact decimal, \
                      or (format \"%.2f\" x) for text";

/// Names that are not defined, several with one meaning in a row, and what to write instead.
pub(super) const NAMES: &[(&str, &str)] = &[
    // Maps.
    ("map-vals map-values fmap update-values transform-values mapvals update-all", "(update-vals m f)"),
    ("map-keys transform-keys mapkeys", "(update-keys m f)"),
    (
        "filter-vals filter-keys filter-map select-vals remove-vals remove-keys",
        "(into {} (filter (fn [[k v]] …) m))",
    ),
    ("index-by key-by keyed-by", "(into {} (map (juxt :id identity)) rows)"),
    (
        "deep-merge merge-deep merge-recursive",
        "(defn deep-merge [a b] (if (and (map? a) (map? b)) (merge-with deep-merge a b) b))",
    ),
    ("dissoc-in remove-in delete-in", "(update-in m [:a] dissoc :b)"),
    ("assoc-some assoc-when", "(cond-> m x (assoc :k x))"),
    ("update-when update-if", "(cond-> m (contains? m k) (update k f))"),
    ("get-or get-or-default default-to", "(get m k default)"),
    ("has-key? key-exists? has? contains-key?", "(contains? m k)"),
    ("invert invert-map", "(set/map-invert m)"),
    ("symbolize-keys keywordize", "(walk/keywordize-keys m)"),
    ("to-map as-map", "(into {} pairs)"),
    ("dict hashmap", "{:key value}, or (into {} pairs)"),
    ("zip-map zip-to-map", "(zipmap ks vs)"),
    // Sequences.
    ("pluck", "(map :key coll)"),
    ("where", "(filter #(…) coll)"),
    ("if-not-let if-not-some", "(if-let [x …] then else) with the branches in the other order"),
    ("any-of some-of", "(some-fn …) or (some pred coll)"),
    ("all-of", "(every-pred …) or (every? pred coll)"),
    ("none-of none? none", "(not-any? pred coll)"),
    ("all? all all-match", "(every? pred coll)"),
    ("any any-match", "(some pred coll)"),
    ("exists?", "(some pred coll), or (contains? m k)"),
    ("in? member? member elem? contains", "(some #{x} coll), or (contains? s x) for a set or map"),
    ("length len size", "(count coll)"),
    ("append push push!", "(conj coll x)"),
    ("foreach each for-each", "(doseq [x coll] …)"),
    ("count-by group-and-count value-counts", "(frequencies (map f coll))"),
    ("group-sum", "(update-vals (group-by :key rows) #(sum-by :n %))"),
    ("uniq unique dedup", "(distinct coll)"),
    ("enumerate with-index", "(map-indexed vector coll)"),
    ("find-first detect first-where", "(first (filter pred coll))"),
    (
        "find-index index-where position indexOf",
        "(first (keep-indexed (fn [i x] (when (pred x) i)) coll)), or (.indexOf coll x) for a value",
    ),
    ("compact remove-nil remove-nils drop-nil drop-nils", "(remove nil? coll)"),
    ("without", "(remove #{x} coll), or (dissoc m k)"),
    ("is-empty? isEmpty is-empty", "(empty? coll)"),
    ("tuple array", "[a b]"),
    ("head car", "(first coll)"),
    ("tail cdr", "(rest coll)"),
    ("collect", "(map f coll)"),
    ("fold foldl inject accumulate", "(reduce f init coll)"),
    ("foldr reduce-right", "(reduce f init (reverse coll))"),
    ("flat-map flatmap", "(mapcat f coll)"),
    ("flatten-once flatten1", "(apply concat coll)"),
    ("group", "(group-by f coll)"),
    ("chunk chunks chunked batch batches partition-by-size", "(partition-all n coll)"),
    ("sliding-window window windows rolling", "(partition n 1 coll)"),
    ("slice", "(subvec v start end), or (subs s start end) for text"),
    ("take-right last-n", "(take-last n coll)"),
    ("drop-right", "(drop-last n coll)"),
    ("first-n limit", "(take n coll)"),
    ("sorted", "(sort coll), or (sort-by f coll)"),
    ("top top-n", "(take n (sort-by f > coll))"),
    ("skip offset", "(drop n coll)"),
    ("nth-or", "(nth coll index default)"),
    ("order-by orderby", "(sort-by f coll)"),
    ("sort-by-desc sort-desc sort-descending reverse-sort desc", "(sort-by f > coll)"),
    ("rank dense-rank", "(map-indexed vector (sort-by f > coll))"),
    ("transpose unzip", "(apply map vector rows)"),
    ("zip-with", "(map f a b)"),
    ("cross-join cartesian-product cross-product", "(for [a as b bs] [a b])"),
    (
        "left-join inner-join hash-join join-by join-on join-rows",
        "an index of one side, (into {} (map (juxt :id identity)) rows), and look each row up in it",
    ),
    ("cumsum cumulative-sum cumulative running-total running-sum prefix-sums scan", "(reductions + coll)"),
    ("moving-average rolling-average rolling-mean", "(map avg (partition n 1 coll))"),
    ("lag lead", "(map vector coll (rest coll))"),
    ("range-inclusive", "(range a (inc b))"),
    ("to-vec to-vector to-list to-array-list as-list", "(vec coll)"),
    ("to-set as-set", "(set coll)"),
    ("sample choose", "(take n (shuffle coll)), or (rand-nth coll)"),
    // Numbers.
    ("mean average", "(avg coll), or (avg-by :key rows)"),
    ("median", "(let [s (vec (sort xs)) n (count s)] (/ (+ (s (quot (dec n) 2)) (s (quot n 2))) 2.0))"),
    ("mode", "(key (apply max-key val (frequencies coll)))"),
    (
        "variance",
        "(let [m (avg xs)] (avg (map #(* (- % m) (- % m)) xs))) for a population; of a sample the sum of the squares is \
         divided by (dec (count xs))",
    ),
    (
        "stddev std-dev stdev standard-deviation",
        "(let [m (avg xs)] (Math/sqrt (avg (map #(* (- % m) (- % m)) xs)))) for a population; of a sample the sum of the \
         squares is divided by (dec (count xs))",
    ),
    (
        "percentile quantile",
        "(nth (vec (sort xs)) (max 0 (dec (long (Math/ceil (* 1/100 p (count xs))))))) with p from 0 to 100: the nearest rank",
    ),
    ("total sum-of", "(sum coll), or (sum-by :key rows)"),
    ("argmax", "(max-by f coll) for the item, (.indexOf xs (apply max xs)) for its position"),
    ("argmin", "(min-by f coll) for the item, (.indexOf xs (apply min xs)) for its position"),
    ("maximum", "(apply max coll), or (max-by :key rows)"),
    ("minimum", "(apply min coll), or (min-by :key rows)"),
    ("percent percentage", "(* 100.0 (/ part whole))"),
    ("ratio divide", "(/ a b)"),
    ("div int-div integer-divide", "(quot a b) for whole numbers, (/ a b) for the exact quotient"),
    ("remainder", "(rem a b), or (mod a b), which has the sign of b"),
    ("modulo modulus", "(mod a b)"),
    ("ln", "(Math/log x)"),
    ("log2", "(/ (Math/log x) (Math/log 2))"),
    ("**", "(Math/pow x n)"),
    (
        "parse-float parse-number parse-num to-float to-number to-double string->number str->double str->float",
        "(parse-double s)",
    ),
    (
        "integer to-int to-integer to-long str->int str->long string->int",
        "(parse-long s) for text, (long x) for a number",
    ),
    ("number", "(parse-long s) or (parse-double s) for text"),
    ("decimal Decimal big-decimal bigdecimal to-decimal ->decimal", "(bigdec x)"),
    ("chars to-chars char-seq explode", "(seq s), or (map str s)"),
    ("Infinity infinity Inf inf", "##Inf, or ##-Inf for the smallest"),
    ("NaN nan", "##NaN, which (NaN? x) finds"),
    ("HALF_UP", "RoundingMode/HALF_UP"),
    ("HALF_EVEN", "RoundingMode/HALF_EVEN"),
    ("HALF_DOWN", "RoundingMode/HALF_DOWN"),
    ("round-to roundTo round2 to-fixed", PLACES),
    ("number-format currency format-currency", "(format \"%,.2f\" x)"),
    ("format-number cl-format", "(format \"%.2f\" x), (format \"%,d\" n)"),
    ("is-nan? isnan nan?", "(NaN? x)"),
    ("positive?", "(pos? x)"),
    ("negative?", "(neg? x)"),
    ("between? in-range?", "(<= low x high)"),
    ("clamp", "(max low (min x high))"),
    ("sign", "(Math/signum x)"),
    ("xor", "(not= (boolean a) (boolean b))"),
    ("rand-between random-int", "(+ low (rand-int (- high low)))"),
    // Text.
    ("strip trim-str", "(str/trim s)"),
    ("capitalize", "(str/capitalize s)"),
    ("contains-str? str-contains? string-contains? substring?", "(str/includes? s part)"),
    ("replace-all", "(str/replace s match replacement)"),
    ("substring substr", "(subs s start end)"),
    ("upper uppercase to-upper upper-str", "(str/upper-case s)"),
    ("lower lowercase to-lower lower-str", "(str/lower-case s)"),
    ("string to-string to-str tostring toString number->string int->str", "(str x)"),
    ("concat-strings string-concat strcat str-concat", "(str a b)"),
    ("string-join str-join join-strings", "(str/join \", \" coll)"),
    ("string-split str-split split-string", "(str/split s #\",\")"),
    ("pad-left left-pad lpad pad-start", "(format \"%5s\" s), or (format \"%05d\" n) with zeros"),
    ("pad-right right-pad rpad pad-end", "(format \"%-5s\" s)"),
    ("title-case capitalize-words", "(str/join \" \" (map str/capitalize (str/split s #\" \")))"),
    ("regex-match re-match re-search", "(re-find #\"…\" s), or re-matches for the whole text"),
    ("regex regexp", "#\"…\", or (re-pattern s) for a pattern in a text"),
    ("re-test regex-test", "(boolean (re-find #\"…\" s))"),
    ("re-replace regex-replace re-sub", "(str/replace s #\"…\" \"…\")"),
    ("match", "(case x …), (cond …), or (re-find #\"…\" s) for text"),
    ("keyword->string keyword->str", "(name k)"),
    ("name->keyword string->keyword str->keyword", "(keyword s)"),
    (
        "to-json json-encode json-stringify JSON.stringify write-json ->json stringify dumps",
        "(json/generate-string x)",
    ),
    ("parse-json JSON.parse json-parse from-json read-json json-decode loads", "(json/parse-string s)"),
    ("parse-csv read-csv csv-parse csv->maps csv->map csv-seq from-csv load-csv", CSV),
    ("uuid gen-uuid make-uuid", "(random-uuid)"),
    (
        "md5 md5-hex md5-hash",
        "(format \"%032x\" (BigInteger. 1 (.digest (MessageDigest/getInstance \"MD5\") (.getBytes s))))",
    ),
    (
        "sha256 sha-256 sha256-hex",
        "(format \"%064x\" (BigInteger. 1 (.digest (MessageDigest/getInstance \"SHA-256\") (.getBytes s))))",
    ),
    // Time.
    ("now current-time", "(Instant/now), or (System/currentTimeMillis) for milliseconds"),
    ("today current-date", "(LocalDate/now)"),
    ("parse-date to-date string->date Date/parse", "(LocalDate/parse s)"),
    ("date make-date", "(LocalDate/parse s), or (LocalDate/of year month day)"),
    ("datetime", "(LocalDateTime/parse s)"),
    ("inst instant", "(Instant/parse s)"),
    (
        "format-date date-format date->string date-to-string",
        "(.format date (DateTimeFormatter/ofPattern \"yyyy-MM-dd\"))",
    ),
    ("days-between date-diff", "(.between ChronoUnit/DAYS a b)"),
    ("add-days plus-days date-add date-plus", "(.plusDays date n)"),
    ("timestamp unix-time epoch-millis", "(System/currentTimeMillis)"),
    ("parse-datetime to-datetime", "(LocalDateTime/parse s), or (Instant/parse s) where it ends with Z"),
    ("year", "(.getYear (LocalDate/parse s))"),
    ("strftime", "(.format date (DateTimeFormatter/ofPattern \"yyyy-MM-dd\"))"),
    // The language.
    ("!= <> /= !== neq not-eq not-equal", "(not= a b)"),
    ("gt", "(> a b)"),
    ("gte ge", "(>= a b)"),
    ("lt", "(< a b)"),
    ("lte le", "(<= a b)"),
    ("++", "(inc x) for one more, (str a b) or (concat a b) to join"),
    ("--", "(dec x) for one less"),
    ("+=", "(+ a b), whose result let, reduce or swap! keeps"),
    ("compose", "(comp f g)"),
    ("times repeat-times", "(dotimes [i n] …), or (repeatedly n f) for the results"),
    ("|> pipe", "(-> x f g), or (->> coll (map f) (filter pred))"),
    ("if-else ifelse iif", "(if test then else)"),
    ("do-while", "(loop [x start] (if test (recur next) x))"),
    ("&&", "(and a b)"),
    ("||", "(or a b)"),
    ("!", "(not x)"),
    ("=== eq? eq equal equals equal?", "(= a b)"),
    ("switch", "(case x 1 … 2 … default)"),
    ("rescue", "(catch Exception e …) as the last part of try"),
    (
        "except",
        "(catch Exception e …) as the last part of try; (dissoc m k), (disj s x), (remove #{x} coll) leave something out",
    ),
    ("call-tool invoke-tool use-tool run-tool", "(tool/name {:key value})"),
    ("print-table show-table", "(clojure.pprint/print-table rows)"),
    ("pprint pp pretty-print", "(clojure.pprint/pprint x)"),
    ("null None undefined", "nil"),
    ("True", "true"),
    ("False", "false"),
    ("null? is-nil? is-null?", "(nil? x)"),
    ("not-nil? non-nil? not-null?", "(some? x)"),
    ("not-empty?", "(seq coll)"),
    ("coalesce nvl", "(or x default)"),
    ("typeof type-of", "(type x), or ask with string? number? map? and their like"),
    ("elif else", "(cond test value … :else value)"),
    ("lambda =>", "(fn [x] …)"),
    ("function func defun", "(defn name [x] …), or (fn [x] …)"),
    ("define defvar defconst const", "(def name value)"),
    ("print-line printl print-ln puts echo console console.log", "(println …)"),
    (
        "raise error throw-error",
        "(throw (ex-info \"message\" {:key value})), or (fail reason) to end the program",
    ),
    ("assert-equal assert=", "(assert (= expected x))"),
];

/// Names for which there is nothing to write, with the reason.
const ABSENT: &[(&str, &str)] = &[
    ("slurp spit line-seq file-seq", "there are no files; inputs are in data/"),
    ("setq set! var", "values do not change: use let, loop/recur or an atom"),
    ("fetch http-get curl", "there is no network but through tools: (tool/name {:key value})"),
    ("sleep wait", "leave it out: a program has no time to wait in"),
    ("clj->js js->clj", "leave it out: values of Clojure become JSON by themselves"),
    ("resolve ns-resolve", "functions are values: use the name itself, or a map from text to function"),
    (
        "async promise-all Promise.all",
        "leave it out: a tool call gives its result; pmap makes several at once",
    ),
    (
        "break continue",
        "loops go on with recur and end without it; (reduced x) ends a reduce, take-while a walk",
    ),
    (
        "SELECT FROM WHERE",
        "there is no SQL: filter, map, group-by, sort-by and sum-by ask questions about rows",
    ),
];

/// Methods that strings, collections and dates of other languages have, and what to write instead.
const METHODS: &[(&str, &str)] = &[
    (".push .add_all .unshift", "(conj coll x)"),
    (".map", "(map f coll)"),
    (".filter", "(filter pred coll)"),
    (".reduce", "(reduce f init coll)"),
    (".forEach .each", "(doseq [x coll] …)"),
    (".some", "(some pred coll)"),
    (".every", "(every? pred coll)"),
    (".includes", "(some #{x} coll), or (str/includes? s part) for text"),
    (".slice", "(subs s start end), or (subvec v start end)"),
    (".sort", "(sort coll)"),
    (".sortBy", "(sort-by f coll)"),
    (".groupBy", "(group-by f coll)"),
    (".join", "(str/join \", \" coll)"),
    (".weekOfYear", "(.weekOfWeekBasedYear WeekFields/ISO)"),
    (".daysBetween", "(.between ChronoUnit/DAYS a b)"),
    (".message .getErrorMessage", "(ex-message e)"),
    (".keys", "(keys m)"),
    (".items .entries", "(seq m)"),
    (".lower .lowercase .toLower .to_lower .downcase", "(str/lower-case s)"),
    (".upper .uppercase .toUpper .to_upper .upcase", "(str/upper-case s)"),
    (".toFixed", "(format \"%.2f\" x)"),
    (".sqrt", "(Math/sqrt x), which gives a float"),
    (".getDay .day", "(.getDayOfMonth date), or (.getDayOfWeek date)"),
    (".addDays .add_days", "(.plusDays date n)"),
    (".year", "(.getYear date)"),
    (".month", "(.getMonthValue date)"),
    (".diff", "(.between ChronoUnit/DAYS a b)"),
    (".padStart .rjust .zfill", "(format \"%5s\" s), or (format \"%05d\" n) with zeros"),
    (".padEnd .ljust", "(format \"%-5s\" s)"),
    (".startswith", "(str/starts-with? s part)"),
    (".endswith", "(str/ends-with? s part)"),
    (".toISOString .isoformat", "(str date)"),
    (".setParseBigDecimal", "(bigdec (str/replace s \",\" \"\"))"),
    (
        ".applyPattern .setPositivePrefix .setNegativePrefix .setPositiveSuffix .setNegativeSuffix .setMultiplier \
         .setCurrency .setDecimalFormatSymbols .setDecimalSeparatorAlwaysShown",
        "it into the pattern, as in (DecimalFormat. \"#,##0.00 €\"), (DecimalFormat. \"0.0%\")",
    ),
    (".update", "(.digest digest bytes): a MessageDigest takes all its bytes at once"),
];

/// Classes that are not there, and what to write instead.
const CLASSES: &[(&str, &str)] = &[
    (
        "PriorityQueue TreeMap TreeSet",
        "a sorted set of [priority item] is a queue: (first s) is the smallest, (disj s (first s)) is the rest; \
         sorted-map is the map",
    ),
    (
        "BufferedReader StringReader Scanner StringTokenizer",
        "(str/split-lines text) gives the lines of a text",
    ),
    (
        "ArrayList LinkedList Vector Stack ArrayDeque",
        "a vector is one: (conj v x), (peek v), (pop v); (atom []) with swap! where it has to change",
    ),
    (
        "HashMap LinkedHashMap Hashtable ConcurrentHashMap",
        "a map is one: (assoc m k v); (atom {}) with swap! where it has to change",
    ),
    ("HashSet LinkedHashSet", "a set is one: #{}, (conj s x), (disj s x)"),
    (
        "Random SecureRandom ThreadLocalRandom",
        "(rand), (rand-int n) and (shuffle coll) draw from the seed of the run",
    ),
    (
        "Collectors Stream IntStream",
        "map, filter, reduce, group-by, sort and their like work on all collections",
    ),
    (
        "Thread Executors CompletableFuture",
        "there are no threads: pmap and pcalls run calls of tools at once",
    ),
    ("File Files Paths Path FileReader FileWriter PrintWriter", "there are no files; inputs are in data/"),
    (
        "URL URI HttpClient HttpRequest Socket",
        "there is no network but through tools: (tool/name {:key value})",
    ),
    (
        "Calendar GregorianCalendar Clock",
        "java.time is there: LocalDate, LocalDateTime, ZonedDateTime, Instant",
    ),
    ("StringJoiner", "(str/join \", \" coll)"),
    ("Optional", "nil is a value: (or x default), (some? x), (when x …)"),
];

/// Namespaces of libraries that are not there, and what to write instead.
const NAMESPACES: &[(&str, &str)] = &[
    ("clojure.data.csv data.csv csv", CSV),
    (
        "clj-time.core clj-time.format clj-time.coerce java-time java-time.api tick.core",
        "(LocalDate/parse s), (.plusDays date n), (.between ChronoUnit/DAYS a b) and the rest of java.time",
    ),
    ("ChronoUnit.DAYS", "(.between ChronoUnit/DAYS a b)"),
];

/// Calls with a number of arguments that the function does not take but that of another language does.
const ARITIES: &[(&str, usize, &str)] = &[
    ("round", 2, PLACES),
    ("bigdec", 2, "(.setScale (bigdec x) places RoundingMode/HALF_UP)"),
    ("count", 2, "(count (filter pred coll)), or (count x)"),
    ("some?", 2, "(some pred coll), or (some? x), which is whether x is not nil"),
    ("any?", 2, "(some pred coll), or (boolean (some pred coll)) for true or false"),
    ("sum", 2, "(sum-by :key rows), or (+ a b)"),
    ("avg", 2, "(avg-by :key rows), or (avg [a b])"),
    ("frequencies", 2, "(frequencies (map :key rows))"),
    ("distinct", 2, "(distinct-by :key rows), or (distinct (concat a b))"),
    ("filter", 3, "(filter #(= (:key %) x) rows)"),
    ("sort", 3, "(sort-by :key > rows)"),
    (
        "join",
        3,
        "(str/join \", \" coll) for text; for rows make an index of one side, (into {} (map (juxt :id identity)) rows), and look \
         each row up in it",
    ),
];

fn named(table: &[(&'static str, &'static str)], name: &str) -> Option<&'static str> {
    table.iter().find(|(names, _)| names.split_whitespace().any(|known| known == name)).map(|(_, hint)| *hint)
}

/// The hint for a name that is not defined.
pub(super) fn name(name: &str) -> Option<String> {
    if let Some(input) = name.strip_prefix("data.") {
        return Some(format!("write data/{input}"));
    }
    let known = |name: &str| {
        let instead = named(NAMES, name).map(|instead| format!("write {instead}"));
        instead.or_else(|| named(ABSENT, name).map(str::to_owned))
    };
    known(name).or_else(|| known(&super::suggest::words(name).join("-")))
}

/// The hint for a class that does not exist, by its name without a package.
pub(super) fn class(name: &str) -> Option<&'static str> {
    named(CLASSES, name)
}

/// The hint for a namespace that does not exist.
pub(super) fn namespace(name: &str) -> Option<String> {
    named(NAMESPACES, name).map(|instead| format!("write {instead}"))
}

/// The hint for a call with so many arguments.
pub(super) fn arity(function: &str, count: usize) -> Option<String> {
    let known = ARITIES.iter().find(|(name, arguments, _)| *name == function && *arguments == count)?;
    Some(format!("write {}", known.2))
}

/// The hint for a method that does not exist.
pub(super) fn method(name: &str) -> Option<String> {
    named(METHODS, name).map(|instead| format!("write {instead}"))
}

/// The hint for a part that is taken out of a value with a point, as in `rows.length`. Where the part may be a key as
/// well, it names both.
pub(crate) fn member(owner: &str, part: &str) -> Option<String> {
    /// Methods that are as often names of keys.
    const KEYS: &[&str] = &["items", "entries", "keys", "message", "update"];
    let key = format!("(:{part} {owner})");
    let dotted = format!(".{part}");
    match part {
        "length" | "size" | "count" | "len" => Some(format!("write (count {owner}), or {key} for a key")),
        "first" | "last" | "rest" => Some(format!("write ({part} {owner}), or {key} for a key")),
        _ if !KEYS.contains(&part) && method(&dotted).is_some() => method(&dotted),
        // Inputs are data, which has keys.
        _ if registry().qualified(&dotted).is_some() && !owner.starts_with("data/") => {
            Some(format!("write ({dotted} {owner}), or {key} for a key"))
        }
        _ if part.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-')) => {
            Some(format!("write {key}"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names in the place of a function that stand for something of the reader's.
    const HOLES: &[&str] = &["deep-merge", "s", "pred"];

    #[test]
    fn what_hints_name_exists() {
        // What looks like calls in the pattern for CSV are groups; a case of the language runs that.
        let arities = ARITIES.iter().map(|(name, _, hint)| (*name, *hint));
        let tables = NAMES.iter().chain(METHODS).chain(NAMESPACES).copied();
        let all = tables.chain(arities).filter(|(_, hint)| *hint != CSV);
        for (names, hint) in all {
            for part in hint.split('(').skip(1) {
                let called = part.split([' ', ')', '…']).next().unwrap_or_default();
                let exists = registry().unqualified(called).is_some()
                    || registry().qualified(called).is_some()
                    || super::super::special::is_special(called)
                    || ["str/", "set/", "walk/", "json/", "Math/", "tool/"]
                        .iter()
                        .any(|ns| called.starts_with(ns))
                    || HOLES.contains(&called)
                    || called.starts_with([':', '[', '.', '"'])
                    || called.is_empty();
                assert!(exists, "{names}: {called} in {hint}");
            }
        }
    }

    #[test]
    fn no_name_stands_twice_or_exists() {
        let all: Vec<&str> =
            [NAMES, ABSENT].concat().iter().flat_map(|(names, _)| names.split_whitespace()).collect();
        for (at, name) in all.iter().enumerate() {
            assert!(!all[..at].contains(name), "{name} stands twice");
            assert!(registry().unqualified(name).is_none(), "{name} exists");
        }
        for class in CLASSES.iter().flat_map(|(names, _)| names.split_whitespace()) {
            assert!(registry().qualified(&format!("{class}.")).is_none(), "{class} can be made");
        }
        for name in METHODS.iter().flat_map(|(names, _)| names.split_whitespace()) {
            assert!(registry().qualified(name).is_none(), "{name} exists");
        }
    }
}
