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
         (prim/as-seq (merge-sort (fn [b a] (before? (comp b a))) (prim/vec-of coll)))))))

(defn sort-by
  "The elements of coll in the order of (keyfn x), by compare or by a comparator given second. A
  string or a path vector as keyfn looks elements up by that key or path."
  {:examples [["(sort-by count [\"ccc\" \"a\" \"bb\"])" "(\"a\" \"bb\" \"ccc\")"]
              ["(sort-by :n > [{:n 1} {:n 3} {:n 2}])" "({:n 3} {:n 2} {:n 1})"]
              ["(sort-by (juxt :a :b) [{:a 2 :b 1} {:a 1 :b 2}])" "({:a 1, :b 2} {:a 2, :b 1})"]]}
  ([keyfn coll]
   (let [f (ptc.impl/key-fn keyfn)
         items (prim/vec-of coll)]
     (prim/sort-by-keys (mapv f items) items)))
  ([keyfn comp coll]
   (check-comparator comp coll true)
   (let [f (ptc.impl/key-fn keyfn)
         items (prim/vec-of coll)
         ks (mapv f items)]
     (or (prim/sort-by-keys-known comp ks items)
         (prim/as-seq
          (mapv peek
                (merge-sort (fn [b a] (before? (comp (nth b 0) (nth a 0))))
                            (mapv vector ks items))))))))

(defn- check-comparator [comp coll by-key?]
  (cond
    (and (fn? coll) (coll? comp))
    (throw (IllegalArgumentException.
            "the comparator comes before the collection; the last two arguments seem to be swapped"))
    (or (keyword? comp) (and (nil? comp) by-key?))
    (throw (IllegalArgumentException.
            (str "the comparator must be a function of two arguments, got " (pr-str comp)
                 "; use > or (fn [a b] (compare b a)) for descending order")))))

;; Whether a comparator's answer means: its first argument comes before its second.
(defn- before? [answer]
  (if (number? answer) (<= answer -1) answer))

;; Sorts a vector; (less? b a) says whether b comes before a.
(defn- merge-sort [less? v]
  (merge-sort-part less? v 0 (count v)))

(defn- merge-sort-part [less? v from to]
  (case (- to from)
    0 []
    1 [(nth v from)]
    2 (let [a (nth v from)
            b (nth v (inc from))]
        (if (less? b a) [b a] [a b]))
    (let [mid (quot (+ from to) 2)]
      (merge-sorted less?
                    (merge-sort-part less? v from mid)
                    (merge-sort-part less? v mid to)))))

(defn- merge-sorted [less? left right]
  (if (less? (nth right 0) (peek left))
    (let [n (count left)
          m (count right)]
      (loop [out [] i 0 j 0]
        (cond
          (= i n) (into out (prim/drop j right))
          (= j m) (into out (prim/drop i left))
          :else (let [a (nth left i)
                      b (nth right j)]
                  (if (less? b a)
                    (recur (prim/push out b) i (inc j))
                    (recur (prim/push out a) (inc i) j))))))
    (into left right)))
