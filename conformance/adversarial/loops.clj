;; Programs that never end, in every form that can repeat itself.
;; limits: fuel 2m, memory 16mb

;; == loop and recur => fuel_exceeded
(loop [] (recur))

;; == while true => fuel_exceeded
(while true nil)

;; == a function that calls itself last => fuel_exceeded
(defn f [n] (recur (inc n)))
(f 0)

;; == a function that calls itself by name last => fuel_exceeded
(defn f [n] (f (inc n)))
(f 0)

;; == two functions that call each other last => fuel_exceeded
(declare ping)
(defn pong [n] (ping (inc n)))
(defn ping [n] (pong (inc n)))
(ping 0)

;; == letfn that goes round => fuel_exceeded
(letfn [(a [n] (b n)) (b [n] (a n))] (a 1))

;; == recursion that is not a tail call => memory_exceeded
(defn f [n] (inc (f n)))
(f 0)

;; == mutual recursion that is not a tail call => memory_exceeded
(declare g)
(defn f [n] (inc (g n)))
(defn g [n] (inc (f n)))
(f 0)

;; == a million calls deep => memory_exceeded
(defn deep [n] (if (zero? n) 0 (+ 1 (deep (dec n)))))
(deep 1000000)

;; == ten thousand calls deep work => value 10000
(defn deep [n] (if (zero? n) 0 (+ 1 (deep (dec n)))))
(deep 10000)

;; == recursion through map => memory_exceeded
(defn f [x] (map f [x x]))
(f 1)

;; == recursion through mapv => memory_exceeded
(defn f [x] (mapv f [x]))
(f 1)

;; == recursion through reduce => memory_exceeded
(defn f [a x] (reduce f a [x x]))
(f 0 1)

;; == an endless loop inside the function of reduce => fuel_exceeded
(reduce (fn [a x] (loop [] (recur))) 0 [1 2])

;; == recursion through a comparator => memory_exceeded
(defn by [a b] (first (sort by [a b])))
(sort by [3 1 2])

;; == an endless loop in a comparator => fuel_exceeded
(sort (fn [a b] (loop [] (recur))) [3 1 2])

;; == an endless loop in a sort key => fuel_exceeded
(sort-by (fn [x] (while true nil)) [3 1 2])

;; == recursion through a sorted map's comparator => memory_exceeded
(defn by [a b] (do (get (sorted-map-by by a 1 b 2) a) -1))
(sorted-map-by by 1 1 2 2)

;; == swap! whose function swaps => memory_exceeded
(def a (atom 0))
(defn f [x] (swap! a f))
(swap! a f)

;; == swap! whose function never ends => fuel_exceeded
(swap! (atom 0) (fn [x] (loop [] (recur))))

;; == a watch that swaps its atom => memory_exceeded
(def a (atom 0))
(add-watch a :again (fn [_ _ _ new] (swap! a inc)))
(swap! a inc)

;; == a validator that asks itself => memory_exceeded
(def a (atom 0))
(defn check [x] (do (reset! a x) true))
(set-validator! a check)
(reset! a 1)

