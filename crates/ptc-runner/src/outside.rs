//! What runs ask for, got from outside: replies of models and results of tools. What panics or takes too long
//! becomes an error.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ptc_agent::model::{Llm, ModelError, ModelErrorKind, Reply, Request, TextSink};
use ptc_agent::typed::Call;
use ptc_agent::{Answers, Ask, AskKind, Body, Decision, Function, Supply, Tool};
#[cfg(feature = "upstreams")]
use ptc_upstream::runtime::numbered;
use serde_json::Value as Json;
use tokio::runtime::Handle;
use tokio_util::task::AbortOnDropHandle;

use crate::journal::{is_own_and_once, own_call};

/// What an ask wants, for drivers that keep runs elsewhere. There is nobody who approves calls. Must be called on a tokio runtime; dropping the future
/// drops the request.
pub async fn answer(ask: &Ask) -> Supply {
    let home = Handle::current();
    match &ask.kind {
        AskKind::Model { llm, request, after_ms } => {
            tokio::time::sleep(Duration::from_millis(*after_ms)).await;
            Supply::Model(reply(llm.clone(), request.clone(), None, &home).await)
        }
        AskKind::Tool { tool, args, timeout_ms } => {
            let called_ms = ptc_host::now_ms();
            let called = call(ask.id, tool, args.clone(), *timeout_ms, &home).await;
            called.unwrap_or_else(|cause| match is_own_and_once(tool, args) {
                true => cause.unknown(&tool.name, called_ms, None),
                false => cause.lost(),
            })
        }
        AskKind::Approval { .. } => {
            Supply::Approval(Decision::Reject("nobody can be asked where this run is driven".to_owned()))
        }
    }
}

/// A model's reply, with its text handed on in pieces; from a model that does not stream, in one.
pub(crate) async fn streamed(
    llm: Llm,
    request: Arc<Request>,
    chunk: Option<TextSink>,
    home: &Handle,
) -> Result<Reply, ModelError> {
    let Some(chunk) = chunk else { return reply(llm, request, None, home).await };
    let came = Arc::new(AtomicBool::new(false));
    let (seen, sink) = (came.clone(), chunk.clone());
    let watched: TextSink = Arc::new(move |piece: &str| {
        seen.store(true, Ordering::Relaxed);
        // Whoever listens cannot end the run.
        let _ = std::panic::catch_unwind(AssertUnwindSafe(|| sink(piece)));
    });
    let reply = reply(llm, request, Some(watched), home).await?;
    if let (false, Some(text)) = (came.load(Ordering::Relaxed), &reply.content) {
        let _ = std::panic::catch_unwind(AssertUnwindSafe(|| chunk(text)));
    }
    Ok(reply)
}

/// A model's reply. What panics becomes an error.
async fn reply(
    llm: Llm,
    request: Arc<Request>,
    chunk: Option<TextSink>,
    home: &Handle,
) -> Result<Reply, ModelError> {
    let panicked = |_| ModelError::from("the model's function panicked");
    match llm {
        Llm::Model(model) => {
            // Whoever drops this drops the request.
            AbortOnDropHandle::new(home.spawn(model.reply(request, chunk))).await.map_err(panicked)?
        }
        Llm::Function(function) => home.spawn_blocking(move || function(&request)).await.map_err(panicked)?,
        Llm::Named(name) => {
            Err(ModelError::new(ModelErrorKind::ConfigError, format!("`{name}` is only a name")))
        }
    }
}

#[cfg(not(feature = "upstreams"))]
async fn numbered<T>(_: u64, _: Option<Instant>, calls: impl Future<Output = T>) -> T {
    calls.await
}

/// Why a tool gave no result.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NoResult {
    /// There is nothing to call.
    NoFunction,
    /// Its function panicked.
    Panicked,
    /// It took longer than so many milliseconds.
    Late(u64),
}

impl NoResult {
    /// What the run is told of a call that changed nothing, or may be made again.
    pub fn lost(self) -> Supply {
        Supply::Lost(match self {
            NoResult::NoFunction => "this tool has no function".to_owned(),
            NoResult::Panicked => "the tool's function panicked".to_owned(),
            NoResult::Late(limit) => format!("took longer than {limit} ms"),
        })
    }

    /// What the run is told of a call that may have changed something, made then: people find it by its identity, if it is
    /// written down.
    pub fn unknown(self, tool: &str, called_ms: i64, identity: Option<&str>) -> Supply {
        let why = match self {
            NoResult::NoFunction => return self.lost(),
            NoResult::Panicked => "panicked".to_owned(),
            NoResult::Late(limit) => format!("took longer than {limit} ms"),
        };
        let then = ptc_host::look_and_settle(identity);
        Supply::Lost(ptc_host::outcome_unknown(&own_call(tool), Some(called_ms), &why, &then))
    }
}

/// How long after its time a call of an upstream may say what became of it.
const GRACE: Duration = Duration::from_secs(1);

/// A tool's result; none of one that panics or takes too long. Calls of upstreams that it makes are known by the
/// number of the ask, and end by themselves when their time is over.
pub(crate) async fn call(
    ask: u64,
    tool: &Tool,
    args: Json,
    timeout_ms: Option<u64>,
    home: &Handle,
) -> Result<Supply, NoResult> {
    let Body::Function(function) = &tool.body else { return Err(NoResult::NoFunction) };
    let deadline = timeout_ms.and_then(|limit| Instant::now().checked_add(Duration::from_millis(limit)));
    let task = match function.clone() {
        Function::Sync(function) => home.spawn_blocking(move || {
            std::panic::catch_unwind(AssertUnwindSafe(|| function(args)))
                .map_or(Err(NoResult::Panicked), |result| Ok(Supply::Tool(result)))
        }),
        Function::Later(function) => {
            home.spawn(numbered(ask, deadline, async move { Ok(Supply::Tool(function(args).await)) }))
        }
        // A typed function may block before it answers.
        Function::Typed(call) => home.spawn(async move {
            match tokio::task::spawn_blocking(move || call(args)).await {
                Ok(Call::Now(result)) => Ok(Supply::Tool(result)),
                Ok(Call::Later(pending)) => Ok(Supply::Tool(pending.await)),
                Err(_) => Err(NoResult::Panicked),
            }
        }),
    };
    // A call of an upstream ends by itself and says whether anything was sent; one that does not is not waited for.
    let grace = if tool.answers == Answers::Upstream { GRACE } else { Duration::ZERO };
    // Whoever drops this drops the call, and so does the limit of time.
    let task = AbortOnDropHandle::new(task);
    let ended = match timeout_ms {
        None => task.await,
        Some(limit) => match tokio::time::timeout(Duration::from_millis(limit) + grace, task).await {
            Ok(ended) => ended,
            Err(_) => return Err(NoResult::Late(limit)),
        },
    };
    ended.unwrap_or(Err(NoResult::Panicked))
}
