//! The store: one place, opened once, used by many threads.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::StoreError;
use crate::cell::cells;
use crate::place::{self, Place};
use crate::pool::Pool;
use crate::tx::{Connection, Fault, FaultKind, Mode, Tx};
use crate::wal::Wal;
use crate::{halt, migrate, pg, sqlite};

/// Connections that one process keeps to a file or a server.
const CONNECTIONS: usize = 8;
/// How often a transaction is tried that collides with others.
const ATTEMPTS: u32 = 12;
/// The row that is written to see whether one can be kept; nobody else ever sees it.
const ANSWERS: &str = "answers";

/// Everything that outlives a process. It is `Send` and `Sync`; put it into an `Arc` to share it.
///
/// ```
/// let store = ptc_store::Store::open(":memory:")?;
/// assert_eq!(store.place(), ":memory:");
/// # Ok::<(), ptc_store::StoreError>(())
/// ```
pub struct Store {
    place: Place,
    /// The place as messages show it.
    shown: String,
    /// What tells it from every other store.
    id: String,
    pool: Pool,
    /// The one connection that writes into a file. Writers of this process queue for it, which is fairer and quicker
    /// than SQLite's own way of waiting.
    writer: Option<Pool>,
    /// The log of a file.
    wal: Option<Arc<Wal>>,
    under_way: Transactions,
    /// Whether a transaction failed for a reason of the store since somebody last asked.
    failed: AtomicBool,
    /// The simulated process that the store belongs to.
    #[cfg(feature = "simulation")]
    simulated: Option<crate::simulation::Process>,
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Some(wal) = &self.wal {
            wal.stop();
        }
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Store({})", self.shown)
    }
}

impl Store {
    /// Opens a store and brings its tables up to date.
    ///
    /// - A path is an SQLite file. It is created where it is missing, with the folders above it, and may be
    ///   used by several processes at once.
    /// - `:memory:` is gone when the store is dropped.
    /// - `postgres://user:password@host:port/database` is a PostgreSQL database. The connection is not
    ///   encrypted: a unix socket (`?host=/run/postgresql`) or a loopback address is accepted, any other host
    ///   only with `?sslmode=disable`.
    pub fn open(place: &str) -> Result<Store, StoreError> {
        let (parsed, shown) = (place::parse(place)?, place::shown(place));
        let (most, wal) = match &parsed {
            Place::Memory => (1, None),
            Place::File(path) => (CONNECTIONS, Some(Wal::new(path))),
            Place::Postgres(_) => (CONNECTIONS, None),
        };
        let writer = wal.as_ref().map(|_| Pool::new(1));
        let mut store = Store {
            place: parsed,
            shown,
            id: String::new(),
            pool: Pool::new(most),
            writer,
            wal,
            under_way: Transactions::default(),
            failed: AtomicBool::new(false),
            #[cfg(feature = "simulation")]
            simulated: None,
        };
        store.id = store.write(migrate::SUBJECT, |tx| migrate::migrate(tx, &store.shown))?;
        Ok(store)
    }

    /// The same for a store that somebody only looks into, or that must be a certain one: where there is none, that is an
    /// error, and none is made.
    pub fn open_existing(place: &str) -> Result<Store, StoreError> {
        let absent = match place::parse(place)? {
            Place::Memory => None,
            Place::File(path) => sqlite::absent(&path),
            Place::Postgres(config) => pg::connect(&config, &place::shown(place))?.absent(place)?,
        };
        match absent {
            None => Store::open(place),
            Some(problem) => Err(place::nothing(place, problem)),
        }
    }

    /// The store of a simulated process, whose tables are there.
    #[cfg(feature = "simulation")]
    pub fn simulated(process: crate::simulation::Process) -> Store {
        Store {
            place: Place::Memory,
            shown: "simulated".to_owned(),
            id: "simulated".to_owned(),
            pool: Pool::new(1),
            writer: None,
            wal: None,
            under_way: Transactions::default(),
            failed: AtomicBool::new(false),
            simulated: Some(process),
        }
    }

    /// Where the store is, without a password.
    pub fn place(&self) -> &str {
        &self.shown
    }

    /// What tells it from every other store: random, made with it, and the same wherever it is moved to and however its
    /// place is written. A copy is another store (`identity.rs`).
    pub fn id(&self) -> &str {
        &self.id
    }

    /// For how long the oldest of all transactions is under way, waiting for its turn included: nothing if there is none. One
    /// that takes long says that others will.
    pub fn silent_for(&self) -> Duration {
        self.under_way.oldest().map_or(Duration::ZERO, |begun| begun.elapsed())
    }

