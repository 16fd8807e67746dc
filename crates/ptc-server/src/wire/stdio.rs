//! Stdio: one JSON message per line. A thread reads stdin, another writes stdout; between them `rmcp` answers. Answers
//! that fit at once are written without waking that thread.
//!
//! How it ends: `exit` and signals wait a moment for what is under way, the end of stdin does not.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::ClientJsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage, serve_directly_with_ct};
use serde_json::{Value as Json, json};
use tokio::sync::mpsc::{Receiver, Sender, UnboundedSender, channel, unbounded_channel};
use tokio_util::sync::CancellationToken;

use super::adapter::{Adapter, Arrival, Stop};
use super::echoed;
use super::frames::{Frame, Frames};
use super::identity::{LOCAL, random};
use super::incoming::{self, MessageKind, RefusedMessage, error};
use super::log::Log;
use super::outgoing::Outgoing;
use crate::engine::{Caller, Engine, Transport};
use crate::options::Options;

/// How long calls may go on after `exit`.
const GRACE: Duration = Duration::from_secs(2);

/// Requests that may wait for an answer at a time; one more is refused.
const MOST_WAITING: usize = 1024;

/// Why the server ends.
#[derive(Debug, PartialEq, Eq)]
enum ServerEnd {
    /// `exit`, or a signal.
    Asked,
    /// Nobody is there any more.
    Gone,
}

/// Requests without an answer, by id.
#[derive(Clone, Debug, Default)]
struct Waiting(Arc<Mutex<HashSet<String>>>);

