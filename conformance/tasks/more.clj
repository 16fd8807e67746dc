;; More questions about the data. Their answers, more.json, are those of Clojure (clojure.py --fill).

;; == m01 Which three orders have the largest totals?
(->> data/orders
     (map #(update % :items (partial mapv (fn [i] (assoc i :line (* (:qty i) (:unit_price i)))))))
     (map #(assoc % :total (transduce (map :line) + (:items %))))
     (map (juxt :order-id :total))
     (sort-by second)
     (take-last 3))

;; == m02 Latencies per host in order, without the two smallest and the two largest?
(reduce-kv (fn [acc k v] (assoc acc k (->> v (map :latency_ms) sort (drop 2) (drop-last 2) vec))) {} (group-by :host data/metrics))

;; == m03 For every column of the metrics: in how many rows is it there, in how many is it not null, and which Java types does it have?
(let [rows data/metrics ks (sort (distinct (mapcat keys rows)))] (for [k ks] [(name k) (count (filter #(contains? % k) rows)) (count (filter #(some? (get % k)) rows)) (sort (distinct (map #(.getSimpleName (class (get % k))) (filter #(some? (get % k)) rows))))]))

;; == m04 Which kinds of memory values are there?
(->> data/metrics
     (map :mem_mb)
     (map #(cond (nil? %) :missing (number? %) :number (re-matches #"\d+" %) :numeric-text :else :text))
     frequencies
     (into (sorted-map)))

;; == m05 Quartiles of the latency, and how many outliers are there?
(let [[q1 q2 q3] (let [s (vec (sort (map :latency_ms data/metrics))) n (count s)] (map #(nth s (int (* % (dec n)))) [0.25 0.5 0.75]))] {:q1 q1 :q2 q2 :q3 q3 :iqr (- q3 q1) :outliers (count (remove #(<= (- q1 (* 1.5 (- q3 q1))) (:latency_ms %) (+ q3 (* 1.5 (- q3 q1)))) data/metrics))})

;; == m06 How do latency and time correlate?
(let [xs (map :latency_ms data/metrics) ys (map :ts data/metrics) n (count xs) mx (/ (reduce + xs) n) my (/ (reduce + ys) n) cov (reduce + (map #(* (- %1 mx) (- %2 my)) xs ys)) sx (Math/sqrt (reduce + (map #(Math/pow (- % mx) 2) xs))) sy (Math/sqrt (reduce + (map #(Math/pow (- % my) 2) ys)))] (format "%.6f" (double (/ cov (* sx sy)))))

;; == m07 Where are the local peaks of the readings?
(->> data/readings
     (map-indexed vector)
     (partition 3 1)
     (filter (fn [[[_ a] [_ b] [_ c]]] (and (> b a) (> b c))))
     (map (comp first second))
     vec)

;; == m08 How long is the longest run of rising readings?
(loop [xs data/readings cur 1 best 1] (if-let [[a b] (seq (take 2 xs))] (if b (let [c (if (> b a) (inc cur) 1)] (recur (rest xs) c (max best c))) best) best))

;; == m09 Runs of readings on the same level of twenty, with their lengths?
(->> data/readings
     (partition-by #(quot % 20))
     (mapv (fn [g] {:level (* 20 (quot (first g) 20)) :len (count g)})))

;; == m10 The first five values of the exponential moving average with factor 0.3?
(let [ema (fn [alpha xs] (reductions (fn [prev x] (+ (* alpha x) (* (- 1 alpha) prev))) (first xs) (rest xs)))] (mapv #(/ (Math/round (* 1000.0 %)) 1000.0) (take 5 (ema 0.3 data/readings))))

;; == m11 What is the smallest maximum of seven readings in a row?
(->> data/readings
     (iterate rest)
     (take-while seq)
     (map #(take 7 %))
     (filter #(= 7 (count %)))
     (map #(apply max %))
     (reduce min))

;; == m12 A histogram of the readings as text?
(let [hist (frequencies (map #(quot % 10) data/readings))] (str/join "\n" (for [k (sort (keys hist))] (format "%3d-%3d %s %d" (* 10 k) (+ 9 (* 10 k)) (apply str (repeat (hist k) "*")) (hist k)))))

;; == m13 The initials of every customer?
(->> data/customers
     (map :name)
     (map #(str/split % #"[\s]+"))
     (map (fn [parts] (apply str (map first parts))))
     vec)

;; == m14 A slug for every name, letters of all languages kept?
(->> data/customers
     (map :name)
     (map (fn [n] [n (-> n str/lower-case (str/replace #"[^\p{L}\p{N}]+" "-"))]))
     (into {}))

;; == m15 All names in the order of their last part?
(->> data/customers
     (map :name)
     (sort-by #(vector (last (str/split % #" ")) %))
     vec)

;; == m16 Which customers have each tag?
(->> data/customers
     (mapcat (fn [{:keys [customer_id tags]}] (map vector tags (repeat customer_id))))
     (reduce (fn [m [t c]] (update m t (fnil conj (sorted-set)) c)) (sorted-map)))

;; == m17 How many customers per country, unknown under "none"?
(let [by (group-by #(get-in % [:address :country] "none") data/customers)] (zipmap (keys by) (map count (vals by))))

;; == m18 Who has no e-mail address?
(for [{:keys [name email] :or {email "?"}} data/customers :when (not (some-> email (str/includes? "@")))] name)

;; == m19 How many gold, silver and bronze customers are there?
(let [{:keys [gold silver bronze]} (update-keys (group-by :tier data/customers) keyword)] (map count [gold silver bronze]))

;; == m20 How many e-mail addresses per top-level domain?
(->> data/customers
     (keep :email)
     (map #(re-matches #"([^@]+)@([^@]+)\.([a-zA-Z.]+)" %))
     (map (fn [[_ u d t]] {:user u :domain (str/lower-case d) :tld (str/lower-case t)}))
     (group-by :tld)
     (#(update-vals % count)))

;; == m21 The first three invoices as an aligned table?
(let [cols [:number :currency :amount] w (into {} (for [c cols] [c (apply max (count (name c)) (map (comp count str c) data/invoices))])) line (fn [r] (str/join " | " (for [c cols] (format (str "%-" (w c) "s") (r c)))))] (str/join "\n" (cons (str/join " | " (for [c cols] (format (str "%-" (w c) "s") (name c)))) (map line (take 3 data/invoices)))))

;; == m22 How many invoices have which term of payment in days?
(->> data/invoices
     (map #(-> % (select-keys [:number :issued :due]) (assoc :days (.until (LocalDate/parse (:issued %)) (LocalDate/parse (:due %)) ChronoUnit/DAYS))))
     (group-by :days)
     (into (sorted-map))
     (#(update-vals % count)))

;; == m23 Sums per currency and month?
(let [m (apply merge-with (partial merge-with +) (for [{:keys [currency amount issued]} data/invoices] {currency {(subs issued 0 7) (bigdec amount)}}))] (into (sorted-map) (update-vals m #(into (sorted-map) %))))

;; == m24 At which invoice does the running total exceed 100000?
(reduce (fn [{:keys [total] :as acc} {:keys [number amount]}] (let [t (+ total (bigdec amount))] (if (> t 100000M) (reduced (assoc acc :stopped-at number)) (assoc acc :total t)))) {:total 0M} data/invoices)

;; == m25 The first four payments in time, with their invoices?
(->> data/invoices
     (mapcat (fn [{:keys [number payments]}] (map #(assoc % :invoice number) payments)))
     (sort-by (juxt :on :invoice))
     (take 4)
     (map (juxt :on :invoice :amount)))

;; == m26 Sums per quarter, in whole units?
(let [quarter (fn [d] (let [d (LocalDate/parse d)] (str (.getYear d) "-Q" (.get d IsoFields/QUARTER_OF_YEAR))))] (->> data/invoices (group-by (comp quarter :issued)) (reduce-kv (fn [m q is] (assoc m q (.setScale (reduce + (map (comp bigdec :amount) is)) 0 RoundingMode/HALF_UP))) (sorted-map))))

;; == m27 How many business days do the first six invoices give?
(let [business-days (fn [a b] (->> (iterate #(.plusDays % 1) a) (take-while #(.isBefore % b)) (remove #(#{DayOfWeek/SATURDAY DayOfWeek/SUNDAY} (.getDayOfWeek %))) count))] (mapv #(business-days (LocalDate/parse (:issued %)) (LocalDate/parse (:due %))) (take 6 data/invoices)))

;; == m28 Entries per component and level, and when the first one was?
(->> data/logs
     (map #(re-find #"^(\S+)\s+(\w+)\s+\[([\w-]+)\]\s+(.*)$" %))
     (remove nil?)
     (map #(zipmap [:ts :level :component :msg] (rest %)))
     (group-by (juxt :component :level))
     (map (fn [[[c l] es]] {:component c :level l :n (count es) :first (:ts (first es))}))
     (sort-by (juxt :component :level)))

;; == m29 Log lines per ten minutes?
(->> data/logs
     (keep #(when-let [[_ h m] (re-find #"T(\d\d):(\d\d)" %)] (str h ":" (subs m 0 1) "0")))
     frequencies
     (sort)
     (map (fn [[k v]] (str k "=" v)))
     (str/join ";"))

;; == m30 How many values does each key of key=value pairs in the log have?
(->> data/logs
     (mapcat #(re-seq #"(\w+)=(\S+)" %))
     (map rest)
     (reduce (fn [m [k v]] (update m (keyword k) (fnil conj #{}) v)) {})
     (#(update-vals % count)))

;; == m31 The largest and mean gap between log lines, and how many are above a minute?
(let [ts (->> data/logs (keep #(re-find #"^\S+Z" %)) (map #(.toEpochMilli (Instant/parse %)))) gaps (map - (rest ts) ts)] {:max (apply max gaps) :mean (quot (reduce + gaps) (count gaps)) :over-60s (count (filter #(> % 60000) gaps))})

;; == m32 How large was the largest answer with status 200?
(->> (str/split-lines data/access)
     (map #(zipmap [:ip :ts :method :path :status :size] (rest (re-find #"^(\S+) \S+ \S+ \[(.*?)\] \"(\S+) (\S+) [^\"]*\" (\d+) (\S+)" %))))
     (map #(-> % (update :status parse-long) (update :size parse-long)))
     (filter #(= 200 (:status %)))
     (keep :size)
     (apply max))

;; == m33 Requests per file extension?
(->> (str/split-lines data/access)
     (map #(second (re-find #"\"\w+ ([^ ?]+)" %)))
     (map #(or (second (re-find #"\.(\w+)$" %)) "none"))
     frequencies)

;; == m34 How many sessions did each address have, if an hour of silence ends one?
(let [sessions (->> (str/split-lines data/access) (map #(let [[_ ip ts] (re-find #"^(\S+).*\[(.*?)\]" %)] [ip (.toEpochSecond (ZonedDateTime/parse ts (DateTimeFormatter/ofPattern "dd/MMM/yyyy:HH:mm:ss Z" Locale/US)))])) (group-by first))] (into (sorted-map) (for [[ip es] sessions :let [ts (sort (map second es))]] [ip (inc (count (filter #(> % 3600) (map - (rest ts) ts))))])))

;; == m35 How many lines of the sales CSV begin with a date, and how many of them have quotes?
(let [rows (->> (str/split data/sales_csv #"\r\n") rest (filter #(re-find #"^\d{4}" %)))] {:rows (count rows) :with-quotes (count (filter #(str/includes? % "\"") rows))})

;; == m37 Sum of the ids of the staff in dev?
(->> (str/split-lines data/staff_csv)
     (map #(str/split % #","))
     ((fn [[h & rs]] (map #(zipmap (map keyword h) %) rs)))
     (map #(update % :dept str/trim))
     (filter (comp #{"dev"} :dept))
     (map (comp #(Integer/parseInt %) :id))
     (reduce +))

;; == m38 The services with twice as many replicas?
(walk/postwalk (fn [x] (if (and (map? x) (contains? x :replicas)) (update x :replicas * 2) x)) (select-keys data/config [:services]))

;; == m39 The limits of every service as text?
(into (sorted-map) (for [[k v] (:services data/config)] [(name k) (->> (:limits v) (map (fn [[a b]] (str (name a) "=" b))) sort (str/join ","))]))

;; == m40 Who uses each service?
(let [deps (into {} (for [[k v] (:services data/config)] [k (:depends_on v)])) users (reduce-kv (fn [m k ds] (reduce #(update %1 %2 (fnil conj []) k) m ds)) {} deps)] (into (sorted-map) (update-vals users (comp vec sort))))

;; == m41 In which order can the services be started, by a walk in depth?
;; miss: eval, mcp, schema: keys of JSON objects are keywords, members of arrays are text, and sets keep them apart
(letfn [(visit [[seen out] n] (if (seen n) [seen out] (let [[seen out] (reduce visit [(conj seen n) out] (sort (get-in data/config [:services n :depends_on])))] [seen (conj out n)])))] (second (reduce visit [#{} []] (sort (keys (:services data/config))))))

;; == m42 The times of events that are instants?
(->> data/events
     (map (fn [e] (update e :when (fn [w] (if (number? w) (str (Instant/ofEpochMilli w)) w)))))
     (filter #(re-find #"Z$" (:when %)))
     (map :when)
     sort
     vec)

;; == m43 The first time as text of every style?
(->> data/events
     (group-by :style)
     (map (fn [[s es]] [s (first (sort (map (comp str :when) es)))]))
     (into (sorted-map)))

;; == m44 The sum of all durations?
(let [d (reduce (fn [acc e] (.plus acc (Duration/parse (:duration e)))) Duration/ZERO (filter :duration data/events))] [(str d) (.toMinutes d) (format "%02d:%02d" (.toHours d) (.toMinutesPart d))])

;; == m45 The chain of managers of four employees?
(let [by-id (into {} (map (juxt :id identity) data/employees)) chain (fn [e] (->> e (iterate #(by-id (:manager_id %))) (take-while some?) (map :name) reverse (str/join " > ")))] (mapv chain (take 4 (drop 10 data/employees))))

;; == m46 The hierarchy as a tree?
(let [build (fn build [kids {:keys [id name]}] (let [cs (mapv (partial build kids) (kids id))] (cond-> {:name name} (seq cs) (assoc :reports cs)))) kids (group-by :manager_id data/employees)] (build kids (first (kids nil))))

;; == m47 The last hire and the sum of all salaries?
(->> data/employees
     (sort-by :hired)
     (map (juxt :hired :salary))
     (reductions (fn [[_ s] [d x]] [d (+ s x)]))
     last)

;; == m48 How many know Clojure, and how do mean salaries differ?
(let [[a b] ((juxt filter remove) #(some #{"clojure"} (:skills %)) data/employees)] {:with (count a) :without (count b) :avg-diff (Math/round (double (- (/ (reduce + (map :salary a)) (count a)) (/ (reduce + (map :salary b)) (count b)))))})

;; == m49 Which two skills occur together most often?
(->> data/employees
     (mapcat (fn [{:keys [skills]}] (for [a skills b skills :when (pos? (compare b a))] #{a b})))
     frequencies
     (sort-by (fn [[s n]] [(- n) (vec (sort s))]))
     first
     ((fn [[s n]] [(vec (sort s)) n])))

;; == m50 The two best paid of each department, numbered?
(->> data/employees
     (group-by :dept)
     (into (sorted-map) (map (fn [[d es]] [d (->> es (sort-by (juxt (comp - :salary) :name)) (map-indexed (fn [i e] (str (inc i) ". " (:name e)))) (take 2) vec)]))))

;; == m51 The net amount per account and month?
(->> data/transactions
     (map #(assoc % :cents (Math/round (* 100 (:amount %)))))
     (group-by (juxt :account #(subs (:on %) 0 7)))
     (map (fn [[[a m] ts]] {:account a :month m :net (/ (reduce + (map :cents ts)) 100.0)}))
     (sort-by (juxt :account :month))
     vec)

;; == m52 Which transactions have the same day and memo?
(let [dup (->> data/transactions (group-by (juxt :on :memo)) (filter (fn [[_ v]] (> (count v) 1))) (map (fn [[[d m] v]] [d m (mapv :id v)])) (sort-by (juxt first (comp str second))))] (vec dup))

;; == m53 How many transactions are large or small, in or out?
(->> data/transactions
     (map (fn [{:keys [amount] :as t}] (assoc t :kind (condp > amount -500 :big-out 0 :out 500 :in :big-in))))
     (map :kind)
     frequencies)

;; == m54 How many sentences has the article, and which is the longest?
(let [s (-> data/article (str/replace #"[\r\n]+" " ") (str/split #"(?<=[.!?])\s+"))] {:n (count s) :longest (apply max-key count s)})

;; == m55 The long words of the article by first letter?
(->> data/article
     str/lower-case
     (re-seq #"[a-zà-ÿ'-]+")
     (filter #(> (count %) 4))
     (group-by first)
     (into (sorted-map))
     (#(update-vals % (comp vec sort distinct))))

;; == m56 The article with the currency in front of the amounts?
(str/replace data/article #"(\d+)\.(\d{2}) CHF" (fn [[_ a b]] (format "CHF %d.%s" (parse-long a) b)))

;; == m57 Which words follow "the" in the article?
(let [find-all (fn [re] (map first (re-seq re data/article)))] (vec (find-all #"(?i)\b(the)\s+(\w+)")))

;; == m58 The ids of the thread, indented?
(let [f (fn f [{:keys [id replies]} d] (cons [d id] (mapcat #(f % (inc d)) replies)))] (->> (f data/thread 0) (map (fn [[d id]] (str (apply str (repeat d "  ")) id))) (str/join "\n")))

;; == m59 How many entries of the stock are only before, only after, and the same?
(require '[clojure.data :as cd])
(let [{:keys [before after]} data/stock [only-b only-a both] (cd/diff before after)] [(count only-b) (count only-a) (count both)])

;; == m60 How did each quantity change?
(let [{:keys [before after]} data/stock] (->> (merge-with merge (update-vals before #(hash-map :b (:qty %))) (update-vals after #(hash-map :a (:qty %)))) (map (fn [[k {:keys [a b] :or {a 0 b 0}}]] [k (- a b)])) (remove (comp zero? second)) (sort-by (juxt second (comp name first))) (map (fn [[k d]] [(name k) d]))))

;; == m61 Units per bin before?
(->> data/stock
     :before
     (group-by (comp :bin val))
     (map (fn [[bin es]] [bin (reduce + (map (comp :qty val) es))]))
     (into (sorted-map)))

;; == m62 Mean units per order of each SKU?
(let [idx (reduce (fn [m o] (reduce (fn [m {:keys [sku qty]}] (-> m (update-in [sku :orders] (fnil inc 0)) (update-in [sku :units] (fnil + 0) qty))) m (:items o))) (sorted-map) data/orders)] (->> idx (map (fn [[sku {:keys [orders units]}]] [sku (format "%.2f" (double (/ units orders)))])) (into (sorted-map))))

;; == m63 In which months do customers of each first month order?
(let [cohort (fn [o] (subs (:placed_at o) 0 7)) firsts (->> data/orders (group-by :customer_id) (#(update-vals % (fn [os] (apply min-key (fn [o] (.toEpochMilli (Instant/parse (:placed_at o)))) os)))) (#(update-vals % cohort)))] (->> data/orders (map (fn [o] [(firsts (:customer_id o)) (cohort o)])) distinct frequencies keys sort vec))

;; == m64 Orders in batches of twenty: first, last, statuses?
(->> data/orders
     (sort-by :placed_at)
     (partition-all 20)
     (map-indexed (fn [i os] {:batch (inc i) :from (:order-id (first os)) :to (:order-id (last os)) :statuses (into (sorted-map) (frequencies (map :status os)))})))

;; == m65 At which time of the day in Los Angeles are orders placed?
(let [la (ZoneId/of "America/Los_Angeles")] (->> data/orders (map #(.. (Instant/parse (:placed_at %)) (atZone la) getHour)) (map #(cond (< % 6) "night" (< % 12) "morning" (< % 18) "afternoon" :else "evening")) frequencies))

;; == m66 Units per SKU sold on the web?
(let [xf (comp (filter #(= "web" (:channel %))) (mapcat :items) (map (juxt :sku :qty)))] (into (sorted-map) (reduce (fn [m [s q]] (update m s (fnil + 0) q)) {} (eduction xf data/orders))))

;; == m67 How many orders have no coupon field?
(->> data/orders
     (remove #(contains? % :coupon))
     count)

;; == m68 How often does each coupon occur, absent ones apart from null?
(->> data/orders
     (map #(get % :coupon :absent))
     frequencies
     (map (fn [[k v]] [(str k) v]))
     (into (sorted-map)))

;; == m69 A table of three orders by print-table?
(require '[clojure.pprint])
(let [as-table (fn [rows] (with-out-str (clojure.pprint/print-table [:order-id :status] rows)))] (as-table (map #(select-keys % [:order-id :status]) (take 3 data/orders))))

;; == m70 A numbered list of three orders with totals?
(with-out-str (doseq [[i o] (map-indexed vector (take 3 data/orders))] (printf "%2d. %-15s %8.2f%n" (inc i) (:order-id o) (reduce + (map #(* (:qty %) (:unit_price %)) (:items o))))))
