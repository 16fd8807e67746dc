;; Running functions side by side, as fibers of the machine: tool calls overlap, results keep their
;; order, and the first failure is the failure of the whole.

(ns clojure.core)

(defn pmap
  "Like map, but the calls of f run side by side; use it where f calls a tool."
  {:examples [["(pmap inc [1 2 3])" "(2 3 4)"] ["(pmap + [1 2] [10 20])" "(11 22)"]]}
  ([f coll]
   (prim/as-seq
    (prim/parallel (reduce* [out [] x coll] (prim/push out (fn [] (f x)))) :pmap)))
  ([f coll & colls]
   (prim/as-seq
    (prim/parallel (mapv-rows (fn [& row] (fn [] (prim/apply f row))) (into [coll] colls))
                   :pmap))))

(defn pcalls
  "Calls functions without arguments side by side and gives the sequence of their results."
  {:examples [["(pcalls (fn [] 1) (fn [] 2))" "(1 2)"] ["(pcalls)" "()"]]}
  [& fns]
  (prim/as-seq (prim/parallel (prim/vec-of fns) :pcalls)))
