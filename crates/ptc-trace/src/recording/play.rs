//! Playing recordings of programs without an agent: to prove that they do the same, or to see what they would do if
//! something about them were another.

use std::time::{Duration, Instant};

use ptc_agent::tape::{Divergence, Entry, Question};
use ptc_host::{Error, ErrorKind, Limits, ProgramEnd, Ran};
use ptc_lisp::Interrupt;
use ptc_lisp::machine::{Answer, Call, Machine, Step};
use serde_json::Value as Json;

use super::against::{Against, OnRecord, missing};
use super::diff::{outcome, parts};
use super::program::{Begun, BegunError, answer, defined, ended, question};
use super::verify::{Proof, Verdict, differs, parted};
use super::{Entries, Recording};

/// Fuel between two looks around.
const SLICE: u64 = 1 << 20;

/// Said of a program that has no time left.
const TOO_LONG: &str = "it takes longer than --timeout allows";

/// What playing a recording may use. A recording is anybody's: of what it says that its program may use, no more than this
/// counts.
#[derive(Clone, Debug)]
pub struct Allowance {
    /// Most that a program may use.
    pub limits: Limits,
    /// When playing stops.
    pub until: Option<Instant>,
}

impl Allowance {
    /// Limits, and so much time from now on.
    pub fn new(limits: Limits, time: Duration) -> Allowance {
        Allowance { limits, until: Instant::now().checked_add(time) }
    }

    /// Stops a native that goes on for longer than there is time.
    fn interrupt(&self) -> Interrupt {
        let most = self.clone();
        Interrupt::new(move || match most.goes_on() {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::Timeout, TOO_LONG)),
        })
    }

    /// Whether there is time left.
    pub(super) fn goes_on(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() < until)
    }
}

/// Why a program does not come to an end of its own.
enum Halt {
    /// It leaves its tape.
    Parted(Divergence),
    /// It was stopped here.
    Stopped,
    /// The recording is damaged.
    Broken(BegunError),
}

/// Answers the calls of a program.
trait Answers {
    /// The answers to a step.
    fn step(&mut self, asks: &[Call]) -> Result<Vec<(u64, Answer)>, Halt>;

    /// How much fuel is left until the program was stopped from outside, having used so much.
    fn fuel_left(&self, used: u64) -> u64;
}

/// Drives a program with answers that are there.
fn drive(
    begun: &Begun,
    machine: &mut Machine,
    by: &mut dyn Answers,
    most: Option<&Allowance>,
) -> Result<Result<ProgramEnd, Error>, Halt> {
    if let Some(most) = most {
        machine.set_interrupt(most.interrupt());
    }
    let beyond = |error: &Error| {
        let allowed = begun.limits_within(Some(&most?.limits));
        begun.beyond(&allowed, error).map(|why| Halt::Broken(BegunError::TooMuch(why)))
    };
    let failed = |error: Error| beyond(&error).map_or(Ok(Err(error)), Err);
    let too_long = || Err(Halt::Broken(BegunError::TooMuch(TOO_LONG.to_owned())));
    let mut calls = Vec::new();
    match begun.goes_on {
        true => calls = machine.outstanding(),
        false => {
            if let Err(error) = machine.load(&begun.source) {
                return failed(error);
            }
        }
    }
    loop {
        if !calls.is_empty() {
            for (id, answer) in by.step(&calls)? {
                if let Err(error) = machine.answer(id, answer) {
                    return failed(error);
                }
            }
        }
        calls = loop {
            let left = by.fuel_left(machine.fuel_used());
            if left == 0 {
                return Err(Halt::Stopped);
            }
            match machine.run(left.min(SLICE)) {
                Step::Done(signal) => return Ok(Ok(signal)),
                Step::Failed(error)
                    if error.kind == ErrorKind::Timeout && !most.is_none_or(Allowance::goes_on) =>
                {
                    return too_long();
                }
                Step::Failed(error) => return failed(error),
                Step::Yield if most.is_none_or(Allowance::goes_on) => {}
                Step::Yield => return too_long(),
                Step::Calls(calls) if calls.is_empty() => return Err(Halt::Stopped),
                Step::Calls(calls) => break calls,
            }
        };
    }
}

