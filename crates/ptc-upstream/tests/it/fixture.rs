//! Upstreams that live in the test: a list of tools and a function that answers calls.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use ptc_host::{Outcome, Pool, Program};
use ptc_upstream::client::About;
use ptc_upstream::config::UpstreamConfig;
use ptc_upstream::effects::Policy;
use ptc_upstream::model::{Allowance, Block, Fault, Payload, Reason, ToolDef};
use ptc_upstream::{Caps, Client, Config, RunContext, Runtime, RuntimeOptions, Secrets, SnapshotMode};
use serde_json::{Map, Value as Json, json};

/// What a tool of a fixture answers.
pub type Answered = Result<Payload, Fault>;

type Answering = Box<dyn Fn(&str, &Json) -> Answered + Send + Sync>;

/// An upstream of the test.
#[derive(Clone)]
pub struct Fixture(Arc<Inner>);

struct Inner {
    name: String,
    tools: Mutex<Vec<ToolDef>>,
    answer: Answering,
    /// Whether its calls are never answered.
    stuck: bool,
    meet: Option<tokio::sync::Barrier>,
    /// Calls that reached it: their tools, and what they may cost.
    calls: Mutex<Vec<(String, Allowance)>>,
    lists: AtomicUsize,
    generation: AtomicUsize,
    broken: Mutex<Option<Fault>>,
    /// Whether it says nothing when it is asked for its tools.
    silent: tokio::sync::watch::Sender<bool>,
    about: Option<About>,
    /// Until when it is not started again, after its end.
    ended: tokio::sync::watch::Sender<Option<Instant>>,
}

impl Fixture {
    /// Tools with their schemas; all read unless their name begins with `write`, or with `guess`: these say nothing.
    pub fn new(
        name: &str,
        tools: &[(&str, Json)],
        answer: impl Fn(&str, &Json) -> Answered + Send + Sync + 'static,
    ) -> Fixture {
        let tools = tools.iter().map(|(name, schema)| ToolDef {
            name: (*name).to_owned(),
            description: format!("The tool {name}"),
            input_schema: object(schema.clone()),
            annotations: object(match *name {
                write if write.starts_with("write") => json!({"destructiveHint": true}),
                guess if guess.starts_with("guess") => json!({}),
                _ => json!({"readOnlyHint": true}),
            }),
            ..ToolDef::default()
        });
        Fixture::with_tools(name, tools.collect(), answer)
    }

    /// The same with all that tools say of themselves.
    pub fn with_tools(
        name: &str,
        tools: Vec<ToolDef>,
        answer: impl Fn(&str, &Json) -> Answered + Send + Sync + 'static,
    ) -> Fixture {
        Fixture(Arc::new(Inner {
            name: name.to_owned(),
            tools: Mutex::new(tools),
            answer: Box::new(answer),
            stuck: false,
            meet: None,
            calls: Mutex::default(),
            lists: AtomicUsize::new(0),
            generation: AtomicUsize::new(1),
            broken: Mutex::default(),
            silent: tokio::sync::watch::Sender::new(false),
            about: None,
            ended: tokio::sync::watch::Sender::new(None),
        }))
    }

    /// Calls are never answered.
    pub fn stuck(mut self) -> Fixture {
        Arc::get_mut(&mut self.0).expect("it is new").stuck = true;
        self
    }

    /// It does not tell its tools before it speaks.
    pub fn silent(self) -> Fixture {
        self.0.silent.send_replace(true);
        self
    }

    /// From now on it tells its tools.
    pub fn speak(&self) {
        self.0.silent.send_replace(false);
    }

    /// It was not reached yet.
    pub fn starting(self) -> Fixture {
        self.0.generation.store(0, Ordering::SeqCst);
        self
    }

    /// It says this about itself.
    pub fn saying(mut self, about: About) -> Fixture {
        Arc::get_mut(&mut self.0).expect("it is new").about = Some(about);
        self
    }

    /// So many calls wait for each other.
    pub fn meeting(mut self, count: usize) -> Fixture {
        Arc::get_mut(&mut self.0).expect("it is new").meet = Some(tokio::sync::Barrier::new(count));
        self
    }

    /// From now on nothing works, or everything again.
    pub fn broken(&self, fault: Option<Fault>) {
        *self.0.broken.lock().expect("no panics") = fault;
    }

    /// Ends it. It is started again when somebody needs it after a rest.
    pub fn end(&self, rest: Duration) {
        self.0.ended.send_replace(Some(Instant::now() + rest));
    }

    /// Changes the tools and says so.
    pub fn change(&self, change: impl FnOnce(&mut Vec<ToolDef>)) {
        change(&mut self.0.tools.lock().expect("no panics"));
        self.0.generation.fetch_add(1, Ordering::SeqCst);
    }

    /// How many calls reached it.
    pub fn calls(&self) -> usize {
        self.allowed().len()
    }

    /// The calls that reached it: their tools, and what they may cost.
    pub fn allowed(&self) -> Vec<(String, Allowance)> {
        self.0.calls.lock().expect("no panics").clone()
    }

    /// How often its tools were listed.
    pub fn lists(&self) -> usize {
        self.0.lists.load(Ordering::SeqCst)
    }
}

