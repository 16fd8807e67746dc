//! Calls that wait for a person. A decision is a promise that Restate keeps: it comes by the handler `decide` of the
//! mission's workflow, whenever that is and wherever the mission goes on then. Meanwhile nothing of it is in memory.
//!
//! The SDK cannot wait for a promise and a step at once, so promises are awaited when nothing else is in flight.

use std::pin::Pin;
use std::time::Duration;

use ptc_runner::{Decision, PendingCall};
use restate_sdk::context::{
    ContextPromises, ContextReadState, ContextTimers, DurableFuture, DurableFuturesUnordered,
    SharedWorkflowContext, WorkflowContext,
};
use restate_sdk::errors::TerminalError;
use restate_sdk::serde::Json;
use serde::Deserialize;
use serde_json::Value;

use crate::worker::Served;

/// The calls that wait, in the state of a workflow.
pub(crate) const WAITING: &str = "waiting";

/// What `decide` takes.
const FORM: &str = "send {\"call\": 1, \"decision\": \"approve\"}; a decision may also be {\"reject\": \"why\"} or \
                    {\"edit\": {…}} with all arguments";

/// The promise of a decision.
fn promise(call: u64) -> String {
    format!("call-{call}")
}

/// What comes first.
type Coming<'a> =
    Pin<Box<dyn DurableFuture<Output = Result<Option<(u64, Decision)>, TerminalError>> + Send + 'a>>;

/// The first decision about one of these calls, or nothing if none comes in time.
pub(crate) async fn decided(
    ctx: &WorkflowContext<'_>,
    calls: &[u64],
    limit: Option<Duration>,
) -> Result<Option<(u64, Decision)>, TerminalError> {
    let keys: Vec<(u64, String)> = calls.iter().map(|call| (*call, promise(*call))).collect();
    let mut coming: DurableFuturesUnordered<Coming<'_>> = DurableFuturesUnordered::new();
    for (call, key) in &keys {
        let decision = ctx.promise::<Json<Decision>>(key);
        coming.push(Box::pin(decision.map_ok(move |Json(decision)| Some((*call, decision)))));
    }
    if let Some(limit) = limit {
        coming.push(Box::pin(ctx.sleep(limit).map_ok(|()| None)));
    }
    match coming.next().await? {
        Some((_, first)) => first,
        None => Ok(None),
    }
}

/// The calls that a mission waits with.
pub(crate) async fn waiting(ctx: &SharedWorkflowContext<'_>) -> Result<Vec<Value>, TerminalError> {
    let kept = ctx.get::<Json<Vec<Value>>>(WAITING).await?;
    Ok(kept.map(Json::into_inner).unwrap_or_default())
}

/// What a person sends.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Decided {
    call: u64,
    decision: Decision,
}

/// Takes a decision; gives the call that it is about.
pub(crate) async fn decide(
    ctx: &SharedWorkflowContext<'_>,
    served: &Served,
    sent: Value,
) -> Result<Value, TerminalError> {
    let refused = |code: u16, message: String| TerminalError::new_with_code(code, message);
    let Decided { call, decision } =
        serde_json::from_value(sent).map_err(|error| refused(400, format!("{error}; {FORM}")))?;
    let waiting = waiting(ctx).await?;
    let Some(found) = waiting.iter().find(|known| known["call"] == call) else {
        let known: Vec<String> = waiting.iter().map(|known| known["call"].to_string()).collect();
        let known = if known.is_empty() { "none does".to_owned() } else { known.join(", ") };
        return Err(refused(404, format!("no call {call} waits for a decision; these do: {known}")));
    };
    if let (Decision::Edit(args), Some(pending)) = (&decision, pending(served, found)) {
        pending.accepts(args).map_err(|message| refused(400, format!("call {call}: {message}")))?;
    }
    let key = promise(call);
    if ctx.peek_promise::<Json<Decision>>(&key).await?.is_some() {
        return Err(refused(409, format!("call {call} is decided already")));
    }
    ctx.resolve_promise(&key, Json(decision));
    Ok(found.clone())
}

/// The call with its tool, if it is one of the agent itself. What agents below it may take is told by the run.
fn pending(served: &Served, call: &Value) -> Option<PendingCall> {
    let agent = served.agent();
    let own = call["agent"].as_str() == agent.options().name.as_deref();
    let mut tool = (**agent.tools().get(call["tool"].as_str()?).filter(|_| own)?).clone();
    tool.validation.get_or_insert(agent.options().signature_validation);
    Some(PendingCall {
        id: call["call"].as_u64()?,
        agent: agent.options().name.clone(),
        tool: tool.into(),
        args: call["args"].clone(),
        about: call["about"].clone(),
    })
}
