//! Messages as lines over the standard streams of a child.

use std::collections::VecDeque;
use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::backpressure::Backpressure;
use super::inbox::Inbox;
use super::lines::{Line, Lines};
use super::process::{Pipes, Process, Words};

/// What the pipe is read through at once.
const BUFFER: usize = 64 * 1024;

/// One connection over pipes.
pub struct StdioTransport {
    /// Empty once dropped.
    lines: Option<Lines<BufReader<ChildStdout>>>,
    /// Locked for one message at a time; empty once closed.
    stdin: Arc<Mutex<Option<ChildStdin>>>,
    inbox: Arc<Inbox>,
    cap: usize,
    ready: VecDeque<ServerJsonRpcMessage>,
    answers: Backpressure,
    gone: CancellationToken,
    /// What it prints among its messages.
    asides: Arc<Words>,
    /// Cancelled when all that it printed has been read.
    drained: CancellationToken,
}

impl StdioTransport {
    /// Speaks through `pipes` until the process is gone; lines have at most `cap` bytes.
    pub fn new(pipes: Pipes, inbox: Arc<Inbox>, cap: usize, process: &Process) -> Self {
        StdioTransport {
            lines: Some(Lines::new(BufReader::with_capacity(BUFFER, pipes.stdout), cap)),
            stdin: Arc::new(Mutex::new(Some(pipes.stdin))),
            inbox,
            cap,
            ready: VecDeque::new(),
            answers: Backpressure::new(),
            gone: process.gone.clone(),
            asides: process.asides.clone(),
            drained: process.drained.clone(),
        }
    }

    fn take_in(&mut self, line: Line) {
        match line {
            Line::Whole(text) if text.iter().all(u8::is_ascii_whitespace) => {}
            Line::Whole(text) => match self.inbox.accept(&text) {
                Ok(messages) if messages.is_empty() => self.asides.keep(&text),
                Ok(messages) => self.ready.extend(messages),
                // Servers print all kinds of things; only what says that it is an answer is taken for one.
                Err(_) => match self.inbox.fail_broken(&text) {
                    Some(failure) => self.ready.push_back(failure),
                    None => self.asides.keep(&text),
                },
            },
            Line::TooLong { bytes, id } => self.ready.extend(self.inbox.fail_too_large(id, bytes, self.cap)),
        }
    }
}

impl Transport<RoleClient> for StdioTransport {
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inbox.expect(&message);
        let text = serde_json::to_vec(&message);
        let (stdin, counted) = (self.stdin.clone(), self.answers.count(&message));
        async move {
            let _counted = counted;
            let mut text = text?;
            text.push(b'\n');
            let mut stdin = stdin.lock().await;
            let pipe = stdin.as_mut().ok_or(std::io::ErrorKind::BrokenPipe)?;
            pipe.write_all(&text).await?;
            pipe.flush().await
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let lines = self.lines.as_mut()?;
            let line = tokio::select! {
                biased;
                () = self.answers.room(), if !self.ready.is_empty() => return self.ready.pop_front(),
                line = lines.next(), if self.ready.is_empty() => line.ok()??,
                () = self.gone.cancelled() => return None,
            };
            self.take_in(line);
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.stdin.lock().await.take();
        Ok(())
    }
}

/// A server that exits at once may have printed why before anything could be sent to it: nobody asks for messages then.
impl Drop for StdioTransport {
    fn drop(&mut self) {
        let (gone, drained) = (self.gone.clone(), self.drained.clone());
        let (Some(lines), Ok(runtime)) = (self.lines.take(), tokio::runtime::Handle::try_current()) else {
            return drained.cancel();
        };
        runtime.spawn(keep_rest(lines, self.asides.clone(), gone, drained));
    }
}

/// Keeps what else a child prints that is no message, until it is gone.
async fn keep_rest(
    mut lines: Lines<BufReader<ChildStdout>>,
    asides: Arc<Words>,
    gone: CancellationToken,
    drained: CancellationToken,
) {
    let keep = |text: &[u8]| {
        if !text.trim_ascii_start().starts_with(b"{") {
            asides.keep(text);
        }
    };
    loop {
        let line = tokio::select! {
            biased;
            line = lines.next() => line.ok().flatten(),
            () = gone.cancelled() => None,
        };
        match line {
            Some(Line::Whole(text)) => keep(&text),
            Some(Line::TooLong { .. }) => {}
            None => break,
        }
    }
    // Programs that die need not end their last line.
    lines.rest().iter().for_each(|text| keep(text));
    drained.cancel();
}
