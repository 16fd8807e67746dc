;; Questions about the data of data/*.json, each with the program that answers it. Format: see README.md.

;; == d01 How many orders are there per status?
(frequencies (map :status data/orders))

;; == d02 What is the total value of all orders that were not cancelled or refunded, exact to the cent?
(->> data/orders
     (remove #(#{"cancelled" "refunded"} (:status %)))
     (mapcat :items)
     (map (fn [{:keys [qty unit_price]}] (* qty (bigdec (str unit_price)))))
     (reduce + 0M))

;; == d03 Which five customers spent the most on paid or shipped orders? Give id and total with two places as text, largest first.
(->> data/orders
     (filter (comp #{"paid" "shipped"} :status))
     (group-by :customer_id)
     (map (fn [[id os]]
            {:customer id
             :total (reduce + 0M (for [o os, {:keys [qty unit_price]} (:items o)]
                                   (* qty (bigdec (str unit_price)))))}))
     (sort-by (juxt (comp - :total) :customer))
     (take 5)
     (mapv #(update % :total (fn [t] (format "%.2f" t)))))

;; == d04 Give all orders with id, day, customer name (null if unknown), status and number of units, in order of time.
(let [names (into {} (map (juxt :customer_id :name) data/customers))]
  (->> data/orders
       (sort-by :placed_at)
       (mapv (fn [{:keys [order-id placed_at customer_id status items]}]
               {:id order-id
                :day (first (str/split placed_at #"T"))
                :customer (names customer_id)
                :status status
                :units (reduce + (map :qty items))}))))

;; == d05 What are the ids of the orders without a coupon (missing or null)?
(->> data/orders
     (filter #(nil? (:coupon %)))
     (mapv :order-id))

;; == d06 Revenue per SKU over shipped orders, as a map from SKU to cents?
(reduce (fn [acc {:keys [sku qty unit_price]}]
          (update acc sku (fnil + 0) (* qty (Math/round (* 100.0 unit_price)))))
        {}
        (mapcat :items (filter #(= "shipped" (:status %)) data/orders)))

;; == d07 What is the average, smallest and largest time from placing to shipping, in hours?
(let [hours (->> data/orders
                 (filter :shipped_at)
                 (map (fn [{:keys [placed_at shipped_at]}]
                        (.toHours (java.time.Duration/between (java.time.Instant/parse placed_at)
                                                              (java.time.Instant/parse shipped_at))))))]
  {:avg (double (/ (reduce + hours) (count hours)))
   :min (apply min hours)
   :max (apply max hours)})

;; == d08 On which days of the week are orders placed (UTC), counted per English weekday name, most first?
(->> data/orders
     (map #(str (.getDayOfWeek (LocalDate/parse (subs (:placed_at %) 0 10)))))
     frequencies
     (sort-by (fn [[day n]] [(- n) day]))
     (mapv (fn [[day n]] [(str/capitalize day) n])))

;; == d09 Which orders name a customer that is not in the customer list?
(let [known (set (map :customer_id data/customers))]
  (->> data/orders
       (remove (comp known :customer_id))
       (map (juxt :order-id :customer_id))
       (sort)
       (vec)))

;; == d10 Join orders with customers: number of orders per tier, customers that are unknown under "unknown".
(let [tier-of (into {} (map (juxt :customer_id :tier)) data/customers)]
  (->> data/orders
       (map #(get tier-of (:customer_id %) "unknown"))
       (frequencies)))

;; == d11 For every channel: number of orders, mean number of items (units) per order rounded to two places.
(-> (group-by :channel data/orders)
    (update-vals (fn [os]
                   (let [units (map #(reduce + (map :qty (:items %))) os)]
                     {:orders (count os)
                      :mean-units (/ (Math/round (* 100.0 (/ (reduce + units) (count units)))) 100.0)}))))

;; == d12 Which pairs of SKUs are most often bought together? The top three pairs with counts, ties by SKU.
(->> data/orders
     (mapcat (fn [o]
               (let [skus (sort (distinct (map :sku (:items o))))]
                 (for [a skus b skus :when (neg? (compare a b))] [a b]))))
     frequencies
     (sort-by (fn [[pair n]] [(- n) pair]))
     (take 3)
     (mapv (fn [[[a b] n]] {:pair [a b] :count n})))

;; == d13 What is the running total of units of the first ten orders by time of placing?
(->> data/orders
     (sort-by :placed_at)
     (take 10)
     (map (fn [{:keys [items]}] (transduce (map :qty) + items)))
     (reductions +)
     vec)

;; == d14 What is the longest gap, in minutes, between two orders that follow each other in time?
(let [times (sort (map #(.toEpochMilli (Instant/parse (:placed_at %))) data/orders))]
  (->> (partition 2 1 times)
       (map (fn [[a b]] (quot (- b a) 60000)))
       (apply max)))

;; == d15 With coupon SPRING-10 worth 10 % and VIP-25 worth 25 %, what is the total discount over all orders with a coupon, rounded half up to cents per order, as text?
(let [rates {"SPRING-10" 0.10M "VIP-25" 0.25M}
      order-total (fn [o] (reduce + 0M (map #(* (:qty %) (bigdec (str (:unit_price %)))) (:items o))))]
  (->> data/orders
       (filter :coupon)
       (map (fn [o] (.setScale (* (rates (:coupon o)) (order-total o)) 2 RoundingMode/HALF_UP)))
       (reduce +)
       str))

;; == d16 Write a report as text: a line per tier (sorted) with the tier left-aligned in 8, the count right-aligned in 4, then the names joined by comma.
(->> data/customers
     (group-by :tier)
     (sort-by key)
     (map (fn [[tier cs]] (format "%-8s|%4d| %s" tier (count cs) (str/join ", " (map :name cs)))))
     (str/join "\n"))

;; == d17 How many customers per e-mail domain, regardless of case?
(->> data/customers
     (keep :email)
     (map #(str/lower-case (second (str/split % #"@"))))
     frequencies)

;; == d18 Group the customer names by the first letter of the last name, letters sorted.
(->> data/customers
     (map :name)
     (group-by #(str (first (last (str/split % #"\s+")))))
     (into (sorted-map)))

;; == d19 How many customers have each tag, and how many have none (under "none")?
(frequencies (mapcat (fn [{:keys [tags]}] (if (seq tags) tags ["none"])) data/customers))

;; == d20 Which customers are in the US? Sort by zip, and show the zip as it is.
(->> data/customers
     (filter #(= "US" (get-in % [:address :country])))
     (sort-by (juxt #(get-in % [:address :zip]) :name))
     (map (fn [{:keys [name] {:keys [city zip]} :address}] {"name" name "city" city "zip" zip})))

;; == d21 Who referred whom? A map from the name of the referrer to the sorted names of those that they referred.
(let [by-id (into {} (map (juxt :customer_id identity)) data/customers)]
  (->> data/customers
       (filter :referrer)
       (group-by #(:name (by-id (:referrer %))))
       (map (fn [[k v]] [k (sort (map :name v))]))
       (into {})))

;; == d22 Which customer has the longest name in characters, and how long is it?
(let [c (apply max-key #(count (:name %)) data/customers)]
  {:name (:name c) :length (count (:name c))})

;; == d23 How many customers joined in each quarter (2022-Q1)?
(->> data/customers
     (map (fn [{:keys [joined]}]
            (let [d (LocalDate/parse joined)]
              (format "%d-Q%d" (.getYear d) (inc (quot (dec (.getMonthValue d)) 3))))))
     frequencies
     (into (sorted-map)))

;; == d24 What is the sum of all invoices per currency, exact, as text?
(->> data/invoices
     (group-by :currency)
     (reduce-kv (fn [m cur rows]
                  (assoc m cur (str (reduce + (map (comp bigdec :amount) rows)))))
                {}))

;; == d25 Which invoices are paid in full?
(->> data/invoices
     (filter (fn [{:keys [amount payments]}]
               (= (bigdec amount) (reduce + 0M (map #(bigdec (:amount %)) payments)))))
     (mapv :number))

;; == d26 What is still open per customer, largest first, customers with nothing open left out; text with two places?
(->> data/invoices
     (map (fn [inv]
            (assoc inv :open (- (bigdec (:amount inv)) (reduce + 0M (map (comp bigdec :amount) (:payments inv)))))))
     (group-by :customer_id)
     (map (fn [[c invs]] [c (reduce + (map :open invs))]))
     (filter (fn [[_ open]] (pos? open)))
     (sort-by second >)
     (mapv (fn [[c open]] [c (format "%.2f" open)])))

;; == d27 How old are open invoices on 2024-08-01? Count per bucket of days past due: "not due", "1-30", "31-60", "61-90", "90+".
(let [today (LocalDate/of 2024 8 1)
      open? (fn [{:keys [amount payments]}]
              (pos? (- (bigdec amount) (reduce + 0M (map (comp bigdec :amount) payments)))))
      bucket (fn [inv]
               (let [days (.between ChronoUnit/DAYS (LocalDate/parse (:due inv)) today)]
                 (cond (<= days 0) "not due"
                       (<= days 30) "1-30"
                       (<= days 60) "31-60"
                       (<= days 90) "61-90"
                       :else "90+")))]
  (frequencies (map bucket (filter open? data/invoices))))

;; == d28 What is the tax contained in each EUR invoice (amount is gross), rounded half even to cents? First five, as text.
(->> data/invoices
     (filter #(= (:currency %) "EUR"))
     (take 5)
     (map (fn [{:keys [number amount tax_rate]}]
            (let [gross (bigdec amount)
                  net (with-precision 20 (/ gross (+ 1M (bigdec tax_rate))))
                  tax (.setScale (- gross net) 2 java.math.RoundingMode/HALF_EVEN)]
              [number (str tax)])))
     (into {}))

;; == d29 Which invoices were paid late (some payment after the due date)? Number and days late of the last payment.
(vec
 (for [{:keys [number due payments]} data/invoices
       :when (seq payments)
       :let [last-paid (last (sort (map :on payments)))
             late (.until (LocalDate/parse due) (LocalDate/parse last-paid) ChronoUnit/DAYS)]
       :when (pos? late)]
   {:number number :days late}))

;; == d30 Is there an invoice whose payments exceed the amount?
(boolean (some (fn [{:keys [amount payments]}]
                 (> (reduce + (map #(bigdec (:amount %)) payments)) (bigdec amount)))
               data/invoices))

;; == d31 Split the largest invoice evenly among 7 people so that the cents add up; the first ones pay the extra cents.
(let [cents (apply max (map #(long (* 100 (bigdec (:amount %)))) data/invoices))
      base (quot cents 7)
      extra (rem cents 7)]
  (mapv (fn [i] (/ (bigdec (if (< i extra) (inc base) base)) 100)) (range 7)))

;; == d32 What was invoiced per month of issue (map of "2024-01" to number and sum as a number)?
(->> data/invoices
     (group-by #(str (YearMonth/from (LocalDate/parse (:issued %)))))
     (map (fn [[month rows]] [month {:count (count rows) :sum (reduce + (map (comp bigdec :amount) rows))}]))
     (into (sorted-map)))

;; == d33 What is the mean memory per host, in MB, where memory is known, to one place?
(letfn [(mem [v] (cond (number? v) (double v)
                       (string? v) (parse-double v)
                       :else nil))]
  (->> data/metrics
       (group-by :host)
       (map (fn [[host rows]]
              (let [ms (keep (comp mem :mem_mb) rows)]
                [host (/ (Math/round (* 10 (/ (reduce + ms) (count ms)))) 10.0)])))
       (into (sorted-map))))

;; == d34 What is the moving average over five readings, to one place, and where (index of the window) is it highest?
(let [windows (partition 5 1 data/readings)
      avgs (mapv #(/ (Math/round (* 10.0 (/ (apply + %) 5))) 10.0) windows)
      best (apply max avgs)]
  {:averages avgs
   :peak (.indexOf avgs best)})

;; == d35 What are the median and the 95th percentile (nearest rank) of the latency per host?
(let [percentile (fn [p xs]
                   (let [sorted (vec (sort xs))
                         rank (int (Math/ceil (* (/ p 100.0) (count sorted))))]
                     (nth sorted (dec rank))))
      median (fn [xs]
               (let [s (vec (sort xs)) n (count s) m (quot n 2)]
                 (if (odd? n) (s m) (/ (+ (s (dec m)) (s m)) 2.0))))]
  (into {}
        (for [[host rows] (group-by :host data/metrics)]
          [host {:median (median (map :latency_ms rows))
                 :p95 (percentile 95 (map :latency_ms rows))}])))

;; == d36 At which time (UTC, ISO) was the highest cpu of each host?
(->> data/metrics
     (filter :cpu)
     (group-by :host)
     (reduce-kv (fn [m host rows]
                  (let [top (apply max-key :cpu rows)]
                    (assoc m host {:cpu (:cpu top) :at (str (Instant/ofEpochSecond (:ts top)))})))
                {}))

;; == d37 How is the latency distributed? Counts per 100 ms bucket, the bucket's lower bound as key.
(->> data/metrics
     (map :latency_ms)
     (group-by #(* 100 (quot % 100)))
     (into (sorted-map) (map (fn [[b xs]] [b (count xs)]))))

;; == d38 In the thread of comments: number of comments, votes per author, the deepest level, and the ids with a link.
(let [all (tree-seq map? :replies data/thread)
      depth (fn depth [c] (inc (apply max 0 (map depth (:replies c)))))]
  {:comments (count all)
   :votes (reduce (fn [m {:keys [author votes]}] (update m author (fnil + 0) votes)) {} all)
   :depth (depth data/thread)
   :links (->> all (filter #(str/includes? (:text %) "https://")) (mapv :id))})

;; == d39 What is the standard deviation (population) of the latency over all samples, to three places?
(let [xs (map :latency_ms data/metrics)
      n (count xs)
      mean (/ (reduce + xs) n)
      variance (/ (reduce + (map #(Math/pow (- % mean) 2) xs)) n)]
  (Double/parseDouble (format "%.3f" (Math/sqrt variance))))

;; == d40 How many log lines are there per level? Lines without a level count as "other".
(->> data/logs
     (map #(or (second (re-find #"^\S+Z\s+(INFO|WARN|ERROR)\b" %)) "other"))
     frequencies)

;; == d41 Requests per path and status: number and mean duration in ms (rounded) of every path, ids replaced by ":id".
(->> data/logs
     (keep #(re-find #"\[api\] (\w+) (\S+) (\d{3}) (\d+)ms" %))
     (map (fn [[_ method path status ms]]
            {:path (str/replace path #"/(\d+|ORD-\d+-\d+)$" "/:id")
             :status (parse-long status)
             :ms (parse-long ms)}))
     (group-by :path)
     (map (fn [[path rs]]
            {:path path
             :count (count rs)
             :errors (count (filter #(>= (:status %) 500) rs))
             :mean-ms (Math/round (double (/ (reduce + (map :ms rs)) (count rs))))}))
     (sort-by :path))

;; == d42 Which user made the most requests?
(let [users (keep #(some-> (re-find #"user=(\S+)" %) second) data/logs)
      [user n] (first (sort-by (comp - val) (sort-by key (frequencies users))))]
  {:user user :requests n})

;; == d43 What are the errors with the lines of their stack traces? The job, the exception and how many trace lines follow.
(->> data/logs
     (reduce (fn [acc line]
               (cond
                 (re-find #" ERROR " line)
                 (let [[_ job ex] (re-find #"job (\d+) failed: (\w+):" line)]
                   (conj acc {:job (Integer/parseInt job) :exception ex :trace 0}))
                 (and (seq acc) (str/starts-with? line "    at "))
                 (update-in acc [(dec (count acc)) :trace] inc)
                 :else acc))
             []))

;; == d44 How much time passed between the first and the last stamped log line, as minutes:seconds?
(let [stamps (->> data/logs
                  (keep #(re-find #"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z" %))
                  (map #(Instant/parse %)))
      d (Duration/between (first stamps) (last stamps))]
  (format "%d:%02d" (.toMinutes d) (mod (.getSeconds d) 60)))

;; == d45 Sum of rows and longest time of slow queries per table?
(->> data/logs
     (map #(re-matches #".*slow query took=([\d.]+)s rows=(\d+) table=(\w+)" %))
     (filter some?)
     (reduce (fn [m [_ took rows table]]
               (-> m
                   (update-in [table :rows] (fnil + 0) (Long/parseLong rows))
                   (update-in [table :max-s] (fnil max 0.0) (Double/parseDouble took))))
             {}))

;; == d46 In the access log, how many bytes were sent per address? A dash counts as 0.
(->> (str/split-lines data/access)
     (map #(re-find #"^(\S+) .* (\d{3}) (\d+|-)$" %))
     (reduce (fn [m [_ ip _ size]] (update m ip (fnil + 0) (if (= size "-") 0 (parse-long size)))) {})
     (sort-by val >)
     (mapv vec))

;; == d47 How many requests per hour of UTC does the access log have?
(let [fmt (DateTimeFormatter/ofPattern "dd/MMM/yyyy:HH:mm:ss Z" Locale/ENGLISH)]
  (->> (str/split data/access #"\n")
       (map #(second (re-find #"\[([^\]]+)\]" %)))
       (map #(-> (OffsetDateTime/parse % fmt)
                 (.withOffsetSameInstant ZoneOffset/UTC)
                 (.getHour)))
       frequencies
       (into (sorted-map))))

;; == d48 Which search terms were asked for, decoded, with counts?
(->> (re-seq #"/search\?q=([^& ]+)" data/access)
     (map second)
     (map #(java.net.URLDecoder/decode % "UTF-8"))
     frequencies)

;; == d49 What share of requests (percent, one place) failed with 4xx or 5xx?
(let [codes (map (comp parse-long second) (re-seq #"HTTP/1\.1\" (\d{3})" data/access))
      bad (filter #(>= % 400) codes)]
  (format "%.1f%%" (* 100.0 (/ (count bad) (count codes)))))

;; == d50 Parse the sales CSV (quotes, doubled quotes, line breaks in quotes) and give the number of records and the comments that contain a line break or quotes.
(defn parse-csv [s]
  (loop [chars (seq s) field "" row [] rows [] quoted? false]
    (let [[c & more] chars]
      (cond
        (nil? c) (if (and (= field "") (empty? row)) rows (conj rows (conj row field)))
        quoted? (cond
                  (and (= c \") (= (first more) \")) (recur (rest more) (str field \") row rows true)
                  (= c \") (recur more field row rows false)
                  :else (recur more (str field c) row rows true))
        (= c \") (recur more field row rows true)
        (= c \,) (recur more "" (conj row field) rows false)
        (= c \return) (recur more field row rows false)
        (= c \newline) (recur more "" [] (conj rows (conj row field)) false)
        :else (recur more (str field c) row rows false)))))
(let [[header & rows] (parse-csv data/sales_csv)
      records (map #(zipmap (map (comp keyword str/lower-case) header) %) rows)]
  {:records (count records)
   :comments (->> records (map :comment) (filter #(re-find #"[\n\"]" %)) distinct sort)})

;; == d51 Revenue per region of the sales CSV, "unknown" where the region is empty; numbers like 1,035.00 are revenue.
(let [split-row (fn [line] (map (fn [[_ q p]] (if q (str/replace q "\"\"" "\"") p))
                                (re-seq #"(?:^|,)(?:\"((?:[^\"]|\"\")*)\"|([^,\"]*))" line)))
      text (str/replace data/sales_csv #"\"two\nlines\"" "two lines")
      [_ & lines] (str/split text #"\r\n")]
  (->> lines
       (map split-row)
       (map (fn [[_ region _ _ revenue]]
              [(if (str/blank? region) "unknown" region)
               (bigdec (str/replace revenue "," ""))]))
       (reduce (fn [m [r v]] (update m r (fnil + 0M) v)) {})))

;; == d52 Parse the staff CSV into rows and give the mean salary per department where there is one (departments trimmed).
(let [[header & lines] (str/split-lines data/staff_csv)
      ks (map keyword (str/split header #","))
      rows (map #(zipmap ks (str/split % #"," -1)) lines)]
  (->> rows
       (map #(-> % (update :dept str/trim) (update :salary parse-long)))
       (filter :salary)
       (group-by :dept)
       (map (fn [[dept rs]] [dept (/ (reduce + (map :salary rs)) (count rs))]))
       (into {})))

;; == d53 Who of the staff CSV started first in each year? The year and the name, years sorted.
(let [fmt (java.time.format.DateTimeFormatter/ofPattern "dd.MM.yyyy")]
  (->> (rest (str/split data/staff_csv #"\n"))
       (map (fn [line]
              (let [[id name dept salary start] (str/split line #",")]
                {:id (parse-long id) :name name :start (java.time.LocalDate/parse start fmt)})))
       (sort-by :start)
       (group-by #(.getYear (:start %)))
       (map (fn [[year [{:keys [name start]}]]] {:year year :name name :start (str start)}))
       (sort-by :year)))

;; == d54 Write the customers as CSV with the columns id, name, city (empty if unknown), only those of tier gold.
(let [esc (fn [v] (let [s (str v)] (if (re-find #"[\",\n]" s) (str "\"" (str/replace s "\"" "\"\"") "\"") s)))]
  (->> data/customers
       (filter #(= "gold" (:tier %)))
       (map (fn [c] [(:customer_id c) (:name c) (get-in c [:address :city])]))
       (cons ["id" "name" "city"])
       (map #(str/join "," (map esc %)))
       (str/join "\n")))

;; == d55 In which order can the services be started so that dependencies come first (alphabetical where free)?
(let [deps (into {} (for [[svc m] (:services data/config)] [(name svc) (set (:depends_on m))]))]
  (loop [remaining deps order []]
    (if (empty? remaining)
      order
      (let [ready (sort (for [[s ds] remaining :when (empty? (set/difference ds (set order)))] s))
            nxt (first ready)]
        (recur (dissoc remaining nxt) (conj order nxt))))))

;; == d56 What does each service depend on, directly or not, in alphabetical order?
(let [services (:services data/config)
      direct (fn [s] (:depends_on (get services s)))
      all-deps (fn all-deps [s] (reduce (fn [acc d] (into (conj acc d) (all-deps d))) (sorted-set) (direct s)))]
  (into (sorted-map) (for [[s _] services] [s (vec (all-deps s))])))

;; == d57 What is the total of CPU (in cores) and memory (in Mi) over all replicas, services without limits left out?
(letfn [(cpu [s] (/ (parse-long (str/replace s "m" "")) 1000.0))
        (mem [s] (let [[_ n unit] (re-matches #"(\d+)(Mi|Gi)" s)]
                   (* (parse-long n) (case unit "Gi" 1024 "Mi" 1))))]
  (reduce (fn [acc {:keys [replicas limits]}]
            (-> acc
                (update :cores + (* replicas (cpu (:cpu limits))))
                (update :memory_mi + (* replicas (mem (:memory limits))))))
          {:cores 0 :memory_mi 0}
          (filter :limits (vals (:services data/config)))))

;; == d58 List every image as name, major, minor, patch, highest version first.
(->> (vals (:services data/config))
     (map :image)
     (map #(rest (re-matches #".*/([\w-]+):(\d+)\.(\d+)\.(\d+)" %)))
     (map (fn [[n & v]] (into [n] (map parse-long v))))
     (sort-by (fn [[n & v]] (mapv - v)))
     vec)

