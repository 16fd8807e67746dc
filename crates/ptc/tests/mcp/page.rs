//! The approval page of servers on stdio: a person decides there, and nothing that the client sees opens it.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value as Json, json};

use crate::approval::{World, program, waits};
use crate::support::{Answer, HttpServer, StdioServer, exchange, initialize, ptc, text};

/// A server on stdio without a store, whose client shows no forms, and the folder of its user's state.
struct Plain {
    world: World,
    server: StdioServer,
    state: PathBuf,
}

impl Plain {
    fn start(more: &[&str], prepare: impl FnOnce(&mut Command)) -> Plain {
        let world = World::new();
        let (config, state) = (world.config("writes"), PathBuf::from(world.path("state")));
        let flags = ["--upstreams-config", &config, "--program-timeout-ms", "60000"];
        let mut command = ptc(&[&flags, more].concat());
        command.env("XDG_STATE_HOME", &state);
        prepare(&mut command);
        let mut server = StdioServer::spawn(command);
        server.ask(0, "initialize", initialize("2025-11-25"));
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        Plain { world, server, state }
    }

    /// Runs a program that waits for a person, and gives the whole answer.
    fn held(&mut self) -> Json {
        let held = self.server.call(1, "lisp_eval", json!({"program": program("(:n (:value (put 1)))")}));
        assert!(waits(&held).is_some(), "{held}");
        held
    }

    /// What is noted for the user.
    fn notes(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.state.join("ptc/approvals")) else { return Vec::new() };
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    /// `ptc approvals`, as text in a terminal or in a pipe.
    fn approvals(&self, terminal: bool) -> Output {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/terminal.py");
        let mut command = match terminal {
            true => Command::new("python3"),
            false => Command::new(env!("CARGO_BIN_EXE_ptc")),
        };
        if terminal {
            command.arg(script).args(["[]", env!("CARGO_BIN_EXE_ptc")]);
        }
        command.arg("approvals").env("XDG_STATE_HOME", &self.state).output().unwrap()
    }
}

/// The server and the token in an address for people.
fn opened(whole: &str) -> (SocketAddr, String) {
    let (page, token) = whole.split_once('#').unwrap_or_else(|| panic!("no token: {whole}"));
    let address = page.strip_prefix("http://").and_then(|page| page.strip_suffix("/approvals"));
    (address.unwrap_or_else(|| panic!("{whole}")).parse().unwrap(), token.to_owned())
}

fn ask(to: SocketAddr, token: Option<&str>, path: &str, body: Option<&Json>) -> Answer {
    let bearer = token.map(|token| format!("Bearer {token}"));
    let mut headers = vec![("content-type", "application/json")];
    headers.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
    let body = body.map(Json::to_string);
    let method = if body.is_some() { "POST" } else { "GET" };
    exchange(to, method, path, &headers, body.unwrap_or_default().as_bytes())
}

#[test]
fn a_person_decides_for_a_plain_server_on_stdio_and_its_client_cannot() {
    let mut plain = Plain::start(&[], |_| {});
    let held = plain.held();
    let page = held["structuredContent"]["page"].as_str().unwrap().to_owned();
    assert!(text(&held).contains("`ptc approvals`"), "{held}");
    // Who has no terminal gets no address.
    let piped = plain.approvals(false);
    assert_eq!(piped.status.code(), Some(2));
    assert!(
        piped.stdout.is_empty() && !String::from_utf8_lossy(&piped.stderr).contains("http://"),
        "{piped:?}"
    );
    let shown = String::from_utf8(plain.approvals(true).stdout).unwrap();
    let whole = shown.lines().find(|line| line.starts_with("http://")).unwrap_or_else(|| panic!("{shown}"));
    let (address, token) = opened(whole.trim());
    assert!(address.ip().is_loopback() && page == format!("http://{address}/approvals"), "{page}");
    assert!(shown.contains(&format!("process {}", plain.server.pid())), "{shown}");
    // The page alone shows nothing and decides nothing, and there is nothing else.
    assert_eq!(ask(address, None, "/approvals", None).status, 200);
    for path in ["/mcp", "/metrics", "/health"] {
        assert_eq!(ask(address, Some(&token), path, None).status, 404, "{path}");
    }
    let id = held["structuredContent"]["id"].as_str().unwrap();
    let decision = json!({"id": id, "calls": [1], "decision": "approve"});
    for wrong in [None, Some(id)] {
        assert_eq!(ask(address, wrong, "/approvals/list", None).status, 401);
        assert_eq!(ask(address, wrong, "/approvals/decide", Some(&decision)).status, 401);
    }
    assert!(plain.world.writes().is_empty());
    let listed = ask(address, Some(&token), "/approvals/list", None).json();
    assert_eq!(
        (&listed["tickets"][0]["id"], listed["tickets"][0]["pending"][0]["call"].as_u64()),
        (&json!(id), Some(1))
    );
    let decided = ask(address, Some(&token), "/approvals/decide", Some(&decision)).json();
    assert_eq!(decided["error"], false, "{decided}");
    assert_eq!(plain.world.writes(), ["{\"n\": 1}"]);
    let ended = plain.server.call(2, "lisp_result", json!({"id": id}));
    assert!(text(&ended).contains("user=> 1"), "{ended}");
    // Only its user reads the token, and it is nowhere else.
    let notes = plain.notes();
    assert_eq!(notes.len(), 1);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&notes[0]), mode(notes[0].parent().unwrap())), (0o600, 0o700));
    assert!(!format!("{held}{ended}").contains(&token));
    let Plain { server, state, .. } = plain;
    let log = server.whole_log();
    assert!(log.iter().any(|line| line.contains("approval_page")), "{log:#?}");
    assert!(log.iter().all(|line| !line.contains(&token)), "{log:#?}");
    assert_eq!(std::fs::read_dir(state.join("ptc/approvals")).unwrap().count(), 0, "it ended");
}

