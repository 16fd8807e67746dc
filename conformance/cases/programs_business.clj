;;; Whole programs over business data, as a model writes them on its first try: orders, customers, stock, money.

;;data orders [{"id": 1, "customer": "acme", "region": "EU", "status": "paid", "date": "2024-01-05", "total": 120.5, "items": [{"sku": "A", "qty": 2, "price": 10.25}, {"sku": "B", "qty": 1, "price": 100.0}]}, {"id": 2, "customer": "globex", "region": "US", "status": "pending", "date": "2024-01-17", "total": 45.0, "items": [{"sku": "C", "qty": 10, "price": 4.5}]}, {"id": 3, "customer": "acme", "region": "EU", "status": "refunded", "date": "2024-02-02", "total": 20.5, "items": [{"sku": "A", "qty": 2, "price": 10.25}]}, {"id": 4, "customer": "initech", "region": "US", "status": "paid", "date": "2024-02-20", "total": 310.0, "items": [{"sku": "B", "qty": 3, "price": 100.0}, {"sku": "D", "qty": 1, "price": 10.0}]}, {"id": 5, "customer": "hooli", "region": "APAC", "status": "paid", "date": "2024-03-03", "total": 99.99, "items": [{"sku": "E", "qty": 1, "price": 99.99}]}]
;;data customers [{"id": "acme", "name": "Acme Corp", "tier": "gold", "email": "ops@acme.com"}, {"id": "globex", "name": "Globex", "tier": "silver", "email": null}, {"id": "initech", "name": "Initech", "tier": "gold", "email": "it@initech.com"}, {"id": "umbrella", "name": "Umbrella", "tier": "bronze", "email": "x@umbrella.io"}]
;;data stock [{"sku": "A", "on_hand": 5, "reorder": 10, "cost": 7.0}, {"sku": "B", "on_hand": 40, "reorder": 20, "cost": 61.5}, {"sku": "C", "on_hand": 0, "reorder": 50, "cost": 2.0}, {"sku": "D", "on_hand": 12, "reorder": 12, "cost": 3.25}]

