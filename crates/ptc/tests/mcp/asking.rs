//! Clients over HTTP that can show forms are asked about calls in the middle of their request: the answer becomes a
//! stream with the questions, replies come with requests of their own, and the stream ends with the result.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::Command;

use serde_json::{Value as Json, json};

use crate::approval::{World, program, ticket, waits};
use crate::clients::{command, installed, output, script, tools};
use crate::postgres::Server as Postgres;
use crate::support::{Answer, HttpServer, PATIENCE, call, eventually, initialize, text};

/// A client that can show forms, in an MCP session of its own.
struct Asked<'a> {
    server: &'a HttpServer,
    session: String,
}

impl<'a> Asked<'a> {
    fn new(server: &'a HttpServer, version: &str) -> Asked<'a> {
        let mut hello = initialize(version);
        hello["capabilities"] = json!({"elicitation": {}});
        let answer =
            server.post(&[], &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}));
        assert_eq!(answer.json()["result"]["protocolVersion"], version, "{answer:?}");
        Asked { server, session: answer.headers["mcp-session-id"].clone() }
    }

    fn post(&self, message: &Json) -> Answer {
        self.server.post(&[("mcp-session-id", &self.session)], message)
    }

    /// Starts a program and leaves its answer to be read.
    fn eval(&self, id: i64, body: &str) -> Events {
        let message = call(id, "lisp_eval", json!({"program": program(body)}));
        Events::of(self.server, &self.session, &message)
    }

    fn reply(&self, question: &Json, result: Json) {
        assert_eq!(question["method"], "elicitation/create", "{question}");
        let reply = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
        assert_eq!(self.post(&reply).status, 202);
    }

    /// What waits for whoever decides later.
    fn open(&self) -> Vec<Json> {
        let answer = self.server.raw("GET", "/approvals/list", &[], b"").json();
        answer["tickets"].as_array().unwrap().clone()
    }
}

/// The events of an answer, as they come.
struct Events(BufReader<TcpStream>);

impl Events {
    fn of(server: &HttpServer, session: &str, message: &Json) -> Events {
        let (mut stream, body) = (TcpStream::connect(server.address).unwrap(), message.to_string());
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\nmcp-session-id: {session}\r\ncontent-length: {}\r\n\r\n",
            server.address,
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        Events(BufReader::new(stream))
    }

    /// The next message, if there is one more.
    fn next(&mut self) -> Option<Json> {
        let mut line = String::new();
        while self.0.read_line(&mut line).unwrap() > 0 {
            if let Some(data) = line.strip_prefix("data: ") {
                return Some(serde_json::from_str(data).unwrap());
            }
            line.clear();
        }
        None
    }

    fn message(&mut self) -> Json {
        self.next().expect("a message")
    }

    /// The result, which is the last that comes.
    fn result(mut self) -> Json {
        let last = self.message();
        assert!(last.get("result").is_some(), "{last}");
        assert_eq!(self.next(), None);
        last["result"].clone()
    }
}

fn approve() -> Json {
    json!({"action": "accept", "content": {"decision": "approve"}})
}

fn start(world: &World, more: &[&str]) -> HttpServer {
    let flags = world.flags("writes");
    HttpServer::start(&[&flags.iter().map(String::as_str).collect::<Vec<_>>(), more].concat())
}

#[test]
fn both_versions_with_sessions_are_asked_and_take_all_three_decisions() {
    let world = World::new();
    let server = start(&world, &[]);
    for version in ["2025-06-18", "2025-11-25"] {
        let client = Asked::new(&server, version);
        let mut events = client.eval(1, "[(:n (:value (put 1))) (:reason (put 2)) (:n (:value (put 3)))]");
        let edit = json!({"action": "accept", "content": {"decision": "edit", "args": "{\"n\": 33}"}});
        for (n, answer) in [approve(), json!({"action": "decline"}), edit].into_iter().enumerate() {
            let question = events.message();
            let message = question["params"]["message"].as_str().unwrap();
            assert!(message.contains("crm/put (write)"), "{message}");
            assert!(message.contains(&format!("\"n\": {}", n + 1)), "{message}");
            client.reply(&question, answer);
        }
        assert_eq!(text(&events.result()), "user=> [1 :approval_rejected 33]");
        assert_eq!(world.writes(), ["{\"n\": 1}", "{\"n\": 33}"]);
        assert_eq!(client.open(), Vec::<Json>::new());
    }
}

