//! Copies of a store in a file, made while others write it, and a thorough look at one.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ptc_system::private;
use rusqlite::backup::{Backup, StepResult};

use crate::place::{self, Place};
use crate::sqlite::{self, Owner};
use crate::{Store, StoreError};

/// How long others may keep a store locked.
const PATIENCE: Duration = Duration::from_secs(30);

/// Copies a store into a file that is not there yet, which only this user may read, and looks at all of the copy. It has
/// everything that was acknowledged before, and of every change all or nothing. The store is left as it is, also if it
/// is of an earlier version. Gives the bytes of the copy.
pub fn copy(from: &str, to: &Path) -> Result<u64, StoreError> {
    let path = file(from, "copy it with the tools of the database, `pg_dump`")?;
    let unwritable = |cause: String| StoreError::Unreachable {
        place: to.display().to_string(),
        cause,
        fix: "name a file that is not there, in a folder that this user may write".to_owned(),
    };
    private::folder_of(to)
        .and_then(|()| private::create_new(to))
        .map_err(|error| unwritable(error.to_string()))?;
    let copied = copied(&path, from, to).and_then(|()| {
        let bytes = File::open(to).and_then(|file| file.sync_all().and_then(|()| file.metadata()));
        bytes.map(|meta| meta.len()).map_err(|error| unwritable(error.to_string()))
    });
    if copied.is_err() {
        // Half a copy is worse than none.
        let _ = std::fs::remove_file(to);
    }
    copied
}

fn copied(path: &Path, place: &str, to: &Path) -> Result<(), StoreError> {
    let shown = place::shown(place);
    let failed = |error: rusqlite::Error| sqlite::fault(&error).at(&shown, "copy");
    let source = open(path, place)?;
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
    // The copy is one file, without a log beside it.
    copy.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(())).map_err(failed)?;
    match looked(&copy).map_err(failed)?.as_slice() {
        [] => Ok(()),
        [first, ..] => Err(StoreError::Damaged { place: shown.clone(), detail: first.clone() }),
    }
}

/// Looks at all pages and indexes of a store and names what is wrong. The store is left as it is.
pub fn check(place: &str) -> Result<Vec<String>, StoreError> {
    let Place::File(_) = place::parse(place)? else { return Store::open_existing(place)?.check() };
    let path = file(place, "")?;
    let sqlite = open(&path, place)?;
    looked(&sqlite).map_err(|error| sqlite::fault(&error).at(&place::shown(place), "check"))
}

/// Begins the log of a store anew with what of it can be read. Whatever stands behind a break is gone for good.
pub fn forget_log(place: &str) -> Result<(), StoreError> {
    let path = file(place, "")?;
    let sqlite = open(&path, place)?;
    let done = sqlite.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    match done.map_err(|error| sqlite::fault(&error).at(&place::shown(place), "checkpoint"))? {
        0 => Ok(()),
        _ => Err(StoreError::Busy {
            place: place::shown(place),
            cause: "others use it; stop them first".to_owned(),
        }),
    }
}

/// The file of a store that is there.
fn file(place: &str, otherwise: &str) -> Result<PathBuf, StoreError> {
    let wrong = |problem: &str, fix: &str| StoreError::Place {
        place: place::shown(place),
        problem: problem.to_owned(),
        fix: fix.to_owned(),
    };
    match place::parse(place)? {
        Place::File(path) if path.is_file() => Ok(path),
        Place::File(_) => Err(wrong("there is no such file", "look for a slip in the path")),
        Place::Memory | Place::Postgres(_) => Err(wrong("it is no file", otherwise)),
    }
}

/// A connection to a store that is nobody else's and no other program's.
fn open(path: &Path, place: &str) -> Result<rusqlite::Connection, StoreError> {
    let shown = place::shown(place);
    sqlite::trusted(path).map_err(|problem| StoreError::Untrusted { place: shown.clone(), problem })?;
    let sqlite = sqlite::plain(path).map_err(|error| sqlite::fault(&error).at(&shown, "open"))?;
    match sqlite::owner(&sqlite).map_err(|fault| fault.at(&shown, "open"))? {
        Owner::Us => Ok(sqlite),
        Owner::Nobody | Owner::Another => Err(StoreError::Foreign { place: shown }),
    }
}

fn looked(sqlite: &rusqlite::Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = sqlite.prepare("PRAGMA integrity_check")?;
    let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
    let lines: Vec<String> = lines.collect::<rusqlite::Result<_>>()?;
    Ok(lines.into_iter().filter(|line| line != "ok").collect())
}
