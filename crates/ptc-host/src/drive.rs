//! One program on one machine, a turn at a time. Both drivers are loops around this: the synchronous
//! one turns until the end, a pool turns many programs in rotation.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ptc_lisp::analyze::Manifest;
use ptc_lisp::machine::{Machine, ProgramEnd, Step};
use ptc_lisp::view::json_bytes;
use ptc_lisp::{Error, ErrorKind, Interrupt};

use crate::cancel::Cancel;
use crate::clock::{Clock, late};
use crate::flight::{Flight, Ground};
use crate::hold::{Held, Resumption};
use crate::program::{Pace, Program, Ran, Waits};
use crate::tools::{Reply, Tools};

/// Fuel between two looks at the clock and at the token that cancels: both take effect within so many instructions.
const SLICE: u64 = 1_000;

/// What a step with tool calls counts for, beside its fuel: calls take time that fuel does not show.
const STEP_COST: u64 = 500;

/// How a turn ended.
#[derive(Debug)]
pub(crate) enum Turn {
    /// The program is over.
    Over(Result<ProgramEnd, Error>),
    /// It waits for tools.
    Waits,
    /// It could go on.
    Busy,
}

/// A program under way, apart from its machine.
#[derive(Debug)]
pub(crate) struct Drive {
    pub flight: Flight,
    pub cancel: Option<Cancel>,
    /// Who hears when the program waits.
    pub pace: Option<Pace>,
    /// Whether the machine has the program.
    loaded: bool,
    started: Instant,
    timeout: Option<Duration>,
    clock: Arc<Clock>,
    /// What stops reading in the middle of a turn.
    interrupt: Interrupt,
    /// Time spent running and waiting for tools.
    spent: Duration,
    /// Since when it has been waiting for tools.
    waiting: Option<Instant>,
    turns: u64,
    /// The program as it stopped where somebody must decide.
    held: Option<Box<Held>>,
}

impl Drive {
    /// A program that is about to be loaded.
    pub fn new(tools: Tools, ground: Ground, timeout: Option<Duration>, cancel: Option<Cancel>) -> Self {
        let clock = Clock::new(timeout, cancel.clone());
        Drive {
            flight: Flight::new(tools, ground),
            cancel,
            pace: None,
            loaded: false,
            started: Instant::now(),
            timeout,
            interrupt: clock.interrupt(),
            clock,
            spent: Duration::ZERO,
            waiting: None,
            turns: 0,
            held: None,
        }
    }

    /// Gives a machine what the program may see and use. Reading inputs takes time like running does.
    pub fn furnish(&mut self, machine: &mut Machine, program: &Program) -> Result<(), Error> {
        let begun = self.begin(machine);
        let furnished = program.furnish(machine);
        self.spend(begun);
        furnished.and_then(|()| self.in_time())
    }

    /// The machine of a program that was held; the program goes on with its next turn.
    pub fn go_on(&mut self, resumption: &Resumption, program: &Program) -> Result<Machine, Error> {
        let begun = self.now();
        let mut machine = resumption.machine(program)?;
        program.tools.admit(&machine)?;
        self.loaded = true;
        let held = &resumption.held;
        self.turns = held.turns;
        self.started = self.started.checked_sub(held.elapsed).unwrap_or(self.started);
        self.spent = held.spent;
        if let Some(tape) = self.flight.tape() {
            tape.begin(&machine, None);
            tape.asked(&machine.outstanding());
        }
        self.flight.go_on(resumption);
        let kept = self.flight.log.iter().map(|called| json_bytes(&called.args, usize::MAX)).sum();
        machine.count_given(kept);
        self.spend(begun);
        Ok(machine)
    }

    /// Loads the program.
    pub fn load(&mut self, machine: &mut Machine, source: &str) -> Result<(), Error> {
        let begun = self.begin(machine);
        self.flight.tape().iter().for_each(|tape| tape.begin(machine, Some(source)));
        let loaded = machine.load(source);
        self.spend(begun);
        self.loaded = loaded.is_ok();
        loaded.map(drop)
    }

    /// Runs the program for about `fuel` units, or until it waits or ends.
    pub fn turn(&mut self, machine: &mut Machine, fuel: u64) -> Turn {
        let begun = self.begin(machine);
        self.turns += 1;
        let turn = self.steps(machine, fuel);
        self.spend(begun);
        match turn {
            Turn::Busy => self.in_time().map_or_else(|error| Turn::Over(Err(error)), |()| Turn::Busy),
            other => other,
        }
    }

    fn steps(&mut self, machine: &mut Machine, fuel: u64) -> Turn {
        if let Some(turn) = self.stopped(machine) {
            return turn;
        }
        if let Err(error) = self.answer(machine) {
            return Turn::Over(Err(error));
        }
        let mut left = fuel;
        while left > 0 {
            // A slice may hold natives that take long, so the clock is looked at after each, and the token with it.
            if let Err(error) = self.interrupt.check() {
                return Turn::Over(Err(error));
            }
            let before = machine.fuel_used();
            match machine.run(SLICE.min(left)) {
                Step::Done(signal) => return Turn::Over(Ok(signal)),
                Step::Failed(error) => return Turn::Over(Err(error)),
                Step::Yield => {}
                Step::Calls(calls) if calls.is_empty() => return Turn::Over(Err(stuck())),
                Step::Calls(calls) => {
                    self.flight.tape().iter().for_each(|tape| tape.asked(&calls));
                    self.flight.start(calls);
                    if let Some(turn) = self.stopped(machine) {
                        return turn;
                    }
                    if let Err(error) = self.answer(machine) {
                        return Turn::Over(Err(error));
                    }
                    left = left.saturating_sub(STEP_COST);
                }
            }
            left = left.saturating_sub(machine.fuel_used().saturating_sub(before).max(1));
        }
        Turn::Busy
    }

