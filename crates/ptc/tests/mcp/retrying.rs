//! Clients that send every request under a key until it is answered, to one server after the other, and then once more: the
//! reply is the same. What they did stands in their ledgers, by which the world, sessions and the store are checked.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::fleet::{Fleet, LEASE, Random, lock};
use crate::support::{found, reason, text, ticket};
use crate::world::World;

/// What a client knows for certain.
#[derive(Clone, Default)]
pub struct Ledger {
    /// Its session.
    pub session: String,
    /// How many programs of its session were acknowledged: each counts up `n` there.
    pub applied: u64,
    /// Requests with their replies.
    pub answered: Vec<(Json, Json)>,
    /// What programs were told of their writes, by the key of the write.
    pub writes: BTreeMap<String, String>,
    /// Programs that wait for somebody: their tickets, and the keys of their writes.
    pub waiting: Vec<(String, Vec<String>)>,
    /// The longest time from a request to its reply.
    pub longest: Duration,
    /// The longest time after its death for which a server was in the way.
    pub blocked: Duration,
}

/// A client. Each has a session of its own and does one thing after the other.
pub struct Client<'f> {
    fleet: &'f Fleet<'f>,
    name: String,
    random: Random,
    /// How many things it has done.
    acts: u64,
    /// How many keys it has used.
    keys: u64,
    /// Where it sends the next request.
    turn: usize,
    /// Servers that were sent something, and whether they owe an answer.
    met: BTreeMap<u64, bool>,
    /// What it knows; others may look.
    pub ledger: Arc<Mutex<Ledger>>,
}

/// Reasons that say that somebody else is at it.
const BUSY: [&str; 3] = ["busy", "session_busy", "ticket_busy"];

/// Programs with functions that write and give the outcome; `poke` must be approved.
fn program(before: &str, value: &str) -> String {
    let write = |tool: &str, args: &str| {
        format!(
            "(fn [k] (let [r (tool/call {{:server \"world\" :tool \"{tool}\" :args {args}}})] \
             (if (:ok r) :ok (:reason r))))"
        )
    };
    let (put, poke) = (write("put", "{:key k :value 1}"), write("poke", "{:n k}"));
    format!("{before} (let [put {put} poke {poke}] {value})")
}

