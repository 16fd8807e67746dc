;;; Whole programs as a model writes them for reports: joins, pivots, dates, parsing, records, transducers, tables of text.

;;data sales [{"id": 1, "rep": "Ann", "region": "north", "product": "widget", "amount": 120.5, "qty": 3, "date": "2024-01-15"}, {"id": 2, "rep": "Bob", "region": "south", "product": "gadget", "amount": 80.0, "qty": 1, "date": "2024-01-20"}, {"id": 3, "rep": "Ann", "region": "north", "product": "gadget", "amount": 200.25, "qty": 5, "date": "2024-02-03"}, {"id": 4, "rep": "Cid", "region": "east", "product": "widget", "amount": 15.75, "qty": 1, "date": "2024-02-11"}, {"id": 5, "rep": "Bob", "region": "south", "product": "widget", "amount": 99.99, "qty": 2, "date": "2024-03-01"}, {"id": 6, "rep": "Dee", "region": "north", "product": "doohickey", "amount": 310.0, "qty": 10, "date": "2024-03-29"}]
;;data reps [{"name": "Ann", "team": "A", "quota": 300, "hired": "2020-05-01"}, {"name": "Bob", "team": "B", "quota": 250, "hired": "2019-11-15"}, {"name": "Cid", "team": "A", "quota": 100, "hired": "2023-08-30"}, {"name": "Eve", "team": "B", "quota": 500, "hired": "2024-01-02"}]
;;data log ["2024-05-01T08:00:01Z INFO  [auth] user=ann action=login ip=10.0.0.1 ms=12", "2024-05-01T08:00:05Z WARN  [db] slow query ms=1530 table=orders", "2024-05-01T08:01:00Z ERROR [auth] user=bob action=login failed ip=10.0.0.7 ms=40", "2024-05-01T08:02:10Z INFO  [web] GET /items?id=7 200 ms=33", "2024-05-01T08:02:11Z INFO  [web] GET /items?id=8 404 ms=8", "garbage line", "2024-05-01T09:15:00Z ERROR [db] deadlock ms=5000 table=orders"]
;;data tree {"name": "repo", "size": 0, "children": [{"name": "src", "size": 10, "children": [{"name": "a.clj", "size": 120}, {"name": "b.clj", "size": 80}]}, {"name": "doc", "size": 5, "children": []}, {"name": "README", "size": 33}]}
;;data grades {"math": {"ann": 90, "bob": 72, "cid": 85}, "art": {"ann": 65, "bob": 99}, "pe": {"cid": 70, "ann": 88}}