;; == a regex replacement function that replaces => memory_exceeded
(defn f [m] (clojure.string/replace m #"a" f))
(f "a")

;; == a regex replacement function that never ends => fuel_exceeded
(clojure.string/replace "aaa" #"a" (fn [_] (loop [] (recur))))

;; == an endless lazy sequence, counted => fuel_exceeded
(count (iterate inc 1))

;; == an endless lazy sequence, reduced => fuel_exceeded
(reduce + (range))

;; == the last of an endless sequence => fuel_exceeded
(last (cycle [1 2 3]))

;; == an endless sequence as the result => fuel_exceeded
(iterate inc 1)

;; == an endless sequence, kept from its head => fuel_exceeded
(def xs (map inc (range)))
(count xs)

;; == filter that never finds => fuel_exceeded
(first (filter neg? (range)))

;; == some on an endless sequence => fuel_exceeded
(some #{-1} (range))

;; == drop-while that never stops => fuel_exceeded
(first (drop-while pos? (iterate inc 1)))

;; == a lazy sequence that hands over to another for ever => memory_exceeded
(defn f [] (lazy-seq (f)))
(first (f))

;; == a lazy sequence that needs itself => runtime_error
(def xs (lazy-seq (cons (first xs) nil)))
(first xs)

;; == a lazy sequence built on its own tail => memory_exceeded
(def fibs (lazy-cat [0 1] (map + fibs (rest fibs))))
(count fibs)

;; == filters stacked a hundred thousand times => fuel_exceeded
(first (reduce (fn [s _] (filter pos? s)) (iterate inc 1) (range 100000)))

;; == maps stacked a hundred thousand times => fuel_exceeded
(first (reduce (fn [s _] (map inc s)) (iterate inc 1) (range 100000)))

;; == concat stacked to the left => fuel_exceeded
(first (reduce (fn [s x] (concat s [x])) [] (range 3000)))

;; == lazy concat stacked to the left => memory_exceeded
(first (reduce (fn [s x] (lazy-cat s (iterate inc x))) (lazy-seq nil) (range 100000)))

;; == trampoline for ever => fuel_exceeded
(trampoline (fn f [] f))

;; == doseq over an endless sequence => fuel_exceeded
(doseq [x (range)] x)

;; == for over endless sequences => fuel_exceeded
(count (for [x (range) y (range) :when (< y 0)] [x y]))

;; == dotimes with a huge count => fuel_exceeded
(dotimes [i 9000000000000000000] i)

;; == delay that derefs itself => memory_exceeded
(def d (delay (inc @d)))
@d

;; == memoize of an endless recursion => memory_exceeded
(def f (memoize (fn [n] (inc (f (inc n))))))
(f 0)

;; == a multimethod that dispatches to itself => memory_exceeded
(defmulti m (fn [x] (m x)))
(defmethod m :default [x] x)
(m 1)

;; == a protocol method that calls itself => fuel_exceeded
(defprotocol P (p [x]))
(defrecord R [] P (p [x] (inc (p x))))
(p (->R))

;; == toString that prints itself => memory_exceeded
(defrecord R [] Object (toString [x] (.toString x)))
(.toString (->R))

;; == comp of a thousand functions => value 1000
((apply comp (repeat 1000 inc)) 0)

;; == juxt nested in itself => fuel_exceeded
((reduce (fn [f _] (juxt f f)) inc (range 40)) 1)

;; == iterate with a function that never ends => fuel_exceeded
(second (iterate (fn [x] (loop [] (recur))) 1))

;; == repeatedly for ever => fuel_exceeded
(last (repeatedly (fn [] 1)))

;; == tree-seq that grows for ever => fuel_exceeded
(count (tree-seq (fn [_] true) (fn [x] [x x]) 1))

;; == walk that grows what it walks => memory_exceeded
(clojure.walk/prewalk (fn [x] [x x]) 1)

;; == a transducer that never finishes => fuel_exceeded
(transduce (map inc) + (range))

;; == reductions without end => fuel_exceeded
(last (reductions + (range)))

;; == mapcat that multiplies => fuel_exceeded
(count (reduce (fn [xs _] (mapcat (fn [x] [x x]) xs)) [1] (range 60)))

;; == partition-all of an endless sequence => fuel_exceeded
(last (partition-all 3 (range)))

;; == recursion through apply => memory_exceeded
(defn f [& xs] (inc (apply f xs)))
(f 1 2 3)

;; == recursion through partial => fuel_exceeded
(defn f [g] (inc ((partial f g))))
(f 1)

;; == recursion through some-> and ->> => memory_exceeded
(defn f [x] (some-> x f inc))
(f 1)

;; == recursion through update-in => memory_exceeded
(defn f [m] (update-in m [:a :b] (fn [_] (f m))))
(f {})

;; == recursion through try => memory_exceeded
(defn f [n] (try (inc (f n)) (catch Exception e 0)))
(f 1)

;; == recursion through finally => memory_exceeded
(defn f [n] (try n (finally (f n))))
(f 1)

;; == recursion through catch => memory_exceeded
(defn f [n] (try (throw (ex-info "x" {})) (catch Exception e (inc (f n)))))
(f 1)

;; == recursion through with-out-str => memory_exceeded
(defn f [n] (with-out-str (f n)))
(f 1)

;; == binding inside binding => memory_exceeded
(def ^:dynamic *x* 0)
(defn f [] (binding [*x* (inc *x*)] (inc (f))))
(f)

;; == toString that never ends => fuel_exceeded
(defrecord R [] Object (toString [x] (loop [] (recur))))
(.toString (->R))

;; == an endless sequence as what a program returns => fuel_exceeded
(return (cycle [1]))

;; == an endless sequence as what a program fails with => fuel_exceeded
(fail (cycle [1]))

;; == namespaces of the library, listed for ever => fuel_exceeded
(while true (all-ns))

;; == members of a namespace, listed for ever => fuel_exceeded
(while true (dir 'clojure.core))

;; == a namespace that is not there, asked for ever => fuel_exceeded
(while true (try (ns-publics 'nowhere) (catch Exception e nil)))
