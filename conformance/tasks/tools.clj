;; Questions that need tools, each with the program that answers it. What the tools answer stands in tools.json.

;; == t01 What is the total of all orders of the shop (its list comes in pages), exact as text?
(loop [cursor nil total 0M]
  (let [{:keys [ok value message]} (tool/call {:server "shop" :tool "list_orders" :args {:cursor cursor}})]
    (if-not ok
      (fail message)
      (let [total (reduce + total (map #(bigdec (:amount %)) (:orders value)))]
        (if-let [nxt (:next_cursor value)]
          (recur nxt total)
          (str total))))))

;; == t02 Of these customer ids, which exist (names sorted) and which do not (ids)?
;; data: ids ["cust-001", "cust-404", "cust-005", "cust-007", "cust-999"]
(let [results (pmap (fn [id] [id (tool/call {:server "crm" :tool "get_customer" :args {:id id}})]) data/ids)]
  {:found (->> results (map second) (filter :ok) (map #(get-in % [:value :name])) sort)
   :missing (->> results (remove (comp :ok second)) (mapv first))})

;; == t03 What are these amounts worth in EUR together, each converted and rounded half up to cents? Ask for each rate once.
;; data: amounts [{"amount": "19.99", "currency": "USD"}, {"amount": "5.05", "currency": "GBP"}, {"amount": "100.00", "currency": "EUR"}, {"amount": "0.35", "currency": "USD"}, {"amount": "1200", "currency": "JPY"}]
(let [currencies (disj (set (map :currency data/amounts)) "EUR")
      rates (into {"EUR" 1M}
                  (pmap (fn [c]
                          [c (bigdec (str (get-in (tool/call {:server "fx" :tool "rate" :args {:from c :to "EUR"}}) [:value :rate])))])
                        currencies))]
  (->> data/amounts
       (map (fn [{:keys [amount currency]}]
              (.setScale (* (bigdec amount) (rates currency)) 2 RoundingMode/HALF_UP)))
       (reduce +)))

;; == t04 Which of these cities is the warmest tomorrow, and for which is there no forecast?
;; data: cities ["Zürich", "São Paulo", "Atlantis", "New York", "東京"]
(let [ask (fn [city] (assoc (tool/call {:server "weather" :tool "forecast" :args {:city city}}) :city city))
      {good true bad false} (group-by :ok (pmap ask data/cities))
      warmest (apply max-key #(-> % :value :tomorrow :max_c) good)]
  {:warmest {:city (:city warmest) :max_c (get-in warmest [:value :tomorrow :max_c])}
   :no-forecast (mapv :city bad)})

;; == t05 The file reports/q1.csv has the columns day, sku, units; how many units per SKU?
(let [{:keys [value]} (tool/call {:server "files" :tool "read" :args {:path "reports/q1.csv"}})
      [header & lines] (str/split-lines value)
      rows (map #(zipmap (map keyword (str/split header #",")) (str/split % #",")) lines)]
  (reduce (fn [m {:keys [sku units]}] (update m sku (fnil + 0) (parse-long units))) {} rows))

;; == t06 How many open issues of acme/web-app have each label? Pages are numbered from 1 and the last one is empty.
(let [pages (->> (iterate inc 1)
                 (map #(:value (tool/call {:server "tracker" :tool "list_issues" :args {:repo "acme/web-app" :page %}})))
                 (take-while seq))]
  (->> (apply concat pages)
       (filter #(= "open" (:state %)))
       (mapcat :labels)
       frequencies))

;; == t07 Start the job "re-index" and try again up to five times while it fails; how many attempts did it take, and what did it answer?
(loop [attempt 1]
  (let [r (tool/call {:server "jobs" :tool "start" :args {:job "re-index" :attempt attempt}})]
    (cond
      (:ok r) {:attempts attempt :status (get-in r [:value :status])}
      (< attempt 5) (recur (inc attempt))
      :else (fail {:error (:message r)}))))

;; == t08 How large are all files below "/" together, and which file is the largest?
(defn walk [path]
  (let [{:keys [value]} (tool/call {:server "files" :tool "list" :args {:path path}})]
    (mapcat (fn [{:keys [name type size]}]
              (let [full (str (if (= path "/") "" path) "/" name)]
                (if (= type "dir")
                  (walk full)
                  [{:path full :size size}])))
            (:entries value))))
(let [files (walk "/")]
  {:total (reduce + (map :size files))
   :largest (:path (apply max-key :size files))
   :count (count files)})

;; == t09 What is the revenue per country of the shop's first page of orders, customers without a country under "??"?
(let [orders (get-in (tool/call {:server "shop" :tool "list_orders" :args {:cursor nil}}) [:value :orders])
      ids (distinct (map :customer_id orders))
      country (zipmap ids (map #(if (:ok %) (get-in % [:value :address :country] "??") "??")
                               (pmap #(tool/call {:server "crm" :tool "get_customer" :args {:id %}}) ids)))]
  (->> orders
       (group-by (comp country :customer_id))
       (map (fn [[c os]] [c (reduce + (map (comp bigdec :amount) os))]))
       (into {})))

;; == t10 Send a reminder to every customer of this list that has an e-mail address; give the message ids and who was left out.
;; data: ids ["cust-000", "cust-003", "cust-005"]
(let [customers (keep #(:value (tool/call {:server "crm" :tool "get_customer" :args {:id %}})) data/ids)
      {with true without false} (group-by #(some? (:email %)) customers)]
  {:sent (mapv (fn [{:keys [email name]}]
                 (get-in (tool/call {:server "mail" :tool "send" :args {:to email :subject (str "Hello " name)}}) [:value :message-id]))
               with)
   :left-out (mapv :customer_id without)})

;; == t11 The queue's messages have a JSON text as body; what is the sum of the field "n" over all of them, broken ones counted apart?
(let [messages (:value (tool/call {:server "queue" :tool "peek" :args {:limit 10}}))
      bodies (map (fn [{:keys [body]}] (try (json/parse-string body) (catch Exception _ nil))) messages)]
  {:sum (reduce + (keep #(get % "n") bodies))
   :broken (count (filter nil? bodies))})

;; == t12 Why did the calls for these job ids fail? A map from id to the reason as text.
;; data: ids ["j-1", "j-2", "j-3"]
(into {}
      (for [id data/ids
            :let [{:keys [ok reason]} (tool/call {:server "jobs" :tool "status" :args {:id id}})]
            :when (not ok)]
        [id (name reason)]))

;; == t13 When is the first free half hour between 09:00 and 17:00 Zurich time on 2024-03-28?
(let [zone (ZoneId/of "Europe/Zurich")
      busy (->> (tool/call {:server "calendar" :tool "events" :args {:day "2024-03-28"}})
                :value
                (map (fn [{:keys [start end]}]
                       [(.withZoneSameInstant (ZonedDateTime/parse start) zone)
                        (.withZoneSameInstant (ZonedDateTime/parse end) zone)])))
      open (ZonedDateTime/of 2024 3 28 9 0 0 0 zone)
      slots (take-while #(.isBefore % (.plusHours open 8)) (iterate #(.plusMinutes % 30) open))
      free? (fn [slot] (not-any? (fn [[s e]] (and (.isBefore slot e) (.isAfter (.plusMinutes slot 30) s))) busy))]
  (.format (first (filter free? slots)) (DateTimeFormatter/ofPattern "HH:mm")))

;; == t14 Which of these customers have a note, and what does it say?
;; data: ids ["cust-000", "cust-001", "cust-002"]
(->> data/ids
     (map (fn [id] [id (:value (tool/call {:server "crm" :tool "get_note" :args {:id id}}))]))
     (remove (comp nil? second))
     (into {}))

;; == t15 Of the measurements of station "st-7", what are number, mean to two places and the day with the most values above 30?
(let [{:keys [ok value]} (tool/call {:server "weather" :tool "measurements" :args {:station "st-7"}})
      values (map :v (:rows value))]
  (if ok
    {:n (count values)
     :mean (/ (Math/round (* 100.0 (/ (reduce + values) (count values)))) 100.0)
     :hot-day (->> (:rows value)
                   (filter #(> (:v %) 30))
                   (map #(subs (:at %) 0 10))
                   frequencies
                   (sort-by (fn [[d n]] [(- n) d]))
                   ffirst)}
    (fail "no data")))

;; == t16 Which of these users exist? Ask for all at once and leave out those whose call fails.
;; data: ids [1, 2, 3, 4]
(->> data/ids
     (pmap (fn [id] (try (tool/get_user {:id id}) (catch Exception e nil))))
     (remove nil?)
     (mapv :name))

;; == t17 Ask for the price of "SKU-X", try again up to three times if the call fails, and say how often it was tried.
(loop [n 1]
  (let [r (try (tool/price {:sku "SKU-X" :try n}) (catch Exception e {:error (ex-message e)}))]
    (if (and (:error r) (< n 3))
      (recur (inc n))
      {:tries n :price (:price r) :error (:error r)})))

;; == t18 Collect all pages of the search for "tea"; how many hits are there and what is the mean score to three places?
(let [hits (->> {:next 0}
                (iterate (fn [{:keys [next]}] (when next (tool/search {:q "tea" :from next}))))
                rest
                (take-while some?)
                (mapcat :hits)
                doall)]
  {:hits (count hits)
   :mean (Double/parseDouble (format "%.3f" (double (/ (reduce + (map :score hits)) (count hits)))))})

;; == t19 Check the stock of these SKUs; raise an error of our own for the first one that is out of stock, catch it, and name it.
;; data: skus ["SKU-001", "SKU-002", "SKU-003"]
(try
  (doseq [sku data/skus
          :let [{:keys [qty]} (tool/stock {:sku sku})]]
    (when (zero? qty)
      (throw (ex-info (str "out of stock: " sku) {:sku sku :qty qty}))))
  "all in stock"
  (catch clojure.lang.ExceptionInfo e
    (assoc (ex-data e) :message (.getMessage e))))

;; == t20 Translate the names of the colours and build a map from the English to the German word; unknown ones stay as they are.
;; data: words ["red", "green", "teal", "blue"]
(let [cache (atom {})]
  (doseq [w data/words]
    (let [{:keys [text]} (tool/translate {:word w :to "de"})]
      (swap! cache assoc w (or text w))))
  @cache)
