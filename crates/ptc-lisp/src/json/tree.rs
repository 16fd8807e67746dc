//! How much memory a value takes as a tree of JSON, in which hosts hold what they are given, without making it.

use serde_json::Value as Json;

use super::keys;
use crate::names::Names;
use crate::value::extent::extent;
use crate::value::walk::{EntryStep, Parts, Place, Visitor, WalkStep, walk};
use crate::value::{MAX_DEPTH, Value};

/// What an allocation takes beside its bytes.
pub(crate) const ALLOCATION: usize = 32;
/// What an empty object takes, and each of its fields without the text of its key.
pub(crate) const OBJECT: usize = 128;
pub(crate) const FIELD: usize = 120;

/// A tree takes about so many times what its text does at most: an empty object is an element of text. Only arrays in arrays
/// take more, which is little in a short text.
const TIMES_TEXT: usize = 16;

/// Up to so many bytes of text a tree is small, whatever it is of.
const SMALL_TEXT: usize = 512;

/// About how many bytes a value takes as a tree of which the text is so long; `None` if that is more than `room`.
pub(crate) fn tree_bytes(value: &Value, names: &Names, text: usize, room: usize) -> Option<usize> {
    let most = text.saturating_mul(TIMES_TEXT);
    if text <= SMALL_TEXT && most <= room {
        return Some(most);
    }
    let mut count = TreeCount { names, left: room };
    walk(value, &mut count).ok()?;
    Some(room - count.left)
}

struct TreeCount<'a> {
    names: &'a Names,
    /// Bytes that the tree may still take.
    left: usize,
}

/// The tree is larger than it may be.
struct TreeTooLarge;

impl TreeCount<'_> {
    fn take(&mut self, bytes: usize) -> Result<(), TreeTooLarge> {
        self.left = self.left.checked_sub(bytes).ok_or(TreeTooLarge)?;
        Ok(())
    }

    /// The text of a value that JSON has as text, or may have.
    fn text_of(&mut self, value: &Value) -> Result<(), TreeTooLarge> {
        let bytes = extent(value, self.names, self.left).unwrap_or(self.left);
        self.take(bytes.saturating_add(ALLOCATION))
    }
}

impl Visitor for TreeCount<'_> {
    type Mark = ();
    type Stop = TreeTooLarge;

    const LEVELS: u16 = MAX_DEPTH;

    fn enter(&mut self, value: &Value) -> Result<WalkStep<()>, TreeTooLarge> {
        if let Some(parts) = Parts::of(value) {
            self.take(if value.is_map() { OBJECT } else { ALLOCATION })?;
            return Ok(WalkStep::Into(parts, ()));
        }
        match value {
            Value::Nil | Value::Unbound | Value::Bool(_) | Value::Int(_) | Value::Float(_) => {}
            Value::Str(text) => self.take(text.byte_len() + ALLOCATION)?,
            other => self.text_of(other)?,
        }
        Ok(WalkStep::Done)
    }

    fn item(&mut self, (): &mut (), _: usize) -> Result<(), TreeTooLarge> {
        self.take(size_of::<Json>())
    }

    fn entry(&mut self, (): &mut (), _: usize, key: &Value) -> Result<EntryStep, TreeTooLarge> {
        self.take(FIELD)?;
        match keys::text(key, self.names) {
            Some(text) => self.take(text.len() + ALLOCATION)?,
            None => self.text_of(key)?,
        }
        Ok(EntryStep::Value)
    }

    fn leave(&mut self, (): ()) -> Result<(), TreeTooLarge> {
        Ok(())
    }

    /// How deep a value may nest is found out when its text is measured.
    fn too_deep(&mut self, (): (), _: Place<'_>) -> Result<(), TreeTooLarge> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_tree_takes_more_times_its_text_than_is_taken_for_granted() {
        let names = Names::default();
        let one = |key: &str, value: Value| Value::map_of([(Value::str(key), value)]);
        for part in [
            Value::map_of([]),
            Value::vector(Vec::new()),
            Value::Int(1),
            Value::str(""),
            one("", Value::Nil),
            one("", Value::map_of([])),
            one("a", one("b", Value::vector(vec![Value::str("c")]))),
        ] {
            let value = Value::vector(vec![part; 1_000]);
            let text = extent(&value, &names, usize::MAX).unwrap_or(0);
            let tree = tree_bytes(&value, &names, text, usize::MAX).unwrap_or(usize::MAX);
            assert!(tree <= TIMES_TEXT * text, "{value:?}: {tree} of {text}");
            assert_eq!(tree_bytes(&value, &names, text, tree - 1), None);
        }
    }
}