; name: attainment by rep with outer join
(let [sold (reduce (fn [acc {:keys [rep amount]}] (update acc rep (fnil + 0) amount)) {} data/sales)
      quota (into {} (map (juxt :name :quota)) data/reps)]
  (->> (into (set (keys sold)) (keys quota))
       (map (fn [n] (let [s (get sold n 0) q (get quota n)]
                      {:rep n :sold s :quota q
                       :pct (when q (Math/round (* 100.0 (/ s q))))})))
       (sort-by (juxt (comp - #(or % -1) :pct) :rep))
       vec))
;=> [{:rep "Ann", :sold 320.75, :quota 300, :pct 107} {:rep "Bob", :sold 179.99, :quota 250, :pct 72} {:rep "Cid", :sold 15.75, :quota 100, :pct 16} {:rep "Eve", :sold 0, :quota 500, :pct 0} {:rep "Dee", :sold 310.0, :quota nil, :pct nil}]

; name: pivot region by month
(let [month #(subs (:date %) 0 7)
      months (sort (distinct (map month data/sales)))
      regions (sort (distinct (map :region data/sales)))
      cell (fn [r m] (->> data/sales
                          (filter #(and (= r (:region %)) (= m (month %))))
                          (map :amount)
                          (reduce + 0)))]
  (into [(into ["region"] months)]
        (for [r regions] (into [r] (map #(cell r %) months)))))
;=> [["region" "2024-01" "2024-02" "2024-03"] ["east" 0 15.75 0] ["north" 120.5 200.25 310.0] ["south" 80.0 0 99.99]]

; name: text table with padding
(let [rows (map (juxt :rep :product :amount) data/sales)
      widths (apply map (fn [& xs] (apply max (map (comp count str) xs))) rows)
      line (fn [row] (clojure.string/join " | " (map (fn [w x] (format (str "%-" w "s") x)) widths row)))]
  (mapv line rows))
;=> ["Ann | widget    | 120.5 " "Bob | gadget    | 80.0  " "Ann | gadget    | 200.25" "Cid | widget    | 15.75 " "Bob | widget    | 99.99 " "Dee | doohickey | 310.0 "]

; name: running totals and rank
(->> data/sales
     (sort-by :date)
     (reductions (fn [{:keys [total]} {:keys [id amount]}] {:id id :total (+ total amount)}) {:total 0.0})
     rest
     (map-indexed (fn [i m] (assoc m :n (inc i) :total (/ (Math/round (* 100 (:total m))) 100.0))))
     (into []))
;=> [{:id 1, :total 120.5, :n 1} {:id 2, :total 200.5, :n 2} {:id 3, :total 400.75, :n 3} {:id 4, :total 416.5, :n 4} {:id 5, :total 516.49, :n 5} {:id 6, :total 826.49, :n 6}]

; name: quarter grouping with java time
(let [quarter (fn [d] (let [ld (java.time.LocalDate/parse d)]
                        (str (.getYear ld) "-Q" (inc (quot (dec (.getMonthValue ld)) 3)))))]
  (->> data/sales (group-by (comp quarter :date)) (map (fn [[q xs]] [q (count xs) (reduce max (map :amount xs))])) (sort) vec))
;=> [["2024-Q1" 6 310.0]]

; name: tenure in years months days
(let [today (java.time.LocalDate/of 2024 4 1)]
  (vec (for [{:keys [name hired]} (sort-by :hired data/reps)
             :let [p (java.time.Period/between (java.time.LocalDate/parse hired) today)]]
         [name (.getYears p) (.getMonths p) (.getDays p) (.between java.time.temporal.ChronoUnit/DAYS (java.time.LocalDate/parse hired) today)])))
;=> [["Bob" 4 4 17 1599] ["Ann" 3 11 0 1431] ["Cid" 0 7 2 215] ["Eve" 0 2 30 90]]

; name: parse log lines into records
(let [re #"^(\S+) (\w+)\s+\[(\w+)\] (.*)$"
      parse (fn [line] (when-let [[_ ts level unit msg] (re-matches re line)]
                         {:ts ts :level (keyword (clojure.string/lower-case level)) :unit unit
                          :ms (some->> (re-find #"ms=(\d+)" msg) second parse-long)
                          :kv (into {} (map (fn [[_ k v]] [(keyword k) v]) (re-seq #"(\w+)=(\S+)" msg)))}))]
  (->> data/log (keep parse) (mapv #(update % :kv dissoc :ms))))
;=> [{:ts "2024-05-01T08:00:01Z", :level :info, :unit "auth", :ms 12, :kv {:user "ann", :action "login", :ip "10.0.0.1"}} {:ts "2024-05-01T08:00:05Z", :level :warn, :unit "db", :ms 1530, :kv {:table "orders"}} {:ts "2024-05-01T08:01:00Z", :level :error, :unit "auth", :ms 40, :kv {:user "bob", :action "login", :ip "10.0.0.7"}} {:ts "2024-05-01T08:02:10Z", :level :info, :unit "web", :ms 33, :kv {:id "7"}} {:ts "2024-05-01T08:02:11Z", :level :info, :unit "web", :ms 8, :kv {:id "8"}} {:ts "2024-05-01T09:15:00Z", :level :error, :unit "db", :ms 5000, :kv {:table "orders"}}]

; name: slowest per unit and percentiles
(let [ms (->> data/log (keep #(second (re-find #"ms=(\d+)" %))) (map #(Long/parseLong %)) sort vec)
      pct (fn [p] (nth ms (min (dec (count ms)) (int (Math/floor (* p (count ms)))))))]
  {:n (count ms) :p50 (pct 0.5) :p90 (pct 0.9) :max (peek ms) :mean (double (/ (reduce + ms) (count ms)))})
;=> {:n 6, :p50 40, :p90 5000, :max 5000, :mean 1103.833333333333}

; name: events per minute with instants
(->> data/log
     (keep #(try (java.time.Instant/parse (first (clojure.string/split % #" "))) (catch Exception _ nil)))
     (map #(.truncatedTo % java.time.temporal.ChronoUnit/MINUTES))
     frequencies
     (map (fn [[k v]] [(str k) v]))
     (sort-by first)
     vec)
;=> [["2024-05-01T08:00:00Z" 2] ["2024-05-01T08:01:00Z" 1] ["2024-05-01T08:02:00Z" 2] ["2024-05-01T09:15:00Z" 1]]

; name: query string parsing
(->> data/log
     (keep #(second (re-find #"GET (\S+)" %)))
     (mapv (fn [url] (let [[path q] (clojure.string/split url #"\?" 2)]
                       {:path path
                        :params (when q (->> (clojure.string/split q #"&")
                                             (map #(clojure.string/split % #"="))
                                             (map (fn [[k v]] [(keyword k) (parse-long v)]))
                                             (into {})))}))))
;=> [{:path "/items", :params {:id 7}} {:path "/items", :params {:id 8}}]

; name: walk a tree with paths
(letfn [(walk [prefix {:keys [name size children]}]
          (let [path (str prefix "/" name)]
            (cons [path size] (mapcat #(walk path %) children))))]
  (vec (walk "" data/tree)))
;=> [["/repo" 0] ["/repo/src" 10] ["/repo/src/a.clj" 120] ["/repo/src/b.clj" 80] ["/repo/doc" 5] ["/repo/README" 33]]

; name: total sizes bottom up
(let [total (fn total [{:keys [size children] :as node}]
              (let [kids (mapv total children)]
                (-> node (assoc :total (apply + size (map :total kids))) (dissoc :size) (assoc :children kids))))]
  (->> (total data/tree) (tree-seq :children :children) (map (juxt :name :total)) (into (sorted-map))))
;=> {"README" 33, "a.clj" 120, "b.clj" 80, "doc" 5, "repo" 248, "src" 210}

; name: transpose nested map
(reduce-kv (fn [acc subject scores]
             (reduce-kv (fn [a student score] (assoc-in a [student subject] score)) acc scores))
           (sorted-map) data/grades)
;=> {:ann {:math 90, :art 65, :pe 88}, :bob {:math 72, :art 99}, :cid {:math 85, :pe 70}}

; name: grade average with letter
(let [letter #(condp <= % 90 "A" 80 "B" 70 "C" "F")
      by-student (apply merge-with into (for [[_ m] data/grades [s g] m] {s [g]}))]
  (into (sorted-map) (map (fn [[s gs]] [s (let [avg (/ (reduce + gs) (double (count gs)))] [(format "%.1f" avg) (letter avg)])])) by-student))
;=> {:ann ["81.0" "B"], :bob ["85.5" "B"], :cid ["77.5" "C"]}

; name: records and protocols for shapes
(defprotocol Shape (area [s]) (scale [s k]))
(defrecord Rect [w h] Shape (area [_] (* w h)) (scale [this k] (-> this (update :w * k) (update :h * k))))
(defrecord Circle [r] Shape (area [_] (* Math/PI r r)) (scale [this k] (update this :r * k)))
(let [shapes [(->Rect 2 3) (map->Circle {:r 1.5}) (scale (->Rect 1 1) 4)]]
  {:areas (mapv #(format "%.2f" (double (area %))) shapes)
   :types (mapv #(.getSimpleName (class %)) shapes)
   :wide (mapv :w (filter #(instance? Rect %) shapes))
   :eq (= (->Rect 1 2) (->Rect 1 2))
   :as-map (into {} (->Rect 1 2))})
;=> {:areas ["6.00" "7.07" "16.00"], :types ["Rect" "Circle" "Rect"], :wide [2 4], :eq true, :as-map {:w 1, :h 2}}

; name: multimethod pricing with hierarchy
(derive ::gold ::member)
(derive ::silver ::member)
(defmulti discount (fn [tier total] tier))
(defmethod discount ::member [_ total] (* 0.05 total))
(defmethod discount ::gold [_ total] (+ 5 (* 0.1 total)))
(defmethod discount :default [_ _] 0)
(mapv #(discount % 200) [::gold ::silver ::guest])
;=> [25.0 10.0 0]

; name: state machine over events
(let [transitions {:idle {:start :running} :running {:pause :paused :stop :done} :paused {:resume :running :stop :done}}
      step (fn [{:keys [state log]} event]
             (if-let [next (get-in transitions [state event])]
               {:state next :log (conj log [state event next])}
               (reduced {:state :error :log (conj log [state event :invalid])})))]
  [(reduce step {:state :idle :log []} [:start :pause :resume :stop])
   (reduce step {:state :idle :log []} [:start :resume :stop])])
;=> [{:state :done, :log [[:idle :start :running] [:running :pause :paused] [:paused :resume :running] [:running :stop :done]]} {:state :error, :log [[:idle :start :running] [:running :resume :invalid]]}]

; name: transducer pipeline with early stop
(let [xf (comp (filter #(> (:amount %) 50))
               (map #(select-keys % [:rep :amount]))
               (map-indexed (fn [i m] (assoc m :n i)))
               (take 3))]
  [(into [] xf data/sales)
   (transduce (comp xf (map :amount)) + data/sales)
   (sequence (comp (map :rep) (dedupe)) data/sales)])
;=> [[{:rep "Ann", :amount 120.5, :n 0} {:rep "Bob", :amount 80.0, :n 1} {:rep "Ann", :amount 200.25, :n 2}] 400.75 ("Ann" "Bob" "Ann" "Cid" "Bob" "Dee")]

; name: partition by sign and sum runs
(->> [1 2 -1 -3 4 0 5 -2]
     (partition-by neg?)
     (map (fn [run] {:run (vec run) :sum (apply + run)}))
     (sort-by :sum)
     vec)
;=> [{:run [-1 -3], :sum -4} {:run [-2], :sum -2} {:run [1 2], :sum 3} {:run [4 0 5], :sum 9}]

; name: roman numerals both ways
(let [table [[1000 "M"] [900 "CM"] [500 "D"] [400 "CD"] [100 "C"] [90 "XC"] [50 "L"] [40 "XL"] [10 "X"] [9 "IX"] [5 "V"] [4 "IV"] [1 "I"]]
      to-roman (fn [n] (loop [n n out ""] (if (zero? n) out (let [[v s] (first (filter #(<= (first %) n) table))] (recur (- n v) (str out s))))))
      values {\I 1 \V 5 \X 10 \L 50 \C 100 \D 500 \M 1000}
      from-roman (fn [s] (->> (map values s) (partition-all 2 1) (map (fn [[a b]] (if (and b (< a b)) (- a) a))) (reduce +)))]
  (for [n [1994 2024 49 3888]] [n (to-roman n) (= n (from-roman (to-roman n)))]))
;=> ([1994 "MCMXCIV" true] [2024 "MMXXIV" true] [49 "XLIX" true] [3888 "MMMDCCCLXXXVIII" true])

; name: word wrap
(let [wrap (fn [width text]
             (loop [[w & more :as words] (clojure.string/split text #"\s+") line "" lines []]
               (cond
                 (empty? words) (if (seq line) (conj lines line) lines)
                 (empty? line) (recur more w lines)
                 (<= (+ (count line) 1 (count w)) width) (recur more (str line " " w) lines)
                 :else (recur words "" (conj lines line)))))]
  (wrap 16 "The quick brown fox jumps over the lazy dog and runs away"))
;=> ["The quick brown" "fox jumps over" "the lazy dog and" "runs away"]

; name: csv with quoted fields
(let [csv "name,notes,qty\n\"Smith, J\",\"said \"\"hi\"\"\",3\nDoe,,12"
      parse-line (fn [line] (mapv (fn [[_ quoted plain]] (if quoted (clojure.string/replace quoted "\"\"" "\"") plain))
                                  (re-seq #"(?:^|,)(?:\"((?:[^\"]|\"\")*)\"|([^,]*))" line)))
      [header & rows] (map parse-line (clojure.string/split-lines csv))]
  (mapv #(zipmap (map keyword header) %) rows))
;=> [{:name "Smith, J", :notes "said \"hi\"", :qty "3"} {:name "Doe", :notes "", :qty "12"}]

; name: template rendering
(let [tpl "Dear {{name}}, you owe {{amount}} by {{due}}. {{missing}}"
      render (fn [t m] (clojure.string/replace t #"\{\{(\w+)\}\}" (fn [[_ k]] (str (get m (keyword k) (str "<" k "?>"))))))]
  (render tpl {:name "Ann" :amount (format "$%,.2f" 1234.5) :due "2024-06-30"}))
;=> "Dear Ann, you owe $1,234.50 by 2024-06-30. <missing?>"

; name: top n per group with ties
(let [top-n (fn [n k coll] (take n (sort-by (juxt (comp - k) :id) coll)))]
  (into (sorted-map)
        (for [[region rows] (group-by :region data/sales)]
          [region (mapv :id (top-n 2 :amount rows))])))
;=> {"east" [4], "north" [6 3], "south" [5 2]}

; name: moving average and deltas
(let [xs (mapv :amount data/sales)
      r2 #(/ (Math/round (* % 100.0)) 100.0)]
  {:ma3 (mapv #(r2 (/ (apply + %) 3)) (partition 3 1 xs))
   :delta (mapv (fn [[a b]] (r2 (- b a))) (partition 2 1 xs))
   :growth (mapv (fn [a b] (format "%+.1f%%" (* 100 (/ (- b a) a)))) xs (rest xs))})
;=> {:ma3 [133.58 98.67 105.33 141.91], :delta [-40.5 120.25 -184.5 84.24 210.01], :growth ["-33.6%" "+150.3%" "-92.1%" "+534.9%" "+210.0%"]}

; name: inventory fold with validation errors
(let [events [[:in "a" 5] [:out "a" 2] [:out "b" 1] [:in "b" 4] [:out "b" 9] [:noop "c" 1]]
      apply-event (fn [stock [op sku n :as ev]]
                    (let [have (get-in stock [:items sku] 0)]
                      (case op
                        :in (assoc-in stock [:items sku] (+ have n))
                        :out (if (>= have n)
                               (assoc-in stock [:items sku] (- have n))
                               (update stock :errors (fnil conj []) {:event ev :have have}))
                        (update stock :errors (fnil conj []) {:event ev :reason "unknown op"}))))]
  (reduce apply-event {:items {}} events))
;=> {:items {"a" 3, "b" 4}, :errors [{:event [:out "b" 1], :have 0} {:event [:out "b" 9], :have 4} {:event [:noop "c" 1], :reason "unknown op"}]}

; name: try catch per row
(let [rows ["12" "x" nil "7.5" "-3"]
      safe (fn [s] (try {:ok (Integer/parseInt s)} (catch NumberFormatException e {:error :not-a-number}) (catch Exception e {:error :other})))]
  (mapv safe rows))
;=> [{:ok 12} {:error :not-a-number} {:error :not-a-number} {:error :not-a-number} {:ok -3}]

; name: ex-info with data and finally
(let [log (atom [])
      run (fn [x] (try
                    (when (neg? x) (throw (ex-info "negative" {:x x})))
                    (/ 100 x)
                    (catch clojure.lang.ExceptionInfo e [(ex-message e) (:x (ex-data e))])
                    (catch ArithmeticException e :div)
                    (finally (swap! log conj x))))]
  [(mapv run [5 0 -2]) @log])
;=> [[20 :div ["negative" -2]] [5 0 -2]]

; name: memoized fibonacci and collatz
(let [fib (memoize (fn [n] (if (< n 2) n (+ (nth (iterate (fn [[a b]] [b (+' a b)]) [0 1]) n) 0))))
      collatz (fn [n] (count (take-while #(not= 1 %) (iterate #(if (even? %) (/ % 2) (inc (* 3 %))) n))))]
  [(ffirst (drop 50 (iterate (fn [[a b]] [b (+ a b)]) [0 1]))) (mapv collatz [6 7 27])])
;=> [12586269025 [8 16 111]]

; name: matrix multiply and transpose
(let [a [[1 2] [3 4] [5 6]] b [[7 8 9] [10 11 12]]
      t (fn [m] (apply mapv vector m))
      mul (fn [a b] (let [bt (t b)] (mapv (fn [row] (mapv (fn [col] (reduce + (map * row col))) bt)) a)))]
  {:ab (mul a b) :t (t a) :trace (reduce + (map-indexed (fn [i row] (nth row i)) (mul b a)))})
;=> {:ab [[27 30 33] [61 68 75] [95 106 117]], :t [[1 3 5] [2 4 6]], :trace 212}

; name: topological order
(let [deps {:a #{} :b #{:a} :c #{:a} :d #{:b :c} :e #{:d}}]
  (loop [deps deps order []]
    (if (empty? deps)
      order
      (let [ready (sort (keep (fn [[k v]] (when (empty? v) k)) deps))]
        (if (empty? ready)
          :cycle
          (recur (into {} (for [[k v] (apply dissoc deps ready)] [k (apply disj v ready)]))
                 (into order ready)))))))
;=> [:a :b :c :d :e]

; name: caesar and vigenere
(let [shift (fn [k c] (let [i (int c)] (cond (Character/isUpperCase c) (char (+ 65 (mod (+ (- i 65) k) 26)))
                                             (Character/isLowerCase c) (char (+ 97 (mod (+ (- i 97) k) 26)))
                                             :else c)))
      caesar (fn [k s] (apply str (map #(shift k %) s)))]
  [(caesar 3 "Hello, World!") (caesar -3 (caesar 3 "Hello, World!"))
   (apply str (map (fn [c k] (shift (- (int k) 97) c)) "attack" (cycle "lemon")))])
;=> ["Khoor, Zruog!" "Hello, World!" "lxfopv"]

; name: anagrams and letter counts
(let [words ["listen" "silent" "enlist" "google" "gogole" "cat" "act"]]
  [(->> words (group-by (comp vec sort)) vals (filter next) (map sort) (sort-by first) vec)
   (->> (apply str words) frequencies (sort-by (juxt (comp - val) key)) (take 3) (mapv (fn [[c n]] [(str c) n])))])
;=> [[("act" "cat") ("enlist" "listen" "silent") ("gogole" "google")] [["e" 5] ["l" 5] ["t" 5]]]

; name: destructuring everywhere
(let [{:keys [name size owner] [first-child & others] :children :or {size -1 owner "nobody"} :as node} data/tree]
  [name size owner (:name first-child) (count others) (count node)])
;=> ["repo" 0 "nobody" "src" 2 3]

; name: nested destructuring in fn args with keyword args
(defn report [{[a b & more] :xs {:keys [x] :or {x 0}} :m} & {:keys [sep limit] :or {sep "-" limit 2}}]
  (clojure.string/join sep (take limit (concat [a b x] more))))
[(report {:xs [1 2 3 4] :m {:x 9}}) (report {:xs [1 2 3 4]} :limit 5 :sep "/") (report {:xs []} :limit 1)]
;=> ["1-2" "1/2/0/3/4" ""]

; name: date ranges and weekdays
(let [start (java.time.LocalDate/of 2024 2 26)
      days (map #(.plusDays start %) (range 10))
      weekday? (fn [d] (<= (.getValue (.getDayOfWeek d)) 5))]
  {:workdays (count (filter weekday? days))
   :names (mapv #(subs (str (.getDayOfWeek %)) 0 3) (take 4 days))
   :leap (.isLeapYear start)
   :last (str (last days))
   :month-ends (mapv #(str (.with % (java.time.temporal.TemporalAdjusters/lastDayOfMonth))) [start (.plusMonths start 1)])})
;=> {:workdays 8, :names ["MON" "TUE" "WED" "THU"], :leap true, :last "2024-03-06", :month-ends ["2024-02-29" "2024-03-31"]}

; name: durations pretty printed
(let [fmt (fn [s] (let [h (quot s 3600) m (quot (rem s 3600) 60) s (rem s 60)] (format "%02d:%02d:%02d" h m s)))
      d (java.time.Duration/between (java.time.Instant/parse "2024-05-01T08:00:01Z") (java.time.Instant/parse "2024-05-01T09:15:00Z"))]
  [(fmt (.getSeconds d)) (.toMinutes d) (str d) (fmt 86399)])
;=> ["01:14:59" 74 "PT1H14M59S" "23:59:59"]

; name: format dates with patterns
(let [f (java.time.format.DateTimeFormatter/ofPattern "dd MMM yyyy, EEE")
      g (java.time.format.DateTimeFormatter/ofPattern "M/d/yy")]
  (mapv (fn [{:keys [date]}] (let [d (java.time.LocalDate/parse date)] [(.format d f) (.format g d)])) (take 2 data/sales)))
;=> [["15 Jan 2024, Mon" "1/15/24"] ["20 Jan 2024, Sat" "1/20/24"]]

; name: sorted map range queries
(let [m (into (sorted-map) (map (juxt :date :id)) data/sales)]
  {:from (subseq m >= "2024-02-01" < "2024-03-15")
   :last (first (rseq m))
   :before (map val (rsubseq m < "2024-02-01"))
   :first-key (key (first m))})
;=> {:from (["2024-02-03" 3] ["2024-02-11" 4] ["2024-03-01" 5]), :last ["2024-03-29" 6], :before (2 1), :first-key "2024-01-15"}

; name: set algebra over tags
(let [tags {:p1 #{:red :big} :p2 #{:red :small} :p3 #{:blue :big}}
      index (apply merge-with clojure.set/union (for [[p ts] tags t ts] {t #{p}}))]
  {:index index
   :red-not-big (clojure.set/difference (:red index) (:big index))
   :all (reduce clojure.set/union (vals tags))
   :common (reduce clojure.set/intersection (vals (select-keys tags [:p1 :p3])))
   :join (clojure.set/join #{{:id 1 :t :red}} #{{:t :red :hex "f00"}})})
;=> {:index {:big #{:p3 :p1}, :red #{:p2 :p1}, :small #{:p2}, :blue #{:p3}}, :red-not-big #{:p2}, :all #{:big :small :red :blue}, :common #{:big}, :join #{{:id 1, :t :red, :hex "f00"}}}

; name: bitmask permissions
(let [perms {:read 1 :write 2 :exec 4}
      encode (fn [ks] (reduce bit-or 0 (map perms ks)))
      decode (fn [n] (set (for [[k v] perms :when (pos? (bit-and n v))] k)))]
  [(encode [:read :exec]) (decode 6) (bit-xor 7 (encode [:write])) (Integer/toBinaryString (bit-shift-left 5 3)) (format "%04x" (bit-and 0xBEEF 0xFF0F))])
;=> [5 #{:exec :write} 5 "101000" "be0f"]

; name: lazy primes and perfect numbers
(letfn [(primes [] (let [step (fn step [s] (lazy-seq (cons (first s) (step (remove #(zero? (mod % (first s))) (rest s))))))] (step (iterate inc 2))))
        (divisors [n] (filter #(zero? (rem n %)) (range 1 n)))]
  [(take 10 (primes)) (filter #(= % (reduce + (divisors %))) (range 2 500)) (first (drop-while #(< % 50) (primes)))])
;=> [(2 3 5 7 11 13 17 19 23 29) (6 28 496) 53]

; name: zipper free json update
(let [doc {:users [{:id 1 :tags ["a" "b"]} {:id 2 :tags []}]}]
  [(update-in doc [:users 0 :tags] conj "c")
   (assoc-in doc [:users 1 :name] "Bo")
   (get-in doc [:users 0 :tags 1])
   (update doc :users (partial mapv #(update % :tags count)))
   (clojure.walk/postwalk #(if (map? %) (dissoc % :tags) %) doc)])
;=> [{:users [{:id 1, :tags ["a" "b" "c"]} {:id 2, :tags []}]} {:users [{:id 1, :tags ["a" "b"]} {:id 2, :tags [], :name "Bo"}]} "b" {:users [{:id 1, :tags 2} {:id 2, :tags 0}]} {:users [{:id 1} {:id 2}]}]

; name: keyword and symbol juggling
[(map (comp keyword clojure.string/lower-case name) [:Foo 'Bar "BAZ"])
 (into {} (map (fn [[k v]] [(keyword "ns" (name k)) v])) {:a 1 :b 2})
 (clojure.walk/stringify-keys {:a {:b 1}})
 (clojure.walk/keywordize-keys {"a" {"b" [1 {"c" 2}]}})
 (namespace :x/y) (name :x/y) (str :k) (symbol "s") (str 'a/b)]
;=> [(:foo :bar :baz) {:ns/a 1, :ns/b 2} {"a" {"b" 1}} {:a {:b [1 {:c 2}]}} "x" "y" ":k" s "a/b"]

; name: string case conversions
(let [words (fn [s] (re-seq #"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+" s))
      kebab #(clojure.string/join "-" (map clojure.string/lower-case (words %)))
      camel #(let [[w & ws] (words %)] (apply str (clojure.string/lower-case w) (map clojure.string/capitalize ws)))
      snake #(clojure.string/replace (kebab %) "-" "_")]
  (mapv (juxt kebab camel snake) ["someHTTPValue2" "order-line item" "Already_Snake"]))
;=> [["some-http-value-2" "someHttpValue2" "some_http_value_2"] ["order-line-item" "orderLineItem" "order_line_item"] ["already-snake" "alreadySnake" "already_snake"]]

; name: atoms watch and swap history
(let [history (atom []) a (atom {:n 0})]
  (add-watch a :h (fn [_ _ old new] (swap! history conj [(:n old) (:n new)])))
  (dotimes [i 3] (swap! a update :n + i))
  (reset! a {:n 100})
  (remove-watch a :h)
  (swap! a assoc :n -1)
  [@history @a])
;=> [[[0 0] [0 1] [1 3] [3 100]] {:n -1}]

; name: for with when while let and destructuring
(for [[k {:strs [ann bob]}] [["x" {"ann" 1 "bob" 2}] ["y" {"ann" 3}]]
      n [ann bob]
      :when n
      :let [sq (* n n)]
      :while (< sq 10)]
  [k n sq])
;=> (["x" 1 1] ["x" 2 4] ["y" 3 9])

; name: letfn mutual recursion and trampoline
(letfn [(ev? [n] (if (zero? n) true #(od? (dec n)))) (od? [n] (if (zero? n) false #(ev? (dec n))))]
  [(trampoline ev? 1000) (trampoline od? 7)])
;=> [true true]

; name: percent breakdown that sums to 100
(let [counts (frequencies (map :product data/sales))
      total (reduce + (vals counts))
      raw (into {} (map (fn [[k v]] [k (* 100.0 (/ v total))])) counts)
      floors (into {} (map (fn [[k v]] [k (long (Math/floor v))])) raw)
      missing (- 100 (reduce + (vals floors)))
      bump (->> raw (sort-by (fn [[k v]] [(- (- v (Math/floor v))) k])) (map first) (take missing) set)]
  (into (sorted-map) (map (fn [[k v]] [k (if (bump k) (inc v) v)])) floors))
;=> {"doohickey" 17, "gadget" 33, "widget" 50}

; name: histogram buckets
(let [bucket (fn [x] (* 100 (quot (long x) 100)))
      h (->> data/sales (map (comp bucket :amount)) frequencies)]
  (for [b (range 0 400 100)] (str (format "%3d" b) " " (apply str (repeat (get h b 0) \#)))))
;=> ("  0 ###" "100 #" "200 #" "300 #")

; name: gcd lcm and fractions
(let [gcd (fn [a b] (if (zero? b) a (recur b (mod a b))))
      lcm (fn [a b] (/ (* a b) (gcd a b)))
      reduce-frac (fn [[n d]] (let [g (gcd n d)] [(/ n g) (/ d g)]))]
  [(gcd 48 36) (reduce lcm [4 6 10]) (reduce-frac [42 56]) (reduce gcd [12 18 27])])
;=> [12 60 [3 4] 3]

; name: stats standard deviation and median
(let [xs (map :amount data/sales)
      n (count xs) mean (/ (reduce + xs) n)
      var (/ (reduce + (map #(Math/pow (- % mean) 2) xs)) (dec n))
      sorted (sort xs)
      median (let [m (quot n 2)] (if (even? n) (/ (+ (nth sorted (dec m)) (nth sorted m)) 2) (nth sorted m)))]
  {:mean (format "%.3f" mean) :sd (format "%.3f" (Math/sqrt var)) :median median :range (- (apply max xs) (apply min xs))})
;=> {:mean "137.748", :sd "103.459", :median 110.245, :range 294.25}

; name: interleave zip and unzip
(let [names ["a" "b" "c"] vals [1 2 3]
      pairs (map vector names vals)
      [ns vs] (apply map list pairs)]
  [(interleave names vals) (zipmap names vals) ns vs (apply hash-map (interleave names vals)) (partition 2 (interpose :x names)) (mapcat repeat vals names)])
;=> [("a" 1 "b" 2 "c" 3) {"a" 1, "b" 2, "c" 3} ("a" "b" "c") (1 2 3) {"a" 1, "b" 2, "c" 3} (("a" :x) ("b" :x)) ("a" "b" "b" "c" "c" "c")]

; name: luhn and checksum
(let [luhn? (fn [s] (->> (clojure.string/replace s " " "") reverse (map #(Character/digit % 10))
                         (map-indexed (fn [i d] (if (odd? i) (let [x (* 2 d)] (if (> x 9) (- x 9) x)) d)))
                         (apply +) (#(zero? (mod % 10)))))]
  (map luhn? ["4539 1488 0343 6467" "8273 1232 7352 0569"]))
;=> (true false)

; name: game of life step
(let [neighbours (fn [[x y]] (for [dx [-1 0 1] dy [-1 0 1] :when (not= 0 dx dy)] [(+ x dx) (+ y dy)]))
      step (fn [cells] (set (for [[c n] (frequencies (mapcat neighbours cells)) :when (or (= n 3) (and (= n 2) (cells c)))] c)))]
  (map (comp sort step) [#{[1 0] [1 1] [1 2]} #{[0 0] [0 1] [1 0] [1 1]}]))
;=> (([0 1] [1 1] [2 1]) ([0 0] [0 1] [1 0] [1 1]))

; name: balanced brackets with a stack
(let [pairs {\) \( \] \[ \} \{}
      ok? (fn [s] (empty? (reduce (fn [st c] (cond ((set (vals pairs)) c) (conj st c)
                                                   (contains? pairs c) (if (= (peek st) (pairs c)) (pop st) (reduced [:bad]))
                                                   :else st)) [] s)))]
  (mapv ok? ["([]{})" "([)]" "((" "a(b)c" ""]))
;=> [true false false true true]

; name: run length encode and decode
(let [encode (fn [s] (apply str (mapcat (fn [g] [(count g) (first g)]) (partition-by identity s))))
      decode (fn [s] (apply str (mapcat (fn [[_ n c]] (repeat (Integer/parseInt n) c)) (re-seq #"(\d+)(\D)" s))))]
  [(encode "aaabccd") (decode (encode "aaabccd")) (= "zzzz" (decode (encode "zzzz")))])
;=> ["3a1b2c1d" "aaabccd" true]

; name: binary search and insertion point
(let [v (vec (range 0 100 7))
      search (fn [x] (loop [lo 0 hi (count v)]
                       (if (>= lo hi) {:insert lo}
                         (let [mid (quot (+ lo hi) 2) y (v mid)]
                           (cond (= x y) {:found mid} (< x y) (recur lo mid) :else (recur (inc mid) hi))))))]
  [(map search [0 49 50 99 -1]) (.indexOf v 49)])
;=> [({:found 0} {:found 7} {:insert 8} {:insert 15} {:insert 0}) 7]

; name: greedy change and knapsack
(let [change (fn [coins n] (reduce (fn [[left used] c] [(rem left c) (if (>= left c) (assoc used c (quot left c)) used)]) [n (sorted-map)] coins))
      knap (fn [items cap] (peek (reduce (fn [row [w v]] (mapv (fn [c] (if (< c w) (row c) (max (row c) (+ v (row (- c w)))))) (range (inc cap)))) (vec (repeat (inc cap) 0)) items)))]
  [(change [25 10 5 1] 68) (knap [[1 1] [3 4] [4 5] [5 7]] 7)])
;=> [[0 {1 3, 5 1, 10 1, 25 2}] 9]

; name: levenshtein distances
(let [lev (fn [a b] (peek (reduce (fn [prev [i ca]]
                                    (reduce (fn [row [j cb]] (conj row (min (inc (peek row)) (inc (prev (inc j))) (+ (prev j) (if (= ca cb) 0 1)))))
                                            [(inc i)] (map-indexed vector b)))
                                  (vec (range (inc (count b)))) (map-indexed vector a))))]
  (map #(apply lev %) [["kitten" "sitting"] ["" "abc"] ["flaw" "lawn"]]))
;=> (3 3 2)

; name: case with lists symbols and strings
(map (fn [x] (case x (1 2 3) :small (:a :b) :letter "s" :string nil :nil [1 2] :pair \c :char :other)) [2 :b "s" nil [1 2] \c 9.5])
;=> (:small :letter :string :nil :pair :char :other)

; name: threading macros mix
[(-> {:a {:b [1 2 3]}} :a :b (nth 1) inc str (str "!"))
 (->> (range 10) (filter odd?) (map #(* % %)) (reduce +))
 (some-> {:a nil} :a :b inc)
 (some->> [1 2 3] (map inc) seq (apply max))
 (cond-> {:x 1} true (assoc :y 2) false (assoc :z 3) (> 2 1) (update :x inc))
 (cond->> [1 2 3] true (map inc) false (filter even?))
 (as-> 5 $ (+ $ 1) (* $ $) (/ $ 4))]
;=> ["3!" 165 nil 4 {:x 2, :y 2} (2 3 4) 9]

; name: pprint-like nested output with println
(with-out-str
  (doseq [[region rows] (sort-by key (group-by :region data/sales))]
    (println (clojure.string/upper-case region))
    (doseq [{:keys [rep amount]} rows] (println (format "  %-5s %8.2f" rep amount)))
    (println " " (apply str (repeat 14 "-")))
    (printf "  %14.2f%n" (reduce + (map :amount rows)))))
;=> "EAST\n  Cid      15.75\n  --------------\n           15.75\nNORTH\n  Ann     120.50\n  Ann     200.25\n  Dee     310.00\n  --------------\n          630.75\nSOUTH\n  Bob      80.00\n  Bob      99.99\n  --------------\n          179.99\n"

; name: when-let if-let chains
(let [find-rep (fn [n] (first (filter #(= n (:name %)) data/reps)))]
  (for [n ["Ann" "Zed"]]
    (if-let [{:keys [team quota] :as r} (find-rep n)]
      (when-let [s (seq (filter #(= n (:rep %)) data/sales))]
        {:team team :n (count s) :over? (> (reduce + (map :amount s)) quota)})
      (str "no rep " n))))
;=> ({:team "A", :n 2, :over? true} "no rep Zed")

; name: group and aggregate with reduce kv
(->> data/sales
     (group-by (juxt :region :product))
     (reduce-kv (fn [m [r p] rows] (assoc-in m [r p] {:qty (transduce (map :qty) + rows) :avg (/ (transduce (map :amount) + rows) (count rows))})) {})
     (into (sorted-map)))
;=> {"east" {"widget" {:qty 1, :avg 15.75}}, "north" {"widget" {:qty 3, :avg 120.5}, "gadget" {:qty 5, :avg 200.25}, "doohickey" {:qty 10, :avg 310.0}}, "south" {"gadget" {:qty 1, :avg 80.0}, "widget" {:qty 2, :avg 99.99}}}

; name: uuid like ids and hashing text
(let [h (fn [s] (reduce (fn [acc c] (mod (+ (* 31 acc) (int c)) 1000000007)) 7 s))]
  [(map h ["" "a" "hello"]) (.hashCode "hello") (count (str (java.util.UUID/randomUUID))) (uuid? (random-uuid))])
;=> [(7 314 299566379) 99162322 36 true]

; name: compare versions
(let [parse (fn [v] (mapv #(Integer/parseInt %) (clojure.string/split v #"\.")))
      cmp (fn [a b] (let [n (max (count a) (count b)) pad #(vec (take n (concat % (repeat 0))))] (compare (pad a) (pad b))))]
  (->> ["1.10" "1.2" "1.2.1" "0.9.9" "1.2.0"] (sort (fn [x y] (cmp (parse x) (parse y)))) vec))
;=> ["0.9.9" "1.2" "1.2.0" "1.2.1" "1.10"]

; name: iterate fixpoint with newton
(let [improve (fn [x g] (/ (+ g (/ x g)) 2))
      sqrt (fn [x] (->> (iterate #(improve x %) 1.0) (partition 2 1) (drop-while (fn [[a b]] (> (Math/abs (- a b)) 1e-9))) ffirst))]
  (map #(format "%.6f" (sqrt %)) [2 9 144]))
;=> ("1.414214" "3.000000" "12.000000")
