;; Aggregation over data, PTC-Lisp's own. A key argument is a keyword, a string, a path vector or a
;; function; elements whose key is nil are skipped.

(ns ptc)

(defn sum-by
  "The sum of the keys of all elements."
  {:examples [["(sum-by :n [{:n 1} {:n 2} {}])" "3"] ["(sum-by count [\"a\" \"bb\"])" "3"]]}
  [key coll]
  (let [f (ptc.impl/key-fn key)]
    (reduce* [total 0 x coll]
      (let [value (f x)]
        (if (nil? value) total (+ total value))))))

(defn avg-by
  "The mean of the keys of all elements, as avg gives it: a float, of decimals a decimal. Nil if there are none."
  {:examples [["(avg-by :n [{:n 1} {:n 2} {:n nil}])" "1.5"] ["(avg-by :n [])" "nil"]]}
  [key coll]
  (let [f (ptc.impl/key-fn key)
        values (reduce* [out [] x coll]
                 (let [value (f x)]
                   (if (nil? value) out (prim/push out value))))]
    (avg values)))

(defn min-by
  "The element with the least key, the first of equals, nil if there is none. Elements come as a
  collection or as arguments."
  {:examples [["(min-by :n [{:n 2} {:n 1}])" "{:n 1}"] ["(min-by count \"aa\" \"b\")" "\"b\""]]}
  ([key coll] (let [best (best-by neg? key coll)] best))
  ([key x y & more] (best-by neg? key (cons x (cons y more)))))

(defn max-by
  "The element with the greatest key, the first of equals, nil if there is none. Elements come as a
  collection or as arguments."
  {:examples [["(max-by :n [{:n 2} {:n 9}])" "{:n 9}"] ["(max-by :n [])" "nil"]]}
  ([key coll] (let [best (best-by pos? key coll)] best))
  ([key x y & more] (best-by pos? key (cons x (cons y more)))))

;; The callers wait for it, so that errors name them. better? judges the comparison of an element's key with the best so far.
(defn- best-by [better? key coll]
  (let [f (ptc.impl/key-fn key)]
    (nth (reduce* [best [nil nil] x coll]
           (let [k (f x)
                 before (nth best 1)]
             (cond
               (nil? k) best
               (nil? before) [x k]
               (better? (compare k before)) [x k]
               :else best)))
         0)))

(defn distinct-by
  "The first element for each key."
  {:examples [["(distinct-by :a [{:a 1 :b 1} {:a 1 :b 2} {:a 2}])" "[{:a 1, :b 1} {:a 2}]"]
              ["(distinct-by odd? [1 2 3 4])" "[1 2]"]]}
  [key coll]
  (let [f (ptc.impl/key-fn key)
        ks (volatile! #{})]
    (reduce* [out [] x coll]
      (let [k (f x)]
        (if (contains? @ks k)
          out
          (do (prim/cell-set ks (conj (prim/cell-take ks) k))
              (prim/push out x)))))))
