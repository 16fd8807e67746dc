//! Options by name, for agents that are files: one table with the name, type, default and meaning of each,
//! and how it is read. Documentation and editors' schemas are made from it.

use ptc_lisp::analyze::closest;
use ptc_signature::OnMissing;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use super::error::BuildError;
use super::kind::Kind;
use super::options::Options;
use crate::compact::Compaction;
use crate::journal::plan_from_json;
use crate::model::Llm;
use crate::prompt::{LanguageSpec, PromptParts, SystemPrompt};

/// An option, described.
pub struct OptionInfo {
    /// Its name.
    pub name: &'static str,
    /// What it takes, in words.
    pub takes: &'static str,
    /// The same for editors.
    pub kind: Kind,
    /// What it is unless set.
    pub default: &'static str,
    /// What it is for.
    pub doc: &'static str,
    /// Reads it.
    pub(super) set: fn(&mut Options, &Json) -> Result<(), String>,
}

macro_rules! options {
    ($($name:literal, $takes:literal, $kind:expr, $default:literal, $doc:literal, $set:expr;)*) => {
        /// All options that can be set by name, in the order of documentation.
        pub static OPTIONS: &[OptionInfo] = &[
            $(OptionInfo { name: $name, takes: $takes, kind: $kind, default: $default, doc: $doc, set: $set },)*
        ];
    };
}

