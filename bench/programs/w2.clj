(->> (range data/n) (filter even?) (map inc) (reduce +))
