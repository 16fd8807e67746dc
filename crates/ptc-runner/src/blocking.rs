//! Runs without a runtime of the caller's.

use std::sync::Arc;

use ptc_agent::{Agent, Fail, Reason, RunOptions, Step};

/// Runs an agent and waits for its end on the calling thread. Must not be called on a tokio runtime.
pub fn run_blocking(agent: impl Into<Arc<Agent>>, options: RunOptions) -> Step {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(1).build();
    match runtime {
        Ok(runtime) => runtime.block_on(crate::run(agent, options)),
        Err(error) => Step::failed(Fail::new(Reason::custom("runtime_error"), error.to_string())),
    }
}
