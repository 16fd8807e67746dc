//! The MCP endpoint: what a request is, which session it belongs to, and how `rmcp` gets it.
//!
//! A plain call in a session, without progress and questions, goes straight to the adapter: through the service of `rmcp` it
//! would be read and written twice, which costs more than a small program.

use std::sync::Arc;
use std::time::Instant;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use ptc_http::{Arrived, BodyError};
use rmcp::model::ErrorData;
use serde_json::{Value as Json, json};
use tokio_util::sync::CancellationToken;

use super::Http;
use super::dialogue;
use super::metrics::Counted;
use super::refusal::Refusal;
use super::sessions::{Agreed, HttpSession, NotBegun, SessionsFull};
use super::subscriptions::{LISTEN, Subscription};
use super::tokens::Identity;
use crate::engine::{Args, Caller, Transport};
use crate::options::LogLevel;
use crate::wire::adapter::{self, Arrival, Stop};
use crate::wire::echoed;
use crate::wire::incoming::{self, Message, MessageKind, STATELESS};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

impl Http {
    /// Answers a request at the MCP endpoint.
    pub(super) async fn answer(&self, request: Request, counted: &mut Counted) -> Result<Response, Refusal> {
        let identity = self.admit(counted.peer(), request.headers())?;
        match *request.method() {
            Method::POST => {
                let (mut parts, body) = request.into_parts();
                is_json(&parts.headers)?;
                let body = self.body(&identity, body).await?;
                let answer = counted.hold(&identity.owner, &self.bodies).map_err(|_| Refusal::CROWDED)?;
                parts.extensions.insert(answer);
                self.post(identity, parts, body.bytes, counted).await
            }
            Method::DELETE => self.delete(&identity, request.headers()),
            _ => Err(Refusal::METHOD),
        }
    }

    fn delete(&self, identity: &Identity, headers: &HeaderMap) -> Result<Response, Refusal> {
        let session = self.session(identity, headers)?;
        self.close(&session);
        // Clients warn of other codes: it is over, nothing of it is still to come.
        Ok(StatusCode::NO_CONTENT.into_response())
    }

    fn close(&self, session: &HttpSession) {
        if self.sessions.end(&session.id) {
            self.engine.close_owner(&session.id);
            self.log.write(LogLevel::Info, "http_session_closed", None, json!({"why": "client"}));
        }
    }

    fn session(&self, identity: &Identity, headers: &HeaderMap) -> Result<Arc<HttpSession>, Refusal> {
        let id = headers.get(SESSION).ok_or(Refusal::MISSING_SESSION)?;
        let id = id.to_str().map_err(|_| Refusal::NO_SESSION)?;
        self.sessions.find(id, &identity.owner, Instant::now()).ok_or(Refusal::NO_SESSION)
    }

    async fn post(
        &self,
        identity: Identity,
        parts: Parts,
        bytes: Bytes,
        counted: &mut Counted,
    ) -> Result<Response, Refusal> {
        if bytes.is_empty() {
            return Err(Refusal::EMPTY);
        }
        let message = match incoming::read(&bytes).and_then(echoed::bounded) {
            Ok(message) => message,
            Err(refused) => return Ok(ptc_http::Json(refused.reply()).into_response()),
        };
        if self.is_draining() {
            return Err(rpc(StatusCode::SERVICE_UNAVAILABLE, &message, "server draining"));
        }
        match message.method.as_str() {
            // What a program did cannot be told again.
            "tools/call" => counted.is_certain(),
            LISTEN => counted.rest(&identity.owner, self.subscribe(&identity, &message)?),
            _ => {}
        }
        let version = parts.headers.get(VERSION).and_then(|value| value.to_str().ok());
        if message.method == "initialize" {
            return self.initialize(identity, parts, message).await;
        }
        let stateless = message.own_version().is_some()
            || message.method == "server/discover"
            || version.is_some_and(|version| version >= STATELESS);
        match stateless {
            true => {
                let caller = caller(identity.owner.clone(), &identity);
                let body = handed_on(&message, bytes);
                Ok(self.hand_on(parts, body, caller, Stop::default(), None).await)
            }
            false => self.in_session(&identity, parts, message, bytes).await,
        }
    }

