//! Key spelling at the tool boundary.
//!
//! Programs write `:order-count`, tools and JSON use `order_count`. Keys going out to a tool or to the host are
//! rewritten with underscores at every depth; names a model reads are shown with hyphens; and lookups treat
//! the two spellings as one name.

use serde_json::{Map, Value};

use crate::shape::Shape;

/// The name with underscores: `order-count` becomes `order_count`.
pub fn snake(name: &str) -> String {
    name.replace('-', "_")
}

/// The name as a model reads it: `order_count` becomes `order-count`. One leading underscore stays, since it
/// marks a firewalled field.
pub fn kebab(name: &str) -> String {
    match name.strip_prefix('_') {
        Some(rest) => format!("_{}", rest.replace('_', "-")),
        None => name.replace('_', "-"),
    }
}

/// Whether two names differ at most in hyphens against underscores.
pub fn same(a: &str, b: &str) -> bool {
    let fold = |c: u8| if c == b'-' { b'_' } else { c };
    a.len() == b.len() && a.bytes().map(fold).eq(b.bytes().map(fold))
}

/// Rewrites every map key in `value` with underscores, at any depth.
///
/// Where both spellings of one name are present, the underscore spelling wins.
pub fn snake_keys(value: Value) -> Value {
    rename(value, &snake)
}

/// Rewrites every map key in `value` with hyphens, at any depth: the form a model reads.
///
/// Where both spellings of one name are present, the hyphen spelling wins.
pub fn kebab_keys(value: Value) -> Value {
    rename(value, &kebab)
}

/// Walks with an explicit stack, so the depth of the value does not matter.
fn rename(mut value: Value, spell: &dyn Fn(&str) -> String) -> Value {
    let mut pending = vec![&mut value];
    while let Some(next) = pending.pop() {
        match next {
            Value::Array(items) => pending.extend(items.iter_mut()),
            Value::Object(map) => {
                if map.keys().any(|key| spell(key) != *key) {
                    *map = respell(std::mem::take(map), spell);
                }
                pending.extend(map.values_mut());
            }
            _ => {}
        }
    }
    value
}

fn respell(map: Map<String, Value>, spell: &dyn Fn(&str) -> String) -> Map<String, Value> {
    let mut out: Map<String, Value> = Map::with_capacity(map.len());
    for (key, value) in map {
        let name = spell(&key);
        if name == key || !out.contains_key(&name) {
            out.insert(name, value);
        }
    }
    out
}

/// The value of field `name` in a map, under any spelling of its key.
///
/// The name as given is preferred, then the underscore spelling, then any other.
pub fn lookup<'v, V: Shape>(map: &'v V, name: &str) -> Option<&'v V> {
    if let Some(found) = map.field(name) {
        return Some(found);
    }
    if !name.contains(['-', '_']) {
        return None;
    }
    let spellings = map.fields()?.filter(|(key, _)| same(key, name));
    spellings.min_by_key(|(key, _)| key.contains('-')).map(|(_, value)| value)
}
