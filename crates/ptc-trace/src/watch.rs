//! Calls inside a program as spans inside the program's span, whoever runs the program.

use std::sync::Arc;

use ptc_host::{Answer, Tools, Watch, Watched};
use serde_json::{Value as Json, json};

use crate::span::{Span, subject};

/// The tool by which programs call upstreams.
const CALL: &str = "call";

impl Span {
    /// Tools whose calls become spans inside this one.
    pub fn watch(self: &Arc<Self>, tools: &Tools) -> Tools {
        let around = self.clone();
        let watch: Watch = Arc::new(move |name, args| {
            let span = around.call(name, args);
            Box::new(move |answer: &Result<Answer, String>| span.answered(answer)) as Watched
        });
        tools.watched(&watch)
    }

    fn call(&self, name: &str, args: &Json) -> Span {
        let text = |field: &str| args[field].as_str().unwrap_or_default();
        match name {
            "" => self.child(
                subject::UPSTREAM_DISCOVER,
                json!({"operation": args["op"], "query": args["query"], "ref": args["ref"]}),
            ),
            CALL if args["server"].is_string() => self.child(
                subject::UPSTREAM_CALL,
                json!({"server": text("server"), "tool_name": text("tool"), "args": args["args"]}),
            ),
            _ => self.child(subject::TOOL, json!({"tool_name": name, "args": args})),
        }
    }

    /// Ends the span of a call with what it gave.
    fn answered(self, answer: &Result<Answer, String>) {
        let gave = |span: Span, value: &Json| {
            span.stop(json!({"result": value, "result_bytes": value.to_string().len()}));
        };
        match answer {
            Ok(Answer::Value(value) | Answer::Upstream { value, .. }) => gave(self, value),
            Ok(Answer::Json(text)) => self.stop(json!({"result": text, "result_bytes": text.len()})),
            Ok(Answer::Fault { reason, message }) => self.fail(reason, message, json!({})),
            Ok(Answer::Raise(error)) => self.fail(error.kind.reason(), &error.message, json!({})),
            Err(message) => self.fail("tool_error", message, json!({})),
        }
    }
}
