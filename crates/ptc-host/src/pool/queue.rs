//! Who runs next on a worker. Programs that are new or have just got their answers go before those that
//! are busy computing, but never so many in a row that the busy ones stand still. Among each of both, owners take turns.

use super::fair::{Fair, Lane};

/// Turns in a row that programs in front get while busy ones wait.
const STREAK: u32 = 64;

/// Fuel of a turn in front: little enough that, if five hundred programs get their answers at once, the
/// last one goes on within 50 ms even if all use their turn for work that is dear for its fuel (25 ns).
pub(super) const FRONT_FUEL: u64 = 4_000;

/// Fuel of a turn of a busy program: half a millisecond of such work at most.
pub(super) const BUSY_FUEL: u64 = 20_000;

/// The programs of a worker that can run.
#[derive(Debug, Default)]
pub(super) struct RunQueue {
    front: Fair<u64>,
    busy: Fair<u64>,
    streak: u32,
}

impl RunQueue {
    /// Adds a program that is new or has its answers.
    pub fn push_front_class(&mut self, id: u64, lane: &Lane) {
        self.front.push(lane, id);
    }

    /// Adds a program that used up its turn.
    pub fn push_busy(&mut self, id: u64, lane: &Lane) {
        self.busy.push(lane, id);
    }

    /// The next program and the fuel of its turn.
    pub fn next(&mut self) -> Option<(u64, u64)> {
        let busy_first = self.front.is_empty() || self.streak >= STREAK && !self.busy.is_empty();
        if busy_first {
            self.streak = 0;
            return self.busy.pop().map(|id| (id, BUSY_FUEL));
        }
        self.streak += 1;
        self.front.pop().map(|id| (id, FRONT_FUEL))
    }

    /// Whether nothing can run.
    pub fn is_empty(&self) -> bool {
        self.front.is_empty() && self.busy.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(queue: &mut RunQueue, count: usize) -> Vec<u64> {
        (0..count).filter_map(|_| queue.next()).map(|(id, _)| id).collect()
    }

    #[test]
    fn busy_programs_take_turns() {
        let mut queue = RunQueue::default();
        (1..=3).for_each(|id| queue.push_busy(id, &None));
        let mut order = Vec::new();
        for _ in 0..7 {
            let (id, fuel) = queue.next().unwrap();
            assert_eq!(fuel, BUSY_FUEL);
            order.push(id);
            queue.push_busy(id, &None);
        }
        assert_eq!(order, [1, 2, 3, 1, 2, 3, 1]);
    }

    #[test]
    fn a_program_with_its_answer_goes_before_all_busy_ones() {
        let mut queue = RunQueue::default();
        (1..=1_000).for_each(|id| queue.push_busy(id, &None));
        assert_eq!(ids(&mut queue, 2), [1, 2]);
        queue.push_front_class(7_777, &None);
        assert_eq!(queue.next(), Some((7_777, FRONT_FUEL)));
        assert_eq!(ids(&mut queue, 1), [3]);
    }

    #[test]
    fn programs_in_front_cannot_starve_a_busy_one() {
        let mut queue = RunQueue::default();
        queue.push_busy(0, &None);
        (1..=3).for_each(|id| queue.push_front_class(id, &None));
        let mut turns_until_busy = 0;
        while let Some((id, _)) = queue.next() {
            if id == 0 {
                break;
            }
            turns_until_busy += 1;
            queue.push_front_class(id, &None);
        }
        assert_eq!(turns_until_busy, STREAK);
    }

    #[test]
    fn an_owner_with_many_busy_programs_gets_as_many_turns_as_one_with_a_single_one() {
        let (mut queue, many, one): (_, Lane, Lane) =
            (RunQueue::default(), Some("many".into()), Some("one".into()));
        (1..=6).for_each(|id| queue.push_busy(id, &many));
        queue.push_busy(0, &one);
        let mut turns = 0;
        for _ in 0..100 {
            let (id, _) = queue.next().unwrap();
            turns += usize::from(id == 0);
            queue.push_busy(id, if id == 0 { &one } else { &many });
        }
        assert_eq!(turns, 50);
    }

    #[test]
    fn an_empty_queue_has_nobody() {
        let mut queue = RunQueue::default();
        assert!(queue.is_empty());
        assert_eq!(queue.next(), None);
        queue.push_front_class(1, &None);
        assert!(!queue.is_empty());
        assert_eq!(ids(&mut queue, 5), [1]);
    }
}
