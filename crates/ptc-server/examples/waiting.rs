//! How long programs take that all wait for an upstream at once: as many as asked for, each of which waits for so many
//! milliseconds, with the settings that a server has by default.
//!
//! ```sh
//! cargo run --release -p ptc-server --example waiting -- [programs] [milliseconds]
//! ```

#![expect(clippy::print_stdout, reason = "it prints what it measured")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::{BoxFuture, join_all};
use ptc_server::engine::{Caller, Engine, Parts, Profile, Settings, Signals, Transport};
use ptc_upstream::model::{Allowance, Fault, Payload, ToolDef};
use ptc_upstream::{Client, Config, Runtime, RuntimeOptions, Secrets, SnapshotMode};
use serde_json::{Map, Value as Json, json};

#[global_allocator]
static ALLOCATOR: ptc_alloc::Allocator = ptc_alloc::Allocator;

/// An upstream that takes its time.
struct Slow(Duration);

impl Client for Slow {
    fn list(&self, _: Allowance) -> BoxFuture<'_, Result<Vec<ToolDef>, Fault>> {
        let tool = ToolDef { name: "get".to_owned(), ..ToolDef::default() };
        Box::pin(async move { Ok(vec![tool]) })
    }

    fn call<'a>(
        &'a self,
        _: &'a str,
        args: Map<String, Json>,
        _: Allowance,
    ) -> BoxFuture<'a, Result<Payload, Fault>> {
        Box::pin(async move {
            tokio::time::sleep(self.0).await;
            Ok(Payload { structured: Some(Json::Object(args)), ..Payload::default() })
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

async fn start(wait: Duration) -> Arc<Engine> {
    let config = json!({"upstreams": {"crm": {"transport": "mcp_http", "url": "https://crm.example/mcp"}}});
    let config = Config::from_value(config, Path::new("")).expect("a configuration");
    let secrets = Secrets::resolve(&config).expect("there are none");
    let options = RuntimeOptions { snapshot: SnapshotMode::Frozen, ..RuntimeOptions::default() };
    let connect = |_: &_, _: &_| Some(Arc::new(Slow(wait)) as Arc<dyn Client>);
    let runtime = Runtime::start_with(&config, secrets, options, &connect).await.expect("upstreams");
    let settings = Settings {
        profile: Profile::Structured,
        program_timeout: Duration::from_secs(10),
        ..Settings::default()
    };
    let parts = Parts { runtime: Some(runtime), ..Parts::default() };
    Engine::with(settings, parts).await.expect("an engine")
}

#[tokio::main]
async fn main() {
    let mut args = std::env::args().skip(1).filter_map(|arg| arg.parse::<u64>().ok());
    let (programs, wait) = (args.next().unwrap_or(200), Duration::from_millis(args.next().unwrap_or(1_000)));
    let engine = start(wait).await;
    let caller = Caller::new("anna", Transport::Http);
    let began = Instant::now();
    let calls = (0..programs).map(|n| {
        let (engine, caller) = (engine.clone(), caller.clone());
        let program = format!("(:value (tool/call {{:server \"crm\" :tool \"get\" :args {{:n {n}}}}}))");
        let args = Map::from_iter([("program".to_owned(), Json::from(program))]);
        tokio::spawn(async move { engine.call(&caller, "lisp_eval", args, Signals::default()).await })
    });
    let replies = join_all(calls).await;
    let answered = replies.iter().filter(|reply| matches!(reply, Ok(Ok(reply)) if !reply.is_error)).count();
    println!(
        "{programs} programs that wait {wait:?}: {answered} answered, {} turned away or failed, in {:.2?}",
        replies.len() - answered,
        began.elapsed()
    );
}
