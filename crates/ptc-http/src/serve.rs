//! Accepting connections and serving them.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::header::{CONNECTION, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tower_service::Service;

use super::connections::{Connections, Hold, Place};
use super::headers::repeated;

/// Most bytes of a head, and of a piece of a body.
const HEAD_BYTES: usize = 64 << 10;

/// How long to wait when the system cannot open another connection.
const PAUSE: Duration = Duration::from_millis(20);

/// Where a request came from; every request carries it as an extension.
#[derive(Clone, Debug)]
pub struct Peer {
    /// The address at the other end of the connection.
    pub address: IpAddr,
    held: Arc<AtomicUsize>,
}

impl Peer {
    /// Keeps the connection from making room for others, for a request that was admitted and has arrived.
    pub fn hold(&self) -> Hold {
        Hold::of(&self.held)
    }
}

impl Connections {
    /// Serves until `stop`, and then until the requests under way are answered. `failed` hears of connections that the
    /// system could not open.
    pub async fn serve(
        self: Arc<Self>,
        listener: TcpListener,
        router: Router,
        stop: CancellationToken,
        failed: impl Fn(&io::Error),
    ) {
        let tasks = tokio_util::task::TaskTracker::new();
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = stop.cancelled() => break,
            };
            match accepted {
                // A connection without a place is closed at once.
                Ok((stream, peer)) => {
                    if let Some(place) = self.enter(peer.ip()) {
                        let (router, stop) = (router.clone(), stop.clone());
                        tasks.spawn(connection(stream, peer, place, self.bounds.head_time, router, stop));
                    }
                }
                // Out of file handles, or the client left at once: neither ends the server.
                Err(error) => {
                    failed(&error);
                    self.make_room();
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
        tasks.close();
        tasks.wait().await;
    }
}

/// Serves one connection until it ends, makes room, or the server stops.
async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    place: Place,
    head_time: Duration,
    router: Router,
    stop: CancellationToken,
) {
    let _ = stream.set_nodelay(true);
    let from = Peer { address: peer.ip(), held: place.held.clone() };
    let service = hyper::service::service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let (from, mut router) = (from.clone(), router.clone());
        async move {
            if let Some(name) = repeated(request.headers()) {
                return Ok::<Response, Infallible>(refused(name));
            }
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(from);
            router.call(request).await
        }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head_time)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    tokio::select! {
        // Clients that break off are no news.
        _ = connection.as_mut() => return,
        () = place.leave.cancelled() => return,
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// The answer to a request with two of a header.
fn refused(name: &str) -> Response {
    let body = format!(r#"{{"error":"the header {name} is sent more than once"}}"#);
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    response
}
