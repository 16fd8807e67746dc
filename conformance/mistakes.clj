;;; Mistakes that models make, each with a part of the hint that they get behind `;=?`; a dash says that no hint is
;;; better than a guess. Programs have the input data/rows, [{:n 1} {:n 2}], and the tool get_user.

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
(.atZoneSameInstant 1 2)  ;=? (.atZone (.toInstant x) zone)
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
(count data/rosw)  ;=? inputs are rows

;; Arguments in the wrong order.
(group-by data/rows :n)  ;=? the arguments look swapped: write (group-by f coll)
(sum-by data/rows :n)  ;=? the arguments look swapped: write (sum-by key coll)
(avg-by data/rows :n)  ;=? the arguments look swapped
(max-by data/rows :n)  ;=? the arguments look swapped
(sort-by data/rows :n)  ;=? the arguments look swapped
(distinct-by data/rows :n)  ;=? the arguments look swapped
(map data/rows :n)  ;=? the arguments look swapped
(filter data/rows "n")  ;=? -
(filter data/rows :n)  ;=? the arguments look swapped
(map data/rows inc)  ;=? the arguments look swapped
(reduce data/rows +)  ;=? the arguments look swapped
(get :a {:a 1})  ;=? write (get coll key)
(update-vals inc {:a 1})  ;=? thread with ->
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
(json/parse-string {:a 1})  ;=? it is data already
(json/write-str {1 :x "1" :y})  ;=? rename one of the two keys
(1 2 3)  ;=? one pair of parentheses too many
(pmap #(/ 1 %) [1 0])  ;=? (try … (catch Exception e …))

;; Too much work, too much memory.
(loop [] (recur))  ;=? build an index once with group-by
(vec (repeat 5000000 "x"))  ;=? (into [] (comp (map f) (filter pred)) coll)
