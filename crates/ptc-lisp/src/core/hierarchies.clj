;; Hierarchies of keywords, symbols and types: who derives from whom. A hierarchy is a map of three
;; maps; the program's own one lives in an atom of the machine.

(ns clojure.core)

(defn make-hierarchy
  "An empty hierarchy for derive, isa? and defmulti."
  {:examples [["(isa? (derive (make-hierarchy) :cat :animal) :cat :animal)" "true"]]}
  []
  {:parents {} :descendants {} :ancestors {}})

(defn- related [h relation tag]
  (prim/get-exact (get h relation) tag nil))

;; What a relation of the hierarchy says of tag, and of the supertypes of tag if it is a type.
(defn- upwards [h relation tag]
  (let [own (related h relation tag)]
    (if (class? tag)
      (not-empty (reduce* [out (or own #{}) type (prim/supertypes tag)]
                   (into (conj out type) (related h relation type))))
      own)))

(defn parents
  "The set of what tag derives from directly, or nil."
  {:examples [["(parents (derive (make-hierarchy) :cat :animal) :cat)" "#{:animal}"]]}
  ([tag] (parents @(prim/global-hierarchy) tag))
  ([h tag]
   (if (class? tag)
     (not-empty (into (or (related h :parents tag) #{}) (prim/supertypes tag)))
     (related h :parents tag))))

(defn ancestors
  "The set of what tag derives from, directly or not, or nil."
  {:examples [["(ancestors (derive (make-hierarchy) :cat :animal) :cat)" "#{:animal}"]]}
  ([tag] (ancestors @(prim/global-hierarchy) tag))
  ([h tag] (upwards h :ancestors tag)))

(defn descendants
  "The set of what derives from tag, directly or not, or nil."
  {:examples [["(descendants (derive (make-hierarchy) :cat :animal) :animal)" "#{:cat}"]]}
  ([tag] (descendants @(prim/global-hierarchy) tag))
  ([h tag]
   (if (class? tag)
     (throw (UnsupportedOperationException. "a type does not know its subtypes")))
   (related h :descendants tag)))

(defn isa?
  "Whether child is parent or derives from it; vectors are compared element by element."
  {:examples [["(isa? :a :a)" "true"]
              ["(isa? (derive (make-hierarchy) :cat :animal) [:cat 1] [:animal 1])" "true"]]}
  ([child parent]
   (isa? @(prim/global-hierarchy) child parent))
  ([h child parent]
   (cond
     (= child parent) true
     (contains? (or (related h :ancestors child) #{}) parent) true
     (class? child) (contains? (or (upwards h :ancestors child) #{}) parent)
     (and (vector? child) (vector? parent) (= (count child) (count parent)))
     (every? true? (mapv (fn [c p] (isa? h c p)) child parent))
     :else false)))

(defn derive
  "Makes tag a child of parent: in the hierarchy h, which is given back changed, or in the program's
  own one, giving nil."
  {:examples [["(parents (derive (make-hierarchy) :cat :animal) :cat)" "#{:animal}"]]}
  ([tag parent]
   (check-tags tag parent)
   (if-not (and (namespace parent) (or (class? tag) (namespace tag)))
     (prim/illegal "the program's own hierarchy takes names with a namespace only"
                   "write :my/tag or ::tag instead of :tag"))
   (swap! (prim/global-hierarchy) derive tag parent)
   nil)
  ([h tag parent]
   (check-hierarchy h)
   (check-tags tag parent)
   (cond
     (contains? (or (related h :parents tag) #{}) parent) h
     (contains? (or (ancestors h tag) #{}) parent)
     (throw (ex-info (str (prim/excerpt (pr-str tag)) " already has " (prim/excerpt (pr-str parent)) " as an ancestor") {}))
     (contains? (or (ancestors h parent) #{}) tag)
     (throw (ex-info (str "cyclic derivation: " (prim/excerpt (pr-str parent)) " has " (prim/excerpt (pr-str tag)) " as an ancestor") {}))
     :else (link h tag parent))))

(defn- check-tags [tag parent]
  (cond
    (= tag parent)
    (prim/illegal (str (prim/excerpt (pr-str tag)) " cannot derive from itself"))
    (not (or (class? tag) (ident? tag)))
    (prim/illegal (str "the child must be a keyword, symbol or type, got " (prim/excerpt (pr-str tag))))
    (not (ident? parent))
    (prim/illegal (str "the parent must be a keyword or symbol, got " (prim/excerpt (pr-str parent))))))

(defn- check-hierarchy [h]
  (if-not (and (map? h) (:parents h) (:ancestors h) (:descendants h))
    (prim/illegal "argument 1 must be a hierarchy made with make-hierarchy")))

(defn- link [h tag parent]
  (let [up (conj (or (related h :ancestors parent) #{}) parent)
        down (conj (or (related h :descendants tag) #{}) tag)]
    {:parents (update (:parents h) tag (fnil conj #{}) parent)
     :ancestors (add-all (:ancestors h) down up)
     :descendants (add-all (:descendants h) up down)}))

(defn- add-all [m ks members]
  (reduce* [m m k ks] (update m k (fnil into #{}) members)))

(defn underive
  "Undoes derive: in the hierarchy h, which is given back changed, or in the program's own one,
  giving nil."
  {:examples [["(parents (underive (derive (make-hierarchy) :cat :animal) :cat :animal) :cat)" "nil"]]}
  ([tag parent]
   (swap! (prim/global-hierarchy) underive tag parent)
   nil)
  ([h tag parent]
   (check-hierarchy h)
   (if (contains? (or (related h :parents tag) #{}) parent)
     (reduce* [out (make-hierarchy) e (:parents h)]
       (let [child (key e)]
         (reduce* [out out p (val e)]
           (if (and (= child tag) (= p parent)) out (derive out child p)))))
     h)))
