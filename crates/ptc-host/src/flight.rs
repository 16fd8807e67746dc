//! The tool calls of a program that are under way.
//!
//! All calls of a step start at once, up to the program's cap, and are answered together, in order, when
//! the last one is in. So what a program does depends on the answers and not on who was faster.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use ptc_lisp::machine::{Answer, Call};
use ptc_lisp::{Error, ErrorKind};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::helpers;
use crate::hold::{Decision, Judgement, PendingCall, Resumption};
use crate::tape::Tape;
use crate::tools::{Reply, Run, Tool, Tools, call as call_function};
use crate::waiting::WaitingAnswer;

/// Takes the reply to a call back to the driver, from whatever thread.
pub(crate) type Post = Arc<dyn Fn(u64, Reply) + Send + Sync>;

/// A tool call in the log of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Called {
    /// Its number, from 1 on.
    pub id: u64,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub args: Json,
    /// What came of it.
    pub end: CallEnd,
    /// How long it took.
    pub elapsed: Duration,
}

/// What came of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CallEnd {
    /// Nothing: the program ended before.
    Unanswered,
    /// A value.
    Value,
    /// A failure of the world outside, which the program got as a value.
    Fault,
    /// An exception.
    Raised,
}

/// Where calls start from: the way back, and what runs async functions.
#[derive(Clone)]
pub(crate) struct Ground {
    /// The way back.
    pub post: Post,
    /// Whether the driver's thread has nothing else to do, and nothing to watch, while a call blocks.
    pub patient: bool,
    /// The runtime for async functions; without one they get a runtime of the process.
    #[cfg(feature = "tokio")]
    pub runtime: Option<tokio::runtime::Handle>,
}

/// Answers by the numbers of their calls.
pub(crate) type Answered = Vec<(u64, Answer)>;

/// A call that is out.
struct Out {
    id: u64,
    begun: Instant,
    limit: Option<Limit>,
    #[cfg(feature = "tokio")]
    task: Option<tokio::task::AbortHandle>,
}

/// How long a call may take.
struct Limit {
    timeout: Duration,
    /// When its function began to run, if it had to wait for a thread.
    running: Arc<OnceLock<Instant>>,
}

impl Out {
    /// When the call has taken too long. While it waits for a thread the end moves on.
    fn deadline(&self, now: Instant) -> Option<Instant> {
        let limit = self.limit.as_ref()?;
        Some(limit.running.get().copied().unwrap_or(now) + limit.timeout)
    }

    /// Whether a future answers it.
    #[cfg(feature = "tokio")]
    fn is_future(&self) -> bool {
        self.task.is_some()
    }

    /// Whether a future answers it.
    #[cfg(not(feature = "tokio"))]
    fn is_future(&self) -> bool {
        false
    }
}

/// The calls of a program.
pub(crate) struct Flight {
    tools: Tools,
    ground: Ground,
    queue: VecDeque<Call>,
    out: Vec<Out>,
    landed: Vec<(u64, WaitingAnswer)>,
    /// Calls of the step that somebody must decide about.
    asking: Vec<PendingCall>,
    /// All calls so far.
    pub log: Vec<Called>,
}

impl Flight {
    pub fn new(tools: Tools, ground: Ground) -> Self {
        Flight {
            tools,
            ground,
            queue: VecDeque::new(),
            out: Vec::new(),
            landed: Vec::new(),
            asking: Vec::new(),
            log: Vec::new(),
        }
    }

    /// Who takes down what comes into the program.
    pub fn tape(&self) -> Option<&Arc<dyn Tape>> {
        self.tools.tape()
    }

    /// Starts from another place from now on; no call is out.
    pub fn move_to(&mut self, post: Post) {
        self.ground.post = post;
    }

    /// Starts the calls of a step.
    pub fn start(&mut self, calls: Vec<Call>) {
        // Most programs that wait make one call at a time, and many may be waiting: no spare room.
        self.log.reserve_exact(if self.log.is_empty() { calls.len() } else { 0 });
        self.queue = if self.tools.judged_by().is_some() { self.judged(calls) } else { calls.into() };
        self.set_out();
    }

    /// Starts what is in the queue.
    fn set_out(&mut self) {
        let alone = self.queue.len() == 1 || self.tools.most_at_once() == 1;
        self.fill(alone && self.ground.patient);
        if self.queue.is_empty() {
            self.queue = VecDeque::new();
        }
    }

