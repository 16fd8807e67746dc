//! The arguments of programs: `program`, `context` and `output_schema`. Messages say what is wrong with an
//! argument and never repeat it.

use serde_json::Value as Json;

use super::api::Args;
use super::context::Context;
use super::schema::OutputSchema;
use super::settings::Settings;
use super::text::{cut, json_type};

/// A program to run, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct EvalArgs {
    /// Its text.
    pub program: String,
    /// Its inputs.
    pub context: Context,
    /// What its result must be.
    pub schema: Option<OutputSchema>,
}

impl EvalArgs {
    /// Reads the arguments of a tool that runs programs.
    pub fn read(args: &mut Args, settings: &Settings) -> Result<EvalArgs, String> {
        if args.contains_key("signature") {
            return Err("argument `signature` is no longer supported; use `output_schema`".to_owned());
        }
        Ok(EvalArgs {
            program: program(args.remove("program"), settings)?,
            context: Context::read(args.remove("context"), settings)?,
            schema: output_schema(args.get("output_schema"))?,
        })
    }
}

/// Refuses arguments that a tool does not have, with the one that may have been meant: a model that is answered as if it had
/// not given one cannot tell. `also` are those that are taken, or refused in words of their own, and not offered. What begins
/// with `_` is a note of the client.
pub fn known(args: &Args, offered: &[&str], also: &[&str]) -> Result<(), String> {
    /// Bytes of a name.
    const NAME: usize = 40;
    let is_known = |key: &str| key.starts_with('_') || offered.contains(&key) || also.contains(&key);
    let Some(key) = args.keys().find(|key| !is_known(key)) else { return Ok(()) };
    let meant = ptc_upstream::config::closest(key, offered.iter().copied());
    let meant = meant.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
    let are = if offered.len() == 1 { "is" } else { "are" };
    Err(format!("unknown argument `{}`; {meant}there {are} {}", cut(key, NAME), offered.join(", ")))
}

/// The text of a program.
pub fn program(given: Option<Json>, settings: &Settings) -> Result<String, String> {
    let program = match given {
        None => return Err("argument `program` is required".to_owned()),
        Some(Json::String(program)) => program,
        Some(other) => {
            return Err(format!("argument `program` must be a string, got {}", json_type(&other)));
        }
    };
    if program.trim().is_empty() {
        return Err("argument `program` must be a non-empty string".to_owned());
    }
    let (bytes, most) = (program.len(), settings.max_program_bytes);
    match bytes > most {
        true => Err(format!("argument `program` exceeds max_program_bytes ({bytes} > {most})")),
        false => Ok(program),
    }
}

fn output_schema(given: Option<&Json>) -> Result<Option<OutputSchema>, String> {
    match given {
        None | Some(Json::Null) => Ok(None),
        Some(schema) => match OutputSchema::parse(schema) {
            Ok(schema) => Ok(Some(schema)),
            Err(why) => Err(format!("argument `output_schema` is invalid: {why}")),
        },
    }
}
