;; Functions that make a sequence out of others by calling a function on the elements.
;; Over realised collections they are eager loops, so no effect waits in an unrealised sequence;
;; over lazy input they are lazy. Without a collection they give transducers.
;;
;; A lazy version is a function of a walk (prim/iter), not of a sequence: what has been walked over is
;; not held by anything here, however many elements are skipped before the next one is found.

(ns clojure.core)

(defn map
  "The results of f on each element of coll; with several collections f takes one element of each
  until the shortest ends. Without a collection, a transducer."
  {:chain :map
   :examples [["(map inc [1 2 3])" "(2 3 4)"]
              ["(map + [1 2] [10 20 30])" "(11 22)"]
              ["(map :name [{:name \"a\"} {\"name\" \"b\"}])" "(\"a\" \"b\")"]]}
  ([f] (map-xform f))
  ([f coll]
   (if (prim/lazy? coll)
     (map-walk f (prim/iter coll))
     (prim/as-seq (reduce* [out [] x coll] (prim/push out (f x))))))
  ([f c1 c2]
   (if (and (prim/lazy? c1) (prim/lazy? c2))
     (map-walk-2 f (prim/iter c1) (prim/iter c2))
     (prim/as-seq (mapv f c1 c2))))
  ([f c1 c2 c3]
   (map-rows f [c1 c2 c3]))
  ([f c1 c2 c3 & colls]
   (map-rows f (into [c1 c2 c3] colls))))

(defn- map-xform [f]
  (fn [rf]
    (fn
      ([] (rf))
      ([acc] (rf acc))
      ([acc x] (rf acc (f x)))
      ([acc x & more] (rf acc (prim/apply f (cons x more)))))))

(defn- map-walk [f walk]
  (lazy-seq
   (let [x (prim/next walk)]
     (if (prim/end? x)
       nil
       (cons (f x) (map-walk f walk))))))

(defn- map-walk-2 [f walk-1 walk-2]
  (lazy-seq
   (let [x (prim/next walk-1)]
     (if (prim/end? x)
       nil
       (let [y (prim/next walk-2)]
         (if (prim/end? y)
           nil
           (cons (f x y) (map-walk-2 f walk-1 walk-2))))))))

;; One realised collection among several bounds the result, so the others may be lazy.
(defn- map-rows [f colls]
  (if (every? prim/lazy? colls)
    (map-walks f (mapv prim/iter colls))
    (prim/as-seq (mapv-rows f colls))))

(defn- map-walks [f walks]
  (lazy-seq
   (let [row (next-row walks)]
     (if row
       (cons (prim/apply f row) (map-walks f walks))
       nil))))

(defn- mapv-rows [f colls]
  (let [walks (mapv prim/iter colls)]
    (loop [out []]
      (let [row (next-row walks)]
        (if row
          (recur (prim/push out (prim/apply f row)))
          out)))))

;; The next item of each walk as a vector, or nil once one of them has ended.
(defn- next-row [walks]
  (reduce* [row [] walk walks]
    (let [x (prim/next walk)]
      (if (prim/end? x) (reduced nil) (prim/push row x)))))

(defn mapv
  "Like map, but eager and with a vector as the result."
  {:chain :mapv
   :examples [["(mapv inc [1 2 3])" "[2 3 4]"]
              ["(mapv vector [1 2] [:a :b])" "[[1 :a] [2 :b]]"]]}
  ([f coll]
   (reduce* [out [] x coll] (prim/push out (f x))))
  ([f c1 c2]
   (let [walk (prim/iter c2)]
     (reduce* [out [] x c1]
       (let [y (prim/next walk)]
         (if (prim/end? y)
           (reduced out)
           (prim/push out (f x y)))))))
  ([f c1 c2 c3]
   (mapv-rows f [c1 c2 c3]))
  ([f c1 c2 c3 & colls]
   (mapv-rows f (into [c1 c2 c3] colls))))

