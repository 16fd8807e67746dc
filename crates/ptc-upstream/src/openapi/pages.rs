//! How the results of an operation go on: hints that `doc` shows, taken from the names of parameters and fields
//! or from the document's own `x-ptc-pagination`.

use serde_json::{Value as Json, json};

use super::compile::{Param, Place};

/// Parameters that take a mark from the result before.
const CURSORS: [&str; 8] = [
    "cursor",
    "page_token",
    "pagetoken",
    "next_token",
    "continuation_token",
    "after",
    "starting_after",
    "start_cursor",
];
/// Parameters that count pages or items.
const COUNTERS: [&str; 5] = ["page", "page_number", "offset", "skip", "start"];
/// Parameters that say how much comes at once.
const SIZES: [&str; 6] = ["limit", "per_page", "page_size", "pagesize", "max_results", "count"];
/// Fields that carry the mark for the next page.
const NEXT: [&str; 8] = [
    "next_cursor",
    "nextcursor",
    "next_page_token",
    "nextpagetoken",
    "next_token",
    "nexttoken",
    "end_cursor",
    "next",
];

/// The hint of an operation, if there is one.
pub fn pagination(operation: &Json, params: &[Param], output: &Json) -> Option<Json> {
    if let Some(hint @ Json::Object(_)) = operation.get("x-ptc-pagination") {
        return Some(hint.clone());
    }
    let plain = |name: &str| name.to_ascii_lowercase().replace('-', "_");
    let find = |known: &[&str]| {
        let query = params.iter().filter(|param| param.place == Place::Query);
        let known_name = |param: &&Param| known.contains(&plain(&param.name).as_str());
        query.clone().find(known_name).map(|param| param.name.as_str())
    };
    let fields = output.get("properties").and_then(Json::as_object);
    let next = fields.and_then(|fields| fields.keys().find(|name| NEXT.contains(&plain(name).as_str())));
    let mut hint = match (find(&CURSORS), find(&COUNTERS)) {
        (Some(arg), _) => json!({"style": "cursor", "arg": arg}),
        (None, Some(arg)) => json!({"style": "counter", "arg": arg}),
        (None, None) => return None,
    };
    if let (Some(next), "cursor") = (next, hint["style"].as_str().unwrap_or_default()) {
        hint["next"] = next.as_str().into();
    }
    if let Some(size) = find(&SIZES) {
        hint["size"] = size.into();
    }
    Some(hint)
}
