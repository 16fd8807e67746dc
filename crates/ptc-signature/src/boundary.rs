//! Values leaving for tools and the host: plain JSON with string keys.

use serde_json::{Map, Value};

use crate::issue::{Issue, Step, Trail};
use crate::keys::snake;
use crate::shape::{Build, Kind, Shape};
use crate::types::MAX_DEPTH;
use crate::validate::describe;

/// The value as a tool receives it: keys with underscores at every depth, keywords as plain names, points in
/// time as ISO 8601. What has no JSON form is an error with its path.
pub fn to_json<V: Shape>(value: &V) -> Result<Value, Issue> {
    let mut walk = BoundaryWalk { trail: Trail::default(), depth: 0 };
    walk.value(value)
}

/// Why a value has no JSON form.
fn no_json<V: Shape>(value: &V, hidden: bool) -> String {
    match value.kind() {
        Kind::Int => format!("{} does not fit 64 bits, send it as a string", describe(value, hidden)),
        _ => format!("{} cannot leave the program", describe(value, hidden)),
    }
}

struct BoundaryWalk<'a> {
    trail: Trail<'a>,
    depth: usize,
}

impl<'a> BoundaryWalk<'a> {
    fn value<V: Shape>(&mut self, value: &'a V) -> Result<Value, Issue> {
        let outcome = match value.kind() {
            Kind::Nil => Some(Value::Null),
            Kind::Bool => value.boolean().map(Value::Bool),
            Kind::Int => Value::from_int(&value.print()),
            Kind::Float => value.number().and_then(|n| Value::from_float(n.as_f64())),
            Kind::String | Kind::Keyword => value.text().map(Value::from),
            Kind::DateTime => Some(Value::String(value.print())),
            Kind::List => return self.list(value),
            Kind::Map => return self.map(value),
            Kind::Opaque => None,
        };
        outcome.ok_or_else(|| self.trail.issue(|hidden| no_json(value, hidden)))
    }

    fn list<V: Shape>(&mut self, value: &'a V) -> Result<Value, Issue> {
        let items = value.items().into_iter().flatten().enumerate();
        items
            .map(|(index, item)| self.within(Step::Index(index), item))
            .collect::<Result<_, _>>()
            .map(Value::Array)
    }

    fn map<V: Shape>(&mut self, value: &'a V) -> Result<Value, Issue> {
        let mut map = Map::new();
        for (key, inner) in value.fields().into_iter().flatten() {
            let name = snake(&key);
            let exact = name == key;
            let inner = self.within(Step::Key(key), inner)?;
            if exact || !map.contains_key(&name) {
                map.insert(name, inner);
            }
        }
        Ok(Value::Object(map))
    }

    fn within<V: Shape>(&mut self, step: Step<'a>, value: &'a V) -> Result<Value, Issue> {
        self.trail.push(step);
        self.depth += 1;
        let out = if self.depth > MAX_DEPTH {
            Err(self.trail.issue(|_| format!("nested deeper than {MAX_DEPTH} levels")))
        } else {
            self.value(value)
        };
        self.depth -= 1;
        self.trail.pop();
        out
    }
}
