//! SQLite, in a file or in memory. A file is in WAL mode; `wal.rs` says when a commit is on the disk.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ptc_system::owned::{self, Reach};
use ptc_system::private;
use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{Connection as Sqlite, ErrorCode, OpenFlags};

use crate::cell::{Cell, Row};
use crate::tx::{Connection, Fault, FaultKind, Mode};
use crate::wal::{OpenFile, Wal};
use crate::{StoreError, mark};

/// How long a call waits for other processes.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long one waits that hardly does.
const SHORTLY: Duration = Duration::from_millis(100);
/// Marks files as ours, so that a database of another program is not written into ("ptcs").
const APPLICATION: i64 = 0x7074_6373;

/// A connection to a file or to memory.
pub(crate) struct SqliteConnection {
    sqlite: Sqlite,
    /// Behind the connection, which is closed first.
    _open: Option<OpenFile>,
    broken: bool,
}

/// Opens a database that lives as long as the connection.
pub(crate) fn memory() -> Result<SqliteConnection, StoreError> {
    let place = ":memory:";
    let sqlite = Sqlite::open_in_memory().map_err(|error| fault(&error).at(place, "open"))?;
    prepare(&sqlite).map_err(|fault| fault.at(place, "open"))?;
    Ok(SqliteConnection { sqlite, _open: None, broken: false })
}

/// Opens a file and creates it, and the folder it is in, where they are missing.
pub(crate) fn file(path: &Path, place: &str, wal: &Arc<Wal>) -> Result<SqliteConnection, StoreError> {
    let unreachable = |cause: String| StoreError::Unreachable {
        place: place.to_owned(),
        cause,
        fix: "name a file in a folder that this user may write".to_owned(),
    };
    create(path).map_err(|error| unreachable(error.to_string()))?;
    trusted(path).map_err(|problem| StoreError::Untrusted { place: place.to_owned(), problem })?;
    whole(path, place)?;
    let has_log = wal.is_there();
    let mut sqlite = plain(path).map_err(|error| unreachable(error.to_string()))?;
    sqlite.busy_handler(Some(wait_for_turn)).map_err(|error| fault(&error).at(place, "open"))?;
    let owner = owner(&sqlite).map_err(|fault| fault.at(place, "open"))?;
    if owner == Owner::Another {
        return Err(StoreError::Foreign { place: place.to_owned() });
    }
    prepare(&sqlite).map_err(|fault| fault.at(place, "open"))?;
    if owner == Owner::Nobody {
        sqlite
            .pragma_update(None, "application_id", APPLICATION)
            .map_err(|error| fault(&error).at(place, "open"))?;
    }
    wal.watch(&mut sqlite).map_err(|error| fault(&error).at(place, "open"))?;
    // A file that was a plain copy until now gets its log with the first look at it.
    sqlite
        .query_row("SELECT count(*) FROM sqlite_master", [], |_| Ok(()))
        .map_err(|error| fault(&error).at(place, "open"))?;
    let open = wal.opened(has_log).map_err(unreachable)?;
    Ok(SqliteConnection { sqlite, _open: Some(open), broken: false })
}

/// Why there is no store in a file, if there is none.
pub(crate) fn absent(path: &Path) -> Option<&'static str> {
    let bytes = |path: &Path| std::fs::metadata(path).map_or(0, |meta| meta.len());
    match path.exists() {
        false => Some("there is no such file"),
        // A young store may be in its log alone.
        true if bytes(path) == 0 && bytes(&beside(path, "-wal")) == 0 => {
            Some("there is no store in this file")
        }
        true => None,
    }
}

/// Refuses a file that was cut to its first byte, which SQLite takes for an empty one and makes a new store of.
pub(crate) fn whole(path: &Path, place: &str) -> Result<(), StoreError> {
    match std::fs::metadata(path) {
        Ok(meta) if meta.len() == 1 => Err(StoreError::Damaged {
            place: place.to_owned(),
            detail: "only one byte of its file is left".to_owned(),
        }),
        // Whatever else is wrong with it is found when it is opened.
        _ => Ok(()),
    }
}

