//! What waits in a store, whoever it belongs to, for whoever runs the servers. Nothing here changes anything.

use super::{Listed, TicketError, Tickets};
use crate::cell::{Row, cells};
use crate::lease::json;

impl Tickets {
    /// The open tickets of all owners with their owners, the oldest first.
    pub fn list_all(&self) -> Result<Vec<(String, Listed)>, TicketError> {
        self.store.read(|tx| {
            let now = tx.now_ms()?;
            Ok(tx.list(
                "SELECT owner, id, kind, lease_until, created_at, expires_at, about FROM ptc_tickets
                 WHERE used = 0 AND (expires_at > ?1 OR began_at IS NOT NULL)
                 ORDER BY created_at, id",
                cells![now],
                |row: &Row| {
                    let listed = Listed {
                        id: row.text(1)?,
                        kind: row.text(2)?,
                        busy: row.int(3)? > now,
                        created_ms: row.int(4)?,
                        expires_ms: row.int(5)?,
                        about: json(&row.bytes(6)?)?,
                    };
                    Ok((row.text(0)?, listed))
                },
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
