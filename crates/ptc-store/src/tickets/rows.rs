//! The statements of tickets.

use serde_json::Value as Json;

use super::model::{ListedTicket, NewTicket, TakenTicket, TicketError, TicketReader};
use super::{Lease, REMEMBERED_MS, SCOPE};
use crate::cell::{Cell, Reading, Row, cells};
use crate::lease;
use crate::tx::Tx;
use crate::{StoreError, effects};

/// In `used`: it was gone on with to the end.
const USED: i64 = 1;
/// In `used`: it expired, and nothing is sealed in it any more.
const SWEPT: i64 = 2;
/// In `used`: its session is over or has changed, and nothing is sealed in it any more.
const GONE: i64 = 3;

/// What a ticket says of itself; what is sealed in it comes behind, where it is asked for.
macro_rules! columns {
    () => {
        "t.id, t.owner, t.kind, t.lease, t.lease_until, t.created_at, t.expires_at, t.began_at, t.used, t.about, t.decided, \
         t.ended, t.session"
    };
}

/// Whether a ticket is not over, as a condition. One whose `used` is damaged is not.
macro_rules! is_open {
    () => {
        "(t.used < 1 OR t.used > 3)"
    };
}

/// One whole ticket, by its id.
pub(crate) const WHOLE: &str = concat!(
    "SELECT ",
    columns!(),
    ", s.sealed FROM ptc_tickets t LEFT JOIN ptc_ticket_seals s ON s.ticket = t.id WHERE t.id = ?1"
);
/// Its columns.
const WHOLE_COLUMNS: &str = concat!(columns!(), ", s.sealed");

/// A ticket as far as it can be read.
#[derive(Clone, Debug)]
pub(crate) struct TicketRow {
    pub id: String,
    pub owner: String,
    pub kind: String,
    pub lease: i64,
    pub lease_until: i64,
    pub created_at: Option<i64>,
    pub expires_at: Option<i64>,
    /// Whether somebody took it before and did not come to an end.
    pub began: bool,
    used: i64,
    pub about: Json,
    /// What was decided when it was taken before.
    pub decided: Option<Json>,
    ended: Option<Json>,
    /// What is sealed in it, where that was asked for and is there.
    pub sealed: Option<Vec<u8>>,
    /// What of it cannot be read, or contradicts the rest. Of one that is over, only what is still asked for counts.
    pub wrong: Option<String>,
}

impl TicketRow {
    /// Of a row of [`WHOLE`].
    pub fn whole(row: &Row, reads: TicketReader) -> TicketRow {
        let mut reading = Reading::of(row, WHOLE_COLUMNS);
        let sealed = reading.maybe_bytes("sealed").filter(|sealed| !sealed.is_empty());
        if sealed.is_none() && row.0.last() == Some(&Cell::Null) && is_open(row) {
            reading.tell("what is sealed in it is missing".to_owned());
        }
        TicketRow { sealed: sealed.map(<[u8]>::to_vec), ..TicketRow::read(row, reading, reads) }
    }

    /// Of a row of a list.
    fn listed(row: &Row, reads: TicketReader) -> TicketRow {
        TicketRow::read(row, Reading::of(row, columns!()), reads)
    }

    fn read(row: &Row, mut reading: Reading<'_>, reads: TicketReader) -> TicketRow {
        let is_open = is_open(row);
        let mut found = TicketRow {
            id: reading.text("id"),
            owner: reading.text("owner"),
            kind: String::new(),
            lease: 0,
            lease_until: 0,
            created_at: reading.int("created_at"),
            expires_at: reading.int("expires_at"),
            // One of which nobody knows when it was taken has been.
            began: reading.is_something("began_at"),
            used: reading.int("used").unwrap_or_default(),
            about: Json::Null,
            decided: None,
            ended: None,
            sealed: None,
            wrong: None,
        };
        match is_open {
            true => found.read_open(&mut reading, reads),
            false => found.ended = reading.maybe_json("ended", "what came of it"),
        }
        found.wrong = reading.wrong();
        found
    }

    /// Reads what counts as long as it is open.
    fn read_open(&mut self, reading: &mut Reading<'_>, reads: TicketReader) {
        self.kind = reading.text("kind");
        self.lease = reading.int("lease").unwrap_or_default();
        self.lease_until = reading.int("lease_until").unwrap_or_default();
        reading.maybe_int("began_at");
        reading.maybe_text("session");
        if self.used != 0 {
            reading.tell(format!("its column used holds {}", self.used));
        }
        if reading.is_something("ended") {
            reading.tell("it waits, and something is said to have come of it".to_owned());
        }
        let about = reading.json("about", "what is shown of it");
        let is_decided = reading.is_something("decided");
        let decided = reading.maybe_json("decided", "what was decided");
        if let Some(about) = &about
            && let Some(why) = reads(about, decided.as_ref())
        {
            reading.tell(why);
        }
        self.about = about.unwrap_or_default();
        self.decided = decided.or_else(|| is_decided.then_some(Json::Null));
    }

