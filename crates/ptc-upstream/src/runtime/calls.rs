//! From a program's call to the client and back. What a call counts for is settled at once, in the order in which
//! the program made its calls; everything that waits comes after that.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use ptc_lisp::machine::{Answer, ValueKind};
use serde_json::{Map, Value as Json, json};

use super::context::Run;
use super::journal::{self, Begun as Known, KnownCall, RunJournal, What};
use super::ledger::{CatalogOp, End};
use super::unsent::{self, Before};
use super::upstream::{FoundTool, Upstream};
use crate::call::{self, CallRequest, raise, select};
use crate::catalog::{CatalogTool, Server};
use crate::config::EffectClass;
use crate::discovery::{self, Away, Needs, Question, Reply, STARTING};
use crate::ledger::{Overview, json_bytes};
use crate::model::{Allowance, Block, Fault, Reason};
use crate::outcome::{Unknown, Why, is_known};
use crate::pins::digest;
use crate::shapes::Shapes;

/// The failure of a call that the journal did not take, which the program is told again when it runs again.
fn unwritten(journal: &RunJournal, identity: &str, why: &str) -> Fault {
    let message = format!("nothing was sent, because the call cannot be written down first: {why}");
    let fault = Fault::new(Reason::UpstreamUnavailable, message).before_sending();
    journal.saw(What::Silence, identity, || journal::failed(&fault));
    fault
}

/// The failure of a call that was written down so slowly that others may have settled it, which is not sent any more.
fn too_late(journal: &RunJournal, identity: &str, took: Duration) -> Fault {
    let message = format!(
        "nothing was sent, because writing the call down first took {} s: by then others may have noted that it did not \
         happen; look whether the store or the machine stood still",
        took.as_secs()
    );
    let fault = Fault::new(Reason::UpstreamUnavailable, message).before_sending();
    journal.saw(What::Silence, identity, || journal::failed(&fault));
    fault
}

/// A failure with what a program can do, if it is that there was too little time. What gives calls more is told to the
/// operator, in the log.
fn with_cure(mut fault: Fault, upstream: &Upstream, tool: &CatalogTool, time: Duration) -> Fault {
    if fault.reason == Reason::Timeout {
        let endpoint = upstream.config.transport.endpoint();
        let setting = match endpoint.is_some_and(|endpoint| endpoint.request_timeout < time) {
            true => "\"request_timeout_ms\" of the upstream",
            false if journal::time_left().is_some_and(|left| left.is_zero()) => "`pmap_timeout` of the agent",
            false => "\"call_timeout_ms\" of the upstream, or --upstream-call-timeout-ms for all,",
        };
        let (name, called) = (&upstream.config.name, crate::catalog::one_line(&tool.def.name, 120));
        tracing::warn!(upstream = %name, tool = %called, "{}; {setting} gives it more time", fault.message);
        // A call that may have changed something is not to be made again in another way.
        if tool.effect == EffectClass::Read {
            fault.message.push_str("; ask for less in one call");
        }
    }
    fault
}

fn says_starting(fault: &Fault) -> bool {
    fault.message.ends_with(STARTING)
}

/// Why a call gave no result.
pub(super) enum Stop {
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

/// A call for which everything is settled that depends on the order of calls.
struct Opened {
    /// Its line in the account.
    line: usize,
    request: CallRequest,
    /// What it is known by, where calls are written down.
    identity: Option<String>,
}

/// What was settled when a call was made: where it stands, or its answer.
type BegunCall = Result<Opened, Answer>;

/// What a call gave, with secrets covered.
type Given = Result<(Json, ValueKind), Fault>;

impl Run {
    /// Answers `tool/call`.
    pub fn call(self: &Arc<Self>, args: Json) -> impl Future<Output = Answer> + Send + use<> {
        let begun = self.begin(args);
        let run = self.clone();
        async move {
            match begun {
                Ok(opened) => run.carry_out(opened).await,
                Err(answer) => answer,
            }
        }
    }

    fn begin(&self, args: Json) -> BegunCall {
        if self.is_closed() {
            return Err(call::fault(&closed()));
        }
        let request = CallRequest::parse(args, &|| self.view().names()).map_err(raise)?;
        let args_hash = self.args_hash(&request);
        let line = self.book().open(&request.server, &request.tool, args_hash);
        if self.take_call() {
            let identity = self.journal.as_ref().map(|journal| journal.identity(&request));
            return Ok(Opened { line, request, identity });
        }
        let fault = spent(self);
        let answer = call::fault(&fault);
        self.book().close(line, End::Failed(fault));
        Err(answer)
    }

