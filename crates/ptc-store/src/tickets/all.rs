//! What waits in a store, whoever it belongs to, for whoever runs the servers. Nothing here changes anything.

use serde_json::Value as Json;

use super::{ListedTicket, TicketError, Tickets, rows};
use crate::cell::cells;
use crate::lease::{self, shown_json};

impl Tickets {
    /// The open tickets of all owners with their owners, the oldest first.
    pub fn list_all(&self) -> Result<Vec<(String, ListedTicket)>, TicketError> {
        self.store.read(|tx| Ok(rows::list_all(tx, self.reads)?))
    }

    /// How many programs of all owners wait for a decision. One that somebody goes on with does not wait.
    pub fn count_waiting(&self) -> Result<u64, TicketError> {
        self.store.read(|tx| {
            let now = tx.now_ms()?;
            let count = tx.number(
                "SELECT COUNT(*) FROM ptc_tickets
                 WHERE used = 0 AND NOT (lease_until > ?1 AND lease_until <= ?2)
                     AND (expires_at > ?1 OR began_at IS NOT NULL)",
                cells![now, lease::last(now)],
            )?;
            Ok(u64::try_from(count).unwrap_or_default())
        })
    }

    /// Whom a ticket belongs to, open or not, as far as that can be read.
    pub fn owner(&self, id: &str) -> Result<Option<String>, TicketError> {
        self.store.read(|tx| Ok(rows::owner(tx, id)?))
    }

    /// What may be shown of a ticket, open or not. It stays when what was sealed is gone.
    pub fn about(&self, id: &str) -> Result<Option<Json>, TicketError> {
        self.store.read(|tx| {
            let found = tx.first("SELECT about FROM ptc_tickets WHERE id = ?1", cells![id], |row| {
                Ok(shown_json(&row.bytes(0).unwrap_or_default()))
            })?;
            Ok(found)
        })
    }

    /// How many tickets of all owners are open.
    pub fn count_all(&self) -> Result<u64, TicketError> {
        self.store.read(|tx| {
            let now = tx.now_ms()?;
            let count = tx.number(
                "SELECT COUNT(*) FROM ptc_tickets WHERE used = 0 AND (expires_at > ?1 OR began_at IS NOT NULL)",
                cells![now],
            )?;
            Ok(u64::try_from(count).unwrap_or_default())
        })
    }
}
