//! HTTP with server-sent events, as MCP had it before Streamable HTTP: one stream that brings all answers, opened with GET,
//! whose first event says where messages are posted to. Servers of that time are still many.

use std::collections::VecDeque;
use std::sync::Arc;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use reqwest::{Client, Response, Url};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use sse_stream::Sse;

use super::backpressure::Backpressure;
use super::inbox::Inbox;
use super::sse::{Events, TooLarge};
use crate::model::{Fault, Reason};
use crate::wire;

/// One connection: the stream, and where messages go.
pub struct SseTransport {
    sender: Sender,
    stream: LegacyEvents,
    inbox: Arc<Inbox>,
    cap: usize,
    ready: VecDeque<ServerJsonRpcMessage>,
    answers: Backpressure,
}

/// What posting a message needs.
#[derive(Clone)]
struct Sender {
    client: Client,
    /// Literal and secret headers.
    headers: HeaderMap,
    address: Url,
}

/// The events that have come.
struct LegacyEvents {
    response: Option<Response>,
    events: Events,
    come: VecDeque<Sse>,
}

impl SseTransport {
    /// Opens the stream at `url`; each event has at most `cap` bytes.
    pub async fn open(
        client: Client,
        headers: HeaderMap,
        url: &Url,
        inbox: Arc<Inbox>,
        cap: usize,
    ) -> Result<SseTransport, Fault> {
        let request = client.get(url.clone()).headers(headers.clone()).header(ACCEPT, "text/event-stream");
        let response = request.send().await.map_err(wire::failed)?;
        if let Some(fault) = wire::refusal(&response) {
            return Err(fault);
        }
        let kind =
            response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if !kind.to_ascii_lowercase().starts_with("text/event-stream") {
            let message = format!("answered with content type {kind:?} in place of an event stream");
            return Err(Fault::new(Reason::UpstreamUnavailable, message));
        }
        let mut stream =
            LegacyEvents { response: Some(response), events: Events::new(cap), come: VecDeque::new() };
        let address = endpoint(&mut stream, url).await?;
        let sender = Sender { client, headers, address };
        let (ready, answers) = (VecDeque::new(), Backpressure::new());
        Ok(SseTransport { sender, stream, inbox, cap, ready, answers })
    }

    fn take_in(&mut self, event: Sse) {
        let Some(data) = event.data.filter(|data| !data.trim().is_empty()) else { return };
        match self.inbox.accept(data.as_bytes()) {
            Ok(messages) => self.ready.extend(messages),
            // Pings and the like are no answers.
            Err(_) => self.ready.extend(self.inbox.fail_broken(data.as_bytes())),
        }
    }
}

/// Where messages go, which the first event says. Credentials go nowhere but where the stream came from.
async fn endpoint(stream: &mut LegacyEvents, url: &Url) -> Result<Url, Fault> {
    let fault = |message: &str| Fault::new(Reason::UpstreamUnavailable, message);
    loop {
        let event = stream.next().await.map_err(|_| fault("the first event is too large"))?;
        let event = event.ok_or_else(|| fault("the stream ended before it said where messages go"))?;
        if event.event.as_deref() != Some("endpoint") {
            continue;
        }
        let given = event.data.unwrap_or_default();
        let address = url.join(given.trim()).map_err(|_| fault("names no address for messages"))?;
        return match address.origin() == url.origin() {
            true => Ok(address),
            false => Err(fault("wants messages at another origin, which gets no credentials")),
        };
    }
}

impl LegacyEvents {
    /// The next event; nothing at the end.
    async fn next(&mut self) -> Result<Option<Sse>, TooLarge> {
        loop {
            if let Some(event) = self.come.pop_front() {
                return Ok(Some(event));
            }
            let Some(response) = &mut self.response else { return Ok(None) };
            match response.chunk().await {
                Ok(Some(bytes)) => self.come.extend(self.events.feed(&bytes)?),
                Ok(None) | Err(_) => self.response = None,
            }
        }
    }
}

impl Sender {
    async fn post(&self, message: &ClientJsonRpcMessage) -> Result<(), Fault> {
        let text = serde_json::to_vec(message)
            .map_err(|error| Fault::new(Reason::UpstreamError, error.to_string()))?;
        let request = self.client.post(self.address.clone()).headers(self.headers.clone());
        let response = request.header(CONTENT_TYPE, "application/json").body(text).send().await;
        match wire::refusal(&response.map_err(wire::failed)?) {
            None => Ok(()),
            Some(fault) => Err(fault),
        }
    }
}

impl Transport<RoleClient> for SseTransport {
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let slot = self.inbox.expect(&message);
        let (sender, counted) = (self.sender.clone(), self.answers.count(&message));
        async move {
            let _counted = counted;
            sender.post(&message).await.map_err(|fault| {
                let error = std::io::Error::other(fault.message.clone());
                if let Some(slot) = slot {
                    slot.fail(fault);
                }
                error
            })
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            if !self.ready.is_empty() {
                self.answers.room().await;
                return self.ready.pop_front();
            }
            match self.stream.next().await {
                Ok(event) => self.take_in(event?),
                Err(TooLarge(bytes)) => {
                    // Behind an event that was not read to its end nothing can be read.
                    self.stream.response = None;
                    self.ready.extend(self.inbox.fail_too_large(None, bytes, self.cap));
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.stream.response = None;
        Ok(())
    }
}
