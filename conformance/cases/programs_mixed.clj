;;; Whole programs as a model writes them: people, accounts, text, settings, matrices, dates, numbers.
;;data emp [{"id": 1, "name": "Ann", "dept": "eng", "salary": 120000, "mgr": null, "skills": ["clj", "sql"]}, {"id": 2, "name": "Bob", "dept": "eng", "salary": 95000.5, "mgr": 1, "skills": ["js"]}, {"id": 3, "name": "Cy", "dept": "ops", "salary": 70000, "mgr": 1, "skills": []}, {"id": 4, "name": "Di", "dept": "ops", "salary": 82000, "mgr": 3, "skills": ["sql", "bash"]}, {"id": 5, "name": "Ed", "dept": null, "salary": null, "mgr": 2, "skills": null}]
;;data txns [{"acct": "A1", "type": "credit", "amount": 100, "at": "2024-01-31T23:30:00-05:00"}, {"acct": "A1", "type": "debit", "amount": 30.25, "at": "2024-02-01T08:00:00+01:00"}, {"acct": "B2", "type": "credit", "amount": 5, "at": "2024-02-29T12:00:00Z"}, {"acct": "A1", "type": "debit", "amount": 80, "at": "2024-03-10T02:30:00Z"}]
;;data text "It was the best of times, it was the worst of times; it was the age of wisdom... It was the epoch of belief!"
;;data matrix [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
;;data config {"db": {"host": "localhost", "port": 5432, "opts": {"ssl": false}}, "features": ["a", "b"], "limits": {"cpu": "500m", "mem": "2Gi"}}

; name: org chart depth
(let [by-id (zipmap (map :id data/emp) data/emp)
      chain (fn [e] (->> e (iterate #(by-id (:mgr %))) (take-while some?) (map :name)))]
  (mapv (fn [e] {:name (:name e) :level (dec (count (chain e))) :chain (clojure.string/join " < " (chain e))}) data/emp))
;=> [{:name "Ann", :level 0, :chain "Ann"} {:name "Bob", :level 1, :chain "Bob < Ann"} {:name "Cy", :level 1, :chain "Cy < Ann"} {:name "Di", :level 2, :chain "Di < Cy < Ann"} {:name "Ed", :level 2, :chain "Ed < Bob < Ann"}]

; name: salary stats skipping nil
(let [paid (filter :salary data/emp)]
  (->> (group-by :dept paid)
       (map (fn [[d es]] (let [ss (map :salary es)] [d {:min (apply min ss) :max (apply max ss) :avg (/ (apply + ss) (count ss))}])))
       (into {})))
;=> {"eng" {:min 95000.5, :max 120000, :avg 107500.25}, "ops" {:min 70000, :max 82000, :avg 76000}}

; name: skills inverted index
(reduce (fn [idx {:keys [name skills]}] (reduce #(update %1 (keyword %2) (fnil conj (sorted-set)) name) idx skills)) {} data/emp)
;=> {:clj #{"Ann"}, :sql #{"Ann" "Di"}, :js #{"Bob"}, :bash #{"Di"}}

; name: self join manager salary
(vec (for [e data/emp m data/emp :when (and (= (:mgr e) (:id m)) (some-> (:salary e) (> (* 0.7 (:salary m)))))] [(:name e) (:name m)]))
;=> [["Bob" "Ann"] ["Di" "Cy"]]

; name: balances with rejected overdrafts
(reduce (fn [{:keys [bal] :as st} {:keys [acct type amount]}]
          (let [delta (if (= type "debit") (- amount) amount) nb (+ (get bal acct 0) delta)]
            (if (neg? nb) (update st :rejected conj [acct amount]) (assoc-in st [:bal acct] nb))))
        {:bal {} :rejected []} data/txns)
;=> {:bal {"A1" 69.75, "B2" 5}, :rejected [["A1" 80]]}

; name: offsets to utc months
(->> data/txns
     (map #(-> (java.time.OffsetDateTime/parse (:at %)) .toInstant (.atZone (java.time.ZoneId/of "UTC")) .toLocalDate))
     (map #(java.time.YearMonth/from %))
     (map str)
     frequencies)
;=> {"2024-02" 3, "2024-03" 1}

; name: zone conversions
(let [z (java.time.ZonedDateTime/parse "2024-03-10T02:30:00Z[UTC]")
      ny (.withZoneSameInstant z (java.time.ZoneId/of "America/New_York"))]
  [(str (.toLocalDateTime ny)) (.getHour ny) (str (.getOffset ny)) (.format ny (java.time.format.DateTimeFormatter/ofPattern "yyyy-MM-dd HH:mm z")) (.toEpochSecond ny)])
;=> ["2024-03-09T21:30" 21 "-05:00" "2024-03-09 21:30 EST" 1710037800]

; name: bigrams and markov
(let [ws (map clojure.string/lower-case (re-seq #"\w+" data/text))
      bi (frequencies (partition 2 1 ws))]
  [(->> bi (sort-by (fn [[p n]] [(- n) (vec p)])) (take 3) (mapv (fn [[p n]] [(clojure.string/join " " p) n])))
   (->> (partition 2 1 ws) (reduce (fn [m [a b]] (update-in m [a b] (fnil inc 0))) {}) (#(get % "the")))])
;=> [[["it was" 4] ["was the" 4] ["of times" 2]] {"best" 1, "worst" 1, "age" 1, "epoch" 1}]

; name: sentence stats
(let [ss (remove clojure.string/blank? (map clojure.string/trim (clojure.string/split data/text #"[.!?;]+")))]
  {:n (count ss) :lens (mapv #(count (clojure.string/split % #"\s+")) ss) :longest (apply max-key count ss) :caps (count (filter #(Character/isUpperCase (first %)) ss))})
;=> {:n 3, :lens [12 6 6], :longest "It was the best of times, it was the worst of times", :caps 2}

; name: title case and acronyms
(let [title (fn [s] (clojure.string/join " " (map-indexed (fn [i w] (if (and (pos? i) (#{"of" "the" "it"} w)) w (clojure.string/capitalize w))) (clojure.string/split (clojure.string/lower-case s) #"\s+"))))
      acr (fn [s] (->> (clojure.string/split s #"\W+") (map first) (apply str) clojure.string/upper-case))]
  [(title "THE AGE of wisdom") (acr "portable network graphics") (clojure.string/escape "a<b>&c" {\< "&lt;" \> "&gt;" \& "&amp;"})])
;=> ["The Age of Wisdom" "PNG" "a&lt;b&gt;&amp;c"]

; name: diagonals and rotations
(let [m data/matrix n (count m)]
  {:diag (map #(get-in m [% %]) (range n)) :anti (for [i (range n)] (get-in m [i (- n i 1)])) :rot (apply mapv (comp vec reverse vector) m) :flat (apply concat m) :col-sums (apply map + m)})
;=> {:diag (1 5 9), :anti (3 5 7), :rot [[7 4 1] [8 5 2] [9 6 3]], :flat (1 2 3 4 5 6 7 8 9), :col-sums (12 15 18)}

; name: deep merge configs
(letfn [(deep-merge [& ms] (if (every? map? ms) (apply merge-with deep-merge ms) (last ms)))]
  (deep-merge data/config {:db {:port 5433 :opts {:ssl true}} :features ["c"]} {:db {:opts {:pool 4}}}))
;=> {:db {:host "localhost", :port 5433, :opts {:ssl true, :pool 4}}, :features ["c"], :limits {:cpu "500m", :mem "2Gi"}}

; name: flatten nested keys
(letfn [(flat [prefix m] (reduce-kv (fn [acc k v] (let [p (if prefix (str prefix "." (name k)) (name k))] (if (map? v) (merge acc (flat p v)) (assoc acc p v)))) {} m))]
  (into (sorted-map) (flat nil data/config)))
;=> {"db.host" "localhost", "db.opts.ssl" false, "db.port" 5432, "features" ["a" "b"], "limits.cpu" "500m", "limits.mem" "2Gi"}

; name: parse resource units
(let [units {"m" 0.001 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "" 1}
      p (fn [s] (let [[_ n u] (re-matches #"(\d+(?:\.\d+)?)([A-Za-z]*)" s)] (* (Double/parseDouble n) (units u))))]
  (update-vals (:limits data/config) p))
;=> {:cpu 0.5, :mem 2.147483648E9}

; name: paths that differ
(letfn [(paths [p x] (if (map? x) (mapcat (fn [[k v]] (paths (conj p k) v)) x) [[p x]]))]
  (let [a (into {} (paths [] data/config)) b (into {} (paths [] (assoc-in data/config [:db :port] 1)))]
    (for [k (sort-by str (into (set (keys a)) (keys b))) :when (not= (a k) (b k))] [k (a k) (b k)])))
;=> ([[:db :port] 5432 1])

; name: partition all and batches
(let [batches (partition-all 2 (map :id data/emp))]
  {:batches (map vec batches) :padded (partition 2 2 [:none] (map :id data/emp)) :windows (partition 3 1 (range 5)) :steps (partition 2 3 (range 8)) :split (split-at 2 [1 2 3]) :split-with (split-with even? [2 4 5 6])})
;=> {:batches ([1 2] [3 4] [5]), :padded ((1 2) (3 4) (5 :none)), :windows ((0 1 2) (1 2 3) (2 3 4)), :steps ((0 1) (3 4) (6 7)), :split [(1 2) (3)], :split-with [(2 4) (5 6)]}

; name: sort with comparator chain
(->> data/emp (sort (fn [a b] (let [c (compare (or (:dept a) "zzz") (or (:dept b) "zzz"))] (if (zero? c) (compare (:salary b) (:salary a)) c)))) (mapv :name))
;=> ["Ann" "Bob" "Di" "Cy" "Ed"]

; name: rank with gaps
(let [scores {"a" 10 "b" 20 "c" 20 "d" 5}
      sorted (sort-by (juxt (comp - val) key) scores)]
  (into (sorted-map) (map (fn [[k v]] [k (inc (count (filter #(> (val %) v) sorted)))])) sorted))
;=> {"a" 3, "b" 1, "c" 1, "d" 4}

; name: lazy pagination simulation
(let [fetch (fn [page] (when (< page 4) {:items (range (* page 3) (* (inc page) 3)) :next (inc page)}))
      pages (take-while some? (map fetch (range)))]
  [(vec (mapcat :items pages)) (count pages) (into [] (comp (mapcat :items) (filter even?) (take 3)) pages)])
;=> [[0 1 2 3 4 5 6 7 8 9 10 11] 4 [0 2 4]]

; name: iteration with tokens
(->> (iteration (fn [k] (when (< k 3) {:v k :n (inc k)})) :initk 0 :vf :v :kf :n) (into []))
;=> [0 1 2]

; name: loop with multiple accumulators
(loop [[x & xs] [3 -1 4 -1 5 -9 2] pos [] neg [] i 0]
  (if (nil? x) {:pos pos :neg neg :n i} (recur xs (if (pos? x) (conj pos x) pos) (if (neg? x) (conj neg x) neg) (inc i))))
;=> {:pos [3 4 5 2], :neg [-1 -1 -9], :n 7}

; name: reduce with reduced and index
(reduce-kv (fn [acc i x] (if (> (+ acc x) 10) (reduced [:stopped-at i acc]) (+ acc x))) 0 [3 4 2 5 6])
;=> [:stopped-at 3 9]

; name: max-key min-key and sort-by nil
[(apply max-key :salary (filter :salary data/emp)) (:name (apply min-key :id data/emp)) (map :name (sort-by :dept data/emp)) (sort [nil 3 1]) (sort-by (juxt :dept :name) [{:dept "b" :name "x"} {:dept "a" :name "z"} {:dept "a" :name "y"}])]
;=> [{:id 1, :name "Ann", :dept "eng", :salary 120000, :mgr nil, :skills ["clj" "sql"]} "Ann" ("Ed" "Ann" "Bob" "Cy" "Di") (nil 1 3) ({:dept "a", :name "y"} {:dept "a", :name "z"} {:dept "b", :name "x"})]

; name: closures and counters
(let [make-counter (fn [] (let [n (atom 0)] {:inc! #(swap! n inc) :get #(deref n)}))
      a (make-counter) b (make-counter)]
  (dotimes [_ 3] ((:inc! a))) ((:inc! b))
  [((:get a)) ((:get b))])
;=> [3 1]

; name: function composition toolkit
(let [pipeline (reduce comp [inc #(* 2 %) (partial - 100)])
      fs (juxt + - * /)
      safe (fnil inc 0)
      flip (fn [f] (fn [a b] (f b a)))]
  [(pipeline 10) (fs 12 4) (safe nil) ((flip -) 1 10) ((complement even?) 3) ((every-pred pos? even?) 4 6) ((some-fn :a :b) {:b 7}) (apply (partial map vector) [[1 2] [3 4]])])
;=> [181 [16 8 48 3] 1 9 true true 7 ([1 3] [2 4])]

; name: bits of string building
(let [sb (StringBuilder.)]
  (doseq [[i w] (map-indexed vector ["x" "y" "z"])] (when (pos? i) (.append sb ", ")) (.append sb w))
  [(.toString sb) (.length sb) (str (.reverse sb)) (.indexOf "hello" "l") (.charAt "abc" 1) (.substring "abcdef" 2 4) (.replace "a-b" "-" "+") (.contains "abc" "bc")])
;=> ["x, y, z" 7 "z ,y ,x" 2 \b "cd" "a+b" true]

; name: number formatting
[(format "%,d" 1234567) (format "%08.2f" 3.14159) (format "%x" 255) (format "%5s|%-5s|" "a" "b") (format "%e" 12345.678) (format "%.0f" 2.5) (format "%05d" -42) (format "%+d" 7) (str 1e10) (str 123456789.0) (str 0.1) (str 1.0E-5) (str (/ 1.0 3)) (str 100.0) (str 1e7)]
;=> ["1,234,567" "00003.14" "ff" "    a|b    |" "1.234568e+04" "3" "-0042" "+7" "1.0E10" "1.23456789E8" "0.1" "1.0E-5" "0.3333333333333333" "100.0" "1.0E7"]

; name: rounding helpers
(let [round (fn [p x] (let [f (Math/pow 10 p)] (/ (Math/round (* x f)) f)))
      bankers (fn [x] (Math/rint x))]
  [(round 2 3.14159) (round 0 2.5) (bankers 2.5) (bankers 3.5) (Math/ceil 1.2) (Math/floor -1.2) (int 3.9) (long -3.9) (Math/abs -5) (Math/pow 2 10) (quot -7 2) (rem -7 2) (mod -7 2) (Math/floorDiv -7 2) (Math/floorMod -7 2) (Math/hypot 3 4)])
;=> [3.14 3.0 2.0 4.0 2.0 -2.0 3 -3 5 1024.0 -3 -1 1 -4 1 5.0]

; name: parse dates of several formats
(let [fmts (map #(java.time.format.DateTimeFormatter/ofPattern %) ["yyyy-MM-dd" "dd/MM/yyyy" "MMM d, yyyy"])
      parse (fn [s] (some (fn [f] (try (java.time.LocalDate/parse s f) (catch java.time.format.DateTimeParseException _ nil))) fmts))]
  (mapv (comp str parse) ["2024-02-29" "31/12/2023" "Jan 5, 2024" "nope"]))
;=> ["2024-02-29" "2023-12-31" "2024-01-05" ""]

; name: age buckets and until
(let [now (java.time.LocalDate/parse "2024-06-15")
      age (fn [b] (.getYears (java.time.Period/between (java.time.LocalDate/parse b) now)))
      bucket #(cond (< % 18) :minor (< % 65) :adult :else :senior)]
  [(frequencies (map (comp bucket age) ["2010-01-01" "1990-06-16" "1950-05-05" "2006-06-15"]))
   (.until now (java.time.LocalDate/of 2024 12 25) java.time.temporal.ChronoUnit/DAYS)
   (.isBefore now (.plusWeeks now 1)) (compare now (.minusDays now 1)) (str (.withDayOfMonth now 1)) (.lengthOfMonth now) (.getDayOfYear now)])
;=> [{:minor 1, :adult 2, :senior 1} 193 true 1 "2024-06-01" 30 167]

; name: weekly calendar grouping
(let [days (map #(java.time.LocalDate/of 2024 1 %) (range 1 15))
      week (fn [d] (.get d java.time.temporal.IsoFields/WEEK_OF_WEEK_BASED_YEAR))]
  (into (sorted-map) (map (fn [[w ds]] [w (count ds)])) (group-by week days)))
;=> {1 7, 2 7}

; name: throw on bad input with message
(defn validate [{:keys [name salary] :as e}]
  (cond (nil? salary) (throw (IllegalArgumentException. (str "no salary for " name)))
        (> salary 100000) (throw (ex-info "too rich" {:who name}))
        :else :ok))
(mapv (fn [e] (try (validate e) (catch IllegalArgumentException ex (.getMessage ex)) (catch Exception ex (ex-data ex)))) data/emp)
;=> [{:who "Ann"} :ok :ok :ok "no salary for Ed"]

; name: pre and post conditions
(defn pct [part whole] {:pre [(pos? whole)] :post [(<= 0 % 100)]} (* 100.0 (/ part whole)))
[(pct 1 4) (try (pct 1 0) (catch AssertionError e :pre)) (try (pct 5 4) (catch AssertionError e :post))]
;=> [25.0 :pre :post]

; name: variadic and multi arity
(defn area ([r] (area r r)) ([w h] (* w h)) ([w h & more] (apply * w h more)))
(defn opts [a & [{:keys [b] :or {b 2}}]] [a b])
[(area 3) (area 2 5) (area 2 3 4 5) (opts 1) (opts 1 {:b 9}) (apply area [1 2])]
;=> [9 10 120 [1 2] [1 9] 2]

; name: sequences by index
(let [v [:a :b :c :d :e]]
  [(keep-indexed #(when (odd? %1) %2) v) (map-indexed vector v) (take-nth 2 v) (take-last 2 v) (drop-last 2 v) (nthrest v 3) (second v) (peek v) (pop v) (subvec v 1 3) (rseq v) (.indexOf v :c) (get v 9 :none) (last v) (butlast v) (replace {:a 1 :e 5} v) (assoc v 1 :x) (find v 0)])
;=> [(:b :d) ([0 :a] [1 :b] [2 :c] [3 :d] [4 :e]) (:a :c :e) (:d :e) (:a :b :c) (:d :e) :b :e [:a :b :c :d] [:b :c] (:e :d :c :b :a) 2 :none :e (:a :b :c :d) [1 :b :c :d 5] [:a :x :c :d :e] [0 :a]]

; name: distinct and dedupe variants
[(distinct [1 2 1 3 2]) (dedupe [1 1 2 2 1]) (into #{} [1 1 2]) (set/union #{1} #{2}) (map first (vals (group-by :k [{:k 1 :v :a} {:k 1 :v :b} {:k 2 :v :c}]))) (reduce (fn [acc x] (if (some #{x} acc) acc (conj acc x))) [] "mississippi")]
;=> [(1 2 3) (1 2 1) #{1 2} #{1 2} ({:k 1, :v :a} {:k 2, :v :c}) [\m \i \s \p]]

; name: while and volatile
(let [n (volatile! 10) out (transient [])]
  (while (pos? @n) (conj! out @n) (vswap! n - 3))
  (persistent! out))
;=> [10 7 4 1]

; name: java interop on maps and strings
[(.get {:a 1} :a) (.size [1 2]) (.isEmpty "") (.toUpperCase "x") (.startsWith "abc" "a") (.compareTo "a" "b") (.getKey (first {:a 1})) (.equals "a" "a") (String/join "," ["a" "b"]) (String/valueOf 5) (Boolean/parseBoolean "TRUE") (Long/toString 255 16) (Integer/toHexString 255) (Character/isDigit \5) (.trim " a ") (.repeat "ab" 2) (.lastIndexOf "abab" "b") (.matches "abc" "[a-c]+")]
;=> [1 2 true "X" true -1 :a true "a,b" "5" true "ff" "ff" true "a" "abab" 3 true]

; name: random walk seeded by lcg
(let [lcg (fn [s] (mod (+ (* 1103515245 s) 12345) 2147483648))
      steps (map #(if (even? (quot % 65536)) 1 -1) (take 20 (rest (iterate lcg 42))))]
  (reductions + 0 steps))
;=> (0 -1 -2 -3 -4 -3 -4 -5 -4 -5 -6 -5 -4 -3 -2 -3 -2 -3 -4 -5 -6)

; name: tally with transients and update
(let [tally (fn [xs] (persistent! (reduce (fn [m x] (assoc! m x (inc (get m x 0)))) (transient {}) xs)))]
  (= (tally "hello world") (frequencies "hello world")))
;=> true

; name: graph components with union find
(let [edges [[1 2] [2 3] [4 5] [6 6]]
      root (fn [p x] (if (= x (p x x)) x (recur p (p x))))
      parents (reduce (fn [p [a b]] (let [ra (root p a) rb (root p b)] (if (= ra rb) (assoc p ra ra) (assoc p ra rb rb rb)))) {} edges)]
  (->> (set (flatten edges)) (group-by #(root parents %)) vals (map (comp vec sort)) (sort-by first)))
;=> ([1 2 3] [4 5] [6])

; name: breadth first with seen set
(let [g {:a [:b :c] :b [:d] :c [:d :e] :d [:f] :e [:f] :f []}]
  (loop [frontier [[:a]] seen #{:a} found {}]
    (if-let [[path & more] (seq frontier)]
      (let [node (peek path) nexts (remove seen (g node))]
        (recur (concat more (map #(conj path %) nexts)) (into seen nexts) (assoc found node path)))
      (into (sorted-map) found))))
;=> {:a [:a], :b [:a :b], :c [:a :c], :d [:a :b :d], :e [:a :c :e], :f [:a :b :d :f]}

; name: string to data with edn
(let [m (clojure.edn/read-string "{:a [1 2 #{3}] :b \"x\" :c nil :d 1.5 :e :k/w :f \\a :g sym :h #inst \"2024-01-01\"}")]
  [(dissoc m :h) (inst-ms (:h m)) (pr-str (select-keys m [:a :b]))])
;=> [{:a [1 2 #{3}], :b "x", :c nil, :d 1.5, :e :k/w, :f \a, :g sym} 1704067200000 "{:a [1 2 #{3}], :b \"x\"}"]

; name: condp variants
(map (fn [x] (condp some [x] #{1 2} :low #{3 4} :>> #(* 10 %) :other)) [1 4 9])
;=> (:low 40 :other)

; name: group by date with java.util.Date
(let [f (doto (java.text.SimpleDateFormat. "yyyy-MM") (.setTimeZone (java.util.TimeZone/getTimeZone "UTC")))]
  (frequencies (map #(.format f %) [#inst "2024-01-05" #inst "2024-01-31T23:59:59Z" #inst "2024-02-01"])))
;=> {"2024-01" 2, "2024-02" 1}

; name: select and rename
(->> data/emp (map #(-> % (select-keys [:id :name]) (clojure.set/rename-keys {:name :full-name}) (assoc :initial (str (first (:name %)))))) (take 2))
;=> ({:id 1, :full-name "Ann", :initial "A"} {:id 2, :full-name "Bob", :initial "B"})

; name: mapcat with index math
(vec (for [row (range 1 4)] (clojure.string/join " " (for [col (range 1 4)] (format "%2d" (* row col))))))
;=> [" 1  2  3" " 2  4  6" " 3  6  9"]

; name: interest schedule
(let [rate (/ 0.06 12) n 4 p 1000.0
      pay (/ (* p rate) (- 1 (Math/pow (+ 1 rate) (- n))))]
  (->> (iterate (fn [{:keys [bal k]}] (let [i (* bal rate)] {:k (inc k) :int i :bal (- bal (- pay i))})) {:bal p :k 0})
       rest (take n) (mapv (fn [{:keys [k int bal]}] [k (format "%.2f" int) (format "%.2f" (Math/abs bal))]))))
;=> [[1 "5.00" "751.87"] [2 "3.76" "502.49"] [3 "2.51" "251.87"] [4 "1.26" "0.00"]]

; name: nested let with shadowing and assertions
(let [x 1 [x y] [x 2] {:keys [x]} {:x (+ x y)}] (assert (= 3 x) "x is three") x)
;=> 3

; name: some patterns
[(some #(when (> % 2) (* % 10)) [1 2 3 4]) (some #{:b} [:a :b]) (not-any? neg? [1 2]) (every? string? ["a"]) (some? nil) (boolean (seq [])) (not-empty []) (empty? "") (some true? [nil false]) (first (filter #(> % 5) [1 2]))]
;=> [30 :b true true false false nil true nil nil]

; name: letter frequency bar chart
(let [fs (->> data/text clojure.string/lower-case (filter #(Character/isLetter %)) frequencies (sort-by (fn [[c n]] [(- n) c])) (take 4))]
  (map (fn [[c n]] (str c " " (apply str (repeat n \*)))) fs))
;=> ("t ************" "e ***********" "s *********" "i ********")

; name: update many
(-> {:a 1 :b {:c [1 2]} :d nil} (update :a + 10 100) (update-in [:b :c] (fn [v] (mapv inc v))) (update :d (fnil conj []) 1) (assoc-in [:e :f] 1) (dissoc :zz) (merge {:g 1}) (update-keys name) (select-keys ["a" "b" "d" "e"]))
;=> {"a" 111, "b" {:c [2 3]}, "d" [1], "e" {:f 1}}

;;data rows [{"id": 1, "name": "Widget", "price": 9.99, "tags": ["a", "b"], "created_at": "2024-01-02T03:04:05Z", "meta": {"w": 1, "h": null}}, {"id": 2, "name": "Gizmo", "price": 19.5, "tags": [], "created_at": "2024-02-10T00:00:00Z", "meta": {"w": 3, "h": 4}}, {"id": 3, "name": "widget XL", "price": null, "tags": ["b"], "created_at": "2023-12-31T23:59:59Z", "meta": null}]

; name: slugs
(require '[clojure.string :as s])
(defn slug [x] (-> x s/lower-case (s/replace #"[^a-z0-9]+" "-") (s/replace #"(^-|-$)" "")))
(map (comp slug :name) data/rows)
;=> ("widget" "gizmo" "widget-xl")

; name: split by price
(let [{small true big false} (group-by #(< (or (:price %) 0) 10) data/rows)] [(map :id small) (map :id big)])
;=> [(1 3) (2)]

; name: summary with juxt
(->> data/rows (map :price) (filter some?) ((juxt #(reduce + %) #(apply min %) #(apply max %) count)) (zipmap [:sum :min :max :n]))
;=> {:sum 29.490000000000002, :min 9.99, :max 19.5, :n 2}

; name: areas of what has a size
(reduce (fn [acc {:keys [id meta]}] (if-let [{:keys [w h]} meta] (assoc acc id (* w (or h 1))) acc)) (sorted-map) data/rows)
;=> {1 1, 2 12}

; name: span of instants
(let [parse #(java.time.Instant/parse %)
      xs (sort (map (comp parse :created_at) data/rows))]
  [(str (first xs)) (.between java.time.temporal.ChronoUnit/HOURS (first xs) (last xs)) (mapv #(.getEpochSecond %) xs) (.isAfter (last xs) (first xs))])
;=> ["2023-12-31T23:59:59Z" 960 [1704067199 1704164645 1707523200] true]

; name: tags to ids
(->> data/rows (mapcat (fn [r] (map #(vector % (:id r)) (:tags r)))) (reduce (fn [m [t id]] (update m t (fnil conj []) id)) {}))
;=> {"a" [1], "b" [1 3]}

; name: render nested markup
(defmulti render (fn [node] (if (vector? node) (first node) :text)))
(defmethod render :text [t] (str t))
(defmethod render :b [[_ & kids]] (str "<b>" (apply str (map render kids)) "</b>"))
(defmethod render :ul [[_ & kids]] (str "<ul>" (apply str (map #(str "<li>" (render %) "</li>") kids)) "</ul>"))
(render [:ul "a" [:b "x" 1] [:ul "n"]])
;=> "<ul><li>a</li><li><b>x1</b></li><li><ul><li>n</li></ul></li></ul>"

; name: binary digits
(loop [n 100 acc ()] (if (zero? n) (apply str acc) (recur (quot n 2) (conj acc (rem n 2)))))
;=> "1100100"

; name: pascal rows
(let [pascal (iterate (fn [row] (vec (concat [1] (map + row (rest row)) [1]))) [1])] (take 6 pascal))
;=> ([1] [1 1] [1 2 1] [1 3 3 1] [1 4 6 4 1] [1 5 10 10 5 1])

; name: permutations
(letfn [(perms [xs] (if (empty? xs) [[]] (for [x xs p (perms (remove #{x} xs))] (cons x p))))] (map #(apply str %) (perms "abc")))
;=> ("abc" "acb" "bac" "bca" "cab" "cba")

; name: powerset
(letfn [(powerset [s] (reduce (fn [acc x] (into acc (map #(conj % x) acc))) #{#{}} s))] (sort-by (juxt count (comp vec sort)) (powerset [1 2 3])))
;=> (#{} #{1} #{2} #{3} #{1 2} #{1 3} #{3 2} #{1 3 2})

; name: towers of hanoi
(let [hanoi (fn hanoi [n a b c] (if (zero? n) [] (concat (hanoi (dec n) a c b) [[a c]] (hanoi (dec n) b a c))))] (count (hanoi 5 :a :b :c)))
;=> 31

; name: recursive descent calculator
(defn parse-expr [s] (let [tokens (re-seq #"\d+|[-+*/()]" s)]
  (letfn [(expr [ts] (let [[v ts] (term ts)] (loop [v v ts ts] (case (first ts) "+" (let [[w r] (term (rest ts))] (recur (+ v w) r)) "-" (let [[w r] (term (rest ts))] (recur (- v w) r)) [v ts]))))
          (term [ts] (let [[v ts] (factor ts)] (loop [v v ts ts] (case (first ts) "*" (let [[w r] (factor (rest ts))] (recur (* v w) r)) "/" (let [[w r] (factor (rest ts))] (recur (/ v w) r)) [v ts]))))
          (factor [[t & ts]] (if (= t "(") (let [[v [_ & r]] (expr ts)] [v r]) [(Long/parseLong t) ts]))]
    (first (expr tokens)))))
(map parse-expr ["1+2*3" "(1+2)*3" "10/4" "2*(3+4)-5"])
;=> (7 9 5/2 9)

; name: winner on a board
(let [board ["X.O" "OX." "..X"] lines (concat board (apply map str board) [(apply str (map-indexed #(nth %2 %1) board)) (apply str (map-indexed #(nth %2 (- 2 %1)) board))])] (some #(when (#{"XXX" "OOO"} %) (first %)) lines))
;=> \X

; name: paths of all leaves
(let [m {:a 1 :b {:c 2 :d [3 {:e 4}]}}] (letfn [(leaves [p x] (cond (map? x) (mapcat (fn [[k v]] (leaves (conj p k) v)) x) (sequential? x) (mapcat (fn [[i v]] (leaves (conj p i) v)) (map-indexed vector x)) :else [[p x]]))] (into {} (leaves [] m))))
;=> {[:a] 1, [:b :c] 2, [:b :d 0] 3, [:b :d 1 :e] 4}

; name: words by length
(->> "the rain in spain stays mainly" (re-seq #"\w+") (map (fn [w] [(count w) w])) (sort) (partition-by first) (map (fn [g] [(ffirst g) (map second g)])) (into (sorted-map)))
;=> {2 ("in"), 3 ("the"), 4 ("rain"), 5 ("spain" "stays"), 6 ("mainly")}

; name: clock change in Paris
(let [now (java.time.ZonedDateTime/of 2024 3 31 1 30 0 0 (java.time.ZoneId/of "Europe/Paris"))] [(str (.plusHours now 1)) (str (.toInstant now)) (str (.getDayOfWeek now)) (str (.toLocalTime now)) (str (.truncatedTo now java.time.temporal.ChronoUnit/DAYS))])
;=> ["2024-03-31T03:30+02:00[Europe/Paris]" "2024-03-31T00:30:00Z" "SUNDAY" "01:30" "2024-03-31T00:00+01:00[Europe/Paris]"]

; name: java statics
[(Integer/parseInt "7f" 16) (Integer/toString 255 2) (Long/parseLong "-12") (Double/parseDouble "1e-3") (Character/getNumericValue \7) (int \A) (char 97) (Math/signum -2.5) (Math/cbrt 27.0) (Math/log10 1000) (Math/max 1 2) (Long/MAX_VALUE) (Integer/MAX_VALUE) (Math/floorMod -3 5) (Integer/compare 1 2) (Boolean/valueOf "true")]
;=> [127 "11111111" -12 0.001 7 65 \a -1.0 3.0 3.0 2 9223372036854775807 2147483647 2 -1 true]

; name: table of functions
(let [fs {:upper clojure.string/upper-case :rev clojure.string/reverse :len count}] (reduce-kv (fn [m k f] (assoc m k (f "abc"))) {} fs))
;=> {:upper "ABC", :rev "cba", :len 3}

; name: reduce and into
[(reduce-kv (fn [a k v] (+ a (* k v))) 0 [10 20 30]) (reduce + 5 []) (reduce conj () [1 2 3]) (into () [1 2 3]) (into {} [[:a 1] {:b 2}]) (into [] (comp (map inc) (partition-all 2)) (range 5)) (reduce max [3 9 2])]
;=> [80 5 (3 2 1) (3 2 1) {:a 1, :b 2} [[1 2] [3 4] [5]] 9]

; name: regular expressions
[(re-find #"(\d+)-(\d+)" "tel 555-1234") (re-matches #"(?<user>[^@]+)@(.+)" "a.b@c.org") (re-seq #"(\w)(\d)" "a1 b2") (clojure.string/replace "2024-01-02" #"(\d+)-(\d+)-(\d+)" "$3/$2/$1") (clojure.string/split "a1b2c3" #"(?<=\d)") (re-find #"(?m)^b.*$" "a\nbcd\ne") (re-pattern "a+") (clojure.string/replace "aaa" #"a" {"a" "b"})]
;=> [["555-1234" "555" "1234"] ["a.b@c.org" "a.b" "c.org"] (["a1" "a" "1"] ["b2" "b" "2"]) "02/01/2024" ["a1" "b2" "c3"] "bcd" #"a+" "bbb"]

; name: blank and empty text
(for [s ["()" "abc" "" nil "  "]] [(clojure.string/blank? s) (count s) (seq s) (str "<" s ">")])
;=> ([false 2 (\( \)) "<()>"] [false 3 (\a \b \c) "<abc>"] [true 0 nil "<>"] [true 0 nil "<>"] [true 2 (\space \space) "<  >"])

; name: times of day
(let [t (java.time.LocalTime/of 23 30)] [(str (.plusMinutes t 45)) (.isBefore t (java.time.LocalTime/NOON)) (str (java.time.LocalTime/parse "07:05:09")) (.toSecondOfDay t) (str (java.time.LocalDateTime/of (java.time.LocalDate/of 2024 1 1) t))])
;=> ["00:15" false "07:05:09" 84600 "2024-01-01T23:30"]

; name: message of an exception
(try (let [{:keys [a]} {:a 1} b (/ a 0)] b) (catch ArithmeticException e {:err (.getMessage e) :class (.getSimpleName (class e))}) (finally nil))
;=> {:err "Divide by zero", :class "ArithmeticException"}

; name: keyword arguments as a map
(defn process [& {:keys [items op init] :or {op + init 0}}] (reduce op init items))
[(process :items [1 2 3]) (process :items [1 2 3] :op * :init 1) (process {:items [4]})]
;=> [6 6 4]

; name: accounts with a protocol
(defrecord Account [id balance])
(defprotocol Ops (deposit [a n]) (withdraw [a n]))
(extend-type Account Ops (deposit [a n] (update a :balance + n)) (withdraw [{:keys [balance] :as a} n] (if (> n balance) (throw (ex-info "insufficient" {:need (- n balance)})) (update a :balance - n))))
(let [a (->Account 1 100)] [(:balance (-> a (deposit 50) (withdraw 30))) (try (withdraw a 500) (catch Exception e (ex-data e))) (= a (->Account 1 100)) (assoc a :x 1) (keys a) (instance? Account a) (satisfies? Ops a) (str (:id a)) (dissoc a :balance)])
;=> [120 {:need 400} true #user27.Account{:id 1, :balance 100, :x 1} (:id :balance) true true "1" {:id 1}]

; name: sorted by length
(let [m (sorted-map-by (fn [a b] (compare (count a) (count b))) "ccc" 3 "a" 1 "bb" 2)] [(keys m) (first m) (get m "zz") (assoc m "dddd" 4) (contains? m "a")])
;=> [("a" "bb" "ccc") ["a" 1] 2 {"a" 1, "bb" 2, "ccc" 3, "dddd" 4} true]

; name: orders
[(compare "apple" "banana") (compare [1 2] [1 3]) (compare nil 1) (compare :a :b) (sort ["b" "A" "a"]) (sort-by clojure.string/lower-case ["b" "A" "c"]) (sort > [3 1 2]) (sort-by - [3 1 2]) (reverse (sort [3 1 2])) (sort-by val > {:a 1 :b 2}) (sort-by (juxt count identity) ["bb" "a" "aa"])]
;=> [-1 -1 -1 -1 ("A" "a" "b") ("A" "b" "c") (3 2 1) (3 2 1) (3 2 1) ([:b 2] [:a 1]) ("a" "aa" "bb")]

; name: pieces of a vector
(let [xs [5 3 8]] [(apply max-key identity xs) (.indexOf xs 8) (map-indexed #(* %1 %2) xs) (interleave xs [:a :b :c]) (zipmap xs (range)) (nth xs 5 :none) (rand-nth [1]) (shuffle [1]) (take-while #(> % 4) xs) (drop-while #(> % 4) xs) (partition-by odd? xs) (cycle []) (take 4 (cycle xs)) (repeat 2 :x) (range 10 0 -3) (mapv + xs [1 1 1])])
;=> [8 2 (0 3 16) (5 :a 3 :b 8 :c) {5 0, 3 1, 8 2} :none 1 [1] (5) (3 8) ((5 3) (8)) () (5 3 8 5) (:x :x) (10 7 4 1) [6 4 9]]

; name: nested state in an atom
(let [a (atom {:users {}})] (swap! a assoc-in [:users 1] {:n "x"}) (swap! a update-in [:users 1 :n] str "y") [(:users @a) (get-in @a [:users 1 :n]) (compare-and-set! a @a {}) @a])
;=> [{1 {:n "xy"}} "xy" true {}]

; name: letters beyond ascii
(let [s "Hello, Wörld! 😀"] [(count (filter #(Character/isLetter %) "Wörld")) (clojure.string/upper-case "ß") (clojure.string/index-of s "W") (subs s 7 12) (clojure.string/starts-with? s "Hell") (map int "é") (vec (.getBytes "é" "UTF-8"))])
;=> [5 "SS" 7 "Wörld" true (233) [-61 -87]]

; name: truth
[(boolean nil) (boolean 0) (if [] :t :f) (and 1 nil 2) (or nil false 3) (when-not nil 1) (not= 1 2) (if-not true 1 2) (some-> nil inc) (nil? nil) (true? 1) (every? identity [])]
;=> [false true :t nil 3 1 true 2 nil true false true]

; name: four ways to group
(let [data [{:k "a" :v 1} {:k "b" :v 2} {:k "a" :v 3}]] [(update-vals (group-by :k data) #(transduce (map :v) + %)) (apply merge-with + (map (fn [{:keys [k v]}] {k v}) data)) (into {} (for [[k vs] (group-by :k data)] [k (mapv :v vs)])) (reduce (fn [m {:keys [k v]}] (assoc m k (max v (get m k 0)))) {} data)])
;=> [{"a" 4, "b" 2} {"a" 4, "b" 2} {"a" [1 3], "b" [2]} {"a" 3, "b" 2}]

; name: fizzbuzz
(let [fizz (fn [n] (cond (zero? (mod n 15)) "FizzBuzz" (zero? (mod n 5)) "Buzz" (zero? (mod n 3)) "Fizz" :else n))] (clojure.string/join " " (map fizz (range 1 16))))
;=> "1 2 Fizz 4 Buzz Fizz 7 8 Fizz Buzz 11 Fizz 13 14 FizzBuzz"

; name: lines of numbers
(let [in "3 4\n5 6\n\n7 8"] (->> (clojure.string/split-lines in) (remove clojure.string/blank?) (map #(mapv parse-long (clojure.string/split % #" "))) (map (fn [[a b]] (* a b))) (apply +)))
;=> 98

; name: windows of a vector
(let [v (vec (range 10))] [(subvec v 2 5) (split-at 3 v) (take-nth 3 v) (partition 3 v) (partition-all 4 v) (rseq v) (nthnext v 7) (mapv vec (partition 2 1 v)) (reductions + v) (keep #(when (even? %) (* % %)) v) (group-by #(mod % 3) v)])
;=> [[2 3 4] [(0 1 2) (3 4 5 6 7 8 9)] (0 3 6 9) ((0 1 2) (3 4 5) (6 7 8)) ((0 1 2 3) (4 5 6 7) (8 9)) (9 8 7 6 5 4 3 2 1 0) (7 8 9) [[0 1] [1 2] [2 3] [3 4] [4 5] [5 6] [6 7] [7 8] [8 9]] (0 1 3 6 10 15 21 28 36 45) (0 4 16 36 64) {0 [0 3 6 9], 1 [1 4 7], 2 [2 5 8]}]

; name: printing
(with-out-str (run! println [1 2]) (print "a" "b") (newline) (pr "q" :k) (prn) (println (str "x" nil) [nil "s" \c]))
;=> "1\n2\na b\n\"q\" :k\nx [nil s c]\n"

; name: cause of an exception
(let [e (try (throw (ex-info "boom" {:code 42} (RuntimeException. "inner"))) (catch Exception e e))] [(ex-message e) (ex-data e) (.getMessage (.getCause e)) (instance? clojure.lang.ExceptionInfo e) (:code (ex-data e)) (str (class e))])
;=> ["boom" {:code 42} "inner" true 42 "class clojure.lang.ExceptionInfo"]
