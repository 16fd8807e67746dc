//! Upstreams for agents: MCP servers and HTTP APIs of a [`Runtime`], which programs call with `tool/call` and ask
//! about with `tool/servers`, `dir`, `doc` and `apropos`.
//!
//! ```no_run
//! use ptc_runner::upstreams::{Caps, Policy, Runtime, Upstreams};
//! use ptc_runner::{Agent, RunOptions};
//!
//! # async fn example(runtime: std::sync::Arc<Runtime>, llm: ptc_runner::model::Llm) -> Result<(), Box<dyn std::error::Error>> {
//! let upstreams = Upstreams::new(runtime, Caps::default(), Policy::read_only());
//! let agent = upstreams.lend(Agent::builder("How many open tickets are there?")).build()?;
//! let step = ptc_runner::run(agent, upstreams.options(RunOptions::new(llm))).await;
//! println!("{} {:?}", step.value, step.upstream_calls);
//! # Ok(())
//! # }
//! ```
//!
//! Start the runtime with a frozen snapshot: what a tool does is known only of servers that were listed, and what is
//! not known counts as a write. Servers behind the agent's prelude are listed before the run begins, in any case.
//!
//! One [`Upstreams`] is for one run: its calls share the caps, and it is closed when the run is over.
//!
//! For a run, upstreams are two tools: `call`, whose results are marked as answers of upstreams (`Answers::Upstream`), so
//! that they are plain data for a journal and have keywords for a program, and one for discovery (`Answers::Discovery`).

use std::collections::BTreeMap;
use std::sync::Arc;

use ptc_agent::{
    Admit, Agent, Answers, Approval, Builder, Effect, EffectOf, LookUp, RunOptions, Tool, ToolResult,
};
use ptc_host::{Judge, Judgement};
use ptc_lisp::machine::{Answer, DISCOVER};
use ptc_lisp::{Error, ErrorKind};
use ptc_signature::Signature;
pub use ptc_upstream::Redactor;
use ptc_upstream::catalog::Catalog;
use ptc_upstream::config::EffectClass;
pub use ptc_upstream::effects::Policy;
pub use ptc_upstream::runtime::{Account, Caps, EffectJournal, RunContext, Runtime};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// The tool that calls upstreams.
const CALL: &str = "call";
/// What it takes and gives.
const SIGNATURE: &str = "(server :string, tool :string, args :map?) -> :map";
/// Tools of a server that prompts name.
const NAMED: usize = 12;
/// Stands for all tools of a server whose tools are not known.
const ANY: &str = "*";

/// Upstreams that the programs of one run may call.
#[derive(Clone, Debug)]
pub struct Upstreams {
    runtime: Arc<Runtime>,
    context: RunContext,
}

impl Upstreams {
    /// Upstreams of a runtime for one run, with how much it may call and what.
    pub fn new(runtime: Arc<Runtime>, caps: Caps, policy: Policy) -> Self {
        let context = runtime.context(caps, policy);
        Upstreams { runtime, context }
    }

    /// The same servers for another run of the same owner.
    #[must_use]
    pub fn afresh(&self, caps: Caps, policy: Policy) -> Self {
        let another = Upstreams::new(self.runtime.clone(), caps, policy);
        match self.context.owner() {
            Some(owner) => another.owned_by(owner.clone()),
            None => another,
        }
    }

    /// The same with calls that may change the world written down, as [`RunContext::journalled`] says.
    #[must_use]
    pub fn journalled(self, scope: impl Into<Arc<str>>, journal: Arc<dyn EffectJournal>) -> Self {
        Upstreams { context: self.context.journalled(scope, journal), ..self }
    }

    /// The same for somebody, as [`RunContext::owned_by`] says.
    #[must_use]
    pub fn owned_by(self, owner: impl Into<Arc<str>>) -> Self {
        Upstreams { context: self.context.owned_by(owner), ..self }
    }

    /// The run, as upstreams see it.
    pub fn context(&self) -> &RunContext {
        &self.context
    }

