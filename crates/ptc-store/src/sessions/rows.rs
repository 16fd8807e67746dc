//! The statements of sessions.

use serde_json::Value as Json;

use super::model::{KeptSession, ListedSession, NewSession, SessionError, Times};
use super::{Lease, REMEMBERED_MS};
use crate::cell::{Reading, Row, cells};
use crate::lease::{self, json};
use crate::tx::Tx;
use crate::{StoreError, tickets};

/// The longest time that a session is given: statements add it to the time of day, which must stay a number.
const FOREVER_MS: i64 = 1 << 52;

/// What a session says of itself. Behind it comes until when programs of it wait, where that is asked for.
macro_rules! columns {
    () => {
        "s.id, s.owner, s.closed, s.version, s.lease, s.lease_until, s.created_at, s.changed_at, s.expires_at, s.idle_ms, s.ends_at"
    };
}

/// The column until when programs of a session wait.
const WAITS_UNTIL: usize = 11;
/// The column behind it in lists: what a session says of itself.
const META: usize = 12;

/// One session without what is kept of it, by its id.
pub(crate) const HEAD: &str = concat!("SELECT ", columns!(), " FROM ptc_sessions s WHERE s.id = ?1");

/// A session without what is kept of it, as far as it can be read.
pub(crate) struct SessionHead {
    pub id: String,
    pub owner: String,
    pub is_closed: bool,
    pub version: i64,
    pub lease: i64,
    pub lease_until: i64,
    pub idle_ms: i64,
    pub ends_at: i64,
    /// Until when a program of it can wait for a decision; zero if none does.
    pub waits_until: i64,
    pub times: Times,
    /// What of it cannot be read.
    pub wrong: Option<String>,
}

impl SessionHead {
    pub fn read(row: &Row, now: i64) -> SessionHead {
        let mut reading = Reading::of(row, columns!());
        let mut int = |name| reading.int(name).unwrap_or_default();
        let (closed, version, lease, lease_until) =
            (int("closed"), int("version"), int("lease"), int("lease_until"));
        let (idle_ms, ends_at) = (int("idle_ms"), int("ends_at"));
        // A ticket that is damaged keeps its session for another idle time, like one that was taken.
        let damaged = now.saturating_add(idle_ms).saturating_add(1);
        let waits_until = match row.0.get(WAITS_UNTIL) {
            Some(_) => row.int(WAITS_UNTIL).unwrap_or(damaged).min(now.saturating_add(FOREVER_MS)),
            None => 0,
        };
        let times = Times {
            created_ms: int("created_at"),
            changed_ms: int("changed_at"),
            expires_ms: int("expires_at").max(waits_until),
        };
        let (id, owner, is_closed) = (reading.text("id"), reading.text("owner"), closed == 1);
        if !matches!(closed, 0 | 1) {
            reading.tell(format!("its column closed holds {closed}"));
        }
        let wrong = reading.wrong();
        SessionHead {
            id,
            owner,
            is_closed,
            version,
            lease,
            lease_until,
            idle_ms,
            ends_at,
            waits_until,
            times,
            wrong,
        }
    }

    fn is_held(&self, now: i64) -> bool {
        lease::holds(self.lease_until, now)
    }

    /// Whether it can be used, or cannot only because it is damaged.
    fn is_open(&self, now: i64) -> bool {
        let is_used = self.ends_at.max(self.waits_until) > now || self.is_held(now);
        !self.is_closed && (self.wrong.is_some() || (self.times.expires_ms > now && is_used))
    }
}

/// Until when programs that wait for people keep a session: to the ends of their tickets, and of one whose decision was made
/// in time and carried out in part, for another idle time from now on.
macro_rules! waits_until {
    ($session:literal, $now:literal) => {
        concat!(
            "COALESCE((SELECT MAX(CASE WHEN t.began_at IS NULL OR t.expires_at > ",
            $now,
            " + ",
            $session,
            ".idle_ms THEN t.expires_at ELSE ",
            $now,
            " + ",
            $session,
            ".idle_ms + 1 END) FROM ptc_tickets t WHERE t.session = ",
            $session,
            ".id AND t.used = 0), 0)"
        )
    };
}

/// The session, if it is open, whole and belongs to this owner.
pub(super) fn open(tx: &mut Tx<'_>, id: &str, owner: &str, now: i64) -> Result<SessionHead, SessionError> {
    let head = found(tx, id, owner, now)?;
    match &head.wrong {
        Some(why) => Err(tx.damaged(format!("session {id}: {why}")).into()),
        None => Ok(head),
    }
}

