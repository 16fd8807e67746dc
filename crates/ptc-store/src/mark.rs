//! How far the log of a file was on the disk, noted in a small file beside it.
//!
//! Whoever syncs the log notes how many parts of it were there before. The note itself is not synced: it is where it was
//! written when a process is killed, and a machine that loses its power may be left with an older one. So it never says
//! too much. A log that lacks a part up to there has lost something that was acknowledged; what is broken behind it was
//! told to nobody, because a disk may write parts in any order until it is asked to write them all.
//!
//! What other processes committed and did not sync themselves is noted with the next commit of whoever synced it.
//!
//! Whoever closes a store as the last one copies the log into the file and takes it away. That is noted too, so that a log
//! which is missing while something is noted of it was lost, unless the file was written later than the note.
//!
//! Somebody else may empty the log between the look of who syncs it and the note, which would tell of a loss then. So the file
//! is locked, shared by those who are about to note something, and exclusively by whoever empties the log.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::SystemTime;

use ptc_system::private;
use sha2::{Digest as _, Sha256};

use crate::log_check::{FRAME, HEADER, number};
use crate::sqlite::beside;

/// What the name of the file has behind that of the store.
pub(crate) const ENDING: &str = "-synced";

/// How the file begins.
const MAGIC: &[u8; 8] = b"ptcsync2";
/// How it began before it was noted that a log was taken away.
const EARLIER: &[u8; 8] = b"ptcsync1";
/// Bytes of the file: how it begins, the salt, the number of parts, and a checksum of these.
const BYTES: usize = 32;

/// So many parts of the log with this salt were on the disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// What tells the log from those that were in the file before.
    pub salt: [u8; 8],
    /// Parts from its beginning.
    pub parts: u64,
    /// Whether it would be noted that the log was copied and taken away: earlier versions did not.
    pub is_kept_up: bool,
}

/// What is noted beside a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Noted {
    /// Nothing: nobody ever did.
    Nothing,
    /// So much.
    Mark(Mark),
    /// Something that nobody wrote.
    Broken,
}

impl Noted {
    /// What is noted beside a store.
    pub fn beside(store: &Path) -> io::Result<Noted> {
        let mut bytes = Vec::with_capacity(BYTES);
        match File::open(beside(store, ENDING)) {
            Ok(file) => file.take(BYTES as u64).read_to_end(&mut bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Noted::Nothing),
            Err(error) => return Err(error),
        };
        // It was made, and the process or the machine ended before it was written.
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok(Noted::Nothing);
        }
        let mark = <&[u8; BYTES]>::try_from(bytes.as_slice()).ok().and_then(Mark::read);
        Ok(mark.map_or(Noted::Broken, Noted::Mark))
    }

    /// The mark, if there is one.
    pub fn mark(&self) -> Option<&Mark> {
        match self {
            Noted::Mark(mark) => Some(mark),
            Noted::Nothing | Noted::Broken => None,
        }
    }
}

/// When the note beside a store was written last.
pub(crate) fn written(store: &Path) -> io::Result<SystemTime> {
    std::fs::metadata(beside(store, ENDING))?.modified()
}

impl Mark {
    /// What of a log there is: so many parts, if they belong to the log that is written now.
    pub fn reached(mut log: &File, parts: u64) -> io::Result<Option<Mark>> {
        let Some(before) = parts.checked_sub(1) else { return Ok(None) };
        let (mut header, mut frame) = ([0; HEADER], [0; FRAME]);
        log.seek(SeekFrom::Start(0))?;
        log.read_exact(&mut header)?;
        let part = FRAME as u64 + u64::from(number(&header, 8));
        log.seek(SeekFrom::Start(HEADER as u64 + before * part))?;
        log.read_exact(&mut frame)?;
        // Another process may have begun it anew, and then the part is of the log before.
        let salt: [u8; 8] = frame[8..16].try_into().unwrap_or_default();
        Ok((salt == header[16..24]).then_some(Mark { salt, parts, is_kept_up: true }))
    }