/// A file that belongs to a store.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// A connection to a file that is there, without any of the settings; it hardly waits for others.
pub(crate) fn plain(path: &Path) -> rusqlite::Result<Sqlite> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let sqlite = Sqlite::open_with_flags(path, flags)?;
    sqlite.busy_timeout(SHORTLY)?;
    Ok(sqlite)
}

/// A connection that only looks: neither the file nor its log is another when it is closed.
pub(crate) fn reading(path: &Path) -> rusqlite::Result<Sqlite> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let sqlite = match unused(path) {
        // Otherwise SQLite makes a log, and leaves it there.
        Some(address) => Sqlite::open_with_flags(address, flags | OpenFlags::SQLITE_OPEN_URI)?,
        None => Sqlite::open_with_flags(path, flags)?,
    };
    sqlite.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    sqlite.busy_timeout(SHORTLY)?;
    Ok(sqlite)
}

/// The address of a file without a log, which nobody is using then and which does not change while it is looked at.
fn unused(path: &Path) -> Option<String> {
    if cfg!(not(unix)) || ["-wal", "-journal"].iter().any(|ending| beside(path, ending).exists()) {
        return None;
    }
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(byte);
    let signs = path.as_os_str().as_encoded_bytes().iter().map(|byte| match plain(byte) {
        true => char::from(*byte).to_string(),
        false => format!("%{byte:02x}"),
    });
    Some(format!("file:{}?immutable=1", signs.collect::<String>()))
}

/// Waits a little before SQLite asks for a lock again. Its own handler waits longer every time, so that a writer
/// among busy ones comes late or never.
fn wait_for_turn(asked: i32) -> bool {
    const SHORTEST: u64 = 500;
    const LONGEST: u64 = 3_500;
    let asked = u64::try_from(asked).unwrap_or_default();
    // Not the same for all who wait, and without randomness.
    let process = u64::from(std::process::id());
    let wait = SHORTEST + (asked * 977 + process * 331) % (LONGEST - SHORTEST);
    std::thread::sleep(Duration::from_micros(wait));
    asked * (SHORTEST + LONGEST) / 2 < u64::try_from(PATIENCE.as_micros()).unwrap_or(u64::MAX)
}

/// Creates the file, readable for its owner only: sessions and runs are nobody else's business.
fn create(path: &Path) -> std::io::Result<()> {
    private::folder_of(path)?;
    match private::create_new(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Whether nobody else can have written the file, or what SQLite keeps beside it and reads as a part of it.
pub(crate) fn trusted(path: &Path) -> Result<(), String> {
    ["", "-wal", "-shm", "-journal", mark::ENDING]
        .iter()
        .try_for_each(|ending| owned::check(&beside(path, ending), Reach::Nobody))?;
    one_name(path)
}

/// Whether the file has one name. The log lies beside the name by which a file was opened, so those who open it by two names
/// neither see each other's changes nor keep out of each other's way.
fn one_name(path: &Path) -> Result<(), String> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let names = std::fs::metadata(path).map_or(1, |meta| meta.nlink());
        if names > 1 {
            return Err(format!(
                "{} has {names} names (hard links), and whoever opens it by one of them does not see what is written by \
                 another; remove the others (find them with `find -samefile`), or copy the file. A symbolic link may name it",
                path.display()
            ));
        }
    }
    Ok(())
}

/// Whose tables a file has.
#[derive(PartialEq, Eq)]
pub(crate) enum Owner {
    Us,
    Nobody,
    Another,
}

pub(crate) fn owner(sqlite: &Sqlite) -> Result<Owner, Fault> {
    patiently(|| {
        // One statement sees one picture: another process may be making the file right now.
        let sql = "SELECT application_id, (SELECT COUNT(*) FROM sqlite_master) FROM pragma_application_id";
        let (application, tables): (i64, i64) =
            sqlite.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(match (application, tables) {
            (APPLICATION, _) => Owner::Us,
            (0, 0) => Owner::Nobody,
            _ => Owner::Another,
        })
    })
}

fn prepare(sqlite: &Sqlite) -> Result<(), Fault> {
    patiently(|| sqlite.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())))?;
    patiently(|| {
        sqlite.execute_batch(
            "PRAGMA synchronous = NORMAL;
             PRAGMA fullfsync = ON;
             PRAGMA journal_size_limit = 67108864;
             PRAGMA foreign_keys = ON;
             PRAGMA cell_size_check = ON;
             PRAGMA trusted_schema = OFF;",
        )
    })
}

