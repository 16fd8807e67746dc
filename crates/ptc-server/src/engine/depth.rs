//! How deep the JSON of answers nests. Clients read answers with decoders that stop at some level, and one that cannot read an
//! answer leaves whoever asked without any: so what nests deeper is not sent as JSON.

use serde_json::Value as Json;

/// Levels of lists and objects in a value that a structured answer holds.
pub const STRUCTURED_LEVELS: usize = 100;

/// Levels that answers of ours and the messages around them add at most; together they stay below the 128 at which the
/// strictest of the common decoders stops.
const LEVELS_AROUND: usize = 20;

/// Steps of a path that are shown.
const STEPS: usize = 8;

/// Why a value cannot stand in a structured answer, if it nests too deep; `root` is what its path begins with.
pub fn too_deep(value: &Json, root: &str) -> Option<String> {
    nests(value, STRUCTURED_LEVELS).then(|| {
        let at = path(value, root);
        format!(
            "nests deeper than the {STRUCTURED_LEVELS} levels that structured answers may have, at {at}; return it flatter, \
             or what is inside as text: (pr-str v)"
        )
    })
}

/// Puts the fields of an answer that nest too deep there as the text of their JSON, and their names under `as_text`.
pub fn flattened(mut object: Json) -> Json {
    let Json::Object(fields) = &mut object else { return object };
    let mut as_text = Vec::new();
    for (name, value) in fields.iter_mut() {
        if nests(value, STRUCTURED_LEVELS + LEVELS_AROUND / 2) {
            *value = value.to_string().into();
            as_text.push(name.clone());
        }
    }
    if !as_text.is_empty() {
        fields.insert("as_text".to_owned(), as_text.into());
    }
    object
}

/// Whether a value has more levels; looks no deeper than that.
fn nests(value: &Json, levels: usize) -> bool {
    let deeper = |inside: &Json| levels == 0 || nests(inside, levels - 1);
    match value {
        Json::Array(items) => levels == 0 || items.iter().any(deeper),
        Json::Object(fields) => levels == 0 || fields.values().any(deeper),
        _ => false,
    }
}

/// The first steps to what nests too deep.
fn path(value: &Json, root: &str) -> String {
    let (mut at, mut path) = (value, root.to_owned());
    for left in (STRUCTURED_LEVELS - STEPS..STRUCTURED_LEVELS).rev() {
        let next = match at {
            Json::Array(items) => items
                .iter()
                .enumerate()
                .find(|(_, item)| nests(item, left))
                .map(|(at, item)| (format!("[{at}]"), item)),
            Json::Object(fields) => fields
                .iter()
                .find(|(_, item)| nests(item, left))
                .map(|(name, item)| (format!(".{}", super::text::cut(name, 40)), item)),
            _ => None,
        };
        let Some((step, inside)) = next else { break };
        path.push_str(&step);
        at = inside;
    }
    path.push('…');
    path
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A value of so many levels.
    fn of(levels: usize) -> Json {
        (0..levels).fold(json!(1), |inside, _| json!({"a": [inside]}))
    }

    #[test]
    fn values_may_have_so_many_levels_and_no_more() {
        assert_eq!(too_deep(&of(STRUCTURED_LEVELS / 2), "return"), None);
        let told = too_deep(&json!([1, of(STRUCTURED_LEVELS / 2)]), "return").expect("a level more");
        assert!(told.contains("100 levels") && told.contains("at return[1].a[0].a[0].a[0].a…;"), "{told}");
    }

    #[test]
    fn messages_stay_below_what_decoders_read() {
        let most = of((STRUCTURED_LEVELS + LEVELS_AROUND / 2) / 2);
        let kept = flattened(json!({"one": most, "two": of(80), "three": 3}));
        assert_eq!((&kept["one"], &kept["as_text"]), (&most, &json!(["two"])));
        assert!(serde_json::from_str::<Json>(kept["two"].as_str().expect("text")).is_err());
        let message = json!({"jsonrpc": "2.0", "id": 1, "result": {"structuredContent": kept}}).to_string();
        assert!(serde_json::from_str::<Json>(&message).is_ok(), "the decoder here stops at 128");
    }
}