#[test]
fn an_answer_that_cannot_be_used_is_asked_for_again_with_what_is_wrong_and_then_left_to_others() {
    let world = World::new();
    let server = start(&world, &[]);
    let client = Asked::new(&server, "2025-11-25");
    let edit = |args: &str| json!({"action": "accept", "content": {"decision": "edit", "args": args}});
    let mut events = client.eval(1, "(:n (:value (put 1)))");
    let mut question = events.message();
    for (wrong, says) in [
        (edit("{\"n\": 1, \"n\": 2}"), "stands twice"),
        (edit("{\"n\": 12345678901234567890123}"), "cannot be sent exactly"),
        (json!({"action": "accept", "content": {"decision": "APPROVE"}}), "approve, reject or edit"),
    ] {
        client.reply(&question, wrong);
        question = events.message();
        let message = question["params"]["message"].as_str().unwrap();
        assert!(message.starts_with("Nothing was decided: ") && message.contains(says), "{message}");
        assert!(message.contains("\"n\": 1"), "{message}");
    }
    let entered = question["params"]["requestedSchema"]["properties"]["args"]["default"].as_str();
    assert_eq!(entered, Some("{\"n\":1}"), "nothing was entered last");
    client.reply(&question, edit("{\"n\": 33}"));
    assert_eq!(text(&events.result()), "user=> 33");

    let mut events = client.eval(2, "(put 4)");
    for _ in 0..4 {
        let question = events.message();
        client.reply(&question, edit("nope"));
    }
    assert!(waits(&events.result()).is_some());
    assert_eq!((client.open().len(), world.writes()), (1, vec!["{\"n\": 33}".to_owned()]));
}

#[test]
fn requests_of_one_session_are_asked_at_once_and_each_hears_its_own_replies() {
    let world = World::new();
    let server = start(&world, &[]);
    let (client, other) = (Asked::new(&server, "2025-11-25"), Asked::new(&server, "2025-11-25"));
    let (mut first, mut second) =
        (client.eval(1, "(:n (:value (put 1)))"), client.eval(2, "(:reason (put 2))"));
    let (one, two) = (first.message(), second.message());
    assert_ne!(one["id"], two["id"]);
    // Another session may not answer, and what is no reply decides nothing.
    other.reply(&one, approve());
    client.reply(&json!({"method": "elicitation/create", "id": "ask-nobody-0"}), approve());
    client.reply(&two, json!({"action": "decline"}));
    assert_eq!(text(&second.result()), "user=> :approval_rejected");
    assert!(world.writes().is_empty());
    client.reply(&one, approve());
    assert_eq!(text(&first.result()), "user=> 1");
    assert_eq!(world.writes(), ["{\"n\": 1}"]);
}

#[test]
fn without_a_decision_the_ticket_stays() {
    let world = World::new();
    let server = start(&world, &[]);
    let client = Asked::new(&server, "2025-11-25");
    let strange = json!({"action": "accept", "content": {"decision": "perhaps"}});
    for (id, answer) in [(1, json!({"action": "cancel"})), (2, strange.clone())] {
        let mut events = client.eval(id, "(put 5)");
        // What is no decision is asked for again.
        for _ in 0..if answer == strange { 4 } else { 1 } {
            client.reply(&events.message(), answer.clone());
        }
        assert!(waits(&events.result()).is_some());
    }
    // A client that fails, one that takes its request back, and one that ends its session.
    let mut events = client.eval(3, "(put 5)");
    let question = events.message();
    let error =
        json!({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -1, "message": "no screen"}});
    assert_eq!(client.post(&error).status, 202);
    assert!(waits(&events.result()).is_some());
    let mut events = client.eval(4, "(put 5)");
    events.message();
    client.post(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 4}}));
    assert!(waits(&events.result()).is_some());
    let mut events = client.eval(5, "(put 5)");
    events.message();
    let ended = server.raw("DELETE", "/mcp", &[("mcp-session-id", &client.session)], b"");
    assert_eq!(ended.status, 204);
    assert!(waits(&events.result()).is_some());
    assert_eq!(client.open().len(), 5);
    assert!(world.writes().is_empty());
}

