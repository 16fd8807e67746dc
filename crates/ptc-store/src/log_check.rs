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
//! last commit, a log that was cut off, one of which only zeros are left, and one that is gone before anything of it was copied
//! into its file. What cannot: a log that is gone or empty later looks like one that was copied.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::time::Duration;

use crate::StoreError;
use crate::mark::Mark;
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
    /// Which part, from 1; 0 is the beginning of the log.
    pub part: u64,
    /// Commits behind it that can still be seen.
    pub commits: u64,
    /// What that means.
    pub lost: Lost,
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
        self.part == 0 && self.lost == Lost::Acknowledged
    }

    /// Whether the store can go on by itself, because nothing is lost that anybody was told.
    pub fn is_harmless(&self) -> bool {
        self.lost == Lost::Untold
    }
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Damage { part, commits, lost } = self;
        let many = if *commits == 1 { "1 commit".to_owned() } else { format!("{commits} commits") };
        match (part, commits, lost) {
            _ if self.is_total() => {
                write!(
                    f,
                    "its log is gone, and all that was acknowledged with it: nothing of it was in the file yet"
                )
            }
            (0, ..) => write!(f, "the beginning of its log is broken, so nothing of it can be read"),
            (_, _, Lost::Untold) => {
                write!(f, "its log ends before part {part}, as after a loss of power; {many} behind it ")?;
                write!(f, "had not been acknowledged, and nothing else is lost")
            }
            (_, 0, _) => {
                write!(f, "part {part} of its log is broken or gone, and what was acknowledged with it")
            }
            (_, _, Lost::Acknowledged) => {
                write!(f, "part {part} of its log is broken, and {many} behind it are lost, ")?;
                write!(f, "although they had been acknowledged")
            }
            (_, _, Lost::Unknown) => {
                write!(f, "part {part} of its log is broken, and {many} behind it are lost")
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
        let noted = Mark::noted(&path);
        let now = match File::open(&log) {
            Ok(file) if file.metadata().is_ok_and(|meta| meta.len() == 0) => gone(&path, noted.as_ref()),
            Ok(file) => looked(BufReader::new(file), noted.as_ref()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => gone(&path, noted.as_ref()),
            Err(error) => Err(error),
        };
        let now = now.map_err(|error| StoreError::Unreachable {
            place: place::shown(place),
            cause: format!("its log: {error}"),
            fix: "look whether this user may read it".to_owned(),
        })?;
        match (&found, now) {
            (_, None) => return Ok(None),
            (None, Some(damage)) => found = Some(damage),
            // A break that moves is where somebody writes.
            (Some(before), Some(damage)) if before.part != damage.part => return Ok(None),
            (Some(_), Some(_)) => {}
        }
    }
    Ok(found)
}

/// The damage of a store whose log is not there, if something was on the disk with it and nothing is in the file: not even
/// the mark that every store gets with its first commit.
fn gone(store: &Path, noted: Option<&Mark>) -> io::Result<Option<Damage>> {
    const BEGINNING: usize = 100;
    const APPLICATION: usize = 68;
    if noted.is_none_or(|mark| mark.parts == 0) {
        return Ok(None);
    }
    let mut file = match File::open(store) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let mut beginning = [0; BEGINNING];
    let is_marked = filled(&mut file, &mut beginning)? && number(&beginning, APPLICATION) != 0;
    Ok((!is_marked).then_some(Damage { part: 0, commits: 0, lost: Lost::Acknowledged }))
}

fn looked(mut log: impl Read, noted: Option<&Mark>) -> io::Result<Option<Damage>> {
    let mut header = Vec::with_capacity(HEADER);
    log.by_ref().take(HEADER as u64).read_to_end(&mut header)?;
    let beginning = |lost| Some(Damage { part: 0, commits: 0, lost });
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
            (false, true) => beginning(Lost::Acknowledged),
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
    let damage = Damage { part: broken.unwrap_or(whole + 1), commits, lost };
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
mod tests {
    use super::*;

    /// A log of so many commits of three pages each, as SQLite writes one.
    fn log(commits: u32) -> Vec<u8> {
        const PAGE: usize = 512;
        let order = Order { big: false };
        let mut log = Vec::new();
        for number in [MAGIC, 3_007_000, PAGE as u32, 0, 7, 8] {
            log.extend(number.to_be_bytes());
        }
        let mut sum = order.add((0, 0), &log);
        log.extend([sum.0, sum.1].map(u32::to_be_bytes).concat());
        for frame in 0..commits * 3 {
            let ends = if frame % 3 == 2 { 9 } else { 0 };
            let head = [frame + 1, ends].map(u32::to_be_bytes).concat();
            let page = vec![frame as u8; PAGE];
            sum = order.add(order.add(sum, &head), &page);
            log.extend(head);
            log.extend([7, 8, sum.0, sum.1].map(u32::to_be_bytes).concat());
            log.extend(page);
        }
        log
    }

    fn look(log: &[u8]) -> Option<Damage> {
        looked(log, None).expect("it can be read")
    }

    const PART: usize = FRAME + 512;

    #[test]
    fn a_log_that_was_changed_before_its_last_commit_is_damaged() {
        let whole = log(4);
        assert_eq!(look(&whole), None);
        for (at, commits) in [(0, 4), (1, 4), (2, 3), (5, 2), (8, 1)] {
            let mut changed = whole.clone();
            changed[HEADER + at * PART + FRAME + 100] ^= 1;
            let damage = Damage { part: at as u64 + 1, commits, lost: Lost::Unknown };
            assert_eq!(look(&changed), Some(damage), "part {at}");
        }
        let mut beginning = whole;
        beginning[17] ^= 1;
        assert_eq!(look(&beginning), Some(Damage { part: 0, commits: 0, lost: Lost::Unknown }));
    }

    /// The salt of the logs here.
    const SALT: [u8; 8] = [0, 0, 0, 7, 0, 0, 0, 8];

    fn changed(log: &[u8], part: usize) -> Vec<u8> {
        let mut log = log.to_vec();
        log[HEADER + (part - 1) * PART + FRAME + 100] ^= 1;
        log
    }

    #[test]
    fn what_was_on_the_disk_is_told_from_what_was_lost_with_the_power() {
        let (whole, half) = (log(4), Mark { salt: SALT, parts: 6 });
        let look = |log: &[u8], mark: &Mark| looked(log, Some(mark)).expect("it can be read");
        assert_eq!(look(&whole, &half), None);
        for (part, commits, lost) in [
            (1, 4, Lost::Acknowledged),
            (5, 3, Lost::Acknowledged),
            (7, 2, Lost::Untold),
            (8, 2, Lost::Untold),
        ] {
            let damage = Damage { part: part as u64, commits, lost };
            assert_eq!(look(&changed(&whole, part), &half), Some(damage), "part {part}");
        }
        // A log of which nothing was synced since it began anew.
        let before = Mark { salt: [9; 8], parts: 600 };
        let damage = look(&changed(&whole, 2), &before).expect("a break");
        assert!(damage.is_harmless(), "{damage}");
    }

    #[test]
    fn a_log_that_lacks_its_last_commits_is_damaged_if_they_had_been_on_the_disk() {
        let (whole, all) = (log(4), Mark { salt: SALT, parts: 12 });
        let look = |log: &[u8]| looked(log, Some(&all)).expect("it can be read");
        assert_eq!(look(&whole), None);
        for (log, part) in [
            (changed(&whole, 12), 12),
            (changed(&whole, 11), 11),
            (whole[..HEADER + 9 * PART].to_vec(), 10),
            (whole[..HEADER + 2 * PART].to_vec(), 1),
        ] {
            let damage = look(&log).expect("something is lost");
            assert_eq!((damage.part, damage.lost), (part, Lost::Acknowledged));
        }
        assert_eq!(look(&[]), None, "it was copied into its file");
    }

    #[test]
    fn a_log_whose_beginning_is_gone_is_damaged() {
        let (whole, mark) = (log(4), Mark { salt: SALT, parts: 12 });
        for zeros in [HEADER, 100, PART, whole.len() - 1] {
            let mut zeroed = whole.clone();
            zeroed[..zeros].fill(0);
            let expected = Some(Damage { part: 0, commits: 0, lost: Lost::Unknown });
            assert_eq!(look(&zeroed), expected, "{zeros} zeros");
        }
        for length in 1..HEADER {
            assert!(look(&whole[..length]).is_some_and(|damage| !damage.is_harmless()), "{length} bytes");
            assert!(look(&vec![0; length]).is_some_and(|damage| !damage.is_harmless()), "{length} zeros");
        }
        let all_zero =
            |mark: Option<&Mark>| looked(&vec![0_u8; whole.len()][..], mark).expect("it can be read");
        let lost = all_zero(Some(&mark)).expect("it had been on the disk");
        assert_eq!((lost.part, lost.lost), (0, Lost::Acknowledged));
        assert_eq!(all_zero(Some(&Mark::default())), None, "nothing was ever on the disk");
        assert_eq!(all_zero(None), None);
    }

    /// So do logs of processes that were killed, and what was left by longer ones.
    #[test]
    fn a_log_that_ends_early_or_is_followed_by_something_older_is_not() {
        let whole = log(4);
        for end in (0..whole.len()).step_by(97).chain([HEADER, HEADER + 3 * PART]) {
            assert_eq!(look(&whole[..end]), None, "cut off at {end}");
        }
        // A change that was not committed, under a shorter one that was.
        let (short, mut left) = (log(2), log(4));
        left[HEADER + 6 * PART + FRAME] ^= 1;
        left.truncate(HEADER + 8 * PART);
        left[..short.len()].copy_from_slice(&short);
        assert_eq!(look(&left), None);
        // The log before this one had another salt.
        let mut older = log(4);
        for part in 6..12 {
            older[HEADER + part * PART + 8] ^= 1;
        }
        assert_eq!(look(&older), None);
        assert_eq!(look(&[0; 4_000]), None);
    }
}
