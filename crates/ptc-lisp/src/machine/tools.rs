//! Arguments of tools: one map with string keys, the way JSON has them.

use crate::error::{Error, ErrorKind, excerpt};
use crate::heap::Heap;
use crate::interchange::sayable;
use crate::json::{SameKey, keys};
use crate::names::Name;
use crate::signal::{Res, Signal, ToolRequest};
use crate::value::extent::ELEMENT;
use crate::value::walk::{EntryStep, Parts, Place, Visitor, WalkStep, walk};
use crate::value::{MAX_DEPTH, Map, Value, ledger};

/// The tool that calls upstreams.
const CALL: &str = "call";

/// The arguments of a call as one map: none, a map, or keywords and values in turn. Keywords become strings, with
/// underscores where they are keys that a program wrote; keys that data brought along stay as they are. A map that says the
/// same without all that is taken as it is.
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
            let call = shorthand(heap, *name, rest)?;
            return checked(heap, call);
        }
        _ if args.len().is_multiple_of(2)
            && args.iter().step_by(2).all(|key| matches!(key, Value::Kw(_))) =>
        {
            args.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
        }
        [other] if heap.names.text(tool) == CALL => {
            let got = heap.brief(other);
            return Err(wrong_call(format!("tool/call requires a map, got {got}")));
        }
        _ => {
            return Err(Error::positional_arguments(heap.names.text(tool)).into());
        }
    };
    if heap.names.text(tool) != CALL {
        let given = object(heap, pairs)?;
        let looked = sayable(&given, &heap.names, ErrorKind::InvalidToolArgs, "what the tool is given");
        heap.spend(ledger::take())?;
        return Ok(looked.map(|()| given)?);
    }
    // Which of two equal keys counts must not depend on their order: the manifest sees only one.
    let mut seen: Vec<String> = Vec::new();
    for (key, _) in &pairs {
        let key = key_text(heap, key)?;
        if !["server", "tool", "args"].contains(&key.as_str()) {
            let message = format!("tool/call got unknown key :{}", excerpt(&key));
            let hint = "the keys are :server, :tool and :args, which has the arguments of the tool";
            return Err(Error::new(ErrorKind::Runtime, message).hint(hint).into());
        }
        if seen.contains(&key) {
            return Err(wrong_call(format!("tool/call got duplicate key :{key}")));
        }
        seen.push(key);
    }
    let call = object(heap, pairs)?;
    checked(heap, call)
}

fn wrong_call(message: String) -> Box<Signal> {
    Error::new(ErrorKind::Runtime, message).into()
}

/// A call of an upstream whose arguments JSON can say. Other faults in it are the host's to find, which
/// knows what there is to call.
fn checked(heap: &mut Heap, call: Value) -> Res {
    let Value::Map(body) = &call else { return Ok(call) };
    let part = |name: &str| body.iter().find(|(key, _)| key.as_str() == Some(name));
    let text = |name: &str| part(name).and_then(|(_, value)| value.as_str()).filter(|text| !text.is_empty());
    let (Some(server), Some(tool), Some((_, args))) = (text("server"), text("tool"), part("args")) else {
        return Ok(call);
    };
    let odd = unencodable(args);
    heap.spend(ledger::take())?;
    let Some(odd) = odd else { return Ok(call) };
    let kind = if let Value::Float(_) = odd { "infinite or not a number" } else { odd.type_name() };
    let message = format!("tool '{server}.{tool}' rejected args: not JSON-encodable ({kind})");
    Err(wrong_call(message))
}

/// The first part of plain arguments that JSON cannot say. Nothing if the program is over before it is found.
fn unencodable(value: &Value) -> Option<Value> {
    walk(value, &mut Encodable { parts: 0 }).err()?
}

struct Encodable {
    /// Parts that were looked at.
    parts: u64,
}

impl Visitor for Encodable {
    type Mark = ();
    type Stop = Option<Value>;

    fn enter(&mut self, value: &Value) -> Result<WalkStep<()>, Option<Value>> {
        self.parts += 1;
        if !ledger::lets_look(self.parts) {
            return Err(None);
        }
        match value {
            Value::Map(_) | Value::Vec(_) => {
                Ok(Parts::of(value).map_or(WalkStep::Done, |parts| WalkStep::Into(parts, ())))
            }
            Value::Nil
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Big(_)
            | Value::Decimal(_)
            | Value::Str(_) => Ok(WalkStep::Done),
            Value::Float(float) if float.is_finite() => Ok(WalkStep::Done),
            other => Err(Some(other.clone())),
        }
    }

    fn entry(&mut self, (): &mut (), _: usize, _: &Value) -> Result<EntryStep, Option<Value>> {
        Ok(EntryStep::Value)
    }

    fn leave(&mut self, (): ()) -> Result<(), Option<Value>> {
        Ok(())
    }

