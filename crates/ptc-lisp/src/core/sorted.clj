;; Sorted maps and sets ordered by a comparator of the program. The natives handle those in natural
;; order and call the functions here for the others.

(ns ptc.impl)

;; The place of k among the entries, or (- -1 place) where it would go.
(defn- sorted-index [s k]
  (let [cmp (prim/sorted-comparator s)
        entries (prim/sorted-entries s)]
    (loop [low 0 high (count entries)]
      (if (< low high)
        (let [mid (quot (+ low high) 2)
              order (compare-by cmp k (nth (nth entries mid) 0))]
          (cond
            (= order 0) mid
            (< order 0) (recur low mid)
            :else (recur (inc mid) high)))
        (- -1 low)))))

;; A comparator's answer as a number: comparators may answer with booleans.
(defn- compare-by [cmp a b]
  (let [answer (cmp a b)]
    (cond
      (number? answer) (int answer)
      answer -1
      (cmp b a) 1
      :else 0)))

(defn sorted-get
  "The value at k (for a set: the member), or default."
  {:examples [["(get (sorted-map-by (fn [a b] (compare b a)) 1 :a) 1)" ":a"]]}
  ([s k] (sorted-get s k nil))
  ([s k default]
   (let [i (sorted-index s k)]
     (if (< i 0)
       default
       (nth (nth (prim/sorted-entries s) i) (if (prim/sorted-set? s) 0 1))))))

(defn sorted-find
  "The entry at k, or nil."
  {:examples [["(find (sorted-map-by (fn [a b] (compare b a)) 1 :a) 1)" "[1 :a]"]]}
  [s k]
  (let [i (sorted-index s k)]
    (if (< i 0)
      nil
      (let [entry (nth (prim/sorted-entries s) i)]
        (first {(nth entry 0) (nth entry 1)})))))

(defn sorted-contains
  "Whether k is a key or member."
  {:examples [["(contains? (sorted-set-by (fn [a b] (compare b a)) 1 2) 2)" "true"]]}
  [s k]
  (<= 0 (sorted-index s k)))

(defn sorted-assoc
  "The collection with these keys and values; for a set the values do not count."
  {:examples [["(assoc (sorted-map-by (fn [a b] (compare b a)) 1 :a) 2 :b)" "{2 :b, 1 :a}"]]}
  [s & kvs]
  (reduce* [s s pair (prim/partition 2 2 nil false kvs)]
    (sorted-put s (first pair) (second pair))))

(defn- sorted-put [s k v]
  (let [i (sorted-index s k)
        entries (prim/sorted-entries s)]
    (if (< i 0)
      (let [at (- -1 i)]
        (sorted-like s (prim/vec-of (prim/concat [(prim/take at entries) [[k v]] (prim/drop at entries)]))))
      ;; The key that is there stays.
      (sorted-like s (assoc entries i [(nth (nth entries i) 0) v])))))

(defn sorted-dissoc
  "The collection without these keys or members."
  {:examples [["(disj (sorted-set-by (fn [a b] (compare b a)) 1 2 3) 2)" "#{3 1}"]]}
  [s & ks]
  (reduce* [s s k ks]
    (let [i (sorted-index s k)]
      (if (< i 0)
        s
        (let [entries (prim/sorted-entries s)]
          (sorted-like s (prim/vec-of (prim/concat [(prim/take i entries) (prim/drop (inc i) entries)]))))))))

(defn- sorted-like [s entries]
  (with-meta (prim/sorted-from entries (prim/sorted-comparator s) (prim/sorted-set? s))
    (meta s)))

(defn get-in
  "The value at the end of a path that leads through such a collection."
  {:examples [["(get-in (sorted-map-by (fn [a b] (compare b a)) 1 {:a 2}) [1 :a])" "2"]]}
  [m ks default]
  (reduce* [found m k ks]
    (let [value (get found k :ptc.impl/none)]
      (if (identical? value :ptc.impl/none) (reduced default) value))))

(defn assoc-in
  "The collection with a value at the end of a path that leads through such a collection."
  {:examples [["(assoc-in (sorted-map-by (fn [a b] (compare b a)) 1 {:a 2}) [1 :a] 3)" "{1 {:a 3}}"]]}
  [m ks v]
  (update-in m ks (fn [old] v)))

(ns clojure.core)

(defn sorted-map-by
  "A map of alternating keys and values, kept in the order the comparator gives."
  {:examples [["(sorted-map-by > 1 :a 2 :b)" "{2 :b, 1 :a}"]]}
  [comparator & kvs]
  (if (odd? (count kvs))
    (prim/illegal "the last key has no value: keys and values come in pairs"))
  (reduce* [m (prim/sorted-from [] comparator false) pair (prim/partition 2 2 nil false kvs)]
    (prim/assoc m (first pair) (second pair))))

(defn sorted-set-by
  "A set of the items, kept in the order the comparator gives."
  {:examples [["(sorted-set-by > 1 3 2)" "#{3 2 1}"]]}
  [comparator & items]
  (reduce* [s (prim/sorted-from [] comparator true) x items] (conj s x)))

(defn subseq
  "The part of a sorted collection whose keys pass (test (compare key k) 0); test is <, <=, > or >=,
  two tests with two keys give both ends."
  {:examples [["(subseq (sorted-set 1 2 3 4) > 2)" "(3 4)"]
              ["(subseq (sorted-map :a 1 :b 2 :c 3) >= :a < :c)" "([:a 1] [:b 2])"]]}
  ([s test k]
   (let [part (sorted-part s test k)]
     (if (upper? test) (seq part) (prim/as-seq part))))
  ([s start-test start-key end-test end-key]
   (sorted-between s >= start-key (sorted-part s start-test start-key) end-test end-key)))

(defn rsubseq
  "Like subseq, but in reverse order."
  {:examples [["(rsubseq (sorted-set 1 2 3 4) < 3)" "(2 1)"]]}
  ([s test k]
   (let [part (reverse (sorted-part s test k))]
     (if (upper? test) part (seq part))))
  ([s start-test start-key end-test end-key]
   (let [part (sorted-between s <= end-key (sorted-part s start-test start-key) end-test end-key)]
     (if part (reverse part) nil))))

(defn- upper? [test]
  (or (identical? test >) (identical? test >=)))

;; The elements of a sorted collection whose keys pass the test against k, as a vector.
(defn- sorted-part [s test k]
  (let [cmp (prim/sorted-comparator s)]
    (filterv (fn [x] (test (compare-by cmp (sorted-key s x) k) 0)) s)))

;; The part whose keys pass the end test too; nil if no key at all is on the right side of bound.
(defn- sorted-between [s side bound part end-test end-key]
  (let [cmp (prim/sorted-comparator s)]
    (if (zero? (count (sorted-part s side bound)))
      nil
      (prim/as-seq
       (filterv (fn [x] (end-test (compare-by cmp (sorted-key s x) end-key) 0)) part)))))

(defn- sorted-key [s x]
  (if (prim/sorted-set? s) x (key x)))