/// The session, if it is open and belongs to this owner, damaged or not.
pub(super) fn found(tx: &mut Tx<'_>, id: &str, owner: &str, now: i64) -> Result<SessionHead, SessionError> {
    let found = tx.first(
        concat!("SELECT ", columns!(), ", ", waits_until!("s", "?2"), " FROM ptc_sessions s WHERE s.id = ?1"),
        cells![id, now],
        |row| Ok(SessionHead::read(row, now)),
    )?;
    match found {
        None => Err(SessionError::Missing),
        Some(head) if head.owner != owner => Err(SessionError::Owner),
        Some(head) if !head.is_open(now) => Err(SessionError::Closed),
        Some(head) => Ok(head),
    }
}

/// Whether a session was there and is over.
pub(super) fn is_over(tx: &mut Tx<'_>, id: &str) -> Result<bool, StoreError> {
    let closed = "SELECT 1 FROM ptc_sessions WHERE id = ?1 AND closed = 1";
    Ok(tx.first(closed, cells![id], |_| Ok(()))?.is_some())
}

/// Adds a session.
pub(super) fn insert(tx: &mut Tx<'_>, new: &NewSession<'_>) -> Result<Times, SessionError> {
    let now = tx.now_ms()?;
    let (ttl, idle) = (new.ttl_ms.min(FOREVER_MS), new.idle_ms.min(FOREVER_MS));
    let expires = now.saturating_add(ttl);
    let ends = expires.min(now.saturating_add(idle));
    let added = tx.run(
        "INSERT INTO ptc_sessions (id, owner, closed, version, lease, lease_until, created_at, changed_at,
             expires_at, idle_ms, ends_at)
         VALUES (?1, ?2, 0, 0, 0, 0, ?3, ?3, ?4, ?5, ?6) ON CONFLICT (id) DO NOTHING",
        cells![new.id, new.owner, now, expires, idle, ends],
    )?;
    if added == 0 {
        return Err(SessionError::Exists);
    }
    tx.run(
        "INSERT INTO ptc_session_origins (session, origin) VALUES (?1, ?2)",
        cells![new.id, new.origin.to_string().into_bytes()],
    )?;
    tx.run(
        "INSERT INTO ptc_session_metas (session, meta) VALUES (?1, ?2)",
        cells![new.id, new.meta.to_string().into_bytes()],
    )?;
    Ok(Times { created_ms: now, changed_ms: now, expires_ms: expires })
}

/// Takes a session that nobody holds, by this lease; false if it was closed since it was looked at.
pub(super) fn take(
    tx: &mut Tx<'_>,
    lease: &Lease,
    head: &SessionHead,
    now: i64,
    lease_ms: i64,
) -> Result<bool, StoreError> {
    let ends = head.times.expires_ms.min(now.saturating_add(head.idle_ms));
    let taken = tx.run(
        "UPDATE ptc_sessions SET lease = ?5, lease_until = ?3, ends_at = ?4
         WHERE id = ?1 AND lease = ?2 AND closed = 0",
        cells![&lease.id, head.lease, lease::until(now, lease_ms), ends, lease.number],
    )?;
    Ok(taken > 0)
}

/// What is kept, unless the caller knows it.
pub(super) fn kept(
    tx: &mut Tx<'_>,
    id: &str,
    version: i64,
    known: Option<i64>,
) -> Result<Option<KeptSession>, StoreError> {
    if known == Some(version) {
        return Ok(None);
    }
    let texts = tx.first(
        "SELECT o.origin, m.meta FROM ptc_session_origins o JOIN ptc_session_metas m ON m.session = o.session
         WHERE o.session = ?1",
        cells![id],
        |row| {
            let read = |column, what| {
                json(&row.bytes(column)?).map_err(|why| format!("the {what} of session {id}: {why}"))
            };
            Ok((read(0, "origin")?, read(1, "meta")?))
        },
    )?;
    let (origin, meta) = texts
        .ok_or_else(|| tx.damaged(format!("session {id} is open, but what is kept of it is missing")))?;
    let state =
        tx.first("SELECT state FROM ptc_session_states WHERE session = ?1", cells![id], |row| row.bytes(0))?;
    Ok(Some(KeptSession { origin, meta, state }))
}

/// Begins the idle time of an open session anew.
pub(super) fn touch(tx: &mut Tx<'_>, id: &str) -> Result<(), StoreError> {
    let now = tx.now_ms()?;
    tx.run(
        "UPDATE ptc_sessions SET ends_at = CASE WHEN ?2 + idle_ms < expires_at THEN ?2 + idle_ms ELSE expires_at END
         WHERE id = ?1 AND closed = 0",
        cells![id, now],
    )?;
    Ok(())
}

/// Has an open session live for its idle time from now on, whatever its time was.
pub(super) fn grant_idle_time(tx: &mut Tx<'_>, id: &str) -> Result<(), StoreError> {
    let now = tx.now_ms()?;
    tx.run(
        "UPDATE ptc_sessions SET ends_at = ?2 + idle_ms,
             expires_at = CASE WHEN ?2 + idle_ms > expires_at THEN ?2 + idle_ms ELSE expires_at END
         WHERE id = ?1 AND closed = 0",
        cells![id, now],
    )?;
    Ok(())
}