    /// Whether a transaction failed since this was last asked, for a reason that is not its own: no connection, one that was
    /// lost, a disk that is full, a database that takes no changes.
    pub fn take_failed(&self) -> bool {
        self.failed.swap(false, Ordering::Relaxed)
    }

    fn note_failure(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    /// Whether changes can be kept now: waits for its turn among those who write, writes a row, takes it out again, and waits
    /// for the disk. A transaction that changes nothing succeeds also where there is no room, or where nothing may be written.
    pub fn answers(&self) -> Result<(), StoreError> {
        self.upkeep("answers", |tx| {
            tx.run("INSERT INTO ptc_identity (id, born) VALUES (?1, ?1)", cells![ANSWERS])?;
            tx.run("DELETE FROM ptc_identity WHERE id = ?1", cells![ANSWERS])
        })?;
        self.sync().map_err(|cause| self.unacknowledged(cause))
    }

    /// Looks at everything and names what is wrong: for a file, its pages and indexes.
    pub fn check(&self) -> Result<Vec<String>, StoreError> {
        let mut lent = self.pool.take(|| self.connect())?;
        lent.get().check().map_err(|fault| fault.at(&self.shown, "check"))
    }

    /// Looks at one unchanging picture. `work` must not use the store itself.
    pub(crate) fn read<T, E: From<StoreError>>(
        &self,
        work: impl FnMut(&mut Tx<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.transaction(Mode::Read, Change::Noted, work)
    }

    /// Changes what belongs to `subject`, all of it or nothing; it is on disk when this returns `Ok`. Writers of
    /// one subject come one after the other. `work` is called again if it collided with another
    /// transaction, and must not use the store itself.
    pub(crate) fn write<T, E: From<StoreError>>(
        &self,
        subject: &str,
        work: impl FnMut(&mut Tx<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.transaction(Mode::Write(subject), Change::Synced, work)
    }

    /// Changes something like [`Store::write`], but it may be lost if the machine, and this process with it, ends
    /// suddenly. It survives the end of this process alone, and it is there if anything is there that was written
    /// later.
    pub(crate) fn note<T, E: From<StoreError>>(
        &self,
        subject: &str,
        work: impl FnMut(&mut Tx<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.transaction(Mode::Write(subject), Change::Noted, work)
    }

    /// A note that time alone makes: leases that are renewed, and sweeps. It can come between any two changes, so
    /// [`halt`] does not count it.
    pub(crate) fn upkeep<T, E: From<StoreError>>(
        &self,
        subject: &str,
        work: impl FnMut(&mut Tx<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.transaction(Mode::Write(subject), Change::Upkeep, work)
    }

    fn transaction<T, E: From<StoreError>>(
        &self,
        mode: Mode<'_>,
        change: Change,
        mut work: impl FnMut(&mut Tx<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let _under_way = self.under_way.begin();
        let pool = match (mode, &self.writer) {
            (Mode::Write(_), Some(writer)) => writer,
            _ => &self.pool,
        };
        let (mut attempt, mut lost_before) = (0, false);
        loop {
            attempt += 1;
            // Looking once more changes nothing; a connection that breaks again is told.
            let mut looks_again =
                |lost: bool| matches!(mode, Mode::Read) && lost && !std::mem::replace(&mut lost_before, true);
            let again = |fault: &Fault| {
                attempt < ATTEMPTS && matches!(fault.kind, FaultKind::Conflict | FaultKind::Lost)
            };
            let mut lent = pool.take(|| self.connect()).inspect_err(|_| self.note_failure())?;
            let mut tx = match Tx::begin(lent.get(), &self.shown, mode) {
                Ok(tx) => tx,
                // A connection that died while it was idle; nothing was done yet.
                Err(fault) if again(&fault) => continue,
                Err(fault) => {
                    self.note_failure();
                    return Err(fault.at(&self.shown, "begin").into());
                }
            };
            let done = match work(&mut tx) {
                Ok(done) => done,
                Err(_) if tx.collided() && attempt < ATTEMPTS => {
                    drop(tx);
                    drop(lent);
                    std::thread::sleep(pause(attempt));
                    continue;
                }
                Err(_) if looks_again(tx.lost()) => continue,
                Err(error) => {
                    if tx.failed() {
                        self.note_failure();
                    }
                    return Err(error);
                }
            };
            let writes = matches!(mode, Mode::Write(_));
            let counts = writes && change != Change::Upkeep;
            if writes {
                self.is_in_place()?;
            }
            if counts {
                halt::point();
            }
            match tx.commit() {
                Ok(()) => {
                    // The next writer goes on meanwhile.
                    drop(lent);
                    let synced = if change == Change::Synced { self.sync() } else { Ok(()) };
                    if synced.is_err() {
                        self.note_failure();
                    }
                    let done = synced.map(|()| done).map_err(|cause| self.unacknowledged(cause).into());
                    if counts {
                        halt::point();
                    }
                    return done;
                }
                Err(fault) if fault.kind == FaultKind::Conflict && attempt < ATTEMPTS => {}
                Err(fault) if looks_again(fault.kind == FaultKind::Lost) => {}
                Err(Fault { kind: FaultKind::Lost, cause }) if writes => {
                    self.note_failure();
                    return Err(self.unacknowledged(cause).into());
                }
                Err(fault) => {
                    self.note_failure();
                    return Err(fault.at(&self.shown, "commit").into());
                }
            }
        }
    }

    /// Returns when everything that is there is on the disk, whoever committed it. Others may have been killed between a
    /// commit and its sync: what they kept can be read, and must not be told before this.
    pub(crate) fn settle(&self) -> Result<(), StoreError> {
        #[cfg(feature = "simulation")]
        if let Some(process) = &self.simulated {
            return process.sync_all().map_err(|cause| self.unacknowledged(cause));
        }
        self.wal.as_ref().map_or(Ok(()), |wal| wal.sync_all()).map_err(|cause| self.unacknowledged(cause))
    }

    /// Returns when what this process committed is on the disk.
    fn sync(&self) -> Result<(), String> {
        #[cfg(feature = "simulation")]
        if let Some(process) = &self.simulated {
            return process.sync();
        }
        self.wal.as_ref().map_or(Ok(()), |wal| wal.sync())
    }

    /// Whether changes go where others find them: a file that was removed or replaced takes them too.
    pub fn is_in_place(&self) -> Result<(), StoreError> {
        self.wal.as_ref().map_or(Ok(()), |wal| wal.is_in_place()).map_err(|problem| self.moved(problem))
    }

    fn moved(&self, problem: String) -> StoreError {
        StoreError::Moved { place: self.shown.clone(), problem }
    }

    fn unacknowledged(&self, cause: String) -> StoreError {
        StoreError::Unacknowledged { place: self.shown.clone(), cause }
    }

    fn connect(&self) -> Result<Box<dyn Connection>, StoreError> {
        #[cfg(feature = "simulation")]
        if let Some(process) = &self.simulated {
            return Ok(Box::new(process.connect()));
        }
        Ok(match (&self.place, &self.wal) {
            (Place::File(path), Some(wal)) => {
                wal.is_in_place().map_err(|problem| self.moved(problem))?;
                Box::new(sqlite::file(path, &self.shown, wal)?)
            }
            (Place::Postgres(config), _) => Box::new(pg::connect(config, &self.shown)?),
            _ => Box::new(sqlite::memory()?),
        })
    }
}

/// When the transactions that are under way began.
#[derive(Default)]
struct Transactions(Mutex<(u64, BTreeMap<u64, Instant>)>);

/// A transaction that is under way until this is dropped.
struct UnderWay<'t>(&'t Transactions, u64);

impl Transactions {
    fn begin(&self) -> UnderWay<'_> {
        let (next, begun) = &mut *self.lock();
        *next += 1;
        begun.insert(*next, Instant::now());
        UnderWay(self, *next)
    }

    fn oldest(&self) -> Option<Instant> {
        self.lock().1.values().next().copied()
    }

    fn lock(&self) -> MutexGuard<'_, (u64, BTreeMap<u64, Instant>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.lock().1.remove(&self.1);
    }
}

/// What becomes of a change.
#[derive(Clone, Copy, PartialEq)]
enum Change {
    /// It is on the disk when it was made.
    Synced,
    /// It may be lost if the machine ends suddenly.
    Noted,
    /// Likewise, and nobody asked for it.
    Upkeep,
}

/// A random wait that grows, so that those who collided do not meet again.
fn pause(attempt: u32) -> Duration {
    let mut random = [0_u8; 2];
    // Without randomness the wait is merely the same for all.
    let _ = getrandom::fill(&mut random);
    let longest = 4_u64 << attempt.min(7);
    Duration::from_millis(1 + u64::from(u16::from_le_bytes(random)) % longest)
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;

#[cfg(all(test, unix))]
#[path = "durability_tests.rs"]
mod durability_tests;

#[cfg(test)]
#[path = "time_tests.rs"]
mod time_tests;
