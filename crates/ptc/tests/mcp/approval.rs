//! Programs that wait for approval, through the whole server: held at each of their calls in turn, gone on with in fresh
//! processes and by another server on the same store, asked about in the ways of the protocol and on the page.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value as Json, json};

use crate::support::{Folder, HttpServer, StdioServer, eventually, initialize, reason, text};

/// A world that counts what is written to it.
pub struct World {
    folder: Folder,
}

impl World {
    pub fn new() -> World {
        World { folder: Folder::new() }
    }

    pub fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// A configuration in which calls are asked about, or not.
    pub fn config(&self, approval: &str) -> String {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/approval/counting.py");
        let config = json!({"upstreams": {"crm": {
            "transport": "mcp_stdio", "command": "python3", "args": [script, self.path("writes")],
            "approval": approval,
        }}});
        self.folder.file(&format!("{approval}.json"), &config.to_string())
    }

    /// What was written, sorted; and forgets it.
    pub fn writes(&self) -> Vec<String> {
        let path = self.folder.path().join("writes");
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let _ = std::fs::remove_file(path);
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    }

    /// A server on which people decide.
    pub fn flags(&self, approval: &str) -> Vec<String> {
        let (config, store) = (self.config(approval), self.path("store.db"));
        ["--upstreams-config", &config, "--store", &store, "--program-timeout-ms", "60000"]
            .map(str::to_owned)
            .to_vec()
    }

    /// One on which clients decide with tools, as models may that were allowed to.
    pub fn tools(&self, approval: &str) -> Vec<String> {
        [self.flags(approval), ["--approval-by", "model"].map(str::to_owned).to_vec()].concat()
    }

    fn replica(&self) -> Replica {
        let flags = self.tools("writes");
        let server = HttpServer::start(&flags.iter().map(String::as_str).collect::<Vec<_>>());
        let session = server.open(&[]);
        Replica { server, session }
    }
}

/// One of several servers on a store, and a client of it.
struct Replica {
    server: HttpServer,
    session: String,
}

impl Replica {
    fn call(&self, tool: &str, arguments: Json) -> Json {
        self.server.call(&self.session, 7, tool, arguments)
    }
}

/// Programs that write where programs can.
const PROGRAMS: [&str; 7] = [
    "(loop [i 0 s 0] (if (< i 3) (recur (inc i) (+ s (:n (:value (put i))))) s))",
    "(mapv (fn [n] (:n (:value (put n)))) [3 1 2])",
    "(pmap (fn [n] [(:n (:value (put n))) (:n (:value (put (+ 10 n))))]) (range 3))",
    "(try (put 1) (throw (ex-info \"no\" {:at (:n (:value (put 2)))})) (catch Exception e (:at (ex-data e))))",
    "(vec (take 3 (map (fn [n] (:n (:value (put n)))) (iterate inc 5))))",
    "(sort-by (fn [n] (- (:n (:value (put n))))) [1 3 2])",
    "(println \"begin\") (let [a (:n (:value (put 4)))] (println a) (reduce + (pmap (fn [n] (+ a (:n (:value (put n))))) [1 1 2])))",
];

pub fn program(body: &str) -> String {
    format!("(defn put [n] (tool/call {{:server \"crm\" :tool \"put\" :args {{:n n}}}})) {body}")
}

/// The id of the ticket of a result that waits for a person; it says nothing with which a model could decide.
pub fn waits(result: &Json) -> Option<String> {
    let shown = &result["structuredContent"];
    let waits = shown["status"] == "approval_required";
    assert!(!waits || !result.to_string().contains("ptct1_"), "{result}");
    waits.then(|| shown["id"].as_str().unwrap().to_owned())
}

/// The ticket of a result, if it waits for approval.
pub fn ticket(result: &Json) -> Option<String> {
    let waits = result["structuredContent"]["status"] == "approval_required";
    waits.then(|| result["structuredContent"]["ticket"].as_str().unwrap().to_owned())
}

