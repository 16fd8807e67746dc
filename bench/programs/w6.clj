(let [sorted (vec (sort-by (juxt :region :amount :id) data/orders))
      n (count sorted)]
  (mapv #(let [order (nth sorted %)] [(:region order) (:amount order) (:id order)])
        [0 (quot n 8) (quot n 2) (quot (* 3 n) 4) (dec n)]))