/// The session belongs to the connection, the decision to its account.
#[test]
fn a_person_decides_about_a_program_of_a_session_on_stdio_and_over_http() {
    let mut plain = Plain::start(&["--sessions"], |_| {});
    let started = plain.server.call(1, "lisp_session_start", json!({}));
    let session = started["structuredContent"]["session_id"].as_str().unwrap_or_else(|| panic!("{started}"));
    let source = json!({"session_id": session, "program": program("(def kept (:n (:value (put 1))))")});
    let held = plain.server.call(2, "lisp_session_eval", source);
    let id = waits(&held).unwrap_or_else(|| panic!("it waits: {held}"));
    let shown = String::from_utf8(plain.approvals(true).stdout).unwrap();
    let whole = shown.lines().find(|line| line.starts_with("http://")).unwrap_or_else(|| panic!("{shown}"));
    let (address, token) = opened(whole.trim());
    let decision = json!({"id": id, "calls": [1], "decision": "approve"});
    let decided = ask(address, Some(&token), "/approvals/decide", Some(&decision)).json();
    assert_eq!(decided["error"], false, "{decided}");
    assert_eq!(plain.world.writes(), ["{\"n\": 1}"]);
    let after = json!({"session_id": session, "program": "(inc kept)"});
    let after = plain.server.call(3, "lisp_session_eval", after);
    assert!(text(&after).contains("user=> 2"), "{after}");

    const TOKEN: &str = "a-token-of-at-least-thirty-two-signs";
    let world = World::new();
    let config = world.config("writes");
    let flags = ["--sessions", "--upstreams-config", &config, "--http-auth-token", TOKEN];
    let server = HttpServer::start(&flags);
    let bearer = format!("Bearer {TOKEN}");
    let auth = [("authorization", bearer.as_str())];
    let connection = server.open(&auth);
    let headers = [("mcp-session-id", connection.as_str()), auth[0]];
    let tool = |id: i64, tool: &str, arguments: Json| {
        server.post(&headers, &crate::support::call(id, tool, arguments)).json()["result"].clone()
    };
    let started = tool(1, "lisp_session_start", json!({}));
    let session = started["structuredContent"]["session_id"].as_str().unwrap_or_else(|| panic!("{started}"));
    let held = tool(
        2,
        "lisp_session_eval",
        json!({"session_id": session, "program": program("(:n (:value (put 2)))")}),
    );
    let id = waits(&held).unwrap_or_else(|| panic!("it waits: {held}"));
    let decision = json!({"id": id, "calls": [1], "decision": "approve"});
    let decided = ask(server.address, Some(TOKEN), "/approvals/decide", Some(&decision)).json();
    assert_eq!(decided["error"], false, "{decided}");
    assert!(text(&tool(3, "lisp_result", json!({"id": id}))).contains("user=> 2"));
}

/// Its key was lost, so it can never go on; it must not wait until its time is over.
#[test]
fn a_program_whose_key_is_gone_is_rejected_by_whoever_it_belongs_to() {
    const TOKEN: &str = "a-token-of-at-least-thirty-two-signs";
    let world = World::new();
    let flags = [world.flags("writes"), ["--http-auth-token", TOKEN].map(str::to_owned).to_vec()].concat();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let bearer = format!("Bearer {TOKEN}");
    let auth = [("authorization", bearer.as_str())];
    let server = HttpServer::start(&flags);
    let connection = server.open(&auth);
    let headers = [("mcp-session-id", connection.as_str()), auth[0]];
    let held = crate::support::call(1, "lisp_eval", json!({"program": program("(put 2)")}));
    let held = server.post(&headers, &held).json()["result"].clone();
    let id = waits(&held).unwrap_or_else(|| panic!("it waits: {held}"));
    drop(server);
    let keys = world.path("store.db.keys");
    std::fs::write(&keys, "k9 AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n").unwrap();
    let server = HttpServer::start(&flags);
    let decide = |decision: &str| {
        let decision = json!({"id": id, "calls": [1], "decision": decision});
        ask(server.address, Some(TOKEN), "/approvals/decide", Some(&decision)).json()
    };
    let approved = decide("approve");
    assert_eq!(approved["error"], true, "{approved}");
    let rejected = decide("reject");
    assert_eq!(rejected["error"], false, "{rejected}");
    assert!(rejected.to_string().contains("it cannot be opened"), "{rejected}");
    let listed = ask(server.address, Some(TOKEN), "/approvals/list", None).json();
    assert!(!listed.to_string().contains(&id), "{listed}");
    assert!(world.writes().is_empty());
}

