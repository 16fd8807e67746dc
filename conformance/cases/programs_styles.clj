;;; Programs that reach for less common corners: namespaces, interop constructors, custom transducers, type dispatch,
;;; grids, comparators, exact decimals.

;;data staff [{"id": 1, "name": "Ann Lee", "dept": "eng", "salary": 120000, "manager": null, "start": "2019-04-01"}, {"id": 2, "name": "Bob Ray", "dept": "eng", "salary": 95000, "manager": 1, "start": "2021-09-15"}, {"id": 3, "name": "Cy Fox", "dept": "ops", "salary": 70000, "manager": 1, "start": "2020-01-20"}, {"id": 4, "name": "Di Kay", "dept": "ops", "salary": 70000, "manager": 3, "start": "2023-06-30"}]
;;data series [{"d": "2024-01-01", "v": 10}, {"d": "2024-01-02", "v": 13}, {"d": "2024-01-04", "v": 9}, {"d": "2024-01-05", "v": 20}, {"d": "2024-01-08", "v": 20}]
;;data text "name: Widget\nprice: 9.99\ntags: a, b ,c\n# comment\n\nname: Gadget\nprice: 24.5\ntags: x"

; name: namespace, private helpers and -main
(ns report.core
  "Salary report."
  (:require [clojure.string :as str]
            [clojure.set :as set])
  (:import (java.time LocalDate)))

(def ^:const bonus 0.1)
(def ^:private cutoff (LocalDate/of 2021 1 1))

