//! Values of options: sizes, durations, named inputs and JSON that may sit in a file.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use ptc_lisp::machine::Machine;
use ptc_lisp::{Error, ErrorKind};
use ptc_runner::{InputTexts, WrittenInputs};
use serde_json::Value;

/// A number of bytes: `65536`, `64mb`, `1.5GiB`. Units are powers of 1024.
pub fn bytes(text: &str) -> Result<usize, String> {
    let (number, unit) = split_unit(text);
    let scale: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        _ => return Err(format!("unknown unit `{unit}`; write a size like 65536, 512kb, 64mb or 1gb")),
    };
    let number = positive(number).ok_or("write a size like 65536, 512kb, 64mb or 1gb")?;
    // A float holds every size up to 8 PiB exactly, and the conversion saturates.
    Ok((number * scale as f64) as usize)
}

/// How durations are written.
const DURATIONS: &str = "write a duration like 500ms, 10s, 2m, 12h or 7d";

/// A duration: `10s`, `500ms`, `2m`, `7d`; a bare number counts seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = split_unit(text);
    let scale = match unit.to_ascii_lowercase().as_str() {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return Err(format!("unknown unit `{unit}`; {DURATIONS}")),
    };
    let number = positive(number).ok_or(DURATIONS)?;
    Duration::try_from_secs_f64(number * scale).map_err(|_| "the duration is too long".to_owned())
}

/// A whole number that may have separators and a unit: `1000`, `1_000_000`, `50m`.
pub fn count(text: &str) -> Result<u64, String> {
    let (number, unit) = split_unit(text);
    let scale: u64 = match unit.to_ascii_lowercase().as_str() {
        "" => 1,
        "k" => 1_000,
        "m" => 1_000_000,
        "g" => 1_000_000_000,
        _ => return Err(format!("unknown unit `{unit}`; write a number like 1000000, 1_000_000 or 50m")),
    };
    let digits = number.replace('_', "");
    let number: u64 = digits.parse().map_err(|_| "write a number like 1000000, 1_000_000 or 50m")?;
    number.checked_mul(scale).ok_or_else(|| "the number is too large".to_owned())
}

fn split_unit(text: &str) -> (&str, &str) {
    let at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    (text[..at].trim(), text[at..].trim())
}

fn positive(text: &str) -> Option<f64> {
    text.replace('_', "").parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

/// A moment: milliseconds since 1970, or a date and time such as `2026-01-31T10:00:00Z`.
pub fn moment(text: &str) -> Result<i64, String> {
    if let Ok(ms) = text.parse() {
        return Ok(ms);
    }
    let moment: jiff::Timestamp = text
        .parse()
        .map_err(|_| "write milliseconds since 1970 or a moment like 2026-01-31T10:00:00Z".to_owned())?;
    Ok(moment.as_millisecond())
}

/// An input from the command line: its name, and its JSON in place or from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    name: String,
    text: Arc<str>,
    file: Option<String>,
}

impl Input {
    /// Its name and value.
    pub fn json(&self) -> anyhow::Result<(&str, Value)> {
        let value = ptc_host::strict_json(&self.text).map_err(|error| self.refused(&error))?;
        self.exact().map(|()| (&*self.name, value))
    }

    /// Its name and its text, which may be no JSON.
    pub fn field(&self) -> (String, Arc<str>) {
        (self.name.clone(), self.text.clone())
    }

    /// What to say of text that a reader refused.
    pub fn refused(&self, error: &serde_json::Error) -> anyhow::Error {
        match (&self.file, too_deep(error)) {
            (_, Some(limit)) => anyhow!("--data {}: {limit}", self.name),
            (Some(path), None) => anyhow!("--data {}: {path} is not JSON: {error}", self.name),
            (None, None) => self.no_json(error),
        }
    }

    /// Sees that no integer of it would be rounded.
    pub fn exact(&self) -> anyhow::Result<()> {
        ptc_host::exact(&self.text).map_err(|error| anyhow!("--data {}: {error}", self.name))
    }

