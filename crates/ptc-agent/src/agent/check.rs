//! Checks options against each other and makes the agent. Nothing is left for the run to find out.

use std::collections::BTreeMap;
use std::sync::Arc;

use ptc_signature::{Mode, Placeholder, Signature, Template, Type};

use super::Agent;
use super::error::BuildError;
use super::options::{Options, Transport};
use crate::grep::GREP_TOOLS;
use crate::model::Output;
use crate::reason::Reason;
use crate::tool::{Body, Builtin, Expose, Tool};

/// What a tool that is the agent itself says of itself, unless told.
const SELF_DESCRIPTION: &str = "Does this whole mission again on a part of it, with inputs of its own.";

/// What `llm-query` takes besides the values of its prompt.
const LLM_QUERY_SIGNATURE: &str = "(prompt :string, signature :string?) -> :any";

/// Names that belong to the system.
const RESERVED: [&str; 3] = ["lisp_eval", "return", "fail"];

pub(super) fn build(options: Options) -> Result<Agent, BuildError> {
    numbers(&options)?;
    texts(&options)?;
    let signature = signature("signature", options.signature.as_deref())?;
    let context_types = signature_of_context(&options)?;
    let source = if options.literal_prompt { "" } else { &options.prompt };
    let template =
        Template::parse(source).map_err(|error| BuildError::option("prompt", error.to_string()))?;
    if !options.literal_prompt {
        placeholders(&options, &template, signature.as_ref())?;
    }
    modes(&options)?;
    if let Some(compaction) = &options.compaction {
        compaction.check().map_err(|error| BuildError::option("compaction", error.to_string()))?;
    }
    if options.output == Output::Text && options.compaction.is_some() {
        return Err(BuildError::option(
            "compaction",
            "works on runs of programs only; leave it out of a text agent",
        ));
    }
    let tools = tools(&options, signature.as_ref())?;
    let id = identify(&options, &tools);
    Ok(Agent { options, template, signature, context_types, tools, id })
}

fn numbers(options: &Options) -> Result<(), BuildError> {
    let positive: [(&str, Option<u64>); 12] = [
        ("max_turns", Some(options.max_turns.into())),
        ("timeout", Some(options.timeout_ms)),
        ("pmap_timeout", Some(options.pmap_timeout_ms)),
        ("mission_timeout", options.mission_timeout_ms),
        ("memory_limit", options.memory_limit.map(|bytes| bytes as u64)),
        ("max_depth", Some(options.max_depth.into())),
        ("turn_budget", Some(options.turn_budget)),
        ("max_tool_calls", options.max_tool_calls),
        ("max_consecutive_failures", options.max_consecutive_failures.map(u64::from)),
        ("token_limit", options.token_limit),
        ("fuel", options.fuel),
        ("max_heap", options.max_heap.map(|bytes| bytes as u64)),
    ];
    if let Some((name, _)) = positive.iter().find(|(_, value)| *value == Some(0)) {
        return Err(BuildError::option(*name, "must be a positive integer, got 0"));
    }
    match options.max_cost_usd {
        Some(cost) if !(cost > 0.0 && cost.is_finite()) => Err(BuildError::option(
            "max_cost_usd",
            format!("must be a positive number of dollars, got {cost}"),
        )),
        _ => Ok(()),
    }
}

fn texts(options: &Options) -> Result<(), BuildError> {
    if options.prompt.trim().is_empty() {
        return Err(BuildError::option("prompt", "is required: say what the agent is to do"));
    }
    for (name, text) in [("name", &options.name), ("description", &options.description)] {
        if text.as_ref().is_some_and(|text| text.trim().is_empty()) {
            return Err(BuildError::option(name, "must not be empty; leave it out instead"));
        }
    }
    Ok(())
}

fn signature(option: &str, text: Option<&str>) -> Result<Option<Signature>, BuildError> {
    let invalid = |error| BuildError::option(option, format!("invalid signature: {error}"));
    text.map(Signature::parse).transpose().map_err(invalid)
}

