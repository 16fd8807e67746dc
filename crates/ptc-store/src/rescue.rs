//! What can still be read of a file whose pages are damaged, and saving it into another store.

use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection as Sqlite, Row, params_from_iter};

use crate::copy::file;
use crate::draft::Draft;
use crate::{Store, StoreError, migrate, place, sqlite};

/// A table of a damaged store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Rows that can be read, or were saved.
    pub rows: u64,
    /// Whether these are all.
    pub is_whole: bool,
}

/// Tables that another store has of its own.
const OWN: [&str; 2] = ["ptc_identity", "ptc_migrations"];

/// What of a damaged file can still be read, table by table; nothing if not even their list can. The file is left as it is.
pub fn readable(place: &str) -> Result<Vec<Table>, StoreError> {
    let path = file(place, "name a file")?;
    let Ok(sqlite) = sqlite::reading(&path) else { return Ok(Vec::new()) };
    let counted = |name: String| {
        let mut rows = 0;
        let is_whole = walk(&sqlite, &name, ReadOrder::Forth, |_| {
            rows += 1;
            Ok(())
        });
        Table { name, rows, is_whole: is_whole.is_ok() }
    };
    Ok(tables(&sqlite).into_iter().map(counted).collect())
}

/// Saves what can be read of a damaged file into a store that is not there yet, and has no name before it is published: it is
/// another store, and lacks the rest. The damaged one is left as it is.
pub fn rescue(place: &str, to: &Path) -> Result<(Draft, Vec<Table>), StoreError> {
    let path = file(place, "use the tools of the database")?;
    Draft::check_name(to)?;
    let shown = place::shown(place);
    let damaged = sqlite::reading(&path).map_err(|error| sqlite::fault(&error).at(&shown, "open"))?;
    let taken = "SELECT MAX(number) FROM ptc_migrations";
    // One whose steps cannot be read counts as one of this version.
    if let Ok(found) = damaged.query_row(taken, [], |row| row.get::<_, i64>(0))
        && found != migrate::known()
    {
        return Err(StoreError::Place {
            place: shown,
            problem: format!("it has format {found}, and this version saves format {}", migrate::known()),
            fix: "save it with the version that wrote it".to_owned(),
        });
    }
    let draft = Draft::new(to)?;
    drop(Store::open(&draft.path().to_string_lossy())?);
    let saved = sqlite::plain(&draft.path()).and_then(|saved| save(&damaged, &saved));
    let tables = saved.map_err(|error| sqlite::fault(&error).at(&to.to_string_lossy(), "save"))?;
    Ok((draft, tables))
}

fn save(damaged: &Sqlite, saved: &Sqlite) -> rusqlite::Result<Vec<Table>> {
    let there = tables(damaged);
    saved.execute_batch("BEGIN IMMEDIATE")?;
    let mut all = Vec::new();
    for name in tables(saved).into_iter().filter(|name| !OWN.contains(&name.as_str())) {
        // Every store of this format has it, so its name alone is lost with all of its rows.
        if !there.contains(&name) {
            all.push(Table { name, rows: 0, is_whole: false });
            continue;
        }
        let mut insert = |row: &Row<'_>| {
            let columns: Vec<&str> = row.as_ref().column_names().collect();
            let marks = vec!["?"; columns.len()].join(", ");
            let sql = format!("INSERT OR IGNORE INTO {name} ({}) VALUES ({marks})", columns.join(", "));
            let cells = (0..columns.len()).map(|column| row.get::<_, Value>(column));
            let cells = cells.collect::<rusqlite::Result<Vec<_>>>()?;
            saved.prepare_cached(&sql)?.execute(params_from_iter(cells)).map(drop)
        };
        let is_whole = walk(damaged, &name, ReadOrder::Forth, &mut insert).is_ok();
        if !is_whole {
            // Rows behind the damage are found from the other end.
            let _ = walk(damaged, &name, ReadOrder::Back, &mut insert);
        }
        let rows =
            saved.query_row(&format!("SELECT COUNT(*) FROM {name}"), [], |row| row.get::<_, i64>(0))?;
        all.push(Table { name, rows: u64::try_from(rows).unwrap_or_default(), is_whole });
    }
    saved.execute_batch("COMMIT")?;
    // One file, without a log beside it.
    saved.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))?;
    Ok(all)
}

/// The tables of a store that can be named. What a damaged file says of itself goes into no statement unless it is a plain
/// name.
fn tables(sqlite: &Sqlite) -> Vec<String> {
    let sql =
        "SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 4) = 'ptc_' ORDER BY name";
    let names = || -> rusqlite::Result<Vec<String>> {
        let mut statement = sqlite.prepare(sql)?;
        let names = statement.query_map([], |row| row.get(0))?;
        names.collect()
    };
    let plain = |name: &String| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    names().unwrap_or_default().into_iter().filter(plain).collect()
}

/// From which end a table is read.
#[derive(Clone, Copy)]
enum ReadOrder {
    Forth,
    Back,
}

/// Goes through the rows of a table, up to what cannot be read.
fn walk(
    sqlite: &Sqlite,
    name: &str,
    order: ReadOrder,
    mut each: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let order = match order {
        ReadOrder::Forth => "ASC",
        ReadOrder::Back => "DESC",
    };
    let mut statement =
        sqlite.prepare(&format!("SELECT * FROM {name} NOT INDEXED ORDER BY rowid {order}"))?;
    let columns = statement.column_count();
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        // All of it: long values have pages of their own.
        (0..columns).try_for_each(|column| row.get_ref(column).map(drop))?;
        each(row)?;
    }
    Ok(())
}
