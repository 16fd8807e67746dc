//! The beginning of a run and of each request: inputs checked, prompts composed.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use ptc_lisp::machine::Machine;
use ptc_lisp::view::{Bounds, View};
use ptc_signature::{Mode as Strictness, OnMissing, Signature, TemplateError, Type};
use serde_json::{Map, Value as Json, json};

use super::clock::{Clock, Looks};
use super::node::{After, Book, Node, Origin, State};
use super::sandbox::{self, Sandbox};
use super::text::variant;
use super::{AgentRun, Context, Next, RunOptions, Shared, calls, children, content, events, lent, program};
use crate::agent::{Agent, Mode};
use crate::budget::{Budget, Unit};
use crate::feedback;
use crate::journal::{self, Phase, ProgressInput};
use crate::model::{Llm, Message};
use crate::prompt::{
    self, Behavior, ContextBlock, ContextLine, DataLine, Expanded, Expansion, LanguageSpec, ProgramTransport,
    SpecInput, TextVariant, ToolLine, UserLine,
};
use crate::reason::Reason;
use crate::render::{self, MissionLogIn, Sketch, ViewLimits};
use crate::step::Fail;
use crate::tool::Tool;
use crate::written::{Datum, view};

/// Begins a run.
pub(super) fn begin(agent: Arc<Agent>, mut options: RunOptions, now: u64) -> AgentRun {
    if let Context::Data(data) = &mut options.context
        && agent.lacks_optional(data)
    {
        agent.complete(Arc::make_mut(data));
    }
    let trace_id = options.trace_id.clone().unwrap_or_else(|| trace_id(&agent, &options, now));
    let limits = children::limits(&agent);
    let tokens = limits.of(Unit::Tokens).into_iter().chain(options.token_limit).min();
    let mut budget = Budget::default();
    let deadline = agent.options().mission_timeout_ms.map(|timeout| now.saturating_add(timeout));
    let account = budget.open(None, limits.most(Unit::Tokens, tokens).until(deadline));
    let carried = options.carried.take();
    let llm = options.llm.clone().or_else(|| agent.options().llm.clone());
    let mut node = Node {
        id: 0,
        caller: None,
        origin: Origin::Root,
        llm,
        depth: 0,
        depth_limit: children::depth_limit(&agent),
        account,
        began: now,
        deadline,
        span: String::new(),
        parent_span: None,
        context: Arc::new(Json::Object(Map::new())),
        written: None,
        context_signature: None,
        program: options.program.clone(),
        descriptions: agent.options().context_descriptions.clone(),
        sandbox: Sandbox::default(),
        cache: children::cache(&agent),
        veil: render::Veil::default(),
        messages: options.initial_messages.clone(),
        system: String::new(),
        mission: String::new(),
        inventory: String::new(),
        state: State::New,
        book: Book { tally: children::tally(&agent), ..Book::default() },
        agent: agent.clone(),
    };
    if let Some(carried) = carried {
        node.messages.splice(0..0, carried.messages.iter().cloned());
        node.cache = carried.cache.clone();
        node.veil = carried.veil.clone();
        let machine = carried.machine.as_deref().and_then(|bytes| {
            let preludes = agent.options().prelude.as_slice();
            Machine::load_dump_for(bytes, &ptc_lisp::Limits::default(), preludes, &options.owner).ok()
        });
        node.sandbox.machine = machine.map(Box::new);
    }
    let shared = Shared {
        options: Arc::new(options),
        budget,
        now,
        asks: BTreeMap::new(),
        fresh: Vec::new(),
        next_ask: 1,
        ready: VecDeque::from([0]),
        events: Vec::new(),
        next_span: 0,
        trace_id,
        recorded_bytes: 0,
        clock: Clock::default(),
        looks: Looks::default(),
        lost: None,
    };
    AgentRun { root: agent, nodes: vec![Some(Box::new(node))], shared, result: None, carried: None }
}

/// An id for a run that has none: 32 hexadecimal digits.
fn trace_id(agent: &Agent, options: &RunOptions, now: u64) -> String {
    let seed = format!("{}/{}/{now}", agent.id(), options.seed);
    let turned: String = seed.chars().rev().collect();
    format!("{:016x}{:016x}", crate::hash::fnv(seed.as_bytes()), crate::hash::fnv(turned.as_bytes()))
}

