(->> data/orders
     (filter #(= "paid" (:status %)))
     (group-by :region)
     (map (fn [[region orders]] {:region region :count (count orders) :total (reduce + (map :amount orders))}))
     (sort-by :total >)
     (take 3))
