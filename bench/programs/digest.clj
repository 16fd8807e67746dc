(let [shipped (filter #(= "shipped" (:status %)) data/orders)]
  {:count (count shipped)
   :total (reduce + (map :amount shipped))
   :largest (apply max (map :amount shipped))
   :customers (count (set (map #(get-in % [:customer :id]) shipped)))})
