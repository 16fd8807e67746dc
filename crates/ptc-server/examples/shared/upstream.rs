//! An upstream that lives in the process: one tool that gives its arguments back, after whatever is waited for before
//! each answer. Tests of the engine take this file by its path.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ptc_upstream::model::{Allowance, Fault, Payload, ToolDef};
use ptc_upstream::{Client, Config, Runtime, RuntimeOptions, Secrets, SnapshotMode};
use serde_json::{Map, Value as Json, json};

/// Gives arguments back.
struct Echo<W> {
    tool: &'static str,
    before: W,
}

impl<W: Fn() -> BoxFuture<'static, ()> + Send + Sync> Client for Echo<W> {
    fn list(&self, _: Allowance) -> BoxFuture<'_, Result<Vec<ToolDef>, Fault>> {
        let tool = ToolDef { name: self.tool.to_owned(), ..ToolDef::default() };
        Box::pin(async move { Ok(vec![tool]) })
    }

    fn call<'a>(
        &'a self,
        _: &'a str,
        args: Map<String, Json>,
        _: Allowance,
    ) -> BoxFuture<'a, Result<Payload, Fault>> {
        Box::pin(async move {
            (self.before)().await;
            Ok(Payload { structured: Some(Json::Object(args)), ..Payload::default() })
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
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
    let config = json!({"upstreams": {"crm": entry}});
    let config = Config::from_value(config, Path::new("")).expect("a configuration");
    let secrets = Secrets::resolve(&config).expect("there are none");
    let options = RuntimeOptions { snapshot: SnapshotMode::Frozen, ..RuntimeOptions::default() };
    let echo: Arc<dyn Client> = Arc::new(Echo { tool, before });
    let connect = |_: &_, _: &_| Some(echo.clone());
    Runtime::start_with(&config, secrets, options, &connect).await.expect("upstreams")
}
