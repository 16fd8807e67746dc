//! A thread of the pool: takes programs in, gives them turns, and passes on answers, timeouts and
//! cancellations.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ptc_lisp::machine::{Machine, ProgramEnd};
use ptc_lisp::{Error, ErrorKind};

use super::queue::RunQueue;
use super::running::Slot;
use super::shared::{Fresh, Job, Mail, Shared};
use super::task::{Address, Parked, Rest, Task};
use crate::drive::Turn;
use crate::program::{Outcome, cancelled};
use crate::tools::{Reply, panic_text};

/// See the module.
pub(super) struct Worker {
    index: usize,
    shared: Arc<Shared>,
    park_after: Option<Duration>,
    tasks: HashMap<u64, Box<Task>>,
    /// Programs that wait as bytes.
    parked: HashMap<u64, Box<Parked>>,
    next_task: u64,
    queue: RunQueue,
    /// When programs that wait must be looked at, and which.
    deadlines: BTreeSet<(Instant, u64)>,
    sessions: HashMap<u64, HeldMachine>,
}

/// A session that lives here.
#[derive(Default)]
struct HeldMachine {
    /// Its machine while no program runs.
    machine: Option<Box<Machine>>,
    running: bool,
    /// A panic took the machine, and its definitions with it.
    lost: bool,
    /// Its owner is gone.
    forgotten: bool,
    queue: VecDeque<Box<Job>>,
}