; name: revenue by region
(->> data/orders
     (filter #(= "paid" (:status %)))
     (group-by :region)
     (map (fn [[region os]]
            {:region region
             :orders (count os)
             :revenue (reduce + (map :total os))}))
     (sort-by :revenue >)
     vec)
;=> [{:region "US", :orders 1, :revenue 310.0} {:region "EU", :orders 1, :revenue 120.5} {:region "APAC", :orders 1, :revenue 99.99}]

; name: join orders with customers
(let [by-id (into {} (map (juxt :id identity)) data/customers)]
  (for [{:keys [id customer total]} data/orders
        :let [{:keys [name tier]} (get by-id customer)]]
    {:order id
     :customer (or name "unknown")
     :tier (keyword (or tier "none"))
     :total total}))
;=> ({:order 1, :customer "Acme Corp", :tier :gold, :total 120.5} {:order 2, :customer "Globex", :tier :silver, :total 45.0} {:order 3, :customer "Acme Corp", :tier :gold, :total 20.5} {:order 4, :customer "Initech", :tier :gold, :total 310.0} {:order 5, :customer "unknown", :tier :none, :total 99.99})

; name: customers without orders
(let [seen (set (map :customer data/orders))]
  (->> data/customers
       (remove (comp seen :id))
       (mapv :name)))
;=> ["Umbrella"]

; name: units sold per sku with running rank
(let [units (->> data/orders
                 (mapcat :items)
                 (reduce (fn [m {:keys [sku qty]}] (update m sku (fnil + 0) qty)) {}))]
  (->> units
       (sort-by (juxt (comp - val) key))
       (map-indexed (fn [i [sku n]] {:rank (inc i) :sku sku :units n}))
       vec))
;=> [{:rank 1, :sku "C", :units 10} {:rank 2, :sku "A", :units 4} {:rank 3, :sku "B", :units 4} {:rank 4, :sku "D", :units 1} {:rank 5, :sku "E", :units 1}]

; name: order totals recomputed and checked
(defn line-total [{:keys [qty price]}]
  (* qty price))

(defn order-total [order]
  (transduce (map line-total) + 0 (:items order)))

(->> data/orders
     (keep (fn [{:keys [id total] :as o}]
             (let [calc (order-total o)]
               (when (> (Math/abs (- calc total)) 0.001)
                 {:id id :stated total :computed calc}))))
     vec)
;=> []

; name: monthly totals as sorted map
(->> data/orders
     (group-by #(subs (:date %) 0 7))
     (reduce-kv (fn [m month os]
                  (assoc m (keyword month) (->> os (map :total) (apply +) (format "%.2f"))))
                (sorted-map)))
;=> {:2024-01 "165.50", :2024-02 "330.50", :2024-03 "99.99"}

; name: low stock report as text
(str/join "\n"
  (for [{:keys [sku on_hand reorder]} (sort-by :on_hand data/stock)
        :when (< on_hand reorder)]
    (format "%-4s %4d/%-4d %s" sku on_hand reorder (if (zero? on_hand) "OUT" "LOW"))))
;=> "C       0/50   OUT\nA       5/10   LOW"

; name: margin per order
(let [cost (into {} (map (juxt :sku :cost) data/stock))
      margin (fn [{:keys [items]}]
               (reduce (fn [acc {:keys [sku qty price]}]
                         (+ acc (* qty (- price (get cost sku 0)))))
                       0
                       items))]
  (into (sorted-map)
        (map (fn [o] [(:id o) (-> (margin o) (* 100) Math/round (/ 100.0))]))
        data/orders))
;=> {1 45.0, 2 25.0, 3 6.5, 4 122.25, 5 99.99}

; name: pivot status by region
(let [regions (sort (distinct (map :region data/orders)))
      statuses (sort (distinct (map :status data/orders)))
      freq (frequencies (map (juxt :status :region) data/orders))]
  (into [(into ["status"] regions)]
        (for [s statuses]
          (into [s] (for [r regions] (get freq [s r] 0))))))
;=> [["status" "APAC" "EU" "US"] ["paid" 1 1 1] ["pending" 0 0 1] ["refunded" 0 1 0]]

; name: tiered discount with condp and cond->
(defn discount [total]
  (condp <= total
    300 0.15
    100 0.1
    50 0.05
    0))

(mapv (fn [{:keys [id total customer]}]
        (let [d (discount total)
              gold? (= "gold" (:tier (first (filter #(= customer (:id %)) data/customers))))]
          (cond-> {:id id :net (* total (- 1 d))}
            gold? (update :net * 0.98)
            (pos? d) (assoc :discount d))))
      data/orders)
;=> [{:id 1, :net 106.281, :discount 0.1} {:id 2, :net 45.0} {:id 3, :net 20.09} {:id 4, :net 258.23, :discount 0.15} {:id 5, :net 94.9905, :discount 0.05}]

; name: best customer with max-key
(let [spend (reduce (fn [m {:keys [customer total]}] (merge-with + m {customer total})) {} data/orders)]
  {:best (key (apply max-key val spend))
   :worst (key (apply min-key val spend))
   :spend (into (sorted-map) spend)})
;=> {:best "initech", :worst "globex", :spend {"acme" 141.0, "globex" 45.0, "hooli" 99.99, "initech" 310.0}}

; name: moving average of totals
(let [window 3]
  (->> data/orders
       (map :total)
       (partition window 1)
       (mapv #(/ (Math/round (* 100.0 (/ (reduce + %) window))) 100.0))))
;=> [62.0 125.17 143.5]

; name: cumulative totals with reductions
(->> data/orders
     (map :total)
     (reductions +)
     (map #(format "%.1f" (double %)))
     (zipmap (map :date data/orders))
     (into (sorted-map)))
;=> {"2024-01-05" "120.5", "2024-01-17" "165.5", "2024-02-02" "186.0", "2024-02-20" "496.0", "2024-03-03" "596.0"}

; name: split into paid and open
(let [{paid true open false} (group-by #(= "paid" (:status %)) data/orders)]
  {:paid (mapv :id paid) :open (mapv :id open) :ratio (double (/ (count paid) (count data/orders)))})
;=> {:paid [1 4 5], :open [2 3], :ratio 0.6}

; name: nested grouping
(reduce (fn [acc {:keys [region status total]}]
          (-> acc
              (update-in [region status :count] (fnil inc 0))
              (update-in [region status :total] (fnil + 0) total)))
        {}
        data/orders)
;=> {"EU" {"paid" {:count 1, :total 120.5}, "refunded" {:count 1, :total 20.5}}, "US" {"pending" {:count 1, :total 45.0}, "paid" {:count 1, :total 310.0}}, "APAC" {"paid" {:count 1, :total 99.99}}}

; name: invoice text
(defn invoice [{:keys [id items total]}]
  (str "Invoice #" id "\n"
       (apply str (map (fn [{:keys [sku qty price]}]
                         (format "  %s x%d @ %.2f%n" sku qty price))
                       items))
       (format "Total: %,.2f" total)))

(invoice (first data/orders))
;=> "Invoice #1\n  A x2 @ 10.25\n  B x1 @ 100.00\nTotal: 120.50"

; name: group totals in one pass with transducers
(def xf (comp (filter #(not= "refunded" (:status %)))
              (mapcat :items)
              (map #(* (:qty %) (:price %)))))

{:sum (transduce xf + data/orders)
 :max (transduce xf max 0 data/orders)
 :lines (into [] xf data/orders)}
;=> {:sum 575.49, :max 300.0, :lines [20.5 100.0 45.0 300.0 10.0 99.99]}

; name: validation errors as data
(def rules
  [[:email some? "email missing"]
   [:email #(or (nil? %) (re-matches #"[^@\s]+@[^@\s]+\.[a-z]+" %)) "email malformed"]
   [:tier #{"gold" "silver"} "tier not eligible"]])

(into {}
      (for [c data/customers
            :let [errors (for [[k ok? msg] rules :when (not (ok? (k c)))] msg)]
            :when (seq errors)]
        [(:id c) (vec errors)]))
;=> {"globex" ["email missing"], "umbrella" ["tier not eligible"]}

; name: atom ledger with doseq
(let [ledger (atom {})]
  (doseq [{:keys [customer total status]} data/orders]
    (case status
      "paid" (swap! ledger update customer (fnil + 0) total)
      "refunded" (swap! ledger update customer (fnil - 0) total)
      nil))
  (into (sorted-map) @ledger))
;=> {"acme" 100.0, "hooli" 99.99, "initech" 310.0}

; name: currency formatting
(defn money [n]
  (let [[whole frac] (str/split (format "%.2f" (double n)) #"\.")
        grouped (->> (reverse whole)
                     (partition-all 3)
                     (map #(apply str %))
                     (str/join ",")
                     str/reverse)]
    (str "$" grouped "." frac)))

(map money [5 1234.5 1234567.891 999])
;=> ("$5.00" "$1,234.50" "$1,234,567.89" "$999.00")

; name: allocate stock first come first served
(defn allocate [{:keys [stock] :as state} {:keys [id items]}]
  (reduce (fn [st {:keys [sku qty]}]
            (let [have (get-in st [:stock sku] 0)
                  give (min have qty)]
              (-> st
                  (assoc-in [:stock sku] (- have give))
                  (update :allocated conj {:order id :sku sku :qty give :short (- qty give)}))))
          state
          items))

(-> (reduce allocate
            {:stock (into {} (map (juxt :sku :on_hand)) data/stock) :allocated []}
            data/orders)
    (update :allocated (fn [as] (filterv #(pos? (:short %)) as))))
;=> {:stock {"A" 1, "B" 36, "C" 0, "D" 11, "E" 0}, :allocated [{:order 2, :sku "C", :qty 0, :short 10} {:order 5, :sku "E", :qty 0, :short 1}]}

; name: days between orders
(import '[java.time LocalDate] '[java.time.temporal ChronoUnit])
(->> data/orders
     (map #(LocalDate/parse (:date %)))
     sort
     (partition 2 1)
     (mapv (fn [[a b]] (.between ChronoUnit/DAYS a b))))
;=> [12 16 18 12]

; name: quarter labels
(defn quarter [date]
  (let [m (Integer/parseInt (subs date 5 7))]
    (str (subs date 0 4) "-Q" (inc (quot (dec m) 3)))))

(frequencies (map (comp quarter :date) (concat data/orders [{:date "2023-12-31"} {:date "2024-07-01"}])))
;=> {"2024-Q1" 5, "2023-Q4" 1, "2024-Q3" 1}

; name: outer join with set operations
(let [ordered (set (map :customer data/orders))
      known (set (map :id data/customers))]
  {:both (sort (set/intersection ordered known))
   :only-orders (sort (set/difference ordered known))
   :only-customers (sort (set/difference known ordered))
   :all (count (set/union ordered known))})
;=> {:both ("acme" "globex" "initech"), :only-orders ("hooli"), :only-customers ("umbrella"), :all 5}

; name: ABC classification
(let [totals (->> data/orders
                  (mapcat :items)
                  (group-by :sku)
                  (map (fn [[sku ls]] [sku (reduce + (map #(* (:qty %) (:price %)) ls))]))
                  (sort-by second >))
      grand (reduce + (map second totals))]
  (loop [[[sku v] & more] totals, cum 0, out []]
    (if (nil? sku)
      out
      (let [cum (+ cum v)
            share (/ cum grand)]
        (recur more cum (conj out [sku (cond (<= share 0.7) :a (<= share 0.9) :b :else :c)]))))))
;=> [["B" :a] ["E" :b] ["C" :c] ["A" :c] ["D" :c]]

; name: tax by region with multimethod
(defmulti tax (fn [{:keys [region]}] (keyword (str/lower-case region))))
(defmethod tax :eu [{:keys [total]}] (* 0.2 total))
(defmethod tax :us [{:keys [total]}] (* 0.07 total))
(defmethod tax :default [_] 0)

(mapv (fn [o] [(:id o) (format "%.2f" (double (tax o)))]) data/orders)
;=> [[1 "24.10"] [2 "3.15"] [3 "4.10"] [4 "21.70"] [5 "0.00"]]

; name: records with protocol
(defprotocol Priced
  (price [this])
  (describe-item [this]))

(defrecord Product [name unit qty]
  Priced
  (price [_] (* unit qty))
  (describe-item [this] (str name " x" qty " = " (price this))))

(defrecord Service [name hours rate]
  Priced
  (price [_] (* hours rate))
  (describe-item [this] (format "%s: %dh = %d" name hours (price this))))

(let [basket [(->Product "bolt" 2 10) (->Service "fit" 3 50) (map->Product {:name "nut" :unit 1 :qty 4})]]
  {:total (reduce + (map price basket))
   :lines (mapv describe-item basket)})
;=> {:total 174, :lines ["bolt x10 = 20" "fit: 3h = 150" "nut x4 = 4"]}

; name: memoized price lookup and safe parse
(def lookup
  (memoize (fn [sku]
             (or (:cost (first (filter #(= sku (:sku %)) data/stock)))
                 (throw (ex-info "no such sku" {:sku sku}))))))

(mapv (fn [sku]
        (try
          {:sku sku :cost (lookup sku)}
          (catch clojure.lang.ExceptionInfo e
            {:error (.getMessage e) :data (ex-data e)})))
      ["A" "Z" "B"])
;=> [{:sku "A", :cost 7.0} {:error "no such sku", :data {:sku "Z"}} {:sku "B", :cost 61.5}]

; name: parse price strings
(let [parse (fn [s]
              (let [cleaned (str/replace s #"[^0-9.\-]" "")]
                (when-not (str/blank? cleaned)
                  (Double/parseDouble cleaned))))]
  (->> ["$1,234.50" "EUR 99" "n/a" "-5.25" ""]
       (map parse)
       (map vector ["a" "b" "c" "d" "e"])
       (into {})))
;=> {"a" 1234.5, "b" 99.0, "c" nil, "d" -5.25, "e" nil}

; name: distribute an amount by weights to the cent
(defn distribute [cents weights]
  (let [total (reduce + weights)
        raw (map #(quot (* cents %) total) weights)
        left (- cents (reduce + raw))]
    (vec (map-indexed (fn [i c] (if (< i left) (inc c) c)) raw))))

[(distribute 1000 [1 1 1]) (distribute 999 [5 3 2]) (reduce + (distribute 12345 [7 11 13]))]
;=> [[334 333 333] [500 300 199] 12345]

; name: depreciation schedule
(let [cost 10000 rate 0.2]
  (->> (iterate (fn [{:keys [year value]}]
                  {:year (inc year) :value (* value (- 1 rate))})
                {:year 0 :value cost})
       (take-while #(> (:value %) 4000))
       (mapv (juxt :year #(Math/round (double (:value %)))))))
;=> [[0 10000] [1 8000] [2 6400] [3 5120] [4 4096]]

; name: loan amortisation
(let [principal 1200.0 rate 0.01 n 4
      payment (/ (* principal rate) (- 1 (Math/pow (+ 1 rate) (- n))))]
  (loop [k 1 balance principal rows []]
    (if (> k n)
      rows
      (let [interest (* balance rate)
            capital (- payment interest)
            balance (- balance capital)]
        (recur (inc k) balance
               (conj rows (format "%d %.2f %.2f %.2f" k interest capital (Math/abs balance))))))))
;=> ["1 12.00 295.54 904.46" "2 9.04 298.49 605.97" "3 6.06 301.48 304.49" "4 3.04 304.49 0.00"]