#[test]
fn held_at_each_call_and_gone_on_with_by_another_replica_or_a_fresh_process_each_effect_happens_once() {
    let world = World::new();
    let mut replicas = [world.replica(), world.replica()];
    let mut undisturbed =
        StdioServer::ready(&["--upstreams-config", &world.config("never"), "--program-timeout-ms", "60000"]);
    let (mut held, mut fresh) = (0, 0);
    for (number, body) in PROGRAMS.iter().enumerate() {
        let whole = undisturbed.eval(1, &program(body));
        let expected = world.writes();
        assert!(expected.len() >= 2, "{body}: {whole}");
        let mut result = replicas[0].call("lisp_eval", json!({"program": program(body)}));
        let mut turn = 0;
        while let Some(ticket) = ticket(&result) {
            turn += 1;
            held += 1;
            let at = turn % 2;
            if number == 0 || turn == 2 {
                // Gone without a word, and replaced by one that knows nothing but the store.
                replicas[at] = world.replica();
                fresh += 1;
            }
            let calls = result["structuredContent"]["pending"].as_array().unwrap();
            // Calls of parallel branches are decided one at a time in every other program.
            let arguments = match number % 2 {
                0 => json!({"ticket": ticket}),
                _ => json!({"ticket": ticket, "calls": [calls[0]["call"]]}),
            };
            result = replicas[at].call("lisp_approve", arguments);
        }
        assert_eq!(text(&result), whole, "{body}");
        assert_eq!(world.writes(), expected, "{body}");
    }
    assert!(held >= 15 && fresh >= 6, "{held} {fresh}");
}

#[test]
fn replayed_changed_and_expired_tickets_are_refused_by_every_replica() {
    let world = World::new();
    let (first, second) = (world.replica(), world.replica());
    let result = first.call("lisp_eval", json!({"program": program("(:value (put 1))")}));
    let text = ticket(&result).unwrap();
    let mut changed = text.clone();
    let last = changed.pop().unwrap();
    changed.push(if last == 'A' { 'E' } else { 'A' });
    for (ticket, reason) in [(&changed, "ticket_invalid"), (&"ptct1_x_AAAA".to_owned(), "ticket_invalid")] {
        let refused = second.call("lisp_approve", json!({"ticket": ticket}));
        assert_eq!(refused["structuredContent"]["reason"], reason, "{refused}");
    }
    second.call("lisp_approve", json!({"ticket": text}));
    for replica in [&first, &second] {
        let used = replica.call("lisp_approve", json!({"ticket": text}));
        assert_eq!(used["structuredContent"]["reason"], "ticket_used", "{used}");
        assert_eq!(used["structuredContent"]["ended"]["status"], "ok", "{used}");
    }
    assert_eq!(world.writes(), ["{\"n\": 1}"]);
    let flags = [world.tools("writes"), vec!["--ticket-ttl-ms".to_owned(), "1".to_owned()]].concat();
    let mut brief = StdioServer::ready(&flags.iter().map(String::as_str).collect::<Vec<_>>());
    let result = brief.call(1, "lisp_eval", json!({"program": program("(put 1)")}));
    let text = ticket(&result).unwrap();
    let id = json!({"id": result["structuredContent"]["id"]});
    eventually("its time is over", || reason(&brief.call(2, "lisp_result", id.clone())) == "ticket_expired");
    let late = brief.call(3, "lisp_approve", json!({"ticket": text}));
    assert_eq!(late["structuredContent"]["reason"], "ticket_expired", "{late}");
    assert!(world.writes().is_empty());
}

