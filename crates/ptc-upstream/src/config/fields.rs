//! Reading one JSON object strictly: each key is asked for once, what is left over is an error with the name
//! that was probably meant, and every problem is kept with its place.

use std::time::Duration;

use serde_json::{Map, Value as Json};

use super::problem::{Problem, closest, listed};

/// An object that is being read.
pub struct Fields<'p> {
    place: String,
    rest: Map<String, Json>,
    known: Vec<&'static str>,
    problems: &'p mut Vec<Problem>,
}

impl<'p> Fields<'p> {
    /// Reads `value` at `place` (`upstream 'github'`); something that is no object has no fields.
    pub fn open(place: impl Into<String>, value: Json, problems: &'p mut Vec<Problem>) -> Self {
        let place = place.into();
        let rest = match value {
            Json::Object(rest) => rest,
            other => {
                problems.push(Problem {
                    place: place.clone(),
                    message: format!("must be an object, not {}", kind(&other)),
                    fix: "write {\"key\": value, …}".to_owned(),
                });
                Map::new()
            }
        };
        Fields { place, rest, known: Vec::new(), problems }
    }

    /// The place of one key of it.
    pub fn place_of(&self, key: &str) -> String {
        if self.place.is_empty() { format!("key '{key}'") } else { format!("{}, key '{key}'", self.place) }
    }

    /// Notes a problem with one key.
    pub fn problem(&mut self, key: &str, message: impl Into<String>, fix: impl Into<String>) {
        let place = self.place_of(key);
        self.problems.push(Problem { place, message: message.into(), fix: fix.into() });
    }

    /// Where problems are kept, for objects inside this one.
    pub fn problems(&mut self) -> &mut Vec<Problem> {
        self.problems
    }

    /// Whether the key is written.
    pub fn has(&self, key: &str) -> bool {
        self.rest.contains_key(key)
    }

    /// The same of a key that is read only if it is written.
    pub fn knows(&mut self, key: &'static str) -> bool {
        self.known.push(key);
        self.has(key)
    }

    /// The value of a key, whatever it is.
    pub fn take(&mut self, key: &'static str) -> Option<Json> {
        if !self.known.contains(&key) {
            self.known.push(key);
        }
        self.rest.shift_remove(key)
    }

    /// A text that must be there and say something.
    pub fn required_text(&mut self, key: &'static str, example: &str) -> Option<String> {
        if !self.has(key) {
            self.known.push(key);
            self.problem(key, "is missing", format!("add \"{key}\": \"{example}\""));
            return None;
        }
        self.text(key).filter(|text| {
            let empty = text.trim().is_empty();
            if empty {
                self.problem(key, "is empty", format!("write something like \"{example}\""));
            }
            !empty
        })
    }

    /// A text, if it is there.
    pub fn text(&mut self, key: &'static str) -> Option<String> {
        match self.take(key)? {
            Json::String(text) => Some(text),
            other => self.wrong(key, "a string", &other),
        }
    }

    /// One of the given words.
    pub fn word<T: Copy>(&mut self, key: &'static str, words: &[(&str, T)]) -> Option<T> {
        let text = self.text(key)?;
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Some(*value);
        }
        let names = || words.iter().map(|(word, _)| *word);
        let fix = match closest(&text, names()) {
            Some(best) => format!("did you mean \"{best}\"?"),
            None => format!("use one of {}", listed(names())),
        };
        self.problem(key, format!("does not know {text:?}"), fix);
        None
    }

    /// `true` or `false`, `false` if it is not there.
    pub fn flag(&mut self, key: &'static str) -> bool {
        match self.take(key) {
            None => false,
            Some(Json::Bool(flag)) => flag,
            Some(other) => self.wrong(key, "true or false", &other).unwrap_or(false),
        }
    }

    /// A whole number within bounds, `default` if it is not there.
    pub fn number(&mut self, key: &'static str, default: u64, bounds: std::ops::RangeInclusive<u64>) -> u64 {
        let Some(value) = self.take(key) else { return default };
        match value.as_u64() {
            Some(number) if bounds.contains(&number) => number,
            _ => {
                let message = format!("must be a whole number from {} to {}", bounds.start(), bounds.end());
                self.problem(key, message, format!("leave it out for {default}"));
                default
            }
        }
    }

    /// A time in milliseconds, at most ten minutes.
    pub fn millis(&mut self, key: &'static str, default: u64) -> Duration {
        Duration::from_millis(self.number(key, default, 1..=600_000))
    }

    /// A list of texts, empty if it is not there.
    pub fn texts(&mut self, key: &'static str) -> Vec<String> {
        let Some(value) = self.take(key) else { return Vec::new() };
        let Json::Array(items) = value else {
            return self.wrong(key, "a list of strings", &value).unwrap_or_default();
        };
        let mut texts = Vec::new();
        for item in items {
            match item {
                Json::String(text) => texts.push(text),
                other => drop(self.wrong::<()>(key, "a list of strings", &other)),
            }
        }
        texts
    }

    /// An object whose values are texts, empty if it is not there.
    pub fn text_map(&mut self, key: &'static str) -> Vec<(String, String)> {
        let mut texts = Vec::new();
        for (name, value) in self.object(key) {
            match value {
                Json::String(text) => texts.push((name, text)),
                other => {
                    let message = format!("has {} under {name:?}", kind(&other));
                    self.problem(key, message, "values must be strings");
                }
            }
        }
        texts
    }

    /// An object, empty if it is not there.
    pub fn object(&mut self, key: &'static str) -> Map<String, Json> {
        self.optional_object(key).unwrap_or_default()
    }

    /// An object, if it is there.
    pub fn optional_object(&mut self, key: &'static str) -> Option<Map<String, Json>> {
        match self.take(key)? {
            Json::Object(object) => Some(object),
            other => self.wrong(key, "an object", &other),
        }
    }

    /// Everything that was asked for has been read; what is left over is not known here.
    pub fn close(mut self) {
        for (key, _) in std::mem::take(&mut self.rest) {
            let fix = match closest(&key, self.known.iter().copied()) {
                Some(best) => format!("did you mean '{best}'?"),
                None => format!("known here: {}", listed(self.known.iter().copied())),
            };
            self.problem(&key, "is not known", fix);
        }
    }

    /// Forgets what is left over, where a worse problem makes the rest meaningless.
    pub fn abandon(mut self) {
        self.rest.clear();
    }

    fn wrong<T>(&mut self, key: &str, expected: &str, found: &Json) -> Option<T> {
        self.problem(key, format!("must be {expected}, not {}", kind(found)), "");
        None
    }
}

/// What a value is, without showing it: it may be a secret in the wrong place.
pub fn kind(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "true or false",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}
