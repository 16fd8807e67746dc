//! The tables, as a list of steps. A store remembers which steps it has taken and takes the rest when it is
//! opened, in one transaction, so that two processes that open it at once do not take a step twice.

use crate::cell::cells;
use crate::tx::Tx;
use crate::{StoreError, identity};

/// One step. Steps are never changed once released; a change of a table is a new step.
pub(crate) struct Migration {
    /// What the step is about.
    pub name: &'static str,
    /// Statements for both databases: `INTEGER`, `TEXT` and `BLOB` are the types, `--` comments are fine.
    pub sql: &'static str,
}

/// All steps; the number of a step is its place in this list, beginning with one.
pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration { name: "preludes", sql: crate::preludes::TABLES },
    Migration { name: "runs", sql: crate::runs::TABLES },
    Migration { name: "sessions", sql: crate::sessions::TABLES },
    Migration { name: "tickets", sql: crate::tickets::TABLES },
    Migration { name: "effects", sql: crate::effects::TABLES },
    Migration { name: "tickets: what was decided", sql: crate::tickets::DECIDED },
    Migration { name: "shelf", sql: crate::shelf::TABLES },
    Migration { name: "tickets: counted and swept by index", sql: crate::tickets::INDEXES },
    Migration { name: "requests", sql: crate::requests::TABLES },
    Migration { name: "tickets: of sessions", sql: crate::tickets::SESSIONS },
    Migration { name: "effects: who makes a call", sql: crate::under_way::COLUMNS },
    Migration { name: "identity", sql: crate::identity::TABLES },
    Migration { name: "effects: what people found", sql: crate::effects::SETTLED },
];

const TABLE: &str = "CREATE TABLE IF NOT EXISTS ptc_migrations (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    applied_at INTEGER NOT NULL
)";

/// The subject of the transaction in which steps are taken.
pub(crate) const SUBJECT: &str = "migrations";

/// The number of the latest step that is known here.
pub(crate) fn known() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// The tables that there are after so many steps.
pub(crate) fn tables(steps: i64) -> impl Iterator<Item = &'static str> {
    let steps = MIGRATIONS.iter().take(usize::try_from(steps).unwrap_or_default());
    let made = steps.flat_map(|step| step.sql.split("CREATE TABLE ").skip(1));
    made.filter_map(|made| made.split([' ', '(']).next()).chain(["ptc_migrations"])
}

/// Takes the steps that are missing, and gives the id of the store. Refuses a store that has taken steps which are not
/// known here.
pub(crate) fn migrate(tx: &mut Tx<'_>, place: &str) -> Result<String, StoreError> {
    tx.batch(TABLE)?;
    let found = tx.number("SELECT COALESCE(MAX(number), 0) FROM ptc_migrations", &[])?;
    if found > known() {
        return Err(StoreError::Newer { place: place.to_owned(), found, known: known() });
    }
    for (number, step) in (1_i64..).zip(MIGRATIONS).skip(usize::try_from(found).unwrap_or_default()) {
        tx.batch(step.sql)?;
        let now = tx.now_ms()?;
        tx.run(
            "INSERT INTO ptc_migrations (number, name, applied_at) VALUES (?1, ?2, ?3)",
            cells![number, step.name, now],
        )?;
    }
    identity::settled(tx, place)
}
