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
    (vector? f) (fn [x] (clojure.core/get-in x f))
    :else f))
