//! Stores of simulated processes: one disk in memory that all of them share, with a clock and failures that somebody
//! else decides. Every statement and every transaction is the real one; what is simulated lies below.
//!
//! A transaction that was committed is a savepoint of one SQLite database: everybody sees it, and a machine that loses
//! its power can go back to any state since the last sync, as the log of a file is lost from its end. Syncing releases
//! the savepoints.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::StoreError;
use crate::cell::{Cell, Row};
use crate::sqlite::{self, SqliteConnection};
use crate::tx::{Connection, Fault, FaultKind, Mode, Tx};
use crate::{cell, migrate};

/// What a simulated process meets. It is asked at every point where a real one could fail.
pub trait World: Send + Sync {
    /// Milliseconds since 1970, as the process sees it.
    fn now_ms(&self) -> i64;

    /// Whether a transaction begins, which is about a subject if it writes.
    fn begins(&self, subject: Option<&str>) -> bool;

    /// What becomes of a transaction that is to be made final.
    fn commits(&self) -> Commits;

    /// What comes of waiting for the disk, for the transaction about this subject.
    fn syncs(&self, subject: &str) -> Syncs;

    /// The statement that is run in the place of this one: itself, unless a mistake is planted.
    fn statement(&self, sql: &'static str) -> &'static str {
        sql
    }
}

/// What becomes of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commits {
    /// It is made.
    Made,
    /// There is no room for it, and nothing is changed.
    Full,
    /// The connection breaks before it is made.
    LostBefore,
    /// The connection breaks when it was made.
    LostAfter,
}

/// What comes of waiting for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syncs {
    /// All that was committed is on the disk.
    Done,
    /// The disk says that it cannot.
    Failed,
    /// The disk says that it is done, and is not.
    Lied,
    /// Nobody asks the disk: a planted mistake.
    LeftOut,
}

/// The disk of all processes of a simulation. Clones are the same disk.
#[derive(Clone)]
pub struct Disk(Arc<Mutex<Platter>>);

struct Platter {
    sqlite: SqliteConnection,
    /// Transactions that were committed and not synced.
    unsynced: usize,
    /// How many of them the disk said to have.
    promised: usize,
    changes: u64,
}

/// The subject of a sync of what others committed.
pub const ALL: &str = "all";

/// Statements that are kept ready.
const STATEMENTS: usize = 200;

/// Transactions that are not synced at most: a system writes by itself what waits for too long.
const UNSYNCED: usize = 24;

impl Disk {
    /// An empty store.
    pub fn new() -> Result<Disk, StoreError> {
        let mut sqlite = sqlite::memory()?;
        sqlite.keep_statements(STATEMENTS);
        let mut tx = Tx::begin(&mut sqlite, SHOWN, Mode::Write(migrate::SUBJECT)).map_err(failed)?;
        migrate::migrate(&mut tx, SHOWN)?;
        tx.commit().map_err(failed)?;
        sqlite.batch("SAVEPOINT base").map_err(failed)?;
        Ok(Disk(Arc::new(Mutex::new(Platter { sqlite, unsynced: 0, promised: 0, changes: 0 }))))
    }

    /// Makes it an empty store again.
    pub fn clear(&self) -> Result<(), StoreError> {
        let mut platter = self.lock();
        (platter.unsynced, platter.promised) = (0, 0);
        platter.changes += 1;
        // Released too, or the journal in memory would grow, and every savepoint take longer, with all that ever happened.
        platter.sqlite.batch("ROLLBACK TO base; RELEASE base; SAVEPOINT base").map_err(failed)
    }

    /// How often something was changed.
    pub fn changes(&self) -> u64 {
        self.lock().changes
    }

    /// How many transactions a loss of power can take.
    pub fn unsynced(&self) -> usize {
        self.lock().unsynced
    }

    /// The machine loses its power, and the first so many of the transactions that were not synced are still there when
    /// it is back. Says whether the disk has all that it said to have.
    pub fn lose_power(&self, left: usize) -> Result<bool, StoreError> {
        let mut platter = self.lock();
        let left = left.min(platter.unsynced);
        if left < platter.unsynced {
            platter.take_back(left).map_err(failed)?;
        }
        let kept_promises = left >= platter.promised;
        platter.write_all().map_err(failed)?;
        platter.changes += 1;
        Ok(kept_promises)
    }

    /// Everything that somebody can hold, for whoever looks whether it is right.
    pub fn picture(&self) -> Result<Vec<Leased>, StoreError> {
        let mut platter = self.lock();
        let mut all = Vec::new();
        for (kind, sql) in PICTURE {
            for row in platter.sqlite.rows(sql, &[]).map_err(failed)? {
                all.push(
                    leased(*kind, &row)
                        .map_err(|detail| StoreError::Damaged { place: SHOWN.to_owned(), detail })?,
                );
            }
        }
        Ok(all)
    }

    fn lock(&self) -> MutexGuard<'_, Platter> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Platter {
    /// Takes back the transactions behind the first so many.
    fn take_back(&mut self, left: usize) -> Result<(), Fault> {
        self.sqlite.batch(&format!("ROLLBACK TO s{left}; RELEASE s{left}"))?;
        self.unsynced = left;
        Ok(())
    }

    fn write_all(&mut self) -> Result<(), Fault> {
        if self.unsynced > 0 {
            self.sqlite.batch("RELEASE s0")?;
        }
        (self.unsynced, self.promised) = (0, 0);
        Ok(())
    }
}

/// A simulated process, as its store sees it.
#[derive(Clone)]
pub struct Process {
    disk: Disk,
    world: Arc<dyn World>,
    /// What the transaction is about that was committed last.
    subject: Arc<Mutex<String>>,
}

