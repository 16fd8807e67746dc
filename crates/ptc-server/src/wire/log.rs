//! Log lines: one JSON object per line on stderr, secrets removed last. Names and errors of upstreams stand in them, so
//! whatever a terminal would obey is escaped, as JSON may write any character.

use std::io::Write;
use std::sync::Arc;

use serde_json::{Map, Value as Json};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use super::identity::{BUILD, random};
use crate::events;
use crate::options::LogLevel;

type Redact = dyn Fn(&str) -> String + Send + Sync;

/// Writes log lines. Cloned freely.
#[derive(Clone)]
pub struct Log {
    level: LogLevel,
    redact: Arc<Redact>,
    boot: Arc<str>,
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Log({:?})", self.level)
    }
}

impl Log {
    /// Lines from `level` on; `redact` takes secrets out of a finished line.
    pub fn new(level: LogLevel, redact: impl Fn(&str) -> String + Send + Sync + 'static) -> Log {
        let time = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
        let tail: String = random::<9>().chars().filter(char::is_ascii_alphanumeric).collect();
        Log { level, redact: Arc::new(redact), boot: format!("{time}-{tail}").into() }
    }

    /// What marks the lines of this process.
    pub fn boot_id(&self) -> &str {
        &self.boot
    }

    /// A line about the life of the process, with its id.
    pub fn lifecycle(&self, event: &str, fields: Json) {
        let mut all = Map::new();
        all.insert("boot_id".to_owned(), self.boot.as_ref().into());
        all.insert("os_pid".to_owned(), std::process::id().into());
        all.insert("version".to_owned(), BUILD.version.as_str().into());
        if let Json::Object(fields) = fields {
            all.extend(fields);
        }
        self.write(LogLevel::Info, event, None, Json::Object(all));
    }

    /// A line about something that looks like a mistake.
    pub fn warn(&self, event: &str, message: &str) {
        self.write(LogLevel::Warn, event, None, serde_json::json!({"message": message}));
    }

    /// Writes what the engine, which knows no log, has to tell operators. For the process that serves, once.
    pub fn listen(&self) {
        // Whoever set another one listens already.
        let _ = tracing::subscriber::set_global_default(LogSubscriber(self.clone()));
    }

    /// Writes a line, if its level is to be written.
    pub fn write(&self, level: LogLevel, event: &str, request_id: Option<&str>, fields: Json) {
        debug_assert!(declared(event, &fields), "not declared: {event} {fields}");
        if level < self.level && !events::named(event).is_some_and(|event| event.always) {
            return;
        }
        let ts = jiff::Timestamp::now().to_string();
        let request_id = request_id.map(|id| short(id, &*self.redact));
        let line = LogLine { ts, level: level.name(), event, request_id: request_id.as_deref(), fields };
        let text = line.text(&*self.redact);
        // In one piece, since stderr has no buffer. Nobody is left to tell if it is gone.
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }
}

/// Whether a line is one of those that are listed, with no other fields.
fn declared(event: &str, fields: &Json) -> bool {
    let names = || fields.as_object().into_iter().flat_map(Map::keys);
    events::named(event).is_some_and(|event| names().all(|name| event.has(name)))
}

/// So many characters of a client's id for its request are written.
const ID: usize = 64;

/// The beginning of a request's id. Secrets go before anything is cut, since half of one would not be known.
fn short(id: &str, redact: &Redact) -> String {
    let covered = redact(id);
    match covered.char_indices().nth(ID) {
        Some((end, _)) => format!("{}…", &covered[..end]),
        None => covered,
    }
}

/// A line as it is written.
#[derive(serde::Serialize)]
struct LogLine<'l> {
    ts: String,
    level: &'static str,
    event: &'l str,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'l str>,
    #[serde(skip_serializing_if = "is_empty")]
    fields: Json,
}

impl LogLine<'_> {
    fn text(&self, redact: &Redact) -> String {
        // A line is made of names and texts only, so there is nothing that could go wrong.
        let text = redact(&serde_json::to_string(self).unwrap_or_default());
        format!("{}\n", ptc_host::visible(&text))
    }
}

fn is_empty(fields: &Json) -> bool {
    fields.as_object().is_none_or(Map::is_empty)
}

/// Whose events are log lines, and what they are called there; of spans and of other crates nothing.
const TOLD: &[(&str, &str)] = &[(env!("CARGO_CRATE_NAME"), "engine"), ("ptc_upstream", "upstream")];

fn told(metadata: &Metadata<'_>) -> Option<&'static str> {
    if let Some(event) = metadata.target().strip_prefix(events::TARGET).and_then(events::named) {
        return Some(event.name);
    }
    TOLD.iter().find(|(of, _)| metadata.target().starts_with(of)).map(|(_, event)| *event)
}

/// Events as log lines.
struct LogSubscriber(Log);

impl Subscriber for LogSubscriber {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && told(metadata).is_some()
    }

    fn event(&self, event: &Event<'_>) {
        let level = match *event.metadata().level() {
            Level::ERROR => LogLevel::Error,
            Level::WARN => LogLevel::Warn,
            Level::INFO => LogLevel::Info,
            _ => LogLevel::Debug,
        };
        let mut fields = EventFields(Map::new());
        event.record(&mut fields);
        self.0.write(level, told(event.metadata()).unwrap_or_default(), None, Json::Object(fields.0));
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// The fields of an event by name.
struct EventFields(Map<String, Json>);

impl Visit for EventFields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_requests_are_cut_behind_their_secrets() {
        let redact = |text: &str| text.replace("secret-secret", "[REDACTED]");
        for (id, expected) in [
            ("7".to_owned(), "7".to_owned()),
            ("é".repeat(64), "é".repeat(64)),
            ("y".repeat(7 << 20), format!("{}…", "y".repeat(64))),
            (format!("{}secret-secret", "y".repeat(60)), format!("{}[RED…", "y".repeat(60))),
        ] {
            assert_eq!(short(&id, &redact), expected);
        }
    }

    #[test]
    fn nothing_in_a_line_does_something_to_a_terminal_and_it_reads_back() {
        let fields = serde_json::json!({"name": "\u{1b}]0;x\u{7}\u{9b}2J\u{7f}\u{202e}\r\n\u{e0041} ä"});
        let line = LogLine { ts: String::new(), level: "warn", event: "\u{9d}", request_id: None, fields };
        let text = line.text(&|line| line.to_owned());
        let (line_of_text, end) = text.split_at(text.len() - 1);
        assert_eq!(end, "\n");
        assert!(line_of_text.chars().all(|c| c == 'ä' || (' '..='~').contains(&c)), "{text:?}");
        let read: Json = serde_json::from_str(&text).expect("JSON");
        assert_eq!((&read["fields"], &read["event"]), (&line.fields, &Json::from("\u{9d}")));
    }
}
