;; Evaluates the programs of an EDN file, each in a fresh namespace, and prints one EDN answer per line:
;; [id :ok "printed value"] or [id :error "ExceptionClass" "message"]. Called by oracle.py.

(require '[clojure.string] '[clojure.set] '[clojure.walk] '[clojure.edn] '[clojure.math])

(def aliases
  '{str clojure.string, string clojure.string, set clojure.set, walk clojure.walk, edn clojure.edn,
    math clojure.math, core clojure.core})

(def imports
  '[java.time.LocalDate java.time.LocalDateTime java.time.LocalTime java.time.Instant java.time.Duration
    java.time.Period java.time.ZonedDateTime java.time.ZoneId java.time.ZoneOffset java.time.DayOfWeek
    java.time.Month java.time.YearMonth java.time.OffsetDateTime java.time.format.DateTimeFormatter
    java.time.Year java.time.format.TextStyle java.time.format.FormatStyle java.time.temporal.ChronoUnit
    java.time.temporal.ChronoField java.time.temporal.IsoFields java.time.temporal.WeekFields
    java.time.temporal.TemporalAdjusters java.math.RoundingMode java.util.UUID java.util.Date java.util.Locale
    java.util.Objects java.util.Arrays java.util.Collections])

(defn fresh-namespace [n]
  (let [space (create-ns (symbol (str "user" n)))]
    (binding [*ns* space]
      (refer-clojure)
      (doseq [[short long] aliases] (alias short long))
      (doseq [class imports] (.importClass space (Class/forName (name class)))))
    space))

(defn bind-data [data]
  (doseq [[name _] (ns-interns (create-ns 'data))] (ns-unmap 'data name))
  (doseq [[name value] data] (intern 'data (symbol name) value)))

(defn root-cause [^Throwable e]
  (if (and (instance? clojure.lang.Compiler$CompilerException e) (.getCause e)) (recur (.getCause e)) e))

;; Like load-string, but reader conditionals are allowed.
(defn run-program [src]
  (let [reader (java.io.PushbackReader. (java.io.StringReader. src))
        end (Object.)]
    (loop [value nil]
      (let [form (read {:read-cond :allow :eof end} reader)]
        (if (identical? form end) value (recur (eval form)))))))

(defn answer [n {:keys [id src data]}]
  (let [space (fresh-namespace n)]
    (bind-data data)
    (try
      (binding [*ns* space, *out* (java.io.StringWriter.), *print-length* 10000]
        [id :ok (pr-str (run-program src))])
      (catch Throwable e
        (let [e (root-cause e)]
          [id :error (.getSimpleName (class e)) (str (.getMessage e))]))
      (finally (remove-ns (ns-name space))))))

(defn limited [millis n case]
  (let [result (promise)
        worker (doto (Thread. nil #(deliver result (answer n case)) "case" (* 64 1024 1024))
                 (.setDaemon true)
                 (.start))]
    (or (deref result millis nil)
        (do (.stop worker)
            [(:id case) :error "Timeout" (str "no answer within " millis " ms")]))))

(let [[file millis] *command-line-args*
      out *out*]
  (doseq [[n case] (map-indexed vector (read-string (slurp file)))]
    (let [line (limited (parse-long millis) n case)]
      (binding [*out* out] (prn line) (flush))))
  (System/exit 0))
