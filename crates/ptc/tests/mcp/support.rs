//! Servers and clients for the tests. Clients are a few lines of sockets and pipes, so that tests can send what no
//! library would.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value as Json, json};

pub use crate::eventually::{eventually, found, found_within};

/// Longer than anything takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A folder that goes away.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("ptc-mcp-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file and gives its path.
    pub fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A folder for what servers of others keep. The command keeps nothing there, because a file stands in the place of its
/// folder: no test sees what another one had.
fn cache() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("ptc"), "").unwrap();
    folder
}

/// The command, in an environment without settings.
pub fn ptc(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptc"));
    let settings = std::env::vars().filter(|(name, _)| name.starts_with("PTC_RUNNER_MCP_"));
    settings.for_each(|(name, _)| {
        command.env_remove(name);
    });
    let state = Path::new(env!("CARGO_TARGET_TMPDIR")).join("state");
    command
        .env("XDG_STATE_HOME", state)
        .env("HOME", "/nonexistent")
        .env("XDG_CACHE_HOME", cache())
        .env_remove("XDG_CONFIG_HOME")
        .arg("mcp")
        .args(args);
    command
}

/// What a server writes to stderr, as it comes.
pub struct Log {
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl Log {
    fn of(pipe: impl Read + Send + 'static) -> Log {
        Log { lines: lines(pipe), seen: Vec::new() }
    }

    /// Waits for a line of which this holds, and gives it. Lines that came before count too.
    pub fn wait_for(&mut self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        if let Some(line) = self.seen.iter().find(|line| holds(line)) {
            return line.clone();
        }
        loop {
            let Ok(line) = self.lines.recv_timeout(PATIENCE) else {
                panic!("{what} is not in the log: {:#?}", self.seen)
            };
            self.seen.push(line.clone());
            if holds(&line) {
                return line;
            }
        }
    }

    /// All lines until the end of a server that ends or has ended.
    pub fn whole(&mut self) -> &[String] {
        self.seen.extend(self.lines.iter());
        &self.seen
    }
}

/// Lines of a pipe, as they come.
fn lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// What a server says when descriptions of its tools change.
pub const LIST_CHANGED: &str = "notifications/tools/list_changed";

/// A server over stdio.
pub struct StdioServer {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Receiver<String>,
    pub log: Log,
}

impl StdioServer {
    pub fn start(args: &[&str]) -> StdioServer {
        StdioServer::spawn(ptc(args))
    }

    pub fn spawn(mut command: Command) -> StdioServer {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        StdioServer {
            stdin: child.stdin.take(),
            stdout: lines(child.stdout.take().unwrap()),
            log: Log::of(child.stderr.take().unwrap()),
            child,
        }
    }

    /// Starts, and shakes hands.
    pub fn ready(args: &[&str]) -> StdioServer {
        let mut server = StdioServer::start(args);
        let reply = server.ask(0, "initialize", initialize("2025-11-25"));
        assert_eq!(reply["result"]["protocolVersion"], "2025-11-25", "{reply}");
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        server
    }

    pub fn raw(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes).unwrap();
        stdin.flush().unwrap();
    }

    pub fn send(&mut self, message: &Json) {
        self.raw(format!("{message}\n").as_bytes());
    }

    pub fn request(&mut self, id: impl Into<Json>, method: &str, params: Json) {
        self.send(&json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params}));
    }

    /// The next message, but for those that say that upstreams have come up.
    pub fn receive(&mut self) -> Json {
        loop {
            let message = self.receive_any();
            if message["method"] != LIST_CHANGED {
                return message;
            }
        }
    }

    pub fn receive_any(&mut self) -> Json {
        match self.stdout.recv_timeout(PATIENCE) {
            Ok(line) => serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line}")),
            Err(_) => {
                let _ = self.child.kill();
                panic!("no answer; stderr: {:#?}", self.log.whole())
            }
        }
    }

    /// The next message, if it is there.
    pub fn received(&mut self) -> Option<Json> {
        let line = self.stdout.try_recv().ok()?;
        let message: Json = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line}"));
        (message["method"] != LIST_CHANGED).then_some(message)
    }

    pub fn ask(&mut self, id: impl Into<Json>, method: &str, params: Json) -> Json {
        let id = id.into();
        self.request(id.clone(), method, params);
        let reply = self.receive();
        assert_eq!(reply["id"], id, "{reply}");
        reply
    }

    /// Calls a tool and gives the result.
    pub fn call(&mut self, id: i64, tool: &str, arguments: Json) -> Json {
        let reply = self.ask(id, "tools/call", json!({"name": tool, "arguments": arguments}));
        reply["result"].clone()
    }

    /// The text of `lisp_eval`.
    pub fn eval(&mut self, id: i64, program: &str) -> String {
        text(&self.call(id, "lisp_eval", json!({"program": program})))
    }

    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the end, and gives what was still written.
    pub fn end(mut self) -> (ExitStatus, Vec<String>) {
        (ended(&mut self.child), self.stdout.iter().collect())
    }

    /// Ends the server by closing its stdin, and gives all that it logged.
    pub fn whole_log(mut self) -> Vec<String> {
        self.close_stdin();
        ended(&mut self.child);
        self.log.whole().to_vec()
    }
}