fn signature_of_context(options: &Options) -> Result<Option<Type>, BuildError> {
    let signature = signature("context_signature", options.context_signature.as_deref())?;
    Ok(signature.map(|signature| signature.output))
}

/// Placeholders name parameters; in agents of text alone, where data only reaches the model through the prompt, each
/// parameter has its placeholder too, and lists stand in sections.
fn placeholders(
    options: &Options,
    template: &Template,
    signature: Option<&Signature>,
) -> Result<(), BuildError> {
    let Some(signature) = signature else { return Ok(()) };
    let used = template.placeholders();
    let outer: Vec<&Placeholder> = used.iter().filter(|placeholder| placeholder.path != ".").collect();
    let programs = options.output == Output::PtcLisp || options.ptc_transport == Some(Transport::ToolCall);
    if !programs {
        template
            .check(signature)
            .map_err(|error| BuildError::option("prompt", error.to_string().replace('\n', "; ")))?;
        let mut unused: Vec<&str> = signature.input.fields.iter().map(|field| field.name.as_str()).collect();
        unused.retain(|name| {
            !outer.iter().any(|placeholder| ptc_signature::keys::same(first_segment(&placeholder.path), name))
        });
        unused.sort_unstable();
        return match unused.is_empty() {
            true => Ok(()),
            false => Err(BuildError::option(
                "prompt",
                format!("does not use the parameters {}", unused.join(", ")),
            )),
        };
    }
    if template.has_sections() {
        return template
            .check_names(signature)
            .map_err(|error| BuildError::option("prompt", error.to_string().replace('\n', "; ")));
    }
    let missing: Vec<String> = outer
        .iter()
        .filter(|placeholder| signature.resolve(&placeholder.path).is_err())
        .map(|placeholder| format!("{{{{{}}}}}", placeholder.path))
        .collect();
    match missing.is_empty() {
        true => Ok(()),
        false => Err(BuildError::option(
            "prompt",
            format!("{} not in the signature's parameters", missing.join(", ")),
        )),
    }
}

fn first_segment(path: &str) -> &str {
    path.split('.').next().unwrap_or(path)
}

fn modes(options: &Options) -> Result<(), BuildError> {
    if options.output == Output::Text && options.ptc_transport == Some(Transport::Content) {
        return Err(BuildError::option(
            "ptc_transport",
            "content makes no sense with text output, which has no programs; use tool_call (combined mode) or leave it out",
        ));
    }
    Ok(())
}

/// The granted tools by name, those of the library included.
fn tools(
    options: &Options,
    signature: Option<&Signature>,
) -> Result<BTreeMap<String, Arc<Tool>>, BuildError> {
    let mut tools = BTreeMap::new();
    for tool in &options.tools {
        named(tool, "tools")?;
        metadata(options, tool)?;
        let tool = resolved(options, tool, signature)?;
        if tools.insert(tool.name.clone(), Arc::new(tool.clone())).is_some() {
            return Err(BuildError::option("tools", format!("`{}` is there twice", tool.name)));
        }
    }
    for tool in &options.tool_catalog {
        named(tool, "tool_catalog")?;
    }
    for tool in builtin(options)? {
        tools.entry(tool.name.clone()).or_insert_with(|| Arc::new(tool));
    }
    Ok(tools)
}

fn named(tool: &Tool, option: &str) -> Result<(), BuildError> {
    if RESERVED.contains(&tool.name.as_str()) {
        let message = format!("`{}` is a name of the system; give the tool another", tool.name);
        return Err(BuildError::option(option, message).because(Reason::RESERVED_TOOL_NAME));
    }
    let fine = |c: char| c.is_alphanumeric() || "-_.!?*+<>=&/".contains(c);
    if tool.name.is_empty()
        || !tool.name.chars().all(fine)
        || tool.name.starts_with(|c: char| c.is_ascii_digit())
    {
        let message =
            format!("`{}` cannot be called as (tool/name …); use letters, digits, - and _", tool.name);
        return Err(BuildError::option(option, message));
    }
    Ok(())
}

