//! A model server that says what a test tells it to say, to the byte, and keeps what it was asked.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ptc_agent::model::{Model, ModelError, Reply, Request, TextSink};
use ptc_llm::{Provider, Remote, Settings, Target};
use serde_json::Value as Json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The key of all tests; it must never show.
pub const KEY: &str = "sk-secret-4711";

/// What the server does with a request.
#[derive(Clone, Debug)]
pub enum Act {
    /// Sends these bytes and closes.
    Send(String),
    /// Sends these bytes and then nothing more, for ever.
    Hang(String),
    /// Sends these bytes and then more of the same, for ever.
    Flood(String),
    /// Sends these bytes so many at a time, with a short rest after each.
    Drip(Vec<u8>, usize),
    /// Sends these bytes, and then a comment of the stream now and then, for ever.
    Murmur(String),
    /// Sends these bytes and then breaks the connection without a word.
    Break(String),
}

/// A whole answer.
pub fn answer(status: &str, headers: &str, body: &str) -> Act {
    let length = body.len();
    Act::Send(format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{headers}Connection: close\r\n\r\n{body}"
    ))
}

/// A whole answer that is fine.
pub fn fine(body: Json) -> Act {
    answer("200 OK", "", &body.to_string())
}

/// The beginning of a stream with these events.
pub fn stream(events: &[&str]) -> String {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n".to_owned();
    events.iter().fold(head, |text, event| text + "data: " + event + "\n\n")
}

/// What the server was asked.
#[derive(Clone, Debug)]
pub struct Asked {
    pub head: String,
    pub body: Json,
}

/// A server on a port of its own.
pub struct Server {
    pub url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// Answers requests in order.
    pub async fn start(acts: impl IntoIterator<Item = Act>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/v1", listener.local_addr().expect("its address"));
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let mut acts: VecDeque<Act> = acts.into_iter().collect();
        let heard = asked.clone();
        let task = tokio::spawn(async move {
            while let Some(act) = acts.pop_front() {
                let Ok((mut socket, _)) = listener.accept().await else { return };
                if let Some(request) = read(&mut socket).await {
                    heard.lock().unwrap_or_else(PoisonError::into_inner).push(request);
                }
                tokio::spawn(perform(socket, act));
            }
        });
        Server { url, asked, task }
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn read(socket: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_lowercase();
            let length =
                head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
            if body.len() >= length.unwrap_or(0) {
                return Some(Asked { body: serde_json::from_str(body).ok()?, head });
            }
        }
        let mut piece = [0u8; 4096];
        match socket.read(&mut piece).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
        }
    }
}

async fn perform(mut socket: TcpStream, act: Act) {
    // Nobody waits for anything here: between two pieces the client has its turn.
    let rest = tokio::task::yield_now;
    drop(socket.set_nodelay(true));
    let first = match &act {
        Act::Send(text) | Act::Hang(text) | Act::Flood(text) | Act::Murmur(text) | Act::Break(text) => text,
        Act::Drip(..) => "",
    };
    if socket.write_all(first.as_bytes()).await.is_err() {
        return;
    }
    match act {
        Act::Send(_) => drop(socket.shutdown().await),
        Act::Hang(_) => std::future::pending().await,
        Act::Flood(_) => while socket.write_all(&[b'x'; 65_536]).await.is_ok() {},
        Act::Drip(bytes, size) => {
            for piece in bytes.chunks(size) {
                drop(socket.write_all(piece).await);
                rest().await;
            }
        }
        Act::Murmur(_) => {
            while socket.write_all(b": still here\n\n").await.is_ok() {
                rest().await;
            }
        }
        Act::Break(_) => {
            // What was sent is to arrive first. It has on Linux; elsewhere what nobody has read yet is lost.
            rest().await;
            drop(socket.set_zero_linger());
        }
    }
}

/// A model at a server, the delays it waited, and what it streamed.
pub struct Setup {
    pub model: Remote,
    pub delays: Arc<Mutex<Vec<Duration>>>,
    pub pieces: Arc<Mutex<Vec<String>>>,
}

impl Setup {
    pub fn new(server: &Server, provider: Provider, model: &str) -> Setup {
        Self::with(server, provider, model, |_| {})
    }

    /// With other settings. Nothing sleeps: delays are only kept.
    pub fn with(
        server: &Server,
        provider: Provider,
        model: &str,
        change: impl FnOnce(&mut Settings),
    ) -> Setup {
        let delays: Arc<Mutex<Vec<Duration>>> = Arc::default();
        let kept = delays.clone();
        let variable = provider.key_variable();
        let mut settings = Settings {
            environment: Arc::new(move |name| (Some(name) == variable).then(|| KEY.to_owned())),
            sleeper: Arc::new(move |delay| {
                kept.lock().unwrap_or_else(PoisonError::into_inner).push(delay);
                Box::pin(std::future::ready(()))
            }),
            chance: Arc::new(|| 1.0),
            ..Settings::default()
        };
        change(&mut settings);
        let target = Target { url: Some(server.url.clone()), ..Target::new(provider, model) };
        Setup { model: Remote::new(&target, settings).expect("a model"), delays, pieces: Arc::default() }
    }

    pub async fn ask(&self, request: Request) -> Result<Reply, ModelError> {
        self.model.reply(Arc::new(request), None).await
    }

    pub async fn ask_streaming(&self, request: Request) -> Result<Reply, ModelError> {
        let pieces = self.pieces.clone();
        let chunk: TextSink =
            Arc::new(move |text| pieces.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned()));
        self.model.reply(Arc::new(request), Some(chunk)).await
    }

    pub fn delays(&self) -> Vec<u128> {
        let delays = self.delays.lock().unwrap_or_else(PoisonError::into_inner);
        delays.iter().map(Duration::as_millis).collect()
    }

    pub fn pieces(&self) -> Vec<String> {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
