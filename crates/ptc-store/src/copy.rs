//! Copies of a store in a file, made while others write it, and a thorough look at one.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ptc_system::private;
use rusqlite::backup::{Backup, StepResult};

use crate::draft::{Draft, unwritable};
use crate::halt::point;
use crate::mark::{self, Marker};
use crate::place::{self, Place};
use crate::rescue::Table;
use crate::sqlite::{self, Owner};
use crate::{StoreError, identity, migrate, pg};

/// How long others may keep a store locked.
const PATIENCE: Duration = Duration::from_secs(30);

/// Copies a store into a file that is not there yet, which only this user may read, and looks at all of the copy. It has
/// everything that was acknowledged before, and of every change all or nothing. It is another store than the one that was
/// copied (`identity.rs`). That one is left as it is, also if it is of an earlier version. Gives the bytes of the copy.
pub fn copy(from: &str, to: &Path) -> Result<u64, StoreError> {
    draft(from, to)?.publish()
}

/// The same, before the copy has its name: what belongs beside it is put there first.
pub fn draft(from: &str, to: &Path) -> Result<Draft, StoreError> {
    let path = file(from, "copy it with the tools of the database, `pg_dump`")?;
    let draft = Draft::new(to)?;
    let begun = private::create_new(&draft.path());
    begun.map_err(|error| unwritable(to, &error))?;
    copied(&path, from, &draft.path())?;
    Ok(draft)
}

fn copied(path: &Path, place: &str, to: &Path) -> Result<(), StoreError> {
    let shown = place::shown(place);
    let failed = |error: rusqlite::Error| sqlite::fault(&error).at(&shown, "copy");
    let source = open(path, place, sqlite::plain)?;
    let mut copy = sqlite::plain(to).map_err(failed)?;
    let backup = Backup::new(&source, &mut copy).map_err(failed)?;
    let begun = Instant::now();
    // All pages in one step: what others write meanwhile belongs to the log and is not looked at.
    loop {
        match backup.step(-1).map_err(failed)? {
            StepResult::Done => break,
            _ if begun.elapsed() > PATIENCE => {
                return Err(StoreError::Busy { place: shown.clone(), cause: "it is locked".to_owned() });
            }
            _ => std::thread::sleep(Duration::from_millis(5)),
        }
    }
    drop(backup);
    point();
    forget_id(&copy).map_err(failed)?;
    // The copy is one file, without a log beside it.
    copy.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(())).map_err(failed)?;
    match looked(&copy).map_err(failed)?.as_slice() {
        [] => Ok(()),
        [first, ..] => Err(StoreError::Damaged { place: shown.clone(), detail: first.clone() }),
    }
}

/// Looks at all pages and indexes of a store and names what is wrong. The store is left as it is, and where there is none,
/// none is made.
pub fn check(place: &str) -> Result<Vec<String>, StoreError> {
    let shown = place::shown(place);
    if let Place::Postgres(config) = place::parse(place)? {
        let mut connection = pg::connect(&config, &shown)?;
        if let Some(problem) = connection.absent(place)? {
            return Err(place::nothing(place, problem));
        }
        let tables = connection.tables(&shown)?;
        let gone = tables.iter().filter(|table| !table.is_whole);
        return Ok(gone.map(|table| format!("the table {} is missing", table.name)).collect());
    }
    match steadily(
        place,
        |sqlite| looked(&sqlite).map_err(|error| sqlite::fault(&error).at(&shown, "check")),
        Vec::is_empty,
    ) {
        // Damage that ends the look is what was looked for.
        Err(StoreError::Damaged { detail, .. }) => Ok(vec![detail]),
        found => found,
    }
}

/// Looks at a file, and once more if it found something and somebody began to use the file meanwhile: it may have changed under the
/// look.
pub(crate) fn steadily<T>(
    place: &str,
    look: impl Fn(rusqlite::Connection) -> Result<T, StoreError>,
    is_well: impl Fn(&T) -> bool,
) -> Result<T, StoreError> {
    let path = file(place, "name a file, or a database")?;
    let is_used = || sqlite::beside(&path, "-wal").exists();
    let was_used = is_used();
    let looked = || open(&path, place, sqlite::reading).and_then(&look);
    match looked() {
        Ok(found) if is_well(&found) => Ok(found),
        _ if !was_used && is_used() => looked(),
        found => found,
    }
}

/// The tables of a store in a database with their rows, which is all that [`check`] looks at there: pages and indexes are
/// the server's own. Nothing for a file, of which everything is looked at.
pub fn counted(place: &str) -> Result<Option<Vec<Table>>, StoreError> {
    match place::parse(place)? {
        Place::Postgres(config) => {
            let shown = place::shown(place);
            pg::connect(&config, &shown)?.tables(&shown).map(Some)
        }
        Place::Memory | Place::File(_) => Ok(None),
    }
}

