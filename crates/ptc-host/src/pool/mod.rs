//! The pool: a few threads that run thousands of programs fairly.
//!
//! Programs come from any thread and go to the worker that has time; there a machine is made for each,
//! which never leaves that thread. A worker gives its programs turns of so much fuel (`queue.rs`), and owners take
//! turns (`fair.rs`). What waits for tools costs nothing until the answers are there.

mod fair;
mod queue;
mod running;
mod shared;
mod task;
#[cfg(test)]
mod tests;
mod worker;

use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ptc_lisp::machine::Machine;

pub use fair::{Fair, Lane};
pub use running::Running;
use shared::{Mail, Make, Shared, To, Visit};
use worker::Worker;

use crate::program::Program;

/// Stack for a thread that runs machines: values and programs nest as deep as their limits allow, and
/// unoptimised builds need much stack per level. What is not touched takes no memory.
pub const STACK: usize = 256 << 20;

/// How large a pool is.
#[derive(Clone, Copy, Debug)]
pub struct PoolConfig {
    /// Threads; as many as the computer runs at once unless told.
    pub workers: usize,
    /// Programs that may be unfinished at once, running or waiting. Further ones wait for room.
    pub programs: usize,
    /// How long a small program waits for tools before only its dump is kept, some hundred bytes instead
    /// of a machine; it goes on on whichever worker has time. `None`, the default, keeps machines: a
    /// machine that was parked may count its memory in slightly other steps, and so its fuel.
    pub park_after: Option<Duration>,
}

impl Default for PoolConfig {
    fn default() -> Self {
        let workers = thread::available_parallelism().map_or(1, usize::from);
        PoolConfig { workers, programs: 100_000, park_after: None }
    }
}

/// What a pool has done since it was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Programs that it has and that are not over.
    pub unfinished: usize,
    /// Turns that programs had.
    pub turns: u64,
    /// How often a program was parked.
    pub parked: u64,
}

/// A pool of threads that run programs. Dropping it shuts it down.
#[derive(Debug)]
pub struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Pool {
    /// Starts a pool.
    ///
    /// # Panics
    ///
    /// If the system can start no more threads.
    pub fn new(config: PoolConfig) -> Self {
        let workers = config.workers.max(1);
        let shared = Arc::new(Shared::new(workers, config.programs));
        let start = |index| {
            let shared = shared.clone();
            thread::Builder::new()
                .name(format!("ptc-worker-{index}"))
                .stack_size(STACK)
                .spawn(move || Worker::new(index, shared, config.park_after).run())
                .expect("a thread can be started")
        };
        let threads = (0..workers).map(start).collect();
        Pool { shared, threads }
    }

    /// The pool of the process, started when first asked for.
    pub fn global() -> &'static Pool {
        static GLOBAL: OnceLock<Pool> = OnceLock::new();
        GLOBAL.get_or_init(|| Pool::new(PoolConfig::default()))
    }

    /// Runs a program. If the pool is full, the program waits for room when it is awaited.
    pub fn run(&self, program: Program) -> Running {
        Running::new(&self.shared, program, To::Anyone)
    }

    /// Runs a program unless the pool is full; then the program comes back.
    pub fn try_run(&self, program: Program) -> Result<Running, Box<Program>> {
        self.run(program).refused().map_err(Box::new)
    }

    /// Begins a session: programs that see each other's definitions.
    pub fn session(&self) -> Session {
        let (id, worker) = self.shared.new_session();
        Session { shared: self.shared.clone(), id, worker }
    }

    /// What the pool has done so far.
    pub fn stats(&self) -> PoolStats {
        self.shared.stats()
    }

    /// Stops all programs, whose outcomes say so, and waits for the threads to end.
    pub fn shutdown(self) {
        drop(self);
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.close();
        let this = thread::current().id();
        for thread in self.threads.drain(..) {
            // A pool that a tool of its own drops cannot wait for the thread it is on.
            if thread.thread().id() != this && thread.join().is_err() {
                debug_assert!(false, "a worker panicked");
            }
        }
    }
}

/// A machine that is kept between programs, on one worker of a pool. Its programs run one after the
/// other. Dropping it forgets the definitions.
#[derive(Debug)]
pub struct Session {
    shared: Arc<Shared>,
    id: u64,
    worker: usize,
}

impl Session {
    /// Runs a program after all earlier ones of this session.
    pub fn run(&self, program: Program) -> Running {
        Running::new(&self.shared, program, To::Session { worker: self.worker, id: self.id })
    }
}

impl Session {
    /// Gives the session its first machine, which is made on its own thread; where there is none, the session is lost.
    /// Left undone if there has been a program already.
    pub fn begin(&self, make: impl FnOnce() -> Option<Machine> + Send + 'static) {
        self.shared.post(self.worker, Mail::Begin(self.id, Make(Box::new(make))));
    }

    /// Has something done with the machine on its own thread, between programs. It is left undone if the
    /// session has had no program yet, or has one that is not over.
    pub fn visit(&self, visit: impl FnOnce(&mut Machine) + Send + 'static) {
        self.shared.post(self.worker, Mail::Visit(self.id, Visit(Box::new(visit))));
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.shared.post(self.worker, Mail::Forget(self.id));
    }
}
