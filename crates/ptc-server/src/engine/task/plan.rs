//! What a task is begun from, as plain data: the agent is made from it, and so it can be made again to play a recording.

use std::collections::BTreeMap;
use std::sync::Arc;

use ptc_agent::tape::{Entry, Given, Of, Question, silent};
use ptc_agent::{Agent, Answers, Effect, Event, PromptParts, RunOptions, SystemPrompt, Tool as AgentTool};
use ptc_lisp::machine::DISCOVER;
use ptc_lisp::prelude::{Prelude, Upstreams};
use ptc_trace::recording::Lent;
use ptc_upstream::catalog::{Catalog, CatalogTool, Server};
use ptc_upstream::config::EffectClass;
use ptc_upstream::effects::Policy;
use ptc_upstream::model::ToolDef;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::{Attempt, Attempts, CALL_SIGNATURE, admit, guard, is_denied};

/// Where the subject of a recording says that it is a task.
const KEY: &str = "task";

/// What a task is begun from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What the model is asked for.
    pub mission: String,
    /// The inputs, as JSON text.
    pub context: String,
    /// The prompt before that of the library.
    pub prefix: Option<String>,
    /// The prompt after it.
    pub suffix: Option<String>,
    /// Turns.
    pub max_turns: u32,
    /// More turns to correct an answer.
    pub retry_turns: u32,
    /// Time of a program.
    pub program_timeout_ms: u64,
    /// Time of all.
    pub timeout_ms: u64,
    /// What the model is called.
    pub model: String,
    /// Where random numbers begin.
    #[serde(default)]
    pub seed: u64,
    /// What the tools of each server do to the world; nothing where they were not listed.
    pub effects: Effects,
    /// Whether programs may only read. Recordings that do not say so are of tasks whose programs were not looked at before
    /// they ran.
    #[serde(default)]
    pub read_only: bool,
    /// The prelude of its programs.
    #[serde(default)]
    pub prelude: Option<Lent>,
    /// Whether programs may call tools of servers as functions. Recordings that do not say so are of tasks that could not.
    #[serde(default)]
    pub functions: bool,
}

type Effects = BTreeMap<String, Option<BTreeMap<String, String>>>;

/// What tools of servers do to the world.
pub fn effects(catalog: &Catalog) -> Effects {
    let class = |(name, tool): (&String, &Arc<CatalogTool>)| (name.clone(), tool.effect.name().to_owned());
    let servers = catalog.servers().iter();
    servers
        .map(|server| {
            (server.name.clone(), server.tools.as_ref().map(|tools| tools.iter().map(class).collect()))
        })
        .collect()
}

/// The class of this name.
fn class(name: &str) -> EffectClass {
    let classes = [EffectClass::Read, EffectClass::Write, EffectClass::Unknown];
    classes.into_iter().find(|class| class.name() == name).unwrap_or(EffectClass::Unknown)
}

impl Plan {
    /// The agent: the library's prompt with ours around it, the prelude, and two tools.
    pub fn agent(
        &self,
        prelude: Option<Arc<Prelude>>,
        call: AgentTool,
        discover: AgentTool,
    ) -> Result<Agent, String> {
        let call = call
            .description("Calls a tool of an upstream: {:server :tool :args}.")
            .answers(Answers::Upstream)
            .signature(CALL_SIGNATURE)
            .map_err(|error| error.to_string())?;
        let discover = discover.private().effect(Effect::Read).answers(Answers::Discovery);
        let (prefix, suffix) = (self.prefix.clone(), self.suffix.clone());
        let builder = Agent::builder("task");
        let builder = match prelude {
            Some(prelude) => builder.prelude(prelude),
            None => builder,
        };
        let agent = builder
            .max_turns(self.max_turns)
            .retry_turns(self.retry_turns)
            .timeout_ms(self.program_timeout_ms)
            .mission_timeout_ms(self.timeout_ms)
            .system_prompt(SystemPrompt::Parts(PromptParts { prefix, suffix, ..PromptParts::default() }))
            .tool(call)
            .tool(discover)
            .build()
            .map_err(|error| error.to_string())?;
        agent.with_message(&self.mission).map_err(|error| error.to_string())
    }