/// Names of tools and inputs stand in prompts, where programs are to find them: a hidden text that is spelt so stays there.
pub(super) fn spare_names(node: &mut Node) {
    const SECTIONS: [&str; 3] = ["data", "tool", "user"];
    let options = node.agent.options();
    let catalog = options.tool_catalog.iter().map(|tool| tool.name.as_str());
    let tools = node.agent.tools().keys().map(String::as_str).chain(catalog);
    let inputs = node.context.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    let names: Vec<String> = tools.chain(inputs).chain(SECTIONS).map(str::to_owned).collect();
    node.veil.spare(names);
}

/// Remembers what is hidden in the inputs; whether there was room for all of it.
fn hide(node: &mut Node, shared: &Shared) -> bool {
    if !node.agent.options().firewall {
        return true;
    }
    spare_names(node);
    let (context, written) = (node.context.clone(), node.written.clone());
    let mut all = true;
    for (name, value) in context.as_object().into_iter().flatten() {
        all &= match written.as_ref().and_then(|written| written.long(name)) {
            Some(text) => node.veil.learn_written(name, text),
            None => node.veil.learn_named(name, value),
        };
    }
    if node.caller.is_none() {
        let options = shared.options.clone();
        for (name, value) in options.initial_memory.iter().chain(&options.journal) {
            all &= node.veil.learn_named(name, value);
        }
    }
    all
}

/// The first step of a node: inputs, then the first message.
pub(super) fn start(node: &mut Node, shared: &mut Shared) -> Next {
    node.span = shared.span();
    if node.caller.is_none() {
        match root_context(node, shared) {
            Ok(context) => node.context = context,
            Err(fail) => return Next::Over(Err(fail)),
        }
    }
    let keys: Vec<&String> = node.inputs().map(|(name, _)| name).collect();
    let seed = node.caller.is_none().then_some(shared.options.seed);
    shared.event(node, "run.start", json!({}), events::config(node, &keys, seed));
    if let Err(fail) = check(node, shared) {
        return Next::Over(Err(fail));
    }
    if !hide(node, shared) {
        let message = format!("the inputs cannot be taken: {}", calls::TOO_MUCH_HIDDEN);
        return Next::Over(Err(Fail::new(Reason::VALIDATION_ERROR, message)));
    }
    if node.caller.is_none() {
        // One that was left out is nil, and brings nothing.
        let given = node.inputs().filter(|(_, value)| value.kind() != "nil");
        node.book.brought = given.map(|(_, value)| value.bytes()).sum();
    }
    if let Some(source) = node.program.clone() {
        node.book.tally.begin();
        node.book.draft.number = 1;
        return program::begin(node, shared, &source, After::Whole);
    }
    if node.llm.is_none() {
        return Next::Over(Err(Fail::new(
            Reason::LLM_REQUIRED,
            "the run has no model; give it one with `llm`",
        )));
    }
    let held = renew_inputs(node).and_then(|()| hold_inputs(node, shared));
    match held.and_then(|()| compose(node, shared)) {
        Ok(()) => Next::Turn,
        Err(fail) => Next::Over(Err(fail)),
    }
}

/// The inputs of the run.
fn root_context(node: &mut Node, shared: &Shared) -> Result<Arc<Json>, Fail> {
    match &shared.options.context {
        Context::Data(data) => match &**data {
            Json::Null => Ok(Arc::new(Json::Object(Map::new()))),
            Json::Object(_) => Ok(data.clone()),
            other => Err(Fail::new(
                Reason::VALIDATION_ERROR,
                format!(
                    "the context must be a map of inputs, got {}",
                    render::brief_json(other, ViewLimits::SAMPLE, true)
                ),
            )),
        },
        Context::Written(written) => {
            let mut context = written.brief().clone();
            if node.agent.lacks_optional(&context) {
                node.agent.complete(Arc::make_mut(&mut context));
            }
            node.written = Some(written.clone());
            Ok(context)
        }
        Context::Step(step) => {
            let mut context = crate::chain::context_of(step)?;
            node.agent.complete(&mut context);
            node.context_signature.clone_from(&step.signature);
            for (name, text) in &step.field_descriptions {
                node.descriptions.insert(name.clone(), text.clone());
            }
            Ok(Arc::new(context))
        }
    }
}

