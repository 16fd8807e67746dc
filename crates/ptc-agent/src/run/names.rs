//! Names of fields in answers. Programs write `:order-count`, hosts read `order_count`; keys that are data stay as they
//! are, whatever they hold.

use std::collections::BTreeSet;

use ptc_lisp::Error;
use ptc_signature::{Type, keys};
use serde_json::{Map, Value as Json};

use super::node::Node;
use crate::model::Role;

/// The value of the last program with underscores in the keywords that programs of the run wrote as keys. Keywords that
/// only data brought along, and texts, are data.
pub(super) fn answer(node: &Node) -> Result<Json, Error> {
    let Some(machine) = node.sandbox.machine.as_deref() else { return Ok(Json::Null) };
    let written = written(node);
    let spell = |name: &str| (name.contains('-') && written.contains(name)).then(|| keys::snake(name));
    machine.try_value_json_spelt(&spell)
}

/// The same for a value of an earlier turn, of which only the JSON is left.
pub(super) fn respelt(node: &Node, value: Json) -> Json {
    let written = written(node);
    let mut value = value;
    let mut open = vec![&mut value];
    while let Some(next) = open.pop() {
        match next {
            Json::Array(items) => open.extend(items),
            Json::Object(fields) => {
                let spelt = |key: String| if written.contains(&key) { keys::snake(&key) } else { key };
                *fields =
                    std::mem::take(fields).into_iter().map(|(key, value)| (spelt(key), value)).collect();
                open.extend(fields.values_mut());
            }
            _ => {}
        }
    }
    value
}

/// The keywords in all programs that the values of a run can come from.
fn written(node: &Node) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut note = |text: &str| {
        let parts = text.split(|c: char| c.is_whitespace() || "()[]{}\",;'`".contains(c));
        found.extend(
            parts
                .filter_map(|part| part.strip_prefix(':'))
                .filter(|name| name.contains('-'))
                .map(str::to_owned),
        );
    };
    for message in node.messages.iter().filter(|message| message.role == Role::Assistant) {
        note(&message.content);
        let programs = message.tool_calls.iter().filter_map(|call| call.args.get("program")?.as_str());
        programs.for_each(&mut note);
    }
    [&node.program, &node.book.draft.program].into_iter().flatten().for_each(|program| note(program));
    let preludes = node.agent.options().prelude.iter();
    preludes.for_each(|prelude| prelude.sources().iter().for_each(|source| note(source.text)));
    found
}

/// A value with its fields named as the type names them. Two fields that are one by that are an error that names both.
pub(crate) fn fields(value: Json, ty: &Type) -> Result<Json, String> {
    match (ty, value) {
        (Type::Optional(inner), value) => fields(value, inner),
        (Type::List(item), Json::Array(items)) => items.into_iter().map(|each| fields(each, item)).collect(),
        (Type::MapOf(map), Json::Object(entries)) => {
            let entries = entries.into_iter().map(|(key, value)| Ok((key, fields(value, &map.value)?)));
            entries.collect::<Result<Map<_, _>, String>>().map(Json::Object)
        }
        (Type::Record(record), Json::Object(entries)) => {
            let mut named: Vec<(String, String, Json)> = Vec::new();
            for (key, value) in entries {
                let field = record.fields.iter().find(|field| keys::same(&field.name, &key));
                let (name, value) = match field {
                    Some(field) => (field.name.clone(), fields(value, &field.ty)?),
                    None => (key.clone(), value),
                };
                if let Some((_, other, _)) = named.iter().find(|(known, ..)| *known == name) {
                    return Err(format!(
                        "`{other}` and `{key}` are both the field `{name}`; return one of them"
                    ));
                }
                named.push((name, key, value));
            }
            Ok(Json::Object(named.into_iter().map(|(name, _, value)| (name, value)).collect()))
        }
        (_, value) => Ok(value),
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