#[test]
fn a_client_over_stdio_that_has_forms_is_asked_by_one() {
    let world = World::new();
    let flags = world.flags("writes");
    let mut server = StdioServer::start(&flags.iter().map(String::as_str).collect::<Vec<_>>());
    let mut hello = initialize("2025-11-25");
    hello["capabilities"] = json!({"elicitation": {}});
    server.ask(0, "initialize", hello);
    let body = program("[(:n (:value (put 1))) (:reason (put 2)) (:n (:value (put 3)))]");
    server.request(1, "tools/call", json!({"name": "lisp_eval", "arguments": {"program": body}}));
    let answers = [
        json!({"action": "accept", "content": {"decision": "approve"}}),
        json!({"action": "decline"}),
        json!({"action": "accept", "content": {"decision": "edit", "args": "{\"n\": 33}"}}),
    ];
    for (n, answer) in answers.into_iter().enumerate() {
        let asked = server.receive();
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        let message = asked["params"]["message"].as_str().unwrap();
        assert!(
            message.contains("crm/put (write)") && message.contains(&format!("\"n\": {}", n + 1)),
            "{message}"
        );
        server.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer}));
    }
    let reply = server.receive();
    assert_eq!(reply["id"], 1, "{reply}");
    assert_eq!(text(&reply["result"]), "user=> [1 :approval_rejected 33]");
    assert_eq!(world.writes(), ["{\"n\": 1}", "{\"n\": 33}"]);

    // Dismissed: the ticket stays, for whoever decides later; the model gets nothing to decide with.
    server.request(
        2,
        "tools/call",
        json!({"name": "lisp_eval", "arguments": {"program": program("(put 5)")}}),
    );
    let asked = server.receive();
    server.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "cancel"}}));
    let reply = server.receive();
    assert!(waits(&reply["result"]).is_some(), "{reply}");
    let tools = server.ask(3, "tools/list", json!({}))["result"]["tools"].clone();
    let names: Vec<&str> =
        tools.as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["lisp_eval", "lisp_check", "lisp_result"]);
    assert!(world.writes().is_empty());
}

#[test]
fn a_stateless_client_answers_by_sending_its_request_again_to_any_replica() {
    let world = World::new();
    let (first, second) = (world.replica(), world.replica());
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
    });
    let source = program("[(:n (:value (put 1))) (:n (:value (put 2)))]");
    let ask = |replica: &Replica, program: &str, more: Json| {
        let mut params = json!({"name": "lisp_eval", "arguments": {"program": program}, "_meta": meta});
        for (key, value) in more.as_object().unwrap() {
            params[key] = value.clone();
        }
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let headers =
            [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "lisp_eval")];
        replica.server.post(&headers, &message).json()
    };
    let approve = json!({"action": "accept", "content": {"decision": "approve"}});
    let mut asked = ask(&first, &source, json!({}))["result"].clone();
    for replica in [&second, &first] {
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        let (name, question) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
        assert!(question["params"]["message"].as_str().unwrap().contains("crm/put"), "{question}");
        let more = json!({"requestState": asked["requestState"], "inputResponses": {name: approve}});
        let other = ask(replica, &program("(put 9)"), more.clone());
        assert_eq!(other["result"]["structuredContent"]["reason"], "ticket_invalid", "{other}");
        asked = ask(replica, &source, more)["result"].clone();
    }
    assert_eq!(text(&asked), "user=> [1 2]", "{asked}");
    assert_eq!(world.writes(), ["{\"n\": 1}", "{\"n\": 2}"]);

    // Whoever dismisses a form is told what waits, and not to run the program again, which would write once more.
    let cancel = json!({"action": "cancel"});
    for (responses, expected) in
        [(vec![&cancel], &[][..]), (vec![&approve, &cancel], &["{\"n\": 1}".to_owned()][..])]
    {
        let mut asked = ask(&first, &source, json!({}))["result"].clone();
        for response in responses {
            let (name, _) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
            let more = json!({"requestState": asked["requestState"], "inputResponses": {name: response}});
            asked = ask(&second, &source, more)["result"].clone();
        }
        let shown = &asked["structuredContent"];
        assert_eq!((&shown["status"], &asked["isError"]), (&json!("approval_required"), &json!(false)));
        assert_eq!(shown["pending"].as_array().map(Vec::len), Some(1), "{asked}");
        assert!(shown["id"].is_string() && text(&asked).contains("Do not run the program again"), "{asked}");
        assert_eq!(world.writes(), expected);
    }
}

