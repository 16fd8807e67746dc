;;; Exact decimals. Answers are texts where the scale counts: 1.0M and 1.00M are equal, their digits are not.

;; Reading and printing.

(mapv pr-str [1.10M 1M -0.5M 1e3M 1.5e-3M 0.000001M 1E-7M 5.M 010M +2.50M -0M 0.00M])  ;=> ["1.10M" "1M" "-0.5M" "1E+3M" "0.0015M" "0.000001M" "1E-7M" "5M" "10M" "2.50M" "0M" "0.00M"]
(mapv str [1.10M 1e3M 1E-7M 123456789012345678901234567890.123M])  ;=> ["1.10" "1E+3" "1E-7" "123456789012345678901234567890.123"]
[(str [1.50M]) (pr-str {:a 1.50M}) (print-str 1.5M) (str "a" 1.50M)]  ;=> ["[1.50M]" "{:a 1.50M}" "1.5M" "a1.50"]
(with-out-str (println 1.50M "b"))  ;=> "1.50M b\n"
(pr-str (read-string "1.50M"))  ;=> "1.50M"

;; What a decimal is.

[(decimal? 1M) (number? 1M) (rational? 1M) (float? 1M) (integer? 1M) (ratio? 1M) (decimal? 1.0) (class 1M) (instance? BigDecimal 1M) (instance? Number 1M)]  ;=> [true true true false false false false java.math.BigDecimal true true]
[(= 1.0M 1.00M) (= 1M 1) (= 1.0M 1.0) (== 1M 1) (== 1.0M 1.0) (== 0.1M 0.1) (not= 1M 2M) (identical? :a :a)]  ;=> [true false false true true true true true]
[(get {1.0M :a} 1.00M) (contains? #{1M} 1) (count (distinct [1.0M 1.00M 1M])) (frequencies [1.0M 1M]) (= (hash 1.0M) (hash 1.00M))]  ;=> [:a false 1 {1.0M 2} true]
[(compare 1.0M 1.00M) (compare 1M 2) (compare 2.5M 1.5) (< 1M 1.5 2) (<= 1M 1.0M) (> 2M 1N)]  ;=> [0 -1 1 true true true]
(mapv str (sort [1.5M 1 1.2 -3.00M 10N]))  ;=> ["-3.00" "1" "1.2" "1.5" "10"]
[(zero? 0.00M) (pos? 0.1M) (neg? -0.1M) (zero? 1M) (NaN? 1M) (infinite? 1M)]  ;=> [true true true false false false]
[(.equals 1.0M 1.00M) (.compareTo 1.0M 1.00M) (.hashCode 1.0M) (.hashCode -1.50M) (.hashCode 123456789012345678901234567890M)]  ;=> [false 0 311 -4648 -748148569]

;; Arithmetic keeps scales as Java does.

(mapv pr-str [(+ 0.1M 0.2M) (+ 1.50M 1) (- 2M 0.50M) (* 1.10M 2.20M) (* 19.99M 3) (inc 1.5M) (dec 1.50M) (- 1.5M) (abs -1.50M) (+ 1N 1M)])  ;=> ["0.3M" "2.50M" "1.50M" "2.4200M" "59.97M" "2.5M" "0.50M" "-1.5M" "1.50M" "2M"]
(mapv pr-str [(/ 1M 8) (/ 1.00M 2M) (/ 100M 4M) (/ 1E3M 4M) (/ 5M) (/ 0.00M 5M) (/ 10 4M)])  ;=> ["0.125M" "0.50M" "25M" "2.5E+2M" "0.2M" "0.00M" "2.5M"]
(mapv pr-str [(quot 7.5M 2M) (rem 7.5M 2M) (mod -7.5M 2) (quot 1E5M 3E2M) (rem 1E5M 3E2M) (quot 5M 1E2M) (mod 5M -0.3M)])  ;=> ["3.0M" "1.5M" "0.5M" "333M" "1E+2M" "0.00M" "-0.1M"]
[(+ 1M 1.5) (* 2.0 1.5M) (/ 1M 0.0) (max 1M 2.5) (min 1.5M 1)]  ;=> [2.5 3.0 ##Inf 2.5 1]
(mapv pr-str [(max 1.0M 1M) (max 1M 1.00M) (apply max [1.5M 2]) (min 1.5M 2N)])  ;=> ["1M" "1.00M" "2" "1.5M"]
(/ 1M 3M)  ;=! Non-terminating decimal expansion; no exact representable decimal result.
(/ 1M 0M)  ;=! Divide by zero
(quot 1M 0.00M)  ;=! Divide by zero
(rem 1M 0)  ;=! Divide by zero
(try (/ 1M 3) (catch ArithmeticException e :endless))  ;=> :endless
(pr-str (reduce + (map bigdec ["0.10" "0.20" "0.70"])))  ;=> "1.00M"
(pr-str (reduce + 0M (repeat 10 0.1M)))  ;=> "1.0M"
(pr-str (apply * (repeat 5 1.01M)))  ;=> "1.0510100501M"
(mapv pr-str (range 0M 1M 0.25M))  ;=> ["0M" "0.25M" "0.50M" "0.75M"]
(mapv pr-str (range 1M 4))  ;=> ["1M" "2M" "3M"]
(range 0 2.5M)  ;=> (0 1 2)
(+ 1M nil)  ;=!
(+ 1M "1")  ;=!

;; Precision.

(mapv pr-str [(with-precision 5 (/ 1M 3M)) (with-precision 5 :rounding FLOOR (/ 2M 3M)) (with-precision 3 (+ 1.2345M 1M)) (with-precision 3 1.2345M) (with-precision 3 (- 1.2345M)) (with-precision 3 (* 2 1.2345M))])  ;=> ["0.33333M" "0.66666M" "2.23M" "1.2345M" "-1.23M" "2.47M"]
(with-precision 3 :rounding UNNECESSARY (/ 1M 3))  ;=! Rounding necessary
(mapv pr-str [(with-precision 4 :rounding java.math.RoundingMode/UP (/ 2M 3))])  ;=> ["0.6667M"]
(pr-str (with-precision 10 (with-precision 2 (/ 1M 3M)) (/ 1M 3M)))  ;=> "0.3333333333M"
[(pr-str (try (with-precision 3 (throw (ex-info "x" {}))) (catch Exception e (+ 1.2345M 1M)))) (pr-str (+ 1.2345M 1M))]  ;=> ["2.2345M" "2.2345M"]
(pr-str (with-precision 4 (reduce + [1.11111M 2.22222M])))  ;=> "3.333M"
(let [f (fn [x] (* x 1.2345M))] (mapv pr-str [(with-precision 3 (f 1)) (f 1)]))  ;=> ["1.23M" "1.2345M"]
(with-precision 3 (quot 12345.6M 1))  ;=! Division impossible

;; Conversions.

(mapv pr-str [(bigdec 10) (bigdec 0.1) (bigdec "1.50") (bigdec 5N) (bigdec 1e10) (bigdec "1e+3") (bigdec ".5") (bigdec 2.50M)])  ;=> ["10M" "0.1M" "1.50M" "5M" "1.0E+10M" "1E+3M" "0.5M" "2.50M"]
[(bigdec "abc")]  ;=!
(bigdec nil)  ;=!
(bigdec ##Inf)  ;=!
[(long 1.9M) (int -1.9M) (double 1.1M) (float 0.5M) (bigint 1.9M) (biginteger 1E3M) (short 5.5M) (num 1M)]  ;=> [1 -1 1.1 0.5 1N 1000 5 1M]
(int 3000000000M)  ;=!
[(nth [1 2 3] 1M) (take 2M [1 2 3]) (Math/floor 1.5M) (Math/sqrt 4M) (boolean 0M)]  ;=> [2 (1 2) 1.0 2.0 true]

;; BigDecimal.

(mapv pr-str [(BigDecimal. "1.250") (BigDecimal. 0.1) (BigDecimal. 3) (BigDecimal. "1e3") (BigDecimal/valueOf 1.10) (BigDecimal/valueOf 5 2) BigDecimal/ZERO BigDecimal/ONE BigDecimal/TEN])  ;=> ["1.250M" "0.1000000000000000055511151231257827021181583404541015625M" "3M" "1E+3M" "1.1M" "0.05M" "0M" "1M" "10M"]
(mapv pr-str [(.add 1.5M 2.25M) (.subtract 1M 0.10M) (.multiply 1.1M 1.1M) (.divide 1M 8M) (.remainder -7.5M 2M) (.negate 1.0M) (.abs -2.50M) (.pow 1.1M 3) (.max 1.0M 1.00M) (.min 2M 1.5M)])  ;=> ["3.75M" "0.90M" "1.21M" "0.125M" "-1.5M" "-1.0M" "2.50M" "1.331M" "1.0M" "1.5M"]
[(.signum -1.5M) (.scale 1.250M) (.precision 1.250M) (.precision 0.00M) (.scale 1E3M) (.unscaledValue 1.250M)]  ;=> [-1 3 4 1 -3 1250]
(mapv pr-str [(.setScale 1.005M 2 RoundingMode/HALF_UP) (.setScale 1.5M 4) (.setScale 1234.5M -2 RoundingMode/HALF_UP) (.setScale 1.255M 2 BigDecimal/ROUND_HALF_EVEN)])  ;=> ["1.01M" "1.5000M" "1.2E+3M" "1.26M"]
(.setScale 1.5M 0)  ;=! Rounding necessary
(mapv pr-str [(.divide 10M 3M 2 RoundingMode/HALF_UP) (.divide 10.00M 3M RoundingMode/HALF_UP) (.divide 1M 3M (java.math.MathContext. 5)) (.divide 1M 8M 2 BigDecimal/ROUND_HALF_UP)])  ;=> ["3.33M" "3.33M" "0.33333M" "0.13M"]
(.divide 1M 3M)  ;=! Non-terminating decimal expansion
(mapv pr-str [(.movePointLeft 123M 5) (.movePointRight 1.5M 3) (.scaleByPowerOfTen 1.5M 3) (.stripTrailingZeros 100M) (.stripTrailingZeros 2.500M) (.stripTrailingZeros 0.00M) (.round 99.95M (java.math.MathContext. 3)) (.ulp 1.50M)])  ;=> ["0.00123M" "1500M" "1.5E+3M" "1E+2M" "2.5M" "0M" "100M" "0.01M"]
[(.toPlainString 1E3M) (.toString 1E3M) (.toEngineeringString 12345E3M) (.toPlainString 1E-10M)]  ;=> ["1000" "1E+3" "12.345E+6" "0.0000000001"]
[(.toBigInteger 1.9M) (.intValue 1.9M) (.longValue 1E20M) (.doubleValue 1.1M) (.intValueExact 1.0M)]  ;=> [1 1 7766279631452241920 1.1 1]
(.longValueExact 1.5M)  ;=! Rounding necessary
(mapv #(str (.setScale 2.5M 0 %)) [RoundingMode/UP RoundingMode/DOWN RoundingMode/CEILING RoundingMode/FLOOR RoundingMode/HALF_UP RoundingMode/HALF_DOWN RoundingMode/HALF_EVEN])  ;=> ["3" "2" "3" "2" "3" "2" "2"]
(mapv pr-str (.divideAndRemainder 7.5M 2M))  ;=> ["3.0M" "1.5M"]
(str (java.math.MathContext. 3 RoundingMode/UP))  ;=> "precision=3 roundingMode=UP"
(.setScale 5 2)  ;=!
(.setScale 1.5 2)  ;=!

;; Text.

[(format "%.2f" 1.005M) (format "%s" 1.10M) (format "%,.2f" -1234567.891M) (format "%e" 1234.5M) (format "%10.2f|" 1.5M) (format "%.0f" 2.5M) (format "%f" 1E3M) (format "%(.2f" -1.5M)]  ;=> ["1.01" "1.10" "-1,234,567.89" "1.234500e+03" "      1.50|" "3" "1000.000000" "(1.50)"]
[(format "%,.2f" (.setScale 40M -2 java.math.RoundingMode/HALF_UP)) (format "%.2f" 0E+3M) (format "%,.2f" 0E+3M) (format "%.0f" 0E+2M) (format "%.2f" 0.000M)]  ;=> ["0.00" "0.00" "0.00" "0" "0.00"]
[(format "%e" 0E+3M) (format "%e" 0.0M) (format "%.2e" 0.00000M) (format "%E" 0E+12M) (format "%12.3e" 0E+3M) (format "%e" 0M)]  ;=> ["0.000000e+03" "0.000000e-01" "0.00e-05" "0.000000E+12" "   0.000e+03" "0.000000e+00"]
[(format "%g" 0E+3M) (format "%g" 0M) (format "%g" 0.00M) (format "%.3g" 0E+9M) (format "%g" 0.0)]  ;=> ["0.00000e+03" "0.00000" "0.00000e-02" "0.00e+09" "0.00000"]
(map #(.toPattern (java.text.DecimalFormat. %)) ["#,##0.00" "0" "$#,##0.00;($#)" "'#'#" "0.0#%"])  ;=> ("#,##0.00" "#0" "$#,##0.00;($#,##0.00)" "'#'#" "#0.0#%")
(let [f (java.text.DecimalFormat. "#,##0.00")] (.setGroupingUsed f false) (.setMinimumIntegerDigits f 3) [(.toPattern f) (.isGroupingUsed f) (.getGroupingSize f)])  ;=> ["#000.00" false 3]
(let [f (java.text.DecimalFormat. "#,##0.0#")] [(.getMaximumFractionDigits f) (.getMinimumFractionDigits f) (.getMaximumIntegerDigits f) (.getMinimumIntegerDigits f) (.isGroupingUsed f) (.getGroupingSize f) (str (.getRoundingMode f))])  ;=> [2 1 2147483647 1 true 3 "HALF_EVEN"]
(let [f (java.text.DecimalFormat. "0")] (.setMaximumFractionDigits f -3) (.setMinimumFractionDigits f 2) [(.getMaximumFractionDigits f) (.toPattern f)])  ;=> [2 "#0.00"]
(mapv (fn [[p x]] (.format (java.text.DecimalFormat. p) x)) [["#,##0.00" 1234.565M] ["0.00%" 0.12345M] ["#.##" 0.5M] ["#,##0.00" -1234.5] ["$#,##0.00;($#,##0.00)" -1234.5] ["0.00" 1.005] ["00.0#" 3.14159] ["0" 2.5] ["#,###" 1234567] ["0.00 EUR" 5] ["'#'0" 5] [".00" 0.5M] ["0.00" -0.001M] ["0.000000000000000000000" 0.1]])  ;=> ["1,234.56" "12.34%" "0.5" "-1,234.50" "($1,234.50)" "1.00" "03.14" "2" "1,234,567" "5.00 EUR" "#5" ".50" "-0.00" "0.100000000000000000000"]
(let [f (java.text.DecimalFormat. "0.00")] (.setRoundingMode f java.math.RoundingMode/HALF_UP) [(.format f 1.005M) (.format f 0.125) (str (.getRoundingMode f))])  ;=> ["1.01" "0.13" "HALF_UP"]
(mapv #(.format (java.text.DecimalFormat. "") %) [1234.5678 0.5 0 -0.25 1234567 1234.123456789012345678901234567890M])  ;=> ["1,234.5678" ".5" "0" "-.25" "1,234,567" "1,234.12345678901234567890123456789"]
(mapv (fn [[p change x]] (let [f (java.text.DecimalFormat. p)] (change f) (.format f x))) [["0.0" #(.setMaximumFractionDigits % 2) 1.236] ["0.0" #(.setMaximumFractionDigits % 0) 1.236] ["0.00" #(.setMaximumFractionDigits % -3) 1.2] ["0.0" #(.setMinimumFractionDigits % 3) 1.2] ["" #(.setMinimumFractionDigits % 2) 5] ["#.##" #(.setMinimumIntegerDigits % 0) 0.5] ["#" #(.setMaximumFractionDigits % 2) 0.5] ["0." #(.setMaximumFractionDigits % 2) 3] ["0.00%" #(.setMaximumFractionDigits % 1) 0.12345]])  ;=> ["1.24" "1" "1" "1.200" "5.00" ".5" ".5" "3." "12.3%"]
(mapv (fn [[p change x]] (let [f (java.text.DecimalFormat. p)] (change f) (.format f x))) [["0.0" #(.setGroupingUsed % true) 1234567] ["0.0" #(do (.setGroupingUsed % true) (.setGroupingSize % 3)) 1234567] ["#,##0.00" #(.setGroupingUsed % false) 1234567] ["#,##0.00" #(.setMaximumIntegerDigits % 2) 1234567.891] ["#,##0.00" #(.setMaximumIntegerDigits % 0) 5] ["0" #(.setMaximumIntegerDigits % 0) 5] ["0" #(.setMinimumIntegerDigits % 6) 42] ["0" #(doto % (.setMaximumIntegerDigits 3) (.setMinimumIntegerDigits 6)) 42]])  ;=> ["1234567.0" "1,234,567.0" "1234567.00" "67.89" ".00" "0" "000042" "000042"]
(let [f (java.text.NumberFormat/getCurrencyInstance java.util.Locale/US) p (java.text.NumberFormat/getPercentInstance java.util.Locale/US)] (.setMaximumFractionDigits f 0) (.setMinimumFractionDigits p 1) [(.format f -1234.567) (.format p 0.2567)])  ;=> ["-$1,235" "25.7%"]
(.setGroupingSize (java.text.DecimalFormat. "0.0") -1)  ;=! type_error
(.format (java.text.DecimalFormat. "0.0.0") 1)  ;=! Multiple decimal separators

;; Programs.

; name: an invoice
(let [lines [{:price 19.99M :qty 3} {:price 5.25M :qty 10} {:price 0.10M :qty 7}]
      net (reduce + (map #(* (:price %) (:qty %)) lines))
      vat (.setScale (* net 0.19M) 2 RoundingMode/HALF_UP)]
  {:net (str net) :vat (str vat) :gross (str (+ net vat))})
;=> {:net "113.17", :vat "21.50", :gross "134.67"}

; name: interest by months
(let [rate (with-precision 12 (/ 0.05M 12))]
  (str (.setScale (reduce (fn [balance _] (.setScale (* balance (+ 1 rate)) 10 RoundingMode/HALF_EVEN)) 1000.00M (range 12)) 2 RoundingMode/HALF_UP)))
;=> "1051.16"

; name: a bill shared without losing a cent
(let [total 100.00M n 3
      share (.divide total (bigdec n) 2 RoundingMode/DOWN)
      rest (- total (* share n))]
  (mapv str (cons (+ share rest) (repeat (dec n) share))))
;=> ["33.34" "33.33" "33.33"]

; name: sums by group
(into (sorted-map) (map (fn [[k rows]] [k (str (reduce + (map :amount rows)))]) (group-by :who [{:who :a :amount 0.10M} {:who :b :amount 1.00M} {:who :a :amount 0.20M}])))
;=> {:a "0.30", :b "1.00"}

;; What PTC-Lisp adds.

; ptc-only
(mapv pr-str [(sum [0.10M 0.20M nil]) (avg [1.10M 2.25M]) (avg [1M 1M 2M]) (sum []) (round 2.5M) (floor -1.2M) (ceil 1.2M) (trunc 1.9M)])
;=> ["0.30M" "1.675M" "1.333333333333333333333333333333333M" "0" "3" "-2" "2" "1"]

; ptc-only
[(json/generate-string {:a 1.10M :b [1E3M 0.1M] :c {:d 12345678901234567890.123456789M}}) (json/generate-string 1.50M)]
;=> ["{\"a\":1.10,\"b\":[1E+3,0.1],\"c\":{\"d\":12345678901234567890.123456789}}" "1.50"]

; ptc-only
(mapv pr-str [(min-by :p [{:p 2M} {:p 1.5M}]) (max-by :p [{:p 2M} {:p 1.5M}]) (sort-by :p [{:p 2M} {:p 1.5M}]) (sum-by :p [{:p 2M} {:p 1.50M}]) (avg-by :p [{:p 2M} {:p 1.50M}])])
;=> ["{:p 1.5M}" "{:p 2M}" "({:p 1.5M} {:p 2M})" "3.50M" "1.75M"]

; divergence: D22
[(even? 2M) (odd? 3.00M) (even? 2.5M)]
;=> [true true false]

; divergence: D55
(== 0.1000000000000000000001M 0.1)
;=> false
[(with-precision 3 :rounding DOWN (abs 1.23456M)) (with-precision 3 (abs 1.23556M)) (with-precision 3 (abs -1.23556M)) (with-precision 3 (abs 0.00M)) (abs 1.23456M)]  ;=> [1.23M 1.24M 1.24M 0.00M 1.23456M]
