//! Arguments of tools: one map with string keys, the way JSON has them.

use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::names::Name;
use crate::signal::{Res, Signal, ToolRequest};
use crate::value::extent::ELEMENT;
use crate::value::{Items, Map, Value};

/// The tool that calls upstreams.
const CALL: &str = "call";

/// The arguments of a call as one map: none, a map, or keys and values in turn. Keys become strings
/// with underscores, keywords become strings. A map that says the same without all that is taken as it is.
pub fn request(heap: &mut Heap, tool: Name, args: &mut [Value]) -> Res<ToolRequest> {
    if let [Value::Map(body)] = &args
        && let Some(bytes) = extent_of_object(body, heap)
    {
        heap.work(body.len())?;
        return Ok(ToolRequest {
            tool,
            args: std::mem::take(&mut args[0]),
            bytes: Some(bytes),
            discovery: false,
        });
    }
    Ok(ToolRequest { tool, args: arguments(heap, tool, args)?, bytes: None, discovery: false })
}

fn arguments(heap: &mut Heap, tool: Name, args: &[Value]) -> Res {
    for arg in args.iter() {
        heap.realised(arg)?;
    }
    let pairs: Vec<(Value, Value)> = match args {
        [] | [Value::Nil] => Vec::new(),
        [map @ (Value::Map(_) | Value::Sorted(_))] => entries(map),
        [Value::Sym(name), rest @ ..] if heap.names.text(tool) == CALL => {
            return checked(shorthand(heap, *name, rest)?);
        }
        _ if args.len().is_multiple_of(2)
            && args.iter().step_by(2).all(|key| matches!(key, Value::Kw(_) | Value::Str(_))) =>
        {
            args.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
        }
        [other] if heap.names.text(tool) == CALL => {
            let got = shown(heap, other)?;
            return Err(wrong_call(format!("tool/call requires a map, got {got}")));
        }
        _ => {
            let tool = heap.names.text(tool);
            return Err(Error::new(ErrorKind::InvalidToolArgs, format!("tool/{tool} takes named arguments"))
                .hint(format!("write (tool/{tool} {{:name value}})"))
                .into());
        }
    };
    if heap.names.text(tool) != CALL {
        return object(heap, pairs);
    }
    // Which of two equal keys counts must not depend on their order: the manifest sees only one.
    let mut seen: Vec<String> = Vec::new();
    for (key, _) in &pairs {
        let key = key_text(heap, key)?;
        if !["server", "tool", "args"].contains(&key.as_str()) {
            let shown: String = key.chars().take(80).collect();
            return Err(wrong_call(format!("tool/call got unknown key :{shown}")));
        }
        if seen.contains(&key) {
            return Err(wrong_call(format!("tool/call got duplicate key :{key}")));
        }
        seen.push(key);
    }
    let call = object(heap, pairs)?;
    checked(call)
}

fn wrong_call(message: String) -> Box<Signal> {
    Error::new(ErrorKind::Runtime, message).into()
}

/// A value in a message, in at most 80 characters.
fn shown(heap: &mut Heap, value: &Value) -> Res<String> {
    Ok(heap.readable(value)?.chars().take(80).collect())
}

/// A call of an upstream whose arguments JSON can say. Other faults in it are the host's to find, which
/// knows what there is to call.
fn checked(call: Value) -> Res {
    let Value::Map(body) = &call else { return Ok(call) };
    let part = |name: &str| body.iter().find(|(key, _)| key.as_str() == Some(name));
    let text = |name: &str| part(name).and_then(|(_, value)| value.as_str()).filter(|text| !text.is_empty());
    let (Some(server), Some(tool), Some((_, args))) = (text("server"), text("tool"), part("args")) else {
        return Ok(call);
    };
    let Some(odd) = unencodable(args) else { return Ok(call) };
    let kind = if let Value::Float(_) = odd { "infinite or not a number" } else { odd.type_name() };
    let message = format!("tool '{server}.{tool}' rejected args: not JSON-encodable ({kind})");
    Err(wrong_call(message))
}

