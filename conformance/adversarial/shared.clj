;; Values that share their parts: sixty vectors in memory that are a tree of 2^60 leaves when walked.
;; limits: fuel 1m, memory 32mb

;; == as the result => output_exceeded
(reduce (fn [x _] [x x]) 1 (range 60))

;; == as the result of return => output_exceeded
(return (reduce (fn [x _] [x x]) 1 (range 60)))

;; == as the result of fail => output_exceeded
(fail (reduce (fn [x _] [x x]) 1 (range 60)))

;; == maps, as the result => output_exceeded
(reduce (fn [x _] {:a x :b x}) 1 (range 60))

;; == compared with itself => value true
(let [x (reduce (fn [x _] [x x]) 1 (range 60))] (= x x))

;; == compared with its like => value true
(let [f (fn [] (reduce (fn [x _] [x x]) 1 (range 60)))] (= (f) (f)))

;; == compared with something that differs at the end => value false
(let [f (fn [leaf] (reduce (fn [x _] [x x]) leaf (range 60)))] (= (f 1) (f 2)))

;; == compared with a tree that differs in its last leaf => value false
(let [f (fn [leaf] (reduce (fn [x _] [x x]) leaf (range 60))) g (fn [leaf] (reduce (fn [x i] [(f 1) x]) leaf (range 60)))] (= (g 1) (g 2)))

;; == ordered against its like => value 0
(let [f (fn [] (reduce (fn [x _] [x x]) 1 (range 60)))] (compare (f) (f)))

;; == hashed => value true
(let [f (fn [] (reduce (fn [x _] [x x]) 1 (range 60)))] (= (hash (f)) (hash (f))))

;; == as a key => value 2
(let [f (fn [leaf] (reduce (fn [x _] [x x]) leaf (range 60)))] (count {(f 1) 1 (f 2) 2}))

;; == as keys that are looked up => value :found
(let [f (fn [] (reduce (fn [x _] [x x]) 1 (range 60)))] (get {(f) :found} (f)))

;; == in a set => value 2
(let [f (fn [leaf] (reduce (fn [x _] [x x]) leaf (range 60)))] (count (set [(f 1) (f 1) (f 2)])))

;; == maps in sets => value 1
(let [f (fn [] (reduce (fn [x _] {:a x :b [x]}) 1 (range 30)))] (count (hash-set (f) (f))))

