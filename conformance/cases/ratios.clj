;;; Ratios that a program writes, and what comes of them. What `/` makes of two integers is in divergences.clj (D03).

;; Written, read and shown
1/3  ;=> 1/3
[(str 1/2) (pr-str [-6/4 4/2 0/5])]  ;=> ["1/2" "[-3/2 2 0]"]
[(ratio? 1/2) (rational? 1/2) (number? 1/2) (integer? 1/2) (float? 1/2) (double? 1/2) (decimal? 1/2) (int? 1/2)]  ;=> [true true true false false false false false]
[(class 1/2) (instance? Number 1/2) (instance? clojure.lang.Ratio 1/2)]  ;=> [clojure.lang.Ratio true true]
[(numerator 6/4) (denominator 6/4) (numerator -1/3)]  ;=> [3 2 -1]
(denominator 3)  ;=!
(str (read-string "[1/2 -10/4]"))  ;=> "[1/2 -5/2]"
(do (require '[clojure.edn :as edn]) (str (edn/read-string "22/7")))  ;=> "22/7"
{1/2 :half, 2/4 :other}  ;=!

;; Sums and products are exact
(str (+ 1/3 1/6))  ;=> "1/2"
(str (- 1 1/2 1/3 1/4 1/5 1/6 1/7 1/8 1/9))  ;=> "-2089/2520"
(str (* 2/3 9/4 1/3))  ;=> "1/2"
(str (/ 1/3 2))  ;=> "1/6"
(str (/ 2 1/3))  ;=> "6"
[(str (- 1/3)) (str (/ 1/3)) (str (inc 1/2)) (str (dec 1/2)) (str (abs -1/2))]  ;=> ["-1/3" "3" "3/2" "-1/2" "1/2"]
[(= 1 (+ 1/3 2/3)) (class (+ 1/3 2/3)) (integer? (* 3 1/3))]  ;=> [true clojure.lang.BigInt true]
(str (reduce + (map #(* % 1/10) (range 11))))  ;=> "11/2"
(/ 1/2 0)  ;=! Divide by zero
(mod 1/2 0)  ;=! Divide by zero

;; Quotients and remainders
[(quot 7/2 1) (quot -7/2 1) (quot 3 4/3) (class (quot 3 1/2))]  ;=> [3N -3N 2N clojure.lang.BigInt]
[(str (rem 7/2 1)) (str (rem -7/2 2)) (str (rem 3 4/3))]  ;=> ["1/2" "-3/2" "1/3"]
[(str (mod 7/2 2)) (str (mod -7/2 2)) (str (mod 7/2 -2)) (str (mod 3 1/2))]  ;=> ["3/2" "1/2" "-1/2" "0"]

;; Beside floats and decimals
[(+ 1/2 0.25) (* 1/4 2.0) (/ 1/2 0.0)]  ;=> [0.75 0.5 ##Inf]
[(+ 1/2 1.5M) (* 1/4 2M) (/ 2.0M 1/2) (/ 1/2 2.0M)]  ;=> [2.0M 0.50M 4M 0.25M]
(+ 1/3 1M)  ;=!
(bigdec 1/3)  ;=!
(with-precision 5 (+ 1/3 1M))  ;=> 1.3333M
(with-precision 4 (bigdec 2/3))  ;=> 0.6667M
[(bigdec 1/4) (double 1/3) (long 7/2) (int -7/2) (bigint 7/2) (float 1/2)]  ;=> [0.25M 0.3333333333333333 3 -3 3N 0.5]
[(double 3735951873173398585/711446416568115743) (double -3735951873173398585/711446416568115743)]  ;=> [5.251206255553202 -5.251206255553202]
(= 5.251206255553202 (double 3735951873173398585/711446416568115743))  ;=> true
[(Math/sqrt 1/4) (Math/floor 7/2) (Math/round (double 7/2))]  ;=> [0.5 3.0 4]

;; Compared
[(= 1/2 2/4) (= 1/2 1/3) (== 1/2 0.5) (== 1/2 0.5M) (= 1/2 0.5M) (< 1/3 1/2 1) (> 1/2 0.25M) (<= 1/2 0.5)]  ;=> [true false true true false true true true]
(== 1/3 (/ 1.0 3))  ;=> true
[(compare 1/3 1/2) (compare 1/2 1) (compare 1/2 0.25) (compare 1/2 0.75M)]  ;=> [-1 -1 1 -1]
(map str (sort [1 1/3 0 1/2 -1/2]))  ;=> ("-1/2" "0" "1/3" "1/2" "1")
[(str (max 1/3 1/2)) (str (min 1/3 1 1/2)) (zero? 1/2) (pos? 1/2) (neg? -1/2)]  ;=> ["1/2" "1/3" false true true]
[(get {1/2 :half} 2/4) (contains? #{1/3} 2/6) (count (distinct [1/2 2/4 1/3]))]  ;=> [:half true 2]
(= (hash 1/2) (hash 2/4))  ;=> true
(map str (range 0 1 1/4))  ;=> ("0" "1/4" "1/2" "3/4")

;; Made of floats and decimals
(map (comp str rationalize) [1.5 0.1 2.0 1.1M 3 1/3])  ;=> ("3/2" "1/10" "2" "11/10" "3" "1/3")
[(ratio? (rationalize 0.25)) (integer? (rationalize 4.0))]  ;=> [true true]
(rationalize ##NaN)  ;=!

;; Leaving the program
; ptc-only
(json/generate-string {:quarter 1/4, :third [1/3]})  ;=> "{\"quarter\":0.25,\"third\":[0.3333333333333333]}"
; ptc-only
(format "%.3f" 2/3)  ;=> "0.667"
; ptc-only
[(sum [1/2 1/3 1/6]) (avg [1/2 1/4]) (round 7/2) (floor -7/2) (ceil 7/2)]  ;=> [1 0.375 4 -4 4]
; ptc-only
(str (reduce * (repeat 2700 1/3)))  ;=! the limit is 4096
; ptc-only
(map str (sort [0.34 1/3 0.3333333333333333 0.3M 1]))  ;=> ("0.3" "0.3333333333333333" "1/3" "0.34" "1")
; ptc-only
[(= 1/3 (/ 1 3)) (<= 1/3 (/ 1 3)) (= {:a 1/2} {:a 0.5}) (get {1/2 :half} 0.5)]  ;=> [true true true nil]
