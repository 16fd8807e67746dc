//! An MCP server over standard streams that misbehaves on demand: its tools are the faults, its flags are the
//! faults that happen before any call. The tests of clients run it; by hand, speak JSON-RPC to it.
//!
//! `fault_server hold CONFIG` is the other side: it starts the upstreams of a configuration and waits, so that
//! a test can kill it and see what is left.

use std::collections::BTreeSet;
use std::io::{BufRead as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value as Json, json};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.as_slice() {
        [command, config] if command == "hold" => hold(config),
        flags => Server::new(flags).run(),
    }
}

/// What the server shares between its threads.
#[derive(Clone)]
struct Server {
    flags: Arc<Vec<String>>,
    changed: Arc<AtomicBool>,
    cancelled: Arc<Mutex<BTreeSet<i64>>>,
}

impl Server {
    fn new(flags: &[String]) -> Self {
        Server { flags: Arc::new(flags.to_vec()), changed: Arc::default(), cancelled: Arc::default() }
    }

    fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|known| known == flag)
    }

    fn run(self) {
        eprintln!("fault server of process {}", std::process::id());
        if self.has("--exit") {
            eprintln!("cannot open the database");
            std::process::exit(3);
        }
        if self.has("--chatty") {
            print("Welcome to the fault server!");
        }
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            let Ok(message) = serde_json::from_str::<Json>(&line) else { continue };
            let server = self.clone();
            std::thread::spawn(move || server.hear(&message));
        }
        while self.has("--stubborn") {
            std::thread::sleep(Duration::from_secs(1));
        }
    }

    fn hear(&self, message: &Json) {
        let id = &message["id"];
        let params = &message["params"];
        match message["method"].as_str() {
            Some(_) if self.has("--silent") => {}
            Some("initialize" | "server/discover") => {
                self.greet(id, message["method"].as_str() == Some("initialize"))
            }
            Some("tools/list") => self.list(id, params["cursor"].as_str()),
            Some("tools/call") => {
                self.call(id, params["name"].as_str().unwrap_or_default(), &params["arguments"]);
            }
            Some("notifications/cancelled") => {
                self.cancelled.lock().expect("no panics").extend(params["requestId"].as_i64());
            }
            Some(method) if !id.is_null() => {
                answer(
                    json!({"id": id, "error": {"code": -32601, "message": format!("unknown method {method}")}}),
                );
            }
            _ => {}
        }
    }

    fn greet(&self, id: &Json, initialize: bool) {
        if initialize == self.has("--modern") {
            answer(json!({"id": id, "error": {"code": -32601, "message": "unknown method"}}));
            return;
        }
        if self.has("--greeting-is-nonsense") {
            answer(json!({"id": id, "result": {"hello": "world"}}));
            return;
        }
        let info = json!({"name": "faults", "version": "1"});
        let version = if self.has("--old") { "2024-11-05" } else { "2025-06-18" };
        answer(match initialize {
            true => json!({"id": id, "result": {
                "protocolVersion": version, "serverInfo": info, "instructions": "Handle with care.",
                "capabilities": {"tools": {"listChanged": true}}}}),
            false => json!({"id": id, "result": {
                "resultType": "complete", "supportedVersions": ["2026-07-28"], "serverInfo": info,
                "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private",
                "_meta": {"io.modelcontextprotocol/serverInfo": info}}}),
        });
    }

    fn list(&self, id: &Json, cursor: Option<&str>) {
        let page: usize = cursor.and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
        if self.has("--endless-pages") {
            answer(
                json!({"id": id, "result": {"tools": [{"name": format!("t{page}")}], "nextCursor": (page + 1).to_string()}}),
            );
            return;
        }
        if self.has("--same-page") {
            answer(json!({"id": id, "result": {"tools": [{"name": "t"}], "nextCursor": "again"}}));
            return;
        }
        if self.has("--no-tools") {
            answer(json!({"id": id, "result": {"nothing": []}}));
            return;
        }
        let secret = std::env::var("FAULT_TOKEN").unwrap_or_default();
        let mut tools = vec![
            json!({"name": "echo", "description": format!("Gives its text back. {secret}"),
                   "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
                   "annotations": {"readOnlyHint": true}}),
            json!({"name": "slow", "inputSchema": {"type": "object"}}),
        ];
        if self.changed.load(Ordering::Relaxed) {
            tools.push(json!({"name": "fresh", "inputSchema": {"type": "object"}}));
        }
        if self.has("--pages") {
            let next = (page + 1 < tools.len()).then(|| (page + 1).to_string());
            answer(json!({"id": id, "result": {"tools": [tools[page]], "nextCursor": next}}));
            return;
        }
        answer(json!({"id": id, "result": {"tools": tools}}));
    }

    fn call(&self, id: &Json, tool: &str, args: &Json) {
        let text =
            |text: String| answer(json!({"id": id, "result": {"content": [{"type": "text", "text": text}]}}));
        match tool {
            "echo" => text(args["text"].as_str().unwrap_or_default().to_owned()),
            "structured" => {
                answer(json!({"id": id, "result": {"content": [], "structuredContent": args["value"]}}))
            }
            "none" => answer(
                json!({"id": id, "result": {"content": [{"type": "image", "data": "", "mimeType": "x"}]}}),
            ),
            "slow" => {
                std::thread::sleep(Duration::from_millis(args["ms"].as_u64().unwrap_or(0)));
                text("at last".to_owned());
            }
            "crash" => {
                eprintln!("thread 'main' had enough");
                std::process::exit(7);
            }
            "huge" => text("x".repeat(args["bytes"].as_u64().unwrap_or(0) as usize)),
            "huge_error" => {
                let message = "x".repeat(args["bytes"].as_u64().unwrap_or(0) as usize);
                answer(json!({"id": id, "error": {"code": 1, "message": message}}));
            }
            "invalid" => print(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":")),
            "no_result" => answer(json!({"id": id, "result": {"content": "text"}})),
            "interleaved" => {
                print("a line that is no message");
                answer(
                    json!({"method": "notifications/message", "params": {"level": "info", "data": "half way"}}),
                );
                answer(json!({"method": "notifications/unheard_of", "params": {}}));
                answer(json!({"id": 99_999, "result": {"content": []}}));
                answer(json!({"id": "ours", "method": "ping"}));
                answer(
                    json!({"id": "ours too", "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}}),
                );
                text("after all that".to_owned());
            }
            "error" => answer(json!({"id": id, "error": {"code": -32602, "message": "no such\nthing"}})),
            "fail" => answer(
                json!({"id": id, "result": {"content": [{"type": "text", "text": "it broke"}], "isError": true}}),
            ),
            "change" => {
                self.changed.store(true, Ordering::Relaxed);
                answer(json!({"method": "notifications/tools/list_changed"}));
                text("changed".to_owned());
            }
            "secret" => {
                let secret = std::env::var("FAULT_TOKEN").unwrap_or_default();
                eprintln!("my token is {secret}");
                answer(json!({"id": id, "error": {"code": 1, "message": format!("bad token {secret}")}}));
            }
            "cancelled" => text(self.cancelled.lock().expect("no panics").len().to_string()),
            "pid" => text(std::process::id().to_string()),
            "env" => text(std::env::vars().map(|(name, _)| name).collect::<Vec<_>>().join(" ")),
            "grandchild" => {
                let mut child =
                    std::process::Command::new("sleep").arg("600").spawn().expect("sleep is a command");
                text(child.id().to_string());
                let _ = child.wait();
            }
            _ => answer(
                json!({"id": id, "error": {"code": -32602, "message": format!("unknown tool {tool}")}}),
            ),
        }
    }
}

fn answer(mut message: Json) {
    message["jsonrpc"] = json!("2.0");
    print(&message.to_string());
}

fn print(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Starts all upstreams of a configuration, calls their tool `pid`, prints the answers and waits to be killed.
fn hold(config: &str) {
    use ptc_upstream::model::Allowance;
    use ptc_upstream::{Config, Secrets, client};
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let config = Config::from_file(config.as_ref()).expect("a configuration");
        let secrets =
            Secrets::resolve_with(&config, &|name| std::env::var(name).ok(), None).expect("its secrets");
        let allowance = Allowance { timeout: Duration::from_secs(10), max_bytes: 1 << 20 };
        let clients: Vec<_> =
            config.upstreams.iter().filter_map(|upstream| client::connect(upstream, &secrets)).collect();
        for client in &clients {
            for tool in ["pid", "grandchild"] {
                let payload = client.call(tool, Default::default(), allowance).await.expect("an answer");
                print(&payload.texts[0]);
            }
        }
        std::future::pending::<()>().await;
    });
}