    /// The calls that may be made at once; others are answered, or wait for a decision.
    fn judged(&mut self, calls: Vec<Call>) -> VecDeque<Call> {
        let mut free = VecDeque::new();
        for call in calls {
            match self.judgement(&call) {
                Judgement::Go => free.push_back(call),
                Judgement::Ask(about) => {
                    let Call { id, tool, args, .. } = call;
                    self.asking.push(PendingCall { id, tool, args, about });
                }
                Judgement::Answer(answer) => self.answer_instead(call, answer),
            }
        }
        free
    }

    fn judgement(&self, call: &Call) -> Judgement {
        let judge = self.tools.judged_by().filter(|_| !call.discovery && self.tools.for_call(call).is_some());
        judge.map_or(Judgement::Go, |judge| judge.judge(&call.tool, &call.args))
    }

    /// Answers a call without making it.
    fn answer_instead(&mut self, call: Call, answer: Answer) {
        self.note(call.id, call.tool, call.args);
        self.settle(call.id, Instant::now(), Ok(answer));
    }

    /// Goes on with a step of which some calls were answered before, and others are decided now.
    pub fn go_on(&mut self, resumption: &Resumption) {
        let held = &resumption.held;
        self.log.clone_from(&held.calls);
        self.landed =
            held.answered.iter().map(|(id, answer)| (*id, WaitingAnswer::new(answer.clone()))).collect();
        for pending in &held.pending {
            let PendingCall { id, tool, args, .. } = pending.clone();
            let call = Call { id, tool, args, discovery: false };
            match resumption.decision(id) {
                None => self.asking.push(pending.clone()),
                Some(Decision::Approve) => self.approved(call),
                Some(Decision::Edit(args)) => self.approved(Call { args: args.clone(), ..call }),
                Some(Decision::Reject(why)) => {
                    let judge = self.tools.judged_by();
                    let answer = judge.map_or_else(
                        || crate::hold::rejected(&call.tool, why),
                        |judge| judge.rejected(&call.tool, &call.args, why),
                    );
                    self.answer_instead(call, answer);
                }
            }
        }
        self.set_out();
    }

    /// A call that somebody approved is made, unless it is forbidden by now.
    fn approved(&mut self, call: Call) {
        match self.judgement(&call) {
            Judgement::Go | Judgement::Ask(_) => self.queue.push_back(call),
            Judgement::Answer(answer) => self.answer_instead(call, answer),
        }
    }

    /// The calls that somebody must decide about, once all others of the step are answered, with those answers.
    pub fn take_held(&mut self) -> Option<(Vec<PendingCall>, Answered)> {
        if self.asking.is_empty() || !self.is_complete() {
            return None;
        }
        let answered = self.answers().collect();
        Some((std::mem::take(&mut self.asking), answered))
    }

    /// Takes a reply. One that nobody waits for any more, after a timeout, is dropped.
    pub fn land(&mut self, id: u64, reply: Reply) {
        let Some(at) = self.out.iter().position(|out| out.id == id) else { return };
        let out = self.out.swap_remove(at);
        self.settle(id, out.begun, reply);
        self.fill(false);
    }

    /// Whether every call of the step is answered.
    pub fn is_complete(&self) -> bool {
        self.queue.is_empty() && self.out.is_empty()
    }

    /// The answers of the step in order.
    pub fn answers(&mut self) -> impl Iterator<Item = (u64, Answer)> + use<> {
        let mut landed = std::mem::take(&mut self.landed);
        landed.sort_by_key(|(id, _)| *id);
        landed.into_iter().map(|(id, landed)| (id, landed.take()))
    }

    /// Whether none of the calls that are out is answered before there is room for the program.
    pub fn is_gated(&self) -> bool {
        self.tools.are_gated() && self.out.iter().all(Out::is_future)
    }

    /// When the next call has taken too long.
    pub fn deadline(&self, now: Instant) -> Option<Instant> {
        self.out.iter().filter_map(|out| out.deadline(now)).min()
    }

    /// Gives up calls that have taken too long.
    pub fn expire(&mut self, now: Instant) {
        let late = |out: &Out| out.deadline(now).is_some_and(|deadline| deadline <= now);
        while let Some(at) = self.out.iter().position(late) {
            let out = self.out.swap_remove(at);
            out.abort();
            let timeout = out.limit.map_or(Duration::ZERO, |limit| limit.timeout);
            self.settle(out.id, out.begun, Err(format!("no answer within {timeout:?}")));
        }
        self.fill(false);
    }

    fn fill(&mut self, in_place: bool) {
        while self.out.len() < self.tools.most_at_once() {
            let Some(call) = self.queue.pop_front() else { return };
            self.launch(call, in_place);
        }
    }

