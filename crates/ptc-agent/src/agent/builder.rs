//! Builds agents option by option; everything is checked when they are built.

use std::sync::Arc;

use ptc_lisp::prelude::Prelude;
use ptc_signature::schemars::JsonSchema;
use ptc_signature::{Mode, OnMissing, Record, Signature};
use serde_json::Value as Json;

use super::error::BuildError;
use super::options::{Completion, MemoryStrategy, Options, Profile, PromptLimit, Transport};
use super::retry::Retry;
use super::{Agent, check, named};
use crate::compact::Compaction;
use crate::journal::{PlanStep, ProgressFn, plan};
use crate::model::{Llm, Output};
use crate::prompt::SystemPrompt;
use crate::reply::Multiple;
use crate::tool::Tool;
use crate::typed::type_of;

/// Collects options.
#[derive(Clone, Debug)]
#[must_use = "a builder makes an agent with `build`"]
pub struct Builder {
    options: Options,
    /// The first thing that was wrong.
    wrong: Option<BuildError>,
}

impl Builder {
    pub(super) fn new(prompt: String) -> Self {
        Builder { options: Options { prompt, ..Options::of(Profile::Current) }, wrong: None }
    }

    /// The options so far.
    pub fn options(&self) -> &Options {
        &self.options
    }

    pub(super) fn over(options: Options) -> Self {
        Builder { options, wrong: None }
    }

    fn with(mut self, set: impl FnOnce(&mut Options)) -> Self {
        set(&mut self.options);
        self
    }

    /// Sets what the profiles differ in, and nothing else. Options that are set afterwards hold.
    pub fn profile(self, profile: Profile) -> Self {
        self.with(|options| {
            let other = Options::of(profile);
            options.profile = profile;
            options.llm_retry = other.llm_retry;
            options.mission_timeout_ms = other.mission_timeout_ms;
            options.prompt_limit = other.prompt_limit;
            options.format.context_in_system = other.format.context_in_system;
            options.multiple_blocks = other.multiple_blocks;
            options.on_missing = other.on_missing;
            options.depth_inclusive = other.depth_inclusive;
        })
    }

    /// Sets an option by name; [`OPTIONS`](super::OPTIONS) lists them.
    pub fn set(mut self, name: &str, value: &Json) -> Self {
        let result = named::set(&mut self.options, name, value);
        self.wrong = self.wrong.or(result.err());
        self
    }

    /// The first thing that was wrong so far; whether options fit together shows when the agent is built.
    pub fn check(&self) -> Result<(), BuildError> {
        self.wrong.clone().map_or(Ok(()), Err)
    }

