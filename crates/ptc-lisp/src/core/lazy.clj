;; Sequences without end, and the public face of the functions that take sequences apart and put
;; them together. Realised input goes to a native primitive, lazy input to a lazy version here.

(ns clojure.core)

(defn iterate
  "The endless sequence x, (f x), (f (f x)), …"
  {:examples [["(take 4 (iterate inc 1))" "(1 2 3 4)"]]}
  [f x]
  (cons x (iterate-after f x)))

(defn- iterate-after [f x]
  (lazy-seq
   (let [y (f x)]
     (cons y (iterate-after f y)))))

(defn cycle
  "The elements of coll over and over, without end."
  {:examples [["(take 5 (cycle [1 2]))" "(1 2 1 2 1)"]]}
  [coll]
  (if-let [s (seq coll)]
    (cycle-from s s)
    ()))

(defn- cycle-from [s all]
  (lazy-seq
   (let [s (or (seq s) all)]
     (cons (first s) (cycle-from (rest s) all)))))

(defn repeat
  "x over and over, without end or n times."
  {:examples [["(repeat 3 :x)" "(:x :x :x)"] ["(take 2 (repeat 1))" "(1 1)"]]}
  ([x] (lazy-seq (cons x (repeat x))))
  ([n x] (prim/repeat n x)))

(defn repeatedly
  "The results of calling f without arguments, over and over or n times."
  {:examples [["(repeatedly 2 (fn [] :x))" "(:x :x)"]
              ["(let [a (atom 0)] (take 3 (repeatedly (fn [] (swap! a inc)))))" "(1 2 3)"]]}
  ([f] (lazy-seq (cons (f) (repeatedly f))))
  ([n f]
   (loop [i 0 out []]
     (if (< i n)
       (recur (inc i) (prim/push out (f)))
       (prim/as-seq out)))))

(defn concat
  "The elements of all the collections, one after the other."
  {:examples [["(concat [1 2] [3])" "(1 2 3)"] ["(concat)" "()"]]}
  ([] ())
  ([a] (if (prim/lazy? a) (lazy-seq a) (prim/concat [a])))
  ([a b]
   (if (or (prim/lazy? a) (prim/lazy? b))
     (concat-walk (prim/iter a) b)
     (prim/concat [a b])))
  ([a b & more]
   (concat-vec (into [a b] more))))

(defn- concat-walk [walk b]
  (lazy-seq
   (let [x (prim/next walk)]
     (if (prim/end? x)
       (seq b)
       (cons x (concat-walk walk b))))))

;; All collections of a vector, strung together.
(defn- concat-vec [colls]
  (if (some prim/lazy? colls)
    (concat-walks (prim/iter colls))
    (prim/concat colls)))

;; All collections of a walk, which may be endless itself, strung together lazily.
(defn- concat-walks [colls]
  (lazy-seq
   (loop []
     (let [coll (prim/next colls)]
       (if (prim/end? coll)
         nil
         (let [walk (prim/iter coll)
               x (prim/next walk)]
           (if (prim/end? x)
             (recur)
             (cons x (concat-walk walk (concat-walks colls))))))))))

(defn take
  "The first n elements of coll. Without a collection, a transducer."
  {:chain :take
   :examples [["(take 2 [1 2 3])" "(1 2)"] ["(take 3 (iterate inc 1))" "(1 2 3)"]]}
  ([n] (take-xform n))
  ([n coll]
   (if (prim/lazy? coll)
     (take-walk n (prim/iter coll))
     (prim/take n coll))))

(defn- take-walk [n walk]
  (lazy-seq
   (if (> n 0)
     (let [x (prim/next walk)]
       (if (prim/end? x)
         nil
         (cons x (take-walk (dec n) walk))))
     nil)))

(defn drop
  "All but the first n elements of coll. Without a collection, a transducer."
  {:chain :drop
   :examples [["(drop 2 [1 2 3])" "(3)"]]}
  ([n] (drop-xform n))
  ([n coll]
   (if (prim/lazy? coll)
     (drop-walk n (prim/iter coll))
     (prim/drop n coll))))

