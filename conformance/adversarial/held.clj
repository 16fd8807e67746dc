;; Memory held by things that are small in a program and large in the machine: formats, patterns, notes of a plan,
;; exceptions, names, watches, methods, branches.
;; limits: fuel 8m, memory 10mb

;; == steps of a plan with long summaries => output_exceeded
(let [s (apply str (repeat 100000 "xxxxxxxxxx"))] (loop [n 0] (step-done (str n) s) (recur (inc n))))

;; == very many steps of a plan => output_exceeded
(loop [n 0] (step-done (str n) "done") (recur (inc n)))

;; == steps of a plan with long ids => output_exceeded
(let [s (apply str (repeat 10000 "x"))] (loop [n 0] (step-done (str s n) "") (recur (inc n))))

;; == formatters of long patterns => memory_exceeded
(let [p (apply str (repeat 490 "y-"))] (loop [v []] (recur (conj v (DateTimeFormatter/ofPattern p)))))

;; == formatters of many literals => memory_exceeded
(let [p (apply str (repeat 240 "y'a'"))] (loop [v []] (recur (conj v (DateTimeFormatter/ofPattern p)))))

;; == formatters of optional parts => memory_exceeded
(let [p (apply str (repeat 490 "[]"))] (loop [v []] (recur (conj v (DateTimeFormatter/ofPattern p)))))

;; == old formatters => memory_exceeded
(let [p (apply str (repeat 490 "y-"))] (loop [v []] (recur (conj v (SimpleDateFormat. p)))))

;; == formatters with a zone => memory_exceeded
(let [f (DateTimeFormatter/ofPattern (apply str (repeat 490 "y-")))]
  (loop [v []] (recur (conj v (.withZone f ZoneOffset/UTC)))))

;; == predefined formatters => memory_exceeded
(loop [v []] (recur (conj v DateTimeFormatter/ISO_DATE_TIME)))

;; == formatters made by map => memory_exceeded
(let [p (apply str (repeat 490 "y-"))] (mapv (fn [_] (DateTimeFormatter/ofPattern p)) (range 100000)))

;; == one formatter in many places is held once => value 10000
(let [f (DateTimeFormatter/ofPattern (apply str (repeat 490 "y-")))] (count (vec (repeat 10000 f))))

;; == dates with zones => memory_exceeded
(let [z (ZonedDateTime/parse "2024-03-31T03:30+02:00[Europe/Paris]")]
  (loop [v []] (recur (conj v (.plusDays z (count v))))))

;; == offsets, periods and durations => memory_exceeded
(loop [v []] (recur (conj v (Period/ofDays (count v)) (Duration/ofSeconds (count v)) (ZoneOffset/ofHours 1))))

;; == patterns that were searched with => memory_exceeded
(let [text (apply str (repeat 300 "some words in a row "))]
  (loop [rs []]
    (let [r (re-pattern (str "(?:\\w+\\s){3,9}x" (count rs)))] (re-find r text) (recur (conj rs r)))))

;; == patterns whose searches need many states => memory_exceeded
(let [text (apply str (repeat 2000 "abbab"))]
  (loop [rs []]
    (let [r (re-pattern (str "[ab]*a[ab]{12}c" (count rs)))] (re-find r text) (recur (conj rs r)))))

;; == patterns with large sets => memory_exceeded
(loop [rs []] (recur (conj rs (re-pattern (str (apply str (repeat 50 "\\p{L}\\w")) (count rs))))))

;; == patterns with many names => fuel_exceeded
(loop [rs []]
  (recur (conj rs (re-pattern (apply str (map (fn [i] (str "(?<averylongnameforagroup" i ">a)")) (range 100)))))))

;; == exceptions with long messages => memory_exceeded
(let [s (apply str (repeat 1000 "xxxxxxxxxx"))] (loop [v []] (recur (conj v (ex-info (str s (count v)) {})))))

;; == exceptions that were caught => memory_exceeded
(let [s (apply str (repeat 1000 "xxxxxxxxxx"))]
  (loop [v []] (recur (conj v (try (throw (ex-info (str s (count v)) {})) (catch Exception e e))))))

;; == errors of the machine that were caught => memory_exceeded
(loop [v []] (recur (conj v (try (/ 1 0) (catch Exception e e)))))

;; == a chain of causes => nesting_too_deep
(loop [e nil] (recur (ex-info "again" {} e)))

;; == short keywords => memory_exceeded
(loop [i 0] (keyword (str i)) (recur (inc i)))

;; == short symbols with a namespace => memory_exceeded
(loop [i 0] (symbol "n" (str i)) (recur (inc i)))

;; == keywords by many functions at once => memory_exceeded
(run! keyword (map str (range 1000000)))

;; == keywords from json => memory_exceeded
(loop [i 0] (json/parse-string (str "{\"key" i "\":1}") true) (recur (inc i)))

;; == one definition, again and again => fuel_exceeded
(loop [i 0] (def x i) (recur (inc i)))

;; == metadata of definitions => fuel_exceeded
(def x 1)
(loop [i 0] (alter-meta! #'x assoc i (vec (range 100))) (recur (inc i)))

;; == methods of a multimethod => fuel_exceeded
(defmulti f identity)
(loop [i 0] (defmethod f i [x] (vec (range 10))) (recur (inc i)))

;; == a hierarchy => fuel_exceeded
(loop [i 0] (derive (keyword "a" (str i)) ::b) (recur (inc i)))

;; == validators => memory_exceeded
(loop [v []] (recur (conj v (atom 0 :validator (let [data (vec (range 100))] (fn [_] data))))))

;; == watches of a var => fuel_exceeded
(def x 1)
(loop [i 0] (add-watch #'x i (let [data (vec (range 100))] (fn [_ _ _ _] data))) (recur (inc i)))

;; == bindings in branches => memory_exceeded
(def ^:dynamic *x* nil)
(binding [*x* (vec (range 1000))] (pmap (fn [i] (binding [*x* (vec (range 1000))] @(promise))) (range 100000)))

;; == branches that fork branches => memory_exceeded
(defn f [n] (pmap (fn [i] (f (inc n))) (range 10)))
(f 0)

;; == promises => memory_exceeded
(loop [v []] (recur (conj v (promise))))

;; == tasks with long ids => fuel_exceeded
(loop [i 0] (task (apply str (repeat 100 (str "a long id " i))) nil) (recur (inc i)))

;; == string builders that were emptied => fuel_exceeded
(loop [v []]
  (let [b (StringBuilder.)]
    (.append b (apply str (repeat 1000 "xxxxxxxxxx")))
    (.setLength b 0)
    (recur (conj v b))))

;; == vectors that were emptied in place => fuel_exceeded
(loop [v []]
  (recur (conj v (loop [t (transient (vec (range 1000))) i 0] (if (< i 1000) (recur (pop! t) (inc i)) t)))))

;; == numbers that are large => memory_exceeded
(loop [v []] (recur (conj v (bit-shift-left 1N 10000))))

;; == a key that is no number, again and again => fuel_exceeded
(loop [m {}] (recur (assoc m ##NaN 1)))

;; == members that are no numbers => memory_exceeded
(set (repeat 1000000 ##NaN))

;; == keys that are no numbers in vectors => fuel_exceeded
(loop [m {}] (recur (assoc m [##NaN] 1)))
