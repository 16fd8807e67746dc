;; Multimethods. A multimethod is a function whose metadata holds an atom with its methods; the
;; `defmulti` and `defmethod` forms expand to the functions of ptc.impl here.

(ns ptc.impl)

(defn make-multi
  "A multimethod: a function that calls the method for what dispatch gives for its arguments."
  {:examples [["(do (defmulti area :shape) (defmethod area :square [s] (* (:side s) (:side s))) (area {:shape :square :side 3}))" "9"]]}
  [name dispatch default hierarchy]
  (let [table (atom {:name name :default default :hierarchy hierarchy :methods {} :prefers {}})]
    (with-meta
      (fn
        ([] ((method-for table (dispatch))))
        ([a] ((method-for table (dispatch a)) a))
        ([a b] ((method-for table (dispatch a b)) a b))
        ([a b c] ((method-for table (dispatch a b c)) a b c))
        ([a b c & more]
         (let [args (cons a (cons b (cons c more)))]
           (prim/apply (method-for table (prim/apply dispatch args)) args))))
      {:ptc.impl/multi table})))

(defn add-method
  "Makes f the method for a dispatch value; gives the multimethod."
  {:examples [["(do (defmulti f identity) (defmethod f :default [x] :other) (f 1))" ":other"]]}
  [multi value f]
  (let [table (table-of multi)]
    (swap! table assoc :methods (prim/assoc (:methods @table) value f))
    multi))

(defn- table-of [multi]
  (or (get (meta multi) :ptc.impl/multi)
      (prim/illegal "argument 1 must be a multimethod made with defmulti")))

(defn- method-for [table value]
  (or (find-method @table value)
      (prim/illegal (str "no method in multimethod '" (:name @table) "' for dispatch value: "
                         (prim/excerpt (pr-str value)))
                    "add a defmethod for it or for :default")))

;; The method of exactly this value, else of its closest ancestor, else the default one.
(defn- find-method [table value]
  (let [methods (:methods table)
        exact (prim/get-exact methods value nil)]
    (if (nil? exact)
      (let [best (closest table value)]
        (if (nil? best)
          (prim/get-exact methods (:default table) nil)
          (nth best 1)))
      exact)))

;; The entry [dispatch-value method] that fits best among those value derives from, or nil.
(defn- closest [table value]
  (let [h (hierarchy-of table)]
    (reduce* [best nil e (:methods table)]
      (if (isa? h value (key e))
        (cond
          (nil? best) e
          (dominates? table h (key e) (key best)) e
          (dominates? table h (key best) (key e)) best
          :else (prim/illegal
                 (str "multiple methods in multimethod '" (:name table) "' match dispatch value: "
                      (prim/excerpt (pr-str value)) " -> " (prim/excerpt (pr-str (key e))) " and "
                      (prim/excerpt (pr-str (key best))))
                 "say which one with prefer-method"))
        best))))

(defn- hierarchy-of [table]
  (let [h (:hierarchy table)]
    (cond
      (nil? h) @(prim/global-hierarchy)
      (map? h) h
      :else @h)))

(defn- dominates? [table h x y]
  (or (preferred? table h x y) (isa? h x y)))

(defn- preferred? [table h x y]
  (boolean
   (or (contains? (prim/get-exact (:prefers table) x #{}) y)
       (some (fn [p] (preferred? table h x p)) (parents h y))
       (some (fn [p] (preferred? table h p y)) (parents h x)))))

(ns clojure.core)

(defn methods
  "The map from dispatch values to methods of a multimethod."
  {:examples [["(do (defmulti f identity) (defmethod f 1 [x] :one) (keys (methods f)))" "(1)"]]}
  [multi]
  (:methods @(ptc.impl/table-of multi)))

(defn get-method
  "The method a multimethod would call for a dispatch value, or nil."
  {:examples [["(do (defmulti f identity) (defmethod f 1 [x] :one) ((get-method f 1) 1))" ":one"]]}
  [multi value]
  (ptc.impl/find-method @(ptc.impl/table-of multi) value))

(defn remove-method
  "Takes the method for a dispatch value away; gives the multimethod."
  {:examples [["(do (defmulti f identity) (defmethod f 1 [x] :one) (remove-method f 1) (methods f))" "{}"]]}
  [multi value]
  (let [table (ptc.impl/table-of multi)]
    (swap! table assoc :methods (prim/dissoc (:methods @table) value))
    multi))

(defn remove-all-methods
  "Takes all methods away; gives the multimethod."
  {:examples [["(do (defmulti f identity) (defmethod f 1 [x] :one) (remove-all-methods f) (methods f))" "{}"]]}
  [multi]
  (swap! (ptc.impl/table-of multi) assoc :methods {})
  multi)

(defn prefer-method
  "Makes a multimethod choose the dispatch value x over y where both fit; gives the multimethod."
  {:examples [["(do (defmulti f identity) (prefer-method f :a :b) (prefers f))" "{:a #{:b}}"]]}
  [multi x y]
  (let [table (ptc.impl/table-of multi)]
    (if (ptc.impl/preferred? @table (ptc.impl/hierarchy-of @table) y x)
      (throw (IllegalStateException.
              (str "preference conflict in multimethod '" (:name @table) "': " (prim/excerpt (pr-str y))
                   " is already preferred to " (prim/excerpt (pr-str x))))))
    (swap! table assoc :prefers (update (:prefers @table) x (fnil conj #{}) y))
    multi))

(defn prefers
  "The map from dispatch values to the sets of those they are preferred to."
  {:examples [["(do (defmulti f identity) (prefers f))" "{}"]]}
  [multi]
  (:prefers @(ptc.impl/table-of multi)))
