//! Clients for measuring: as little as is needed to send a message and read its answer, over pipes and sockets.
//! Each of the programs uses a part.
#![allow(dead_code)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::{Value as Json, json};

pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// A server that goes away.
pub struct Server {
    child: Child,
}

impl Server {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Memory that is resident, in KiB.
    pub fn rss(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
        Ok(line.trim().trim_end_matches(" kB").trim().parse()?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server over stdio.
pub struct Pipe {
    pub server: Server,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    line: String,
}

impl Pipe {
    pub fn start(mut command: Command) -> Result<Pipe> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let (stdin, stdout) =
            (child.stdin.take().ok_or("no stdin")?, child.stdout.take().ok_or("no stdout")?);
        Ok(Pipe { server: Server { child }, stdin, stdout: BufReader::new(stdout), line: String::new() })
    }

    pub fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.stdin.write_all(bytes)?;
        Ok(self.stdin.flush()?)
    }

    pub fn receive(&mut self) -> Result<&str> {
        self.line.clear();
        match self.stdout.read_line(&mut self.line)? {
            0 => Err("the server is gone".into()),
            _ => Ok(self.line.trim_end()),
        }
    }

    /// Sends a line and reads one.
    pub fn ask(&mut self, line: &str) -> Result<&str> {
        self.send(format!("{line}\n").as_bytes())?;
        self.receive()
    }
}

/// Starts a server over HTTP and gives its address, which it writes to stderr.
pub fn listen(mut command: Command) -> Result<(Server, SocketAddr)> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let stderr = child.stderr.take();
    let server = Server { child };
    let mut lines = BufReader::new(stderr.ok_or("no stderr")?).lines();
    for line in lines.by_ref() {
        let line: Json = serde_json::from_str(&line?).unwrap_or_default();
        if let Some(address) = line["fields"]["address"].as_str() {
            let address = address.parse()?;
            std::thread::spawn(move || lines.for_each(drop));
            return Ok((server, address));
        }
    }
    Err("the server does not listen".into())
}

/// A connection that is kept.
pub struct Http {
    stream: BufReader<TcpStream>,
    head: String,
}

/// An answer.
pub struct Answer {
    pub status: u16,
    pub session: Option<String>,
    pub body: String,
}

impl Http {
    pub fn connect(address: SocketAddr) -> Result<Http> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\n"
        );
        Ok(Http { stream: BufReader::new(stream), head })
    }

    /// Adds a header to all requests.
    pub fn with(mut self, name: &str, value: &str) -> Http {
        self.head.push_str(&format!("{name}: {value}\r\n"));
        self
    }

    /// Sends a message without waiting for the answer.
    pub fn send(&mut self, body: &str) -> Result<()> {
        let request = format!("{}content-length: {}\r\n\r\n{body}", self.head, body.len());
        Ok(self.stream.get_mut().write_all(request.as_bytes())?)
    }

    pub fn ask(&mut self, body: &str) -> Result<Answer> {
        self.send(body)?;
        self.read()
    }

    /// Asks with GET.
    pub fn get(&mut self, path: &str) -> Result<Answer> {
        let head = self.head.replace("POST /mcp", &format!("GET {path}"));
        self.stream.get_mut().write_all(format!("{head}\r\n").as_bytes())?;
        self.read()
    }

    fn read(&mut self) -> Result<Answer> {
        let (mut line, mut status, mut length, mut session) = (String::new(), 0, 0, None);
        loop {
            line.clear();
            if self.stream.read_line(&mut line)? == 0 {
                return Err("the connection is closed".into());
            }
            let text = line.trim_end();
            match text.split_once(": ") {
                _ if text.is_empty() => break,
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.parse()?
                }
                Some((name, value)) if name.eq_ignore_ascii_case("mcp-session-id") => {
                    session = Some(value.to_owned())
                }
                None => status = text.split(' ').nth(1).unwrap_or_default().parse()?,
                Some(_) => {}
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok(Answer { status, session, body: String::from_utf8(body)? })
    }

    /// Ends the session.
    pub fn end(mut self) -> Result<()> {
        let head = self.head.replace("POST /mcp", "DELETE /mcp");
        self.stream.get_mut().write_all(format!("{head}content-length: 0\r\n\r\n").as_bytes())?;
        self.read().map(drop)
    }

    /// Opens an MCP session; all requests are sent in it.
    pub fn open(mut self) -> Result<Http> {
        let answer = self.ask(&initialize())?;
        match answer.session {
            Some(session) => Ok(self.with("mcp-session-id", &session)),
            // Servers without sessions.
            None if answer.status == 200 => Ok(self.with("mcp-protocol-version", "2025-11-25")),
            None => Err(format!("no session: {} {}", answer.status, answer.body).into()),
        }
    }
}

pub fn initialize() -> String {
    let client = json!({"name": "load", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string()
}

pub fn call(id: u64, tool: &str, arguments: Json) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
        .to_string()
}
