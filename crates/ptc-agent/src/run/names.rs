//! Names of fields in answers and arguments. Programs write `:order-count`, hosts read `order_count`. A key gets underscores
//! where a program wrote it as a keyword into a map, which the machine knows, or where a signature declares the field;
//! all others are data and stay as they are. Two keys that become one are an error that names both.

use ptc_lisp::Error;
use ptc_signature::{Record, Type};
use serde_json::{Map, Value as Json};

use super::node::Node;

/// The value of the last program with underscores in the keywords that programs wrote as keys.
pub(super) fn answer(node: &Node) -> Result<Json, Error> {
    match node.sandbox.machine.as_deref() {
        Some(machine) => machine.try_value_json_spelt(),
        None => Ok(Json::Null),
    }
}

/// The same for a value of an earlier turn, of which only the JSON is left.
pub(super) fn respelt(node: &Node, mut value: Json) -> Result<Json, String> {
    let Some(machine) = node.sandbox.machine.as_deref() else { return Ok(value) };
    let mut open = vec![&mut value];
    while let Some(next) = open.pop() {
        match next {
            Json::Array(items) => open.extend(items),
            Json::Object(fields) => {
                let mut spelt = Spelt::default();
                for (key, value) in std::mem::take(fields) {
                    let name = machine.spelt_key(&key).into_owned();
                    spelt.add(name, key, value)?;
                }
                *fields = spelt.fields;
                open.extend(fields.values_mut());
            }
            _ => {}
        }
    }
    Ok(value)
}

/// A value with its fields named as the type names them.
pub(crate) fn fields(value: Json, ty: &Type) -> Result<Json, String> {
    match (ty, value) {
        (Type::Optional(inner), value) => fields(value, inner),
        (Type::Union(members), value) => members.iter().try_fold(value, fields),
        (Type::List(item), Json::Array(items)) => items.into_iter().map(|each| fields(each, item)).collect(),
        (Type::MapOf(map), Json::Object(entries)) => {
            let entries = entries.into_iter().map(|(key, value)| Ok((key, fields(value, &map.value)?)));
            entries.collect::<Result<Map<_, _>, String>>().map(Json::Object)
        }
        (Type::Record(record), value) => record_fields(value, record),
        (_, value) => Ok(value),
    }
}

/// The same for a map, or for the arguments of a call.
pub(crate) fn record_fields(value: Json, record: &Record) -> Result<Json, String> {
    let Json::Object(entries) = value else { return Ok(value) };
    let mut spelt = Spelt::default();
    for (key, value) in entries {
        match record.field(&key) {
            Some(field) => spelt.add(field.name.clone(), key, fields(value, &field.ty)?)?,
            None => spelt.add(key.clone(), key, value)?,
        }
    }
    Ok(Json::Object(spelt.fields))
}

/// Entries of a map under other names.
#[derive(Default)]
struct Spelt {
    fields: Map<String, Json>,
    /// The keys that had another name.
    before: Vec<(String, String)>,
}

impl Spelt {
    /// Adds the entry that had this key.
    fn add(&mut self, name: String, key: String, value: Json) -> Result<(), String> {
        if self.fields.contains_key(&name) {
            let other = self.before.iter().find(|(known, _)| *known == name).map_or(&name, |(_, key)| key);
            return Err(format!("`{other}` and `{key}` are both the field `{name}`; keep one of them"));
        }
        if name != key {
            self.before.push((name.clone(), key));
        }
        self.fields.insert(name, value);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_get_the_names_of_the_type_and_other_keys_stay() {
        let ty =
            Type::parse("{order_count :int, rows [{unit_price :float}], by :map, at-once :bool?}").unwrap();
        let value = json!({"order-count": 1, "rows": [{"unit-price": 2.5, "x-y": 1}], "by": {"web-1": 4}, "at_once": true});
        let named = fields(value, &ty).unwrap();
        let expected = json!({"order_count": 1, "rows": [{"unit_price": 2.5, "x-y": 1}], "by": {"web-1": 4}, "at-once": true});
        assert_eq!(named, expected);
        let both = fields(json!({"order-count": 1, "order_count": 2}), &ty).unwrap_err();
        assert!(both.contains("`order-count`") && both.contains("`order_count`"), "{both}");
    }
}
