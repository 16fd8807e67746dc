//! Room that collections have beyond their length.
//!
//! Memory is counted by lengths, so that a machine that was dumped and loaded counts the same. Then capacities
//! must not be far from lengths, or a program could hold on to much that nobody counts.

/// Items of a new collection, without much room to spare: whoever collected them may not have known how many
/// there would be.
#[inline]
pub fn fitted<T>(mut items: Vec<T>) -> Vec<T> {
    if items.capacity() > items.len() + items.len() / 2 + 4 {
        items.shrink_to_fit();
    }
    items
}

/// Items that a collection may have room for whatever its length: many small ones add up.
const SPARE: usize = 8;

/// Gives back room after items were taken out in place, which may go on, one by one.
#[inline]
pub fn release<T>(items: &mut Vec<T>) {
    if items.capacity() > 4 * items.len() + SPARE {
        items.shrink_to(2 * items.len());
    }
}

/// For how many values a body has room, in one byte: any number up to [`Room::EXACT`], above that four steps
/// from one power of two to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room(u8);

impl Room {
    const EXACT: usize = 16;

    /// The least room for `count` values.
    #[inline]
    pub fn of(count: usize) -> Room {
        if count <= Room::EXACT {
            return Room(count as u8);
        }
        let power = (count - 1).ilog2();
        let step = (count - 1) >> (power - 2) & 3;
        Room((Room::EXACT + 1 + 4 * (power as usize - 4) + step) as u8)
    }

    /// How many values there are places for.
    #[inline]
    pub fn places(self) -> usize {
        match usize::from(self.0).checked_sub(Room::EXACT + 1) {
            None => usize::from(self.0),
            Some(step) => (5 + step % 4) << (2 + step / 4),
        }
    }

    /// The room of a body that is full and goes on growing.
    pub fn for_one_more(self) -> Room {
        let more = self.places() + 1;
        Room::of(if more > Room::EXACT { more.next_power_of_two() } else { more + more / 2 })
    }

    /// What is enough after values were taken out, if that is much less.
    pub fn released(self, count: usize) -> Option<Room> {
        (self.places() > 4 * count + SPARE).then(|| Room::of(2 * count))
    }
}

/// A new text, without much room to spare.
#[inline]
pub fn fitted_text(mut text: String) -> String {
    if text.capacity() > text.len() + text.len() / 2 + 64 {
        text.shrink_to_fit();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacities_stay_near_lengths() {
        let mut long = Vec::with_capacity(1000);
        long.push(1);
        assert!(fitted(long.clone()).capacity() <= 5);
        long.extend(0..900);
        while long.pop().is_some() {
            release(&mut long);
            assert!(long.capacity() <= 4 * long.len() + SPARE);
        }
        assert!(fitted_text(String::with_capacity(1000)).capacity() <= 64);
    }

    #[test]
    fn a_byte_says_how_much_room_there_is() {
        for count in (0..5000).chain([1 << 20, (1 << 20) + 1, u32::MAX as usize]) {
            let places = Room::of(count).places();
            assert!(places >= count && places <= count + count / 4, "{places} for {count}");
            assert!(count > Room::EXACT || places == count);
            assert_eq!(Room::of(places), Room::of(count));
            let more = Room::of(count).for_one_more().places();
            assert!(more > places && more <= 2 * places + 2, "{more} after {places}");
        }
        assert_eq!(Room::of(100).released(23), Some(Room::of(46)));
        assert_eq!(Room::of(100).released(50), None);
    }
}
