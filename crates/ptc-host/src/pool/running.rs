//! A program on its way through a pool, as its caller sees it: a future, or something to wait for.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use super::shared::{Job, Shared, To, Waiter};
use crate::cancel::{Cancel, Hook};
use crate::program::{Outcome, Program, cancelled};

/// Where the outcome of a program will be.
#[derive(Debug, Default)]
pub(super) struct Slot {
    state: Mutex<(Option<Box<Outcome>>, Option<Waker>)>,
}

impl Slot {
    fn state(&self) -> MutexGuard<'_, (Option<Box<Outcome>>, Option<Waker>)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the outcome there and tells who waits for it.
    pub fn fill(&self, outcome: Outcome) {
        let mut state = self.state();
        state.0 = Some(Box::new(outcome));
        let waker = state.1.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }
}

/// A program that runs in a pool, or waits for room there. Await it, or call [`Running::wait`]. Dropping
/// it cancels the program.
#[derive(Debug)]
#[must_use = "dropping it cancels the program"]
pub struct Running {
    shared: Arc<Shared>,
    slot: Arc<Slot>,
    cancel: Cancel,
    to: To,
    /// The program, while there is no room for it.
    waiting: Option<Box<Job>>,
    /// Its place among those who wait for room.
    place: Option<u64>,
    /// What wakes it when it is cancelled before there is room.
    hook: Option<Hook>,
    done: bool,
}

impl Running {
    /// Sends a program into a pool; it waits if there is no room.
    pub(super) fn new(shared: &Arc<Shared>, program: Program, to: To) -> Self {
        let slot = Arc::new(Slot::default());
        let cancel = program.cancel.as_ref().map_or_else(Cancel::new, Cancel::child);
        let session = match to {
            To::Anyone => None,
            To::Session { id, .. } => Some(id),
        };
        let job = Job {
            program,
            slot: slot.clone(),
            cancel: cancel.clone(),
            session,
            #[cfg(feature = "tokio")]
            runtime: crate::runtime::current(),
        };
        let waiting = shared.admit(Box::new(job), to, None).err();
        Running { shared: shared.clone(), slot, cancel, to, waiting, place: None, hook: None, done: false }
    }

    /// The program, if there was no room for it.
    pub(super) fn refused(mut self) -> Result<Self, Program> {
        match self.waiting.take() {
            Some(job) => {
                self.done = true;
                Err(job.program)
            }
            None => Ok(self),
        }
    }

    /// Stops the program; its outcome will say so, unless it was over before.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Blocks the calling thread until the program is over. In async code, await instead.
    pub fn wait(mut self) -> Outcome {
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut context = Context::from_waker(&waker);
        loop {
            match Pin::new(&mut self).poll(&mut context) {
                Poll::Ready(outcome) => return outcome,
                Poll::Pending => thread::park(),
            }
        }
    }
}

impl Future for Running {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        let this = &mut *self;
        if let Some(job) = this.waiting.take() {
            if this.cancel.is_cancelled() {
                this.done = true;
                return Poll::Ready(Outcome::failed(cancelled("the program was cancelled")));
            }
            let waiter = Waiter { place: &mut this.place, waker: cx.waker() };
            if let Err(job) = this.shared.admit(job, this.to, Some(waiter)) {
                this.waiting = Some(job);
                let waker = cx.waker().clone();
                this.hook = Some(this.cancel.on_cancel(move || waker.wake()));
                return Poll::Pending;
            }
            this.hook = None;
        }
        let mut state = this.slot.state();
        if let Some(outcome) = state.0.take() {
            this.done = true;
            return Poll::Ready(*outcome);
        }
        match &mut state.1 {
            Some(waker) => waker.clone_from(cx.waker()),
            empty => *empty = Some(cx.waker().clone()),
        }
        Poll::Pending
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.done {
            self.cancel.cancel();
        }
        if let Some(place) = self.place {
            self.shared.leave_line(place);
        }
    }
}

/// Wakes a thread that waits for an outcome.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
