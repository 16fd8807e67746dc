;; Searching: what the host finds stands between what preludes have and what the library has.

(ns ptc)

(defn apropos
  "Functions and tools whose name or documentation has the words, best first; a last line says how many are left.
  {:limit n} asks for more than 8."
  {:discovers true
   :examples [["(vector? (apropos \"map\"))" "true"] ["(apropos \"zzzz\")" "[]"]]}
  ([text] (apropos text nil))
  ([text options] (prim/apropos text options (prim/apropos-asked text options))))
