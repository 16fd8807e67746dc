//! A thread of the pool: takes programs in, gives them turns, and passes on answers, timeouts and
//! cancellations.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use ptc_lisp::machine::{Machine, Signal};
use ptc_lisp::{Error, ErrorKind};

use super::queue::RunQueue;
use super::running::Slot;
use super::shared::{Job, Mail, Shared};
use super::task::Task;
use crate::drive::Turn;
use crate::program::{Outcome, cancelled};
use crate::tools::panic_text;

/// See the module.
pub(super) struct Worker {
    index: usize,
    shared: Arc<Shared>,
    tasks: HashMap<u64, Box<Task>>,
    next_task: u64,
    queue: RunQueue,
    /// When programs that wait must be looked at, and which.
    deadlines: BTreeSet<(Instant, u64)>,
    sessions: HashMap<u64, Session>,
}

/// A session that lives here.
#[derive(Default)]
struct Session {
    /// Its machine while no program runs.
    machine: Option<Machine>,
    running: bool,
    /// A panic took the machine, and its definitions with it.
    lost: bool,
    /// Its owner is gone.
    forgotten: bool,
    queue: VecDeque<Box<Job>>,
}

impl Worker {
    pub fn new(index: usize, shared: Arc<Shared>) -> Self {
        Worker {
            index,
            shared,
            tasks: HashMap::new(),
            next_task: 0,
            queue: RunQueue::default(),
            deadlines: BTreeSet::new(),
            sessions: HashMap::new(),
        }
    }

    /// Works until the pool closes.
    pub fn run(mut self) {
        let mut room = Vec::new();
        loop {
            let deadline = || self.deadlines.first().map(|(at, _)| *at);
            let found = self.shared.find(self.index, self.queue.is_empty(), deadline, room);
            room = found.mail;
            room.drain(..).for_each(|mail| self.read(mail));
            if let Some(job) = found.fresh {
                self.start(*job, None);
            }
            if found.closing {
                return self.close();
            }
            self.expire();
            if let Some((id, fuel)) = self.queue.next() {
                self.turn(id, fuel);
            }
        }
    }

    fn read(&mut self, mail: Mail) {
        match mail {
            Mail::Job(job) => self.take_for_session(job),
            Mail::Reply(id, call, reply) => {
                if self.tasks.get_mut(&id).is_some_and(|task| task.drive.land(call, reply)) {
                    self.queue.push_front_class(id);
                }
            }
            Mail::Cancelled(id) => {
                if let Some(task) = self.tasks.remove(&id) {
                    self.end(task, Err(cancelled("the program was cancelled")));
                }
            }
            Mail::Forget(id) => {
                if let Some(session) = self.sessions.get_mut(&id) {
                    session.forgotten = true;
                    self.next_of_session(id);
                }
            }
        }
    }

    fn start(&mut self, job: Job, machine: Option<Machine>) {
        let id = self.next_task;
        self.next_task += 1;
        let (shared, index, slot) = (&self.shared, self.index, job.slot.clone());
        let session = job.session;
        let made = guarded(|| Task::new(job, machine, shared, index, id));
        match made {
            Ok(task) => {
                self.tasks.insert(id, Box::new(task));
                self.queue.push_front_class(id);
            }
            Err(error) => self.crashed(&slot, session, error),
        }
    }

    fn turn(&mut self, id: u64, fuel: u64) {
        // A program that was cancelled while it stood in the queue is gone.
        let Some(mut task) = self.tasks.remove(&id) else { return };
        self.shared.turns.fetch_add(1, Ordering::Relaxed);
        match guarded(|| task.turn(fuel)) {
            Ok(Turn::Busy) => {
                self.tasks.insert(id, task);
                self.queue.push_busy(id);
            }
            Ok(Turn::Waits) => {
                task.listen(&self.shared, self.index, id);
                self.watch(&task, id);
                self.tasks.insert(id, task);
            }
            Ok(Turn::Over(result)) => self.end(task, result),
            Err(error) => {
                let (slot, session) = (task.slot.clone(), task.session);
                // What a panic left behind may panic again.
                let dropped = guarded(|| drop(task));
                self.crashed(&slot, session, dropped.err().unwrap_or(error));
            }
        }
    }

