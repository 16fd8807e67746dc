//! Arguments of tools: one map with string keys, the way JSON has them.

use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::{Items, Table, Value};

/// The arguments of a call as one map: none, a map, or keys and values in turn. Keys become strings
/// with underscores, keywords become strings.
pub fn arguments(heap: &mut Heap, tool: &str, args: &[Value]) -> Res {
    for arg in args {
        heap.realised(arg)?;
    }
    let pairs: Vec<(Value, Value)> = match args {
        [] | [Value::Nil] => Vec::new(),
        [map @ (Value::Map(_) | Value::Sorted(_))] => entries(map),
        [Value::Sym(name), rest @ ..] if tool == "call" => return shorthand(heap, *name, rest),
        _ if args.len().is_multiple_of(2)
            && args.iter().step_by(2).all(|key| matches!(key, Value::Kw(_) | Value::Str(_))) =>
        {
            args.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
        }
        _ => {
            return Err(Error::new(ErrorKind::InvalidToolArgs, format!("tool/{tool} takes named arguments"))
                .hint(format!("write (tool/{tool} {{:name value}})"))
                .into());
        }
    };
    object(heap, pairs)
}

/// `(tool/call 'server/tool {…})`
fn shorthand(heap: &mut Heap, name: crate::names::Name, rest: &[Value]) -> Res {
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
        Value::Map(body) => body.table.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
        Value::Sorted(body) => body.entries.clone(),
        _ => Vec::new(),
    }
}

fn object(heap: &mut Heap, pairs: Vec<(Value, Value)>) -> Res {
    let mut table = Table::with_capacity(pairs.len());
    for (key, value) in pairs {
        let key = key_text(heap, &key)?;
        let value = plain(heap, value)?;
        table.insert(Value::string(key), value);
    }
    Ok(Value::map(table))
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