    /// The agent with the tools that reach the upstreams. A call that the configuration says somebody must approve
    /// waits for a person, as calls of tools with an [`Approval`] do.
    pub fn lend(&self, builder: Builder) -> Builder {
        let [call, discover] = self.tools();
        builder.tool(call).tool(discover)
    }

    /// What a run is given, with these upstreams: preludes are held against them, programs are admitted before
    /// anything of them runs, and without a guard the run stops after a call that may have changed something and that
    /// nobody approved.
    #[must_use]
    pub fn options(&self, options: RunOptions) -> RunOptions {
        let own = self.context.clone();
        let admit: Admit = Arc::new(move |manifest| {
            let admitted = own.admit(manifest);
            admitted.map(drop).map_err(|refusal| Error::new(ErrorKind::Runtime, refusal.to_string()))
        });
        let own = self.context.clone();
        let look_up: LookUp = Arc::new(move |servers: &[String]| own.look_at(servers));
        RunOptions {
            upstreams: Some(Arc::new(self.context.clone())),
            look_up: Some(look_up),
            admit: Some(admit),
            ..options
        }
    }

    /// The tools that reach the upstreams: calls, and questions about what there is.
    pub fn tools(&self) -> [Tool; 2] {
        let (calls, questions, effects) = (self.context.clone(), self.context.clone(), self.context.clone());
        // The run asks before it calls, by the rule that stands below.
        let call = Tool::future(CALL, move |args: Json| {
            let context = calls.clone();
            async move { result(context.call_approved(args).await) }
        });
        let mut call = call.description(description(&self.context.catalog()));
        call.effect_of = Some(EffectOf(Arc::new(move |args| effect(&effects, args))));
        if let Some(judge) = self.context.judge() {
            call.approval = Approval::of(move |args| asked(&*judge, args));
        }
        let discover = Tool::future(DISCOVER, move |question: Json| {
            let context = questions.clone();
            async move {
                match context.discover(question).await {
                    // What the world cannot answer is nothing; it is no result of a call.
                    Answer::Fault { .. } => Ok(Json::Null),
                    answer => result(answer),
                }
            }
        });
        shaped(call, discover)
    }

    /// Which calls wait for a person, for a run that is played back; nothing if the configuration never asks.
    pub fn approvals(&self) -> Option<Approvals> {
        let judge = self.context.judge()?;
        let about = |server: &str, tool: &str| asked(&*judge, &json!({"server": server, "tool": tool}));
        let tools = |name: &str, known: Option<Vec<&str>>| -> BTreeMap<String, Json> {
            let names = known.unwrap_or_else(|| vec![ANY]);
            names.into_iter().filter_map(|tool| Some((tool.to_owned(), about(name, tool)?))).collect()
        };
        let catalog = self.context.catalog();
        let servers = catalog.servers().iter().map(|server| {
            let known = server.tools.as_ref().map(|tools| tools.keys().map(String::as_str).collect());
            (server.name.clone(), tools(&server.name, known))
        });
        Some(Approvals(servers.filter(|(_, tools)| !tools.is_empty()).collect()))
    }

    /// What covers secrets in whatever leaves.
    pub fn redactor(&self) -> Redactor {
        self.runtime.redactor().clone()
    }

    /// What is known of the servers.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.runtime.catalog()
    }

    /// How tools that are used differ from their pins, as [`Runtime::pin_warnings`] says: what nobody was told yet.
    pub fn pin_warnings(&self) -> Vec<String> {
        self.runtime.pin_warnings()
    }

    /// What people should know before a run of an agent begins: servers that could not be reached, tools that are not as
    /// pinned, and servers whose names its prelude uses for something else.
    pub fn notes(&self, agent: &Agent) -> Vec<String> {
        let states = self.runtime.states().into_iter();
        let failed = states.filter_map(|state| Some(format!("upstream {}: {}", state.name, state.fault?)));
        let prelude = agent.options().prelude.iter();
        failed
            .chain(self.pin_warnings())
            .chain(prelude.flat_map(|prelude| self.catalog().hidden_by(prelude)))
            .collect()
    }

    /// Ends the run: later calls fail. Gives the account, once. The runtime goes on for others.
    pub fn finish(&self) -> Account {
        self.context.finish()
    }

    /// Ends the run and the runtime.
    pub async fn close(&self) {
        self.context.finish();
        self.runtime.close().await;
    }
}

