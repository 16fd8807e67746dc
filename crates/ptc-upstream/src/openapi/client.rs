//! The client of an HTTP API. Its document is read once, before the first listing or call; answers are measured
//! before they are decoded, redirects are not followed, and credentials are added at the last moment.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::BoxFuture;
use reqwest::Method;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value as Json};

use super::compile::{Choice, Compiled, Operation, compile_all};
use super::document::Document;
use super::request::{Request, request};
use super::response::payload;
use crate::client::{About, Client};
use crate::config::{OpenApiConfig, SchemaSource, UpstreamConfig};
use crate::credentials::Secrets;
use crate::model::{Allowance, Fault, Payload, Reason, ToolDef};
use crate::redact::Redactor;
use crate::wire;

/// No message of a fault is longer.
const MESSAGE_CHARS: usize = 4_000;
/// How much of the body of a refusal is looked at.
const REFUSAL_BYTES: usize = 16 * 1024;

/// The client of an upstream that an OpenAPI document describes.
pub(crate) fn client(config: &UpstreamConfig, api: &OpenApiConfig, secrets: &Secrets) -> Arc<dyn Client> {
    Arc::new(OpenApiClient {
        name: config.name.clone(),
        api: api.clone(),
        max_bytes: config.max_response_bytes,
        secrets: secrets.clone(),
        redactor: secrets.redactor(),
        ready: OnceLock::new(),
    })
}

struct OpenApiClient {
    name: String,
    api: OpenApiConfig,
    max_bytes: usize,
    secrets: Secrets,
    redactor: Redactor,
    ready: OnceLock<Ready>,
}

/// What is made of the document and the configuration.
struct Ready {
    http: reqwest::Client,
    operations: Vec<Operation>,
    left_out: Vec<String>,
    /// The same by the names that their tools would have.
    unusable: BTreeMap<String, String>,
    about: About,
}

impl OpenApiClient {
    async fn ready(&self, timeout: Duration) -> Result<&Ready, Fault> {
        if let Some(ready) = self.ready.get() {
            return Ok(ready);
        }
        let http = wire::client(&self.api.endpoint)?;
        let text = within(timeout, self.document(&http)).await?;
        let unusable = |message: String| Fault::new(Reason::UpstreamUnavailable, message);
        let document = Document::read(&text, self.api.schema_max_bytes).map_err(unusable)?;
        let choice = Choice {
            include: &self.api.include_operations,
            overrides: &self.api.overrides,
            allow_writes: self.api.allow_writes,
            base: &self.api.endpoint.url,
        };
        let Compiled { operations, left_out, unusable } =
            compile_all(&document, &choice).map_err(unusable)?;
        // Somebody else may have been faster, with the same.
        Ok(self.ready.get_or_init(|| Ready { http, operations, left_out, unusable, about: document.about() }))
    }

    /// The text of the document, of which no more is read than is allowed.
    async fn document(&self, http: &reqwest::Client) -> Result<Vec<u8>, Fault> {
        let most = self.api.schema_max_bytes;
        match &self.api.schema {
            SchemaSource::File(path) => {
                use tokio::io::AsyncReadExt as _;
                let unreadable = |error: std::io::Error| {
                    let message = format!("schema_file {} cannot be read: {error}", path.display());
                    Fault::new(Reason::UpstreamUnavailable, message)
                };
                let file = tokio::fs::File::open(path).await.map_err(unreadable)?;
                let mut text = Vec::new();
                file.take(most as u64 + 1).read_to_end(&mut text).await.map_err(unreadable)?;
                Ok(text)
            }
            SchemaSource::Url(url) => {
                let request = http.get(url.clone()).headers(self.schema_headers(url)?);
                let kinds = "application/json, application/yaml, */*;q=0.5";
                let response = request.header(ACCEPT, kinds).send().await.map_err(wire::failed)?;
                let fetched = match wire::refusal(&response) {
                    Some(fault) => Err(fault),
                    None => wire::body(response, most).await,
                };
                // Whatever keeps the document away keeps the upstream from starting.
                fetched.map_err(|fault| match fault.reason {
                    Reason::ResponseTooLarge => {
                        let message = format!("schema exceeds byte cap: it has more than {most} bytes");
                        Fault::new(Reason::UpstreamUnavailable, message)
                    }
                    Reason::UpstreamError => {
                        Fault::new(Reason::UpstreamUnavailable, format!("schema_url: {}", fault.message))
                    }
                    reason => Fault::new(reason, format!("schema_url: {}", fault.message)),
                })
            }
        }
    }

    fn headers(&self) -> Result<HeaderMap, Fault> {
        let headers = self.secrets.headers(&self.api.endpoint);
        headers.map_err(|message| Fault::new(Reason::UpstreamUnavailable, message))
    }