/// The version of a session, if it is open and held by this lease.
pub(super) fn held(tx: &mut Tx<'_>, lease: &Lease) -> Result<i64, SessionError> {
    let now = tx.now_ms()?;
    let found = tx.first(
        concat!(
            "SELECT closed, expires_at, lease, lease_until, version, ",
            waits_until!("ptc_sessions", "?2"),
            " FROM ptc_sessions WHERE id = ?1",
        ),
        cells![&lease.id, now],
        |row| {
            let expired = row.int(1)?.max(row.int(5)?) <= now;
            Ok((row.int(0)? != 0 || expired, (row.int(2)?, row.int(3)?), row.int(4)?))
        },
    )?;
    match found {
        None => Err(SessionError::Missing),
        Some((true, ..)) => Err(SessionError::Closed),
        // A session that was given back has no end of its lease.
        Some((_, (number, until), _)) if number != lease.number || until == 0 => Err(SessionError::Lost),
        Some((_, _, version)) => Ok(version),
    }
}

/// Holds a session for longer.
pub(super) fn renew(tx: &mut Tx<'_>, lease: &Lease, lease_ms: i64) -> Result<(), StoreError> {
    let until = lease::until(tx.now_ms()?, lease_ms);
    tx.run(
        "UPDATE ptc_sessions SET lease_until = ?3 WHERE id = ?1 AND lease = ?2 AND closed = 0",
        cells![&lease.id, lease.number, until],
    )?;
    touch(tx, &lease.id)
}

/// Keeps a change and gives the session back.
pub(super) fn commit(
    tx: &mut Tx<'_>,
    lease: &Lease,
    meta: &Json,
    state: Option<&[u8]>,
) -> Result<i64, SessionError> {
    let now = tx.now_ms()?;
    let changed = tx.run(
        "UPDATE ptc_sessions SET version = version + 1, lease_until = 0, changed_at = ?3
         WHERE id = ?1 AND lease = ?2 AND closed = 0",
        cells![&lease.id, lease.number, now],
    )?;
    if changed == 0 {
        // A sweep was quicker.
        return Err(SessionError::Closed);
    }
    touch(tx, &lease.id)?;
    tx.run(
        "UPDATE ptc_session_metas SET meta = ?2 WHERE session = ?1",
        cells![&lease.id, meta.to_string().into_bytes()],
    )?;
    if let Some(state) = state {
        tx.run(
            "INSERT INTO ptc_session_states (session, state) VALUES (?1, ?2)
             ON CONFLICT (session) DO UPDATE SET state = excluded.state",
            cells![&lease.id, state],
        )?;
    }
    Ok(tx.number("SELECT version FROM ptc_sessions WHERE id = ?1", cells![&lease.id])?)
}

/// Gives a session back.
pub(super) fn release(tx: &mut Tx<'_>, lease: &Lease) -> Result<(), StoreError> {
    tx.run(
        "UPDATE ptc_sessions SET lease_until = 0 WHERE id = ?1 AND lease = ?2",
        cells![&lease.id, lease.number],
    )?;
    Ok(())
}

/// Ends an open session.
pub(super) fn close(tx: &mut Tx<'_>, id: &str, now: i64) -> Result<(), StoreError> {
    tx.run(
        "UPDATE ptc_sessions SET closed = 1, lease_until = 0, ends_at = ?2 WHERE id = ?1 AND closed <> 1",
        cells![id, now.saturating_add(REMEMBERED_MS)],
    )?;
    tickets::session_gone(tx, id)?;
    drop_parts(tx, id)
}

fn drop_parts(tx: &mut Tx<'_>, id: &str) -> Result<(), StoreError> {
    for sql in [
        "DELETE FROM ptc_session_origins WHERE session = ?1",
        "DELETE FROM ptc_session_metas WHERE session = ?1",
        "DELETE FROM ptc_session_states WHERE session = ?1",
    ] {
        tx.run(sql, cells![id])?;
    }
    Ok(())
}

/// Ids of the open sessions of an owner.
pub(super) fn of(tx: &mut Tx<'_>, owner: &str) -> Result<Vec<String>, StoreError> {
    tx.list("SELECT id FROM ptc_sessions WHERE owner = ?1 AND closed <> 1", cells![owner], |row| row.text(0))
}

