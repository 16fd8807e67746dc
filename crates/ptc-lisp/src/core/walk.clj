;; Walking nested data and rebuilding it: clojure.walk.

(ns clojure.walk)

(defn walk
  "Rebuilds form with inner applied to each of its elements and gives (outer result). A form that is
  no collection goes to outer as it is."
  {:examples [["(clojure.walk/walk inc (fn [xs] (reduce + xs)) [1 2 3])" "9"]]}
  [inner outer form]
  (outer (rebuild inner form)))

(defn postwalk
  "Applies f to every part of form, the innermost first, and gives the rebuilt form."
  {:examples [["(clojure.walk/postwalk (fn [x] (if (number? x) (* 2 x) x)) {:a [1 2]})" "{:a [2 4]}"]]}
  [f form]
  (f (rebuild (fn [x] (postwalk f x)) form)))

(defn prewalk
  "Applies f to form, then to every part of what that gave, and gives the rebuilt form."
  {:examples [["(clojure.walk/prewalk (fn [x] (if (= x 1) [2] x)) [1 [1]])" "[[2] [[2]]]"]]}
  [f form]
  (rebuild (fn [x] (prewalk f x)) (f form)))

;; The same kind of collection with inner applied to its elements.
(defn- rebuild [inner form]
  (cond
    (not (coll? form)) form
    (map-entry? form) (first {(inner (key form)) (inner (val form))})
    (vector? form) (like form (mapv inner form))
    (record? form) (reduce* [out form e form] (conj out (inner e)))
    (map? form) (into (empty form) (map inner form))
    (set? form) (into (empty form) (map inner form))
    (list? form) (like form (prim/as-list (mapv inner form)))
    :else (like form (prim/as-seq (mapv inner form)))))

(defn- like [form result]
  (let [m (meta form)]
    (if m (with-meta result m) result)))

(defn keywordize-keys
  "Replaces string keys by keywords in all maps inside form."
  {:examples [["(clojure.walk/keywordize-keys {\"a\" {\"b\" 1}})" "{:a {:b 1}}"]]}
  [form]
  (rekey (fn [k] (if (string? k) (keyword k) k)) form))

(defn stringify-keys
  "Replaces keyword keys by strings in all maps inside form."
  {:examples [["(clojure.walk/stringify-keys {:a {:b 1}})" "{\"a\" {\"b\" 1}}"]]}
  [form]
  (rekey (fn [k] (if (keyword? k) (name k) k)) form))

(defn- rekey [f form]
  (postwalk (fn [x] (if (map? x) (reduce* [out {} e x] (prim/assoc out (f (key e)) (val e))) x))
            form))

(defn prewalk-replace
  "Replaces every part of form that is a key of smap by its value, the outermost first."
  {:examples [["(clojure.walk/prewalk-replace {:a [:b] :b 1} [:a])" "[[1]]"]]}
  [smap form]
  (prewalk (fn [x] (prim/get-exact smap x x)) form))

(defn postwalk-replace
  "Replaces every part of form that is a key of smap by its value, the innermost first."
  {:examples [["(clojure.walk/postwalk-replace {:a 1 [1] :one} [:a [:a]])" "[1 :one]"]]}
  [smap form]
  (postwalk (fn [x] (prim/get-exact smap x x)) form))
