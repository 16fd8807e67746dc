//! JSON text that people write, refusing objects that name a key twice: of two values for `url`, a reader of the text
//! cannot know which one counts.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value as Json;

/// The value of a JSON text in which no object names a key twice. Nesting is bounded by the JSON reader itself.
pub fn strict_json(text: &str) -> Result<Json, serde_json::Error> {
    check_strictly(text)?;
    serde_json::from_str(text)
}

/// Sees that a text is such JSON, and builds nothing of it.
pub fn check_strictly(text: &str) -> Result<(), serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    StrictCheck.deserialize(&mut reader)?;
    reader.end()
}

struct StrictCheck;

impl<'de> DeserializeSeed<'de> for StrictCheck {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StrictCheck {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(StrictCheck)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let mut names = BTreeSet::new();
        while let Some(name) = fields.next_key::<String>()? {
            fields.next_value_seed(StrictCheck)?;
            if let Some(name) = names.replace(name) {
                return Err(A::Error::custom(format!("the key {name:?} stands twice in one object")));
            }
        }
        Ok(())
    }
}