    fn read(bytes: &[u8; BYTES]) -> Option<Mark> {
        let (said, sum) = bytes.split_at(24);
        let parts = u64::from_be_bytes(said[16..].try_into().ok()?);
        let is_kept_up = said.starts_with(MAGIC);
        let known = (is_kept_up || said.starts_with(EARLIER)) && sum == &Sha256::digest(said)[..8];
        Some(Mark { salt: said[8..16].try_into().ok()?, parts, is_kept_up }).filter(|_| known)
    }

    fn bytes(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..16].copy_from_slice(&self.salt);
        bytes[16..24].copy_from_slice(&self.parts.to_be_bytes());
        let sum = Sha256::digest(&bytes[..24]);
        bytes[24..].copy_from_slice(&sum[..8]);
        bytes
    }
}

/// The file, for whoever syncs the log.
pub(crate) struct Marker(File);

impl Marker {
    /// Opens the file beside a store, and makes it where it is missing: on the disk at once, because a log beside which
    /// nothing was ever noted tells nothing.
    pub fn open(store: &Path) -> io::Result<Marker> {
        let path = beside(store, ENDING);
        match private::create_new(&path) {
            Ok(mut file) => {
                file.write_all(&Mark::default().bytes())?;
                file.sync_all()?;
                #[cfg(unix)]
                if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                    File::open(folder)?.sync_all()?;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        OpenOptions::new().read(true).write(true).open(path).map(Marker)
    }

    /// Keeps others from emptying the log until what is known of it is noted, and waits for whoever does so now. Where files
    /// cannot be locked nobody is kept from anything, nor on Windows, where nobody can write what is locked.
    pub fn begin_note(&self) {
        if cfg!(unix) {
            let _ = self.0.lock_shared();
        }
    }

    /// Whether the log may be emptied now, because nobody is about to note something of it. Nobody begins to until
    /// [`Marker::let_go`].
    pub fn may_empty(&self) -> bool {
        cfg!(not(unix)) || !matches!(self.0.try_lock(), Err(TryLockError::WouldBlock))
    }

    /// Ends what was begun.
    pub fn let_go(&self) {
        if cfg!(unix) {
            let _ = self.0.unlock();
        }
    }

    /// Notes that so much of the log is on the disk, unless another process noted more of it.
    pub fn note(&mut self, mark: &Mark) -> io::Result<()> {
        if self.there()?.is_some_and(|there| there.salt == mark.salt && there.parts >= mark.parts) {
            return Ok(());
        }
        self.write(mark)
    }

    /// Notes that there is nothing in the log any more, on the disk at once: all that was in it is in the file.
    pub fn rest(&mut self) -> io::Result<()> {
        if self.there()?.is_some_and(|there| there.parts == 0 && there.is_kept_up) {
            return Ok(());
        }
        self.write(&Mark::default())?;
        self.0.sync_data()
    }

    fn there(&mut self) -> io::Result<Option<Mark>> {
        let mut bytes = [0; BYTES];
        self.0.seek(SeekFrom::Start(0))?;
        Ok(self.0.read_exact(&mut bytes).ok().and_then(|()| Mark::read(&bytes)))
    }

    fn write(&mut self, mark: &Mark) -> io::Result<()> {
        self.0.seek(SeekFrom::Start(0))?;
        self.0.write_all(&mark.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_was_written_and_not_if_it_was_changed() {
        let mark = Mark { salt: *b"12345678", parts: 4_711, is_kept_up: true };
        let bytes = mark.bytes();
        assert_eq!(Mark::read(&bytes), Some(mark));
        for at in 0..BYTES {
            let mut changed = bytes;
            changed[at] ^= 1;
            assert_eq!(Mark::read(&changed), None, "byte {at}");
        }
        assert_eq!(Mark::read(&[0; BYTES]), None);
        let mut earlier = [0; BYTES];
        earlier[..8].copy_from_slice(EARLIER);
        let sum = Sha256::digest(&earlier[..24]);
        earlier[24..].copy_from_slice(&sum[..8]);
        assert_eq!(Mark::read(&earlier), Some(Mark::default()));
    }
}