/// What came of a program that was played.
fn step(machine: &mut Machine, result: Result<ProgramEnd, Error>) -> Json {
    if result.is_err() {
        machine.cancel();
    }
    let changed = defined(machine);
    let (calls, manifest, elapsed) = (Vec::new(), Default::default(), Duration::ZERO);
    let ran = Ran { result, calls, manifest, elapsed, turns: 0, held: None };
    ended(&ran.outcome(machine), changed)
}

/// Answers as they stand on a tape.
struct OnTape<'r> {
    entries: &'r Entries,
    /// The entry that is next.
    at: usize,
    /// How much fuel the program had used when it was stopped from outside.
    stopped_at: Option<u64>,
    /// Whether the recording has its end.
    ended: bool,
    calls: usize,
}

impl<'r> OnTape<'r> {
    fn new(recording: &'r Recording) -> Self {
        let end = recording.end.as_ref().map(|end| &end.step);
        let stopped = end.filter(|step| step["stopped"] == true);
        OnTape {
            entries: &recording.tape,
            at: 1,
            stopped_at: stopped.and_then(|step| step["fuel"].as_u64()),
            ended: end.is_some(),
            calls: 0,
        }
    }

    /// Whether everything on it was played.
    fn is_over(&self) -> bool {
        self.at >= self.entries.len()
    }

    /// The question that is next, if the next entry is one.
    fn next_question(&mut self) -> Option<Question> {
        let entry = self.entries.get(self.at);
        self.at += 1;
        match entry {
            Some(Entry::Ask(taped)) => Some(taped),
            _ => None,
        }
    }

    fn asked(&mut self, asks: Question) -> Result<(), Halt> {
        if self.is_over() && !self.ended {
            return Err(Halt::Stopped);
        }
        let taped = self.next_question();
        self.calls += usize::from(taped.is_some());
        if taped.as_ref() == Some(&asks) {
            return Ok(());
        }
        Err(Halt::Parted(Divergence::Asked { taped: taped.map(Box::new), asks: Some(Box::new(asks)) }))
    }
}

impl Answers for OnTape<'_> {
    fn step(&mut self, asks: &[Call]) -> Result<Vec<(u64, Answer)>, Halt> {
        asks.iter().try_for_each(|call| self.asked(question(call)))?;
        let mut answers = Vec::new();
        while let Some(Entry::Answer { id, given, .. }) = self.entries.get(self.at) {
            self.at += 1;
            if !asks.iter().any(|call| call.id == id) {
                return Err(Halt::Parted(Divergence::Unwanted { id }));
            }
            answers.push((id, answer(given).map_err(Halt::Broken)?));
        }
        // A step is answered as a whole, or not at all.
        if answers.len() < asks.len() { Err(Halt::Stopped) } else { Ok(answers) }
    }

    fn fuel_left(&self, used: u64) -> u64 {
        match self.stopped_at {
            Some(stopped_at) if self.is_over() => stopped_at.saturating_sub(used),
            _ => u64::MAX,
        }
    }
}