fn packages() -> Option<(PathBuf, PathBuf)> {
    let npm = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/npm");
    let chromium = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].iter().map(PathBuf::from);
    let chromium = chromium.into_iter().find(|path| path.exists())?;
    npm.join("node_modules/playwright-core").is_dir().then_some((npm, chromium))
}

#[test]
fn people_approve_reject_and_edit_on_the_page_and_others_see_nothing() {
    const TOKEN: &str = "a-token-of-at-least-thirty-two-signs";
    let world = World::new();
    let flags = [world.flags("writes"), vec!["--http-auth-token".to_owned(), TOKEN.to_owned()]].concat();
    let server = HttpServer::start(&flags.iter().map(String::as_str).collect::<Vec<_>>());
    let page = server.raw("GET", "/approvals", &[], b"");
    assert_eq!(page.status, 200);
    assert!(page.headers["content-security-policy"].contains("default-src 'none'"), "{page:?}");
    assert_eq!(server.raw("GET", "/approvals", &[("host", "evil.example")], b"").status, 403);
    assert_eq!(server.raw("GET", "/approvals/list", &[], b"").status, 401);
    let bearer = format!("Bearer {TOKEN}");
    let foreign = [("authorization", bearer.as_str()), ("sec-fetch-site", "cross-site")];
    assert_eq!(server.raw("GET", "/approvals/list", &foreign, b"").status, 403);
    let auth = [("authorization", bearer.as_str())];
    let session = server.open(&auth);
    let headers = [("mcp-session-id", session.as_str()), auth[0]];
    let evil = program(
        "[(tool/call {:server \"crm\" :tool \"put\" :args {:n 1 :note \"<img src=x onerror=alert(1)>\"}}) (:reason (put 2)) (:n (:value (put 3)))]",
    );
    let message = crate::support::call(1, "lisp_eval", json!({"program": evil}));
    let reply = server.post(&headers, &message).json();
    let id = waits(&reply["result"]).unwrap_or_else(|| panic!("it waits: {reply}"));
    let page = format!("http://{}/approvals", server.address);
    assert_eq!(reply["result"]["structuredContent"]["page"], page.as_str(), "{reply}");
    let Some((npm, chromium)) = packages() else {
        return crate::skip::skip("Debian's chromium or playwright-core of npm");
    };
    let shots =
        std::env::var_os("PTC_SHOTS").map_or_else(|| world.folder.path().join("shots"), PathBuf::from);
    std::fs::create_dir_all(&shots).unwrap();
    let output = Command::new("node")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/approval/page.mjs"))
        .arg(format!("http://{}", server.address))
        .args([&npm, &chromium, &world.folder.path().join("profile"), &shots])
        .arg(TOKEN)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said.lines().filter(|line| line.starts_with("ok: ")).count(), 8, "{said}");
    let writes = world.writes();
    assert_eq!(writes.len(), 2, "{writes:?}");
    assert!(writes.contains(&"{\"n\": 33}".to_owned()), "{writes:?}");
    let told = server.post(&headers, &crate::support::call(2, "lisp_result", json!({"id": id}))).json();
    assert!(text(&told["result"]).contains(":approval_rejected 33"), "{told}");
}

#[test]
fn the_page_never_moves_under_the_pointer_and_shows_what_is_sent() {
    let world = World::new();
    let flags = world.flags("writes");
    let server = HttpServer::start(&flags.iter().map(String::as_str).collect::<Vec<_>>());
    let Some((npm, chromium)) = packages() else {
        return crate::skip::skip("Debian's chromium or playwright-core of npm");
    };
    let output = Command::new("node")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/approval/still.mjs"))
        .arg(format!("http://{}", server.address))
        .args([&npm, &chromium, &world.folder.path().join("profile")])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said.lines().filter(|line| line.starts_with("ok: ")).count(), 12, "{said}");
    let writes = world.writes();
    assert_eq!(writes.len(), 3, "the edited call was made, and the two of a batch: {writes:?}");
    for part in ["9007199254740995", "12345678901234567891", "1.0", "alice\\u202ebob\\u200b"] {
        assert!(writes[0].contains(part), "{part}: {writes:?}");
    }
}

