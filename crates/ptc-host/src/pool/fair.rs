//! A queue that serves lanes in turn: whoever puts much into one lane waits behind their own, not before others.

use std::collections::VecDeque;
use std::sync::Arc;

/// Whose share a program uses; programs of nobody in particular have one together.
pub type Lane = Option<Arc<str>>;

/// First in, first out within a lane; one item of each lane in turn.
#[derive(Debug)]
pub struct Fair<T> {
    lanes: VecDeque<(Lane, VecDeque<T>)>,
    /// Room of lanes that ended, for those to come.
    spare: Vec<VecDeque<T>>,
}

/// How much of such room is kept.
const SPARE: usize = 4;

impl<T> Default for Fair<T> {
    fn default() -> Self {
        Fair { lanes: VecDeque::new(), spare: Vec::new() }
    }
}

impl<T> Fair<T> {
    /// Adds an item to a lane.
    pub fn push(&mut self, lane: &Lane, item: T) {
        if let Some((_, items)) = self.lanes.iter_mut().find(|(known, _)| known == lane) {
            return items.push_back(item);
        }
        let mut items = self.spare.pop().unwrap_or_default();
        items.push_back(item);
        self.lanes.push_back((lane.clone(), items));
    }

    /// The next item of the lane whose turn it is.
    pub fn pop(&mut self) -> Option<T> {
        let (lane, mut items) = self.lanes.pop_front()?;
        let item = items.pop_front();
        match items.is_empty() {
            false => self.lanes.push_back((lane, items)),
            true if self.spare.len() < SPARE => self.spare.push(items),
            true => {}
        }
        item
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.lanes.is_empty()
    }

    /// All items, by lane.
    pub fn take(&mut self) -> Vec<T> {
        std::mem::take(&mut self.lanes).into_iter().flat_map(|(_, items)| items).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_take_turns_however_much_is_in_one() {
        let (mut fair, a, b): (Fair<u32>, Lane, Lane) = (Fair::default(), Some("a".into()), Some("b".into()));
        (1..=4).for_each(|item| fair.push(&a, item));
        fair.push(&b, 10);
        fair.push(&None, 20);
        fair.push(&Some("b".into()), 11);
        let order: Vec<u32> = std::iter::from_fn(|| fair.pop()).collect();
        assert_eq!(order, [1, 10, 20, 2, 11, 3, 4]);
        assert!(fair.is_empty());
        fair.push(&b, 1);
        assert_eq!(fair.take(), [1]);
    }
}
