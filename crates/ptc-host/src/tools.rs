//! Tools that programs may call: closures, and async functions with the feature `tokio`.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
#[cfg(feature = "tokio")]
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ptc_lisp::Error;
use ptc_lisp::analyze::Servers;
use ptc_lisp::machine::{Answer, Call, Machine};
use ptc_lisp::prelude::{Grants, Upstreams};
use serde_json::Value as Json;

use crate::hold::Judge;
use crate::tape::Tape;

/// What a tool's function gave: an answer, or what went wrong.
pub(crate) type Reply = Result<Answer, String>;

type Function = Arc<dyn Fn(Json) -> Reply + Send + Sync>;

#[cfg(feature = "tokio")]
type Pending = std::pin::Pin<Box<dyn Future<Output = Reply> + Send>>;

/// Waits until there is room for a program that goes on; see [`Tools::gated`].
#[cfg(feature = "tokio")]
pub type Room = Arc<dyn Fn() -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// Is told of every call with its tool and arguments, before it is made.
pub type Watch = Arc<dyn Fn(&str, &Json) -> Watched + Send + Sync>;
/// Is told what a call gave; dropped if the call ended without an answer.
pub type Watched = Box<dyn FnOnce(&Result<Answer, String>) + Send>;

/// What functions of tools may return: JSON, an [`Answer`], or a `Result` of one, whose error raises an
/// exception at the place of the call.
pub trait IntoAnswer {
    /// The answer, or what went wrong.
    fn into_answer(self) -> Result<Answer, String>;
}

impl IntoAnswer for Answer {
    fn into_answer(self) -> Result<Answer, String> {
        Ok(self)
    }
}

impl IntoAnswer for Json {
    fn into_answer(self) -> Result<Answer, String> {
        Ok(Answer::Value(self))
    }
}

impl<T: IntoAnswer, E: Display> IntoAnswer for Result<T, E> {
    fn into_answer(self) -> Result<Answer, String> {
        self.map_err(|error| error.to_string())?.into_answer()
    }
}

/// How a tool's function is run.
#[derive(Clone)]
pub(crate) enum Run {
    /// On the thread that runs the program.
    Quick(Function),
    /// On a thread that may block.
    Blocking(Function),
    /// On the async runtime.
    #[cfg(feature = "tokio")]
    Future(Arc<dyn Fn(Json) -> Pending + Send + Sync>),
}

impl Run {
    /// The same, with somebody who is told of each call.
    fn watched(self, name: &str, watch: &Watch) -> Run {
        let (name, watch) = (name.to_owned(), watch.clone());
        let telling = |function: Function| -> Function {
            let (name, watch) = (name.clone(), watch.clone());
            Arc::new(move |args| {
                let told = watch(&name, &args);
                let reply = call(&function, args);
                told(&reply);
                reply
            })
        };
        match self {
            Run::Quick(function) => Run::Quick(telling(function)),
            Run::Blocking(function) => Run::Blocking(telling(function)),
            #[cfg(feature = "tokio")]
            Run::Future(function) => Run::Future(Arc::new(move |args| {
                let told = watch(&name, &args);
                let pending = wait_for(&*function, args);
                Box::pin(async move {
                    let reply = pending.await;
                    told(&reply);
                    reply
                })
            })),
        }
    }
}

#[cfg(feature = "tokio")]
impl Run {
    /// The same; the last future of those that are under way gives its reply when there is room.
    fn gated(self, room: &Room, under_way: &Arc<AtomicUsize>) -> Run {
        let function = match self {
            Run::Future(function) => function,
            other => return other,
        };
        let (room, under_way) = (room.clone(), under_way.clone());
        Run::Future(Arc::new(move |args| {
            let mut call = UnderWay::begin(&under_way);
            let (pending, room) = (wait_for(&*function, args), room.clone());
            Box::pin(async move {
                let reply = pending.await;
                if call.end() {
                    room().await;
                }
                reply
            })
        }))
    }
}

/// A call that is counted until it ends, in whichever way.
#[cfg(feature = "tokio")]
struct UnderWay {
    count: Arc<AtomicUsize>,
    ended: bool,
}

#[cfg(feature = "tokio")]
impl UnderWay {
    fn begin(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        UnderWay { count: count.clone(), ended: false }
    }

    /// Ends it; whether it was the last one.
    fn end(&mut self) -> bool {
        self.ended = true;
        self.count.fetch_sub(1, Ordering::AcqRel) == 1
    }
}

