//! An engine to ask.

use std::sync::Arc;

use ptc_server::engine::{Args, Caller, Engine, Parts, Profile, Reply, Settings, Signals, Transport};
use serde_json::{Value as Json, json};

/// Settings that do not depend on how fast the computer is.
pub fn patient(profile: Profile) -> Settings {
    Settings { profile, program_timeout: std::time::Duration::from_secs(60), ..Settings::default() }
}

/// An engine without upstreams.
pub async fn engine(settings: Settings) -> Arc<Engine> {
    Engine::start(settings, Parts::default()).await.expect("it starts")
}

/// The caller of most tests.
pub fn anna() -> Caller {
    Caller::new("anna", Transport::Stdio)
}

/// Arguments of a call.
pub fn args(json: Json) -> Args {
    match json {
        Json::Object(args) => args,
        other => panic!("arguments are an object, not {other}"),
    }
}

/// Calls a tool for anna.
pub async fn call(engine: &Engine, tool: &str, arguments: Json) -> Reply {
    engine.call(&anna(), tool, args(arguments), Signals::default()).await.expect("it is answered")
}

/// Runs a program for anna.
pub async fn eval(engine: &Engine, program: &str) -> Reply {
    call(engine, "lisp_eval", json!({"program": program})).await
}

/// The object of an answer.
pub fn object(reply: &Reply) -> &Json {
    reply.structured.as_ref().expect("the answer has an object")
}
