;; Transducers with state, and the functions that run a transducer over a collection.
;; The stateless ones stand beside the sequence functions they belong to.

(ns clojure.core)

(defn transduce
  "Folds coll with the reducing function f as transformed by xform; the transformed function is
  called with the result alone at the end."
  {:chain :transduce
   :examples [["(transduce (map inc) + [1 2 3])" "9"]
              ["(transduce (comp (filter odd?) (take 2)) conj [] (range))" "[1 3]"]]}
  ([xform f coll]
   (transduce xform f (f) coll))
  ([xform f init coll]
   (let [rf (xform f)]
     (rf (reduce* [acc init x coll] (rf acc x))))))

(defn into
  "The elements of from, transformed by xform if it is given, added to the collection to with conj."
  {:chain :into
   :examples [["(into [1] [2 3])" "[1 2 3]"]
              ["(into {} [[:a 1] [:b 2]])" "{:a 1, :b 2}"]
              ["(into #{} (map inc) [1 1 2])" "#{2 3}"]]}
  ([] [])
  ([to] to)
  ([to from]
   (if (prim/lazy? from)
     (reduce* [out to x from] (conj out x))
     (prim/into to from)))
  ([to xform from]
   (let [rf (xform conj)]
     (rf (reduce* [out to x from] (rf out x))))))

;; A reducing function that adds to the vector in a cell; its own result says nothing, because a
;; transducer may change that (halt-when does).
(defn- adding-to [cell]
  (fn
    ([] nil)
    ([acc] acc)
    ([acc x]
     (prim/cell-set cell (prim/push (prim/cell-take cell) x))
     acc)))

(defn sequence
  "The elements of coll, as transformed by xform, as a sequence; never nil."
  {:examples [["(sequence (map inc) [1 2])" "(2 3)"]
              ["(sequence (map +) [1 2] [10 20])" "(11 22)"]
              ["(sequence nil)" "()"]]}
  ([coll]
   (if (seq? coll) coll (or (seq coll) ())))
  ([xform coll]
   (let [cell (volatile! [])
         rf (xform (adding-to cell))]
     (if (prim/lazy? coll)
       (sequence-lazy rf cell (prim/iter coll))
       (do (rf (reduce* [acc nil x coll] (rf acc x)))
           (prim/as-seq (prim/cell-take cell))))))
  ([xform coll & colls]
   (let [rows (apply map vector coll colls)
         spread (fn [rf]
                  (let [f (xform rf)]
                    (fn
                      ([] (f))
                      ([acc] (f acc))
                      ([acc row] (prim/apply f (cons acc row))))))]
     (sequence spread rows))))

;; Feeds items to rf until one gives output, hands that out and waits with the rest.
(defn- sequence-lazy [rf cell walk]
  (lazy-seq
   (loop []
     (let [x (prim/next walk)
           done? (or (prim/end? x) (reduced? (rf nil x)))]
       (if done? (rf nil))
       (let [out @cell]
         (cond
           done? (seq out)
           (zero? (count out)) (recur)
           :else (do (vreset! cell [])
                     (concat out (sequence-lazy rf cell walk)))))))))

(defn eduction
  "The elements of coll as transformed by the xforms, applied from left to right."
  {:examples [["(reduce + (eduction (filter odd?) (map inc) [1 2 3]))" "6"]]}
  [& xforms-and-coll]
  (sequence (apply comp (butlast xforms-and-coll)) (last xforms-and-coll)))

(defn completing
  "The reducing function f with cf (identity if not given) as what is called at the end."
  {:examples [["(transduce (map inc) (completing + str) 0 [1 2])" "\"5\""]]}
  ([f] (completing f identity))
  ([f cf]
   (fn
     ([] (f))
     ([acc] (cf acc))
     ([acc x] (f acc x)))))

(defn cat
  "A transducer that takes each element, a collection, apart into its elements."
  {:examples [["(into [] cat [[1 2] [3]])" "[1 2 3]"]]}
  [rf]
  (fn
    ([] (rf))
    ([acc] (rf acc))
    ([acc coll]
     ;; Wrapped twice: the walk here takes off one wrapping, the outer walk must see the other.
     (reduce* [acc acc x coll]
       (let [acc (rf acc x)]
         (if (reduced? acc) (reduced acc) acc))))))

