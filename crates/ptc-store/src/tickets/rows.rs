//! The statements of tickets.

use serde_json::Value as Json;

use super::model::{ListedTicket, NewTicket, TakenTicket, TicketError};
use super::{Lease, REMEMBERED_MS, SCOPE};
use crate::cell::{Row, cells};
use crate::lease::{self, json, shown_json};
use crate::tx::Tx;
use crate::{StoreError, effects};

/// In `used`: it was gone on with to the end.
const USED: i64 = 1;
/// In `used`: it expired, and nothing is sealed in it any more.
const SWEPT: i64 = 2;
/// In `used`: its session is over or has changed, and nothing is sealed in it any more.
const GONE: i64 = 3;

/// An open ticket.
pub(super) struct TicketHead {
    pub kind: String,
    pub lease: i64,
    pub lease_until: i64,
    pub expires_at: i64,
    pub began: bool,
    pub about: Vec<u8>,
    /// What was decided when it was taken before.
    pub decided: Option<Vec<u8>>,
    pub sealed: Option<Vec<u8>>,
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

/// The ticket, if it is open and belongs to this owner.
pub(super) fn open(tx: &mut Tx<'_>, id: &str, owner: &str, now: i64) -> Result<TicketHead, TicketError> {
    let found = tx.first(
        "SELECT t.owner, t.used, t.ended, t.kind, t.lease, t.lease_until, t.expires_at, t.began_at, t.about, t.decided,
             s.sealed
         FROM ptc_tickets t LEFT JOIN ptc_ticket_seals s ON s.ticket = t.id WHERE t.id = ?1",
        cells![id],
        |row| {
            let ended = row.maybe_bytes(2)?.map(|ended| json(&ended)).transpose()?;
            let head = TicketHead {
                kind: row.text(3)?,
                lease: row.int(4)?,
                lease_until: row.int(5)?,
                expires_at: row.int(6)?,
                began: row.maybe_int(7)?.is_some(),
                // What cannot be read is told as damaged by whoever looks at it, so that the ticket can be ended.
                about: row.bytes(8).unwrap_or_default(),
                decided: row.maybe_bytes(9).unwrap_or_else(|_| Some(Vec::new())),
                sealed: row.maybe_bytes(10).unwrap_or_default(),
            };
            Ok((row.text(0)?, row.int(1)?, ended, head))
        },
    )?;
    match found {
        None => Err(TicketError::Missing),
        Some((of, ..)) if of != owner => Err(TicketError::Owner),
        Some((_, SWEPT, ..)) => Err(TicketError::Expired),
        Some((_, GONE, ..)) => Err(TicketError::Gone),
        Some((_, USED, ended, _)) => Err(TicketError::Used { ended: ended.unwrap_or_default() }),
        Some((_, _, _, head)) if head.expires_at <= now && !head.began => Err(TicketError::Expired),
        Some((_, _, _, head)) => Ok(head),
    }
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
pub(super) fn list_open(tx: &mut Tx<'_>, owner: &str) -> Result<Vec<ListedTicket>, StoreError> {
    let now = tx.now_ms()?;
    tx.list(
        "SELECT id, kind, lease_until, created_at, expires_at, about, decided FROM ptc_tickets
         WHERE owner = ?1 AND used = 0 AND (expires_at > ?2 OR began_at IS NOT NULL)
         ORDER BY created_at, id",
        cells![owner, now],
        |row| listed(row, 0, now),
    )
}

/// A ticket in a list, of which the columns from this one on tell.
pub(super) fn listed(row: &Row, from: usize, now: i64) -> Result<ListedTicket, String> {
    Ok(ListedTicket {
        id: row.text(from)?,
        kind: row.text(from + 1)?,
        busy: lease::holds(row.int(from + 2)?, now),
        created_ms: row.int(from + 3)?,
        expires_ms: row.int(from + 4)?,
        about: shown_json(&row.bytes(from + 5).unwrap_or_default()),
        decided: row
            .maybe_bytes(from + 6)
            .unwrap_or_else(|_| Some(Vec::new()))
            .map(|decided| shown_json(&decided)),
    })
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
