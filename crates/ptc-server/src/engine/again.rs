//! Programs of requests that were begun before and did not end. One that may have changed something runs again as it
//! ran: with its clock, its random numbers and all that it was told, so that it makes the calls that it made. Where that
//! cannot be, it does not run, and nothing is sent.
//!
//! A request that can go on nowhere any more has that as its one reply. One that only this server cannot go on with has none:
//! whoever is set up as the server was that began it still can.

use ptc_host::{Program, now_ms};
use ptc_upstream::EffectJournal;
use serde_json::{Value as Json, json};

use super::api::Signals;
use super::reason::Reason;
use super::sessions::SessionError;
use super::{Answered, fixed};
use crate::effects::BEGUN;

/// What a program depends on besides its text and its inputs.
pub struct Basis {
    /// A digest of what it may use.
    pub grants: String,
    /// The session that it runs in, and how often that was changed.
    pub session: Option<(String, u64)>,
}

impl Basis {
    /// As it is kept.
    fn text(&self) -> String {
        match &self.session {
            Some(_) => json!([self.grants, self.session]).to_string(),
            None => self.grants.clone(),
        }
    }

    /// Whether the session is not what it was then, as which no server has it again.
    fn has_gone_on(&self, before: &str) -> bool {
        let was = serde_json::from_str::<Json>(before).unwrap_or_default();
        self.session.is_some() && was[1] != json!(self.session)
    }
}

/// The program as it ran before, if its request was begun before and may have changed something.
pub fn as_before(
    program: Program,
    basis: impl FnOnce() -> Basis,
    signals: &Signals,
) -> Result<Program, Box<Answered>> {
    let Some(journal) = &signals.journal else { return Ok(program) };
    let basis = basis();
    match journal.begun_with(program.seed, now_ms(), &basis.text()) {
        Ok((seed, clock_ms)) => {
            journal.goes_on(true);
            Ok(program.seed(seed).clock_ms(clock_ms))
        }
        Err(before) if basis.has_gone_on(&before) => {
            Err(Box::new(stale("its session has changed since it began")))
        }
        Err(_) => Err(Box::new(stale_here("what programs may use here is not what it began with"))),
    }
}

/// Whether a task may run: one that was begun before and may have changed something is not planned again, since no model
/// writes the same program twice.
pub fn first_time(signals: &Signals) -> Result<(), Box<Answered>> {
    let Some(journal) = &signals.journal else { return Ok(()) };
    if was_begun(signals) {
        return Err(Box::new(stale("its planner would write another program")));
    }
    journal.goes_on(true);
    journal.saw(BEGUN, json!({}));
    Ok(())
}

/// The answer to a request whose session cannot be had. One that was begun before and may have changed something is told
/// that it does not run again, unless it is to wait.
pub fn without_session(error: &SessionError, signals: &Signals) -> Answered {
    match was_begun(signals) {
        true if error.is_over() => stale("its session is over"),
        true if !error.is_passing() => stale_here(&error.message),
        _ => error.answered(),
    }
}

/// Whether the request was begun before and may have changed something.
fn was_begun(signals: &Signals) -> bool {
    signals.journal.as_ref().is_some_and(|journal| journal.seen(BEGUN).is_some())
}

/// The reply of a request that no server can go on with.
fn stale(why: &str) -> Answered {
    let answered = fixed(
        Reason::REQUEST_STALE,
        &format!(
            "the request was begun before and may have changed something; it is not run again, because {why}. Nothing was \
             sent now"
        ),
        "Look at what was done, then ask for the rest with a request under another key.",
    );
    Answered { is_last: true, ..answered }
}

/// The answer to a request that this server cannot go on with.
fn stale_here(why: &str) -> Answered {
    fixed(
        Reason::REQUEST_STALE,
        &format!(
            "the request was begun before and may have changed something; this server does not run it again, because {why}. \
             Nothing was sent now, and nothing is decided under its key"
        ),
        "Send it again under the same key to a server of this store that is set up as the one was that began it: it goes on \
         there. If there is none any more, look at what was done, ask for the rest with a request under another key, and do \
         not send this one again.",
    )
}
