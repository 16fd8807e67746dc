//! The log of an SQLite file: when it is synced, and when it is copied into the file.
//!
//! SQLite itself commits without waiting for the disk (`synchronous = NORMAL`), which a process that is killed survives:
//! what is committed is with the system. What must survive the machine waits in [`Wal::sync`]. Whoever syncs, syncs all
//! that was committed until then, so writers that come at the same time wait for one sync together. The log is one
//! file that is written in order: a change that was synced can only be there together with all changes before it.
//!
//! How far it was synced is noted beside it (`mark.rs`), so that a log which lost something tells what.
//!
//! A disk that fails to sync may have dropped what it was to write, and tells that once to whoever had the file open then. So
//! the log stays open for as long as it is the same file, and a log with a failed sync is never synced again: if it can
//! still be read whole, it is copied into the file, which is synced, and begins anew; so is one that another process left.
//!
//! Copying the log into the file takes long compared with a commit. So writers do not do it; a thread of its own does,
//! as soon as it is worthwhile.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rusqlite::Connection as Sqlite;

use crate::log_check;
use crate::mark::{Mark, Marker};
use crate::same_file::{FileId, OpenedFiles, id};

/// Pages that the log grows by until they are copied.
const WORTHWHILE: u64 = 4_000;
/// Pages of a log that is not allowed to grow any more: writers wait until it can begin anew.
const LONGEST: u64 = 16_000;

/// The log of one file, for all connections of a store.
pub(crate) struct Wal {
    path: PathBuf,
    /// The files that are open.
    files: OpenedFiles,
    committed: AtomicU64,
    /// Parts that the log had after the last commit of this process.
    parts: AtomicU64,
    synced: Mutex<Synced>,
    copying: Mutex<Copying>,
    wake: Condvar,
}

/// How far the log was synced.
#[derive(Default)]
struct Synced {
    file: Option<(FileId, File)>,
    /// Whether a log that was there before has been copied.
    settled: bool,
    /// Where it is noted. Without it the log is as good, but damage tells less.
    marker: Option<Marker>,
    /// The number of commits that are on the disk.
    upto: u64,
    /// Why syncing failed. The log is not to be trusted any more.
    failed: Option<String>,
    /// Whether copying the log fails, too.
    #[cfg(all(test, unix))]
    no_disk: bool,
    /// What is done between the next sync and its note.
    #[cfg(all(test, unix))]
    meanwhile: Option<Box<dyn FnOnce() + Send>>,
}

/// How far the log was copied.
#[derive(Default)]
struct Copying {
    /// Pages of the log that were copied when somebody last looked.
    copied: u64,
    due: bool,
    stopped: bool,
    thread: Option<JoinHandle<()>>,
}

/// A connection that has the file open, until it is dropped.
pub(crate) struct OpenFile(Arc<Wal>);

impl Drop for OpenFile {
    fn drop(&mut self) {
        if self.0.files.closed() {
            self.0.rest();
        }
    }
}

impl Wal {
    /// The log of the file at this path.
    pub fn new(path: &Path) -> Arc<Wal> {
        Arc::new(Wal {
            path: path.to_owned(),
            files: OpenedFiles::default(),
            committed: AtomicU64::new(0),
            parts: AtomicU64::new(0),
            synced: Mutex::default(),
            copying: Mutex::default(),
            wake: Condvar::new(),
        })
    }

