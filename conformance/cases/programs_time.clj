;;; Whole programs over dates and times.

;;data events [{"name": "kickoff", "start": "2024-01-08T09:00", "end": "2024-01-08T10:30"}, {"name": "review", "start": "2024-01-08T10:00", "end": "2024-01-08T11:00"}, {"name": "lunch", "start": "2024-01-08T12:00", "end": "2024-01-08T13:00"}, {"name": "demo", "start": "2024-01-09T15:15", "end": "2024-01-09T16:00"}]
;;data people [{"name": "Ann", "born": "1990-05-17"}, {"name": "Bob", "born": "2000-02-29"}, {"name": "Cy", "born": "1985-12-31"}]
;;data readings [{"ts": 1704067200, "v": 1.5}, {"ts": 1704070800, "v": 2.5}, {"ts": 1704153600, "v": 4.0}, {"ts": 1704157200, "v": 3.0}]

; name: ages at a date
(let [on (LocalDate/of 2024 3 1)]
  (->> data/people
       (map (fn [{:keys [name born]}]
              [name (.getYears (java.time.Period/between (LocalDate/parse born) on))]))
       (into (sorted-map))))
;=> {"Ann" 33, "Bob" 24, "Cy" 38}

; name: meeting durations in minutes
(for [{:keys [name start end]} data/events]
  [name (.toMinutes (java.time.Duration/between (java.time.LocalDateTime/parse start)
                                                (java.time.LocalDateTime/parse end)))])
;=> (["kickoff" 90] ["review" 60] ["lunch" 60] ["demo" 45])