(defn mapcat
  "The results of f on the elements, which must be collections, strung together. Without a
  collection, a transducer."
  {:chain :mapcat
   :examples [["(mapcat reverse [[1 2] [3 4]])" "(2 1 4 3)"]
              ["(mapcat (fn [x] (repeat x x)) [1 2 3])" "(1 2 2 3 3 3)"]]}
  ([f] (comp (map f) cat))
  ([f coll]
   (if (prim/lazy? coll)
     (concat-walks (prim/iter (map-walk f (prim/iter coll))))
     (concat-vec (reduce* [out [] x coll] (prim/push out (f x))))))
  ([f coll & colls]
   (let [colls (into [coll] colls)]
     (if (every? prim/lazy? colls)
       (concat-walks (prim/iter (map-walks f (mapv prim/iter colls))))
       (concat-vec (mapv-rows f colls))))))

(defn map-indexed
  "The results of f on each index and element of coll. Without a collection, a transducer."
  {:chain :map-indexed
   :examples [["(map-indexed vector [:a :b])" "([0 :a] [1 :b])"]]}
  ([f]
   (fn [rf]
     (let [at (volatile! 0)]
       (fn
         ([] (rf))
         ([acc] (rf acc))
         ([acc x]
          (let [i @at]
            (vreset! at (inc i))
            (rf acc (f i x))))))))
  ([f coll]
   (if (prim/lazy? coll)
     (map-indexed-walk f 0 (prim/iter coll))
     (prim/as-seq
      (reduce* [out [] x coll]
        (let [value (f (count out) x)]
          (prim/push out value)))))))

(defn- map-indexed-walk [f i walk]
  (lazy-seq
   (let [x (prim/next walk)]
     (if (prim/end? x)
       nil
       (cons (f i x) (map-indexed-walk f (inc i) walk))))))

(defn filter
  "The elements of coll for which pred is truthy. Without a collection, a transducer."
  {:chain :filter
   :examples [["(filter even? [1 2 3 4])" "(2 4)"]
              ["(filter (fn [[k v]] (> v 1)) {:a 1 :b 2})" "([:b 2])"]
              ["(filter #{:a} [:a :b :a])" "(:a :a)"]]}
  ([pred]
   (fn [rf]
     (fn
       ([] (rf))
       ([acc] (rf acc))
       ([acc x] (if (pred x) (rf acc x) acc)))))
  ([pred coll]
   (if (prim/lazy? coll)
     (filter-walk pred (prim/iter coll))
     (prim/as-seq (filterv pred coll)))))

(defn- filter-walk [pred walk]
  (lazy-seq
   (loop []
     (let [x (prim/next walk)]
       (cond
         (prim/end? x) nil
         (pred x) (cons x (filter-walk pred walk))
         :else (recur))))))

(defn filterv
  "Like filter, but with a vector as the result."
  {:chain :filterv
   :examples [["(filterv odd? [1 2 3])" "[1 3]"]]}
  [pred coll]
  (reduce* [out [] x coll] (if (pred x) (prim/push out x) out)))

(defn remove
  "The elements of coll for which pred is not truthy. Without a collection, a transducer."
  {:chain :remove
   :examples [["(remove nil? [1 nil 2])" "(1 2)"]]}
  ([pred]
   (fn [rf]
     (fn
       ([] (rf))
       ([acc] (rf acc))
       ([acc x] (if (pred x) acc (rf acc x))))))
  ([pred coll]
   (if (prim/lazy? coll)
     (filter-walk (fn [x] (not (pred x))) (prim/iter coll))
     (prim/as-seq (reduce* [out [] x coll] (if (pred x) out (prim/push out x)))))))

(defn keep
  "The results of f that are not nil (false is kept). Without a collection, a transducer."
  {:chain :keep
   :examples [["(keep :a [{:a 1} {} {:a false}])" "(1 false)"]]}
  ([f]
   (fn [rf]
     (fn
       ([] (rf))
       ([acc] (rf acc))
       ([acc x] (let [value (f x)] (if (nil? value) acc (rf acc value)))))))
  ([f coll]
   (if (prim/lazy? coll)
     (keep-walk f (prim/iter coll))
     (prim/as-seq
      (reduce* [out [] x coll]
        (let [value (f x)]
          (if (nil? value) out (prim/push out value))))))))

(defn- keep-walk [f walk]
  (lazy-seq
   (loop []
     (let [x (prim/next walk)]
       (if (prim/end? x)
         nil
         (let [value (f x)]
           (if (nil? value)
             (recur)
             (cons value (keep-walk f walk)))))))))

