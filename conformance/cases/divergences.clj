;;; Every row of DIVERGENCES.md, as cases that real Clojure answers otherwise. A test refuses a row that has no case.

;; Values
; divergence: D01
[(= \a "a") (string? \a) (char? "a")]  ;=> [true true true]
; divergence: D02
[(count "😀") (.length "😀") (re-find #"^.{1}$" "😀")]  ;=> [1 1 "😀"]
; divergence: D03
[(str (/ 7 2)) (ratio? (/ 7 2))]  ;=> ["3.5" false]
; divergence: D03
(= 1/2 0.5)  ;=> true
; divergence: D03
(ratio? (/ 1/2 (apply *' (repeat 300 99999))))  ;=!
; divergence: D03
(numerator (/ 1 2))  ;=!
; divergence: D04
(+ 9223372036854775807 1)  ;=> 9223372036854775808
; divergence: D04
(pr-str (+' 9223372036854775807 1))  ;=> "9223372036854775808"
; divergence: D04
(class (- (+ 9223372036854775807 1) 1))  ;=> java.lang.Long
; divergence: D05
1e10001M  ;=!
; divergence: D05
(.setScale 1M 20000)  ;=!
; divergence: D06
[(= 1 1.0) (= [1 {:a 2}] [1.0 {:a 2.0}])]  ;=> [true true]
; divergence: D07
[(keys (zipmap (range 20 0 -1) (repeat 1))) (seq (set [30 20 10]))]  ;=> [[20 19 18 17 16 15 14 13 12 11 10 9 8 7 6 5 4 3 2 1] [30 20 10]]
; divergence: D08
(let [n (atom 0)] (map #(swap! n + %) [1 2 3]) @n)  ;=> 6
; divergence: D08
(let [n (atom 0)] (first (map (fn [x] (swap! n inc) x) (range 100))) @n)  ;=> 1
; divergence: D08
(let [n (atom 0)] [(nth (map (fn [x] (swap! n inc) x) (range 100)) 1) @n])  ;=> [1 100]
; divergence: D08
(let [n (atom 0) f (fn [x] (swap! n inc) x)] [(second (map f (range 100))) (empty? (map f (range 100))) (not-any? odd? (map f (range 100))) @n])  ;=> [1 false false 5]
; divergence: D08
(let [n (atom 0)] [(take 2 (filter odd? (map (fn [x] (swap! n inc) x) (range 100)))) @n])  ;=> [[1 3] 4]
; divergence: D09
[(= (float 0.1) 0.1) (class (short 1))]  ;=> [true java.lang.Long]
; divergence: D09
[(class (int 1)) (class (byte 1))]  ;=> [java.lang.Long java.lang.Long]
; divergence: D10
(= #"a" #"a")  ;=> true
; divergence: D12
(pr-str (int-array [1 2]))  ;=> "#<array [1 2]>"
; divergence: D12
(vec (int-array ["a" nil]))  ;=> ["a" nil]

;; Reading data
; divergence: D20
[(:first-name {"first_name" 1}) (:first-name {:first_name 1}) (get {:a 1} "a")]  ;=> [1 1 1]
; divergence: D20
[(assoc {"first_name" 1} :first-name 2) (dissoc {"a" 1} :a) (merge {"a" 1} {:a 2})]  ;=> [{"first_name" 2} {} {"a" 2}]
; divergence: D20
[(get {"a_b" 1} "a-b") (contains? {"a_b" 1} "a-b") (:a-b {"a_b" 1}) (get {:a-b 1} "a-b")]  ;=> [nil false 1 1]
; divergence: D20
[(update {"a_b" 1} :a-b inc) (update-in {"a" {"b" 1}} [:a :b] inc) (assoc-in {"a" {"b" 1}} [:a :b] 5) (set/rename-keys {"a" 1} {:a :c})]  ;=> [{"a_b" 2} {"a" {"b" 2}} {"a" {"b" 5}} {:c 1}]
; divergence: D21
(contains? [10 20] 10)  ;=> true
; divergence: D22
[(zero? nil) (pos? "a") (neg? :a) (even? nil) (odd? "1") (NaN? nil) (infinite? nil) (even? 2.0)]  ;=> [false false false false false false false true]
; divergence: D22
[(odd? 3M) (even? 2M) (odd? 3.0)]  ;=> [true true true]
; divergence: D23
[(parse-boolean true) (parse-boolean :true) (parse-boolean nil)]  ;=> [true true nil]
; divergence: D23
[(parse-long 5) (parse-long 1.5) (parse-long :2024) (parse-double 2) (parse-long nil) (parse-long true)]  ;=> [5 nil 2024 2.0 nil nil]
; divergence: D24
(or counter 0)  ;=> 0
; divergence: D25
[(format "%d" 2.0) (format "%d" 3M) (format "%f" 1) (format "[%s]" nil)]  ;=> ["2" "3" "1.000000" "[]"]
; divergence: D25
(format "%8.2f|%5d|%-3s|%b" nil nil nil nil)  ;=> "        |     |   |false"
; divergence: D26
(compare 1 ##NaN)  ;=!
; divergence: D28
(int "a")  ;=> 97
; divergence: D28
(int \5)  ;=!
; divergence: D29
(get {:a {:b 1}} [:a :b])  ;=> 1
; divergence: D30
(compare "a" "c")  ;=> -1
; divergence: D31
(max [1 2])  ;=!
; divergence: D31
(min [1 2])  ;=!
; divergence: D31
(str/join [1 2] ",")  ;=!
; divergence: D32
(sort [:b "a"])  ;=> ["a" :b]
; divergence: D33
(pr-str {(keyword "New York") 1})  ;=> "{\"New York\" 1}"
; divergence: D34
;data rates {"N/A": 1, "a": 2}
(map name (keys data/rates))  ;=> ["N/A" "a"]
; divergence: D35
(str/lower-case 5)  ;=!
; divergence: D35
(str/upper-case 5)  ;=!
; divergence: D35
(str/last-index-of 5 "5")  ;=!
; divergence: D35
(str/includes? 5 "5")  ;=!
; divergence: D35
(str/starts-with? 5 "5")  ;=!
; divergence: D35
(str/ends-with? 5 "5")  ;=!
; divergence: D35
(str/index-of 5 "5")  ;=!
; divergence: D36
[(sort-by "n" [{"n" 2} {"n" 1}]) (group-by "n" [{"n" 1}])]  ;=> [[{"n" 1} {"n" 2}] {1 [{"n" 1}]}]

;; The language
; divergence: D40
(eval '(+ 1 2))  ;=!
; divergence: D40
(resolve 'inc)  ;=!
; divergence: D40
(defmacro twice [x] (list 'do x x))  ;=!
; divergence: D40
(load-string "1")  ;=!
; divergence: D40
(intern 'user 'x 1)  ;=!
; divergence: D40
`(a b)  ;=!
; divergence: D41
(Thread/sleep 1)  ;=!
; divergence: D41
(let [r (ref 1)] (alter r inc) @r)  ;=> 2
; divergence: D42
(slurp "/etc/passwd")  ;=!
; divergence: D42
(java.io.File. "x")  ;=!
; divergence: D42
(gen-class)  ;=!
; divergence: D42
(proxy [Object] [])  ;=!
; divergence: D43
(if true 1 (subs "a"))  ;=!
; divergence: D43
(do (defn f [x] x) (if true 1 (f 1 2)))  ;=!
; divergence: D44
(try ((fn f [n] (inc (f n))) 1) (catch StackOverflowError e :caught))  ;=!
; divergence: D44
(try (return 1) (catch Throwable e 2))  ;=> 1
; divergence: D45
(do (defrecord P [a]) ((->P 1) :a))  ;=> 1
; divergence: D45
(do (deftype T [^:unsynchronized-mutable a] Object (toString [_] (set! a 2) (str a))) (str (->T 1)))  ;=!
; divergence: D46
(pr-str (def x 1))  ;=> "#'x"
; divergence: D46
(do (def x 1) (symbol? (:ns (meta #'x))))  ;=> true
; divergence: D46
(do (def x 1) (:line (meta #'x)))  ;=> nil
; divergence: D47
(let [t (transient {})] (dotimes [i 20] (assoc! t i i)) (count (persistent! t)))  ;=> 20
; divergence: D48
(do (defn f [] (g)) (defn g [] 1) (f))  ;=> 1
; divergence: D49
(for [x [1 2]] (inc x) x)  ;=> [1 2]
; divergence: D50
(pr-str [(LocalDate/parse "2024-01-01")])  ;=> "[\"2024-01-01\"]"
; divergence: D51
(= (System/nanoTime) (System/nanoTime))  ;=> true
; divergence: D52
(.add 1M 2)  ;=> 3M
; divergence: D52
(.divide 7 2)  ;=> 3
; divergence: D52
(.format (java.text.DecimalFormat. "0.00E0") 12345)  ;=!
; divergence: D52
(with-precision 3 (map #(/ 1M %) [3]))  ;=> [0.333M]
; divergence: D55
(== 0.1000000000000000000001M 0.1)  ;=> false
; divergence: D55
[(< 1/3 1M) (str (max 1/3 0.25M)) (compare 1/3 0.5M)]  ;=> [true "1/3" -1]
; divergence: D56
(json/generate-string 1.10M)  ;=> "1.10"
; divergence: D57
(first (.digest (java.security.MessageDigest/getInstance "SHA-256") (.getBytes "abc")))  ;=> 186
; divergence: D57
(.update (java.security.MessageDigest/getInstance "SHA-256") (.getBytes "a"))  ;=!
; divergence: D57
(.format (java.text.NumberFormat/getInstance java.util.Locale/GERMANY) 1.5)  ;=!
; divergence: D58
(do (require '[clojure.zip :as zip]) 1)  ;=!
; divergence: D58
(binding [*print-length* 2] (pr-str [1 2 3]))  ;=!
; divergence: D58
(java.io.StringReader. "a")  ;=!
; divergence: D53
(str LocalDate/MAX)  ;=> "9999-12-31"
; divergence: D54
[(Math/round 5) (Math/max 1 2 3)]  ;=> [5 3]
; divergence: D54
(vector? (.split "a,b" ","))  ;=> true
; divergence: D13
(+ 1,000 500)  ;=! parse_error
; divergence: D59
[(case 1.50M 1.5M :a :b) (case 2.0M (1M 2M) :a :b) (get {1.50M :a} 1.5M)]  ;=> [:a :a :a]
; divergence: D60
[(join "-" [1 2]) (union #{1} #{2}) (select odd? #{1 2}) (log 1) (let [join vector] (join 1))]  ;=> ["1-2" #{1 2} #{1} 0.0 [1]]
