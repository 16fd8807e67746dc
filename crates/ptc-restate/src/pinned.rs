//! A run on a thread where it stays: machines never cross threads, the futures of workflows do.

use std::sync::{Arc, OnceLock};

use ptc_runner::{Agent, AgentRun, RunOptions};
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::LocalPoolHandle;

type Work = Box<dyn FnOnce(&mut AgentRun) + Send>;

/// A run that is worked on from other threads. It ends when this is dropped.
pub(crate) struct Pinned {
    work: mpsc::UnboundedSender<Work>,
}

/// The run is gone: something in it panicked.
#[derive(Debug, thiserror::Error)]
#[error("the run ended badly; this is a bug")]
pub(crate) struct Gone;

fn pool() -> &'static LocalPoolHandle {
    static POOL: OnceLock<LocalPoolHandle> = OnceLock::new();
    POOL.get_or_init(|| LocalPoolHandle::new(std::thread::available_parallelism().map_or(2, Into::into)))
}

impl Pinned {
    /// Begins a run at a time.
    pub(crate) fn begin(agent: Arc<Agent>, options: RunOptions, now: u64) -> Self {
        let (work, mut queue) = mpsc::unbounded_channel::<Work>();
        drop(pool().spawn_pinned(move || async move {
            let mut run = AgentRun::new(agent, options, now);
            while let Some(work) = queue.recv().await {
                work(&mut run);
            }
        }));
        Pinned { work }
    }

    /// Does something with the run, on its thread.
    pub(crate) async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut AgentRun) -> T + Send + 'static,
    ) -> Result<T, Gone> {
        let (answer, result) = oneshot::channel();
        let work: Work = Box::new(move |run| drop(answer.send(work(run))));
        self.work.send(work).map_err(|_| Gone)?;
        result.await.map_err(|_| Gone)
    }
}