    /// What to say of text that is no JSON.
    fn no_json(&self, error: &dyn std::fmt::Display) -> anyhow::Error {
        let (name, text) = (&self.name, shorten(&self.text));
        anyhow!("--data {name}: `{text}` is not JSON: {error}; quote text like '\"this\"'")
    }
}

/// What to say of JSON that nests deeper than the reader of inputs goes; nothing of other mistakes.
fn too_deep(error: &serde_json::Error) -> Option<String> {
    let deep = error.is_syntax() && error.to_string().starts_with("recursion limit exceeded");
    deep.then(|| {
        format!(
            "the JSON nests deeper than the 127 levels that an agent reads, at line {}, column {}; flatten it",
            error.line(),
            error.column()
        )
    })
}

/// `name=JSON` or `name=@file.json`.
pub fn input(text: &str) -> Result<Input, String> {
    let Some((name, value)) = text.split_once('=') else {
        return Err("write name=JSON or name=@file.json".to_owned());
    };
    if name.is_empty() {
        return Err("the name before `=` is missing; write name=JSON or name=@file.json".to_owned());
    }
    let file = value.strip_prefix('@').map(str::to_owned);
    let text = match &file {
        Some(path) => {
            let text = fs::read_to_string(path).map_err(|error| format!("cannot read {path}: {error}"))?;
            Arc::from(text.strip_prefix(MARK).unwrap_or(&text))
        }
        None => Arc::from(value),
    };
    Ok(Input { name: name.to_owned(), text, file })
}

/// Gives a machine its inputs; a later one replaces an earlier one of the same name. A program that names another
/// is refused.
pub fn give(machine: &mut Machine, inputs: &[Input]) -> Result<(), NotGiven> {
    machine.set_data_json("{}").map_err(|error| NotGiven::Usage(error.into()))?;
    machine.set_strict_inputs(true);
    for input in inputs {
        machine.add_data_json(&input.name, &input.text).map_err(|error| match &input.file {
            _ if error.kind == ErrorKind::MemoryExceeded => {
                let message = format!(
                    "--data {}: that is more than fits the memory of a program: {}",
                    input.name, error.message
                );
                NotGiven::Limit(Error::new(error.kind, message).hint("--memory 256mb gives more"))
            }
            _ if error.kind != ErrorKind::Format => {
                NotGiven::Usage(anyhow!("--data {}: it was not read: {}", input.name, error.message))
            }
            Some(path) => {
                NotGiven::Usage(anyhow!("--data {}: {path} is not JSON: {}", input.name, error.message))
            }
            None => NotGiven::Usage(input.no_json(&error.message)),
        })?;
    }
    Ok(())
}

/// Why inputs were not given.
pub enum NotGiven {
    /// They make no sense.
    Usage(anyhow::Error),
    /// They are more than a program may have.
    Limit(Error),
}

/// For commands that tell any of it as wrong usage.
impl From<NotGiven> for anyhow::Error {
    fn from(refused: NotGiven) -> anyhow::Error {
        match refused {
            NotGiven::Usage(error) => error,
            NotGiven::Limit(error) => anyhow!(one_line(&error)),
        }
    }
}

/// What inputs are too much for, and what to do about it.
pub fn one_line(limit: &Error) -> String {
    let hint = limit.hint.as_deref().map(|hint| format!("; {hint}")).unwrap_or_default();
    format!("{}{hint}", limit.message)
}

/// Inputs by name, each as the text it was given as.
pub fn texts(inputs: &[Input]) -> serde_json::Map<String, Value> {
    inputs.iter().map(|input| (input.name.clone(), Value::from(&*input.text))).collect()
}

/// The JSON in a file.
pub fn json_file(path: &str) -> Result<Value, String> {
    let text = fs::read(path).map_err(|error| format!("cannot read {path}: {error}"))?;
    json(&text).map_err(|error| format!("{path} {error}"))
}

/// What some programs, mostly on Windows, begin text with to say that it is Unicode. It is no part of the text.
const MARK: char = '\u{feff}';

/// The JSON that bytes are, with no integer that had to be rounded and no key that stands twice; else what is wrong with
/// them, in words that follow a name.
pub fn json(text: &[u8]) -> Result<Value, String> {
    let text = unicode(text)?;
    let value = ptc_host::strict_json(text).map_err(|error| no_json(&error))?;
    exact(text).map(|()| value)
}

