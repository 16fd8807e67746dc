;; Refs, agents and futures. There is one thread, so a ref is an atom, a transaction is its body, and what is sent
;; to an agent, or done in a future, happens at once.

(ns clojure.core)

(defn ref
  "A cell that holds x, as an atom does. Options: :meta, :validator."
  {:examples [["(let [r (ref 1)] (dosync (alter r inc)) @r)" "2"]]}
  [x & options]
  (prim/apply atom (cons x options)))

(defn alter
  "Sets the ref to (f value args…) and gives the new value."
  {:examples [["(let [r (ref 1)] (dosync (alter r + 2 3)))" "6"]]}
  [r f & args]
  (prim/apply swap! (cons r (cons f args))))

(defn commute
  "The same as alter, because nothing else runs."
  {:examples [["(let [r (ref 1)] (dosync (commute r inc)))" "2"]]}
  [r f & args]
  (prim/apply swap! (cons r (cons f args))))

(defn ref-set
  "Sets the ref to value and gives it."
  {:examples [["(let [r (ref 1)] (dosync (ref-set r 5)) @r)" "5"]]}
  [r value]
  (reset! r value))

(defn ensure
  "The value of the ref."
  {:examples [["(let [r (ref 1)] (dosync (ensure r)))" "1"]]}
  [r]
  (deref r))

(defn agent
  "A cell that holds x, as an atom does. Options: :meta, :validator."
  {:examples [["(let [a (agent 1)] (send a inc) (await a) @a)" "2"]]}
  [x & options]
  (prim/apply atom (cons x options)))

(defn send
  "Sets the agent to (f value args…) at once and gives the agent. If f fails, the agent keeps the error."
  {:examples [["(let [a (agent 1)] (send a + 2) @a)" "3"]]}
  [a f & args]
  (if (agent-error a)
    (throw (agent-error a)))
  (try
    (prim/apply swap! (cons a (cons f args)))
    (catch Exception e (alter-meta! a assoc :ptc.impl/error e)))
  a)

(defn send-off
  "The same as send."
  {:examples [["(let [a (agent 1)] (send-off a inc) @a)" "2"]]}
  [a f & args]
  (prim/apply send (cons a (cons f args))))

(defn agent-error
  "The error that made the agent fail, or nil."
  {:examples [["(let [a (agent 0)] (send a / 0) (ex-message (agent-error a)))" "\"Divide by zero\""]]}
  [a]
  (:ptc.impl/error (meta a)))

(defn restart-agent
  "Lets a failed agent go on with a value, which it gives."
  {:examples [["(let [a (agent 0)] (send a / 0) (restart-agent a 5) (send a inc) @a)" "6"]]}
  [a value & options]
  (alter-meta! a dissoc :ptc.impl/error)
  (reset! a value))

(defn await
  "Gives nil: what was sent to an agent has happened already."
  {:examples [["(await (agent 1))" "nil"]]}
  [& agents]
  (doseq [a agents]
    (if (not (atom? a))
      (prim/illegal "only an agent can be waited for"
                    "leave it out: a call of a tool gives its result, and pmap makes several at once"))))

(defn future-call
  "Calls f at once; deref gives its value, or raises what it raised. Use pmap or pcalls for tool calls side by side."
  {:examples [["@(future-call (fn [] (+ 1 2)))" "3"]]}
  [f]
  (let [made (prim/delay f)]
    (try (force made) (catch Exception e nil))
    made))

(defn future-done?
  "Whether a future has ended: it always has."
  {:examples [["(future-done? (future 1))" "true"]]}
  [f]
  (delay? f))