options! {
    "prompt", "text with {{placeholders}}", Kind::Text, "required", "The mission.",
        |o, v| into(&mut o.prompt, text(v));
    "signature", "a signature", Kind::Text, "none: any answer", "What the agent takes and gives.",
        |o, v| into(&mut o.signature, text(v).map(Some));
    "output", "ptc_lisp or text", Kind::Choice(&["ptc_lisp", "text"]), "ptc_lisp", "Whether the model answers with programs or with text.",
        |o, v| into(&mut o.output, read(v, "must be ptc_lisp or text"));
    "ptc_transport", "content or tool_call", Kind::Choice(&["content", "tool_call"]), "content; none for text",
        "How programs come: in the reply, or as the argument of `lisp_eval`. With text output, tool_call is combined mode.",
        |o, v| into(&mut o.ptc_transport, read(v, "must be content or tool_call").map(Some));
    "ptc_reference", "compact", Kind::Choice(&["compact"]), "compact", "The reference card of combined mode.",
        |_, v| reference(v);
    "llm", "a name of the registry", Kind::Text, "that of the run", "The model.",
        |o, v| into(&mut o.llm, text(v).map(|name| Some(Llm::named(name))));
    "llm_retry", "{max_attempts, backoff, base_delay, retryable_errors}", Kind::Map, "three attempts, exponential from 1000 ms",
        "When a model that could not be reached is asked again.",
        |o, v| into(&mut o.llm_retry, map(v, "must be a map with max_attempts, backoff, base_delay, retryable_errors").map(Some));
    "llm_opts", "a map", Kind::Map, "none", "Options for the provider, handed on as they are.",
        |o, v| into(&mut o.llm_opts, object(v));
    "max_turns", "positive integer", Kind::Positive, "5", "Turns of work.",
        |o, v| into(&mut o.max_turns, positive(v));
    "retry_turns", "integer from 0", Kind::Natural, "0", "More turns to correct an answer that breaks the signature.",
        |o, v| into(&mut o.retry_turns, natural(v));
    "max_tool_calls", "positive integer or null", Kind::Either(&[Kind::Positive, Kind::Null]), "no limit",
        "Tool calls of one program, or of the whole run in text mode.",
        |o, v| into(&mut o.max_tool_calls, optional(v, positive));
    "max_consecutive_failures", "positive integer or null", Kind::Either(&[Kind::Positive, Kind::Null]), "no limit", "Failing turns in a row that end the run.",
        |o, v| into(&mut o.max_consecutive_failures, optional(v, positive));
    "completion_mode", "implicit or explicit", Kind::Choice(&["implicit", "explicit"]), "implicit", "Whether a last turn without `(return …)` is a failure of its own.",
        |o, v| into(&mut o.completion_mode, read(v, "must be implicit or explicit"));
    "timeout", "milliseconds", Kind::Positive, "5000", "Time of one program, tools included.",
        |o, v| match v {
            Json::Null => Err("must not be null: a program always has a limit of time".to_owned()),
            _ => into(&mut o.timeout_ms, positive(v)),
        };
    "mission_timeout", "milliseconds or null", Kind::Either(&[Kind::Positive, Kind::Null]), "none (draft: 60000)", "Time of the whole run.",
        |o, v| into(&mut o.mission_timeout_ms, optional(v, positive));
    "max_heap", "words of 8 bytes or null", Kind::Either(&[Kind::Positive, Kind::Null]), "64 MB", "Memory of a program.",
        |o, v| into(&mut o.max_heap, optional(v, positive).map(|words: Option<usize>| words.map(|n| n.saturating_mul(8))));
    "fuel", "positive integer or null", Kind::Either(&[Kind::Positive, Kind::Null]), "100 million", "Work of a program.",
        |o, v| into(&mut o.fuel, optional(v, positive));
    "memory_limit", "bytes or null", Kind::Either(&[Kind::Positive, Kind::Null]), "null", "Size of all definitions that turns leave behind; `null` means as much as the memory of programs holds.",
        |o, v| into(&mut o.memory_limit, optional(v, positive));
    "memory_strategy", "strict or rollback", Kind::Choice(&["strict", "rollback"]), "rollback", "Whether definitions beyond the limit end the run, or are taken back and the model is told.",
        |o, v| into(&mut o.memory_strategy, read(v, "must be strict or rollback"));
    "pmap_timeout", "milliseconds", Kind::Positive, "5000", "Time of each call that a branch of `pmap` or `pcalls` makes; that of the tool goes before.",
        |o, v| into(&mut o.pmap_timeout_ms, positive(v));
    "pmap_max_concurrency", "positive integer or null", Kind::Either(&[Kind::Positive, Kind::Null]), "16", "Tool calls of one program at once.",
        |o, v| into(&mut o.pmap_max_concurrency, optional(v, positive));
    "max_depth", "positive integer", Kind::Positive, "3", "Levels of agents that call agents.",
        |o, v| into(&mut o.max_depth, positive(v));
    "turn_budget", "positive integer", Kind::Positive, "20", "Turns that all agents of the run share.",
        |o, v| into(&mut o.turn_budget, positive(v));
    "tool_call_budget", "positive integer or null", Kind::Either(&[Kind::Positive, Kind::Null]), "none", "Tool calls that all agents of the run share.",
        |o, v| into(&mut o.tool_call_budget, optional(v, positive));
    "fuel_budget", "positive integer or null", Kind::Either(&[Kind::Positive, Kind::Null]), "none", "Work of programs that all agents of the run share.",
        |o, v| into(&mut o.fuel_budget, optional(v, positive));
    "token_limit", "positive integer or null", Kind::Either(&[Kind::Positive, Kind::Null]), "none", "Tokens that all agents of the run share.",
        |o, v| into(&mut o.token_limit, optional(v, positive));
    "max_cost_usd", "positive number or null", Kind::Either(&[Kind::Amount, Kind::Null]), "none", "Dollars that all agents of the run share.",
        |o, v| into(&mut o.max_cost_usd, optional(v, dollars));
    "name", "text", Kind::Text, "none", "A name for traces.",
        |o, v| into(&mut o.name, filled(v).map(Some));
    "description", "text", Kind::Text, "none", "What it does, for those who call it as a tool.",
        |o, v| into(&mut o.description, filled(v).map(Some));
    "field_descriptions", "map of texts", Kind::Texts, "none", "What fields of the answer mean.",
        |o, v| into(&mut o.field_descriptions, map(v, "must be a map from fields to texts"));
    "context_descriptions", "map of texts", Kind::Texts, "none", "What inputs mean.",
        |o, v| into(&mut o.context_descriptions, map(v, "must be a map from inputs to texts"));
    "context_signature", "a signature", Kind::Text, "none", "Types of the inputs, where the signature does not give them.",
        |o, v| into(&mut o.context_signature, text(v).map(Some));
    "signature_validation", "enabled, warn_only, disabled or strict", Kind::Choice(&["enabled", "warn_only", "disabled", "strict"]), "enabled", "How strictly contracts hold.",
        |o, v| into(&mut o.signature_validation, mode(v));
    "schema", "JSON Schema", Kind::Map, "from the signature", "The schema that text agents hand to the provider.",
        |o, v| into(&mut o.schema, object(v).map(Some));
    "system_prompt", "text or {prefix, suffix, language_spec, output_format}", Kind::Either(&[Kind::Text, Kind::Map]), "the library's",
        "Another system prompt, or parts of one.",
        |o, v| into(&mut o.system_prompt, system_prompt(v));
    "prompt_limit", "{max_chars, list, string}", Kind::Map, "none", "Limits of what prompts show.",
        |o, v| into(&mut o.prompt_limit, map(v, "must be a map with max_chars, list or string"));
    "samples", "integer from 0", Kind::Natural, "0 (draft: 5)", "Rows of each input that the model is shown; without them it sees keys, types and what values look like, and no row.",
        |o, v| into(&mut o.samples, natural(v).map(Some));
    "format_options", "map", Kind::Map, "see there", "Limits of what feedback shows.",
        |o, v| format_options(o, v);
    "float_precision", "integer from 0 or null", Kind::Either(&[Kind::Natural, Kind::Null]), "null", "Decimals that floats and decimals of answers are rounded to, half up, by the digits that they are shown with (`1.005` at 2 is `1.01`); `null` leaves them as they are.",
        |o, v| into(&mut o.float_precision, optional(v, natural));
    "thinking", "boolean", Kind::Flag, "false", "Whether the model may think aloud before the program.",
        |o, v| into(&mut o.thinking, boolean(v));
    "compaction", "boolean or map", Kind::Either(&[Kind::Flag, Kind::Map, Kind::Null]), "false", "Shortens long conversations.",
        |o, v| into(&mut o.compaction, Compaction::from_json(v).map_err(|error| error.to_string()));
    "llm_query", "boolean", Kind::Flag, "false", "Grants `(tool/llm-query {:prompt …})`.",
        |o, v| into(&mut o.llm_query, boolean(v));
    "builtin_tools", "list of names", Kind::List, "none", "Families of tools that the library brings along: grep.",
        |o, v| into(&mut o.builtin_tools, read(v, "must be a list of names"));
    "plan", "list of texts or [id, text]", Kind::List, "none", "Steps to be done, shown with their progress.",
        |o, v| into(&mut o.plan, plan_from_json(v).map_err(|error| error.to_string()));
    "journaling", "boolean", Kind::Flag, "false", "Shows finished tasks and teaches `task`.",
        |o, v| into(&mut o.journaling, boolean(v));
    "firewall", "boolean", Kind::Flag, "true", "Hides fields that begin with an underscore from models.",
        |o, v| into(&mut o.firewall, boolean(v));
    "fallback", "boolean", Kind::Flag, "false", "Whether the last value that fits the signature answers if no program returned before the turns ran out. A run that fails for want of an answer has `last_values` in its details, and `no_fallback` beside them where this option would not help: in combined mode, with `completion_mode` explicit, and where no value fits.",
        |o, v| into(&mut o.fallback, boolean(v));
    "multiple_blocks", "reject or sequence", Kind::Choice(&["reject", "sequence"]), "reject (draft: sequence)", "What to do with several programs in a reply.",
        |o, v| into(&mut o.multiple_blocks, read(v, "must be reject or sequence"));
    "on_missing", "keep or error", Kind::Choice(&["keep", "error"]), "keep (draft: error)", "What happens to a placeholder without a value.",
        |o, v| into(&mut o.on_missing, on_missing(v));
    "depth_inclusive", "boolean", Kind::Flag, "false (draft: true)", "Whether max_depth counts levels below the root.",
        |o, v| into(&mut o.depth_inclusive, boolean(v));
    "tool_errors_as_data", "boolean", Kind::Flag, "false", "Whether what the function of a tool gives as an error is a value, `[\"error\" text]`, in place of an exception.",
        |o, v| into(&mut o.tool_errors_as_data, boolean(v));
    "tool_cache_limit", "bytes or null", Kind::Either(&[Kind::Positive, Kind::Null]), "none", "Results of tools that the cache keeps in all.",
        |o, v| into(&mut o.tool_cache_limit, optional(v, positive));
}

