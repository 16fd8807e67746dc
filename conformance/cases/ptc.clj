;;; Vocabulary and behaviour that only PTC-Lisp has: aggregators, flexible keys, signals, JSON.

; ptc-only
(sum [1 2 3])  ;=> 6
; ptc-only
(sum [])  ;=> 0
; ptc-only
(sum nil)  ;=> 0
; ptc-only
(sum [1.5 2 nil])  ;=> 3.5
; ptc-only
(avg [1 2 3 4])  ;=> 2.5
; ptc-only
(avg [])  ;=> nil
; ptc-only
(avg [1 nil 3])  ;=> 2.0
; ptc-only
(sum-by :n [{:n 1} {:n 2} {}])  ;=> 3
; ptc-only
(sum-by "n" [{"n" 1} {:n 2}])  ;=> 3
; ptc-only
(sum-by count ["a" "bb"])  ;=> 3
; ptc-only
(sum-by [:a :b] [{:a {:b 1}} {:a {:b 5}}])  ;=> 6
; ptc-only
(avg-by :n [{:n 1} {:n 4}])  ;=> 2.5
; ptc-only
(avg-by :n [])  ;=> nil
; ptc-only
(min-by :n [{:n 2} {:n 1}])  ;=> {:n 1}
; ptc-only
(max-by :n [{:n 2} {:n 9} {:n nil}])  ;=> {:n 9}
; ptc-only
(max-by :n [])  ;=> nil
; ptc-only
(distinct-by :k [{:k 1 :v 1} {:k 1 :v 2} {:k 2 :v 3}])  ;=> [{:k 1 :v 1} {:k 2 :v 3}]
; ptc-only
(zip [1 2 3] [:a :b])  ;=> [[1 :a] [2 :b]]
; ptc-only
(combinations [1 2 3] 2)  ;=> [[1 2] [1 3] [2 3]]
; ptc-only
(entries {:b 1 :a 2})  ;=> [[:a 2] [:b 1]]
; ptc-only
[(floor 1.7) (ceil 1.2) (round 1.5) (trunc -1.7)]  ;=> [1 2 2 -1]
; ptc-only
[(sqrt 16) (pow 2 8)]  ;=> [4.0 256.0]
; ptc-only
(re-split #"," "a,b,,")  ;=> ["a" "b" "" ""]
; ptc-only
(extract "id=(\\d+)" "id=42;")  ;=> "42"
; ptc-only
(extract "id=(\\d+)" "none")  ;=> nil
; ptc-only
(extract #"(a)(b)" "ab" 2)  ;=> "b"
; ptc-only
(extract-int "n=(\\d+)" "n=7")  ;=> 7
; ptc-only
(extract-int "n=(\\d+)" "x" 1 0)  ;=> 0
; ptc-only
[(upcase "abc") (downcase "ABC")]  ;=> ["ABC" "abc"]
; ptc-only
(parse-int "42")  ;=> 42
; ptc-only
(regex? #"a")  ;=> true
; ptc-only
(json/parse-string "{\"a\": [1, 2.5, null, true]}")  ;=> {"a" [1 2.5 nil true]}
; ptc-only
[(json/parse-string {:a [1]}) (json/parse-string [1 2]) (json/parse-string 7)]  ;=> [{:a [1]} [1 2] 7]
; ptc-only
(json/parse-string "not json")  ;=! bad JSON at line 1, column 1
; ptc-only
(try (json/parse-string "{'a': 1}") (catch Exception e (str/includes? (ex-message e) "line 1, column 2")))  ;=> true
; ptc-only
[(json/generate-string {:status :ok}) (json/generate-string {:tags #{"a"}})]  ;=> ["{\"status\":\"ok\"}" "{\"tags\":[\"a\"]}"]
; ptc-only
(json/generate-string {(LocalDate/parse "2025-01-01") 1})  ;=> "{\"2025-01-01\":1}"
; ptc-only
(json/write-str {1 :x "1" :y})  ;=! 1 and "1"
; ptc-only
(:a (json/parse-string "{\"a\": 5}"))  ;=> 5
; ptc-only
(json/generate-string {"a" [1 2.5 nil true]})  ;=> "{\"a\":[1,2.5,null,true]}"
; ptc-only
(json/parse-lines "{\"a\":1}\n\n[2]")  ;=> [{"a" 1} [2]]
; ptc-only
(:name {"name" 1})  ;=> 1
; ptc-only
(get {"first_name" 1} :first-name)  ;=> 1
; ptc-only
(:first-name {:first_name 1})  ;=> 1
; ptc-only
(:first_name {:first-name 1})  ;=> nil
; ptc-only
({"a" 1} :a)  ;=> 1
; ptc-only
(get-in {"u" {"n" 5}} [:u :n])  ;=> 5
; ptc-only
(let [{:keys [a]} {"a" 1}] a)  ;=> 1
; ptc-only
(map :id [{"id" 1} {:id 2}])  ;=> [1 2]
; ptc-only
(contains? {"a" 1} :a)  ;=> true
; ptc-only
(select-keys {"a" 1 "b" 2} [:a])  ;=> {"a" 1}
; ptc-only
(select-keys {:user_id 1 :b 2} [:user-id])  ;=> {:user_id 1}
; ptc-only
(assoc {"a" 1} :a 2)  ;=> {"a" 2}
; ptc-only
(map #(dissoc % :credit-card) [{"credit_card" 1 "n" 2} {:credit_card 1}])  ;=> ({"n" 2} {})
; ptc-only
[(update {:user_id 1} :user-id inc) (update-in {:a {:user_id 1}} [:a :user-id] inc) (set/rename-keys {:user_id 1} {:user-id :id})]  ;=> [{:user_id 2} {:a {:user_id 2}} {:id 1}]
; ptc-only
(sort-by :k [{"k" 2} {:k 1}])  ;=> [{:k 1} {"k" 2}]
; ptc-only
(group-by :k [{"k" 1} {:k 1}])  ;=> {1 [{"k" 1} {:k 1}]}
; ptc-only
(contains? ["a" "b"] "b")  ;=> true
; ptc-only
(= 1 1.0)  ;=> true
; ptc-only
(= \a "a")  ;=> true
; ptc-only
(/ 7 2)  ;=> 3.5
; ptc-only
(/ 6 3)  ;=> 2
; ptc-only
(* 99999999999 99999999999)  ;=> 9999999999800000000001
; ptc-only
[(pos? nil) (zero? "0") (even? 4.0)]  ;=> [false false true]
; ptc-only
[(parse-long nil) (parse-double :x)]  ;=> [nil nil]
; ptc-only
[(parse-long 42) (parse-long 2.0) (parse-long 1.5) (parse-long 12345678901234567890) (parse-long ##Inf) (parse-int 7)]  ;=> [42 2 nil 12345678901234567890 nil 7]
; name: keys of JSON objects are keywords, and spell numbers as their text does
;data years {"2024": 5, "2023": 3}
; ptc-only
[(into {} (map (fn [[k v]] [(parse-long k) v])) data/years) (map #(parse-double (key %)) data/years) (parse-long :x)]  ;=> [{2024 5, 2023 3} (2024.0 2023.0) nil]
; ptc-only
[(parse-double 512) (parse-double 2048.5) (keep parse-double [512 "1024" "n/a" 2048.5])]  ;=> [512.0 2048.5 (512.0 1024.0 2048.5)]
; ptc-only
(or not-yet-defined 5)  ;=> 5
; ptc-only
(defn a [n] (if (pos? n) (b (dec n)) :a)) (defn b [n] (if (pos? n) (a (dec n)) :b)) (a 3)  ;=> :b
; ptc-only
(for [x [1 2]] (inc x) (dec x))  ;=> [0 1]
; ptc-only
(return 5)  ;=> 5
; ptc-only
(do (return :early) :late)  ;=> :early
; ptc-only
(map (fn [x] (if (= x 2) (return x) x)) [1 2 3])  ;=> 2
; ptc-only
(try (return 1) (catch Exception e 2))  ;=> 1
; ptc-only
(fail "no data")  ;=! no data
; ptc-only
(budget/remaining)  ;=> {}
; ptc-only
data/missing  ;=> nil
; ptc-only
(pr-str {:a [1 "x"]})  ;=> "{:a [1 \"x\"]}"
; ptc-only
(keys (zipmap [:z :y :x :w :v :u :t :s :r :q] (range)))  ;=> [:z :y :x :w :v :u :t :s :r :q]
; ptc-only
(describe [1 2 3])  ;=> {:count 3 :item_types {"integer" 3} :scanned 3 :type "vector"}
; ptc-only
(tool/nope {:a 1})  ;=! unknown_tool
; ptc-only
(defmacro m [x] x)  ;=! unsupported_form
; ptc-only
(foo 1) (bar 2)  ;=! bar
; ptc-only
(slurp "x.txt")  ;=!
; ptc-only
(map inc [1 2] 3)  ;=!
; ptc-only
(strr "x")  ;=! str

;; Keys of JSON objects that no keyword can have: those with a slash are strings, others print as strings.
; ptc-only
;data stock {"B-20/x": 1, "/login": 2, "New York": 3, "open": 4}
(map name (keys data/stock))  ;=> ["B-20/x" "/login" "New York" "open"]
; ptc-only
;data stock {"B-20/x": 1, "/login": 2, "New York": 3, "open": 4}
[(get data/stock "B-20/x") (:B-20/x data/stock) (data/stock "/login") (get data/stock "New York")]  ;=> [1 1 2 3]
; ptc-only
;data stock {"B-20/x": 1, "/login": 2, "New York": 3, "open": 4}
(map name (sort (keys data/stock)))  ;=> ["/login" "B-20/x" "New York" "open"]
; ptc-only
;data stock {"B-20/x": 1, "/login": 2, "New York": 3, "open": 4}
(into (sorted-map) (map (fn [[k v]] [k (inc v)])) data/stock)  ;=> {"/login" 3 "B-20/x" 2 "New York" 4 :open 5}
; ptc-only
;data stock {"B-20/x": 1, "/login": 2, "New York": 3, "open": 4}
(keys (dissoc data/stock :B-20/x "/login" "New York"))  ;=> [:open]
; ptc-only
;data stock {"B-20/x": 1, "/login": 2, "New York": 3, "open": 4}
(pr-str data/stock)  ;=> "{\"B-20/x\" 1, \"/login\" 2, \"New York\" 3, :open 4}"
; divergence: D33
(pr-str {(keyword "New York") 1})  ;=> "{\"New York\" 1}"
; divergence: D33
(pr-str (map keyword ["a" "a b" "" "a:" "(a)" "é" "1st" "a/b" "a,b"]))  ;=> "(:a \"a b\" \"\" \"a:\" \"(a)\" :é :1st :a/b \"a,b\")"
(str (keyword "New York"))  ;=> ":New York"
; divergence: D32
(sort [:b "a" :a/x "c" :a "b"])  ;=> [:a "a" :b "b" "c" :a/x]
; divergence: D32
(compare :a "a")  ;=> -1
; ptc-only
[(parse-boolean true) (parse-boolean :false) (parse-boolean nil)]  ;=> [true false nil]
; ptc-only
[(parse-long 512M) (parse-long 512.5M) (parse-double 1.5M)]  ;=> [512 nil 1.5]
(parse-long {})  ;=!
(parse-double [1])  ;=!
(parse-boolean #{})  ;=!
(parse-boolean 1)  ;=!
[(pr-str (keyword "New York")) (max "x") (min nil)]  ;=> [":New York" "x" nil]
; ptc-only
(let [f (future 1) g (future (throw (ex-info "no" {:code 3})))] [@f (future-done? g) (try @g (catch Exception e (ex-data e)))])  ;=> [1 true {:code 3}]
(let [n (atom 0) f (future (swap! n inc))] [@f @f @n])  ;=> [1 1 1]
(let [n (atom 0) f (future (swap! n inc) (throw (ex-info "x" {})))] (dotimes [_ 3] (try @f (catch Exception _ nil))) @n)  ;=> 1
(let [n (atom 0) d (delay (swap! n inc) (throw (ex-info "x" {})))] (dotimes [_ 3] (try @d (catch Exception _ nil))) @n)  ;=> 1
; ptc-only
(eval (list '+ 1 2))  ;=! unsupported_form
; ptc-only
(str/concat "a" "b")  ;=! (str a b)

;; Nothing is changed, dropped or guessed without a word.
; ptc-only
(json/write-str {"2025-08" 3 "web-1" 4 "x_y" 6 "x-y" 7})  ;=> "{\"2025-08\":3,\"web-1\":4,\"x_y\":6,\"x-y\":7}"
; ptc-only
(json/generate-string (frequencies (map #(LocalDate/parse (:due %)) [{:due "2025-01-01"}])))  ;=> "{\"2025-01-01\":1}"
; ptc-only
(json/generate-string {:status :ok :tags #{"a"}})  ;=> "{\"status\":\"ok\",\"tags\":[\"a\"]}"
(count (filter (fn [{:keys [total payments]}] (= (bigdec total) (reduce + (map bigdec payments)))) [{:total "0.30" :payments ["0.10" "0.20"]} {:total "1.10" :payments ["1.00" "0.10"]}]))  ;=> 2
; divergence: D23
(let [xs (keep parse-double [512 "1024" "n/a" 2048.5 nil])] [(count xs) (reduce + xs)])  ;=> [3 3584.5]
(map int ["1" "2"])  ;=! type_error
; ptc-only
(select-keys (describe (mapv (fn [i] {:id i}) (range 100))) [:count :caps_hit])  ;=> {:count 100 :caps_hit ["max_distinct"]}
(do (defmulti kind type) (defmethod kind String [_] :text) (defmethod kind :default [_] :other) [(kind "a") (kind 1)])  ;=> [:text :other]
(map #(- (int %) (int \0)) "123")  ;=> [1 2 3]
(reduce + (map (fn [c] (- (int c) 48)) (str 987)))  ;=> 24
[(- (int 50.9) 48) (- (int \a) (int \A)) (let [int inc] (- (int 1) 48))]  ;=> [2 32 -46]
; divergence: D06
[(= 1 1.0) (get {1 :a} 1.0) (distinct [1 1.0]) (frequencies [1 1.0])]  ;=> [true nil [1 1.0] {1 1 1.0 1}]
; ptc-only
(try (doall (pmap (fn [_] (throw (ex-info "no" {:code 402}))) [1])) (catch Exception e [(ex-data e) (ex-message e)]))  ;=> [{:code 402} "no"]
; ptc-only
(json/parse-lines "{\"a\":1}\nx\n[2]")  ;=> [{"a" 1} nil [2]]

;; Looking for what there is.
; ptc-only
(take 3 (map #(re-find #"\S+ \S+" %) (apropos "round")))  ;=> ("local: .round" "local: Math/round" "local: round")
; ptc-only
(some #(str/starts-with? % "local: LocalDate - A class with from, now, of,") (apropos "date"))  ;=> true
; ptc-only
(some #(str/starts-with? % "local: LocalDate/parse - ") (apropos "date" {:limit 50}))  ;=> true
; ptc-only
(str/replace (last (apropos "date")) #"\d+ more" "n more")  ;=> "… n more: (apropos \"date\" {:limit 50})"
; ptc-only
(map #(re-find #"\S+ \S+" %) (apropos "frequencies"))  ;=> ("local: frequencies" "local: Collections/frequency")
; ptc-only
(some #(str/starts-with? % "local: map - ") (apropos "map" {:limit 3}))  ;=> true
; ptc-only
[(str/includes? (doc LocalDate) "(dir LocalDate)") (str/includes? (doc Math) "(dir Math)") (str/includes? (doc data/r) "(describe data/r)")]  ;=> [true true true]
; ptc-only
(let [d (describe [{"\uFEFFid" 1 "a\u00a0b" "x\u200by"}])] [(keys (:keys d)) (:invisible d)])  ;=> [["\\uFEFFid" "a\\u00A0b"] ["U+00A0" "U+200B" "U+FEFF"]]
(parse-boolean [])  ;=! type_error
; ptc-only
(parse-boolean [])  ;=! a string or a boolean, got vector
(map key [[1 2]])  ;=! type_error
