;;; Whole programs: graphs, search, dynamic programming, statistics, simulations and state machines.

;;data edges [{"from": "A", "to": "B", "w": 4}, {"from": "A", "to": "C", "w": 1}, {"from": "C", "to": "B", "w": 2}, {"from": "B", "to": "D", "w": 5}, {"from": "C", "to": "D", "w": 8}, {"from": "E", "to": "F", "w": 1}]
;;data deps {"app": ["lib", "log"], "lib": ["core"], "log": ["core"], "core": [], "test": ["app", "lib"]}
;;data scores [71, 85, 92, 64, 85, 77, 100, 58, 85, 90]
;;data grid ["S.#.", "..#E", "#...", "...."]

; name: breadth-first distances
(let [adj (reduce (fn [m {:keys [from to]}]
                    (-> m (update from (fnil conj #{}) to) (update to (fnil conj #{}) from)))
                  {} data/edges)]
  (loop [queue (conj clojure.lang.PersistentQueue/EMPTY "A") dist {"A" 0}]
    (if-let [u (peek queue)]
      (let [fresh (remove dist (sort (adj u)))]
        (recur (into (pop queue) fresh)
               (into dist (map #(vector % (inc (dist u)))) fresh)))
      (into (sorted-map) dist))))
;=> {"A" 0, "B" 1, "C" 1, "D" 2}

; name: dijkstra with sorted set
(let [graph (reduce (fn [g {:keys [from to w]}] (assoc-in g [from to] w)) {} data/edges)]
  (loop [open (sorted-set [0 "A"]) best {"A" 0} prev {}]
    (if-let [[d u :as head] (first open)]
      (let [better (for [[v w] (get graph u)
                         :let [nd (+ d w)]
                         :when (< nd (get best v ##Inf))]
                     [v nd])]
        (recur (into (disj open head) (map (fn [[v nd]] [nd v])) better)
               (into best better)
               (into prev (map (fn [[v _]] [v u])) better)))
      {:best best
       :path (->> (iterate prev "D") (take-while some?) reverse vec)})))
;=> {:best {"A" 0, "B" 3, "C" 1, "D" 8}, :path ["A" "C" "B" "D"]}

; name: topological sort
(defn topo [deps]
  (loop [done [] todo (sort (keys deps))]
    (if (empty? todo)
      done
      (let [ready (filter #(every? (set done) (map keyword (deps %))) todo)]
        (if (empty? ready)
          (throw (ex-info "cycle" {:left (vec todo)}))
          (recur (into done ready) (remove (set ready) todo)))))))

[(topo data/deps) (try (topo {:a ["b"] :b ["a"]}) (catch Exception e (ex-data e)))]
;=> [[:core :lib :log :app :test] {:left [:a :b]}]

; name: transitive dependencies by recursion
(letfn [(all-deps [k]
          (let [direct (map keyword (get data/deps k))]
            (into (set direct) (mapcat all-deps) direct)))]
  (into {} (map (juxt identity (comp sort all-deps))) (keys data/deps)))
;=> {:app (:core :lib :log), :lib (:core), :log (:core), :core (), :test (:app :core :lib :log)}

; name: maze path length
(let [cells (into {} (for [[y row] (map-indexed vector data/grid)
                           [x c] (map-indexed vector row)]
                       [[x y] c]))
      find-c (fn [c] (some (fn [[p v]] (when (= v c) p)) cells))
      step (fn [[x y]] (filter #(and (cells %) (not= \# (cells %)))
                               [[(inc x) y] [(dec x) y] [x (inc y)] [x (dec y)]]))]
  (loop [frontier #{(find-c \S)} seen #{} n 0]
    (cond
      (contains? frontier (find-c \E)) n
      (empty? frontier) nil
      :else (recur (set (remove seen (mapcat step frontier))) (into seen frontier) (inc n)))))
;=> 6

; name: union find components
(let [nodes (set (mapcat (juxt :from :to) data/edges))
      find-root (fn [parent x] (if (= x (parent x)) x (recur parent (parent x))))
      union (fn [parent {:keys [from to]}]
              (let [a (find-root parent from) b (find-root parent to)]
                (if (= a b) parent (assoc parent a b))))
      parent (reduce union (zipmap nodes nodes) data/edges)]
  (->> nodes (group-by (partial find-root parent)) vals (map (comp vec sort)) sort vec))
;=> [["E" "F"] ["A" "B" "C" "D"]]

; name: minimum spanning tree
(let [sorted (sort-by :w data/edges)]
  (loop [[{:keys [from to w] :as e} & more] sorted
         sets (into {} (map #(vector % #{%})) (mapcat (juxt :from :to) sorted))
         tree []]
    (cond
      (nil? e) {:weight (reduce + (map :w tree)) :edges (mapv (juxt :from :to) tree)}
      (contains? (sets from) to) (recur more sets tree)
      :else (let [joined (set/union (sets from) (sets to))]
              (recur more (reduce #(assoc %1 %2 joined) sets joined) (conj tree e))))))
;=> {:weight 9, :edges [["A" "C"] ["E" "F"] ["C" "B"] ["B" "D"]]}

; name: statistics
(let [xs (sort data/scores)
      n (count xs)
      mean (/ (reduce + xs) n)
      median (let [mid (quot n 2)]
               (if (even? n)
                 (/ (+ (nth xs mid) (nth xs (dec mid))) 2)
                 (nth xs mid)))
      freqs (frequencies xs)
      top (apply max (vals freqs))
      variance (/ (reduce + (map #(Math/pow (- % mean) 2) xs)) (dec n))]
  {:mean (double mean)
   :median median
   :mode (sort (keep (fn [[v c]] (when (= c top) v)) freqs))
   :sd (format "%.3f" (Math/sqrt variance))
   :range (- (last xs) (first xs))})
;=> {:mean 80.7, :median 85, :mode (85), :sd "13.098", :range 42}

; name: grade distribution with case and ranges
(let [grade (fn [s] (case (quot s 10) (9 10) :A 8 :B 7 :C 6 :D :F))]
  (merge {:A 0 :B 0 :C 0 :D 0 :F 0} (frequencies (map grade data/scores))))
;=> {:A 3, :B 3, :C 2, :D 1, :F 1}

; name: percentile ranks
(let [xs (vec (sort data/scores))
      pct (fn [p] (let [r (* (/ p 100) (dec (count xs)))
                        lo (int (Math/floor r))
                        hi (int (Math/ceil r))]
                    (double (+ (xs lo) (* (- r lo) (- (xs hi) (xs lo)))))))]
  (zipmap [:p25 :p50 :p90] (map pct [25 50 90])))
;=> {:p25 72.5, :p50 85.0, :p90 92.8}

; name: histogram buckets
(->> data/scores
     (group-by #(* 10 (quot % 10)))
     (map (fn [[lo xs]] [(str lo "-" (+ lo 9)) (count xs)]))
     (sort-by first)
     (into (array-map)))
;=> {"100-109" 1, "50-59" 1, "60-69" 1, "70-79" 2, "80-89" 3, "90-99" 2}

; name: linear regression
(let [pts (map-indexed vector data/scores)
      n (count pts)
      sx (reduce + (map first pts))
      sy (reduce + (map second pts))
      sxy (reduce + (map (partial apply *) pts))
      sxx (reduce + (map #(* (first %) (first %)) pts))
      slope (/ (- (* n sxy) (* sx sy)) (- (* n sxx) (* sx sx)))
      icpt (/ (- sy (* slope sx)) n)]
  (mapv #(format "%.4f" (double %)) [slope icpt]))
;=> ["0.6121" "77.9455"]

; name: longest common subsequence
(defn lcs [a b]
  (let [table (reduce (fn [t [i j]]
                        (assoc t [i j]
                               (if (= (nth a (dec i)) (nth b (dec j)))
                                 (inc (get t [(dec i) (dec j)] 0))
                                 (max (get t [(dec i) j] 0) (get t [i (dec j)] 0)))))
                      {}
                      (for [i (range 1 (inc (count a))) j (range 1 (inc (count b)))] [i j]))]
    (get table [(count a) (count b)] 0)))

[(lcs "AGGTAB" "GXTXAYB") (lcs "abc" "xyz")]
;=> [4 0]

; name: coin change by dynamic programming
(let [coins [1 5 10 25]
      ways (reduce (fn [w c]
                     (reduce (fn [w i] (assoc w i (+ (w i) (w (- i c)))))
                             w
                             (range c 101)))
                   (into [1] (repeat 100 0))
                   coins)]
  [(ways 10) (ways 25) (ways 100)])
;=> [4 13 242]

; name: knapsack with memoize
(def items [{:w 12 :v 4} {:w 2 :v 2} {:w 1 :v 1} {:w 4 :v 10} {:w 1 :v 2}])

(def best
  (memoize
    (fn [i cap]
      (if (= i (count items))
        0
        (let [{:keys [w v]} (items i)
              skip (best (inc i) cap)]
          (if (> w cap) skip (max skip (+ v (best (inc i) (- cap w))))))))))

(best 0 15)
;=> 15

; name: primes and factors
(defn primes-to [n]
  (loop [sieve (set (range 2 (inc n))) p 2]
    (if (> (* p p) n)
      (sort sieve)
      (recur (if (sieve p) (reduce disj sieve (range (* p p) (inc n) p)) sieve) (inc p)))))

(defn factors [n]
  (loop [n n d 2 out []]
    (cond (= n 1) out
          (zero? (mod n d)) (recur (quot n d) d (conj out d))
          :else (recur n (inc d) out))))

{:primes (primes-to 50) :factors (map factors [12 97 360])}
;=> {:primes (2 3 5 7 11 13 17 19 23 29 31 37 41 43 47), :factors ([2 2 3] [97] [2 2 2 3 3 5])}

; name: gcd lcm and fractions
(let [gcd (fn [a b] (if (zero? b) a (recur b (mod a b))))
      lcm (fn [a b] (/ (* a b) (gcd a b)))]
  {:gcd (reduce gcd [84 36 120]) :lcm (reduce lcm (range 1 11))})
;=> {:gcd 12, :lcm 2520}

; name: n queens
(defn queens [n]
  (letfn [(safe? [qs c] (every? (fn [[d q]] (not (or (= q c) (= d (Math/abs (- q c))))))
                                (map vector (range 1 (inc (count qs))) (reverse qs))))
          (place [qs] (if (= n (count qs)) [qs] (mapcat #(place (conj qs %)) (filter #(safe? qs %) (range n)))))]
    (place [])))

[(count (queens 6)) (first (queens 6))]
;=> [4 [1 3 5 0 2 4]]

; name: permutations and combinations
(defn permutations [xs]
  (if (empty? xs)
    [[]]
    (for [x xs p (permutations (remove #{x} xs))] (into [x] p))))

(defn combos [k xs]
  (cond (zero? k) [[]]
        (empty? xs) []
        :else (concat (map #(cons (first xs) %) (combos (dec k) (rest xs))) (combos k (rest xs)))))

{:perms (permutations [1 2 3]) :combos (map vec (combos 2 [:a :b :c])) :n (count (permutations (range 5)))}
;=> {:perms ([1 2 3] [1 3 2] [2 1 3] [2 3 1] [3 1 2] [3 2 1]), :combos ([:a :b] [:a :c] [:b :c]), :n 120}

; name: power set with reduce
(reduce (fn [ps x] (into ps (map #(conj % x) ps))) #{#{}} [1 2 3])
;=> #{#{} #{3} #{2} #{1} #{1 3 2} #{1 3} #{1 2} #{3 2}}

; name: game of life blinker
(defn neighbours [[x y]] (for [dx [-1 0 1] dy [-1 0 1] :when (not= [0 0] [dx dy])] [(+ x dx) (+ y dy)]))

(defn tick [live]
  (set (for [[c n] (frequencies (mapcat neighbours live))
             :when (or (= 3 n) (and (= 2 n) (live c)))]
         c)))

(let [s0 #{[1 0] [1 1] [1 2]}
      s1 (tick s0)]
  [(sort s1) (= s0 (tick s1))])
;=> [([0 1] [1 1] [2 1]) true]

; name: bank state machine
(def transitions
  {:open {:freeze :frozen :close :closed}
   :frozen {:thaw :open :close :closed}
   :closed {}})

(reduce (fn [{:keys [state log]} event]
          (if-let [nxt (get-in transitions [state event])]
            {:state nxt :log (conj log [state event nxt])}
            {:state state :log (conj log [state event :ignored])}))
        {:state :open :log []}
        [:freeze :freeze :thaw :close :thaw])
;=> {:state :closed, :log [[:open :freeze :frozen] [:frozen :freeze :ignored] [:frozen :thaw :open] [:open :close :closed] [:closed :thaw :ignored]]}

; name: vending machine with multimethods
(defmulti handle (fn [state event] (:type event)))
(defmethod handle :coin [s {:keys [value]}] (update s :credit + value))
(defmethod handle :select [{:keys [credit prices] :as s} {:keys [item]}]
  (let [price (get prices item)]
    (cond
      (nil? price) (assoc s :error (str "unknown " item))
      (< credit price) (assoc s :error :insufficient)
      :else (-> s (update :credit - price) (update :sold conj item) (dissoc :error)))))
(defmethod handle :default [s e] (assoc s :error [:bad-event (:type e)]))

(reduce handle {:credit 0 :prices {"cola" 150 "gum" 25} :sold []}
        [{:type :coin :value 100} {:type :select :item "cola"} {:type :coin :value 100} {:type :select :item "cola"} {:type :kick}])
;=> {:credit 50, :prices {"cola" 150, "gum" 25}, :sold ["cola"], :error [:bad-event :kick]}

; name: queue simulation
(let [jobs [{:at 0 :len 3} {:at 1 :len 2} {:at 7 :len 1}]]
  (:out
    (reduce (fn [{:keys [free] :as st} {:keys [at len]}]
              (let [start (max at free)]
                (-> st
                    (assoc :free (+ start len))
                    (update :out conj {:start start :wait (- start at)}))))
            {:free 0 :out []}
            jobs)))
;=> [{:start 0, :wait 0} {:start 3, :wait 2} {:start 7, :wait 0}]

; name: lru cache
(defn touch [{:keys [cap order] :as c} k]
  (let [hit (boolean (some #{k} order))
        order (-> (vec (remove #{k} order)) (conj k))
        order (if (> (count order) cap) (vec (drop 1 order)) order)]
    (-> c (assoc :order order) (update (if hit :hits :misses) inc))))

(reduce touch {:cap 2 :order [] :hits 0 :misses 0} [:a :b :a :c :b])
;=> {:cap 2, :order [:c :b], :hits 1, :misses 4}

; name: stack machine
(defn run [program]
  (loop [pc 0 stack [] steps 0]
    (if (or (>= pc (count program)) (> steps 100))
      stack
      (let [[op arg] (nth program pc)]
        (case op
          :push (recur (inc pc) (conj stack arg) (inc steps))
          :add (recur (inc pc) (conj (pop (pop stack)) (+ (peek stack) (peek (pop stack)))) (inc steps))
          :dup (recur (inc pc) (conj stack (peek stack)) (inc steps))
          :jnz (if (zero? (peek stack)) (recur (inc pc) stack (inc steps)) (recur arg stack (inc steps)))
          (throw (IllegalArgumentException. (str "bad op " op))))))))

[(run [[:push 5] [:dup] [:add]])
 (run [[:push 3] [:push -1] [:add] [:jnz 1]])
 (try (run [[:nop]]) (catch IllegalArgumentException e (.getMessage e)))]
;=> [[10] [0] "bad op :nop"]

; name: priority scheduling with sorted map
(let [tasks [[3 "c"] [1 "a"] [2 "b"] [1 "z"]]
      pq (reduce (fn [m [p t]] (update m p (fnil conj []) t)) (sorted-map) tasks)]
  {:first (first (val (first pq)))
   :order (vec (mapcat val pq))
   :urgent (vec (mapcat val (subseq pq <= 1)))})
;=> {:first "a", :order ["a" "z" "b" "c"], :urgent ["a" "z"]}

; name: token bucket with atom
(let [bucket (atom {:tokens 2.0 :at 0.0})
      allow? (fn [now]
               (let [{:keys [tokens at]} @bucket
                     tokens (min 2.0 (+ tokens (* 0.5 (- now at))))]
                 (reset! bucket {:tokens (if (>= tokens 1) (dec tokens) tokens) :at now})
                 (>= tokens 1)))]
  (mapv allow? [0 0 0 1 2 10 10 10]))
;=> [true true false false true true true false]

; name: retry with backoff
(let [attempts (atom 0)
      flaky (fn [] (if (< (swap! attempts inc) 3) (throw (RuntimeException. "flaky")) :ok))
      retry (fn [f n]
              (loop [i 1 waits []]
                (let [r (try {:ok (f)} (catch Exception e {:err (.getMessage e)}))]
                  (if (or (:ok r) (= i n))
                    (assoc r :waits waits)
                    (recur (inc i) (conj waits (* 100 (long (Math/pow 2 (dec i))))))))))]
  (retry flaky 5))
;=> {:ok :ok, :waits [100 200]}

; name: matrix determinant and multiply
(defn minor [m i] (mapv #(into (subvec % 0 i) (subvec % (inc i))) (rest m)))

(defn det [m]
  (if (= 1 (count m))
    (ffirst m)
    (reduce + (map-indexed (fn [i x] (* (if (even? i) 1 -1) x (det (minor m i)))) (first m)))))

(let [a [[2 0 1] [1 3 2] [1 1 4]]
      t (apply mapv vector a)
      mul (fn [x y] (mapv (fn [r] (mapv #(reduce + (map * r %)) (apply map vector y))) x))]
  {:det (det a) :t t :aat (mul a t)})
;=> {:det 18, :t [[2 1 1] [0 3 1] [1 2 4]], :aat [[5 4 6] [4 14 12] [6 12 18]]}

; name: binary search and bisect
(defn bsearch [v x]
  (loop [lo 0 hi (dec (count v))]
    (when (<= lo hi)
      (let [mid (quot (+ lo hi) 2)
            y (nth v mid)]
        (cond (= y x) mid
              (< y x) (recur (inc mid) hi)
              :else (recur lo (dec mid)))))))

(defn root [f lo hi]
  (loop [lo lo hi hi n 0]
    (let [mid (/ (+ lo hi) 2.0)]
      (if (or (> n 60) (< (- hi lo) 1e-9)) mid
          (if (neg? (* (f lo) (f mid))) (recur lo mid (inc n)) (recur mid hi (inc n)))))))

[(bsearch [1 3 5 7 9] 7) (bsearch [1 3] 4) (format "%.5f" (root #(- (* % %) 2) 0.0 2.0))]
;=> [3 nil "1.41421"]

; name: merge sort and quicksort
(defn merge-sorted [a b]
  (loop [a (seq a) b (seq b) out []]
    (cond (nil? a) (into out b)
          (nil? b) (into out a)
          (<= (first a) (first b)) (recur (next a) b (conj out (first a)))
          :else (recur a (next b) (conj out (first b))))))

(defn msort [xs]
  (if (< (count xs) 2) (vec xs)
      (let [[l r] (split-at (quot (count xs) 2) xs)] (merge-sorted (msort l) (msort r)))))

(defn qsort [[p & xs]]
  (when p (concat (qsort (filter #(< % p) xs)) [p] (qsort (remove #(< % p) xs)))))

[(msort [5 2 9 1 5 6]) (qsort [3 1 2 3])]
;=> [[1 2 5 5 6 9] (1 2 3 3)]

; name: collatz and lazy sequences
(let [collatz (fn [n] (concat (take-while #(not= 1 %) (iterate #(if (even? %) (/ % 2) (inc (* 3 %))) n)) [1]))]
  {:seq (collatz 6) :longest (apply max-key #(count (collatz %)) (range 1 20))})
;=> {:seq (6 3 10 5 16 8 4 2 1), :longest 19}

; name: pascal triangle and fibonacci
{:pascal (take 5 (iterate (fn [row] (mapv + (cons 0 row) (conj row 0))) [1]))
 :fib (->> [0 1] (iterate (fn [[a b]] [b (+ a b)])) (map first) (take 12))
 :big (str (reduce *' (range 1 26)))}
;=> {:pascal ([1] [1 1] [1 2 1] [1 3 3 1] [1 4 6 4 1]), :fib (0 1 1 2 3 5 8 13 21 34 55 89), :big "15511210043330985984000000"}

; name: trie and autocomplete
(let [trie (reduce (fn [t w] (assoc-in t (conj (vec w) :end) w)) {} ["car" "card" "dog"])
      collect (fn collect [node] (lazy-cat (when-let [w (:end node)] [w])
                                           (mapcat collect (vals (dissoc node :end)))))]
  [(sort (collect (get-in trie (seq "ca")))) (collect (get-in trie [\x]))])
;=> [("car" "card") ()]

; name: bank transfers with validation and rollback
(defn transfer [accounts {:keys [from to amount]}]
  (cond
    (not (pos? amount)) (throw (ex-info "invalid amount" {:amount amount}))
    (< (get accounts from 0) amount) (throw (ex-info "insufficient funds" {:from from}))
    :else (-> accounts (update from - amount) (update to (fnil + 0) amount))))

(reduce (fn [{:keys [accounts] :as st} tx]
          (try
            (assoc st :accounts (transfer accounts tx))
            (catch clojure.lang.ExceptionInfo e
              (update st :errors conj (merge {:msg (ex-message e)} (ex-data e))))))
        {:accounts {:a 100 :b 20} :errors []}
        [{:from :a :to :b :amount 70} {:from :a :to :b :amount 70} {:from :b :to :c :amount -1}])
;=> {:accounts {:a 30, :b 90}, :errors [{:msg "insufficient funds", :from :a} {:msg "invalid amount", :amount -1}]}

; name: elevator with letfn and destructuring
(letfn [(go [[floor dir :as pos] stops]
          (if (empty? stops)
            []
            (let [ahead (filter #((if (= dir :up) >= <=) % floor) stops)]
              (if (seq ahead)
                (let [nxt (apply (if (= dir :up) min max) ahead)]
                  (cons nxt (go [nxt dir] (disj stops nxt))))
                (go [floor (if (= dir :up) :down :up)] stops)))))]
  (go [4 :up] #{2 6 9 1}))
;=> (6 9 2 1)

; name: tic tac toe winner
(let [board [[:x :o :x] [:o :x :o] [:o :x :x]]
      lines (concat board
                    (apply map vector board)
                    [(map #(get-in board [% %]) (range 3))
                     (map #(get-in board [% (- 2 %)]) (range 3))])]
  (some (fn [[a :as l]] (when (and a (apply = l)) a)) lines))
;=> :x

; name: spiral matrix
(defn spiral [m]
  (if (empty? (rest m))
    (first m)
    (concat (first m) (spiral (reverse (apply map vector (rest m)))))))

(spiral [[1 2 3] [4 5 6] [7 8 9]])
;=> (1 2 3 6 9 8 7 4 5)
