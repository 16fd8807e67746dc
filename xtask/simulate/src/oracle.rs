//! What must be true after every step, whatever happened: what was acknowledged is there, a key has one reply, a ticket is
//! decided once, what is held is held by one, only its holder changes it, and a call that ended holds nothing. Writes are looked at where they arrive
//! (`upstream.rs`), permits and whoever waits for ever by the scheduler (`schedule.rs`).

use std::collections::{BTreeMap, BTreeSet};

use ptc_store::Lease;
use ptc_store::simulation::{Kind, Leased};
use serde_json::{Value as Json, json};

use crate::messages::{Decision, EDITED, LEFT};
use crate::world::State;

/// What is known of the past.
#[derive(Default)]
pub struct Oracle {
    rows: BTreeMap<(Kind, String), Leased>,
    /// Who has which lease.
    holders: BTreeMap<(Kind, String, i64), u64>,
    /// Replies that were given, by the scope of their requests.
    replies: BTreeMap<String, Json>,
    /// Ends of tickets that were told.
    ends: BTreeMap<String, Json>,
}

/// In the version of a ticket: it came to its end.
const USED: i64 = 1;
/// In the version of a ticket: its time, or its session, is over.
const GONE: [i64; 2] = [2, 3];

impl Oracle {
    /// A server is about to give a reply that is kept.
    pub fn tells(&mut self, state: &mut State, scope: &str, reply: &Json) {
        match self.replies.get(scope) {
            Some(before) if before != reply => {
                state.violated(|| {
                    format!("one reply per key: {scope} was answered {before}, and now {reply}")
                });
            }
            _ => drop(self.replies.insert(scope.to_owned(), reply.clone())),
        }
        let key = scope.rsplit(':').next().unwrap_or_default();
        made(state, key, &reply["value"]);
        stale(state, key, &reply["stale"]);
        self.is_there(state);
    }

    /// A server is about to tell what came of a ticket.
    pub fn tells_end(&mut self, state: &mut State, ticket: &str, ended: &Json) {
        match self.ends.get(ticket) {
            Some(before) if before != ended => {
                state.violated(|| {
                    format!("a ticket is decided once: {ticket} ended {before}, and now {ended}")
                });
            }
            _ => drop(self.ends.insert(ticket.to_owned(), ended.clone())),
        }
        let key = ticket.split('-').nth(1).unwrap_or_default();
        made(state, key, &ended["value"]);
        as_decided(state, key, ended);
        self.is_there(state);
    }

    /// What was told is in the store.
    fn is_there(&self, state: &mut State) {
        let ended =
            |kind, id: &String| self.rows.get(&(kind, id.clone())).and_then(|row| row.ended.as_deref());
        for (scope, reply) in &self.replies {
            if ended(Kind::Request, scope) != Some(reply.to_string().as_str()) {
                state.violated(|| {
                    format!("acknowledged is there: the reply of {scope} is told and not in the store")
                });
            }
            if let Some(ticket) = reply["approval"].as_str()
                && !self.rows.contains_key(&(Kind::Ticket, ticket.to_owned()))
            {
                state.violated(|| format!("acknowledged is there: {ticket} is told and not in the store"));
            }
            self.is_in_session(state, scope, reply);
        }
        for (ticket, end) in &self.ends {
            if ended(Kind::Ticket, ticket) != Some(end.to_string().as_str()) {
                state.violated(|| {
                    format!("acknowledged is there: the end of {ticket} is told and not in the store")
                });
            }
        }
    }

    /// A program that was kept in a session is in its state.
    fn is_in_session(&self, state: &mut State, scope: &str, reply: &Json) {
        let Some(session) = reply["session"].as_str() else { return };
        let row = self.rows.get(&(Kind::Session, session.to_owned()));
        // One that is over keeps nothing.
        if row.is_some_and(is_over) {
            return;
        }
        let key = scope.rsplit(':').next().unwrap_or_default();
        if !row.is_some_and(|row| keys(row).iter().any(|kept| kept == key)) {
            state.violated(|| format!("acknowledged is there: {key} is told and not in session {session}"));
        }
    }

