(ns words "What there is to know about words.")

(defn lengths
  "The length of each word."
  [words]
  (mapv count words))
