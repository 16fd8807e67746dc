//! Rhai with all its packages, limits off.

use anyhow::{Result, anyhow};
use rhai::{Array, Dynamic, Engine as Rhais, Map, Scope};
use serde_json::Value as Json;

use super::{Engine, Sandbox, lookup};
use crate::data::Input;

/// The engine.
pub struct Rhai;

/// An engine of Rhai with its variables.
pub struct Open {
    engine: Rhais,
    scope: Scope<'static>,
}

impl Engine for Rhai {
    type Sandbox = Open;
    const NAME: &'static str = "Rhai";
    const LANGUAGES: &'static [&'static str] = &["rhai"];
    const DEFINITION: &'static str = "let answer = 42;";

    fn sandbox() -> Result<Open> {
        let mut engine = Rhais::new();
        engine.set_max_expr_depths(0, 0);
        engine.register_fn("succ", |n: i64| n + 1);
        engine.register_fn("lookup", |id: i64| to_rhai(&lookup(id)));
        Ok(Open { engine, scope: Scope::new() })
    }
}

impl Sandbox for Open {
    fn set(&mut self, name: &str, input: &Input) -> Result<()> {
        let value = match input {
            Input::Int(int) => Dynamic::from_int(*int),
            Input::Text(text) => Dynamic::from(text.clone()),
            Input::Json(text) => to_rhai(&serde_json::from_str(text)?),
        };
        self.scope.set_value(name.to_owned(), value);
        Ok(())
    }

    fn eval(&mut self, source: &str) -> Result<Json> {
        let inputs = self.scope.len();
        let answer = self.engine.eval_with_scope::<Dynamic>(&mut self.scope, source);
        if source != Rhai::DEFINITION {
            self.scope.rewind(inputs);
        }
        answer.map(|value| from_rhai(&value)).map_err(|error| anyhow!("{error}"))
    }
}

fn to_rhai(json: &Json) -> Dynamic {
    match json {
        Json::Null => Dynamic::UNIT,
        Json::Bool(bool) => Dynamic::from_bool(*bool),
        Json::Number(number) => match number.as_i64() {
            Some(int) => Dynamic::from_int(int),
            None => Dynamic::from_float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Dynamic::from(text.clone()),
        Json::Array(items) => Dynamic::from_array(items.iter().map(to_rhai).collect::<Array>()),
        Json::Object(fields) => {
            let fields = fields.iter().map(|(name, field)| (name.as_str().into(), to_rhai(field)));
            Dynamic::from_map(fields.collect::<Map>())
        }
    }
}

fn from_rhai(value: &Dynamic) -> Json {
    if let Some(items) = value.read_lock::<Array>() {
        return Json::Array(items.iter().map(from_rhai).collect());
    }
    if let Some(fields) = value.read_lock::<Map>() {
        return Json::Object(
            fields.iter().map(|(name, field)| (name.to_string(), from_rhai(field))).collect(),
        );
    }
    if let Ok(int) = value.as_int() {
        return Json::from(int);
    }
    if let Ok(float) = value.as_float() {
        return Json::from(float);
    }
    if let Ok(bool) = value.as_bool() {
        return Json::from(bool);
    }
    value.clone().into_string().map_or(Json::Null, Json::from)
}
