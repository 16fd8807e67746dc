;; Text functions that call a function: the natives of clojure.string hand those calls over to here.

(ns ptc.impl)

(defn replace-by
  "The text with the matches of a pattern (at most limit of them, all if nil) replaced by what f
  gives for each match."
  {:examples [["(clojure.string/replace \"a1b2\" #\"\\d\" (fn [m] (str \"<\" m \">\")))" "\"a<1>b<2>\""]
              ["(clojure.string/replace-first \"a1b2\" #\"([a-z])(\\d)\" (fn [[m x n]] (str n x)))" "\"1ab2\""]]}
  [s pattern f limit]
  (let [pieces (prim/re-pieces pattern s limit)
        n (count pieces)]
    (loop [i 0 out []]
      (if (< i n)
        (let [piece (nth pieces i)]
          (recur (inc i) (prim/push out (if (odd? i) (f piece) piece))))
        (clojure.string/join out)))))

(defn re-seq-on
  "The matches that were found, and those behind the last of them as they are asked for."
  {:examples [["(count (re-seq #\"a\" (apply str (repeat 10001 \"a\"))))" "10001"]]}
  [found re s last]
  (concat found (lazy-seq (prim/re-seq re s last))))

(defn escape-by
  "The text with each character c replaced by (f c) where that is not nil."
  {:examples [["(clojure.string/escape \"a<b\" {\"<\" \"&lt;\"})" "\"a&lt;b\""]
              ["(clojure.string/escape \"ab\" (fn [c] (when (= c \"a\") \"x\")))" "\"xb\""]]}
  [s f]
  (clojure.string/join
   (reduce* [out [] c s]
     (let [value (f c)]
       (prim/push out (if (nil? value) c value))))))

(defn read-tagged
  "Data with each mark (reduced [tag value]) replaced by what the reader of its tag gives: a function
  of the value from readers, or else default, a function of tag and value."
  {:examples [["(clojure.edn/read-string {:readers {'up clojure.string/upper-case}} \"[#up \\\"a\\\"]\")"
               "[\"A\"]"]
              ["(clojure.edn/read-string {:default (fn [tag x] [tag x])} \"#foo 5\")" "[foo 5]"]]}
  [data readers default]
  (let [read (fn [x] (read-tagged x readers default))]
    (cond
      (reduced? data) (let [[tag x] @data
                            reader (get readers tag)]
                        (if reader (reader (read x)) (default tag (read x))))
      (map? data) (reduce* [out {} e data] (prim/assoc out (read (key e)) (read (val e))))
      (vector? data) (mapv read data)
      (set? data) (set (map read data))
      (list? data) (apply list (map read data))
      :else data)))
