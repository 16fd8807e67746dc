;; Changing atoms and volatiles with functions, and what hangs on a change: validators and watches.
;; Most atoms have neither, so that case comes first everywhere.

(ns clojure.core)

(defn swap!
  "Sets the atom to (f value args…) and gives the new value. If f fails, the atom keeps its value."
  {:examples [["(let [a (atom 1)] (swap! a inc) @a)" "2"]
              ["(let [a (atom {})] (swap! a assoc :k 1))" "{:k 1}"]]}
  ([a f] (set-atom a (f (prim/cell-get a))))
  ([a f x]
   (if (and (identical? f conj) (prim/plain-atom? a) (conj-safe? (prim/cell-get a) x))
     (put-atom a (conj (prim/cell-take a) x))
     (set-atom a (f (prim/cell-get a) x))))
  ([a f x y]
   (if (and (prim/plain-atom? a) (plain-key? x) (plain-map? (prim/cell-get a)))
     (cond
       (identical? f assoc) (put-atom a (assoc (prim/cell-take a) x y))
       (identical? f update) (let [value (y (prim/old (prim/cell-get a) x))]
                               (put-atom a (assoc (prim/cell-take a) x value)))
       :else (set-atom a (f (prim/cell-get a) x y)))
     (set-atom a (f (prim/cell-get a) x y))))
  ([a f x y & args]
   (if (and (identical? f update) (prim/plain-atom? a) (plain-key? x) (plain-map? (prim/cell-get a)))
     (let [value (prim/apply y (cons (prim/old (prim/cell-get a) x) args))]
       (put-atom a (assoc (prim/cell-take a) x value)))
     (set-atom a (prim/apply f (cons (prim/cell-get a) (cons x (cons y args))))))))

;; Calls that cannot fail may take the value out of the atom and so change it in place.
(defn- conj-safe? [coll x]
  (or (and (vector? coll) (not (map-entry? coll)))
      (and (set? coll) (not (sorted? coll)) (plain-key? x))))

(defn- plain-map? [x]
  (and (map? x) (not (sorted? x))))

(defn- plain-key? [x]
  (or (keyword? x) (string? x) (number? x)))

(defn- put-atom [a value]
  (prim/cell-set a value)
  value)

(defn- set-atom [a value]
  (if (prim/plain-atom? a)
    (prim/cell-set a value)
    (change-atom a value))
  value)

;; Sets an atom that has a validator or watches.
(defn- change-atom [a value]
  (let [valid? (prim/cell-validator a)
        old (prim/cell-get a)]
    (if (and valid? (not (valid? value)))
      (throw (IllegalStateException. "the validator rejected the new value")))
    (prim/cell-set a value)
    (reduce-kv (fn [ignored k watch] (watch k a old value) nil) nil (prim/cell-watches a))))

(defn swap-vals!
  "Like swap!, but gives a vector of the old and the new value."
  {:examples [["(swap-vals! (atom 1) inc)" "[1 2]"]]}
  ([a f]
   (let [old (prim/cell-get a)] [old (set-atom a (f old))]))
  ([a f x]
   (let [old (prim/cell-get a)] [old (set-atom a (f old x))]))
  ([a f x y]
   (let [old (prim/cell-get a)] [old (set-atom a (f old x y))]))
  ([a f x y & args]
   (let [old (prim/cell-get a)]
     [old (set-atom a (prim/apply f (cons old (cons x (cons y args)))))])))

(defn reset!
  "Sets the atom to value and gives it back."
  {:examples [["(let [a (atom 1)] (reset! a 5) @a)" "5"]]}
  [a value]
  (set-atom a value))

(defn reset-vals!
  "Like reset!, but gives a vector of the old and the new value."
  {:examples [["(reset-vals! (atom 1) 5)" "[1 5]"]]}
  [a value]
  (let [old (prim/cell-get a)]
    [old (set-atom a value)]))

(defn compare-and-set!
  "Sets the atom to value if it holds old; says whether it did."
  {:examples [["(let [a (atom 1)] [(compare-and-set! a 1 2) (compare-and-set! a 1 3) @a])" "[true false 2]"]]}
  [a old value]
  (if (= (prim/cell-get a) old)
    (do (set-atom a value) true)
    false))

(defn vswap!
  "Sets the volatile to (f value args…) and gives the new value."
  {:examples [["(let [v (volatile! 1)] (vswap! v + 2) @v)" "3"]]}
  ([v f] (put-atom v (f (prim/cell-get v))))
  ([v f x]
   (if (and (identical? f conj) (conj-safe? (prim/cell-get v) x))
     (put-atom v (conj (prim/cell-take v) x))
     (put-atom v (f (prim/cell-get v) x))))
  ([v f x & args] (put-atom v (prim/apply f (cons (prim/cell-get v) (cons x args))))))

(defn add-watch
  "Calls (f key ref old new) after each change of the atom or var; gives it back."
  {:examples [["(let [log (atom []) a (atom 1)] (add-watch a :log (fn [k r o n] (swap! log conj [o n]))) (swap! a inc) @log)"
               "[[1 2]]"]]}
  [a key f]
  (if (var? a)
    (prim/set-var-watches a (prim/assoc (prim/var-watches a) key f))
    (prim/set-watches a (prim/assoc (prim/cell-watches a) key f)))
  a)

(defn remove-watch
  "Takes the watch with that key off the atom or var; gives it back."
  {:examples [["(let [a (atom 1)] (add-watch a :w (fn [k r o n] (fail n))) (remove-watch a :w) (swap! a inc))" "2"]]}
  [a key]
  (if (var? a)
    (prim/set-var-watches a (not-empty (prim/dissoc (prim/var-watches a) key)))
    (prim/set-watches a (not-empty (prim/dissoc (prim/cell-watches a) key))))
  a)

(defn set-validator!
  "Makes f (or nothing, if nil) the test every new value of the atom must pass; gives nil."
  {:examples [["(let [a (atom 1)] (set-validator! a pos?) (try (reset! a -1) (catch Exception e :refused)))" ":refused"]]}
  [a f]
  (if (and f (not (f (prim/cell-get a))))
    (throw (IllegalStateException. "the validator rejects the value the atom has now")))
  (prim/set-validator a f)
  nil)

(defn get-validator
  "The validator of the atom, or nil."
  {:examples [["(get-validator (atom 1))" "nil"]]}
  [a]
  (prim/cell-validator a))

(defn force
  "The value of a delay, computed now if it has not been; anything else as it is."
  {:examples [["(force (delay (+ 1 2)))" "3"] ["(force 5)" "5"]]}
  [x]
  (if (delay? x) (ptc.impl/force-delay x) x))

(ns ptc.impl)

(defn checked-atom
  "A new atom with a validator, which its first value must pass as well."
  {:examples [["(let [a (atom 1 :validator pos? :meta {:m 1})] [@a (meta a)])" "[1 {:m 1}]"]
              ["(try (atom -1 :validator pos?) (catch IllegalStateException e :refused))" ":refused"]]}
  [a validator]
  (set-validator! a validator)
  a)

(defn force-delay
  "The value of a delay, which runs at most once; what it raised is raised again."
  {:examples [["(let [d (delay 1)] [@d @d])" "[1 1]"]]}
  [d]
  (let [thunk (prim/delay-thunk d)]
    (if thunk
      (let [value (try (thunk) (catch Throwable e (prim/delay-failed d (fn [] (throw e))) (throw e)))]
        (prim/delay-done d value)
        value)
      (prim/cell-get d))))
