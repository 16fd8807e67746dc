//! What the tests of clients share: upstreams of the fault server, and a short way to call them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ptc_upstream::model::{Allowance, Fault, Payload, Reason};
use ptc_upstream::{Client, Config, Secrets, client};
use serde_json::{Value as Json, json};

pub use crate::until::until;

/// What a call in these tests may cost.
pub const ALLOWANCE: Allowance =
    Allowance { timeout: Duration::from_secs(20), max_bytes: 1 << 20, max_values: 1 << 16, once: false };

/// The secret that fault servers are given and echo. `cargo xtask ci` looks for it in whatever tests print.
pub const SECRET: &str = "ptc-sentinel-7f3a?9d>e1";

/// The client of one upstream of these fields. `FAULT_TOKEN` is [`SECRET`] in our environment.
pub fn client(fields: Json) -> Arc<dyn Client> {
    client_of(json!({
        "credentials": {"token": {"source": "env", "var": "FAULT_TOKEN"}},
        "upstreams": {"x": fields},
    }))
}

/// The client of the first upstream of a configuration.
pub fn client_of(value: Json) -> Arc<dyn Client> {
    let config = Config::from_value(value, Path::new("")).expect("a configuration");
    let lookup = |name: &str| match name {
        "FAULT_TOKEN" => Some(SECRET.to_owned()),
        other => std::env::var(other).ok(),
    };
    let secrets = Secrets::resolve_with(&config, &lookup, None).expect("its secrets");
    client::connect(&config.upstreams[0], &secrets).expect("an MCP upstream")
}

/// The fault server as an upstream.
pub fn faulty(flags: &[&str]) -> Json {
    json!({"transport": "mcp_stdio", "command": fault_server(), "args": flags, "env": {"FAULT_TOKEN": "${FAULT_TOKEN}"}})
}

/// The fault server over HTTP, which ends with this value.
pub struct HttpServer {
    child: std::process::Child,
    /// Where it listens.
    pub port: String,
}

impl HttpServer {
    /// Starts one.
    pub fn start(flags: &[&str]) -> HttpServer {
        let mut child = std::process::Command::new(fault_server())
            .arg("--http")
            .args(flags)
            .env("FAULT_TOKEN", SECRET)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("the fault server can be started");
        let mut port = String::new();
        let mut out = std::io::BufReader::new(child.stdout.take().expect("it is piped"));
        std::io::BufRead::read_line(&mut out, &mut port).expect("it prints its port");
        HttpServer { child, port: port.trim().to_owned() }
    }

    /// It as an upstream that is sent the secret.
    pub fn upstream(&self) -> Json {
        json!({
            "transport": "mcp_http", "url": format!("http://127.0.0.1:{}/mcp", self.port),
            "allow_insecure_http": true, "allow_insecure_auth": true,
            "auth": [{"scheme": "bearer", "binding": "token"}],
            "static_headers": {"X-Tenant": "blue"},
        })
    }

    /// Kills it without a word.
    pub fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it can be waited for");
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The fault server, which is an example of this crate and built with its tests.
pub fn fault_server() -> PathBuf {
    let tests = std::env::current_exe().expect("a test has a program");
    let folder = tests.parent().and_then(Path::parent).expect("it stands in deps/");
    folder.join("examples").join(format!("fault_server{}", std::env::consts::EXE_SUFFIX))
}

/// Calls a tool.
pub async fn call(client: &dyn Client, tool: &str, args: Json) -> Result<Payload, Fault> {
    call_within(client, tool, args, ALLOWANCE).await
}

/// Calls a tool at a price.
pub async fn call_within(
    client: &dyn Client,
    tool: &str,
    args: Json,
    allowance: Allowance,
) -> Result<Payload, Fault> {
    let args = args.as_object().cloned().unwrap_or_default();
    let answer = client.call(tool, args, allowance).await;
    if let Err(fault) = &answer {
        // Printed for the scan over what tests print.
        eprintln!("{tool}: {fault}");
        assert!(!fault.message.contains(SECRET), "a secret got out: {fault}");
        assert!(fault.message.chars().count() <= 501 && !fault.message.contains('\n'), "unbounded: {fault}");
    }
    answer
}

/// The text that a tool gives.
pub async fn text(client: &dyn Client, tool: &str, args: Json) -> String {
    call(client, tool, args).await.expect("an answer").texts()[0].to_owned()
}

/// The fault that a call gives.
pub async fn fault(client: &dyn Client, tool: &str, args: Json) -> (Reason, String) {
    let fault = call(client, tool, args).await.expect_err("a fault");
    (fault.reason, fault.message)
}

/// The names of the tools, in order.
pub async fn names(client: &dyn Client) -> Vec<String> {
    let tools = client.list(ALLOWANCE).await.expect("tools");
    tools.into_iter().map(|tool| tool.name).collect()
}

/// Whether there is a process of this id that is not a zombie.
pub fn alive(pid: &str) -> bool {
    let state = std::process::Command::new("ps").args(["-o", "stat=", "-p", pid.trim()]).output();
    state.is_ok_and(|output| {
        let state = String::from_utf8_lossy(&output.stdout).into_owned();
        !state.trim().is_empty() && !state.trim().starts_with('Z')
    })
}
