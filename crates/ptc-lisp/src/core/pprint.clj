;; Tables for people.

(ns clojure.pprint)

(defn print-table
  "Prints rows, which are maps, as a table of the columns ks, or of the keys of the first row; gives nil."
  {:examples [["(with-out-str (clojure.pprint/print-table [{:a 1 :b \"xy\"}]))"
               "\"\\n| :a | :b |\\n|----+----|\\n|  1 | xy |\\n\""]]}
  ([rows] (print-table (keys (first rows)) rows))
  ([ks rows]
   (if (seq rows)
     (let [width (fn [k] (apply max (count (str k)) (map (fn [row] (count (str (get row k)))) rows)))
           widths (mapv width ks)
           line (fn [left between right cells]
                  (println (str left (clojure.string/join between cells) right)))
           pad (fn [n text] (str (clojure.string/join (repeat (- n (count text)) " ")) text))
           cells (fn [row] (mapv (fn [k n] (pad n (str (get row k)))) ks widths))]
       (println)
       (line "| " " | " " |" (mapv (fn [k n] (pad n (str k))) ks widths))
       (line "|-" "-+-" "-|" (mapv (fn [n] (clojure.string/join (repeat n "-"))) widths))
       (run! (fn [row] (line "| " " | " " |" (cells row))) rows)))))