/// The first part of plain arguments that JSON cannot say. Values nest at most
/// [`crate::value::MAX_DEPTH`] levels.
fn unencodable(value: &Value) -> Option<Value> {
    match value {
        Value::Map(body) => body.iter().find_map(|(_, value)| unencodable(value)),
        Value::Vec(_) => {
            let mut items = Items::over(value)?;
            while let Ok(Some(item)) = items.next() {
                if let Some(odd) = unencodable(&item) {
                    return Some(odd);
                }
            }
            None
        }
        Value::Nil | Value::Bool(_) | Value::Int(_) | Value::Big(_) | Value::Str(_) => None,
        Value::Float(float) if float.is_finite() => None,
        other => Some(other.clone()),
    }
}

/// The extent of a map, if it gives the same object of JSON as [`object`] makes of it, of the same extent.
fn extent_of_object(map: &Map, heap: &Heap) -> Option<usize> {
    /// Keys up to this length count the least an element can count, as keywords and as strings.
    const SHORT: usize = 14;
    let mut bytes = 2;
    for (key, value) in map.iter() {
        let Value::Kw(name) = key else { return None };
        let name = heap.names.text(*name);
        if name.len() > SHORT || name.bytes().any(|byte| byte == b'-') {
            return None;
        }
        bytes += ELEMENT;
        bytes += match value {
            Value::Nil | Value::Bool(_) | Value::Int(_) | Value::Float(_) => ELEMENT,
            Value::Str(text) => ELEMENT.max(2 + text.byte_len()),
            _ => return None,
        };
    }
    Some(bytes)
}

/// `(tool/call 'server/tool {…})`
fn shorthand(heap: &mut Heap, name: Name, rest: &[Value]) -> Res {
    let (server, tool) = heap.names.parts(name);
    let server = Value::str(server.unwrap_or_default());
    let tool = Value::str(tool);
    let args = match rest {
        [] => Value::map_of([]),
        [map] => map.clone(),
        _ => Value::map_of(rest.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone()))),
    };
    object(heap, vec![(Value::str("server"), server), (Value::str("tool"), tool), (Value::str("args"), args)])
}

fn entries(map: &Value) -> Vec<(Value, Value)> {
    match map {
        Value::Map(body) => body.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
        Value::Sorted(body) => body.entries.clone(),
        _ => Vec::new(),
    }
}

fn object(heap: &mut Heap, pairs: Vec<(Value, Value)>) -> Res {
    let mut map = Map::with_capacity(pairs.len());
    for (key, value) in pairs {
        let key = key_text(heap, &key)?;
        let value = plain(heap, value)?;
        map.insert(Value::string(key), value);
    }
    Ok(Value::Map(map))
}

fn key_text(heap: &mut Heap, key: &Value) -> Res<String> {
    Ok(match key {
        Value::Kw(name) | Value::Sym(name) => heap.names.text(*name).replace('-', "_"),
        Value::Str(text) => text.as_str().to_owned(),
        other => heap.display(other)?,
    })
}

/// A value as a tool sees it. Values nest at most [`crate::value::MAX_DEPTH`] levels.
fn plain(heap: &mut Heap, value: Value) -> Res {
    heap.work(1)?;
    Ok(match &value {
        Value::Kw(name) | Value::Sym(name) => Value::str(heap.names.text(*name)),
        Value::Map(_) => object(heap, entries(&value))?,
        Value::Sorted(body) if !body.is_set => object(heap, entries(&value))?,
        Value::Time(time) => Value::string(time.to_string()),
        _ if value.is_sequential() || matches!(value, Value::Set(_) | Value::Sorted(_)) => {
            let mut items = Items::over(&value).unwrap_or(Items::Empty);
            let mut out = Vec::new();
            while let Ok(Some(item)) = items.next() {
                out.push(plain(heap, item)?);
            }
            Value::vector(out)
        }
        _ => value,
    })
}
