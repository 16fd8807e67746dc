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
}
