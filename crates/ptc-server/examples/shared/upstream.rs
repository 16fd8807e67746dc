//! Upstreams that live in the process: a list of tools, and a function that answers calls. Tests of the engine take this
//! file by its path.

use std::path::Path;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use ptc_upstream::client::About;
use ptc_upstream::model::{Allowance, Fault, Payload, ToolDef};
use ptc_upstream::{Client, Config, Runtime, RuntimeOptions, Secrets, SnapshotMode};
use serde_json::{Map, Value as Json, json};
use tokio::sync::watch;

/// What a call gives.
pub type Answered = Result<Payload, Fault>;

type Answering = dyn Fn(String, Map<String, Json>) -> BoxFuture<'static, Answered> + Send + Sync;

/// An upstream.
#[derive(Clone)]
pub struct Upstream {
    tools: Arc<Mutex<Result<Vec<ToolDef>, Fault>>>,
    answer: Arc<Answering>,
    about: Option<About>,
    /// Says when it is up.
    up: Option<watch::Receiver<bool>>,
}

impl Upstream {
    /// One with these tools, which give their arguments back. It cannot be reached if there is a fault in their place.
    pub fn new(tools: Result<Vec<ToolDef>, Fault>) -> Upstream {
        let upstream = Upstream {
            tools: Arc::new(Mutex::new(tools)),
            answer: Arc::new(|_, _| Box::pin(std::future::pending())),
            about: None,
            up: None,
        };
        upstream.answering(|_, args| async { structured(Json::Object(args)) })
    }

    /// The same, but calls of a tool with arguments are answered so.
    pub fn answering<F>(
        self,
        answer: impl Fn(String, Map<String, Json>) -> F + Send + Sync + 'static,
    ) -> Upstream
    where
        F: Future<Output = Answered> + Send + 'static,
    {
        Upstream { answer: Arc::new(move |tool, args| Box::pin(answer(tool, args))), ..self }
    }

    /// The same, and it says this about itself.
    #[allow(dead_code, reason = "examples have no need of it")]
    pub fn saying(self, about: About) -> Upstream {
        Upstream { about: Some(about), ..self }
    }
}

impl Upstream {
    /// Lists these tools from now on, and tells nobody.
    #[allow(dead_code, reason = "examples have no need of it")]
    pub fn lists(&self, tools: Result<Vec<ToolDef>, Fault>) {
        *self.tools.lock().expect("nobody panics") = tools;
    }

    /// The same, but it lists no tools before it is told that it is up.
    #[allow(dead_code, reason = "examples have no need of it")]
    pub fn starting(self, up: watch::Receiver<bool>) -> Upstream {
        Upstream { up: Some(up), ..self }
    }
}

impl Client for Upstream {
    fn list(&self, _: Allowance) -> BoxFuture<'_, Result<Vec<ToolDef>, Fault>> {
        Box::pin(async {
            if let Some(mut up) = self.up.clone() {
                // Whoever drops the other end leaves it as it is.
                let _ = up.wait_for(|up| *up).await;
            }
            self.tools.lock().expect("nobody panics").clone()
        })
    }

    fn call<'a>(
        &'a self,
        tool: &'a str,
        args: Map<String, Json>,
        _: Allowance,
    ) -> BoxFuture<'a, Result<Payload, Fault>> {
        (self.answer)(tool.to_owned(), args)
    }

    fn about(&self) -> Option<About> {
        self.about.clone()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

/// An answer of structured content.
pub fn structured(answer: Json) -> Answered {
    Ok(Payload { bytes: answer.to_string().len(), structured: Some(answer), ..Payload::default() })
}

/// Options with which tools are listed once.
pub fn frozen() -> RuntimeOptions {
    RuntimeOptions { snapshot: SnapshotMode::Frozen, ..RuntimeOptions::default() }
}

/// A runtime of a configuration, with an upstream for each of the names there.
pub async fn start(
    config: Json,
    options: RuntimeOptions,
    upstream: impl Fn(&str) -> Upstream + Sync,
) -> Arc<Runtime> {
    let config = Config::from_value(config, Path::new("")).expect("a configuration");
    let secrets = Secrets::resolve(&config).expect("its secrets");
    let connect = |entry: &ptc_upstream::config::UpstreamConfig, _: &Secrets| {
        Some(Arc::new(upstream(&entry.name)) as Arc<dyn Client>)
    };
    Runtime::start_with(&config, secrets, options, &connect).await.expect("upstreams")
}

/// A runtime with the upstream `crm`, which has one tool and waits `before` each answer; `more` is added to its entry.
pub async fn crm(
    tool: &'static str,
    before: impl Fn() -> BoxFuture<'static, ()> + Send + Sync + 'static,
    more: Json,
) -> Arc<Runtime> {
    let mut entry = json!({"transport": "mcp_http", "url": "https://crm.example/mcp"});
    if let (Json::Object(entry), Json::Object(more)) = (&mut entry, more) {
        entry.extend(more);
    }
    let tools = vec![ToolDef { name: tool.to_owned(), ..ToolDef::default() }];
    let upstream = Upstream::new(Ok(tools)).answering(move |_, args| {
        let before = before();
        async move {
            before.await;
            structured(Json::Object(args))
        }
    });
    start(json!({"upstreams": {"crm": entry}}), frozen(), |_| upstream.clone()).await
}
