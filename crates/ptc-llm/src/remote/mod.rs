//! Models of providers: one attempt is a request in the provider's wire format and its reply, whole or in
//! pieces; what fails on the way is tried again if that may help.

mod anthropic;
mod bedrock;
mod draft;
mod fault;
mod genai;
#[cfg(test)]
mod hostile;
mod http;
mod openai;
mod options;
mod retry;
mod settings;
mod sse;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ptc_agent::model::{Llm, Model, ModelError, Pending, Reply, Request, TextSink};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::prices;
use crate::provider::{Provider, Wire};
use crate::registry::Target;
use draft::Draft;
use fault::{Class, Fault};
use http::Bounds;
use options::Options;

pub(crate) use options::check_options;
pub use retry::Attempts;
pub use settings::{Chance, Environment, Settings, Sleeper};

/// A model of a provider.
#[derive(Clone)]
pub struct Remote {
    inner: Arc<Inner>,
}

struct Inner {
    target: Target,
    name: String,
    url: String,
    /// Never shown; see `Fault::into_error` and the `Debug` of this.
    key: String,
    key_variable: Option<String>,
    /// Keys of an AWS account, in place of the key.
    signer: Option<bedrock::Credentials>,
    http: reqwest::Client,
    through: Option<genai::Through>,
    settings: Settings,
}

impl Remote {
    /// The model at a place. Its key is taken from the environment now, so that a missing one shows at once.
    pub fn new(target: &Target, settings: Settings) -> Result<Self, String> {
        let name = format!("{}:{}", target.provider.prefix(), target.model);
        let key_variable = target.key_env.clone().or(target.provider.key_variable().map(str::to_owned));
        let look = |variable: &str| (settings.environment)(variable);
        let (key, signer) = match (&target.key_env, target.provider) {
            (Some(variable), _) => (look(variable), None),
            (None, Provider::Bedrock) => match target.provider.key_variable().and_then(look) {
                None => (None, bedrock::Credentials::find(look, &region(&settings))),
                key => (key, None),
            },
            (None, provider) => (provider.find_key(look), None),
        };
        let key = match (key, &key_variable) {
            (None, Some(variable)) if signer.is_none() => {
                return Err(format!("`{name}` needs a key; put it into the variable {variable}"));
            }
            (key, _) => key.unwrap_or_default(),
        };
        let key = key.trim().to_owned();
        let url = url(target, &settings)?;
        let http = http::client(&settings)?;
        let wire = target.provider.info().wire;
        let through = match wire {
            Wire::Gemini => Some(genai::Through::new(http.clone(), &target.model, &url, &key)?),
            Wire::OpenAi | Wire::Anthropic | Wire::Bedrock => None,
        };
        let target = target.clone();
        Ok(Remote {
            inner: Arc::new(Inner { target, name, url, key, key_variable, signer, http, through, settings }),
        })
    }

    /// Makes models with these settings, for a registry.
    pub fn adapter(settings: Settings) -> crate::registry::Adapter {
        Arc::new(move |target| Ok(Llm::Model(Arc::new(Remote::new(target, settings.clone())?))))
    }
}

/// Where the provider is: what the target says, what the environment says, or where everybody finds it.
fn url(target: &Target, settings: &Settings) -> Result<String, String> {
    let variable = |name: &str| (settings.environment)(name);
    let url = match (&target.url, target.provider) {
        (Some(url), _) => url.clone(),
        (None, Provider::Ollama) => match variable("OLLAMA_HOST") {
            Some(host) if host.contains("://") => format!("{}/v1", host.trim_end_matches('/')),
            Some(host) => format!("http://{host}/v1"),
            None => target.provider.info().url.unwrap_or_default().to_owned(),
        },
        (None, Provider::Bedrock) => {
            format!("https://bedrock-runtime.{}.amazonaws.com", region(settings))
        }
        (None, provider) => provider.info().url.map(str::to_owned).ok_or_else(|| {
            format!("`{}` needs a URL: write {}:URL|MODEL", target.model, provider.prefix())
        })?,
    };
    check_url(&url)?;
    Ok(url.trim_end_matches('/').to_owned())
}

/// Whether a model server can be at an address. What is wrong repeats nothing of it that may be a secret.
pub fn check_url(url: &str) -> Result<(), String> {
    let shown = url.split(['?', '#']).next().unwrap_or_default();
    let shown = shown.rsplit('@').next().unwrap_or_default();
    match reqwest::Url::parse(url) {
        Ok(parsed) if !matches!(parsed.scheme(), "http" | "https") => {}
        Ok(parsed) if !parsed.username().is_empty() || parsed.password().is_some() => {
            return Err(format!(
                "the URL of the model server at {shown} has a user or password in it; put the key into a variable and \
                 name that with key_env in a models file"
            ));
        }
        // Paths are put behind it.
        Ok(parsed) if parsed.query().is_some() || parsed.fragment().is_some() => {
            return Err(format!(
                "the URL of the model server `{shown}` goes on with `?` or `#`; leave that out, and name the variable of \
                 a key with key_env in a models file"
            ));
        }
        Ok(_) => return Ok(()),
        Err(_) => {}
    }
    Err(format!("`{shown}` is no URL of a model server; write http://HOST:PORT/v1 or https://…"))
}

/// The region of AWS.
fn region(settings: &Settings) -> String {
    let found = ["AWS_REGION", "AWS_DEFAULT_REGION"].iter().find_map(|name| (settings.environment)(name));
    found.unwrap_or_else(|| "us-east-1".to_owned())
}