impl Waiting {
    fn ids(&self) -> MutexGuard<'_, HashSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves the process that started this one, until it goes or says so.
pub async fn serve(engine: Arc<Engine>, options: &Options, log: Log) {
    // Before anything is answered: whoever has an answer may ask the process to stop.
    let signalled = super::http::signalled();
    let (queue, to_write) = channel::<Vec<u8>>(256);
    let lines = Lines { queue, out: Arc::default(), outgoing: Outgoing::new(engine.redactor().clone()) };
    let (messages, received) = channel::<Box<ClientJsonRpcMessage>>(256);
    let (ends, mut end) = unbounded_channel::<ServerEnd>();
    let waiting = Waiting::default();
    let silent = Arc::new(AtomicBool::new(false));
    {
        let (out, ends, silent) = (lines.out.clone(), ends.clone(), silent.clone());
        std::thread::spawn(move || write_lines(to_write, &out, &ends, &silent));
    }
    let reader = Reader { lines: lines.clone(), messages, ends: ends.clone(), waiting: waiting.clone() };
    let most = usize::try_from(options.max_frame_bytes).unwrap_or(usize::MAX);
    // Ends with the process: a read of stdin cannot be interrupted.
    std::thread::spawn(move || reader.run(most));

    let (stop, closing) = (CancellationToken::new(), CancellationToken::new());
    let arrival = Arrival {
        caller: Caller {
            // Whoever starts the server with a store may use what is in it.
            principal: LOCAL.into(),
            ..Caller::new(format!("stdio_{}", random::<12>()), Transport::Stdio)
        },
        stop: Stop::default(),
        streams: true,
        bounded: false,
        asks: true,
        closing: closing.clone(),
        _held: None,
    };
    let adapter = Adapter::new(engine.clone(), log.clone(), options, arrival);
    let pipe = Pipe { received, lines: lines.clone(), waiting: waiting.clone(), silent: silent.clone() };
    let running = serve_directly_with_ct(adapter, pipe, None, stop.clone());

    let why = tokio::select! {
        why = end.recv() => why.unwrap_or(ServerEnd::Gone),
        () = signalled => ServerEnd::Asked,
    };
    if why == ServerEnd::Asked {
        engine.drain();
        closing.cancel();
        answered(&waiting, &lines.out).await;
    }
    log.lifecycle("application_stop", json!({"asked": why == ServerEnd::Asked}));
    // Ending the calls under way answers them, and nobody is there any more.
    silent.store(why == ServerEnd::Gone, Ordering::Release);
    engine.shutdown().await;
    if why == ServerEnd::Asked {
        // Whoever asked may still read. The writer itself ends when stdin does, which whoever asked may keep open.
        answered(&waiting, &lines.out).await;
    }
    stop.cancel();
    drop(running);
}

/// Waits for a moment until every request has its answer, and every answer is written.
async fn answered(waiting: &Waiting, out: &Out) {
    let done = async {
        while !waiting.ids().is_empty() || out.waiting.load(Ordering::Acquire) > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let _ = tokio::time::timeout(GRACE, done).await;
}

/// The way to stdout.
#[derive(Clone)]
struct Lines {
    queue: Sender<Vec<u8>>,
    out: Arc<Out>,
    outgoing: Outgoing,
}

/// Stdout, and how many lines wait for it.
#[derive(Default)]
struct Out {
    waiting: AtomicUsize,
    writing: Mutex<()>,
}

/// A line of so many bytes fits a pipe that takes anything at all.
const ATOMIC: usize = 4096;

impl Lines {
    /// A message as it is written.
    fn line(&self, message: &impl serde::Serialize) -> Vec<u8> {
        let text = serde_json::to_string(message)
            .unwrap_or_else(|_| error(Json::Null, -32603, "Internal error").to_string());
        let mut line = self.outgoing.message(text).into_bytes();
        line.push(b'\n');
        line
    }

    /// Writes a line here and now, if it need not wait for others or for whoever reads.
    fn write_now(&self, line: &[u8]) -> bool {
        if line.len() > ATOMIC || self.out.waiting.load(Ordering::Acquire) > 0 {
            return false;
        }
        let Ok(_writing) = self.out.writing.try_lock() else { return false };
        takes_more() && write(line).is_ok()
    }

    /// Counts a line, then waits for room in the queue.
    fn send(self, line: Vec<u8>) -> impl Future<Output = Result<(), Closed>> + Send + 'static {
        self.out.waiting.fetch_add(1, Ordering::AcqRel);
        async move { self.queue.send(line).await.map_err(|_| Closed) }
    }

    fn blocking_send(&self, line: Vec<u8>) -> Result<(), Closed> {
        self.out.waiting.fetch_add(1, Ordering::AcqRel);
        self.queue.blocking_send(line).map_err(|_| Closed)
    }
}

fn write(line: &[u8]) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(line).and_then(|()| stdout.flush())
}

/// Whether stdout takes some bytes without anybody having to read first.
fn takes_more() -> bool {
    #[cfg(unix)]
    {
        use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
        use std::os::fd::AsFd;
        let stdout = std::io::stdout();
        let mut fds = [PollFd::new(stdout.as_fd(), PollFlags::POLLOUT)];
        let polled = poll(&mut fds, PollTimeout::ZERO);
        polled.is_ok() && fds[0].revents() == Some(PollFlags::POLLOUT)
    }
    #[cfg(not(unix))]
    false
}

fn write_lines(
    mut lines: Receiver<Vec<u8>>,
    out: &Out,
    ends: &UnboundedSender<ServerEnd>,
    silent: &AtomicBool,
) {
    while let Some(line) = lines.blocking_recv() {
        if silent.load(Ordering::Acquire) {
            return;
        }
        let writing = out.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let written = write(&line);
        drop(writing);
        out.waiting.fetch_sub(1, Ordering::AcqRel);
        if written.is_err() {
            let _ = ends.send(ServerEnd::Gone);
            return;
        }
    }
}

struct Reader {
    lines: Lines,
    messages: Sender<Box<ClientJsonRpcMessage>>,
    ends: UnboundedSender<ServerEnd>,
    waiting: Waiting,
}

