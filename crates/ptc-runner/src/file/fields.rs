//! What a file of an agent may say: the options of [`OPTIONS`], and the fields that only files have. Checks and
//! the JSON Schema for editors are made from these tables.

use ptc_agent::{Approval, Kind, OPTIONS};
use serde_json::{Map, Value as Json, json};

/// A field that only files have.
pub(super) struct Field {
    pub name: &'static str,
    pub kind: Kind,
    pub doc: &'static str,
}

const fn field(name: &'static str, kind: Kind, doc: &'static str) -> Field {
    Field { name, kind, doc }
}

/// Fields of the file itself.
pub(super) const OWN: &[Field] = &[
    field(
        "model",
        Kind::Text,
        "The model: a short name, provider:id, or script:FILE, replay:FILE, record:FILE,MODEL.",
    ),
    field("profile", Kind::Choice(&["current", "draft"]), "Which defaults hold."),
    field("limits", Kind::Map, "Limits, if you like them in a table of their own."),
    field("tools", Kind::Map, "The tools that programs may call: [tools.NAME]."),
    field(
        "tool_catalog",
        Kind::Map,
        "Tools that the model may plan with and nobody can call: [tool_catalog.NAME] with `signature` and `description`.",
    ),
    field("preludes", Kind::Words, "Files with definitions that programs may use."),
    field("upstreams", Kind::Text, "A file that names servers whose tools programs may call."),
    field(
        "allow_writes",
        Kind::Flag,
        "Whether the run goes on after a call of a server that may have changed something.",
    ),
];

/// Fields of a tool. It has exactly one of [`BODIES`].
pub(super) const TOOL: &[Field] = &[
    field("signature", Kind::Text, "What it takes and gives."),
    field("description", Kind::Text, "What it does, for the model."),
    field(
        "command",
        Kind::Words,
        "A program and its arguments: JSON comes on its input, its output is the result.",
    ),
    field(
        "env",
        Kind::Texts,
        "What is added to the environment of the command, by name; `${VAR}` is filled in when it starts. Of the rest \
         of the environment it has PATH, HOME and a few more, and no keys.",
    ),
    field("agent", Kind::Text, "A file of another agent."),
    field("prompt", Kind::Text, "A question to a model."),
    field(
        "tools",
        Kind::Map,
        "Tools of a question, [tools.NAME.tools.NAME]: with them it is an agent of several turns.",
    ),
    field("self", Kind::Flag, "The agent itself."),
    field("model", Kind::Text, "The model of the agent or question."),
    field("cache", Kind::Flag, "Whether results may be used again for the same arguments."),
    field("max_cached_bytes", Kind::Positive, "Bytes of results that are kept for it."),
    field("expose", Kind::Choice(&["native", "ptc_lisp", "both"]), "Who may call it."),
    field(
        "native_result",
        Kind::Map,
        "What the model sees of a result that is kept for programs: `{preview = \"metadata\"}`, which is its shape, or \
         `{preview = \"rows\", limit = 20}`, where 20 is the limit that it has unless it is set. It needs `expose = \"both\"` and `cache = true`.",
    ),
    field(
        "preview_rows",
        Kind::Positive,
        "Rows that the model sees of a result that is kept for programs: short for `native_result`.",
    ),
    field(
        "validation",
        Kind::Choice(&["enabled", "warn_only", "disabled", "strict"]),
        "How strictly its signature holds; as `signature_validation` says unless set.",
    ),
    field("effect", Kind::Choice(&["read", "write", "unknown"]), "What it does to the world."),
    field("approval", Kind::Choice(&Approval::NAMES), "Which calls wait until a person has decided."),
    field(
        "idempotent",
        Kind::Flag,
        "Whether a call that is made twice does the same as one that is made once.",
    ),
    field("timeout", Kind::Positive, "Milliseconds of a call."),
];

/// What a tool can be.
pub(super) const BODIES: [&str; 4] = ["command", "agent", "prompt", "self"];

