;; Memory taken openly, and memory hidden where a count may forget to look.
;; limits: fuel 8m, memory 16mb

;; == a vector of a range without end in sight => fuel_exceeded
(vec (range 1e12))

;; == a vector of many => fuel_exceeded
(vec (range 100000000))

;; == into a vector => memory_exceeded
(into [] (range 100000000))

;; == a set of many => fuel_exceeded
(set (range 100000000))

;; == a list of many => fuel_exceeded
(apply list (range 100000000))

;; == vectors of vectors => memory_exceeded
(vec (repeat 1000 (vec (range 1000))))
(mapv (fn [_] (vec (range 1000))) (range 100000))

;; == repeat into a vector => fuel_exceeded
(vec (repeat 1000000000 1))

;; == doubling a vector => memory_exceeded
(loop [v [1]] (recur (into v v)))

;; == doubling with concat => memory_exceeded
(loop [v [1]] (recur (vec (concat v v))))

;; == doubling a map => memory_exceeded
(loop [m {0 0}] (recur (merge m (zipmap (map (fn [k] (+ k (count m))) (keys m)) (vals m)))))

;; == an array of a huge size => fuel_exceeded
(int-array 1000000000)

;; == an object array of a huge size => fuel_exceeded
(object-array 1000000000)

;; == make-array with huge dimensions => fuel_exceeded
(make-array Object 100000 100000)

;; == an array of a negative size => illegal_argument
(int-array -1)

;; == memory in closures => memory_exceeded
(loop [fs []] (let [data (vec (range 1000))] (recur (conj fs (fn [] data)))))

;; == memory in a chain of closures => nesting_too_deep
(loop [f (fn [] 1)] (recur (fn [] (f))))

;; == memory in partial => memory_exceeded
(loop [fs []] (recur (conj fs (partial + (count fs) 1 2 3 4 5 6 7 8 9))))

;; == memory in an atom => memory_exceeded
(def a (atom []))
(loop [] (swap! a conj (vec (range 100))) (recur))

;; == memory in a chain of atoms => memory_exceeded
(loop [a (atom nil)] (recur (atom a)))

;; == memory in many atoms => memory_exceeded
(loop [as []] (recur (conj as (atom (vec (range 10))))))

;; == an atom that holds itself, again and again, is freed => fuel_exceeded
(loop [] (let [a (atom nil)] (reset! a [a (vec (range 1000))])) (recur))

;; == closures that hold themselves through atoms are freed => fuel_exceeded
(loop [] (let [a (atom nil) data (vec (range 1000))] (reset! a (fn [] [a data]))) (recur))

;; == lazy sequences that hold themselves are freed => fuel_exceeded
(loop [] (let [a (atom nil) s (lazy-seq @a)] (reset! a s)) (recur))

;; == a volatile that holds itself is freed => fuel_exceeded
(loop [] (let [a (volatile! nil)] (vreset! a [a (vec (range 1000))])) (recur))

;; == memory in metadata => memory_exceeded
(loop [xs []] (recur (conj xs (with-meta [] {:data (vec (range 100))}))))

;; == memory in metadata of metadata => nesting_too_deep
(loop [x []] (recur (with-meta [] {:m x})))

;; == memory in metadata of atoms => memory_exceeded
(loop [xs []] (recur (conj xs (atom 1 :meta {:data (vec (range 100))}))))

;; == memory in metadata of sorted maps => memory_exceeded
(loop [xs []] (recur (conj xs (with-meta (sorted-map) {:data (vec (range 100))}))))

;; == memory in metadata of functions => memory_exceeded
(loop [xs []] (recur (conj xs (with-meta (fn [] 1) {:data (vec (range 100))}))))

;; == memory in watches => fuel_exceeded
(def a (atom 0))
(loop [i 0] (add-watch a i (let [data (vec (range 100))] (fn [_ _ _ _] data))) (recur (inc i)))

;; == memory in exceptions => memory_exceeded
(loop [xs []] (recur (conj xs (ex-info "text" {:data (vec (range 100))}))))

;; == memory in messages of exceptions => fuel_exceeded
(loop [xs []] (recur (conj xs (ex-info (apply str (repeat 1000 (str (count xs)))) {}))))

;; == memory in prints => output_exceeded
(loop [] (println (range 100)) (recur))

;; == memory in an unfinished line => output_exceeded
(loop [] (print "some text without an end ") (recur))

;; == memory in many empty lines => output_exceeded
(loop [] (newline) (recur))

;; == memory in captured prints => memory_exceeded
(with-out-str (loop [] (println (range 100)) (recur)))

