;; Functions on maps (and vectors by index) that call a function on values or keys.
;; `take-slot!` takes the old value out of the collection first, so a value with one owner is
;; updated in place: `(update m :items conj x)` does not copy the items.

(ns clojure.core)

(defn update
  "m with the value at k replaced by (f value args…)."
  {:chain :update
   :examples [["(update {:a 1} :a inc)" "{:a 2}"]
              ["(update {:a 1} :a + 10)" "{:a 11}"]
              ["(update {} :n (fnil inc 0))" "{:n 1}"]]}
  ([m k f]
   (let [old (take-slot! m k)]
     (assoc m k (f old))))
  ([m k f a]
   (let [old (take-slot! m k)]
     (assoc m k (f old a))))
  ([m k f a b]
   (let [old (take-slot! m k)]
     (assoc m k (f old a b))))
  ([m k f a b c]
   (let [old (take-slot! m k)]
     (assoc m k (f old a b c))))
  ([m k f a b c & more]
   (let [old (take-slot! m k)]
     (assoc m k (prim/apply f (cons old (cons a (cons b (cons c more)))))))))

(defn update-in
  "m with the value at the path ks replaced by (f value args…); missing levels become maps."
  {:chain :update-in
   :examples [["(update-in {:a {:b 1}} [:a :b] inc)" "{:a {:b 2}}"]
              ["(update-in {} [:a :b] (fnil conj []) 1)" "{:a {:b [1]}}"]]}
  ([m ks f] (update-path m (prim/vec-of ks) 0 f))
  ([m ks f a] (update-path m (prim/vec-of ks) 0 (fn [old] (f old a))))
  ([m ks f a b] (update-path m (prim/vec-of ks) 0 (fn [old] (f old a b))))
  ([m ks f a b & more]
   (let [args (cons a (cons b more))]
     (update-path m (prim/vec-of ks) 0 (fn [old] (prim/apply f (cons old args)))))))

;; An empty path means the key nil, as in Clojure.
(defn- update-path [m ks i f]
  (let [k (nth ks i nil)
        exact (take-slot! m k)
        old (if (nil? exact) (get m k) exact)]
    (if (< (inc i) (count ks))
      (assoc m k (update-path old ks (inc i) f))
      (assoc m k (f old)))))

(defn update-vals
  "m with every value replaced by (f value)."
  {:examples [["(update-vals {:a 1 :b 2} inc)" "{:a 2, :b 3}"]]}
  [m f]
  (check-map-first m f "write (update-vals m f), or thread with -> instead of ->>")
  (if (vector? m)
    (mapv f m)
    (with-meta (reduce* [out {} e m] (prim/assoc out (key e) (f (val e))))
      (meta m))))

(defn update-keys
  "m with every key replaced by (f key)."
  {:examples [["(update-keys {\"a\" 1} keyword)" "{:a 1}"]]}
  [m f]
  (check-map-first m f "write (update-keys m f), or thread with -> instead of ->>")
  (with-meta (reduce* [out {} e m] (prim/assoc out (f (key e)) (val e)))
    (meta m)))

(defn- check-map-first [m f hint]
  (if (and (fn? m) (not (fn? f)))
    (prim/illegal "the map comes first and the function second, but got them swapped" hint)))

(defn merge-with
  "The entries of all maps in one; where maps have a key in common the values are combined with f,
  from left to right."
  {:examples [["(merge-with + {:a 1 :b 2} {:a 10})" "{:a 11, :b 2}"]
              ["(merge-with into {:a [1]} {:a [2]})" "{:a [1 2]}"]]}
  ([f] nil)
  ([f m] m)
  ([f m & maps]
   (if (or m (some identity maps))
     (reduce* [out (or m {}) more maps]
       (reduce* [out out e more]
         (let [k (key e)
               v (val e)]
           (if (identical? :ptc.impl/none (prim/get-exact out k :ptc.impl/none))
             (prim/assoc out k v)
             (let [old (take-slot! out k)]
               (prim/assoc out k (f old v))))))))))

(defn group-by
  "A map from (f x) to the vector of the elements x of coll that have it, in order. A string or a
  path vector as f looks elements up by that key or path."
  {:chain :group-by
   :examples [["(group-by odd? [1 2 3])" "{true [1 3], false [2]}"]
              ["(group-by :t [{:t 1 :n \"a\"} {:t 1 :n \"b\"}])" "{1 [{:t 1, :n \"a\"} {:t 1, :n \"b\"}]}"]]}
  [f coll]
  (let [f (ptc.impl/key-fn f)
        items (prim/vec-of coll)]
    (prim/group (reduce* [ks [] x items] (prim/push ks (f x))) items)))

(defn replace
  "The elements of coll, those that are keys of smap replaced by their values; a vector stays a
  vector. Without a collection, a transducer. With three arguments, clojure.string/replace."
  {:examples [["(replace {1 :one} [1 2])" "[:one 2]"]
              ["(replace \"aXbX\" \"X\" \"-\")" "\"a-b-\""]]}
  ([smap] (map (fn [x] (prim/get-exact smap x x))))
  ([smap coll]
   (let [f (fn [x] (prim/get-exact smap x x))]
     (if (vector? coll) (mapv f coll) (map f coll))))
  ([s match replacement] (clojure.string/replace s match replacement)))

(ns ptc.impl)

(defn zip-lazy
  "The map of keys to values pair by pair, when one of them is lazy and may have no end."
  {:examples [["(zipmap [:a :b] (range))" "{:a 0, :b 1}"]]}
  [ks vs]
  (let [values (prim/iter vs)]
    (reduce* [m {} k ks]
      (let [v (prim/next values)]
        (if (prim/end? v) (reduced m) (prim/assoc m k v))))))
