//! What goes wrong in a schedule, and how often.

use crate::random::Random;

/// What goes wrong, and in how many of 1,000 cases. Every schedule has rates of its own, many of them zero: what all goes
/// wrong at once hides what few faults do together.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rates {
    /// A message is lost.
    pub lost: u32,
    /// A message is late, by seconds.
    pub late: u32,
    /// A message from a client comes twice.
    pub doubled: u32,
    /// A process is killed between two steps.
    pub killed: u32,
    /// A process is killed while it commits, before or after.
    pub killed_in_commit: u32,
    /// A process is stopped for a while.
    pub stopped: u32,
    /// The machine loses its power.
    pub power: u32,
    /// The clock of a process jumps.
    pub clock: u32,
    /// The disk is full.
    pub full: u32,
    /// The store is locked by others.
    pub busy: u32,
    /// The connection to the store breaks at a commit.
    pub broken: u32,
    /// The disk cannot sync.
    pub unsynced: u32,
    /// The disk says that it has synced, and has not.
    pub lied: u32,
    /// The store answers so late that nobody waits any more.
    pub silent: u32,
}

impl Rates {
    /// Those of one schedule.
    pub fn of(random: &mut Random) -> Rates {
        let mut rate = |most: u64| match random.below(2) {
            0 => 0,
            _ => u32::try_from(1 + random.below(most)).unwrap_or(1),
        };
        let mut rates = Rates {
            lost: rate(150),
            late: rate(150),
            doubled: rate(200),
            killed: rate(25),
            killed_in_commit: rate(40),
            stopped: rate(25),
            power: rate(15),
            clock: rate(20),
            full: rate(60),
            busy: rate(40),
            broken: rate(60),
            unsynced: rate(30),
            lied: 0,
            silent: rate(40),
        };
        // Such a disk breaks what nobody else can keep, so most schedules have a better one.
        if random.below(16) == 0 {
            rates.lied = 200;
        }
        rates
    }
}
