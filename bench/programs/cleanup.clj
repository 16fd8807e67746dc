(let [clean (fn [line]
              (let [[name mail] (str/split line #";")
                    words (str/split (str/trim name) #"\s+")]
                [(str/join " " (map str/capitalize words)) (str/lower-case (str/trim mail))]))
      rows (mapv clean data/contacts)]
  {:first (take 3 rows)
   :hosts (count (distinct (map #(second (str/split (second %) #"@")) rows)))
   :length (reduce + (map #(count (str/join " " %)) rows))})