    /// How deep arguments nest is found out when they are measured.
    fn too_deep(&mut self, (): (), _: Place<'_>) -> Result<(), Option<Value>> {
        Ok(())
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
            Value::Nil | Value::Bool(_) | Value::Int(_) => ELEMENT,
            Value::Float(float) if float.is_finite() => ELEMENT,
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
    distinct(heap, pairs.iter().map(|(key, _)| key))?;
    let mut map = Map::with_capacity(pairs.len());
    let room = heap.limits.output_bytes;
    let mut copy = Plain { heap, room, bytes: 0, done: Value::Nil };
    for (key, value) in pairs {
        let key = copy.key(&key)?;
        walk(&value, &mut copy)?;
        map.insert(key, std::mem::take(&mut copy.done));
    }
    Ok(Value::Map(map))
}

fn key_text(heap: &mut Heap, key: &Value) -> Res<String> {
    match keys::spelt(key, &heap.names) {
        Some(text) => Ok(text.into_owned()),
        None => heap.readable(key),
    }
}

/// Refuses arguments of which two would have one name: the tool would be given only one of them.
fn distinct<'v>(heap: &'v Heap, keys: impl Iterator<Item = &'v Value>) -> Res<()> {
    match SameKey::among(keys, &heap.names, heap.limits.output_bytes, keys::spelt) {
        None => Ok(()),
        Some(keys) => Err(Error::new(ErrorKind::InvalidToolArgs, format!("the arguments have {keys}"))
            .hint(SameKey::HINT)
            .into()),
    }
}

/// Makes values as a tool sees them. Parts that are shared become as many copies, so what they take is
/// counted as they are made.
struct Plain<'h> {
    heap: &'h mut Heap,
    /// Bytes of text that the arguments may still be.
    room: usize,
    /// Bytes of memory that were taken and not asked for yet.
    bytes: usize,
    /// What was made last.
    done: Value,
}

/// A collection of which parts are still to come.
enum Copying {
    Items(Vec<Value>),
    Object(Map, Value),
}

impl Plain<'_> {
    /// Counts text; an element counts at least [`ELEMENT`], as it does when arguments are measured.
    fn count(&mut self, text: usize) -> Res<()> {
        let limit = self.heap.limits.output_bytes;
        self.room = self.room.checked_sub(text).ok_or_else(|| {
            let message = format!("what the tools are given would be more than {limit} bytes of text");
            Error::new(ErrorKind::OutputExceeded, message)
                .hint("give less: a count, a summary, or the first few with take")
        })?;
        Ok(())
    }

    /// Asks for memory, in large pieces: small arguments are not worth it.
    fn take(&mut self, bytes: usize) -> Res<()> {
        const PIECE: usize = 1 << 16;
        self.bytes += bytes;
        if self.bytes >= PIECE {
            self.heap.reserve(std::mem::take(&mut self.bytes))?;
        }
        Ok(())
    }

    fn key(&mut self, key: &Value) -> Res {
        let text = key_text(self.heap, key)?;
        self.count(ELEMENT.max(2 + text.len()))?;
        self.take(text.len())?;
        Ok(Value::string(text))
    }

    fn scalar(&mut self, value: &Value) -> Res {
        let value = match value {
            Value::Kw(name) | Value::Sym(name) => Value::str(self.heap.names.text(*name)),
            Value::Time(time) => Value::string(time.json_text()),
            other => other.clone(),
        };
        let text = value.as_str().map_or(0, |text| 2 + text.len());
        self.count(ELEMENT.max(text))?;
        Ok(value)
    }
}

impl Visitor for Plain<'_> {
    type Mark = Copying;
    type Stop = Box<Signal>;

    const LEVELS: u16 = MAX_DEPTH;

    fn enter(&mut self, value: &Value) -> Result<WalkStep<Copying>, Box<Signal>> {
        self.heap.work(1)?;
        // An array can change until it is measured, as any other cell can.
        let parts = if value.is_array() { None } else { Parts::of(value) };
        let Some(parts) = parts else {
            self.done = self.scalar(value)?;
            return Ok(WalkStep::Done);
        };
        const BODY: usize = 80;
        let count = parts.count();
        self.count(if count == Some(0) { ELEMENT } else { 2 })?;
        self.take(BODY + 2 * size_of::<Value>() * count.unwrap_or(0).min(self.room / ELEMENT))?;
        let copying = if value.is_map() {
            distinct(self.heap, keys::keys(value))?;
            Copying::Object(Map::default(), Value::Nil)
        } else {
            Copying::Items(Vec::new())
        };
        Ok(WalkStep::Into(parts, copying))
    }

    fn entry(&mut self, copying: &mut Copying, _: usize, key: &Value) -> Result<EntryStep, Box<Signal>> {
        let text = self.key(key)?;
        if let Copying::Object(_, next) = copying {
            *next = text;
        }
        Ok(EntryStep::Value)
    }

    fn after(&mut self, copying: &mut Copying) -> Result<(), Box<Signal>> {
        let done = std::mem::take(&mut self.done);
        match copying {
            Copying::Items(items) => items.push(done),
            Copying::Object(map, next) => {
                map.insert(std::mem::take(next), done);
            }
        }
        Ok(())
    }

    fn leave(&mut self, copying: Copying) -> Result<(), Box<Signal>> {
        self.done = match copying {
            Copying::Items(items) => Value::vector(items),
            Copying::Object(map, _) => Value::Map(map),
        };
        Ok(())
    }

    fn too_deep(&mut self, _: Copying, place: Place<'_>) -> Result<(), Box<Signal>> {
        Err(place.too_deep(&self.heap.names).error("what the tools are given").into())
    }
}