/// What must hold before a model is asked.
fn check(node: &mut Node, shared: &Shared) -> Result<(), Fail> {
    let options = node.agent.options();
    if node.caller.is_none() {
        if let Some(fail) = node.agent.clash(&node.context) {
            return Err(fail);
        }
        if let Some((name, _)) = shared.options.registry.iter().find(|(_, llm)| matches!(llm, Llm::Named(_)))
        {
            let message = format!("`{name}` of the registry is a name, not a model");
            return Err(Fail::new(Reason::INVALID_LLM_REGISTRY, message));
        }
    }
    lent::admit(node, shared)?;
    if options.on_missing == OnMissing::Error
        && let Err(error @ TemplateError::Missing(_)) =
            node.agent.template().render(&*node.agent.for_prompt(&whole(node, None)), OnMissing::Error)
    {
        return Err(Fail::new(Reason::TEMPLATE_ERROR, error.to_string()));
    }
    check_inputs(node)
}

/// Holds the inputs to the signature. Those of an agent that is called were held to it at the call, if not as
/// strictly, and a message of a chat needs none of those that the mission does.
fn check_inputs(node: &mut Node) -> Result<(), Fail> {
    let options = node.agent.options();
    let elsewhere = node.caller.is_some() || options.literal_prompt;
    if elsewhere && options.signature_validation != Strictness::Strict {
        return Ok(());
    }
    let taken = match node.written {
        None => node.agent.takes(&node.context),
        Some(_) => node.agent.takes_parts(node.inputs()),
    };
    match taken {
        Ok(warnings) => {
            warnings.iter().for_each(|issue| node.book.warn(format!("input {issue}")));
            // What another agent gave has fields that this one need not know.
            if !elsewhere && node.context_signature.is_none() {
                let unknown = node.agent.unknown_inputs(&node.context);
                unknown.into_iter().for_each(|warning| node.book.warn(warning));
            }
            Ok(())
        }
        Err(rejection) => Err(Fail::new(Reason::VALIDATION_ERROR, rejection.feedback("Input"))),
    }
}

/// Composes the first message.
fn compose(node: &mut Node, shared: &mut Shared) -> Result<(), Fail> {
    let mode = node.agent.mode();
    let runs_programs = matches!(mode, Mode::Content | Mode::ToolCall);
    let expanded = mission(node, None)?;
    let shown = expanded.shown;
    // What the author of the agent wrote is no secret, whatever it is spelt like.
    let (text, below) = match shown == 0 && node.caller.is_none() {
        true => (expanded.text.clone(), expanded.below.clone()),
        false => {
            let cover = |text: &str| node.veil.cover_message(text).into_owned();
            (cover(&expanded.text), cover(&expanded.below))
        }
    };
    node.mission = match mode {
        Mode::Text => expanded.text.clone(),
        _ => mission(node, Some(Expansion::Short))?.text,
    };
    node.book.shown = node.book.shown.saturating_add(shown as u64);
    if runs_programs {
        prepare_memory(node, shared)?;
        let data = data_lines(node, &expanded);
        node.book.shown = node.book.shown.saturating_add(data.iter().map(shown_bytes).sum::<usize>() as u64);
        node.inventory = node.veil.cover_message(&inventory(node, shared, &data)).into_owned();
    }
    let progress = if runs_programs { progress(node, 0) } else { String::new() };
    let first = match mode {
        Mode::Content | Mode::ToolCall => {
            let context = (!node.agent.options().format.context_in_system).then_some(node.inventory.as_str());
            prompt::first_message(context, &text, (!progress.is_empty()).then_some(progress.as_str()))
        }
        Mode::Text | Mode::Combined => {
            let mut lines = context_lines(node, &expanded);
            for line in &mut lines {
                line.value = node.veil.cover_message(&line.value).into_owned();
            }
            let message = text_message(node, &lines, &text);
            let mut last = String::new();
            if variant(node).has_tools() {
                let shown: usize = lines.iter().map(|line| line.shown).sum();
                node.book.shown = node.book.shown.saturating_add(shown as u64);
                last = feedback::last_turns(&content::turn_info(node)).unwrap_or_default();
            }
            with_catalog(node, shared, prompt::blocks([&message, &below, &last]))
        }
    };
    node.messages.push(Message::user(first));
    Ok(())
}

