//! A JSON text, looked through without building what it says: inputs are read straight into the machine that counts
//! them, and whoever has to know something of them before that asks here.

use std::fmt;
use std::io;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// What a JSON text weighs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weight {
    /// Its bytes as compact JSON.
    pub bytes: usize,
    /// The values in it, itself included.
    pub values: usize,
}

/// What a value is, and how much of it there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool,
    /// A number.
    Number,
    /// A text of so many bytes.
    Text(usize),
    /// A list of so many items.
    List(usize),
    /// An object of so many fields.
    Object(usize),
}

impl Kind {
    /// Its name in JSON Schema.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Null => "null",
            Kind::Bool => "boolean",
            Kind::Number => "number",
            Kind::Text(_) => "string",
            Kind::List(_) => "array",
            Kind::Object(_) => "object",
        }
    }
}

/// Looks through the text of a JSON object and tells of each of its fields. Takes as much memory as the longest text in
/// it that has escapes. Nesting is bounded by the JSON reader itself.
pub fn outline(text: &str, mut each: impl FnMut(&str, Kind)) -> Result<Weight, serde_json::Error> {
    let mut weight = Weight::default();
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.deserialize_map(Fields { weight: &mut weight, each: &mut each })?;
    reader.end()?;
    Ok(weight)
}

/// The fields of the outermost object.
struct Fields<'w> {
    weight: &'w mut Weight,
    each: &'w mut dyn FnMut(&str, Kind),
}

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.weight.value(1);
        let mut count = 0;
        while let Some(name) = map.next_key::<String>()? {
            self.weight.name(&name, count);
            let kind = map.next_value_seed(Weigh(self.weight))?;
            (self.each)(&name, kind);
            count += 1;
        }
        self.weight.bytes += 1;
        Ok(())
    }
}

/// A value inside of it.
struct Weigh<'w>(&'w mut Weight);

impl<'de> DeserializeSeed<'de> for Weigh<'_> {
    type Value = Kind;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Kind, D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// The name of a field.
struct Name<'w>(&'w mut Weight, usize);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E>(self, name: &str) -> Result<(), E> {
        self.0.name(name, self.1);
        Ok(())
    }
}

impl<'de> Visitor<'de> for Weigh<'_> {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Kind, E> {
        self.0.value("null".len());
        Ok(Kind::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Kind, E> {
        self.0.value(if value { "true".len() } else { "false".len() });
        Ok(Kind::Bool)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Kind, E> {
        self.0.number(&value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Kind, E> {
        self.0.number(&value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Kind, E> {
        self.0.number(&value)
    }

    fn visit_str<E>(self, text: &str) -> Result<Kind, E> {
        self.0.value(quoted(text));
        Ok(Kind::Text(text.len()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Kind, A::Error> {
        self.0.value(2);
        let mut count = 0;
        while seq.next_element_seed(Weigh(self.0))?.is_some() {
            self.0.bytes += usize::from(count > 0);
            count += 1;
        }
        Ok(Kind::List(count))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Kind, A::Error> {
        self.0.value(2);
        let mut count = 0;
        while map.next_key_seed(Name(self.0, count))?.is_some() {
            map.next_value_seed(Weigh(self.0))?;
            count += 1;
        }
        Ok(Kind::Object(count))
    }
}

impl Weight {
    /// Counts a value of so many bytes, without what is inside of it.
    fn value(&mut self, bytes: usize) {
        self.bytes += bytes;
        self.values += 1;
    }

    /// Counts the name of a field behind so many others, with its colon.
    fn name(&mut self, name: &str, before: usize) {
        self.bytes += quoted(name) + 1 + usize::from(before > 0);
    }

    fn number<E: Error>(&mut self, number: &impl serde::Serialize) -> Result<Kind, E> {
        self.value(0);
        serde_json::to_writer(Counted(&mut self.bytes), number).map_err(E::custom)?;
        Ok(Kind::Number)
    }
}

/// The bytes of a text as compact JSON.
fn quoted(text: &str) -> usize {
    let escaped = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 1,
        0..0x20 => 5,
        _ => 0,
    };
    2 + text.len() + text.bytes().map(escaped).sum::<usize>()
}

/// Counts what is written.
struct Counted<'c>(&'c mut usize);

impl io::Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        *self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn values(json: &Json) -> usize {
        1 + match json {
            Json::Array(items) => items.iter().map(values).sum(),
            Json::Object(fields) => fields.values().map(values).sum(),
            _ => 0,
        }
    }

    #[test]
    fn it_weighs_what_the_compact_text_does() {
        for json in [
            json!({}),
            json!({"a": []}),
            json!({"a": [1, -2, 3.5, 1e300, 0.1, null, true, false], "b": {"c": {}, "d\"\u{1}": "x\n\u{2}é😀"}}),
            json!({"": "", "/": [[], [[]], {"k": [1, 2], "l": 18446744073709551615_u64}]}),
        ] {
            let weight = Weight { bytes: json.to_string().len(), values: values(&json) };
            for text in [json.to_string(), format!(" {json:#} ")] {
                assert_eq!(outline(&text, |_, _| ()).expect("it is JSON"), weight, "{text}");
            }
        }
        assert_eq!(outline(r#"{"a":"\u0041\/"}"#, |_, _| ()).expect("JSON").bytes, r#"{"a":"A/"}"#.len());
    }

    #[test]
    fn it_tells_of_the_fields_of_the_outermost_object_only() {
        let mut seen = Vec::new();
        let text = r#"{"a": [1, [2]], "b": {"c": 1, "d": 2}, "e": "xyz", "f": 1.5, "g": null, "h": true}"#;
        outline(text, |name, kind| seen.push((name.to_owned(), kind))).expect("it is JSON");
        let kinds: Vec<Kind> = seen.iter().map(|(_, kind)| *kind).collect();
        assert_eq!(
            kinds,
            [Kind::List(2), Kind::Object(2), Kind::Text(3), Kind::Number, Kind::Null, Kind::Bool]
        );
        assert_eq!(seen[1].0, "b");
    }

    #[test]
    fn what_is_no_object_of_json_is_an_error() {
        let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(1_000), "]".repeat(1_000));
        for text in ["", "[]", "1", "{", r#"{"a":1}}"#, r#"{"a":"\ud83d"}"#, r#"{"a":1e400}"#, deep.as_str()]
        {
            assert!(outline(text, |_, _| ()).is_err(), "{text:.40}");
        }
    }
}
