//! Whether the files of a store are still where they were opened.
//!
//! A file that is removed, renamed or replaced while a process has it open goes on to take what is written, and nobody else
//! ever sees that: whoever opens the place next finds another store, or none, and does again what was done. So before a change
//! is made final, what is at the path is compared with what was opened, by device and number of the file. That costs two looks
//! at a folder. A file that is put back is as good as before.
//!
//! Systems that are not Unix do not let an open file go.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::sqlite::beside;

/// The files of a store: itself, its log, and what tells processes where in the log they are and who writes.
const FILES: [(&str, &str); 3] = [("", "file"), ("-wal", "log"), ("-shm", "index of the log")];

/// What tells a file from all others: its device, and its number there.
pub(crate) type FileId = (u64, u64);

/// The files that a store has open, for all of its connections.
#[derive(Debug, Default)]
pub(crate) struct OpenedFiles(Mutex<Opened>);

#[derive(Debug, Default)]
struct Opened {
    files: Option<[FileId; FILES.len()]>,
    /// Connections that have them open.
    connections: usize,
}

impl Opened {
    /// How many of the files must be what they were: while nobody has the store open, SQLite takes its log away.
    fn fixed(&self) -> usize {
        if self.connections > 0 { FILES.len() } else { 1 }
    }

    fn check(&self, store: &Path) -> Result<(), String> {
        let Some(opened) = self.files else { return Ok(()) };
        for ((ending, name), opened) in FILES.iter().zip(opened).take(self.fixed()) {
            match id(&beside(store, ending)) {
                None => return Err(format!("its {name} is gone")),
                Some(now) if now != opened => {
                    return Err(format!("another file is in the place of its {name}"));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}

impl OpenedFiles {
    /// Whether all files are what they were when they were opened; yes if they never were.
    pub fn check(&self, store: &Path) -> Result<(), String> {
        self.lock().check(store)
    }

    /// Notes that a connection has opened what is at the path, which must be what the others have open.
    pub fn opened(&self, store: &Path) -> Result<(), String> {
        let mut opened = self.lock();
        opened.check(store)?;
        let mut found = [(0, 0); FILES.len()];
        for ((ending, name), found) in FILES.iter().zip(&mut found) {
            *found = id(&beside(store, ending)).ok_or_else(|| format!("its {name} is gone"))?;
        }
        opened.files = Some(found);
        opened.connections += 1;
        Ok(())
    }

    /// Notes that a connection was closed, and says whether it was the last one.
    pub fn closed(&self) -> bool {
        let mut opened = self.lock();
        opened.connections = opened.connections.saturating_sub(1);
        opened.connections == 0
    }

    fn lock(&self) -> MutexGuard<'_, Opened> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(unix)]
pub(crate) fn id(path: &Path) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()))
}

/// All files are alike where none that is open can go.
#[cfg(not(unix))]
pub(crate) fn id(path: &Path) -> Option<FileId> {
    path.exists().then_some((0, 0))
}
