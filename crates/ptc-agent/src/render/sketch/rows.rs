//! What is inside of JSON, whether it is built or a text.

use std::borrow::Cow;

use serde_json::Value as Json;

use super::keys::are_data;
use crate::written::{Datum, fields, items};

/// A field.
pub(super) type FieldRow<'d> = (Cow<'d, str>, Datum<'d>);

/// A list or a map.
#[derive(Clone, Copy)]
pub(super) struct Rows<'d>(pub Datum<'d>);

impl<'d> Rows<'d> {
    /// The items of a list.
    pub fn items(self) -> Box<dyn Iterator<Item = Datum<'d>> + 'd> {
        match self.0 {
            Datum::Built(json) => Box::new(json.as_array().into_iter().flatten().map(Datum::Built)),
            Datum::Written(passage) => Box::new(items(passage).map(Datum::Written)),
        }
    }

    /// How many items or fields there are.
    pub fn count(self) -> usize {
        match self.0 {
            Datum::Built(Json::Object(fields)) => fields.len(),
            Datum::Built(json) => json.as_array().map_or(0, Vec::len),
            Datum::Written(passage) => passage.count(),
        }
    }

    /// The fields of a map.
    pub fn fields(self) -> Box<dyn Iterator<Item = FieldRow<'d>> + 'd> {
        match self.0 {
            Datum::Built(json) => {
                let fields = json.as_object().into_iter().flatten();
                Box::new(fields.map(|(name, value)| (Cow::Borrowed(name.as_str()), Datum::Built(value))))
            }
            Datum::Written(passage) => {
                Box::new(fields(passage).map(|(name, value)| (name, Datum::Written(value))))
            }
        }
    }

    /// Whether all values of a map are of one kind.
    pub fn are_alike(self) -> bool {
        let mut kinds = self.fields().map(|(_, value)| value.kind());
        let first = kinds.next();
        kinds.all(|kind| Some(kind) == first)
    }

    /// Whether most keys of a map are data.
    pub fn have_data_for_keys(self) -> bool {
        are_data(self.fields().map(|(key, _)| key))
    }

    /// The work of looking at all items of a list of scalars; none for lists of others.
    pub fn scalars_work(self) -> Option<usize> {
        /// Bytes of a text that are as much work as a number.
        const BYTES: usize = 32;
        self.items().try_fold(0_usize, |work, item| match item {
            Datum::Built(Json::Array(_) | Json::Object(_)) => None,
            Datum::Built(Json::String(text)) => Some(work + 1 + text.len() / BYTES),
            Datum::Written(passage) if passage.text().starts_with(['[', '{']) => None,
            Datum::Written(passage) if passage.text().starts_with('"') => {
                Some(work + 1 + (passage.text().len() - 2) / BYTES)
            }
            _ => Some(work + 1),
        })
    }
}