(defn keep-indexed
  "The results of f on each index and element that are not nil. Without a collection, a transducer."
  {:chain :keep-indexed
   :examples [["(keep-indexed (fn [i x] (when (odd? i) x)) [:a :b :c :d])" "(:b :d)"]]}
  ([f] (comp (map-indexed f) (keep identity)))
  ([f coll] (keep identity (map-indexed f coll))))

(defn take-while
  "The elements of coll before the first for which pred is not truthy. Without a collection, a
  transducer."
  {:chain :take-while
   :examples [["(take-while pos? [2 1 0 3])" "(2 1)"]
              ["(take-while (fn [x] (< x 20)) (iterate (fn [x] (* 2 x)) 1))" "(1 2 4 8 16)"]]}
  ([pred]
   (fn [rf]
     (fn
       ([] (rf))
       ([acc] (rf acc))
       ([acc x] (if (pred x) (rf acc x) (reduced acc))))))
  ([pred coll]
   (if (prim/lazy? coll)
     (take-while-walk pred (prim/iter coll))
     (prim/as-seq
      (reduce* [out [] x coll]
        (if (pred x) (prim/push out x) (reduced out)))))))

(defn- take-while-walk [pred walk]
  (lazy-seq
   (let [x (prim/next walk)]
     (cond
       (prim/end? x) nil
       (pred x) (cons x (take-while-walk pred walk))
       :else nil))))

(defn drop-while
  "The elements of coll from the first for which pred is not truthy. Without a collection, a
  transducer."
  {:chain :drop-while
   :examples [["(drop-while pos? [2 1 0 3])" "(0 3)"]]}
  ([pred]
   (fn [rf]
     (let [dropping (volatile! true)]
       (fn
         ([] (rf))
         ([acc] (rf acc))
         ([acc x]
          (if (and @dropping (pred x))
            acc
            (do (vreset! dropping false)
                (rf acc x))))))))
  ([pred coll]
   (if (prim/lazy? coll)
     (drop-while-walk pred (prim/iter coll))
     (prim/drop (prefix-length pred coll) coll))))

(defn- drop-while-walk [pred walk]
  (lazy-seq
   (loop []
     (let [x (prim/next walk)]
       (cond
         (prim/end? x) nil
         (pred x) (recur)
         :else (cons x (lazy-seq (prim/iter-rest walk))))))))

(defn- prefix-length [pred coll]
  (reduce* [n 0 x coll] (if (pred x) (inc n) (reduced n))))

(defn split-with
  "A vector of (take-while pred coll) and (drop-while pred coll)."
  {:examples [["(split-with pos? [2 1 0 3])" "[(2 1) (0 3)]"]]}
  [pred coll]
  (if (prim/lazy? coll)
    [(take-while pred coll) (drop-while pred coll)]
    (let [n (prefix-length pred coll)]
      [(prim/take n coll) (prim/drop n coll)])))

(defn partition-by
  "Splits coll into runs of elements with the same (f x). Without a collection, a transducer."
  {:examples [["(partition-by odd? [1 3 2 4 5])" "((1 3) (2 4) (5))"]]}
  ([f] (partition-by-xform f))
  ([f coll]
   (if (prim/lazy? coll)
     (partition-by-lazy f coll)
     (partition-by-eager f coll))))

(defn- partition-by-eager [f coll]
  (let [walk (prim/iter coll)
        x (prim/next walk)]
    (if (prim/end? x)
      ()
      (loop [out [] run [x] key (f x)]
        (let [x (prim/next walk)]
          (if (prim/end? x)
            (prim/as-seq (prim/push out (prim/as-seq run)))
            (let [k (f x)]
              (if (= k key)
                (recur out (prim/push run x) key)
                (recur (prim/push out (prim/as-seq run)) [x] k)))))))))

(defn- partition-by-lazy [f coll]
  (lazy-seq
   (when-let [s (seq coll)]
     (let [x (first s)
           key (f x)
           run (cons x (take-while (fn [y] (= key (f y))) (rest s)))]
       (cons run (partition-by-lazy f (lazy-seq (drop (count run) s))))))))
