;;; Whole programs over nested, JSON-like documents: reshape, validate, merge, diff, walk.

;;data config {"name": "svc", "port": 8080, "limits": {"cpu": 2, "mem": "512m"}, "tags": ["a", "b"], "flags": {"beta": true, "debug": null}}
;;data users [{"id": 1, "name": "Ann", "roles": ["admin", "dev"], "address": {"city": "Oslo", "geo": {"lat": 59.9, "lon": 10.7}}}, {"id": 2, "name": "Bob", "roles": [], "address": null}, {"id": 3, "name": "Cy", "roles": ["dev"], "address": {"city": "Rome", "geo": null}}]
;;data tree {"name": "root", "size": 0, "children": [{"name": "a", "size": 10, "children": []}, {"name": "b", "size": 5, "children": [{"name": "c", "size": 7, "children": []}]}]}

; name: flatten to dotted keys
(defn flat [prefix m]
  (reduce-kv (fn [acc k v]
               (let [p (if (seq prefix) (str prefix "." (name k)) (name k))]
                 (if (and (map? v) (seq v))
                   (merge acc (flat p v))
                   (assoc acc p v))))
             {}
             m))

(flat "" data/config)
;=> {"name" "svc", "port" 8080, "limits.cpu" 2, "limits.mem" "512m", "tags" ["a" "b"], "flags.beta" true, "flags.debug" nil}