/// Tries again while others hold a lock for which SQLite itself does not wait: changing the journal mode and
/// repairing after a crash.
fn patiently<T>(work: impl Fn() -> rusqlite::Result<T>) -> Result<T, Fault> {
    let begun = Instant::now();
    loop {
        match work().map_err(|error| fault(&error)) {
            Err(Fault { kind: FaultKind::Busy, .. }) if begun.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(5));
            }
            done => return done,
        }
    }
}

pub(crate) fn fault(error: &rusqlite::Error) -> Fault {
    let kind = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => FaultKind::Busy,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => FaultKind::Damaged,
        _ => FaultKind::Other,
    };
    Fault { kind, cause: error.to_string() }
}

impl SqliteConnection {
    /// One that somebody opened to look.
    pub fn of(sqlite: Sqlite) -> SqliteConnection {
        SqliteConnection { sqlite, _open: None, broken: false }
    }
}

#[cfg(feature = "simulation")]
impl SqliteConnection {
    /// Keeps so many statements ready: all that there are, for a connection that everybody shares.
    pub fn keep_statements(&self, count: usize) {
        self.sqlite.set_prepared_statement_cache_capacity(count);
    }
}

impl Connection for SqliteConnection {
    fn begin(&mut self, mode: Mode<'_>) -> Result<(), Fault> {
        let statement = match mode {
            Mode::Read => "BEGIN",
            // Locks the file at once: a transaction that began by reading could not go on to write.
            Mode::Write(_) => "BEGIN IMMEDIATE",
        };
        patiently(|| self.sqlite.execute_batch(statement))
    }

    fn commit(&mut self) -> Result<(), Fault> {
        self.sqlite.execute_batch("COMMIT").map_err(|error| fault(&error))
    }

    fn rollback(&mut self) {
        // Some failures have taken the transaction back already.
        if !self.sqlite.is_autocommit() {
            self.broken = self.sqlite.execute_batch("ROLLBACK").is_err();
        }
    }

    fn run(&mut self, sql: &'static str, cells: &[Cell]) -> Result<u64, Fault> {
        let mut statement = self.sqlite.prepare_cached(sql).map_err(|error| fault(&error))?;
        let changed = statement.execute(rusqlite::params_from_iter(cells)).map_err(|error| fault(&error))?;
        Ok(changed as u64)
    }

    fn rows(&mut self, sql: &'static str, cells: &[Cell]) -> Result<Vec<Row>, Fault> {
        let mut statement = self.sqlite.prepare_cached(sql).map_err(|error| fault(&error))?;
        let columns = statement.column_count();
        let rows = statement
            .query_map(rusqlite::params_from_iter(cells), |row| {
                let cells = (0..columns).map(|column| {
                    Ok(match row.get_ref(column)? {
                        ValueRef::Null => Cell::Null,
                        ValueRef::Integer(value) => Cell::Int(value),
                        // No table has fractions; a fraction here is damage and shows as text.
                        ValueRef::Real(value) => Cell::Text(value.to_string()),
                        ValueRef::Text(value) => Cell::Text(String::from_utf8_lossy(value).into_owned()),
                        ValueRef::Blob(value) => Cell::Bytes(value.to_vec()),
                    })
                });
                cells.collect::<rusqlite::Result<Vec<_>>>().map(Row)
            })
            .map_err(|error| fault(&error))?;
        rows.collect::<rusqlite::Result<Vec<_>>>().map_err(|error| fault(&error))
    }

    fn batch(&mut self, sql: &str) -> Result<(), Fault> {
        self.sqlite.execute_batch(sql).map_err(|error| fault(&error))
    }

    fn now_ms(&mut self) -> Result<i64, Fault> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn check(&mut self) -> Result<Vec<String>, Fault> {
        let rows = self.rows("PRAGMA integrity_check", &[])?;
        Ok(rows.iter().filter_map(|row| row.text(0).ok()).filter(|line| line != "ok").collect())
    }

    fn is_broken(&self) -> bool {
        self.broken
    }
}
