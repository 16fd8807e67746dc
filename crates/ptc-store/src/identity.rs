//! What tells a store from every other one, wherever it is and however its place is written.
//!
//! The id is random, is made with the store and stays in it: a store that is moved, or reached by another name, is the
//! same store, and one that is made anew where another was is not. Whatever may be done once only, such as a plan, is
//! bound to the id, because what was done of it is known in that store alone.
//!
//! So a copy must be another store, or something would be done once in each of them:
//!
//! - Copies that `copy.rs` makes have no id, and get one when they are opened. That holds for backups, and for what is
//!   restored from one: it does not know what was done since.
//! - The same for a store that goes on without a part of its log that was lost.
//! - A database that was loaded from a dump has the id of the one that was dumped, but its table is another one. Where
//!   the id was made is noted with it ([`Tx::born`]), and elsewhere it is made anew.
//! - Nothing tells a file that was copied by other programs from one that was moved.

use crate::StoreError;
use crate::cell::cells;
use crate::tx::Tx;

/// Where the id is kept.
pub(crate) const TABLES: &str = "
CREATE TABLE ptc_identity (
    id TEXT NOT NULL,
    born TEXT NOT NULL
);
";

/// What takes the id out of a copy.
pub(crate) const FORGET: &str = "DELETE FROM ptc_identity";

/// Random bytes of an id.
const BYTES: usize = 16;

/// The id of a store. One that has none, or that is a copy of the store whose id it has, gets a new one.
pub(crate) fn settled(tx: &mut Tx<'_>, place: &str) -> Result<String, StoreError> {
    let born = tx.born()?;
    let found = tx.first("SELECT id, born FROM ptc_identity", &[], |row| Ok((row.text(0)?, row.text(1)?)))?;
    if let Some((id, _)) = found.filter(|(_, then)| *then == born) {
        return Ok(id);
    }
    let id = random(place)?;
    tx.run(FORGET, &[])?;
    tx.run("INSERT INTO ptc_identity (id, born) VALUES (?1, ?2)", cells![&id, born])?;
    Ok(id)
}

fn random(place: &str) -> Result<String, StoreError> {
    let mut bytes = [0_u8; BYTES];
    getrandom::fill(&mut bytes).map_err(|error| StoreError::Failed {
        place: place.to_owned(),
        statement: "making its id".to_owned(),
        cause: format!("the system has no randomness: {error}"),
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