; name: unflatten dotted keys
(reduce (fn [m [path v]]
          (assoc-in m (mapv keyword (str/split path #"\.")) v))
        {}
        {"a.b.c" 1 "a.d" 2 "e" 3})
;=> {:a {:b {:c 1}, :d 2}, :e 3}

; name: index users by role
(reduce (fn [acc {:keys [name roles]}]
          (reduce (fn [a r] (update a (keyword r) (fnil conj []) name)) acc roles))
        {}
        data/users)
;=> {:admin ["Ann"], :dev ["Ann" "Cy"]}

; name: safe nested access
(mapv (fn [u]
        {:name (:name u)
         :lat (some-> u :address :geo :lat)
         :city (get-in u [:address :city] "unknown")
         :first-role (first (:roles u))})
      data/users)
;=> [{:name "Ann", :lat 59.9, :city "Oslo", :first-role "admin"} {:name "Bob", :lat nil, :city "unknown", :first-role nil} {:name "Cy", :lat nil, :city "Rome", :first-role "dev"}]

; name: tree total and depth
(letfn [(total [{:keys [size children]}] (+ size (reduce + (map total children))))
        (depth [{:keys [children]}] (inc (apply max 0 (map depth children))))]
  {:total (total data/tree)
   :depth (depth data/tree)
   :names (map :name (tree-seq (comp seq :children) :children data/tree))})
;=> {:total 22, :depth 3, :names ("root" "a" "b" "c")}

; name: paths to leaves
(defn paths [{:keys [name children]} prefix]
  (let [p (conj prefix name)]
    (if (empty? children)
      [(str/join "/" p)]
      (mapcat #(paths % p) children))))

(paths data/tree [])
;=> ("root/a" "root/b/c")

; name: deep merge of configs
(defn deep-merge [& ms]
  (apply merge-with (fn [a b] (if (and (map? a) (map? b)) (deep-merge a b) b)) ms))

(deep-merge data/config {:limits {:cpu 4} :flags {:debug true}} {:port 9090})
;=> {:name "svc", :port 9090, :limits {:cpu 4, :mem "512m"}, :tags ["a" "b"], :flags {:beta true, :debug true}}

; name: structural diff
(defn diff [a b path]
  (cond
    (and (map? a) (map? b)) (mapcat #(diff (get a %) (get b %) (conj path %)) (sort (distinct (concat (keys a) (keys b)))))
    (= a b) nil
    :else [{:path path :from a :to b}]))

(vec (diff data/config (-> data/config (assoc :port 81) (update :limits dissoc :mem) (assoc-in [:flags :x] 1)) []))
;=> [{:path [:flags :x], :from nil, :to 1} {:path [:limits :mem], :from "512m", :to nil} {:path [:port], :from 8080, :to 81}]

; name: rename and coerce with walk
(walk/postwalk
  (fn [x]
    (cond
      (keyword? x) (keyword (str/upper-case (name x)))
      (and (string? x) (re-matches #"\d+m" x)) (parse-long (subs x 0 (dec (count x))))
      :else x))
  data/config)
;=> {:NAME "svc", :PORT 8080, :LIMITS {:CPU 2, :MEM 512}, :TAGS ["a" "b"], :FLAGS {:BETA true, :DEBUG nil}}

; name: remove nils and empties
(walk/postwalk
  (fn [x]
    (if (map? x)
      (into {} (remove (fn [[_ v]] (or (nil? v) (and (coll? v) (empty? v))))) x)
      x))
  data/users)
;=> [{:id 1, :name "Ann", :roles ["admin" "dev"], :address {:city "Oslo", :geo {:lat 59.9, :lon 10.7}}} {:id 2, :name "Bob"} {:id 3, :name "Cy", :roles ["dev"], :address {:city "Rome"}}]

; name: schema validation
(def schema {:name string? :port pos-int? :tags #(and (vector? %) (every? string? %)) :owner some?})

(let [errors (for [[k pred] schema
                   :let [v (get data/config k ::missing)]
                   :when (or (= v ::missing) (not (pred v)))]
               [k (if (= v ::missing) :missing :invalid)])]
  (if (seq errors) {:valid false :errors (into {} errors)} {:valid true}))
;=> {:valid false, :errors {:owner :missing}}

; name: long to wide
(let [long [{:who "a" :q :q1 :v 3} {:who "a" :q :q2 :v 4} {:who "b" :q :q1 :v 5}]]
  (->> long
       (group-by :who)
       (map (fn [[who rows]] (into {:who who} (map (juxt :q :v)) rows)))
       (sort-by :who)))
;=> ({:who "a", :q1 3, :q2 4} {:who "b", :q1 5})

; name: wide to long
(for [{:keys [who] :as row} [{:who "a" :x 1 :y 2} {:who "b" :x 3}]
      [k v] (dissoc row :who)]
  [who (name k) v])
;=> (["a" "x" 1] ["a" "y" 2] ["b" "x" 3])

; name: json style paths for every number
(letfn [(walk-nums [path x]
          (cond
            (map? x) (mapcat (fn [[k v]] (walk-nums (conj path (name k)) v)) x)
            (sequential? x) (apply concat (map-indexed (fn [i v] (walk-nums (conj path i) v)) x))
            (number? x) [[(str/join "." path) x]]
            :else []))]
  (into (sorted-map) (walk-nums [] data/users)))
;=> {"0.address.geo.lat" 59.9, "0.address.geo.lon" 10.7, "0.id" 1, "1.id" 2, "2.id" 3}

; name: adjacency from parent pointers
(let [rows [{:id 1 :parent nil} {:id 2 :parent 1} {:id 3 :parent 1} {:id 4 :parent 2}]
      kids (group-by :parent rows)
      build (fn build [{:keys [id]}]
              (let [cs (map build (get kids id))]
                (cond-> {:id id} (seq cs) (assoc :kids (vec cs)))))]
  (mapv build (get kids nil)))
;=> [{:id 1, :kids [{:id 2, :kids [{:id 4}]} {:id 3}]}]

; name: pagination
(let [page (fn [n size xs] {:items (vec (take size (drop (* n size) xs)))
                            :more? (> (count xs) (* (inc n) size))})]
  (mapv #(page % 4 (range 10)) [0 1 2 3]))
;=> [{:items [0 1 2 3], :more? true} {:items [4 5 6 7], :more? true} {:items [8 9], :more? false} {:items [], :more? false}]

; name: event sourcing
(defn apply-event [state [type payload]]
  (case type
    :created (assoc state (:id payload) (assoc payload :version 1))
    :renamed (-> state (assoc-in [(:id payload) :name] (:name payload)) (update-in [(:id payload) :version] inc))
    :deleted (dissoc state (:id payload))
    state))

(reduce apply-event {} [[:created {:id 1 :name "a"}] [:created {:id 2 :name "b"}] [:renamed {:id 1 :name "z"}] [:deleted {:id 2}] [:noise nil]])
;=> {1 {:id 1, :name "z", :version 2}}

; name: dedupe by key keeping latest
(->> [{:k 1 :t 5 :v :a} {:k 2 :t 1 :v :b} {:k 1 :t 9 :v :c}]
     (sort-by :t)
     (reduce (fn [m r] (assoc m (:k r) r)) {})
     vals
     (sort-by :k)
     (map (juxt :k :v)))
;=> ([1 :c] [2 :b])

; name: set relations
(let [emp #{{:name "Ann" :dept 1} {:name "Bob" :dept 2}}
      dept #{{:dept 1 :title "Eng"} {:dept 2 :title "Ops"}}]
  {:joined (set/join emp dept)
   :names (sort (map :name (set/select #(= 1 (:dept %)) emp)))
   :titles (sort (map :title (set/project dept [:title])))})
;=> {:joined #{{:name "Bob", :dept 2, :title "Ops"} {:name "Ann", :dept 1, :title "Eng"}}, :names ("Ann"), :titles ("Eng" "Ops")}

; name: transducer pipeline with early stop
(into []
      (comp (map-indexed vector)
            (filter (fn [[i x]] (odd? i)))
            (map second)
            (distinct)
            (take 3))
      (cycle [1 2 3 4 5 6 7]))
;=> [2 4 6]

; name: keyword arguments and defaults
(defn report [title & {:keys [width align sep] :or {width 10 align :left sep "|"}}]
  (let [pad (apply str (repeat (- width (count title)) " "))]
    (str sep (if (= align :left) (str title pad) (str pad title)) sep)))

[(report "x") (report "x" :width 3) (report "x" :width 4 :align :right :sep "!") (report "y" {:width 2})]
;=> ["|x         |" "|x  |" "!   x!" "|y |"]

; name: local mutable counter and volatile
(let [counter (volatile! 0)
      ids (atom {})]
  (doseq [w ["a" "b" "a" "c" "b"]]
    (when-not (contains? @ids w)
      (swap! ids assoc w (vswap! counter inc))))
  [@counter (into (sorted-map) @ids)])
;=> [3 {"a" 1, "b" 2, "c" 3}]

; name: feature flags with every-pred and some-fn
(let [adult? #(>= (:age %) 18)
      eu? (comp #{"DE" "FR"} :country)
      beta? (some-fn :beta :staff)
      ok? (every-pred adult? eu? beta?)]
  (mapv :n (filter ok? [{:n 1 :age 20 :country "DE" :beta true} {:n 2 :age 20 :country "US" :beta true} {:n 3 :age 40 :country "FR" :staff true} {:n 4 :age 40 :country "FR"}])))
;=> [1 3]

; name: lookup tables and threading macros
(-> data/users
    (->> (map (juxt :id :name)) (into {}))
    (assoc 4 "Di")
    (dissoc 2)
    (update 1 str/upper-case)
    (as-> m (into (sorted-map) m)))
;=> {1 "ANN", 3 "Cy", 4 "Di"}

; name: group consecutive runs
(->> [1 1 2 3 3 3 1]
     (partition-by identity)
     (map (fn [g] {:value (first g) :length (count g)}))
     (filter #(> (:length %) 1))
     vec)
;=> [{:value 1, :length 2} {:value 3, :length 3}]

; name: string keyed maps
(let [m {"first name" "Ann" "age" 5}
      {:strs [age] fname "first name"} m]
  [fname age (get m "missing" :none) (contains? m "age") (update m "age" inc)])
;=> ["Ann" 5 :none true {"first name" "Ann", "age" 6}]

; name: zip several columns
(let [ks [:a :b :c]
      rows [[1 2 3] [4 5 6]]]
  {:maps (map (partial zipmap ks) rows)
   :cols (zipmap ks (apply map vector rows))
   :sum (apply mapv + rows)})
;=> {:maps ({:a 1, :b 2, :c 3} {:a 4, :b 5, :c 6}), :cols {:a [1 4], :b [2 5], :c [3 6]}, :sum [5 7 9]}

; name: parse nested strings to a tree
(let [lines ["a" "  b" "    c" "  d" "e"]
      indent #(quot (count (take-while #{\space} %)) 2)]
  (reduce (fn [acc line]
            (let [d (indent line)
                  path (vec (take d (:stack acc)))
                  here (conj path (str/trim line))]
              (-> acc (assoc :stack here) (update :paths conj (str/join ">" here)))))
          {:stack [] :paths []}
          lines))
;=> {:stack ["e"], :paths ["a" "a>b" "a>b>c" "a>d" "e"]}

; name: permissions with bit flags
(let [flags {:read 1 :write 2 :exec 4}
      encode #(reduce bit-or 0 (map flags %))
      decode (fn [n] (set (for [[k b] flags :when (pos? (bit-and n b))] k)))]
  {:enc (encode [:read :exec]) :dec (decode 6) :round (= #{:read} (decode (encode #{:read}))) :toggle (bit-xor 7 2)})
;=> {:enc 5, :dec #{:exec :write}, :round true, :toggle 5}

; name: nested atoms and watches
(let [history (atom [])
      state (atom {:n 0})]
  (add-watch state :log (fn [_ _ old new] (swap! history conj [(:n old) (:n new)])))
  (swap! state update :n inc)
  (swap! state update :n + 10)
  (reset! state {:n -1})
  {:state @state :history @history})
;=> {:state {:n -1}, :history [[0 1] [1 11] [11 -1]]}

; name: metadata travels with data
(let [rows (with-meta [1 2 3] {:source "csv"})
      more (conj rows 4)]
  [(meta more) (:source (meta (vary-meta rows assoc :n 3))) (= rows [1 2 3])])
;=> [{:source "csv"} "csv" true]

; name: case with many result types
(defn describe-it [x]
  (cond
    (nil? x) "nothing"
    (string? x) (format "string of %d" (count x))
    (map? x) (str "map with " (str/join "," (sort (map name (keys x)))))
    (sequential? x) (str "seq of " (count x))
    (set? x) (str "set of " (count x))
    (keyword? x) (str "keyword " (name x))
    (number? x) (if (integer? x) "int" "float")
    (fn? x) "function"
    :else "?"))

(mapv describe-it [nil "abc" {:b 1 :a 2} [1 2] '(1) #{1} :k 5 2.5 inc true])
;=> ["nothing" "string of 3" "map with a,b" "seq of 2" "seq of 1" "set of 1" "keyword k" "int" "float" "function" "?"]

; name: string builder and interop
(let [sb (StringBuilder.)]
  (doseq [[i w] (map-indexed vector ["x" "y" "z"])]
    (when (pos? i) (.append sb ", "))
    (.append sb (.toUpperCase w)))
  (.toString sb))
;=> "X, Y, Z"
