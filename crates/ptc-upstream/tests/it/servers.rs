//! Real servers, as npm publishes them: `cargo xtask packages` installs them. Without Node these tests say so
//! and do nothing; with Node a missing package is a failure.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use ptc_upstream::Client;
use ptc_upstream::model::{Allowance, Block, Payload, Reason};
use serde_json::{Value as Json, json};

use crate::port::own_port;
use crate::support::*;

/// The program of a package of the MCP project; `None` where there is no Node.
fn program(package: &str) -> Option<PathBuf> {
    let node = Command::new("node").arg("--version").stdout(Stdio::null()).status();
    if !node.is_ok_and(|status| status.success()) {
        crate::skip::skip(&format!("`node`, which runs {package},"));
        return None;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program =
        root.join(".tools/npm/node_modules/@modelcontextprotocol").join(package).join("dist/index.js");
    let program = program.canonicalize();
    Some(program.unwrap_or_else(|_| panic!("{package} is not installed: run `cargo xtask packages`")))
}

/// A server over pipes. Node takes its time on a machine that has much to do.
fn over_pipes(program: &Path, args: &[&str], env: Json) -> Arc<dyn Client> {
    let args: Vec<&str> = [&[program.to_str().expect("a path in UTF-8")], args].concat();
    client(
        json!({"transport": "mcp_stdio", "command": "node", "args": args, "env": env, "handshake_timeout_ms": 60_000}),
    )
}

/// Node needs a moment to start.
const PATIENT: Allowance =
    Allowance { timeout: Duration::from_secs(60), max_bytes: 1 << 20, max_values: 1 << 16, once: false };

async fn listed(client: &dyn Client) -> Vec<String> {
    client.list(PATIENT).await.expect("tools").into_iter().map(|tool| tool.name).collect()
}

/// A folder that is removed again.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("ptc-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        Folder(folder.canonicalize().expect("it is there"))
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("a path in UTF-8").to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What everything-server must do over any transport.
async fn everything(client: &dyn Client) {
    let tools = client.list(PATIENT).await.expect("tools");
    let sum = tools.iter().find(|tool| tool.name == "get-sum").expect("get-sum");
    assert_eq!(sum.annotations["readOnlyHint"], json!(true));
    assert!(sum.input_schema["properties"].get("a").is_some());
    let weather = tools.iter().find(|tool| tool.name == "get-structured-content").expect("it is listed");
    assert!(weather.output_schema.is_some());
    let about = client.about().expect("it said who it is");
    assert!(about.name.contains("everything"), "{about:?}");
    assert_eq!(about.protocol, "2025-11-25");

    assert_eq!(text(client, "echo", json!({"message": "hello"})).await, "Echo: hello");
    assert!(text(client, "get-sum", json!({"a": 2, "b": 40})).await.contains("42"));
    let weather =
        call(client, "get-structured-content", json!({"location": "Chicago"})).await.expect("an answer");
    assert!(weather.structured.expect("structured content")["temperature"].is_number());
    let image = call(client, "get-tiny-image", json!({})).await.expect("an answer");
    assert!(!image.texts().is_empty(), "texts beside the image");
    let is_data = |block: &&Block, key: &str| matches!(block, Block::Data(data) if data.get(key).is_some());
    let count = |payload: &Payload, key| payload.content.iter().filter(|block| is_data(block, key)).count();
    assert_eq!(count(&image, "bytes"), 1, "{image:?}");
    let asked = json!({"resourceType": "Text", "resourceId": 1});
    let resource = call(client, "get-resource-reference", asked).await.expect("an answer");
    assert_eq!((count(&resource, "text"), resource.texts().len()), (1, 2), "{resource:?}");
    let links = call(client, "get-resource-links", json!({"count": 3})).await.expect("an answer");
    assert_eq!(count(&links, "uri"), 3, "{links:?}");
    let environment = text(client, "get-env", json!({})).await;
    assert!(!environment.contains("CARGO_MANIFEST_DIR"), "only what it needs is inherited: {environment}");

    let wrong = call(client, "get-sum", json!({"a": "two"})).await;
    let refused = wrong.is_err() || wrong.is_ok_and(|payload| payload.is_error);
    assert!(refused, "the server looks at arguments");
    let unknown = call(client, "no-such-tool", json!({})).await;
    let refused = unknown.is_err() || unknown.is_ok_and(|payload| payload.is_error);
    assert!(refused, "the server knows its tools");

    let short = Allowance { timeout: Duration::from_millis(300), ..ALLOWANCE };
    let long = json!({"duration": 60, "steps": 600});
    let fault =
        call_within(client, "trigger-long-running-operation", long, short).await.expect_err("a fault");
    assert_eq!(fault.reason, Reason::Timeout);
    let tiny = Allowance { max_bytes: 64, ..ALLOWANCE };
    let fault = call_within(client, "get-tiny-image", json!({}), tiny).await.expect_err("a fault");
    assert_eq!(fault.reason, Reason::ResponseTooLarge);
    assert_eq!(text(client, "echo", json!({"message": "on"})).await, "Echo: on");
}

#[tokio::test]
async fn everything_over_pipes() {
    let Some(program) = program("server-everything") else { return };
    let client = over_pipes(&program, &["stdio"], json!({}));
    everything(&*client).await;
    client.close().await;
}

/// The server over HTTP, which ends with this value.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Served {
    /// Starts the server with a transport, and gives its port.
    async fn start(program: &Path, transport: &str) -> (Served, u16) {
        // The server cannot choose a port by itself.
        let port = own_port();
        let mut command = Command::new("node");
        command.arg(program).arg(transport).env_clear().env("PORT", port.to_string());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("node starts");
        let served = Served(child);
        until("it listens", async || tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok()).await;
        (served, port)
    }
}