/// The inputs that bytes hold as one object, each as JSON text; the same is refused, in the same words. Nothing if they are
/// no object.
pub fn fields(text: &[u8]) -> Result<Option<InputTexts>, String> {
    let text = unicode(text)?;
    let fields = WrittenInputs::fields(text).map_err(|error| no_json(&error))?;
    exact(text).map(|()| fields)
}

fn unicode(text: &[u8]) -> Result<&str, String> {
    let text = std::str::from_utf8(text).map_err(|error| format!("is not UTF-8 text: {error}"))?;
    Ok(text.strip_prefix(MARK).unwrap_or(text))
}

fn no_json(error: &serde_json::Error) -> String {
    too_deep(error).unwrap_or_else(|| format!("is not JSON: {error}"))
}

fn exact(text: &str) -> Result<(), String> {
    ptc_host::exact(text).map_err(|error| format!("cannot be kept exactly: {error}"))
}

/// The beginning of a text, for a message that quotes it.
pub fn shorten(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_that_people_write_is_taken_whole_or_refused() {
        assert_eq!(json(b"\xef\xbb\xbf{\"a\": 1}"), Ok(serde_json::json!({"a": 1})));
        for (text, wrong) in [
            (&b"{\"a\": 1, \"a\": 2}"[..], "is not JSON: the key \"a\" stands twice in one object"),
            (
                b"{\"t\": {\"default\": 1}, \"t\": {\"default\": 2}}",
                "is not JSON: the key \"t\" stands twice",
            ),
            (b"[1, 100000000000000000000001]", "cannot be kept exactly: "),
            (b"\"\xff\"", "is not UTF-8 text: "),
            (b"[1,", "is not JSON: "),
        ] {
            let told = json(text).expect_err("it is refused");
            assert!(told.starts_with(wrong), "{told}");
        }
    }

    #[test]
    fn sizes_have_units_of_1024() {
        let cases = [("65536", 65_536), ("64kb", 65_536), ("64 MB", 64 << 20), ("1.5g", 3 << 29), ("0", 0)];
        for (text, expected) in cases {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        assert_eq!(
            bytes("64parsecs").unwrap_err(),
            "unknown unit `parsecs`; write a size like 65536, 512kb, 64mb or 1gb"
        );
        assert_eq!(bytes("-1").unwrap_err(), "write a size like 65536, 512kb, 64mb or 1gb");
    }

    #[test]
    fn durations_count_seconds_unless_told() {
        let cases = [("10", 10_000), ("1.5s", 1_500), ("250ms", 250), ("2m", 120_000)];
        for (text, ms) in cases {
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        assert_eq!(
            duration("soon").unwrap_err(),
            "unknown unit `soon`; write a duration like 500ms, 10s, 2m, 12h or 7d"
        );
        assert_eq!(
            duration("9e99").unwrap_err(),
            "unknown unit `e99`; write a duration like 500ms, 10s, 2m, 12h or 7d"
        );
    }

    #[test]
    fn counts_have_units_of_1000() {
        let cases = [("1000", 1_000), ("1_000_000", 1_000_000), ("50m", 50_000_000), ("5k", 5_000)];
        for (text, expected) in cases {
            assert_eq!(count(text), Ok(expected), "{text}");
        }
        assert_eq!(count("1.5").unwrap_err(), "write a number like 1000000, 1_000_000 or 50m");
        assert_eq!(
            count("99999999999999999999").unwrap_err(),
            "write a number like 1000000, 1_000_000 or 50m"
        );
        assert_eq!(count("99999999999999999g").unwrap_err(), "the number is too large");
    }

    #[test]
    fn moments_are_milliseconds_or_iso_text() {
        assert_eq!(moment("1700000000000"), Ok(1_700_000_000_000));
        assert_eq!(moment("1970-01-01T00:00:01Z"), Ok(1_000));
        assert!(moment("yesterday").unwrap_err().starts_with("write milliseconds since 1970"));
    }
}
