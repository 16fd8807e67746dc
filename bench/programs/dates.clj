(let [dates (mapv #(LocalDate/parse %) data/dates)
      days (mapv #(.toEpochDay ^LocalDate %) dates)
      due (mapv #(.plusDays ^LocalDate % 45) dates)]
  {:mondays (count (filter #(zero? (mod (+ % 3) 7)) days))
   :distance (reduce + (map (fn [a b] (abs (- a b))) days (rest days)))
   :latest (str (last (sort (map str due))))})