;; == memory in nested captures => fuel_exceeded
(defn f [] (with-out-str (print (apply str (repeat 1000 "x"))) (f)))
(f)

;; == memory in definitions => fuel_exceeded
(def xs [])
(loop [] (def xs (conj xs (vec (range 100)))) (recur))

;; == a million keywords => memory_exceeded
(loop [i 0] (keyword (str "some-long-keyword-name-number-" i)) (recur (inc i)))

;; == a million symbols => memory_exceeded
(loop [i 0] (symbol (str "some-long-symbol-name-number-" i)) (recur (inc i)))

;; == gensyms => memory_exceeded
(loop [i 0] (gensym "some-long-prefix-that-takes-room-in-the-table-of-names") (recur (inc i)))

;; == keywords of json keys => fuel_exceeded
(loop [i 0] (json/parse-string (str "{\"some-long-key-that-takes-room-in-the-table-" i "\": 1}")) (recur (inc i)))

;; == memoize that grows => memory_exceeded
(def f (memoize (fn [n] (vec (range 100)))))
(loop [i 0] (f i) (recur (inc i)))

;; == memoize that grows by its keys => memory_exceeded
(def f (memoize (fn [n] 1)))
(loop [i 0] (f (vec (range i (+ i 100)))) (recur (inc i)))

;; == delays => memory_exceeded
(loop [ds []] (recur (conj ds (delay (vec (range 100))))))

;; == realised delays => memory_exceeded
(loop [ds []] (let [d (delay (vec (range 100)))] @d (recur (conj ds d))))

;; == transients => memory_exceeded
(loop [t (transient [])] (recur (conj! t (vec (range 100)))))

;; == transient maps => memory_exceeded
(loop [t (transient {}) i 0] (recur (assoc! t i i) (inc i)))

;; == queues => memory_exceeded
(loop [q clojure.lang.PersistentQueue/EMPTY] (recur (conj q (vec (range 100)))))

;; == sorted maps => memory_exceeded
(loop [m (sorted-map) i 0] (recur (assoc m i (vec (range 100))) (inc i)))

;; == a string builder => memory_exceeded
(let [b (StringBuilder.)] (loop [] (.append b "some text that takes room") (recur)))

;; == many string builders => fuel_exceeded
(loop [bs []] (recur (conj bs (StringBuilder. (apply str (repeat 100 "x"))))))

;; == a regex per number => fuel_exceeded
(loop [rs []] (recur (conj rs (re-pattern (str "some[a-z]+pattern" (count rs))))))