    /// Notes something else that is wrong with it.
    pub fn is_wrong(&mut self, why: String) {
        self.wrong = Some(self.wrong.take().map_or(why.clone(), |other| format!("{other}, and {why}")));
    }

    /// Whether it can still be decided about, as far as its times can be read.
    pub fn waits(&self, now: i64) -> bool {
        self.began || self.expires_at.is_none_or(|until| until > now)
    }

    /// Whether its program came to an end, or never can.
    pub fn is_over(&self) -> bool {
        matches!(self.used, USED | SWEPT | GONE)
    }

    /// Whether somebody holds it.
    pub fn is_held(&self, now: i64) -> bool {
        lease::holds(self.lease_until, now)
    }

    fn for_list(self, now: i64) -> ListedTicket {
        ListedTicket {
            busy: self.is_held(now),
            id: self.id,
            kind: self.kind,
            created_ms: self.created_at.unwrap_or_default(),
            expires_ms: self.expires_at.unwrap_or_default(),
            about: self.about,
            decided: self.decided,
            damaged: self.wrong,
        }
    }
}

/// Whether a row is of a ticket that is not over, or of which nobody can tell.
fn is_open(row: &Row) -> bool {
    let used = Reading::of(row, columns!()).int("used");
    !matches!(used, Some(USED | SWEPT | GONE))
}

/// Adds a ticket.
pub(super) fn insert(tx: &mut Tx<'_>, new: &NewTicket<'_>, about: Vec<u8>) -> Result<(), TicketError> {
    let now = tx.now_ms()?;
    let added = tx.run(
        "INSERT INTO ptc_tickets (id, owner, kind, lease, lease_until, created_at, expires_at, used, about, session)
         VALUES (?1, ?2, ?3, 0, 0, ?4, ?5, 0, ?6, ?7) ON CONFLICT (id) DO NOTHING",
        cells![new.id, new.owner, new.kind, now, new.expires_ms, about, new.session],
    )?;
    if added == 0 {
        return Err(TicketError::Exists);
    }
    tx.run("INSERT INTO ptc_ticket_seals (ticket, sealed) VALUES (?1, ?2)", cells![new.id, new.sealed])?;
    Ok(())
}

/// The ticket, if it is open and belongs to this owner, damaged or not.
pub(super) fn open(
    tx: &mut Tx<'_>,
    (id, owner): (&str, &str),
    now: i64,
    reads: TicketReader,
) -> Result<TicketRow, TicketError> {
    let found = tx.first(WHOLE, cells![id], |row| Ok(TicketRow::whole(row, reads)))?;
    let found = found.ok_or(TicketError::Missing)?;
    match found.used {
        _ if found.owner != owner => Err(TicketError::Owner),
        SWEPT => Err(TicketError::Expired),
        GONE => Err(TicketError::Gone),
        USED => match (found.ended, found.wrong) {
            (None, Some(why)) => Err(tx.damaged(why).into()),
            (ended, _) => Err(TicketError::Used { ended: ended.unwrap_or_default() }),
        },
        _ if !found.waits(now) => Err(TicketError::Expired),
        _ => Ok(found),
    }
}

/// Whom a ticket belongs to, as far as that can be read.
pub(super) fn owner(tx: &mut Tx<'_>, id: &str) -> Result<Option<String>, StoreError> {
    tx.first("SELECT owner FROM ptc_tickets WHERE id = ?1", cells![id], |row| {
        Ok(Reading::of(row, "owner").text("owner"))
    })
}

/// Ends a ticket that nobody holds, whatever else is damaged of it: what is a number in every ticket is one from then on, so that
/// the ticket is forgotten in time. False if it is over.
pub(super) fn end(tx: &mut Tx<'_>, found: &TicketRow, ended: &Json, now: i64) -> Result<bool, StoreError> {
    let (created, expires) = (found.created_at.unwrap_or(now), found.expires_at.unwrap_or(now));
    let over = tx.run(
        concat!(
            "UPDATE ptc_tickets AS t SET used = 1, lease = ?2, lease_until = 0, began_at = ?3, created_at = ?4, expires_at = ?5,
                 ended = ?6 WHERE id = ?1 AND ",
            is_open!()
        ),
        cells![&found.id, lease::next(found.lease), now, created, expires, ended.to_string().into_bytes()],
    )?;
    if over > 0 {
        empty(tx, &found.id)?;
    }
    Ok(over > 0)
}

