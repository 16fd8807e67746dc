//! Blocks of the content of an answer as programs get them: texts, and maps for whatever else a server sends, so that nothing
//! that it says is lost. Images, sounds and other bytes are told by their kind and size; programs could do nothing with them.

use serde_json::{Map, Value as Json, json};

use crate::model::Block;

/// The fields of a link that programs get, by the names that they have there and here.
const LINK: &[(&str, &str)] = &[
    ("uri", "uri"),
    ("name", "name"),
    ("title", "title"),
    ("description", "description"),
    ("mimeType", "mime_type"),
    ("size", "size"),
];

/// Reads a block; a text without a text says nothing. What is of no kind that is known stays as it came.
pub fn block(block: Json) -> Option<Block> {
    let Json::Object(mut fields) = block else { return Some(Block::Data(block)) };
    let kind = fields.get("type").and_then(Json::as_str).unwrap_or_default().to_owned();
    Some(match kind.as_str() {
        "text" => match fields.shift_remove("text") {
            Some(Json::String(text)) => Block::Text(text),
            _ => return None,
        },
        "image" | "audio" => Block::Data(bytes(&kind, &fields, "data")),
        "resource_link" => Block::Data(named(&mut fields, LINK).into()),
        "resource" => match fields.shift_remove("resource") {
            Some(Json::Object(mut inside)) => Block::Data(match inside.contains_key("blob") {
                true => bytes("blob", &inside, "blob"),
                false => {
                    named(&mut inside, &[("uri", "uri"), ("mimeType", "mime_type"), ("text", "text")]).into()
                }
            }),
            _ => Block::Data(fields.into()),
        },
        _ => Block::Data(fields.into()),
    })
}

/// The fields that are there, by the names of programs.
fn named(fields: &mut Map<String, Json>, names: &[(&str, &str)]) -> Map<String, Json> {
    let there = |(from, to): &(&str, &str)| {
        let value = fields.shift_remove(*from).filter(|value| !value.is_null())?;
        Some(((*to).to_owned(), value))
    };
    names.iter().filter_map(there).collect()
}

/// That there are bytes, and how many, in place of them.
fn bytes(kind: &str, fields: &Map<String, Json>, data: &str) -> Json {
    let mut told = Map::from_iter([("type".to_owned(), json!(kind))]);
    for (from, to) in [("uri", "uri"), ("mimeType", "mime_type")] {
        told.extend(fields.get(from).map(|value| (to.to_owned(), value.clone())));
    }
    let count = fields.get(data).and_then(Json::as_str).map_or(0, decoded);
    told.insert("bytes".to_owned(), json!(count));
    told.into()
}

/// How many bytes a text in base64 stands for.
fn decoded(text: &str) -> usize {
    let digits = text.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=').count();
    digits * 3 / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_block_is_told() {
        let data = |value: Json| Some(Block::Data(value));
        for (given, expected) in [
            (json!({"type": "text", "text": "a", "_meta": {}}), Some(Block::Text("a".to_owned()))),
            (json!({"type": "text"}), None),
            (
                json!({"type": "resource", "resource": {"uri": "demo://1", "mimeType": "text/plain", "text": "body"}}),
                data(json!({"uri": "demo://1", "mime_type": "text/plain", "text": "body"})),
            ),
            (
                json!({"type": "resource", "resource": {"uri": "demo://2", "mimeType": "image/png", "blob": "AAECAw=="}}),
                data(json!({"type": "blob", "uri": "demo://2", "mime_type": "image/png", "bytes": 4})),
            ),
            (
                json!({"type": "resource_link", "uri": "file:///a", "name": "a", "title": "A", "description": "d",
                       "mimeType": "text/plain", "size": 7, "annotations": {}}),
                data(json!({"uri": "file:///a", "name": "a", "title": "A", "description": "d",
                            "mime_type": "text/plain", "size": 7})),
            ),
            (
                json!({"type": "resource_link", "uri": "file:///a", "title": null}),
                data(json!({"uri": "file:///a"})),
            ),
            (
                json!({"type": "image", "mimeType": "image/png", "data": "AAECAwQ="}),
                data(json!({"type": "image", "mime_type": "image/png", "bytes": 5})),
            ),
            (
                json!({"type": "audio", "mimeType": "audio/wav", "data": ""}),
                data(json!({"type": "audio", "mime_type": "audio/wav", "bytes": 0})),
            ),
            (json!({"type": "new", "x": 1}), data(json!({"type": "new", "x": 1}))),
            (json!({"type": "resource"}), data(json!({"type": "resource"}))),
            (json!(7), data(json!(7))),
        ] {
            assert_eq!(block(given.clone()), expected, "{given}");
        }
    }
}