#[cfg(feature = "tokio")]
impl Drop for UnderWay {
    fn drop(&mut self) {
        if !self.ended {
            self.count.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// A tool: its function, which gets the arguments as a JSON object, and how to run it.
#[derive(Clone)]
pub struct Tool {
    pub(crate) run: Run,
    pub(crate) timeout: Option<Duration>,
}

impl Tool {
    /// A function that answers at once from memory. It runs on the thread that runs the program, where
    /// nothing can interrupt it.
    pub fn quick<R: IntoAnswer>(function: impl Fn(Json) -> R + Send + Sync + 'static) -> Self {
        Self::new(Run::Quick(Arc::new(move |args| function(args).into_answer())))
    }

    /// A function that may block: it runs on a thread of its own, at the same time as other calls.
    pub fn blocking<R: IntoAnswer>(function: impl Fn(Json) -> R + Send + Sync + 'static) -> Self {
        Self::new(Run::Blocking(Arc::new(move |args| function(args).into_answer())))
    }

    /// A function that gives a future, such as an async one. Futures run on the tokio runtime that the program
    /// was started on; the functions that make them are called in the order of the calls.
    #[cfg(feature = "tokio")]
    pub fn future<R, F>(function: impl Fn(Json) -> F + Send + Sync + 'static) -> Self
    where
        R: IntoAnswer,
        F: Future<Output = R> + Send + 'static,
    {
        let pending = move |args| -> Pending {
            let future = function(args);
            Box::pin(async move { future.await.into_answer() })
        };
        Self::new(Run::Future(Arc::new(pending)))
    }

    /// Gives up on a call that takes longer: the program gets an exception. A function that blocks runs
    /// on to its end, unheard; a quick one cannot time out.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    fn new(run: Run) -> Self {
        Tool { run, timeout: None }
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.run {
            Run::Quick(_) => "quick",
            Run::Blocking(_) => "blocking",
            #[cfg(feature = "tokio")]
            Run::Future(_) => "future",
        };
        write!(f, "{kind}")?;
        self.timeout.map_or(Ok(()), |timeout| write!(f, " within {timeout:?}"))
    }
}

/// The tools granted to a program, by name. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Tools {
    granted: Arc<Granted>,
}

#[derive(Clone)]
struct Granted {
    by_name: BTreeMap<String, Tool>,
    /// Tools that only preludes may call.
    private: BTreeSet<String>,
    discovery: Option<Tool>,
    upstreams: Option<Arc<dyn Upstreams>>,
    servers: Arc<Servers>,
    judge: Option<Arc<dyn Judge>>,
    tape: Option<Arc<dyn Tape>>,
    concurrency: usize,
    gated: bool,
}

impl Default for Granted {
    fn default() -> Self {
        Granted {
            by_name: BTreeMap::new(),
            private: BTreeSet::new(),
            discovery: None,
            upstreams: None,
            servers: Arc::default(),
            judge: None,
            tape: None,
            concurrency: 16,
            gated: false,
        }
    }
}

impl fmt::Debug for Granted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Granted")
            .field("by_name", &self.by_name)
            .field("discovery", &self.discovery)
            .finish_non_exhaustive()
    }
}

