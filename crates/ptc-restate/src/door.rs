//! The door of a worker. Connections are bounded as at the other servers here (`ptc-http`). The SDK looks at the
//! signature of a request before it reads the body; of that, what a workflow begins with (its inputs, and the entries
//! of its journal) has a bound and a time limit. Only then a request holds its connection.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Extension, Request};
use axum::response::Response;
use axum::{Error, Router};
use http_body::Frame;
use ptc_http::{Bodies, Bounds, Connections, Hold, Opening, Peer, Protocol};
use restate_sdk::endpoint::Endpoint;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Who connects, and for how long a connection may have no request. Restate sends many requests over a few
/// connections, and opens another when one was closed.
const BOUNDS: Bounds = Bounds { total: 512, per_address: 256, head_time: Duration::from_secs(30) };

/// Bytes of what a workflow begins with. An entry has 32 MiB unless the server is told otherwise, and a mission that
/// goes on begins with all of its entries.
const OPENING_BYTES: usize = 256 << 20;

/// Time for it to arrive.
const OPENING_TIME: Duration = Duration::from_secs(60);

/// Bytes of all openings that arrive at a time.
const OPENINGS_BYTES: usize = 2 * OPENING_BYTES;

/// How long requests under way are waited for when the worker stops.
const GRACE: Duration = Duration::from_secs(10);

tokio::task_local! {
    /// The request whose workflow is polled. The SDK tells a workflow nothing of its connection.
    static ARRIVING: Arc<Arriving>;
}

/// A request that was admitted.
struct Arriving {
    peer: Peer,
    opening: Opening,
    hold: Mutex<Option<Hold>>,
}

/// Tells that the workflow which is polled has everything that it begins with.
pub(crate) fn arrived() {
    // Outside of a worker, as in tests, there is no request.
    let _ = ARRIVING.try_with(|arriving| {
        arriving.opening.arrived();
        *arriving.hold.lock().unwrap_or_else(PoisonError::into_inner) = Some(arriving.peer.hold());
    });
}

/// Serves an endpoint until told to stop, and then for as long as requests are under way, but not much longer.
pub(crate) async fn serve(endpoint: Endpoint, listener: TcpListener, stop: impl Future) {
    let stopping = CancellationToken::new();
    let bodies = Bodies::new(OPENING_BYTES, OPENING_TIME, OPENINGS_BYTES);
    let answer = move |Extension(peer): Extension<Peer>, request: Request| {
        std::future::ready(answer(&endpoint, &bodies, peer, request))
    };
    // Whoever looks whether it lives signs nothing, and learns nothing else.
    let alive = axum::routing::get(|| std::future::ready(()));
    let router = Router::new().route("/health", alive).fallback(answer);
    let serving = Connections::new(BOUNDS).serve(listener, Protocol::Http2, router, stopping.clone(), |_| ());
    let stopped = async {
        stop.await;
        stopping.cancel();
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        () = serving => {}
        () = stopped => {}
    }
}

/// Answers a request. The SDK answers at once what it refuses; else the workflow runs while its answer is read.
fn answer(endpoint: &Endpoint, bodies: &Bodies, peer: Peer, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let owner = peer.address.to_string().into();
    let (body, opening) = bodies.opening(&owner, body);
    let arriving = Arc::new(Arriving { peer, opening, hold: Mutex::default() });
    let response = endpoint.handle(Request::from_parts(head, body));
    response.map(|body| Body::new(Answer { body: Body::new(body), arriving }))
}

/// The answer of the SDK, which knows the request that it belongs to while it is polled.
struct Answer {
    body: Body,
    arriving: Arc<Arriving>,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = &mut *self;
        ARRIVING.sync_scope(this.arriving.clone(), || Pin::new(&mut this.body).poll_frame(cx))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.body.size_hint()
    }
}
