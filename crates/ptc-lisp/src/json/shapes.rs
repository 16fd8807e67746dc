//! The keys that objects of one text have had, and which of them to expect where.
//!
//! A place is a member of a shape, or the document itself; the items of an array stand in the place of
//! the array. What was seen in a place last is expected there next.

use std::rc::Rc;

use crate::names::Names;
use crate::value::equal::same_key;
use crate::value::{Layout, Map, Shared, Value};

/// The place of values whose object has no known shape yet.
pub(super) const UNKNOWN: u32 = 1;

/// Texts with more shapes than this get no new ones.
const MOST_SHAPES: usize = 256;

/// Objects with more keys than this are dictionaries: no other will have the same keys.
const MOST_KEYS: usize = 64;

/// How many of the latest shapes are searched for one that fits an object that was not expected.
const SEARCHED: usize = 32;

/// The keys of objects.
struct ObjectShape {
    layout: Shared<Layout>,
    /// Each key as it stands in the text, in quotes; nothing if it must be written with an escape.
    texts: Vec<Box<[u8]>>,
    /// What was last seen before the value of each key: the end of the value before, the key, the colon.
    joints: Box<[Joint]>,
    /// The place of the first member; the others follow.
    first_place: u32,
}

/// What stands between two values, up to a length that is compared at once.
#[derive(Clone, Copy, Default)]
pub(super) struct Joint {
    bytes: [u8; Joint::LONGEST],
    /// Nothing was seen yet if it is zero.
    len: u8,
}

impl Joint {
    pub(super) const LONGEST: usize = 31;
    const NONE: &Joint = &Joint { bytes: [0; Joint::LONGEST], len: 0 };

    fn of(text: &[u8]) -> Joint {
        let mut joint = Joint::default();
        if let Some(bytes) = joint.bytes.get_mut(..text.len()) {
            bytes.copy_from_slice(text);
            joint.len = text.len() as u8;
        }
        joint
    }

    /// Its length, if a text begins with it and goes on for a while.
    #[inline]
    pub(super) fn begins(&self, text: &[u8]) -> Option<usize> {
        let len = usize::from(self.len);
        let (there, own) = (text.first_chunk::<16>()?, self.bytes.first_chunk::<16>()?);
        let differ = u128::from_le_bytes(*there) ^ u128::from_le_bytes(*own);
        // Bytes that differ first stand lowest.
        let same = differ.trailing_zeros() as usize / 8;
        if same >= len {
            return (len > 0).then_some(len);
        }
        (len > 16 && same == 16 && text[16..].starts_with(&self.bytes[16..len])).then_some(len)
    }
}

/// All shapes so far.
pub(super) struct Shapes {
    known: Vec<ObjectShape>,
    /// One more than the shape that was seen last in each place.
    last: Vec<u32>,
}

impl Default for Shapes {
    fn default() -> Self {
        Shapes { known: Vec::new(), last: vec![0; UNKNOWN as usize + 1] }
    }
}

/// Stands for no shape: no key of it can be expected.
const NONE: u32 = u32::MAX;

impl Shapes {
    /// The shape to expect in a place.
    #[inline]
    pub(super) fn expected(&self, place: u32) -> u32 {
        self.last[place as usize].wrapping_sub(1)
    }

    /// Takes note of the shape in a place.
    #[inline]
    pub(super) fn expect(&mut self, place: u32, shape: u32) {
        self.last[place as usize] = shape + 1;
    }

    /// A key of a shape as it stands in the text.
    #[inline]
    pub(super) fn key_text(&self, shape: u32, at: usize) -> Option<&[u8]> {
        if shape == NONE {
            return None;
        }
        self.known[shape as usize].texts.get(at).map(|text| &**text).filter(|text| !text.is_empty())
    }

    /// What is expected before the value of a member.
    #[inline]
    pub(super) fn joint(&self, shape: u32, at: usize) -> &Joint {
        self.known.get(shape as usize).and_then(|shape| shape.joints.get(at)).unwrap_or(Joint::NONE)
    }

    /// Takes note of what stands before the value of a member.
    pub(super) fn learn(&mut self, shape: u32, at: usize, text: &[u8]) {
        if let Some(joint) = self.known[shape as usize].joints.get_mut(at) {
            *joint = Joint::of(text);
        }
    }

    /// The place of a member.
    #[inline]
    pub(super) fn place(&self, shape: u32, at: usize) -> u32 {
        self.known[shape as usize].first_place + at as u32
    }

    pub(super) fn keys(&self, shape: u32) -> &[Value] {
        self.layout(shape).keys()
    }

    /// The keys of a shape.
    #[inline]
    pub(super) fn layout(&self, shape: u32) -> &Shared<Layout> {
        &self.known[shape as usize].layout
    }

    /// The shape of an object; new if there is room for it.
    pub(super) fn of(&mut self, map: &Map, names: &Names) -> Option<u32> {
        let layout = map.layout()?;
        if layout.len() > MOST_KEYS {
            return None;
        }
        let same = |known: &ObjectShape| {
            let (a, b) = (known.layout.keys(), layout.keys());
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_key(a, b))
        };
        let searched = self.known.len().saturating_sub(SEARCHED);
        if let Some(found) = self.known[searched..].iter().rposition(same) {
            return Some((searched + found) as u32);
        }
        if self.known.len() == MOST_SHAPES {
            return None;
        }
        let texts = layout.keys().iter().map(|key| key_text(key, names)).collect();
        let joints = vec![Joint::default(); layout.slots()].into();
        let first_place = self.last.len() as u32;
        self.last.resize(self.last.len() + layout.len(), 0);
        self.known.push(ObjectShape { layout: Rc::clone(layout), texts, joints, first_place });
        Some(self.known.len() as u32 - 1)
    }
}

fn key_text(key: &Value, names: &Names) -> Box<[u8]> {
    let text = match key {
        Value::Kw(name) => names.text(*name),
        Value::Str(text) => text.as_str(),
        _ => return Box::default(),
    };
    if text.bytes().any(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f)) {
        return Box::default();
    }
    format!("\"{text}\"").into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_joint_is_found_where_it_begins_a_text() {
        let rest = "1234567890123456789";
        for text in [
            ",",
            ", \"id\": ",
            ", \"sixteen__\":  ",
            ", \"just_seventeen\" :",
            ",\"as_long_as_it_can_be_long__\":",
        ] {
            let joint = Joint::of(text.as_bytes());
            assert_eq!(joint.begins(format!("{text}{rest}").as_bytes()), Some(text.len()), "{text}");
            for at in 0..text.len() {
                let mut other = format!("{text}{rest}").into_bytes();
                other[at] ^= 1;
                assert_eq!(joint.begins(&other), None, "{text} at {at}");
            }
        }
        assert_eq!(Joint::of(&[b' '; 40]).begins(&[b' '; 80]), None);
        assert_eq!(Joint::default().begins(&[0; 40]), None);
    }
}