    /// Looks at the store after a step of whoever acts.
    pub fn look(&mut self, state: &mut State, picture: Vec<Leased>) {
        let mut rows: BTreeMap<(Kind, String), Leased> =
            picture.into_iter().map(|row| ((row.kind, row.id.clone()), row)).collect();
        std::mem::swap(&mut rows, &mut self.rows);
        let before = rows;
        for (key, row) in &self.rows {
            if before.get(key) == Some(row) {
                continue;
            }
            let Some(old) = before.get(key) else {
                if row.lease != 0 {
                    self.holders.insert((row.kind, row.id.clone(), row.lease), state.acting);
                }
                continue;
            };
            changed(&mut self.holders, state, old, row);
            if row.kind == Kind::Ticket && row.version == USED && old.version != USED {
                self.replies_with(state, row);
            }
        }
        for (_, gone) in before.iter().filter(|(key, _)| !self.rows.contains_key(*key)) {
            if gone.ended.is_some() {
                state.violated(|| format!("acknowledged is there: what came of {} is forgotten", gone.id));
            }
            if gone.kind == Kind::Request {
                only_holder(&self.holders, state, gone, "forgets");
            }
        }
        self.is_there(state);
    }

    /// Whoever ends a ticket for a request under a key has replied to it in the same step: otherwise the key would never have a
    /// reply.
    fn replies_with(&self, state: &mut State, ticket: &Leased) {
        let acting = state.acting;
        let own = |(key, holder): &(&(Kind, String, i64), &u64)| key.0 == Kind::Request && **holder == acting;
        for ((_, scope, _), _) in self.holders.iter().filter(own) {
            let has_reply =
                self.rows.get(&(Kind::Request, scope.clone())).is_some_and(|row| row.ended.is_some());
            if !has_reply {
                let ticket = &ticket.id;
                state.violated(|| {
                    format!("one reply per key: {ticket} came to its end by {scope}, which has no reply")
                });
            }
        }
    }

    /// A call came to its end, and nothing went wrong: whoever comes next does not wait for a lease to run out.
    pub fn holds_nothing(&self, state: &mut State, party: u64) {
        let is_gone = |row: &Leased| row.kind == Kind::Ticket && GONE.contains(&row.version);
        let held = |row: &&Leased| row.until != 0 && row.ended.is_none() && !is_gone(row);
        for row in self.rows.values().filter(held) {
            if self.holders.get(&(row.kind, row.id.clone(), row.lease)) == Some(&party) {
                let (kind, id) = (row.kind, &row.id);
                state.violated(|| format!("what ended holds nothing: call {party} keeps {kind:?} {id}"));
            }
        }
    }

    /// The machine lost its power: whoever held something is gone, and the store has less than before. What a disk lied
    /// about is not expected any more.
    pub fn lost_power(&mut self, state: &mut State, picture: Vec<Leased>, kept_promises: bool) {
        self.holders.clear();
        self.rows = picture.into_iter().map(|row| ((row.kind, row.id.clone()), row)).collect();
        if !kept_promises {
            self.replies.clear();
            self.ends.clear();
            state.upstream.forgiven = true;
            state.note(|| {
                "the disk has lost what it said to have: what was promised before does not count".to_owned()
            });
        }
        self.is_there(state);
    }
}

/// Calls that an answer says to be made were made once.
fn made(state: &mut State, key: &str, value: &Json) {
    if state.upstream.forgiven {
        return;
    }
    for (at, call) in (0_i64..).zip(value["calls"].as_array().into_iter().flatten()) {
        let made = state.upstream.writes.get(&(key.to_owned(), at)).map_or(0, Vec::len);
        if call["ok"] == true && made != 1 {
            state.violated(|| {
                format!("acknowledged is there: write {at} of {key} is told, made {made} times")
            });
        }
    }
}

/// A request that cannot go on tells all that it wrote, and nothing else.
fn stale(state: &mut State, key: &str, told: &Json) {
    let (Some(made), Some(unknown)) = (told["made"].as_u64(), told["unknown"].as_u64()) else { return };
    if state.upstream.forgiven {
        return;
    }
    let wrote = state.upstream.writes.keys().filter(|(of, _)| of == key).count() as u64;
    if !(made..=made + unknown).contains(&wrote) {
        state.violated(|| {
            format!(
                "all that was done is told: {key} wrote {wrote}, and tells {made} and perhaps {unknown} more"
            )
        });
    }
}

/// The call that somebody decided about was made as the ticket says, or not at all.
fn as_decided(state: &mut State, key: &str, ended: &Json) {
    let (decision, at) = (&ended["decision"], ended["at"].as_i64().unwrap_or_default());
    if state.upstream.forgiven || *decision == LEFT {
        return;
    }
    let Some(written) = state.upstream.writes.get(&(key.to_owned(), at)).cloned() else { return };
    let fits = match Decision::named(decision) {
        Some(Decision::Approve) => written.iter().all(|n| *n != EDITED),
        Some(Decision::Edit) => written.iter().all(|n| *n == EDITED),
        Some(Decision::Reject) | None => false,
    };
    if !fits {
        state.violated(|| {
            format!("a ticket is decided once: {key} ended with {decision}, and {written:?} was written")
        });
    }
}

