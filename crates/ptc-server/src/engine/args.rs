//! The arguments of programs: `program`, `context` and `output_schema`. Messages say what is wrong with an
//! argument and never repeat it.

use serde_json::Value as Json;

use super::api::Args;
use super::context::Context;
use super::schema::OutputSchema;
use super::settings::Settings;
use super::text::json_type;

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