    /// The subject of a recording.
    pub fn subject(&self) -> Json {
        json!({KEY: self})
    }

    fn effect(&self, server: &str, tool: &str) -> EffectClass {
        let tools = self.effects.get(server).and_then(Option::as_ref);
        tools.and_then(|tools| tools.get(tool)).map_or(EffectClass::Unknown, |name| class(name))
    }

    /// The servers, as far as programs are admitted by them.
    pub fn catalog(&self) -> Catalog {
        let tool = |(name, effect): (&String, &String)| {
            let def = ToolDef { name: name.clone(), ..ToolDef::default() };
            (name.clone(), Arc::new(CatalogTool { def, effect: class(effect), place: 0 }))
        };
        Catalog::new(self.effects.iter().map(|(name, tools)| {
            let tools = tools.as_ref().map(|tools| tools.iter().map(tool).collect());
            Arc::new(Server { name: name.clone(), tools, ..Server::default() })
        }))
    }

    /// What programs may do.
    pub fn policy(&self) -> Policy {
        Policy { read_only: self.read_only, ..Policy::default() }
    }
}

/// A task of a recording, ready to be played.
pub struct PlayedTask {
    /// Its agent.
    pub agent: Arc<Agent>,
    /// What its run is given.
    pub options: RunOptions,
    attempts: Attempts,
    plan: Plan,
    asked: BTreeMap<u64, Question>,
}

impl PlayedTask {
    /// The task that a recording is of; nothing if it is of something else.
    pub fn read(subject: &Json) -> Option<Result<PlayedTask, String>> {
        let plan = Plan::deserialize(subject.get(KEY)?).map_err(|error| error.to_string());
        Some(plan.and_then(PlayedTask::of))
    }

    fn of(plan: Plan) -> Result<PlayedTask, String> {
        let mute =
            |name: &str| AgentTool::new(name, |_| Err::<Json, _>("a recording is played; nobody is called"));
        let prelude = plan.prelude.as_ref().map(Lent::compile).transpose();
        let prelude = prelude.map_err(|error| error.to_string())?;
        let agent = Arc::new(plan.agent(prelude, mute("call"), mute(DISCOVER))?);
        let context: Json = serde_json::from_str(&plan.context).map_err(|error| error.to_string())?;
        let attempts = Attempts::default();
        let options = RunOptions {
            guard: Some(guard(&attempts)),
            admit: Some(admit(&plan, None)),
            upstreams: plan.functions.then(|| Arc::new(plan.catalog()) as Arc<dyn Upstreams>),
            seed: plan.seed,
            ..RunOptions::new(silent(&plan.model))
        };
        Ok(PlayedTask { agent, options: options.context(context), attempts, plan, asked: BTreeMap::new() })
    }

    /// Sees each entry before it is played: calls that were made count as attempts, as they did then.
    pub fn watch(&mut self, entry: &Entry, _: &[Event]) {
        match entry {
            Entry::Ask(question) => {
                self.asked.insert(question.id, question.clone());
            }
            Entry::Answer { id, given, .. } => {
                let Some(Question { of: Of::Tool { tool, args }, .. }) = self.asked.remove(id) else {
                    return;
                };
                if tool != "call" || matches!(given, Given::Value(answer) if is_denied(answer)) {
                    return;
                }
                let part = |key: &str| args[key].as_str().unwrap_or_default().to_owned();
                let (server, tool) = (part("server"), part("tool"));
                let effect = self.plan.effect(&server, &tool);
                self.attempts.note(Attempt { server, tool, effect });
            }
            _ => {}
        }
    }
}
