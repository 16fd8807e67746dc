//! Accepting connections and serving them.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::{CONNECTION, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulConnection;
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tower_service::Service;

use super::connections::{Connections, Peer, Place};
use super::headers::repeated;
use super::patient::Patient;

/// Most bytes of a head, and with HTTP/1 of a piece of a body.
const HEAD_BYTES: u32 = 64 << 10;

/// Most bytes that the system keeps of what a peer has not taken yet, about. Left alone it would keep megabytes.
const SEND_BYTES: usize = 256 << 10;

/// How long to wait when the system cannot open another connection.
const PAUSE: Duration = Duration::from_millis(20);

/// What is spoken on the connections of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2 from the first byte on, as between servers that know each other.
    Http2,
}

impl Connections {
    /// Serves until `stop`, and then until the requests under way are answered. `failed` hears of connections that the
    /// system could not open.
    pub async fn serve(
        self: Arc<Self>,
        listener: TcpListener,
        protocol: Protocol,
        router: Router,
        stop: CancellationToken,
        failed: impl Fn(&io::Error),
    ) {
        let tasks = tokio_util::task::TaskTracker::new();
        // Connections have it from their listener. Without it, more is kept than is counted.
        if let Err(error) = SockRef::from(&listener).set_send_buffer_size(SEND_BYTES) {
            failed(&error);
        }
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
                        let time = self.bounds.head_time;
                        match protocol {
                            Protocol::Http1 => {
                                tasks.spawn(over_http1(stream, peer, place, time, router, stop))
                            }
                            Protocol::Http2 => {
                                tasks.spawn(over_http2(stream, peer, place, time, router, stop))
                            }
                        };
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
async fn over_http1(
    stream: TcpStream,
    peer: SocketAddr,
    place: Place,
    head_time: Duration,
    router: Router,
    stop: CancellationToken,
) {
    let _ = stream.set_nodelay(true);
    let from = place.peer(peer.ip());
    let service = hyper::service::service_fn(move |request| answer(request, from.clone(), router.clone()));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head_time)
        .max_buf_size(HEAD_BYTES as usize)
        .serve_connection(TokioIo::new(Patient::new(stream, head_time)), service);
    // The time of heads is also that of connections without requests.
    until_over(connection, &place, &stop, std::future::pending).await;
}

/// The same for a connection with many requests at a time. Where HTTP/1 waits for the next head, this waits for any
/// request: none may be under way for as long as a head may take. Peers that are gone do not answer pings.
async fn over_http2(
    stream: TcpStream,
    peer: SocketAddr,
    place: Place,
    head_time: Duration,
    router: Router,
    stop: CancellationToken,
) {
    let _ = stream.set_nodelay(true);
    let from = place.peer(peer.ip());
    let under_way = Arc::new(watch::Sender::new(0_usize));
    let idle = under_way.subscribe();
    let service = hyper::service::service_fn(move |request| {
        let begun = UnderWay::begin(&under_way);
        let answer = answer(request, from.clone(), router.clone());
        async move {
            answer.await.map(|response| response.map(|body| Body::new(Answering { body, _begun: begun })))
        }
    });
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_header_list_size(HEAD_BYTES)
        .keep_alive_interval(head_time)
        .keep_alive_timeout(head_time)
        .serve_connection(TokioIo::new(Patient::new(stream, head_time)), service);
    until_over(connection, &place, &stop, || without_requests(idle.clone(), head_time)).await;
}

/// Hands a request to the router.
async fn answer(
    request: hyper::Request<Incoming>,
    from: Peer,
    mut router: Router,
) -> Result<Response, Infallible> {
    if let Some(name) = repeated(request.headers()) {
        return Ok(refused(name));
    }
    let mut request = request.map(Body::new);
    request.extensions_mut().insert(from);
    router.call(request).await
}

/// Drives a connection until its end. One that is idle or whose server stops is asked to end, and is waited for while
/// it has requests.
async fn until_over<I: Future<Output = ()>>(
    connection: impl GracefulConnection,
    place: &Place,
    stop: &CancellationToken,
    idle: impl Fn() -> I,
) {
    tokio::pin!(connection);
    tokio::select! {
        // Clients that break off are no news.
        _ = connection.as_mut() => return,
        () = place.leave.cancelled() => return,
        () = idle() => {}
        () = stop.cancelled() => {}
    }
    connection.as_mut().graceful_shutdown();
    tokio::select! {
        _ = connection => {}
        () = place.leave.cancelled() => {}
        () = idle() => {}
    }
}

/// Ends when for so long no request was under way.
async fn without_requests(mut under_way: watch::Receiver<usize>, time: Duration) {
    while under_way.wait_for(|count| *count == 0).await.is_ok() {
        // A request that came and went meanwhile is a change too.
        match tokio::time::timeout(time, under_way.changed()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => return,
        }
    }
}

/// A request from its head to the end of its answer.
struct UnderWay(Arc<watch::Sender<usize>>);

impl UnderWay {
    fn begin(count: &Arc<watch::Sender<usize>>) -> UnderWay {
        count.send_modify(|count| *count += 1);
        UnderWay(count.clone())
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// The body of an answer, at whose end its request is no longer under way.
struct Answering {
    body: Body,
    _begun: UnderWay,
}

impl HttpBody for Answering {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
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

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::Notify;

    use super::*;
    use crate::Bounds;

    const HEAD_TIME: Duration = Duration::from_millis(200);

    /// A server of HTTP/2 that answers when it is told to.
    async fn server() -> (SocketAddr, Arc<Notify>) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = listener.local_addr().expect("its address");
        let answers = Arc::new(Notify::new());
        let told = answers.clone();
        let answer = move || async move { told.notified().await };
        let router = Router::new().route("/", get(answer));
        let bounds = Bounds { total: 8, per_address: 8, head_time: HEAD_TIME };
        let stop = CancellationToken::new();
        tokio::spawn(Connections::new(bounds).serve(listener, Protocol::Http2, router, stop, |_| ()));
        (address, answers)
    }

    /// Sends bytes and waits until the server closes.
    async fn sent(to: SocketAddr, bytes: &[u8]) {
        let mut stream = TcpStream::connect(to).await.expect("a connection");
        stream.write_all(bytes).await.expect("sent");
        let mut read = Vec::new();
        let closed = tokio::time::timeout(Duration::from_secs(60), stream.read_to_end(&mut read));
        // Whether it is closed in peace does not matter.
        let _ = closed.await.expect("it is closed");
    }

    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    /// `GET /` over http, without an end of its head.
    const HALF_HEAD: &[u8] = b"\0\0\x03\x01\x01\0\0\0\x01\x82\x84\x86";
    /// The same with it.
    const HEAD: &[u8] = b"\0\0\x03\x01\x05\0\0\0\x01\x82\x84\x86";

    #[tokio::test]
    async fn connections_of_http2_without_a_whole_request_are_closed() {
        let (server, _) = server().await;
        for bytes in [&b""[..], &PREFACE[..10], PREFACE, &[PREFACE, HALF_HEAD].concat()] {
            sent(server, bytes).await;
        }
    }

    #[tokio::test]
    async fn a_request_of_http2_has_the_time_that_its_answer_takes() {
        let (server, answers) = server().await;
        let mut stream = TcpStream::connect(server).await.expect("a connection");
        stream.write_all(&[PREFACE, HEAD].concat()).await.expect("sent");
        tokio::join!(answered(stream), async {
            // Whoever came later and sent less is closed, twice: the time of a head is over.
            sent(server, PREFACE).await;
            sent(server, PREFACE).await;
            answers.notify_one();
        });
    }

    /// Reads until there is an answer.
    async fn answered(mut stream: TcpStream) {
        const HEADERS: u8 = 1;
        const PING: u8 = 6;
        loop {
            let mut head = [0; 9];
            stream.read_exact(&mut head).await.expect("it is not closed before it answers");
            let mut body = vec![0; usize::from(head[1]) * 256 + usize::from(head[2])];
            stream.read_exact(&mut body).await.expect("a whole frame");
            match head[3] {
                HEADERS => return,
                // Whoever does not answer these is gone.
                PING if head[4] == 0 => {
                    head[4] = 1;
                    stream.write_all(&[&head[..], &body].concat()).await.expect("sent");
                }
                _ => {}
            }
        }
    }
}