impl Inner {
    async fn ask(&self, request: &Request, chunk: Option<TextSink>) -> Result<Reply, Fault> {
        let options = Options::of(request, &self.target.options)?;
        let mut attempts = self.settings.attempts;
        attempts.most = options.max_attempts.unwrap_or(attempts.most).max(1);
        // What has been handed on cannot be taken back.
        let said = Arc::new(AtomicBool::new(false));
        let mut attempt = 1;
        loop {
            let chunk = chunk.clone().map(|chunk| watched(chunk, said.clone()));
            let fault = match self.once(request, options.clone(), chunk).await {
                Ok(reply) => return Ok(self.priced(reply)),
                Err(fault) => fault,
            };
            let delay = match said.load(Ordering::Relaxed) {
                true => None,
                false => attempts.delay(attempt, &fault, (self.settings.chance)()),
            };
            let Some(delay) = delay else {
                let tried = if attempt > 1 { format!(" (attempt {attempt})") } else { String::new() };
                return Err(Fault { message: format!("{}{tried}", fault.message), ..fault });
            };
            (self.settings.sleeper)(delay).await;
            attempt += 1;
        }
    }

    /// One attempt, within the limit of time for all of it.
    async fn once(
        &self,
        request: &Request,
        options: Options,
        chunk: Option<TextSink>,
    ) -> Result<Reply, Fault> {
        let limit = self.settings.total_timeout;
        let late =
            || Fault::new(Class::Timeout, format!("the reply took longer than {} ms", limit.as_millis()));
        tokio::time::timeout(limit, self.exchange(request, options, chunk)).await.map_err(|_| late())?
    }

    async fn exchange(
        &self,
        request: &Request,
        options: Options,
        chunk: Option<TextSink>,
    ) -> Result<Reply, Fault> {
        let stream = chunk.is_some();
        let mut draft = Draft::new(chunk);
        let idle = options.receive_timeout.map_or(self.settings.idle_timeout, Duration::from_millis);
        // Without a stream nothing comes before everything is there.
        let head =
            if stream { idle } else { options.receive_timeout.map_or(self.settings.total_timeout, |_| idle) };
        let bounds = Bounds { head, idle, bytes: self.settings.max_reply_bytes };
        if let Some(through) = &self.through {
            through.ask(request, options, bounds, &mut draft).await?;
            return draft.finish();
        }
        let model = &self.target.model;
        let wire = self.target.provider.info().wire;
        draft.by_call = wire == Wire::Bedrock && bedrock::answers_by_tool(request);
        let (path, (body, wrapped)) = match wire {
            Wire::Anthropic => (anthropic::PATH.to_owned(), anthropic::body(request, model, options, stream)),
            Wire::Bedrock => (bedrock::path(model, stream), bedrock::body(request, model, options)),
            _ => (openai::PATH.to_owned(), openai::body(request, &self.target, options, stream)),
        };
        draft.wrapped = wrapped;
        let url = format!("{}/{path}", self.url);
        let body = serde_json::to_vec(&body).map_err(|error| {
            Fault::new(Class::BadRequest, format!("the request cannot be written: {error}"))
        })?;
        let headers = self.headers(&url, &body)?;
        let response = http::post(&self.http, &url, headers, body, bounds).await?;
        if wire == Wire::Bedrock && response.is(bedrock::STREAM) {
            let mut frames = bedrock::Frames::default();
            let take = |piece: &[u8]| {
                let mut more = true;
                for frame in frames.push(piece)? {
                    more = more && bedrock::frame(&frame, &mut draft)?;
                }
                Ok(more)
            };
            response.pieces(take).await?;
        } else if response.is("text/event-stream") {
            let event = if wire == Wire::Anthropic { anthropic::event } else { openai::event };
            response.events(|data| event(data, &mut draft)).await?;
        } else {
            let read = match wire {
                Wire::Anthropic => anthropic::read,
                Wire::Bedrock => bedrock::read,
                _ => openai::read,
            };
            read(&response.json().await?, &mut draft)?;
        }
        draft.finish()
    }

    /// The headers that say who asks.
    fn headers(&self, url: &str, body: &[u8]) -> Result<HeaderMap, Fault> {
        if let Some(signer) = &self.signer {
            return signer.headers(url, body, jiff::Timestamp::now());
        }
        let anthropic = self.target.provider.info().wire == Wire::Anthropic;
        let mut headers = http::headers(&self.key, anthropic.then_some(anthropic::KEY_HEADER))?;
        if anthropic {
            let (name, value) = anthropic::VERSION;
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        Ok(headers)
    }

    /// What no message may show.
    fn hidden(&self) -> &str {
        let token = self.signer.as_ref().and_then(|signer| signer.token.as_deref());
        token.unwrap_or(&self.key)
    }

    /// The reply with what it cost, where the provider does not say.
    fn priced(&self, mut reply: Reply) -> Reply {
        if let Some(tokens) = reply.tokens.as_mut().filter(|tokens| tokens.cost_usd.is_none()) {
            tokens.cost_usd =
                self.settings.prices.rates(&self.target.model).map(|rates| prices::cost(rates, tokens));
        }
        reply
    }
}

fn watched(chunk: TextSink, said: Arc<AtomicBool>) -> TextSink {
    Arc::new(move |text: &str| {
        said.store(true, Ordering::Relaxed);
        chunk(text);
    })
}

impl Model for Remote {
    fn reply(&self, request: Arc<Request>, chunk: Option<TextSink>) -> Pending<Result<Reply, ModelError>> {
        let inner = self.inner.clone();
        Box::pin(async move {
            let reply = inner.ask(&request, chunk).await;
            reply
                .map_err(|fault| fault.into_error(&inner.name, inner.key_variable.as_deref(), inner.hidden()))
        })
    }

    fn name(&self) -> &str {
        &self.inner.name
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Remote({})", self.inner.name)
    }
}
