;; Vars: changing what a definition is with a function, and functions that remember what `binding` gave.

(ns clojure.core)

(defn alter-var-root
  "Sets the value of a var to (f value args…) and gives the new value."
  {:examples [["(do (def n 1) (alter-var-root #'n + 2) n)" "3"]]}
  [v f & args]
  (let [old (prim/var-root v)
        value (prim/apply f (cons old args))]
    (prim/set-var-root v value)
    (reduce-kv (fn [ignored k watch] (watch k v old value) nil) nil (prim/var-watches v))
    value))

(defn alter-meta!
  "Sets the metadata of an atom or var to (f metadata args…) and gives it."
  {:examples [["(do (def n 1) (alter-meta! #'n assoc :unit :cm) (:unit (meta #'n)))" ":cm"]]}
  [ref f & args]
  (reset-meta! ref (prim/apply f (cons (meta ref) args))))

(defn with-redefs-fn
  "Calls f while the vars of the map have the values of the map for everybody."
  {:examples [["(do (defn f [] 1) (with-redefs-fn {#'f (fn [] 2)} (fn [] (f))))" "2"]]}
  [redefinitions f]
  (let [vars (keys redefinitions)
        before (mapv (fn [v] (prim/var-root v)) vars)]
    (try
      (reduce-kv (fn [ignored v value] (prim/set-var-root v value)) nil redefinitions)
      (f)
      (finally (dorun (map (fn [v value] (prim/set-var-root v value)) vars before))))))

(defn with-bindings*
  "Calls f with the arguments while the vars of the map have the values of the map."
  {:examples [["(do (def ^:dynamic *x* 1) (with-bindings* {#'*x* 2} (fn [] *x*)))" "2"]]}
  [bindings f & args]
  (prim/push-bindings bindings)
  (try
    (prim/apply f args)
    (finally (prim/pop-bindings bindings))))

(defn bound-fn*
  "f, to be called with the values that binding gives vars now."
  {:examples [["(do (def ^:dynamic *x* 1) (let [f (binding [*x* 2] (bound-fn* (fn [] *x*)))] (f)))" "2"]]}
  [f]
  (let [bindings (get-thread-bindings)]
    (fn [& args] (prim/apply with-bindings* (cons bindings (cons f args))))))