#[test]
fn a_client_that_goes_away_loses_nothing() {
    let world = World::new();
    let flags = ["--http-max-in-flight-per-session", "1"];
    let server = start(&world, &flags);
    let client = Asked::new(&server, "2025-11-25");
    let mut events = client.eval(1, "(:n (:value (put 7)))");
    events.message();
    let busy = client.post(&call(2, "lisp_eval", json!({"program": "1"}))).json();
    assert_eq!(text(&busy["result"]).split(':').next(), Some("busy"), "{busy}");
    drop(events);
    eventually("the request is over", || {
        let answer = client.post(&call(2, "lisp_eval", json!({"program": "1"}))).json();
        text(&answer["result"]) == "user=> 1"
    });
    let open = client.open();
    assert_eq!(open.len(), 1, "{open:?}");
    let decision = json!({"id": open[0]["id"], "calls": [1], "decision": "approve"});
    let json = [("content-type", "application/json")];
    let decided = server.raw("POST", "/approvals/decide", &json, decision.to_string().as_bytes());
    assert_eq!(decided.json()["text"], "user=> 7", "{decided:?}");
    assert_eq!(world.writes(), ["{\"n\": 7}"]);
}

#[test]
fn a_server_that_ends_and_a_ticket_that_expires_end_the_question() {
    let world = World::new();
    let mut server = start(&world, &["--http-shutdown-grace-ms", "60000", "--approval-by", "model"]);
    let client = Asked::new(&server, "2025-11-25");
    let mut events = client.eval(1, "(:n (:value (put 7)))");
    events.message();
    server.terminate();
    let result = events.result();
    let kept = ticket(&result).expect("a ticket");
    assert!(server.end().success());

    let server = start(&world, &["--ticket-ttl-ms", "300", "--approval-by", "model"]);
    let client = Asked::new(&server, "2025-06-18");
    let approved = client.post(&call(1, "lisp_approve", json!({"ticket": kept}))).json();
    assert_eq!(text(&approved["result"]), "user=> 7", "{approved}");
    let mut events = client.eval(2, "(put 8)");
    events.message();
    let late = ticket(&events.result()).expect("a ticket");
    let refused = client.post(&call(3, "lisp_approve", json!({"ticket": late}))).json();
    assert_eq!(refused["result"]["structuredContent"]["reason"], "ticket_expired", "{refused}");
    assert_eq!(world.writes(), ["{\"n\": 7}"]);
}

#[test]
fn an_answer_to_a_server_that_was_killed_decides_nothing_and_the_program_waits_on_the_page() {
    let world = World::new();
    let (first, second) = (start(&world, &[]), start(&world, &[]));
    let client = Asked::new(&first, "2025-11-25");
    let mut events = client.eval(1, "(:n (:value (put 7)))");
    let question = events.message();
    let elsewhere = Asked { server: &second, session: client.session.clone() };
    // Dropping it is kill -9.
    drop(first);
    elsewhere.reply(&question, approve());
    assert_eq!(elsewhere.open().len(), 1, "somebody still has to decide");
    assert_eq!(world.writes(), Vec::<String>::new());
}

/// A request under a key, as a client sends it that is asked in the middle of it.
fn under_key(id: i64, body: &str) -> Json {
    let mut message = call(id, "lisp_eval", json!({"program": program(body)}));
    message["params"]["_meta"] = json!({"ptc/requestKey": "k"});
    message
}

