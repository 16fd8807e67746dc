;; Patterns that are large, that backtrack without end, or that match very often.
;; limits: fuel 500k, memory 32mb

;; == nested stars => fuel_exceeded
(re-matches #"(a*)*b" (apply str (repeat 5000 "a")))

;; == nested pluses => value nil
(re-find #"(a+)+$" (str (apply str (repeat 5000 "a")) "b"))

;; == alternatives that overlap => value nil
(re-matches #"(a|aa)+" (str (apply str (repeat 5000 "a")) "b"))

;; == alternatives that are equal => value nil
(re-matches #"(a|a)*b" (apply str (repeat 5000 "a")))

;; == nested stars with a back-reference => fuel_exceeded
(re-find #"(a*)*\1b" (apply str (repeat 100 "a")))

;; == nested stars with a look-ahead => fuel_exceeded
(re-find #"(?=b)?(a*)*(?=c)b" (apply str (repeat 100 "a")))

;; == nested stars with a look-behind => fuel_exceeded
(re-find #"(?<=x)?(a|a)*(?!a)b" (apply str (repeat 100 "a")))

;; == a bomb in a loop => fuel_exceeded
(loop [] (re-find #"(a*)*\1b" (apply str (repeat 100 "a"))) (recur))

;; == a bomb that is caught, in a loop => fuel_exceeded
(loop [] (try (re-find #"(a*)*\1b" (apply str (repeat 100 "a"))) (catch Exception e nil)) (recur))

;; == a bomb in split => fuel_exceeded
(clojure.string/split (apply str (repeat 100 "a")) #"(a*)*\1b")

;; == a bomb in replace => fuel_exceeded
(clojure.string/replace (apply str (repeat 100 "a")) #"(a*)*\1b" "x")

;; == a bomb in re-seq => fuel_exceeded
(doall (re-seq #"(a*)*\1b" (apply str (repeat 100 "a"))))

;; == a bomb in .matches => fuel_exceeded
(.matches (apply str (repeat 100 "a")) "(a*)*\\1b")

;; == quadratic search => value nil
(re-find #"x*y" (apply str (repeat 20000 "x")))

;; == quadratic search with a back-reference => fuel_exceeded
(re-find #"(x)\1*y" (apply str (repeat 20000 "x")))

;; == large repetition => value #"a{1000000000}"
(re-pattern "a{1000000000}")

;; == nested repetition => value nil
(re-find (re-pattern "((((a{100}){100}){100}){100}){100}") "aaa")

;; == nested repetition of classes => fuel_exceeded
(re-find (re-pattern "(?:(?:\\pL{1,100}){1,100}){1,100}z") (apply str (repeat 3000 "é")))

;; == a repetition without end that repeats nothing => value ""
(re-find (re-pattern "(?:){1000000}") "aaa")

;; == a repetition of nothing with groups => value ["" ""]
(re-find (re-pattern "(){1000,100000}") "aaa")

;; == groups without end => value 3334
(count (re-find (re-pattern (apply str (repeat 3333 "(a)"))) (apply str (repeat 3333 "a"))))

;; == groups nested very deeply => illegal_argument
(re-pattern (str (apply str (repeat 4000 "(")) "a" (apply str (repeat 4000 ")"))))

;; == a pattern that is too long => fuel_exceeded
(re-pattern (apply str (repeat 100000 "a")))

;; == many alternatives => value "a999"
(re-find (re-pattern (clojure.string/join "|" (map (fn [i] (str "a" i)) (range 999 0 -1)))) "xxa999")

;; == classes nested very deeply => illegal_argument
(re-pattern (str (apply str (repeat 4000 "[")) "a" (apply str (repeat 4000 "]"))))

;; == many unicode classes => fuel_exceeded
(re-find (re-pattern (str "x" (apply str (repeat 1000 "\\p{L}?")) "y")) (apply str (repeat 2500 "x")))

;; == compiling in a loop => fuel_exceeded
(loop [i 0] (re-find (re-pattern (str "(\\w+)\\s+(\\d{1,50})[a-z]" i)) "abc 123") (recur (inc i)))

;; == compiling large unicode patterns in a loop => fuel_exceeded
(loop [i 0] (re-find (re-pattern (str "(?iu)\\p{L}{50}\\w{50}\\W{50}" i)) (apply str (repeat 2500 "é"))) (recur (inc i)))

;; == re-seq over a long string => fuel_exceeded
(doall (re-seq #"" (apply str (repeat 10000000 "x"))))

;; == re-seq with groups over a long string => fuel_exceeded
(doall (re-seq #"(x)(x)(x)" (apply str (repeat 1000000 "xxx"))))

;; == re-find of a long string, in a loop => fuel_exceeded
(let [s (apply str (repeat 100000 "x"))] (loop [] (re-find #"y" s) (recur)))

;; == re-matches of a long string, in a loop => fuel_exceeded
(let [s (apply str (repeat 100000 "x"))] (loop [] (re-matches #"x*" s) (recur)))

;; == a matcher that finds for ever => fuel_exceeded
(let [m (re-matcher #"x" (apply str (repeat 100 "x")))] (loop [] (re-find m) (recur)))

;; == case-insensitive back-references => fuel_exceeded
(re-find #"(?i)(.+)\1\1y" (apply str (repeat 3000 "x")))

;; == look-ahead inside of look-ahead => fuel_exceeded
(re-find (re-pattern (str (apply str (repeat 90 "(?=")) "a*b" (apply str (repeat 90 ")")))) (apply str (repeat 1000 "a")))

;; == atomic groups nested => fuel_exceeded
(re-find #"(?>(?>a+)+)+b" (apply str (repeat 3000 "a")))

;; == replacement with very many references => fuel_exceeded
(clojure.string/replace (apply str (repeat 10000 "x")) #"x+" (apply str (repeat 10000 "$0")))

;; == replacement names that do not end => illegal_argument
(clojure.string/replace "x" #"x" (str "${" (apply str (repeat 100000 "a"))))

;; == a long literal that nearly is in a text everywhere => fuel_exceeded
(re-find (re-pattern (str (.repeat "x" 9000) "y")) (.repeat "x" 1000000))

;; == an automaton with too many states to be kept => fuel_exceeded
(re-seq #"[xy]*x[xy]{900}z" (apply str (repeat 100000 "xyyxy")))

;; == look-behind far back at every character => fuel_exceeded
(count (re-seq #"(?<=.{1000000})x" (apply str (repeat 100000 "x"))))

;; == a pattern that reads far on for every match => fuel_exceeded
(count (re-seq #"a(?:[ab]?){1000}z|a" (apply str (repeat 2000 "ab"))))

;; == nested bounds that read far on for every match => fuel_exceeded
(count (re-seq #"(?:(?:a?){30}){30}z|a" (apply str (repeat 4000 "a"))))

;; == a search that reads far on, again and again => fuel_exceeded
(let [p #"a(?:[ab]?){4000}z|a" t (apply str (repeat 2000 "ab"))]
  (loop [n 0] (re-find p t) (if (< n 10000) (recur (inc n)) n)))

;; == a back-reference without regard to case => fuel_exceeded
(let [s (.repeat "s" 1000) t (apply str (repeat 200 (str s s)))] (re-find #"(?iu)(s{1000})\1b" t))

;; == groups that are cleared at every character => fuel_exceeded
(re-find (re-pattern (str "xy" (.repeat "()" 4900))) (.repeat "x" 1000000))

;; == groups in look-ahead that are longer than the match => fuel_exceeded
(count (re-seq #"(?=(a*))a" (.repeat "a" 40000)))

;; == the same for a replacement by a function => fuel_exceeded
(clojure.string/replace (.repeat "a" 40000) #"(?=(a*))a" first)

;; == the same for a split that keeps groups => fuel_exceeded
(split (.repeat "a" 40000) #"(?=(a*))a")

;; == the same for one group that is taken out => fuel_exceeded
(let [t (.repeat "a" 400000)] (mapv (fn [_] (extract #"(?=(a*))a" t)) (range 3000)))