    /// Notes when a program that waits must be looked at.
    fn watch(&mut self, task: &Task, id: u64) {
        if let Some(at) = task.drive.wake_at(Instant::now()) {
            self.deadlines.insert((at, id));
        }
    }

    /// Looks at programs that have waited long.
    fn expire(&mut self) {
        if self.deadlines.is_empty() {
            return;
        }
        let now = Instant::now();
        while let Some(&(at, id)) = self.deadlines.first() {
            if at > now {
                return;
            }
            self.deadlines.pop_first();
            let Some(mut task) = self.tasks.remove(&id) else { continue };
            match task.drive.expire(now) {
                Ok(ready) => {
                    if ready {
                        self.queue.push_front_class(id);
                    } else {
                        self.watch(&task, id);
                    }
                    self.tasks.insert(id, task);
                }
                Err(error) => self.end(task, Err(error)),
            }
        }
    }

    /// Ends a program and hands out its outcome.
    fn end(&mut self, task: Box<Task>, result: Result<Signal, Error>) {
        let (slot, session) = (task.slot.clone(), task.session);
        match guarded(|| task.finish(result)) {
            Ok((outcome, machine)) => {
                self.deliver(&slot, outcome);
                match session {
                    Some(id) => self.rest(id, Some(machine)),
                    None => drop(guarded(|| drop(machine))),
                }
            }
            Err(error) => self.crashed(&slot, session, error),
        }
    }

    /// A panic ended the program.
    fn crashed(&mut self, slot: &Slot, session: Option<u64>, error: Error) {
        self.deliver(slot, Outcome::failed(error));
        if let Some(id) = session {
            self.rest(id, None);
        }
    }

    fn deliver(&self, slot: &Slot, outcome: Outcome) {
        slot.fill(outcome);
        self.shared.finished();
    }

    fn take_for_session(&mut self, job: Box<Job>) {
        let Some(id) = job.session else { return };
        self.sessions.entry(id).or_default().queue.push_back(job);
        self.next_of_session(id);
    }

    /// A program of a session is over.
    fn rest(&mut self, id: u64, machine: Option<Machine>) {
        if let Some(session) = self.sessions.get_mut(&id) {
            session.running = false;
            session.lost |= machine.is_none();
            session.machine = machine;
        }
        self.next_of_session(id);
    }

    /// Starts the next program of a session, if none runs.
    fn next_of_session(&mut self, id: u64) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        if session.running {
            return;
        }
        let Some(job) = session.queue.pop_front() else {
            if session.forgotten {
                self.sessions.remove(&id);
            }
            return;
        };
        if session.lost {
            let error = Error::new(ErrorKind::Internal, "the session was lost with an earlier program");
            self.deliver(&job.slot, Outcome::failed(error));
            return self.next_of_session(id);
        }
        session.running = true;
        let machine = session.machine.take();
        self.start(*job, machine);
    }

    /// Ends everything: the pool is shut down.
    fn close(mut self) {
        let why = || cancelled("the pool is shut down");
        for session in std::mem::take(&mut self.sessions).into_values() {
            session.queue.iter().for_each(|job| self.deliver(&job.slot, Outcome::failed(why())));
        }
        for task in std::mem::take(&mut self.tasks).into_values() {
            self.end(task, Err(why()));
        }
    }
}

/// Does some work on a machine; its panic becomes the error of the program.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, Error> {
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let message = format!("the machine stopped by a bug of its own: {}", panic_text(&*panic));
        Error::new(ErrorKind::Internal, message).hint("this is not the program's fault; please report it")
    })
}
