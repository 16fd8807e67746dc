//! `lisp_check`: what a program would need and what is wrong with it, without running it.

use ptc_lisp::machine::Machine;
use ptc_lisp::span::Position;
use ptc_lisp::{Error, Limits};
use serde_json::{Value as Json, json};

use super::api::Args;
use super::{Answered, Engine, Reason, args, envelope, evaluate};

impl Engine {
    pub(super) fn check(&self, mut given: Args) -> Answered {
        let source = match args::program(given.remove("program"), &self.settings) {
            Ok(source) => source,
            Err(message) => {
                return super::fixed(Reason::ARGS, &message, "Mend the arguments and call again.");
            }
        };
        if let Err(message) = args::context(given.remove("context"), &self.settings) {
            return super::fixed(Reason::ARGS, &message, "Mend the arguments and call again.");
        }
        let mut object = report(&source, evaluate::limits(&self.settings));
        self.redactor.redact_json(&mut object);
        Answered::new(envelope::plain(object, false), None)
    }
}

/// The report on a program.
fn report(source: &str, limits: Limits) -> Json {
    let mut machine = Machine::new(limits);
    machine.set_tools(["call".to_owned()]);
    match machine.check(source) {
        Ok(manifest) => json!({
            "status": "ok",
            "valid": true,
            "tools": manifest.tools(),
            "max_calls": manifest.max_calls(),
            "errors": [],
        }),
        Err(error) => json!({
            "status": "ok",
            "valid": false,
            "errors": [described(&error, source)],
        }),
    }
}

/// A mistake with its place and how to mend it.
fn described(error: &Error, source: &str) -> Json {
    let mut object = json!({"reason": error.kind.reason(), "message": error.text()});
    if let Some(span) = error.span {
        let at = Position::of(source, span.start);
        object["line"] = at.line.into();
        object["column"] = at.column.into();
    }
    if let Some(hint) = &error.hint {
        object["fix"] = hint.as_str().into();
    }
    if let Some(repaired) = &error.repaired {
        object["repaired"] = repaired.as_str().into();
    }
    object
}
