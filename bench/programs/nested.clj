(let [doc (reduce (fn [doc {:keys [a b c by]}] (update-in doc [a b c] (fnil + 0) by)) {} data/changes)]
  [(reduce + (for [[_ bs] doc [_ cs] bs] (count cs)))
   (get-in doc ["a0" "b0" "c0"] 0)
   (reduce + (for [[_ bs] doc [_ cs] bs [_ n] cs] n))])
