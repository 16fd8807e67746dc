;;; Whole programs over text: logs, CSV, templates, words, encodings.

;;data logs ["2024-03-01T10:00:01Z INFO  auth user=alice action=login ms=120", "2024-03-01T10:00:05Z ERROR api user=bob action=fetch ms=950 code=500", "2024-03-01T10:01:10Z WARN  api user=alice action=fetch ms=430", "2024-03-01T10:02:00Z INFO  auth user=carol action=login ms=95", "2024-03-01T10:02:30Z ERROR db user=bob action=query ms=1500 code=503", "garbage line"]
;;data article "The quick brown fox jumps over the lazy dog. The dog sleeps; the fox runs away! Quick, quick fox."
;;data csv "id,name,score\n1,Ann,90\n2,\"Bob, Jr\",75\n3,Cy,\n"

; name: parse key=value log lines
(def line-re #"(\S+) (\w+)\s+(\w+) (.*)")

(defn parse-line [line]
  (when-let [[_ ts level component kvs] (re-matches line-re line)]
    (merge {:ts ts :level (keyword (str/lower-case level)) :component component}
           (into {} (map (fn [[_ k v]] [(keyword k) v])) (re-seq #"(\w+)=(\S+)" kvs)))))

(->> data/logs (keep parse-line) (mapv #(select-keys % [:level :user :ms])))
;=> [{:level :info, :user "alice", :ms "120"} {:level :error, :user "bob", :ms "950"} {:level :warn, :user "alice", :ms "430"} {:level :info, :user "carol", :ms "95"} {:level :error, :user "bob", :ms "1500"}]

; name: error rate and slow requests
(let [rows (for [l data/logs
                 :let [m (re-find #"(INFO|WARN|ERROR)\s+(\w+).*ms=(\d+)" l)]
                 :when m
                 :let [[_ level comp ms] m]]
             {:level level :comp comp :ms (Long/parseLong ms)})
      errors (filter #(= "ERROR" (:level %)) rows)]
  {:total (count rows)
   :error-pct (* 100.0 (/ (count errors) (count rows)))
   :slow (->> rows (filter #(> (:ms %) 400)) (sort-by :ms >) (mapv (juxt :comp :ms)))
   :avg-ms (/ (reduce + (map :ms rows)) (count rows))})
;=> {:total 5, :error-pct 40.0, :slow [["db" 1500] ["api" 950] ["api" 430]], :avg-ms 619}

; name: counts per minute
(->> data/logs
     (keep #(second (re-find #"T(\d\d:\d\d)" %)))
     frequencies
     (into (sorted-map)))
;=> {"10:00" 2, "10:01" 1, "10:02" 2}

; name: word frequencies
(->> (re-seq #"\w+" (str/lower-case data/article))
     frequencies
     (sort-by (fn [[w n]] [(- n) w]))
     (take 4)
     (into []))
;=> [["the" 4] ["fox" 3] ["quick" 3] ["dog" 2]]

; name: longest words
(let [words (distinct (str/split (str/replace data/article #"[^A-Za-z ]" "") #"\s+"))
      n (apply max (map count words))]
  {:longest n :words (filterv #(= n (count %)) words)})
;=> {:longest 6, :words ["sleeps"]}

; name: sentences and their lengths
(->> (str/split data/article #"[.;!]\s*")
     (map str/trim)
     (remove str/blank?)
     (map #(vector (count (str/split % #"\s+")) %))
     (sort-by first)
     vec)
;=> [[3 "The dog sleeps"] [3 "Quick, quick fox"] [4 "the fox runs away"] [9 "The quick brown fox jumps over the lazy dog"]]

; name: csv to maps
(defn parse-row [line]
  (map (fn [[_ quoted plain]] (or quoted plain))
       (re-seq #"(?:\"([^\"]*)\"|([^,]*))(?:,|$)" line)))

(let [[header & rows] (str/split-lines data/csv)
      ks (map keyword (str/split header #","))]
  (mapv #(zipmap ks (parse-row %)) rows))
;=> [{:id "1", :name "Ann", :score "90"} {:id "2", :name "Bob, Jr", :score "75"} {:id "3", :name "Cy", :score ""}]

; name: csv output
(let [rows [{:a 1 :b "x,y"} {:a 2 :b "say \"hi\""} {:a nil :b "z"}]
      quote-it (fn [v]
                 (let [s (str v)]
                   (if (re-find #"[,\"]" s)
                     (str "\"" (str/replace s "\"" "\"\"") "\"")
                     s)))]
  (->> rows
       (map (fn [r] (str/join "," (map (comp quote-it r) [:a :b]))))
       (cons "a,b")
       (str/join "\n")))
;=> "a,b\n1,\"x,y\"\n2,\"say \"\"hi\"\"\"\n,z"

; name: template rendering
(defn render [tpl ctx]
  (str/replace tpl #"\{\{\s*([\w.]+)\s*\}\}"
               (fn [[whole path]]
                 (let [v (get-in ctx (map keyword (str/split path #"\.")))]
                   (if (nil? v) whole (str v))))))

(render "Hi {{ user.name }}, you owe {{amount}} to {{who}}." {:user {:name "Ann"} :amount 12.5})
;=> "Hi Ann, you owe 12.5 to {{who}}."

; name: caesar cipher both ways
(defn shift [n c]
  (let [code (int c)]
    (cond
      (<= 65 code 90) (char (+ 65 (mod (+ n (- code 65)) 26)))
      (<= 97 code 122) (char (+ 97 (mod (+ n (- code 97)) 26)))
      :else c)))

(let [enc (apply str (map (partial shift 3) "Hello, World!"))
      dec (apply str (map (partial shift -3) enc))]
  [enc dec])
;=> ["Khoor, Zruog!" "Hello, World!"]

; name: run-length encoding
(defn rle [s]
  (->> (partition-by identity s)
       (map (fn [g] (str (count g) (first g))))
       (apply str)))

(defn unrle [s]
  (->> (re-seq #"(\d+)(.)" s)
       (map (fn [[_ n c]] (apply str (repeat (parse-long n) c))))
       (str/join)))

[(rle "aaabccdddd") (unrle (rle "aaabccdddd"))]
;=> ["3a1b2c4d" "aaabccdddd"]

; name: palindromes and anagrams
(let [clean #(filter (fn [c] (Character/isLetter c)) (str/lower-case %))
      pal? #(= (clean %) (reverse (clean %)))]
  {:pal (filterv pal? ["A man, a plan, a canal: Panama" "hello" "Was it a car"])
   :groups (->> ["listen" "silent" "enlist" "google" "elgoog" "abc"]
                (group-by sort)
                vals
                (filter #(> (count %) 1))
                (mapv vec))})
;=> {:pal ["A man, a plan, a canal: Panama"], :groups [["listen" "silent" "enlist"] ["google" "elgoog"]]}

; name: slugs and title case
(let [slug (fn [s] (-> s str/lower-case (str/replace #"[^a-z0-9]+" "-") (str/replace #"^-|-$" "")))
      title (fn [s] (str/join " " (map str/capitalize (str/split s #"\s+"))))]
  (mapv (juxt slug title) ["Hello, World!" "  the LAST one " "C++ & Rust"]))
;=> [["hello-world" "Hello, World!"] ["the-last-one" " The Last One"] ["c-rust" "C++ & Rust"]]

; name: camel and snake case
(defn camel [s]
  (let [[h & t] (str/split s #"[_-]")]
    (apply str h (map str/capitalize t))))

(defn snake [s]
  (str/lower-case (str/replace s #"([a-z0-9])([A-Z])" "$1_$2")))

[(map camel ["user_id" "created-at-time" "x"]) (map snake ["userId" "createdAtTime" "HTTPServer"])]
;=> [("userId" "createdAtTime" "x") ("user_id" "created_at_time" "httpserver")]

; name: url parts
(let [[_ scheme host _ port path query] (re-matches #"(\w+)://([^/:?]+)(:(\d+))?(/[^?]*)?(?:\?(.*))?" "https://example.com:8080/a/b?x=1&y=two&x=3")]
  {:scheme scheme
   :host host
   :port (some-> port parse-long)
   :path (rest (str/split path #"/"))
   :query (reduce (fn [m kv] (let [[k v] (str/split kv #"=")] (update m (keyword k) (fnil conj []) v))) {} (str/split query #"&"))})
;=> {:scheme "https", :host "example.com", :port 8080, :path ("a" "b"), :query {:x ["1" "3"], :y ["two"]}}

; name: markdown table
(let [rows [{:name "Ann" :score 9} {:name "Bartholomew" :score 10}]
      cols [:name :score]
      width (fn [c] (apply max (count (name c)) (map #(count (str (c %))) rows)))
      pad (fn [s n] (apply str s (repeat (- n (count s)) " ")))
      line (fn [vals] (str "| " (str/join " | " vals) " |"))]
  (str/join "\n"
    (concat [(line (map #(pad (name %) (width %)) cols))
             (line (map #(apply str (repeat (width %) "-")) cols))]
            (for [r rows] (line (map #(pad (str (% r)) (width %)) cols))))))
;=> "| name        | score |\n| ----------- | ----- |\n| Ann         | 9     |\n| Bartholomew | 10    |"

; name: wrap text
(defn wrap [n text]
  (reduce (fn [lines w]
            (let [l (peek lines)]
              (if (and l (<= (+ (count l) 1 (count w)) n))
                (conj (pop lines) (str l " " w))
                (conj lines w))))
          []
          (str/split text #"\s+")))

(wrap 20 data/article)
;=> ["The quick brown fox" "jumps over the lazy" "dog. The dog sleeps;" "the fox runs away!" "Quick, quick fox."]

; name: diff of two texts by line
(let [a (str/split-lines "one\ntwo\nthree\nfour")
      b (str/split-lines "one\n2\nthree\nfour\nfive")]
  (->> (map vector (concat a (repeat nil)) (concat b (repeat nil)))
       (take (max (count a) (count b)))
       (keep-indexed (fn [i [x y]] (when (not= x y) [(inc i) x y])))))
;=> ([2 "two" "2"] [5 nil "five"])

; name: levenshtein distance
(defn levenshtein [a b]
  (let [n (count b)]
    (peek
      (reduce (fn [prev [i ca]]
                (reduce (fn [row j]
                          (conj row (min (inc (peek row))
                                         (inc (nth prev (inc j)))
                                         (+ (nth prev j) (if (= ca (nth b j)) 0 1)))))
                        [(inc i)]
                        (range n)))
              (vec (range (inc n)))
              (map-indexed vector a)))))

(map #(apply levenshtein %) [["kitten" "sitting"] ["flaw" "lawn"] ["" "abc"] ["same" "same"]])
;=> (3 2 3 0)

; name: roman numerals
(def numerals [[1000 "M"] [900 "CM"] [500 "D"] [400 "CD"] [100 "C"] [90 "XC"] [50 "L"] [40 "XL"] [10 "X"] [9 "IX"] [5 "V"] [4 "IV"] [1 "I"]])

(defn to-roman [n]
  (loop [n n s "" [[v r] & more :as all] numerals]
    (cond
      (zero? n) s
      (>= n v) (recur (- n v) (str s r) all)
      :else (recur n s more))))

(defn from-roman [s]
  (let [value {\I 1 \V 5 \X 10 \L 50 \C 100 \D 500 \M 1000}]
    (->> (map value s)
         (partition-all 2 1)
         (reduce (fn [acc [a b]] (if (and b (< a b)) (- acc a) (+ acc a))) 0))))

(map (juxt identity to-roman (comp from-roman to-roman)) [4 9 14 1990 2024])
;=> ([4 "IV" 4] [9 "IX" 9] [14 "XIV" 14] [1990 "MCMXC" 1990] [2024 "MMXXIV" 2024])

; name: binary and hex dump
(for [n [0 5 255 1024]]
  {:n n
   :bin (Integer/toBinaryString n)
   :hex (format "%04x" n)
   :bits (count (filter #{\1} (Integer/toBinaryString n)))
   :back (Long/parseLong (Integer/toBinaryString n) 2)})
;=> ({:n 0, :bin "0", :hex "0000", :bits 0, :back 0} {:n 5, :bin "101", :hex "0005", :bits 2, :back 5} {:n 255, :bin "11111111", :hex "00ff", :bits 8, :back 255} {:n 1024, :bin "10000000000", :hex "0400", :bits 1, :back 1024})

; name: checksum of characters
(defn checksum [s]
  (reduce (fn [h c] (mod (+ (* 31 h) (int c)) 1000007)) 7 s))

(mapv checksum ["abc" "hello world" ""])
;=> [304891 964425 7]

; name: isbn and luhn validation
(defn luhn? [s]
  (let [digits (map #(Character/digit % 10) (reverse (filter #(Character/isDigit %) s)))]
    (->> (map * digits (cycle [1 2]))
         (map #(if (> % 9) (- % 9) %))
         (reduce +)
         (#(zero? (mod % 10))))))

(mapv luhn? ["4539 1488 0343 6467" "8273 1232 7352 0569" "0"])
;=> [true false true]

; name: tokenise arithmetic and evaluate
(defn tokenize [s] (re-seq #"\d+\.?\d*|[-+*/()]" s))

(def prec {"+" 1 "-" 1 "*" 2 "/" 2})

(defn to-rpn [tokens]
  (loop [[t & ts] tokens out [] ops ()]
    (cond
      (nil? t) (into out ops)
      (re-matches #"\d+\.?\d*" t) (recur ts (conj out (parse-double t)) ops)
      (= t "(") (recur ts out (conj ops t))
      (= t ")") (let [[popped more] (split-with #(not= "(" %) ops)]
                  (recur ts (into out popped) (rest more)))
      :else (let [[popped more] (split-with #(and (prec %) (>= (prec %) (prec t))) ops)]
              (recur ts (into out popped) (conj more t))))))

(defn eval-rpn [rpn]
  (first
    (reduce (fn [stack x]
              (if (number? x)
                (conj stack x)
                (let [[b a & more] stack]
                  (conj more (({"+" + "-" - "*" * "/" /} x) a b)))))
            ()
            rpn)))

(map (comp eval-rpn to-rpn tokenize) ["1+2*3" "(1+2)*3" "10/4-1" "2*(3+4)*5"])
;=> (7.0 9.0 1.5 70.0)

; name: balanced brackets
(defn balanced? [s]
  (let [pairs {\) \( \] \[ \} \{}
        openers (set (vals pairs))]
    (empty?
      (reduce (fn [stack c]
                (cond
                  (openers c) (conj stack c)
                  (pairs c) (if (= (peek stack) (pairs c)) (pop stack) (reduced [:bad]))
                  :else stack))
              []
              s))))

(map balanced? ["(a[b]{c})" "(]" "((" "" ")"])
;=> (true false false true false)

; name: ini file parser
(let [text "[server]\nhost = localhost\nport=8080\n\n; comment\n[db]\nname = main\npool = 5"]
  (->> (str/split-lines text)
       (map str/trim)
       (remove #(or (str/blank? %) (str/starts-with? % ";")))
       (reduce (fn [[section acc] line]
                 (if-let [[_ s] (re-matches #"\[(\w+)\]" line)]
                   [(keyword s) acc]
                   (let [[k v] (map str/trim (str/split line #"=" 2))]
                     [section (assoc-in acc [section (keyword k)] (or (parse-long v) v))])))
               [nil {}])
       second))
;=> {:server {:host "localhost", :port 8080}, :db {:name "main", :pool 5}}

; name: highlight and mask secrets
(-> "user=bob token=abc123secret card=4111111111111111 mail=bob@example.com"
    (str/replace #"token=\S+" "token=***")
    (str/replace #"\b(\d{4})\d{8}(\d{4})\b" "$1********$2")
    (str/replace #"(\w)\w*@" "$1***@"))
;=> "user=bob token=*** card=4111********1111 mail=b***@example.com"

; name: n-grams and most common pair
(let [ngrams (fn [n s] (map #(apply str %) (partition n 1 s)))]
  {:bigrams (vec (ngrams 2 "banana"))
   :top (->> (ngrams 2 "banana") frequencies (sort-by (juxt (comp - val) key)) first)})
;=> {:bigrams ["ba" "an" "na" "an" "na"], :top ["an" 2]}

; name: histogram bars
(let [data {"a" 3 "bb" 5 "ccc" 1}
      w (apply max (map count (keys data)))]
  (with-out-str
    (doseq [[k v] (sort-by val > data)]
      (println (format (str "%-" w "s") k) (apply str (repeat v "#")) v))))
;=> "bb  ##### 5\na   ### 3\nccc # 1\n"

; name: pig latin with cond
(defn pig [w]
  (cond
    (re-find #"^[aeiou]" w) (str w "way")
    :else (let [[_ lead tail] (re-find #"^([^aeiou]+)(.*)" w)] (str tail lead "ay"))))

(str/join " " (map pig (str/split "the quick apple" #" ")))
;=> "ethay uickqay appleway"

; name: character classes
(let [s "Hello World 123!"]
  (reduce (fn [m c]
            (update m
                    (cond
                      (Character/isUpperCase c) :upper
                      (Character/isLowerCase c) :lower
                      (Character/isDigit c) :digit
                      (Character/isWhitespace c) :space
                      :else :other)
                    (fnil inc 0)))
          {}
          s))
;=> {:upper 2, :lower 8, :space 2, :digit 3, :other 1}

; name: stack traces to summaries
(let [trace "Error: boom\n  at foo (a.js:10:5)\n  at bar (b.js:22:1)\n  at foo (a.js:40:9)"
      frames (for [[_ f file line] (re-seq #"at (\w+) \((\S+?):(\d+):\d+\)" trace)]
               {:fn f :file file :line (parse-long line)})]
  {:message (second (re-find #"Error: (.*)" trace))
   :by-file (update-vals (group-by :file frames) #(mapv :line %))
   :top (:fn (first frames))})
;=> {:message "boom", :by-file {"a.js" [10 40], "b.js" [22]}, :top "foo"}

;;; CSV, as the hint for parse-csv says.
(let [s "id,name,note\n1,Ann,\n2,\"Lee, Bo\",\"says \"\"hi\"\"\"\n3,,x"
      fields (fn [line] (map (fn [[_ quoted plain]] (if quoted (str/replace quoted "\"\"" "\"") plain)) (re-seq #",(?:\"((?:[^\"]|\"\")*)\"|([^,]*))" (str "," line))))
      [head & rows] (map fields (str/split-lines s))]
  (mapv #(zipmap (map keyword head) %) rows))
;=> [{:id "1" :name "Ann" :note ""} {:id "2" :name "Lee, Bo" :note "says \"hi\""} {:id "3" :name "" :note "x"}]