#[test]
fn a_request_under_a_key_has_one_reply_whichever_of_its_questions_was_answered() {
    let world = World::new();
    let (first, second) = (start(&world, &[]), start(&world, &[]));
    let client = Asked::new(&first, "2025-11-25");
    let elsewhere = Asked { server: &second, session: client.session.clone() };
    let request = |id| under_key(id, "[(:n (:value (put 1))) (:n (:value (put 2)))]");
    // It goes away while it is asked, and is asked again by whichever server it comes to next.
    let mut left = Events::of(&first, &client.session, &request(1));
    left.message();
    drop(left);
    let without_forms = |id| second.post(&[("mcp-session-id", &second.open(&[]))], &request(id)).json();
    let told = without_forms(2);
    assert!(waits(&told["result"]).is_some(), "who cannot be asked is told where people decide: {told}");
    let mut events = Events::of(&second, &client.session, &request(3));
    for _ in 0..2 {
        let question = events.message();
        elsewhere.reply(&question, approve());
    }
    let result = events.result();
    assert_eq!(text(&result), "user=> [1 2]");
    for again in [client.post(&request(4)).json(), elsewhere.post(&request(5)).json(), without_forms(6)] {
        let again = &again["result"];
        assert_eq!((text(again), &again["_meta"]["ptc/recalled"]), (text(&result), &json!(true)), "{again}");
        assert_eq!(again["structuredContent"]["result"], result["structuredContent"]["result"]);
    }
    assert_eq!(world.writes(), ["{\"n\": 1}", "{\"n\": 2}"]);
    assert_eq!(client.open(), Vec::<Json>::new());
}

#[test]
fn a_stateless_request_under_a_key_has_one_reply_whichever_of_its_rounds_is_sent_again() {
    let world = World::new();
    let (first, second) = (start(&world, &[]), start(&world, &[]));
    let ask = |server: &HttpServer, more: &Json| {
        let mut message = under_key(1, "[(:n (:value (put 1))) (:n (:value (put 2)))]");
        let meta = &mut message["params"]["_meta"];
        meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
        meta["io.modelcontextprotocol/clientInfo"] = json!({"name": "test", "version": "1"});
        meta["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {"form": {}}});
        for (key, value) in more.as_object().unwrap() {
            message["params"][key] = value.clone();
        }
        let headers =
            [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "lisp_eval")];
        server.post(&headers, &message).json()["result"].clone()
    };
    let answered = |asked: &Json, answer: Json| {
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        let (name, _) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
        json!({"requestState": asked["requestState"], "inputResponses": {name: answer}})
    };
    let asked = ask(&first, &json!({}));
    assert_eq!(ask(&second, &json!({})), asked, "it is asked the same");
    let rounds =
        [answered(&asked, approve()), answered(&ask(&second, &answered(&asked, approve())), approve())];
    let result = ask(&first, &rounds[1]);
    assert_eq!(text(&result), "user=> [1 2]", "{result}");
    let other = answered(&asked, json!({"action": "decline"}));
    for round in [&json!({}), &rounds[0], &rounds[1], &other] {
        for server in [&first, &second] {
            let again = ask(server, round);
            assert_eq!(
                (text(&again), &again["_meta"]["ptc/recalled"]),
                (text(&result), &json!(true)),
                "{round}"
            );
        }
    }
    assert_eq!(world.writes(), ["{\"n\": 1}", "{\"n\": 2}"]);
}

#[test]
fn servers_of_a_file_find_replies_and_large_results_of_each_other() {
    let world = World::new();
    found_by_both(&world, &[start(&world, &[]), start(&world, &[])]);
}

