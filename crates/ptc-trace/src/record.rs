//! The event model: one line of a trace, whoever wrote it. Agents, programs, calls of upstreams and sessions
//! all come down to spans that start and stop; what is common stands in named fields, the rest in `data`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

/// The version of the lines that this crate writes. Readers take any version and what they understand of it.
pub const SCHEMA_VERSION: u32 = 2;

/// One event of a trace, one line of a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    /// The version of the schema.
    pub schema_version: u32,
    /// The name, `tool.stop` for instance.
    pub event: String,
    /// The run, call or session that it belongs to: 32 hexadecimal digits.
    pub trace_id: String,
    /// When, in milliseconds since 1970.
    pub timestamp: u64,
    /// Its place in the trace, from 0.
    pub seq: u64,
    /// The span that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span_id: Option<String>,
    /// The span around that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_span_id: Option<String>,
    /// The agent's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_name: Option<String>,
    /// The agent's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The turn, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Tokens of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens of the reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Tokens of both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    /// Tokens written to the provider's cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_creation_tokens: Option<u64>,
    /// Tokens read from the provider's cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<u64>,
    /// The tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How it ended, `ok` or `error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Everything else.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub data: Map<String, Json>,
}

/// The phase of a span that an event tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It begins.
    Start,
    /// It ended well.
    Stop,
    /// It ended badly.
    Exception,
    /// Something happened in it.
    Point,
}

impl Record {
    /// An event with a name, now a line of the newest version.
    pub fn new(event: impl Into<String>, trace_id: impl Into<String>, timestamp: u64) -> Self {
        Record {
            schema_version: SCHEMA_VERSION,
            event: event.into(),
            trace_id: trace_id.into(),
            timestamp,
            ..Record::default()
        }
    }

    /// The head of the trace of an agent's run, from its first event.
    pub(crate) fn header(first: &Record) -> Record {
        let mut header = Record {
            agent_name: first.agent_name.clone(),
            agent_id: first.agent_id.clone(),
            ..Record::new("trace.start", first.trace_id.clone(), first.timestamp)
        };
        header.data.insert("trace_kind".into(), "agent_run".into());
        header.data.insert("producer".into(), "ptc_runner".into());
        header
    }

    /// Takes secrets out of its own texts: names may come from models and servers. What others find it by is ours.
    pub(crate) fn scrub(&mut self, scrub: &dyn Fn(&str) -> Option<String>) {
        let texts = [&mut self.agent_name, &mut self.tool_name, &mut self.model, &mut self.status];
        for text in texts.into_iter().flatten() {
            if let Some(clean) = scrub(text) {
                *text = clean;
            }
        }
    }

    /// What of its span it tells.
    pub fn phase(&self) -> Phase {
        match self.event.rsplit('.').next() {
            Some("start") => Phase::Start,
            Some("stop") => Phase::Stop,
            Some("exception") => Phase::Exception,
            _ => Phase::Point,
        }
    }

    /// What its span is of: `run`, `turn`, `llm`, `lisp.execute`, `tool`, …
    pub fn subject(&self) -> &str {
        match self.phase() {
            Phase::Point => &self.event,
            _ => self.event.rsplit_once('.').map_or("", |(subject, _)| subject),
        }
    }

    /// Takes what has a field of its own out of loose measurements or facts; the rest becomes data.
    pub fn absorb(&mut self, mut fields: Map<String, Json>) {
        fields.retain(|name, value| !self.takes(name, value));
        match self.data.is_empty() {
            true => self.data = fields,
            false => self.data.extend(fields),
        }
    }

    /// Takes a fact that has a field of its own, or says nothing; whether it did.
    fn takes(&mut self, name: &str, value: &mut Json) -> bool {
        let number = value.as_u64();
        let counted = match name {
            "duration" | "duration_ms" => Some(&mut self.duration_ms),
            "turn" => Some(&mut self.turn),
            "input_tokens" => Some(&mut self.input_tokens),
            "output_tokens" => Some(&mut self.output_tokens),
            "tokens" | "total_tokens" => Some(&mut self.total_tokens),
            "cache_creation_tokens" => Some(&mut self.cache_creation_tokens),
            "cache_read_tokens" => Some(&mut self.cache_read_tokens),
            _ => None,
        };
        let named = match name {
            "tool_name" => Some(&mut self.tool_name),
            "model" => Some(&mut self.model),
            "status" => Some(&mut self.status),
            _ => None,
        };
        match (counted, named, &mut *value) {
            (Some(field), _, Json::Number(_)) if number.is_some() => *field = number,
            (_, Some(field), Json::String(text)) => *field = Some(std::mem::take(text)),
            (_, _, Json::Null) => {}
            _ => return false,
        }
        true
    }
}

impl From<ptc_agent::Event> for Record {
    fn from(event: ptc_agent::Event) -> Self {
        let mut record = Record {
            span_id: Some(event.span_id),
            parent_span_id: event.parent_span_id,
            agent_name: event.agent_name,
            agent_id: Some(event.agent_id),
            ..Record::new(event.event, event.trace_id, event.timestamp)
        };
        record.absorb(event.measurements);
        record.absorb(event.metadata);
        if record.status.is_none() {
            record.status = match record.phase() {
                Phase::Stop => Some("ok".to_owned()),
                Phase::Exception => Some("error".to_owned()),
                Phase::Start | Phase::Point => None,
            };
        }
        if record.event == "turn.stop" && record.data.get("success") == Some(&Json::Bool(false)) {
            record.status = Some("error".to_owned());
        }
        record
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_in_the_own_texts_of_a_record_are_scrubbed() {
        let name = || Some("is private".to_owned());
        let mut record = Record {
            agent_name: name(),
            tool_name: name(),
            model: name(),
            status: name(),
            ..Record::new("tool.stop", "0123", 1)
        };
        record.scrub(&|text| text.contains("private").then(|| text.replace("private", "█")));
        for text in [record.agent_name, record.tool_name, record.model, record.status] {
            assert_eq!(text.as_deref(), Some("is █"));
        }
        assert_eq!(record.trace_id, "0123");
    }
}
