;; A limit that was reached ends the program. Nothing in the program can catch, delay or hide it.
;; limits: fuel 1m, memory 32mb

;; == catch around an endless loop => fuel_exceeded
(try (loop [] (recur)) (catch Exception e :caught))

;; == catch of everything around an endless loop => fuel_exceeded
(try (loop [] (recur)) (catch Throwable e :caught))

;; == catch of errors around an endless loop => fuel_exceeded
(try (loop [] (recur)) (catch Error e :caught))

;; == catch :default around an endless loop => fuel_exceeded
(try (loop [] (recur)) (catch :default e :caught))

;; == catch in a loop => fuel_exceeded
(loop [] (try (loop [] (recur)) (catch Throwable e nil)) (recur))

;; == finally after an endless loop => fuel_exceeded
(try (loop [] (recur)) (finally (println "never")))

;; == finally that loops after the fuel is gone => fuel_exceeded
(try (loop [] (recur)) (finally (loop [] (recur))))

;; == finally that throws after the fuel is gone => fuel_exceeded
(try (loop [] (recur)) (finally (throw (ex-info "mine" {}))))

;; == finally that returns after the fuel is gone => fuel_exceeded
(try (loop [] (recur)) (finally (return 1)))

;; == catch around too much memory => fuel_exceeded
(try (vec (range 100000000)) (catch Throwable e :caught))

;; == catch of OutOfMemoryError => fuel_exceeded
(try (loop [xs []] (recur (conj xs (str "some text that takes room " (count xs))))) (catch OutOfMemoryError e :caught))

;; == catch of StackOverflowError => memory_exceeded
(defn f [n] (inc (f n)))
(try (f 1) (catch StackOverflowError e :caught))

;; == catch around deep nesting => nesting_too_deep
(try (reduce (fn [x _] [x]) [] (range 5000)) (catch Throwable e :caught))

;; == finally after deep nesting => nesting_too_deep
(try (reduce (fn [x _] [x]) [] (range 5000)) (finally :done))

;; == catch around too many prints => output_exceeded
(try (loop [] (println "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx") (recur))
     (catch Throwable e :caught))

;; == catch around a huge integer => fuel_exceeded
(try (loop [x 3] (recur (* x x))) (catch Throwable e :caught))

;; == limits inside a lazy sequence that try realises => fuel_exceeded
(try (first (filter neg? (range))) (catch Throwable e :caught) (finally 1))

;; == catch inside pmap => fuel_exceeded
(pmap (fn [x] (try (loop [] (recur)) (catch Throwable e :caught))) [1 2 3])

;; == catch around pmap => fuel_exceeded
(try (pmap (fn [x] (loop [] (recur))) [1 2 3]) (catch Throwable e :caught))

;; == nested tries => fuel_exceeded
(try (try (try (loop [] (recur)) (catch Throwable a 1)) (catch Throwable b 2)) (finally 3))

;; == a catch that loops => fuel_exceeded
(try (throw (ex-info "x" {})) (catch Exception e (loop [] (recur))))

;; == throwing in a loop => fuel_exceeded
(loop [] (try (throw (ex-info "x" {:a 1})) (catch Exception e nil)) (recur))

;; == a million open tries => memory_exceeded
(defn f [n] (try (f (inc n)) (catch Exception e 1)))
(f 0)

;; == an error that holds on to every error before it => nesting_too_deep
(loop [e nil] (recur (ex-info "again" {:before e} e)))

;; == causes of causes => nesting_too_deep
(loop [e nil] (recur (ex-info "again" {} e)))

;; == data hidden in an exception => fuel_exceeded
(try (throw (ex-info "x" {:data (vec (range 10000000))})) (catch Exception e (count (:data (ex-data e)))))

;; == a huge message of an exception => fuel_exceeded
(throw (ex-info (apply str (repeat 100000000 "x")) {}))

;; == a large message of an exception stays an answer => exception
(throw (ex-info (apply str (repeat 100000 "x")) {}))

;; == fail with a large value => output_exceeded
(fail (vec (range 600000)))

;; == with-redefs is put back => fuel_exceeded
(def x 1)
(try (with-redefs [x 2] (loop [] (recur))) (catch Throwable e x))

;; == catch around pmap that runs out of fuel while it forks => fuel_exceeded
(defn f [x] (try (pmap f [x x]) (catch Throwable e :caught)))
(f 1)
