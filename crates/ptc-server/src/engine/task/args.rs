//! Arguments of `lisp_task`.

use serde_json::{Map, Value as Json, json};

use super::super::api::Args;
use super::super::args::known;
use super::super::context::Context;
use super::super::settings::Settings;
use super::super::text::{cut, json_bytes, json_type};

/// A task, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskArgs {
    /// What is to be done.
    pub task: String,
    /// Inputs by name.
    pub context: Map<String, Json>,
    max_items: Option<u64>,
    preferred_fields: Vec<String>,
    /// What was asked for and is not supported.
    pub warnings: Vec<Json>,
}

impl TaskArgs {
    /// Reads the arguments.
    pub fn read(args: &mut Args, settings: &Settings) -> Result<TaskArgs, String> {
        known(args, &["task", "context", "constraints"], &[])?;
        let task = match args.remove("task") {
            None => return Err("argument `task` is required".to_owned()),
            Some(Json::String(task)) if !task.trim().is_empty() => task,
            Some(Json::String(_)) => return Err("argument `task` must be a non-empty string".to_owned()),
            Some(other) => {
                return Err(format!("argument `task` must be a string, got {}", json_type(&other)));
            }
        };
        let (bytes, most) = (task.len(), settings.max_program_bytes);
        if bytes > most {
            return Err(format!("argument `task` exceeds max_program_bytes ({bytes} > {most})"));
        }
        let context = Context::read(args.remove("context"), settings)?.built()?;
        let mut read =
            TaskArgs { task, context, max_items: None, preferred_fields: Vec::new(), warnings: Vec::new() };
        read.constraints(args.remove("constraints"), settings)?;
        Ok(read)
    }

    fn constraints(&mut self, given: Option<Json>, settings: &Settings) -> Result<(), String> {
        let fields = match given {
            None | Some(Json::Null) => return Ok(()),
            Some(Json::Object(fields)) => fields,
            Some(other) => {
                return Err(format!(
                    "argument `constraints` must be a JSON object, got {}",
                    json_type(&other)
                ));
            }
        };
        let (bytes, most) = (json_bytes(&Json::Object(fields.clone())), settings.max_context_bytes);
        if bytes > most {
            return Err(format!("argument `constraints` exceeds max_context_bytes ({bytes} > {most})"));
        }
        for (key, value) in fields {
            match key.as_str() {
                "max_items" => match value.as_u64().filter(|items| *items > 0) {
                    Some(items) => self.max_items = Some(items),
                    None => return Err("constraint `max_items` must be a positive integer".to_owned()),
                },
                "preferred_fields" => {
                    let wrong = || "constraint `preferred_fields` must be an array of strings".to_owned();
                    let items = value.as_array().ok_or_else(wrong)?.iter();
                    let texts = items.map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong));
                    self.preferred_fields = texts.collect::<Result<_, _>>()?;
                }
                other => self.warnings.push(json!({
                    "code": "unsupported_constraint",
                    "detail": format!("constraint `{}` is not supported", cut(other, 40)),
                })),
            }
        }
        Ok(())
    }

    /// What the planner is asked for.
    pub fn mission(&self) -> String {
        let mut mission = self.task.clone();
        if let Some(items) = self.max_items {
            mission.push_str(&format!("\n\nReturn at most {items} items."));
        }
        if !self.preferred_fields.is_empty() {
            let fields = self.preferred_fields.join(", ");
            mission.push_str(&format!("\n\nPrefer these fields: {}.", cut(&fields, 1_000)));
        }
        mission
    }
}
