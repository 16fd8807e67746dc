(->> (str/split (str/lower-case data/text) #"\s+")
     frequencies
     (sort-by (fn [[word n]] [(- n) word]))
     (take 10)
     vec)
