//! Events of agents on their way to the thread that writes them: one after the other in one buffer.
//!
//! An event is some twenty small pieces of memory. Handed over as they are, each would be freed by another thread than
//! the one that made it, and the run would find none of them warm when it makes the next event; that cost runs about a
//! tenth of their time. Copied into one buffer, they stay where they are.

use ptc_agent::Event;
use serde_json::{Map, Number, Value as Json};

/// Events as bytes.
#[derive(Debug, Default)]
pub(crate) struct Packed {
    bytes: Vec<u8>,
}

const NULL: u8 = 0;
const FALSE: u8 = 1;
const TRUE: u8 = 2;
const NATURAL: u8 = 3;
const NEGATIVE: u8 = 4;
const FLOAT: u8 = 5;
const TEXT: u8 = 6;
const ARRAY: u8 = 7;
const OBJECT: u8 = 8;

impl Packed {
    /// Adds an event.
    pub fn push(&mut self, event: &Event) {
        self.bytes.extend_from_slice(&event.timestamp.to_le_bytes());
        for text in [&event.event, &event.trace_id, &event.span_id, &event.agent_id] {
            self.text(text);
        }
        for text in [&event.parent_span_id, &event.agent_name] {
            self.bytes.push(u8::from(text.is_some()));
            text.iter().for_each(|text| self.text(text));
        }
        self.object(&event.measurements);
        self.object(&event.metadata);
    }

    /// Adds all events of another, which is empty then.
    pub fn append(&mut self, other: &mut Packed) {
        self.bytes.append(&mut other.bytes);
    }

    /// How many bytes there are.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Forgets all events, and keeps the room that they had unless that was very much.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(1 << 20);
    }

    /// The events, in order.
    pub fn events(&self) -> PackedEvents<'_> {
        PackedEvents(&self.bytes)
    }

    fn size(&mut self, size: usize) {
        // What is longer than four gigabytes does not fit the queue either.
        self.bytes.extend_from_slice(&u32::try_from(size).unwrap_or(u32::MAX).to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.size(text.len());
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn object(&mut self, fields: &Map<String, Json>) {
        self.size(fields.len());
        for (name, value) in fields {
            self.text(name);
            self.value(value);
        }
    }

    fn value(&mut self, value: &Json) {
        match value {
            Json::Null => self.bytes.push(NULL),
            Json::Bool(false) => self.bytes.push(FALSE),
            Json::Bool(true) => self.bytes.push(TRUE),
            Json::Number(number) => self.number(number),
            Json::String(text) => {
                self.bytes.push(TEXT);
                self.text(text);
            }
            Json::Array(items) => {
                self.bytes.push(ARRAY);
                self.size(items.len());
                items.iter().for_each(|item| self.value(item));
            }
            Json::Object(fields) => {
                self.bytes.push(OBJECT);
                self.object(fields);
            }
        }
    }

    fn number(&mut self, number: &Number) {
        let (kind, bytes) = match (number.as_u64(), number.as_i64()) {
            (Some(natural), _) => (NATURAL, natural.to_le_bytes()),
            (None, Some(negative)) => (NEGATIVE, negative.to_le_bytes()),
            (None, None) => (FLOAT, number.as_f64().unwrap_or_default().to_le_bytes()),
        };
        self.bytes.push(kind);
        self.bytes.extend_from_slice(&bytes);
    }
}

/// Takes events out of a buffer again.
pub(crate) struct PackedEvents<'p>(&'p [u8]);

impl Iterator for PackedEvents<'_> {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let timestamp = u64::from_le_bytes(self.eight()?);
        let [event, trace_id, span_id, agent_id] = [self.text()?, self.text()?, self.text()?, self.text()?];
        let [parent_span_id, agent_name] = [self.perhaps()?, self.perhaps()?];
        let [measurements, metadata] = [self.object()?, self.object()?];
        Some(Event {
            event,
            trace_id,
            timestamp,
            span_id,
            parent_span_id,
            agent_name,
            agent_id,
            measurements,
            metadata,
        })
    }
}

/// Every reader gives nothing where bytes are missing, which only ends the buffer.
impl PackedEvents<'_> {
    fn take(&mut self, size: usize) -> Option<&[u8]> {
        let (taken, rest) = self.0.split_at_checked(size)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn eight(&mut self) -> Option<[u8; 8]> {
        self.take(8)?.try_into().ok()
    }

    fn size(&mut self) -> Option<usize> {
        usize::try_from(u32::from_le_bytes(self.take(4)?.try_into().ok()?)).ok()
    }

    fn text(&mut self) -> Option<String> {
        let size = self.size()?;
        Some(String::from_utf8_lossy(self.take(size)?).into_owned())
    }

    fn perhaps(&mut self) -> Option<Option<String>> {
        match self.byte()? {
            0 => Some(None),
            _ => self.text().map(Some),
        }
    }

    fn object(&mut self) -> Option<Map<String, Json>> {
        let size = self.size()?;
        (0..size).map(|_| Some((self.text()?, self.value()?))).collect()
    }

    fn value(&mut self) -> Option<Json> {
        Some(match self.byte()? {
            NULL => Json::Null,
            FALSE => Json::Bool(false),
            TRUE => Json::Bool(true),
            NATURAL => u64::from_le_bytes(self.eight()?).into(),
            NEGATIVE => i64::from_le_bytes(self.eight()?).into(),
            FLOAT => f64::from_le_bytes(self.eight()?).into(),
            TEXT => Json::String(self.text()?),
            ARRAY => {
                let size = self.size()?;
                Json::Array((0..size).map(|_| self.value()).collect::<Option<_>>()?)
            }
            OBJECT => Json::Object(self.object()?),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(name: &str, parent: Option<&str>, metadata: Json) -> Event {
        let Json::Object(metadata) = metadata else { panic!("an object") };
        let mut measurements = Map::new();
        measurements.insert("duration".into(), json!(7));
        Event {
            event: name.into(),
            trace_id: "t".repeat(32),
            timestamp: u64::MAX,
            span_id: "ä".into(),
            parent_span_id: parent.map(str::to_owned),
            agent_name: None,
            agent_id: String::new(),
            measurements,
            metadata,
        }
    }

    #[test]
    fn events_come_out_as_they_went_in() {
        let all = json!({"null": null, "yes": true, "no": false, "n": [0, u64::MAX, -1, i64::MIN, 1.5, -0.0, 1e300],
            "text": "a\u{0}ö", "": {"deep": [[], {}, [{"x": [1]}]]}});
        let events = [event("run.start", None, all), event("", Some("p"), json!({}))];
        let (mut packed, mut other) = (Packed::default(), Packed::default());
        packed.push(&events[0]);
        other.push(&events[1]);
        packed.append(&mut other);
        assert_eq!(packed.events().collect::<Vec<_>>(), events);
        assert_eq!((other.len(), other.events().count()), (0, 0));
    }

    #[test]
    fn bytes_that_end_too_early_end_the_events() {
        let mut packed = Packed::default();
        packed.push(&event("a", Some("b"), json!({"x": [1, "two", {"three": 3}]})));
        for end in 0..packed.len() {
            let cut = Packed { bytes: packed.bytes[..end].to_vec() };
            assert_eq!(cut.events().count(), 0, "{end}");
        }
    }
}
