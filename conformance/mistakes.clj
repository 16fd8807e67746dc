;;; Mistakes that models make, each with a part of the hint that they get behind `;=?`; a dash says that no hint is
;;; better than a guess. Programs have the input data/rows, [{:n 1} {:n 2}], and the tool get_user, or those that a line
;;; of `;;tools` above them names.

;; Functions of other libraries and languages.
(map-vals inc {:a 1})  ;=? write (update-vals m f)
(map-values inc {:a 1})  ;=? write (update-vals m f)
(map-keys name {:a 1})  ;=? write (update-keys m f)
(filter-vals odd? {:a 1})  ;=? (into {} (filter (fn [[k v]] …) m))
(index-by :n data/rows)  ;=? (into {} (map (juxt :id identity)) rows)
(key-by :n data/rows)  ;=? (juxt :id identity)
(deep-merge {:a 1} {:b 2})  ;=? (merge-with deep-merge a b)
(dissoc-in {:a {:b 1}} [:a :b])  ;=? (update-in m [:a] dissoc :b)
(assoc-some {} :a 1)  ;=? (cond-> m x (assoc :k x))
(has-key? {:a 1} :a)  ;=? (contains? m k)
(invert-map {:a 1})  ;=? (set/map-invert m)
(mean [1 2])  ;=? (avg coll), or (avg-by :key rows)
(average [1 2])  ;=? (avg coll)
(median [1 2])  ;=? (vec (sort xs))
(mode [1 2])  ;=? (frequencies coll)
(stddev [1 2])  ;=? Math/sqrt
(variance [1 2])  ;=? (avg (map
(percentile [1 2] 0.9)  ;=? (sort xs)
(parse-float "1.5")  ;=? (parse-double s)
(parse-number "1.5")  ;=? (parse-double s)
(str->int "1")  ;=? (parse-long s)
(to-int "1")  ;=? (parse-long s)
(now)  ;=? (Instant/now)
(today)  ;=? (LocalDate/now)
(parse-date "2024-01-01")  ;=? (LocalDate/parse s)
(format-date 1 "yyyy")  ;=? DateTimeFormatter/ofPattern
(days-between 1 2)  ;=? ChronoUnit/DAYS
(uuid)  ;=? (random-uuid)
(sleep 100)  ;=? leave it out
(count-by :n data/rows)  ;=? (frequencies (map f coll))
(unique [1 1])  ;=? (distinct coll)
(enumerate [1 2])  ;=? (map-indexed vector coll)
(find-first odd? [1 2])  ;=? (first (filter pred coll))
(head [1 2])  ;=? (first coll)
(tail [1 2])  ;=? (rest coll)
(push [1] 2)  ;=? (conj coll x)
(append [1] 2)  ;=? (conj coll x)
(length [1 2])  ;=? (count coll)
(flat-map list [1 2])  ;=? (mapcat f coll)
(foldl + 0 [1 2])  ;=? (reduce f init coll)
(chunk 2 [1 2 3])  ;=? (partition-all n coll)
(sliding-window 2 [1 2 3])  ;=? (partition n 1 coll)
(slice [1 2 3] 1)  ;=? (subvec v start end)
(top-n 2 [1 2 3])  ;=? (take n (sort-by f > coll))
(order-by :n data/rows)  ;=? (sort-by f coll)
(sort-by :n desc data/rows)  ;=? (sort-by f > coll)
(sort-desc [1 2])  ;=? (sort-by f > coll)
(transpose [[1 2] [3 4]])  ;=? (apply map vector rows)
(cumsum [1 2])  ;=? (reductions + coll)
(left-join data/rows data/rows)  ;=? look each row up
(cartesian-product [1] [2])  ;=? (for [a as b bs] [a b])
(any odd? [1 2])  ;=? (some pred coll)
(all? odd? [1 2])  ;=? (every? pred coll)
(none? odd? [1 2])  ;=? (not-any? pred coll)
(in? [1 2] 1)  ;=? (some #{x} coll)
(member? 1 [1 2])  ;=? (some #{x} coll)
(contains [1 2] 1)  ;=? (contains? s x)
(foreach [x [1 2]] x)  ;=? (doseq [x coll] …)
(substring "abc" 1)  ;=? (subs s start end)
(upper "a")  ;=? (str/upper-case s)
(to-string 1)  ;=? (str x)
(string-join "," [1 2])  ;=? (str/join
(pad-left "a" 5)  ;=? (format "%5s" s)
(round-to 1.234 2)  ;=? (Math/round (* x 100.0))
(regex-match #"a" "abc")  ;=? (re-find
(to-json {:a 1})  ;=? (json/generate-string x)
(parse-json "{}")  ;=? (json/parse-string s)
(null? nil)  ;=? (nil? x)
(not-nil? 1)  ;=? (some? x)
(coalesce nil 1)  ;=? (or x default)
(typeof 1)  ;=? (type x)
(clamp 5 0 3)  ;=? (max low (min x high))
(positive? 1)  ;=? (pos? x)
(raise "x")  ;=? (throw (ex-info
(lambda [x] x)  ;=? (fn [x] …)
(define x 1)  ;=? (def name value)
(console.log "a")  ;=? (println …)
(= x None)  ;=? write nil
(resolve 'inc)  ;=? functions are values

;; Methods of other languages.
(.push [1] 2)  ;=? write (conj coll x)
(.map [1 2] inc)  ;=? (map f coll)
(.filter [1 2] odd?)  ;=? (filter pred coll)
(.forEach [1 2] println)  ;=? (doseq [x coll] …)
(.includes [1 2] 1)  ;=? (some #{x} coll)
(.slice "abc" 1)  ;=? (subs s start end)
(.join [1 2] ",")  ;=? (str/join
(.keys {:a 1})  ;=? (keys m)
(.items {:a 1})  ;=? (seq m)
(.lower "A")  ;=? (str/lower-case s)
(.toFixed 1.5 2)  ;=? (format "%.2f" x)
(.padStart "a" 3)  ;=? (format "%5s" s)
(.toISOString (LocalDate/parse "2024-01-01"))  ;=? (str date)
(.toUppercase "a")  ;=? did you mean .toUpperCase?

;; Members of namespaces.
(str/length "ab")  ;=? (count coll)
(str/substring "abc" 1)  ;=? (subs s start end)
(str/upper "a")  ;=? (str/upper-case s)
(json/dumps {:a 1})  ;=? (json/generate-string x)
(json/loads "{}")  ;=? (json/parse-string s)
(str/uper-case "a")  ;=? did you mean str/upper-case?

;; Slips of the fingers.
(fliter odd? [1 2])  ;=? did you mean filter
(mapp inc [1 2])  ;=? did you mean map
(conut [1 2])  ;=? did you mean count
(frequences [1 2])  ;=? did you mean frequencies
(groupBy :n data/rows)  ;=? did you mean group-by
(sort_by :n data/rows)  ;=? names have hyphens: sort-by
(every odd? [1 3])  ;=? did you mean every?
(let [orders [1]] (count ordres))  ;=? did you mean orders
(foo 1)  ;=? -
(ok 1)  ;=? -
(bar 1)  ;=? -
(pivot data/rows)  ;=? -

;; Tools and inputs.
(get_user {:id 1})  ;=? get_user is a tool: write (tool/get_user {:name value})
(map get-user [1 2])  ;=? (tool/get_user
(tool/get_usr {:id 1})  ;=? did you mean tool/get_user?
(tool/get_user 1)  ;=? write (tool/get_user {:name value})
(tool/get_user "ann" 10)  ;=? write (tool/get_user {:name value})
(let [n "ann"] (tool/get_user n 10))  ;=? write (tool/get_user {:name value})
(count data/rosw)  ;=? inputs are rows
(:rows data)  ;=? write data/rows
(get data "rows")  ;=? write data/rows
(count rows)  ;=? rows is an input: write data/rows
(map :n rows)  ;=? rows is an input: write data/rows
(crm/get_user {:id 1})  ;=? write (tool/get_user {:key value})
(api/get-user {:id 1})  ;=? write (tool/get_user {:key value})

;; Classes that are not there.
(java.util.PriorityQueue.)  ;=? a sorted set of [priority item] is a queue
(java.io.BufferedReader. (java.io.StringReader. "a"))  ;=? (str/split-lines text)
(java.util.ArrayList.)  ;=? a vector is one
(java.util.HashMap.)  ;=? (assoc m k v)
(java.util.Random. 42)  ;=? (rand-int n)
(java.util.stream.IntStream/range 0 3)  ;=? sort and their like
(java.net.URL. "http://x")  ;=? there is no network but through tools
(java.util.Calendar/getInstance)  ;=? java.time is there
(Foo. 1)  ;=? define a record with defrecord
(.update (java.security.MessageDigest/getInstance "MD5") [1])  ;=? (.digest digest bytes)
(java.security.MessageDigest/getInstance "SHA-1")  ;=? known are MD5, SHA-256
(str/concat "a" "b")  ;=? (str a b)
(clojure.pprint/cl-format nil "~,2f" 1.5)  ;=? (format "%.2f" x)

;; Dates are no numbers.
(< (LocalDate/parse "2024-01-01") (LocalDate/parse "2024-01-02"))  ;=? (.isBefore a b)
(- (LocalDate/parse "2024-01-01") (LocalDate/parse "2024-01-02"))  ;=? (.between ChronoUnit/DAYS a b)
(+ (LocalDate/parse "2024-01-01") 1)  ;=? (.plusDays d n)
(subs (LocalDate/now) 0 7)  ;=? (DateTimeFormatter/ofPattern "yyyy-MM")
(str/split (LocalDate/now) #"-")  ;=? (str date) is its text
(max (LocalDate/parse "2024-01-01") (LocalDate/parse "2024-01-02"))  ;=? (.isBefore a b)
(parse-long [1])  ;=? -
(parse-boolean 1)  ;=? make a boolean of a number

;; An index in brackets.
(:n data/rows[0])  ;=? write (nth data/rows 0)
data/rows[0]  ;=? write (nth data/rows 0)
(str data/rows["n"])  ;=? write (get data/rows "n")
(let [i 0] (:n data/rows[i]))  ;=? write (get data/rows key)

;; Arguments in the wrong order.
(group-by data/rows :n)  ;=? the arguments look swapped: write (group-by f coll)
(sum-by data/rows :n)  ;=? the arguments look swapped: write (sum-by key coll)
(avg-by data/rows :n)  ;=? the arguments look swapped
(max-by data/rows :n)  ;=? the arguments look swapped
(sort-by data/rows :n)  ;=? the arguments look swapped
(distinct-by data/rows :n)  ;=? the arguments look swapped
(map data/rows :n)  ;=? the arguments look swapped
(partition-by data/rows :n)  ;=? the arguments look swapped: write (partition-by f coll)
(count (filter odd?) )  ;=? an inner call may have no collection
(filter data/rows "n")  ;=? -
(filter data/rows :n)  ;=? the arguments look swapped
(map data/rows inc)  ;=? the arguments look swapped
(reduce data/rows +)  ;=? the arguments look swapped
(get :a {:a 1})  ;=? write (get coll key)
(update-vals inc {:a 1})  ;=? write (update-vals m f), or thread with ->
(update-keys name {:a 1})  ;=? write (update-keys m f), or thread with ->
(->> {:a 1} (update-vals inc))  ;=? thread with -> instead of ->>
(count :n)  ;=? -
(first :a)  ;=? -

;; Values of the wrong kind.
(+ 1 "2")  ;=? parse-long or parse-double
(+ 1 nil)  ;=? (or x 0)
(+ [1 2 3])  ;=? (reduce + coll)
(int "5")  ;=? parse-long
(nth [1 2] 5)  ;=? (nth coll index default)
(subs "abc" 2 10)  ;=? (min end (count s))
(format "%d" 1.5)  ;=? (long x)
(str/split "a, b" ", ")  ;=? write the separator as a regex
(re-find "a" "abc")  ;=? write the pattern as #"…"
(.plusDays "2024-01-01" 1)  ;=? (LocalDate/parse text)
(subs :sku-1 0 3)  ;=? (name k)
(str/split :sku-1 #"-")  ;=? (name k)
(re-find #"sku" :sku-1)  ;=? (name k)
(LocalDate/parse :2024-01-01)  ;=? (name k)
(Integer/parseInt :2024)  ;=? (name k)
(bigdec :12)  ;=? (name k)
(json/write-str {1 :x "1" :y})  ;=? rename one of the two keys
(1 2 3)  ;=? one pair of parentheses too many
(pmap #(/ 1 %) [1 0])  ;=? (try … (catch Exception e …))

;; Too much work, too much memory.
(loop [] (recur))  ;=? build an index once with group-by
(vec (repeat 5000000 "x"))  ;=? (into [] (comp (map f) (filter pred)) coll)

;; More names of other libraries and languages.
(update-values {:a 1} inc)  ;=? write (update-vals m f)
(fmap inc {:a 1})  ;=? write (update-vals m f)
(get-or {:a 1} :b 0)  ;=? write (get m k default)
(key-exists? {:a 1} :a)  ;=? write (contains? m k)
(symbolize-keys {"a" 1})  ;=? write (walk/keywordize-keys m)
(pluck :n data/rows)  ;=? write (map :key coll)
(where :n 1 data/rows)  ;=? write (filter #(…) coll)
(none? odd? [2])  ;=? write (not-any? pred coll)
(all? odd? [1])  ;=? write (every? pred coll)
(any odd? [1])  ;=? write (some pred coll)
(in? 1 [1 2])  ;=? write (some #{x} coll), or (contains? s x) for a set or map
(len "abc")  ;=? write (count coll)
(size [1 2])  ;=? write (count coll)
(foreach [x [1]] x)  ;=? write (doseq [x coll] …)
(uniq [1 1])  ;=? write (distinct coll)
(detect odd? [1 2])  ;=? write (first (filter pred coll))
(car [1 2])  ;=? write (first coll)
(cdr [1 2])  ;=? write (rest coll)
(inject + [1 2])  ;=? write (reduce f init coll)
(slice [1 2 3] 0 2)  ;=? write (subvec v start end), or (subs s start end) for text
(take-right 2 [1 2 3])  ;=? write (take-last n coll)
(limit 2 data/rows)  ;=? write (take n coll)
(top-n 2 data/rows)  ;=? write (take n (sort-by f > coll))
(left-join data/rows data/rows :n)  ;=? write an index of one side, (into {} (map (juxt :id identity)) rows),
(lag [1 2])  ;=? write (map vector coll (rest coll))
(sample 2 [1 2 3])  ;=? write (take n (shuffle coll)), or (rand-nth coll)
(to-set [1 2])  ;=? write (set coll)
(stdev [1 2])  ;=? write (let [m (avg xs)] (Math/sqrt (avg (map #(* (- % m) (- % m)) xs))
(is-nan? 1.0)  ;=? write (NaN? x)
(to-float "1")  ;=? write (parse-double s)
(string->number "1")  ;=? write (parse-double s)
(lowercase "A")  ;=? write (str/lower-case s)
(strip " a ")  ;=? write (str/trim s)
(contains-str? "abc" "b")  ;=? write (str/includes? s part)
(pad-left "1" 3 "0")  ;=? write (format "%5s" s), or (format "%05d" n) with zeros
(str/pad-left "1" 3)  ;=? write (format "%5s" s), or (format "%05d" n) with zeros
(str/length "abc")  ;=? write (count coll)
(str/to-upper "a")  ;=? write (str/upper-case s)
(replace-all "a" "b" "c")  ;=? write (str/replace s match replacement)
(json-parse "{}")  ;=? write (json/parse-string s)
(to-json {})  ;=? write (json/generate-string x)
(timestamp)  ;=? write (System/currentTimeMillis)
(current-time)  ;=? write (Instant/now), or (System/currentTimeMillis) for milliseconds
(date-diff 1 2)  ;=? write (.between ChronoUnit/DAYS a b)
(add-days 1 2)  ;=? write (.plusDays date n)
(parse-datetime "2024-01-01T00:00:00")  ;=? write (LocalDateTime/parse s), or (Instant/parse s) where it ends with
(year "2024-01-01")  ;=? write (.getYear (LocalDate/parse s))
(strftime 1 "%Y")  ;=? write (.format date (DateTimeFormatter/ofPattern "yyyy-MM-dd"))
(.join ["a"] ",")  ;=? write (str/join ", " coll)
(.includes "abc" "b")  ;=? write (some #{x} coll), or (str/includes? s part) for text
(.toFixed 1.234 2)  ;=? write (format "%.2f" x)
(.entries {:a 1})  ;=? write (seq m)
(slurp "file.txt")  ;=? inputs are in data/, other data comes from tools
(spit "file.txt" "x")  ;=? return the text as the result
(eval (list '+ 1 2))  ;=? call functions directly; build data, not code
(require '[clojure.core.async :as a])  ;=? available: clojure.core, clojure.string, clojure.set, clojure.walk, cl
(http/get "http://x")  ;=? namespaces: data/ (inputs), tool/ (tools), str/ set/ walk/ json/ edn/
(fetch "http://x")  ;=? there is no network but through tools: (tool/name {:key value})
(console/log "x")  ;=? namespaces: data/ (inputs), tool/ (tools), str/ set/ walk/ json/ edn/
(console.log "x")  ;=? write (println …)
(assert-equal 1 2)  ;=? write (assert (= expected x))
null  ;=? write nil
None  ;=? write nil
undefined  ;=? write nil
True  ;=? write true
(!= 1 2)  ;=? write (not= a b)
(&& true false)  ;=? write (and a b)
(|| true false)  ;=? write (or a b)
(! true)  ;=? write (not x)
(<> 1 2)  ;=? write (not= a b)
(function [x] x)  ;=? write (defn name [x] …), or (fn [x] …)
(const x 1)  ;=? write (def name value)
(set! x 1)  ;=? use loop/recur, reduce or an atom
(setq x 1)  ;=? values do not change: use let, loop/recur or an atom
(switch 1 1 2)  ;=? write (case x 1 … 2 … default)
(match 1 1 2)  ;=? write (case x …), (cond …), or (re-find #"…" s) for text
(try 1 (except 2))  ;=? write (catch Exception e …) as the last part of try
data.rows  ;=? write data/rows
(call-tool "get_user" {:id 1})  ;=? write (tool/name {:key value})
(mcp/call "get_user")  ;=? namespaces: data/ (inputs), tool/ (tools), str/ set/ walk/ json/ edn/
(with-open [x 1] x)  ;=? inputs are in data/
(defmacro foo [x] x)  ;=? write a function with defn
(print-table data/rows)  ;=? write (clojure.pprint/print-table rows)
(pprint data/rows)  ;=? write (clojure.pprint/pprint x)
(tools/get_user {:id 1})  ;=? write (tool/get_user

;; Forms that are not written so.
(if true 1 2 3)  ;=? -
(let [x] x)  ;=? this name has no value
(let x 1 x)  ;=? -
(defn f (x) x)  ;=? parameters stand in brackets
(fn (x) x)  ;=? parameters stand in brackets
(def f [x] x)  ;=? write (defn name [x] …) for a function
(var x 1)  ;=? -
(return 1 2)  ;=? -
(for [x in [1 2]] x)  ;=? leave out `in`: write [name value]
(for x [1 2] x)  ;=? -
(while (< 1 2))  ;=? check for an endless loop, or do less work per run: a search through a
(case 1 2 3)  ;=? add a default as the last form of case
(cond true)  ;=? the last test has no value; write :else before a default
(try 1 (catch e 2))  ;=? -
{:a 1 :b}  ;=? add a value after it, or remove it
[1 2  ;=? perhaps add `]` at the end of line 1
(+ 1 2))  ;=? remove the `)` at line 1, column 8
#(map #(inc %) %)  ;=? write one of them as `(fn [x] …)`
(binding [x 1] x)  ;=? define the name first with (def ^:dynamic name value), or use let
(loop [x 1] (recur))  ;=? give one value for each binding of the loop or parameter of the functi
(recur 1)  ;=? recur jumps back to the innermost loop or fn around it
(when-let x 1)  ;=? -
(if-let [x 1 y 2] x)  ;=? -
(-> )  ;=? -
(as-> 1 (inc x))  ;=? -
(doseq x [1] x)  ;=? -

;; More values of the wrong kind, in the wrong place, or too few.
(str/contains? "abc" "b")  ;=? use (clojure.string/includes? text part) for text
(str/repeat "a" 3)  ;=? the arguments look swapped: write (repeat n x)
(LocalDate/of "2024-01-01")  ;=? write (LocalDate/of year month day)
(LocalDate/parse "01/02/2024")  ;=? write the date like "2024-01-31", or pass a DateTimeFormatter
(.format (LocalDate/parse "2024-01-01") "yyyy")  ;=? -
(.getYear "2024-01-01")  ;=? make the text a date first: (LocalDate/parse text)
(.length [1 2])  ;=? write (count coll)
(.toString 5 "x")  ;=? -
(.get {:a 1} :b :c)  ;=? write (.get coll key)
(.append "a" "b")  ;=? -
(Thread/sleep 10)  ;=? leave the waiting out
(System/getenv "HOME")  ;=? pass what you need in as data
(log "x")  ;=? parse-long and parse-double read a number from text that is one
(printf "%d" "x")  ;=? use %s for any value, %.2f for a float
(throw "boom")  ;=? -
(throw (Error. "x"))  ;=? -
(== "a" "a")  ;=? use = for values that are no numbers
(get-in {:a 1} :a)  ;=? the path is a vector: write (get-in m [:a :b] …)
(assoc {:a 1} :b)  ;=? write (assoc coll key value & kvs)
(update {:a 1} :b)  ;=? write (update m k f) or (update m k f a b c & more)
(assoc-in {} :a 1)  ;=? the path is a vector: write (assoc-in m [:a :b] …)
(reduce + 1 2 3)  ;=? write (reduce f coll) or (reduce f init coll)
(filter odd?  1)  ;=? -
(sort-by :n > )  ;=? the arguments look swapped: the function comes first, the collection l
(sum data/rows :n)  ;=? write (sum-by :key rows)
(max [1 2])  ;=? for the elements of a collection write (apply max coll) or (apply min
(min [1 2])  ;=? for the elements of a collection write (apply max coll) or (apply min
(max)  ;=? write (max x) or (max x y) or (max x y & more)
(apply + 1)  ;=? -
(str/join [1 2] ",")  ;=? the separator comes first: (join ", " coll)
(str/replace "a" "b")  ;=? write (replace s match replacement)
(str/split "a b")  ;=? write (split s separator) or (split s separator limit)
(subs "abc")  ;=? write (subs s start) or (subs s start end)
(nth [1 2])  ;=? write (nth coll index) or (nth coll index not-found)
(name 1)  ;=? for the text of any value use (str x)
(name nil)  ;=? -
(first 5)  ;=? -
(rest 5)  ;=? -
(count 5)  ;=? -
(conj 1 2)  ;=? the collection comes first: write (conj coll x)
(conj 1 [2])  ;=? the collection comes first: write (conj coll x)
(assoc :a 1 {})  ;=? the collection comes first: write (assoc m key value)
(contains? :a {:a 1})  ;=? the collection comes first: write (contains? coll key)
(any? even? [1])  ;=? write (some pred coll)
("a" {:a 1})  ;=? looked up with (get m "key")
(.withZoneSameInstant (java.time.OffsetDateTime/parse "2025-01-01T00:00:00Z") (java.time.ZoneId/of "Europe/Rome"))  ;=? write (.atZoneSameInstant t zone)
(reduce (fn [acc r] (concat acc [r])) [] (range 30000))  ;=? (conj acc x) or (into acc xs)
(>= "2026-02-01" "2026-01-31")  ;=? dates as text are compared with compare
(max "2026-02-01" "2026-01-31")  ;=? max-by
(< (:at {:at "2026-02-01T10:00:00Z"}) 5)  ;=? dates as text are compared with compare
(inc "1")  ;=? turn text into a number first with parse-long or parse-double
(inc nil)  ;=? a value is missing: check the key or path, or give a default such as (
(- nil 1)  ;=? a value is missing: check the key or path, or give a default such as (
(< "a" 1)  ;=? parse-long and parse-double read a number from text that is one
(< nil 1)  ;=? a value is missing: check the key or path, or give a default such as (
(compare 1 "a")  ;=? compare values of one type: numbers, strings, keywords, vectors or dat
(sort [1 "a"])  ;=? compare values of one type: numbers, strings, keywords, vectors or dat
(Math/round "1.5")  ;=? turn text into a number first with parse-long or parse-double
(Integer/parseInt "x")  ;=? use parse-long for text that may be no number: it gives nil
(bigdec "x")  ;=? -
(bigdec "$1,234.50")  ;=? (str/replace s #"[^0-9.-]" "")
(BigDecimal. "1 234")  ;=? (str/replace s #"[^0-9.-]" "")
(bigdec "1.234,50")  ;=? -
(+ 1M "1.234,50")  ;=? take the digits that are meant out of the text
(+ 1M "(5.00)")  ;=? take the digits that are meant out of the text
(+ 1M "12 kg")  ;=? take the digits that are meant out of the text
(round 1.005M 2)  ;=? (.setScale (bigdec x) 2 RoundingMode/HALF_UP)
(with-precision 4 :rounding :half-up (/ 2M 3))  ;=? -
(bigdec "12,50")  ;=? -
(LocalDate/parse nil)  ;=? handle nil first: (or s "") or (when s …)
(:n data/row)  ;=? inputs are rows
data/row  ;=? inputs are rows
(tool/getUser {:id 1})  ;=? did you mean tool/get_user?
(tool/get-usr {:id 1})  ;=? did you mean tool/get_user?
(tool/get_user "1")  ;=? write (tool/get_user {:name value})
(vec 5)  ;=? -
(set 5)  ;=? -
(into {} [1 2])  ;=? -
(into {} [[1 2 3]])  ;=? -
(zipmap 1 2)  ;=? -
(apply max [])  ;=? (when (seq xs) (apply max xs))
(reduce max [])  ;=? (when (seq xs) (apply max xs))
(/ 1 0)  ;=? look at the divisor first: (if (zero? d) nil (/ n d))
(mod 5 0)  ;=? look at the divisor first: (if (zero? d) nil (/ n d))
(range "5")  ;=? parse-long
(repeat "a" 3)  ;=? the arguments look swapped: write (repeat n x)
(take [1 2] 1)  ;=? the arguments look swapped: write (take n coll)
(drop data/rows 1)  ;=? the arguments look swapped: write (drop n coll)
(nth 0 [1 2])  ;=? the arguments look swapped: write (nth coll index)
(some [1 2] odd?)  ;=? the arguments look swapped: the function comes first, the collection l
(every? [1 2] odd?)  ;=? the arguments look swapped: the function comes first, the collection l
(partition [1 2 3] 2)  ;=? the arguments look swapped: write (partition n coll)
(map-indexed [1 2] vector)  ;=? the arguments look swapped: the function comes first, the collection l
(parse-csv "a,b")  ;=? write (map #(str/split % #"," -1) (str/split-lines s))
(clojure.data.csv/read-csv "a,b")  ;=? where fields may stand in quotes, those of a line are
(csv/read-csv "a,b")  ;=? (re-seq #",(?:\"((?:[^\"]|\"\")*)\"|([^,]*))" (str "," line))
(require '[clojure.data.csv :as csv])  ;=? (str/split-lines s)
(ns report (:require [clojure.data.csv :as csv]))  ;=? (str/split-lines s)
(require '[clj-time.core :as t])  ;=? java.time
(round 2.567 2)  ;=? (/ (Math/round (* x 100.0)) 100.0)
(Math/round 2.567 2)  ;=? (format "%.2f" x)
(throw (ex-info "no" {:id 7}))  ;=? its data is {:id 7}
(throw (ex-info "no" {}))  ;=? -
(re-matches "a" "a")  ;=? write the pattern as #"…", or use (re-pattern s)
(re-seq "a" "aa")  ;=? write the pattern as #"…", or use (re-pattern s)
(re-find #"a" nil)  ;=? handle nil first: (or s "") or (when s …)
(re-find #"a" 5)  ;=? make it text with (str x)
(str/upper-case nil)  ;=? handle nil first: (or s "") or (when s …)
(str/upper-case 5)  ;=? make it text with (str x)
(str/trim nil)  ;=? handle nil first: (or s "") or (when s …)
(update-vals {:a "x"} inc)  ;=? parse-long and parse-double read a number from text that is one
(update {:a nil} :a inc)  ;=? a value is missing: check the key or path, or give a default such as (
(dissoc [1 2] 0)  ;=? to drop an item of a vector use subvec or filterv
(pop [])  ;=? -
(peek 5)  ;=? use first or last on other sequences, or (vec coll)
(deref 5)  ;=? -
(swap! 5 inc)  ;=? -
(reset! 5 1)  ;=? -
(atom)  ;=? write (atom x & options)
(ex-info "x")  ;=? write (ex-info message data) or (ex-info message data cause)
(ex-message)  ;=? write (ex-message ex)
(->> data/rows (map :n) sum avg)  ;=? -
(partial)  ;=? write (partial f) or (partial f a b c & more)
(juxt)  ;=? write (juxt f) or (juxt f g) or (juxt f g & more)
(frequencies 5)  ;=? -
(format "%s %s" 1)  ;=? give one value for each directive; write %% for a percent sign
(format "%q" 1)  ;=? known are %s %d %f %e %g %a %x %o %b %c %h %t… %n %%
(format "%d" "5")  ;=? use %s for any value, %.2f for a float
(assoc [1 2] 5 0)  ;=? (conj coll x)
(subvec [1 2 3] 0 9)  ;=? (min end (count v))

;; Points, brackets and operators of other languages.
(data/rows.length)  ;=? write (count data/rows)
(count data/rows.items)  ;=? write (:items data/rows)
(map :n data/rows.first)  ;=? write (first data/rows), or (:first data/rows) for a key
rows.length  ;=? write (count data/rows)
(let [xs [1 2]] (xs.map inc))  ;=? write (map f coll)
(def xs [1 2]) (xs.size)  ;=? write (count xs)
(try (/ 1 0) (catch Exception e (e.getMessage)))  ;=? write (.getMessage e)
(try (/ 1 0) (catch Exception e (.message e)))  ;=? write (ex-message e)
(tool.get_user {:id 1})  ;=? write (tool/get_user {:name value})
(getUser {:id 1})  ;=? get_user is a tool
(5 + 3)  ;=? the function comes first: write (+ a b)
(1 < 2)  ;=? the function comes first: write (< a b)
(% 5 2)  ;=? (mod a b)
(** 2 3)  ;=? write (Math/pow x n)
(x => x)  ;=? write (fn [x] …)
(|> data/rows count)  ;=? write (-> x f g)
(gt 2 1)  ;=? write (> a b)
(gte 2 1)  ;=? write (>= a b)
(lt 2 1)  ;=? write (< a b)
(lte 2 1)  ;=? write (<= a b)
(eq? 1 1)  ;=? write (= a b)
(equals 1 1)  ;=? write (= a b)
(neq 1 2)  ;=? write (not= a b)
(if-else true 1 2)  ;=? write (if test then else)
(do-while true)  ;=? write (loop
(while true (break))  ;=? (reduced x) ends a reduce
(let [x = 1] x)  ;=? leave out `=`: write [name value]
(def x = 1)  ;=? leave out the `=`
(for [x <- [1 2]] x)  ;=? leave out `<-`: write [name value]
(doseq [x in [1 2]] (println x))  ;=? leave out `in`: write [name value]
(fn x (+ x 1))  ;=? parameters stand in brackets
(Math 1)  ;=? a class is not a function: write (Math/abs …)
(java.lang.Math 1)  ;=? write (Math/abs …)
(Integer "1")  ;=? write (Integer. …) or (Integer/
(LocalDate "2024-01-01")  ;=? write (LocalDate/parse …)
(do (defrecord P [a]) (P 1))  ;=? a record is made with (->P …)
(throw (Exception "x"))  ;=? (Exception. "message") with a point
(LocalDate. 2024 1 1)  ;=? write (LocalDate/of …) or (LocalDate/parse …)
(Instant. "2024-01-01T00:00:00Z")  ;=? (Instant/parse …)
(await {:id 1})  ;=? a call of a tool gives its result
(promise-all [1 2])  ;=? pmap makes several at once
SELECT  ;=? there is no SQL

;; What rows are asked for.
(sum :n data/rows)  ;=? write (sum-by :key rows)
(avg :n data/rows)  ;=? write (avg-by :key rows)
(max :n data/rows)  ;=? for rows (max-by :key rows)
(apply max data/rows)  ;=? for rows (max-by :key rows)
(frequencies :n data/rows)  ;=? write (frequencies (map :key rows))
(distinct :n data/rows)  ;=? write (distinct-by :key rows)
(filter :n 1 data/rows)  ;=? write (filter #(= (:key %) x) rows)
(sort data/rows)  ;=? maps have no order: write (sort-by :key rows)
(sort data/rows :n)  ;=? write (sort-by :key coll)
(sort > :n data/rows)  ;=? write (sort-by :key > rows)
(sort-by :n :desc data/rows)  ;=? use > or (fn [a b] (compare b a)) for descending order
(select-keys (first data/rows) :n)  ;=? write (select-keys m [:a :b])
(assoc data/rows :m 1)  ;=? to change every row write (map #(assoc % :key x) rows)
(reduce + [1 2] 0)  ;=? the collection comes last: write (reduce f init coll)
(map :n (filter #(= (:n %) 1 data/rows)))  ;=? (filter pred) alone is a function
(nth data/rows "0")  ;=? an index is a number: parse-long makes one of text
(take "2" data/rows)  ;=? or make a number of the text with parse-long
(take data/rows 1)  ;=? the arguments look swapped: write (take n coll)
(* [1 2] 2)  ;=? use (reduce * coll)
(inc [1 2])  ;=? for each element of a collection write (map
(- [1 2] 1)  ;=? for each element of a collection write (map
(def a (atom 0)) (inc a)  ;=? @x is the value of the atom x
(def m {:a 1}) (swap! m assoc :b 2)  ;=? (atom x) makes what swap! and reset! change
(format "%.2d" 1.5)  ;=? %.2f shows a number with two places
(.plusDays (LocalDate/parse "2024-01-01") "1")  ;=? turn text into a number first
(.get (LocalDate/of 2026 1 1) (.weekOfYear WeekFields/ISO))  ;=? write (.weekOfWeekBasedYear WeekFields/ISO)
(.daysBetween (LocalDate/parse "2024-01-01") (LocalDate/parse "2024-01-02"))  ;=? (.between ChronoUnit/DAYS a b)
(Date/parse "2024-01-01")  ;=? write (LocalDate/parse s)
(.sqrt 2M)  ;=? (Math/sqrt x), which gives a float
(.getDay (LocalDate/of 2026 1 1))  ;=? (.getDayOfMonth date), or (.getDayOfWeek date)

;; Several keys, text in front of patterns and modifiers outside of brackets, which gave wrong answers without a word.
(sort-by [:n :name] data/rows)  ;=? for several keys of a row write (juxt :n :name)
(group-by [:n :name] data/rows)  ;=? for several keys of a row write (juxt :n :name)
(distinct-by [:n :name] data/rows)  ;=? for several keys of a row write (juxt :n :name)
(sum-by [:n :name] data/rows)  ;=? for several keys of a row write (juxt :n :name)
(sort-by :name :n data/rows)  ;=? for a second key write (sort-by (juxt :key :n) coll)
(->> "banana" (str/replace #"a" "b"))  ;=? the text comes first, then the pattern
(for [x [1 2 3]] :when (> x 1) x)  ;=? write it inside of the brackets: (for [x coll :when …] body)
(doseq [x [1 2 3]] :let [y x] (println y))  ;=? write it inside of the brackets
(index-of ["pending" "paid"] "paid")  ;=? the position in a collection is (.indexOf coll x)
(+ 0M "$5")  ;=? keep what belongs to the number, then read it: (bigdec (str/replace s #"[^0-9.-]" ""))
(+ "Total: " "sum")  ;=? (str a b) joins texts
(let [total 50] (if (total > 10) "big" "small"))  ;=? the function comes first: write (> a b)
((fn [a b] (a + b)) 1 2)  ;=? the function comes first: write (+ a b)

;; Still more names.
(moving-average 3 [1 2 3])  ;=? write (map avg (partition n 1 coll))
(running-sum [1 2])  ;=? write (reductions + coll)
(maximum [1 2])  ;=? write (apply max coll), or (max-by :key rows)
(minimum [1 2])  ;=? write (apply min coll), or (min-by :key rows)
(percent 1 2)  ;=? write (* 100.0 (/ part whole))
(find-index odd? [1 2])  ;=? keep-indexed
(compact [nil 1])  ;=? write (remove nil? coll)
(without [1 2] 1)  ;=? write (remove #{x} coll)
(is-empty? [])  ;=? write (empty? coll)
(dict :a 1)  ;=? write {:key value}
(tuple 1 2)  ;=? write [a b]
(capitalize "a")  ;=? write (str/capitalize s)
(date "2024-01-01")  ;=? write (LocalDate/parse s), or (LocalDate/of year month day)
(datetime "2024-01-01T00:00:00")  ;=? write (LocalDateTime/parse s)
(format-currency 5)  ;=? write (format "%,.2f" x)
(group-and-count :n data/rows)  ;=? write (frequencies (map f coll))
(group-sum :n data/rows)  ;=? write (update-vals (group-by :key rows) #(sum-by :n %))
(Math/roundTo 1.234 2)  ;=? (Math/round (* x 100.0))

;; Names of kinds of values are no questions about them.
(decimal "5")  ;=? write (bigdec x)
(Decimal "5")  ;=? write (bigdec x)
(sorted [3 1])  ;=? write (sort coll)
(number "5")  ;=? write (parse-long s)
(integer "5")  ;=? write (parse-long s)
(string 5)  ;=? write (str x)
(regex "b")  ;=? (re-pattern s)
(inst "2024-01-01")  ;=? write (Instant/parse s)
(even 4)  ;=? did you mean even?

;; Text in order, and what is meant for one row done to all.
(sort-by :d > [{:d "2024-01-02"} {:d "2024-01-01"}])  ;=? #(compare %2 %1)
(sort-by :d > [{:d "b"} {:d "a"}])  ;=? #(compare %2 %1)
(sort > ["b" "a"])  ;=? #(compare %2 %1)
(sort #(> %1 %2) ["b" "a"])  ;=? #(compare %2 %1)
(sort-by :d #(> %1 %2) [{:d "b"} {:d "a"}])  ;=? #(compare %2 %1)
(sort-by (comp - :d) [{:d "2024-01-02"} {:d "2024-01-01"}])  ;=? #(compare %2 %1)
(< "a" "b")  ;=? (neg? (compare a b))
(< "1" "2")  ;=? parse-long
(format 2 "%.2f")  ;=? the arguments look swapped: write (format "%.2f" x)
(keys data/rows)  ;=? write (keys (first rows))
(vals (map identity data/rows))  ;=? write (vals (first rows))
(dissoc data/rows :n)  ;=? write (map #(dissoc % :key) rows)
(dissoc (filter :n data/rows) :n)  ;=? write (map #(dissoc % :key) rows)
(update data/rows :n inc)  ;=? write (map #(update % :key f) rows)
(update (vec data/rows) :n (fnil inc 0))  ;=? write (map #(update % :key f) rows)
(Integer/parseInt "5.5")  ;=? use parse-double
(Long/parseLong "1.5")  ;=? use parse-double
(argmax [1 2])  ;=? (.indexOf xs (apply max xs))
(stddev [1 2])  ;=? for a population; of a sample
(variance [1 2])  ;=? for a population; of a sample
(math/abs -1)  ;=? write (abs …) without a namespace
(some 1 [1 2])  ;=? the set #{x} finds the value x
(filter 1 [1 2])  ;=? the set #{x} finds the value x
(map 1 [1 2])  ;=? pass a function
(.setScale 1.005M 2 HALF_UP)  ;=? write RoundingMode/HALF_UP
(ChronoUnit/DAYS (LocalDate/parse "2024-01-01") (LocalDate/parse "2024-01-02"))  ;=? write (.between ChronoUnit/DAYS a b)
(join data/rows data/rows :n)  ;=? an index of one side

;; Where tools are those of upstream servers.
;;tools call
(servers)  ;=? write (tool/servers)
(call-tool "crm" "get_customer" {:id 1})  ;=? write (server/tool {:name value}), or (tool/call {:server "…" :tool "…" :args {…}})
(list-tools "crm")  ;=? write (dir 'server)
(tool/call {:server "crm" :tool "get_customer" :arguments {:id 1}})  ;=? the keys are :server, :tool and :args
(tool/get_customer {:id 1})  ;=? (tool/call {:server "…" :tool "get_customer" :args {…}})
(crm/get_customer {:id 1})  ;=? (tool/call {:server "crm" :tool "get_customer" :args {…}})
(crm/get-customer {:id 1})  ;=? (tool/call {:server "crm" :tool "get-customer" :args {…}})
(tool/call "crm" "get_customer" {:id 1})  ;=? write (tool/call {:server "…" :tool "…" :args {…}})
(tool/call "get_customer" {:id 1})  ;=? write (tool/call {:server "…" :tool "…" :args {…}})
(Foo/bar 1)  ;=? namespaces: data/ (inputs)

;; Numbers as other languages write them.
(+ 1.5m 1)  ;=? write `1.5M`
(* 2 1e3m)  ;=? write `1e3M`
(bigdec 1.5BD)  ;=? write `1.5M`
(+ 1_000 1)  ;=? write `1000`
(+ 1_000.50 1)  ;=? write `1000.50`
(+ -1_000_000L 1)  ;=? write `-1000000`
(inc 10L)  ;=? write `10`
(inc 10n)  ;=? write `10N`
(* 0.5f 2)  ;=? write `0.5`
(* 5d 2)  ;=? write `5.0`
(* 3.14F 2)  ;=? write `3.14`
(inc 10u64)  ;=? write `10`
(bit-and 0b1010 2)  ;=? write `2r1010`
(bit-and 0o17 2)  ;=? write `8r17`
(bit-and 0x1F_FF 2)  ;=? write `0x1FFF`
(+ 1,000 500)  ;=? write `1000`
(+ 12,050,000 500)  ;=? write `12050000`
(str 2024-01-31)  ;=? write dates and other text as a string
(str 3rd)  ;=? write dates and other text as a string
(< 1 Infinity)  ;=? write ##Inf
(= NaN 1)  ;=? (NaN? x)
(bigdecimal 5)  ;=? write (bigdec x)
(BigDecimal "1.5")  ;=? write (BigDecimal. …)
(DecimalFormat "0.00")  ;=? write (DecimalFormat. …)
(chars "abc")  ;=? write (seq s), or (map str s)
(.setParseBigDecimal (DecimalFormat. "0.0") true)  ;=? (bigdec (str/replace s "," ""))
(.applyPattern (DecimalFormat. "0.0") "0.00")  ;=? into the pattern, as in (DecimalFormat.

;; Placeholders of templates.
(str {{user.name}})  ;=? write (:name data/user)
{{rows}}  ;=? write data/rows
(count {{ data.user.address.city }})  ;=? write (get-in data/user [:address :city])

;; Keys before their map, nothing to choose from, other names of forms and methods.
(update :n {:n 1} inc)  ;=? (update m key f)
(update "n" {:n 1} (fn [x] (inc x)))  ;=? (update m key f)
(dissoc :a {:a 1})  ;=? (dissoc m key)
(apply min (map :z []))  ;=? (when (seq xs) (apply min xs))
(.toUpper "a")  ;=? (str/upper-case s)
(.toLower "a")  ;=? (str/lower-case s)
(if-not-let [x (first data/rows)] 1 x)  ;=? (if-let [x …] then else)
(ChronoUnit/DAYS/between (LocalDate/now) (LocalDate/now))  ;=? (.between ChronoUnit/DAYS …)
(ChronoUnit/between (LocalDate/now) (LocalDate/now))  ;=? (.between ChronoUnit/DAYS a b)
(ChronoUnit.DAYS/between (LocalDate/now) (LocalDate/now))  ;=? (.between ChronoUnit/DAYS a b)
(math/sum [1 2])  ;=? (sum …) without a namespace
(map (lambda [x] (inc x)) [1 2])  ;=? (fn [x] …)
(range)  ;=? (take n coll)
(iterate inc 1)  ;=? (take n coll)
(map inc (range))  ;=? (take n coll)
(.parse (java.text.DecimalFormat. "0.00") "1,000")  ;=? (bigdec (str/replace s
