;; Protocols. A protocol is a map with an atom of implementations by type; the `defprotocol`,
;; `extend-type`, `extend-protocol` and `defrecord` forms expand to the functions of ptc.impl here.

(ns ptc.impl)

(defn make-protocol
  "A protocol with methods of these names and no implementations."
  {:examples [["(do (defprotocol P (m [x])) (extend-protocol P String (m [x] [:text x]) nil (m [x] :nothing)) [(m \"a\") (m nil)])"
               "[[:text \"a\"] :nothing]"]]}
  [name methods]
  {:ptc.impl/protocol name :methods methods :impls (atom {})})

(defn protocol-fn
  "The function that calls the implementation of a method for the type of its first argument."
  {:examples [["(do (defprotocol P (m [x y])) (extend-type Long P (m [x y] (+ x y))) (m 1 2))" "3"]]}
  [protocol method]
  (fn
    ([this] ((implementation protocol method this) this))
    ([this a] ((implementation protocol method this) this a))
    ([this a b] ((implementation protocol method this) this a b))
    ([this a b & more]
     (prim/apply (implementation protocol method this)
                 (cons this (cons a (cons b more)))))))

(defn extend-protocol!
  "Gives a protocol the implementations of its methods for a type, or for nil; gives nil."
  {:examples [["(do (defprotocol P (m [x])) (extend-type Object P (m [x] :any)) (m 1))" ":any"]]}
  [protocol type methods]
  (let [impls (impls-of protocol)]
    (swap! impls assoc type methods)
    nil))

;; The methods that types give themselves under Object are kept apart from protocols: natives look for
;; toString there.
(defn extend-object!
  "Gives a type methods of Object, of which toString is used; gives nil."
  {:examples [["(do (defrecord P [x] Object (toString [this] (str \"P\" x))) (str (->P 1)))" "\"P1\""]]}
  [type methods]
  (swap! (prim/object-methods) update type merge methods)
  nil)

(defn- text-of [x]
  (let [f (prim/text-method x)]
    (if f (f x) x)))

(defn call-with-texts
  "Calls f with the arguments, those replaced by their text whose type says what it is."
  {:examples [["(do (deftype P [x] Object (toString [this] \"p\")) (str (->P 1) 1))" "\"p1\""]]}
  [f args]
  (prim/apply f (mapv text-of args)))

(defn join-texts
  "Joins items, some of which have a type that says what their text is."
  {:examples [["(do (deftype P [x] Object (toString [this] (str x))) (clojure.string/join \"-\" [(->P 1) (->P 2)]))" "\"1-2\""]]}
  ([coll] (clojure.string/join (mapv text-of coll)))
  ([separator coll] (clojure.string/join separator (mapv text-of coll))))

(defn- impls-of [protocol]
  (or (get protocol :impls)
      (prim/illegal "argument 1 must be a protocol made with defprotocol")))

(defn- implementation [protocol method this]
  (let [impls @(impls-of protocol)
        f (reduce* [found nil type (type-path this)]
            (let [f (get (prim/get-exact impls type nil) method)]
              (if (nil? f) nil (reduced f))))]
    (if (nil? f)
      (prim/illegal (str "no implementation of method :" method " of protocol "
                         (:ptc.impl/protocol protocol) " for "
                         (if (nil? this) "nil" (pr-str (prim/type-of this))))
                    "add one with extend-type or extend-protocol")
      f)))

;; The types under which implementations for a value are found, the most specific first.
(defn- type-path [x]
  (if (nil? x) [nil] (prim/type-chain x)))

(ns clojure.core)

(defn satisfies?
  "Whether a protocol has implementations for the type of x."
  {:examples [["(do (defprotocol P (m [x])) (extend-type String P (m [x] x)) [(satisfies? P \"a\") (satisfies? P 1)])"
               "[true false]"]]}
  [protocol x]
  (let [impls @(ptc.impl/impls-of protocol)]
    (boolean (some (fn [type] (prim/get-exact impls type nil)) (ptc.impl/type-path x)))))

(defn extends?
  "Whether a protocol has implementations for exactly this type."
  {:examples [["(do (defprotocol P (m [x])) (extend-type String P (m [x] x)) (extends? P String))" "true"]]}
  [protocol type]
  (some? (prim/get-exact @(ptc.impl/impls-of protocol) type nil)))

(defn extenders
  "The types a protocol has implementations for."
  {:examples [["(do (defprotocol P (m [x])) (count (extenders P)))" "0"]]}
  [protocol]
  (keys @(ptc.impl/impls-of protocol)))

(defn extend
  "Gives protocols implementations for a type: maps from method names as keywords to functions."
  {:examples [["(do (defprotocol P (m [x])) (extend String P {:m (fn [x] (count x))}) (m \"abc\"))" "3"]]}
  [type & protocols-and-maps]
  (reduce* [ignored nil pair (prim/partition 2 2 nil false protocols-and-maps)]
    (ptc.impl/extend-protocol! (first pair) type (update-keys (second pair) name)))
  nil)
