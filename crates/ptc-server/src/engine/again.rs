//! Programs of requests that were begun before and did not end. One that may have changed something runs again as it
//! ran: with its clock, its random numbers and all that it was told, so that it makes the calls that it made. Where that
//! cannot be, it does not run, and nothing is sent.

use ptc_host::{Program, now_ms};
use ptc_upstream::EffectJournal;
use serde_json::json;

use super::api::Signals;
use super::reason::Reason;
use super::sessions::SessionError;
use super::{Answered, fixed};
use crate::effects::BEGUN;

/// The program as it ran before, if its request was begun before and may have changed something. `basis` says what the
/// program depends on besides its text and its inputs.
pub fn as_before(
    program: Program,
    basis: impl FnOnce() -> String,
    signals: &Signals,
) -> Result<Program, Box<Answered>> {
    let Some(journal) = &signals.journal else { return Ok(program) };
    match journal.begun_with(program.seed, now_ms(), &basis()) {
        Some((seed, clock_ms)) => {
            journal.goes_on(true);
            Ok(program.seed(seed).clock_ms(clock_ms))
        }
        None => Err(Box::new(stale("what it began with, its session or what it may use, has changed since"))),
    }
}

/// Whether a task may run: one that was begun before and may have changed something is not planned again, since no model
/// writes the same program twice.
pub fn first_time(signals: &Signals) -> Result<(), Box<Answered>> {
    let Some(journal) = &signals.journal else { return Ok(()) };
    if journal.seen(BEGUN).is_some() {
        return Err(Box::new(stale("its planner would write another program")));
    }
    journal.goes_on(true);
    journal.saw(BEGUN, json!({}));
    Ok(())
}

/// The answer to a request whose session cannot be had. One that was begun before and may have changed something is told
/// that it does not run again, where the session is over.
pub fn without_session(error: &SessionError, signals: &Signals) -> Answered {
    let begun = || signals.journal.as_ref().is_some_and(|journal| journal.seen(BEGUN).is_some());
    match error.is_over() && begun() {
        true => stale("its session is over"),
        false => error.answered(),
    }
}

fn stale(why: &str) -> Answered {
    fixed(
        Reason::REQUEST_STALE,
        &format!(
            "the request was begun before and may have changed something; it is not run again, because {why}. Nothing was \
             sent now"
        ),
        "Look at what was done, then ask for the rest with a request under another key.",
    )
}