impl Tools {
    /// No tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Grants a tool under a name; a later one of the same name takes its place.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, tool: Tool) -> Self {
        Arc::make_mut(&mut self.granted).by_name.insert(name.into(), tool);
        self
    }

    /// Grants a tool to the exports of preludes only: programs cannot name it.
    #[must_use]
    pub fn with_private(mut self, name: impl Into<String>, tool: Tool) -> Self {
        let name = name.into();
        Arc::make_mut(&mut self.granted).private.insert(name.clone());
        self.with(name, tool)
    }

    /// Says which upstream operations there are. Programs may call them as functions, and what preludes require is
    /// held against it before a program runs; without it nobody asks for upstream operations.
    #[must_use]
    pub fn upstreams(mut self, upstreams: Arc<dyn Upstreams>) -> Self {
        Arc::make_mut(&mut self.granted).upstreams = Some(upstreams);
        self
    }

    /// Says which upstream servers the tool `call` stands for, where there is no upstream runtime: programs may call
    /// their tools as functions.
    #[must_use]
    pub fn serving(mut self, servers: Servers) -> Self {
        Arc::make_mut(&mut self.granted).servers = Arc::new(servers);
        self
    }

    /// Answers what programs ask about upstreams with `apropos`, `dir`, `doc`, `meta` and `tool/servers`.
    /// That is no tool which programs can call, and its calls are not in the log.
    #[must_use]
    pub fn discovery(mut self, tool: Tool) -> Self {
        Arc::make_mut(&mut self.granted).discovery = Some(tool);
        self
    }

    /// Whether questions about upstreams are answered.
    pub fn has_discovery(&self) -> bool {
        self.granted.discovery.is_some()
    }

    /// Has somebody look at each call before it is made. Questions about upstreams are not judged.
    #[must_use]
    pub fn judge(mut self, judge: Arc<dyn Judge>) -> Self {
        Arc::make_mut(&mut self.granted).judge = Some(judge);
        self
    }

    /// Who looks at each call before it is made.
    pub(crate) fn judged_by(&self) -> Option<&Arc<dyn Judge>> {
        self.granted.judge.as_ref()
    }

    /// Has everything taken down that comes into programs with these tools.
    #[must_use]
    pub fn taped(mut self, tape: Arc<dyn Tape>) -> Self {
        Arc::make_mut(&mut self.granted).tape = Some(tape);
        self
    }

    /// Who takes down what comes into programs.
    pub(crate) fn tape(&self) -> Option<&Arc<dyn Tape>> {
        self.granted.tape.as_ref()
    }

    /// How many calls of one program may run at once; 16 unless told.
    #[must_use]
    pub fn concurrency(mut self, most: usize) -> Self {
        Arc::make_mut(&mut self.granted).concurrency = most.max(1);
        self
    }

    /// The same tools, with somebody who is told of each call and of its answer. Questions to discovery are
    /// told under the name of nothing.
    #[must_use]
    pub fn watched(&self, watch: &Watch) -> Self {
        let mut granted = (*self.granted).clone();
        for (name, tool) in &mut granted.by_name {
            tool.run = tool.run.clone().watched(name, watch);
        }
        if let Some(tool) = &mut granted.discovery {
            tool.run = tool.run.clone().watched("", watch);
        }
        Tools { granted: Arc::new(granted) }
    }

    /// The same tools for one program, which goes on after futures only when there is room for it: the last one that is
    /// under way is answered when that of `room` is ready. Who counts memory counts less of a program while it waits then.
    #[cfg(feature = "tokio")]
    #[must_use]
    pub fn gated(&self, room: &Room) -> Self {
        let (mut granted, under_way) = ((*self.granted).clone(), Arc::default());
        for tool in granted.by_name.values_mut().chain(&mut granted.discovery) {
            tool.run = tool.run.clone().gated(room, &under_way);
        }
        granted.gated = true;
        Tools { granted: Arc::new(granted) }
    }

    /// Whether futures are answered when there is room.
    pub(crate) fn are_gated(&self) -> bool {
        self.granted.gated
    }

    /// The names of the tools, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.granted.by_name.keys().map(String::as_str)
    }

    /// The names of those that only preludes may call, sorted.
    pub fn private_names(&self) -> impl Iterator<Item = &str> {
        self.granted.private.iter().map(String::as_str)
    }

    /// What answers a call.
    pub(crate) fn for_call(&self, call: &Call) -> Option<&Tool> {
        match call.discovery {
            true => self.granted.discovery.as_ref(),
            false => self.granted.by_name.get(&call.tool),
        }
    }

    /// The upstream servers whose tools programs may call as functions.
    pub fn servers(&self) -> Arc<Servers> {
        match &self.granted.upstreams {
            Some(upstreams) => upstreams.servers(),
            None => self.granted.servers.clone(),
        }
    }

    /// Gives a machine these tools.
    pub fn grant(&self, machine: &mut Machine) {
        machine.set_tools(self.names().map(str::to_owned));
        machine.set_private_tools(self.granted.private.iter().cloned());
        machine.set_discovery(self.has_discovery());
        machine.set_servers(self.servers());
    }

    /// Refuses a machine whose prelude requires what is not granted.
    pub(crate) fn admit(&self, machine: &Machine) -> Result<(), Error> {
        let Some(prelude) = machine.prelude() else { return Ok(()) };
        let tools: Vec<String> = self.names().map(str::to_owned).collect();
        prelude.admit(&Grants { tools: &tools, upstreams: self.granted.upstreams.as_deref() })
    }

    pub(crate) fn most_at_once(&self) -> usize {
        self.granted.concurrency
    }
}

/// Calls a tool's function; its panic becomes an error of the tool.
pub(crate) fn call(function: &Function, args: Json) -> Reply {
    panic::catch_unwind(AssertUnwindSafe(|| function(args))).unwrap_or_else(|panic| Err(panicked(&*panic)))
}

/// Makes a tool's future at once, which then polls without panicking. So what a tool does before it waits happens
/// in the order of the calls.
#[cfg(feature = "tokio")]
pub(crate) fn wait_for(
    function: &(dyn Fn(Json) -> Pending + Send + Sync),
    args: Json,
) -> impl Future<Output = Reply> + Send + use<> {
    let mut pending = panic::catch_unwind(AssertUnwindSafe(|| function(args)))
        .unwrap_or_else(|panic| Box::pin(std::future::ready(Err(panicked(&*panic)))));
    std::future::poll_fn(move |cx| {
        panic::catch_unwind(AssertUnwindSafe(|| pending.as_mut().poll(cx)))
            .unwrap_or_else(|panic| std::task::Poll::Ready(Err(panicked(&*panic))))
    })
}

fn panicked(panic: &(dyn Any + Send)) -> String {
    format!("it panicked: {}", panic_text(panic))
}

/// What a panic said.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
