; Vars: metadata, redefinition, binding, watches; and types that say what their text is.

(defn f "adds" ([a] a) ([a b] (+ a b))) [(:doc (meta #'f)) (:arglists (meta #'f)) (:name (meta #'f))]  ;=> ["adds" ([a] [a b]) f]
(defn- g [x & more] x) [(:private (meta #'g)) (:arglists (meta #'g))]  ;=> [true ([x & more])]
(defn h {:since "1.0"} [{:keys [a b]}] a) [(:since (meta #'h)) (:arglists (meta #'h))]  ;=> ["1.0" ([{:keys [a b]}])]
(defn k "d" {:a 1} [x] "not a docstring" x) (select-keys (meta #'k) [:doc :a :arglists])  ;=> {:doc "d", :a 1, :arglists ([x])}
(def ^:dynamic *x* "the x" 1) (select-keys (meta #'*x*) [:dynamic :doc :name])  ;=> {:dynamic true, :doc "the x", :name *x*}
(def ^{:a (inc 1) :b "x"} y 1) (select-keys (meta #'y) [:a :b])  ;=> {:a 2, :b "x"}
(def ^:private ^String z "s") [(:private (meta #'z)) z]  ;=> [true "s"]
(def x 1) (def ^:tagged x 2) (:tagged (meta #'x))  ;=> true
(def ^:tagged x 1) (def x 2) (:tagged (meta #'x))  ;=> nil
(defmulti m "doc" :k) (:doc (meta #'m))  ;=> "doc"
(defprotocol P (area [this] "the area") (scale [this k] [this k l])) [(:doc (meta #'area)) (:arglists (meta #'area)) (:arglists (meta #'scale))]  ;=> ["the area" ([this]) ([this k] [this k l])]
(:name (meta #'map))  ;=> map
[(var? #'inc) (var? inc) (fn? #'inc) (ifn? #'inc)]  ;=> [true false false true]
(def v 5) [(deref #'v) @#'v (var-get #'v) (bound? #'v)]  ;=> [5 5 5 true]
(defn f [x] (* 2 x)) [(#'f 4) (map #'f [1 2]) (apply #'f [3]) ((comp #'f inc) 1) (reduce #'+ [1 2 3])]  ;=> [8 (2 4) 6 4 6]
(defn f [] 1) (def g #'f) (def h f) (defn f [] 2) [(g) (h)]  ;=> [2 1]
(defn f [] 1) (let [handlers {:f #'f}] (defn f [] 2) ((:f handlers)))  ;=> 2
[(= #'inc #'inc) (= #'inc #'dec) (contains? #{#'inc} #'inc) (get {#'inc 1} #'inc)]  ;=> [true false true 1]
(def x 1) (alter-meta! #'x assoc :k 2) (:k (meta #'x))  ;=> 2
(def x 1) (reset-meta! #'x {:k 2}) (meta #'x)  ;=> {:k 2}
(def a (atom 1)) (alter-meta! a assoc :k 2) (meta a)  ;=> {:k 2}
(def n 1) [(alter-var-root #'n + 10 100) n]  ;=> [111 111]
(defn f [x] x) (alter-var-root #'f (fn [old] (fn [x] [:wrapped (old x)]))) (f 1)  ;=> [:wrapped 1]
(def n 0) (def log (atom [])) (add-watch #'n :w (fn [k r o v] (swap! log conj [k (= r #'n) o v]))) (alter-var-root #'n inc) (remove-watch #'n :w) (alter-var-root #'n inc) [n @log]  ;=> [2 [[:w true 0 1]]]
(def ^:dynamic *x* 1) (defn get-x [] *x*) [(get-x) (binding [*x* 2] (get-x)) (binding [*x* 2] (binding [*x* 3] (get-x))) (get-x)]  ;=> [1 2 3 1]
(def ^:dynamic *x* 1) [(try (binding [*x* 2] (throw (ex-info "x" {}))) (catch Exception e *x*)) *x*]  ;=> [1 1]
(def ^:dynamic *x* 1) (binding [*x* 2] (set! *x* (inc *x*)) *x*)  ;=> 3
(def ^:dynamic *a* 1) (def ^:dynamic *b* 2) (binding [*a* *b* *b* *a*] [*a* *b*])  ;=> [2 1]
(def ^:dynamic *x* 1) (let [f (binding [*x* 2] (bound-fn [] *x*))] [(f) (binding [*x* 3] (f)) *x*])  ;=> [2 2 1]
(def ^:dynamic *x* 1) (let [f (bound-fn [y] [*x* y])] (binding [*x* 3] (f 0)))  ;=> [3 0]
(def ^:dynamic *x* 1) (let [f (binding [*x* 2] (bound-fn* (fn [a b] [*x* a b])))] (f :a :b))  ;=> [2 :a :b]
(def ^:dynamic *x* 1) (with-bindings {#'*x* 5} *x*)  ;=> 5
(def ^:dynamic *x* 1) [(thread-bound? #'*x*) (binding [*x* 2] (thread-bound? #'*x*))]  ;=> [false true]
(def ^:dynamic *x* 1) (binding [*x* 2] (alter-var-root #'*x* + 10) [*x*])  ;=> [2]
(def ^:dynamic *x* 1) (binding [*x* 2] (alter-var-root #'*x* + 10)) *x*  ;=> 11
(defn f [x] x) [(with-redefs [f (fn [x] (inc x))] (f 1)) (f 1)]  ;=> [2 1]
(defn f [] 1) [(with-redefs-fn {#'f (fn [] 2)} (fn [] (f))) (f)]  ;=> [2 1]
(defn f [x] x) (with-redefs [f (fn [x y] [x y])] (f 1 2))  ;=> [1 2]
(declare later) (defn f [] (later)) (defn later [] :done) [(f) (bound? #'later)]  ;=> [:done true]
(defonce once 1) (defonce once 2) once  ;=> 1

; ptc-only
(defn f "twice" [x] (* 2 x)) (with-out-str (source f))  ;=> "(defn f \"twice\" [x] (* 2 x))\n"
; ptc-only
(defn f "twice" [x] (* 2 x)) (doc f)  ;=> "f\n  [x]\n  twice"
; ptc-only
(def f #'f) (f 1)  ;=! not_callable
; ptc-only
(alter-var-root #'inc (fn [_] dec))  ;=! built in
; ptc-only
[(map String/.length ["a" "bb"]) (String/.toUpperCase "x") (mapv String/new ["q"])]  ;=> [(1 2) "X" ["q"]]

(defrecord P [x] Object (toString [_] (str "P" x))) [(str (->P 1)) (.toString (->P 2)) (str "a" (->P 3) 4) (clojure.string/join "," [(->P 5) 6]) (format "%s!" (->P 7)) (pr-str (:x (->P 8)))]  ;=> ["P1" "P2" "aP34" "P5,6" "P7!" "8"]
(deftype T [a b] Object (toString [this] (str a "-" b))) (str (->T 1 2))  ;=> "1-2"
(str (reify Object (toString [_] "reified")))  ;=> "reified"
(defprotocol S (nm [x])) (defrecord R [x] S (nm [_] (str "r" x)) Object (toString [this] (nm this))) [(str (->R 1)) (nm (->R 2))]  ;=> ["r1" "r2"]
(defrecord N [x]) (map->N {:x 1}) (:x (->N 1))  ;=> 1
(char-name-string \space)  ;=> "space"
({:a 1} :a)  ;=> 1
(Math/PI)  ;=> 3.141592653589793
(areduce (int-array [1 2 3]) i total 10 (+ total i))  ;=> 13
(let [a (int-array [1 2 3])] (areduce a i total 0 (+ total (aget a i))))  ;=> 6
(let [a (int-array [1 2 3])] (vec (amap a i out (* 10 (aget a i)))))  ;=> [10 20 30]
(let [a (int-array [1 2 3])] (amap a i out (* 10 (aget a i))) (vec a))  ;=> [1 2 3]
(do (def later) (defn use-it [] later) (def later 3) (use-it))  ;=> 3
(var? (def later))  ;=> true
