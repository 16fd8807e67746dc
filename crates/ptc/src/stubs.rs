//! Canned tools, to try programs offline.
//!
//! A tool is described by its answers: `{"cases": [[args, result], …], "default": result}`. Calls with
//! equal arguments get the results of their cases in order, and the last one again and again. A result
//! `{"$raise": "text"}` raises, `{"$fail": {"reason", "message"}}` is a failure of the world outside.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use ptc_host::{Answer, Error, ErrorKind, Tool, Tools};
use ptc_lisp::analyze::Servers;
use serde::Deserialize;
use serde_json::Value;

/// The name of the tool that calls upstreams.
const CALL: &str = "call";

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stub {
    #[serde(default)]
    cases: Vec<Case>,
    #[serde(default, deserialize_with = "present")]
    default: Option<StubOutcome>,
}

/// A field that is there, even as null: `"default": null` answers nil.
fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<StubOutcome>, D::Error> {
    StubOutcome::deserialize(from).map(Some)
}

#[derive(Clone, Debug, Deserialize)]
#[serde(from = "(Value, StubOutcome)")]
struct Case {
    args: Value,
    result: StubOutcome,
    used: bool,
}

impl From<(Value, StubOutcome)> for Case {
    fn from((args, result): (Value, StubOutcome)) -> Self {
        Case { args, result, used: false }
    }
}

/// What a canned tool does.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "Value")]
enum StubOutcome {
    Value(Value),
    Raise(String),
    Fail { reason: String, message: String },
}

impl From<Value> for StubOutcome {
    fn from(json: Value) -> Self {
        let single = json.as_object().filter(|fields| fields.len() == 1);
        if let Some(text) = single.and_then(|fields| fields.get("$raise")) {
            return StubOutcome::Raise(text.as_str().map_or_else(|| text.to_string(), str::to_owned));
        }
        if let Some(fault) = single.and_then(|fields| fields.get("$fail")) {
            let field = |name: &str, other: &str| fault[name].as_str().unwrap_or(other).to_owned();
            return StubOutcome::Fail {
                reason: field("reason", "tool_error"),
                message: field("message", "the call failed"),
            };
        }
        StubOutcome::Value(json)
    }
}

/// Reads descriptions of tools by name, and of upstream tools by `server/tool`.
pub fn tools(tools: Option<&Value>, upstream: Option<&Value>) -> Result<Tools, String> {
    let mut granted = Tools::new();
    if let Some(json) = upstream {
        let upstream = read(json, "upstream")?;
        granted = granted.serving(named(&upstream));
        let upstream = Mutex::new(upstream);
        let call = move |args: Value| answer_upstream(&mut locked(&upstream), &args);
        granted = granted.with(CALL, Tool::quick(call));
    }
    for (name, stub) in tools.map(|json| read(json, "tools")).transpose()?.unwrap_or_default() {
        let stub = Mutex::new(stub);
        granted = granted.with(name, Tool::quick(move |args: Value| locked(&stub).answer(&args)));
    }
    Ok(granted)
}

/// The servers of canned tools, as programs may name them.
fn named(upstream: &BTreeMap<String, Stub>) -> Servers {
    let mut servers: BTreeMap<String, Option<Vec<String>>> = BTreeMap::new();
    for (server, tool) in upstream.keys().filter_map(|name| name.split_once('/')) {
        servers.entry(server.to_owned()).or_default().get_or_insert_default().push(tool.to_owned());
    }
    Servers::new(servers).closed()
}

/// Reads a file of canned tools. Names with a slash belong to upstreams; an object of `tools` and
/// `upstream` that are not descriptions themselves names both.
pub fn from_file(json: &Value) -> Result<Tools, String> {
    let Some(fields) = json.as_object() else {
        return Err("must be an object of tool names".to_owned());
    };
    let described = |value: &Value| value.get("cases").is_some() || value.get("default").is_some();
    let both = !fields.is_empty()
        && fields
            .iter()
            .all(|(key, value)| matches!(key.as_str(), "tools" | "upstream") && !described(value));
    if both {
        return tools(fields.get("tools"), fields.get("upstream"));
    }
    let (upstream, own): (serde_json::Map<_, _>, serde_json::Map<_, _>) =
        fields.clone().into_iter().partition(|(name, _)| name.contains('/'));
    let upstream = (!upstream.is_empty()).then_some(Value::Object(upstream));
    tools(Some(&Value::Object(own)), upstream.as_ref())
}