/// The mission with its placeholders filled or named, as the mode wants it unless said otherwise.
fn mission(node: &Node, expansion: Option<Expansion>) -> Result<Expanded, Fail> {
    let options = node.agent.options();
    if options.literal_prompt {
        let text = options.prompt.clone();
        // A program wrote it, from whatever it had.
        let shown = if node.caller.is_some() { text.len() } else { 0 };
        return Ok(Expanded { text, shown, ..Expanded::default() });
    }
    let expansion = expansion.unwrap_or(match node.agent.mode() {
        Mode::Text => Expansion::Values,
        _ if options.made_up => Expansion::Names,
        Mode::Combined => Expansion::Short,
        // Only the card about turns says what a reference stands for.
        Mode::Content | Mode::ToolCall if node.answers_by_value() => Expansion::Short,
        Mode::Content | Mode::ToolCall => Expansion::References,
    });
    let expand = match node.agent.mode() {
        Mode::Text | Mode::Combined => prompt::expand_in_words,
        Mode::Content | Mode::ToolCall => prompt::expand,
    };
    let context = whole(node, Some(expansion));
    let context = node.agent.for_prompt(&context);
    expand(&options.prompt, &context, expansion, options.on_missing, options.firewall)
        .map_err(|error| Fail::new(Reason::TEMPLATE_ERROR, error.to_string()))
}

/// A machine that another run of the chat left behind gets the inputs of this one.
fn renew_inputs(node: &mut Node) -> Result<(), Fail> {
    match node.sandbox.machine.as_deref_mut() {
        Some(machine) => sandbox::give(machine, &node.context, node.written.as_ref()).map_err(no_room),
        None => Ok(()),
    }
}

/// Definitions that are there before the first turn are shown, so the machine must be made.
fn prepare_memory(node: &mut Node, shared: &Shared) -> Result<(), Fail> {
    if node.caller.is_some() || shared.options.initial_memory.is_empty() {
        return Ok(());
    }
    program::open(node, shared, ptc_lisp::Limits::default()).map_err(no_room)
}

/// Large inputs are read before a model is asked: one that is asked first could do nothing about their size.
fn hold_inputs(node: &mut Node, shared: &Shared) -> Result<(), Fail> {
    /// A value takes at most so many times the bytes of its JSON.
    const MOST: u64 = 32;
    let limits = program::limits(node, shared);
    let small = node.book.brought.saturating_mul(MOST) <= limits.memory as u64;
    if small || node.agent.mode() == Mode::Text {
        return Ok(());
    }
    program::open(node, shared, limits).map_err(no_room)
}

fn no_room(error: ptc_lisp::Error) -> Fail {
    let hint = error.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
    Fail::new(Reason::MEMORY_EXCEEDED, format!("{}{hint}", error.text()))
}

/// A tool as prompts show it.
pub(super) fn tool_line(tool: &Tool) -> ToolLine {
    let description = match (tool.description.as_deref(), tool.waits()) {
        (Some(text), Some(waits)) => Some(format!("{}. {waits}", text.trim_end().trim_end_matches('.'))),
        (text, waits) => text.or(waits).map(str::to_owned),
    };
    ToolLine { name: tool.name.clone(), signature: tool.signature.clone(), description }
}

fn program_lines(node: &Node) -> Vec<ToolLine> {
    let names: Vec<&str> = program::program_tools(node).collect();
    names.iter().filter_map(|name| node.agent.tools().get(*name)).map(|tool| tool_line(tool)).collect()
}

/// What the prelude offers. Its texts are the deployment's, but no tag that frames a part of a prompt works in them.
fn lent_inventory(node: &Node, shared: &Shared) -> Option<String> {
    Some(prompt::harmless(&lent::inventory(node, shared)?))
}