#[test]
fn servers_of_a_database_find_replies_and_large_results_of_each_other() {
    let Some(postgres) = Postgres::start("asking") else { return };
    let (world, place) = (World::new(), postgres.place("shared"));
    let keys = world.path("keys");
    std::fs::write(&keys, format!("k1 {}=\n", "A".repeat(43))).unwrap();
    std::fs::set_permissions(&keys, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let mut flags = world.flags("writes");
    let at = flags.iter().position(|flag| flag == "--store").unwrap();
    flags[at + 1] = place;
    flags.extend(["--ticket-keys".to_owned(), keys]);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    found_by_both(&world, &[HttpServer::start(&flags), HttpServer::start(&flags)]);
}

/// A client whose questions and large results come from one server, while all else that it sends reaches the other.
fn found_by_both(world: &World, servers: &[HttpServer; 2]) {
    let client = Asked::new(&servers[0], "2025-11-25");
    let elsewhere = Asked { server: &servers[1], session: client.session.clone() };
    let mut events = client.eval(1, "[(:n (:value (put 1))) (:n (:value (put 2)))]");
    for _ in 0..2 {
        elsewhere.reply(&events.message(), approve());
    }
    assert_eq!(text(&events.result()), "user=> [1 2]");
    assert_eq!(world.writes(), ["{\"n\": 1}", "{\"n\": 2}"]);

    let large = client.post(&call(2, "lisp_eval", json!({"program": "(vec (range 3000))"}))).json();
    let content = large["result"]["content"].as_array().unwrap();
    let link = content.iter().find(|part| part["type"] == "resource_link").expect("a link");
    let ask = |method: &str| {
        let message = json!({"jsonrpc": "2.0", "id": 3, "method": method, "params": {"uri": link["uri"]}});
        elsewhere.post(&message).json()["result"].clone()
    };
    assert_eq!(ask("resources/list")["resources"][0]["uri"], link["uri"]);
    let read = ask("resources/read");
    let numbers: Vec<u64> = serde_json::from_str(read["contents"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(numbers.len(), 3_000);
}

#[test]
fn clients_without_forms_or_streams_are_told_where_people_decide() {
    let world = World::new();
    let server = start(&world, &[]);
    let held = call(1, "lisp_eval", json!({"program": program("(put 1)")}));
    let without = server.post(&[("mcp-session-id", &server.open(&[]))], &held).json();
    assert!(waits(&without["result"]).is_some(), "{without}");
    assert!(text(&without["result"]).contains(&format!("http://{}/approvals", server.address)), "{without}");
    let client = Asked::new(&server, "2025-11-25");
    let headers = [("mcp-session-id", client.session.as_str()), ("content-type", "application/json")];
    let plain = server.raw("POST", "/mcp", &headers, held.to_string().as_bytes()).json();
    assert!(waits(&plain["result"]).is_some(), "{plain}");
    // A call that nobody is asked about has a plain answer.
    let quick = client.post(&call(2, "lisp_eval", json!({"program": "(+ 1 2)"})));
    assert_eq!(quick.headers["content-type"], "application/json");
    assert_eq!(text(&quick.json()["result"]), "user=> 3");
}

/// Runs a client over both transports in both lifecycles, and wants each to be asked three times.
fn drive(client: impl Fn(&str, &str, &[String]) -> String) {
    let world = World::new();
    let server = start(&world, &[]);
    let flags = world.flags("writes");
    let stdio = command(&flags.iter().map(String::as_str).collect::<Vec<_>>());
    let source = program("[(:n (:value (put 1))) (:reason (put 2)) (:n (:value (put 3)))]");
    for target in [stdio, vec![server.url()]] {
        for (mode, version) in [("legacy", "2025-11-25"), ("auto", "2026-07-28")] {
            let seen = client(mode, &source, &target);
            let seen: Json = serde_json::from_str(seen.trim()).unwrap_or_else(|_| panic!("{seen}"));
            let asked = "A program wants to call crm/put (write).";
            let expected = json!({
                "version": version, "text": "user=> [1 :approval_rejected 33]", "asked": [asked, asked, asked],
            });
            assert_eq!(seen, expected, "{mode} {target:?}");
            assert_eq!(world.writes(), ["{\"n\": 1}", "{\"n\": 33}"], "{mode} {target:?}");
        }
    }
}

#[test]
fn the_python_sdk_is_asked() {
    let Some(python) = installed("python3", "python/bin/python") else { return };
    drive(|mode, program, target| {
        output(Command::new(&python).arg(script("python_asked.py")).args([mode, program]).args(target))
    });
}

#[test]
fn the_typescript_sdk_is_asked() {
    let Some(_) = installed("node", "npm/node_modules/@modelcontextprotocol/client") else { return };
    let folder = tools().join("npm").canonicalize().unwrap();
    drive(|mode, program, target| {
        let mut node = Command::new("node");
        output(node.arg(script("typescript_asked.mjs")).arg(&folder).args([mode, program]).args(target))
    });
}