/// The open sessions of an owner.
pub(super) fn list(tx: &mut Tx<'_>, owner: &str) -> Result<Vec<ListedSession>, StoreError> {
    let now = tx.now_ms()?;
    let listed = tx.list(
        concat!(
            "SELECT ",
            columns!(),
            ", ",
            waits_until!("s", "?2"),
            ", m.meta FROM ptc_sessions s LEFT JOIN ptc_session_metas m ON m.session = s.id
             WHERE s.owner = ?1 AND s.closed <> 1 ORDER BY s.changed_at DESC, s.id",
        ),
        cells![owner, now],
        |row| {
            let head = SessionHead::read(row, now);
            let read = match row.maybe_bytes(META) {
                Ok(None) => Err("what it says of itself is missing".to_owned()),
                read => read.map(Option::unwrap_or_default).and_then(|meta| json(&meta)),
            };
            // One that is damaged keeps nobody from the others.
            let (meta, damaged) = match (read, head.wrong.clone()) {
                (Ok(meta), damaged) => (meta, damaged),
                (Err(why), damaged) => (Json::Null, damaged.or(Some(why))),
            };
            let (is_open, busy) = (head.is_open(now), head.is_held(now));
            let SessionHead { id, version, times, .. } = head;
            Ok(is_open.then_some(ListedSession { id, version, busy, times, meta, damaged }))
        },
    )?;
    Ok(listed.into_iter().flatten().collect())
}

/// How many sessions are open; counts no further than to `most`.
pub(super) fn count(tx: &mut Tx<'_>, most: u64) -> Result<u64, StoreError> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let sql = "SELECT COUNT(*) FROM (SELECT 1 AS one FROM ptc_sessions WHERE closed = 0 LIMIT ?1) AS open";
    Ok(u64::try_from(tx.number(sql, cells![most])?).unwrap_or_default())
}

/// How many sessions of an owner are open.
pub(super) fn count_of(tx: &mut Tx<'_>, owner: &str) -> Result<u64, StoreError> {
    let sql = "SELECT COUNT(*) FROM ptc_sessions WHERE owner = ?1 AND closed = 0";
    Ok(u64::try_from(tx.number(sql, cells![owner])?).unwrap_or_default())
}

/// Whether a sweep would find nothing.
pub(super) fn nothing_to_sweep(tx: &mut Tx<'_>) -> Result<bool, StoreError> {
    let now = tx.now_ms()?;
    let due = tx.number(
        "SELECT COUNT(*) FROM (SELECT 1 AS one FROM ptc_sessions
             WHERE closed IN (0, 1) AND ends_at <= ?1 AND (closed = 1 OR expires_at <= ?1
                     OR NOT (lease_until > ?1 AND lease_until <= ?2))
                 AND (closed = 1 OR NOT EXISTS (SELECT 1 FROM ptc_tickets t
                     WHERE t.session = ptc_sessions.id AND t.used = 0 AND (t.expires_at > ?1 OR t.began_at IS NOT NULL)))
             LIMIT 1) AS due",
        cells![now, lease::last(now)],
    )?;
    Ok(due == 0)
}

/// Ends at most so many sessions whose time is over, and forgets as many of those that are over for long.
pub(super) fn sweep(tx: &mut Tx<'_>, most: i64) -> Result<(u64, u64), StoreError> {
    let now = tx.now_ms()?;
    let over = tx.list(
        "SELECT id FROM ptc_sessions
         WHERE closed = 0 AND ends_at <= ?1 AND (expires_at <= ?1 OR NOT (lease_until > ?1 AND lease_until <= ?3))
             AND NOT EXISTS (SELECT 1 FROM ptc_tickets t
                 WHERE t.session = ptc_sessions.id AND t.used = 0 AND (t.expires_at > ?1 OR t.began_at IS NOT NULL))
         LIMIT ?2",
        cells![now, most, lease::last(now)],
        |row| row.text(0),
    )?;
    let mut ended = 0;
    for id in over {
        // Somebody may have used it since.
        let closed = tx.run(
            "UPDATE ptc_sessions SET closed = 1, lease_until = 0, ends_at = ?3
             WHERE id = ?1 AND closed = 0 AND ends_at <= ?2
                 AND (expires_at <= ?2 OR NOT (lease_until > ?2 AND lease_until <= ?4))
                 AND NOT EXISTS (SELECT 1 FROM ptc_tickets t
                     WHERE t.session = ptc_sessions.id AND t.used = 0 AND (t.expires_at > ?2 OR t.began_at IS NOT NULL))",
            cells![&id, now, now.saturating_add(REMEMBERED_MS), lease::last(now)],
        )?;
        if closed > 0 {
            tickets::session_gone(tx, &id)?;
            drop_parts(tx, &id)?;
            ended += 1;
        }
    }
    let forgotten = tx.run(
        "DELETE FROM ptc_sessions WHERE id IN
             (SELECT id FROM ptc_sessions WHERE closed = 1 AND ends_at <= ?1 LIMIT ?2)",
        cells![now, most],
    )?;
    Ok((ended, forgotten))
}
