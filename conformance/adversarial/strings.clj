;; Strings that grow, functions of strings with huge counts, patterns and formats.
;; limits: fuel 5m, memory 16mb

;; == doubling => memory_exceeded
(loop [s "x"] (recur (str s s)))

;; == doubling by join => memory_exceeded
(loop [s "x"] (recur (clojure.string/join [s s])))

;; == doubling by replace => memory_exceeded
(loop [s "x"] (recur (clojure.string/replace s "x" "xx")))

;; == doubling by regex => fuel_exceeded
(loop [s "x"] (recur (clojure.string/replace s #"x" "$0$0")))

;; == doubling by a function => fuel_exceeded
(loop [s "x"] (recur (clojure.string/replace s #"x" (fn [m] (str m m)))))

;; == doubling by concat method => memory_exceeded
(loop [s "x"] (recur (.concat s s)))

;; == doubling by format => memory_exceeded
(loop [s "x"] (recur (format "%s%s" s s)))

;; == doubling by pr-str of quotes => memory_exceeded
(loop [s "\""] (recur (pr-str s)))

;; == doubling by json => memory_exceeded
(loop [s "\""] (recur (json/generate-string s)))

;; == doubling by with-out-str => memory_exceeded
(loop [s "x"] (recur (with-out-str (print s s))))

;; == doubling in a string builder => memory_exceeded
(let [b (StringBuilder. "x")] (loop [] (.append b (str b)) (recur)))

;; == a billion x => fuel_exceeded
(apply str (repeat 1000000000 "x"))

;; == a billion x joined => fuel_exceeded
(clojure.string/join (repeat 1000000000 "x"))

;; == a billion x joined with a separator => fuel_exceeded
(clojure.string/join "," (range 1000000000))

;; == a billion x by .repeat => fuel_exceeded
(.repeat "x" 1000000000)

;; == a string grown one by one => memory_exceeded
(loop [s ""] (recur (str s "some more text")))

;; == a string grown in front => fuel_exceeded
(loop [s ""] (recur (str "some more text" s)))

;; == a string grown by reduce => fuel_exceeded
(reduce str (range 10000000))

;; == replacing nothing by much => fuel_exceeded
(clojure.string/replace (apply str (repeat 10000 "x")) "" (apply str (repeat 10000 "y")))

;; == replacing each by much => fuel_exceeded
(clojure.string/replace (apply str (repeat 100000 "x")) "x" (apply str (repeat 100000 "y")))

;; == replacing each by much with a regex => fuel_exceeded
(clojure.string/replace (apply str (repeat 100000 "x")) #"x" (apply str (repeat 100000 "y")))

;; == escaping each by much => memory_exceeded
(clojure.string/escape (apply str (repeat 100000 "x")) {\x (apply str (repeat 100000 "y"))})

;; == format with a huge width => illegal_argument
(format "%1000000000d" 1)

;; == format with a huge precision => illegal_argument
(format "%.1000000000f" 1.5)

;; == format with a width beyond integers => illegal_argument
(format "%99999999999999999999d" 1)

;; == format with a huge argument number => illegal_argument
(format "%1000000000$s" 1)

;; == format with many wide directives => memory_exceeded
(apply format (apply str (repeat 10000 "%900000d")) (range 10000))

;; == format in a loop => fuel_exceeded
(loop [] (format "%900000d" 1) (recur))

;; == cl-format with a huge width => invalid_form
(clojure.pprint/cl-format nil "~1000000000d" 1)

;; == split at every character => fuel_exceeded
(clojure.string/split (apply str (repeat 10000000 "x")) #"")

;; == split-lines of many lines => fuel_exceeded
(clojure.string/split-lines (apply str (repeat 10000000 "\n")))

;; == a seq of a long string, in a loop => fuel_exceeded
(let [s (apply str (repeat 100000 "x"))] (loop [] (seq s) (recur)))

;; == upper-case in a loop => fuel_exceeded
(let [s (apply str (repeat 100000 "x"))] (loop [] (clojure.string/upper-case s) (recur)))

;; == lower-case of letters that grow => memory_exceeded
(loop [s (apply str (repeat 1000 "İ"))] (recur (str (clojure.string/lower-case s) s)))

;; == reverse in a loop => fuel_exceeded
(let [s (apply str (repeat 100000 "x"))] (loop [] (clojure.string/reverse s) (recur)))

;; == trim in a loop => fuel_exceeded
(let [s (apply str (repeat 100000 " "))] (loop [] (clojure.string/trim s) (recur)))

;; == blank? in a loop => fuel_exceeded
(let [s (apply str (repeat 100000 " "))] (loop [] (clojure.string/blank? s) (recur)))

;; == index-of what is not there, in a loop => fuel_exceeded
(let [s (apply str (repeat 100000 "x"))] (loop [] (clojure.string/index-of s "y") (recur)))

;; == index-of what is almost there, in a loop => fuel_exceeded
(let [s (apply str (repeat 100000 "x")) t (str (apply str (repeat 50000 "x")) "y")] (loop [] (clojure.string/index-of s t) (recur)))

;; == last-index-of in a loop => fuel_exceeded
(let [s (apply str (repeat 100000 "x"))] (loop [] (clojure.string/last-index-of s "y") (recur)))

;; == includes? in a loop => fuel_exceeded
(let [s (apply str (repeat 100000 "x"))] (loop [] (clojure.string/includes? s "y") (recur)))

;; == starts-with? in a loop => fuel_exceeded
(let [s (apply str (repeat 100000 "x"))] (loop [] (clojure.string/starts-with? s s) (recur)))

;; == count of a string that is not ASCII, in a loop => fuel_exceeded
(let [s (apply str (repeat 10000 "é"))] (loop [] (count s) (recur)))

;; == nth of a string that is not ASCII, in a loop => fuel_exceeded
(let [s (apply str (repeat 10000 "é"))] (loop [] (nth s 9999) (recur)))

;; == subs of a string that is not ASCII, in a loop => fuel_exceeded
(let [s (apply str (repeat 10000 "é"))] (loop [] (subs s 5000 9999) (recur)))

;; == get of a string that is not ASCII, in a loop => fuel_exceeded
(let [s (apply str (repeat 10000 "é"))] (loop [] (get s 9999) (recur)))

;; == charAt of a string that is not ASCII, in a loop => fuel_exceeded
(let [s (apply str (repeat 10000 "é"))] (loop [] (.charAt s 9999) (recur)))

;; == first of a long string, in a loop => fuel_exceeded
(let [s (apply str (repeat 100000 "x"))] (loop [] (first s) (recur)))

;; == last of a long string, in a loop => fuel_exceeded
(let [s (apply str (repeat 100000 "x"))] (loop [] (last s) (recur)))

;; == rest of a long string, in a loop => fuel_exceeded
(let [s (apply str (repeat 100000 "x"))] (loop [] (rest s) (recur)))

;; == empty? of a long string, in a loop => fuel_exceeded
(let [s (apply str (repeat 100000 "x"))] (loop [] (empty? s) (recur)))

;; == one character made of a million marks => fuel_exceeded
(let [s (str "a" (apply str (repeat 100000 "\u0301")))] (loop [] (count s) (first s) (recur)))

;; == parse-long of a long string, in a loop => fuel_exceeded
(let [s (apply str (repeat 100000 "1"))] (loop [] (parse-long s) (recur)))

;; == parse-double of a long string, in a loop => fuel_exceeded
(let [s (apply str (repeat 100000 "1"))] (loop [] (parse-double s) (recur)))

;; == parse-uuid of a long string, in a loop => fuel_exceeded
(let [s (apply str (repeat 100000 "1"))] (loop [] (parse-uuid s) (recur)))

;; == parse-boolean of a long string, in a loop => fuel_exceeded
(let [s (apply str (repeat 100000 "1"))] (loop [] (parse-boolean s) (recur)))

;; == bigint of a long string => memory_exceeded
(bigint (apply str (repeat 1000000 "9")))

;; == Integer/parseInt of a long string => memory_exceeded
(Integer/parseInt (apply str (repeat 1000000 "9")))

;; == Long/parseLong with a radix, of a long string => memory_exceeded
(Long/parseLong (apply str (repeat 1000000 "z")) 36)

;; == read-string of a deep nesting => nesting_too_deep
(clojure.edn/read-string (apply str (repeat 100000 "[")))

;; == read-string of a long text => memory_exceeded
(count (clojure.edn/read-string (str "[" (apply str (repeat 1000000 "1 ")) "]")))

;; == read-string in a loop => fuel_exceeded
(let [s (str "[" (apply str (repeat 1000 "[1 {:a 2}] ")) "]")] (loop [] (clojure.edn/read-string s) (recur)))

;; == keyword of a long string => fuel_exceeded
(loop [i 0] (keyword (str (apply str (repeat 100000 "k")) i)) (recur (inc i)))

;; == name of a long keyword, in a loop => fuel_exceeded
(let [k (keyword (apply str (repeat 100000 "k")))] (loop [] (name k) (recur)))

;; == str of a long keyword, in a loop => fuel_exceeded
(let [k (keyword (apply str (repeat 100000 "k")))] (loop [] (str k) (recur)))

;; == namespace of a long keyword, in a loop => fuel_exceeded
(let [k (keyword (apply str (repeat 100000 "k")) "x")] (loop [] (namespace k) (recur)))

;; == compare of long keywords, in a loop => fuel_exceeded
(let [t (apply str (repeat 100000 "k")) a (keyword (str t "1")) b (keyword (str t "2"))] (loop [] (compare a b) (recur)))

;; == compare of long strings above the basic plane, in a loop => fuel_exceeded
(let [t (apply str (repeat 20000 "😀")) a (str t "1") b (str t "2")] (loop [] (compare a b) (recur)))

;; == base64 of much => fuel_exceeded
(let [s (apply str (repeat 10000000 "x"))] (.encodeToString (java.util.Base64/getEncoder) (.getBytes s)))

;; == url-encode doubling => fuel_exceeded
(loop [s "%"] (recur (java.net.URLEncoder/encode s)))

;; == chars of a long string => fuel_exceeded
(vec (apply str (repeat 10000000 "x")))

;; == a map of characters, in a loop => fuel_exceeded
(let [s (apply str (repeat 10000 "abcdefghij"))] (loop [] (frequencies s) (recur)))

;; == Levenshtein by recursion => fuel_exceeded
(defn lev [a b] (cond (empty? a) (count b) (empty? b) (count a) :else (min (inc (lev (rest a) b)) (inc (lev a (rest b))) (lev (rest a) (rest b)))))
(lev (apply str (repeat 100 "a")) (apply str (repeat 100 "b")))

;; == look-ahead with very many groups that hold all of the text => memory_exceeded
(let [look (str "(?=" (apply str (repeat 95 "(")) "a*" (apply str (repeat 95 ")")) ")")]
  (count (re-find (re-pattern (apply str (repeat 45 look))) (.repeat "a" 100000))))

;; == the group of one match, again and again => memory_exceeded
(let [m (re-matcher #"a*" (.repeat "a" 1000000))] (.find m) (mapv (fn [_] (.group m)) (range 3000)))

;; == the groups of one match, again and again => memory_exceeded
(let [m (re-matcher #"(a*)" (.repeat "a" 1000000))] (.find m) (mapv (fn [_] (re-groups m)) (range 3000)))

;; == the text of a pattern, again and again => memory_exceeded
(let [r (re-pattern (.repeat "a" 9000))] (mapv (fn [_] (.pattern r)) (range 30000)))

;; == the message of one exception, again and again => memory_exceeded
(let [e (ex-info (.repeat "a" 600000) {})] (mapv (fn [_] (ex-message e)) (range 3000)))

;; == one exception as data, again and again => memory_exceeded
(let [e (ex-info (.repeat "a" 300000) {})] (mapv (fn [_] (Throwable->map e)) (range 3000)))

;; == quotes around text that ends quotes => memory_exceeded
(let [t (.repeat "\\E" 600000)] (mapv (fn [_] (Pattern/quote t)) (range 10)))

;; == lines of nothing => memory_exceeded
(.lines (.repeat "\n" 2000000))

;; == a search for what is longer than the text => value 60
(let [s (.repeat "ab " 2000000)]
  (count (filter neg? (mapv (fn [_] (.indexOf "a.b.c" s)) (range 60)))))

;; == a search for what is as long as the text => fuel_exceeded
(let [s (.repeat "ab " 300000) t (str s "c")] (dotimes [_ 1000] (clojure.string/index-of t (str s "d"))))

;; == an order of texts that begin alike => fuel_exceeded
(let [s (.repeat "ab " 300000)] (dotimes [_ 1000] (.compareTo (str s "c") (str s "d"))))
