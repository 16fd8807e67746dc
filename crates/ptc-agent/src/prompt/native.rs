//! Tools as providers are told about them, and the way back from their names.

use std::collections::BTreeMap;

use ptc_signature::keys;
use serde_json::{Value as Json, json};

use super::card::Card;
use super::tools::{ToolLine, sorted};
use crate::model::ToolSchema;

/// The tool that runs programs.
pub const LISP_EVAL: &str = "lisp_eval";

/// The longest name that providers take.
const NAME: usize = 64;

/// Who is told about [`LISP_EVAL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvalProfile {
    /// A PTC-Lisp agent with tools of its application.
    WithAppTools,
    /// A text agent that may also run programs.
    TextMode,
    /// A client of a server that has no tools.
    NoTools,
}

/// The schema of [`LISP_EVAL`].
pub fn lisp_eval(profile: EvalProfile) -> ToolSchema {
    let description = match profile {
        EvalProfile::WithAppTools => Card::LispEvalWithAppTools,
        EvalProfile::TextMode => Card::LispEvalTextMode,
        EvalProfile::NoTools => Card::LispEvalNoTools,
    };
    ToolSchema {
        name: LISP_EVAL.to_owned(),
        description: description.text().to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {"program": {"type": "string", "description": Card::LispEvalProgram.text()}},
            "required": ["program"],
            "additionalProperties": false,
        }),
    }
}

/// Names that providers use, with the names of the tools behind them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NameMap(BTreeMap<String, String>);

impl NameMap {
    /// The tool behind a name that a model called. Its own spelling is understood too.
    pub(crate) fn original(&self, called: &str) -> Option<&str> {
        let exact = self.0.get(called);
        let spelled = || self.0.values().find(|name| *name == called);
        exact.or_else(spelled).or_else(|| self.0.get(&keys::snake(called))).map(String::as_str)
    }

    /// Takes a provider's name for a tool: letters, digits and underscores, and none twice.
    fn take(&mut self, name: &str) -> String {
        let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let fits = |suffix: &str| {
            let room = NAME - suffix.len();
            plain.chars().take(room).collect::<String>() + suffix
        };
        let mut taken = fits("");
        let mut count = 1;
        while self.0.contains_key(&taken) || taken == LISP_EVAL {
            count += 1;
            taken = fits(&format!("_{count}"));
        }
        self.0.insert(taken.clone(), name.to_owned());
        taken
    }
}

/// The schemas of tools, sorted by name. Private tools are left out by the caller.
pub(crate) fn native_tools(tools: &[ToolLine]) -> (Vec<ToolSchema>, NameMap) {
    let mut names = NameMap::default();
    let sorted = sorted(tools);
    let schemas = sorted.into_iter().map(|tool| ToolSchema {
        name: names.take(&tool.name),
        description: tool.about().unwrap_or_default(),
        parameters: match &tool.signature {
            Some(signature) => signature.input_schema(),
            None => json!({"type": "object", "properties": {}}),
        },
    });
    (schemas.collect(), names)
}

/// A schema in the form that most providers share.
pub fn openai(schema: &ToolSchema) -> Json {
    let mut function = json!({"name": schema.name});
    if !schema.description.is_empty() {
        function["description"] = json!(schema.description);
    }
    function["parameters"] = schema.parameters.clone();
    json!({"type": "function", "function": function})
}

#[cfg(test)]
mod tests {
    use super::super::tools::tool;
    use super::*;

    #[test]
    fn r4_1_lisp_eval_takes_one_program() {
        let schema = openai(&lisp_eval(EvalProfile::WithAppTools));
        let expected = json!({"type": "function", "function": {
            "name": "lisp_eval",
            "description": Card::LispEvalWithAppTools.text(),
            "parameters": {
                "type": "object",
                "properties": {"program": {"type": "string", "description": Card::LispEvalProgram.text()}},
                "required": ["program"],
                "additionalProperties": false,
            },
        }});
        assert_eq!(schema, expected);
    }

    #[test]
    fn r4_2_each_profile_has_its_description() {
        let texts = [EvalProfile::WithAppTools, EvalProfile::TextMode, EvalProfile::NoTools]
            .map(|profile| lisp_eval(profile).description);
        assert!(texts[0].contains("only native tool") && texts[0].contains("(tool/name {:key value})"));
        assert!(texts[1].contains("same turn") && texts[1].contains("<ptc_tools>"));
        assert!(
            texts[2].contains("No tools")
                && texts[2].contains("context")
                && texts[2].contains("kept between calls")
        );
    }

    #[test]
    fn r5_11_names_are_underscored_and_mapped_back() {
        let tools =
            [tool("find-orders", "(customer_id :int, limit :int?) -> [:any]", "Finds"), tool("ping", "", "")];
        let (schemas, names) = native_tools(&tools);
        let shown: Vec<_> = schemas.iter().map(|schema| schema.name.as_str()).collect();
        assert_eq!(shown, ["find_orders", "ping"]);
        assert_eq!(schemas[0].parameters["required"], json!(["customer_id"]));
        assert_eq!(schemas[1].parameters, json!({"type": "object", "properties": {}}));
        let described = openai(&schemas[1])["function"].as_object().unwrap().contains_key("description");
        assert!(!described);
        let cases =
            [("find_orders", Some("find-orders")), ("find-orders", Some("find-orders")), ("nope", None)];
        for (called, expected) in cases {
            assert_eq!(names.original(called), expected);
        }
    }

    #[test]
    fn r5_11_names_that_fall_together_stay_apart() {
        let long = "x".repeat(90);
        let (schemas, names) = native_tools(&[
            tool("a-b", "", ""),
            tool("a_b", "", ""),
            tool(&long, "", ""),
            tool("lisp-eval", "", ""),
        ]);
        let shown: Vec<_> = schemas.iter().map(|schema| schema.name.clone()).collect();
        assert_eq!(shown, ["a_b".to_owned(), "a_b_2".into(), "lisp_eval_2".into(), "x".repeat(64)]);
        assert_eq!(names.original("a_b"), Some("a-b"));
        assert_eq!(names.original("a_b_2"), Some("a_b"));
        assert_eq!(names.original(&shown[3]), Some(long.as_str()));
    }
}