    /// The headers of the request for the document: those of calls go to the origin of calls, and elsewhere only
    /// where the entry says so.
    fn schema_headers(&self, url: &reqwest::Url) -> Result<HeaderMap, Fault> {
        match self.api.sends_auth_to(url) {
            true => self.headers(),
            false => Ok(HeaderMap::new()),
        }
    }

    async fn send(
        &self,
        tool: &str,
        args: Map<String, Json>,
        allowance: Allowance,
    ) -> Result<Payload, Fault> {
        let ready = self.ready(allowance.timeout).await.map_err(Fault::before_sending)?;
        let Some(operation) = ready.operation(tool) else {
            return Err(Fault::new(Reason::UpstreamError, format!("has no operation '{tool}'")));
        };
        let request = request(operation, &self.api.endpoint.url, args)
            .map_err(|message| Fault::new(Reason::ToolError, message))?;
        let sent = self.exchange(&ready.http, operation, request, allowance);
        within(allowance.timeout.min(self.api.endpoint.request_timeout), sent).await
    }

    async fn exchange(
        &self,
        http: &reqwest::Client,
        operation: &Operation,
        request: Request,
        allowance: Allowance,
    ) -> Result<Payload, Fault> {
        let wrong =
            |what: &str| Fault::new(Reason::UpstreamError, format!("cannot make the request: {what}"));
        let method = Method::from_bytes(operation.method.as_bytes()).map_err(|_| wrong("its method"))?;
        // Parameters come first, so that nothing a program passes can replace our own headers.
        let mut headers = HeaderMap::new();
        for (name, value) in request.headers {
            let name = HeaderName::try_from(name).map_err(|_| wrong("the name of a header"))?;
            headers.insert(name, HeaderValue::try_from(value).map_err(|_| wrong("the value of a header"))?);
        }
        headers.extend(self.headers()?);
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let mut building = http.request(method, request.url).headers(headers);
        if let Some(body) = request.body {
            building = building.header(CONTENT_TYPE, "application/json").body(body.to_string());
        }
        let response = building.send().await.map_err(wire::failed)?;
        let status = response.status();
        if let Some(fault) = wire::refusal(&response).filter(|fault| fault.reason == Reason::AuthFailed) {
            return Err(fault);
        }
        let cap = allowance.max_bytes.min(self.max_bytes);
        let body = match status.is_success() {
            true => wire::body(response, cap).await?,
            false => beginning(response, cap.min(REFUSAL_BYTES)).await,
        };
        payload(status.as_u16(), &body, allowance.max_values)
    }

    /// The fault as it may leave: secrets covered, of bounded length, on one line.
    fn clean(&self, fault: Fault) -> Fault {
        let fault = wire::advised(fault, &self.name, &self.api.endpoint);
        let message = self.redactor.redact_string(fault.message);
        Fault { message: crate::catalog::one_line(&message, MESSAGE_CHARS), ..fault }
    }
}

impl Ready {
    fn operation(&self, tool: &str) -> Option<&Operation> {
        self.operations.iter().find(|operation| operation.tool.name == tool)
    }
}

impl Client for OpenApiClient {
    fn list(&self, allowance: Allowance) -> BoxFuture<'_, Result<Vec<ToolDef>, Fault>> {
        Box::pin(async move {
            let ready = self.ready(allowance.timeout).await.map_err(|fault| self.clean(fault))?;
            Ok(ready.operations.iter().map(|operation| operation.tool.clone()).collect())
        })
    }

    fn call<'a>(
        &'a self,
        tool: &'a str,
        args: Map<String, Json>,
        allowance: Allowance,
    ) -> BoxFuture<'a, Result<Payload, Fault>> {
        Box::pin(async move { self.send(tool, args, allowance).await.map_err(|fault| self.clean(fault)) })
    }

    fn refuses(&self, tool: &str, args: &Map<String, Json>) -> Option<String> {
        let operation = self.ready.get()?.operation(tool)?;
        request(operation, &self.api.endpoint.url, args.clone()).err()
    }

    fn unusable(&self) -> BTreeMap<String, String> {
        self.ready.get().map(|ready| ready.unusable.clone()).unwrap_or_default()
    }

    fn left_out(&self) -> Vec<String> {
        self.ready.get().map(|ready| ready.left_out.clone()).unwrap_or_default()
    }

    fn about(&self) -> Option<About> {
        self.ready.get().map(|ready| ready.about.clone())
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

async fn within<T>(limit: Duration, what: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    let late = |_| Fault::new(Reason::Timeout, format!("no answer within {} ms", limit.as_millis()));
    tokio::time::timeout(limit, what).await.map_err(late)?
}

/// As much of a body as is allowed; what comes after it is not read.
async fn beginning(mut response: reqwest::Response, most: usize) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        let room = most - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if body.len() == most {
            break;
        }
    }
    body
}
