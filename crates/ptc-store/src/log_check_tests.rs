//! Logs as SQLite writes them, changed in every way that can be found and in some that cannot.

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
        let (of, part) = (Broken::Log, at as u64 + 1);
        let damage = Damage { of, part, commits, lost: Lost::Unknown };
        assert_eq!(look(&changed), Some(damage), "part {at}");
    }
    let mut beginning = whole;
    beginning[17] ^= 1;
    assert_eq!(look(&beginning), Some(Damage::of(Broken::Log, Lost::Unknown)));
}

/// The salt of the logs here.
const SALT: [u8; 8] = [0, 0, 0, 7, 0, 0, 0, 8];

fn mark(parts: u64) -> Mark {
    Mark { salt: SALT, parts, is_kept_up: true }
}

fn changed(log: &[u8], part: usize) -> Vec<u8> {
    let mut log = log.to_vec();
    log[HEADER + (part - 1) * PART + FRAME + 100] ^= 1;
    log
}

#[test]
fn what_was_on_the_disk_is_told_from_what_was_lost_with_the_power() {
    let (whole, half) = (log(4), mark(6));
    let look = |log: &[u8], mark: &Mark| looked(log, Some(mark)).expect("it can be read");
    assert_eq!(look(&whole, &half), None);
    for (part, commits, lost) in
        [(1, 4, Lost::Acknowledged), (5, 3, Lost::Acknowledged), (7, 2, Lost::Untold), (8, 2, Lost::Untold)]
    {
        let damage = Damage { of: Broken::Log, part: part as u64, commits, lost };
        assert_eq!(look(&changed(&whole, part), &half), Some(damage), "part {part}");
    }
    // A log of which nothing was synced since it began anew.
    let before = Mark { salt: [9; 8], ..mark(600) };
    let damage = look(&changed(&whole, 2), &before).expect("a break");
    assert!(damage.is_harmless(), "{damage}");
}

#[test]
fn a_log_that_lacks_its_last_commits_is_damaged_if_they_had_been_on_the_disk() {
    let (whole, all) = (log(4), mark(12));
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
    let (whole, mark) = (log(4), mark(12));
    for zeros in [HEADER, 100, PART, whole.len() - 1] {
        let mut zeroed = whole.clone();
        zeroed[..zeros].fill(0);
        let expected = Some(Damage::of(Broken::Log, Lost::Unknown));
        assert_eq!(look(&zeroed), expected, "{zeros} zeros");
    }
    for length in 1..HEADER {
        assert!(look(&whole[..length]).is_some_and(|damage| !damage.is_harmless()), "{length} bytes");
        assert!(look(&vec![0; length]).is_some_and(|damage| !damage.is_harmless()), "{length} zeros");
    }
    let all_zero = |mark: Option<&Mark>| looked(&vec![0_u8; whole.len()][..], mark).expect("it can be read");
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