    fn subscribe(&self, identity: &Identity, message: &Message) -> Result<Subscription, Refusal> {
        let full = "too many subscriptions of this owner: end one, or start the server with more \
                    (--http-max-sessions-per-owner)";
        let opened = self.subscriptions.open(&identity.owner);
        opened.ok_or_else(|| rpc(StatusCode::TOO_MANY_REQUESTS, message, full))
    }

    /// Reads the body of a request that was admitted.
    pub(super) async fn body(&self, identity: &Identity, body: Body) -> Result<Arrived, Refusal> {
        self.bodies.read(&identity.owner, body).await.map_err(|error| match error {
            BodyError::TooSlow => Refusal::TOO_SLOW,
            BodyError::TooLarge => Refusal::TOO_LARGE,
            BodyError::Broken => Refusal::EMPTY,
            BodyError::Full => Refusal::FULL,
        })
    }

    async fn initialize(
        &self,
        identity: Identity,
        parts: Parts,
        message: Message,
    ) -> Result<Response, Refusal> {
        let MessageKind::Request(_) = message.kind else { return Err(Refusal::NEEDS_ID) };
        if parts.headers.contains_key(SESSION) {
            return Err(Refusal::UNWANTED_SESSION);
        }
        let agreed = Agreed { protocol: message.agreed(), forms: message.has_forms() };
        let session = self.sessions.open(&identity.owner, agreed).map_err(|full| match full {
            SessionsFull::Owner => {
                rpc(StatusCode::TOO_MANY_REQUESTS, &message, "session owner limit exceeded")
            }
            SessionsFull::Server => rpc(StatusCode::SERVICE_UNAVAILABLE, &message, "server saturated"),
        })?;
        if let Some(client) = message.client() {
            let _ = session.client.set(client);
        }
        let caller = caller(session.id.clone(), &identity);
        let body = Bytes::from(message.json.to_string());
        let response = self.hand_on(parts, body, caller, Stop::default(), None).await;
        let (mut parts, body) = response.into_parts();
        let bytes = body.collect().await.map(|collected| collected.to_bytes()).unwrap_or_default();
        let agreed = serde_json::from_slice::<Json>(&bytes).is_ok_and(|reply| reply.get("result").is_some());
        match HeaderValue::from_str(&session.id) {
            Ok(id) if agreed && parts.status.is_success() => {
                parts.headers.insert(SESSION, id);
                self.log.write(LogLevel::Info, "http_session_created", None, json!({"owner": session.owner}));
            }
            _ => {
                self.sessions.close(&session.id);
            }
        }
        Ok(Response::from_parts(parts, Body::from(bytes)))
    }

    async fn in_session(
        &self,
        identity: &Identity,
        mut parts: Parts,
        mut message: Message,
        sent: Bytes,
    ) -> Result<Response, Refusal> {
        let session = self.session(identity, &parts.headers)?;
        match parts.headers.get(VERSION) {
            // Clients that do not know the header mean this version, so naming it says as much as no header.
            Some(version) if version != session.agreed.protocol && version != "2025-03-26" => {
                return Err(Refusal::BAD_VERSION);
            }
            _ => parts.headers.insert(VERSION, HeaderValue::from_static(session.agreed.protocol)),
        };
        let MessageKind::Request(id) = &message.kind else {
            if let Some(id) = message.cancels() {
                session.cancel(&id);
            }
            if message.method == "exit" {
                self.close(&session);
            }
            if message.kind == MessageKind::Reply
                && let Some(reply) = session.reply(message.json)
                && let Some(shelf) = self.engine.shelf()
            {
                dialogue::pass_on(shelf, &session, &reply).await;
            }
            return Ok(StatusCode::ACCEPTED.into_response());
        };
        let most = usize::try_from(self.options.http_max_in_flight_per_session).unwrap_or(usize::MAX);
        let bound = (message.method == "tools/call").then_some(most);
        let (stop, under_way) = match session.begin(id, bound) {
            Ok(begun) => begun,
            Err(NotBegun::SameId) => {
                let text = "Invalid Request: id is already in flight";
                return Ok(ptc_http::Json(incoming::error(message.id(), -32600, text)).into_response());
            }
            Err(NotBegun::Busy) => {
                let result = adapter::result(self.engine.busy(most));
                let reply = json!({"jsonrpc": "2.0", "id": message.id(), "result": legacy(json!(result))});
                return Ok(ptc_http::Json(reply).into_response());
            }
        };
        let mut caller = caller(session.id.clone(), identity);
        caller.client = session.client.get().cloned();
        let asks = self.asks && session.agreed.forms && message.method == "tools/call";
        if asks && streams(&parts.headers) {
            let arrival = Arrival { asks, ..self.arrival(&parts, caller, stop, Some(Arc::new(under_way))) };
            parts.extensions.insert(arrival);
            let (adapter, shelf) = (self.adapter.clone(), self.engine.shelf());
            return Ok(dialogue::serve(adapter, shelf, &session, parts, message).await);
        }
        if let Some(call) = message.take_plain_call() {
            caller.protocol = Some(session.agreed.protocol.into());
            let arrival = self.arrival(&parts, caller, stop, Some(Arc::new(under_way)));
            return Ok(self.plain(arrival, message.id(), call).await);
        }
        let body = handed_on(&message, sent);
        Ok(self.hand_on(parts, body, caller, stop, Some(Arc::new(under_way))).await)
    }