/// Sets an option by name.
pub(super) fn set(options: &mut Options, name: &str, value: &Json) -> Result<(), BuildError> {
    let Some(info) = OPTIONS.iter().find(|info| info.name == name) else {
        return Err(BuildError::option(name, unknown(name)));
    };
    (info.set)(options, value).map_err(|message| BuildError::option(name, message))
}

/// What to say of a name that no option has.
fn unknown(name: &str) -> String {
    let names = || OPTIONS.iter().map(|info| info.name);
    match closest(name, names()) {
        Some(near) => format!("no such option; did you mean `{near}`?"),
        None => format!("no such option; there are {}", names().collect::<Vec<_>>().join(", ")),
    }
}

fn into<T>(place: &mut T, value: Result<T, String>) -> Result<(), String> {
    *place = value?;
    Ok(())
}

fn text(value: &Json) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or_else(|| format!("must be a string, got {value}"))
}

fn filled(value: &Json) -> Result<String, String> {
    match text(value)? {
        text if text.trim().is_empty() => Err("must not be empty".to_owned()),
        text => Ok(text),
    }
}

fn boolean(value: &Json) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| format!("must be true or false, got {value}"))
}

fn positive<T: TryFrom<u64>>(value: &Json) -> Result<T, String> {
    let number = value.as_u64().filter(|number| *number > 0).and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| format!("must be a positive integer, got {value}"))
}

