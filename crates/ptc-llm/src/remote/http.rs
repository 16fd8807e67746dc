//! One request over HTTP, with every wait and every size bounded.

use std::sync::Once;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use serde_json::Value as Json;

use super::fault::{Class, Fault};
use super::settings::Settings;
use super::sse::Events;

/// Bytes of an error's body that are read.
const ERROR_BYTES: usize = 64 << 10;

/// The client for these settings. Connections are pooled in it, so it is made once per model.
pub(super) fn client(settings: &Settings) -> Result<reqwest::Client, String> {
    static PROVIDER: Once = Once::new();
    // Somebody may have installed another provider of cryptography; then that one is used.
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    reqwest::Client::builder()
        .connect_timeout(settings.connect_timeout)
        // A redirect would carry the key to somebody else.
        .redirect(Policy::none())
        .tcp_nodelay(true)
        .user_agent(concat!("ptc-runner/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| format!("no HTTP client: {error}"))
}

/// Limits of one attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Until the first byte.
    pub(super) head: Duration,
    /// Between two pieces.
    pub(super) idle: Duration,
    /// Bytes of the reply.
    pub(super) bytes: usize,
}

/// Headers with a key, which no debug output shows.
pub(super) fn headers(key: &str, name: Option<&'static str>) -> Result<HeaderMap, Fault> {
    let mut headers = HeaderMap::new();
    if key.is_empty() {
        return Ok(headers);
    }
    let (name, text) = match name {
        Some(name) => (HeaderName::from_static(name), key.to_owned()),
        None => (AUTHORIZATION, format!("Bearer {key}")),
    };
    let wrong = |_| Fault::new(Class::Auth, "the key has characters that no header may have");
    let mut value = HeaderValue::from_str(&text).map_err(wrong)?;
    value.set_sensitive(true);
    headers.insert(name, value);
    Ok(headers)
}

/// A response whose status was fine.
pub(super) struct Response {
    inner: reqwest::Response,
    bounds: Bounds,
    read: usize,
}

/// Sends a body and waits for the beginning of the response.
pub(super) async fn post(
    client: &reqwest::Client,
    url: &str,
    headers: HeaderMap,
    body: Vec<u8>,
    bounds: Bounds,
) -> Result<Response, Fault> {
    let json = HeaderValue::from_static("application/json");
    let sent = client.post(url).header(CONTENT_TYPE, json).headers(headers).body(body).send();
    let inner = within(bounds.head, sent).await?.map_err(|error| Fault::of_transport(&error))?;
    let status = inner.status();
    let mut response = Response { inner, bounds, read: 0 };
    if status.is_success() {
        return Ok(response);
    }
    let headers = response.inner.headers().clone();
    let mut body = Vec::new();
    response.bounds.bytes = ERROR_BYTES;
    // The status says enough where the body cannot be read.
    while let Ok(Some(piece)) = response.piece().await {
        body.extend_from_slice(piece.as_ref());
    }
    Err(Fault::of_status(status.as_u16(), &headers, &String::from_utf8_lossy(&body)))
}

impl Response {
    /// The next piece of the body.
    async fn piece(&mut self) -> Result<Option<impl AsRef<[u8]> + use<>>, Fault> {
        let piece = within(self.bounds.idle, self.inner.chunk()).await?;
        let piece = piece.map_err(|error| Fault::of_transport(&error))?;
        self.read = self.read.saturating_add(piece.as_ref().map_or(0, |piece| piece.len()));
        if self.read > self.bounds.bytes {
            let message = format!("the reply is larger than {} bytes", self.bounds.bytes);
            return Err(Fault::new(Class::TooLarge, message));
        }
        Ok(piece)
    }

    /// The whole body, as JSON.
    pub(super) async fn json(mut self) -> Result<Json, Fault> {
        let mut body = Vec::new();
        while let Some(piece) = self.piece().await? {
            body.extend_from_slice(piece.as_ref());
        }
        serde_json::from_slice(&body).map_err(|error| {
            let start: String = String::from_utf8_lossy(&body).chars().take(80).collect();
            Fault::new(Class::Malformed, format!("the reply is no JSON ({error}): {start}"))
        })
    }

    /// Hands the bytes on as they come, until there are no more or somebody has enough.
    pub(super) async fn pieces(
        mut self,
        mut take: impl FnMut(&[u8]) -> Result<bool, Fault>,
    ) -> Result<(), Fault> {
        while let Some(piece) = self.piece().await? {
            if !take(piece.as_ref())? {
                break;
            }
        }
        Ok(())
    }

    /// Hands the data of every event on, until there is no more or somebody has enough.
    pub(super) async fn events(self, mut take: impl FnMut(&str) -> Result<bool, Fault>) -> Result<(), Fault> {
        let mut events = Events::default();
        let mut more = true;
        self.pieces(|piece| {
            for data in events.push(piece) {
                more = more && take(&data)?;
            }
            Ok(more)
        })
        .await?;
        match events.finish().filter(|_| more) {
            Some(data) => take(&data).map(drop),
            None => Ok(()),
        }
    }

    /// Whether the body is of this type; servers that cannot stream answer with JSON.
    pub(super) fn is(&self, wanted: &str) -> bool {
        let kind = self.inner.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        kind.is_some_and(|kind| kind.starts_with(wanted))
    }
}

async fn within<T>(limit: Duration, future: impl Future<Output = T>) -> Result<T, Fault> {
    tokio::time::timeout(limit, future)
        .await
        .map_err(|_| Fault::new(Class::Timeout, format!("nothing came for {} ms", limit.as_millis())))
}