impl Client for Fixture {
    fn list(&self, _: Allowance) -> BoxFuture<'_, Result<Vec<ToolDef>, Fault>> {
        Box::pin(async move {
            self.0.lists.fetch_add(1, Ordering::SeqCst);
            let mut silent = self.0.silent.subscribe();
            silent.wait_for(|silent| !silent).await.expect("it is there");
            let until = *self.0.ended.borrow();
            if let Some(until) = until {
                if Instant::now() < until {
                    let left = "process exited with status 3; it is tried again in 496 ms";
                    return Err(Fault::new(Reason::UpstreamUnavailable, left));
                }
                self.0.ended.send_replace(None);
                self.0.generation.fetch_add(1, Ordering::SeqCst);
            }
            let broken = self.0.broken.lock().expect("no panics").clone();
            broken.map_or_else(|| Ok(self.0.tools.lock().expect("no panics").clone()), Err)
        })
    }

    fn call<'a>(
        &'a self,
        tool: &'a str,
        args: Map<String, Json>,
        allowance: Allowance,
    ) -> BoxFuture<'a, Result<Payload, Fault>> {
        Box::pin(async move {
            self.0.calls.lock().expect("no panics").push((tool.to_owned(), allowance));
            let broken = self.0.broken.lock().expect("no panics").clone();
            if let Some(fault) = broken {
                return Err(fault);
            }
            if let Some(meet) = &self.0.meet {
                meet.wait().await;
            }
            if self.0.stuck {
                std::future::pending::<()>().await;
            }
            // Whatever else is under way goes on meanwhile.
            tokio::task::yield_now().await;
            (self.0.answer)(tool, &Json::Object(args))
        })
    }

    fn generation(&self) -> u64 {
        self.0.generation.load(Ordering::SeqCst) as u64
    }

    fn down(&self) -> Option<Fault> {
        let ended = Fault::new(Reason::UpstreamUnavailable, "process exited with status 3");
        self.0.ended.borrow().map(|_| ended)
    }

    fn rests_until(&self) -> Option<Instant> {
        *self.0.ended.borrow()
    }

    fn ended(&self) -> BoxFuture<'_, ()> {
        let mut ended = self.0.ended.subscribe();
        Box::pin(async move { drop(ended.wait_for(Option::is_some).await) })
    }

    fn about(&self) -> Option<About> {
        self.0.about.clone()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

/// A result in structured content.
pub fn structured(value: Json) -> Answered {
    Ok(Payload { structured: Some(value), ..Payload::default() })
}

/// A result as text.
pub fn text(text: impl Into<String>) -> Answered {
    Ok(Payload { content: vec![Block::Text(text.into())], ..Payload::default() })
}

/// The configuration of fixtures, with more keys at its top.
pub fn config(fixtures: &[&Fixture], more: Json) -> Config {
    let entry = |fixture: &&Fixture| {
        (fixture.0.name.clone(), json!({"transport": "mcp_stdio", "command": "fixture"}))
    };
    let mut value = json!({"upstreams": fixtures.iter().map(entry).collect::<Map<_, _>>()});
    object(more).into_iter().for_each(|(key, field)| value[key] = field);
    Config::from_value(value, Path::new("")).expect("a configuration")
}

/// Starts a runtime over fixtures.
pub async fn try_start(
    config: &Config,
    fixtures: &[&Fixture],
    options: RuntimeOptions,
) -> Result<Arc<Runtime>, ptc_upstream::StartError> {
    let fixtures: Vec<Fixture> = fixtures.iter().map(|fixture| (*fixture).clone()).collect();
    let connect = move |upstream: &UpstreamConfig, _: &Secrets| {
        let fixture = fixtures.iter().find(|fixture| fixture.0.name == upstream.name)?;
        Some(Arc::new(fixture.clone()) as Arc<dyn Client>)
    };
    let secrets = Secrets::resolve_with(config, &|_| None, None).expect("no secrets are needed");
    Runtime::start_with(config, secrets, options, &connect).await
}

/// A frozen runtime over fixtures.
pub async fn start(fixtures: &[&Fixture]) -> Arc<Runtime> {
    let options = RuntimeOptions { snapshot: SnapshotMode::Frozen, ..RuntimeOptions::default() };
    try_start(&config(fixtures, json!({})), fixtures, options).await.expect("it starts")
}

/// A context with the default caps in which everything is allowed.
pub fn open(runtime: &Arc<Runtime>) -> RunContext {
    runtime.context(Caps::default(), Policy::open())
}

/// A runtime over fixtures that lists tools when they are needed.
pub async fn start_live(fixtures: &[&Fixture]) -> Arc<Runtime> {
    let options = RuntimeOptions { keep_failing: true, ..RuntimeOptions::default() };
    try_start(&config(fixtures, json!({})), fixtures, options).await.expect("it starts")
}

/// A context with the default caps in which nothing may be written.
pub fn reading(runtime: &Arc<Runtime>) -> RunContext {
    runtime.context(Caps::default(), Policy::read_only())
}

/// Runs a program with upstreams.
pub async fn run(context: &RunContext, source: &str) -> Outcome {
    let program = Program::new(source).timeout(Duration::from_secs(60));
    Pool::global().run(context.attach(program)).await
}

/// The value of a program as text, or its error.
pub async fn value(context: &RunContext, source: &str) -> String {
    let outcome = run(context, source).await;
    match outcome.result {
        Ok(_) => outcome.value,
        Err(error) => format!("{}: {}", error.kind.reason(), error.message),
    }
}

/// The fields of an object.
pub fn object(value: Json) -> Map<String, Json> {
    value.as_object().cloned().unwrap_or_default()
}
