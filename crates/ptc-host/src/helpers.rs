//! Threads for tools that block: started when needed, kept a moment for the next call, shared by all
//! drivers of the process.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Work for a thread.
pub(crate) type HelperJob = Box<dyn FnOnce() + Send>;

/// Most threads at once; work beyond that waits for one.
const MOST: usize = 512;

/// How long an idle thread waits for more.
const PATIENCE: Duration = Duration::from_secs(5);

struct Helpers {
    state: Mutex<HelperState>,
    work: Condvar,
}

struct HelperState {
    jobs: VecDeque<HelperJob>,
    threads: usize,
    idle: usize,
}

static HELPERS: Helpers = Helpers {
    state: Mutex::new(HelperState { jobs: VecDeque::new(), threads: 0, idle: 0 }),
    work: Condvar::new(),
};

/// Runs `job` on a thread of its own. A job that no thread can be started for is dropped.
pub(crate) fn spawn(job: HelperJob) {
    let mut state = HELPERS.state.lock().unwrap_or_else(PoisonError::into_inner);
    state.jobs.push_back(job);
    if state.idle >= state.jobs.len() || state.threads >= MOST {
        drop(state);
        HELPERS.work.notify_one();
        return;
    }
    let started = thread::Builder::new().name("ptc-tool".to_owned()).spawn(serve);
    match started {
        Ok(_) => state.threads += 1,
        Err(_) if state.threads == 0 => {
            let job = state.jobs.pop_back();
            drop(state);
            drop(job);
        }
        Err(_) => {}
    }
}

fn serve() {
    let mut state = HELPERS.state.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if let Some(job) = state.jobs.pop_front() {
            drop(state);
            job();
            state = HELPERS.state.lock().unwrap_or_else(PoisonError::into_inner);
            continue;
        }
        state.idle += 1;
        let (woken, waited) =
            HELPERS.work.wait_timeout(state, PATIENCE).unwrap_or_else(PoisonError::into_inner);
        state = woken;
        state.idle -= 1;
        if waited.timed_out() && state.jobs.is_empty() {
            state.threads -= 1;
            return;
        }
    }
}