/// Tools, inputs and definitions, as prompts show them.
fn inventory(node: &Node, shared: &Shared, data: &[DataLine]) -> String {
    let options = node.agent.options();
    let catalog: Vec<ToolLine> = options.tool_catalog.iter().map(tool_line).collect();
    ContextBlock {
        tools: &program_lines(node),
        catalog: &catalog,
        data,
        user: &user_lines(node),
        prelude: lent_inventory(node, shared).as_deref(),
        output: node.agent.signature().map(|signature| &signature.output),
        field_descriptions: Some(&options.field_descriptions),
        llm_query: options.llm_query,
        max_tool_calls: options.max_tool_calls,
        firewall: options.firewall,
    }
    .render()
}

/// The inputs as the mission takes them: long ones whole where all of them stands in it, or its sections go through them.
fn whole(node: &Node, expansion: Option<Expansion>) -> Cow<'_, Json> {
    let mut context = Cow::Borrowed(&*node.context);
    let Some(written) = &node.written else { return context };
    for place in node.agent.template().placeholders() {
        if expansion == Some(Expansion::Values) || written.stands_for_less(&node.context, &place) {
            written.build(context.to_mut(), &place);
        }
    }
    context
}

/// Some of an input, where the agent wants that: so many rows of it with all their columns, as far as a result may be long,
/// or the beginning of the value if it is no list.
fn sample(node: &Node, value: Datum<'_>) -> Option<String> {
    /// Characters of a value that is no list, for each row of others.
    const ROW: usize = 240;
    let options = node.agent.options();
    let rows = options.samples.or(options.prompt_limit.list).filter(|rows| *rows > 0)?;
    let text = options.prompt_limit.string;
    let is_list = value.kind() == "list";
    let most = match is_list {
        true => render::RESULT_BYTES,
        false => text.unwrap_or(rows.saturating_mul(ROW).min(render::RESULT_BYTES)),
    };
    // The entries of a map are no rows of it.
    let limits = ViewLimits { items: ViewLimits::CONTEXT.items.max(rows), chars: most };
    let bounds = limits.sample_bounds(options.firewall);
    let string_chars = text.map_or(bounds.string_chars, |text| text.min(bounds.string_chars));
    let mut view = view(value, &Bounds { string_chars, ..bounds });
    if is_list {
        shorten_lists(&mut view, rows);
    }
    Some(render::sample(&view, limits))
}

/// What is said of an input that the mission has.
const IN_MISSION: &str = "in the mission";

/// Leaves so many items of every list. Views nest no deeper than their bounds.
fn shorten_lists(view: &mut View, most: usize) {
    match view {
        View::Vector(part) | View::List(part) | View::Set(part) => {
            part.items.truncate(most);
            part.items.iter_mut().for_each(|item| shorten_lists(item, most));
        }
        View::Map { entries, .. } => entries.iter_mut().for_each(|(_, value)| shorten_lists(value, most)),
        _ => {}
    }
}

/// Bytes of an input that its entry in the inventory shows.
fn shown_bytes(line: &DataLine) -> usize {
    let itself = if line.label.is_empty() { 0 } else { line.sketch.line.len() };
    line.sample.as_ref().map_or(itself, String::len) + line.sketch.key_bytes
}

fn data_lines(node: &Node, mission: &Expanded) -> Vec<DataLine> {
    let (firewall, made_up) = (node.agent.options().firewall, node.agent.options().made_up);
    let (bounds, most) = (ViewLimits::SAMPLE.sample_bounds(firewall), Sketch::share(node.inputs().count()));
    // What another agent gave has the types of its signature.
    let signature = node.context_signature.as_deref().and_then(|text| Signature::parse(text).ok());
    let given = signature.and_then(|signature| match signature.output {
        Type::Record(record) => Some(record),
        _ => None,
    });
    let line = |(name, value): (&String, Datum<'_>)| {
        // Made-up inputs are known by their types only.
        let mut sketch = if made_up { Sketch::default() } else { Sketch::of(value, firewall, most) };
        let scalar = !matches!(value.kind(), "list" | "map" | "nil");
        let itself = scalar && !sketch.line.starts_with("string ");
        // Nothing stands in a request twice.
        if itself && mission.has(name) {
            sketch.line = IN_MISSION.to_owned();
        }
        DataLine {
            name: name.clone(),
            ty: node
                .agent
                .input_type(name)
                .or_else(|| given.as_ref()?.field(name).map(|field| &field.ty))
                .cloned(),
            label: match view(value, &bounds) {
                view if made_up => render::type_name(&view).to_owned(),
                view if itself => render::label(&view),
                _ => String::new(),
            },
            // What stands for itself needs no sample.
            sample: if itself || made_up { None } else { sample(node, value) },
            sketch,
            description: node.descriptions.get(name).cloned(),
        }
    };
    node.inputs().map(line).collect()
}

