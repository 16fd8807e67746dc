;; Numbers that grow, and functions of numbers with huge arguments.
;; limits: fuel 2m, memory 16mb

;; == squaring for ever => memory_exceeded
(loop [x 3] (recur (* x x)))

;; == squaring for ever with *' => fuel_exceeded
(loop [x 3] (recur (*' x x)))

;; == factorial => fuel_exceeded
(reduce * (range 1 1000000))

;; == fibonacci for ever => fuel_exceeded
(loop [a 0 b 1] (recur b (+ a b)))

;; == doubling for ever => fuel_exceeded
(loop [a 1] (recur (+ a a)))

;; == a tower of powers => value ##Inf
(Math/pow 10 (Math/pow 10 (Math/pow 10 10)))

;; == pow with integers => value ##Inf
(pow 10 100000000)

;; == BigInteger pow => memory_exceeded
(.pow (biginteger 10) 100000000)

;; == a shift to the left without end => memory_exceeded
(bit-shift-left 1 1000000000000)

;; == shifts of big integers => fuel_exceeded
(loop [x 1] (recur (bit-shift-left x 60)))

;; == shiftLeft of big integers => unsupported_form
(.shiftLeft (biginteger 1) 2000000000)

;; == bit operations of big integers => fuel_exceeded
(let [a (reduce * (repeat 15000 10N)) b (dec a)] (loop [] (bit-xor a b) (bit-and a b) (bit-or a b) (recur)))

;; == big integers in a loop => fuel_exceeded
(let [a (reduce * (repeat 15000 10N))] (loop [] (* a a) (recur)))

;; == quotients of big integers in a loop => fuel_exceeded
(let [a (reduce * (repeat 15000 10N)) b (reduce * (repeat 7000 7N))] (loop [] (quot a b) (rem a b) (mod a b) (recur)))

;; == fractions of big integers in a loop => fuel_exceeded
(let [a (reduce * (repeat 15000 10N)) b (reduce * (repeat 7000 7N))] (loop [] (/ a b) (recur)))

;; == greatest common divisors of big integers in a loop => fuel_exceeded
(let [a (reduce * (repeat 15000 10N)) b (reduce * (repeat 7000 7N))] (loop [] (.gcd (biginteger a) (biginteger b)) (recur)))

;; == modPow of big integers => fuel_exceeded
(let [a (biginteger (reduce * (repeat 9000 10N)))] (.modPow a a (biginteger (dec a))))

;; == isProbablePrime of big integers => unsupported_form
(.isProbablePrime (biginteger (inc (reduce * (repeat 9000 10N)))) 100)

;; == square roots of big integers in a loop => fuel_exceeded
(let [a (reduce * (repeat 15000 10N))] (loop [] (Math/sqrt a) (recur)))

;; == text of big integers in a loop => fuel_exceeded
(let [a (reduce * (repeat 15000 10N))] (loop [] (str a) (recur)))

;; == many big integers as text => fuel_exceeded
(let [a (reduce * (repeat 15000 10N))] (count (pr-str (vec (repeat 10000 a)))))

;; == a big integer as the result => value 1501
(count (str (reduce * (repeat 1500 10N))))

;; == many big integers as the result => fuel_exceeded
(let [a (reduce * (repeat 15000 10N))] (vec (repeat 10000 a)))

;; == big integers printed with a radix => fuel_exceeded
(let [a (biginteger (reduce * (repeat 15000 10N)))] (loop [] (.toString a 3) (recur)))

;; == comparing big integers in a loop => fuel_exceeded
(let [a (reduce * (repeat 15000 10N)) b (inc a)] (loop [] (< a b) (recur)))

;; == comparing big integers and floats in a loop => fuel_exceeded
(let [a (reduce * (repeat 15000 10N))] (loop [] (< a 1.5) (= a 1.5) (recur)))

;; == hashing big integers in a loop => fuel_exceeded
(let [a (reduce * (repeat 15000 10N))] (loop [] (hash a) (recur)))

;; == sums of big integers => fuel_exceeded
(let [a (reduce * (repeat 15000 10N))] (reduce + (repeat 10000000 a)))

;; == big decimals that grow => arithmetic_error
(loop [x (bigdec "1.1")] (recur (* x x)))

;; == BigDecimal that grows => arithmetic_error
(loop [x (BigDecimal. "1.1")] (recur (.multiply x x)))

;; == BigDecimal with a huge exponent => format_error
(.add (BigDecimal. "1e1000000000") (BigDecimal. "1"))

;; == BigDecimal with a huge exponent as text => format_error
(.toPlainString (BigDecimal. "1e1000000000"))

;; == BigDecimal with a huge scale => arithmetic_error
(.setScale (BigDecimal. "1.5") 1000000000)

;; == a decimal literal with a huge exponent => parse_error
(+ 1e999999999M 1M)

;; == a decimal moved far => arithmetic_error
(.movePointLeft 1M 2147483647)

;; == a decimal moved far to the right => arithmetic_error
(.movePointRight 1M 2147483647)

;; == a large power of a decimal => memory_exceeded
(.pow 1.1M 999999)

;; == a large power of a whole decimal => memory_exceeded
(.pow 11M 999999)

;; == sums of decimals far apart => fuel_exceeded
(loop [] (+ 1E9999M 1E-9999M) (recur))

;; == comparisons of long decimals of different scales => fuel_exceeded
(let [a (+ 1E9999M 1E-9999M) b (+ 1E9999M 1E-9998M)] (loop [] (< a b) (= a b) (recur)))

;; == products of long decimals => fuel_exceeded
(let [a (+ 1E4000M 1E-4000M)] (loop [] (* a a) (recur)))

;; == quotients of long decimals => fuel_exceeded
(let [a (+ 1E4000M 1E-4000M)] (loop [] (with-precision 4000 (/ a 7M)) (quot a 3M) (recur)))

;; == exact quotients with many places => fuel_exceeded
(let [a (.pow 2M 9000)] (loop [] (/ 1M a) (recur)))

;; == hashing decimals in a loop => fuel_exceeded
(let [a (+ 1E9999M 1E-9999M)] (loop [] (hash a) (#{1M} a) (recur)))

;; == text of long decimals => fuel_exceeded
(let [a (+ 1E9999M 1E-9999M)] (loop [] (str a) (.toPlainString a) (format "%.2f" a) (recur)))

;; == sums of decimals => fuel_exceeded
(reduce + (repeat 100000000 1.10M))

;; == decimals that fill the memory => fuel_exceeded
(loop [all [] x 1.1M] (recur (conj all (* x 1E5000M (+ 1 1E-5000M))) x))

;; == a precision beyond all digits => illegal_argument
(with-precision 1000000000 (/ 1M 3M))

;; == a quotient to a huge precision => fuel_exceeded
(loop [] (with-precision 10000 (/ 1M 3M)) (recur))

;; == a range of decimals without end => fuel_exceeded
(count (range 0M 1E9999M 1E-9999M))

;; == a pattern with too many digits => illegal_argument
(.format (java.text.DecimalFormat. (apply str (repeat 100000 "0"))) 1M)

;; == a format of decimals far from the point => fuel_exceeded
(loop [] (.format (java.text.DecimalFormat. "#,##0.00") 1E9999M) (recur))

;; == a float with a huge exponent => value ##Inf
(parse-double "1e999999999999999999999")

;; == a bigint of a huge float => value 309
(count (str (bigint 1.7976931348623157E308)))

;; == bigint of a string with an exponent => format_error
(bigint "1e1000000000")

;; == rationalize => value true
(number? (rationalize 1.0E-300))

;; == range with a tiny step => fuel_exceeded
(count (range 0 1 1.0E-18))

;; == range with a step of zero => fuel_exceeded
(count (range 0 1 0))

;; == range over big integers => fuel_exceeded
(count (range 0 100000000000000000000))

;; == random numbers for ever => fuel_exceeded
(loop [] (rand) (rand-int 1000) (rand-nth [1 2 3]) (recur))

;; == random uuids for ever => fuel_exceeded
(loop [] (random-uuid) (recur))

;; == sum of many => fuel_exceeded
(apply + (repeat 100000000 1))

;; == max of many => fuel_exceeded
(apply max (range 100000000))

;; == bits of negative big integers => fuel_exceeded
(let [a (- (reduce * (repeat 10000 10N)))] (boolean (bit-not a)))

;; == Long/toString with every radix => value true
(every? string? (map (fn [r] (Long/toString -9223372036854775808 r)) (range 2 37)))

;; == Math functions at their ends => value true
(every? some? (for [f [(fn [x] (Math/sqrt x)) (fn [x] (Math/exp x)) (fn [x] (Math/log x)) (fn [x] (Math/round x)) (fn [x] (Math/floor x))] x [##Inf ##-Inf ##NaN 1.0E308 -1.0E308 9223372036854775807 -9223372036854775808]] (f x)))

;; == the smallest long, negated and divided => value true
(= 9223372036854775808N (- -9223372036854775808) (quot -9223372036854775808 -1) (abs -9223372036854775808))

;; == rounded decimals that are kept => fuel_exceeded
(let [b (bigdec (apply str (repeat 9000 "7")))] (count (mapv (fn [_] (round b)) (range 100000))))

;; == absolute values that are kept => fuel_exceeded
(let [b (- (bigint (apply str (repeat 9000 "7"))))] (count (mapv (fn [_] (Math/abs b)) (range 100000))))

;; == unchecked sums that are kept => fuel_exceeded
(let [b (bigint (apply str (repeat 9000 "7")))] (count (mapv (fn [_] (unchecked-add b b)) (range 100000))))

;; == negated integers that are kept => fuel_exceeded
(let [b (bigint (apply str (repeat 9000 "7")))] (count (mapv (fn [_] (.negate b)) (range 100000))))

;; == sums of ratios with long denominators => fuel_exceeded
(let [r (reduce * (repeat 600 1/3))] (count (mapv (fn [n] (+ r n)) (range 100000))))

;; == numerators that are kept => fuel_exceeded
(let [r (* 1/7 (bigint (apply str "1" (repeat 9000 "7"))))] (count (mapv (fn [_] (numerator r)) (range 100000))))

;; == ratios that never end => fuel_exceeded
(reduce + (map (fn [n] (/ 1/7 (inc n))) (range 100000)))

;; == what two long integers have in common => fuel_exceeded
(let [a (.pow (biginteger 7) 30000) b (.pow (biginteger 3) 50000)] (.gcd a b))

;; == a formatter with a long text beside its digits => illegal_argument
(DecimalFormat. (str "#" (.repeat "x" 100000)))

;; == many numbers in formats with much text => fuel_exceeded
(let [f (DecimalFormat. (str "#" (.repeat "x" 999)))] (count (mapv (fn [n] (.format f n)) (range 100000))))

;; == ratios beside decimals of many places => fuel_exceeded
(let [d (.setScale 1.1M 9999)] (apply max (interleave (repeat 50000 d) (repeat 50000 1/3))))