/// Plays the recording of a program and compares everything that it does with what is on record.
pub fn verify_program(recording: &Recording, most: &Allowance) -> Result<Proof, BegunError> {
    let begun = Begun::read(&recording.head.subject)
        .unwrap_or_else(|| Err(BegunError::Senseless("there is no program".to_owned())))?;
    let changed = recording.changed().map(|call| call.number);
    let proof = |verdict, calls, fuel| Proof { verdict, changed, calls, turns: None, fuel, limit: None };
    if recording.head.not_captured.iter().any(|what| what.starts_with("the state before the program")) {
        return Err(BegunError::State("it is not on record, so the program cannot be played".to_owned()));
    }
    let mut machine = begun.machine(Some(&most.limits))?;
    let mut tape = OnTape::new(recording);
    let result = drive(&begun, &mut machine, &mut tape, Some(most));
    let calls = tape.calls;
    let (result, stopped) = match result {
        Ok(result) => (result, false),
        // Where its process was killed is not on record; behind the last line it may go on for as long as it likes.
        Err(Halt::Broken(BegunError::TooMuch(_))) if recording.end.is_none() && tape.is_over() => {
            return Ok(proof(Verdict::Unfinished, calls, machine.fuel_used()));
        }
        Err(Halt::Broken(error)) => return Err(error),
        Err(Halt::Parted(divergence)) => {
            return Ok(proof(parted(&divergence, recording, calls), calls, machine.fuel_used()));
        }
        Err(Halt::Stopped) => (Err(Error::new(ErrorKind::Cancelled, "stopped")), true),
    };
    let fuel = machine.fuel_used();
    let Some(end) = &recording.end else { return Ok(proof(Verdict::Unfinished, calls, fuel)) };
    if let Some(taped) = tape.next_question() {
        let divergence = Divergence::Asked { taped: Some(Box::new(taped)), asks: None };
        return Ok(proof(parted(&divergence, recording, calls + 1), calls, fuel));
    }
    let mut now = step(&mut machine, result);
    if stopped && end.step["stopped"] == true {
        // Nothing in the program says why, or that, it was stopped here.
        (now["fail"], now["stopped"]) = (end.step["fail"].clone(), true.into());
    }
    let verdict = match parts(&end.step, &now) {
        None => Verdict::Equal,
        Some((path, recorded, now)) => {
            differs(None, "the outcome is another".to_owned(), path, recorded, now)
        }
    };
    Ok(proof(verdict, calls, fuel))
}

/// What comes of a recording without its end, if it comes to one.
pub(super) fn replayed(recording: &Recording) -> Option<Json> {
    let begun = Begun::read(&recording.head.subject)?.ok()?;
    let mut machine = begun.machine(None).ok()?;
    let result = drive(&begun, &mut machine, &mut OnTape::new(recording), None).ok()?;
    Some(step(&mut machine, result))
}

/// Answers by what they were asked.
struct ByQuestion<'r>(OnRecord<'r>);

impl Answers for ByQuestion<'_> {
    fn step(&mut self, asks: &[Call]) -> Result<Vec<(u64, Answer)>, Halt> {
        let mut answers = Vec::new();
        for call in asks {
            let given = self.0.found(&question(call)).ok_or(Halt::Stopped)?;
            answers.push((call.id, answer(given).map_err(Halt::Broken)?));
        }
        Ok(answers)
    }

    fn fuel_left(&self, _: u64) -> u64 {
        u64::MAX
    }
}

/// Runs what was recorded with something about it changed. Tools answer by their arguments, as they did on record.
pub fn against_program(
    recording: &Recording,
    begun: &Begun,
    most: &Allowance,
) -> Result<Against, BegunError> {
    let Some(end) = &recording.end else { return Ok(Against::Unfinished) };
    if begun.machine.is_some() {
        return Ok(missing("what programs before it would have left behind"));
    }
    let mut machine = begun.machine(Some(&most.limits))?;
    let mut by = ByQuestion(OnRecord::new(recording));
    let result = match drive(begun, &mut machine, &mut by, Some(most)) {
        Ok(result) => result,
        Err(Halt::Broken(error)) => return Err(error),
        Err(Halt::Stopped | Halt::Parted(_)) => {
            return Ok(missing(by.0.missing.as_deref().unwrap_or("what it waits for")));
        }
    };
    let now = step(&mut machine, result);
    Ok(match parts(&outcome(&end.step), &outcome(&now)) {
        None => Against::Same,
        Some((path, recorded, now)) => Against::Changes { path, recorded, now },
    })
}
