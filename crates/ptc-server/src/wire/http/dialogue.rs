//! Requests during which the server may ask its client. As soon as something is said before the result, the answer is a
//! stream. What the client replies to a question comes with a request of its own and finds the dialogue by the id of the
//! question, which `rmcp` numbers for each request anew. Behind a load balancer that request may reach another server,
//! which leaves the reply on the shelf of the store.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderName, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use ptc_store::shelf::{NewItem, Shelf};
use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, GetExtensions, InitializeRequestParams};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage, serve_directly_with_ct};
use serde_json::{Value as Json, json};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::sessions::{Agreed, HttpSession, Replies};
use crate::engine::pulse::{SILENT, in_time};
use crate::wire::adapter::Adapter;
use crate::wire::identity::random;
use crate::wire::incoming::{self, Message};

/// Tells proxies to hand on events as they come.
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Messages that wait for their reader, in either direction.
const WAITING: usize = 16;

/// What names of dialogues begin with.
const NAME: &str = "ask-";

/// Bytes of the id of a question.
const ID_BYTES: usize = 64;

/// Bytes of a reply that is left for another server, how many of one session, and for how long.
const LEFT_BYTES: usize = 64 << 10;
const LEFT: usize = 16;
const LEFT_MS: i64 = 60_000;

/// How often the shelf is looked at while a question is open.
const LOOK: Duration = Duration::from_millis(500);

