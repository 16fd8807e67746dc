;; Functions that make functions out of functions. The arities a program uses most come first and
;; without rest arguments, so that calling the result allocates nothing.

(ns clojure.core)

(defn apply
  "Calls f with the given arguments and the elements of the last one, a collection, as further
  arguments."
  {:chain :apply
   :examples [["(apply + [1 2 3])" "6"] ["(apply max 1 [5 2])" "5"] ["(apply str nil)" "\"\""]]}
  ([f args]
   ;; An endless sequence of collections can only be strung together lazily.
   (if (and (prim/lazy? args) (identical? f concat))
     (concat-walks (prim/iter args))
     (prim/apply f args)))
  ([f a args]
   (if (and (prim/lazy? args) (identical? f concat))
     (concat-walks (prim/iter (cons a args)))
     (prim/apply f (cons a args))))
  ([f a b args] (prim/apply f (cons a (cons b args))))
  ([f a b c args] (prim/apply f (cons a (cons b (cons c args)))))
  ([f a b c d & args] (prim/apply f (cons a (cons b (cons c (cons d (spread args))))))))

;; The items of a sequence whose last item stands for its own items.
(defn- spread [args]
  (prim/concat [(prim/drop-last 1 args) (last args)]))

(defn comp
  "The functions called one after the other, the rightmost first with all arguments, the others with
  the result so far."
  {:chain :comp
   :examples [["((comp inc count) [1 2])" "3"] ["((comp str +) 1 2)" "\"3\""] ["((comp) 1)" "1"]]}
  ([] identity)
  ([f] f)
  ([f g]
   (fn
     ([] (f (g)))
     ([x] (f (g x)))
     ([x y] (f (g x y)))
     ([x y z] (f (g x y z)))
     ([x y z & more] (f (prim/apply g (cons x (cons y (cons z more))))))))
  ([f g h] (comp f (comp g h)))
  ([f g h & more] (comp f (comp g (apply comp h more)))))

(defn partial
  "f with its first arguments given already."
  {:chain :partial
   :examples [["((partial + 1) 2)" "3"] ["(map (partial str \"#\") [1 2])" "(\"#1\" \"#2\")"]]}
  ([f] f)
  ([f a]
   (fn
     ([] (f a))
     ([x] (f a x))
     ([x y] (f a x y))
     ([x y & more] (prim/apply f (cons a (cons x (cons y more)))))))
  ([f a b]
   (fn
     ([] (f a b))
     ([x] (f a b x))
     ([x y] (f a b x y))
     ([x y & more] (prim/apply f (cons a (cons b (cons x (cons y more))))))))
  ([f a b c]
   (fn
     ([] (f a b c))
     ([x] (f a b c x))
     ([x & more] (prim/apply f (cons a (cons b (cons c (cons x more))))))))
  ([f a b c & more]
   (let [given (into [a b c] more)]
     (fn [& args] (prim/apply f (prim/concat [given args]))))))

(defn complement
  "A function that gives true where f gives nil or false, and false elsewhere."
  {:chain :complement
   :examples [["(filter (complement even?) [1 2 3])" "(1 3)"]]}
  [f]
  (fn
    ([] (not (f)))
    ([x] (not (f x)))
    ([x y] (not (f x y)))
    ([x y & more] (not (prim/apply f (cons x (cons y more)))))))

(defn constantly
  "A function that takes any arguments and always gives x."
  {:chain :constantly
   :examples [["(map (constantly 0) [:a :b])" "(0 0)"]]}
  [x]
  (fn
    ([] x)
    ([a] x)
    ([a & more] x)))

(defn fnil
  "f with x (and y, z) in place of its first arguments where those are nil."
  {:chain :fnil
   :examples [["((fnil inc 0) nil)" "1"] ["(update {} :n (fnil + 0) 5)" "{:n 5}"]]}
  ([f x]
   (fn
     ([a] (f (if (nil? a) x a)))
     ([a b] (f (if (nil? a) x a) b))
     ([a b c] (f (if (nil? a) x a) b c))
     ([a b c & more] (prim/apply f (cons (if (nil? a) x a) (cons b (cons c more)))))))
  ([f x y]
   (fn
     ([a b] (f (if (nil? a) x a) (if (nil? b) y b)))
     ([a b c] (f (if (nil? a) x a) (if (nil? b) y b) c))
     ([a b c & more]
      (prim/apply f (cons (if (nil? a) x a) (cons (if (nil? b) y b) (cons c more)))))))
  ([f x y z]
   (fn
     ([a b] (f (if (nil? a) x a) (if (nil? b) y b)))
     ([a b c] (f (if (nil? a) x a) (if (nil? b) y b) (if (nil? c) z c)))
     ([a b c & more]
      (prim/apply f (cons (if (nil? a) x a)
                          (cons (if (nil? b) y b) (cons (if (nil? c) z c) more))))))))

