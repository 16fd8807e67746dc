(let [rows [{:id 1 :qty 2} {:id 2 :qty 5}]
      price (tool/lookup {:id 7})]
  (reduce + (map #(* price (:qty %)) rows)))
