;; Values that nest very deeply, made at run time, and what can be done with them. A value may nest 1,000
;; levels; what hangs behind lazy sequences and cells may go deeper, and then walks must not recurse.
;; limits: fuel 3m, memory 32mb

;; == vectors nested a million deep => nesting_too_deep
(loop [v [] i 0] (if (< i 1000000) (recur [v] (inc i)) v))

;; == maps nested a million deep => nesting_too_deep
(loop [m {} i 0] (if (< i 1000000) (recur {:a m} (inc i)) m))

;; == keys nested a million deep => nesting_too_deep
(loop [m {} i 0] (if (< i 1000000) (recur {m 1} (inc i)) m))

;; == sets nested a million deep => nesting_too_deep
(loop [s #{} i 0] (if (< i 1000000) (recur #{s} (inc i)) s))

;; == lists nested a million deep => nesting_too_deep
(loop [v nil i 0] (if (< i 1000000) (recur (list v) (inc i)) v))

;; == sorted maps nested a million deep => nesting_too_deep
(loop [m nil i 0] (if (< i 1000000) (recur (sorted-map 1 m) (inc i)) m))

;; == cons nested in the first place => nesting_too_deep
(loop [v nil i 0] (if (< i 1000000) (recur (cons v nil) (inc i)) v))

;; == reduced in reduced => nesting_too_deep
(loop [v nil i 0] (if (< i 1000000) (recur (reduced v) (inc i)) v))

;; == nesting with conj => nesting_too_deep
(loop [v [] i 0] (if (< i 1000000) (recur (conj [] v) (inc i)) v))

;; == nesting with assoc => nesting_too_deep
(loop [m {} i 0] (if (< i 1000000) (recur (assoc {} :a m) (inc i)) m))

;; == nesting with update in place => nesting_too_deep
(loop [m {:a nil} i 0] (if (< i 1000000) (recur (assoc {:b 1} :a m) (inc i)) m))

;; == nesting with assoc-in => nesting_too_deep
(assoc-in {} (range 100000) 1)

;; == nesting with update-in => nesting_too_deep
(update-in {} (range 5000) (fn [x] 1))

;; == get-in along a very long path => value nil
(get-in {} (range 100000))

;; == nesting with zipmap => nesting_too_deep
(loop [m nil i 0] (if (< i 1000000) (recur (zipmap [:a] [m]) (inc i)) m))

;; == nesting with into => nesting_too_deep
(loop [v [] i 0] (if (< i 1000000) (recur (into [] [v]) (inc i)) v))

;; == nesting with transients => nesting_too_deep
(loop [v [] i 0] (if (< i 1000000) (recur (persistent! (conj! (transient []) v)) (inc i)) v))

;; == nesting with records => nesting_too_deep
(defrecord R [x])
(loop [v nil i 0] (if (< i 1000000) (recur (->R v) (inc i)) v))

;; == nesting with group-by => nesting_too_deep
(loop [v 1 i 0] (if (< i 1000000) (recur (group-by identity [v]) (inc i)) v))

;; == nesting with frequencies => nesting_too_deep
(loop [v 1 i 0] (if (< i 1000000) (recur (frequencies [v]) (inc i)) v))

;; == nesting with partition => nesting_too_deep
(loop [v [1] i 0] (if (< i 1000000) (recur (vec (partition-all 1 v)) (inc i)) v))

;; == nesting with walk => fuel_exceeded
(loop [v [1] i 0] (if (< i 1000000) (recur (clojure.walk/postwalk (fn [x] (if (number? x) [x] x)) v) (inc i)) v))

;; == nesting with map entries => nesting_too_deep
(loop [v 1 i 0] (if (< i 1000000) (recur (first {v v}) (inc i)) v))

;; == nesting with metadata => nesting_too_deep
(loop [v [] i 0] (if (< i 1000000) (recur (with-meta [] {:m v}) (inc i)) v))

;; == nesting with vary-meta => nesting_too_deep
(loop [v [] i 0] (if (< i 1000000) (recur (vary-meta [] assoc :m v) (inc i)) v))

;; == nesting with exceptions => nesting_too_deep
(loop [v nil i 0] (if (< i 1000000) (recur (ex-info "x" {:v v}) (inc i)) v))

;; == nesting with closures => nesting_too_deep
(loop [f (fn [] 1) i 0] (if (< i 1000000) (recur (let [g f] (fn [] (g))) (inc i)) f))

;; == nesting with comp => nesting_too_deep
(loop [f inc i 0] (if (< i 1000000) (recur (comp f inc) (inc i)) (f 1)))

;; == nesting with partial => nesting_too_deep
(loop [f + i 0] (if (< i 1000000) (recur (partial f 1) (inc i)) (f 1)))

;; == nesting with complement => nesting_too_deep
(loop [f nil? i 0] (if (< i 1000000) (recur (complement f) (inc i)) (f 1)))

;; == a thousand levels, printed => value 2000
(count (pr-str (reduce (fn [v _] [v]) [] (range 999))))

;; == a thousand levels, compared => value true
(let [deep (fn [] (reduce (fn [v _] [v]) [] (range 999)))] (= (deep) (deep)))

;; == a thousand levels, ordered => value 0
(let [deep (fn [] (reduce (fn [v _] [v]) [] (range 999)))] (compare (deep) (deep)))

;; == a thousand levels, sorted => value 3
(let [deep (fn [] (reduce (fn [v _] [v]) [] (range 900)))] (count (sort [(deep) (deep) (deep)])))

;; == a thousand levels, as keys => value 1
(let [deep (fn [] (reduce (fn [v _] {:a v}) {} (range 990)))] (count (hash-set (deep) (deep) (deep))))

;; == a thousand levels, hashed => value true
(let [deep (fn [] (reduce (fn [v _] [v]) [] (range 999)))] (= (hash (deep)) (hash (deep))))

;; == a thousand levels, as JSON => value 2000
(count (json/generate-string (reduce (fn [v _] [v]) [] (range 999))))

;; == a thousand levels, walked => value true
(let [deep (reduce (fn [v _] [v]) [] (range 900))] (= deep (clojure.walk/postwalk identity deep)))

;; == a thousand levels, flattened => value ()
(flatten (reduce (fn [v _] [v]) [] (range 999)))

;; == a thousand levels, as the result => value 1
(count (reduce (fn [v _] [v]) [] (range 999)))

;; == a thousand levels through try => value 1
(try (throw (ex-info "x" {:v (reduce (fn [v _] [v]) [] (range 900))})) (catch Exception e (count (:v (ex-data e)))))

;; == lazy sequences nested without end, printed => nesting_too_deep
(defn f [] (lazy-seq (list (f))))
(pr-str (f))

;; == lazy sequences nested without end, as the result => nesting_too_deep
(defn f [] (lazy-seq (list (f))))
(f)

;; == lazy sequences nested without end, compared => nesting_too_deep
(defn f [] (lazy-seq (list (f))))
(= (f) (f))

;; == lazy sequences nested without end, hashed => nesting_too_deep
(defn f [] (lazy-seq (list (f))))
(hash (f))

;; == lazy sequences nested without end, as a key => nesting_too_deep
(defn f [] (lazy-seq (list (f))))
{(f) 1}

;; == lazy sequences nested without end, sorted => nesting_too_deep
(defn f [] (lazy-seq (list (f))))
(sort [(vec (f)) (vec (f))])

;; == lazy sequences nested without end, flattened => nesting_too_deep
(defn f [] (lazy-seq (list (f))))
(flatten (f))

;; == lazy sequences nested without end, as JSON => nesting_too_deep
(defn f [] (lazy-seq (list (f))))
(json/generate-string (f))

;; == realised lazy sequences nested deeply, dropped => nesting_too_deep
(loop [v nil i 0] (if (< i 100000) (let [inner v s (lazy-seq (list inner))] (first s) (recur s (inc i))) :done))

;; == unrealised lazy sequences nested deeply, dropped => value :done
(loop [v nil i 0] (if (< i 50000) (recur (let [inner v] (lazy-seq (cons inner nil))) (inc i)) :done))

;; == atoms nested deeply, dropped => value :done
(loop [a nil i 0] (if (< i 50000) (recur (atom a) (inc i)) :done))

;; == atoms nested deeply, printed => value true
(string? (pr-str (loop [a nil i 0] (if (< i 50000) (recur (atom a) (inc i)) a))))

;; == atoms in vectors nested deeply, dropped => value :done
(loop [a nil i 0] (if (< i 50000) (recur (atom [a {:b a}]) (inc i)) :done))

;; == delays nested deeply, dropped => value :done
(loop [d nil i 0] (if (< i 50000) (recur (let [inner d] (delay inner)) (inc i)) :done))

;; == a delay of a delay of a delay, asked => value 1
(loop [d (delay 1) i 0] (if (< i 50000) (recur (let [inner d] (delay @inner)) (inc i)) @d))

;; == an atom that holds itself, printed => value true
(let [a (atom nil)] (reset! a a) (string? (pr-str a)))

;; == an atom that holds itself in a vector, printed => value true
(let [a (atom nil)] (reset! a [1 a]) (string? (pr-str a)))

;; == two atoms that hold each other, printed => value true
(let [a (atom nil) b (atom [a])] (reset! a {:b b}) (string? (str a b)))

;; == an atom that holds itself, compared => value true
(let [a (atom nil)] (reset! a [a]) (= a a))

;; == atoms that hold each other, compared => value false
(let [a (atom nil) b (atom nil)] (reset! a b) (reset! b a) (= a b))

;; == an atom that holds itself, hashed => value true
(let [a (atom nil)] (reset! a [a]) (int? (hash a)))

;; == an atom that holds itself, as JSON => value true
(let [a (atom nil)] (reset! a [a]) (boolean (try (json/generate-string a) (catch Exception e true))))

;; == an atom that holds itself, as the result => value true
(let [a (atom nil)] (reset! a [a]) (= [a] @a))

;; == a hundred atoms that hold each other many times, printed => value true
(let [atoms (mapv (fn [_] (atom nil)) (range 100))]
  (doseq [a atoms] (reset! a atoms))
  (string? (pr-str atoms)))

;; == arrays that hold themselves, printed => value true
(let [a (object-array 2)] (aset a 0 a) (aset a 1 a) (string? (pr-str a)))

;; == a lazy sequence that holds itself, printed => fuel_exceeded
(def xs (lazy-seq (cons 1 xs)))
(pr-str xs)

;; == a lazy sequence that contains itself, printed => nesting_too_deep
(def xs (lazy-seq (list 1 xs)))
(pr-str xs)

;; == a function that holds itself through an atom, printed => value true
(let [a (atom nil) f (fn [] a)] (reset! a f) (string? (pr-str [a f])))

;; == an exception whose data holds its atom, printed => value true
(let [a (atom nil) e (ex-info "x" {:a a})] (reset! a e) (string? (str e (pr-str a))))

;; == a watch that holds its atom => value 1
(let [a (atom 0)] (add-watch a :k (fn [_ _ _ _] a)) (swap! a inc))

;; == cons a million long, dropped => value 100000
(count (reduce (fn [l i] (cons i l)) nil (range 100000)))

;; == cons before lazy a hundred thousand times, dropped => value :done
(loop [l nil i 0] (if (< i 50000) (recur (let [t l] (cons i (lazy-seq t))) (inc i)) :done))
