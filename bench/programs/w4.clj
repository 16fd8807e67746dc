(let [n data/n]
  (loop [i 0 sum 0]
    (if (< i n) (recur (inc i) (+ sum i)) sum)))