    /// The hash of the arguments. Secrets are covered first: whoever has the hash of one could try guesses on it.
    pub(super) fn args_hash(&self, request: &CallRequest) -> String {
        let mut args = json!(request.args);
        self.runtime.redactor().redact_json(&mut args);
        digest(&args)
    }

    async fn carry_out(&self, opened: Opened) -> Answer {
        let line = opened.line;
        let result = self.dispatch(opened).await;
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

    async fn dispatch(&self, opened: Opened) -> Result<(Json, ValueKind), Stop> {
        let Opened { line, request, identity } = opened;
        let kept = self.journal.as_ref().zip(identity);
        let before = kept.as_ref().and_then(|(journal, identity)| journal.seen(What::Read, identity));
        if let Some(before) = before {
            let mut book = self.book();
            if before["ok"] == true {
                book.identify(line, &request.tool, EffectClass::Read.name());
            }
            book.recall(line);
            return journal::retold(before);
        }
        // What was begun, or was not and is known not to have been sent, is answered from the journal, whatever its tool and
        // its server are by now.
        if let Some((journal, identity)) = &kept
            && let Some(given) = self.told_before(line, &request, journal, identity).await
        {
            return given.map_err(Stop::from);
        }
        let key = kept.as_ref().map(|(_, identity)| identity.as_str());
        let given = match (self.readied(line, &request, key).await, &kept) {
            (Err(Stop::Fault(fault)), _) => Err(fault.before_sending().into()),
            (Err(wrong), _) => Err(wrong),
            (Ok((upstream, tool, args)), Some((journal, identity))) if tool.effect != EffectClass::Read => {
                let given = self.ask_once(line, upstream, &tool, args, journal, identity).await;
                return given.map_err(Stop::from);
            }
            // Nothing is written down here. A tool of which nobody says what it does may write.
            (Ok((upstream, tool, args)), _) if tool.effect != EffectClass::Read => {
                let (server, tool_name) = (&upstream.config.name, &tool.def.name);
                let called_ms = Some(ptc_host::now_ms());
                let call = Unknown { server, tool: tool_name, identity: None, called_ms };
                self.send(line, upstream, &tool, args, call).await.map_err(Stop::from)
            }
            (Ok((upstream, tool, args)), _) => self.ask(upstream, &tool, args).await.map_err(Stop::from),
        };
        if let Some((journal, identity)) = &kept {
            journal.saw(What::Read, identity, || journal::told(&given));
        }
        given
    }

    /// What the program was told of a call when it ran before, if it made it then.
    async fn told_before(
        &self,
        line: usize,
        request: &CallRequest,
        journal: &RunJournal,
        identity: &str,
    ) -> Option<Given> {
        // The program went on with what it was told, whatever came of the call, or was settled, since: told anything else, it
        // would make other calls than it made.
        if let Some(before) = journal.seen(What::Silence, identity) {
            self.book().recall(line);
            return Some(journal::read(before));
        }
        match journal.known(identity).await {
            Ok(known) => self.recalled(line, known?, journal, (&request.server, &request.tool), identity),
            Err(why) => Some(Err(self.not_looked_up(journal, request, identity, &why))),
        }
    }

    /// The failure of a call that may have been made when the program ran before, which the journal does not say now.
    /// Nothing was sent, and the program is told the same when it runs again.
    pub(super) fn not_looked_up(
        &self,
        journal: &RunJournal,
        request: &CallRequest,
        identity: &str,
        why: &str,
    ) -> Fault {
        let (server, tool) = (&request.server, &request.tool);
        let reads = |upstream: &Upstream| matches!(upstream.find(tool), FoundTool::Tool(tool) if tool.effect == EffectClass::Read);
        let fault = match self.runtime.upstream(server).is_some_and(reads) {
            true => {
                let message = format!(
                    "nothing was sent, because it cannot be looked up whether the call was made before: {why}"
                );
                Fault::new(Reason::UpstreamUnavailable, message)
            }
            false => journal.unknown(server, tool, identity, None).fault(Why::NotLookedUp(why)),
        };
        let fault = fault.before_sending();
        journal.saw(What::Silence, identity, || journal::failed(&fault));
        fault
    }

    /// Whom a call goes to, and its arguments. A write is given its key, if it takes one.
    async fn readied(
        &self,
        line: usize,
        request: &CallRequest,
        key: Option<&str>,
    ) -> Result<(&Upstream, Arc<CatalogTool>, Map<String, Json>), Stop> {
        let (upstream, tool) = self.resolve(request).await?;
        self.book().identify(line, &tool.def.name, tool.effect.name());
        let key = key.filter(|_| tool.effect != EffectClass::Read);
        let args = arguments(upstream, &tool, request, key)?;
        Ok((upstream, tool, args))
    }

    /// The upstream and the tool of a call, if this run may make it.
    pub(super) async fn resolve(&self, request: &CallRequest) -> Result<(&Upstream, Arc<CatalogTool>), Stop> {
        let Some(upstream) = self.runtime.upstream(&request.server) else {
            return Err(Stop::Wrong(request.unknown_server(&self.view().names())));
        };
        let credentials = upstream.credentials();
        if !self.policy.grants.reaches(credentials.iter().map(String::as_str)) {
            return Err(
                Fault::new(Reason::UpstreamUnavailable, "credential unavailable for this role").into()
            );
        }
        self.listed(&request.server).await?;
        Ok((upstream, self.find(upstream, request)?))
    }

    /// Lists the tools of a server if they are not known. One that was reached has as long for it as for a call; one that is
    /// still being started as long as this run waits for such servers.
    pub(super) async fn listed(&self, server: &str) -> Result<(), Fault> {
        let loading = self.runtime.load(server);
        tokio::pin!(loading);
        // One that is known is not waited for, and then there need not be a clock.
        if let Poll::Ready(loaded) = poll_fn(|cx| Poll::Ready(loading.as_mut().poll(cx))).await {
            return loaded;
        }
        let Some(upstream) = self.runtime.upstream(server) else { return loading.await };
        let time = self.time_for(upstream);
        let is_reached = || upstream.client.generation() > 0 || upstream.client.about().is_some();
        loop {
            let left = if is_reached() { time } else { time.min(self.start_wait()) };
            if let Ok(loaded) = tokio::time::timeout(left, &mut loading).await {
                return loaded;
            }
            if is_reached() && left == time {
                let message = format!("{server} did not list its tools within {} ms", time.as_millis());
                return Err(Fault::new(Reason::Timeout, message).before_sending());
            }
            if !is_reached() && self.caps.start_wait.is_some() {
                let message = format!("{server} is {STARTING}");
                return Err(Fault::new(Reason::UpstreamUnavailable, message).before_sending());
            }
        }
    }

    /// How long one call of an upstream may take.
    fn time_for(&self, upstream: &Upstream) -> Duration {
        let time = upstream.config.call_timeout.unwrap_or(self.caps.call_timeout);
        journal::time_left().map_or(time, |left| left.min(time))
    }

    async fn ask(&self, upstream: &Upstream, tool: &CatalogTool, args: Map<String, Json>) -> Given {
        let allowance = Allowance {
            timeout: self.time_for(upstream),
            max_bytes: self.caps.max_response_bytes.min(upstream.config.max_response_bytes),
            max_values: self.caps.max_response_values,
            once: tool.effect != EffectClass::Read,
        };
        let answer = upstream.client.call(&tool.def.name, args, allowance).await;
        let mut payload = answer.map_err(|fault| with_cure(fault, upstream, tool, allowance.timeout))?;
        if tool.wraps_result() {
            payload.structured = payload.structured.map(call::unwrapped);
        }
        let redactor = self.runtime.redactor();
        payload.structured.iter_mut().for_each(|value| redactor.redact_json(value));
        for block in &mut payload.content {
            match block {
                Block::Text(text) => *text = redactor.redact_string(std::mem::take(text)),
                Block::Data(value) => redactor.redact_json(value),
            }
        }
        let (value, kind) = select(payload, allowance.max_values)?;
        if kind != ValueKind::None {
            self.runtime.shapes().learn(&self.owner, &upstream.config.name, &tool.def.name, &value);
        }
        Ok((value, kind))
    }

    /// Asks unless the journal knows that it was asked before.
    async fn ask_once(
        &self,
        line: usize,
        upstream: &Upstream,
        tool: &CatalogTool,
        args: Map<String, Json>,
        journal: &RunJournal,
        identity: &str,
    ) -> Given {
        let (server, name) = (&upstream.config.name, &tool.def.name);
        let mut shown = Json::Object(args.clone());
        self.runtime.redactor().redact_json(&mut shown);
        let marked = journal.mark(identity, (server, name));
        let before = Before::now();
        let found = match journal.begin(identity, server, name, shown).await {
            Ok(found) => found,
            Err(why) => {
                // It may be written down all the same.
                unsent::note(marked).await;
                return Err(unwritten(journal, identity, &why));
            }
        };
        let called_ms = found.begun_ms.or_else(|| Some(ptc_host::now_ms()));
        if let Some(given) = self.recalled(line, found, journal, (server, name), identity) {
            return given;
        }
        if let Some(took) = before.too_long_ago(marked.journal.holds()) {
            unsent::note(marked).await;
            return Err(too_late(journal, identity, took));
        }
        let call = journal.unknown(server, name, identity, called_ms);
        let given = self.send(line, upstream, tool, args, call).await;
        let is_open = given.as_ref().is_err_and(|fault| fault.reason == Reason::OutcomeUnknown);
        // What is not written down as its answer is remembered as what the program was told.
        if is_open || !journal.done(identity, (server, name), journal::written(&given)).await {
            journal.saw(What::Silence, identity, || journal::written(&given));
        }
        given
    }

    /// Asks for what may change something. If nobody knows then whether it did, the program is told that.
    async fn send(
        &self,
        line: usize,
        upstream: &Upstream,
        tool: &CatalogTool,
        args: Map<String, Json>,
        call: Unknown<'_>,
    ) -> Given {
        self.book().sent(line, &call);
        let given = self.ask(upstream, tool, args).await;
        given.map_err(|fault| if is_known(&fault) { fault } else { call.fault(Why::Unanswered(&fault)) })
    }

    /// What a program is told of a call that was begun before and of which it was told nothing yet.
    fn recalled(
        &self,
        line: usize,
        KnownCall { known, begun_ms }: KnownCall,
        journal: &RunJournal,
        (server, tool): (&str, &str),
        identity: &str,
    ) -> Option<Given> {
        let given = match known {
            Known::Fresh => return None,
            Known::Done(answer) => journal::read(answer),
            Known::Unknown | Known::Dismissed => {
                let why = if known == Known::Dismissed { Why::Dismissed } else { Why::BegunBefore };
                let fault = journal.unknown(server, tool, identity, begun_ms).fault(why);
                journal.saw(What::Silence, identity, || journal::failed(&fault));
                Err(fault)
            }
        };
        self.book().recall(line);
        Some(given)
    }

    /// The tool, if there is one and this run may call it.
    fn find(&self, upstream: &Upstream, request: &CallRequest) -> Result<Arc<CatalogTool>, Stop> {
        let denied = |message: String| Stop::Fault(Fault::new(Reason::UpstreamToolDenied, message));
        let (server, asked) = (&request.server, &request.tool);
        let not_granted =
            || denied(format!("upstream operation {server}/{asked} is not granted for this run"));
        let grants = &self.policy.grants;
        match upstream.find(asked) {
            FoundTool::Tool(tool) if !grants.allows(server, &tool.def.name) => Err(not_granted()),
            FoundTool::Tool(tool) if !self.policy.allows(tool.effect) => {
                let effect = tool.effect.name();
                Err(denied(format!("this run is read-only and {server}/{asked} is of class {effect}")))
            }
            FoundTool::Tool(tool) => Ok(tool),
            FoundTool::Withheld(why) => Err(denied(why)),
            FoundTool::Unusable(_) if !grants.allows(server, asked) => Err(not_granted()),
            FoundTool::Unusable(why) => Err(Fault::new(Reason::UpstreamError, why).into()),
            FoundTool::Unknown(_) if !grants.allows(server, asked) => Err(not_granted()),
            FoundTool::Unknown(known) => Err(Stop::Wrong(request.unknown_tool(&known.tool_names()))),
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
        let identity = self.journal.as_ref().and_then(|journal| journal.question(&asked));
        let run = self.clone();
        async move {
            let kept = run.journal.as_ref().zip(identity.as_deref());
            let before = kept.and_then(|(journal, identity)| journal.seen(What::Catalog, identity));
            let reply = match (granted, before) {
                (Err(reason), _) => Reply::Nothing(reason),
                (Ok(()), Some(before)) => journal::reply(before),
                (Ok(()), None) => {
                    let reply = run.reply(&asked).await;
                    if let Some((journal, identity)) = kept {
                        journal.saw(What::Catalog, identity, || journal::replied(&reply));
                    }
                    reply
                }
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
        let mut starting = false;
        match question.needs() {
            Needs::Nothing => {}
            Needs::Starting => {
                let seen = self.view();
                let is_unknown = |server: &&Arc<Server>| server.remembered.is_none();
                let starting = seen.servers().iter().filter(|server| self.is_starting(&server.name));
                let names: Vec<&str> =
                    starting.filter(is_unknown).map(|server| server.name.as_str()).collect();
                self.list(&names).await;
            }
            Needs::All => {
                let seen = self.view();
                let names: Vec<&str> = seen.servers().iter().map(|server| server.name.as_str()).collect();
                self.list(&names).await;
            }
            // Whether it is there at all is found out when the question is answered.
            Needs::Server(name) => {
                starting = self.listed(name).await.is_err_and(|fault| says_starting(&fault))
            }
        }
        let (catalog, most) = (self.view(), self.caps.max_catalog_bytes);
        let away = |server: &str| self.away(server);
        if let Question::Dir { server, .. } = &question
            && starting
            && catalog.server(server).is_some()
        {
            return Reply::Found(json!([format!("{server} ({STARTING})")]));
        }
        // A search looks at no shapes, and may take longer than others should wait for them.
        if matches!(question, Question::Apropos { .. }) {
            let remembered = catalog.with_remembered();
            let catalog = remembered.as_ref().unwrap_or(&catalog);
            return discovery::answer(&question, catalog, &Shapes::default(), &away, most);
        }
        let shapes = self.runtime.shapes();
        discovery::answer(&question, &catalog, shapes.of(&self.owner), &away, most)
    }

    /// Lists the tools of these servers, side by side, where they are not known. What cannot be had is told by whoever asks
    /// for it.
    pub(super) async fn list(&self, servers: &[&str]) {
        join_all(servers.iter().map(|server| self.listed(server))).await;
    }

    /// Why a server is not there, if this run may know of it.
    fn away(&self, server: &str) -> Option<Away> {
        let upstream = self.runtime.upstream(server)?;
        let credentials = upstream.credentials();
        if !self.policy.grants.reaches(credentials.iter().map(String::as_str)) {
            return None;
        }
        let down = upstream.down().map(Away::Down);
        down.or_else(|| self.is_starting(server).then_some(Away::Starting))
    }

    /// Whether a server is being started by the runtime itself.
    fn is_starting(&self, server: &str) -> bool {
        self.runtime.starting().any(|upstream| upstream.config.name == server)
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

/// The arguments as the tool wants them, if it can take them. A tool that takes a key by which it knows calls that
/// come twice gets `key`, unless the program gave it one.
pub(super) fn arguments(
    upstream: &Upstream,
    tool: &CatalogTool,
    request: &CallRequest,
    key: Option<&str>,
) -> Result<Map<String, Json>, Stop> {
    let mut args = tool.fitted(request.args.clone());
    if let Some((key, name)) = key.zip(journal::key_argument(tool)) {
        args.entry(name).or_insert_with(|| key.into());
    }
    let missing = tool.missing(&args);
    if !missing.is_empty() {
        let missing: Vec<&str> = missing.iter().map(String::as_str).collect();
        return Err(Stop::Wrong(request.missing_args(&missing) + &tool.instead(&args)));
    }
    match upstream.client.refuses(&tool.def.name, &args) {
        Some(why) => Err(Stop::Wrong(request.rejected(&why))),
        None => Ok(args),
    }
}

/// The run has made all the calls that it may make.
pub(super) fn spent(run: &Run) -> Fault {
    let message = format!("the program has made the {} upstream calls that it may make", run.caps.calls);
    Fault::new(Reason::CapExhausted, message)
}

fn closed() -> Fault {
    Fault::new(Reason::RunContextClosed, "the program has ended")
}
