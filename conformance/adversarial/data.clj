;; Collections, sorting, JSON, dates, parallel branches and printing with hostile arguments.
;; limits: fuel 2m, memory 16mb

;; == sort with a comparator that always says yes => value 100
(count (sort (fn [a b] true) (range 100)))

;; == sort with a comparator that always says less => value 1000
(count (sort (fn [a b] -1) (range 1000)))

;; == sort with a comparator that always says more => value 1000
(count (sort (fn [a b] 1) (range 1000)))

;; == sort with a comparator that goes round => value 999
(count (sort (fn [a b] (< (mod (- a b) 3) 1)) (range 999)))

;; == sort with a random comparator => value 1000
(count (sort (fn [a b] (- (rand-int 3) 1)) (range 1000)))

;; == sort with a comparator that throws => exception
(sort (fn [a b] (throw (ex-info "no" {}))) [1 2])

;; == sort with a comparator that answers nonsense => value 3
(count (sort (fn [a b] "x") [1 2 3]))

;; == sort with a comparator that changes what it sorts => value 100
(let [a (atom (range 100))] (count (sort (fn [x y] (reset! a []) (compare x y)) @a)))

;; == sort of mixed types => type_error
(sort [1 "a" :b])

;; == sort of NaN => type_error
(count (sort [1.0 ##NaN 2.0]))

;; == sorted map with a random comparator => value true
(number? (count (into (sorted-map-by (fn [a b] (- (rand-int 3) 1))) (map vector (range 500) (range)))))

;; == sorted set with a comparator that always says less => value true
(number? (count (into (sorted-set-by (fn [a b] -1)) (range 500))))

;; == sorted map with an expensive comparator => fuel_exceeded
(into (sorted-map-by (fn [a b] (reduce + (range 10000)) (compare a b))) (map vector (range 1000) (range)))

;; == sorted maps grown one by one => fuel_exceeded
(reduce (fn [m i] (assoc m i i)) (sorted-map) (range 10000000))

;; == sorted sets grown at the front => fuel_exceeded
(reduce conj (sorted-set) (range 10000000 0 -1))

;; == subseq in a loop => fuel_exceeded
(let [m (into (sorted-map) (map vector (range 10000) (range)))] (loop [] (subseq m > 1) (recur)))

;; == sorting long equal strings => fuel_exceeded
(let [s (apply str (repeat 10000 "x"))] (loop [] (sort (map (fn [i] (str s i)) (range 100))) (recur)))

;; == sorting deep vectors => fuel_exceeded
(let [deep (reduce (fn [v _] [v]) [] (range 900))] (loop [] (sort (map (fn [i] [deep i]) (range 100))) (recur)))

;; == a million distinct keywords in a map => fuel_exceeded
(into {} (map (fn [i] [(keyword (str "a-keyword-with-a-long-name-" i)) i]) (range 1000000)))

;; == vectors with a common beginning as keys => memory_exceeded
(count (set (map (fn [i] (conj (vec (range 100)) i)) (range 200000))))

;; == maps of the same size as keys => fuel_exceeded
(count (set (map (fn [i] (zipmap (range i (+ i 600)) (range))) (range 200000))))

;; == nested vectors as keys => fuel_exceeded
(count (set (map (fn [i] (reduce (fn [v _] [v v]) i (range 10))) (range 2000000))))

;; == floats that hash alike as keys => memory_exceeded
(count (set (map (fn [i] (* i 4294967296.0)) (range 2000000))))

;; == integers that hash alike as keys => memory_exceeded
(count (set (map (fn [i] (* i 4294967296)) (range 2000000))))

;; == strings that collide in Java => value 4096
(count (set (reduce (fn [xs _] (mapcat (fn [x] [(str x "Aa") (str x "BB")]) xs)) [""] (range 12))))

;; == keys that are removed and added for ever => fuel_exceeded
(loop [m (zipmap (range 100) (range)) i 0] (recur (assoc (dissoc m i) (+ i 100) 1) (inc i)))

;; == merging large maps for ever => fuel_exceeded
(let [m (zipmap (range 10000) (range))] (loop [] (merge m {:a 1}) (recur)))

;; == merge-with on large maps => fuel_exceeded
(let [m (zipmap (range 10000) (range))] (loop [m m] (recur (merge-with + m m))))

;; == select-keys with many keys => fuel_exceeded
(loop [] (select-keys {:a 1} (range 100000)) (recur))

;; == update-vals of a large map for ever => fuel_exceeded
(loop [m (zipmap (range 10000) (range))] (recur (update-vals m inc)))

;; == map-invert for ever => fuel_exceeded
(loop [m (zipmap (range 10000) (range))] (recur (clojure.set/map-invert m)))

;; == set operations for ever => fuel_exceeded
(let [a (set (range 10000)) b (set (range 5000 15000))] (loop [] (clojure.set/union a b) (clojure.set/intersection a b) (clojure.set/difference a b) (recur)))

;; == joins that multiply => memory_exceeded
(let [a (set (map (fn [i] {:k 1 :a i}) (range 3000))) b (set (map (fn [i] {:k 1 :b i}) (range 3000)))] (count (clojure.set/join a b)))

;; == combinations => fuel_exceeded
(count (combinations (range 100) 50))

;; == nth with a huge index => fuel_exceeded
(nth (iterate inc 1) 1000000000000)

;; == nth of a list with a huge index => index_out_of_bounds
(nth (list 1 2 3) 1000000000000)

;; == drop with a huge count => value ()
(drop 1000000000000 [1 2 3])

;; == drop of an endless sequence => fuel_exceeded
(first (drop 1000000000000 (iterate inc 1)))

;; == take with a huge count => value (1 2 3)
(take 1000000000000 [1 2 3])

;; == take of an endless sequence => fuel_exceeded
(count (take 1000000000000 (iterate inc 1)))

;; == repeat with a huge count => fuel_exceeded
(count (vec (repeat 1000000000000 :x)))

;; == repeat of a negative count => value ()
(repeat -1000000000000 :x)

;; == take-nth of zero => illegal_argument
(count (take-nth 0 [1 2 3]))

;; == partition of zero => illegal_argument
(count (partition 0 [1 2 3]))

;; == partition with a step of zero => illegal_argument
(count (partition 2 0 [1 2 3]))

;; == partition with a huge size => value ()
(partition 1000000000000 [1 2 3])

;; == partition-all with a huge size => value ((1 2 3))
(partition-all 1000000000000 [1 2 3])

;; == partition with padding without end => value ((1 2 3))
(partition 3 3 (repeat 0) [1 2 3])

;; == split-at with a huge index => value [(1 2 3) ()]
(split-at 1000000000000 [1 2 3])

;; == take-last with a huge count => value (1 2 3)
(take-last 1000000000000 [1 2 3])

;; == drop-last with a huge count => value ()
(drop-last 1000000000000 [1 2 3])

;; == subvec outside => index_out_of_bounds
(subvec [1 2 3] 0 1000000000000)

;; == assoc far outside of a vector => index_out_of_bounds
(assoc [1 2 3] 1000000000000 1)

;; == rand-nth of a huge range => fuel_exceeded
(number? (rand-nth (range 1000000000000)))

;; == nth of a huge range => value 999999999999
(nth (range 1000000000000) 999999999999)

;; == count of a huge range => value 1000000000000
(count (range 1000000000000))

;; == last of a huge range => value 999999999999
(last (range 1000000000000))

;; == equality of huge ranges => fuel_exceeded
(= (range 1000000000000) (range 1000000000000))

;; == hash of a huge range => fuel_exceeded
(hash (range 1000000000000))

;; == a huge range as a key => fuel_exceeded
(get {(range 1000000000000) 1 :b 2} (range 1000000000001))

;; == a huge range in a set => fuel_exceeded
(count (hash-set (range 1000000000000) 1 2 3 4 5 6 7 8 9 10))

;; == a huge range printed => memory_exceeded
(println (range 1000000000000))

;; == a huge range as the result => output_exceeded
(range 1000000000000)

;; == a huge range as JSON => fuel_exceeded
(json/generate-string (range 1000000000000))

;; == a huge range inside of collections, as the result => output_exceeded
{:a [(range 1000000000000)]}

;; == a huge range sorted => fuel_exceeded
(sort-by - (range 1000000000000))

;; == a huge range reversed and looked at => value 999999999999
(first (reverse (range 1000000000000)))

;; == a huge range in contains? => type_error
(contains? (range 1000000000000) 5)

;; == index-of in a huge range => fuel_exceeded
(.indexOf (range 1000000000000) -1)

;; == every? over a huge range => fuel_exceeded
(every? number? (range 1000000000000))

;; == apply max of a huge range => fuel_exceeded
(apply max (range 1000000000000))

;; == zipmap of huge ranges => memory_exceeded
(zipmap (range 1000000000000) (range 1000000000000))

;; == interleave of huge ranges => fuel_exceeded
(vec (interleave (range 1000000000000) (range 1000000000000)))

;; == interpose in a huge range => fuel_exceeded
(vec (interpose 1 (range 1000000000000)))

;; == distinct of a huge range => fuel_exceeded
(vec (distinct (range 1000000000000)))

;; == dedupe of a huge range => fuel_exceeded
(vec (dedupe (range 1000000000000)))

;; == map-indexed of a huge range => fuel_exceeded
(vec (map-indexed vector (range 1000000000000)))

;; == describe a huge range => value true
(map? (describe (range 1000000000000)))

;; == json nested very deeply => memory_exceeded
(json/parse-string (apply str (repeat 1000000 "[")))

;; == json nested very deeply and closed => format_error
(json/parse-string (str (apply str (repeat 100000 "[")) (apply str (repeat 100000 "]"))))

;; == json objects nested very deeply => format_error
(json/parse-string (str (apply str (repeat 100000 "{\"a\":")) "1" (apply str (repeat 100000 "}"))))

;; == json very wide => fuel_exceeded
(count (json/parse-string (str "[" (apply str (repeat 5000000 "1,")) "1]")))

;; == json of empty arrays => fuel_exceeded
(count (json/parse-string (str "[" (apply str (repeat 5000000 "[],")) "1]")))

;; == json of empty objects => fuel_exceeded
(count (json/parse-string (str "[" (apply str (repeat 5000000 "{},")) "1]")))

;; == json of many small objects => memory_exceeded
(count (json/parse-string (str "[" (apply str (repeat 1000000 "{\"a\":1},")) "1]")))

;; == json with a huge number => memory_exceeded
(json/parse-string (apply str (repeat 1000000 "9")))

;; == json with a huge exponent => format_error
(json/parse-string "1e999999999999999")

;; == json with a tiny exponent => value 0.0
(json/parse-string "1e-999999999999999")

;; == json with a long fraction => value true
(let [x (json/parse-string (str "0." (apply str (repeat 9000 "3"))))] (or (nil? x) (number? x)))

;; == json with very many distinct keys => fuel_exceeded
(count (json/parse-string (str "{" (clojure.string/join "," (map (fn [i] (str "\"a-long-key-to-take-room-" i "\":1")) (range 300000))) "}")))

;; == json with one key very often => value 1
(count (json/parse-string (str "{" (clojure.string/join "," (repeat 30000 "\"a\":1")) "}")))

;; == json with a long string => fuel_exceeded
(count (json/parse-string (str "\"" (apply str (repeat 20000000 "x")) "\"")))

;; == json of escapes => value 100000
(count (json/parse-string (str "\"" (apply str (repeat 100000 "\\u0041")) "\"")))

;; == json in a loop => fuel_exceeded
(let [s (json/generate-string (vec (range 1000)))] (loop [] (json/parse-string s) (recur)))

;; == json written in a loop => fuel_exceeded
(let [x (vec (range 1000))] (loop [] (json/generate-string x) (recur)))

;; == json pretty of deep nesting in a loop => fuel_exceeded
(let [x (reduce (fn [v _] [v 1]) [] (range 900))] (loop [] (json/generate-string x {:pretty true}) (recur)))

;; == json of big integers in a loop => fuel_exceeded
(let [x (vec (repeat 100 (reduce * (repeat 15000 10N))))] (loop [] (json/generate-string x) (recur)))

;; == a date far in the future => illegal_argument
(.plusDays (java.time.LocalDate/of 2024 1 1) 9223372036854775807)

;; == years beyond the calendar => illegal_argument
(.plusYears (java.time.LocalDate/of 2024 1 1) 999999999999)

;; == months backwards without end => illegal_argument
(.minusMonths (java.time.LocalDate/of 2024 1 1) 9223372036854775807)

;; == durations that overflow => illegal_argument
(.multipliedBy (java.time.Duration/ofDays 100000000) 9223372036854775807)

;; == durations of the largest number of days => illegal_argument
(java.time.Duration/ofDays 9223372036854775807)

;; == instants at their ends => illegal_argument
(java.time.Instant/ofEpochSecond 9223372036854775807)

;; == a date pattern that is too long => illegal_argument
(java.time.format.DateTimeFormatter/ofPattern (apply str (repeat 100000 "y")))

;; == a date text that is too long => memory_exceeded
(java.time.LocalDate/parse (apply str (repeat 1000000 "2")))

;; == dates in a loop => fuel_exceeded
(loop [d (java.time.LocalDate/of 2024 1 1)] (recur (.plusDays d 1)))

;; == parsed dates in a loop => fuel_exceeded
(loop [] (java.time.LocalDate/parse "2024-01-01") (recur))

;; == formatted dates in a loop => fuel_exceeded
(let [f (java.time.format.DateTimeFormatter/ofPattern "yyyy-MM-dd EEEE")] (loop [] (.format (java.time.LocalDate/of 2024 1 1) f) (recur)))

;; == time zones in a loop => fuel_exceeded
(loop [] (java.time.ZoneId/of "Europe/Berlin") (recur))

;; == pmap over pmap => value 100
(reduce + (map (fn [xs] (reduce + xs)) (pmap (fn [i] (pmap (fn [j] 1) (range 10))) (range 10))))

;; == pmap over pmap over pmap => value 8000
(count (flatten (pmap (fn [i] (pmap (fn [j] (pmap (fn [k] k) (range 20))) (range 20))) (range 20))))

;; == pmap that forks itself => fuel_exceeded
(defn f [x] (pmap f [x x]))
(f 1)

;; == pmap over very many => memory_exceeded
(count (pmap inc (range 10000000)))

;; == pmap over an endless sequence => fuel_exceeded
(first (pmap inc (range)))

;; == pmap whose branches each keep much => memory_exceeded
(count (pmap (fn [i] (vec (range 10000))) (range 1000)))

;; == pmap whose branches each call deeply => memory_exceeded
(defn deep [n] (if (zero? n) 0 (inc (deep (dec n)))))
(pmap (fn [i] (deep 10000000)) (range 10))

;; == pcalls that never end => fuel_exceeded
(pcalls (fn [] (loop [] (recur))) (fn [] 1))

;; == a hundred pmaps one after the other => value 1000
(reduce + (mapcat (fn [_] (pmap inc (repeat 10 0))) (range 100)))

;; == pmap in a loop => fuel_exceeded
(loop [] (pmap inc [1 2 3]) (recur))

;; == printing for ever => output_exceeded
(loop [i 0] (println "line" i) (recur (inc i)))

;; == one very long line => fuel_exceeded
(println (apply str (repeat 2000000 "x")))

;; == printing large data => memory_exceeded
(println (vec (range 1000000)))

;; == prn for ever => output_exceeded
(loop [] (prn {:a [1 2 3]}) (recur))

;; == printf for ever => output_exceeded
(loop [] (printf "%100d\n" 1) (recur))

;; == with-out-str inside of with-out-str => value 3
(count (with-out-str (print (with-out-str (print (with-out-str (print "abc")))))))

;; == print-str of much => fuel_exceeded
(count (print-str (vec (range 100000000))))

;; == println-str for ever => memory_exceeded
(loop [s ""] (recur (println-str s s)))

;; == a large result => output_exceeded
(vec (range 500000))

;; == a large string as the result => output_exceeded
(let [s (apply str (repeat 100000 "x"))] (vec (repeat 50 s)))

;; == a large result with return => output_exceeded
(return (vec (range 500000)))

;; == a result that fits => value 100000
(count (vec (range 100000)))

;; == transducers stacked deeply => fuel_exceeded
(count (into [] (apply comp (repeat 100000 (map inc))) [1]))

;; == eduction for ever => fuel_exceeded
(count (eduction (map inc) (range)))

;; == reduce-kv over a large map for ever => fuel_exceeded
(let [m (zipmap (range 10000) (range))] (loop [] (reduce-kv (fn [a k v] (+ a v)) 0 m) (recur)))

;; == re-seq results kept => memory_exceeded
(loop [xs []] (recur (conj xs (doall (re-seq #"\w" "some text to be cut into letters")))))

;; == volatile swaps for ever => fuel_exceeded
(let [v (volatile! 0)] (loop [] (vswap! v inc) (recur)))

;; == arrays changed for ever => fuel_exceeded
(let [a (int-array 1000)] (loop [i 0] (aset a (mod i 1000) i) (recur (inc i))))

;; == arrays copied for ever => fuel_exceeded
(let [a (int-array 10000)] (loop [] (aclone a) (recur)))

;; == hierarchies that grow => fuel_exceeded
(loop [i 0] (derive (keyword "a" (str "child-" i)) (keyword "a" (str "child-" (inc i)))) (recur (inc i)))

;; == isa? along a long hierarchy => fuel_exceeded
(doseq [i (range 200)] (derive (keyword "a" (str "c" i)) (keyword "a" (str "c" (inc i)))))
(isa? :a/c0 :a/c200)

;; == methods without end => unsupported_form
(defmulti m identity)
(loop [i 0] (.addMethod m i (fn [x] x)) (recur (inc i)))

;; == Base64 for ever => fuel_exceeded
(loop [s "x"] (recur (.encodeToString (java.util.Base64/getEncoder) (.getBytes s))))
