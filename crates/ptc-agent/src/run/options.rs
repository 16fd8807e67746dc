//! What a run is given beside its agent: the model, inputs, what earlier runs left behind, and limits of
//! the host's own.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use ptc_lisp::Limits;
use ptc_lisp::analyze::Manifest;
use ptc_lisp::machine::Owner;
use ptc_lisp::prelude::Upstreams;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::agent::Retry;
use crate::model::{Llm, Message, Pending, TextSink};
use crate::step::{Step, Turn};
use crate::written::WrittenInputs;

/// Which turns a step keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceMode {
    /// All.
    #[default]
    On,
    /// None.
    Off,
    /// All, if the run failed.
    OnError,
}

/// What happens when the token budget is used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnBudget {
    /// The run fails.
    #[default]
    Fail,
    /// The last value that fits is the answer.
    ReturnPartial,
}

/// What a budget callback is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Spent {
    /// Tokens of requests.
    pub input_tokens: u64,
    /// Tokens of replies.
    pub output_tokens: u64,
    /// Tokens of both.
    pub total_tokens: u64,
    /// Requests.
    pub llm_requests: u32,
}

/// Finds models by name.
pub type Resolver = Arc<dyn Fn(&str) -> Option<Llm> + Send + Sync>;

/// Looks at what is spent; false stops the run.
pub type BudgetCheck = Arc<dyn Fn(&Spent) -> bool + Send + Sync>;

/// Looks at a turn before the next request; a reason stops the run.
pub type Guard = Arc<dyn Fn(&Turn) -> Option<crate::step::Fail> + Send + Sync>;

/// Looks at all that a program may call before anything of it runs; an error refuses the program.
pub type Admit = Arc<dyn Fn(&Manifest) -> Result<(), ptc_lisp::Error> + Send + Sync>;

/// Looks at these upstreams anew, where it is not known for certain which tools they have; nothing if it is.
pub type LookUp = Arc<dyn Fn(&[String]) -> Option<Pending<()>> + Send + Sync>;

/// What a model costs, in dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// Of requests.
    pub input: f64,
    /// Of replies.
    pub output: f64,
}

/// The inputs of a run.
#[derive(Clone, Debug)]
pub enum Context {
    /// A JSON object by name.
    Data(Arc<Json>),
    /// The same as texts, which take far less memory where they are large.
    Written(WrittenInputs),
    /// What another run gave.
    Step(Arc<Step>),
}

impl Context {
    /// The inputs that the text of a JSON object holds. Long ones stay text.
    pub fn read(text: &str) -> Result<Context, serde_json::Error> {
        match WrittenInputs::fields(text)? {
            // Whoever says that they must be an object shows what came.
            None => Ok(Context::from(serde_json::from_str::<Json>(text)?)),
            Some(fields) => {
                let written = WrittenInputs::new(fields).map_err(|refused| refused.error)?;
                Ok(Context::from(written))
            }
        }
    }

    /// The inputs as the text of a JSON object. What another run gave is none.
    pub fn text(&self) -> Option<String> {
        match self {
            Context::Data(data) => Some(data.to_string()),
            Context::Written(written) => Some(written.text()),
            Context::Step(_) => None,
        }
    }

    /// The inputs by name, with no more than the beginning of long texts. What another run gave is not among them.
    pub fn brief(&self) -> &Json {
        match self {
            Context::Data(data) => data,
            Context::Written(written) => written.brief(),
            Context::Step(_) => &Json::Null,
        }
    }
}

impl Default for Context {
    fn default() -> Self {
        Context::Data(Arc::new(Json::Object(Map::new())))
    }
}

impl From<Json> for Context {
    fn from(data: Json) -> Self {
        Context::Data(Arc::new(data))
    }
}

impl From<Arc<Json>> for Context {
    fn from(data: Arc<Json>) -> Self {
        Context::Data(data)
    }
}

impl From<WrittenInputs> for Context {
    fn from(written: WrittenInputs) -> Self {
        match written.is_long() {
            true => Context::Written(written),
            false => Context::Data(written.brief().clone()),
        }
    }
}

impl From<Step> for Context {
    fn from(step: Step) -> Self {
        Context::Step(Arc::new(step))
    }
}

