//! Lua 5.4 (or LuaJIT, by feature) through `mlua`, with its standard library.

use anyhow::{Result, anyhow};
use mlua::{Function, Lua as State, Table, Value};
use serde_json::{Map, Value as Json};

use super::{Engine, Sandbox, lookup};
use crate::data::Input;

/// The engine.
pub struct Lua;

impl Engine for Lua {
    type Sandbox = State;
    const NAME: &'static str = if cfg!(feature = "luajit") { "LuaJIT" } else { "Lua 5.4" };
    const LANGUAGES: &'static [&'static str] = &["lua"];
    const DEFINITION: &'static str = "answer = 42";
    const JIT: bool = cfg!(feature = "luajit");

    fn sandbox() -> Result<State> {
        let lua = State::new();
        tools(&lua).map_err(failed)?;
        Ok(lua)
    }
}

fn tools(lua: &State) -> mlua::Result<()> {
    let succ: Function = lua.create_function(|_, n: i64| Ok(n + 1))?;
    let lookup = lua.create_function(|lua, id: i64| to_lua(lua, &lookup(id)))?;
    lua.globals().set("succ", succ)?;
    lua.globals().set("lookup", lookup)
}

/// Errors of Lua stay on their thread, so only their text goes on.
fn failed(error: mlua::Error) -> anyhow::Error {
    anyhow!("{error}")
}

impl Sandbox for State {
    fn set(&mut self, name: &str, input: &Input) -> Result<()> {
        let globals = self.globals();
        match input {
            Input::Int(int) => globals.set(name, *int),
            Input::Text(text) => globals.set(name, text.as_str()),
            Input::Json(text) => {
                let json: Json = serde_json::from_str(text)?;
                to_lua(self, &json).and_then(|value| globals.set(name, value))
            }
        }
        .map_err(failed)
    }

    fn eval(&mut self, source: &str) -> Result<Json> {
        self.load(source).eval::<Value>().and_then(|value| from_lua(&value)).map_err(failed)
    }

    fn settle(&mut self) {
        // Garbage that stays is only counted.
        self.gc_collect().unwrap_or_default();
    }
}

fn to_lua(lua: &State, json: &Json) -> mlua::Result<Value> {
    Ok(match json {
        Json::Null => Value::Nil,
        Json::Bool(bool) => Value::Boolean(*bool),
        Json::Number(number) => match number.as_i64() {
            Some(int) => Value::Integer(int as mlua::Integer),
            None => Value::Number(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::String(lua.create_string(text)?),
        Json::Array(items) => {
            let table = lua.create_table_with_capacity(items.len(), 0)?;
            for (at, item) in items.iter().enumerate() {
                table.raw_set(at + 1, to_lua(lua, item)?)?;
            }
            Value::Table(table)
        }
        Json::Object(fields) => {
            let table = lua.create_table_with_capacity(0, fields.len())?;
            for (name, field) in fields {
                table.raw_set(name.as_str(), to_lua(lua, field)?)?;
            }
            Value::Table(table)
        }
    })
}

fn from_lua(value: &Value) -> mlua::Result<Json> {
    Ok(match value {
        Value::Boolean(bool) => Json::from(*bool),
        Value::Integer(int) => Json::from(*int),
        Value::Number(number) => Json::from(*number),
        Value::String(text) => Json::from(text.to_string_lossy()),
        Value::Table(table) if table.raw_len() > 0 => array(table)?,
        Value::Table(table) => {
            let mut fields = Map::new();
            for pair in table.pairs::<String, Value>() {
                let (name, field) = pair?;
                fields.insert(name, from_lua(&field)?);
            }
            Json::Object(fields)
        }
        _ => Json::Null,
    })
}

fn array(table: &Table) -> mlua::Result<Json> {
    let items = table.sequence_values::<Value>().map(|item| from_lua(&item?));
    Ok(Json::Array(items.collect::<mlua::Result<_>>()?))
}