    /// Sets several options by name.
    pub fn set_all<'o>(self, options: impl IntoIterator<Item = (&'o str, &'o Json)>) -> Self {
        options.into_iter().fold(self, |builder, (name, value)| builder.set(name, value))
    }

    /// What the agent takes and gives.
    pub fn signature(self, signature: &str) -> Self {
        self.with(|options| options.signature = Some(signature.to_owned()))
    }

    /// What the agent gives, as a Rust type that [`Step::parse`](crate::Step::parse) reads the answer into. What it takes
    /// stays as [`signature`](Builder::signature) says.
    pub fn returns<T: JsonSchema>(self) -> Self {
        let output = type_of::<T>();
        self.with(|options| {
            let input = match options.signature.as_deref().map(Signature::parse) {
                None => Record::default(),
                Some(Ok(signature)) => signature.input,
                // What is wrong with it is told when the agent is built.
                Some(Err(_)) => return,
            };
            options.signature = Some(Signature { input, output }.to_string());
        })
    }

    /// Grants a tool.
    pub fn tool(self, tool: Tool) -> Self {
        self.with(|options| options.tools.push(tool))
    }

    /// Grants tools.
    pub fn tools(self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.with(|options| options.tools.extend(tools))
    }

    /// Shows a tool for planning; it cannot be called.
    pub fn catalog(self, tool: Tool) -> Self {
        self.with(|options| options.tool_catalog.push(tool))
    }

    /// Lends the agent's programs a prelude: its exports stand in the prompt and can be called.
    pub fn prelude(self, prelude: Arc<Prelude>) -> Self {
        self.with(|options| options.prelude = Some(prelude))
    }

    /// Whether the model answers with programs or with text.
    pub fn output(self, output: Output) -> Self {
        self.with(|options| options.output = output)
    }

    /// How programs come.
    pub fn transport(self, transport: Transport) -> Self {
        self.with(|options| options.ptc_transport = Some(transport))
    }

    /// A text agent that can run programs.
    pub fn combined(self) -> Self {
        self.output(Output::Text).transport(Transport::ToolCall)
    }

    /// The model.
    pub fn llm(self, llm: Llm) -> Self {
        self.with(|options| options.llm = Some(llm))
    }

    /// When a model that could not be reached is asked again.
    pub fn llm_retry(self, retry: Retry) -> Self {
        self.with(|options| options.llm_retry = Some(retry))
    }

    /// Turns of work.
    pub fn max_turns(self, turns: u32) -> Self {
        self.with(|options| options.max_turns = turns)
    }

    /// More turns to correct an answer that breaks the signature.
    pub fn retry_turns(self, turns: u32) -> Self {
        self.with(|options| options.retry_turns = turns)
    }

    /// Tool calls of one program, or of the whole run in text mode.
    pub fn max_tool_calls(self, calls: u64) -> Self {
        self.with(|options| options.max_tool_calls = Some(calls))
    }

    /// Failing turns in a row that end the run.
    pub fn max_consecutive_failures(self, failures: u32) -> Self {
        self.with(|options| options.max_consecutive_failures = Some(failures))
    }

    /// Whether the last value may stand in for `(return …)`.
    pub fn completion(self, completion: Completion) -> Self {
        self.with(|options| options.completion_mode = completion)
    }

    /// Time of one program in milliseconds, tools included.
    pub fn timeout_ms(self, timeout: u64) -> Self {
        self.with(|options| options.timeout_ms = timeout)
    }

    /// Time of the whole run in milliseconds.
    pub fn mission_timeout_ms(self, timeout: u64) -> Self {
        self.with(|options| options.mission_timeout_ms = Some(timeout))
    }

    /// Bytes of all definitions that turns leave behind; `None` for no limit.
    pub fn memory_limit(self, bytes: Option<usize>) -> Self {
        self.with(|options| options.memory_limit = bytes)
    }

    /// What happens beyond the memory limit.
    pub fn memory_strategy(self, strategy: MemoryStrategy) -> Self {
        self.with(|options| options.memory_strategy = strategy)
    }

    /// Levels of agents that call agents.
    pub fn max_depth(self, depth: u32) -> Self {
        self.with(|options| options.max_depth = depth)
    }

    /// Turns that all agents of the run share.
    pub fn turn_budget(self, turns: u64) -> Self {
        self.with(|options| options.turn_budget = turns)
    }

    /// Tokens that all agents of the run share.
    pub fn token_limit(self, tokens: u64) -> Self {
        self.with(|options| options.token_limit = Some(tokens))
    }

    /// Dollars that all agents of the run share.
    pub fn max_cost_usd(self, dollars: f64) -> Self {
        self.with(|options| options.max_cost_usd = Some(dollars))
    }

    /// A name for traces.
    pub fn name(self, name: impl Into<String>) -> Self {
        self.with(|options| options.name = Some(name.into()))
    }

    /// What it does, for those who call it as a tool.
    pub fn description(self, text: impl Into<String>) -> Self {
        self.with(|options| options.description = Some(text.into()))
    }

    /// What a field of the answer means.
    pub fn describe_field(self, field: impl Into<String>, text: impl Into<String>) -> Self {
        self.with(|options| drop(options.field_descriptions.insert(field.into(), text.into())))
    }

    /// What an input means.
    pub fn describe_input(self, input: impl Into<String>, text: impl Into<String>) -> Self {
        self.with(|options| drop(options.context_descriptions.insert(input.into(), text.into())))
    }

    /// How strictly contracts hold.
    pub fn validation(self, mode: Mode) -> Self {
        self.with(|options| options.signature_validation = mode)
    }

    /// Another system prompt, or parts of one.
    pub fn system_prompt(self, system_prompt: SystemPrompt) -> Self {
        self.with(|options| options.system_prompt = system_prompt)
    }

    /// The last value that fits the signature answers if no program returned before the turns ran out.
    pub fn fallback(self) -> Self {
        self.with(|options| options.fallback = true)
    }

    /// Rows of each input that the model is shown; none unless set.
    pub fn samples(self, rows: usize) -> Self {
        self.with(|options| options.samples = Some(rows))
    }

    /// Limits of what prompts show.
    pub fn prompt_limit(self, limit: PromptLimit) -> Self {
        self.with(|options| options.prompt_limit = limit)
    }

    /// Whether the model may think aloud before the program.
    pub fn thinking(self, thinking: bool) -> Self {
        self.with(|options| options.thinking = thinking)
    }

    /// Grants `(tool/llm-query {:prompt …})`.
    pub fn llm_query(self) -> Self {
        self.with(|options| options.llm_query = true)
    }

    /// Grants a family of tools that the library brings along.
    pub fn builtin_tools(self, family: impl Into<String>) -> Self {
        self.with(|options| options.builtin_tools.push(family.into()))
    }

    /// Steps to be done: texts, or pairs of id and text.
    pub fn plan<S: Into<PlanStep>>(mut self, steps: impl IntoIterator<Item = S>) -> Self {
        match plan(steps) {
            Ok(plan) => self.options.plan = plan,
            Err(error) => self.wrong = self.wrong.or(Some(BuildError::option("plan", error.to_string()))),
        }
        self
    }

    /// Who writes the report of progress.
    pub fn progress(self, progress: ProgressFn) -> Self {
        self.with(|options| options.progress = Some(progress))
    }

    /// Shortens long conversations.
    pub fn compaction(self, compaction: Compaction) -> Self {
        self.with(|options| options.compaction = Some(compaction))
    }

    /// Shows finished tasks and teaches `task`.
    pub fn journaling(self) -> Self {
        self.with(|options| options.journaling = true)
    }

    /// Whether fields that begin with an underscore are hidden from models.
    pub fn firewall(self, firewall: bool) -> Self {
        self.with(|options| options.firewall = firewall)
    }

    /// What to do with several programs in a reply.
    pub fn multiple_blocks(self, multiple: Multiple) -> Self {
        self.with(|options| options.multiple_blocks = multiple)
    }

    /// What happens to a placeholder without a value.
    pub fn on_missing(self, on_missing: OnMissing) -> Self {
        self.with(|options| options.on_missing = on_missing)
    }

    /// Bytes of results that the cache keeps in all.
    pub fn tool_cache_limit(self, bytes: usize) -> Self {
        self.with(|options| options.tool_cache_limit = Some(bytes))
    }

    /// Decimals that floats of answers are rounded to. They stay as they are unless this is set.
    pub fn float_precision(self, decimals: u32) -> Self {
        self.with(|options| options.float_precision = Some(decimals))
    }

    /// The agent, if everything fits together.
    pub fn build(self) -> Result<Agent, BuildError> {
        match self.wrong {
            Some(wrong) => Err(wrong),
            None => check::build(self.options),
        }
    }
}