/// Calls that wait for a person, by server and tool, with what is told about them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Approvals(BTreeMap<String, BTreeMap<String, Json>>);

impl Approvals {
    fn of(&self, args: &Json) -> Option<Json> {
        let text = |key: &str| args[key].as_str().unwrap_or_default();
        let tools = self.0.get(text("server"))?;
        tools.get(text("tool")).or_else(|| tools.get(ANY)).cloned()
    }
}

/// Tools that stand where upstreams were and answer nothing, for a run that is played back.
pub fn silent(description: &str, approvals: Option<Approvals>) -> [Tool; 2] {
    let silent = |name: &str| Tool::new(name, |_| Err::<Json, _>("a recording is played; nobody is called"));
    let mut call = silent(CALL).description(description);
    if let Some(approvals) = approvals {
        call.approval = Approval::of(move |args| approvals.of(args));
    }
    shaped(call, silent(DISCOVER))
}

/// What models were told about the upstreams of an agent, if it has any.
pub fn told(agent: &Agent) -> Option<&str> {
    let call = agent.tools().get(CALL).filter(|tool| tool.answers == Answers::Upstream)?;
    call.description.as_deref()
}

fn shaped(mut call: Tool, discover: Tool) -> [Tool; 2] {
    call.signature = Signature::parse(SIGNATURE).ok();
    let discover = discover.private().effect(Effect::Read).answers(Answers::Discovery);
    [call.answers(Answers::Upstream), discover]
}

/// What a person is told about a call that waits, beside its arguments.
fn asked(judge: &dyn Judge, args: &Json) -> Option<Json> {
    match judge.judge(CALL, args) {
        Judgement::Ask(about) => Some(json!({"effect": about["effect"], "approval": about["approval"]})),
        Judgement::Go | Judgement::Answer(_) => None,
    }
}

/// An answer as tools of agents give it; programs see it again as it was.
fn result(answer: Answer) -> ToolResult {
    match answer {
        Answer::Value(value) => Ok(value),
        Answer::Json(text) => serde_json::from_str(&text).map_err(|error| error.to_string()),
        Answer::Upstream { value, kind } => {
            Ok(json!({"ok": true, "value": value, "value_kind": kind.name()}))
        }
        Answer::Fault { reason, message } => Ok(json!({"ok": false, "reason": reason, "message": message})),
        Answer::Raise(error) => Err(error.text()),
    }
}

/// What a call of an upstream does to the world.
fn effect(context: &RunContext, args: &Json) -> Effect {
    let text = |key: &str| args[key].as_str().unwrap_or_default();
    let catalog = context.catalog();
    let tool = catalog.server(text("server")).and_then(|server| server.tool(text("tool")));
    match tool.map(|tool| tool.effect) {
        Some(EffectClass::Read) => Effect::Read,
        Some(EffectClass::Write) => Effect::Write,
        Some(EffectClass::Unknown) | None => Effect::Unknown,
    }
}

/// What models are told: the servers and the names of their tools.
fn description(catalog: &Catalog) -> String {
    let servers = catalog.servers().iter().map(|server| match &server.tools {
        None => format!("{} (unavailable)", server.name),
        Some(tools) => {
            let mut names: Vec<&str> = tools.keys().map(String::as_str).take(NAMED).collect();
            if tools.len() > NAMED {
                names.push("…");
            }
            format!("{} ({})", server.name, names.join(", "))
        }
    });
    format!(
        "Calls a tool of a server; gives {{:ok true :value v}} or {{:ok false :reason kw :message text}}; \
         (server/tool {{…}}) gives the value or raises. Servers: {}. (dir 'server) lists tools, (doc 'server/tool) \
         describes one",
        servers.collect::<Vec<_>>().join("; ")
    )
}
