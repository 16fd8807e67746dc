;;; Shorter programs in the many styles that models use: each leans on an idiom that is easy to miss.

;;data tickets [{"id": 11, "priority": "high", "tags": ["ui", "bug"], "created": "2024-03-01T09:15:00Z", "hours": 3.5, "assignee": "ann"}, {"id": 12, "priority": "low", "tags": [], "created": "2024-03-02T11:00:00Z", "hours": null, "assignee": null}, {"id": 13, "priority": "urgent", "tags": ["bug", "api"], "created": "2024-03-02T08:00:00Z", "hours": 8, "assignee": "bob"}, {"id": 14, "priority": "high", "tags": ["docs"], "created": "2024-03-04T16:45:00Z", "hours": 1.25, "assignee": "ann"}]
;;data sensors {"t1": [20.5, 21.0, null, 22.5], "t2": [19.0, 18.5, 18.0, 35.0], "t3": []}
;;data matches [{"home": "A", "away": "B", "hg": 2, "ag": 1}, {"home": "B", "away": "C", "hg": 0, "ag": 0}, {"home": "C", "away": "A", "hg": 1, "ag": 3}, {"home": "A", "away": "C", "hg": 1, "ag": 1}]

; name: priority order by index
(let [order (zipmap ["urgent" "high" "medium" "low"] (range))]
  (->> data/tickets
       (sort-by (juxt (comp order :priority) :created))
       (map (juxt :id :priority))))
;=> ([13 "urgent"] [11 "high"] [14 "high"] [12 "low"])

; name: tag cloud
(->> data/tickets (mapcat :tags) frequencies (sort-by (juxt (comp - val) key)) (map (fn [[t n]] (str t "(" n ")"))) (str/join " "))
;=> "bug(2) api(1) docs(1) ui(1)"

; name: hours per assignee with defaults
(reduce (fn [acc {:keys [assignee hours] :or {hours 0}}]
          (update acc (or assignee "nobody") (fnil + 0) (or hours 0)))
        {}
        data/tickets)
;=> {"ann" 4.75, "nobody" 0, "bob" 8}

; name: oldest ticket per priority
(into (sorted-map)
      (for [[p ts] (group-by :priority data/tickets)]
        [p (:id (first (sort-by :created ts)))]))
;=> {"high" 11, "low" 12, "urgent" 13}

; name: sensor statistics ignoring nulls
(reduce-kv (fn [m k vs]
             (let [xs (remove nil? vs)]
               (assoc m k (if (seq xs)
                            {:min (apply min xs) :max (apply max xs) :avg (/ (reduce + xs) (count xs))}
                            :no-data))))
           {}
           data/sensors)
;=> {:t1 {:min 20.5, :max 22.5, :avg 21.333333333333332}, :t2 {:min 18.0, :max 35.0, :avg 22.625}, :t3 :no-data}

; name: spikes between neighbours
(for [[k vs] data/sensors
      [i [a b]] (map-indexed vector (partition 2 1 vs))
      :when (and a b (> (Math/abs (- b a)) 5))]
  {:sensor (name k) :at (inc i) :from a :to b})
;=> ({:sensor "t2", :at 3, :from 18.0, :to 35.0})

; name: forward fill of missing values
(update-vals data/sensors
             (fn [vs] (vec (rest (reductions (fn [prev v] (if (nil? v) prev v)) nil vs)))))
;=> {:t1 [20.5 21.0 21.0 22.5], :t2 [19.0 18.5 18.0 35.0], :t3 []}

; name: league table
(defn points [a b] (cond (> a b) 3 (= a b) 1 :else 0))

