;; The part of clojure.set that takes a function, and clojure.data/diff.

(ns clojure.set)

(defn select
  "The members of the set for which pred is truthy."
  {:examples [["(clojure.set/select odd? #{1 2})" "#{1}"]]}
  [pred xset]
  (reduce* [out xset x xset] (if (pred x) out (disj out x))))

(ns clojure.data)

(defn diff
  "Compares a and b: a vector of what is only in a, what is only in b, and what is in both."
  {:examples [["(clojure.data/diff {:a 1 :b 2} {:a 1 :c 3})" "[{:b 2} {:c 3} {:a 1}]"]
              ["(clojure.data/diff [1 2] [1 3 4])" "[[nil 2] [nil 3 4] [1]]"]
              ["(clojure.data/diff 1 2)" "[1 2 nil]"]]}
  [a b]
  (cond
    (= a b) [nil nil a]
    (and (map? a) (map? b)) (diff-keys a b (distinct (concat (keys a) (keys b))))
    (and (set? a) (set? b)) (diff-sets a b)
    (and (sequential? a) (sequential? b)) (diff-vectors (vec a) (vec b))
    :else [a b nil]))

(defn- diff-keys [a b ks]
  (mapv not-empty
        (reduce* [out [{} {} {}] k ks]
          (let [va (prim/get-exact a k :ptc.impl/none)
                vb (prim/get-exact b k :ptc.impl/none)
                in-a (not (identical? va :ptc.impl/none))
                in-b (not (identical? vb :ptc.impl/none))
                [only-a only-b both] (clojure.data/diff (if in-a va nil) (if in-b vb nil))
                same (and in-a in-b (or (some? both) (and (nil? va) (nil? vb))))]
            [(add-part (nth out 0) k only-a (and in-a (or (some? only-a) (not same))))
             (add-part (nth out 1) k only-b (and in-b (or (some? only-b) (not same))))
             (add-part (nth out 2) k both same)]))))

(defn- add-part [m k value present?]
  (if present? (prim/assoc m k value) m))

(defn- diff-sets [a b]
  [(not-empty (clojure.set/difference a b))
   (not-empty (clojure.set/difference b a))
   (not-empty (clojure.set/intersection a b))])

(defn- diff-vectors [a b]
  (mapv sparse-vector
        (diff-keys (by-index a) (by-index b) (range (max (count a) (count b))))))

(defn- by-index [v]
  (prim/index-vals (range (count v)) v))

;; A vector with the entries of an index map, nil in the gaps.
(defn- sparse-vector [m]
  (when (seq m)
    (reduce* [out (prim/vec-of (repeat (inc (apply max (keys m))) nil)) e m]
      (assoc out (key e) (val e)))))