    fn arrival(
        &self,
        parts: &Parts,
        caller: Caller,
        stop: Stop,
        held: Option<Arc<dyn Send + Sync + std::fmt::Debug>>,
    ) -> Arrival {
        let (streams, closing) = (streams(&parts.headers), self.closing.clone());
        Arrival { caller, stop, streams, bounded: true, asks: false, closing, _held: held }
    }

    /// Answers a call that wants no progress and asks nothing. `rmcp` would read the request and write the answer once
    /// more, and start a service in between: more work than the call itself.
    async fn plain(&self, arrival: Arrival, id: Json, call: (String, Args)) -> Response {
        let request_id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
        let (adapter, gone) = (self.adapter.clone(), CancellationToken::new());
        let cancel = gone.clone();
        // Whoever goes drops this future; the call ends by itself, as it does when it is cancelled.
        let _gone = gone.drop_guard();
        let called = tokio::spawn(async move { adapter.plain(arrival, request_id, call, cancel).await });
        let answer = called.await.unwrap_or_else(|_| Err(ErrorData::internal_error("Internal error", None)));
        match answer {
            Ok(result) => {
                ptc_http::Json(json!({"jsonrpc": "2.0", "id": id, "result": result})).into_response()
            }
            Err(error) => ptc_http::Json(json!({"jsonrpc": "2.0", "id": id, "error": error})).into_response(),
        }
    }

    /// Lets `rmcp` serve a request.
    async fn hand_on(
        &self,
        mut parts: Parts,
        body: Bytes,
        caller: Caller,
        stop: Stop,
        held: Option<Arc<dyn Send + Sync + std::fmt::Debug>>,
    ) -> Response {
        let arrival = self.arrival(&parts, caller, stop, held);
        parts.extensions.insert(arrival);
        parts.headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let request = Request::from_parts(parts, Body::from(body));
        self.mcp.handle(request).await.map(Body::new)
    }
}

/// A message for `rmcp`: as it was sent, unless something in it is not as it was.
fn handed_on(message: &Message, sent: Bytes) -> Bytes {
    match message.completed {
        true => Bytes::from(message.json.to_string()),
        false => sent,
    }
}

/// Who accepts no stream gets a plain answer, and nothing before it.
fn streams(headers: &HeaderMap) -> bool {
    let accepts = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    accepts.is_some_and(|accepts| accepts.contains("text/event-stream"))
}

/// The caller behind a connection.
pub(super) fn caller(owner: Arc<str>, identity: &Identity) -> Caller {
    let (principal, roles) = (identity.owner.clone(), identity.roles.clone());
    Caller { principal, roles, ..Caller::new(owner, Transport::Http) }
}

fn rpc(status: StatusCode, message: &Message, text: &str) -> Refusal {
    Refusal::rpc(status, message.id(), -32000, text)
}

/// Answers before 2026-07-28 have no type.
fn legacy(mut result: Json) -> Json {
    if let Some(fields) = result.as_object_mut() {
        fields.remove("resultType");
    }
    result
}

fn is_json(headers: &HeaderMap) -> Result<(), Refusal> {
    let Some(value) = headers.get(CONTENT_TYPE) else { return Ok(()) };
    let kind =
        value.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match kind == "application/json" || kind.ends_with("+json") {
        true => Ok(()),
        false => Err(Refusal::NOT_JSON),
    }
}