    /// Has a connection that writes tell of its commits. It copies nothing itself any more.
    pub fn watch(self: &Arc<Self>, sqlite: &mut Sqlite) -> rusqlite::Result<()> {
        let wal = self.clone();
        sqlite.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, pages: std::ffi::c_int| {
            let pages = u64::try_from(pages).unwrap_or_default();
            wal.parts.store(pages, Ordering::Release);
            wal.committed.fetch_add(1, Ordering::AcqRel);
            wal.grown(pages);
            Ok(())
        }))
    }

    /// Whether the file and its log are where they were opened.
    pub fn is_in_place(&self) -> Result<(), String> {
        self.files.check(&self.path)
    }

    /// Whether something is in the log.
    pub fn is_there(&self) -> bool {
        std::fs::metadata(self.log()).is_ok_and(|log| log.len() > 0)
    }

    /// Notes that a connection has opened the file, and finds the log again. It is another one if the last connection was
    /// closed since. `found` says whether there was one before the connection came ([`Wal::is_there`]).
    pub fn opened(self: &Arc<Self>, found: bool) -> Result<OpenFile, String> {
        self.files.opened(&self.path)?;
        let opened = OpenFile(self.clone());
        let log = self.log();
        let now = id(&log).ok_or("its log is gone")?;
        let mut synced = locked(&self.synced);
        if synced.file.as_ref().is_none_or(|(open, _)| *open != now) {
            let file = std::fs::OpenOptions::new().read(true).write(true).open(&log);
            synced.file = Some((now, file.map_err(|error| error.to_string())?));
        }
        if synced.marker.is_none() {
            synced.marker = Marker::open(&self.path).ok();
        }
        if !std::mem::replace(&mut synced.settled, true) && found {
            // Whoever left it may have failed to sync it. One that others use is left to them.
            let _ = self.begin_log_anew(synced.marker.as_mut());
        }
        Ok(opened)
    }

    /// Notes that there is no log, if SQLite took it away with the last connection of all processes. Who is killed before
    /// that leaves a note that is older than the file.
    fn rest(&self) {
        let mut synced = locked(&self.synced);
        let Some(marker) = synced.marker.as_mut().filter(|marker| marker.may_empty()) else { return };
        if !self.log().exists() {
            // Without it the file is as good, but a copy of it whose times were not kept may be taken for damaged.
            let _ = marker.rest();
        }
        marker.let_go();
    }

    /// Returns when everything that was committed before is on the disk.
    pub fn sync(&self) -> Result<(), String> {
        let mine = self.committed.load(Ordering::Acquire);
        let mut synced = locked(&self.synced);
        if synced.upto >= mine {
            return Ok(());
        }
        self.write_out(&mut synced)
    }

    /// Returns when everything that anybody committed before is on the disk. What other processes commit is not counted
    /// here, so the disk is asked in any case.
    pub fn sync_all(&self) -> Result<(), String> {
        self.write_out(&mut locked(&self.synced))
    }

    fn write_out(&self, synced: &mut Synced) -> Result<(), String> {
        let upto = self.committed.load(Ordering::Acquire);
        if synced.failed.is_some() {
            return self.mend(synced, upto);
        }
        let Synced { file: Some((_, log)), marker, .. } = synced else {
            return Err("the log of the file is not open".to_owned());
        };
        if let Some(marker) = marker {
            marker.begin_note();
        }
        // Before the disk is asked: what comes meanwhile may not be there.
        let mark = Mark::reached(log, self.parts.load(Ordering::Acquire)).ok().flatten();
        let done = log.sync_data();
        #[cfg(all(test, unix))]
        if let Some(meanwhile) = synced.meanwhile.take() {
            meanwhile();
        }
        if let Some(marker) = marker {
            if let (Ok(()), Some(mark)) = (&done, &mark) {
                // What cannot be noted is on the disk all the same.
                let _ = marker.note(mark);
            }
            marker.let_go();
        }
        match done {
            Ok(()) => {
                synced.upto = upto;
                Ok(())
            }
            Err(error) => {
                synced.failed = Some(error.to_string());
                self.mend(synced, upto)
            }
        }
    }

    /// Copies a log that could not be synced into the file, if it can still be read to the last commit.
    fn mend(&self, synced: &mut Synced, upto: u64) -> Result<(), String> {
        let why = synced.failed.clone().unwrap_or_default();
        #[cfg(all(test, unix))]
        if synced.no_disk {
            return Err(why);
        }
        let whole = || -> io::Result<bool> {
            let log = File::open(self.log())?;
            let mark = Mark::reached(&log, self.parts.load(Ordering::Acquire))?;
            log_check::is_whole(log, mark.as_ref())
        };
        match whole().map_err(|error| error.to_string()) {
            Ok(true) => {}
            Ok(false) => return Err(format!("a sync failed and left a part of the log unreadable: {why}")),
            Err(error) => return Err(format!("a sync failed: {why}; the log cannot be read: {error}")),
        }
        self.begin_log_anew(synced.marker.as_mut())
            .map_err(|error| format!("a sync failed: {why}; the log cannot be copied: {error}"))?;
        synced.failed = None;
        synced.upto = upto;
        Ok(())
    }

    /// Copies all of the log into the file, which is synced, empties it, and notes that. Refused as busy while somebody is about
    /// to note something of the log.
    fn begin_log_anew(&self, marker: Option<&mut Marker>) -> rusqlite::Result<()> {
        let Some(marker) = marker else { return self.emptied() };
        if !marker.may_empty() {
            return Err(busy());
        }
        // By the time of the file alone this is not told from a loss, if all of the log was in it before the last note.
        let emptied = self.emptied().inspect(|()| drop(marker.rest()));
        marker.let_go();
        emptied
    }

    fn emptied(&self) -> rusqlite::Result<()> {
        let sqlite = crate::sqlite::plain(&self.path)?;
        sqlite.pragma_update(None, "synchronous", "FULL")?;
        match sqlite.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0))? {
            0 => Ok(()),
            _ => Err(busy()),
        }
    }

    fn log(&self) -> PathBuf {
        crate::sqlite::beside(&self.path, "-wal")
    }

    /// Puts something that no system syncs in the place of the log, as if its disk had failed.
    #[cfg(all(test, unix))]
    pub fn lose_disk(&self) {
        let mut synced = locked(&self.synced);
        let (found, _) = synced.file.take().expect("the log is open");
        synced.file = Some((found, File::open("/dev/null").expect("every Unix has it")));
        synced.no_disk = true;
    }

    /// Has something done between the next sync and its note.
    #[cfg(all(test, unix))]
    pub fn between_sync_and_note(&self, meanwhile: impl FnOnce() + Send + 'static) {
        locked(&self.synced).meanwhile = Some(Box::new(meanwhile));
    }

    /// The disk works again; the log still cannot be synced.
    #[cfg(all(test, unix))]
    pub fn find_disk(&self) {
        locked(&self.synced).no_disk = false;
    }

    /// Notes how long the log is, and wakes whoever copies it.
    fn grown(self: &Arc<Self>, pages: u64) {
        let mut copying = locked(&self.copying);
        if pages < copying.copied {
            // It has begun anew.
            copying.copied = 0;
        }
        if copying.due || copying.stopped || pages - copying.copied < WORTHWHILE {
            return;
        }
        copying.due = true;
        if copying.thread.is_none() {
            let wal = self.clone();
            let thread =
                std::thread::Builder::new().name("ptc-store-log".to_owned()).spawn(move || wal.copy());
            // Without a thread this is tried again with the next commit.
            copying.due = thread.is_ok();
            copying.thread = thread.ok();
        }
        self.wake.notify_all();
    }

    /// Copies the log into the file whenever it is due.
    fn copy(&self) {
        let mut connection = None;
        loop {
            let mut copying = locked(&self.copying);
            while !copying.due && !copying.stopped {
                copying = self.wake.wait(copying).unwrap_or_else(PoisonError::into_inner);
            }
            if copying.stopped {
                return;
            }
            drop(copying);
            if connection.is_none() {
                connection = crate::sqlite::plain(&self.path).ok();
            }
            // What fails now is tried again when the log has grown more.
            let copied = connection.as_ref().and_then(|sqlite| copied(sqlite).ok());
            let mut copying = locked(&self.copying);
            copying.copied = copied.unwrap_or(copying.copied);
            copying.due = false;
        }
    }

    /// Ends the thread that copies.
    pub fn stop(&self) {
        let mut copying = locked(&self.copying);
        copying.stopped = true;
        let thread = copying.thread.take();
        drop(copying);
        self.wake.notify_all();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

/// Copies what can be copied beside writers, and says how many pages were. A log that has become too long is copied to
/// its end while writers wait, so that the next one begins it anew; but not while somebody still reads an older part,
/// because then they would wait for nothing.
fn copied(sqlite: &Sqlite) -> rusqlite::Result<u64> {
    let (pages, copied) = checkpoint(sqlite, "PRAGMA wal_checkpoint(PASSIVE)")?;
    if pages < LONGEST || copied < pages {
        return Ok(copied);
    }
    Ok(checkpoint(sqlite, "PRAGMA wal_checkpoint(RESTART)")?.1)
}

fn checkpoint(sqlite: &Sqlite, sql: &str) -> rusqlite::Result<(u64, u64)> {
    let number = |value: i64| u64::try_from(value).unwrap_or_default();
    sqlite.query_row(sql, [], |row| Ok((number(row.get(1)?), number(row.get(2)?))))
}

/// Others use what is wanted.
fn busy() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY), None)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
