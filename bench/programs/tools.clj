(let [items (mapv #(tool/lookup {:id %}) (range data/n))
      picked (filter #(some #{"t0"} (:tags %)) items)]
  {:names (str/join ", " (map (comp str/upper-case :name) picked))
   :total (reduce + (map :price picked))})