fn user_lines(node: &Node) -> Vec<UserLine> {
    let Some(machine) = node.sandbox.machine.as_deref() else { return Vec::new() };
    let bounds = ViewLimits::SKETCHED.sample_bounds(node.agent.options().firewall);
    let line = |name: String| match machine.function(&name) {
        Some(function) => Some(UserLine::Function {
            name,
            params: function.params.join(" "),
            doc: function.doc,
            returns: None,
        }),
        None => {
            let view = machine.view_definition(&name, &bounds)?;
            Some(UserLine::Value { name, sketch: Sketch::of_view(&view).on_a_line() })
        }
    };
    machine.definitions().into_iter().filter_map(line).collect()
}

/// A message of a text agent after the tools that it may plan with, if there are any.
fn with_catalog(node: &Node, shared: &Shared, message: String) -> String {
    let options = node.agent.options();
    let lines: Vec<ToolLine> = options.tool_catalog.iter().map(tool_line).collect();
    let catalog = prompt::catalog_section(&lines, options.firewall);
    let prelude = lent_inventory(node, shared).filter(|_| node.agent.mode() == Mode::Combined);
    let prelude = prelude.unwrap_or_default();
    let parts = [catalog, prelude, message].into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("\n\n")
}

/// The first message of a text agent.
fn text_message(node: &Node, lines: &[ContextLine], text: &str) -> String {
    let options = node.agent.options();
    match (variant(node), node.agent.output_type()) {
        (TextVariant::Json, Some(output)) => prompt::json_message(text, output, &options.field_descriptions),
        (TextVariant::Tools | TextVariant::ToolsJson, output) => {
            prompt::text_tools_message(lines, output, text, options.firewall)
        }
        _ => prompt::plain_message(text),
    }
}

/// The inputs of a text agent: programs read those of a combined one, another has nothing but what it is shown.
fn context_lines(node: &Node, mission: &Expanded) -> Vec<ContextLine> {
    let firewall = node.agent.options().firewall;
    let most = Sketch::share(node.inputs().count());
    let shown = |name: &str, value: Datum<'_>| match node.agent.mode() {
        Mode::Combined => {
            let sketch = Sketch::of(value, firewall, most);
            let (line, keys) = (sketch.on_a_line(), sketch.key_bytes);
            let itself = !matches!(value.kind(), "list" | "map") && !line.starts_with("string ");
            if itself && mission.has(name) {
                return (format!("({IN_MISSION})"), 0);
            }
            match sample(node, value).filter(|_| !itself) {
                Some(sample) => (format!("{line}, sample: {sample}"), sample.len() + keys),
                None => (line.clone(), if itself { line.len() } else { keys }),
            }
        }
        _ if mission.has(name) => (format!("({IN_MISSION})"), 0),
        _ => {
            let view = view(value, &ViewLimits::CONTEXT.sample_bounds(firewall));
            let text = render::sample(&view, ViewLimits::CONTEXT);
            let shown = text.len();
            (text, shown)
        }
    };
    let line = |(name, value): (&String, Datum<'_>)| {
        let (value, shown) = shown(name, value);
        ContextLine { name: name.clone(), description: node.descriptions.get(name).cloned(), value, shown }
    };
    node.inputs().map(line).collect()
}

