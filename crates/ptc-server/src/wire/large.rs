//! Large messages. What programs get as inputs stays text, which the machine reads that counts it; everything else is
//! little, or the message is refused before it is built. The values of `serde_json` take many times the bytes of their
//! text, several times over on their way through the protocol's library.

use serde::de::Error;
use serde_json::{Map, Value as Json};

use crate::engine::context::{as_text, text_of};

/// Bytes from which on a message is large.
pub const LARGE: usize = 64 << 10;

/// Most values of a large message besides its inputs.
const MOST_VALUES: usize = 50_000;
/// What is said of messages with more.
pub const TOO_MANY: &str = "Invalid Request: a message has at most 50000 values outside of `context`";

/// Where the inputs of a program stand.
pub const INPUTS: [&str; 3] = ["params", "arguments", "context"];

/// Why a message cannot be read.
#[derive(Debug)]
pub enum Unread {
    /// It is no JSON.
    Json(serde_json::Error),
    /// It has too many values.
    TooMany,
    /// It has this field twice.
    Doubled(String),
}

impl From<serde_json::Error> for Unread {
    fn from(error: serde_json::Error) -> Self {
        Unread::Json(error)
    }
}

/// A message that was read whole; and whether something in it stands there as text now. Inputs of a client that look as
/// if they were text become it, so that they stay what they are.
pub fn as_sent(mut json: Json) -> (Json, bool) {
    let inputs = INPUTS.iter().try_fold(&mut json, |json, name| json.get_mut(name));
    let Some(inputs) = inputs.filter(|inputs| text_of(inputs).is_some()) else { return (json, false) };
    *inputs = as_text(&inputs.to_string());
    (json, true)
}

/// Reads a large message.
pub fn read(bytes: &[u8]) -> Result<Json, Unread> {
    let text = std::str::from_utf8(bytes).map_err(serde_json::Error::custom)?;
    LargeReader { values: 0 }.with_text_at(&INPUTS, text)
}

/// What was read so far.
struct LargeReader {
    values: usize,
}

impl LargeReader {
    /// Reads a value; the object that stands in it at a path stays text.
    fn with_text_at(&mut self, path: &[&str], text: &str) -> Result<Json, Unread> {
        if !text.trim_ascii_start().starts_with('{') {
            return self.value(text);
        }
        let Some((next, rest)) = path.split_first() else {
            // Nobody else would say what is wrong with it in the words of the protocol.
            ptc_host::outline(text, |_, _| ())?;
            return Ok(as_text(text));
        };
        let fields = ptc_host::parts::fields(text, MOST_VALUES)?;
        self.count(fields.len())?;
        let mut object = Map::with_capacity(fields.len());
        for (name, value) in fields {
            let value = match name == *next {
                true => self.with_text_at(rest, value)?,
                false => self.value(value)?,
            };
            if object.contains_key(&name) {
                return Err(Unread::Doubled(name));
            }
            object.insert(name, value);
        }
        Ok(Json::Object(object))
    }

    fn value(&mut self, text: &str) -> Result<Json, Unread> {
        self.count(ptc_host::parts::extent(text.as_bytes()).values)?;
        Ok(serde_json::from_str(text)?)
    }

    fn count(&mut self, values: usize) -> Result<(), Unread> {
        self.values = self.values.saturating_add(values);
        match self.values > MOST_VALUES {
            true => Err(Unread::TooMany),
            false => Ok(()),
        }
    }
}
