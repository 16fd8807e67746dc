//! From a program's call to the client and back. What a call counts for is settled at once, in the order in which
//! the program made its calls; everything that waits comes after that.

use std::sync::Arc;
use std::time::Instant;

use ptc_lisp::machine::{Answer, ValueKind};
use serde_json::{Map, Value as Json};

use super::context::Run;
use super::ledger::{CatalogOp, End};
use super::upstream::{Found, Upstream};
use crate::call::{self, CallRequest, raise, select};
use crate::catalog::CatalogTool;
use crate::discovery::{self, Needs, Question, Reply};
use crate::ledger::{Overview, json_bytes};
use crate::model::{Allowance, Fault, Reason};

/// Why a call gave no result.
enum Stop {
    /// The world failed.
    Fault(Fault),
    /// The program is wrong.
    Wrong(String),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Stop::Fault(fault)
    }
}

/// What was settled when a call was made: its line in the account, or its answer.
type Begun = Result<(usize, CallRequest), Answer>;

impl Run {
    /// Answers `tool/call`.
    pub fn call(self: &Arc<Self>, args: Json) -> impl Future<Output = Answer> + Send + use<> {
        let begun = self.begin(args);
        let run = self.clone();
        async move {
            match begun {
                Ok((line, request)) => run.carry_out(line, request).await,
                Err(answer) => answer,
            }
        }
    }

    fn begin(&self, args: Json) -> Begun {
        if self.is_closed() {
            return Err(call::fault(&closed()));
        }
        let request = CallRequest::parse(args, &|| self.view().names()).map_err(raise)?;
        let line = self.book().open(&request.server, &request.tool);
        if self.take_call() {
            return Ok((line, request));
        }
        let message = format!("the program has made the {} upstream calls that it may make", self.caps.calls);
        let fault = Fault::new(Reason::CapExhausted, message);
        let answer = call::fault(&fault);
        self.book().close(line, End::Failed(fault));
        Err(answer)
    }

    async fn carry_out(&self, line: usize, request: CallRequest) -> Answer {
        let result = self.dispatch(line, request).await;
        if self.is_closed() {
            return call::fault(&closed());
        }
        let mut book = self.book();
        match result {
            Ok((value, kind)) => {
                let bytes = if kind == ValueKind::None { 0 } else { json_bytes(&value) };
                book.close(line, End::Ok(bytes, Overview::of(&value, kind)));
                Answer::Upstream { value, kind }
            }
            Err(Stop::Fault(fault)) => {
                let answer = call::fault(&fault);
                book.close(line, End::Failed(fault));
                answer
            }
            Err(Stop::Wrong(message)) => {
                book.close(line, End::Void);
                raise(message)
            }
        }
    }

    async fn dispatch(&self, line: usize, request: CallRequest) -> Result<(Json, ValueKind), Stop> {
        let Some(upstream) = self.runtime.upstream(&request.server) else {
            return Err(Stop::Wrong(request.unknown_server(&self.view().names())));
        };
        let credentials = upstream.credentials();
        if !self.policy.grants.reaches(credentials.iter().map(String::as_str)) {
            return Err(
                Fault::new(Reason::UpstreamUnavailable, "credential unavailable for this role").into()
            );
        }
        self.runtime.load(&request.server).await?;
        let tool = self.find(upstream, &request)?;
        self.book().identify(line, &tool.def.name, tool.effect.name());
        let args = arguments(upstream, &tool, &request)?;
        let allowance = Allowance {
            timeout: self.caps.call_timeout,
            max_bytes: self.caps.max_response_bytes.min(upstream.config.max_response_bytes),
        };
        let mut payload = upstream.client.call(&tool.def.name, args, allowance).await?;
        let redactor = self.runtime.redactor();
        payload.structured.iter_mut().for_each(|value| redactor.redact_json(value));
        for text in &mut payload.texts {
            *text = redactor.redact_string(std::mem::take(text));
        }
        let (value, kind) = select(payload)?;
        if kind != ValueKind::None {
            self.runtime.shapes().learn(&request.server, &tool.def.name, &value);
        }
        Ok((value, kind))
    }

