//! Traces as the page gets them: bounded, with long texts cut and fetched when somebody looks.

use ptc_trace::{Node, ReadBounds, Trace, Tree};
use serde::Serialize;
use serde_json::{Map, Value as Json, json};

/// How much of a file the page shows.
pub const BOUNDS: ReadBounds = ReadBounds { bytes: 64 << 20, line_bytes: 4 << 20, events: 50_000 };
/// Texts that are longer come on demand.
const TEXT_BYTES: usize = 4_096;
/// Items of a list that come at once.
const ITEMS: usize = 200;
/// Levels of a value that come at once.
const LEVELS: usize = 16;

/// A trace for the page.
#[derive(Debug, Serialize)]
pub struct Shown {
    /// The name of its file.
    pub file: String,
    /// Sums, spans and loose events.
    #[serde(flatten)]
    pub tree: Tree,
    /// Lines that were not understood.
    pub bad_lines: usize,
    /// The last line has no end.
    pub torn: bool,
    /// There is more in the file.
    pub cut: bool,
}

impl Shown {
    /// A trace, cut to what the page can show.
    pub fn new(file: &str, trace: &Trace) -> Self {
        let mut tree = Tree::of(trace);
        tree.nodes.iter_mut().for_each(cut_node);
        tree.loose.truncate(ITEMS);
        tree.loose.iter_mut().for_each(|record| cut_fields(&mut record.data));
        cut(&mut tree.summary.mission, LEVELS);
        Shown { file: file.to_owned(), tree, bad_lines: trace.bad_lines, torn: trace.torn, cut: trace.cut }
    }
}

/// Cuts what is long in a span.
pub fn cut_node(node: &mut Node) {
    cut_fields(&mut node.data);
}

fn cut_fields(fields: &mut Map<String, Json>) {
    fields.values_mut().for_each(|value| cut(value, LEVELS));
}

/// Long texts and lists become `{"$cut": …}` with their beginning and size.
fn cut(value: &mut Json, levels: usize) {
    match value {
        Json::String(text) if text.len() > TEXT_BYTES => {
            let end = text.floor_char_boundary(TEXT_BYTES);
            *value = json!({"$cut": "text", "beginning": text[..end], "size": text.len()});
        }
        Json::Array(_) | Json::Object(_) if levels == 0 => {
            *value = json!({"$cut": "deep", "beginning": "…", "size": 0});
        }
        Json::Array(items) => {
            let size = items.len();
            items.truncate(ITEMS);
            items.iter_mut().for_each(|item| cut(item, levels - 1));
            if size > ITEMS {
                *value = json!({"$cut": "list", "beginning": items.clone(), "size": size});
            }
        }
        Json::Object(fields) => {
            let size = fields.len();
            if size > ITEMS {
                let kept = std::mem::take(fields).into_iter().take(ITEMS).collect();
                *fields = kept;
            }
            fields.values_mut().for_each(|field| cut(field, levels - 1));
            if size > ITEMS {
                *value = json!({"$cut": "map", "beginning": fields.clone(), "size": size});
            }
        }
        Json::String(_) | Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_come_with_their_beginning_and_size() {
        let mut value = json!({
            "short": "a", "long": "é".repeat(5_000), "list": vec![1; 500],
            "deep": (0..40).fold(json!(1), |value, _| json!([value])),
        });
        cut(&mut value, LEVELS);
        assert_eq!(value["short"], "a");
        assert_eq!((&value["long"]["$cut"], &value["long"]["size"]), (&json!("text"), &json!(10_000)));
        assert_eq!(value["long"]["beginning"].as_str().map(str::len), Some(TEXT_BYTES));
        assert_eq!(value["list"]["beginning"].as_array().map(Vec::len), Some(ITEMS));
        assert!(value["deep"].to_string().contains("$cut"));
    }
}
