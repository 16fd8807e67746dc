//! What waits in a store, whoever it belongs to, for whoever runs the servers. Nothing here changes anything.

use super::{ListedTicket, TicketError, Tickets, rows};
use crate::cell::{Row, cells};

impl Tickets {
    /// The open tickets of all owners with their owners, the oldest first.
    pub fn list_all(&self) -> Result<Vec<(String, ListedTicket)>, TicketError> {
        self.store.read(|tx| {
            let now = tx.now_ms()?;
            Ok(tx.list(
                "SELECT owner, id, kind, lease_until, created_at, expires_at, about, decided FROM ptc_tickets
                 WHERE used = 0 AND (expires_at > ?1 OR began_at IS NOT NULL)
                 ORDER BY created_at, id",
                cells![now],
                |row: &Row| Ok((row.text(0)?, rows::listed(row, 1, now)?)),
            )?)
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