    /// The tool, if there is one and this run may call it.
    fn find(&self, upstream: &Upstream, request: &CallRequest) -> Result<Arc<CatalogTool>, Stop> {
        let denied = |message: String| Stop::Fault(Fault::new(Reason::UpstreamToolDenied, message));
        let (server, asked) = (&request.server, &request.tool);
        let not_granted =
            || denied(format!("upstream operation {server}/{asked} is not granted for this run"));
        let grants = &self.policy.grants;
        match upstream.find(asked) {
            Found::Tool(tool) if !grants.allows(server, &tool.def.name) => Err(not_granted()),
            Found::Tool(tool) if !self.policy.allows(tool.effect) => {
                let effect = tool.effect.name();
                Err(denied(format!("this run is read-only and {server}/{asked} is of class {effect}")))
            }
            Found::Tool(tool) => Ok(tool),
            Found::Withheld(why) => Err(denied(why)),
            Found::Unknown(_) if !grants.allows(server, asked) => Err(not_granted()),
            Found::Unknown(known) => Err(Stop::Wrong(request.unknown_tool(&known.tool_names()))),
        }
    }

    /// Answers what programs ask about upstreams.
    pub fn discover(self: &Arc<Self>, asked: Json) -> impl Future<Output = Answer> + Send + use<> {
        let began = Instant::now();
        let granted = match () {
            () if self.is_closed() => Err(Reason::RunContextClosed.name()),
            () if !self.take_catalog_op() => Err("catalog_cap_exhausted"),
            () => Ok(()),
        };
        let run = self.clone();
        async move {
            let reply = match granted {
                Ok(()) => run.reply(&asked).await,
                Err(reason) => Reply::Nothing(reason),
            };
            run.note(asked, &reply, began);
            match reply {
                Reply::Found(value) => Answer::Value(value),
                Reply::Nothing(reason) => Answer::Fault { reason: reason.to_owned(), message: String::new() },
                Reply::Wrong(message) => raise(message),
            }
        }
    }

    async fn reply(&self, asked: &Json) -> Reply {
        let question = match Question::parse(asked) {
            Ok(question) => question,
            Err(message) => return Reply::Wrong(message),
        };
        match question.needs() {
            Needs::Nothing => {}
            Needs::All => drop(self.runtime.load_all().await),
            // Whether it is there at all is found out when the question is answered.
            Needs::Server(name) => drop(self.runtime.load(name).await),
        }
        let catalog = self.view();
        let shapes = self.runtime.shapes();
        discovery::answer(&question, &catalog, &shapes, self.caps.max_catalog_bytes)
    }

    fn note(&self, asked: Json, reply: &Reply, began: Instant) {
        if self.is_closed() {
            return;
        }
        let (outcome, reason) = match reply {
            Reply::Found(_) => ("ok", None),
            Reply::Nothing(reason) => ("nil_world_fault", Some((*reason).to_owned())),
            Reply::Wrong(message) => ("error", Some(message.clone())),
        };
        let Json::Object(mut args) = asked else { return };
        let operation =
            args.shift_remove("op").and_then(|op| op.as_str().map(str::to_owned)).unwrap_or_default();
        let duration_ms = began.elapsed().as_millis() as u64;
        let op = CatalogOp { operation, args: Json::Object(args), outcome, reason, duration_ms };
        self.book().catalog_ops.push(op);
    }
}

/// The arguments as the tool wants them, if it can take them.
fn arguments(
    upstream: &Upstream,
    tool: &CatalogTool,
    request: &CallRequest,
) -> Result<Map<String, Json>, Stop> {
    let args = tool.fitted(request.args.clone());
    let missing = tool.missing(&args);
    if !missing.is_empty() {
        return Err(Stop::Wrong(request.missing_args(&missing)));
    }
    match upstream.client.refuses(&tool.def.name, &args) {
        Some(why) => Err(Stop::Wrong(request.rejected(&why))),
        None => Ok(args),
    }
}

fn closed() -> Fault {
    Fault::new(Reason::RunContextClosed, "the program has ended")
}
