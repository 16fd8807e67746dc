;;; Programs that the Elixir reference refuses, or answers with a text of its own, and that PTC-Lisp answers as Clojure does:
;;; the language has the feature now.

;; The reader takes all of Clojure's data syntax.
[\u0041 "\u00e9" 1N 1.5M 0x1F 5. #_ 1 2]  ;=> ["A" "é" 1 1.5M 31 5.0 2]
(= 0.5 (double 1/2))  ;=> true
[:a/b (name ::a) :a.b]  ;=> [:a/b "a" :a.b]
[(meta ^{:a 1} []) (inst? #inst "2020-01-01")]  ;=> [{:a 1} true]

;; Quoted data and symbols are values.
['[1 2] '(1 2 3) (quote 5) (quote [a b]) (quote (1 2)) (symbol? 'abc)]  ;=> [[1 2] (1 2 3) 5 [a b] (1 2) true]

;; Functions and forms that the reference has not.
[@(atom 1) @(reduced 1) (number? (rand)) (read-string "1") (repeat 3 :a)]  ;=> [1 1 true 1 (:a :a :a)]
(letfn [(f [n] (if (zero? n) :done (f (dec n))))] (f 3))  ;=> :done
(with-out-str (printf "x%d" 1))  ;=> "x1"
(do (ns foo) (import (java.time LocalDate)) 1)  ;=> 1
(do (defn f ([x] [x]) ([x y] [x y])) [(f 1) (f 1 2)])  ;=> [[1] [1 2]]

;; Transducers
[(into [] (map inc) [1 2]) (into [] (filter odd?) [1 2]) (into [] (interpose 0) [1 2])]  ;=> [[2 3] [1] [1 0 2]]

;; Vectors are functions of their index, and sets and maps can be walked in order.
[([1 2] 0) (sort #{3 1 2}) (sort > {:a 1}) (pmap :a {:a 1})]  ;=> [1 (1 2 3) ([:a 1]) (nil)]

;; Sorting is stable.
(sort-by :k < [{:k 2 :n 1} {:k 1 :n 2} {:k 1 :n 3}])  ;=> [{:k 1 :n 2} {:k 1 :n 3} {:k 2 :n 1}]

;; The whole of the namespace or class that models expect
[(re-find (re-pattern #"a") "a") (. "abc" length) (Integer/parseInt "10" 16) (Math/sin 0) (< 3.14 Math/PI 3.15)]  ;=> ["a" 3 16 0.0 true]
[(Double/isNaN ##NaN) (clojure.string/capitalize "abc")]  ;=> [true "Abc"]
(do (require '[clojure.walk :as walk]) (walk/stringify-keys {:a 1}))  ;=> {"a" 1}

;; Loops are bounded by fuel, not by a count.
(loop [i 0] (if (< i 5000) (recur (inc i)) i))  ;=> 5000

;; One element of a lazy sequence needs no call.
(reduce 5 (map inc [0]))  ;=> 1