#[test]
fn what_waits_is_listed_and_counted_and_who_decides_what_is_logged() {
    let world = World::new();
    let flags = [world.tools("writes"), vec!["--http-metrics".to_owned()]].concat();
    let mut server = HttpServer::start(&flags.iter().map(String::as_str).collect::<Vec<_>>());
    let session = server.open(&[]);
    let waits = server.call(&session, 7, "lisp_eval", json!({"program": program("(:ok (put 1))")}));
    let (id, ticket) = (&waits["structuredContent"]["id"], ticket(&waits).expect("a ticket"));
    let listed = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ptc"));
        let output =
            command.args(["tickets", "--json", "--store", &world.path("store.db")]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Json>>()
    };
    let gauge = |name: &str| {
        let page = server.raw("GET", "/metrics", &[], b"").body;
        let line = page.lines().find(|line| line.starts_with(&format!("{name}{{"))).map(str::to_owned);
        line.and_then(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
    };
    let before = listed();
    assert_eq!(before.len(), 1, "{before:?}");
    assert_eq!((&before[0]["id"], &before[0]["tool"]), (id, &json!("lisp_eval")));
    let call = &before[0]["calls"][0];
    assert_eq!(
        (&call["server"], &call["tool"], &call["args"]),
        (&json!("crm"), &json!("put"), &json!({"n": 1}))
    );
    assert_eq!((gauge("ptc_store_up"), gauge("ptc_tickets_waiting")), (Some(1), Some(1)));
    assert_eq!((gauge("ptc_outcomes_unknown"), gauge("ptc_store_failures_total")), (Some(0), Some(0)));
    let ended = server.call(&session, 8, "lisp_approve", json!({"ticket": ticket}));
    assert_eq!(text(&ended), "user=> true", "{ended}");
    assert_eq!((listed().len(), gauge("ptc_tickets_waiting")), (0, Some(0)));
    let page = server.raw("GET", "/metrics", &[], b"").body;
    let decided = page.lines().filter(|line| line.starts_with("ptc_decisions_total{")).collect::<Vec<_>>();
    let [decided] = decided.as_slice() else { panic!("one kind of decision: {decided:?}") };
    assert!(decided.ends_with(",decision=\"approved\",by=\"model\"} 1"), "{decided}");
    let log = server.whole_log();
    let lines: Vec<Json> = log
        .iter()
        .filter_map(|line| serde_json::from_str::<Json>(line).ok())
        .filter(|line| line["event"] == "decision")
        .collect();
    let [line] = lines.as_slice() else { panic!("one decision: {lines:?}") };
    let told = &line["fields"];
    assert_eq!((&line["level"], &told["who"]), (&json!("info"), &before[0]["owner"]));
    assert_eq!((&told["by"], &told["again"]), (&json!("model"), &json!(false)));
    assert_eq!(
        (&told["ticket"], &told["tool"], &told["decision"]),
        (id, &json!("crm/put"), &json!("approved"))
    );
    assert!(!line.to_string().contains("\"n\""), "no arguments: {line}");
}

/// The lines of an event in a log.
fn logged(log: &[String], event: &str) -> Vec<Json> {
    let lines = log.iter().filter_map(|line| serde_json::from_str::<Json>(line).ok());
    lines.filter(|line| line["event"] == event).map(|line| line["fields"].clone()).collect()
}

#[test]
fn decisions_are_logged_at_every_level_with_the_way_in_which_they_were_made() {
    let world = World::new();
    let flags = [world.tools("writes"), ["--log-level", "error"].map(str::to_owned).to_vec()].concat();
    let mut server = StdioServer::ready(&flags.iter().map(String::as_str).collect::<Vec<_>>());
    let waits = server.call(1, "lisp_eval", json!({"program": program("(:ok (put 1))")}));
    let ended = server.call(2, "lisp_approve", json!({"ticket": ticket(&waits).expect("a ticket")}));
    assert_eq!(text(&ended), "user=> true", "{ended}");
    let log = server.whole_log();
    let told = logged(&log, "decision");
    assert_eq!(told.len(), 1, "{log:?}");
    assert_eq!((&told[0]["by"], &told[0]["who"]), (&json!("model"), &json!("local")));
    assert!(told[0]["call"].is_u64() && told[0]["again"] == false, "no texts: {told:?}");
    assert!(logged(&log, "tools_call_stop").is_empty(), "which is not for this level");
}

#[test]
fn a_role_token_is_called_by_its_id_and_a_renewed_one_decides_on_the_page() {
    let world = World::new();
    let tools = ["lisp_session_start", "lisp_session_eval", "lisp_result"];
    let policy = json!({"default_role": "one", "outer_policy": {"mcp_tools": tools}, "roles": {"one": {"upstream_tools": "all"}}});
    let policy = world.folder.file("policy.json", &policy.to_string());
    let bearer = |letter: &str| format!("Bearer {}", letter.repeat(32));
    let start = |letter: &str| {
        let entry = json!({"id": "ann", "token_literal": letter.repeat(32), "roles": ["one"]});
        let tokens = world.folder.file("tokens.json", &json!({"tokens": [entry]}).to_string());
        let flags = world.flags("writes");
        let own = ["--sessions", "--http-role-tokens", &tokens, "--session-roles", &policy];
        HttpServer::start(&flags.iter().map(String::as_str).chain(own).collect::<Vec<_>>())
    };
    let first = start("a");
    let token = bearer("a");
    let mcp = first.open(&[("authorization", &token)]);
    let headers = [("authorization", token.as_str()), ("mcp-session-id", mcp.as_str())];
    let ask = |tool: &str, given: Json| {
        first.post(&headers, &crate::support::call(7, tool, given)).json()["result"].clone()
    };
    let session = ask("lisp_session_start", json!({}))["structuredContent"]["session_id"].clone();
    let waits = ask("lisp_session_eval", json!({"session_id": session, "program": program("(:ok (put 1))")}));
    let id = self::waits(&waits).unwrap_or_else(|| panic!("{waits}"));
    drop(first);
    let listed = |owner: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ptc"));
        let store = world.path("store.db");
        let output =
            command.args(["tickets", "--json", "--owner", owner, "--store", &store]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(listed("ann").contains(&id) && !listed("ben").contains(&id));
    let mut second = start("b");
    let call = waits["structuredContent"]["pending"][0]["call"].clone();
    let body = json!({"id": id, "calls": [call], "decision": "approve"}).to_string();
    let decide = |token: &str| {
        let headers = [("authorization", token), ("content-type", "application/json")];
        second.raw("POST", "/approvals/decide", &headers, body.as_bytes())
    };
    assert_eq!(decide(&token).status, 401, "the old token opens nothing");
    let told = decide(&bearer("b")).json();
    let text = told["text"].as_str().unwrap_or_default();
    assert!(told["error"] == false && text.starts_with("user=> true\n"), "{told}");
    let log = second.whole_log();
    let decisions = logged(&log, "decision");
    assert_eq!(decisions.len(), 1, "{log:?}");
    let line = &decisions[0];
    assert_eq!((&line["who"], &line["by"], &line["ticket"]), (&json!("ann"), &json!("page"), &json!(id)));
}

/// Holds the right to write to a store until its input ends.
const HOLD: &str = "
import sqlite3, sys
held = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
held.execute('BEGIN IMMEDIATE')
print('held', flush=True)
sys.stdin.read()
held.rollback()
";

#[test]
fn metrics_and_log_say_that_the_store_is_away_and_back_and_that_an_outcome_is_unknown() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;

    use ptc_store::effects::{Effects, NewEffect};

    let world = World::new();
    let flags = [world.tools("writes"), vec!["--http-metrics".to_owned()]].concat();
    let mut server = HttpServer::start(&flags.iter().map(String::as_str).collect::<Vec<_>>());
    let session = server.open(&[]);
    let gauge = |name: &str| {
        let page = server.raw("GET", "/metrics", &[], b"").body;
        let line = page.lines().find(|line| line.starts_with(&format!("{name}{{"))).map(str::to_owned);
        line.and_then(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
    };
    let all = || ["ptc_store_up", "ptc_outcomes_unknown", "ptc_store_failures_total"].map(gauge);
    assert_eq!(all(), [Some(1), Some(0), Some(0)]);
    let store = std::sync::Arc::new(ptc_store::Store::open(&world.path("store.db")).unwrap());
    let args = json!({});
    let lost = NewEffect { identity: "abc", server: "crm", tool: "put", args: &args };
    Effects::new(store).begin("call:local:1", &lost).unwrap();
    assert_eq!(all(), [Some(1), Some(1), Some(0)]);
    let mut holder = Command::new("python3")
        .args(["-c", HOLD, &world.path("store.db")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(holder.stdout.as_mut().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said, "held\n");
    // What the store said is believed for a second.
    crate::support::eventually("the store is away", || gauge("ptc_store_up") == Some(0));
    assert_eq!(server.raw("GET", "/ready", &[], b"").status, 503);
    let failed = server.call(&session, 7, "lisp_eval", json!({"program": program("(:ok (put 1))")}));
    assert_eq!(failed["isError"], true, "{failed}");
    assert_eq!(gauge("ptc_store_failures_total"), Some(1), "{failed}");
    drop(holder.stdin.take());
    assert!(holder.wait().unwrap().success());
    crate::support::eventually("the store is back", || gauge("ptc_store_up") == Some(1));
    let log = server.whole_log();
    assert_eq!((logged(&log, "store_down").len(), logged(&log, "store_up").len()), (1, 1), "{log:?}");
}

/// A copy is made while the server runs. Elsewhere, with nothing but the copy, a program that waits goes on.
#[test]
fn a_store_that_was_copied_while_it_is_used_goes_on_elsewhere() {
    let world = World::new();
    let replica = world.replica();
    let waits = replica.call("lisp_eval", json!({"program": program("(:n (:value (put 5)))")}));
    let ticket = ticket(&waits).expect("a ticket");
    let ptc = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_ptc")).args(args).output().unwrap();
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
        (output.status.code(), text)
    };
    let (store, copy, other) = (world.path("store.db"), world.path("copy.db"), world.path("other/store.db"));
    let (code, told) = ptc(&["store", "backup", &store, &copy]);
    assert!(code == Some(0) && told.contains(", with the keys of "), "{told}");
    assert_eq!(ptc(&["store", "backup", &store, &copy]).0, Some(2), "a copy is never written over");
    drop(replica);
    let (code, told) = ptc(&["store", "restore", &copy, &other]);
    assert!(code == Some(0) && told.contains(", with its keys"), "{told}");
    assert_eq!(ptc(&["store", "restore", &copy, &other]).0, Some(2), "nor is a store");
    assert_eq!(ptc(&["store", "check", &other]).0, Some(0));
    for file in [&copy, &other] {
        for ending in ["", ".keys"] {
            use std::os::unix::fs::PermissionsExt as _;
            let meta = std::fs::metadata(format!("{file}{ending}")).unwrap();
            assert_eq!(meta.permissions().mode() & 0o777, 0o600, "{file}{ending}");
        }
    }
    let flags =
        world.tools("writes").into_iter().map(|flag| if flag == store { other.clone() } else { flag });
    let flags: Vec<String> = flags.collect();
    let server = HttpServer::start(&flags.iter().map(String::as_str).collect::<Vec<_>>());
    let session = server.open(&[]);
    let ended = server.call(&session, 9, "lisp_approve", json!({"ticket": ticket}));
    assert_eq!(text(&ended), "user=> 5", "{ended}");
    assert_eq!(world.writes().len(), 1);
}
