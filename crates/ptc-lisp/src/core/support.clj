;; What forms of the language expand to: for, case without a match, task.

(ns ptc.impl)

(defn for
  "The elements that step adds to a vector for each item of coll, one after the other."
  {:chain :for
   :examples [["(for [x [1 2] y [:a :b]] [x y])" "([1 :a] [1 :b] [2 :a] [2 :b])"]
              ["(take 2 (for [x (range) :when (odd? x)] x))" "(1 3)"]
              ["(for [x (range) :while (< x 2)] x)" "(0 1)"]]}
  [step coll]
  (if (prim/lazy? coll)
    (for-walk step (prim/iter coll))
    (prim/as-seq (reduce* [out [] x coll] (step out x)))))

(defn- for-walk [step walk]
  (lazy-seq
   (loop []
     (let [x (prim/next walk)]
       (if (prim/end? x)
         nil
         (let [out (step [] x)]
           (cond
             (reduced? out) (seq @out)
             (zero? (count out)) (recur)
             :else (concat out (for-walk step walk)))))))))

(defn no-match
  "Raises the error of a case or condp without a clause for its value."
  {:examples [["(try (case 3 1 :a) (catch IllegalArgumentException e :none))" ":none"]]}
  [form value]
  (prim/illegal (str "No matching clause: " (prim/excerpt (str value)))
                (str "add a default as the last form of " form)))

(defn task
  "The journal's result for a task, or that of the thunk, which goes into the journal."
  {:examples [["(task \"sum\" (+ 1 2))" "3"]]}
  [id thunk]
  (let [known (prim/task-get id)]
    (if (prim/end? known)
      (prim/task-put id (thunk))
      known)))