/// Options that may stand in the table `limits` too.
pub(super) const LIMITS: &[&str] = &[
    "max_turns",
    "retry_turns",
    "max_tool_calls",
    "max_consecutive_failures",
    "timeout",
    "mission_timeout",
    "max_heap",
    "fuel",
    "memory_limit",
    "pmap_timeout",
    "pmap_max_concurrency",
    "max_depth",
    "turn_budget",
    "tool_call_budget",
    "fuel_budget",
    "token_limit",
    "max_cost_usd",
    "tool_cache_limit",
];

/// The option that files call `model`.
pub(super) const LLM: &str = "llm";

/// Names that may stand at the top of a file.
pub(super) fn top() -> impl Iterator<Item = &'static str> {
    let options = OPTIONS.iter().map(|option| option.name).filter(|name| *name != LLM);
    options.chain(OWN.iter().map(|field| field.name))
}

/// What to say of a name that is not among those that may stand here.
pub(super) fn unknown(name: &str, what: &str, known: impl Iterator<Item = &'static str>) -> String {
    let known: Vec<&str> = known.collect();
    let nearest = known.iter().map(|other| (distance(name, other), *other)).min();
    match nearest {
        Some((far, other)) if far <= 1 + name.len() / 4 => {
            format!("no such {what}; did you mean `{other}`?")
        }
        _ => format!("no such {what}; there are {}", known.join(", ")),
    }
}

/// How many letters must change to make one name of the other. Names here are short.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (at, letter) in left.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (column, other) in right.iter().enumerate() {
            let change = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = change.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[right.len()]
}

/// The JSON Schema of files of agents.
pub fn agent_schema() -> Json {
    let described = |kind: Kind, doc: &str| {
        let mut schema = kind.schema();
        schema["description"] = Json::from(doc);
        schema
    };
    let option = |name: &str| {
        let option = OPTIONS.iter().find(|option| option.name == name);
        option.map(|option| match option.default {
            "required" => described(option.kind, option.doc),
            default => described(option.kind, &format!("{} Unless set: {default}.", option.doc)),
        })
    };
    let object = |fields: Map<String, Json>| json!({"type": "object", "properties": fields, "additionalProperties": false});
    let of = |fields: &[Field]| -> Map<String, Json> {
        fields.iter().map(|field| (field.name.to_owned(), described(field.kind, field.doc))).collect()
    };
    let mut tool = object(of(TOOL));
    tool["properties"]["tools"]["additionalProperties"] =
        json!({"$ref": "#/properties/tools/additionalProperties"});
    tool["oneOf"] = BODIES.iter().map(|body| json!({"required": [body]})).collect();
    let mut limits =
        object(LIMITS.iter().filter_map(|name| Some(((*name).to_owned(), option(name)?))).collect());
    let mut own = of(OWN);
    limits["description"] = own["limits"]["description"].clone();
    own["tools"]["additionalProperties"] = tool;
    own.insert("limits".to_owned(), limits);
    let options = OPTIONS.iter().filter(|option| option.name != LLM);
    let mut fields: Map<String, Json> =
        options.filter_map(|info| Some((info.name.to_owned(), option(info.name)?))).collect();
    fields.extend(own);
    let mut schema = object(fields);
    schema["required"] = json!(["prompt"]);
    let mut whole = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "An agent of PtcRunner",
    });
    if let (Some(whole), Json::Object(schema)) = (whole.as_object_mut(), schema) {
        whole.extend(schema);
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_options() {
        for name in LIMITS {
            assert!(OPTIONS.iter().any(|option| option.name == *name), "{name}");
        }
        assert!(OPTIONS.iter().any(|option| option.name == LLM));
    }

    #[test]
    fn names_that_are_nearly_right_are_found() {
        assert_eq!(unknown("max_turn", "option", top()), "no such option; did you mean `max_turns`?");
        assert!(unknown("colour", "option", top()).contains("there are prompt, signature"));
    }

    #[test]
    fn the_schema_has_every_field_once() {
        let schema = agent_schema();
        for name in top() {
            assert!(schema["properties"][name]["description"].is_string(), "{name}");
        }
        assert_eq!(schema["properties"]["limits"]["properties"]["fuel"], schema["properties"]["fuel"]);
        assert_eq!(schema["properties"]["tools"]["additionalProperties"]["oneOf"][3]["required"][0], "self");
    }
}
