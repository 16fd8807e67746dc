;; Sorting. Natural order and the comparators the machine knows (`<`, `>`, `compare`) are native; a
;; comparator of the program drives the merge sort here. All of it is stable.

(ns clojure.core)

(defn sort
  "The elements of coll in order: by compare, or by a comparator, which says whether its first
  argument comes before its second, or gives a negative number, zero or a positive number."
  {:examples [["(sort [3 1 2])" "(1 2 3)"]
              ["(sort > [3 1 2])" "(3 2 1)"]
              ["(sort (fn [a b] (compare (count a) (count b))) [\"ccc\" \"a\" \"bb\"])" "(\"a\" \"bb\" \"ccc\")"]]}
  ([coll] (prim/sort coll))
  ([comp coll]
   (check-comparator comp coll false)
   (if (nil? comp)
     (prim/sort coll)
     (or (prim/sort-known comp coll)
         (prim/as-seq (merge-sort comp (prim/vec-of coll)))))))

(defn sort-by
  "The elements of coll in the order of (keyfn x), by compare or by a comparator given second. A
  string or a path vector as keyfn looks elements up by that key or path."
  {:chain :sort-by
   :examples [["(sort-by count [\"ccc\" \"a\" \"bb\"])" "(\"a\" \"bb\" \"ccc\")"]
              ["(sort-by :n > [{:n 1} {:n 3} {:n 2}])" "({:n 3} {:n 2} {:n 1})"]
              ["(sort-by (juxt :a :b) [{:a 2 :b 1} {:a 1 :b 2}])" "({:a 1, :b 2} {:a 2, :b 1})"]]}
  ([keyfn coll]
   (let [f (ptc.impl/key-fn keyfn)
         items (prim/vec-of coll)]
     (prim/sort-by-keys (mapv f items) items)))
  ([keyfn comp coll]
   (check-comparator comp coll true)
   (sort-by-comparator keyfn comp coll)))

(defn- sort-by-comparator [keyfn comp coll]
  (let [f (ptc.impl/key-fn keyfn)
        items (prim/vec-of coll)
        ks (mapv f items)]
    (or (prim/sort-by-keys-known comp ks items)
        (prim/as-seq
         (mapv peek
               (merge-sort (fn [b a] (comp (nth b 0) (nth a 0)))
                           (mapv vector ks items)))))))

(defn- check-comparator [comp coll by-key?]
  (cond
    (and (fn? coll) (coll? comp))
    (prim/illegal "the comparator comes before the collection, but got them swapped"
                  (if by-key? "write (sort-by keyfn > coll)" "write (sort > coll)"))
    (and (keyword? comp) (not by-key?))
    (prim/illegal (str "the comparator must be a function of two arguments, got " (prim/excerpt (pr-str comp)))
                  (str "write (sort-by " (prim/excerpt (pr-str comp)) " coll), or (sort-by "
                       (prim/excerpt (pr-str comp)) " > coll) for descending order"))
    (or (keyword? comp) (and (nil? comp) by-key?))
    (prim/illegal (str "the comparator must be a function of two arguments, got " (prim/excerpt (pr-str comp)))
                  (str "use > or (fn [a b] (compare b a)) for descending order; for a second key write (sort-by (juxt :key "
                       (prim/excerpt (pr-str comp)) ") coll)"))))

;; Sorts a vector by a comparator. It is only ever asked whether a later element comes before an
;; earlier one: that keeps the sort stable and needs one call per comparison.
(defn- merge-sort [comp v]
  (merge-sort-part comp v 0 (count v)))

(defn- merge-sort-part [comp v from to]
  (case (- to from)
    0 []
    1 [(nth v from)]
    2 (let [a (nth v from)
            b (nth v (inc from))]
        (if (before? (comp b a)) [b a] [a b]))
    (let [mid (quot (+ from to) 2)
          left (merge-sort-part comp v from mid)
          right (merge-sort-part comp v mid to)]
      (if (before? (comp (nth right 0) (peek left)))
        (merge-sorted comp left right)
        (into left right)))))

;; Whether a comparator's answer means: its first argument comes before its second.
(defn- before? [answer]
  (if (number? answer) (<= answer -1) answer))

(defn- merge-sorted [comp left right]
  (let [n (count left)
        m (count right)]
    (loop [out [] i 0 j 0 a (nth left 0) b (nth right 0)]
      (let [answer (comp b a)]
        (if (if (number? answer) (<= answer -1) answer)
          (let [out (prim/push out b)
                j (inc j)]
            (if (< j m)
              (recur out i j a (nth right j))
              (into out (prim/drop i left))))
          (let [out (prim/push out a)
                i (inc i)]
            (if (< i n)
              (recur out i j (nth left i) b)
              (into out (prim/drop j right)))))))))
