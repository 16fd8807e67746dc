//! A model that reads its replies from a list.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use ptc_agent::model::{Model, ModelError, ModelErrorKind, Pending, Reply, Request, TextSink};
use serde::Deserialize;
use serde_json::Value as Json;

/// A line of a script.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    /// The line is only for requests whose messages contain this.
    #[serde(default)]
    when: Option<String>,
    /// Text in place of a reply.
    #[serde(default)]
    text: Option<String>,
    /// A program in place of a reply: it comes in a fence.
    #[serde(default)]
    program: Option<String>,
    /// The whole reply.
    #[serde(default)]
    reply: Option<Reply>,
    /// A failure in place of a reply.
    #[serde(default)]
    error: Option<ModelError>,
    /// Whether the line answers more than once.
    #[serde(default)]
    repeat: bool,
}

impl Line {
    fn outcome(&self) -> Result<Reply, ModelError> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        let fenced =
            || self.program.as_ref().map(|program| Reply::text(format!("```clojure\n{program}\n```")));
        let text = || self.text.as_ref().map(|text| Reply::text(text.clone()));
        self.reply
            .clone()
            .or_else(fenced)
            .or_else(text)
            .ok_or_else(|| "this line of the script says nothing".into())
    }

    fn fits(&self, request: &Request) -> bool {
        let found = |wanted: &String| request.messages.iter().any(|message| message.content.contains(wanted));
        self.when.as_ref().is_none_or(found)
    }
}

/// Why a script cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("cannot read the script {path}: {source}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A line is no reply.
    #[error(
        "{path}:{line}: {message}; a line is a string, or an object with one of text, program, reply, error, \
         and with when or repeat if it is for some requests only"
    )]
    BadLine {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
}

/// Answers with the first line that fits and is not used up.
#[derive(Debug)]
pub struct Script {
    lines: Mutex<Vec<Line>>,
}

impl Script {
    /// A script of texts.
    pub fn of<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        let line = |text: T| Line {
            when: None,
            text: Some(text.into()),
            program: None,
            reply: None,
            error: None,
            repeat: false,
        };
        Script { lines: Mutex::new(texts.into_iter().map(line).collect()) }
    }

    /// Reads a script: JSON, a line each, or one array of the same.
    pub fn read(path: &Path) -> Result<Self, ScriptError> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|source| ScriptError::Unreadable { path: name.clone(), source })?;
        Self::parse(&name, &text)
    }

    /// Reads a script from text; `path` is for messages.
    pub fn parse(path: &str, text: &str) -> Result<Self, ScriptError> {
        let wrong =
            |line: usize, message: String| ScriptError::BadLine { path: path.to_owned(), line, message };
        let items: Vec<(usize, Json)> = match serde_json::from_str::<Json>(text) {
            Ok(Json::Array(items)) => {
                items.into_iter().enumerate().map(|(at, item)| (at + 1, item)).collect()
            }
            _ => {
                let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
                lines
                    .map(|(at, line)| match serde_json::from_str(line) {
                        Ok(item) => Ok((at + 1, item)),
                        Err(error) => Err(wrong(at + 1, error.to_string())),
                    })
                    .collect::<Result<_, _>>()?
            }
        };
        let mut script = Vec::with_capacity(items.len());
        for (at, item) in items {
            let line = match item {
                Json::String(text) => Line {
                    when: None,
                    text: Some(text),
                    program: None,
                    reply: None,
                    error: None,
                    repeat: false,
                },
                item => serde_json::from_value(item).map_err(|error| wrong(at, error.to_string()))?,
            };
            if line.outcome().is_err() && line.error.is_none() {
                return Err(wrong(at, "the line has no reply".to_owned()));
            }
            script.push(line);
        }
        Ok(Script { lines: Mutex::new(script) })
    }

    /// Uses up the line that gave a reply in an earlier process, so that a run that goes on gets those behind it.
    pub fn spend(&self, reply: &Reply) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let gave = |line: &Line| !line.repeat && line.outcome().is_ok_and(|outcome| outcome == *reply);
        if let Some(at) = lines.iter().position(gave) {
            lines.remove(at);
        }
    }

    fn answer(&self, request: &Request) -> Result<Reply, ModelError> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(at) = lines.iter().position(|line| line.fits(request)) else {
            let message = match lines.is_empty() {
                true => "the script is over".to_owned(),
                false => format!("no line of the script is for this request; {} are left", lines.len()),
            };
            return Err(ModelError::new(ModelErrorKind::ConfigError, message));
        };
        if lines[at].repeat {
            return lines[at].outcome();
        }
        lines.remove(at).outcome()
    }
}

impl Model for Script {
    fn reply(&self, request: Arc<Request>, _chunk: Option<TextSink>) -> Pending<Result<Reply, ModelError>> {
        Box::pin(std::future::ready(self.answer(&request)))
    }

    fn name(&self) -> &str {
        "script"
    }
}
