//! Requests whose bodies go on while they are answered, as in protocols that use both directions of an HTTP/2 stream.
//! Only what such a request begins with has a bound and a time limit: how long the rest goes on, and how much comes, is
//! agreed on by both sides.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use axum::Error;
use axum::body::{Body, Bytes, HttpBody};
use hyper::body::Frame;
use tokio::time::{Instant, Sleep, sleep_until};

use super::body::{Bodies, BodyError};
use super::room::Share;

/// Tells that what a request begins with has arrived.
#[derive(Clone, Debug, Default)]
pub struct Opening(Arc<AtomicBool>);

impl Opening {
    /// It has arrived: what comes from now on has neither a bound nor a time limit.
    pub fn arrived(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn has_arrived(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl Bodies {
    /// The body of a request that was admitted, for whoever reads it as it comes. Until that reader says that the
    /// opening has arrived, the body has the bound, the time limit and the share of the room that other bodies have.
    pub fn opening(&self, owner: &Arc<str>, body: Body) -> (Body, Opening) {
        let opening = Opening::default();
        let arriving = Arriving {
            share: self.share(owner),
            most: self.most,
            bytes: 0,
            late: Box::pin(sleep_until(Instant::now() + self.time)),
        };
        let body = Watched { body, opening: opening.clone(), arriving: Some(arriving) };
        (Body::new(body), opening)
    }
}

/// A body, and what it counts for until its opening has arrived.
struct Watched {
    body: Body,
    opening: Opening,
    arriving: Option<Arriving>,
}

struct Arriving {
    share: Share,
    most: usize,
    bytes: usize,
    late: Pin<Box<Sleep>>,
}

impl Arriving {
    /// Counts bytes that came.
    fn count(&mut self, more: usize) -> Result<(), BodyError> {
        self.bytes = self.bytes.saturating_add(more);
        match self.bytes > self.most {
            true => Err(BodyError::TooLarge),
            false => Ok(self.share.grow(self.bytes)?),
        }
    }
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = &mut *self;
        if this.opening.has_arrived() {
            this.arriving = None;
        }
        let Some(arriving) = &mut this.arriving else { return Pin::new(&mut this.body).poll_frame(cx) };
        if arriving.late.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Some(Err(Error::new(BodyError::TooSlow))));
        }
        let frame = ready!(Pin::new(&mut this.body).poll_frame(cx));
        let came = frame.as_ref().and_then(|frame| frame.as_ref().ok()).and_then(Frame::data_ref);
        match came.map_or(Ok(()), |data| arriving.count(data.len())) {
            Ok(()) => Poll::Ready(frame),
            Err(error) => Poll::Ready(Some(Err(Error::new(error)))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http_body_util::BodyExt as _;
    use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

    use super::*;
    use crate::room::Full;

    const TIME: Duration = Duration::from_millis(100);
    const LONG: Duration = Duration::from_secs(3600);

    /// A body that is sent piece by piece.
    fn sent(bodies: &Bodies) -> (UnboundedSender<Bytes>, Body, Opening) {
        let (sender, mut pieces) = unbounded_channel();
        let stream = futures_util::stream::poll_fn(move |cx| {
            pieces.poll_recv(cx).map(|piece: Option<Bytes>| piece.map(Ok::<_, std::io::Error>))
        });
        let (body, opening) = bodies.opening(&"restate".into(), Body::from_stream(stream));
        (sender, body, opening)
    }

    fn piece(bytes: usize) -> Bytes {
        vec![b'x'; bytes].into()
    }

    /// What the next piece is: its length, or why there is none.
    async fn next(body: &mut Body) -> Result<usize, String> {
        let frame = body.frame().await.expect("it goes on");
        let frame = frame.map_err(|error| error.to_string())?;
        Ok(frame.data_ref().expect("data").len())
    }

    #[tokio::test]
    async fn an_opening_has_a_bound_and_what_follows_has_none() {
        let bodies = Bodies::new(100, TIME, 0);
        let (sender, mut body, opening) = sent(&bodies);
        let (_late, mut late, _) = sent(&bodies);
        opening.arrived();
        assert_eq!(next(&mut late).await, Err(BodyError::TooSlow.to_string()), "the time of both is over");
        sender.send(piece(1_000)).expect("it is read");
        assert_eq!(next(&mut body).await, Ok(1_000));

        let (sender, mut body, _opening) = sent(&Bodies::new(100, LONG, 0));
        sender.send(piece(60)).expect("it is read");
        sender.send(piece(41)).expect("it is read");
        assert_eq!(next(&mut body).await, Ok(60));
        assert_eq!(next(&mut body).await, Err(BodyError::TooLarge.to_string()));
    }

    #[tokio::test]
    async fn an_opening_that_does_not_arrive_is_given_up() {
        let (_sender, mut body, _opening) = sent(&Bodies::new(100, TIME, 0));
        assert_eq!(next(&mut body).await, Err(BodyError::TooSlow.to_string()));
    }

    #[tokio::test]
    async fn openings_share_the_room_and_give_it_back_when_they_have_arrived() {
        // Of a body, 64 KiB need no room.
        let bodies = Bodies::new((64 << 10) + 100, LONG, 0);
        let whole = (64 << 10) + 100;
        let (first, mut first_body, first_opening) = sent(&bodies);
        first.send(piece(whole)).expect("it is read");
        assert_eq!(next(&mut first_body).await, Ok(whole));
        let taken = |bodies: &Bodies| bodies.share(&"restate".into()).grow((64 << 10) + whole);
        assert_eq!(taken(&bodies), Err(Full), "the first has taken of it");
        first_opening.arrived();
        first.send(piece(1)).expect("it is read");
        assert_eq!(next(&mut first_body).await, Ok(1));
        assert_eq!(taken(&bodies), Ok(()));
    }
}