impl Worker {
    pub fn new(index: usize, shared: Arc<Shared>, park_after: Option<Duration>) -> Self {
        Worker {
            index,
            shared,
            park_after,
            tasks: HashMap::new(),
            parked: HashMap::new(),
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
            match found.fresh {
                Some(Fresh::New(job)) => self.start(*job, None),
                Some(Fresh::Awake(parked)) => self.wake(parked),
                None => {}
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
            Mail::Reply(id, call, reply) => self.land(id, call, reply),
            Mail::Cancelled(id) => {
                let why = cancelled("the program was cancelled");
                if let Some(task) = self.tasks.remove(&id) {
                    self.end(task, Err(why));
                } else if let Some(parked) = self.parked.remove(&id) {
                    self.end_parked(parked, why);
                }
            }
            Mail::Begin(id, make) => {
                let session = self.sessions.entry(id).or_default();
                if !session.running && session.machine.is_none() && session.queue.is_empty() {
                    session.machine = guarded(|| make.0()).ok().flatten().map(Box::new);
                    session.lost = session.machine.is_none();
                }
            }
            Mail::Visit(id, visit) => {
                if let Some(machine) = self.sessions.get_mut(&id).and_then(|session| session.machine.as_mut())
                    && guarded(|| visit.0(machine)).is_err()
                {
                    self.rest(id, None);
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

    /// Passes on the reply to a call.
    fn land(&mut self, id: u64, call: u64, reply: Reply) {
        if let Some(task) = self.tasks.get_mut(&id) {
            if task.rest.drive.land(call, reply) {
                self.queue.push_front_class(id, &task.rest.lane);
            }
        } else if let Some(parked) = self.parked.get_mut(&id)
            && parked.rest.drive.land(call, reply)
            && let Some(parked) = self.parked.remove(&id)
        {
            self.shared.hand_on(parked);
        }
    }

    fn new_address(&mut self) -> Address {
        self.next_task += 1;
        self.address(self.next_task)
    }

    fn address(&self, id: u64) -> Address {
        Address { shared: self.shared.clone(), worker: self.index, id }
    }

    fn start(&mut self, job: Job, machine: Option<Box<Machine>>) {
        let (slot, session) = (job.slot.clone(), job.session);
        let address = self.new_address();
        let id = address.id;
        match guarded(|| Task::new(job, machine, address)) {
            Ok(task) => {
                self.queue.push_front_class(id, &task.rest.lane);
                self.tasks.insert(id, Box::new(task));
            }
            Err(error) => self.crashed(&slot, session, error),
        }
    }

    /// Goes on with a program that was parked.
    fn wake(&mut self, parked: Box<Parked>) {
        let slot = parked.rest.slot.clone();
        let address = self.new_address();
        let id = address.id;
        match guarded(|| parked.wake(address)) {
            Ok(Ok(task)) => {
                self.queue.push_front_class(id, &task.rest.lane);
                self.tasks.insert(id, Box::new(task));
            }
            Ok(Err((slot, error))) => self.crashed(&slot, None, error),
            Err(error) => self.crashed(&slot, None, error),
        }
    }

    fn turn(&mut self, id: u64, fuel: u64) {
        // A program that was cancelled while it stood in the queue is gone.
        let Some(mut task) = self.tasks.remove(&id) else { return };
        self.shared.turns.fetch_add(1, Ordering::Relaxed);
        match guarded(|| task.turn(fuel)) {
            Ok(Turn::Busy) => {
                self.queue.push_busy(id, &task.rest.lane);
                self.tasks.insert(id, task);
            }
            Ok(Turn::Waits) => {
                task.listen(self.address(id));
                let park_at = self.park_after.filter(|_| task.can_park()).map(|after| Instant::now() + after);
                self.watch(&task.rest, id, park_at);
                self.tasks.insert(id, task);
            }
            Ok(Turn::Over(result)) => self.end(task, result),
            Err(error) => {
                let (slot, session) = (task.rest.slot.clone(), task.rest.session);
                // What a panic left behind may panic again.
                let dropped = guarded(|| drop(task));
                self.crashed(&slot, session, dropped.err().unwrap_or(error));
            }
        }
    }

    /// Notes when a program that waits must be looked at.
    fn watch(&mut self, rest: &Rest, id: u64, park_at: Option<Instant>) {
        let at = rest.drive.wake_at(Instant::now()).into_iter().chain(park_at).min();
        self.deadlines.extend(at.map(|at| (at, id)));
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
            if let Some(task) = self.tasks.remove(&id) {
                self.expire_task(task, id, now);
            } else if let Some(parked) = self.parked.remove(&id) {
                self.expire_parked(parked, id, now);
            }
        }
    }

    fn expire_task(&mut self, mut task: Box<Task>, id: u64, now: Instant) {
        match task.rest.drive.expire(now) {
            Ok(true) => {
                self.queue.push_front_class(id, &task.rest.lane);
                self.tasks.insert(id, task);
            }
            Ok(false) => self.keep_waiting(task, id, now),
            Err(error) => self.end(task, Err(error)),
        }
    }

    fn expire_parked(&mut self, mut parked: Box<Parked>, id: u64, now: Instant) {
        match parked.rest.drive.expire(now) {
            Ok(true) => self.shared.hand_on(parked),
            Ok(false) => {
                self.watch(&parked.rest, id, None);
                self.parked.insert(id, parked);
            }
            Err(error) => self.end_parked(parked, error),
        }
    }

    /// Parks a program that has waited long enough.
    fn keep_waiting(&mut self, task: Box<Task>, id: u64, now: Instant) {
        let since = task.rest.drive.waiting_since();
        let park_at = since.zip(self.park_after).map(|(since, after)| since + after);
        let Some(park_at) = park_at.filter(|_| task.can_park()) else {
            self.watch(&task.rest, id, None);
            self.tasks.insert(id, task);
            return;
        };
        if park_at > now {
            self.watch(&task.rest, id, Some(park_at));
            self.tasks.insert(id, task);
            return;
        }
        let (slot, session) = (task.rest.slot.clone(), task.rest.session);
        match guarded(|| task.park()) {
            Ok(Ok(parked)) => {
                self.shared.parked.fetch_add(1, Ordering::Relaxed);
                self.watch(&parked.rest, id, None);
                self.parked.insert(id, parked);
            }
            Ok(Err(task)) => {
                self.watch(&task.rest, id, None);
                self.tasks.insert(id, task);
            }
            Err(error) => self.crashed(&slot, session, error),
        }
    }

    /// Ends a program that waits as bytes: it has to go on in order to end.
    fn end_parked(&mut self, parked: Box<Parked>, error: Error) {
        let slot = parked.rest.slot.clone();
        let address = self.new_address();
        match guarded(|| parked.wake(address)) {
            Ok(Ok(task)) => self.end(Box::new(task), Err(error)),
            _ => self.crashed(&slot, None, error),
        }
    }

    /// Ends a program and hands out its outcome.
    fn end(&mut self, task: Box<Task>, result: Result<ProgramEnd, Error>) {
        let (slot, session) = (task.rest.slot.clone(), task.rest.session);
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
    fn rest(&mut self, id: u64, machine: Option<Box<Machine>>) {
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
        for parked in std::mem::take(&mut self.parked).into_values() {
            self.end_parked(parked, why());
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
