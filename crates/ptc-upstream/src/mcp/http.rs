//! Requests of Streamable HTTP. rmcp has the sessions and streams; here every answer is measured before it is
//! decoded, every status becomes a reason, and credentials are added at the last moment.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::stream::{self, BoxStream, StreamExt as _};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Response, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::transport::common::client_side_sse::SseRetryPolicy;
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;
use tokio_util::sync::CancellationToken;

use super::inbox::{Inbox, Slot, number, unreadable};
use super::sse::{Events, TooLarge};
use crate::model::{Fault, Reason};
use crate::wire;

const SESSION: &str = "mcp-session-id";
const EITHER: &str = "application/json, text/event-stream";

/// How much of the body of a refusal is looked at.
const REFUSAL_BYTES: usize = 64 * 1024;

/// A fault on its way through rmcp.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct HttpFault(Fault);

type Failed = StreamableHttpError<HttpFault>;
type Stream = BoxStream<'static, Result<Sse, SseError>>;

/// The HTTP side of one connection.
#[derive(Clone)]
pub struct HttpClient {
    client: reqwest::Client,
    /// Literal and secret headers; nothing else holds them.
    headers: HeaderMap,
    inbox: Arc<Inbox>,
    cap: usize,
    last: Arc<Mutex<Option<Fault>>>,
    /// Cancelled when the server answers as if hands had never been shaken.
    doubt: CancellationToken,
}

/// Why an exchange gave nothing.
enum Refused {
    Fault(Fault),
    /// The server does not know our session any more; rmcp begins a new one.
    Expired,
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        Refused::Fault(fault)
    }
}

impl HttpClient {
    /// Sends `headers` with every request; answers without a slot have at most `cap` bytes.
    pub fn new(client: reqwest::Client, headers: HeaderMap, inbox: Arc<Inbox>, cap: usize) -> Self {
        HttpClient { client, headers, inbox, cap, last: Arc::default(), doubt: CancellationToken::new() }
    }

    /// Cancelled when the server answers as if hands had never been shaken: there may be another one in its
    /// place.
    pub fn doubt(&self) -> CancellationToken {
        self.doubt.clone()
    }

    /// Why the last request failed, if it did: handshakes have no slot to say it.
    pub fn last_fault(&self) -> Option<Fault> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn request(
        &self,
        method: reqwest::Method,
        uri: &str,
        session: Option<Arc<str>>,
        extra: HashMap<HeaderName, HeaderValue>,
    ) -> reqwest::RequestBuilder {
        let mut headers = self.headers.clone();
        headers.extend(extra.into_iter().map(|(name, value)| (Some(name), value)));
        if let Some(value) = session.and_then(|session| HeaderValue::from_str(&session).ok()) {
            headers.insert(SESSION, value);
        }
        self.client.request(method, uri).headers(headers)
    }

    async fn exchange(
        &self,
        uri: &str,
        message: &ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        extra: HashMap<HeaderName, HeaderValue>,
        slot: Option<&Slot>,
    ) -> Result<StreamableHttpPostResponse, Refused> {
        let text = serde_json::to_vec(message)
            .map_err(|error| Fault::new(Reason::UpstreamError, error.to_string()))?;
        let in_session = session.is_some();
        let request = self.request(reqwest::Method::POST, uri, session, extra);
        let request = request.header(ACCEPT, EITHER).header(CONTENT_TYPE, "application/json").body(text);
        let response = request.send().await.map_err(wire::failed)?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if let Some(fault) = wire::refusal(&response) {
            let once = slot.is_some_and(|slot| slot.once);
            return self.refusal(message, in_session, once, fault, response).await;
        }
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        let fresh = header(SESSION).map(str::to_owned);
        let kind = header(CONTENT_TYPE.as_str()).unwrap_or_default().to_ascii_lowercase();
        let cap = slot.map_or(self.cap, |slot| slot.cap);
        let id = request_id(message);
        if kind.starts_with("text/event-stream") {
            let stream = events(response, self.inbox.clone(), cap, id.cloned());
            return Ok(StreamableHttpPostResponse::Sse(stream, fresh));
        }
        let Some(id) = id else { return Ok(StreamableHttpPostResponse::Accepted) };
        if !kind.starts_with("application/json") {
            let message = format!("answered with content type {kind:?} in place of JSON or an event stream");
            return Err(Fault::unreadable(message).into());
        }
        let body = wire::body(response, cap).await?;
        self.answer(id, &body, fresh).map_err(Refused::Fault)
    }