#[tokio::test]
async fn everything_over_server_sent_events_of_before_streamable_http() {
    let Some(program) = program("server-everything") else { return };
    let (_served, port) = Served::start(&program, "sse").await;
    let url = format!("http://127.0.0.1:{port}/sse");
    // Clients say so; who does not say so finds out.
    let told = json!({"mcpServers": {"x": {"type": "sse", "url": url}}});
    let found = json!({"mcpServers": {"x": {"url": url}}});
    for file in [told, found] {
        let client = client_of(file);
        everything(&*client).await;
        client.close().await;
        assert_eq!(text(&*client, "echo", json!({"message": "again"})).await, "Echo: again");
    }
}

#[tokio::test]
async fn everything_over_http() {
    let Some(program) = program("server-everything") else { return };
    let (_served, port) = Served::start(&program, "streamableHttp").await;
    let url = format!("http://127.0.0.1:{port}/mcp");
    let upstream = json!({"transport": "mcp_http", "url": url, "allow_insecure_http": true, "handshake_timeout_ms": 60_000});
    let client = client(upstream);
    everything(&*client).await;
    let calls = (0..20).map(|n| {
        let client = client.clone();
        async move { text(&*client, "echo", json!({"message": n.to_string()})).await }
    });
    let answers = futures_util::future::join_all(calls).await;
    assert_eq!(answers, (0..20).map(|n| format!("Echo: {n}")).collect::<Vec<_>>());
    client.close().await;
    assert_eq!(text(&*client, "echo", json!({"message": "again"})).await, "Echo: again");
}

#[tokio::test]
async fn filesystem_over_pipes() {
    let Some(program) = program("server-filesystem") else { return };
    let folder = Folder::new("filesystem");
    std::fs::write(folder.path("notes.md"), "remember the milk\n").unwrap();
    let client = over_pipes(&program, &[&folder.path("")], json!({}));
    let names = listed(&*client).await;
    assert!(names.contains(&"read_text_file".to_owned()), "{names:?}");
    assert_eq!(
        text(&*client, "read_text_file", json!({"path": folder.path("notes.md")})).await,
        "remember the milk\n"
    );
    call(&*client, "write_file", json!({"path": folder.path("new.txt"), "content": "ü"})).await.unwrap();
    assert_eq!(std::fs::read_to_string(folder.path("new.txt")).unwrap(), "ü");
    let entries = text(&*client, "list_directory", json!({"path": folder.path("")})).await;
    assert!(entries.contains("[FILE] new.txt") && entries.contains("[FILE] notes.md"), "{entries}");
    let outside = call(&*client, "read_text_file", json!({"path": "/etc/passwd"})).await.unwrap();
    assert!(outside.is_error, "{outside:?}");
    let batch = ["notes.md", "new.txt", "missing"].map(|name| {
        let (client, path) = (client.clone(), folder.path(name));
        async move { call(&*client, "read_text_file", json!({"path": path})).await.unwrap().is_error }
    });
    assert_eq!(futures_util::future::join_all(batch).await, [false, false, true]);
    client.close().await;
}

#[tokio::test]
async fn memory_over_pipes_and_after_a_new_start() {
    let Some(program) = program("server-memory") else { return };
    let folder = Folder::new("memory");
    let client = over_pipes(&program, &[], json!({"MEMORY_FILE_PATH": folder.path("memory.jsonl")}));
    let names = listed(&*client).await;
    assert!(names.contains(&"read_graph".to_owned()), "{names:?}");
    let ada = json!({"name": "Ada", "entityType": "person", "observations": ["wrote notes"]});
    call(&*client, "create_entities", json!({"entities": [ada]})).await.unwrap();
    client.close().await;
    let graph = client.call("read_graph", Default::default(), PATIENT).await.unwrap();
    let graph = graph.structured.expect("structured content");
    assert_eq!(graph["entities"][0]["name"], json!("Ada"), "what it wrote is there after a new start");
    client.close().await;
}
