(let [by-id (into {} (map (juxt :id identity)) data/customers)
      joined (map (fn [{:keys [customer_id amount]}] {:tier (:tier (by-id customer_id)) :amount amount})
                  data/purchases)]
  (->> (group-by :tier joined)
       (map (fn [[tier rows]] [tier (reduce + (map :amount rows)) (count rows)]))
       (sort-by first)))