(defn- initials
  "First letters of all name parts."
  [s]
  (->> (str/split s #"\s+") (map first) (apply str)))

(defn- senior? [{:keys [start]}]
  (.isBefore (LocalDate/parse start) cutoff))

(defn -main [& _args]
  (vec (for [e data/staff :when (senior? e)]
         {:who (initials (:name e)) :bonus (* bonus (:salary e))})))

(comment
  (-main))

(-main)
;=> [{:who "AL", :bonus 12000.0} {:who "CF", :bonus 7000.0}]

; name: juxt filter remove
(let [[eng other] ((juxt filter remove) #(= "eng" (:dept %)) data/staff)]
  {:eng (mapv :id eng) :other (mapv :id other)})
;=> {:eng [1 2], :other [3 4]}

; name: org chart indentation
(let [kids (group-by :manager data/staff)]
  (letfn [(lines [depth e]
            (cons (str (apply str (repeat (* 2 depth) \space)) "- " (:name e))
                  (mapcat (partial lines (inc depth)) (kids (:id e)))))]
    (str/join "\n" (mapcat (partial lines 0) (kids nil)))))
;=> "- Ann Lee\n  - Bob Ray\n  - Cy Fox\n    - Di Kay"

; name: chain of command
(let [by-id (zipmap (map :id data/staff) data/staff)
      chain (fn [id] (->> (by-id id) (iterate (comp by-id :manager)) (take-while identity) (mapv :name)))]
  (into {} (map (juxt :id (comp chain :id))) data/staff))
;=> {1 ["Ann Lee"], 2 ["Bob Ray" "Ann Lee"], 3 ["Cy Fox" "Ann Lee"], 4 ["Di Kay" "Cy Fox" "Ann Lee"]}

; name: salary bands with sorted-map-by
(reduce (fn [m {:keys [salary name]}]
          (update m (* 50000 (quot salary 50000)) (fnil conj []) (first (str/split name #" "))))
        (sorted-map-by >)
        data/staff)
;=> {100000 ["Ann"], 50000 ["Bob" "Cy" "Di"]}

; name: dense rank
(let [ranks (zipmap (sort > (distinct (map :salary data/staff))) (iterate inc 1))]
  (mapv (fn [{:keys [id salary]}] [id (ranks salary)]) data/staff))
;=> [[1 1] [2 2] [3 3] [4 3]]

; name: comparator and compare chains
(sort (comparator (fn [a b]
                    (or (> (:salary a) (:salary b))
                        (and (= (:salary a) (:salary b)) (neg? (compare (:name a) (:name b)))))))
      (map #(select-keys % [:name :salary]) (shuffle data/staff)))
;=> ({:name "Ann Lee", :salary 120000} {:name "Bob Ray", :salary 95000} {:name "Cy Fox", :salary 70000} {:name "Di Kay", :salary 70000})

; name: sort descending by two keys
(->> data/staff
     (sort-by (juxt :dept :salary :id) #(compare %2 %1))
     (map :id))
;=> (4 3 1 2)

; name: percent change and gaps
(->> data/series
     (partition 2 1)
     (map (fn [[{v0 :v d0 :d} {v1 :v d1 :d}]]
            {:to d1
             :pct (-> (- v1 v0) (/ v0) (* 100) double Math/round)
             :gap (- (.toEpochDay (java.time.LocalDate/parse d1)) (.toEpochDay (java.time.LocalDate/parse d0)))}))
     vec)
;=> [{:to "2024-01-02", :pct 30, :gap 1} {:to "2024-01-04", :pct -31, :gap 2} {:to "2024-01-05", :pct 122, :gap 1} {:to "2024-01-08", :pct 0, :gap 3}]

; name: exponential moving average
(let [alpha 0.5]
  (->> (map :v data/series)
       (reductions (fn [ema v] (+ (* alpha v) (* (- 1 alpha) ema))))
       (mapv #(format "%.3f" (double %)))))
;=> ["10.000" "11.500" "10.250" "15.125" "17.563"]

; name: resample with fill
(let [by-day (into {} (map (juxt :d :v)) data/series)
      days (->> (iterate #(.plusDays % 1) (java.time.LocalDate/parse "2024-01-01"))
                (map str)
                (take-while #(not (pos? (compare % "2024-01-08")))))]
  (->> days
       (reductions (fn [[_ prev] d] [d (get by-day d prev)]) [nil nil])
       rest
       (mapv second)))
;=> [10 13 13 9 20 20 20 20]

; name: local maxima and drawdown
(let [vs (mapv :v data/series)]
  {:peaks (keep-indexed (fn [i [a b c]] (when (and (> b a) (>= b c)) (inc i))) (partition 3 1 vs))
   :drawdown (->> (map - (reductions max vs) vs) (apply max))
   :best (apply max-key :v data/series)})
;=> {:peaks (1 3), :drawdown 4, :best {:d "2024-01-08", :v 20}}

; name: records from blocks of text
(->> (str/split data/text #"\n\n")
     (map str/split-lines)
     (map (fn [lines]
            (into {} (for [l lines
                           :let [[_ k v] (re-matches #"(\w+):\s*(.*)" l)]
                           :when k]
                       [(keyword k) (case k
                                      "price" (Double/parseDouble v)
                                      "tags" (mapv str/trim (str/split v #","))
                                      v)]))))
     vec)
;=> [{:name "Widget", :price 9.99, :tags ["a" "b" "c"]} {:name "Gadget", :price 24.5, :tags ["x"]}]

; name: grid as vector of vectors
(let [grid (vec (repeat 3 (vec (repeat 4 \.))))
      put (fn [g [r c]] (assoc-in g [r c] \#))]
  (->> [[0 0] [1 2] [2 3] [1 1]]
       (reduce put grid)
       (map #(apply str %))
       (str/join "\n")))
;=> "#...\n.##.\n...#"

; name: flood fill
(defn fill [grid [r c] new]
  (let [old (get-in grid [r c])]
    (loop [stack [[r c]] g grid]
      (if-let [[r c :as p] (peek stack)]
        (if (and (= old (get-in g p)) (not= old new))
          (recur (into (pop stack) [[(inc r) c] [(dec r) c] [r (inc c)] [r (dec c)]]) (assoc-in g p new))
          (recur (pop stack) g))
        g))))

(fill [[1 1 0] [1 0 0] [1 1 1]] [0 0] 7)
;=> [[7 7 0] [7 0 0] [7 7 7]]

; name: minesweeper counts
(let [rows ["*..." ".*.." "...*"]
      at (fn [r c] (get-in rows [r c]))]
  (vec (map-indexed
         (fn [r row]
           (apply str (map-indexed
                        (fn [c ch]
                          (if (= ch \*)
                            ch
                            (count (for [dr [-1 0 1] dc [-1 0 1] :when (= \* (at (+ r dr) (+ c dc)))] 1))))
                        row)))
         rows)))
;=> ["*210" "2*21" "112*"]

; name: custom transducer
(defn running-total []
  (fn [rf]
    (let [sum (volatile! 0)]
      (fn
        ([] (rf))
        ([result] (rf result))
        ([result x] (rf result (vswap! sum + x)))))))

[(into [] (running-total) [1 2 3 4])
 (into [] (comp (filter odd?) (running-total) (take 2)) (range 10))
 (transduce (running-total) max 0 [5 -3 1])]
;=> [[1 3 6 10] [1 4] 5]

; name: protocol over built-in types
(defprotocol Render (render [x]))

(extend-protocol Render
  nil (render [_] "null")
  String (render [s] (str \" s \"))
  Number (render [n] (str n))
  Boolean (render [b] (str b))
  clojure.lang.Keyword (render [k] (render (name k)))
  clojure.lang.IPersistentVector (render [v] (str "[" (str/join "," (map render v)) "]"))
  clojure.lang.IPersistentMap (render [m] (str "{" (str/join "," (map (fn [[k v]] (str (render k) ":" (render v))) (sort-by key m))) "}"))
  Object (render [x] (str "<" x ">")))

(render {:a [1 "x" nil true] :b {:c :d}})
;=> "{\"a\":[1,\"x\",null,true],\"b\":{\"c\":\"d\"}}"

; name: multimethod on two arguments
(defmulti collide (fn [a b] [(:kind a) (:kind b)]))
(defmethod collide [:rock :ship] [_ s] (update s :hp - 10))
(defmethod collide [:ship :rock] [s r] (collide r s))
(defmethod collide :default [_ b] b)

[(collide {:kind :rock} {:kind :ship :hp 30}) (collide {:kind :ship :hp 5} {:kind :rock}) (collide {:kind :x} {:kind :y})]
;=> [{:kind :ship, :hp 20} {:kind :ship, :hp -5} {:kind :y}]

; name: java constructors and static helpers
[(Integer. 5) (Long. "77") (Double. "1.5") (String. "abc") (Integer/valueOf "12") (Boolean/valueOf true)
 (Integer/parseInt "-12") (Long/parseLong "ff" 16) (Integer/toString 42) (Character/toString \x) (String/valueOf 3.5)]
;=> [5 77 1.5 "abc" 12 true -12 255 "42" "x" "3.5"]

; name: char arrays and string construction
[(String. (char-array [\a \b])) (apply str (reverse (char-array "xyz"))) (str/join (map char [72 105]))
 (String/valueOf (char-array "ok")) (seq (char-array "ab"))]
;=> ["ab" "zyx" "Hi" "ok" (\a \b)]

; name: money with BigDecimal
(let [price (bigdec "19.99")
      tax (.setScale (* price (bigdec "0.0825")) 2 java.math.RoundingMode/HALF_UP)]
  {:tax (str tax) :total (double (+ price tax)) :cmp (compare price tax)})
;=> {:tax "1.65", :total 21.64, :cmp 1}

; name: rounding helpers
(defn round-to [n x] (let [f (Math/pow 10 n)] (/ (Math/round (* x f)) f)))

[(round-to 2 3.14159) (round-to 0 2.5) (Math/round 2.49) (long (Math/ceil 4.1)) (int (Math/floor -0.5)) (quot 17 5) (double 1/3)
 (format "%.3f" (double 2/3)) (Math/floorDiv 7 -2) (Math/abs -7)]
;=> [3.14 3.0 2 5 -1 3 0.3333333333333333 "0.667" -4 7]

; name: validation with preconditions
(defn withdraw [balance amount]
  {:pre [(pos? amount) (<= amount balance)]
   :post [(>= % 0)]}
  (- balance amount))

[(withdraw 100 30)
 (try (withdraw 10 30) (catch AssertionError e :refused))]
;=> [70 :refused]

; name: state machine parser for quoted fields
(defn fields [line]
  (let [{:keys [done cur]}
        (reduce (fn [{:keys [mode] :as st} ch]
                  (case [mode ch]
                    [:plain \"] (assoc st :mode :quoted)
                    [:quoted \"] (assoc st :mode :plain)
                    [:plain \,] (-> st (update :done conj (:cur st)) (assoc :cur ""))
                    (update st :cur str ch)))
                {:mode :plain :done [] :cur ""}
                line)]
    (conj done cur)))

(map fields ["a,b,c" "\"x,y\",z" ""])
;=> (["a" "b" "c"] ["x,y" "z"] [""])

; name: tokenizer with named groups
(let [re #"(?<num>\d+)|(?<op>[+*-])|(?<id>[a-z]+)"
      m (re-matcher re "x1+22*foo")]
  (loop [out []]
    (if (.find m)
      (recur (conj out (cond (.group m "num") [:num (parse-long (.group m "num"))]
                             (.group m "op") [:op (.group m "op")]
                             :else [:id (.group m "id")])))
      out)))
;=> [[:id "x"] [:num 1] [:op "+"] [:num 22] [:op "*"] [:id "foo"]]

; name: recursive descent over nested vectors
(defn ev [expr env]
  (cond
    (number? expr) expr
    (keyword? expr) (env expr)
    (vector? expr) (let [[op & args] expr
                         vals (map #(ev % env) args)]
                     (case op
                       :add (apply + vals)
                       :mul (apply * vals)
                       :if (let [[c t e] args] (if (pos? (ev c env)) (ev t env) (ev e env)))
                       (throw (ex-info (str "unknown op " op) {:op op}))))))

[(ev [:add 1 [:mul :x 3]] {:x 5}) (ev [:if :y 1 2] {:y 0}) (try (ev [:pow 2 3] {}) (catch Exception e (ex-data e)))]
;=> [16 2 {:op :pow}]


; name: quoted expressions walked
(defn infix [form]
  (if (seq? form)
    (let [[op & args] form] (str "(" (str/join (str " " op " ") (map infix args)) ")"))
    (str form)))

[(infix '(+ a (* b 2) c)) (walk/postwalk-replace '{a 1 b 2} '(+ a b)) (first '(if x y)) (symbol? 'x) (= 'x (symbol "x"))]
;=> ["(a + (b * 2) + c)" (+ 1 2) if true true]

; name: keywords built from data
(reduce (fn [m {:keys [dept salary]}]
          (-> m
              (update (keyword "count" dept) (fnil inc 0))
              (update (keyword "sum" dept) (fnil + 0) salary)))
        {}
        data/staff)
;=> {:count/eng 2, :sum/eng 215000, :count/ops 2, :sum/ops 140000}

; name: merge-with over many maps
(apply merge-with (fn [a b] (if (number? a) (+ a b) (into a b)))
       [{:n 1 :tags #{:a}} {:n 2 :tags #{:b}} {:m 5}])
;=> {:n 3, :tags #{:b :a}, :m 5}

; name: lookup of many keys
(let [{:keys [a b] :as m} {:a 1 :b 2 :c 3}]
  {:sum (+ a b)
   :vals ((juxt :a :c :z) m)
   :present (filter m [:a :q :c])
   :picked (select-keys m (for [k [:a :q]] k))
   :without (apply dissoc m [:a :b])
   :inverted (set/map-invert m)})
;=> {:sum 3, :vals [1 3 nil], :present (:a :c), :picked {:a 1}, :without {:c 3}, :inverted {1 :a, 2 :b, 3 :c}}

; name: early termination with some and loops
{:some (some (fn [[k v]] (when (> v 1) k)) {:a 1 :b 2})
 :first-neg (->> [3 -1 -2] (filter neg?) first)
 :index (.indexOf [:a :b :c] :c)
 :idx2 (first (keep-indexed #(when (= %2 :b) %1) [:a :b]))
 :every (every? (set "abc") "cab")
 :not-any (not-any? nil? [1 2])
 :until (take-while (complement #{0}) [1 2 0 3])}
;=> {:some :b, :first-neg -1, :index 2, :idx2 1, :every true, :not-any true, :until (1 2)}

; name: nested destructuring in fn arguments
(defn distance [{[x1 y1] :from [x2 y2] :to :keys [scale] :or {scale 1}}]
  (* scale (Math/hypot (- x2 x1) (- y2 y1))))

[(distance {:from [0 0] :to [3 4]}) (distance {:from [1 1] :to [1 2] :scale 2})]
;=> [5.0 2.0]

; name: apply with many shapes
[(apply + 1 2 [3]) (apply max (map :salary data/staff)) (apply str (interpose ", " ["a" "b"])) (apply concat [[1] [2 3]])
 (apply map list [[1 2] [3 4]]) (apply (fn [& {:keys [a]}] a) [:a 5]) (apply assoc {} [:k 1 :j 2])]
;=> [6 120000 "a, b" (1 2 3) ((1 3) (2 4)) 5 {:k 1, :j 2}]

; name: date arithmetic with Period and ChronoUnit
(let [start (java.time.LocalDate/parse (:start (first data/staff)))
      end (java.time.LocalDate/of 2024 7 1)
      p (java.time.Period/between start end)]
  {:years (.getYears p) :months (.getMonths p)
   :days (.between java.time.temporal.ChronoUnit/DAYS start end)
   :text (str p)
   :dow (str (.getDayOfWeek end))
   :fmt (.format end (java.time.format.DateTimeFormatter/ofPattern "MMM dd, yyyy"))})
;=> {:years 5, :months 3, :days 1918, :text "P5Y3M", :dow "MONDAY", :fmt "Jul 01, 2024"}

; name: instants and dates from millis
(let [ms 1709288130000
      inst (java.time.Instant/ofEpochMilli ms)
      zdt (.atZone inst (java.time.ZoneId/of "Europe/Berlin"))]
  [(str inst) (str (.toLocalDate zdt)) (.getHour zdt) (str (.toLocalTime zdt)) (.toEpochMilli (.toInstant zdt))
   (inst-ms (java.util.Date. ms))])
;=> ["2024-03-01T10:15:30Z" "2024-03-01" 11 "11:15:30" 1709288130000 1709288130000]

; name: string padding utilities
(defn pad-left [s n ch] (str (apply str (repeat (- n (count s)) ch)) s))
(defn center [s n] (let [k (- n (count s)) l (quot k 2)] (str (apply str (repeat l " ")) s (apply str (repeat (- k l) " ")))))

[(pad-left "42" 5 "0") (center "ab" 7) (subs (str "00000" 42) 2) (format "%5s|%-5s|" "x" "y") (str/join (repeat 3 "=-"))]
;=> ["00042" "  ab   " "00042" "    x|y    |" "=-=-=-"]

; name: hex and base conversion by hand
(defn to-base [n b]
  (if (zero? n) "0"
      (loop [n n out ()]
        (if (zero? n) (apply str out)
            (recur (quot n b) (conj out (nth "0123456789abcdefghijklmnopqrstuvwxyz" (rem n b))))))))

[(to-base 255 16) (to-base 10 2) (to-base 0 7) (Integer/toString 255 36) (Long/parseLong "z" 36) (format "%08d" (Long/parseLong (to-base 5 2)))]
;=> ["ff" "1010" "0" "73" 35 "00000101"]

; name: group and pivot with reduce and assoc-in
(reduce (fn [m {:keys [dept manager id]}] (assoc-in m [(keyword dept) (if manager :report :lead) id] true)) {} data/staff)
;=> {:eng {:lead {1 true}, :report {2 true}}, :ops {:report {3 true, 4 true}}}

; name: shadowed names and local functions
(let [name "n" count 3 map {:a 1} first (fn [x] [:first x])
      list [1 2 3]]
  [name (+ count 1) (:a map) (first list) (conj list 4)])
;=> ["n" 4 1 [:first [1 2 3]] [1 2 3 4]]

; name: dynamic var and binding
(def ^:dynamic *indent* 0)
(defn line [s] (str (apply str (repeat *indent* " ")) s))
(defn block [f] (binding [*indent* (+ 2 *indent*)] (f)))

[(line "a") (block #(line "b")) (block (fn [] (block #(line "c")))) (line "d")]
;=> ["a" "  b" "    c" "d"]

; name: side effects collected in order
(let [out (atom [])
      log! (fn [& xs] (swap! out conj (apply str xs)))]
  (doseq [x [1 2] y [:a :b] :when (not (and (= x 2) (= y :b)))] (log! x (name y)))
  (run! #(log! "r" %) [7 8])
  (dotimes [i 2] (log! "d" i))
  (mapv #(log! "m" %) [9])
  @out)
;=> ["1a" "1b" "2a" "r7" "r8" "d0" "d1" "m9"]