#[test]
fn programs_whose_key_is_lost_are_told_of_at_the_start_marked_in_lists_and_never_taken_for_whole() {
    let world = World::new();
    let flags = world.flags("writes");
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let park = |server: &HttpServer| {
        let held = server.call(&server.open(&[]), 1, "lisp_eval", json!({"program": program("(put 2)")}));
        waits(&held).unwrap_or_else(|| panic!("it waits: {held}"))
    };
    let server = HttpServer::start(&flags);
    let lost = park(&server);
    drop(server);
    std::fs::remove_file(world.path("store.db.keys")).unwrap();
    let server = HttpServer::start(&flags);
    let told = server.logged("what cannot be opened", |line| line.contains("tickets_unopened"));
    assert!(told.contains("\"count\":1"), "{told}");
    let whole = park(&server);
    let run = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_ptc")).args(args).output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (store, copy) = (world.path("store.db"), world.path("copy.db"));
    let (_, listed, err) = run(&["tickets", "--store", &store, "--json"]);
    let mut listed = listed.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
    let marked: Vec<(Json, bool)> =
        listed.by_ref().map(|ticket| (ticket["id"].clone(), ticket["lacks_key"].is_string())).collect();
    assert_eq!(marked, [(json!(lost), true), (json!(whole), false)], "{err}");
    let (code, _, err) = run(&["store", "backup", &store, &copy]);
    assert!(code == Some(2) && err.contains("1 program waits, sealed with the key k"), "{err}");
    let (code, out, err) = run(&["store", "backup", &store, &copy, "--without-keys"]);
    assert!(code == Some(0) && out.contains("which is not copied"), "{out}{err}");
    let (code, out, err) = run(&["store", "restore", &copy, &world.path("restored.db")]);
    assert!(code == Some(0) && out.contains("which is not among them"), "{out}{err}");
}

/// Two servers of a store have the same keys, whichever name they reach it by.
#[test]
fn a_server_that_reaches_its_store_through_a_link_has_the_keys_of_the_file() {
    let world = World::new();
    let flags = world.flags("writes");
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    drop(HttpServer::start(&flags));
    let (store, link) = (world.path("store.db"), world.path("link.db"));
    let keys = std::fs::read(format!("{store}.keys")).unwrap();
    std::os::unix::fs::symlink(&store, &link).unwrap();
    let linked: Vec<&str> =
        flags.iter().map(|flag| if *flag == store { link.as_str() } else { *flag }).collect();
    drop(HttpServer::start(&linked));
    assert!(!Path::new(&format!("{link}.keys")).exists(), "no second keys");
    assert_eq!(std::fs::read(format!("{store}.keys")).unwrap(), keys);
    // Where earlier versions kept them.
    std::fs::rename(format!("{store}.keys"), format!("{link}.keys")).unwrap();
    let output = ptc(&linked).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && told.contains("move them to "), "{told}");
}

#[test]
fn without_a_folder_for_it_the_address_is_on_standard_error() {
    let mut plain = Plain::start(&[], |command| {
        command.env_remove("XDG_STATE_HOME").env_remove("HOME");
    });
    plain.held();
    let line =
        plain.server.log.wait_for("the address", |line| line.starts_with("ptc: people approve calls at"));
    let (address, token) = opened(line.rsplit(' ').next().unwrap());
    let listed = ask(address, Some(&token), "/approvals/list", None).json();
    assert_eq!(listed["tickets"].as_array().map(Vec::len), Some(1), "{listed}");
}

#[test]
fn a_page_elsewhere_or_none_at_all_opens_nothing() {
    const ELSEWHERE: &str = "https://approve.example/approvals";
    let cases =
        [("off", Json::Null, &["they can only decide in forms"][..]), (ELSEWHERE, json!(ELSEWHERE), &[])];
    for (setting, named, told) in cases {
        let mut plain = Plain::start(&["--approval-page", setting], |_| {});
        assert_eq!(plain.held()["structuredContent"]["page"], named);
        assert!(plain.notes().is_empty());
        let log = plain.server.whole_log();
        let said: Vec<&String> = log.iter().filter(|line| line.contains("approval_page")).collect();
        assert_eq!(said.len(), told.len(), "{log:#?}");
        assert!(said.iter().zip(told).all(|(line, part)| line.contains(part)), "{log:#?}");
    }
}

#[test]
fn a_server_that_asks_nobody_has_no_page() {
    let world = World::new();
    let server = StdioServer::ready(&["--upstreams-config", &world.config("never")]);
    let log = server.whole_log();
    assert!(log.iter().all(|line| !line.contains("approval_page")), "{log:#?}");
}
