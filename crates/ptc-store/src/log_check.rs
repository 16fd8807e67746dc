//! Damage of the write-ahead log of a file, found by looking at the log itself.
//!
//! SQLite reads a log up to the first part that is broken and takes that for its end, because the end of a log looks like
//! this when a process or a machine stops. If the break is in the middle, everything behind it is lost without a word: a
//! store goes on from an older state, and whatever was written down behind it may be done again. Every part carries a
//! checksum over all parts before it, so parts behind the break that were committed still show that they once followed.
//!
//! A machine that lost its power leaves a log like this too: until a disk is asked to write all parts, it writes them in any
//! order. How far it was asked is noted beside the log (`mark.rs`), and what is broken behind that was told to nobody.
//!
//! What can be found: bytes that changed in the middle of the log, or its beginning; with the note also a change of the very
//! last commit, a log that was cut off, one of which only zeros are left, and one that is gone or empty although its file was
//! not written since. What cannot: a log that is gone after a part of it was copied into the file, beside which nothing was
//! noted since.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::time::Duration;

use crate::StoreError;
use crate::mark::{self, Mark, Noted};
use crate::place::{self, Place};
use crate::sqlite::beside;

/// Bytes of the beginning of a log.
pub(crate) const HEADER: usize = 32;
/// Bytes before each page.
pub(crate) const FRAME: usize = 24;
/// How a log begins; the last bit says in which order the bytes of numbers are added up.
const MAGIC: u32 = 0x377f_0682;

/// How often a log is looked at before it counts as damaged: somebody may be writing it.
const LOOKS: usize = 3;
/// The time between two looks.
const PAUSE: Duration = Duration::from_millis(100);

/// A break in a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// What is broken.
    pub of: Broken,
    /// Which part of the log, from 1; 0 is its beginning.
    pub part: u64,
    /// Commits behind it that can still be seen.
    pub commits: u64,
    /// What that means.
    pub lost: Lost,
}

/// What is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// A part of the log, or its beginning.
    Log,
    /// The log is gone. What was copied into the file before is there.
    Gone,
    /// The log is gone, and nothing of it was in the file: nothing is left that a store could go on with.
    All,
    /// What was noted beside the log.
    Note,
}

/// What is lost behind a break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// Something that was acknowledged: it was on the disk, and whatever followed from it may be done again.
    Acknowledged,
    /// Only what was told to nobody, as after a loss of power. The store goes on as if that had never been.
    Untold,
    /// Nobody noted how far the log was on the disk.
    Unknown,
}

impl Damage {
    /// Whether nothing is left that a store could go on with.
    pub fn is_total(&self) -> bool {
        self.of == Broken::All
    }

    fn of(of: Broken, lost: Lost) -> Damage {
        Damage { of, part: 0, commits: 0, lost }
    }

    /// Whether the store can go on by itself, because nothing is lost that anybody was told.
    pub fn is_harmless(&self) -> bool {
        self.lost == Lost::Untold
    }
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Damage { of, part, commits, lost } = self;
        let many = if *commits == 1 { "1 commit".to_owned() } else { format!("{commits} commits") };
        let are = if *commits == 1 { "is" } else { "are" };
        let whole = match of {
            Broken::Log => None,
            Broken::Gone => {
                Some("its log is gone, and what was acknowledged since the file was last written with it")
            }
            Broken::All => Some(
                "its log is gone, and all that was acknowledged with it: nothing of it was in the file yet",
            ),
            Broken::Note => Some(
                "what was noted beside its log (`-synced`) is broken, and nothing else tells whether it is whole",
            ),
        };
        if let Some(told) = whole {
            return f.write_str(told);
        }
        match (part, commits, lost) {
            (0, ..) => write!(f, "the beginning of its log is broken, so nothing of it can be read"),
            (_, _, Lost::Untold) => {
                write!(f, "its log ends before part {part}, as after a loss of power; {many} behind it ")?;
                write!(f, "had not been acknowledged, and nothing else is lost")
            }
            (_, 0, _) => {
                write!(f, "part {part} of its log is broken or gone, and what was acknowledged with it")
            }
            (_, _, Lost::Acknowledged) => {
                let they = if *commits == 1 { "it" } else { "they" };
                write!(f, "part {part} of its log is broken, and {many} behind it {are} lost, ")?;
                write!(f, "although {they} had been acknowledged")
            }
            (_, _, Lost::Unknown) => {
                write!(f, "part {part} of its log is broken, and {many} behind it {are} lost")
            }
        }
    }
}

