//! The tools that are offered: names, descriptions and schemas.

use ptc_upstream::model::Reason as Fault;
use serde_json::{Value as Json, json};

use super::api::{Annotations, ToolSpec};
use super::cards;
use super::settings::{Profile, Settings};

/// A tool of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tool {
    /// `lisp_eval`
    Eval,
    /// `lisp_check`
    Check,
}

impl Tool {
    /// Every tool, in the order of listing.
    pub const ALL: &[Tool] = &[Tool::Eval, Tool::Check];

    /// The name that clients use.
    pub fn name(self) -> &'static str {
        match self {
            Tool::Eval => "lisp_eval",
            Tool::Check => "lisp_check",
        }
    }

    /// The tool of this name.
    pub fn named(name: &str) -> Option<Tool> {
        Tool::ALL.iter().copied().find(|tool| tool.name() == name)
    }
}

/// What descriptions depend on.
#[derive(Clone, Copy, Debug)]
pub struct Surface<'a> {
    /// The settings.
    pub settings: &'a Settings,
    /// What upstreams offer, if there are any; empty text if there is nothing to show.
    pub catalog: Option<&'a str>,
}

impl Surface<'_> {
    /// A tool as clients list it.
    pub fn spec(&self, tool: Tool) -> ToolSpec {
        match tool {
            Tool::Eval => self.eval(),
            Tool::Check => self.check(),
        }
    }

    fn eval(&self) -> ToolSpec {
        let card = match self.catalog {
            None => cards::EVAL,
            Some(_) => cards::EVAL_UPSTREAM,
        };
        ToolSpec {
            name: Tool::Eval.name(),
            title: "Run a PTC-Lisp program",
            description: self.described(card),
            input_schema: eval_input(),
            output_schema: eval_output(self.settings.profile, self.catalog.is_some()),
            annotations: Some(self.eval_hints()),
        }
    }

    fn check(&self) -> ToolSpec {
        ToolSpec {
            name: Tool::Check.name(),
            title: "Check a PTC-Lisp program",
            description: cards::CHECK.to_owned(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "program": {"type": "string", "description": "PTC-Lisp source text."},
                    "context": {"type": "object", "additionalProperties": true,
                                "description": "Inputs that the program will have; only their names are used."},
                },
                "required": ["program"],
            }),
            output_schema: Some(check_output()),
            annotations: Some(Annotations::new(true, false, true, false)),
        }
    }

    /// What running a program may do to the world.
    fn eval_hints(&self) -> Annotations {
        match (self.catalog.is_some(), self.settings.read_only) {
            (false, _) => Annotations::new(true, false, true, false),
            (true, false) => Annotations::new(false, true, false, true),
            (true, true) => Annotations::new(true, false, false, true),
        }
    }

    /// A card, the language, and what upstreams offer, which comes last because it is not ours.
    fn described(&self, card: &str) -> String {
        let note = match (self.settings.profile, self.catalog) {
            (Profile::Slim, None) => cards::SLIM,
            (Profile::Slim, Some(_)) => cards::SLIM_UPSTREAM,
            (Profile::Structured, _) => cards::STRUCTURED,
            (Profile::Debug, _) => "",
        };
        let catalog = self.catalog.unwrap_or_default();
        let parts = match self.catalog {
            None => [note, card, cards::reference(), catalog],
            Some(_) => [card, cards::reference(), note, catalog],
        };
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }
}

fn eval_input() -> Json {
    json!({
        "type": "object",
        "properties": {
            "program": {"type": "string", "description": "PTC-Lisp source text."},
            "context": {"type": "object", "additionalProperties": true,
                        "description": "Inputs by name; the program reads them as data/name."},
            "output_schema": {"type": "object",
                              "description": "JSON Schema (types, items, properties) that the result must fit."},
        },
        "required": ["program"],
    })
}

/// The schema of the structured answer; the slim profile has none.
fn eval_output(profile: Profile, upstreams: bool) -> Option<Json> {
    let flags = ["prints_truncated", "feedback_truncated", "validated_preview_truncated", "output_truncated"];
    let mut success = json!({
        "status": {"const": "ok"},
        "result": {"type": "string"},
        "validated": {},
        "validated_preview": {"type": "string"},
        "validated_bytes": {"type": "integer"},
        "resource": {"type": "object"},
        "truncated": {"type": "boolean"},
    });
    let mut error = json!({
        "status": {"const": "error"},
        "reason": {"type": "string"},
        "message": {"type": "string"},
        "feedback": {"type": "string"},
        "result": {"type": "string"},
        "detail": {"type": "object"},
        "truncated": {"type": "boolean"},
    });
    for flag in flags {
        success[flag] = json!({"type": "boolean"});
        error[flag] = json!({"type": "boolean"});
    }
    let (ok_required, error_required) = match profile {
        Profile::Slim => return None,
        Profile::Structured => (json!(["status"]), json!(["status", "reason", "message"])),
        Profile::Debug => (
            json!(["status", "prints", "feedback", "truncated"]),
            json!(["status", "reason", "message", "feedback"]),
        ),
    };
    if profile == Profile::Debug {
        success["prints"] = json!({"type": "array", "items": {"type": "string"}});
        success["feedback"] = json!({"type": "string"});
        error["prints"] = success["prints"].clone();
    }
    if upstreams {
        for branch in [&mut success, &mut error] {
            branch["upstream_results"] = json!({"type": "array", "items": {"type": "object"}});
            branch["upstream_calls"] = json!({"type": "array", "items": upstream_call()});
            branch["ptc_metrics"] = json!({"type": ["object", "null"]});
        }
    }
    Some(one_of(success, &ok_required, error, &error_required))
}

/// One entry of `upstream_calls`.
fn upstream_call() -> Json {
    let reasons: Vec<&str> = Fault::ALL.iter().map(|reason| reason.name()).collect();
    json!({
        "type": "object",
        "required": ["server", "tool", "status"],
        "properties": {
            "server": {"type": "string"},
            "tool": {"type": "string"},
            "status": {"enum": ["ok", "error"]},
            "duration_ms": {"type": "integer"},
            "reason": {"enum": reasons},
            "error": {"type": "string"},
            "result_bytes": {"type": ["integer", "null"]},
            "oversize": {"type": "boolean"},
        },
    })
}

/// An object that is a success or an error, told apart by `status`.
pub fn one_of(success: Json, ok_required: &Json, error: Json, error_required: &Json) -> Json {
    json!({
        "type": "object",
        "oneOf": [
            {"type": "object", "properties": success, "required": ok_required, "additionalProperties": true},
            {"type": "object", "properties": error, "required": error_required, "additionalProperties": true},
        ],
    })
}

fn check_output() -> Json {
    let success = json!({
        "status": {"const": "ok"},
        "valid": {"type": "boolean"},
        "tools": {"type": "array", "items": {"type": "string"}},
        "uses": {"type": "array", "items": {"type": "object"}},
        "effect": {"enum": ["none", "read", "write", "unknown"]},
        "max_calls": {"type": ["integer", "null"]},
        "errors": {"type": "array", "items": {"type": "object"}},
    });
    let error = json!({
        "status": {"const": "error"},
        "reason": {"type": "string"},
        "message": {"type": "string"},
        "feedback": {"type": "string"},
    });
    one_of(
        success,
        &json!(["status", "valid", "errors"]),
        error,
        &json!(["status", "reason", "message", "feedback"]),
    )
}
