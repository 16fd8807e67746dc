(ns log
  "Looks at what was done before: sessions, their turns, programs and calls. Pages are {:items :next_cursor :has_more :limit}."
  {:visibility :discoverable})

(defn- every-page [page filters]
  (loop [cursor nil items []]
    (let [found (page (assoc filters :cursor cursor))
          all (into items (:items found))]
      (cond
        (= "error" (:status found)) found
        (:has_more found) (recur (:next_cursor found) all)
        :else all))))

(defn sessions
  "A page of sessions; filters are :driver :status :session_id :tags :from :to, and :limit (100) and :cursor."
  {:effect :read}
  ([] (tool/log_sessions {}))
  ([filters] (tool/log_sessions filters)))

(defn sessions-all
  "All sessions, with the filters of sessions."
  {:effect :read}
  ([] (every-page #(tool/log_sessions %) {}))
  ([filters] (every-page #(tool/log_sessions %) filters)))

(defn turns
  "A page of turns: how each went, what it changed and showed; filters as for sessions."
  {:effect :read}
  ([] (tool/log_turns {}))
  ([filters] (tool/log_turns filters)))

(defn turns-all
  "All turns, with the filters of sessions."
  {:effect :read}
  ([] (every-page #(tool/log_turns %) {}))
  ([filters] (every-page #(tool/log_turns %) filters)))

(defn programs
  "A page of programs, as far as the log keeps them; filters as for sessions."
  {:effect :read}
  ([] (tool/log_programs {}))
  ([filters] (tool/log_programs filters)))

(defn programs-all
  "All programs, with the filters of sessions."
  {:effect :read}
  ([] (every-page #(tool/log_programs %) {}))
  ([filters] (every-page #(tool/log_programs %) filters)))

(defn tool-calls
  "A page of calls of tools, each with its turn; filters as for sessions."
  {:effect :read}
  ([] (tool/log_tool_calls {}))
  ([filters] (tool/log_tool_calls filters)))

(defn tool-calls-all
  "All calls of tools, with the filters of sessions."
  {:effect :read}
  ([] (every-page #(tool/log_tool_calls %) {}))
  ([filters] (every-page #(tool/log_tool_calls %) filters)))

(defn counters
  "Sums over turns: sessions, turns, committed, failed, calls, errors by reason; filters as for sessions."
  {:effect :read}
  ([] (tool/log_counters {}))
  ([filters] (tool/log_counters filters)))
