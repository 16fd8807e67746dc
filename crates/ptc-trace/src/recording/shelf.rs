//! A folder of recordings that holds so many: the oldest makes room for the newest.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// How recordings end.
const ENDING: &str = "recording";

/// A folder of recordings.
#[derive(Debug)]
pub struct Shelf {
    dir: PathBuf,
    most: usize,
    /// The recordings that are there, the oldest first.
    files: Mutex<VecDeque<PathBuf>>,
}

impl Shelf {
    /// Opens a folder, and makes it if it is not there.
    pub fn open(dir: &Path, most: usize) -> io::Result<Shelf> {
        ptc_system::private::folder(dir)?;
        let mut files: Vec<PathBuf> = Shelf::list(dir)?;
        files.sort();
        Ok(Shelf { dir: dir.to_owned(), most: most.max(1), files: Mutex::new(files.into()) })
    }

    /// The recordings in a folder, in no order. Their names begin with the time.
    pub fn list(dir: &Path) -> io::Result<Vec<PathBuf>> {
        let files = std::fs::read_dir(dir)?.flatten().map(|entry| entry.path());
        Ok(files.filter(|path| path.extension().is_some_and(|ending| ending == ENDING)).collect())
    }

    /// A place for one more.
    pub fn place(&self) -> PathBuf {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = jiff::Timestamp::now().strftime("%Y-%m-%dT%H-%M-%S%.3fZ");
        let number = |n: u32| if n == 0 { String::new() } else { format!("~{n}") };
        let name = |n| self.dir.join(format!("{stamp}-{}{}.{ENDING}", std::process::id(), number(n)));
        let mut place = name(0);
        let mut n = 0;
        // Places that were given and not written yet are taken, too.
        while place.exists()
            || files.iter().rev().take_while(|file| **file >= name(0)).any(|file| *file == place)
        {
            n += 1;
            place = name(n);
        }
        files.push_back(place.clone());
        while files.len() > self.most {
            // One that is gone already makes room as well.
            let _ = files.pop_front().map(std::fs::remove_file);
        }
        place
    }
}
