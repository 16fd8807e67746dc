//! QuickJS through `rquickjs`: one runtime and one full context per sandbox.

use anyhow::{Result, anyhow};
use rquickjs::{Context, Ctx, Function, Runtime, Value};
use serde_json::Value as Json;

use super::{Engine, Sandbox, lookup};
use crate::data::Input;

/// The engine.
pub struct QuickJs;

/// A context; it must go before its runtime.
pub struct Open {
    context: Context,
    runtime: Runtime,
}

impl Engine for QuickJs {
    type Sandbox = Open;
    const NAME: &'static str = "QuickJS";
    const LANGUAGES: &'static [&'static str] = &["js"];
    const DEFINITION: &'static str = "globalThis.answer = 42";

    fn sandbox() -> Result<Open> {
        let runtime = Runtime::new()?;
        let context = Context::full(&runtime)?;
        context.with(|ctx| tools(&ctx))?;
        Ok(Open { context, runtime })
    }
}

fn tools(ctx: &Ctx) -> rquickjs::Result<()> {
    let succ = Function::new(ctx.clone(), |n: i64| n + 1)?;
    ctx.globals().set("succ", succ)?;
    let lookup = Function::new(ctx.clone(), record)?;
    ctx.globals().set("lookup", lookup)
}

fn record(ctx: Ctx<'_>, id: i64) -> rquickjs::Result<Value<'_>> {
    ctx.json_parse(lookup(id).to_string())
}

impl Sandbox for Open {
    fn set(&mut self, name: &str, input: &Input) -> Result<()> {
        self.context.with(|ctx| {
            let globals = ctx.globals();
            match input {
                Input::Int(int) => globals.set(name, *int),
                Input::Text(text) => globals.set(name, text.as_str()),
                Input::Json(text) => ctx.json_parse(text.as_str()).and_then(|value| globals.set(name, value)),
            }
        })?;
        Ok(())
    }

    fn eval(&mut self, source: &str) -> Result<Json> {
        self.context.with(|ctx| {
            let text = ctx.eval::<Value, _>(source).and_then(|value| ctx.json_stringify(value));
            let text = text.map_err(|error| match error {
                rquickjs::Error::Exception => anyhow!("{:?}", ctx.catch()),
                other => anyhow!("{other}"),
            })?;
            text.map_or(Ok(Json::Null), |text| Ok(serde_json::from_str(&text.to_string()?)?))
        })
    }

    fn own_bytes(&self) -> Option<usize> {
        self.runtime.run_gc();
        usize::try_from(self.runtime.memory_usage().malloc_size).ok()
    }
}