    /// A JSON body that answers the request `id`.
    fn answer(
        &self,
        id: &RequestId,
        body: &[u8],
        session: Option<String>,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        let mut messages = self.inbox.accept(body).map_err(|_| unreadable())?;
        for message in &mut messages {
            // A server that could not read the id of a request leaves it out of its refusal.
            if let ServerJsonRpcMessage::Error(error) = message {
                error.id.get_or_insert_with(|| id.clone());
            }
        }
        if !messages.iter().any(|message| answers(message, id)) {
            return Err(Fault::unreadable("answered with a message that is no answer to the request"));
        }
        if messages.len() == 1
            && let Some(message) = messages.pop()
        {
            return Ok(StreamableHttpPostResponse::Json(message, session));
        }
        let events: Vec<_> = messages.iter().map(|message| Ok(event(message, None, None))).collect();
        Ok(StreamableHttpPostResponse::Sse(stream::iter(events).boxed(), session))
    }

    /// What a status other than success means for this message.
    async fn refusal(
        &self,
        message: &ClientJsonRpcMessage,
        in_session: bool,
        once: bool,
        mut fault: Fault,
        response: Response,
    ) -> Result<StreamableHttpPostResponse, Refused> {
        let status = response.status();
        if in_session && status == StatusCode::NOT_FOUND {
            return Err(Refused::Expired);
        }
        if fault.reason != Reason::UpstreamError {
            return Err(fault.into());
        }
        let body = wire::body(response, REFUSAL_BYTES).await.unwrap_or_default();
        let error = match serde_json::from_slice(&body) {
            Ok(ServerJsonRpcMessage::Error(error)) => Some(error.error),
            _ => None,
        };
        // Old servers refuse what they do not know in many ways; all of them mean: shake hands the old way.
        if let ClientJsonRpcMessage::Request(request) = message
            && matches!(request.request, ClientRequest::DiscoverRequest(_))
            && status.is_client_error()
            && status != StatusCode::FORBIDDEN
        {
            let error = error.unwrap_or_else(|| ErrorData::invalid_request(fault.message, None));
            let answer = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
            return Ok(StreamableHttpPostResponse::Json(answer, None));
        }
        // Sessions that we never had: there may be another server in the place of the one that we know.
        let strange = [StatusCode::BAD_REQUEST, StatusCode::NOT_FOUND, StatusCode::METHOD_NOT_ALLOWED];
        if !in_session && strange.contains(&status) && !greets(message) {
            let about_session =
                |error: &ErrorData| mentions(error, "session") || mentions(error, "initializ");
            if error.as_ref().is_none_or(about_session) {
                self.doubt.cancel();
            }
        }
        if let Some(error) = error {
            // Some servers say so with a status of their own.
            if in_session && status == StatusCode::BAD_REQUEST && mentions(&error, "session") {
                // What may change the world is sent again only after the status that says it was not taken; this
                // may as well be about a session of the tool's own.
                if !once {
                    return Err(Refused::Expired);
                }
                self.doubt.cancel();
            }
            fault.message = format!("{}: {}", fault.message, error.message);
        }
        Err(fault.into())
    }
}

fn request_id(message: &ClientJsonRpcMessage) -> Option<&RequestId> {
    match message {
        ClientJsonRpcMessage::Request(request) => Some(&request.id),
        _ => None,
    }
}

/// Whether a refusal is about this.
fn mentions(error: &ErrorData, word: &str) -> bool {
    error.message.to_ascii_lowercase().contains(word)
}

/// Whether this is part of shaking hands.
fn greets(message: &ClientJsonRpcMessage) -> bool {
    match message {
        ClientJsonRpcMessage::Request(request) => {
            matches!(request.request, ClientRequest::DiscoverRequest(_) | ClientRequest::InitializeRequest(_))
        }
        _ => true,
    }
}

fn answers(message: &ServerJsonRpcMessage, id: &RequestId) -> bool {
    let answered = match message {
        ServerJsonRpcMessage::Response(response) => Some(&response.id),
        ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
        _ => None,
    };
    answered.and_then(number) == number(id)
}

fn event(message: &ServerJsonRpcMessage, id: Option<String>, retry: Option<u64>) -> Sse {
    Sse { event: None, data: serde_json::to_string(message).ok(), id, retry }
}

