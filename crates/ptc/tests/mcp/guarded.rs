//! Who is let in at which door: pages of other sites, tokens that are used twice, and wrong tokens at another door.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value as Json, json};

use crate::approval::{World, program, waits};
use crate::support::{Folder, HttpServer, TOKEN, call, ptc};

const ADMIN: &str = "admin-admin-admin-admin-admin-12";
const ROLE: &str = "roles-roles-roles-roles-roles-12";
const ADMIN_PATH: &str = "/admin/prelude-store/snapshot";

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

/// A browser says from where a request comes. Only the page itself decides; a page on another port of the same host,
/// which the browser calls the same site, does not.
#[test]
fn only_the_approval_page_itself_sees_and_decides() {
    let world = World::new();
    let flags = [world.flags("writes"), ["--http-auth-token", TOKEN].map(str::to_owned).to_vec()].concat();
    let server = HttpServer::start(&flags.iter().map(String::as_str).collect::<Vec<_>>());
    let authorization = bearer(TOKEN);
    let auth = ("authorization", authorization.as_str());
    let session = server.open(&[auth]);
    let message = call(1, "lisp_eval", json!({"program": program("(:n (:value (put 1)))")}));
    let reply = server.post(&[auth, ("mcp-session-id", &session)], &message).json();
    assert!(waits(&reply["result"]).is_some(), "{reply}");
    let list = |more: &[(&str, &str)]| server.raw("GET", "/approvals/list", &[&[auth], more].concat(), b"");
    let listed = list(&[("sec-fetch-site", "same-origin")]).json();
    let waiting = &listed["tickets"][0];
    let body = json!({"id": waiting["id"], "calls": [waiting["pending"][0]["call"]], "decision": "approve"});
    let body = body.to_string();
    let decide = |more: &[(&str, &str)]| {
        let headers = [&[auth, ("content-type", "application/json")], more].concat();
        server.raw("POST", "/approvals/decide", &headers, body.as_bytes())
    };
    for site in ["same-site", "cross-site", "SAME-ORIGIN", ""] {
        let from = [("sec-fetch-site", site), ("origin", "http://localhost:3000")];
        assert_eq!((list(&from).status, decide(&from).status), (403, 403), "{site}");
    }
    assert_eq!(server.raw("POST", "/approvals/decide", &[auth], body.as_bytes()).status, 415, "no JSON");
    assert!(world.writes().is_empty(), "nothing was decided");
    let answer = decide(&[("sec-fetch-site", "same-origin")]);
    assert_eq!((answer.status, &answer.json()["error"]), (200, &json!(false)), "{answer:?}");
    assert_eq!(world.writes(), ["{\"n\": 1}"]);
    assert_eq!(list(&[]).json(), json!({"tickets": []}), "programs without a browser may look");
}

/// What a server with these tokens says when it cannot start.
fn refused(tokens: &Json, flags: &[&str]) -> String {
    let folder = Folder::new();
    let policy = folder.file("policy.json", r#"{"outer_policy": {"mcp_tools": []}, "roles": {"a": {}}}"#);
    let tokens = folder.file("tokens.json", &tokens.to_string());
    let args =
        ["--http", "127.0.0.1:0", "--sessions", "--http-role-tokens", &tokens, "--session-roles", &policy];
    let mut child = ptc(&[&args[..], flags].concat()).stderr(Stdio::piped()).spawn().unwrap();
    let mut err = String::new();
    for line in BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok) {
        err.push_str(&line);
        err.push('\n');
        if line.contains("http_listening") {
            child.kill().unwrap();
        }
    }
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(2), "it must not start: {err}");
    assert!(!err.contains(ADMIN) && !err.contains(ROLE) && !err.contains(TOKEN), "a token is told: {err}");
    err
}

/// Whoever has a token for programs must not administer, and tokens tell people apart.
#[test]
fn a_token_opens_one_door_for_one_owner() {
    let entry = |id: &str, token: &str| json!({"id": id, "token_literal": token, "roles": ["a"]});
    let admin = json!({"tokens": [entry("one", ADMIN)]});
    let err = refused(&admin, &["--http-admin-token", ADMIN]);
    assert!(err.contains("tokens[0] has the admin token"), "{err}");
    let twice = json!({"tokens": [entry("one", ROLE), entry("two", ROLE)]});
    assert!(refused(&twice, &[]).contains("tokens[1] has the token of another entry"));
    let named = json!({"tokens": [entry("one", ROLE), entry("one", TOKEN)]});
    assert!(refused(&named, &[]).contains("tokens[1].id is used twice"));
    let nothing = json!({"tokens": [{"id": "one", "token_literal": ROLE, "roles": []}]});
    assert!(refused(&nothing, &[]).contains("tokens[0].roles must name a role"));
}

/// Whoever tries tokens at one door does not close the other to those who have theirs.
#[test]
fn wrong_tokens_are_counted_at_the_door_where_they_are_shown() {
    let wrong = bearer("wrong-wrong-wrong-wrong-wrong-12");
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let flags = ["--http-auth-token", TOKEN, "--http-admin-token", ADMIN];
    for at_admin in [true, false] {
        let server = HttpServer::start(&flags);
        let session = server.open(&[("authorization", &bearer(TOKEN))]);
        let administer = |token: &str| server.raw("GET", ADMIN_PATH, &[("authorization", token)], b"").status;
        let knock = |token: &str| {
            server.post(&[("authorization", token), ("mcp-session-id", &session)], &message).status
        };
        let statuses: Vec<u16> =
            (0..8).map(|_| if at_admin { administer(&wrong) } else { knock(&wrong) }).collect();
        assert!(statuses.starts_with(&[401]) && statuses.ends_with(&[429]), "{statuses:?}");
        // At the other door nothing has happened yet: the right token is let in, and a wrong one is the first.
        match at_admin {
            true => assert_eq!((knock(&bearer(TOKEN)), knock(&wrong)), (200, 401)),
            // There is no store of preludes here.
            false => assert_eq!((administer(&bearer(ADMIN)), administer(&wrong)), (503, 401)),
        }
    }
}

/// A token for one door is a wrong one at the other.
#[test]
fn tokens_of_one_door_are_not_taken_at_the_other() {
    let server = HttpServer::start(&["--http-auth-token", TOKEN, "--http-admin-token", ADMIN]);
    assert_eq!(server.raw("GET", ADMIN_PATH, &[("authorization", &bearer(TOKEN))], b"").status, 401);
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    assert_eq!(server.post(&[("authorization", &bearer(ADMIN))], &hello).status, 401);
}
