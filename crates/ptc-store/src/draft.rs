//! Files that get their name when they are whole, so that nobody takes half of one for a store: a process that is killed
//! before leaves a hidden folder beside the name, which whoever makes the same file again begins anew.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use ptc_system::{owned, private};

use crate::StoreError;
use crate::halt::point;
use crate::place;

/// The store in the folder; its log and journal are beside it there.
const STORE: &str = "store.db";
/// Locked by whoever fills the folder.
const LOCK: &str = "lock";

/// A store that has no name yet. It goes away unless it is published.
#[derive(Debug)]
pub struct Draft {
    to: PathBuf,
    folder: PathBuf,
    /// Held until the folder is gone.
    _lock: File,
}

impl Draft {
    /// Refuses what is no name of a file, before anything is made under it: whoever has an address there would get a file that is
    /// named like it, and nothing in the database.
    pub fn check_name(to: &Path) -> Result<(), StoreError> {
        let text = to.to_string_lossy();
        match place::is_path(&text) {
            true => Ok(()),
            false => Err(StoreError::Place {
                place: place::shown(&text),
                problem: "it is no file, and only files are written here".to_owned(),
                fix: "name one; what is in a database is copied and put back with its own tools (`pg_dump`, `pg_restore`)"
                    .to_owned(),
            }),
        }
    }

    /// Begins a store for a name under which there is no file yet; only this user may read it.
    pub(crate) fn new(to: &Path) -> Result<Draft, StoreError> {
        Draft::check_name(to)?;
        let failed = |error: io::Error| unwritable(to, &error);
        if to.symlink_metadata().is_ok() {
            return Err(failed(io::Error::new(io::ErrorKind::AlreadyExists, "it is there already")));
        }
        let Some(name) = to.file_name() else {
            return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "it has no name")));
        };
        let folder = to.with_file_name(format!(".{}.new", name.to_string_lossy()));
        private::folder_of(to).and_then(|()| private::folder(&folder)).map_err(failed)?;
        owned::trusted(&folder).map_err(|problem| failed(io::Error::other(problem)))?;
        let lock = private::create(&folder.join(LOCK)).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(failed(io::Error::other("another process makes it at this moment")));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let draft = Draft { to: to.to_owned(), folder, _lock: lock };
        draft.clear().map_err(failed)?;
        Ok(draft)
    }

    /// Where it is filled.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join(STORE)
    }

    /// Removes what somebody who was killed had made.
    fn clear(&self) -> io::Result<()> {
        for entry in std::fs::read_dir(&self.folder)? {
            let entry = entry?;
            if entry.file_name() != LOCK {
                std::fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// Gives the store its name, unless there is a file of that name by now, and says how many bytes it has.
    pub fn publish(self) -> Result<u64, StoreError> {
        let named = || {
            let file = File::open(self.path())?;
            file.sync_all()?;
            let bytes = file.metadata()?.len();
            point();
            private::rename_new(&self.path(), &self.to)?;
            point();
            sync_folder(&self.to)?;
            Ok(bytes)
        };
        named().map_err(|error| unwritable(&self.to, &error))
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // Whatever cannot be removed is begun anew by the next one.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Has the name of a file on the disk.
fn sync_folder(file: &Path) -> io::Result<()> {
    if cfg!(unix) {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}

pub(crate) fn unwritable(to: &Path, error: &io::Error) -> StoreError {
    StoreError::Unreachable {
        place: to.display().to_string(),
        cause: error.to_string(),
        fix: "name a file that is not there, in a folder that this user may write".to_owned(),
    }
}