/// Waits for the end of a server.
fn ended(child: &mut Child) -> ExitStatus {
    found("the server ends", || child.try_wait().unwrap())
}

impl Drop for StdioServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn initialize(version: &str) -> Json {
    json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}})
}

/// The reason that a result gives, if it says that something went wrong.
pub fn reason(result: &Json) -> &str {
    result["structuredContent"]["reason"].as_str().unwrap_or("none")
}

/// The ticket of a program that waits.
pub fn ticket(result: &Json) -> String {
    let ticket = result["structuredContent"]["ticket"].as_str();
    ticket.unwrap_or_else(|| panic!("it waits: {result}")).to_owned()
}

/// Asks until nobody who is gone is in the way.
pub fn insist(mut ask: impl FnMut() -> Json) -> Json {
    let is_free = |result: &Json| !["busy", "session_busy", "ticket_busy"].contains(&reason(result));
    found("nobody is in the way", || Some(ask()).filter(is_free))
}

/// The text of a result.
pub fn text(result: &Json) -> String {
    let content = result["content"].as_array().unwrap_or_else(|| panic!("no content: {result}"));
    content.iter().filter_map(|part| part["text"].as_str()).collect()
}

/// A program that runs until its time is over.
pub const SLOW: &str = "(loop [i 0] (recur (inc i)))";

/// A server over HTTP.
pub struct HttpServer {
    child: Child,
    pub address: SocketAddr,
    log: Mutex<Log>,
}

/// An answer over HTTP.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Json {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }
}

pub const TOKEN: &str = "0123456789abcdef0123456789abcdef";

impl HttpServer {
    pub fn start(args: &[&str]) -> HttpServer {
        HttpServer::spawn(ptc(&[&["--http", "127.0.0.1:0"], args].concat()))
    }

    pub fn spawn(mut command: Command) -> HttpServer {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut log = Log::of(child.stderr.take().unwrap());
        let line = log.wait_for("where it listens", |line| line.contains("\"http_listening\""));
        let line: Json = serde_json::from_str(&line).unwrap();
        let address = line["fields"]["address"].as_str().unwrap().parse().unwrap();
        HttpServer { child, address, log: Mutex::new(log) }
    }

    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Sends a request as it is written here.
    pub fn raw(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        exchange(self.address, method, path, headers, body)
    }

    pub fn post(&self, headers: &[(&str, &str)], body: &Json) -> Answer {
        let with = [
            &[("content-type", "application/json"), ("accept", "application/json, text/event-stream")],
            headers,
        ];
        self.raw("POST", "/mcp", &with.concat(), body.to_string().as_bytes())
    }

    /// Opens an MCP session and gives its id.
    pub fn open(&self, headers: &[(&str, &str)]) -> String {
        let message =
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize("2025-11-25")});
        let answer = self.post(headers, &message);
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.headers["mcp-session-id"].clone()
    }

    /// Calls a tool in a session and gives the result.
    pub fn call(&self, session: &str, id: i64, tool: &str, arguments: Json) -> Json {
        let answer = self.post(&[("mcp-session-id", session)], &call(id, tool, arguments));
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["result"].clone()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn terminate(&self) {
        let status = Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        assert!(status.success());
    }

    pub fn end(&mut self) -> ExitStatus {
        ended(&mut self.child)
    }

    /// Waits for a line of the log of which this holds, and gives it.
    pub fn logged(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        self.log.lock().unwrap().wait_for(what, holds)
    }

    /// Ends the server with a signal and gives all that it logged.
    pub fn whole_log(&mut self) -> Vec<String> {
        self.terminate();
        self.end();
        self.log.lock().unwrap().whole().to_vec()
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn call(id: i64, tool: &str, arguments: Json) -> Json {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

/// One request on a connection of its own.
pub fn exchange(to: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    try_exchange(to, method, path, headers, body).unwrap_or_else(|| panic!("no answer from {to}"))
}

/// The same with a server that may not be there, or may end before it has answered.
pub fn try_exchange(
    to: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Option<Answer> {
    let mut stream = send(to, method, path, headers, body)?;
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    text.contains("\r\n\r\n").then(|| answer(&text))
}

/// Sends a request on a connection of its own, and leaves the answer to be read.
pub fn send(
    to: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Option<TcpStream> {
    let mut stream = TcpStream::connect(to).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut head =
        format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        head.push_str(&format!("host: {to}\r\n"));
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).ok()?;
    // A server that refuses early may close before it has read all.
    let _ = stream.write_all(body);
    Some(stream)
}

/// Reads an answer.
pub fn answer(text: &str) -> Answer {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap().parse().unwrap();
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let chunked = headers.get("transfer-encoding").is_some_and(|coding| coding == "chunked");
    let body = match chunked {
        true => dechunked(body),
        false => body.to_owned(),
    };
    Answer { status, headers, body }
}

fn dechunked(mut body: &str) -> String {
    let mut out = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        if size == 0 || rest.len() < size {
            break;
        }
        out.push_str(&rest[..size]);
        body = rest[size..].trim_start_matches("\r\n");
    }
    out
}