(defn juxt
  "A function that gives the vector of the results of all the functions on its arguments."
  {:chain :juxt
   :examples [["((juxt :a count) {:a 1})" "[1 1]"] ["((juxt + -) 5 3)" "[8 2]"]]}
  ([f]
   (fn
     ([] [(f)])
     ([x] [(f x)])
     ([x y] [(f x y)])
     ([x y & more] [(prim/apply f (cons x (cons y more)))])))
  ([f g]
   (fn
     ([] [(f) (g)])
     ([x] [(f x) (g x)])
     ([x y] [(f x y) (g x y)])
     ([x y & more] (apply-each [f g] (cons x (cons y more))))))
  ([f g & more]
   (let [fs (into [f g] more)]
     (fn
       ([] (apply-each fs ()))
       ([x] (reduce* [out [] f fs] (prim/push out (f x))))
       ([x & more] (apply-each fs (cons x more)))))))

(defn- apply-each [fs args]
  (reduce* [out [] f fs] (prim/push out (prim/apply f args))))

(defn every-pred
  "A function that says whether all the predicates hold for all its arguments."
  {:examples [["((every-pred odd? pos?) 3 5)" "true"] ["(filter (every-pred odd? pos?) [-1 1 2])" "(1)"]]}
  ([p]
   (fn
     ([] true)
     ([x] (boolean (p x)))
     ([x & more] (every? p (cons x more)))))
  ([p q]
   (fn
     ([] true)
     ([x] (boolean (and (p x) (q x))))
     ([x & more] (let [xs (cons x more)] (and (every? p xs) (every? q xs))))))
  ([p q & more]
   (let [ps (into [p q] more)]
     (fn
       ([] true)
       ([x] (every? (fn [p] (p x)) ps))
       ([x & more] (let [xs (cons x more)] (every? (fn [p] (every? p xs)) ps)))))))

(defn some-fn
  "A function that gives the first truthy result of any of the functions on any of its arguments,
  otherwise the last result."
  {:examples [["((some-fn :a :b) {:b 2})" "2"] ["(boolean ((some-fn even? neg?) 1))" "false"]]}
  ([p]
   (fn
     ([] nil)
     ([x] (p x))
     ([x & more] (first-truthy [p] (cons x more)))))
  ([p q]
   (fn
     ([] nil)
     ([x] (or (p x) (q x)))
     ([x & more] (first-truthy [p q] (cons x more)))))
  ([p q & more]
   (let [ps (into [p q] more)]
     (fn
       ([] nil)
       ([x & more] (first-truthy ps (cons x more)))))))

(defn- first-truthy [ps xs]
  (reduce* [result nil p ps]
    (let [value (reduce* [result nil x xs]
                  (let [value (p x)]
                    (if value (reduced value) value)))]
      (if value (reduced value) value))))

(defn memoize
  "f with a memory: called again with equal arguments it gives the result it gave before."
  {:examples [["(let [calls (atom 0) f (memoize (fn [x] (swap! calls inc) (* x x)))] [(f 3) (f 3) @calls])"
               "[9 9 1]"]]}
  [f]
  (let [memory (atom {})]
    (fn [& args]
      (let [known (prim/get-exact (prim/cell-get memory) args :ptc.impl/none)]
        (if (identical? known :ptc.impl/none)
          (let [value (prim/apply f args)]
            (prim/cell-set memory (assoc (prim/cell-take memory) args value))
            value)
          known)))))

(defn trampoline
  "Calls f with args, then what it gives as long as that is a function, and gives the first result
  that is not."
  {:examples [["(letfn [(down [n] (if (pos? n) (fn [] (down (dec n))) :done))] (trampoline down 3))" ":done"]]}
  ([f]
   (let [value (f)]
     (if (fn? value) (recur value) value)))
  ([f & args]
   (let [value (prim/apply f args)]
     (if (fn? value) (trampoline value) value))))

(defn comparator
  "A comparator out of a predicate that says whether its first argument comes before its second."
  {:examples [["(sort (comparator >) [1 3 2])" "(3 2 1)"]]}
  [pred]
  (fn [x y]
    (cond
      (pred x y) -1
      (pred y x) 1
      :else 0)))

(defn vary-meta
  "obj with the metadata (f (meta obj) args…)."
  {:examples [["(meta (vary-meta [1] assoc :a 1))" "{:a 1}"]]}
  ([obj f] (with-meta obj (f (meta obj))))
  ([obj f a] (with-meta obj (f (meta obj) a)))
  ([obj f a b] (with-meta obj (f (meta obj) a b)))
  ([obj f a b & args] (with-meta obj (prim/apply f (cons (meta obj) (cons a (cons b args)))))))
