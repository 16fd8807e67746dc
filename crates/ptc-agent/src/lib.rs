//! SubAgents: a model is asked for a program, the program runs in a sandbox with the agent's tools, and
//! what came of it goes back to the model, until there is an answer.
//!
//! An [`Agent`] is a definition, checked when it is built. A run of it is a state machine that does no
//! input or output: it says what it needs (a model's reply, a tool's result) and waits until a driver
//! supplies it. The four modes, PTC-Lisp by content, PTC-Lisp by tool call, text and combined, differ in
//! how a request is built and how a reply is read, not in how a run goes on.

mod agent;
mod budget;
mod cache;
mod chain;
mod chunk;
mod compact;
mod compile;
mod drive;
mod dry_run;
mod event;
mod feedback;
mod grep;
mod hash;
mod journal;
mod look;
pub mod model;
mod preview;
mod prompt;
mod reason;
mod render;
mod reply;
mod run;
mod step;
pub mod tape;
mod tool;
pub mod typed;
mod written;

pub use agent::{
    Agent, Backoff, BuildError, Builder, Completion, Kind, MemoryStrategy, Mode, OPTIONS, OptionInfo,
    Options, Profile, PromptLimit, Retry, Transport,
};
pub use chunk::{Chunk, ChunkError, Chunker};
pub use compact::{Compaction, CompactionError, CompactionReason, CompactionStats, TokenCounter};
pub use compile::Compiled;
pub use drive::{Host, ask_model, call_function, drive};
pub use event::Event;
pub use journal::{Phase, PlanError, PlanItem, PlanStep, ProgressFn, ProgressInput, plan, plan_from_json};
pub use prompt::{
    Behavior, Card, EvalProfile, LanguageSpec, PromptParts, PromptPreview, SpecError, SpecInput, SpecOptions,
    SystemPrompt, lisp_eval,
};
pub use reason::{REASONS, Reason, ReasonInfo};
pub use render::{
    DISCOVERY_BYTES, FormatOptions, MissionLogIn, PRINT_BYTES, RESULT_BYTES, grouped, handle_parts,
    handle_text, page_text, preview_text,
};
pub use reply::{Fix, FixKind, Multiple};
pub use run::{
    Admit, AgentRun, Ask, AskKind, BudgetCheck, Carried, Context, Guard, LookUp, Need, Now, OnBudget, Price,
    Resolver, RunOptions, SaveError, Spent, Supply, TraceMode, Waiting, WaitsOn, waiting,
};
pub use step::{AnswerError, CallRecord, Fail, Step, ToolInfo, Turn, TurnType, UpstreamCall, Usage};
pub use tool::{
    AgentTool, Answers, Approval, ApprovalOf, Body, Builtin, Decision, Effect, EffectOf, Expose, Function,
    IntoToolResult, LlmTool, PendingCall, Pick, Preview, PreviewError, PreviewFunction, Tool, ToolResult,
    Verdict, Visibility,
};
pub use written::{InputError, InputTexts, WrittenInputs};
