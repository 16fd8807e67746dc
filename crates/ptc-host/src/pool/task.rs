//! A program on its worker: its machine, and how far it has come.

use std::sync::Arc;

use ptc_lisp::machine::{Machine, Owner, ProgramEnd};
use ptc_lisp::prelude::Prelude;
use ptc_lisp::{Error, ErrorKind, Limits};

use super::fair::Lane;
use super::running::Slot;
use super::shared::{Job, Mail, Shared};
use crate::cancel::Hook;
use crate::drive::{Drive, Turn};
use crate::flight::{Ground, Post};
use crate::program::{Hooks, Outcome, Program};

/// A program that makes the machine panic, for tests.
#[cfg(test)]
pub(super) const PANICS: &str = "(panic)";

/// Live bytes up to which a machine is worth parking: what a program holds is as large in a dump.
const SMALL: usize = 64 << 10;

/// Where a task lives: mail with this address reaches it.
#[derive(Clone, Debug)]
pub(super) struct Address {
    pub shared: Arc<Shared>,
    pub worker: usize,
    pub id: u64,
}

impl Address {
    fn post(self) -> Post {
        Arc::new(move |call, reply| self.shared.post(self.worker, Mail::Reply(self.id, call, reply)))
    }
}

/// A program that a worker runs.
#[derive(Debug)]
pub(super) struct Task {
    machine: Box<Machine>,
    limits: Limits,
    /// The program, until its first turn loads it.
    program: Option<Box<Program>>,
    /// What the host does with the machine.
    hooks: Hooks,
    pub rest: Rest,
}

/// A program apart from its machine: what crosses threads.
#[derive(Debug)]
pub(super) struct Rest {
    pub drive: Drive,
    pub slot: Arc<Slot>,
    pub session: Option<u64>,
    /// Whose it is.
    pub lane: Lane,
    /// What wakes the worker when the program is cancelled while it waits.
    hook: Option<Hook>,
}

/// A program that waits as bytes.
#[derive(Debug)]
pub(super) struct Parked {
    bytes: Box<[u8]>,
    limits: Limits,
    hooks: Hooks,
    prelude: Option<Arc<Prelude>>,
    owner: Owner,
    pub rest: Rest,
}

impl Task {
    /// Prepares a program, on the machine of its session if it has one.
    pub fn new(job: Job, machine: Option<Box<Machine>>, address: Address) -> Self {
        let ground = Ground {
            post: address.post(),
            patient: false,
            #[cfg(feature = "tokio")]
            runtime: job.runtime,
        };
        let program = job.program;
        let mut drive = Drive::new(program.tools.clone(), ground, program.timeout, Some(job.cancel));
        drive.pace = program.hooks.pace.clone();
        let lane = program.lane.clone();
        Task {
            machine: machine.unwrap_or_else(|| Box::new(program.machine())),
            limits: program.limits.clone(),
            hooks: program.hooks.clone(),
            program: Some(Box::new(program)),
            rest: Rest { drive, slot: job.slot, session: job.session, lane, hook: None },
        }
    }

    /// Gives the program a turn.
    pub fn turn(&mut self, fuel: u64) -> Turn {
        self.rest.hook = None;
        if let Some(program) = self.program.take()
            && let Err(error) = self.begin(&program)
        {
            return Turn::Over(Err(error));
        }
        self.rest.drive.turn(&mut self.machine, fuel)
    }

    fn begin(&mut self, program: &Program) -> Result<(), Error> {
        #[cfg(test)]
        if &*program.source == PANICS {
            panic!("on purpose");
        }
        if let Some(resumption) = &program.resumption {
            *self.machine = self.rest.drive.go_on(resumption, program)?;
            return Ok(());
        }
        self.rest.drive.furnish(&mut self.machine, program)?;
        self.rest.drive.load(&mut self.machine, &program.source)
    }

    /// Has the worker told when the program is cancelled from now on.
    pub fn listen(&mut self, address: Address) {
        let wake = move || address.shared.post(address.worker, Mail::Cancelled(address.id));
        self.rest.hook = self.rest.drive.cancel.as_ref().map(|cancel| cancel.on_cancel(wake));
    }

    /// Whether the program should wait as bytes: it is small, and no session needs the machine.
    pub fn can_park(&self) -> bool {
        self.rest.session.is_none() && self.machine.size_hint() <= SMALL
    }

    /// The program as bytes; one that cannot be written stays as it is.
    pub fn park(self: Box<Self>) -> Result<Box<Parked>, Box<Task>> {
        let Ok(bytes) = self.machine.dump() else { return Err(self) };
        let (prelude, owner) = (self.machine.prelude().cloned(), self.machine.owner().clone());
        let Task { limits, hooks, rest, .. } = *self;
        Ok(Box::new(Parked { bytes: bytes.into_boxed_slice(), limits, hooks, prelude, owner, rest }))
    }

    /// Ends the program: its outcome, and the machine for the session.
    pub fn finish(mut self, result: Result<ProgramEnd, Error>) -> (Outcome, Box<Machine>) {
        let ran = self.rest.drive.finish(&mut self.machine, result);
        (Outcome::of(&mut self.machine, ran, &self.hooks), self.machine)
    }
}

impl Parked {
    /// Makes the machine again, on whichever worker.
    pub fn wake(self: Box<Self>, address: Address) -> Result<Task, (Arc<Slot>, Error)> {
        let Parked { bytes, limits, hooks, prelude, owner, mut rest } = *self;
        rest.drive.flight.move_to(address.post());
        match Machine::load_dump_for(&bytes, &limits, prelude.as_slice(), &owner) {
            Ok(machine) => Ok(Task { machine: Box::new(machine), limits, program: None, hooks, rest }),
            Err(error) => {
                let message = format!("the program could not go on after it was parked: {error}");
                Err((rest.slot, Error::new(ErrorKind::Internal, message)))
            }
        }
    }
}