(defn- drop-walk [n walk]
  (lazy-seq
   (loop [n n]
     (if (and (> n 0) (not (prim/end? (prim/next walk))))
       (recur (dec n))
       (prim/iter-rest walk)))))

(defn take-last
  "The last n elements of coll, nil if there are none."
  {:examples [["(take-last 2 [1 2 3])" "(2 3)"] ["(take-last 2 [])" "nil"]]}
  [n coll]
  (seq (prim/take-last n coll)))

(defn drop-last
  "All but the last n elements of coll (one if n is not given)."
  {:examples [["(drop-last [1 2 3])" "(1 2)"] ["(drop-last 2 [1 2 3])" "(1)"]]}
  ([coll] (drop-last 1 coll))
  ([n coll]
   (if (prim/lazy? coll)
     (map (fn [x ahead] x) coll (drop n coll))
     (prim/drop-last n coll))))

(defn split-at
  "A vector of (take n coll) and (drop n coll)."
  {:examples [["(split-at 1 [1 2 3])" "[(1) (2 3)]"]]}
  [n coll]
  (if (prim/lazy? coll)
    [(take n coll) (drop n coll)]
    (prim/split-at n coll)))

(defn splitv-at
  "Like split-at, but the first part is a vector."
  {:examples [["(splitv-at 1 [1 2 3])" "[[1] (2 3)]"]]}
  [n coll]
  [(prim/vec-of (take n coll)) (drop n coll)])

(defn take-nth
  "Every nth element of coll, beginning with the first. Without a collection, a transducer."
  {:examples [["(take-nth 2 [1 2 3 4 5])" "(1 3 5)"]]}
  ([n] (take-nth-xform n))
  ([n coll]
   (if (prim/lazy? coll)
     (sequence (take-nth-xform n) coll)
     (prim/take-nth n coll))))

(defn partition
  "Groups of n elements, the starts of two groups step apart (n if not given). A last group that is
  too short is left out, or filled up from pad as far as that reaches."
  {:examples [["(partition 2 [1 2 3 4 5])" "((1 2) (3 4))"]
              ["(partition 2 1 [1 2 3])" "((1 2) (2 3))"]
              ["(partition 2 2 [:x] [1 2 3])" "((1 2) (3 :x))"]]}
  ([n coll] (partition n n coll))
  ([n step coll]
   (if (prim/lazy? coll)
     (partition-lazy n step coll)
     (prim/partition n step nil false coll)))
  ([n step pad coll]
   (if (prim/lazy? coll)
     (partition-pad-lazy n step pad coll)
     (prim/partition n step (prim/vec-of (take n pad)) true coll))))

;; The first n elements, realised, and not one more.
(defn- take-now [n coll]
  (if (> n 0)
    (prim/as-seq
     (reduce* [out [] x coll]
       (let [out (prim/push out x)]
         (if (< (count out) n) out (reduced out)))))
    ()))

(defn- partition-lazy [n step coll]
  (lazy-seq
   (when-let [s (seq coll)]
     (let [group (take-now n s)]
       (when (= n (count group))
         (cons group (partition-lazy n step (drop step s))))))))

(defn- partition-pad-lazy [n step pad coll]
  (lazy-seq
   (when-let [s (seq coll)]
     (let [group (take-now n s)]
       (if (= n (count group))
         (cons group (partition-pad-lazy n step pad (drop step s)))
         (list (take n (concat group pad))))))))

(defn partition-all
  "Like partition, but a last group that is too short is kept. Without a collection, a transducer."
  {:examples [["(partition-all 2 [1 2 3])" "((1 2) (3))"]
              ["(into [] (partition-all 2) [1 2 3])" "[[1 2] [3]]"]]}
  ([n] (partition-all-xform n))
  ([n coll] (partition-all n n coll))
  ([n step coll]
   (if (prim/lazy? coll)
     (partition-all-lazy n step coll)
     (prim/partition-all n step coll))))

(defn- partition-all-lazy [n step coll]
  (lazy-seq
   (when-let [s (seq coll)]
     (cons (take-now n s) (partition-all-lazy n step (drop step s))))))

