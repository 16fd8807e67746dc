//! Connections whose peers have to take what waits for them. What a peer does not read stays in the memory of whoever
//! sends it; so one that takes nothing at all for a while, although something waits, is given up. A connection on which
//! nothing waits, as that of a stream without events, is not affected.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// A connection, and how long its peer may take nothing.
pub struct Patient<S> {
    stream: S,
    time: Duration,
    /// When it is given up; set while something waits.
    late: Option<Pin<Box<Sleep>>>,
}

impl<S> Patient<S> {
    pub fn new(stream: S, time: Duration) -> Patient<S> {
        Patient { stream, time, late: None }
    }

    /// Looks at what came of writing.
    fn watched<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.late = None;
            return written;
        }
        let time = self.time;
        let late = self.late.get_or_insert_with(|| Box::pin(sleep_until(Instant::now() + time)));
        late.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.watched(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.watched(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    const TIME: Duration = Duration::from_millis(100);

    #[tokio::test]
    async fn a_peer_that_takes_nothing_of_what_waits_is_given_up() {
        let (ours, mut peer) = tokio::io::duplex(4);
        let mut ours = Patient::new(ours, TIME);
        for _ in 0..2 {
            ours.write_all(b"0123").await.expect("there is room for it");
            assert!(ours.late.is_none(), "nothing waits, so no time runs");
            peer.read_exact(&mut [0; 4]).await.expect("it is there");
        }
        let written = ours.write_all(b"0123456789").await;
        assert_eq!(written.expect_err("nobody reads").kind(), io::ErrorKind::TimedOut);
    }
}
