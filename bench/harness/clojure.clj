;; Clojure: takes jobs line by line in EDN, times them here, answers with JSON. Inputs and tools are
;; vars of the namespaces `data` and `tool`, so it runs the programs of PTC-Lisp as they are.
;; With `warm`, a program is compiled once and then only called; otherwise it is compiled each time.

(require '[clojure.edn :as edn] 'clojure.string 'clojure.set)

(create-ns 'data)
(create-ns 'tool)
(intern 'tool 'succ (fn [{:keys [n]}] (inc n)))
(intern 'tool 'lookup
        (fn [{:keys [id]}]
          {:id id :name (str "Item " id) :price (+ (* id 1.25) 0.5) :tags [(str "t" (mod id 3)) "sale"]}))

(defn json [x]
  (cond
    (nil? x) "null"
    (map? x) (str "{" (clojure.string/join "," (map (fn [[k v]] (str (json k) ":" (json v))) x)) "}")
    (coll? x) (str "[" (clojure.string/join "," (map json x)) "]")
    (keyword? x) (json (name x))
    (string? x) (pr-str x)
    :else (str x)))

(def compiled
  (memoize (fn [source]
             (eval (list 'fn [] (read-string (str "(do (in-ns 'user) " source ")")))))))

(defn run-program [source]
  (let [answer (if (= "warm" (first *command-line-args*)) ((compiled source)) (load-string source))]
    (if (seq? answer) (doall answer) answer)))

(defn measure [{:keys [source repeats]}]
  (loop [left (dec repeats)]
    (let [answer (run-program source)]
      (if (pos? left) (recur (dec left)) answer))))

(defn handle [{:keys [op inputs] :as job}]
  (if (= op "open")
    (do (doseq [[name value] inputs] (intern 'data (symbol name) value)) {})
    (let [started (System/nanoTime)
          answer (measure job)]
      {:ns (- (System/nanoTime) started) :answer answer})))

(binding [*ns* (create-ns 'user)]
  (clojure.core/refer 'clojure.core)
  (alias 'str 'clojure.string)
  (alias 'set 'clojure.set)
  (import '(java.time LocalDate) '(java.time.temporal ChronoUnit))
  (doseq [line (line-seq (java.io.BufferedReader. *in*))]
    (let [answer (try (handle (edn/read-string line))
                      (catch Throwable error {:error (str error)}))]
      (println (json answer))
      (flush))))