fn locked<T>(stubs: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    stubs.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stub {
    /// Answers a call; an error raises.
    fn answer(&mut self, args: &Value) -> Result<Answer, String> {
        match self.next(args) {
            Some(StubOutcome::Value(value)) => Ok(Answer::Value(value)),
            Some(StubOutcome::Raise(message) | StubOutcome::Fail { message, .. }) => Err(message),
            None => Err(format!("no canned answer for {args}")),
        }
    }

    /// The next outcome for these arguments.
    fn next(&mut self, args: &Value) -> Option<StubOutcome> {
        let mut last = None;
        for case in self.cases.iter_mut().filter(|case| equal(&case.args, args)) {
            if !case.used {
                case.used = true;
                return Some(case.result.clone());
            }
            last = Some(&case.result);
        }
        last.or(self.default.as_ref()).cloned()
    }
}

fn read(json: &Value, field: &str) -> Result<BTreeMap<String, Stub>, String> {
    let Some(fields) = json.as_object() else {
        return Err(format!("`{field}` must be an object of tool names"));
    };
    let stub = |(name, value): (&String, &Value)| match Stub::deserialize(value) {
        Ok(stub) => Ok((name.clone(), stub)),
        Err(error) => Err(format!(
            "`{field}` describes `{name}` wrongly: {error}; write {{\"cases\": [[args, result]], \"default\": result}}"
        )),
    };
    fields.iter().map(stub).collect()
}

/// Answers `(tool/call {:server … :tool … :args …})`. What the program got wrong raises; what the world
/// got wrong is an answer.
fn answer_upstream(upstream: &mut BTreeMap<String, Stub>, call: &Value) -> Answer {
    let raise = |message: String| Answer::Raise(Error::new(ErrorKind::Runtime, message));
    let text = |name: &str| call[name].as_str().filter(|text| !text.is_empty());
    let Some(server) = text("server") else {
        return raise(format!("tool/call requires :server (string), got {}", shown(&call["server"])));
    };
    let Some(tool) = text("tool") else {
        let got = shown(&call["tool"]);
        return raise(format!("tool/call on upstream '{server}' requires :tool (string), got {got}"));
    };
    let args = match &call["args"] {
        Value::Null => Value::Object(serde_json::Map::new()),
        args @ Value::Object(_) => args.clone(),
        other => {
            let got = shown(other);
            return raise(format!("tool '{server}.{tool}' rejected args: :args must be a map, got {got}"));
        }
    };
    if let Some(stub) = upstream.get_mut(&format!("{server}/{tool}")) {
        return match stub.next(&args) {
            Some(StubOutcome::Value(value)) => Answer::upstream(value),
            Some(StubOutcome::Raise(message)) => {
                let message = format!("tool {server}.{tool} failed: {message}");
                Answer::Raise(Error::new(ErrorKind::Tool, message))
            }
            Some(StubOutcome::Fail { reason, message }) => Answer::Fault { reason, message },
            None => Answer::Fault {
                reason: "tool_error".to_owned(),
                message: format!("no canned answer for {server}/{tool} with {args}"),
            },
        };
    }
    let server_known = upstream.keys().any(|key| key.split('/').next() == Some(server));
    raise(match server_known {
        true => {
            format!("no tool '{tool}' in upstream '{server}'. Known tools: {}", tools_of(upstream, server))
        }
        false => format!("no upstream '{server}' configured. Configured upstreams: {}", servers(upstream)),
    })
}

fn servers(upstream: &BTreeMap<String, Stub>) -> String {
    let mut servers: Vec<&str> = upstream.keys().filter_map(|key| key.split('/').next()).collect();
    servers.dedup();
    servers.join(", ")
}

fn tools_of(upstream: &BTreeMap<String, Stub>, server: &str) -> String {
    let tools = upstream.keys().filter_map(|key| key.split_once('/')).filter(|(of, _)| *of == server);
    tools.map(|(_, tool)| tool).collect::<Vec<_>>().join(", ")
}

/// A wrong argument in a message: as the program would write the simple ones.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "nil".to_owned(),
        Value::Object(_) => "a map".to_owned(),
        Value::Array(_) => "a vector".to_owned(),
        other => other.to_string().chars().take(80).collect(),
    }
}

/// Whether two JSON values are the same; `1` equals `1.0`, and the order of keys does not matter.
fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            left == right || (left.is_f64() || right.is_f64()) && left.as_f64() == right.as_f64()
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| equal(value, other)))
        }
        _ => left == right,
    }
}
