//! A program on its worker: its machine, and how far it has come.

use std::sync::Arc;

use ptc_lisp::Error;
use ptc_lisp::machine::{Machine, Signal};

use super::running::Slot;
use super::shared::{Job, Mail, Shared};
use crate::cancel::Hook;
use crate::drive::{Drive, Turn};
use crate::flight::Ground;
use crate::program::{Outcome, Program};

/// A program that makes the machine panic, for tests.
#[cfg(test)]
pub(super) const PANICS: &str = "(panic)";

/// A program that a worker runs.
#[derive(Debug)]
pub(super) struct Task {
    machine: Machine,
    pub drive: Drive,
    pub slot: Arc<Slot>,
    pub session: Option<u64>,
    /// The program, until its first turn loads it.
    program: Option<Box<Program>>,
    /// What wakes the worker when the program is cancelled while it waits.
    hook: Option<Hook>,
}

impl Task {
    /// Prepares a program, on the machine of its session if it has one.
    pub fn new(job: Job, machine: Option<Machine>, shared: &Arc<Shared>, worker: usize, id: u64) -> Self {
        let post = {
            let shared = shared.clone();
            Arc::new(move |call, reply| shared.post(worker, Mail::Reply(id, call, reply)))
        };
        let ground = Ground {
            post,
            patient: false,
            #[cfg(feature = "tokio")]
            runtime: job.runtime,
        };
        let program = job.program;
        let drive = Drive::new(program.tools.clone(), ground, program.timeout, Some(job.cancel));
        Task {
            machine: machine.unwrap_or_else(|| program.machine()),
            drive,
            slot: job.slot,
            session: job.session,
            program: Some(Box::new(program)),
            hook: None,
        }
    }

    /// Gives the program a turn.
    pub fn turn(&mut self, fuel: u64) -> Turn {
        self.hook = None;
        if let Some(program) = self.program.take()
            && let Err(error) = self.begin(&program)
        {
            return Turn::Over(Err(error));
        }
        self.drive.turn(&mut self.machine, fuel)
    }

    fn begin(&mut self, program: &Program) -> Result<(), Error> {
        #[cfg(test)]
        if &*program.source == PANICS {
            panic!("on purpose");
        }
        program.furnish(&mut self.machine)?;
        self.drive.load(&mut self.machine, &program.source)
    }

    /// Has the worker told when the program is cancelled from now on.
    pub fn listen(&mut self, shared: &Arc<Shared>, worker: usize, id: u64) {
        let shared = shared.clone();
        let wake = move || shared.post(worker, Mail::Cancelled(id));
        self.hook = self.drive.cancel.as_ref().map(|cancel| cancel.on_cancel(wake));
    }

    /// Ends the program: its outcome, and the machine for the session.
    pub fn finish(mut self, result: Result<Signal, Error>) -> (Outcome, Machine) {
        let ran = self.drive.finish(&mut self.machine, result);
        (Outcome::of(&self.machine, ran), self.machine)
    }
}
