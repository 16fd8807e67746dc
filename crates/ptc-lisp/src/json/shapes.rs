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
struct Shape {
    layout: Shared<Layout>,
    /// Each key as it stands in the text, in quotes; nothing if it must be written with an escape.
    texts: Vec<Box<[u8]>>,
    /// The place of the first member; the others follow.
    first_place: u32,
}

/// All shapes so far.
pub(super) struct Shapes {
    known: Vec<Shape>,
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
        let same = |known: &Shape| {
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
        let first_place = self.last.len() as u32;
        self.last.resize(self.last.len() + layout.len(), 0);
        self.known.push(Shape { layout: Rc::clone(layout), texts, first_place });
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
