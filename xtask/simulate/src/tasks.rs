//! The scheduler's tasks. Exactly one runs at a time, from one point where it waits to the next, and which one is drawn.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use crate::world::Shared;

/// Whose a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// A client's: it must come to its end.
    Client,
    /// A call of a server, which must come to its end too, or be killed.
    Call(usize),
    /// Something that a server does beside its calls.
    Upkeep(usize),
    /// A message on its way.
    Network,
}

impl Of {
    /// The server that it dies with.
    pub fn node(self) -> Option<usize> {
        match self {
            Of::Client | Of::Network => None,
            Of::Call(node) | Of::Upkeep(node) => Some(node),
        }
    }
}

/// A task that is about to begin.
struct New {
    of: Of,
    party: u64,
    future: Pin<Box<dyn Future<Output = ()>>>,
}

/// A task.
pub struct Task {
    pub of: Of,
    /// Who acts in it: whatever is held is held by a party, which may have several tasks.
    party: u64,
    /// Whether nothing went wrong any more when it began, once it has.
    calm: Option<bool>,
    future: Pin<Box<dyn Future<Output = ()>>>,
}

/// Where tasks are begun. Clones are the same.
#[derive(Clone, Default)]
pub struct Spawner(Rc<RefCell<Vec<New>>>);

impl Spawner {
    /// Begins a task.
    pub fn spawn(&self, of: Of, party: u64, future: impl Future<Output = ()> + 'static) {
        self.0.borrow_mut().push(New { of, party, future: Box::pin(future) });
    }
}

/// All tasks.
#[derive(Default)]
pub struct Tasks {
    all: BTreeMap<u64, Task>,
    ready: Arc<Mutex<BTreeSet<u64>>>,
    next: u64,
    pub spawner: Spawner,
    /// Calls that began and ended while nothing went wrong, with their servers.
    calm_ends: Vec<(usize, u64)>,
}

struct Ready {
    task: u64,
    ready: Arc<Mutex<BTreeSet<u64>>>,
}

impl Wake for Ready {
    fn wake(self: Arc<Self>) {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).insert(self.task);
    }
}

impl Tasks {
    /// Takes in what was begun.
    pub fn take_in(&mut self) {
        for New { of, party, future } in self.spawner.0.borrow_mut().drain(..) {
            self.next += 1;
            self.all.insert(self.next, Task { of, party, calm: None, future });
            self.ready.lock().unwrap_or_else(PoisonError::into_inner).insert(self.next);
        }
    }

    /// Tasks that can run, of servers that may.
    pub fn runnable(&self, may: impl Fn(usize) -> bool) -> Vec<u64> {
        let ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        let can = |task: &&u64| self.all.get(*task).is_some_and(|task| task.of.node().is_none_or(&may));
        ready.iter().filter(can).copied().collect()
    }

    /// Runs a task to the next point where it waits.
    pub fn run(&mut self, number: u64, shared: &Shared) {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
        let Some(task) = self.all.get_mut(&number) else { return };
        {
            let mut state = shared.lock();
            state.acting = task.party;
            task.calm.get_or_insert(!state.chaos);
        }
        let waker = Waker::from(Arc::new(Ready { task: number, ready: self.ready.clone() }));
        if task.future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
            let ended = self.all.remove(&number);
            let calm = ended.filter(|task| task.calm == Some(true));
            if let Some(Task { of: Of::Call(node), party, .. }) = calm {
                self.calm_ends.push((node, party));
            }
        }
    }

    /// Calls that began and ended while nothing went wrong, since somebody last asked.
    pub fn take_calm_ends(&mut self) -> Vec<(usize, u64)> {
        std::mem::take(&mut self.calm_ends)
    }

    /// A server is gone, with all that it did.
    pub fn kill(&mut self, node: usize) {
        self.take_in();
        self.all.retain(|_, task| task.of.node() != Some(node));
    }

    /// How many tasks there are that are like this.
    pub fn count(&self, like: impl Fn(Of) -> bool) -> usize {
        self.all.values().filter(|task| like(task.of)).count()
    }
}

/// Lets others run.
pub async fn step() {
    let mut waited = false;
    poll_fn(|context| {
        if std::mem::replace(&mut waited, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Waits for so long.
pub async fn sleep(shared: &Shared, ms: i64) {
    let until = shared.lock().now + ms;
    poll_fn(|context| {
        let mut state = shared.lock();
        if state.now >= until {
            return Poll::Ready(());
        }
        let number = state.number();
        state.timers.insert((until, number), context.waker().clone());
        Poll::Pending
    })
    .await;
}

/// Messages for one receiver.
pub struct Mailbox<T>(Rc<RefCell<Inner<T>>>);

struct Inner<T> {
    messages: Vec<T>,
    waiting: Option<Waker>,
}

impl<T> Clone for Mailbox<T> {
    fn clone(&self) -> Self {
        Mailbox(self.0.clone())
    }
}

impl<T> Default for Mailbox<T> {
    fn default() -> Self {
        Mailbox(Rc::new(RefCell::new(Inner { messages: Vec::new(), waiting: None })))
    }
}

impl<T> Mailbox<T> {
    /// Puts a message into it.
    pub fn put(&self, message: T) {
        let mut inner = self.0.borrow_mut();
        inner.messages.push(message);
        if let Some(waiting) = inner.waiting.take() {
            waiting.wake();
        }
    }

    /// The next message, if it comes within so long.
    pub async fn take(&self, shared: &Shared, ms: i64) -> Option<T> {
        let until = shared.lock().now + ms;
        poll_fn(|context| {
            let mut inner = self.0.borrow_mut();
            if !inner.messages.is_empty() {
                return Poll::Ready(Some(inner.messages.remove(0)));
            }
            let mut state = shared.lock();
            if state.now >= until {
                return Poll::Ready(None);
            }
            let number = state.number();
            state.timers.insert((until, number), context.waker().clone());
            inner.waiting = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }
}
