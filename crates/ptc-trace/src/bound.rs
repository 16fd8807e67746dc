//! The bounds of events: no text, list or event in a trace is longer than these say, whatever a program made.

use serde_json::{Map, Value as Json, json};

use crate::payload::cut;
use crate::record::Record;

/// How much an event may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of a text; a longer one becomes a preview with its size.
    pub text_bytes: usize,
    /// Items of a list or map; a longer one becomes its count.
    pub items: usize,
    /// Bytes of a whole line; a longer one becomes `trace.event_omitted`.
    pub event_bytes: usize,
    /// Levels of nesting; what is deeper becomes text.
    pub depth: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds { text_bytes: 65_536, items: 100, event_bytes: 1 << 20, depth: 32 }
    }
}

/// Characters that are left of a text that is too long.
const LEFT_CHARS: usize = 200;

impl Bounds {
    /// Cuts what is too long in the data of an event.
    pub(crate) fn cut(&self, data: &mut Map<String, Json>) {
        for (name, value) in data.iter_mut() {
            if name == "prints" || name == "tool_names" || name == "context" {
                self.list(value);
            }
            self.value(value, self.depth);
        }
    }

    /// Lists that are read line by line keep their beginning instead of their count.
    fn list(&self, value: &mut Json) {
        let Json::Array(items) = value else { return };
        if items.len() > self.items {
            let more = items.len() - self.items + 1;
            items.truncate(self.items.saturating_sub(1));
            items.push(json!(format!("… {more} more")));
        }
    }

    fn value(&self, value: &mut Json, levels: usize) {
        match value {
            Json::String(text) if text.len() > self.text_bytes => {
                *text = format!("{} ({} bytes in all)", cut(text, LEFT_CHARS), text.len());
            }
            Json::Array(items) if items.len() > self.items => {
                *value = json!(format!("List({} items)", items.len()));
            }
            Json::Object(fields) if fields.len() > self.items => {
                *value = json!(format!("Map({} keys)", fields.len()));
            }
            Json::Array(_) if levels == 0 => *value = json!("List(…)"),
            Json::Object(_) if levels == 0 => *value = json!("Map(…)"),
            Json::Array(items) => items.iter_mut().for_each(|item| self.value(item, levels - 1)),
            Json::Object(fields) => fields.values_mut().for_each(|field| self.value(field, levels - 1)),
            _ => {}
        }
    }

    /// The line of a record, or of what stands for one that is too long.
    pub(crate) fn line(&self, record: &Record) -> String {
        let line = serde_json::to_string(record).unwrap_or_default();
        if line.len() <= self.event_bytes {
            return line;
        }
        let mut short = Record {
            seq: record.seq,
            span_id: record.span_id.clone(),
            parent_span_id: record.parent_span_id.clone(),
            turn: record.turn,
            status: record.status.clone(),
            ..Record::new("trace.event_omitted", record.trace_id.clone(), record.timestamp)
        };
        short.data.insert("event".into(), json!(cut(&record.event, LEFT_CHARS)));
        short.data.insert("bytes".into(), json!(line.len()));
        serde_json::to_string(&short).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r12_2_4_long_texts_lists_and_events_are_cut() {
        let bounds = Bounds { event_bytes: 2_000, ..Bounds::default() };
        let mut record = Record::new("turn.stop", "t", 0);
        record.data.insert("long".into(), json!("é".repeat(40_000)));
        record.data.insert("list".into(), json!(vec![1; 101]));
        record.data.insert("prints".into(), json!(vec!["line"; 150]));
        record.data.insert("fits".into(), json!(vec![1; 100]));
        let deep = (0..60).fold(json!(1), |value, _| json!([value]));
        record.data.insert("deep".into(), deep);
        bounds.cut(&mut record.data);
        assert_eq!(record.data["long"].as_str().unwrap().chars().filter(|c| *c == 'é').count(), 200);
        assert!(record.data["long"].as_str().unwrap().ends_with("(80000 bytes in all)"));
        assert_eq!(record.data["list"], "List(101 items)");
        assert_eq!(record.data["prints"].as_array().unwrap().len(), 100);
        assert_eq!(record.data["fits"].as_array().unwrap().len(), 100);
        assert!(record.data["deep"].to_string().contains("List(…)"));
        assert!(bounds.line(&record).contains("\"turn.stop\""));
        record.data.insert("more".into(), json!("x".repeat(3_000)));
        let line: Json = serde_json::from_str(&bounds.line(&record)).unwrap();
        assert_eq!(
            (&line["event"], &line["data"]["event"]),
            (&json!("trace.event_omitted"), &json!("turn.stop"))
        );
    }
}
