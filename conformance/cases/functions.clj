;;; Functions as values, transducers, laziness, state, metadata and other core pieces.

((comp inc #(* 2 %)) 5)  ;=> 11
((comp) 5)  ;=> 5
((comp str inc) 1)  ;=> "2"
((comp first :items) {:items [1 2]})  ;=> 1
((partial + 1 2) 3)  ;=> 6
((partial map inc) [1 2])  ;=> (2 3)
((complement even?) 1)  ;=> true
((constantly 5) 1 2 3)  ;=> 5
((juxt inc dec str) 5)  ;=> [6 4 "5"]
((juxt :a :b) {:a 1 :b 2})  ;=> [1 2]
((juxt + * -) 4 2)  ;=> [6 8 2]
((fnil + 0) nil 5)  ;=> 5
((fnil conj []) nil 1)  ;=> [1]
((fnil + 1 2) nil nil)  ;=> 3
((every-pred pos? even?) 2 4)  ;=> true
((every-pred pos? even?) 3)  ;=> false
((some-fn :a :b) {:b 2})  ;=> 2
((some-fn even? neg?) 1)  ;=> false
(identity 5)  ;=> 5
(trampoline (fn f [n] (if (pos? n) #(f (dec n)) :done)) 100)  ;=> :done
((memoize (fn [x] (* x x))) 4)  ;=> 16
(let [calls (atom 0) f (memoize (fn [x] (swap! calls inc) x))] (f 1) (f 1) (f 2) @calls)  ;=> 2
(def fib (memoize (fn [n] (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))))) (fib 50)  ;=> 12586269025
[(fn? inc) (ifn? :a) (fn? :a) (ifn? {}) (fn? #(+ 1 %))]  ;=> [true true false true true]
(map (fn [f] (f 4)) [inc dec #(* % %)])  ;=> (5 3 16)
(apply (comp vec concat) [[1] [2]])  ;=> [1 2]
((apply comp [inc inc]) 1)  ;=> 3
(reduce (fn [f g] (comp g f)) [inc #(* 2 %)])  ;=> #<fn>
((reduce comp [inc #(* 2 %)]) 5)  ;=> 11
(let [add (fn [a] (fn [b] (+ a b)))] ((add 1) 2))  ;=> 3
(let [compose-all (fn [& fs] (fn [x] (reduce #(%2 %1) x fs)))] ((compose-all inc str) 1))  ;=> "2"
(mapv #(% 3) [inc dec])  ;=> [4 2]
(:a {:a 1} :default)  ;=> 1
((constantly nil))  ;=> nil
(into [] (comp (filter odd?) (map inc)) (range 6))  ;=> [2 4 6]
(transduce (map inc) conj [] [1 2 3])  ;=> [2 3 4]
(transduce (filter even?) + 0 (range 10))  ;=> 20
(transduce (comp (map inc) (take 2)) + [1 2 3])  ;=> 5
(transduce (map #(* % %)) (completing + str) 0 [1 2 3])  ;=> "14"
(sequence (comp (map inc) (filter even?)) (range 5))  ;=> (2 4)
(sequence (map +) [1 2] [10 20])  ;=> (11 22)
(eduction (map inc) [1 2 3])  ;=> (2 3 4)
(into [] (take-while pos?) [1 2 -1 3])  ;=> [1 2]
(into [] (drop 2) [1 2 3])  ;=> [3]
(into [] (drop-while neg?) [-1 2 -3])  ;=> [2 -3]
(into [] (take-nth 2) [1 2 3])  ;=> [1 3]
(into [] (remove nil?) [1 nil])  ;=> [1]
(into [] (keep :a) [{:a 1} {}])  ;=> [1]
(into [] (map-indexed vector) [:a :b])  ;=> [[0 :a] [1 :b]]
(into [] (keep-indexed (fn [i x] (when (odd? i) x))) [1 2 3 4])  ;=> [2 4]
(into [] (mapcat range) [1 2 3])  ;=> [0 0 1 0 1 2]
(into [] cat [[1] [2 3]])  ;=> [1 2 3]
(into [] (distinct) [1 1 2])  ;=> [1 2]
(into [] (dedupe) [1 1 2 1])  ;=> [1 2 1]
(into [] (partition-all 2) [1 2 3])  ;=> [[1 2] [3]]
(into [] (partition-by odd?) [1 3 2])  ;=> [[1 3] [2]]
(into [] (interpose :x) [1 2])  ;=> [1 :x 2]
(into [] (replace {1 :a}) [1 2])  ;=> [:a 2]
(into #{} (map #(mod % 3)) (range 10))  ;=> #{0 1 2}
(into {} (comp (filter #(odd? (val %))) (map (fn [[k v]] [v k]))) {:a 1 :b 2})  ;=> {1 :a}
(into [] (halt-when neg?) [1 2])  ;=> [1 2]
(transduce (comp (map :n) (filter some?)) max 0 [{:n 3} {} {:n 7}])  ;=> 7
(def xf (comp (filter even?) (map #(* % 10)))) [(into [] xf (range 5)) (transduce xf + (range 5))]  ;=> [[0 20 40] 60]
((map inc) conj)  ;=> #<fn>
(((map inc) conj) [] 1)  ;=> [2]
(reduce ((filter even?) conj) [] [1 2 3 4])  ;=> [2 4]
(reduced? (reduced 1))  ;=> true
@(reduced 5)  ;=> 5
(unreduced (reduced 5))  ;=> 5
(ensure-reduced 1)  ;=> #<reduced>
(let [a (atom 1)] (swap! a inc) @a)  ;=> 2
(let [a (atom {})] (swap! a assoc :x 1) (swap! a update :x + 5) @a)  ;=> {:x 6}
(let [a (atom [])] (swap! a conj 1 2) (deref a))  ;=> [1 2]
(let [a (atom 1)] (reset! a 5))  ;=> 5
(let [a (atom 1)] [(compare-and-set! a 1 2) (compare-and-set! a 1 3) @a])  ;=> [true false 2]
(let [a (atom 1)] (swap-vals! a inc))  ;=> [1 2]
(let [a (atom 1)] (reset-vals! a 9))  ;=> [1 9]
(let [a (atom 0 :validator nat-int?)] (try (swap! a dec) (catch Exception e :rejected)))  ;=> :rejected
(let [log (atom []) a (atom 1)] (add-watch a :k (fn [k r o n] (swap! log conj [k o n]))) (swap! a inc) (remove-watch a :k) (swap! a inc) @log)  ;=> [[:k 1 2]]
(let [v (volatile! 1)] (vswap! v + 2) (vreset! v (inc @v)) @v)  ;=> 4
(let [d (delay (+ 1 2))] [(realized? d) @d (realized? d) (force d)])  ;=> [false 3 true 3]
(let [n (atom 0) d (delay (swap! n inc))] @d @d @n)  ;=> 1
(force 5)  ;=> 5
(def ^:dynamic *x* 1) (binding [*x* 2] *x*)  ;=> 2
(def ^:dynamic *lvl* 0) (defn lvl [] *lvl*) [(lvl) (binding [*lvl* 5] (lvl)) (lvl)]  ;=> [0 5 0]
(let [a (atom 0)] (dotimes [_ 5] (swap! a inc)) @a)  ;=> 5
(instance? clojure.lang.Atom (atom 1))  ;=> true
(meta (with-meta [1] {:a 1}))  ;=> {:a 1}
(= [1] (with-meta [1] {:a 1}))  ;=> true
(meta (vary-meta ^{:a 1} [1] assoc :b 2))  ;=> {:a 1, :b 2}
(meta [1])  ;=> nil
(meta (conj ^{:a 1} [1] 2))  ;=> {:a 1}
(:doc (meta (with-meta {} {:doc "d"})))  ;=> "d"
(meta (map inc ^{:a 1} [1]))  ;=> nil
; pending: vars have no metadata
(def ^{:unit :ms} t 5) (:unit (meta #'t))  ;=> :ms
; pending: vars have no metadata
(defn f "adds" [x] x) (:doc (meta #'f))  ;=> "adds"
; pending: vars have no metadata
(:arglists (meta (do (defn f [a b] a) #'f)))  ;=> ([a b])
(let [a (atom 1 :meta {:x 1})] (meta a))  ;=> {:x 1}
(= 1 1 1)  ;=> true
(= [1 2] '(1 2))  ;=> true
(= [1 2] (map identity [1 2]))  ;=> true
(= {:a [1]} {:a '(1)})  ;=> true
(= "a" :a)  ;=> false
(= nil false)  ;=> false
(= #{} nil)  ;=> false
(identical? :a :a)  ;=> true
(compare [1 2] [1 3])  ;=> -1
(compare [1] [1 2])  ;=> -1
(compare :a :b)  ;=> -1
(compare nil 1)  ;=> -1
(compare "b" "a")  ;=> 1
(compare true false)  ;=> 1
(sort [[2 "b"] [1 "z"] [2 "a"]])  ;=> ([1 "z"] [2 "a"] [2 "b"])
(instance? String "a")  ;=> true
(instance? Long 1)  ;=> true
(instance? Number 1.5)  ;=> true
(instance? java.util.Map {})  ;=> true
(instance? clojure.lang.IFn inc)  ;=> true
(= String (class "a"))  ;=> true
(true? true)  ;=> true
(some? nil)  ;=> false
(boolean? false)  ;=> true
(any? nil)  ;=> true
(symbol? 'a)  ;=> true
[(nil? nil) (false? false) (string? "") (keyword? :a) (map? {}) (vector? []) (set? #{}) (fn? inc)]  ;=> [true true true true true true true true]
; pending: undefined names: uuid?, uri?
[(uuid? (random-uuid)) (inst? #inst "2024-01-01") (uri? "x") (bytes? "x")]  ;=> [true true false false]
(count (str (random-uuid)))  ;=> 36
(symbol? (gensym "a"))  ;=> true
(hash-map)  ;=> {}
(clojure.walk/postwalk #(if (number? %) (inc %) %) {:a [1 {:b 2}]})  ;=> {:a [2 {:b 3}]}
(clojure.walk/prewalk #(if (map? %) (dissoc % :x) %) {:x 1 :a {:x 2 :y 3}})  ;=> {:a {:y 3}}
(clojure.walk/keywordize-keys {"a" 1 "b" {"c" 2}})  ;=> {:a 1, :b {:c 2}}
(clojure.walk/stringify-keys {:a 1 :b {:c 2}})  ;=> {"a" 1, "b" {"c" 2}}
(clojure.walk/postwalk-replace {:a :b} [:a {:a :a}])  ;=> [:b {:b :b}]
(clojure.walk/prewalk-replace {1 :one} [1 [1 2]])  ;=> [:one [:one 2]]
(clojure.walk/walk inc #(apply + %) [1 2 3])  ;=> 9
(walk/postwalk (fn [x] (if (and (vector? x) (= 2 (count x))) (vec (reverse x)) x)) {:a 1})  ;=> {1 :a}
(let [paths (atom [])] (walk/postwalk (fn [x] (when (number? x) (swap! paths conj x)) x) [1 [2 {:a 3}]]) @paths)  ;=> [1 2 3]
; pending: vars are not values
(var? #'inc)  ;=> true
(list 'a 'b)  ;=> (a b)
(first '(def x))  ;=> def
(sort-by :a (shuffle [{:a 1} {:a 2}]))  ;=> ({:a 1} {:a 2})
(assert true)  ;=> nil
(assert (= 1 2) "boom")  ;=!
(do (println "hello") 5)  ;=> 5
(comment (+ 1 2))  ;=> nil
(pmap inc [1 2 3])  ;=> (2 3 4)
(pcalls (constantly 1) (constantly 2))  ;=> (1 2)
(doall (pmap + [1 2] [3 4]))  ;=> (4 6)
(vec (for [f [+ - *]] (f 6 3)))  ;=> [9 3 18]
(let [[q r] ((juxt quot rem) 17 5)] {:q q :r r})  ;=> {:q 3, :r 2}
(sequential? (eduction (map inc) [1]))  ;=> true
(array-map :z 1 :a 2)  ;=> {:z 1, :a 2}
(let [s (seq [1 2 3])] [(first s) (next s)])  ;=> [1 (2 3)]
(let [f #(apply max %&)] (f 1 5 3))  ;=> 5
(let [f (fn [& {:keys [a] :or {a 1}}] a)] [(f) (f :a 2)])  ;=> [1 2]
(do (defn greet ([] (greet "World")) ([n] (str "Hello, " n))) [(greet) (greet "Bo")])  ;=> ["Hello, World" "Hello, Bo"]
(loop [n 5 acc 1] (if (zero? n) acc (recur (dec n) (* acc n))))  ;=> 120
(map #(nth % 1) [[1 2] [3 4]])  ;=> (2 4)
(integer? (System/currentTimeMillis))  ;=> true
(integer? (System/nanoTime))  ;=> true
(number? (rand))  ;=> true
(clojure.core/inc 1)  ;=> 2
(clojure.string/join "," [1])  ;=> "1"
(clojure.set/union #{1} #{2})  ;=> #{1 2}
