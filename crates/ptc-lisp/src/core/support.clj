;; What forms of the language expand to: for, case without a match, task.

(ns ptc.impl)

;; `for`: step adds the elements for one item to the vector it is given. Over a lazy collection the
;; result is lazy, one item of the collection at a time.
(defn for [step coll]
  (if (prim/lazy? coll)
    (lazy-for step coll)
    (prim/as-seq (reduce* [out [] x coll] (step out x)))))

(defn- lazy-for [step coll]
  (lazy-seq
    (let [s (seq coll)]
      (if (nil? s)
        nil
        (let [out (step [] (first s))]
          (if (reduced? out)
            (prim/as-seq (unreduced out))
            (concat out (lazy-for step (rest s)))))))))

;; A case or condp that nothing matched.
(defn no-match [form value]
  (throw (IllegalArgumentException. (str "No matching clause: " (pr-str value) " in " form))))

;; `task`: the journal's result, or the thunk's, which goes into the journal.
(defn task [id thunk]
  (let [known (prim/task-get id)]
    (if (prim/end? known)
      (prim/task-put id (thunk))
      known)))
