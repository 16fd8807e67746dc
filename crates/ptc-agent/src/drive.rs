//! The synchronous driver: asks a host for one thing after the other, on the calling thread. It is what tests
//! use, and the shortest description of what any driver does.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use serde_json::Value as Json;

use crate::event::Event;
use crate::model::{Llm, ModelError, ModelErrorKind, Pending, Reply, Request};
use crate::run::{AgentRun, Ask, AskKind, Need, Supply};
use crate::step::Step;
use crate::tool::{Body, Decision, Function, PendingCall, Tool, ToolResult};
use crate::typed::Call;

/// The outside of a run.
pub trait Host {
    /// The time, in milliseconds since 1970.
    fn now(&mut self) -> u64;

    /// Waits so many milliseconds.
    fn wait(&mut self, ms: u64);

    /// A model's reply.
    fn model(&mut self, llm: &Llm, request: &Arc<Request>) -> Result<Reply, ModelError> {
        ask_model(llm, request)
    }

    /// A tool's result.
    fn tool(&mut self, tool: &Tool, args: Json) -> ToolResult {
        call_function(tool, args)
    }

    /// What a person decides about a call; nothing if nobody does now, and then the run pauses.
    fn approve(&mut self, _call: &PendingCall) -> Option<Decision> {
        None
    }

    /// Something happened.
    fn event(&mut self, _event: Event) {}
}

/// Drives a run to its end, or until it waits for nothing but people; then the step is [`AgentRun::paused`].
pub fn drive(run: &mut AgentRun, host: &mut impl Host) -> Step {
    for ask in run.outstanding() {
        answer(run, host, ask);
    }
    loop {
        let now = host.now();
        let need = run.next(now);
        run.take_events().into_iter().for_each(|event| host.event(event));
        match need {
            Need::Done(step) => return *step,
            Need::Busy => {}
            Need::Wait { .. } if run.is_paused() => return run.paused(),
            Need::Asks(asks) => asks.into_iter().for_each(|ask| answer(run, host, ask)),
            // Everything is answered as it is asked, so only a limit of time can be waited for.
            Need::Wait { until } => match until {
                Some(until) => host.wait(until.saturating_sub(now).max(1)),
                None => run.cancel(now),
            },
        }
    }
}

fn answer(run: &mut AgentRun, host: &mut impl Host, ask: Ask) {
    let id = ask.id;
    if !run.wants(id) {
        return;
    }
    let supply = match ask.kind {
        AskKind::Model { llm, request, after_ms } => {
            if after_ms > 0 {
                host.wait(after_ms);
            }
            Supply::Model(host.model(&llm, &request))
        }
        AskKind::Tool { tool, args, .. } => Supply::Tool(host.tool(&tool, args)),
        AskKind::Approval { .. } => {
            let Some(decision) = ask.into_pending().and_then(|call| host.approve(&call)) else { return };
            // Tell the time first: what the person took does not count.
            run.at(host.now());
            Supply::Approval(decision)
        }
    };
    run.supply(id, supply);
}

/// The reply of a model that answers at once.
pub fn ask_model(llm: &Llm, request: &Arc<Request>) -> Result<Reply, ModelError> {
    let late =
        || ModelError::new(ModelErrorKind::ConfigError, "this model is async; drive the run on a runtime");
    match llm {
        Llm::Function(function) => catch_unwind(AssertUnwindSafe(|| function(request)))
            .unwrap_or_else(|_| Err("the model's function panicked".into())),
        Llm::Model(model) => at_once(model.reply(request.clone(), None)).unwrap_or_else(|| Err(late())),
        Llm::Named(name) => {
            let message = format!("llm_registry_required: nobody knows the model `{name}`");
            Err(ModelError::new(ModelErrorKind::ConfigError, message))
        }
    }
}

/// The result of a tool that answers at once. One that panics has failed.
pub fn call_function(tool: &Tool, args: Json) -> ToolResult {
    catch_unwind(AssertUnwindSafe(|| called(tool, args)))
        .unwrap_or_else(|_| Err("the tool's function panicked".to_owned()))
}

fn called(tool: &Tool, args: Json) -> ToolResult {
    let late = || Err("this tool is async; drive the run on a runtime".to_owned());
    match &tool.body {
        Body::Function(Function::Sync(function)) => function(args),
        Body::Function(Function::Later(function)) => at_once(function(args))
            .unwrap_or_else(|| Err("this tool is async; drive the run on a runtime".to_owned())),
        Body::Function(Function::Typed(call)) => match call(args) {
            Call::Now(result) => result,
            Call::Later(pending) => at_once(pending).unwrap_or_else(late),
        },
        _ => Err(format!("`{}` has no function", tool.name)),
    }
}

/// What a future gives if it need not wait.
fn at_once<T>(mut future: Pending<T>) -> Option<T> {
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}
