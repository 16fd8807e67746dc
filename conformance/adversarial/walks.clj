;; Values that hold themselves, share their parts or nest behind arrays and cells, on every way out of the machine.
;; An array is walked like any collection; a cell of another kind is text.
;; limits: fuel 1m, memory 8mb

;; == a sequence that goes on with itself, as the result => fuel_exceeded
(let [a (atom nil)] (reset! a (lazy-seq (cons 1 @a))))

;; == an array in itself, as the result => nesting_too_deep
(let [a (object-array 1)] (aset a 0 a) a)

;; == an array in itself, inside a map => nesting_too_deep
(let [a (object-array 1)] (aset a 0 a) {:a [a]})

;; == an array in itself through a map => nesting_too_deep
(let [a (object-array 1)] (aset a 0 {:a [a]}) a)

;; == arrays in one another => nesting_too_deep
(let [a (object-array 1) b (object-array 1)] (aset a 0 b) (aset b 0 a) a)

;; == an array in itself, returned => nesting_too_deep
(let [a (object-array 1)] (aset a 0 a) (return a))

;; == an array in itself, as a failure => nesting_too_deep
(let [a (object-array 1)] (aset a 0 a) (fail a))

;; == an array in itself, through a lazy sequence => nesting_too_deep
(let [a (object-array 1)] (aset a 0 a) (map identity [a]))

;; == an array in itself, out of pmap => nesting_too_deep
(let [a (object-array 1)] (aset a 0 a) (pmap identity [a a]))

;; == an array in itself, as a definition => value #'z
(let [a (object-array 1)] (aset a 0 a) (def z a))

;; == an array in itself, as a task => nesting_too_deep
(let [a (object-array 1)] (aset a 0 a) (task "t" a))

;; == an array in itself, printed => value nil
(let [a (object-array 1)] (aset a 0 a) (println a))

;; == an array in itself, as text => value "#<array …>"
(let [a (object-array 1)] (aset a 0 a) (str a))

;; == an array in itself, in an atom => value #<atom …>
(let [a (object-array 1)] (aset a 0 a) (atom a))

;; == an array in itself, in a function => value #<fn>
(let [a (object-array 1)] (aset a 0 a) (fn [] a))

;; == an array in itself, in metadata => value [1]
(let [a (object-array 1)] (aset a 0 a) (with-meta [1] {:a a}))

;; == an array in itself, thrown => exception
(let [a (object-array 1)] (aset a 0 a) (throw (ex-info "no" {:a a})))

;; == an array in itself, as JSON text => type_error
(let [a (object-array 1)] (aset a 0 a) (json/write-str a))

;; == an array in itself, as a key of JSON text => value "{\"#<array …>\":1}"
(let [a (object-array 1)] (aset a 0 a) (json/write-str {a 1}))

;; == an array in itself, as a key => nesting_too_deep
(let [a (object-array 1)] (aset a 0 a) [{a 1} a])

;; == an array in itself, compared => value [true false]
(let [a (object-array 1) b (object-array 1)] (aset a 0 a) (aset b 0 b) [(= a a) (= a b)])

;; == an array in itself, sorted => type_error
(let [a (object-array 1)] (aset a 0 a) (sort [a a]))

;; == an array in itself, flattened => value 1
(let [a (object-array 1)] (aset a 0 a) (count (flatten [a])))

;; == an array of shared parts => output_exceeded
(object-array (reduce (fn [a _] [a a]) [] (range 60)))

;; == arrays of shared arrays => output_exceeded
(reduce (fn [a _] (object-array [a a])) 1 (range 60))

;; == arrays nested without end => nesting_too_deep
(reduce (fn [a _] (object-array [a])) 1 (range 20000))

;; == arrays nested as deep as values may => value 1000
(let [a (reduce (fn [a _] (object-array [a])) 1 (range 1000))] (loop [a a n 0] (if (= a 1) n (recur (aget a 0) (inc n)))))

;; == shared parts as a key of a result => output_exceeded
{(reduce (fn [a _] [a a]) [] (range 60)) 1}

;; == shared parts as a key, json/write-str => fuel_exceeded
(json/write-str {(reduce (fn [a _] [a a]) [] (range 60)) :b})

;; == shared parts as a key, json/stringify => fuel_exceeded
(json/stringify {(reduce (fn [a _] [a a]) [] (range 60)) :b})

;; == shared parts as a key, cheshire => fuel_exceeded
(cheshire.core/generate-string {(reduce (fn [a _] [a a]) [] (range 60)) :b})

;; == shared parts as a key inside a key => fuel_exceeded
(json/write-str {:a [{{(reduce (fn [a _] {a a}) 1 (range 60)) 1} 1}]})

;; == shared parts as a task => output_exceeded
(task "t" (reduce (fn [a _] [a a]) [] (range 60)))

;; == results of many tasks => output_exceeded
(doseq [i (range 10)] (task (str i) (vec (range 60000))))

;; == an exception with shared parts as the result => output_exceeded
(ex-info "x" {:t (reduce (fn [a _] [a a]) [] (range 60))})

;; == shared parts in the message of an assertion => exception
(let [t (reduce (fn [a _] [a a]) [] (range 60))] (assert (= t 1)))

;; == shared parts, formatted => memory_exceeded
(format "%s" (reduce (fn [a _] [a a]) [] (range 60)))

;; == shared parts, joined => memory_exceeded
(clojure.string/join "," [(reduce (fn [a _] [a a]) [] (range 60))])

;; == shared parts, pretty => memory_exceeded
(clojure.pprint/pprint (reduce (fn [a _] [a a]) [] (range 60)))

;; == many lines far to the right, pretty => fuel_exceeded
(clojure.pprint/pprint (reduce (fn [a _] [a]) (vec (range 100000 120000)) (range 900)))

;; == records with a long name => output_exceeded
(defrecord Aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa [a])
(vec (repeat 30000 (->Aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 1)))

;; == control characters as JSON text => fuel_exceeded
(count (json/write-str (apply str (repeat 1500000 "\u0001"))))

;; == a large integer many times as JSON text => fuel_exceeded
(count (json/write-str (vec (repeat 100000 (reduce *' (repeat 3000 1000000007))))))

;; == atoms that hold one text, as the result => output_exceeded
(vec (repeat 20000 (atom (apply str (repeat 10000 "x")))))

;; == lazy sequences that were realised from the outside in => nesting_too_deep
(let [l (reduce (fn [a _] (lazy-seq [a])) [1] (range 5000))] (loop [x l n 0] (if (< n 5000) (recur (first x) (inc n)) l)))

;; == shared parts in a reduced value, as a key => output_exceeded
{(let [x (reduce (fn [x _] [x x]) 1 (range 60))] (reduced [x x])) 1}

;; == shared parts in an exception, as a key => output_exceeded
{(ex-info "x" {:x (reduce (fn [x _] [x x]) 1 (range 60))}) 1}

;; == shared parts in a transient, as a key => value {#<transient …> 1}
{(transient (reduce (fn [x _] [x x]) 1 (range 60))) 1}

;; == one atom with many parts, many times => value 200001
(let [a (atom (vec (range 10001)))] (count (pr-str (vec (repeat 20000 a)))))

;; == many atoms with one vector of many parts => fuel_exceeded
(let [v (vec (range 10001))] (count (pr-str (mapv (fn [_] (atom v)) (range 1000)))))

;; == a realised sequence that goes on with itself as metadata => fuel_exceeded
(def d (let [a (atom nil)] (reset! a (lazy-seq (cons 1 @a))) @a))
(nth d 9)
(alter-meta! #'d assoc :m d)
