//! The server over Streamable HTTP. It prints its port, and ends when its standard input does. Answers are JSON
//! where one message is all there is, and event streams otherwise or with `--sse`.

use std::io::Read as _;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value as Json, json};
use tokio::sync::{broadcast, mpsc};

use crate::faults::{Out, Server, subscription, token, written};
use crate::print;

/// What requests share beside the server.
#[derive(Clone)]
struct Shared {
    server: Server,
    /// Messages beside answers.
    aside: broadcast::Sender<Json>,
    /// The answer that can be asked for by the id of the event before it.
    later: Arc<Mutex<Option<Json>>>,
}

type Events = mpsc::Sender<Result<Bytes, std::io::Error>>;

pub fn run(server: Server) {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let port = server.value("--port").unwrap_or("0");
        let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await.expect("a port");
        print(&listener.local_addr().expect("it is bound").port().to_string());
        let shared = Shared { server, aside: broadcast::Sender::new(64), later: Arc::default() };
        let routes = post(posted).get(asked).delete(deleted);
        let app = Router::new().route("/mcp", routes).with_state(shared);
        axum::serve(listener, app).await.expect("it serves");
    });
}

fn header<'h>(headers: &'h HeaderMap, name: &str) -> &'h str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn is_welcome(shared: &Shared, headers: &HeaderMap) -> bool {
    !shared.server.has("--auth") || header(headers, "authorization") == format!("Bearer {}", token())
}

/// What whoever is not welcome is told.
fn stranger(shared: &Shared) -> Response {
    let challenge = match shared.server.has("--oauth") {
        true => "Bearer resource_metadata=\"https://example.com/.well-known/oauth-protected-resource\"",
        false => "Bearer",
    };
    (StatusCode::UNAUTHORIZED, [("www-authenticate", challenge)]).into_response()
}

/// Whether the request belongs to a session that is open.
fn in_session(shared: &Shared, headers: &HeaderMap) -> bool {
    let stateless = shared.server.has("--modern") || shared.server.has("--stateless");
    stateless
        || shared.server.0.sessions.lock().expect("no panics").contains(header(headers, "mcp-session-id"))
}

