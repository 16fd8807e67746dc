//! Sixteen servers at once: fourteen real ones and two HTTP APIs, or small ones of which the test says when they come up.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::late::{Gate, late_server};
use crate::servers;
use crate::support::{Folder, StdioServer, eventually, found_within, initialize};

/// Tools of all real servers and APIs, in the versions that are installed.
const TOOLS: usize = 187;

#[test]
fn sixteen_servers_start_and_have_their_tools() {
    let folder = Folder::new();
    let Some(config) = servers::config(folder.path(), servers::NOWHERE) else { return };
    let file = folder.file("upstreams.json", &config.to_string());
    let mut server = StdioServer::ready(&["--upstreams-config", &file, "--require-upstreams"]);
    let program = r#"(let [servers (tool/servers)]
      [(count servers) (every? #(get % "catalog_loaded") servers) (reduce + (map #(get % "tool_count") servers))])"#;
    assert_eq!(server.eval(1, program), format!("user=> [{} true {TOOLS}]", servers::names().len()));
}

/// The answer to a request of a server that may say other things first.
fn answer(server: &mut StdioServer, id: i64, method: &str, params: Json) -> Json {
    server.request(id, method, params);
    loop {
        let message = server.receive();
        if message["id"] == id {
            return message["result"].clone();
        }
    }
}

/// Tools of a server, and tokens of all that a model reads of them before it calls one: the instructions of the server, and
/// the names, descriptions and schemas of its tools.
fn definitions(server: &mut StdioServer) -> (usize, usize) {
    let of = |text: &str| tiktoken_rs::o200k_base_singleton().encode_ordinary(text).len();
    let begun = answer(server, 0, "initialize", initialize("2025-11-25"));
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let listed = answer(server, 1, "tools/list", json!({}));
    assert!(listed["nextCursor"].is_null(), "there are more");
    let tools = listed["tools"].as_array().unwrap_or_else(|| panic!("no tools: {listed}"));
    let said = |value: &Json| value.as_str().map_or(0, of);
    let tokens = tools
        .iter()
        .map(|tool| said(&tool["name"]) + said(&tool["description"]) + of(&tool["inputSchema"].to_string()))
        .sum::<usize>();
    (tools.len(), tokens + said(&begun["instructions"]))
}

/// A number with its thousands apart.
fn apart(number: usize) -> String {
    if number < 1_000 { number.to_string() } else { format!("{},{:03}", number / 1_000, number % 1_000) }
}

#[test]
fn the_readme_says_what_tool_definitions_cost_before_and_after() {
    let folder = Folder::new();
    let Some(mut config) = servers::config(folder.path(), servers::NOWHERE) else { return };
    // The HTTP APIs are no servers that a client could have by itself.
    let upstreams = config["upstreams"].as_object_mut().unwrap();
    upstreams.retain(|_, entry| entry["command"].is_string());
    let (mut tools, mut before) = (0, 0);
    for entry in upstreams.values() {
        let mut command = Command::new(entry["command"].as_str().unwrap());
        let args = entry["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap());
        let env =
            entry["env"].as_object().unwrap().iter().map(|(name, value)| (name, value.as_str().unwrap()));
        command.args(args).envs(env).current_dir(folder.path());
        let (count, tokens) = definitions(&mut StdioServer::spawn(command));
        (tools, before) = (tools + count, before + tokens);
    }
    let count = upstreams.len();
    let file = folder.file("upstreams.json", &config.to_string());
    let (_, after) =
        definitions(&mut StdioServer::start(&["--upstreams-config", &file, "--require-upstreams"]));
    let row = format!(
        "| Tool definitions and `instructions` of {count} MCP servers with {tools} tools in tokens: each by itself {}, all of them behind `ptc mcp` | {} | \
         `cargo nextest run -p ptc --test mcp definitions` |",
        apart(before),
        apart(after)
    );
    let readme = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    assert!(std::fs::read_to_string(readme).unwrap().contains(&row), "the README must say\n{row}");
}

/// The names of servers whose tools are known.
fn loaded(server: &mut StdioServer) -> BTreeSet<String> {
    let program = r#"(str/join " " (map #(get % "name") (filter #(get % "catalog_loaded") (tool/servers))))"#;
    let text = server.eval(1, program);
    let names = text.trim_start_matches("user=> ").trim_matches('"');
    names.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn clients_never_wait_for_servers_and_each_is_usable_once_it_is_up() {
    let folder = Folder::new();
    let script = folder.file("late.sh", &late_server());
    // These come up when their gate is open. That of the slow one never is, which is longer than any 30 seconds.
    let others: Vec<String> = (1..=13).map(|number| format!("server{number:02}")).collect();
    let late = others.iter().map(String::as_str).chain(["slow"]);
    let mut gates: BTreeMap<String, Gate> =
        late.map(|name| (name.to_owned(), Gate::shut(&folder, name))).collect();
    let entry = |gate: &Gate| json!({"command": "sh", "args": [script, gate.path()]});
    let mut entries: serde_json::Map<String, Json> =
        gates.iter().map(|(name, gate)| (name.clone(), entry(gate))).collect();
    entries.insert("gone".to_owned(), json!({"command": "no-such-program-anywhere"}));
    entries.insert("broken".to_owned(), json!({"command": "sh", "args": ["-c", "exit 3"]}));
    assert_eq!(entries.len(), 16);
    let names: Vec<String> = entries.keys().cloned().collect();
    let file = folder.file("mcp.json", &json!({ "mcpServers": entries }).to_string());

    let began = Instant::now();
    let mut server = StdioServer::start(&["--upstreams-config", &file]);
    let reply = server.ask(0, "initialize", initialize("2025-11-25"));
    let greeted = began.elapsed();
    let listed = server.ask(1, "tools/list", json!({}));
    let both = began.elapsed();
    // Both are answered although no gate is open yet, so nothing can have come up.
    let told = reply["result"]["instructions"].as_str().unwrap();
    for name in &names {
        assert!(told.contains(name) && listed.to_string().contains(name), "{name}: {told}");
    }
    eprintln!("from the start of the process: initialize after {greeted:?}, tools/list after {both:?}");
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));

    let mut up = BTreeSet::new();
    for name in others.iter().rev() {
        assert_eq!(loaded(&mut server), up);
        gates.get_mut(name).unwrap().open();
        up.insert(name.clone());
        eventually(&format!("{name} is up"), || loaded(&mut server) == up);
        let program = format!("(:value (tool/call {{:server \"{name}\" :tool \"look\"}}))");
        assert_eq!(server.eval(2, &program), "user=> \"looked\"", "{name}");
    }
    for dead in ["gone", "broken"] {
        let program = format!("(:reason (tool/call {{:server \"{dead}\" :tool \"look\"}}))");
        assert_eq!(server.eval(3, &program), "user=> :upstream_unavailable", "{dead}");
    }
}

/// How long npm may take to fetch a server on a busy machine.
const FETCHING: Duration = Duration::from_secs(240);

#[test]
fn a_server_that_npx_must_fetch_first_works() {
    let folder = Folder::new();
    let cache = folder.path().join("npm");
    let ping = Command::new("npm")
        .args(["ping", "--fetch-timeout=10000", "--fetch-retries=0", "--cache"])
        .arg(&cache)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !ping.is_ok_and(|status| status.success()) {
        return crate::skip::skip("the registry of npm");
    }
    std::fs::remove_dir_all(&cache).unwrap();
    let text = folder.file("note.txt", "fetched");
    let package = "@modelcontextprotocol/server-filesystem@2026.8.31";
    let config = json!({"upstreams": {"files": {
        "transport": "mcp_stdio", "command": "npx", "args": ["-y", package, folder.path()],
        "env": {"npm_config_cache": cache}, "cd": folder.path(),
    }}});
    let file = folder.file("upstreams.json", &config.to_string());
    let mut server = StdioServer::ready(&["--upstreams-config", &file]);
    let began = Instant::now();
    found_within(FETCHING, "it is fetched", || (!loaded(&mut server).is_empty()).then_some(()));
    eprintln!("up after {:?}", began.elapsed());
    let program = format!(
        "(:content (:value (tool/call {{:server \"files\" :tool \"read_text_file\" :args {{:path \"{text}\"}}}})))"
    );
    assert_eq!(server.eval(2, &program), "user=> \"fetched\"");
}