impl Process {
    /// A process with this disk in this world.
    pub fn new(disk: &Disk, world: Arc<dyn World>) -> Process {
        Process { disk: disk.clone(), world, subject: Arc::default() }
    }

    pub(crate) fn connect(&self) -> Simulated {
        Simulated { process: self.clone(), writes: false }
    }

    pub(crate) fn sync(&self) -> Result<(), String> {
        let subject = self.subject.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.synced(&subject)
    }

    pub(crate) fn sync_all(&self) -> Result<(), String> {
        self.synced(ALL)
    }

    fn synced(&self, subject: &str) -> Result<(), String> {
        let mut platter = self.disk.lock();
        match self.world.syncs(subject) {
            Syncs::Done => platter.write_all().map_err(|fault| fault.cause),
            Syncs::Failed => Err("the disk failed".to_owned()),
            Syncs::Lied => {
                platter.promised = platter.unsynced;
                Ok(())
            }
            Syncs::LeftOut => Ok(()),
        }
    }
}

/// A connection of a simulated process.
pub(crate) struct Simulated {
    process: Process,
    /// Whether a transaction that writes is under way.
    writes: bool,
}

impl Connection for Simulated {
    fn begin(&mut self, mode: Mode<'_>) -> Result<(), Fault> {
        let subject = match mode {
            Mode::Read => None,
            Mode::Write(subject) => Some(subject),
        };
        if !self.process.world.begins(subject) {
            return Err(Fault { kind: FaultKind::Busy, cause: "locked for too long".to_owned() });
        }
        if let Some(subject) = subject {
            let mut platter = self.process.disk.lock();
            if platter.unsynced >= UNSYNCED {
                platter.write_all()?;
            }
            let savepoint = format!("SAVEPOINT s{}", platter.unsynced);
            platter.sqlite.batch(&savepoint)?;
            *self.process.subject.lock().unwrap_or_else(PoisonError::into_inner) = subject.to_owned();
            self.writes = true;
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Fault> {
        if !self.writes {
            return Ok(());
        }
        let fate = self.process.world.commits();
        let lost = Fault { kind: FaultKind::Lost, cause: "the connection broke".to_owned() };
        let full = Fault { kind: FaultKind::Other, cause: "database or disk is full".to_owned() };
        if matches!(fate, Commits::Made | Commits::LostAfter) {
            let mut platter = self.process.disk.lock();
            platter.unsynced += 1;
            platter.changes += 1;
            self.writes = false;
        } else {
            self.rollback();
        }
        match fate {
            Commits::Made => Ok(()),
            Commits::Full => Err(full),
            Commits::LostBefore | Commits::LostAfter => Err(lost),
        }
    }

    fn rollback(&mut self) {
        if std::mem::take(&mut self.writes) {
            let mut platter = self.process.disk.lock();
            let transaction = platter.unsynced;
            // A database in memory has nothing that could fail here.
            let _ = platter.take_back(transaction);
        }
    }

    fn run(&mut self, sql: &'static str, cells: &[Cell]) -> Result<u64, Fault> {
        let sql = self.process.world.statement(sql);
        self.process.disk.lock().sqlite.run(sql, cells)
    }

    fn rows(&mut self, sql: &'static str, cells: &[Cell]) -> Result<Vec<Row>, Fault> {
        let sql = self.process.world.statement(sql);
        self.process.disk.lock().sqlite.rows(sql, cells)
    }

    fn batch(&mut self, sql: &str) -> Result<(), Fault> {
        self.process.disk.lock().sqlite.batch(sql)
    }

    fn now_ms(&mut self) -> Result<i64, Fault> {
        Ok(self.process.world.now_ms())
    }

    fn check(&mut self) -> Result<Vec<String>, Fault> {
        self.process.disk.lock().sqlite.check()
    }

    fn is_broken(&self) -> bool {
        false
    }
}

/// What can be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A request under a key.
    Request,
    /// A session.
    Session,
    /// A ticket.
    Ticket,
}

/// A row that somebody can hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leased {
    /// What it is.
    pub kind: Kind,
    /// Its key.
    pub id: String,
    /// The number of its lease.
    pub lease: i64,
    /// Until when it is held; zero if it is not.
    pub until: i64,
    /// How many commits a session has had; what became of a ticket.
    pub version: i64,
    /// What is said of a session, or what was decided about a ticket.
    pub body: Option<String>,
    /// The reply of a request, or what came of a ticket.
    pub ended: Option<String>,
}

const PICTURE: &[(Kind, &str)] = &[
    (Kind::Request, "SELECT scope, lease, lease_until, 0, NULL, reply FROM ptc_requests ORDER BY scope"),
    (
        Kind::Session,
        "SELECT s.id, s.lease, s.lease_until, s.version, m.meta, NULL
         FROM ptc_sessions s LEFT JOIN ptc_session_metas m ON m.session = s.id ORDER BY s.id",
    ),
    (Kind::Ticket, "SELECT id, lease, lease_until, used, decided, ended FROM ptc_tickets ORDER BY id"),
];

fn leased(kind: Kind, row: &cell::Row) -> Result<Leased, String> {
    let text = |column| {
        let bytes = row.maybe_bytes(column)?;
        Ok::<_, String>(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    };
    Ok(Leased {
        kind,
        id: row.text(0)?,
        lease: row.int(1)?,
        until: row.int(2)?,
        version: row.int(3)?,
        body: text(4)?,
        ended: text(5)?,
    })
}

const SHOWN: &str = "simulated";

fn failed(fault: Fault) -> StoreError {
    fault.at(SHOWN, "simulate")
}
