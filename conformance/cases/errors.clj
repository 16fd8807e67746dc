;;; Exceptions, assertions and what programs see of them.

(try 1)  ;=> 1
(try 1 (finally 2))  ;=> 1
(try (/ 1 0) (catch ArithmeticException e :div))  ;=> :div
; pending: the message differs
(try (/ 1 0) (catch Exception e (.getMessage e)))  ;=> "Divide by zero"
; pending: the message differs
(try (/ 1 0) (catch Exception e (ex-message e)))  ;=> "Divide by zero"
(try (throw (ex-info "bad" {:code 7})) (catch clojure.lang.ExceptionInfo e [(ex-message e) (ex-data e)]))  ;=> ["bad" {:code 7}]
(try (throw (ex-info "bad" {:code 7})) (catch Exception e (:code (ex-data e))))  ;=> 7
(try (throw (Exception. "plain")) (catch Exception e (.getMessage e)))  ;=> "plain"
(try (throw (RuntimeException. "rt")) (catch RuntimeException e (ex-message e)))  ;=> "rt"
(try (throw (IllegalArgumentException. "arg")) (catch IllegalArgumentException e (.getMessage e)))  ;=> "arg"
(try (throw (IllegalStateException. "st")) (catch IllegalArgumentException e :arg) (catch IllegalStateException e :state))  ;=> :state
(try (Integer/parseInt "x") (catch NumberFormatException e :nan))  ;=> :nan
(try (Long/parseLong "12x") (catch Exception _ nil))  ;=> nil
(try (Double/parseDouble "x") (catch NumberFormatException _ 0.0))  ;=> 0.0
(try (nth [1] 9) (catch IndexOutOfBoundsException e :oob))  ;=> :oob
(try (+ 1 nil) (catch NullPointerException e :npe))  ;=> :npe
(try (+ 1 "a") (catch ClassCastException e :cce))  ;=> :cce
(try (inc "a") (catch Exception e :caught))  ;=> :caught
(try (throw (ex-info "x" {})) (catch Throwable t :t))  ;=> :t
(try (throw (ex-info "x" {})) (catch Error e :e) (catch Exception e :x))  ;=> :x
; pending: AssertionError cannot be constructed here
(try (assert false "no") (catch AssertionError e :assert))  ;=> :assert
; pending: AssertionError cannot be constructed here
(try (assert false "no") (catch Error e (.getMessage e)))  ;=> "Assert failed: no\nfalse"
(try (try (throw (ex-info "in" {:a 1})) (finally 5)) (catch Exception e (ex-data e)))  ;=> {:a 1}
(try (try (throw (ex-info "in" {:a 1})) (catch Exception e (throw (ex-info "out" {:b 2} e)))) (catch Exception e [(ex-message e) (ex-message (ex-cause e)) (ex-data (ex-cause e))]))  ;=> ["out" "in" {:a 1}]
(let [log (atom [])] (try (swap! log conj 1) (/ 1 0) (catch Exception e (swap! log conj 2)) (finally (swap! log conj 3))) @log)  ;=> [1 2 3]
(let [log (atom [])] (try (try (/ 1 0) (finally (swap! log conj :inner))) (catch Exception e (swap! log conj :outer))) @log)  ;=> [:inner :outer]
(defn safe [f] (try (f) (catch Exception e {:error (ex-message e)}))) [(safe #(+ 1 1)) (safe #(throw (ex-info "boom" {})))]  ;=> [2 {:error "boom"}]
(map #(try (Integer/parseInt %) (catch NumberFormatException _ :bad)) ["1" "x"])  ;=> (1 :bad)
(reduce (fn [acc x] (try (conj acc (/ 10 x)) (catch ArithmeticException _ (conj acc :inf)))) [] [1 0 2])  ;=> [10 :inf 5]
(ex-data (ex-info "m" {:k 1}))  ;=> {:k 1}
(ex-message (ex-info "m" {}))  ;=> "m"
(ex-cause (ex-info "m" {} nil))  ;=> nil
(ex-data (Exception. "x"))  ;=> nil
(ex-message nil)  ;=> nil
(instance? Exception (ex-info "m" {}))  ;=> true
(instance? clojure.lang.ExceptionInfo (ex-info "m" {}))  ;=> true
(:type (ex-data (try (throw (ex-info "e" {:type :validation})) (catch Exception e e))))  ;=> :validation
(loop [n 3] (if (zero? n) :gave-up (let [r (try (if (= n 1) :ok (throw (ex-info "again" {}))) (catch Exception _ ::retry))] (if (= r ::retry) (recur (dec n)) r))))  ;=> :ok
; pending: the message differs
(try (case 9 1 :a) (catch IllegalArgumentException e (.getMessage e)))  ;=> "No matching clause: 9"
(try (throw (UnsupportedOperationException. "nope")) (catch UnsupportedOperationException e (.getMessage e)))  ;=> "nope"
(try (subs "abc" 5) (catch StringIndexOutOfBoundsException e :oob))  ;=> :oob
(try (.substring "abc" 5) (catch Exception e :oob))  ;=> :oob
(try (java.time.LocalDate/parse "bad") (catch java.time.format.DateTimeParseException e :bad-date))  ;=> :bad-date
(try (clojure.edn/read-string "{:a") (catch RuntimeException e :eof))  ;=> :eof
(try ((fn [x] x)) (catch clojure.lang.ArityException e :arity))  ;=> :arity
(try (throw (Exception. "a" (ex-info "cause" {:x 1}))) (catch Exception e (ex-data (.getCause e))))  ;=> {:x 1}
; pending: the message differs
(try (/ 5 0) (catch ArithmeticException e (str "Error: " (.getMessage e))))  ;=> "Error: Divide by zero"
(try (nonexistent) (catch Exception e 1))  ;=!
(throw (ex-info "unhandled" {:a 1}))  ;=! unhandled
(throw (Exception. "plain"))  ;=! plain
(/ 1 0)  ;=!
(assert (pos? -1))  ;=!
(throw nil)  ;=!
(ex-info)  ;=!
(try (/ 1 0) (catch NumberFormatException e 1))  ;=!
(defn check [x] (when-not (pos? x) (throw (IllegalArgumentException. (str "bad: " x)))) x) (try (check -1) (catch IllegalArgumentException e (.getMessage e)))  ;=> "bad: -1"
(-> (try (throw (ex-info "e" {:a {:b 1}})) (catch Exception e (ex-data e))) :a :b)  ;=> 1
(.getMessage (ex-info "m" {:a 1}))  ;=> "m"
(.getSimpleName (class (ArithmeticException. "x")))  ;=> "ArithmeticException"
