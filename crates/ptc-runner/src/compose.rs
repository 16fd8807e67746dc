//! Agents together: one after the other, side by side, or written once and run many times.

use std::sync::Arc;

use ptc_agent::{Agent, BuildError, Builder, Compiled, Context, Fail, Reason, RunOptions, Step, TraceMode};
use serde_json::Value as Json;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::run;

/// Runs a mission that is only a text, with options given to its builder.
pub async fn delegate(
    prompt: &str,
    define: impl FnOnce(Builder) -> Builder,
    options: RunOptions,
) -> Result<Step, BuildError> {
    let agent = define(Agent::builder(prompt)).build()?;
    Ok(run(agent, options).await)
}

/// Goes on with what a step gave. A step that failed stays as it is; one that does not give what the agent
/// takes fails with `chain_error`.
pub async fn then(step: Step, agent: impl Into<Arc<Agent>>, options: RunOptions) -> Step {
    let agent = agent.into();
    if !step.is_ok() {
        return step;
    }
    if let Err(fail) = agent.accepts(&step) {
        return Step::failed(fail);
    }
    run(agent, RunOptions { context: Context::from(step), ..options }).await
}

/// Runs agents side by side, at most so many at once; steps come in the order of the agents.
pub async fn run_all(runs: impl IntoIterator<Item = (Arc<Agent>, RunOptions)>, at_once: usize) -> Vec<Step> {
    let slots = Arc::new(Semaphore::new(at_once.max(1)));
    let mut under_way = JoinSet::new();
    let mut steps = Vec::new();
    for (at, (agent, options)) in runs.into_iter().enumerate() {
        steps.push(None);
        let slots = slots.clone();
        under_way.spawn(async move {
            let _slot = slots.acquire().await;
            (at, run(agent, options).await)
        });
    }
    while let Some(ended) = under_way.join_next().await {
        if let Ok((at, step)) = ended {
            steps[at] = Some(step);
        }
    }
    let lost = || Step::failed(Fail::new(Reason::custom("internal_error"), "the run ended badly"));
    steps.into_iter().map(|step| step.unwrap_or_else(lost)).collect()
}

/// Has the program of an agent written once, with made-up inputs in place of those that `sample` does not give.
pub async fn compile(
    agent: impl Into<Arc<Agent>>,
    sample: &Json,
    options: RunOptions,
) -> Result<Result<Compiled, Box<Step>>, BuildError> {
    let agent = agent.into();
    let writer = agent.to_compile()?;
    let name = options.llm.as_ref().map(|llm| llm.label().to_owned());
    let context = agent.sample_context(sample);
    // The program is in the trace.
    let options = RunOptions { context: context.into(), trace: TraceMode::On, ..options };
    let step = run(writer, options).await;
    Ok(Compiled::from_step(agent, step, name))
}

/// Runs a compiled agent. It needs a model only if its tools do.
pub async fn execute(compiled: &Compiled, options: RunOptions) -> Step {
    if compiled.needs_model() && options.llm.is_none() && compiled.agent().options().llm.is_none() {
        return Step::failed(Fail::new(
            Reason::LLM_REQUIRED,
            "tools of this compiled agent ask a model; give the run one with `llm`",
        ));
    }
    run(compiled.agent().clone(), compiled.options(options)).await
}