;; == matchers => fuel_exceeded
(loop [ms []] (recur (conj ms (re-matcher #"a+" (apply str (repeat 100 "a"))))))

;; == dates => memory_exceeded
(loop [ds []] (recur (conj ds (java.time.LocalDate/of 2024 1 1))))

;; == uuids => memory_exceeded
(loop [us []] (recur (conj us (random-uuid))))

;; == records => memory_exceeded
(defrecord R [a b c])
(loop [rs []] (recur (conj rs (->R 1 2 (count rs)))))

;; == tails that hold on to large vectors => memory_exceeded
(loop [xs []] (recur (conj xs (drop 999 (vec (range 1000))))))

;; == subvec that holds on to large vectors => fuel_exceeded
(loop [xs []] (recur (conj xs (subvec (vec (range 1000)) 0 1))))

;; == a small part of large strings => fuel_exceeded
(loop [xs []] (recur (conj xs (subs (apply str (repeat 10000 "x")) 0 20))))

;; == a split that holds on to large strings => fuel_exceeded
(loop [xs []] (recur (conj xs (first (clojure.string/split (apply str (repeat 1000 "some text,")) #",")))))

;; == seqs of strings => memory_exceeded
(loop [xs []] (recur (conj xs (seq (apply str (repeat 100 "x"))))))

;; == copies of a large map => memory_exceeded
(def m (zipmap (range 10000) (range)))
(loop [ms []] (recur (conj ms (assoc m :x (count ms)))))

;; == copies of a large map with apply => memory_exceeded
(def m (zipmap (range 10000) (range)))
(loop [ms []] (recur (conj ms (apply assoc m [:x (count ms) :y 1]))))

;; == copies of a large vector => memory_exceeded
(def v (vec (range 10000)))
(loop [vs []] (recur (conj vs (assoc v 0 (count vs)))))

;; == copies of a large set => memory_exceeded
(def s (set (range 10000)))
(loop [ss []] (recur (conj ss (conj s :x))))

;; == copies of a large map that are dropped => fuel_exceeded
(def m (zipmap (range 10000) (range)))
(loop [] (assoc m :x 1) (recur))

;; == arguments without end => fuel_exceeded
(apply + (range 100000000))

;; == arguments of a function of the program => fuel_exceeded
(apply (fn [& xs] (count xs)) (range 100000000))

;; == a frame with very many arguments, again and again => fuel_exceeded
(defn f [& xs] (inc (apply f 1 xs)))
(f)

;; == group-by that keeps everything => memory_exceeded
(group-by identity (map (fn [i] (vec (range i (+ i 100)))) (range 100000)))

;; == frequencies of many => fuel_exceeded
(frequencies (range 100000000))

;; == partitions that repeat everything => output_exceeded
(doall (partition 10000 1 (range 100000)))

;; == copies of partitions that repeat everything => memory_exceeded
(mapv vec (partition 10000 1 (range 100000)))

;; == combinations by for => memory_exceeded
(vec (for [a (range 1000) b (range 1000) c (range 1000)] [a b c]))

;; == interleave of endless sequences => fuel_exceeded
(vec (interleave (range) (cycle [1 2]) (iterate inc 1)))

;; == a held head of many lazy sequences => memory_exceeded
(def xss (mapv (fn [i] (map inc (iterate inc i))) (range 1000)))
(mapv (fn [xs] (nth xs 10000)) xss)

;; == reverse of many => output_exceeded
(reverse (range 100000000))

;; == shuffle of many => fuel_exceeded
(shuffle (range 100000000))

;; == sort of many => fuel_exceeded
(sort (range 100000000))

;; == the journal => fuel_exceeded
(loop [i 0] (task (str "step-" i) (vec (range 100))) (recur (inc i)))

;; == definitions of earlier programs cannot be crowded out => value 5
(def small 5)
small

;; == big integers in a vector => memory_exceeded
(loop [a 0 b 1 v []] (recur b (+ a b) (conj v b)))

;; == big integers in a map => memory_exceeded
(loop [a 0 b 1 m {} n 0] (recur b (+ a b) (assoc m n b) (inc n)))

;; == big integers in closures => memory_exceeded
(loop [a 0 b 1 fs []] (recur b (+ a b) (conj fs (fn [] b))))

;; == maps that were large => fuel_exceeded
(loop [ms []] (recur (conj ms (reduce dissoc (zipmap (range 100) (range 100)) (range 1 100)))))

;; == vectors that were large, popped => fuel_exceeded
(loop [vs []] (recur (conj vs (nth (iterate pop (vec (range 100))) 99))))

;; == builders that were long => fuel_exceeded
(loop [bs []] (recur (conj bs (doto (StringBuilder. (apply str (repeat 1000 "x"))) (.setLength 0)))))

;; == a text grown by short pieces => memory_exceeded
(loop [s "a text that is long enough"] (recur (str s "fourteen bytes")))

;; == what a sorted set was asked for is dead when it has answered => value 0
(let [s (sorted-set-by (fn [a b] (compare (count a) (count b))) "x")
      f (fn f [n] (if (zero? n) 0 (do (s (format "%50000d" n)) (f (dec n)))))]
  (f 400))

;; == keywords of long names in a map => memory_exceeded
(let [long (apply str (repeat 1000 "n"))] (into {} (map (fn [i] [(keyword (str long i)) i]) (range 1000000))))

;; == keywords of long names that nothing holds => memory_exceeded
(let [long (apply str (repeat 1000 "n"))] (loop [i 0] (keyword (str long i)) (recur (inc i))))

;; == what is left of a text => memory_exceeded
(first (drop 2 (.repeat "a" 8000000)))

;; == what is left of a map, again and again => memory_exceeded
(let [m (zipmap (range 5000) (range))] (count (mapv (fn [_] (drop 2 m)) (range 4000))))

;; == what is left of a sorted map behind a condition => memory_exceeded
(let [m (into (sorted-map) (zipmap (range 5000) (range)))]
  (count (mapv (fn [_] (drop-while (fn [[k _]] (< k 2)) m)) (range 4000))))

;; == what is left of a text behind a condition => memory_exceeded
(let [t (.repeat "ab" 20000)] (count (mapv (fn [_] (drop-while #{"a"} t)) (range 4000))))

;; == a long keyword in lower case, again and again => memory_exceeded
(let [k (keyword (.repeat "k" 300000))] (mapv (fn [_] (clojure.string/lower-case k)) (range 3000)))

;; == a long symbol in upper case, again and again => memory_exceeded
(let [s (symbol (.repeat "k" 300000))] (mapv (fn [_] (clojure.string/upper-case s)) (range 3000)))

;; == one entry of a map, again and again => memory_exceeded
(let [m (zipmap (range 5000) (range)) v (mapv (fn [_] (first m)) (range 400000))] (nth v 5))
