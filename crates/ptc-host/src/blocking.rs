//! The synchronous driver: runs a program on the calling thread until it ends.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use ptc_lisp::machine::{Machine, ProgramEnd};
use ptc_lisp::{Error, Interrupt};

use crate::cancel::Cancel;
use crate::clock::Clock;
use crate::drive::{Drive, Turn};
use crate::flight::Ground;
use crate::hold::Resumption;
use crate::program::{Outcome, Program, Ran, cancelled};
use crate::tools::{Reply, Tools};

/// Fuel between two looks at the clock: well below a millisecond of work.
const TURN: u64 = 50_000;

/// What may end a program from outside.
#[derive(Clone, Debug, Default)]
pub struct Bounds {
    /// How long it may take, running and waiting for tools.
    pub timeout: Option<Duration>,
    /// A token that stops it.
    pub cancel: Option<Cancel>,
}

impl Bounds {
    fn of(program: &Program) -> Self {
        Bounds { timeout: program.timeout, cancel: program.cancel.clone() }
    }

    /// Stops what a machine reads before its program is driven, from now on as these bounds say.
    pub fn interrupt(&self) -> Interrupt {
        let clock = Clock::new(self.timeout, self.cancel.clone());
        clock.go_on(Instant::now(), Duration::ZERO);
        clock.interrupt()
    }
}

/// Runs a program on a new machine and waits for its end.
///
/// Calls of tools that block run on threads of their own, so that they run at once and the program can
/// end before they do. Only if there is nothing to watch meanwhile (one call, no timeout and no token)
/// they run in place.
///
/// Values may nest a thousand levels, which unoptimised builds cannot walk on the stack of an ordinary
/// thread: start yours with [`STACK`](crate::STACK) bytes, or use a [`Pool`](crate::Pool).
pub fn run_blocking(program: &Program) -> Outcome {
    let mut machine = program.machine();
    if let Some(resumption) = &program.resumption {
        let ran = drive_on(&mut machine, resumption, program);
        return Outcome::of(&mut machine, ran, &program.hooks);
    }
    let ran = driven(&mut machine, &program.tools, &Bounds::of(program), |drive, machine| {
        drive.furnish(machine, program)?;
        drive.load(machine, &program.source)
    });
    Outcome::of(&mut machine, ran, &program.hooks)
}

/// Loads a program into a machine of the caller's, which has its inputs already, and drives it to its
/// end. The machine keeps the definitions for the next program.
pub fn drive(machine: &mut Machine, source: &str, tools: &Tools, bounds: &Bounds) -> Ran {
    driven(machine, tools, bounds, |drive, machine| {
        tools.grant(machine);
        tools.admit(machine)?;
        drive.load(machine, source)
    })
}

/// Goes on with a program that was held, on a machine that takes the place of the caller's. Tools, prelude,
/// limits and bounds are those of `program`. One that cannot go on leaves the caller's machine as it is.
pub fn drive_on(machine: &mut Machine, resumption: &Resumption, program: &Program) -> Ran {
    driven(machine, &program.tools, &Bounds::of(program), |drive, machine| {
        *machine = drive.go_on(resumption, program)?;
        Ok(())
    })
}

fn driven(
    machine: &mut Machine,
    tools: &Tools,
    bounds: &Bounds,
    begin: impl FnOnce(&mut Drive, &mut Machine) -> Result<(), Error>,
) -> Ran {
    let (sender, mail) = mpsc::channel();
    let reply_to = sender.clone();
    let ground = Ground {
        // Nobody reads the replies of calls that outlive their program.
        post: Arc::new(move |id, reply| reply_to.send(BlockingMail::Reply(id, reply)).unwrap_or_default()),
        patient: bounds.timeout.is_none() && bounds.cancel.is_none(),
        #[cfg(feature = "tokio")]
        runtime: crate::runtime::unblocked(),
    };
    let mut drive = Drive::new(tools.clone(), ground, bounds.timeout, bounds.cancel.clone());
    let wake = move || sender.send(BlockingMail::Cancelled).unwrap_or_default();
    let _hook = bounds.cancel.as_ref().map(|cancel| cancel.on_cancel(wake));
    let result = match begin(&mut drive, machine) {
        Ok(()) => turns(&mut drive, machine, &mail),
        Err(error) => Err(error),
    };
    drive.finish(machine, result)
}

enum BlockingMail {
    Reply(u64, Reply),
    Cancelled,
}

fn turns(
    drive: &mut Drive,
    machine: &mut Machine,
    mail: &Receiver<BlockingMail>,
) -> Result<ProgramEnd, Error> {
    loop {
        match drive.turn(machine, TURN) {
            Turn::Over(result) => return result,
            Turn::Busy => {}
            Turn::Waits => wait(drive, mail)?,
        }
    }
}

/// Waits until the program can go on.
fn wait(drive: &mut Drive, mail: &Receiver<BlockingMail>) -> Result<(), Error> {
    loop {
        let now = Instant::now();
        let received = match drive.wake_at(now) {
            Some(deadline) => mail.recv_timeout(deadline.saturating_duration_since(now)),
            None => mail.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        let ready = match received {
            Ok(BlockingMail::Reply(id, reply)) => drive.land(id, reply),
            Ok(BlockingMail::Cancelled) => return Err(cancelled("the program was cancelled")),
            Err(_) => drive.expire(Instant::now())?,
        };
        if ready {
            return Ok(());
        }
    }
}