(defn halt-when
  "A transducer that ends the whole run at the first element for which pred is truthy. The result is
  that element, or (retf result-so-far element) if retf is given."
  {:examples [["(into [] (halt-when neg?) [1 -2 3])" "-2"]
              ["(into [] (halt-when neg? (fn [acc x] (conj acc :stop))) [1 -2 3])" "[1 :stop]"]]}
  ([pred] (halt-when pred nil))
  ([pred retf]
   (fn [rf]
     (fn
       ([] (rf))
       ([acc]
        (if (and (map? acc) (contains? acc :ptc.impl/halt))
          (:ptc.impl/halt acc)
          (rf acc)))
       ([acc x]
        (if (pred x)
          (reduced {:ptc.impl/halt (if retf (retf (rf acc) x) x)})
          (rf acc x)))))))

(defn random-sample
  "The elements of coll, each with probability prob. Without a collection, a transducer."
  {:examples [["(random-sample 1 [1 2])" "(1 2)"] ["(random-sample 0 [1 2])" "()"]]}
  ([prob] (filter (fn [x] (< (rand) prob))))
  ([prob coll] (filter (fn [x] (< (rand) prob)) coll)))

(defn- take-xform [n]
  (fn [rf]
    (let [left (volatile! n)]
      (fn
        ([] (rf))
        ([acc] (rf acc))
        ([acc x]
         (let [n @left
               acc (if (> n 0) (rf acc x) acc)]
           (vreset! left (dec n))
           (if (> n 1)
             acc
             (if (reduced? acc) acc (reduced acc)))))))))

(defn- drop-xform [n]
  (fn [rf]
    (let [left (volatile! n)]
      (fn
        ([] (rf))
        ([acc] (rf acc))
        ([acc x]
         (if (> @left 0)
           (do (vreset! left (dec @left)) acc)
           (rf acc x)))))))

(defn- take-nth-xform [n]
  (fn [rf]
    (let [at (volatile! 0)]
      (fn
        ([] (rf))
        ([acc] (rf acc))
        ([acc x]
         (let [i @at]
           (vreset! at (inc i))
           (if (zero? (rem i n)) (rf acc x) acc)))))))

(defn- interpose-xform [sep]
  (fn [rf]
    (let [started (volatile! false)]
      (fn
        ([] (rf))
        ([acc] (rf acc))
        ([acc x]
         (if @started
           (let [acc (rf acc sep)]
             (if (reduced? acc) acc (rf acc x)))
           (do (vreset! started true)
               (rf acc x))))))))

(defn- distinct-xform []
  (fn [rf]
    (let [seen (volatile! #{})]
      (fn
        ([] (rf))
        ([acc] (rf acc))
        ([acc x]
         (if (contains? @seen x)
           acc
           (do (prim/cell-set seen (conj (prim/cell-take seen) x))
               (rf acc x))))))))

(defn- dedupe-xform []
  (fn [rf]
    (let [before (volatile! :ptc.impl/none)]
      (fn
        ([] (rf))
        ([acc] (rf acc))
        ([acc x]
         (let [last @before]
           (vreset! before x)
           (if (= last x) acc (rf acc x))))))))

(defn- partition-all-xform [n]
  (fn [rf]
    (let [group (volatile! [])]
      (fn
        ([] (rf))
        ([acc] (rf (flush-group rf acc group)))
        ([acc x]
         (let [items (prim/push (prim/cell-take group) x)]
           (if (= n (count items))
             (do (vreset! group []) (rf acc items))
             (do (vreset! group items) acc))))))))

(defn- partition-by-xform [f]
  (fn [rf]
    (let [group (volatile! [])
          key (volatile! :ptc.impl/none)]
      (fn
        ([] (rf))
        ([acc] (rf (flush-group rf acc group)))
        ([acc x]
         (let [before @key
               k (f x)]
           (vreset! key k)
           (if (or (identical? before :ptc.impl/none) (= before k))
             (do (prim/cell-set group (prim/push (prim/cell-take group) x)) acc)
             (let [items @group]
               (vreset! group [])
               (let [acc (rf acc items)]
                 (if-not (reduced? acc) (vreset! group [x]))
                 acc)))))))))

;; Hands an unfinished group on before the end.
(defn- flush-group [rf acc group]
  (let [items @group]
    (if (zero? (count items))
      acc
      (do (vreset! group [])
          (unreduced (rf acc items))))))
