//! What the signature of a tool says about a call: how it is written, what its arguments and its result must be.

use ptc_lisp::json::strict_json;
use ptc_signature::{Mode, Signature, keys};
use serde_json::{Value as Json, json};

use super::{Answers, Body, Builtin, Tool};

/// What stands before the mistakes of a result.
const BROKEN: &str = "the result breaks the tool's signature";

/// How many parameters the form of a call names.
const NAMED: usize = 8;

impl Tool {
    /// The contract that calls are held to. The parameters of a question are its own.
    fn contract(&self) -> Option<&Signature> {
        let free = matches!(self.body, Body::Builtin(Builtin::LlmQuery));
        self.signature.as_ref().filter(|_| !free)
    }

    /// How a program calls it: `(tool/search {:query … :limit …})`. None where nobody said what it takes.
    pub(crate) fn call_form(&self) -> Option<String> {
        let fields = &self.contract()?.input.fields;
        let mut parts: Vec<String> =
            fields.iter().take(NAMED).map(|field| format!("{} …", key(&field.name))).collect();
        if fields.len() > NAMED {
            parts.push("…".to_owned());
        }
        Some(match parts.is_empty() {
            true => format!("(tool/{})", self.name),
            false => format!("(tool/{} {{{}}})", self.name, parts.join(" ")),
        })
    }

    /// Arguments as one map that fits the signature, with notes of what was converted.
    pub(crate) fn take(&self, args: Json, mode: Mode) -> Result<(Json, Vec<String>), String> {
        let args = match args {
            Json::Null => json!({}),
            Json::Object(_) => args,
            _ => return Err("Tool validation errors:\n- arguments must be one map".to_owned()),
        };
        let Some(signature) = self.contract() else { return Ok((args, Vec::new())) };
        match signature.coerce_input(&args, mode) {
            Ok(coerced) => Ok((coerced.value, coerced.warnings.iter().map(ToString::to_string).collect())),
            Err(rejection) => Err(rejection.feedback("Tool validation")),
        }
    }

    /// Whether a result is what the signature promises: notes where the mode only warns, else what is wrong with it.
    /// Agents are held to their own signatures, and upstreams to their own schemas.
    pub(crate) fn gives(&self, result: &Json, mode: Mode) -> Result<Vec<String>, String> {
        let own = matches!(self.body, Body::Function(_)) && self.answers == Answers::Plain;
        let Some(signature) = self.contract().filter(|_| own) else { return Ok(Vec::new()) };
        match signature.validate_output(result, mode) {
            Ok(warnings) => Ok(warnings.iter().map(|issue| format!("result: {issue}")).collect()),
            Err(rejection) => {
                let issues =
                    || rejection.errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
                Err(format!("{BROKEN}: {}", no_json(result).unwrap_or_else(issues)))
            }
        }
    }
}

/// What is wrong with a text that was meant as JSON. It is not quoted: which of its values are hidden, nobody can say.
fn no_json(result: &Json) -> Option<String> {
    let text = result.as_str()?.trim_start_matches(|c: char| c == '\u{feff}' || c.is_whitespace());
    let error = strict_json(text).err().filter(|_| text.starts_with(['{', '[']))?;
    Some(format!("it is text that is not JSON: {error}"))
}

/// A parameter as programs write it.
fn key(name: &str) -> String {
    let plain = name.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
    if plain { format!(":{}", keys::kebab(name)) } else { format!("{name:?}") }
}
