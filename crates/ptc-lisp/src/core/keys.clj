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

(defn no-match
  "Raises the error of a case or condp without a clause for its value."
  {:examples [["(try (case 3 1 :a) (catch IllegalArgumentException e :none))" ":none"]]}
  [form value]
  (throw (IllegalArgumentException.
          (str "no matching clause in " form " for " (pr-str value) "; add a default at the end"))))