/// What a run is given beside its agent.
#[derive(Clone, Default)]
pub struct RunOptions {
    /// The model, where the agent has none of its own.
    pub llm: Option<Llm>,
    /// Models by name.
    pub registry: BTreeMap<String, Llm>,
    /// Finds models that the registry does not have.
    pub resolver: Option<Resolver>,
    /// The inputs.
    pub context: Context,
    /// Which turns the step keeps.
    pub trace: TraceMode,
    /// Whether the step keeps the conversation.
    pub collect_messages: bool,
    /// When a model that could not be reached is asked again; as the agent says unless told.
    pub llm_retry: Option<Retry>,
    /// Whether providers may cache prompts.
    pub cache: bool,
    /// Takes text as it comes.
    pub on_chunk: Option<TextSink>,
    /// The conversation before the mission.
    pub initial_messages: Vec<Message>,
    /// Definitions by name.
    pub initial_memory: Map<String, Json>,
    /// Results of tasks, by id.
    pub journal: Map<String, Json>,
    /// What another run of a chat left behind.
    pub carried: Option<Arc<super::Carried>>,
    /// Whether the run leaves behind what the next one of a chat needs.
    pub keep_state: bool,
    /// Tokens that the run may use; beside the agent's own limit.
    pub token_limit: Option<u64>,
    /// Looks at what is spent after every reply.
    pub budget: Option<BudgetCheck>,
    /// What happens when the budget is used up.
    pub on_budget_exceeded: OnBudget,
    /// Looks at each turn before the next request. Without one, a run with upstreams stops after a call that
    /// may have changed something.
    pub guard: Option<Guard>,
    /// The upstream runtime behind the tool `call`. What the agent's prelude requires is held against it before
    /// every turn. Agents that the agent calls do not have it.
    pub upstreams: Option<Arc<dyn Upstreams>>,
    /// Looks at the servers behind the agent's prelude. Drivers that can wait ask it before the run begins and whenever
    /// it goes on, so that what went away ends the run.
    pub look_up: Option<LookUp>,
    /// Looks at every program of the agent before it runs. Agents that the agent calls are not asked about.
    pub admit: Option<Admit>,
    /// Bytes of memory of a program; as the agent says unless told.
    pub max_heap: Option<usize>,
    /// What programs may use at most, whatever agents say; for runs that begin from something nobody vouches for.
    pub ceiling: Option<Limits>,
    /// Where random numbers begin. Hosts pick one at random for each run, so that ids which programs make are theirs
    /// alone; agents that the agent calls begin elsewhere.
    pub seed: u64,
    /// The trace this run belongs to.
    pub trace_id: Option<String>,
    /// The trace of who started it.
    pub parent_trace_id: Option<String>,
    /// What models cost, so that a budget in dollars holds before a request is made.
    pub price: Option<Price>,
    /// A program to run in place of asking a model.
    pub program: Option<String>,
    /// For whom the run is. Its machines share compiled programs and values of preludes only with those of the same
    /// owner.
    pub owner: Owner,
}

impl fmt::Debug for RunOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunOptions")
            .field("llm", &self.llm)
            .field("context", &self.context)
            .finish_non_exhaustive()
    }
}

impl RunOptions {
    /// A run with this model.
    pub fn new(llm: Llm) -> Self {
        RunOptions { llm: Some(llm), ..RunOptions::default() }
    }

    /// With inputs: a JSON object, or what another run gave.
    #[must_use]
    pub fn context(mut self, context: impl Into<Context>) -> Self {
        self.context = context.into();
        self
    }

    /// With a model of this name for agents that ask for it.
    #[must_use]
    pub fn register(mut self, name: impl Into<String>, llm: Llm) -> Self {
        self.registry.insert(name.into(), llm);
        self
    }

    /// Limits that are no wider than the ceiling.
    pub(crate) fn within_ceiling(&self, limits: Limits) -> Limits {
        self.ceiling.as_ref().map_or(limits.clone(), |most| limits.within(most))
    }

    /// Keeps the conversation.
    #[must_use]
    pub fn collect_messages(mut self) -> Self {
        self.collect_messages = true;
        self
    }
}
