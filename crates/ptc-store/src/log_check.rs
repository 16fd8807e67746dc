//! Damage of the write-ahead log of a file, found by looking at the log itself.
//!
//! SQLite reads a log up to the first part that is broken and takes that for its end, because the end of a log looks like
//! this when a process or a machine stops. If the break is in the middle, everything behind it is lost without a word: a
//! store goes on from an older state, and whatever was written down behind it may be done again. Every part carries a
//! checksum over all parts before it, so parts behind the break that were committed still show that they once followed.
//!
//! What can be found: bytes that changed in the middle of the log, or its beginning. What cannot: a log that was cut off
//! behind a commit, or that is gone, looks like one that never was longer; neither does a break in the very last commit show.
//! After a machine lost its power a break may also be what the disk had not written yet.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::PathBuf;
use std::time::Duration;

use crate::StoreError;
use crate::place::{self, Place};

/// Bytes of the beginning of a log.
const HEADER: usize = 32;
/// Bytes before each page.
const FRAME: usize = 24;
/// How a log begins; the last bit says in which order the bytes of numbers are added up.
const MAGIC: u32 = 0x377f_0682;

/// How often a log is looked at before it counts as damaged: somebody may be writing it.
const LOOKS: usize = 3;
/// The time between two looks.
const PAUSE: Duration = Duration::from_millis(100);

/// A break in a log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("part {part} of its log is broken, and {commits} commits behind it are lost")]
pub struct Damage {
    /// Which part, from 1; 0 is the beginning of the log.
    pub part: u64,
    /// Commits behind it that can still be seen.
    pub commits: u64,
}

/// Looks at the log of a store before it is opened. Stores without a log of their own have no such damage.
pub fn damage(place: &str) -> Result<Option<Damage>, StoreError> {
    let Place::File(path) = place::parse(place)? else { return Ok(None) };
    let mut name = path.into_os_string();
    name.push("-wal");
    let path = PathBuf::from(name);
    let mut found = None;
    for look in 0..LOOKS {
        if look > 0 {
            std::thread::sleep(PAUSE);
        }
        let now = match File::open(&path) {
            Ok(file) => looked(BufReader::new(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
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

fn looked(mut log: impl Read) -> io::Result<Option<Damage>> {
    let mut header = [0; HEADER];
    if !filled(&mut log, &mut header)? || header == [0; HEADER] {
        return Ok(None);
    }
    let (magic, size) = (number(&header, 0), number(&header, 8));
    let order = Order { big: magic & 1 == 1 };
    let mut before = order.add((0, 0), &header[..24]);
    let is_size = size.is_power_of_two() && (512..=65_536).contains(&size);
    if magic & !1 != MAGIC || !is_size || before != pair(&header, 24) {
        // Nothing tells how long its parts are. One that was never used has none.
        let mut rest = Vec::new();
        log.take(FRAME as u64).read_to_end(&mut rest)?;
        return Ok(rest.iter().any(|byte| *byte != 0).then_some(Damage { part: 0, commits: 0 }));
    }
    let salt = &header[16..24];
    let (mut frame, mut page) = ([0; FRAME], vec![0; size as usize]);
    let (mut part, mut broken, mut commits) = (0, None, 0);
    while filled(&mut log, &mut frame)? && filled(&mut log, &mut page)? {
        part += 1;
        let stored = pair(&frame, 16);
        let follows = frame[8..16] == *salt && order.add(order.add(before, &frame[..8]), &page) == stored;
        let is_commit = number(&frame, 4) != 0;
        match broken {
            None if !follows => broken = Some(part),
            // Parts of a change that was never committed may lie here, but no commit.
            Some(_) if follows && is_commit => commits += 1,
            _ => {}
        }
        before = stored;
    }
    Ok(broken.filter(|_| commits > 0).map(|part| Damage { part, commits }))
}

/// Fills a buffer; false if there is less.
fn filled(log: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match log.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn number(bytes: &[u8], at: usize) -> u32 {
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
        looked(log).expect("it can be read")
    }

    const PART: usize = FRAME + 512;

    #[test]
    fn a_log_that_was_changed_before_its_last_commit_is_damaged() {
        let whole = log(4);
        assert_eq!(look(&whole), None);
        for (at, commits) in [(0, 4), (1, 4), (2, 3), (5, 2), (8, 1)] {
            let mut changed = whole.clone();
            changed[HEADER + at * PART + FRAME + 100] ^= 1;
            assert_eq!(look(&changed), Some(Damage { part: at as u64 + 1, commits }), "part {at}");
        }
        let mut beginning = whole;
        beginning[17] ^= 1;
        assert_eq!(look(&beginning), Some(Damage { part: 0, commits: 0 }));
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