; name: overlapping events
(let [parse #(java.time.LocalDateTime/parse %)
      evs (map #(-> % (update :start parse) (update :end parse)) data/events)]
  (for [[i a] (map-indexed vector evs)
        b (drop (inc i) evs)
        :when (and (.isBefore (:start a) (:end b)) (.isBefore (:start b) (:end a)))]
    [(:name a) (:name b)]))
;=> (["kickoff" "review"])

; name: group epoch readings by day
(let [day (fn [ts] (-> (java.time.Instant/ofEpochSecond ts)
                       (.atZone (java.time.ZoneId/of "UTC"))
                       .toLocalDate
                       str))]
  (-> (group-by (comp day :ts) data/readings)
      (update-vals (fn [rs] (/ (reduce + (map :v rs)) (count rs))))))
;=> {"2024-01-01" 2.0, "2024-01-02" 3.5}

; name: business days
(defn weekend? [d]
  (contains? #{java.time.DayOfWeek/SATURDAY java.time.DayOfWeek/SUNDAY} (.getDayOfWeek d)))

(defn add-business-days [d n]
  (->> (iterate #(.plusDays % 1) d)
       rest
       (remove weekend?)
       (drop (dec n))
       first))

(mapv #(str (add-business-days (java.time.LocalDate/parse "2024-03-01") %)) [1 2 5 10])
;=> ["2024-03-04" "2024-03-05" "2024-03-08" "2024-03-15"]

; name: month calendar
(let [first-day (java.time.LocalDate/of 2024 2 1)
      lead (dec (.getValue (.getDayOfWeek first-day)))
      days (concat (repeat lead nil) (range 1 (inc (.lengthOfMonth first-day))))]
  (mapv vec (partition 7 7 (repeat nil) days)))
;=> [[nil nil nil 1 2 3 4] [5 6 7 8 9 10 11] [12 13 14 15 16 17 18] [19 20 21 22 23 24 25] [26 27 28 29 nil nil nil]]

; name: date range by weeks
(->> (iterate #(.plusWeeks % 1) (LocalDate/parse "2024-01-01"))
     (take-while #(.isBefore % (LocalDate/parse "2024-02-01")))
     (map str)
     vec)
;=> ["2024-01-01" "2024-01-08" "2024-01-15" "2024-01-22" "2024-01-29"]

; name: parse mixed date formats
(def formats
  [[#"\d{4}-\d{2}-\d{2}" "yyyy-MM-dd"]
   [#"\d{2}/\d{2}/\d{4}" "MM/dd/yyyy"]
   [#"\d{1,2} \w{3} \d{4}" "d MMM yyyy"]])

(defn parse-any [s]
  (some (fn [[re fmt]]
          (when (re-matches re s)
            (str (java.time.LocalDate/parse s (java.time.format.DateTimeFormatter/ofPattern fmt)))))
        formats))

(map parse-any ["2024-03-05" "03/05/2024" "5 Mar 2024" "soon"])
;=> ("2024-03-05" "2024-03-05" "2024-03-05" nil)

; name: next birthdays
(let [today (LocalDate/parse "2024-06-15")]
  (->> data/people
       (map (fn [{:keys [name born]}]
              (let [b (LocalDate/parse born)
                    this-year (.withYear b 2024)
                    nxt (if (.isBefore this-year today) (.plusYears this-year 1) this-year)]
                {:name name :next (str nxt) :in (.until today nxt java.time.temporal.ChronoUnit/DAYS)})))
       (sort-by :in)
       vec))
;=> [{:name "Cy", :next "2024-12-31", :in 199} {:name "Bob", :next "2025-02-28", :in 258} {:name "Ann", :next "2025-05-17", :in 336}]

; name: durations as text
(defn human [secs]
  (let [d (quot secs 86400)
        h (quot (mod secs 86400) 3600)
        m (quot (mod secs 3600) 60)
        s (mod secs 60)]
    (->> [[d "d"] [h "h"] [m "m"] [s "s"]]
         (filter (comp pos? first))
         (map (fn [[n u]] (str n u)))
         (str/join " "))))

(mapv human [59 3600 90061 86400])
;=> ["59s" "1h" "1d 1h 1m 1s" "1d"]

; name: time zones
(let [z (fn [s] (java.time.ZoneId/of s))
      ny (-> (java.time.LocalDateTime/parse "2024-03-10T09:30")
             (.atZone (z "America/New_York")))]
  (into {}
        (for [zone ["Europe/London" "Asia/Tokyo" "UTC"]]
          [zone (-> ny (.withZoneSameInstant (z zone)) .toLocalDateTime str)])))
;=> {"Europe/London" "2024-03-10T13:30", "Asia/Tokyo" "2024-03-10T22:30", "UTC" "2024-03-10T13:30"}

; name: working hours overlap
(let [to-min (fn [s] (let [[h m] (map parse-long (str/split s #":"))] (+ (* 60 h) m)))
      fmt (fn [m] (format "%02d:%02d" (quot m 60) (mod m 60)))
      a ["09:00" "17:30"]
      b ["13:15" "21:00"]
      s (max (to-min (first a)) (to-min (first b)))
      e (min (to-min (second a)) (to-min (second b)))]
  {:from (fmt s) :to (fmt e) :minutes (- e s)})
;=> {:from "13:15", :to "17:30", :minutes 255}

; name: iso weeks
(->> ["2024-01-01" "2024-12-30" "2023-01-01" "2020-12-31"]
     (map (fn [d]
            (let [ld (java.time.LocalDate/parse d)]
              [d (.get ld java.time.temporal.IsoFields/WEEK_BASED_YEAR)
               (.get ld java.time.temporal.IsoFields/WEEK_OF_WEEK_BASED_YEAR)])))
     vec)
;=> [["2024-01-01" 2024 1] ["2024-12-30" 2025 1] ["2023-01-01" 2022 52] ["2020-12-31" 2020 53]]

; name: streak of days
(let [days (->> ["2024-02-27" "2024-02-28" "2024-02-29" "2024-03-01" "2024-03-03" "2024-03-04"]
                (map #(.toEpochDay (LocalDate/parse %))))
      runs (reduce (fn [acc d]
                     (if (= d (some-> acc peek peek inc))
                       (conj (pop acc) (conj (peek acc) d))
                       (conj acc [d])))
                   []
                   days)
      best (apply max-key count runs)]
  [(count best) (str (LocalDate/ofEpochDay (first best))) (str (LocalDate/ofEpochDay (peek best)))])
;=> [4 "2024-02-27" "2024-03-01"]

; name: format timestamps
(let [f (java.time.format.DateTimeFormatter/ofPattern "EEE d MMM, HH:mm")]
  (mapv #(.format (java.time.LocalDateTime/parse (:start %)) f) data/events))
;=> ["Mon 8 Jan, 09:00" "Mon 8 Jan, 10:00" "Mon 8 Jan, 12:00" "Tue 9 Jan, 15:15"]

; name: end of month and quarter
(for [d ["2024-01-15" "2024-02-10" "2023-02-10" "2024-11-30"]
      :let [ld (LocalDate/parse d)
            q (inc (quot (dec (.getMonthValue ld)) 3))]]
  [(str (.withDayOfMonth ld (.lengthOfMonth ld))) q])
;=> (["2024-01-31" 1] ["2024-02-29" 1] ["2023-02-28" 1] ["2024-11-30" 4])

; name: cron-like schedule
(->> (iterate #(.plusMinutes % 30) (java.time.LocalTime/of 8 0))
     (take-while #(.isBefore % (java.time.LocalTime/of 10 1)))
     (map-indexed (fn [i t] (str (inc i) ") " t)))
     vec)
;=> ["1) 08:00" "2) 08:30" "3) 09:00" "4) 09:30" "5) 10:00"]

; name: compare with sort and instants
(let [ts ["2024-01-01T10:00:00Z" "2023-12-31T23:00:00-05:00" "2024-01-01T09:30:00+01:00"]
      inst #(.toInstant (java.time.OffsetDateTime/parse %))]
  (mapv str (sort (map inst ts))))
;=> ["2024-01-01T04:00:00Z" "2024-01-01T08:30:00Z" "2024-01-01T10:00:00Z"]

; name: leap years and days in year
(let [leap? (fn [y] (and (zero? (mod y 4)) (or (pos? (mod y 100)) (zero? (mod y 400)))))]
  (into (sorted-map) (for [y [1900 2000 2023 2024]] [y [(leap? y) (java.time.Year/isLeap y)]])))
;=> {1900 [false false], 2000 [true true], 2023 [false false], 2024 [true true]}

; name: subscription proration
(let [start (LocalDate/parse "2024-02-10")
      days (.lengthOfMonth start)
      left (inc (- days (.getDayOfMonth start)))]
  {:days left :amount (format "%.2f" (* 29.0 (/ left (double days))))})
;=> {:days 20, :amount "20.00"}
