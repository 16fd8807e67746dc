//! The firewall: values under names that begin with `_` flow through programs and to the host, but are never
//! shown to a model.

use crate::shape::Build;
use crate::types::MAX_DEPTH;

/// What a model sees in place of a firewalled value.
pub const FIREWALLED: &str = "<Firewalled>";

/// Whether values under this name are kept from models. Both spellings of the underscore count.
pub fn is_firewalled(name: &str) -> bool {
    name.starts_with(['_', '-'])
}

/// The value as a model may see it: whatever lies under a firewalled name, at any depth, is replaced by
/// [`FIREWALLED`]. So is what lies deeper than values are followed.
///
/// ```
/// use ptc_signature::mask;
/// use serde_json::json;
///
/// let value = json!({"summary": "3 mails", "_email_ids": [1, 2, 3]});
/// assert_eq!(mask(&value), json!({"summary": "3 mails", "_email_ids": "<Firewalled>"}));
/// ```
pub fn mask<V: Build>(value: &V) -> V {
    mask_at(value, 0)
}

fn mask_at<V: Build>(value: &V, depth: usize) -> V {
    let hidden = || V::from_string(FIREWALLED.to_owned());
    if let Some(items) = value.items() {
        if depth >= MAX_DEPTH {
            return hidden();
        }
        return V::from_items(items.map(|item| mask_at(item, depth + 1)).collect());
    }
    if let Some(fields) = value.fields() {
        if depth >= MAX_DEPTH {
            return hidden();
        }
        let masked = fields.map(|(name, inner)| match is_firewalled(&name) {
            true => (name.into_owned(), hidden()),
            false => (name.into_owned(), mask_at(inner, depth + 1)),
        });
        return V::from_fields(masked.collect());
    }
    value.clone()
}
