;;; Multimethods, records, protocols and types.

(defmulti area :shape) (defmethod area :circle [{:keys [r]}] (* 3 r r)) (defmethod area :rect [{:keys [w h]}] (* w h)) [(area {:shape :circle :r 2}) (area {:shape :rect :w 2 :h 3})]  ;=> [12 6]
(defmulti f class) (defmethod f String [s] [:str s]) (defmethod f Long [n] [:num n]) (defmethod f :default [x] [:other x]) [(f "a") (f 1) (f :k)]  ;=> [[:str "a"] [:num 1] [:other :k]]
(defmulti f (fn [a b] [(:t a) (:t b)])) (defmethod f [:x :y] [a b] :xy) (defmethod f :default [_ _] :dflt) [(f {:t :x} {:t :y}) (f {:t :y} {:t :x})]  ;=> [:xy :dflt]
(defmulti f identity) (defmethod f 1 [_] :one) (f 2)  ;=!
(defmulti f identity :default :none) (defmethod f :none [_] :nothing) (f 9)  ;=> :nothing
(defmulti f "doc" count) (defmethod f 2 [_] :two) (f [1 2])  ;=> :two
(derive ::dog ::animal) (defmulti speak identity) (defmethod speak ::animal [_] :sound) (speak ::dog)  ;=> :sound
(defmulti f even?) (defmethod f true [x] [:even x]) (defmethod f false [x] [:odd x]) (map f [1 2])  ;=> ([:odd 1] [:even 2])
(defmulti f :op) (defmethod f :add [{:keys [args]}] (apply + args)) (defmethod f :mul [{:keys [args]}] (apply * args)) (reduce + (map f [{:op :add :args [1 2]} {:op :mul :args [3 4]}]))  ;=> 15
(defmulti f identity) (defmethod f :a [_] 1) (contains? (methods f) :a)  ;=> true
(defmulti f identity) (defmethod f :a [_] 1) (some? (get-method f :a))  ;=> true
(defmulti f identity) (defmethod f :a [_] 1) (remove-method f :a) (try (f :a) (catch Exception e :gone))  ;=> :gone
(defmulti fact identity) (defmethod fact 0 [_] 1) (defmethod fact :default [n] (* n (fact (dec n)))) (fact 5)  ;=> 120
(defrecord Point [x y]) (let [p (->Point 1 2)] [(:x p) (:y p)])  ;=> [1 2]
(defrecord Point [x y]) (map->Point {:x 1 :y 2})  ;=> #user.Point{:x 1, :y 2}
(defrecord Point [x y]) (Point. 1 2)  ;=> #user.Point{:x 1, :y 2}
(defrecord Point [x y]) (.x (->Point 1 2))  ;=> 1
(defrecord Point [x y]) (.-x (->Point 1 2))  ;=> 1
(defrecord Point [x y]) (assoc (->Point 1 2) :x 10)  ;=> #user.Point{:x 10, :y 2}
(defrecord Point [x y]) (assoc (->Point 1 2) :z 10)  ;=> #user.Point{:x 1, :y 2, :z 10}
(defrecord Point [x y]) (update (->Point 1 2) :x inc)  ;=> #user.Point{:x 2, :y 2}
(defrecord Point [x y]) (instance? Point (->Point 1 2))  ;=> true
(defrecord Point [x y]) (= (->Point 1 2) (->Point 1 2))  ;=> true
(defrecord Point [x y]) (into {} (->Point 1 2))  ;=> {:x 1, :y 2}
(defrecord Point [x y]) (map? (->Point 1 2))  ;=> true
(defrecord Point [x y]) (record? (->Point 1 2))  ;=> true
(defrecord Point [x y]) (let [{:keys [x y]} (->Point 3 4)] (+ x y))  ;=> 7
(defrecord Point [x y]) (keys (->Point 1 2))  ;=> (:x :y)
(defrecord Point [x y]) (dissoc (assoc (->Point 1 2) :z 1) :z)  ;=> #user.Point{:x 1, :y 2}
(defrecord P [a]) (sort-by :a [(->P 2) (->P 1)])  ;=> (#user.P{:a 1} #user.P{:a 2})
(defprotocol Shape (area [this]) (scale [this k])) (defrecord Sq [s] Shape (area [_] (* s s)) (scale [this k] (assoc this :s (* k s)))) [(area (->Sq 3)) (area (scale (->Sq 3) 2))]  ;=> [9 36]
(defprotocol Speak (speak [this])) (defrecord Dog [] Speak (speak [_] "woof")) (defrecord Cat [] Speak (speak [_] "meow")) (map speak [(->Dog) (->Cat)])  ;=> ("woof" "meow")
(defprotocol P (m [x])) (extend-protocol P String (m [s] [:s s]) Long (m [n] [:n n]) nil (m [_] :nil)) [(m "a") (m 1) (m nil)]  ;=> [[:s "a"] [:n 1] :nil]
(defprotocol P (m [x])) (extend-type String P (m [s] (count s))) (m "abc")  ;=> 3
(defprotocol P (m [x] [x y])) (defrecord R [v] P (m [_] v) (m [_ y] (+ v y))) [(m (->R 1)) (m (->R 1) 2)]  ;=> [1 3]
(defprotocol P (m [x])) (defrecord R [v] P (m [this] (:v this))) [(satisfies? P (->R 1)) (satisfies? P 5)]  ;=> [true false]
(defprotocol P (m [x])) (m (reify P (m [_] :r)))  ;=> :r
(defprotocol P (m [x])) (let [k 5] (m (reify P (m [_] (* k 2)))))  ;=> 10
(deftype T [a b]) (let [t (T. 1 2)] [(.a t) (.-b t)])  ;=> [1 2]
(deftype T [a]) (.a (->T 5))  ;=> 5
(defprotocol Stack (push [s x]) (top [s])) (defrecord VS [items] Stack (push [s x] (update s :items conj x)) (top [s] (peek (:items s)))) (-> (->VS []) (push 1) (push 2) top)  ;=> 2
(defprotocol P (m [x])) (m 5)  ;=!
(defrecord Acc [id balance]) (-> (->Acc 1 100) (update :balance - 30) :balance)  ;=> 70
(isa? ::a ::a)  ;=> true
(let [h (-> (make-hierarchy) (derive :a :b))] [(isa? h :a :b) (ancestors h :a) (descendants h :b)])  ;=> [true #{:b} #{:a}]
(defrecord Temp [c]) (str (:c (->Temp 5)))  ;=> "5"
(defrecord E [n]) (map :n (sort-by :n > [(->E 1) (->E 3)]))  ;=> (3 1)
(defrecord A [x]) (:missing (->A 1) :none)  ;=> :none
; divergence: D45
(defrecord A [x]) ((->A 1) :x)  ;=> 1
(defrecord A [x] Object (toString [_] (str "A" x))) (str (->A 5))  ;=> "A5"
(def shapes [{:kind :sq :s 2} {:kind :ci :r 1}]) (defmulti a* :kind) (defmethod a* :sq [{s :s}] (* s s)) (defmethod a* :ci [{r :r}] (* 3 r)) (mapv a* shapes)  ;=> [4 3]
(prefers (do (defmulti f identity) f))  ;=> {}

;; What type gives is what class gives.

(defmulti kind type) (defmethod kind String [_] :text) (defmethod kind Number [_] :number) (defmethod kind :default [_] :other) (map kind ["a" 1 2.5 :k nil])  ;=> (:text :number :number :other :other)
(map (fn [x] (condp = (type x) String :text Long :long Double :double :other)) ["ab" 1 2.5 [1]])  ;=> (:text :long :double :other)
[(= (type [1]) (class [1])) (type nil) (type (with-meta [1] {:type :row}))]  ;=> [true nil :row]