;; == sets in sets => value 1
(let [f (fn [] (reduce (fn [x _] #{x [x]}) 1 (range 30)))] (count (hash-set (f) (f))))

;; == printed => fuel_exceeded
(count (pr-str (reduce (fn [x _] [x x]) 1 (range 60))))

;; == as a string => fuel_exceeded
(count (str (reduce (fn [x _] [x x]) 1 (range 60))))

;; == printed to the output => fuel_exceeded
(println (reduce (fn [x _] [x x]) 1 (range 60)))

;; == pretty printed => unbound_var
(pprint (reduce (fn [x _] [x x]) 1 (range 60)))

;; == as JSON => fuel_exceeded
(count (json/generate-string (reduce (fn [x _] [x x]) 1 (range 60))))

;; == empty vectors as JSON => fuel_exceeded
(count (json/generate-string (reduce (fn [x _] [x x]) [] (range 60))))

;; == flattened => fuel_exceeded
(count (flatten (reduce (fn [x _] [x x]) 1 (range 60))))

;; == flattened without leaves => fuel_exceeded
(count (flatten (reduce (fn [x _] [x x]) [] (range 60))))

;; == tree-seq => fuel_exceeded
(count (tree-seq vector? seq (reduce (fn [x _] [x x]) 1 (range 60))))

;; == walked => fuel_exceeded
(count (clojure.walk/postwalk identity (reduce (fn [x _] [x x]) 1 (range 60))))

;; == keywordized => fuel_exceeded
(count (clojure.walk/keywordize-keys (reduce (fn [x _] {"a" x "b" x}) 1 (range 60))))

;; == counted => value 2
(count (reduce (fn [x _] [x x]) 1 (range 60)))

;; == described => value true
(map? (describe (reduce (fn [x _] [x x]) 1 (range 60))))

;; == sorted => value 2
(count (sort (reduce (fn [x _] [x x]) 1 (range 60))))

;; == distinct => value 1
(count (distinct (reduce (fn [x _] [x x]) 1 (range 60))))

;; == in an error message => type_error
(inc (reduce (fn [x _] [x x]) 1 (range 60)))

;; == in the data of an exception => exception
(throw (ex-info "x" {:data (reduce (fn [x _] [x x]) 1 (range 60))}))

;; == an exception as text => fuel_exceeded
(count (str (ex-info "x" {:data (reduce (fn [x _] [x x]) 1 (range 60))})))

;; == thrown and not caught in pmap => pmap_error
(pmap (fn [x] (throw (ex-info "x" {:data x}))) [(reduce (fn [x _] [x x]) 1 (range 60))])

;; == format => fuel_exceeded
(format "%s" (reduce (fn [x _] [x x]) 1 (range 60)))

;; == join => fuel_exceeded
(clojure.string/join "," (reduce (fn [x _] [x x]) 1 (range 60)))

;; == as metadata => value 1
(count (with-meta [1] {:m (reduce (fn [x _] [x x]) 1 (range 60))}))

;; == in an atom, printed => value true
(string? (pr-str (atom (reduce (fn [x _] [x x]) 1 (range 60)))))

;; == lazy sequences, as the result => fuel_exceeded
(reduce (fn [x _] (lazy-seq [x x])) 1 (range 60))

;; == lazy sequences, compared => value true
(let [f (fn [] (reduce (fn [x _] (map identity [x x])) 1 (range 60)))] (= (f) (f)))

;; == cons cells, as the result => output_exceeded
(reduce (fn [x _] (cons x (list x))) 1 (range 60))

;; == cons cells, hashed => value true
(let [f (fn [] (reduce (fn [x _] (cons x (list x))) 1 (range 60)))] (= (hash (f)) (hash (f))))

;; == cons cells, compared => value true
(let [f (fn [] (reduce (fn [x _] (cons x (list x))) 1 (range 60)))] (= (f) (f)))

;; == sorted maps, as the result => output_exceeded
(reduce (fn [x _] (sorted-map 1 x 2 x)) 1 (range 60))

;; == records, printed => fuel_exceeded
(defrecord R [a b])
(count (pr-str (reduce (fn [x _] (->R x x)) 1 (range 60))))

;; == postwalk-replace => fuel_exceeded
(count (clojure.walk/postwalk-replace {1 2} (reduce (fn [x _] [x x]) 1 (range 60))))

;; == clojure.data/diff => fuel_exceeded
(let [f (fn [leaf] (reduce (fn [x _] [x x]) leaf (range 60)))] (count (clojure.data/diff (f 1) (f 2))))

;; == nested empty maps as the result => output_exceeded
(reduce (fn [x _] {x x}) {} (range 60))

;; == long strings, shared => output_exceeded
(vec (repeat 10000 (apply str (repeat 10000 "x"))))

;; == long strings, shared and printed => fuel_exceeded
(count (pr-str (vec (repeat 10000 (apply str (repeat 10000 "x"))))))

;; == long strings, shared and joined => fuel_exceeded
(count (apply str (repeat 10000 (apply str (repeat 10000 "x")))))

;; == a large vector, shared and flattened => fuel_exceeded
(count (flatten (vec (repeat 10000 (vec (range 10000))))))

;; == a large vector in many keys => fuel_exceeded
(let [big (vec (range 10000))] (count (set (map (fn [i] [big i]) (range 10000)))))

;; == a large vector in many equal keys => fuel_exceeded
(let [big (vec (range 10000))] (count (frequencies (map (fn [i] (conj big 1)) (range 10000)))))

;; == a large vector, compared often => fuel_exceeded
(let [a (vec (range 10000)) b (vec (range 10000))] (loop [i 0] (if (= a b) (recur (inc i)) i)))

;; == a large map, compared often => fuel_exceeded
(let [a (zipmap (range 10000) (range)) b (into {} (reverse (zipmap (range 10000) (range))))] (loop [i 0] (if (= a b) (recur (inc i)) i)))

;; == long strings, compared often => fuel_exceeded
(let [f (fn [] (apply str (repeat 100000 "x"))) a (f) b (f)] (loop [i 0] (if (= a b) (recur (inc i)) i)))

;; == long strings, hashed often => fuel_exceeded
(let [a (apply str (repeat 100000 "x"))] (loop [i 0] (hash a) (recur (inc i))))

;; == long strings as keys, looked up often => fuel_exceeded
(let [a (apply str (repeat 100000 "x")) m (assoc (zipmap (range 20) (range)) a 1)] (loop [i 0] (get m a) (recur (inc i))))

;; == long strings as keys of small maps, looked up often => fuel_exceeded
(let [f (fn [] (apply str (repeat 100000 "x"))) a (f) b (f) m {a 1}] (loop [i 0] (get m b) (recur (inc i))))

;; == large vectors as keys, looked up often => fuel_exceeded
(let [a (vec (range 10000)) b (vec (range 10000)) m (assoc (zipmap (range 20) (range)) a 1)] (loop [i 0] (m b) (recur (inc i))))

;; == large vectors as members of a literal set => fuel_exceeded
(let [a (vec (range 10000)) b (vec (range 10000)) c (conj (vec (range 9999)) :x)] (loop [i 0] (hash-set a c) #{b 1 c} (recur (inc i))))

;; == big integers as keys => fuel_exceeded
(let [a (reduce * (repeat 15000 10N)) m (assoc (zipmap (range 20) (range)) a 1)] (loop [i 0] (get m (+ a 0)) (recur (inc i))))

;; == large vectors as case constants => fuel_exceeded
(let [a (vec (range 10000))] (loop [i 0] (condp = a [1] 1 (vec (range 9999)) 2 3) (recur (inc i))))

;; == contains? with large keys => fuel_exceeded
(let [a (vec (range 10000)) s (conj (set (range 20)) (vec (range 10000)))] (loop [i 0] (contains? s a) (recur (inc i))))
