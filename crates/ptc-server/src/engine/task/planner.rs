//! The planning model with a meter: what it was sent and answered, and how long it may take. Secrets are
//! covered in everything that it is sent.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ptc_agent::model::{Llm, Model, ModelError, ModelErrorKind, Pending, Reply, Request, TextSink};
use ptc_upstream::Redactor;
use serde_json::{Value as Json, json};

/// What planning took so far.
#[derive(Clone, Debug, Default)]
pub struct Spent {
    /// Requests.
    pub calls: usize,
    /// Bytes of requests.
    pub prompt_bytes: usize,
    /// Bytes of replies.
    pub completion_bytes: usize,
    /// Tokens in and out, as the provider counted them.
    pub tokens: Option<(u64, u64)>,
    /// Time of requests.
    pub elapsed: Duration,
    /// Whether a request failed.
    pub failed: bool,
    /// Whether one took too long.
    pub late: bool,
    /// What was sent, if it is to be kept; secrets are covered.
    pub prompts: Vec<Json>,
}

/// A shared account of planning.
#[derive(Clone, Debug, Default)]
pub struct Meter(Arc<Mutex<Spent>>);

impl Meter {
    /// What was spent.
    pub fn take(&self) -> Spent {
        self.spent().clone()
    }

    fn spent(&self) -> MutexGuard<'_, Spent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A model that is measured.
pub struct Metered {
    pub inner: Llm,
    pub meter: Meter,
    pub redactor: Redactor,
    pub timeout: Duration,
    pub deadline: Instant,
    pub max_tokens: u64,
    /// Whether what is sent is kept for traces.
    pub keeps_prompts: bool,
}

impl Metered {
    fn request(&self, request: &Request) -> Request {
        let mut request = request.clone();
        request.system = self.redactor.redact_string(request.system);
        for message in &mut request.messages {
            message.content = self.redactor.redact_string(std::mem::take(&mut message.content));
        }
        request.max_tokens = Some(request.max_tokens.unwrap_or(self.max_tokens).min(self.max_tokens));
        request
    }
}

impl Model for Metered {
    fn reply(&self, request: Arc<Request>, _: Option<TextSink>) -> Pending<Result<Reply, ModelError>> {
        let request = Arc::new(self.request(&request));
        let bytes =
            request.system.len() + request.messages.iter().map(|one| one.content.len()).sum::<usize>();
        if self.keeps_prompts {
            self.meter.spent().prompts.push(prompt(&request));
        }
        let (meter, inner) = (self.meter.clone(), self.inner.clone());
        let timeout = self.timeout.min(self.deadline.saturating_duration_since(Instant::now()));
        Box::pin(async move {
            let began = Instant::now();
            let asked = tokio::time::timeout(timeout, ask(inner, request)).await;
            let late = asked.is_err();
            let reply = asked.unwrap_or_else(|_| {
                let message = "the planning model gave no answer in time";
                Err(ModelError::new(ModelErrorKind::Timeout, message))
            });
            let mut spent = meter.spent();
            spent.calls += 1;
            spent.prompt_bytes += bytes;
            spent.elapsed += began.elapsed();
            spent.late |= late;
            match &reply {
                Ok(reply) => {
                    spent.completion_bytes += reply.content.as_ref().map_or(0, String::len);
                    if let Some(tokens) = &reply.tokens {
                        let (input, output) = spent.tokens.unwrap_or_default();
                        spent.tokens = Some((input + tokens.input, output + tokens.output));
                    }
                }
                Err(_) => spent.failed = true,
            }
            reply
        })
    }

    fn name(&self) -> &str {
        self.inner.label()
    }
}

/// A request as traces tell it.
fn prompt(request: &Request) -> Json {
    json!({"system": request.system, "messages": request.messages})
}

async fn ask(inner: Llm, request: Arc<Request>) -> Result<Reply, ModelError> {
    match inner {
        Llm::Model(model) => model.reply(request, None).await,
        Llm::Function(function) => {
            let asked = tokio::task::spawn_blocking(move || function(&request)).await;
            asked.unwrap_or_else(|_| Err("the planning model's function panicked".into()))
        }
        Llm::Named(name) => {
            let message = format!("nobody knows the planning model `{name}`");
            Err(ModelError::new(ModelErrorKind::ConfigError, message))
        }
    }
}