(defn partitionv
  "Like partition, with vectors as groups."
  {:examples [["(partitionv 2 [1 2 3 4])" "([1 2] [3 4])"]]}
  ([n coll] (map prim/vec-of (partition n n coll)))
  ([n step coll] (map prim/vec-of (partition n step coll)))
  ([n step pad coll] (map prim/vec-of (partition n step pad coll))))

(defn partitionv-all
  "Like partition-all, with vectors as groups. Without a collection, a transducer."
  {:examples [["(partitionv-all 2 [1 2 3])" "([1 2] [3])"]]}
  ([n] (partition-all-xform n))
  ([n coll] (map prim/vec-of (partition-all n n coll)))
  ([n step coll] (map prim/vec-of (partition-all n step coll))))

(defn interleave
  "The first element of each collection, then the second of each, until the shortest ends."
  {:examples [["(interleave [1 2] [:a :b :c])" "(1 :a 2 :b)"]]}
  ([] ())
  ([a] (concat a))
  ([a b] (interleave-vec [a b]))
  ([a b & more] (interleave-vec (into [a b] more))))

(defn- interleave-vec [colls]
  (cond
    (not-any? prim/lazy? colls) (prim/interleave colls)
    (every? prim/lazy? colls) (concat-walks (prim/iter (map-walks vector (mapv prim/iter colls))))
    :else (prim/concat (mapv-rows vector colls))))

(defn interpose
  "The elements of coll with sep between them. Without a collection, a transducer."
  {:examples [["(interpose 0 [1 2 3])" "(1 0 2 0 3)"]]}
  ([sep] (interpose-xform sep))
  ([sep coll]
   (if (prim/lazy? coll)
     (sequence (interpose-xform sep) coll)
     (prim/interpose sep coll))))

(defn distinct
  "The elements of coll without those seen before. Without a collection, a transducer."
  {:chain :distinct
   :examples [["(distinct [1 2 1 3 2])" "(1 2 3)"]]}
  ([] (distinct-xform))
  ([coll]
   (if (prim/lazy? coll)
     (sequence (distinct-xform) coll)
     (prim/distinct coll))))

(defn dedupe
  "The elements of coll without those equal to the one before. Without a collection, a transducer."
  {:examples [["(dedupe [1 1 2 2 1])" "(1 2 1)"]]}
  ([] (dedupe-xform))
  ([coll]
   (if (prim/lazy? coll)
     (sequence (dedupe-xform) coll)
     (prim/dedupe coll))))

(defn tree-seq
  "The nodes of a tree, root first and depth first. branch? says whether a node may have children,
  children gives them."
  {:examples [["(filter number? (tree-seq coll? seq [1 [2 [3]]]))" "(1 2 3)"]]}
  [branch? children root]
  (tree-walk branch? children (list (prim/iter [root]))))

;; walks: the siblings still to visit, innermost level first.
(defn- tree-walk [branch? children walks]
  (lazy-seq
   (loop [walks (seq walks)]
     (if walks
       (let [node (prim/next (first walks))]
         (if (prim/end? node)
           (recur (next walks))
           (cons node
                 (tree-walk branch? children
                            (if (branch? node) (cons (prim/iter (children node)) walks) walks)))))
       nil))))

(defn iteration
  "A sequence of pages: step is called with a token (:initk at first) and gives a page; :somef says
  whether there is one, :vf takes its value, :kf the token for the next call, nil to end."
  {:examples [["(vec (iteration (fn [k] {:page k :next (when (< k 2) (inc k))}) :initk 0 :vf :page :kf :next))"
               "[0 1 2]"]]}
  [step & {:keys [somef vf kf initk] :or {somef some? vf identity kf identity initk nil}}]
  (iteration-from step somef vf kf initk))

(defn- iteration-from [step somef vf kf token]
  (lazy-seq
   (let [page (step token)]
     (when (somef page)
       (let [more (kf page)]
         (cons (vf page)
               (when (some? more)
                 (iteration-from step somef vf kf more))))))))

(ns ptc.impl)

(defn range-from
  "The endless sequence of numbers from start on, step apart."
  {:examples [["(take 2 (range))" "(0 1)"] ["(take 2 (range 1 ##Inf 2))" "(1 3)"]]}
  [start step]
  (lazy-seq (cons start (range-from (+ start step) step))))