/// The system prompt of a turn.
pub(super) fn system_prompt(node: &mut Node, shared: &Shared) -> String {
    let options = node.agent.options();
    let custom = &options.system_prompt;
    let text = match node.agent.mode() {
        Mode::Text => prompt::text_system(custom, prompt::text_card(variant(node))),
        Mode::Combined => {
            let most = options.format.result_max_bytes;
            prompt::combined_system(custom, &program_lines(node), most, options.firewall)
        }
        Mode::Content | Mode::ToolCall => programs_system(node, shared),
    };
    let (text, cut) = prompt::truncate(text, options.prompt_limit.max_chars);
    if cut {
        node.book.warnings.push("the system prompt was cut to prompt_limit.max_chars".to_owned());
    }
    text
}

fn programs_system(node: &Node, _shared: &Shared) -> String {
    let options = node.agent.options();
    let memory = node.sandbox.machine.as_deref().map(Machine::definitions).unwrap_or_default();
    let input = SpecInput {
        turn: node.turn(),
        model: node.llm.as_ref().map_or("", Llm::label),
        memory: &memory,
        messages: &node.messages,
        result_bytes: options.format.result_max_bytes,
        print_bytes: options.format.print_max_bytes,
    };
    let transport = if node.agent.mode() == Mode::ToolCall {
        ProgramTransport::ToolCall
    } else {
        ProgramTransport::Content
    };
    let behavior = if node.answers_by_value() { Behavior::SingleShot } else { Behavior::ExplicitReturn };
    let standard = LanguageSpec::default_for(behavior, options.journaling);
    let fixed = prompt::static_system(&options.system_prompt, &standard, &input, transport, options.thinking);
    let context = options.format.context_in_system.then_some(node.inventory.as_str());
    let log =
        (options.format.mission_log_in == MissionLogIn::SystemPrompt).then(|| mission_log(node)).flatten();
    let log = log.map(|log| node.veil.cover_message(&log).into_owned());
    prompt::system_prompt(&fixed, context, log.as_deref())
}

/// Finished tasks, where the agent shows them.
fn mission_log(node: &Node) -> Option<String> {
    let options = node.agent.options();
    if !options.journaling {
        return None;
    }
    let bounds = ViewLimits::LOGGED.sample_bounds(options.firewall);
    let entries: Vec<(String, String)> = node
        .sandbox
        .journal()
        .into_iter()
        .map(|(id, value)| (id, render::sample(&View::of_json(&value, &bounds), ViewLimits::LOGGED)))
        .collect();
    journal::mission_log(&entries, options.firewall)
}

/// The messages of a request: the conversation, shortened where the agent says so.
pub(super) fn sent_messages(node: &mut Node, shared: &mut Shared) -> Vec<Message> {
    let options = node.agent.options();
    let mut messages = node.messages.clone();
    if let Some(compaction) = &options.compaction
        && options.max_turns > 1
    {
        let (kept, stats) = compaction.apply(&messages, node.turn());
        messages = kept;
        if stats.triggered {
            let facts = serde_json::to_value(&stats).unwrap_or_default();
            shared.turn_event(node, "compaction.triggered", json!({}), facts);
        }
        node.book.usage.compaction = Some(stats);
    }
    let log = mission_log(node);
    node.book.show(log.as_ref().map_or(0, String::len));
    let in_message = node.agent.options().format.mission_log_in == MissionLogIn::UserMessage;
    match log.filter(|_| in_message) {
        Some(log) => journal::with_log(&messages, Some(&*node.veil.cover(&log))),
        None => messages,
    }
}

/// The report of progress; nothing without a plan.
pub(super) fn progress(node: &mut Node, turn: u32) -> String {
    let options = node.agent.options();
    let calls: Vec<String> = node.book.draft.tool_calls.iter().map(|call| call.name.clone()).collect();
    let phase = if turn == 0 { Phase::Initial } else { Phase::Continuation };
    let input = ProgressInput {
        plan: &options.plan,
        summaries: &node.book.summaries,
        tool_calls: &calls,
        turn,
        phase,
    };
    match &options.progress {
        None => journal::progress(&input),
        Some(function) => {
            let (text, state) = function(&input, node.book.progress_state.clone());
            node.book.progress_state = state;
            text
        }
    }
}
