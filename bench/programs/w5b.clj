(->> data/orders
     (filter #(> (:amount %) 100))
     (group-by :region)
     (map (fn [[region orders]] [region (reduce + (map :amount orders)) (count orders)]))
     (sort-by second >)
     vec)