/// Looks at the log of a store before it is opened. Stores without a log of their own have no such damage.
pub fn damage(place: &str) -> Result<Option<Damage>, StoreError> {
    let Place::File(path) = place::parse(place)? else { return Ok(None) };
    let log = beside(&path, "-wal");
    let mut found = None;
    for look in 0..LOOKS {
        if look > 0 {
            std::thread::sleep(PAUSE);
        }
        // First: whoever syncs the log meanwhile notes it afterwards.
        let now = Noted::beside(&path).and_then(|noted| {
            let mut now = match File::open(&log) {
                Ok(file) if file.metadata().is_ok_and(|meta| meta.len() == 0) => gone(&path, noted.mark())?,
                Ok(file) => looked(BufReader::new(file), noted.mark())?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => gone(&path, noted.mark())?,
                Err(error) => return Err(error),
            };
            if let Some(damage) = now.as_mut().filter(|damage| damage.of == Broken::Gone)
                && !begins(&path)?
            {
                damage.of = Broken::All;
            }
            let of_note = (noted == Noted::Broken).then(|| Damage::of(Broken::Note, Lost::Unknown));
            Ok(now.or(of_note))
        });
        let now = now.map_err(|error| StoreError::Unreachable {
            place: place::shown(place),
            cause: format!("its log: {error}"),
            fix: "look whether this user may read it".to_owned(),
        })?;
        match (&found, now) {
            (_, None) => return Ok(None),
            (None, Some(damage)) => found = Some(damage),
            // A break that moves is where somebody writes.
            (Some(before), Some(damage)) if (before.of, before.part) != (damage.of, damage.part) => {
                return Ok(None);
            }
            (Some(_), Some(_)) => {}
        }
    }
    Ok(found)
}

/// Whether a log can be read to what was noted of it.
pub(crate) fn is_whole(log: File, noted: Option<&Mark>) -> io::Result<bool> {
    Ok(looked(BufReader::new(log), noted)?.is_none())
}

/// The damage of a store whose log is not there, if something was on the disk with it that is not in the file. The file tells
/// by its time: whoever copies a log into it does that after the last note.
fn gone(store: &Path, noted: Option<&Mark>) -> io::Result<Option<Damage>> {
    let Some(mark) = noted.filter(|mark| mark.parts > 0) else { return Ok(None) };
    let file = match std::fs::metadata(store) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let is_older = mark.is_kept_up && file.modified()? < mark::written(store)?;
    Ok((is_older || !begins(store)?).then(|| Damage::of(Broken::Gone, Lost::Acknowledged)))
}

/// Whether anything of a store is in its file: the mark that each gets with its first commit.
fn begins(store: &Path) -> io::Result<bool> {
    const BEGINNING: usize = 100;
    const APPLICATION: usize = 68;
    let mut beginning = [0; BEGINNING];
    Ok(filled(&mut File::open(store)?, &mut beginning)? && number(&beginning, APPLICATION) != 0)
}