    /// Whether calls of the step are under way, or must be decided about by somebody.
    fn stopped(&mut self, machine: &Machine) -> Option<Turn> {
        if !self.flight.is_complete() {
            self.waiting = Some(Instant::now());
            let bytes = if self.flight.is_gated() { machine.size_hint() } else { usize::MAX };
            self.tell(Waits::Begins { bytes });
            return Some(Turn::Waits);
        }
        let (pending, answered) = self.flight.take_held()?;
        let error = match Held::of(machine, pending, answered) {
            Ok(held) => {
                let error = held.error();
                self.held = Some(Box::new(held));
                error
            }
            Err(error) => error,
        };
        Some(Turn::Over(Err(error)))
    }

    /// Hands the answers of a step to the machine.
    fn answer(&mut self, machine: &mut Machine) -> Result<(), Error> {
        for (id, answer) in self.flight.answers() {
            self.flight.tape().iter().for_each(|tape| tape.answered(id, &answer));
            machine.answer(id, answer)?;
        }
        self.in_time()
    }

    /// Takes the reply to a call; true if the program can go on.
    pub fn land(&mut self, id: u64, reply: Reply) -> bool {
        self.flight.land(id, reply);
        self.is_ready()
    }

    /// Whether the wait for tools is over just now.
    fn is_ready(&mut self) -> bool {
        let ready = self.waiting.filter(|_| self.flight.is_complete());
        if let Some(since) = ready {
            self.spent += since.elapsed();
            self.waiting = None;
            self.tell(Waits::Ends);
        }
        ready.is_some()
    }

    fn tell(&self, waits: Waits) {
        self.pace.iter().for_each(|pace| pace.tell(waits));
    }

    /// Since when the program has been waiting for tools.
    pub fn waiting_since(&self) -> Option<Instant> {
        self.waiting
    }

    /// When a program that waits must be looked at again, for its own limit or that of a tool.
    pub fn wake_at(&self, now: Instant) -> Option<Instant> {
        let since = self.waiting?;
        let own = self.timeout.map(|timeout| since + timeout.saturating_sub(self.spent));
        own.into_iter().chain(self.flight.deadline(now)).min()
    }

    /// Gives up tools that took too long; true if the program can go on. An error if its own time is up.
    pub fn expire(&mut self, now: Instant) -> Result<bool, Error> {
        let Some(since) = self.waiting else { return Ok(false) };
        if let Some(timeout) = self.timeout
            && self.spent + now.saturating_duration_since(since) >= timeout
        {
            return Err(late(timeout));
        }
        self.flight.expire(now);
        Ok(self.is_ready())
    }

    /// The time, if anybody counts it: looking at the clock costs as much as a small call.
    fn now(&self) -> Option<Instant> {
        self.timeout.map(|_| Instant::now())
    }

    /// Begins a piece of work on the machine, which may not go on for longer than there is time.
    fn begin(&self, machine: &mut Machine) -> Option<Instant> {
        let now = self.now();
        if let Some(now) = now {
            self.clock.go_on(now, self.spent);
        }
        machine.set_interrupt(self.interrupt.clone());
        now
    }

    fn spend(&mut self, since: Option<Instant>) {
        self.spent += since.map_or(Duration::ZERO, |since| since.elapsed());
    }

    fn in_time(&self) -> Result<(), Error> {
        self.timeout.filter(|timeout| self.spent >= *timeout).map_or(Ok(()), |timeout| Err(late(timeout)))
    }

    /// Ends the program: what it defined is taken back if it failed.
    pub fn finish(mut self, machine: &mut Machine, mut result: Result<ProgramEnd, Error>) -> Ran {
        machine.set_interrupt(Interrupt::default());
        if let Err(error) = &mut result {
            if error.kind == ErrorKind::Timeout {
                error.span = error.span.or_else(|| machine.whereabouts());
            }
            machine.cancel();
        }
        let (calls, elapsed, turns) =
            (std::mem::take(&mut self.flight.log), self.started.elapsed(), self.turns);
        // What was held and then cancelled is over.
        let mut held = self.held.take().filter(|held| result.as_ref().err() == Some(&held.error()));
        if let Some(held) = &mut held {
            held.calls.clone_from(&calls);
            (held.spent, held.elapsed, held.turns) = (self.spent, elapsed, turns);
        }
        if let Some(Err(error)) = held.as_ref().map(|held| held.check()) {
            (result, held) = (Err(error), None);
        }
        let manifest = if self.loaded { machine.manifest().clone() } else { Manifest::default() };
        Ran { result, calls, manifest, elapsed, turns, held }
    }
}

fn stuck() -> Error {
    Error::new(ErrorKind::Runtime, "the program waits for something that cannot come")
}