impl<'f> Client<'f> {
    /// A client with a session.
    pub fn new(fleet: &'f Fleet<'f>, name: &str, seed: u64) -> Client<'f> {
        let mut client = Client {
            fleet,
            name: name.to_owned(),
            random: Random(seed),
            acts: 0,
            keys: 0,
            turn: 0,
            met: BTreeMap::new(),
            ledger: Arc::default(),
        };
        let started = client.insist(&request("lisp_session_start", json!({}), None));
        let id = started["structuredContent"]["session_id"].as_str();
        client.ledger().session = id.unwrap_or_else(|| panic!("no session: {started}")).to_owned();
        client.in_session("(def n 0)");
        client
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        lock(&self.ledger)
    }

    /// Does one of the things that clients do.
    pub fn act(&mut self) {
        self.acts += 1;
        let [a, b, p] = ["a", "b", "p"].map(|slot| format!("{}-{}.{slot}", self.name, self.acts));
        // An argument that would be another one if the program saw another time.
        let late = format!("(put (str \"{b} \" (java.time.Instant/now)))");
        match self.random.below(10) {
            0..3 => {
                let value = format!("[(put \"{a}\") {late}]");
                let result = self.once("lisp_eval", json!({"program": program("", &value)}));
                self.told(&result, &[a, b]);
            }
            3..6 => {
                let result = self.in_session(&program("(def n (inc n))", &format!("[(put \"{a}\") n]")));
                self.told_in_session(&result, &[a]);
            }
            6..8 => {
                let value = format!("[(put \"{a}\") (poke \"{p}\") {late}]");
                let result = self.once("lisp_eval", json!({"program": program("", &value)}));
                let waiting = (ticket(&result), vec![a, p, b]);
                match self.random.below(4) {
                    0 => self.ledger().waiting.push(waiting),
                    _ => self.decide(waiting),
                }
            }
            8 => {
                let result = self.in_session(&program("(def n (inc n))", &format!("[(poke \"{p}\") n]")));
                let tool = self.decision();
                let result = self.once(tool, json!({"ticket": ticket(&result)}));
                self.told_in_session(&result, &[p]);
            }
            _ => {
                let read = r#"(:ok (tool/call {:server "world" :tool "get" :args {:key "x"}}))"#;
                let result = self.insist(&request("lisp_eval", json!({"program": read}), None));
                assert_eq!(words(&result), ["true"], "{result}");
            }
        }
    }

    /// Decides about all programs that wait.
    pub fn decide_all(&mut self) {
        let waiting = std::mem::take(&mut self.ledger().waiting);
        waiting.into_iter().for_each(|one| self.decide(one));
    }

    fn decide(&mut self, (ticket, writes): (String, Vec<String>)) {
        let tool = self.decision();
        let result = self.once(tool, json!({"ticket": ticket}));
        self.told(&result, &writes);
    }

    fn decision(&mut self) -> &'static str {
        ["lisp_approve", "lisp_approve", "lisp_reject"][self.random.below(3) as usize]
    }

    fn in_session(&mut self, program: &str) -> Json {
        let session = self.ledger().session.clone();
        self.once("lisp_session_eval", json!({"session_id": session, "program": program}))
    }

    /// Sends a request under a key until it is answered, and then to another server.
    fn once(&mut self, tool: &str, arguments: Json) -> Json {
        self.keys += 1;
        let key = format!("{} {}", self.name, self.keys);
        let request = request(tool, arguments, Some(&key));
        let result = self.insist(&request);
        let again = self.insist(&request);
        assert_eq!(plain(&again), plain(&result), "one reply for {request}");
        // A decision whose server died between the end of the ticket and its reply is told what came of the ticket.
        let kept = again["_meta"]["ptc/recalled"] == true || reason(&again) == "ticket_used";
        assert!(kept, "it is recalled: {again}");
        self.ledger().answered.push((request, plain(&result)));
        result
    }

    /// Sends a request to one server after the other until one answers. Whoever says that another is at it must be right.
    fn insist(&mut self, request: &Json) -> Json {
        let began = Instant::now();
        found(&format!("somebody answers {request}"), || {
            let target = self.fleet.target(self.turn);
            self.turn += 1;
            let sent = Instant::now();
            self.fleet.step();
            let answer = target.post(request);
            self.fleet.step();
            let owed = self.met.entry(target.number).or_default();
            *owed |= answer.is_none();
            let result = answer?;
            if BUSY.contains(&reason(&result)) {
                self.blocked(sent, &result);
                return None;
            }
            let mut ledger = self.ledger();
            ledger.longest = ledger.longest.max(began.elapsed());
            Some(result)
        })
    }

    /// Checks that somebody may be in the way of what was sent then: a server that this client used and that died less than
    /// a lease before, or one that lives and owes an answer.
    fn blocked(&mut self, sent: Instant, told: &Json) {
        let fleet = self.fleet;
        let gone = |number: u64| fleet.death(number).map(|at| sent.saturating_duration_since(at));
        self.met.retain(|number, _| gone(*number).is_none_or(|since| since < LEASE));
        let in_the_way = |(number, owes): (&u64, &bool)| *owes || gone(*number).is_some();
        assert!(self.met.iter().any(in_the_way), "nobody is in the way: {told}");
        let longest = self.met.keys().filter_map(|number| gone(*number)).max().unwrap_or_default();
        let mut ledger = self.ledger();
        ledger.blocked = ledger.blocked.max(longest);
    }

    /// Notes what a program was told of its writes.
    fn told(&mut self, result: &Json, writes: &[String]) {
        let words = words(result);
        assert_eq!(words.len(), writes.len(), "{result}");
        self.ledger().writes.extend(writes.iter().cloned().zip(words));
    }

    /// The same for a program of the session, whose last value is how many programs it has had.
    fn told_in_session(&mut self, result: &Json, writes: &[String]) {
        let mut words = words(result);
        let mut ledger = self.ledger();
        ledger.applied += 1;
        assert_eq!(words.pop(), Some(ledger.applied.to_string()), "applied once each: {result}");
        assert_eq!(words.len(), writes.len(), "{result}");
        ledger.writes.extend(writes.iter().cloned().zip(words));
    }
}

/// A request, under a key or not.
pub fn request(tool: &str, arguments: Json, key: Option<&str>) -> Json {
    let mut params = json!({"name": tool, "arguments": arguments});
    if let Some(key) = key {
        params["_meta"] = json!({"ptc/requestKey": key});
    }
    json!({"jsonrpc": "2.0", "id": 0, "method": "tools/call", "params": params})
}

/// A result without what says that it was kept.
pub fn plain(result: &Json) -> Json {
    let mut result = result.clone();
    result["_meta"] = Json::Null;
    result
}

/// The parts of the value of a program, also of one that ended before its decision was answered.
pub fn words(result: &Json) -> Vec<String> {
    let ended = result["structuredContent"]["ended"]["text"].as_str().map(str::to_owned);
    let whole = ended.unwrap_or_else(|| text(result));
    let value = whole.lines().next().and_then(|line| line.strip_prefix("user=> "));
    let value = value.unwrap_or_else(|| panic!("no value: {result}"));
    value.trim_matches(['[', ']']).split_whitespace().map(str::to_owned).collect()
}

/// How often each write came to the world, by its key.
pub fn came(world: &World) -> BTreeMap<String, usize> {
    let mut came = BTreeMap::new();
    for line in world.read("log").lines() {
        if let Some(key) = line.strip_prefix("came ").and_then(|rest| rest.split(' ').next()) {
            *came.entry(key.to_owned()).or_default() += 1;
        }
    }
    came
}

/// Checks that the world saw what programs were told: each write once, those that were rejected never, those of which nobody
/// knows at most once.
pub fn as_told(writes: &BTreeMap<String, String>, came: &BTreeMap<String, usize>) {
    for (write, told) in writes {
        let times = came.get(write).copied().unwrap_or_default();
        let right = match told.as_str() {
            ":ok" => times == 1,
            ":outcome_unknown" => times <= 1,
            ":approval_rejected" => times == 0,
            _ => false,
        };
        assert!(right, "{write} came {times} times, and its program was told {told}");
    }
}