/// The events of a body, with answers taken in. `request` is the one that the stream belongs to.
fn events(response: Response, inbox: Arc<Inbox>, cap: usize, request: Option<RequestId>) -> Stream {
    struct Reading {
        response: Option<Response>,
        events: Events,
        ready: VecDeque<Sse>,
    }
    let reading = Reading { response: Some(response), events: Events::new(cap), ready: VecDeque::new() };
    let request = request.as_ref().and_then(number);
    stream::unfold(reading, move |mut reading| {
        let inbox = inbox.clone();
        async move {
            loop {
                if let Some(event) = reading.ready.pop_front() {
                    return Some((Ok(event), reading));
                }
                match reading.response.as_mut()?.chunk().await {
                    Ok(Some(bytes)) => match reading.events.feed(&bytes) {
                        Ok(events) => {
                            reading.ready.extend(
                                events.into_iter().flat_map(|event| taken_in(event, &inbox, request)),
                            );
                        }
                        Err(TooLarge(bytes)) => {
                            reading.response = None;
                            let failure = request.and_then(|id| inbox.fail_too_large(Some(id), bytes, cap));
                            reading.ready.extend(failure.map(|message| event(&message, None, None)));
                        }
                    },
                    Ok(None) => reading.response = None,
                    Err(error) => {
                        reading.response = None;
                        return Some((Err(SseError::Body(Box::new(error.without_url()))), reading));
                    }
                }
            }
        }
    })
    .boxed()
}

/// What rmcp sees of an event.
fn taken_in(mut sse: Sse, inbox: &Inbox, request: Option<i64>) -> Vec<Sse> {
    let Some(data) = sse.data.take().filter(|data| !data.trim().is_empty()) else {
        // Only its id and retry count, for resumption.
        return vec![Sse { event: None, ..sse }];
    };
    let messages = match inbox.accept(data.as_bytes()) {
        Ok(messages) => messages,
        // Only what looks like a message is taken for one.
        Err(_) if !data.trim_start().starts_with(['{', '[']) => Vec::new(),
        Err(_) => request.and_then(|id| inbox.fail(Some(id), unreadable())).into_iter().collect(),
    };
    let (id, retry) = (sse.id, sse.retry);
    messages.iter().map(|message| event(message, id.clone(), retry)).collect()
}

impl StreamableHttpClient for HttpClient {
    type Error = HttpFault;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _auth: Option<String>,
        extra: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let slot = self.inbox.expect(&message);
        match self.exchange(&uri, &message, session, extra, slot.as_deref()).await {
            Ok(response) => Ok(response),
            Err(Refused::Expired) => Err(Failed::SessionExpired),
            Err(Refused::Fault(fault)) => {
                if let Some(slot) = slot {
                    slot.fail(fault.clone());
                }
                *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault.clone());
                Err(Failed::Client(HttpFault(fault)))
            }
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        _auth: Option<String>,
        extra: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failed> {
        let request = self.request(reqwest::Method::DELETE, &uri, Some(session), extra);
        let response =
            request.send().await.map_err(|error| Failed::Client(HttpFault(wire::failed(error))))?;
        match wire::status(response.status()) {
            // Servers may keep sessions for themselves.
            Some(fault) if response.status() != StatusCode::METHOD_NOT_ALLOWED => {
                Err(Failed::Client(HttpFault(fault)))
            }
            _ => Ok(()),
        }
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _auth: Option<String>,
        extra: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Stream, Failed> {
        let mut request =
            self.request(reqwest::Method::GET, &uri, session, extra).header(ACCEPT, "text/event-stream");
        if let Some(last) = last_event {
            request = request.header("last-event-id", last);
        }
        let response =
            request.send().await.map_err(|error| Failed::Client(HttpFault(wire::failed(error))))?;
        let kind =
            response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        match wire::status(response.status()) {
            Some(fault) if fault.reason == Reason::UpstreamUnavailable => {
                Err(Failed::Client(HttpFault(fault)))
            }
            Some(_) => Err(Failed::ServerDoesNotSupportSse),
            None if !kind.starts_with("text/event-stream") => Err(Failed::ServerDoesNotSupportSse),
            None => Ok(events(response, self.inbox.clone(), self.cap, None)),
        }
    }
}

/// How often a broken stream is taken up again.
#[derive(Debug)]
pub struct Resume;

impl SseRetryPolicy for Resume {
    fn retry(&self, times: usize) -> Option<Duration> {
        (times < 6).then(|| Duration::from_millis(250 << times))
    }
}
