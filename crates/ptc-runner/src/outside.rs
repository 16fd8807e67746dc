//! What runs ask for, got from outside: replies of models and results of tools. What panics or takes too long
//! becomes an error.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ptc_agent::model::{Llm, ModelError, ModelErrorKind, Reply, Request, TextSink};
use ptc_agent::typed::Call;
use ptc_agent::{Ask, AskKind, Body, Decision, Function, Supply};
#[cfg(feature = "upstreams")]
use ptc_upstream::runtime::numbered;
use serde_json::Value as Json;
use tokio::runtime::Handle;
use tokio_util::task::AbortOnDropHandle;

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
            call(ask.id, &tool.body, args.clone(), *timeout_ms, &home).await
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
async fn numbered<T>(_: u64, calls: impl Future<Output = T>) -> T {
    calls.await
}

/// A tool's result; none of one that panics or takes too long. Calls of upstreams that it makes are known by the
/// number of the ask.
pub(crate) async fn call(
    ask: u64,
    body: &Body,
    args: Json,
    timeout_ms: Option<u64>,
    home: &Handle,
) -> Supply {
    let Body::Function(function) = body else { return Supply::Lost("this tool has no function".to_owned()) };
    let task = match function.clone() {
        Function::Sync(function) => home.spawn_blocking(move || {
            std::panic::catch_unwind(AssertUnwindSafe(|| function(args)))
                .map_or_else(|_| Supply::Lost(PANICKED.to_owned()), Supply::Tool)
        }),
        Function::Later(function) => {
            home.spawn(numbered(ask, async move { Supply::Tool(function(args).await) }))
        }
        // A typed function may block before it answers.
        Function::Typed(call) => home.spawn(async move {
            match tokio::task::spawn_blocking(move || call(args)).await {
                Ok(Call::Now(result)) => Supply::Tool(result),
                Ok(Call::Later(pending)) => Supply::Tool(pending.await),
                Err(_) => Supply::Lost(PANICKED.to_owned()),
            }
        }),
    };
    // Whoever drops this drops the call, and so does the limit of time.
    let task = AbortOnDropHandle::new(task);
    let ended = match timeout_ms {
        None => task.await,
        Some(limit) => match tokio::time::timeout(Duration::from_millis(limit), task).await {
            Ok(ended) => ended,
            Err(_) => return Supply::Lost(format!("took longer than {limit} ms")),
        },
    };
    ended.unwrap_or_else(|_| Supply::Lost(PANICKED.to_owned()))
}

const PANICKED: &str = "the tool's function panicked";
