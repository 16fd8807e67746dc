;; Programs that call tools everywhere a program can, each with a title and its answer. The tests run every
;; one from a dump made at each stop. The tools:
;;   price {n}    n times ten; fails for 13
;;   echo {value} the value
;;   rows {}      three rows: id, name, tags, at
;;   user {id}    id, name, parent (half the id, none for 1)
;;   page {at}    two items and the next page, none after the third
;; and the input orders: two maps of id and amount.

;; plain call
(tool/price {:n 1})
;=> 10

;; two calls in one expression
(+ (tool/price {:n 1}) (tool/price :n 2))
;=> 30

;; in a vector, a map and a set
[(tool/price {:n 1}) {:k (tool/price {:n 2}) (tool/echo {:value "key"}) 1} #{(tool/price {:n 3})}]
;=> [10 {:k 20, "key" 1} #{30}]

;; loop and recur
(loop [i 0 s 0] (if (< i 4) (recur (inc i) (+ s (tool/price {:n i}))) s))
;=> 60

;; pages until there is none
(loop [at 0 all []] (let [{:keys [items next]} (tool/page {:at at})] (if next (recur next (into all items)) (into all items))))
;=> [0 1 2 3 4 5]

;; while with an atom
(let [n (atom 0) out (atom [])] (while (< @n 3) (swap! out conj (tool/price {:n @n})) (swap! n inc)) @out)
;=> [0 10 20]

;; dotimes and print
(dotimes [i 3] (println i (tool/price {:n i})))
;=> nil

;; doseq over two collections
(doseq [a [1 2] b [:x :y]] (println (tool/echo {:value [a b]})))
;=> nil

;; for with let, when and two calls
(for [x (range 5) :let [p (tool/price {:n x})] :when (even? x) y [1 2]] [(tool/echo {:value y}) p])
;=> ([1 0] [2 0] [1 20] [2 20] [1 40] [2 40])

;; for with while
(for [x (range) :while (< (tool/price {:n x}) 30)] x)
;=> (0 1 2)

;; map over a vector
(map #(tool/price {:n %}) [1 2 3])
;=> (10 20 30)

;; map over two collections
(map (fn [a b] (tool/echo {:value (str a b)})) [1 2 3] ["x" "y"])
;=> ("1x" "2y")

;; map over a map
(map (fn [[k v]] [k (tool/price {:n v})]) {:a 1 :b 2})
;=> ([:a 10] [:b 20])

;; map over a set and a string
[(map #(tool/price {:n %}) #{3 1 2}) (map #(tool/echo {:value %}) "žab")]
;=> [(30 10 20) ("ž" "a" "b")]

;; mapv, filterv, remove, keep
[(mapv #(tool/price {:n %}) [1 2]) (filterv #(> (tool/price {:n %}) 10) [1 2 3]) (remove #(= 10 (tool/price {:n %})) [1 2]) (keep #(tool/echo {:value %}) [1 nil 2])]
;=> [[10 20] [2 3] (2) (1 2)]

;; map-indexed and keep-indexed
[(map-indexed (fn [i x] (tool/echo {:value [i x]})) [:a :b]) (keep-indexed (fn [i x] (when (odd? i) (tool/echo {:value x}))) [1 2 3 4])]
;=> [([0 "a"] [1 "b"]) (2 4)]

;; mapcat
(mapcat #(:items (tool/page {:at %})) [0 1 2])
;=> (0 1 2 3 4 5)

;; some, every?, not-any?
[(some #(when (= 20 (tool/price {:n %})) %) [1 2 3]) (every? #(pos? (tool/price {:n %})) [1 2 0 5]) (not-any? #(zero? (tool/price {:n %})) [1 2])]
;=> [2 false true]

;; take-while and drop-while
[(take-while #(< (tool/price {:n %}) 30) (range 10)) (drop-while #(< (tool/price {:n %}) 30) (range 5))]
;=> [(0 1 2) (3 4)]

;; reduce
(reduce (fn [acc x] (+ acc (tool/price {:n x}))) 0 [1 2 3])
;=> 60

;; reduce without a start, over a set
(reduce (fn [a b] (+ a (tool/price {:n b}))) #{1 2 3})
;=> 51

;; reduce that stops early
(reduce (fn [acc x] (if (> acc 30) (reduced [:stop acc x]) (+ acc (tool/price {:n x})))) 0 (range 1 100))
;=> [:stop 60 4]

;; reduce-kv
(reduce-kv (fn [m k v] (assoc m k (tool/price {:n v}))) {} {:a 1 :b 2 :c 3})
;=> {:a 10, :b 20, :c 30}

;; reductions
(reductions (fn [a x] (+ a (tool/price {:n x}))) 0 [1 2 3])
;=> (0 10 30 60)

;; lazy sequence with a call per step
(take 3 (map #(tool/price {:n %}) (iterate inc 1)))
;=> (10 20 30)

;; lazy-seq by hand
(letfn [(from [n] (lazy-seq (cons (tool/price {:n n}) (from (inc n)))))] (take 3 (from 5)))
;=> (50 60 70)

;; a lazy sequence that is looked at twice
(let [s (map #(tool/price {:n %}) (iterate inc 1)) a (first s) b (nth s 2)] [a b (take 4 s)])
;=> [10 30 (10 20 30 40)]

;; a lazy sequence defined by itself
(def fibs (lazy-cat [0 1] (map + fibs (rest fibs)))) [(tool/price {:n 1}) (take 10 fibs) (tool/price {:n (nth fibs 5)}) (nth fibs 12)]
;=> [10 (0 1 1 2 3 5 8 13 21 34) 50 144]

;; cycle, repeatedly, partition of lazy ones
[(take 3 (repeatedly #(tool/price {:n 2}))) (take 2 (partition 2 (map #(tool/price {:n %}) (range)))) (take 4 (map (fn [c n] (tool/echo {:value [c n]})) (cycle [:a :b]) (range)))]
;=> [(20 20 20) ((0 10) (20 30)) (["a" 0] ["b" 1] ["a" 2] ["b" 3])]

;; interleave and concat of lazy calls
(take 4 (interleave (map #(tool/price {:n %}) (range)) (concat [:x] (map #(tool/echo {:value %}) [:y :z]))))
;=> (0 :x 10 "y")

;; lazy result inside the value of the program
{:rows (filter odd? (map #(inc (tool/price {:n %})) (take 3 (iterate inc 0)))) :n 1}
;=> {:rows (1 11 21), :n 1}

;; sort-by with a call as key
(sort-by #(- (tool/price {:n %})) [1 3 2])
;=> (3 2 1)

;; sort with a comparator that calls
(sort (fn [a b] (compare (tool/price {:n b}) (tool/price {:n a}))) [2 3 1])
;=> (3 2 1)

;; min-key, max-key, group-by, frequencies
[(max-key #(tool/price {:n %}) 1 3 2) (group-by #(> (tool/price {:n %}) 10) [1 2 3]) (frequencies (map #(tool/echo {:value %}) [1 1 2]))]
;=> [3 {false [1], true [2 3]} {1 2, 2 1}]

;; partition-by and dedupe
[(partition-by #(even? (quot (tool/price {:n %}) 20)) [0 1 2 3 4 5]) (dedupe (map #(quot (tool/price {:n %}) 20) (range 5)))]
;=> [((0 1) (2 3) (4 5)) (0 1 2)]

;; sorted-map-by with a comparator that calls
(into (sorted-map-by (fn [a b] (compare (tool/price {:n b}) (tool/price {:n a})))) [[1 :a] [3 :c] [2 :b]])
;=> {3 :c, 2 :b, 1 :a}

;; sorted-set-by and lookups in it
(let [s (sorted-set-by (fn [a b] (compare (tool/price {:n a}) (tool/price {:n b}))) 3 1 2)] [s (contains? s 2) (get s 5)])
;=> [#{1 2 3} true nil]

;; destructuring defaults
(let [{:keys [a b] :or {a (tool/price {:n 4}) b 1}} {:b 2}] [a b])
;=> [40 2]

;; destructuring of nested answers
(let [[{:keys [name tags]} & more] (tool/rows {})] [name tags (map (fn [{[t] :tags :as row}] [t (:id row)]) more)])
;=> ["Ann" ["a" "b"] ([nil 2] ["b" 3])]

;; arguments with defaults in a function
(defn f [x & {:keys [y] :or {y (tool/price {:n x})}}] [x y]) [(f 1) (f 2 :y 3)]
;=> [[1 10] [2 3]]

;; try and catch
(try (tool/price {:n 13}) (catch Exception e (ex-message e)))
;=> "tool price failed: unlucky"

;; try, catch with a call, finally with a call
(try (+ 1 (tool/price {:n 13})) (catch Exception e (str "caught " (tool/price {:n 1}))) (finally (println "at last" (tool/price {:n 2}))))
;=> "caught 10"

;; finally runs before the exception goes on
(try (try (tool/price {:n 13}) (finally (println (tool/price {:n 1})))) (catch Exception e [:outer (ex-message e)]))
;=> [:outer "tool price failed: unlucky"]

;; nested try in a loop
(loop [i 10 out []] (if (< i 15) (recur (inc i) (conj out (try (if (odd? i) (tool/price {:n i}) (throw (ex-info "even" {:i i}))) (catch clojure.lang.ExceptionInfo e (tool/echo {:value (or (:i (ex-data e)) "tool")})) (catch Exception e :other)))) out))
;=> [10 110 12 "tool" 14]

;; an exception caught after other calls, with its data and cause
(try (let [e (ex-info "outer" {:n (tool/price {:n 1})} (ex-info "inner" {:m 2}))] (tool/price {:n 2}) (throw e)) (catch Exception e [(ex-message e) (ex-data e) (ex-message (ex-cause e)) (ex-data (ex-cause e))]))
;=> ["outer" {:n 10} "inner" {:m 2}]

;; an error of the machine in a lazy step, caught, then gone on
(let [s (map (fn [n] (tool/price {:n n}) (/ 12 n)) (iterate dec 2))] [(first s) (try (nth s 2) (catch ArithmeticException e :divided)) (second s)])
;=> [6 :divided 12]

;; pmap
(pmap #(tool/price {:n %}) [1 2 3])
;=> (10 20 30)

;; pmap with several calls per branch
(pmap (fn [x] (+ (tool/price {:n x}) (tool/price {:n (inc x)}) (tool/price {:n (* x x)}))) [1 2 3])
;=> (40 90 160)

;; pmap in pmap
(pmap (fn [x] (reduce + (pmap #(tool/price {:n %}) [x (inc x)]))) [1 2])
;=> (30 50)

;; pmap with a failing branch that is caught inside
(pmap (fn [x] (try (tool/price {:n x}) (catch Exception e (tool/echo {:value "failed"})))) [12 13 14])
;=> (120 "failed" 140)

;; pmap with a failing branch that is caught outside
(try (pmap #(tool/price {:n %}) [1 13 2]) (catch Exception e [:caught (tool/price {:n 1})]))
;=> [:caught 10]

;; pmap with a binding in each branch
(def ^:dynamic *x* 0)
(defn seen [] [*x* (tool/price {:n *x*})])
(binding [*x* 5] [(pmap (fn [i] (binding [*x* i] (tool/price {:n i}) (seen))) [1 2 3]) (seen)])
;=> [([1 10] [2 20] [3 30]) [5 50]]

;; pcalls
(pcalls #(tool/price {:n 1}) (fn [] 5) #(tool/price {:n 2}))
;=> (10 5 20)

;; pcalls of loops of different length
(pcalls (fn [] (loop [i 0 s 0] (if (< i 3) (recur (inc i) (+ s (tool/price {:n i}))) s))) (fn [] (tool/price {:n 1})) (fn [] (mapv #(tool/price {:n %}) [1 2])))
;=> (30 10 [10 20])

;; atoms shared by branches
(let [seen (atom [])] (pmap (fn [x] (swap! seen conj (tool/price {:n x}))) [1 2 3]) (sort @seen))
;=> (10 20 30)

;; swap! with a function that calls
(let [a (atom 1)] (swap! a (fn [x] (+ x (tool/price {:n 7})))) (swap! a + (tool/price {:n 1}) 5) @a)
;=> 86

;; an atom with a watch and a validator
(let [a (atom 0 :validator number?)] (add-watch a :w (fn [_ _ old new] (println old new (tool/echo {:value "seen"})))) (swap! a + (tool/price {:n 1})) (reset! a 5) @a)
;=> 5

;; an atom inside of itself
(let [a (atom nil)] (reset! a {:me a :n 1}) (tool/price {:n 1}) (:n @(:me @a)))
;=> 1

;; volatile and transient
(let [v (volatile! 1) t (transient [])] (vswap! v + (tool/price {:n 1})) (conj! t (tool/price {:n 2})) (conj! t @v) (persistent! t))
;=> [20 11]

;; delays run once
(let [d (delay (println "once") (tool/price {:n 3}))] [(realized? d) @d @d (realized? d)])
;=> [false 30 30 true]

;; memoize
(let [f (memoize (fn [n] (tool/price {:n n})))] [(f 1) (f 2) (f 1) (f 2)])
;=> [10 20 10 20]

;; closures, partial, comp, juxt, complement
(let [add (fn [k] (fn [n] (+ k (tool/price {:n n})))) g (comp inc (partial * 2) (add 1))] [(g 1) ((juxt (add 2) (add 3)) 1) ((complement zero?) (tool/price {:n 0})) (apply (add 5) [2])])
;=> [23 [12 13] false 25]

;; letfn with functions that need each other
(letfn [(ev [n] (if (zero? n) (tool/echo {:value :even}) (od (dec n)))) (od [n] (if (zero? n) (tool/echo {:value :odd}) (ev (dec n))))] [(ev 4) (od 4)])
;=> ["even" "odd"]

;; deep recursion that is not in the tail
(defn sum [n] (if (zero? n) (tool/price {:n 1}) (+ n (sum (dec n))))) (sum 50)
;=> 1285

;; trampoline and mutual recursion
(defn a [n] (if (pos? n) #(a (- n (quot (tool/price {:n 1}) 10))) :done)) (trampoline a 3)
;=> :done

;; multimethod and protocol
(defmulti area :shape) (defmethod area :square [{:keys [a]}] (tool/price {:n (* a a)})) (defmethod area :default [_] (tool/echo {:value :unknown})) (defprotocol Priced (cost [this])) (defrecord Item [n] Priced (cost [_] (tool/price {:n n}))) [(area {:shape :square :a 2}) (area {:shape :tree}) (cost (->Item 7))]
;=> [40 "unknown" 70]

;; records
(defrecord Point [x y]) (let [p (->Point (tool/price {:n 1}) 2) q (assoc p :z (tool/price {:n 2}))] [p (:x q) (:z q) (= p (->Point 10 2)) (map->Point {:x (tool/price {:n 3})})])
;=> [#user.Point{:x 10, :y 2} 10 20 true #user.Point{:x 30, :y nil}]

;; transducers
[(into [] (comp (map #(tool/price {:n %})) (filter #(> % 10)) (take 2)) (range 10)) (transduce (map #(tool/price {:n %})) + 0 [1 2 3]) (sequence (comp (mapcat #(:items (tool/page {:at %}))) (partition-all 2)) [0 1])]
;=> [[20 30] 60 ([0 1] [2 3])]

;; eduction, completing, cat, dedupe
[(transduce (comp cat (dedupe) (map #(tool/echo {:value %}))) (completing conj) [] [[1 1] [2 2 3]]) (into #{} (keep #(tool/echo {:value %})) [1 nil 1])]
;=> [[1 2 3] #{1}]

;; update, update-in, update-vals
[(update {:a 1} :a #(tool/price {:n %})) (update-in {:a {:b [1 2]}} [:a :b 1] #(tool/price {:n %})) (update-vals {:x 1 :y 2} #(tool/price {:n %})) (merge-with (fn [a b] (+ a (tool/price {:n b}))) {:a 1} {:a 2 :b 3})]
;=> [{:a 10} {:a {:b [1 20]}} {:x 10, :y 20} {:a 21, :b 3}]

;; walk and tree-seq
[(clojure.walk/postwalk #(if (number? %) (tool/price {:n %}) %) {:a [1 {:b 2}]}) (map :id (tree-seq :parent (fn [u] [(tool/user {:id (:parent u)})]) (tool/user {:id 5})))]
;=> [{:a [10 {:b 20}]} (5 2 1)]

;; threading
(-> {:n 1} tool/price (- 3) (->> (hash-map :n)) tool/price (as-> x [x (tool/price {:n x})]))
;=> [70 700]

;; cond, case, when-let, if-some
[(cond (zero? (tool/price {:n 1})) :a (= 20 (tool/price {:n 2})) :b :else :c) (case (tool/price {:n 3}) 30 :thirty :none) (when-let [x (tool/echo {:value nil})] x) (if-some [x (tool/echo {:value false})] [:some x] :none)]
;=> [:b :thirty nil [:some false]]

;; and, or, condp, some->
[(and (tool/price {:n 1}) (tool/echo {:value nil}) (tool/price {:n 2})) (or (tool/echo {:value nil}) (tool/price {:n 3})) (condp = (tool/price {:n 1}) 5 :five 10 :ten) (some-> (tool/user {:id 3}) :parent (#(tool/user {:id %})) :name)]
;=> [nil 30 :ten "user-1"]

;; re-seq, replace with a function, re-find
[(re-seq #"\d+" (tool/echo {:value "a1b22"})) (clojure.string/replace "1 and 2" #"\d" (fn [d] (str (tool/price {:n (parse-long d)})))) (let [p #"(\w)-(\d)"] (tool/price {:n 1}) (re-find p "x a-1"))]
;=> [("1" "22") "10 and 20" ["a-1" "a" "1"]]

;; with-out-str
(let [s (with-out-str (println "in" (tool/price {:n 1})) (print "x"))] (println "out" (tool/price {:n 2})) s)
;=> "in 10\nx"

;; format and str
[(format "%05d|%-6s|%.2f" (tool/price {:n 12}) (tool/echo {:value "ab"}) 2.5) (str "total " (tool/price {:n 1}) :k nil 1.0) (clojure.string/join ", " (map #(tool/price {:n %}) [1 2]))]
;=> ["00120|ab    |2.50" "total 10:k1.0" "10, 20"]

;; long strings, big integers, floats
(let [s (apply str (repeat 30 "long text ")) big (reduce * (range 1N 30N)) f 0.1] (tool/price {:n 1}) [(count (str s s)) (* big 2) (+ f 0.2) (subs s 290)])
;=> [600 17683523987479403909087232000000 0.30000000000000004 "long text "]

;; dates
(let [d (java.time.LocalDate/parse (:at (first (tool/rows {})))) i (java.time.Instant/ofEpochMilli 86400000)] (tool/price {:n 1}) [(str (.plusDays d 30)) (str (.getDayOfWeek d)) (str i) (.isBefore d (java.time.LocalDate/of 2024 2 1))])
;=> ["2024-03-01" "WEDNESDAY" "1970-01-02T00:00:00Z" true]

;; dates as keys and in sets, formatters, durations
(let [d (java.time.LocalDate/of 2024 2 29) m {d :leap} z (java.time.ZonedDateTime/of 2024 3 31 1 30 0 0 (java.time.ZoneId/of "Europe/Paris")) f (java.time.format.DateTimeFormatter/ofPattern "dd.MM.yyyy")] (tool/price {:n 1}) [(get m (java.time.LocalDate/of 2024 2 29)) (str (.plusHours z 1)) (.format d f) (str (java.time.Duration/ofMinutes 90))])
;=> [:leap "2024-03-31T03:30+02:00[Europe/Paris]" "29.02.2024" "PT1H30M"]

;; rows as JSON gives them, and joins
(let [rows (tool/rows {}) by-id (into {} (map (juxt :id identity)) rows)] [(map :name (sort-by :at rows)) (mapv #(get-in by-id [(:id %) :name]) (tool/echo {:value [{:id 2} {:id 3}]})) (map #(assoc % :n (tool/price {:n (:id %)})) (take 2 rows))])
;=> [("Cid" "Ann" "Bob") ["Bob" "Cid"] ({:id 1, :name "Ann", :tags ["a" "b"], :at "2024-01-31", :n 10} {:id 2, :name "Bob", :tags [], :at "2024-02-29", :n 20})]

;; metadata survives
(let [v (with-meta [1 2] {:source :tool}) f (with-meta (fn [] 1) {:doc "f"})] (tool/price {:n 1}) [(meta v) (meta f) (meta (conj v 3))])
;=> [{:source :tool} {:doc "f"} {:source :tool}]

;; queues, lists, map entries, nested shapes
(let [q (conj clojure.lang.PersistentQueue/EMPTY 1 2) l '(1 2 3) e (first {:a 1})] (tool/price {:n 1}) [(peek q) (pop l) (key e) (map-entry? e) (list? l) (seq (rest l)) (vec (conj q 3))])
;=> [1 (2 3) :a true true (2 3) [1 2 3]]

;; keys that are collections
(let [m {[1 2] :v #{3} :s {:a 1} :m '(4 5) :l} k (map inc (take 2 (iterate inc 3)))] (doall k) (tool/price {:n 1}) [(m [1 2]) (m #{3}) (m {:a 1}) (m k) (get (assoc m k :lazy) '(4 5))])
;=> [:v :s :m :l :lazy]

;; identity is kept
(let [a [1 2 3] b {:x a :y a}] (tool/price {:n 1}) [(identical? (:x b) (:y b)) (identical? a (:x b)) (identical? :k :k)])
;=> [true true true]

;; arrays and string builders
(let [a (int-array [3 1 2]) sb (StringBuilder. "x")] (aset a 0 (tool/price {:n 1})) (.append sb (tool/echo {:value "y"})) [(vec a) (str sb)])
;=> [[10 1 2] "xy"]

;; random numbers and gensyms go on where they were
(let [a (rand-int 1000) g (gensym)] (tool/price {:n 1}) [(= a (rand-int 1000)) (= g (gensym)) (count (distinct (repeatedly 20 #(rand-int 1000000))))])
;=> [false false 20]

;; return from inside
(do (doseq [x [1 2 3]] (when (= 20 (tool/price {:n x})) (return {:found x}))) :never)
;=> {:found 2}

;; tools as values
[(map tool/price [{:n 1} {:n 2}]) (let [f tool/price] (f {:n 3})) (call "price" {:n 4})]
;=> [(10 20) 30 40]

;; input data
(map #(+ (:amount %) (tool/price {:n (:id %)})) data/orders)
;=> (15 27)

;; definitions of the program itself
(def limit 20) (defn dear? [n] (> (tool/price {:n n}) limit)) (defonce seen (atom 0)) (def result (filterv (fn [n] (swap! seen inc) (dear? n)) (range 5))) [result @seen]
;=> [[3 4] 5]

;; hierarchies
(derive ::dog ::pet) (tool/price {:n 1}) [(isa? ::dog ::pet) (parents ::dog)]
;=> [true #{:user/pet}]

;; an error that nobody catches
(let [x (tool/price {:n 1})] (tool/price {:n 13}) x)
;=> error tool_error: tool price failed: unlucky at (tool/price {:n 13})

;; a mistake after a call names its place
(let [x (tool/price {:n 1})] (+ x (tool/echo {:value "text"})))
;=> error type_error: +: expected a number, got string "text" at (+ x (tool/echo {:value "text"}))

;; decimals over calls
(let [a 1.10M total (reduce (fn [s n] (+ s (* a (tool/price {:n n})))) 0M [1 2 3])] [total (str (.setScale total 1)) {a total}])
;=> [66.00M "66.0" {1.10M 66.00M}]

;; ratios over calls
(let [third 1/3 total (reduce (fn [s n] (+ s (* third (tool/price {:n n})))) 0 [1 2])] [(str total) {third (str (+ total (tool/price {:n 1})))} (tool/echo {:value 1/4})])
;=> ["10" {1/3 "20"} 0.25]

;; a precision over calls
[(with-precision 3 (let [a (/ 10M 3)] [a (* (tool/price {:n 1}) 1.2345M) (/ 2M 3)])) (* 1.2345M 1)]
;=> [[3.33M 12.3M 0.667M] 1.2345M]

;; a precision in one branch of two
(pmap (fn [n] (if (odd? n) (with-precision 2 (tool/price {:n n}) (/ 1M 3)) (do (tool/price {:n n}) (* 1.2345M 1)))) [1 2])
;=> (0.33M 1.2345M)

;; a formatter of numbers over calls
(let [f (java.text.DecimalFormat. "0.0")] (.setMinimumFractionDigits f 3) (tool/price {:n 1}) (.format f 1.21M))
;=> "1.210"
(let [f (java.text.DecimalFormat. "0.0")] (.setRoundingMode f RoundingMode/UP) (tool/price {:n 1}) (.format f 1.21M))
;=> "1.3"