/// Whether the call that holds a row does not use it any more, so that its server may give it back.
fn is_given_up(holders: &BTreeMap<(Kind, String, i64), u64>, state: &State, row: &Leased) -> bool {
    let holder = holders.get(&(row.kind, row.id.clone(), row.lease));
    holder.is_some_and(|holder| state.given_up.contains(&(*holder, row.id.clone())))
}

/// What is wrong with a change of a row.
fn changed(holders: &mut BTreeMap<(Kind, String, i64), u64>, state: &mut State, old: &Leased, row: &Leased) {
    let what = || format!("{:?} {}", row.kind, row.id);
    if row.lease != old.lease {
        // What ends further ahead than any lease lasts was given by another clock, and counts as over.
        let last = state.acting_now.saturating_add(Lease::LONGEST_MS);
        if old.until > state.acting_now && old.until <= last && !is_given_up(holders, state, old) {
            state.violated(|| format!("one holder: {} was taken while somebody held it", what()));
        }
        if holders.insert((row.kind, row.id.clone(), row.lease), state.acting).is_some() {
            state.violated(|| format!("one holder: {} has two holders with one number", what()));
        }
    } else if row.until != old.until
        && !(row.kind == Kind::Ticket && GONE.contains(&row.version))
        && !is_over(row)
    {
        only_holder(holders, state, old, if row.until == 0 { "gives back" } else { "renews" });
    }
    if old.ended != row.ended {
        match &old.ended {
            Some(_) => state.violated(|| format!("one reply per key: what came of {} was replaced", what())),
            None => only_holder(holders, state, old, "ends"),
        }
    }
    match row.kind {
        Kind::Session if row.version != old.version => {
            only_holder(holders, state, old, "commits");
            let (before, now) = (keys(old), keys(row));
            let appended = now.len() == before.len() + 1 && now.starts_with(&before);
            let distinct = now.iter().collect::<BTreeSet<_>>().len() == now.len();
            if row.version != old.version + 1 || !appended || !distinct {
                state.violated(|| format!("one history: {} went from {before:?} to {now:?}", what()));
            }
        }
        // Who gives back what nobody began, and takes it, decides in one step what is undecided again between the two.
        Kind::Ticket
            if old.body != row.body
                && state.decided_by.get(&old.id) == Some(&old.lease)
                && is_given_up(holders, state, old) => {}
        // Whoever rejects what was left ends it, and nothing else can be decided then.
        Kind::Ticket
            if old.body.is_some() && row.body.as_deref() == Some(json!(LEFT).to_string().as_str()) => {}
        Kind::Ticket if old.body.is_some() && row.body.is_some() && old.body != row.body => {
            state.violated(|| format!("a ticket is decided once: {} was decided otherwise", what()));
        }
        Kind::Ticket if old.version == USED && row.version != USED => {
            state.violated(|| format!("a ticket is decided once: {} was used, and is not", what()));
        }
        _ => {}
    }
    if row.kind == Kind::Ticket && row.body.is_some() && old.body != row.body {
        state.decided_by.insert(row.id.clone(), row.lease);
    }
}

/// Only who holds a row changes it.
fn only_holder(
    holders: &BTreeMap<(Kind, String, i64), u64>,
    state: &mut State,
    row: &Leased,
    does: &'static str,
) {
    let holder = holders.get(&(row.kind, row.id.clone(), row.lease)).copied();
    let acting = state.acting;
    let given_up = is_given_up(holders, state, row);
    if holder != Some(acting) && !(given_up && does != "commits" && does != "ends") {
        let (kind, id) = (row.kind, &row.id);
        state.violated(|| format!("one holder: {acting} {does} {kind:?} {id}, which {holder:?} holds"));
    }
}

/// Whether a session is over, which whoever owns it may say.
fn is_over(row: &Leased) -> bool {
    row.kind == Kind::Session && row.body.is_none()
}

/// The programs that a session has kept.
fn keys(session: &Leased) -> Vec<String> {
    let meta = session.body.as_deref().and_then(|meta| serde_json::from_str::<Json>(meta).ok());
    let keys = meta.as_ref().and_then(|meta| meta["keys"].as_array());
    keys.into_iter().flatten().filter_map(|key| key.as_str().map(str::to_owned)).collect()
}