fn no_session(shared: &Shared) -> Response {
    match shared.server.has("--session-400") {
        true => {
            let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": "No valid session ID provided"}});
            (StatusCode::BAD_REQUEST, error.to_string()).into_response()
        }
        false => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn posted(State(shared): State<Shared>, headers: HeaderMap, body: Bytes) -> Response {
    if let Some(code) = shared.server.value("--status").and_then(|code| code.parse().ok()) {
        return refused(code);
    }
    if !is_welcome(&shared, &headers) {
        return stranger(&shared);
    }
    let Ok(message) = serde_json::from_slice::<Json>(&body) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    *shared.server.0.headers.lock().expect("no panics") =
        (header(&headers, "mcp-protocol-version").to_owned(), header(&headers, "x-tenant").to_owned());
    let method = message["method"].as_str().unwrap_or_default();
    let greets = matches!(method, "initialize" | "server/discover");
    if !greets && !in_session(&shared, &headers) {
        return no_session(&shared);
    }
    if method == "server/discover" && !shared.server.has("--modern") {
        return StatusCode::BAD_REQUEST.into_response();
    }
    let outs = shared.server.hear(&message);
    if message["id"].is_null() || method.is_empty() {
        return StatusCode::ACCEPTED.into_response();
    }
    if shared.server.has("--silent") {
        std::future::pending::<()>().await;
    }
    match outs.first() {
        Some(Out::Status(code)) => return refused(*code),
        Some(Out::Type(kind)) => return typed(kind, "<p>Hello!</p>".to_owned()),
        _ => {}
    }
    if method == "subscriptions/listen" {
        return listened(&shared, &message["id"], outs);
    }
    let mut response = answered(&shared, &message["id"], outs).await;
    if method == "initialize" && !shared.server.has("--stateless") {
        let session = format!("session-{}", shared.server.0.begun.fetch_add(1, Ordering::Relaxed));
        shared.server.0.sessions.lock().expect("no panics").insert(session.clone());
        response.headers_mut().insert("mcp-session-id", session.parse().expect("a header"));
    }
    response
}

/// A refusal that says more than it should.
fn refused(code: u16) -> Response {
    let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": format!("refused {}", token())}});
    let status = StatusCode::from_u16(code).unwrap_or_default();
    (status, [("location", "/elsewhere")], error.to_string()).into_response()
}

/// Notes that a request was given up, unless its answer was sent.
struct Watch(Server, Option<i64>);

impl Watch {
    fn done(&mut self) {
        self.1 = None;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.0.cancelled.lock().expect("no panics").extend(self.1);
    }
}

async fn answered(shared: &Shared, id: &Json, outs: Vec<Out>) -> Response {
    let mut watch = Watch(shared.server.clone(), id.as_i64());
    let messages = outs.iter().filter(|out| matches!(out, Out::Message(_) | Out::Raw(_))).count();
    let others = outs.iter().filter(|out| matches!(out, Out::Wait(_) | Out::Aside(_))).count();
    let plain = !shared.server.has("--sse") && messages == 1 && messages + others == outs.len();
    if !plain {
        let (send, response) = stream();
        let shared = shared.clone();
        tokio::spawn(async move {
            if tell(&shared, &send, outs).await.is_ok() {
                watch.done();
            }
        });
        return response;
    }
    let mut response = StatusCode::INTERNAL_SERVER_ERROR.into_response();
    for out in outs {
        match out {
            Out::Message(message) => response = typed("application/json", written(message)),
            Out::Raw(text) => response = typed("application/json", text),
            Out::Wait(time) => tokio::time::sleep(time).await,
            Out::Aside(message) => drop(shared.aside.send(message)),
            _ => {}
        }
    }
    watch.done();
    response
}

fn typed(kind: &str, text: String) -> Response {
    ([("content-type", kind.to_owned())], text).into_response()
}

/// A response whose events come from elsewhere.
fn stream() -> (Events, Response) {
    let (send, mut receive) = mpsc::channel(64);
    let events = futures_util::stream::poll_fn(move |context| receive.poll_recv(context));
    (send, ([("content-type", "text/event-stream")], Body::from_stream(events)).into_response())
}

/// Nobody listens any more.
struct Gone;

async fn tell(shared: &Shared, send: &Events, outs: Vec<Out>) -> Result<(), Gone> {
    for out in outs {
        let text = match out {
            Out::Message(message) => format!("data: {}\n\n", written(message)),
            Out::Raw(text) if text.is_empty() => return Ok(()),
            Out::Raw(text) => format!("data: {text}\n\n"),
            Out::Aside(message) => {
                let _ = shared.aside.send(message);
                continue;
            }
            Out::Wait(time) => {
                tokio::select! {
                    () = tokio::time::sleep(time) => continue,
                    () = send.closed() => return Err(Gone),
                }
            }
            Out::Cut => {
                let half = Bytes::from_static(b"data: {\"jsonrpc\":\"2.0\",\"id\":");
                let _ = send.send(Ok(half)).await;
                tokio::time::sleep(Duration::from_millis(20)).await;
                let _ = send.send(Err(std::io::Error::other("cut"))).await;
                return Ok(());
            }
            Out::Later(message) => {
                *shared.later.lock().expect("no panics") = Some(message);
                let _ = send.send(Ok(Bytes::from_static(b"id: before\nretry: 10\ndata:\n\n"))).await;
                return Ok(());
            }
            Out::Crash => std::process::exit(7),
            Out::Status(_) | Out::Type(_) => continue,
        };
        send.send(Ok(text.into())).await.map_err(|_| Gone)?;
    }
    Ok(())
}

/// The stream of a subscription of the newest protocol.
fn listened(shared: &Shared, id: &Json, outs: Vec<Out>) -> Response {
    let meta = subscription(id);
    let first = outs.into_iter().filter_map(|out| match out {
        Out::Message(message) => Some(message),
        _ => None,
    });
    asides(shared, first.collect(), move |mut message| {
        message["params"]["_meta"] = meta.clone();
        message
    })
}

/// A stream of the messages beside answers, after `first`.
fn asides(shared: &Shared, first: Vec<Json>, dress: impl Fn(Json) -> Json + Send + 'static) -> Response {
    let (send, response) = stream();
    let mut aside = shared.aside.subscribe();
    tokio::spawn(async move {
        let event = |message| Ok(Bytes::from(format!("data: {}\n\n", written(message))));
        for message in first {
            let _ = send.send(event(message)).await;
        }
        while let Ok(message) = aside.recv().await {
            if send.send(event(dress(message))).await.is_err() {
                break;
            }
        }
    });
    response
}

/// The stream for messages beside answers, or the answer after an event.
async fn asked(State(shared): State<Shared>, headers: HeaderMap) -> Response {
    if shared.server.has("--no-stream") {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    if !is_welcome(&shared, &headers) {
        return stranger(&shared);
    }
    if !in_session(&shared, &headers) {
        return no_session(&shared);
    }
    if header(&headers, "last-event-id") == "before"
        && let Some(message) = shared.later.lock().expect("no panics").take()
    {
        return typed("text/event-stream", format!("id: after\ndata: {}\n\n", written(message)));
    }
    asides(&shared, Vec::new(), |message| message)
}

async fn deleted(State(shared): State<Shared>, headers: HeaderMap) -> Response {
    let known =
        shared.server.0.sessions.lock().expect("no panics").remove(header(&headers, "mcp-session-id"));
    if known {
        shared.server.0.ended.fetch_add(1, Ordering::Relaxed);
    }
    StatusCode::NO_CONTENT.into_response()
}
