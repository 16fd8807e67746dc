//! PtcRunner: language models that write programs instead of making twenty tool calls.
//!
//! An [`Agent`] has a mission, a signature for its answer, and tools. A model writes small PTC-Lisp programs
//! that call the tools and work on data that never enters the model's context; what comes back is a typed
//! answer in a [`Step`].
//!
//! ```
//! use ptc_runner::model::{Llm, Request};
//! use ptc_runner::{Agent, RunOptions, Tool};
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let orders = Tool::new("orders", |_| json!([{"id": 1, "total": 20}, {"id": 2, "total": 22}]))
//!     .signature("() -> [{id :int, total :int}]")?
//!     .description("All orders");
//! let agent = Agent::builder("What is the total of all orders?")
//!     .signature("() -> {total :int}")
//!     .tool(orders)
//!     .build()?;
//!
//! // A model is a function from a request to a reply; adapters for providers are models too.
//! let llm = Llm::function(|_: &Request| {
//!     Ok::<_, String>("```clojure\n(return {:total (reduce + (map :total (tool/orders)))})\n```".to_owned())
//! });
//! let step = ptc_runner::run(agent, RunOptions::new(llm)).await;
//! assert_eq!(step.result(), Ok(&json!({"total": 42})));
//! assert_eq!((step.usage.turns, step.usage.tool_calls), (1, 1));
//! # Ok(())
//! # }
//! ```
//!
//! Tools can be typed functions: with [`macro@tool`], parameters and doc comment become the signature and the
//! description. [`Tool::agent`] makes an agent a tool of another, [`Chat`] keeps state between messages,
//! [`compile`] has a program written once to be run without a model. With the feature `models`, providers' models are found by
//! name; with `upstreams`, MCP servers and HTTP APIs are tools.

mod approve;
mod blocking;
mod chat;
mod command;
mod compose;
mod drive;
mod file;
mod journal;
#[cfg(feature = "models")]
pub mod models;
mod outside;
mod turns;
mod under_way;
#[cfg(feature = "upstreams")]
pub mod upstreams;

pub use approve::{Approver, Outcome, Paused, pending};
pub use blocking::run_blocking;
pub use chat::Chat;
pub use compose::{compile, delegate, execute, run_all, then};
pub use drive::{Checkpoint, OnLost, Subscriber, Surroundings};
pub use file::{
    AgentFile, FileError, Place, agent_schema, compile_preludes, model_beside, parse_agent, read_agent,
};
pub use journal::{Answer, Answerer, Journal, LostCall, OpenCall, Saved, unanswered};
pub use outside::answer;
pub use ptc_agent::typed::tool;
pub use ptc_agent::*;
pub use turns::Share;

use std::sync::Arc;

use drive::Begin;

/// Runs an agent. Must be called on a tokio runtime; dropping the future ends the run.
pub async fn run(agent: impl Into<Arc<Agent>>, options: RunOptions) -> Step {
    run_in(agent, options, Surroundings::default()).await
}

/// Runs an agent with somebody who takes events, keeps a journal or cancels.
pub async fn run_in(agent: impl Into<Arc<Agent>>, options: RunOptions, around: Surroundings) -> Step {
    begin(agent, options, around).await.step()
}

/// Runs an agent until it is over, or until it waits for people and for nothing else. [`go_on`] continues it then.
pub async fn begin(agent: impl Into<Arc<Agent>>, options: RunOptions, around: Surroundings) -> Outcome {
    drive::drive(agent.into(), options, Begin::New, around).await.outcome()
}

/// Goes on with a run that was saved, with the agent it was begun with. What was asked for and never answered is
/// asked for again, except for calls that may have changed something: those fail, and the run is told why.
pub async fn resume(
    agent: impl Into<Arc<Agent>>,
    options: RunOptions,
    saved: impl Into<Saved>,
    around: Surroundings,
) -> Step {
    go_on(agent, options, saved, around).await.step()
}

/// Goes on with a run that was saved until it is over, or until it waits for people again. Calls that were decided
/// about are made or refused, each once; the approver is asked about the others.
pub async fn go_on(
    agent: impl Into<Arc<Agent>>,
    options: RunOptions,
    saved: impl Into<Saved>,
    around: Surroundings,
) -> Outcome {
    drive::drive(agent.into(), options, Begin::Saved(saved.into()), around).await.outcome()
}

/// The examples of pages of the book, which run as tests.
#[cfg(doctest)]
// Blocks that name their file are for the tests that walk through pages.
#[allow(rustdoc::invalid_codeblock_attributes)]
mod pages {
    #[cfg(feature = "models")]
    #[doc = include_str!("../../../README.md")]
    struct Readme;

    #[cfg(feature = "models")]
    #[doc = include_str!("../../../docs/rust.md")]
    struct FromRust;

    #[doc = include_str!("../../../docs/agents.md")]
    struct Agents;

    #[doc = include_str!("../../../docs/preludes.md")]
    struct Preludes;
}