/// Looks at what is sealed in tickets of a file which are open: the id of each, its owner, and what is sealed.
pub fn each_seal(place: &str, mut look: impl FnMut(&str, &str, &[u8])) -> Result<(), StoreError> {
    let path = file(place, "copy it with the tools of the database, `pg_dump`")?;
    let sqlite = open(&path, place, sqlite::reading)?;
    let mut listed = || {
        // Stores of earlier versions have none.
        if !sqlite.table_exists(None, "ptc_ticket_seals")? {
            return Ok(());
        }
        let mut statement = sqlite.prepare(
            "SELECT t.id, t.owner, s.sealed FROM ptc_ticket_seals s JOIN ptc_tickets t ON t.id = s.ticket
             WHERE t.used = 0 AND (t.expires_at > ?1 OR t.began_at IS NOT NULL)",
        )?;
        let mut rows = statement.query([now_ms()])?;
        while let Some(row) = rows.next()? {
            look(row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str()?, row.get_ref(2)?.as_blob()?);
        }
        Ok(())
    };
    listed().map_err(|error: rusqlite::Error| {
        sqlite::fault(&error).at(&place::shown(place), "look at its tickets")
    })
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Begins the log of a store anew with what of it can be read. Whatever stands behind a break is gone for good, so it is
/// another store from then on: what was done of a plan may be among that.
pub fn forget_log(place: &str) -> Result<(), StoreError> {
    let path = file(place, "")?;
    let sqlite = open(&path, place, sqlite::plain)?;
    let done = sqlite.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    let failed = |error: rusqlite::Error| sqlite::fault(&error).at(&place::shown(place), "checkpoint");
    match done.map_err(failed)? {
        0 => {
            forget_id(&sqlite).map_err(failed)?;
            // What was noted of the log is not missed from now on, whether it can be read or not.
            let noted = Marker::open(&path).and_then(|mut marker| marker.rest());
            noted.map_err(|error| unwritable(&sqlite::beside(&path, mark::ENDING), &error))
        }
        _ => Err(StoreError::Busy {
            place: place::shown(place),
            cause: "others use it; stop them first".to_owned(),
        }),
    }
}

/// The file of a store that is there.
pub(crate) fn file(place: &str, otherwise: &str) -> Result<PathBuf, StoreError> {
    let wrong = |problem: &str, fix: &str| StoreError::Place {
        place: place::shown(place),
        problem: problem.to_owned(),
        fix: fix.to_owned(),
    };
    match place::parse(place)? {
        Place::File(path) => match sqlite::absent(&path) {
            None if path.is_file() => Ok(path),
            problem => Err(place::nothing(place, problem.unwrap_or("it is no file"))),
        },
        Place::Memory | Place::Postgres(_) => Err(wrong("it is no file", otherwise)),
    }
}

/// A connection to a store that is nobody else's and no other program's.
fn open(
    path: &Path,
    place: &str,
    connect: fn(&Path) -> rusqlite::Result<rusqlite::Connection>,
) -> Result<rusqlite::Connection, StoreError> {
    let shown = place::shown(place);
    sqlite::trusted(path).map_err(|problem| StoreError::Untrusted { place: shown.clone(), problem })?;
    sqlite::whole(path, &shown)?;
    let sqlite = connect(path).map_err(|error| sqlite::fault(&error).at(&shown, "open"))?;
    match sqlite::owner(&sqlite).map_err(|fault| fault.at(&shown, "open"))? {
        Owner::Us => {}
        Owner::Nobody | Owner::Another => return Err(StoreError::Foreign { place: shown }),
    }
    let newest = sqlite.query_row("SELECT MAX(number) FROM ptc_migrations", [], |row| row.get::<_, i64>(0));
    match newest {
        Ok(found) if found > migrate::known() => {
            Err(StoreError::Newer { place: shown, found, known: migrate::known() })
        }
        // Whether its steps can be read is for the look at all of it.
        _ => Ok(sqlite),
    }
}

/// Takes the id out of a store, which gets another one when it is opened. Stores of earlier versions have none.
fn forget_id(sqlite: &rusqlite::Connection) -> rusqlite::Result<()> {
    match sqlite.table_exists(None, "ptc_identity")? {
        true => sqlite.execute_batch(identity::FORGET),
        false => Ok(()),
    }
}

fn looked(sqlite: &rusqlite::Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = sqlite.prepare("PRAGMA integrity_check")?;
    let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
    let lines: Vec<String> = lines.collect::<rusqlite::Result<_>>()?;
    Ok(lines.into_iter().filter(|line| line != "ok").collect())
}
