//! How long programs take that all wait for an upstream at once: as many as asked for, each of which waits for so many
//! milliseconds, with the settings that a server has by default.
//!
//! ```sh
//! cargo run --release -p ptc-server --example waiting -- [programs] [milliseconds]
//! ```

#![expect(clippy::print_stdout, reason = "it prints what it measured")]

#[path = "shared/upstream.rs"]
mod upstream;

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use ptc_server::engine::{Caller, Engine, Parts, Profile, Settings, Signals, Transport};
use serde_json::{Map, Value as Json, json};

#[global_allocator]
static ALLOCATOR: ptc_alloc::Allocator = ptc_alloc::Allocator;

async fn start(wait: Duration) -> Arc<Engine> {
    let settings = Settings {
        profile: Profile::Structured,
        program_timeout: Duration::from_secs(10),
        ..Settings::default()
    };
    let runtime = upstream::crm("get", move || Box::pin(tokio::time::sleep(wait)), json!({})).await;
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