impl Reader {
    fn run(self, most: usize) {
        let (mut frames, mut buffer) = (Frames::new(most), vec![0; 64 << 10]);
        let mut stdin = std::io::stdin().lock();
        loop {
            match stdin.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    let mut going = true;
                    frames.push(&buffer[..count], |frame| going = going && self.frame(frame));
                    if !going {
                        return;
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        let _ = self.ends.send(ServerEnd::Gone);
    }

    /// Hands a frame on, or answers it; false when nothing more is to be read.
    fn frame(&self, frame: Frame) -> bool {
        let message = match frame {
            Frame::TooLong(id) => Err(RefusedMessage::too_long(id)),
            Frame::Line(line) => incoming::read(&line).and_then(echoed::bounded),
        };
        let message = match message {
            Ok(message) => message,
            Err(refused) => return self.answer(&refused.reply()),
        };
        match &message.kind {
            // An answer to a question of ours, if it fits one.
            MessageKind::Reply => {}
            MessageKind::Notification if message.method == "exit" => {
                let _ = self.ends.send(ServerEnd::Asked);
                return false;
            }
            MessageKind::Notification => {
                if let Some(id) = message.cancels() {
                    self.waiting.ids().remove(&id);
                }
            }
            MessageKind::Request(id) => {
                let mut waiting = self.waiting.ids();
                if waiting.contains(id) {
                    drop(waiting);
                    let text = format!("Invalid Request: id {} is already in flight", cut(id));
                    return self.answer(&error(message.id(), -32600, &text));
                }
                if waiting.len() >= MOST_WAITING {
                    drop(waiting);
                    return self.answer(&error(
                        message.id(),
                        -32000,
                        "server busy: too many requests wait for answers",
                    ));
                }
                waiting.insert(id.clone());
            }
        }
        let (id, kind) = (message.id(), message.kind);
        match serde_json::from_value::<ClientJsonRpcMessage>(message.json) {
            Ok(message) => self.messages.blocking_send(Box::new(message)).is_ok(),
            Err(_) => match kind {
                MessageKind::Request(key) => {
                    self.waiting.ids().remove(&key);
                    self.answer(&error(id, -32602, "Invalid params"))
                }
                _ => true,
            },
        }
    }

    fn answer(&self, reply: &Json) -> bool {
        self.lines.blocking_send(self.lines.line(reply)).is_ok()
    }
}

fn cut(id: &str) -> &str {
    id.char_indices().nth(64).map_or(id, |(end, _)| &id[..end])
}

/// What `rmcp` sees of stdin and stdout.
struct Pipe {
    received: Receiver<Box<ClientJsonRpcMessage>>,
    lines: Lines,
    waiting: Waiting,
    silent: Arc<AtomicBool>,
}

/// Nobody reads stdout any more.
#[derive(Debug, thiserror::Error)]
#[error("stdout is closed")]
struct Closed;

impl rmcp::transport::Transport<RoleServer> for Pipe {
    type Error = Closed;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Closed>> + Send + 'static {
        let answered = match &item {
            TxJsonRpcMessage::<RoleServer>::Response(response) => serde_json::to_string(&response.id).ok(),
            TxJsonRpcMessage::<RoleServer>::Error(error) => serde_json::to_string(&error.id).ok(),
            _ => None,
        };
        let (line, lines) = (self.lines.line(&item), self.lines.clone());
        // Before the answer is out: whoever reads it may use the id again. Whoever waits for all answers sees it among the
        // ids, or among the lines.
        let mut ids = self.waiting.ids();
        if let Some(id) = answered {
            ids.remove(&id);
        }
        let written = !self.silent.load(Ordering::Acquire) && lines.write_now(&line);
        let sending = (!written).then(|| lines.send(line));
        drop(ids);
        async move {
            match sending {
                None => Ok(()),
                Some(sending) => sending.await,
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        match self.received.recv().await {
            Some(message) => Some(*message),
            // How the server ends is decided outside.
            None => std::future::pending().await,
        }
    }

    async fn close(&mut self) -> Result<(), Closed> {
        Ok(())
    }
}