fn looked(mut log: impl Read, noted: Option<&Mark>) -> io::Result<Option<Damage>> {
    let mut header = Vec::with_capacity(HEADER);
    log.by_ref().take(HEADER as u64).read_to_end(&mut header)?;
    let beginning = |lost| Some(Damage::of(Broken::Log, lost));
    match header.len() {
        // It was copied into its file.
        0 => return Ok(None),
        // Whoever begins a log writes all of its beginning at once.
        1..HEADER => return Ok(beginning(Lost::Unknown)),
        _ => {}
    }
    if header.iter().all(|byte| *byte == 0) {
        // Of a log that was never on the disk nothing is missed. Of another one there would be a beginning.
        let noted = noted.is_some_and(|mark| mark.parts > 0);
        return Ok(match (any_set(&mut log)?, noted) {
            (true, _) => beginning(Lost::Unknown),
            (false, true) => Some(Damage::of(Broken::Gone, Lost::Acknowledged)),
            (false, false) => None,
        });
    }
    let (magic, size) = (number(&header, 0), number(&header, 8));
    let order = Order { big: magic & 1 == 1 };
    let mut before = order.add((0, 0), &header[..24]);
    let is_size = size.is_power_of_two() && (512..=65_536).contains(&size);
    if magic & !1 != MAGIC || !is_size || before != pair(&header, 24) {
        // Nothing tells how long its parts are. One that was never used has none.
        let mut rest = Vec::new();
        log.take(FRAME as u64).read_to_end(&mut rest)?;
        return Ok(if rest.iter().any(|byte| *byte != 0) { beginning(Lost::Unknown) } else { None });
    }
    let salt = &header[16..24];
    let (mut frame, mut page) = ([0; FRAME], vec![0; size as usize]);
    let (mut part, mut whole, mut broken, mut commits) = (0, 0, None, 0);
    while filled(&mut log, &mut frame)? && filled(&mut log, &mut page)? {
        part += 1;
        let stored = pair(&frame, 16);
        let follows = frame[8..16] == *salt && order.add(order.add(before, &frame[..8]), &page) == stored;
        let is_commit = number(&frame, 4) != 0;
        match broken {
            None if !follows => broken = Some(part),
            None if is_commit => whole = part,
            // Parts of a change that was never committed may lie here, but no commit.
            Some(_) if follows && is_commit => commits += 1,
            _ => {}
        }
        before = stored;
    }
    let lost = match noted {
        None => Lost::Unknown,
        Some(mark) if mark.salt == *salt && mark.parts > whole => Lost::Acknowledged,
        // Of another log, which is in the file by now, or of nothing that is broken.
        Some(_) => Lost::Untold,
    };
    let damage = Damage { of: Broken::Log, part: broken.unwrap_or(whole + 1), commits, lost };
    Ok((commits > 0 || lost == Lost::Acknowledged).then_some(damage))
}

/// Whether there is anything but zeros.
fn any_set(log: &mut impl Read) -> io::Result<bool> {
    let mut piece = [0; 8_192];
    loop {
        match log.read(&mut piece) {
            Ok(0) => return Ok(false),
            Ok(read) if piece[..read].iter().any(|byte| *byte != 0) => return Ok(true),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Fills a buffer; false if there is less.
fn filled(log: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match log.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

pub(crate) fn number(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

fn pair(bytes: &[u8], at: usize) -> (u32, u32) {
    (number(bytes, at), number(bytes, at + 4))
}

/// The checksum of SQLite's logs.
#[derive(Clone, Copy)]
struct Order {
    big: bool,
}

impl Order {
    fn add(self, (mut one, mut two): (u32, u32), bytes: &[u8]) -> (u32, u32) {
        let word = |bytes: &[u8]| {
            let word = [bytes[0], bytes[1], bytes[2], bytes[3]];
            if self.big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
        };
        for eight in bytes.chunks_exact(8) {
            one = one.wrapping_add(word(&eight[..4])).wrapping_add(two);
            two = two.wrapping_add(word(&eight[4..])).wrapping_add(one);
        }
        (one, two)
    }
}

#[cfg(test)]
#[path = "log_check_tests.rs"]
mod tests;
