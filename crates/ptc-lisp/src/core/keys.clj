;; Key arguments: what `sort-by`, `group-by`, `sum-by` and their kin accept besides functions.

(ns ptc.impl)

(defn key-fn
  "The function that a key argument stands for: a string or a path vector looks up, anything else is
  called as it is."
  {:examples [["(sort-by [:a :b] [{:a {:b 2}} {:a {:b 1}}])" "({:a {:b 1}} {:a {:b 2}})"]
              ["(group-by \"k\" [{\"k\" 1} {:k 1}])" "{1 [{\"k\" 1} {:k 1}]}"]]}
  [f]
  (cond
    (string? f) (fn [x] (get x f))
    (vector? f) (fn [x] (path-key x f))
    :else f))

;; What a path leads to in a row. Through text or a number it leads nowhere: several keys were meant, and nil for all
;; rows would be a wrong answer without a word.
(defn- path-key [row path]
  (loop [x row i 0]
    (if (or (nil? x) (= i (count path)))
      x
      (let [k (nth path i)]
        (if (or (number? x) (boolean? x) (keyword? x) (and (string? x) (not (int? k))))
          (prim/illegal
           (str "the path " (prim/excerpt (pr-str path)) " leads through " (prim/excerpt (pr-str x)) ", which has no keys")
           (str "a vector is a path into maps inside of a row; for several keys of a row write (juxt "
                (prim/excerpt (clojure.string/join " " (map pr-str path))) ")"))
          (recur (get x k) (inc i)))))))