/// Takes a ticket that nobody holds, by this lease; false if somebody was quicker.
pub(super) fn take(
    tx: &mut Tx<'_>,
    lease: &Lease,
    before: i64,
    decided: &[u8],
    now: i64,
    lease_ms: i64,
) -> Result<bool, StoreError> {
    let taken = tx.run(
        "UPDATE ptc_tickets SET lease = ?6, lease_until = ?4, began_at = ?3, decided = ?5
         WHERE id = ?1 AND lease = ?2 AND used = 0",
        cells![&lease.id, before, now, lease::until(now, lease_ms), decided, lease.number],
    )?;
    Ok(taken > 0)
}

/// Holds a ticket for longer; false if it is not held by this lease.
pub(super) fn renew(tx: &mut Tx<'_>, lease: &Lease, lease_ms: i64) -> Result<bool, StoreError> {
    let until = lease::until(tx.now_ms()?, lease_ms);
    let held = tx.run(
        "UPDATE ptc_tickets SET lease_until = ?3 WHERE id = ?1 AND lease = ?2 AND used = 0 AND lease_until <> 0",
        cells![&lease.id, lease.number, until],
    )?;
    Ok(held > 0)
}

/// Whether a ticket is held by this lease.
pub(super) fn is_held(tx: &mut Tx<'_>, lease: &Lease) -> Result<bool, StoreError> {
    let held = tx.first(
        "SELECT 1 FROM ptc_tickets WHERE id = ?1 AND lease = ?2 AND used = 0 AND lease_until <> 0",
        cells![&lease.id, lease.number],
        |_| Ok(()),
    )?;
    Ok(held.is_some())
}

/// Makes a ticket a used one; false if it is not held by this lease.
pub(super) fn done(tx: &mut Tx<'_>, lease: &Lease, ended: &Json) -> Result<bool, StoreError> {
    let used = tx.run(
        "UPDATE ptc_tickets SET used = 1, lease_until = 0, ended = ?3
         WHERE id = ?1 AND lease = ?2 AND used = 0 AND lease_until <> 0",
        cells![&lease.id, lease.number, ended.to_string().into_bytes()],
    )?;
    if used > 0 {
        empty(tx, &lease.id)?;
    }
    Ok(used > 0)
}

/// Drops what is sealed in a ticket that nobody goes on with any more, and what its program was told. Its calls stay in the
/// journal for as long as the journal keeps calls.
fn empty(tx: &mut Tx<'_>, id: &str) -> Result<(), StoreError> {
    tx.run("DELETE FROM ptc_ticket_seals WHERE ticket = ?1", cells![id])?;
    effects::forget_seen(tx, &format!("{SCOPE}{id}"))
}

/// Gives a ticket back. What an earlier holder decided stays decided.
pub(super) fn release(tx: &mut Tx<'_>, taken: &TakenTicket) -> Result<(), StoreError> {
    let (lease, again) = (&taken.lease, i64::from(taken.again));
    tx.run(
        "UPDATE ptc_tickets SET lease_until = 0, began_at = CASE WHEN ?3 = 1 THEN began_at END,
             decided = CASE WHEN ?3 = 1 THEN decided END
         WHERE id = ?1 AND lease = ?2 AND used = 0",
        cells![&lease.id, lease.number, again],
    )?;
    Ok(())
}

/// Drops the tickets of a session, unless somebody goes on with them.
pub(super) fn session_gone(tx: &mut Tx<'_>, session: &str) -> Result<(), StoreError> {
    let now = tx.now_ms()?;
    let waiting = tx.list(
        "SELECT id FROM ptc_tickets WHERE session = ?1 AND used = 0
             AND NOT (lease_until > ?2 AND lease_until <= ?3)",
        cells![session, now, lease::last(now)],
        |row| row.text(0),
    )?;
    for id in waiting {
        // Somebody may have taken it since.
        let gone = tx.run(
            "UPDATE ptc_tickets SET used = ?2 WHERE id = ?1 AND used = 0
                 AND NOT (lease_until > ?3 AND lease_until <= ?4)",
            cells![&id, GONE, now, lease::last(now)],
        )?;
        if gone > 0 {
            empty(tx, &id)?;
        }
    }
    Ok(())
}

