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

(defn- global-relation [relation tag]
  (related @(prim/global-hierarchy) relation tag))

(defn parents
  "The set of what tag derives from directly, or nil."
  {:examples [["(parents (derive (make-hierarchy) :cat :animal) :cat)" "#{:animal}"]]}
  ([tag] (global-relation :parents tag))
  ([h tag] (related h :parents tag)))

(defn ancestors
  "The set of what tag derives from, directly or not, or nil."
  {:examples [["(ancestors (derive (make-hierarchy) :cat :animal) :cat)" "#{:animal}"]]}
  ([tag] (global-relation :ancestors tag))
  ([h tag] (related h :ancestors tag)))

(defn descendants
  "The set of what derives from tag, directly or not, or nil."
  {:examples [["(descendants (derive (make-hierarchy) :cat :animal) :animal)" "#{:cat}"]]}
  ([tag] (global-relation :descendants tag))
  ([h tag] (related h :descendants tag)))

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
     (class? child) (type-isa? h child parent)
     (and (vector? child) (vector? parent) (= (count child) (count parent)))
     (every? true? (mapv (fn [c p] (isa? h c p)) child parent))
     :else false)))

;; A type is everything its supertypes are, and what those derive from.
(defn- type-isa? [h child parent]
  (boolean
   (some (fn [type]
           (or (= type parent)
               (contains? (or (related h :ancestors type) #{}) parent)))
         (prim/supertypes child))))

(defn derive
  "Makes tag a child of parent: in the hierarchy h, which is given back changed, or in the program's
  own one, giving nil."
  {:examples [["(parents (derive (make-hierarchy) :cat :animal) :cat)" "#{:animal}"]]}
  ([tag parent]
   (swap! (prim/global-hierarchy) derive tag parent)
   nil)
  ([h tag parent]
   (cond
     (contains? (or (parents h tag) #{}) parent) h
     (= tag parent)
     (throw (IllegalArgumentException. (str (pr-str tag) " cannot derive from itself")))
     (contains? (or (ancestors h tag) #{}) parent)
     (throw (ex-info (str (pr-str tag) " already has " (pr-str parent) " as an ancestor") {}))
     (contains? (or (ancestors h parent) #{}) tag)
     (throw (ex-info (str "cyclic derivation: " (pr-str parent) " has " (pr-str tag) " as an ancestor") {}))
     :else (link h tag parent))))

(defn- link [h tag parent]
  (let [up (conj (or (ancestors h parent) #{}) parent)
        down (conj (or (descendants h tag) #{}) tag)]
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
   (if (contains? (or (parents h tag) #{}) parent)
     (reduce* [out (make-hierarchy) e (:parents h)]
       (let [child (key e)]
         (reduce* [out out p (val e)]
           (if (and (= child tag) (= p parent)) out (derive out child p)))))
     h)))
