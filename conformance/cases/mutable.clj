; Transients, arrays and queues: what programs written for the JVM change in place.

(persistent! (reduce conj! (transient []) (range 5)))  ;=> [0 1 2 3 4]
(let [t (transient [])] (doseq [i (range 3)] (conj! t i)) (persistent! t))  ;=> [0 1 2]
(persistent! (reduce (fn [m [k v]] (assoc! m k v)) (transient {}) {:a 1 :b 2}))  ;=> {:a 1, :b 2}
(persistent! (-> (transient {:a 1 :b 2}) (dissoc! :a) (assoc! :c 3)))  ;=> {:b 2, :c 3}
(persistent! (disj! (conj! (transient #{1 2}) 3) 1))  ;=> #{2 3}
(persistent! (pop! (transient [1 2 3])))  ;=> [1 2]
(let [t (transient {:a 1})] [(:a t) (get t :b 0) (count t) (t :a) (contains? t :a)])  ;=> [1 0 1 1 true]
(let [v [1 2] t (conj! (transient v) 3)] [v (persistent! t)])  ;=> [[1 2] [1 2 3]]
(let [t (transient [1])] (persistent! t) (conj! t 2))  ;=! persistent!
(conj (transient [1]) 2)  ;=!
(conj! [1] 2)  ;=!
(seq (transient [1]))  ;=!
(let [t (transient [1])] (try (assoc! t 5 0) (catch IndexOutOfBoundsException e nil)) (persistent! t))  ;=> [1]

(vec (int-array 3))  ;=> [0 0 0]
(let [a (int-array [1 2 3])] (aset a 1 9) [(aget a 1) (alength a) (vec a) (reduce + a)])  ;=> [9 3 [1 9 3] 13]
(let [a (long-array 5 7) b (aclone a)] (aset a 0 1) [(vec a) (vec b)])  ;=> [[1 7 7 7 7] [7 7 7 7 7]]
(let [grid (make-array Long/TYPE 2 3)] (aset grid 1 2 5) (mapv vec grid))  ;=> [[0 0 0] [0 0 5]]
(let [a (object-array 2)] (aset a 0 :x) (vec a))  ;=> [:x nil]
(aget (int-array 2) 2)  ;=! index_out_of_bounds
(let [a (int-array [3 1 2])] (java.util.Arrays/sort a) (seq a))  ;=> (1 2 3)
(= (int-array [1]) (int-array [1]))  ;=> false
(map inc (int-array [1 2]))  ;=> (2 3)

(let [q (into clojure.lang.PersistentQueue/EMPTY [1 2 3])] [(peek q) (seq (pop q)) (count q) (seq (conj q 4))])  ;=> [1 (2 3) 3 (1 2 3 4)]
(loop [q (conj clojure.lang.PersistentQueue/EMPTY 1) seen []] (if-let [n (peek q)] (recur (if (< n 4) (conj (pop q) (* 2 n) (inc (* 2 n))) (pop q)) (conj seen n)) seen))  ;=> [1 2 3 4 5 6 7]
[(peek clojure.lang.PersistentQueue/EMPTY) (empty? (pop clojure.lang.PersistentQueue/EMPTY))]  ;=> [nil true]

(= (range) [0 1])  ;=> false
(let [r (range)] (= r @(atom r)))  ;=> true

; refs and agents, which nothing shares
(let [a (ref 10) b (ref 0)] (dosync (alter a - 3) (alter b + 3)) [@a @b])  ;=> [7 3]
(let [r (ref {:n 0})] (dosync (alter r update :n inc) (ref-set r (assoc @r :k 2)) (commute r assoc :m 1)) @r)  ;=> {:n 1, :k 2, :m 1}
(let [r (ref 1) log (atom [])] (add-watch r :w (fn [_ _ o n] (swap! log conj [o n]))) (dosync (alter r inc)) @log)  ;=> [[1 2]]
(let [a (agent 1)] (send a + 2) (send-off a * 10) (await a) @a)  ;=> 30
; ptc-only
(let [a (agent 1)] (send a (fn [_] (throw (ex-info "bad" {})))) [(ex-message (agent-error a)) @a (restart-agent a 5) @a])  ;=> ["bad" 1 5 5]
