//! Playing a recording back, and what that proves.

use std::sync::Arc;

use ptc_agent::tape::{Divergence, Entry, Given, play};
use ptc_agent::{Agent, Event, RunOptions, Step};
use ptc_host::{ErrorKind, Limits};
use serde_json::Value as Json;

use super::diff::{json_of, parts};
use super::play::Allowance;
use super::{Events, Recording};

/// Said where a run asks for more than its recording has.
const NOT_ON_RECORD: &str = "it asks for something that is not on record";

/// What playing back proved.
#[derive(Debug)]
pub enum Verdict {
    /// The run does the same again, to the byte.
    Equal,
    /// It parts from its recording.
    Differs(Box<Parting>),
    /// The recording was cut off: so far the run does the same.
    Unfinished,
}

/// Where a run parts from its recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Parting {
    /// At which call, if at one: its number, from 1.
    pub call: Option<usize>,
    /// What happened there.
    pub what: String,
    /// The path to the value that differs.
    pub path: String,
    /// The value on record.
    pub recorded: Json,
    /// The value now.
    pub now: Json,
}

/// What playing back gave.
#[derive(Debug)]
pub struct Proof {
    /// The verdict.
    pub verdict: Verdict,
    /// The call whose answer was changed after it was recorded, if one was.
    pub changed: Option<usize>,
    /// Calls that were played.
    pub calls: usize,
    /// Turns that it had, if it came to its end; none for a program without an agent.
    pub turns: Option<u32>,
    /// Fuel that it used, if it came to its end.
    pub fuel: u64,
    /// The error of a limit that the run has wider than whoever plays it allows, if it parts because a program reached it.
    pub limit: Option<&'static str>,
}

/// Plays a recording and compares everything that the run does with what is on record. `watch` sees each entry
/// before it is played, with the events since the last.
pub fn verify(
    recording: &Recording,
    agent: Arc<Agent>,
    options: RunOptions,
    most: &Allowance,
    mut watch: impl FnMut(&Entry, &[Event]),
) -> Proof {
    let mut calls = 0;
    let tighter = tighter(&agent, &options, &most.limits);
    let options = RunOptions { ceiling: Some(most.limits.clone()), ..options };
    let counted = |entry: &Entry, events: &[Event]| {
        calls += usize::from(matches!(entry, Entry::Ask(_) | Entry::Again(_)));
        watch(entry, events);
    };
    let played = play(agent, options, recording.tape.iter(), counted, || most.goes_on());
    let changed = recording.changed().map(|call| call.number);
    let (verdict, step) = match (played, &recording.end) {
        (Ok(played), Some(end)) => {
            let mut events = Events::default();
            played.events.iter().for_each(|event| events.add(event, None));
            let verdict = match parts(&end.step, &json_of(&played.step)) {
                Some((path, recorded, now)) => {
                    let what = "the outcome is another".to_owned();
                    differs(None, what, path, recorded, now)
                }
                None if events.sum() != end.events_sha256 => {
                    let what = "the outcome is the same, but the events on the way are others".to_owned();
                    differs(None, what, String::new(), end.events.into(), events.count.into())
                }
                None => Verdict::Equal,
            };
            (verdict, Some(played.step))
        }
        (Ok(played), None) => (Verdict::Unfinished, Some(played.step)),
        (Err(Divergence::Short | Divergence::Beyond { .. }), None) => (Verdict::Unfinished, None),
        // Its process was killed before anything came into the run.
        (Err(Divergence::NoBeginning), None) if recording.tape.is_empty() => (Verdict::Unfinished, None),
        (Err(divergence), _) => (parted(&divergence, recording, calls), None),
    };
    let used = |step: &Step| (step.usage.turns, step.usage.fuel);
    let (turns, fuel) = step.as_deref().map(used).unzip();
    let limit = match &verdict {
        Verdict::Differs(parting) => reached(parting, &tighter),
        Verdict::Equal | Verdict::Unfinished => None,
    };
    Proof { verdict, changed, calls, turns, fuel: fuel.unwrap_or(0), limit }
}

/// The errors of limits that a run has wider than it may use now.
fn tighter(agent: &Agent, options: &RunOptions, most: &Limits) -> Vec<&'static str> {
    let (own, standard) = (agent.options(), Limits::default());
    let fuel = own.fuel.unwrap_or(standard.fuel) > most.fuel;
    let memory = options.max_heap.or(own.max_heap).unwrap_or(standard.memory) > most.memory;
    let errors = [(fuel, ErrorKind::FuelExceeded), (memory, ErrorKind::MemoryExceeded)];
    errors.into_iter().filter(|(is_tighter, _)| *is_tighter).map(|(_, kind)| kind.reason()).collect()
}

/// The limit that a run reached where it parts: its model is told of it, and was not when it was recorded.
fn reached(parting: &Parting, tighter: &[&'static str]) -> Option<&'static str> {
    let (recorded, now) = (parting.recorded.to_string(), parting.now.to_string());
    tighter.iter().copied().find(|error| now.contains(error) && !recorded.contains(error))
}

pub(super) fn parted(divergence: &Divergence, recording: &Recording, calls: usize) -> Verdict {
    let (call, what, (path, recorded, now)) = match divergence {
        Divergence::Asked { taped, asks } => {
            let (call, what) = match (taped, asks) {
                (Some(_), Some(_)) => (calls, "it asks for something else"),
                (Some(_), None) => (calls, "it no longer asks for this"),
                _ => (calls + 1, NOT_ON_RECORD),
            };
            let values = parts(&json_of(taped), &json_of(asks)).unwrap_or_default();
            (Some(call), what.to_owned(), values)
        }
        Divergence::Beyond { asks } => {
            let values = parts(&Json::Null, &json_of(asks)).unwrap_or_default();
            (Some(calls + 1), NOT_ON_RECORD.to_owned(), values)
        }
        Divergence::Unwanted { id } => {
            let call = recording.calls().find(|call| call.question.id == *id);
            let number = call.as_ref().map(|call| call.number);
            let given: Option<Given> = call.and_then(|call| call.given);
            let what = "it no longer waits for this answer".to_owned();
            (number, what, (String::new(), json_of(&given), Json::Null))
        }
        other => (None, other.to_string(), <(String, Json, Json)>::default()),
    };
    differs(call, what, path, recorded, now)
}

pub(super) fn differs(call: Option<usize>, what: String, path: String, recorded: Json, now: Json) -> Verdict {
    Verdict::Differs(Box::new(Parting { call, what, path, recorded, now }))
}