(->> data/matches
     (mapcat (fn [{:keys [home away hg ag]}]
               [{:team home :pts (points hg ag) :gd (- hg ag)}
                {:team away :pts (points ag hg) :gd (- ag hg)}]))
     (group-by :team)
     (map (fn [[team rs]] {:team team :pts (reduce + (map :pts rs)) :gd (reduce + (map :gd rs)) :played (count rs)}))
     (sort-by (juxt (comp - :pts) (comp - :gd) :team))
     (map-indexed #(assoc %2 :rank (inc %1)))
     vec)
;=> [{:team "A", :pts 7, :gd 3, :played 3, :rank 1} {:team "C", :pts 2, :gd -2, :played 3, :rank 2} {:team "B", :pts 1, :gd -1, :played 2, :rank 3}]

; name: head to head matrix
(let [teams (sort (distinct (mapcat (juxt :home :away) data/matches)))
      score (into {} (map (fn [{:keys [home away hg ag]}] [[home away] (str hg ":" ag)])) data/matches)]
  (mapv (fn [h] (mapv (fn [a] (if (= h a) "-" (get score [h a] ""))) teams)) teams))
;=> [["-" "2:1" "1:1"] ["" "-" "0:0"] ["1:3" "" "-"]]

; name: early exit with reduced
(reduce (fn [[sum n] x]
          (if (> sum 10)
            (reduced {:stopped-after n :sum sum})
            [(+ sum x) (inc n)]))
        [0 0]
        (range 1 100))
;=> {:stopped-after 5, :sum 15}

; name: loop with several accumulators
(loop [[x & xs :as all] [5 -2 7 0 -9]
       pos [] neg [] zero 0]
  (cond
    (empty? all) {:pos pos :neg neg :zero zero}
    (pos? x) (recur xs (conj pos x) neg zero)
    (neg? x) (recur xs pos (conj neg x) zero)
    :else (recur xs pos neg (inc zero))))
;=> {:pos [5 7], :neg [-2 -9], :zero 1}

; name: state threaded through as->
(as-> {:stock 10 :log []} s
  (update s :stock - 3)
  (update s :log conj [:sold 3])
  (if (< (:stock s) 8) (assoc s :alert true) s)
  (dissoc s :log))
;=> {:stock 7, :alert true}

; name: cond->> pipeline with options
(defn query [{:keys [min-hours assignee limit]} rows]
  (cond->> rows
    min-hours (filter #(>= (or (:hours %) 0) min-hours))
    assignee (filter #(= assignee (:assignee %)))
    limit (take limit)
    true (mapv :id)))

[(query {} data/tickets) (query {:min-hours 2} data/tickets) (query {:assignee "ann" :limit 1} data/tickets)]
;=> [[11 12 13 14] [11 13] [11]]

; name: some->> with fallback
(mapv (fn [t] (or (some->> t :hours (format "%.1f h") ) "n/a"))
      (map #(update % :hours (fn [h] (when h (double h)))) data/tickets))
;=> ["3.5 h" "n/a" "8.0 h" "1.3 h"]

; name: multi-arity and recursion
(defn sum-digits
  ([n] (sum-digits n 0))
  ([n acc] (if (zero? n) acc (recur (quot n 10) (+ acc (rem n 10))))))

(defn digital-root [n] (if (< n 10) n (recur (sum-digits n))))

(map (juxt sum-digits digital-root) [0 7 12345 999999])
;=> ([0 0] [7 7] [15 6] [54 9])

; name: closures and counters
(defn make-counter []
  (let [n (atom 0)]
    {:inc! #(swap! n inc) :dec! #(swap! n dec) :value #(deref n)}))

(let [{:keys [inc! dec! value]} (make-counter)]
  (inc!) (inc!) (dec!)
  (dotimes [_ 3] (inc!))
  (value))
;=> 4

; name: function table dispatch
(def ops {:+ + :- - :* * :/ / :max max :avg (fn [& xs] (/ (apply + xs) (count xs)))})

(for [[op & args] [[:+ 1 2 3] [:- 10 4] [:avg 2 4 9] [:max 3 8] [:/ 9 3]]]
  (apply (ops op) args))
;=> (6 6 5 8 3)

; name: composition of predicates
(let [long-word? #(> (count %) 4)
      starts-a? #(str/starts-with? % "a")
      interesting? (every-pred long-word? (complement starts-a?))]
  (group-by interesting? ["apple" "banana" "kiwi" "avocado" "cherry"]))
;=> {false ["apple" "kiwi" "avocado"], true ["banana" "cherry"]}

; name: transpose ragged rows
(let [rows [[1 2 3] [4 5] [6]]
      n (apply max (map count rows))]
  (mapv (fn [i] (mapv #(nth % i nil) rows)) (range n)))
;=> [[1 4 6] [2 5 nil] [3 nil nil]]

; name: sliding window maximum
(->> [1 3 -1 -3 5 3 6 7] (partition 3 1) (mapv #(apply max %)))
;=> [3 3 5 5 6 7]

; name: two sum with map lookup
(defn two-sum [xs target]
  (loop [i 0 seen {}]
    (when (< i (count xs))
      (let [x (nth xs i)]
        (if-let [j (seen (- target x))]
          [j i]
          (recur (inc i) (assoc seen x i)))))))

[(two-sum [2 7 11 15] 9) (two-sum [3 2 4] 6) (two-sum [1 2] 9)]
;=> [[0 1] [1 2] nil]

; name: nested for comprehension
(for [a (range 1 20) b (range a 20) :let [c2 (+ (* a a) (* b b)) c (int (Math/sqrt c2))] :when (and (= c2 (* c c)) (< c 20))]
  [a b c])
;=> ([3 4 5] [5 12 13] [6 8 10] [8 15 17] [9 12 15])

; name: string keyed config with defaults
(let [defaults {:host "localhost" :port 80 :opts {:ssl false}}
      given {"port" "8443" "opts" {"ssl" "true"}}]
  (-> (merge defaults (walk/keywordize-keys given))
      (update :port #(Integer/parseInt %))
      (update-in [:opts :ssl] #(Boolean/parseBoolean %))))
;=> {:host "localhost", :port 8443, :opts {:ssl true}}

; name: parse command line arguments
(defn parse-args [args]
  (loop [[a & more] args out {:flags #{} :opts {} :rest []}]
    (cond
      (nil? a) out
      (re-find #"^--\w+=" a) (let [[_ k v] (re-matches #"--(\w+)=(.*)" a)] (recur more (assoc-in out [:opts (keyword k)] v)))
      (str/starts-with? a "--") (recur more (update out :flags conj (keyword (subs a 2))))
      :else (recur more (update out :rest conj a)))))

(parse-args ["--verbose" "in.txt" "--out=x.csv" "more"])
;=> {:flags #{:verbose}, :opts {:out "x.csv"}, :rest ["in.txt" "more"]}

; name: version compare
(defn parse-version [v] (mapv parse-long (str/split v #"\.")))

(defn version-compare [a b]
  (let [[a b] (map parse-version [a b])
        n (max (count a) (count b))
        pad #(vec (take n (concat % (repeat 0))))]
    (compare (pad a) (pad b))))

[(sort version-compare ["1.10" "1.9.1" "1.9" "2.0" "1.10.0"]) (version-compare "1.0" "1.0.0")]
;=> [("1.9" "1.9.1" "1.10" "1.10.0" "2.0") 0]

; name: rate limiter per key
(let [limit 2 window 10]
  (:decisions
    (reduce (fn [{:keys [seen] :as st} [t k]]
              (let [recent (filterv #(> % (- t window)) (get seen k []))
                    ok (< (count recent) limit)]
                (-> st
                    (assoc-in [:seen k] (if ok (conj recent t) recent))
                    (update :decisions conj [t k (if ok :ok :limited)]))))
            {:seen {} :decisions []}
            [[1 :a] [2 :a] [3 :a] [4 :b] [12 :a] [13 :a]])))
;=> [[1 :a :ok] [2 :a :ok] [3 :a :limited] [4 :b :ok] [12 :a :ok] [13 :a :ok]]

; name: inventory by fifo lots
(defn consume [lots qty]
  (loop [[{:keys [n cost] :as lot} & more :as lots] lots qty qty spent 0]
    (cond
      (zero? qty) {:spent spent :lots (vec lots)}
      (nil? lot) {:spent spent :lots [] :short qty}
      (<= n qty) (recur more (- qty n) (+ spent (* n cost)))
      :else {:spent (+ spent (* qty cost)) :lots (vec (cons (update lot :n - qty) more))})))

[(consume [{:n 5 :cost 10} {:n 5 :cost 12}] 7) (consume [{:n 1 :cost 3}] 2)]
;=> [{:spent 74, :lots [{:n 3, :cost 12}]} {:spent 3, :lots [], :short 1}]

; name: undo redo editor
(defn step [{:keys [past present future] :as ed} [cmd arg]]
  (case cmd
    :type {:past (conj past present) :present (str present arg) :future ()}
    :undo (if-let [p (peek past)] {:past (pop past) :present p :future (conj future present)} ed)
    :redo (if-let [f (first future)] {:past (conj past present) :present f :future (rest future)} ed)
    ed))

(:present (reduce step {:past [] :present "" :future ()}
                  [[:type "a"] [:type "b"] [:undo] [:undo] [:redo] [:type "c"] [:redo] [:noop]]))
;=> "ac"

; name: matrix rotations
(let [m [[1 2 3] [4 5 6]]
      rot (fn [m] (apply mapv (fn [& col] (vec (reverse col))) m))]
  (take 3 (iterate rot m)))
;=> ([[1 2 3] [4 5 6]] [[4 1] [5 2] [6 3]] [[6 5 4] [3 2 1]])

; name: bucketing with sorted-map and subseq
(let [bands (sorted-map 0 :child 13 :teen 20 :adult 65 :senior)
      band (fn [age] (val (first (rsubseq bands <= age))))]
  (frequencies (map band [5 12 13 19 20 64 65 90])))
;=> {:child 2, :teen 2, :adult 2, :senior 2}

; name: exceptions as control of validation
(defn validate! [{:keys [age email] :as u}]
  (when-not (and age (<= 0 age 150)) (throw (ex-info "bad age" {:field :age :value age})))
  (when-not (re-find #"@" (str email)) (throw (ex-info "bad email" {:field :email})))
  u)

(for [u [{:age 30 :email "a@b"} {:age 200 :email "a@b"} {:age 5}]]
  (try (validate! u) :ok
       (catch clojure.lang.ExceptionInfo e (-> e ex-data :field))
       (finally nil)))
;=> (:ok :age :email)

; name: parse or default with or
(map #(or (parse-long %) (some-> (parse-double %) Math/round) -1) ["5" "2.7" "x" "-3"])
;=> (5 3 -1 -3)

; name: string formatting of tables
(let [rows [["apple" 1.5 10] ["kiwi" 0.25 200]]]
  (apply str (map (fn [[n p q]] (format "%-8s|%8.2f|%5d|%10.3e%n" n p q (* p q))) rows)))
;=> "apple   |    1.50|   10| 1.500e+01\nkiwi    |    0.25|  200| 5.000e+01\n"

; name: iterate until stable
(let [f (fn [x] (/ (+ x (/ 2.0 x)) 2))
      xs (iterate f 1.0)]
  (->> (map vector xs (rest xs))
       (drop-while (fn [[a b]] (> (Math/abs (- a b)) 1e-6)))
       ffirst
       (format "%.6f")))
;=> "1.414214"

; name: interleave and zip
{:inter (interleave [:a :b :c] [1 2 3])
 :map (apply hash-map (interleave [:a :b] [1 2]))
 :pos (interpose 0 [1 2 3])
 :idx (map-indexed (fn [i x] [i x]) "ab")}
;=> {:inter (:a 1 :b 2 :c 3), :map {:b 2, :a 1}, :pos (1 0 2 0 3), :idx ([0 \a] [1 \b])}

; name: lazy pipeline stops early
(let [touched (atom 0)
      xs (map (fn [x] (swap! touched inc) (* x x)) (iterate inc 1))]
  [(first (filter #(> % 50) xs)) (< @touched 40)])
;=> [64 true]

; name: sets as functions and disjoint
(let [a #{1 2 3} b #{3 4}]
  {:both (filter a b) :only-a (remove b a) :any? (boolean (some a b)) :disjoint? (empty? (set/intersection a #{9}))
   :sym (set/union (set/difference a b) (set/difference b a))})
;=> {:both (3), :only-a (1 2), :any? true, :disjoint? true, :sym #{1 4 2}}

; name: keywords and symbols as data
(let [m {:user/name "a" :user/age 3 :sys/id 9}]
  (-> (group-by (comp namespace key) m)
      (update-vals (fn [kvs] (into {} (map (fn [[k v]] [(keyword (name k)) v])) kvs)))))
;=> {"user" {:name "a", :age 3}, "sys" {:id 9}}

; name: every combination of options
(let [opts {:size [:s :m] :color [:red :blue]}]
  (reduce (fn [acc [k vs]] (for [m acc v vs] (assoc m k v))) [{}] opts))
;=> ({:size :s, :color :red} {:size :s, :color :blue} {:size :m, :color :red} {:size :m, :color :blue})

; name: compress ranges
(defn ranges [xs]
  (->> (sort xs)
       (reduce (fn [acc x]
                 (let [[lo hi] (peek acc)]
                   (if (and hi (= x (inc hi)))
                     (conj (pop acc) [lo x])
                     (conj acc [x x]))))
               [])
       (map (fn [[lo hi]] (if (= lo hi) (str lo) (str lo "-" hi))))
       (str/join ",")))

(ranges [1 2 3 5 7 8 10])
;=> "1-3,5,7-8,10"

; name: expand ranges
(mapcat (fn [part]
          (let [[a b] (map #(Integer/parseInt %) (str/split part #"-"))]
            (range a (inc (or b a)))))
        (str/split "1-3,5,7-8" #","))
;=> (1 2 3 5 7 8)

; name: weighted choice deterministic
(let [items [[:a 1] [:b 3] [:c 6]]
      cum (reductions + (map second items))
      pick (fn [r] (first (first (drop-while #(<= (second %) r) (map vector (map first items) cum)))))]
  (map pick [0 1 3 4 9]))
;=> (:a :b :b :c :c)

; name: moving counts with queue
(loop [q clojure.lang.PersistentQueue/EMPTY [x & xs] [1 2 3 4] out []]
  (if x
    (let [q (conj q x)
          q (if (> (count q) 2) (pop q) q)]
      (recur q xs (conj out (vec q))))
    out))
;=> [[1] [1 2] [2 3] [3 4]]

; name: bit manipulation report
(for [n [0 1 10 255]]
  [n (Integer/toBinaryString n) (Long/bitCount n) (bit-and n 0xF) (bit-shift-left n 2) (bit-test n 1)])
;=> ([0 "0" 0 0 0 false] [1 "1" 1 1 4 false] [10 "1010" 2 10 40 true] [255 "11111111" 8 15 1020 true])

; name: char arithmetic columns
(defn col->num [s] (reduce (fn [a c] (+ (* 26 a) (- (int c) 64))) 0 s))
(defn num->col [n] (loop [n n s ""] (if (zero? n) s (let [m (mod (dec n) 26)] (recur (quot (- n m 1) 26) (str (char (+ 65 m)) s))))))

(map (juxt identity col->num (comp num->col col->num)) ["A" "Z" "AA" "ZZ"])
;=> (["A" 1 "A"] ["Z" 26 "Z"] ["AA" 27 "AA"] ["ZZ" 702 "ZZ"])

; name: println does not change the answer
(do
  (println "working" (count data/tickets))
  (doseq [t data/tickets] (print (:id t) ""))
  (prn {:done true})
  (->> data/tickets (map :id) (reduce +)))
;=> 50

; name: local functions with letfn and mutual recursion
(letfn [(evn? [n] (if (zero? n) true (odd' (dec n))))
        (odd' [n] (if (zero? n) false (evn? (dec n))))]
  (map evn? [0 1 10 1001]))
;=> (true false true false)

; name: deeply nested update
(-> {:teams {:red {:players [{:name "x" :score 1} {:name "y" :score 2}]}}}
    (update-in [:teams :red :players 1 :score] + 10)
    (assoc-in [:teams :blue] {:players []})
    (update-in [:teams :red :players] (partial sort-by :score >))
    (get-in [:teams :red :players])
    first)
;=> {:name "y", :score 12}

; name: string distance ranking
(let [dist (fn [a b] (count (filter false? (map = a b))))
      words ["karolin" "kathrin" "kerstin"]]
  (sort-by second (for [w words] [w (dist "karolin" w)])))
;=> (["karolin" 0] ["kathrin" 3] ["kerstin" 3])

; name: grouping consecutive timestamps into sessions
(let [ts [0 10 25 100 110 300]
      gap 30]
  (->> ts
       (reduce (fn [acc t] (if (and (seq acc) (<= (- t (peek (peek acc))) gap))
                             (conj (pop acc) (conj (peek acc) t))
                             (conj acc [t])))
               [])
       (mapv (juxt first peek count))))
;=> [[0 25 3] [100 110 2] [300 300 1]]

; name: memo fib with atom cache
(let [cache (atom {0 0N 1 1N})]
  (letfn [(fib [n] (or (@cache n)
                       (let [v (+ (fib (- n 1)) (fib (- n 2)))]
                         (swap! cache assoc n v)
                         v)))]
    [(fib 90) (count @cache)]))
;=> [2880067194370816120N 91]

; name: doto and java collections stay out
(let [v (volatile! (transient []))]
  (doseq [x (range 5) :when (odd? x)] (vswap! v conj! x))
  (persistent! @v))
;=> [1 3]

; name: when-let chains
(defn city-of [id]
  (when-let [u (first (filter #(= id (:id %)) [{:id 1 :addr {:city "Oslo"}} {:id 2}]))]
    (when-let [{:keys [city]} (:addr u)]
      (str/upper-case city))))

(map city-of [1 2 3])
;=> ("OSLO" nil nil)

; name: if-some and if-let differ
(for [m [{:v false} {:v nil} {:v 0} {}]]
  [(if-let [x (:v m)] x :none) (if-some [x (:v m)] x :none) (get m :v :missing) (contains? m :v)])
;=> ([:none false false true] [:none :none nil true] [0 0 0 true] [:none :none :missing false])

; name: dates as keys with juxt
(->> data/tickets
     (group-by (juxt #(subs (:created %) 0 10) :priority))
     (map (fn [[[d p] ts]] [d (keyword p) (count ts)]))
     sort
     vec)
;=> [["2024-03-01" :high 1] ["2024-03-02" :low 1] ["2024-03-02" :urgent 1] ["2024-03-04" :high 1]]