    fn launch(&mut self, call: Call, in_place: bool) {
        let begun = Instant::now();
        let tool = self.tools.for_call(&call).cloned();
        let Call { id, tool: name, args, discovery } = call;
        if !discovery {
            self.note(id, name, args.clone());
        }
        let Some(tool) = tool else {
            let missing = Error::new(ErrorKind::UnknownTool, "no tool of this name is there");
            return self.settle(id, begun, Ok(Answer::Raise(missing)));
        };
        match &tool.run {
            Run::Quick(function) => {
                let reply = call_function(function, args);
                self.settle(id, begun, reply);
            }
            Run::Blocking(function) if in_place && tool.timeout.is_none() => {
                let reply = call_function(function, args);
                self.settle(id, begun, reply);
            }
            _ => {
                let out = self.send(&tool, id, begun, args);
                self.out.reserve_exact(1);
                self.out.push(out);
            }
        }
    }

    /// Puts a call into the log, which is in the order of the program's calls.
    fn note(&mut self, id: u64, tool: String, args: Json) {
        let at = self.log.partition_point(|called| called.id < id);
        let (end, elapsed) = (CallEnd::Unanswered, Duration::ZERO);
        self.log.insert(at, Called { id, tool, args, end, elapsed });
    }

    /// Starts a call that answers later.
    fn send(&self, tool: &Tool, id: u64, begun: Instant, args: Json) -> Out {
        let running = Arc::new(OnceLock::new());
        let mark = tool.timeout.is_some().then(|| running.clone());
        let limit = tool.timeout.map(|timeout| Limit { timeout, running });
        let land = Land { id, post: Some(self.ground.post.clone()) };
        #[cfg(feature = "tokio")]
        let mut task = None;
        match &tool.run {
            Run::Quick(function) | Run::Blocking(function) => {
                let function = function.clone();
                #[cfg(feature = "tokio")]
                let runtime = self.ground.runtime.clone();
                helpers::spawn(Box::new(move || {
                    #[cfg(feature = "tokio")]
                    let _inside = runtime.as_ref().map(tokio::runtime::Handle::enter);
                    mark.inspect(|mark| mark.set(Instant::now()).unwrap_or_default());
                    land.with(call_function(&function, args));
                }));
            }
            #[cfg(feature = "tokio")]
            Run::Future(function) => {
                mark.inspect(|mark| mark.set(begun).unwrap_or_default());
                let runtime = self.ground.runtime.as_ref().unwrap_or_else(|| crate::runtime::own().handle());
                let _inside = runtime.enter();
                let reply = crate::tools::wait_for(&**function, args);
                task = Some(runtime.spawn(async move { land.with(reply.await) }).abort_handle());
            }
        }
        Out {
            id,
            begun,
            limit,
            #[cfg(feature = "tokio")]
            task,
        }
    }

    fn settle(&mut self, id: u64, begun: Instant, reply: Reply) {
        // Questions about what there is are not in the log.
        let at = self.log.binary_search_by_key(&id, |called| called.id).ok();
        let answer = reply.unwrap_or_else(|message| {
            let what = at.map_or("discovery".to_owned(), |at| format!("tool {}", self.log[at].tool));
            Answer::Raise(Error::new(ErrorKind::Tool, format!("{what} failed: {message}")))
        });
        if let Some(at) = at {
            self.log[at].elapsed = begun.elapsed();
            self.log[at].end = match answer {
                Answer::Value(_) | Answer::Json(_) | Answer::Upstream { .. } => CallEnd::Value,
                Answer::Fault { .. } => CallEnd::Fault,
                Answer::Raise(_) => CallEnd::Raised,
            };
        }
        self.landed.reserve_exact(1);
        // One that nothing waits for beside it is taken at once.
        let landed =
            if self.is_complete() { WaitingAnswer::Answer(answer) } else { WaitingAnswer::new(answer) };
        self.landed.push((id, landed));
    }
}

impl Out {
    fn abort(&self) {
        #[cfg(feature = "tokio")]
        self.task.iter().for_each(tokio::task::AbortHandle::abort);
    }
}

impl Drop for Flight {
    /// What still runs has nobody to answer.
    fn drop(&mut self) {
        self.out.iter().for_each(Out::abort);
    }
}

impl fmt::Debug for Flight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flight").field("out", &self.out.len()).field("queue", &self.queue.len()).finish()
    }
}

/// The duty to answer a call. Dropped without an answer, it says so.
struct Land {
    id: u64,
    post: Option<Post>,
}

impl Land {
    fn with(mut self, reply: Reply) {
        if let Some(post) = self.post.take() {
            post(self.id, reply);
        }
    }
}

impl Drop for Land {
    fn drop(&mut self) {
        if let Some(post) = self.post.take() {
            post(self.id, Err("it ended without an answer".to_owned()));
        }
    }
}
