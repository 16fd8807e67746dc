;; Help for the rest of the core library: key functions and exact lookup.

(ns ptc.impl)

(defn key-fn
  "The function that a key argument stands for: a string or a path vector looks up, anything else is
  called as it is."
  {:examples [["(sort-by [:a :b] [{:a {:b 2}} {:a {:b 1}}])" "({:a {:b 1}} {:a {:b 2}})"]]}
  [f]
  (cond
    (fn? f) f
    (keyword? f) f
    (string? f) (fn [x] (get x f))
    (vector? f) (fn [x] (get-in x f))
    :else f))

(defn get-exact
  "The value at exactly this key, without the other spellings that get tries."
  {:examples [["(update {\"a\" 1} :a identity)" "{\"a\" 1, :a nil}"]]}
  [m k]
  (take-slot! m k))
