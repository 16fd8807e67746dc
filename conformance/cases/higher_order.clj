;;; Functions that take functions, over realised and lazy collections and as transducers.
(take 5 (map inc (iterate inc 1)))  ;=> (2 3 4 5 6)
(map vector [:a :b] (range))  ;=> ([:a 0] [:b 1])
(map vector (iterate inc 0) [:a :b :c])  ;=> ([0 :a] [1 :b] [2 :c])
(map + (iterate inc 0) (iterate inc 10) [1 2 3])  ;=> (11 14 17)
(take 3 (map + (iterate inc 0) (iterate inc 10) (cycle [1 2]) (repeat 5)))  ;=> (16 19 20)
(take 3 (mapcat (fn [x] (repeat x)) [1 2]))  ;=> (1 1 1)
(take 7 (mapcat (fn [x] [x x]) (iterate inc 1)))  ;=> (1 1 2 2 3 3 4)
(mapcat vector [1 2] [3 4] [5 6])  ;=> (1 3 5 2 4 6)
(take 4 (mapcat vector (iterate inc 1) (repeat 0)))  ;=> (1 0 2 0)
(mapcat nil nil)  ;=> ()
(map inc nil)  ;=> ()
(map inc [])  ;=> ()
(map inc #{})  ;=> ()
(map identity {:a 1})  ;=> ([:a 1])
(mapv inc nil)  ;=> []
(mapv + [1 2] [3 4] [5 6] [7 8 9])  ;=> [16 20]
(filter odd? nil)  ;=> ()
(filter nil [])  ;=> ()
(take 3 (filter odd? (iterate inc 1)))  ;=> (1 3 5)
(take 3 (remove odd? (iterate inc 1)))  ;=> (2 4 6)
(take 3 (keep #(when (odd? %) (* % %)) (iterate inc 1)))  ;=> (1 9 25)
(take 3 (keep-indexed #(when (odd? %1) [%1 %2]) (iterate inc 1)))  ;=> ([1 2] [3 4] [5 6])
(take 3 (map-indexed vector (iterate inc 1)))  ;=> ([0 1] [1 2] [2 3])
(map-indexed vector nil)  ;=> ()

;;; Folding.

(reduce + 5 [1 2])  ;=> 8
(reduce conj [] nil)  ;=> []
(reduce conj nil)  ;=> []
(reduce + [7])  ;=> 7
(reduce (fn [a b] (reduced :x)) [1])  ;=> 1
(reduce (fn [a b] (reduced :x)) [1 2 3])  ;=> :x
(reduce (fn [acc [k v]] (assoc acc v k)) {} {:a 1 :b 2})  ;=> {1 :a, 2 :b}
(reduce + (take 10 (iterate inc 1)))  ;=> 55
(reduce-kv (fn [a k v] (if (= k 1) (reduced a) (conj a k v))) [] [:a :b :c])  ;=> [0 :a]
(reduce-kv conj [] nil)  ;=> []
(reductions + [])  ;=> (0)
(reductions + 1 [])  ;=> (1)
(reductions + [1 2 3 4])  ;=> (1 3 6 10)
(reductions (fn [a x] (if (> a 3) (reduced :done) (+ a x))) 0 [1 2 3 4 5])  ;=> (0 1 3 6 :done)
(take 4 (reductions + (iterate inc 1)))  ;=> (1 3 6 10)
(take 4 (reductions conj [] (iterate inc 1)))  ;=> ([] [1] [1 2] [1 2 3])
(some #{3} [1 2 3])  ;=> 3
(some nil? [1 nil])  ;=> true
(some identity [nil false])  ;=> nil
(every? odd? nil)  ;=> true
(not-any? odd? [2 4])  ;=> true
(not-every? odd? [])  ;=> false

;;; Prefixes and groups.

(take-while pos? [1 2 -1 3])  ;=> (1 2)
(take-while pos? nil)  ;=> ()
(drop-while pos? [1 2 -1 3])  ;=> (-1 3)
(drop-while pos? nil)  ;=> ()
(take 2 (drop-while #(< % 5) (iterate inc 1)))  ;=> (5 6)
(split-with odd? [1 3 4 5])  ;=> [(1 3) (4 5)]
(map #(take 2 %) (split-with #(< % 3) (iterate inc 1)))  ;=> ((1 2) (3 4))
(partition-by identity [1 1 2 3 3])  ;=> ((1 1) (2) (3 3))
(partition-by odd? [])  ;=> ()
(take 3 (partition-by #(quot % 3) (iterate inc 1)))  ;=> ((1 2) (3 4 5) (6 7 8))
(partition-by identity "aab")  ;=> ((\a \a) (\b))
(partition 2 3 [1 2 3 4 5 6 7])  ;=> ((1 2) (4 5))
(partition 3 1 [1 2 3 4])  ;=> ((1 2 3) (2 3 4))
(partition 3 3 [:p] [1 2 3 4])  ;=> ((1 2 3) (4 :p))
(partition 3 3 [] [1 2 3 4])  ;=> ((1 2 3) (4))
(partition 3 3 nil [1 2 3 4])  ;=> ((1 2 3) (4))
(partition 3 3 [1 2 3 4] [9])  ;=> ((9 1 2))
(take 2 (partition 2 (iterate inc 1)))  ;=> ((1 2) (3 4))
(take 2 (partition-all 2 (iterate inc 1)))  ;=> ((1 2) (3 4))
(partition-all 2 [1 2 3])  ;=> ((1 2) (3))
(partition-all 2 3 [1 2 3 4 5])  ;=> ((1 2) (4 5))
(partition 2 (take 5 (iterate inc 1)))  ;=> ((1 2) (3 4))
(partition 2 2 [:p] (take 5 (iterate inc 1)))  ;=> ((1 2) (3 4) (5 :p))
(partition-all 2 (take 5 (iterate inc 1)))  ;=> ((1 2) (3 4) (5))

;;; Stringing together.

(concat)  ;=> ()
(concat nil)  ;=> ()
(concat [1] nil [2])  ;=> (1 2)
(concat {:a 1} #{2})  ;=> ([:a 1] 2)
(take 3 (concat [1] (iterate inc 5)))  ;=> (1 5 6)
(take 3 (concat (iterate inc 5) [1]))  ;=> (5 6 7)
(take 4 (concat [1] [2] (repeat 3)))  ;=> (1 2 3 3)
(take 4 (apply concat (iterate (fn [x] (map inc x)) [1 2])))  ;=> (1 2 2 3)
(interleave [1 2] [3 4] [5])  ;=> (1 3 5)
(interleave)  ;=> ()
(interleave [1])  ;=> (1)
(take 4 (interleave (iterate inc 1) (repeat :x)))  ;=> (1 :x 2 :x)
(interleave [1 2 3] (repeat :x))  ;=> (1 :x 2 :x 3 :x)
(interpose 0 [])  ;=> ()
(interpose 0 [1])  ;=> (1)
(take 3 (interpose 0 (iterate inc 1)))  ;=> (1 0 2)
(distinct [1 1 2])  ;=> (1 2)
(take 3 (distinct (cycle [1 2 3])))  ;=> (1 2 3)
(dedupe [1 1 2 1])  ;=> (1 2 1)
(take 3 (dedupe (iterate inc 1)))  ;=> (1 2 3)
(dedupe [])  ;=> ()
(dedupe [nil nil 1])  ;=> (nil 1)
(take-nth 2 [1 2 3])  ;=> (1 3)
(take 2 (take-nth 3 (iterate inc 0)))  ;=> (0 3)
(take 0 [1])  ;=> ()
(take -1 [1])  ;=> ()
(take 2 nil)  ;=> ()
(drop 1 nil)  ;=> ()
(drop -1 [1])  ;=> (1)
(drop 2 (take 4 (iterate inc 1)))  ;=> (3 4)
(take-last 2 [1 2 3])  ;=> (2 3)
(take-last 0 [1])  ;=> nil
(take-last 5 [])  ;=> nil
(drop-last [1 2])  ;=> (1)
(drop-last 5 [1 2])  ;=> ()
(drop-last 2 (take 5 (iterate inc 1)))  ;=> (1 2 3)
(take-last 2 (take 5 (iterate inc 1)))  ;=> (4 5)
(split-at 1 [1 2 3])  ;=> [(1) (2 3)]
(split-at 5 [1])  ;=> [(1) ()]
(take 3 (cycle [1 2]))  ;=> (1 2 1)
(cycle [])  ;=> ()
(cycle nil)  ;=> ()
(repeat 2 :a)  ;=> (:a :a)
(repeat 0 :a)  ;=> ()
(repeat -1 :a)  ;=> ()
(repeatedly 2 (constantly 1))  ;=> (1 1)
(repeatedly 0 (constantly 1))  ;=> ()
(take 3 (repeat 1))  ;=> (1 1 1)

;;; Trees.

(tree-seq sequential? seq [1 [2 [3]] 4])  ;=> ([1 [2 [3]] 4] 1 [2 [3]] 2 [3] 3 4)
(take 3 (tree-seq (constantly true) (fn [x] [(inc x)]) 0))  ;=> (0 1 2)
(tree-seq map? :kids {:n 1 :kids [{:n 2} {:n 3 :kids [{:n 4}]}]})  ;=> ({:n 1, :kids [{:n 2} {:n 3, :kids [{:n 4}]}]} {:n 2} {:n 3, :kids [{:n 4}]} {:n 4})

;;; Transducers.

(transduce (map inc) + 0 [1 2])  ;=> 5
(transduce (filter odd?) conj [1 2 3])  ;=> [1 3]
(transduce (comp (map inc) (filter odd?) (take 2)) conj (range 20))  ;=> [1 3]
(into [] (take 2) [1 2 3])  ;=> [1 2]
(into [] (take 0) [1 2 3])  ;=> []
(into [] (drop 1) [1 2 3])  ;=> [2 3]
(into [] (take-while odd?) [1 3 4 5])  ;=> [1 3]
(into [] (drop-while odd?) [1 3 4 5])  ;=> [4 5]
(into [] (take-nth 2) [1 2 3])  ;=> [1 3]
(into [] (partition-all 2) [1 2 3])  ;=> [[1 2] [3]]
(into [] (partition-by odd?) [1 3 2 4 5])  ;=> [[1 3] [2 4] [5]]
(into [] (partition-by identity) [])  ;=> []
(into [] (comp (partition-all 2) (take 1)) [1 2 3 4 5])  ;=> [[1 2]]
(into [] (comp (partition-by odd?) (take 1)) [1 3 2 4 5])  ;=> [[1 3]]
(into [] (dedupe) [1 1 2])  ;=> [1 2]
(into [] (distinct) [1 1 2 1])  ;=> [1 2]
(into [] (interpose 0) [1 2 3])  ;=> [1 0 2 0 3]
(into [] (comp (interpose 0) (take 2)) [1 2 3])  ;=> [1 0]
(into [] cat [[1] [2 3]])  ;=> [1 2 3]
(into [] (comp cat (take 2)) [[1] [2 3]])  ;=> [1 2]
(into [] (mapcat range) [1 2 3])  ;=> [0 0 1 0 1 2]
(into [] (comp (mapcat range) (take 3)) [3 4 5])  ;=> [0 1 2]
(into [] (keep #(when (odd? %) %)) [1 2 3])  ;=> [1 3]
(into [] (keep-indexed #(when (odd? %1) %2)) [1 2 3])  ;=> [2]
(into [] (map-indexed vector) [:a :b])  ;=> [[0 :a] [1 :b]]
(into [] (remove odd?) [1 2])  ;=> [2]
(into [] (halt-when #(> % 2)) [1 2 3 4])  ;=> 3
(into [] (replace {1 :a}) [1 2])  ;=> [:a 2]
(into)  ;=> []
(into [1])  ;=> [1]
(into nil [1 2])  ;=> (2 1)
(into {} {:a 1})  ;=> {:a 1}
(into {} [[:a 1]])  ;=> {:a 1}
(into #{} [1 1])  ;=> #{1}
(into () [1 2])  ;=> (2 1)
(into [] nil)  ;=> []
(into {:a 1} nil)  ;=> {:a 1}
(into [] {:a 1})  ;=> [[:a 1]]
(into [] "ab")  ;=> [\a \b]
(sequence (map inc) [1 2])  ;=> (2 3)
(sequence nil)  ;=> ()
(sequence [1])  ;=> (1)
(sequence (map +) [1 2] [10 20 30])  ;=> (11 22)
(take 3 (sequence (map inc) (iterate inc 1)))  ;=> (2 3 4)
(take 3 (sequence (comp (partition-all 2) (map vec)) (iterate inc 1)))  ;=> ([1 2] [3 4] [5 6])
(sequence (partition-all 2) (take 3 (iterate inc 1)))  ;=> ([1 2] [3])
(sequence (take 2) (iterate inc 1))  ;=> (1 2)
(sequence (map vector) [1 2] [3 4] [5 6])  ;=> ([1 3 5] [2 4 6])
(vec (eduction (map inc) (filter odd?) [1 2 3]))  ;=> [3]
(transduce (map inc) (completing conj count) [] [1 2])  ;=> 2

;;; Sorting and grouping.

(sort [3 1 2])  ;=> (1 2 3)
(sort > [3 1 2])  ;=> (3 2 1)
(sort (fn [a b] (< a b)) [3 1 2])  ;=> (1 2 3)
(sort (fn [a b] (- b a)) [3 1 2 5 4 9 8])  ;=> (9 8 5 4 3 2 1)
(sort (comparator >) [1 2 3])  ;=> (3 2 1)
(sort [])  ;=> ()
(sort nil)  ;=> ()
(sort #(compare %2 %1) "hello")  ;=> (\o \l \l \h \e)
(sort-by count ["aaa" "b" "cc"])  ;=> ("b" "cc" "aaa")
(sort-by first > [[1 :a] [2 :b] [1 :c]])  ;=> ([2 :b] [1 :a] [1 :c])
(sort-by second (fn [a b] (< a b)) [[:a 2] [:b 1] [:c 2] [:d 1]])  ;=> ([:b 1] [:d 1] [:a 2] [:c 2])
(sort-by val {:a 2 :b 1})  ;=> ([:b 1] [:a 2])
(sort-by - [1 2 3])  ;=> (3 2 1)
(sort-by :x [{:x 2} {} {:x 1}])  ;=> ({} {:x 1} {:x 2})
(sort #(compare (count %1) (count %2)) ["bb" "aa" "c" "ddd" "cc"])  ;=> ("c" "bb" "aa" "cc" "ddd")
(sort-by (juxt :a :b) [{:a 1 :b 2} {:a 1 :b 1} {:a 0 :b 5}])  ;=> ({:a 0, :b 5} {:a 1, :b 1} {:a 1, :b 2})
(sort-by identity (fn [a b] (compare b a)) (range 50))  ;=> (49 48 47 46 45 44 43 42 41 40 39 38 37 36 35 34 33 32 31 30 29 28 27 26 25 24 23 22 21 20 19 18 17 16 15 14 13 12 11 10 9 8 7 6 5 4 3 2 1 0)
(group-by odd? [1 2 3])  ;=> {true [1 3], false [2]}
(group-by identity nil)  ;=> {}
(group-by count ["a" "bb" "c"])  ;=> {1 ["a" "c"], 2 ["bb"]}
(group-by first {:a 1})  ;=> {:a [[:a 1]]}
(max-key count "a" "bb" "cc")  ;=> "cc"
(min-key count "aa" "b" "c")  ;=> "c"
(max-key :n {:n 1})  ;=> {:n 1}
(max-key - 3 1 2)  ;=> 1
(min-key abs -3 1 -1 2)  ;=> -1

;;; Functions out of functions.

((comp) 1)  ;=> 1
((comp inc) 1)  ;=> 2
((comp str inc +) 1 2)  ;=> "4"
((comp first rest reverse) [1 2 3])  ;=> 2
((comp inc inc inc inc inc) 1)  ;=> 6
((comp vector) 1 2 3 4)  ;=> [1 2 3 4]
((partial + 1) 2)  ;=> 3
((partial + 1 2 3 4) 5 6)  ;=> 21
((partial vector 1 2) 3 4 5)  ;=> [1 2 3 4 5]
((partial str) )  ;=> ""
((partial vector 1) 2 3 4 5)  ;=> [1 2 3 4 5]
((complement odd?) 1)  ;=> false
((constantly 1) 2 3 4)  ;=> 1
((fnil + 1) nil)  ;=> 1
((fnil + 1 2) nil nil)  ;=> 3
((fnil vector 1 2 3) nil nil nil 4)  ;=> [1 2 3 4]
((fnil vector 1) nil 2 3 4 5)  ;=> [1 2 3 4 5]
((juxt + -) 1 2)  ;=> [3 -1]
((juxt inc dec str) 1)  ;=> [2 0 "1"]
((juxt + - * max) 3 2)  ;=> [5 1 6 3]
((juxt :a) {:a 1})  ;=> [1]
((juxt + - *) 4 3 2 1)  ;=> [10 -2 24]
((every-pred odd?) 1 3 5)  ;=> true
((every-pred odd? pos?) 1 -1)  ;=> false
((every-pred odd? pos? int?) 1)  ;=> true
((every-pred odd?))  ;=> true
((every-pred odd? pos? int? number?) 1 3 5 7)  ;=> true
((some-fn odd?) 2 4)  ;=> false
((some-fn :a :b) {:b 1})  ;=> 1
((some-fn odd? neg?) 2 4)  ;=> false
((some-fn even? neg? zero?) 1 1 1 2)  ;=> true
((some-fn :a :b :c :d) {:d 1})  ;=> 1
(trampoline (fn [] (fn [] 1)))  ;=> 1
(trampoline + 1 2)  ;=> 3
(apply + 1 2 [3 4])  ;=> 10
(apply + 1 2 3 4 5 [6])  ;=> 21
(apply max [1 2])  ;=> 2
(apply str nil)  ;=> ""
(apply vector 1 nil)  ;=> [1]
(apply hash-map [:a 1])  ;=> {:a 1}
(apply map vector [[1 2] [3 4]])  ;=> ([1 3] [2 4])

;;; Maps.

(update {:a 1} :a + 1 2 3 4 5)  ;=> {:a 16}
(update nil :a identity)  ;=> {:a nil}
(update [1 2] 0 inc)  ;=> [2 2]
(update [1] 1 (fnil inc 0))  ;=> [1 1]
(update-in {:a {:b 1}} [:a :b] + 1 2 3)  ;=> {:a {:b 7}}
(update-in {} [:a :b] identity)  ;=> {:a {:b nil}}
(update-in {:a 1} [] (constantly 2))  ;=> {:a 1, nil 2}
(update-in [[1]] [0 0] inc)  ;=> [[2]]
(update-in nil [:a] str)  ;=> {:a ""}
(update-vals {:a 1} inc)  ;=> {:a 2}
(update-vals [1 2] inc)  ;=> [2 3]
(update-vals nil inc)  ;=> {}
(update-keys {:a 1} name)  ;=> {"a" 1}
(update-keys nil name)  ;=> {}
(meta (update-vals (with-meta {:a 1} {:m 1}) inc))  ;=> {:m 1}
(merge-with + {:a 1} {:a 2 :b 3} {:a 4})  ;=> {:a 7, :b 3}
(merge-with +)  ;=> nil
(merge-with + nil)  ;=> nil
(merge-with + nil {:a 1})  ;=> {:a 1}
(merge-with + {:a 1} nil)  ;=> {:a 1}
(merge-with into {:a [1]} {:a [2]})  ;=> {:a [1 2]}
(merge-with + {} nil)  ;=> {}

;;; State.

(let [a (atom 1)] [(swap! a + 2) (swap-vals! a inc) (reset-vals! a 9) (compare-and-set! a 9 10) @a])  ;=> [3 [3 4] [4 9] true 10]
(let [a (atom [])] (swap! a conj 1) (swap! a conj 2 3) @a)  ;=> [1 2 3]
(let [a (atom {})] (swap! a assoc :a 1) (swap! a assoc :b 1 :c 2) (swap! a update :a inc) (swap! a update :a + 2 3) (swap! a update-in [:x :y] (fnil inc 0)) @a)  ;=> {:a 7, :b 1, :c 2, :x {:y 1}}
(let [a (atom {:n 1})] (try (swap! a update :n (fn [_] (throw (Exception. "x")))) (catch Exception e nil)) @a)  ;=> {:n 1}
(let [f (memoize (fn [& xs] (count xs)))] [(f) (f 1) (f nil) (f 1 2) (f)])  ;=> [0 1 1 2 0]

;;; Walking and comparing.

(clojure.walk/postwalk #(if (number? %) (inc %) %) {:a [1 {:b 2}] :c #{1} :d '(1 2)})  ;=> {:a [2 {:b 3}], :c #{2}, :d (2 3)}
(clojure.walk/prewalk #(if (vector? %) (seq %) %) [1 [2]])  ;=> (1 (2))
(clojure.walk/keywordize-keys {"a" [{"b" 1}] :c 2 3 4})  ;=> {:a [{:b 1}], :c 2, 3 4}
(clojure.walk/stringify-keys {:a {:b 1}})  ;=> {"a" {"b" 1}}
(clojure.walk/walk first reverse [[1 2] [3 4]])  ;=> (3 1)
(clojure.walk/postwalk-replace {:a 1} [:a {:a :a}])  ;=> [1 {1 1}]
(clojure.walk/prewalk-replace {1 2} [1 [1]])  ;=> [2 [2]]
(clojure.walk/postwalk #(if (map-entry? %) [(key %) 9] %) {:a 1})  ;=> {:a 9}
(meta (clojure.walk/postwalk identity (with-meta [1] {:m 1})))  ;=> {:m 1}
(require 'clojure.data) (clojure.data/diff {:a 1 :b {:c 2 :d 3}} {:a 1 :b {:c 9 :d 3} :e nil})  ;=> ({:b {:c 2}} {:b {:c 9}, :e nil} {:b {:d 3}, :a 1})
(require 'clojure.data) (clojure.data/diff [1 2 3] [1 9 3 4])  ;=> [[nil 2] [nil 9 nil 4] [1 nil 3]]
(require 'clojure.data) (clojure.data/diff #{1 2} #{2 3})  ;=> [#{1} #{3} #{2}]
(require 'clojure.data) (clojure.data/diff nil {:a 1})  ;=> [nil {:a 1} nil]
(require 'clojure.data) (clojure.data/diff {:a nil} {:a nil :b 1})  ;=> (nil {:b 1} {:a nil})
(require 'clojure.data) (clojure.data/diff "a" "a")  ;=> [nil nil "a"]
(require 'clojure.data) (clojure.data/diff [1 [2 3]] [1 [2 4]])  ;=> [[nil [nil 3]] [nil [nil 4]] [1 [2]]]
(require 'clojure.data) (clojure.data/diff {:a nil} {:a 1})  ;=> ({:a nil} {:a 1} nil)
(require 'clojure.data) (clojure.data/diff [] [1])  ;=> [nil [1] nil]
(require 'clojure.data) (clojure.data/diff {} {})  ;=> [nil nil {}]
(require 'clojure.data) (clojure.data/diff {:a 1} {})  ;=> ({:a 1} nil nil)
(require 'clojure.data) (clojure.data/diff '(1 2) [1 3])  ;=> [[nil 2] [nil 3] [1]]
(clojure.set/select odd? #{1 2 3})  ;=> #{1 3}

;;; Hierarchies.

(isa? :a :a)  ;=> true
(let [h (-> (make-hierarchy) (derive :a :b) (derive :b :c))] [(isa? h :a :c) (ancestors h :a) (descendants h :c) (parents h :a) (isa? h [:a :b] [:c :c]) (underive h :a :b)])  ;=> [true #{:c :b} #{:b :a} #{:b} true {:parents {:b #{:c}}, :ancestors {:b #{:c}}, :descendants {:c #{:b}}}]
(derive (make-hierarchy) :a :a)  ;=!
(let [h (-> (make-hierarchy) (derive :a :b) (derive :b :c))] (derive h :a :c))  ;=!
(let [h (-> (make-hierarchy) (derive :a :b) (derive :b :c))] (derive h :c :a))  ;=!

;;; More laziness.

(vec (iteration (fn [k] (when (< (or k 0) 3) {:v k :k (inc (or k 0))})) :kf :k :vf :v))  ;=> [nil 1 2]
(let [fibs (fn fibs [a b] (lazy-seq (cons a (fibs b (+ a b)))))] (take 10 (fibs 0 1)))  ;=> (0 1 1 2 3 5 8 13 21 34)
(reduce + (filter even? (take-while #(< % 100) (map first (iterate (fn [[a b]] [b (+ a b)]) [1 1])))))  ;=> 44
(let [log (atom [])] (doall (map #(swap! log conj %) [1 2])) @log)  ;=> [1 2]
(run! identity [1])  ;=> nil
(let [a (atom 0) w (atom [])] (add-watch a :k (fn [k r o n] (swap! w conj [k o n]))) (swap! a inc) (reset! a 5) (remove-watch a :k) (swap! a inc) [@a @w])  ;=> [6 [[:k 0 1] [:k 1 5]]]
(let [a (atom 1 )] (set-validator! a pos?) [(try (reset! a -1) (catch IllegalStateException e :no)) @a])  ;=> [:no 1]
(random-sample 1.0 [1 2])  ;=> (1 2)
(map #(* 2 %) (sorted-set 3 1 2))  ;=> (2 4 6)
(first (map inc (cons 1 (lazy-seq (throw (Exception. "no"))))))  ;=> 2
(vary-meta [1] assoc :a 1)  ;=> [1]
(frequencies (map even? (range 5)))  ;=> {true 3, false 2}
(sequence (comp (filter odd?) (map inc)) (range 5))  ;=> (2 4)
(keep identity [1 nil false])  ;=> (1 false)
(transduce cat + [[1 2] [3]])  ;=> 6
(transduce (comp (take 3) (map inc)) + (range))  ;=> 6
(sequence (halt-when odd?) [2 4 5 6])  ;=> (2 4)
(transduce (halt-when odd? (fn [r x] [r x])) conj [2 4 5])  ;=> [[2 4] 5]

;;; Mistakes.

(reduce-kv + 0 '(1 2))  ;=!
(map)  ;=!
(reduce)  ;=!
(filter 1 [1])  ;=!
(map inc 5)  ;=!
(sort-by :a 5)  ;=!
(update-vals inc {:a 1})  ;=!

;;; Natives that realise lazy arguments when they are applied.

(apply zipmap [(range) ["a" "b"]])  ;=> {0 "a", 1 "b"}
(apply count [(filter odd? (map inc (take 4 (iterate inc 1))))])  ;=> 2
(apply nth [(iterate inc 0) 5])  ;=> 5
(map count [(take 2 (iterate inc 1)) (take 3 (repeat 1))])  ;=> (2 3)
(map first [(iterate inc 1) (cycle [7 8])])  ;=> (1 7)
(let [calls (atom 0) xs (map (fn [x] (swap! calls inc) x) (iterate inc 0))] [(apply nth [xs 3]) (apply nth [xs 3]) @calls])  ;=> [3 3 4]

;;; Parts of sorted collections.

(subseq (sorted-set 1 3 5 7) < 0)  ;=> ()
(subseq (sorted-set 1 3 5 7) > 9)  ;=> nil
(rsubseq (sorted-set 1 3 5 7) > 7)  ;=> ()
(rsubseq (sorted-set 1 3 5 7) < 0)  ;=> nil
(rsubseq (sorted-set 1 3 5 7) < 4)  ;=> (3 1)
(rsubseq (sorted-set 1 3 5 7) >= 4)  ;=> (7 5)
(subseq (sorted-set 1 3 5 7) > 9 < 12)  ;=> nil
(subseq (sorted-set 1 3 5 7) > 3 < 5)  ;=> ()
(subseq (sorted-set 1 3 5 7) >= 3 <= 5)  ;=> (3 5)
(rsubseq (sorted-set 1 3 5 7) > 9 < 12)  ;=> ()
(rsubseq (sorted-set 1 3 5 7) > -9 < 0)  ;=> nil
(rsubseq (sorted-set 1 3 5 7) > 3 < 5)  ;=> ()
(rsubseq (sorted-set 1 3 5 7) >= 3 <= 7)  ;=> (7 5 3)
(subseq (sorted-map-by (fn [a b] (compare b a)) 1 :a 2 :b 3 :c) > 2)  ;=> ([1 :a])
(rsubseq (sorted-map-by > 1 :a 2 :b 3 :c) > 3)  ;=> ([1 :a] [2 :b])

;;; Long searches in endless sequences hold on to nothing.

(first (filter (fn [x] (> x 20000)) (iterate inc 0)))  ;=> 20001
(first (drop-while (fn [x] (< x 20000)) (iterate inc 0)))  ;=> 20000
(first (keep (fn [x] (when (> x 20000) [x])) (iterate inc 0)))  ;=> [20001]
(first (for [x (iterate inc 0) :when (> x 20000)] x))  ;=> 20001
(first (mapcat (fn [x] (when (> x 20000) [x])) (iterate inc 0)))  ;=> 20001
(first (drop 20000 (iterate inc 0)))  ;=> 20000