/// Whether an answer is a stream of events.
pub fn is_stream(response: &Response) -> bool {
    response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

/// Serves a request. Whoever drops the answer cancels it.
pub async fn serve(
    adapter: Adapter,
    shelf: Option<&Shelf>,
    session: &Arc<HttpSession>,
    parts: Parts,
    message: Message,
) -> Response {
    let id = message.id();
    let Ok(mut request) = serde_json::from_value::<ClientJsonRpcMessage>(message.json) else {
        return ptc_http::Json(incoming::error(id, -32602, "Invalid params")).into_response();
    };
    if let ClientJsonRpcMessage::Request(request) = &mut request {
        request.request.extensions_mut().insert(parts);
    }
    let gone = CancellationToken::new();
    let (line, mut said) = DialogueTransport::new(session.clone(), request, shelf);
    let running = serve_directly_with_ct(adapter, line, client(session.agreed), gone.clone());
    tokio::spawn(running.waiting());
    let gone = gone.drop_guard();
    match said.recv().await {
        None => {
            let error = incoming::error(id, -32603, "Internal error");
            (StatusCode::INTERNAL_SERVER_ERROR, ptc_http::Json(error)).into_response()
        }
        Some(Said { last: true, message }) => ptc_http::Json(message).into_response(),
        Some(first) => {
            let events = stream::unfold((Some(first), said, gone), |(first, mut said, gone)| async {
                let next = match first {
                    Some(first) => Some(first),
                    None => said.recv().await,
                };
                let event = Event::default().data(next?.message.to_string());
                Some((Ok::<_, Infallible>(event), (None, said, gone)))
            });
            ([(BUFFERING, "no")], Sse::new(events).keep_alive(KeepAlive::default())).into_response()
        }
    }
}

/// Leaves a reply to a question of another server.
pub async fn pass_on(shelf: &Shelf, session: &HttpSession, reply: &Json) {
    let (at, owner, body) = (shelf.clone(), owner(session), reply.to_string());
    let id = reply["id"].as_str().filter(|id| id.starts_with(NAME) && id.len() <= ID_BYTES);
    let Some(id) = id.filter(|_| body.len() <= LEFT_BYTES).map(str::to_owned) else { return };
    let put = move || {
        let about = Json::Null;
        let body = body.as_bytes();
        at.put(&NewItem { id: &id, owner: &owner, about: &about, body, ttl_ms: LEFT_MS }, LEFT)
    };
    let why = match in_time(shelf.store(), tokio::task::spawn_blocking(put)).await {
        Some(Ok(())) => return,
        Some(Err(error)) => error.to_string(),
        None => SILENT.to_owned(),
    };
    tracing::warn!("a reply cannot be left for the server that asked: {why}");
}

/// Whose replies they are.
fn owner(session: &HttpSession) -> String {
    format!("replies to {}", session.id)
}

/// Looks for replies that reached other servers, while a question is open and until the dialogue is over.
async fn collect(
    shelf: Shelf,
    owner: String,
    name: Arc<str>,
    mut asked: watch::Receiver<Option<u64>>,
    replies: Replies,
) {
    loop {
        let open = asked.wait_for(Option::is_some).await.map(|open| *open);
        let Ok(Some(number)) = open else { return };
        tokio::time::sleep(LOOK).await;
        let (shelf, id, owner) = (shelf.clone(), format!("{name}-{number}"), owner.clone());
        // Nobody waits for this, and what is taken late must not be lost.
        let found = tokio::task::spawn_blocking(move || shelf.take(&id, &owner)).await;
        if let Ok(Ok(Some((_, body)))) = found
            && let Ok(reply) = serde_json::from_slice(&body)
        {
            let _ = replies.send((number, reply)).await;
        }
    }
}

/// The client of a session, as `rmcp` wants to know it.
fn client(agreed: Agreed) -> Option<InitializeRequestParams> {
    let capabilities = match agreed.forms {
        true => json!({"elicitation": {}}),
        false => json!({}),
    };
    let info = json!({"name": incoming::UNKNOWN, "version": "0"});
    let client =
        json!({"protocolVersion": agreed.protocol, "capabilities": capabilities, "clientInfo": info});
    serde_json::from_value(client).ok()
}

/// What the server says.
struct Said {
    message: Json,
    /// Whether it is the answer.
    last: bool,
}

/// What `rmcp` sees of a dialogue.
struct DialogueTransport {
    session: Arc<HttpSession>,
    /// What ids of questions begin with.
    name: Arc<str>,
    request: Option<Box<ClientJsonRpcMessage>>,
    replies: Receiver<(u64, Json)>,
    said: Sender<Said>,
    /// The question that waits for a reply.
    asked: watch::Sender<Option<u64>>,
    over: CancellationToken,
}

impl Drop for DialogueTransport {
    fn drop(&mut self) {
        self.session.leave(&self.name);
    }
}

impl DialogueTransport {
    fn new(
        session: Arc<HttpSession>,
        request: ClientJsonRpcMessage,
        shelf: Option<&Shelf>,
    ) -> (DialogueTransport, Receiver<Said>) {
        let (said, heard) = channel(WAITING);
        let (sender, replies) = channel(WAITING);
        let (asked, open) = watch::channel(None);
        let name: Arc<str> = format!("{NAME}{}", random::<12>()).into();
        if let Some(shelf) = shelf {
            tokio::spawn(collect(shelf.clone(), owner(&session), name.clone(), open, sender.clone()));
        }
        session.listen(name.clone(), sender);
        let (request, over) = (Some(Box::new(request)), CancellationToken::new());
        (DialogueTransport { session, name, request, replies, said, asked, over }, heard)
    }

    /// A message as the client gets it: numbers of questions become ids that its session has once.
    fn said(&self, item: &TxJsonRpcMessage<RoleServer>) -> Said {
        let last = matches!(
            item,
            TxJsonRpcMessage::<RoleServer>::Response(_) | TxJsonRpcMessage::<RoleServer>::Error(_)
        );
        let mut message = serde_json::to_value(item).unwrap_or_default();
        let id = match item {
            TxJsonRpcMessage::<RoleServer>::Request(_) => message.get_mut("id"),
            TxJsonRpcMessage::<RoleServer>::Notification(_) => message.pointer_mut("/params/requestId"),
            _ => None,
        };
        if matches!(item, TxJsonRpcMessage::<RoleServer>::Request(_)) {
            self.asked.send_replace(id.as_ref().and_then(|id| id.as_u64()));
        }
        if let Some(id) = id {
            *id = json!(format!("{}-{id}", self.name));
        }
        Said { message, last }
    }
}

/// Nobody reads the answer any more.
#[derive(Debug, thiserror::Error)]
#[error("the client is gone")]
struct ReaderGone;

impl rmcp::transport::Transport<RoleServer> for DialogueTransport {
    type Error = ReaderGone;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), ReaderGone>> + Send + 'static {
        let (message, said, over) = (self.said(&item), self.said.clone(), self.over.clone());
        async move {
            let last = message.last;
            let sent = said.send(message).await.map_err(|_| ReaderGone);
            if last || sent.is_err() {
                over.cancel();
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        if let Some(request) = self.request.take() {
            return Some(*request);
        }
        loop {
            let (number, mut reply) = tokio::select! {
                reply = self.replies.recv() => reply?,
                () = self.over.cancelled() => return None,
            };
            self.asked.send_replace(None);
            reply["id"] = json!(number);
            // What is no reply decides nothing, and the question stays open.
            if let Ok(reply) = serde_json::from_value(reply) {
                return Some(reply);
            }
        }
    }

    async fn close(&mut self) -> Result<(), ReaderGone> {
        Ok(())
    }
}