/// The open tickets of an owner.
pub(super) fn list_open(
    tx: &mut Tx<'_>,
    owner: &str,
    reads: TicketReader,
) -> Result<Vec<ListedTicket>, StoreError> {
    let now = tx.now_ms()?;
    tx.list(
        concat!(
            "SELECT ",
            columns!(),
            " FROM ptc_tickets t WHERE t.owner = ?1 AND ",
            is_open!(),
            " AND (t.expires_at > ?2 OR t.began_at IS NOT NULL) ORDER BY t.created_at, t.id"
        ),
        cells![owner, now],
        |row| Ok(TicketRow::listed(row, reads).for_list(now)),
    )
}

/// The open tickets of all owners, with their owners.
pub(super) fn list_all(
    tx: &mut Tx<'_>,
    reads: TicketReader,
) -> Result<Vec<(String, ListedTicket)>, StoreError> {
    let now = tx.now_ms()?;
    tx.list(
        concat!(
            "SELECT ",
            columns!(),
            " FROM ptc_tickets t WHERE ",
            is_open!(),
            " AND (t.expires_at > ?1 OR t.began_at IS NOT NULL) ORDER BY t.created_at, t.id"
        ),
        cells![now],
        |row| {
            let found = TicketRow::listed(row, reads);
            Ok((found.owner.clone(), found.for_list(now)))
        },
    )
}

/// How many tickets of an owner wait; counts no further than to `most`.
pub(super) fn count_of(tx: &mut Tx<'_>, owner: &str, most: u64) -> Result<u64, StoreError> {
    let (now, most) = (tx.now_ms()?, i64::try_from(most).unwrap_or(i64::MAX));
    let count = tx.number(
        "SELECT COUNT(*) FROM (SELECT 1 AS one FROM ptc_tickets
             WHERE owner = ?1 AND used = 0 AND expires_at > ?2 LIMIT ?3) AS waiting",
        cells![owner, now, most],
    )?;
    Ok(u64::try_from(count).unwrap_or_default())
}

/// How many bytes the tickets of an owner take that wait.
pub(super) fn bytes_of(tx: &mut Tx<'_>, owner: &str) -> Result<u64, StoreError> {
    let now = tx.now_ms()?;
    let bytes = tx.number(
        "SELECT COALESCE(SUM(LENGTH(t.about) + LENGTH(s.sealed)), 0)
         FROM ptc_tickets t JOIN ptc_ticket_seals s ON s.ticket = t.id
         WHERE t.owner = ?1 AND t.used = 0 AND t.expires_at > ?2",
        cells![owner, now],
    )?;
    Ok(u64::try_from(bytes).unwrap_or_default())
}

/// Whether a sweep would find nothing.
pub(super) fn nothing_to_sweep(tx: &mut Tx<'_>) -> Result<bool, StoreError> {
    let now = tx.now_ms()?;
    let (expired, over) = (expired(tx, now, 1)?, over(tx, now, 1)?);
    Ok(expired.is_empty() && over.is_empty())
}

/// Drops what is sealed in tickets that expired before they were taken, and forgets tickets whose time is over for long.
/// Says which expired, with their owners, and how many were forgotten.
pub(super) fn sweep(tx: &mut Tx<'_>, most: i64) -> Result<(Vec<(String, String)>, u64), StoreError> {
    let now = tx.now_ms()?;
    let mut emptied = Vec::new();
    for (id, owner) in expired(tx, now, most)? {
        // Somebody may have taken it since.
        let swept = tx.run(
            "UPDATE ptc_tickets SET used = ?2 WHERE id = ?1 AND used = 0 AND began_at IS NULL",
            cells![&id, SWEPT],
        )?;
        if swept > 0 {
            empty(tx, &id)?;
            emptied.push((id, owner));
        }
    }
    let over = over(tx, now, most)?;
    for id in &over {
        empty(tx, id)?;
        tx.run("DELETE FROM ptc_tickets WHERE id = ?1", cells![id])?;
    }
    Ok((emptied, over.len() as u64))
}

/// Tickets that expired before they were taken, with their owners.
fn expired(tx: &mut Tx<'_>, now: i64, most: i64) -> Result<Vec<(String, String)>, StoreError> {
    tx.list(
        "SELECT id, owner FROM ptc_tickets WHERE used = 0 AND expires_at <= ?1 AND began_at IS NULL LIMIT ?2",
        cells![now, most],
        |row| Ok((row.text(0)?, row.text(1)?)),
    )
}

/// Tickets whose time is over for long.
fn over(tx: &mut Tx<'_>, now: i64, most: i64) -> Result<Vec<String>, StoreError> {
    tx.list(
        "SELECT id FROM ptc_tickets WHERE expires_at <= ?1
             AND NOT (lease_until > ?2 AND lease_until <= ?4) LIMIT ?3",
        cells![now.saturating_sub(REMEMBERED_MS), now, most, lease::last(now)],
        |row| row.text(0),
    )
}
