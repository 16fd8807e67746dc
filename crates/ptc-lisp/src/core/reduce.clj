;; Folding a collection into one value, and asking whether elements satisfy a test.
;; Everything here is one `reduce*` walk: lazy input is realised as the walk goes along.

(ns clojure.core)

(defn reduce
  "Folds coll with f, called with the value so far and the next element. Without init the first
  element starts the fold, and an empty coll gives (f). A (reduced x) from f ends it with x."
  {:chain :reduce
   :examples [["(reduce + [1 2 3])" "6"]
              ["(reduce (fn [acc x] (if (> x 2) (reduced acc) (+ acc x))) 0 [1 2 3])" "3"]
              ["(reduce + [])" "0"]]}
  ([f coll]
   (let [s (seq coll)]
     (if s
       (reduce f (first s) (rest s))
       (f))))
  ([f init coll]
   (reduce* [acc init x coll] (f acc x))))

(defn reduce-kv
  "Folds a map with f, called with the value so far, a key and its value; for a vector the keys are
  the indices."
  {:examples [["(reduce-kv (fn [acc k v] (+ acc v)) 0 {:a 1 :b 2})" "3"]
              ["(reduce-kv (fn [acc i x] (+ acc (* i x))) 0 [5 6])" "6"]]}
  [f init coll]
  (cond
    (map? coll) (reduce* [acc init e coll] (f acc (key e) (val e)))
    (vector? coll) (reduce-indexed f init coll)
    (nil? coll) init
    :else (prim/illegal "argument 3 must be a map or a vector" "use reduce for other collections")))

(defn- reduce-indexed [f init v]
  (let [n (count v)]
    (loop [i 0 acc init]
      (if (< i n)
        (let [acc (f acc i (nth v i))]
          (if (reduced? acc) @acc (recur (inc i) acc)))
        acc))))

(defn reductions
  "All values a reduce of coll with f goes through, beginning with init or the first element."
  {:examples [["(reductions + [1 2 3])" "(1 3 6)"]
              ["(reductions conj [] [1 2])" "([] [1] [1 2])"]]}
  ([f coll]
   (cond
     (prim/lazy? coll) (let [walk (prim/iter coll)]
                         (lazy-seq
                          (let [x (prim/next walk)]
                            (if (prim/end? x)
                              (list (f))
                              (reductions-walk f x walk)))))
     (seq coll) (reductions-eager f (first coll) (rest coll))
     :else (list (f))))
  ([f init coll]
   (if (prim/lazy? coll)
     (reductions-walk f init (prim/iter coll))
     (reductions-eager f init coll))))

(defn- reductions-eager [f init coll]
  (if (reduced? init)
    (list @init)
    (prim/as-seq
     (reduce* [out [init] x coll]
       (let [value (f (peek out) x)]
         (if (reduced? value)
           (reduced (prim/push out @value))
           (prim/push out value)))))))

(defn- reductions-walk [f init walk]
  (if (reduced? init)
    (list @init)
    (cons init
          (lazy-seq
           (let [x (prim/next walk)]
             (if (prim/end? x)
               nil
               (reductions-walk f (f init x) walk)))))))

(defn some
  "The first truthy value of pred over coll, or nil. A set as pred finds the first member."
  {:chain :some
   :examples [["(some even? [1 2 3])" "true"]
              ["(some #{:b :c} [:a :b :c])" ":b"]
              ["(some even? [1 3])" "nil"]]}
  [pred coll]
  (reduce* [found nil x coll]
    (let [value (pred x)]
      (if value (reduced value) nil))))

(defn every?
  "Whether pred holds for all elements of coll; true if there are none."
  {:chain :every?
   :examples [["(every? even? [2 4])" "true"] ["(every? even? [2 3])" "false"]]}
  [pred coll]
  (reduce* [all true x coll]
    (if (pred x) true (reduced false))))

(defn not-any?
  "Whether pred holds for no element of coll."
  {:chain :not-any?
   :examples [["(not-any? even? [1 3])" "true"]]}
  [pred coll]
  (reduce* [none true x coll]
    (if (pred x) (reduced false) true)))

(defn not-every?
  "Whether pred fails for some element of coll."
  {:chain :not-every?
   :examples [["(not-every? even? [2 3])" "true"]]}
  [pred coll]
  (reduce* [failed false x coll]
    (if (pred x) false (reduced true))))

(defn run!
  "Calls proc on each element of coll for its effects; gives nil."
  {:chain :run!
   :examples [["(let [a (atom [])] (run! (fn [x] (swap! a conj x)) [1 2]) @a)" "[1 2]"]]}
  [proc coll]
  (reduce* [ignored nil x coll] (proc x))
  nil)

(defn max-key
  "The argument for which (k x) is greatest; the last of equals."
  {:examples [["(max-key count \"a\" \"bbb\" \"cc\")" "\"bbb\""]]}
  ([k x] x)
  ([k x y] (if (> (k x) (k y)) x y))
  ([k x y & more]
   (let [kx (k x)
         ky (k y)
         start (if (> kx ky) [x kx] [y ky])]
     (nth (reduce* [best start x more]
            (let [kx (k x)]
              (if (>= kx (nth best 1)) [x kx] best)))
          0))))

(defn min-key
  "The argument for which (k x) is least; the last of equals."
  {:examples [["(min-key count \"aa\" \"b\" \"ccc\")" "\"b\""]]}
  ([k x] x)
  ([k x y] (if (< (k x) (k y)) x y))
  ([k x y & more]
   (let [kx (k x)
         ky (k y)
         start (if (< kx ky) [x kx] [y ky])]
     (nth (reduce* [best start x more]
            (let [kx (k x)]
              (if (<= kx (nth best 1)) [x kx] best)))
          0))))