;; == d59 Which services have no DB-URL, and which feature flags are on (names as they are)?
{:no-db (vec (sort (for [[svc {:keys [env]}] (:services data/config)
                         :when (nil? (:DB-URL env))]
                     (name svc))))
 :on (vec (sort (keep (fn [[flag {:keys [enabled]}]] (when enabled (name flag))) (:features data/config))))}

;; == d60 Turn the configuration into flat paths joined by dots; how many leaves are there, and what are the paths of leaves that are null?
(let [leaves (fn leaves [path v]
               (cond (map? v) (mapcat (fn [[k x]] (leaves (conj path (name k)) x)) v)
                     (sequential? v) (apply concat (map-indexed (fn [i x] (leaves (conj path i) x)) v))
                     :else [[(str/join "." path) v]]))
      flat (leaves [] data/config)]
  {:count (count flat)
   :nulls (sort (map first (filter #(nil? (second %)) flat)))})

;; == d61 Events have times in five styles; how many are there per UTC day (style text, day and slash are UTC already)?
(defn ->date [{:keys [when style]}]
  (case style
    "offset" (-> (OffsetDateTime/parse when) (.withOffsetSameInstant ZoneOffset/UTC) .toLocalDate)
    "slash" (.toLocalDate (LocalDateTime/parse when (DateTimeFormatter/ofPattern "dd/MM/yyyy HH:mm")))
    "text" (LocalDate/parse when (DateTimeFormatter/ofPattern "MMM d, yyyy" Locale/ENGLISH))
    "millis" (-> (Instant/ofEpochMilli when) (.atZone ZoneOffset/UTC) .toLocalDate)
    "day" (LocalDate/parse when)))
(into (sorted-map) (frequencies (map ->date data/events)))

;; == d62 How long were all events with a duration together, per type, as hours and minutes (like "5h 07m")?
(->> data/events
     (filter :duration)
     (group-by :type)
     (map (fn [[t es]]
            (let [minutes (reduce + (map #(.toMinutes (Duration/parse (:duration %))) es))]
              [t (format "%dh %02dm" (quot minutes 60) (mod minutes 60))])))
     (into {}))

;; == d63 At what local time in Los Angeles did the events with an offset happen, in order of time? (2024-03-10 has the change to summer time.)
(let [la (ZoneId/of "America/Los_Angeles")
      out (DateTimeFormatter/ofPattern "yyyy-MM-dd HH:mm z")]
  (->> data/events
       (filter #(= "offset" (:style %)))
       (map #(ZonedDateTime/parse (:when %)))
       (sort-by #(.toInstant %))
       (map #(.format (.withZoneSameInstant % la) out))
       vec))

;; == d64 In which ISO week (like 2024-W11) did the events of style "day" happen? Counts per week.
(->> data/events
     (filter (comp #{"day"} :style))
     (map #(let [d (LocalDate/parse (:when %))]
             (format "%d-W%02d" (.get d IsoFields/WEEK_BASED_YEAR) (.get d IsoFields/WEEK_OF_WEEK_BASED_YEAR))))
     frequencies)

;; == d65 Which events happened on a weekend, by the day as written (style day and text)? Ids, sorted.
(let [text-fmt (DateTimeFormatter/ofPattern "MMM d, yyyy")
      weekend? #(contains? #{DayOfWeek/SATURDAY DayOfWeek/SUNDAY} (.getDayOfWeek %))]
  (->> data/events
       (filter #(#{"day" "text"} (:style %)))
       (filter (fn [{:keys [style when]}]
                 (weekend? (if (= style "day") (LocalDate/parse when) (LocalDate/parse when text-fmt)))))
       (map :event-id)
       sort))

;; == d66 Value of the stock after, at catalog prices where the catalog has the SKU, exact as text; and which SKUs have no price?
(let [after (:after data/stock)
      priced (pmap (fn [[sku {:keys [qty]}]]
                     (if-let [{:keys [price]} (get data/catalog sku)]
                       {:sku sku :value (* qty (bigdec price))}
                       {:sku sku}))
                   after)]
  {:value (str (transduce (keep :value) + 0M priced))
   :unpriced (->> priced (remove :value) (map :sku) sort vec)})

;; == d67 What is the depth of each employee in the hierarchy; how many employees are there per depth?
(let [boss (into {} (map (juxt :id :manager_id)) data/employees)
      depth (fn [id] (count (take-while some? (iterate boss (boss id)))))]
  (into (sorted-map) (frequencies (map (comp depth :id) data/employees))))

;; == d68 Which managers have the most people below them, directly or not? Top three with names and counts.
(let [reports (group-by :manager_id data/employees)
      below (fn below [id] (reduce + (map #(inc (below (:id %))) (reports id))))]
  (->> data/employees
       (map (fn [{:keys [id name]}] {:name name :below (below id)}))
       (sort-by (juxt (comp - :below) :name))
       (take 3)))

;; == d69 Who earns the most in each department? Name and salary.
(into {}
      (map (fn [[dept es]] [dept (select-keys (apply max-key :salary es) [:name :salary])]))
      (group-by :dept data/employees))

;; == d70 For every skill: how many people have it, and their mean years of service on 2024-06-30 (whole years)?
(let [asof (LocalDate/parse "2024-06-30")
      years #(.getYears (Period/between (LocalDate/parse (:hired %)) asof))]
  (->> (for [e data/employees s (:skills e)] [s (years e)])
       (group-by first)
       (map (fn [[s ps]] [s {:people (count ps) :mean_years (/ (Math/round (* 100.0 (/ (reduce + (map second ps)) (count ps)))) 100.0)}]))
       (into (sorted-map))))

;; == d71 Simulate a stock of 40 units per SKU over the orders in time; which orders cannot be filled whole (they take nothing), and what is left?
(let [stock (atom {}) rejected (atom [])]
  (doseq [{:keys [order-id items status]} (sort-by :placed_at data/orders)
          :when (not= status "cancelled")]
    (if (every? (fn [{:keys [sku qty]}] (<= qty (get @stock sku 40))) items)
      (doseq [{:keys [sku qty]} items]
        (swap! stock update sku (fnil - 40) qty))
      (swap! rejected conj order-id)))
  {:rejected @rejected :left (into (sorted-map) @stock)})

;; == d72 Rank employees by salary, equal salaries share a rank (1, 2, 2, 4): the first eight as rank, name, salary.
(let [sorted (sort-by (juxt (comp - :salary) :name) data/employees)
      rank (fn [s] (inc (count (filter #(> (:salary %) s) data/employees))))]
  (mapv (fn [{:keys [name salary]}] [(rank salary) name salary]) (take 8 sorted)))

;; == d73 What is the balance of each account at the end of each month, as exact numbers, starting from zero?
(let [txs (sort-by :on data/transactions)]
  (->> txs
       (reduce (fn [{:keys [balances] :as st} {:keys [account on amount]}]
                 (let [b (+ (get balances account 0M) (bigdec (str amount)))]
                   (-> st
                       (assoc-in [:balances account] b)
                       (assoc-in [:months account (subs on 0 7)] b))))
               {:balances {} :months {}})
       :months))

;; == d74 Which merchants occur, if case, numbers and white space are normalised? Counts, empty ones left out.
(->> data/transactions
     (map :memo)
     (remove str/blank?)
     (map #(-> % str/lower-case (str/replace #"#\d+" "") (str/replace #"\s+" " ") str/trim))
     frequencies)

;; == d75 Which days have the largest outflow? Top three, ties by day, amounts exact with two places as text.
(->> data/transactions
     (filter (comp neg? :amount))
     (group-by :on)
     (map (fn [[day ts]] {:day day :out (reduce + (map #(.negate (bigdec (:amount %))) ts))}))
     (sort-by (juxt (comp - :out) :day))
     (take 3)
     (mapv #(update % :out (fn [x] (str (.setScale x 2 RoundingMode/HALF_UP))))))

;; == d76 Of the JSON payloads, which parse, and what is the sum of their amounts where it is a number? How many are broken?
;; ptc-only: JSON
(let [parse (fn [s] (try (json/parse-string s true) (catch Exception _ ::broken)))
      parsed (map parse data/payloads)
      good (remove #{::broken} parsed)]
  {:ok (count good)
   :broken (count (filter #{::broken} parsed))
   :sum (reduce + 0M (map bigdec (filter number? (map :amount good))))})

;; == d77 What are the names and ages in the payloads that parse, those without age left out, oldest first?
;; ptc-only: JSON
(->> data/payloads
     (keep #(try (json/parse-string %) (catch Exception e nil)))
     (map #(get % "user"))
     (filter #(get % "age"))
     (sort-by #(get % "age") >)
     (mapv (fn [u] [(get u "name") (get u "age")])))

;; == d78 Which words occur most in the article (letters only, lower case, top five, ties alphabetical)?
(->> (re-seq #"\p{L}+" (str/lower-case data/article))
     frequencies
     (sort-by (fn [[w n]] [(- n) w]))
     (take 5))

;; == d79 What dates, times, prices, addresses and links does the article have?
{:dates (re-seq #"\d{4}-\d{2}-\d{2}" data/article)
 :times (re-seq #"\b\d{1,2}:\d{2}\b" data/article)
 :prices (mapv (fn [[_ n]] (Double/parseDouble n)) (re-seq #"(\d+\.\d{2}) CHF" data/article))
 :emails (re-seq #"[\w.+-]+@[\w-]+(?:\.[\w-]+)+" data/article)
 :links (re-seq #"https?://[^\s]+" data/article)}

;; == d80 What changed in the stock from before to after: added, removed, and changed quantities with the difference?
(let [{:keys [before after]} data/stock
      ks (fn [m] (set (keys m)))]
  {:added (sort (set/difference (ks after) (ks before)))
   :removed (sort (set/difference (ks before) (ks after)))
   :changed (into (sorted-map)
                  (for [k (set/intersection (ks before) (ks after))
                        :let [d (- (get-in after [k :qty]) (get-in before [k :qty]))]
                        :when (not (zero? d))]
                    [k d]))})