fn natural<T: TryFrom<u64>>(value: &Json) -> Result<T, String> {
    let number = value.as_u64().and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| format!("must be a non-negative integer, got {value}"))
}

fn dollars(value: &Json) -> Result<f64, String> {
    let number = value.as_f64().filter(|number| *number > 0.0 && number.is_finite());
    number.ok_or_else(|| format!("must be a positive number of dollars, got {value}"))
}

fn optional<T>(value: &Json, read: fn(&Json) -> Result<T, String>) -> Result<Option<T>, String> {
    match value {
        Json::Null => Ok(None),
        value => read(value).map(Some).map_err(|message| format!("{message} (or null)")),
    }
}

fn object(value: &Json) -> Result<Json, String> {
    if value.is_object() { Ok(value.clone()) } else { Err(format!("must be a map, got {value}")) }
}

fn read<T: DeserializeOwned>(value: &Json, wanted: &str) -> Result<T, String> {
    T::deserialize(value).map_err(|_| format!("{wanted}, got {value}"))
}

fn map<T: DeserializeOwned>(value: &Json, wanted: &str) -> Result<T, String> {
    if !value.is_object() {
        return Err(format!("{wanted}, got {value}"));
    }
    T::deserialize(value).map_err(|error| format!("{wanted}: {error}"))
}

fn mode(value: &Json) -> Result<ptc_signature::Mode, String> {
    let named = value.as_str().and_then(ptc_signature::Mode::from_name);
    named.ok_or_else(|| format!("must be enabled, warn_only, disabled or strict, got {value}"))
}

fn on_missing(value: &Json) -> Result<OnMissing, String> {
    match value.as_str() {
        Some("keep") => Ok(OnMissing::Keep),
        Some("error") => Ok(OnMissing::Error),
        _ => Err(format!("must be keep or error, got {value}")),
    }
}

fn reference(value: &Json) -> Result<(), String> {
    match value.as_str() {
        Some("compact") => Ok(()),
        Some("full") => Err("`full` is not there yet; use compact".to_owned()),
        _ => Err(format!("must be compact, got {value}")),
    }
}

fn system_prompt(value: &Json) -> Result<SystemPrompt, String> {
    let wanted = "must be a text or a map with prefix, suffix, language_spec, output_format";
    let fields = match value {
        Json::String(text) => return Ok(SystemPrompt::Replace(text.clone())),
        Json::Object(fields) => fields,
        other => return Err(format!("{wanted}, got {other}")),
    };
    let mut parts = PromptParts::default();
    for (key, value) in fields {
        match key.as_str() {
            "prefix" => parts.prefix = Some(text(value)?),
            "suffix" => parts.suffix = Some(text(value)?),
            "output_format" => parts.output_format = Some(text(value)?),
            "language_spec" => {
                parts.language_spec =
                    Some(LanguageSpec::from_json(value).map_err(|error| error.to_string())?);
            }
            other => return Err(format!("{wanted}; there is no `{other}`")),
        }
    }
    Ok(SystemPrompt::Parts(parts))
}

/// Format options are read over those that hold; an unknown one is refused by name.
fn format_options(options: &mut Options, value: &Json) -> Result<(), String> {
    let wanted = "must be a map of format options";
    let Some(given) = value.as_object() else { return Err(format!("{wanted}, got {value}")) };
    let mut all = serde_json::to_value(&options.format).map_err(|error| error.to_string())?;
    for (key, value) in given {
        if all.get(key).is_none() {
            return Err(format!("{wanted}; there is no `{key}`"));
        }
        all[key] = value.clone();
        options.format = serde_json::from_value(all.clone()).map_err(|error| format!("`{key}`: {error}"))?;
    }
    Ok(())
}
