//! The upstream of a simulation, `w`: `count` reads a number that is another one every time, `put` and `pay` write. It
//! remembers every write that came. Between it and the servers, messages are late and lost.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};

use anyhow::{Context, Result};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ptc_upstream::model::{Allowance, Fault, Payload, Reason, ToolDef};
use ptc_upstream::{Client, Config, Runtime, RuntimeOptions, Secrets, SnapshotMode};
use serde_json::{Map, Value as Json, json};

use crate::world::{Shared, State};

/// The other side.
#[derive(Default)]
pub struct Upstream {
    reads: i64,
    /// What was written: by the key of the request and the place of the call in its program.
    pub writes: BTreeMap<(String, i64), Vec<i64>>,
    /// The disk has lost what it said to have, so nobody can know any more what was sent.
    pub forgiven: bool,
    /// Calls on their way, by when they arrive.
    on_the_way: BTreeMap<(i64, u64), Message>,
    /// Answers on their way back, and who waits for them.
    answers: BTreeMap<u64, (i64, Json)>,
    waiting: BTreeMap<u64, Waker>,
}

struct Message {
    tool: String,
    args: Map<String, Json>,
}

impl Upstream {
    /// When the next call arrives.
    pub fn next_arrival(&self) -> Option<i64> {
        self.on_the_way.keys().next().map(|(at, _)| *at)
    }
}

impl State {
    /// Calls arrive whose time has come.
    pub fn arrive(&mut self) {
        while let Some(entry) = self.upstream.on_the_way.first_entry()
            && entry.key().0 <= self.now
        {
            let (_, call) = *entry.key();
            let message = entry.remove();
            let answer = self.answered(&message);
            if let Some(travels) = self.travels() {
                self.upstream.answers.insert(call, (self.now + travels, answer));
                if let Some(waker) = self.upstream.waiting.remove(&call) {
                    waker.wake();
                }
            }
        }
    }

    fn answered(&mut self, message: &Message) -> Json {
        if message.tool == "count" {
            self.upstream.reads += 1;
            return self.upstream.reads.into();
        }
        let key = message.args["key"].as_str().unwrap_or_default().to_owned();
        let at = message.args["at"].as_i64().unwrap_or_default();
        let n = message.args["n"].as_i64().unwrap_or_default();
        self.note(|| format!("upstream: write {at} of {key} arrives (n = {n})"));
        let writes = self.upstream.writes.entry((key.clone(), at)).or_default();
        writes.push(n);
        if writes.len() > 1 && !self.upstream.forgiven {
            self.violated(|| format!("a write at most once: write {at} of {key} arrived twice"));
        }
        "done".into()
    }
}

/// How long a server waits for an answer.
const PATIENCE: i64 = 5_000;

/// The client of servers. It is made once for many schedules, and each has a world of its own.
#[derive(Clone, Default)]
pub struct Wire(Arc<Mutex<Option<Shared>>>);

impl Wire {
    /// From now on calls are made in this world.
    pub fn enter(&self, shared: &Shared) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(shared.clone());
    }

    fn world(&self) -> Option<Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The upstreams of servers, with this wire as their client, and with these rules for approval.
    pub fn runtime(&self, approval: &Json) -> Result<Arc<Runtime>> {
        let entry = json!({"transport": "mcp_stdio", "command": "simulated", "approval": approval});
        let config = Config::from_value(json!({"upstreams": {"w": entry}}), Path::new(""))?;
        let secrets = Secrets::resolve(&config)?;
        let options = RuntimeOptions { snapshot: SnapshotMode::Frozen, ..RuntimeOptions::default() };
        let client = self.clone();
        let connect = move |_: &_, _: &_| Some(Arc::new(client.clone()) as Arc<dyn Client>);
        let started = Runtime::start_with(&config, secrets, options, &connect).now_or_never();
        Ok(started.context("the simulated upstream is there at once")??)
    }
}

fn object(json: Json) -> Map<String, Json> {
    match json {
        Json::Object(map) => map,
        _ => Map::new(),
    }
}

impl Client for Wire {
    fn list(&self, _: Allowance) -> BoxFuture<'_, Result<Vec<ToolDef>, Fault>> {
        let tool = |name: &str, hint: &str| ToolDef {
            name: name.to_owned(),
            input_schema: object(json!({"type": "object", "properties": {"key": {}, "at": {}, "n": {}}})),
            annotations: object(json!({hint: true})),
            ..ToolDef::default()
        };
        let tools = vec![
            tool("count", "readOnlyHint"),
            tool("put", "destructiveHint"),
            tool("pay", "destructiveHint"),
        ];
        Box::pin(async move { Ok(tools) })
    }

    fn call<'a>(
        &'a self,
        tool: &'a str,
        args: Map<String, Json>,
        _: Allowance,
    ) -> BoxFuture<'a, Result<Payload, Fault>> {
        Box::pin(async move {
            let Some(shared) = self.world() else { return Err(silence()) };
            let (call, until) = {
                let mut state = shared.lock();
                let (call, now) = (state.number(), state.now);
                if let Some(travels) = state.travels() {
                    let message = Message { tool: tool.to_owned(), args };
                    state.upstream.on_the_way.insert((now + travels, call), message);
                }
                (call, now + PATIENCE)
            };
            poll_fn(|context| {
                let mut state = shared.lock();
                let due = state.upstream.answers.get(&call).map(|(at, _)| *at);
                if due.is_some_and(|at| at <= state.now) {
                    let answer = state.upstream.answers.remove(&call).map(|(_, answer)| answer);
                    return Poll::Ready(Ok(Payload { structured: answer, ..Payload::default() }));
                }
                if state.now >= until {
                    return Poll::Ready(Err(silence()));
                }
                let number = state.number();
                state.timers.insert((due.unwrap_or(until).min(until), number), context.waker().clone());
                state.upstream.waiting.insert(call, context.waker().clone());
                Poll::Pending
            })
            .await
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

fn silence() -> Fault {
    Fault::new(Reason::Timeout, "no answer in time")
}
