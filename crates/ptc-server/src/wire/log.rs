//! Log lines: one JSON object per line on stderr, secrets removed last.

use std::io::Write;
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::identity::{BUILD, random};
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

    /// Writes a line, if its level is to be written.
    pub fn write(&self, level: LogLevel, event: &str, request_id: Option<&str>, fields: Json) {
        if level < self.level {
            return;
        }
        let mut line = Map::new();
        line.insert("ts".to_owned(), jiff::Timestamp::now().to_string().into());
        line.insert("level".to_owned(), level.name().into());
        line.insert("event".to_owned(), event.into());
        if let Some(id) = request_id {
            line.insert("request_id".to_owned(), id.into());
        }
        if fields.as_object().is_some_and(|fields| !fields.is_empty()) {
            line.insert("fields".to_owned(), fields);
        }
        let text = (self.redact)(&Json::Object(line).to_string());
        // Nobody is left to tell if stderr is gone.
        let _ = writeln!(std::io::stderr().lock(), "{text}");
    }
}