fn metadata(options: &Options, tool: &Tool) -> Result<(), BuildError> {
    let wrong = |message: &str| Err(BuildError::option("tools", format!("`{}`: {message}", tool.name)));
    if tool.native_result.is_some() && (tool.expose != Some(Expose::Both) || !tool.cache) {
        return wrong(
            "a preview of its results (native_result, preview_rows) needs expose: both and cache: true, so that programs \
             can reach the full result",
        );
    }
    match (tool.expose, options.output, options.ptc_transport) {
        (Some(Expose::Native), Output::PtcLisp, _) => {
            return wrong(
                "nobody could call it: expose: native is for models that call tools themselves (output: text), and here \
                 programs do; leave it out, or say ptc_lisp",
            );
        }
        (Some(Expose::PtcLisp), Output::Text, None | Some(Transport::Content)) => {
            return wrong(
                "nobody could call it: expose: ptc_lisp is for programs, which a text agent has with ptc_transport: \
                 tool_call; leave it out, or say native",
            );
        }
        _ => {}
    }
    if matches!(&tool.native_result, Some(crate::tool::Preview::Rows { limit: 0 })) {
        return wrong("native_result: limit must be a positive integer");
    }
    let strict = tool.validation.unwrap_or(options.signature_validation) == Mode::Strict;
    if strict && tool.signature.is_none() && !matches!(tool.body, Body::This) {
        return wrong("strict validation wants a signature for every tool");
    }
    if matches!(&tool.body, Body::Agent(_)) && tool.description.is_none() {
        return wrong("an agent as a tool needs a description, its own or the tool's");
    }
    Ok(())
}

/// A tool that stands for the agent itself gets the agent's signature.
fn resolved(options: &Options, tool: &Tool, signature: Option<&Signature>) -> Result<Tool, BuildError> {
    let mut tool = tool.clone();
    if matches!(tool.body, Body::This) {
        let Some(signature) = signature else {
            let message = format!("`{}` calls the agent itself, which needs a signature for that", tool.name);
            return Err(BuildError::option("tools", message));
        };
        tool.signature = Some(signature.clone());
        let description = options.description.clone();
        tool.description = tool.description.or(description).or_else(|| Some(SELF_DESCRIPTION.to_owned()));
    }
    Ok(tool)
}

fn builtin(options: &Options) -> Result<Vec<Tool>, BuildError> {
    let make = |name: &str, signature: &str, description: &str, body: Builtin| {
        Tool::with_body(name, Body::Builtin(body))
            .expose(Expose::Both)
            .description(description)
            .signature(signature)
            .map_err(|error| BuildError::option("builtin_tools", error.to_string()))
    };
    let mut tools = Vec::new();
    for family in &options.builtin_tools {
        match family.as_str() {
            "grep" => {
                for tool in &GREP_TOOLS {
                    tools.push(make(tool.name, tool.signature, tool.description, Builtin::Pure(tool.call))?);
                }
            }
            other => {
                return Err(BuildError::option(
                    "builtin_tools",
                    format!("there is no family `{other}`; there is grep"),
                ));
            }
        }
    }
    if options.llm_query {
        let description = "Asks a language model.";
        tools.push(make("llm-query", LLM_QUERY_SIGNATURE, description, Builtin::LlmQuery)?);
    }
    Ok(tools)
}

/// Eight digits over what makes the agent what it is.
fn identify(options: &Options, tools: &BTreeMap<String, Arc<Tool>>) -> String {
    let names: Vec<&str> = tools.keys().map(String::as_str).collect();
    let text = format!(
        "{:?}|{:?}|{:?}|{}|{:?}|{:?}|{}",
        options.name,
        options.system_prompt,
        options.signature,
        names.join(","),
        options.output,
        options.ptc_transport,
        options.prompt
    );
    format!("{:08x}", crate::hash::fnv(text.as_bytes()) as u32)
}
