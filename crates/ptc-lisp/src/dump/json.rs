//! JSON values in a dump: the literal arguments in a manifest.

use serde_json::{Map, Number, Value as Json};

use super::DumpError;
use super::bytes::Read;
use super::format::json as tag;
use super::read::Reader;
use super::write::Writer;
use crate::value::walk::DEEPEST;

impl<'m> Writer<'m> {
    /// Writes a JSON value. It nests no deeper than source text.
    pub(super) fn json(&mut self, json: &'m Json) {
        match json {
            Json::Null => self.out.byte(tag::NULL),
            Json::Bool(value) => self.out.byte(if *value { tag::TRUE } else { tag::FALSE }),
            Json::Number(number) => self.number(number),
            Json::String(text) => {
                self.out.byte(tag::TEXT);
                self.text(text);
            }
            Json::Array(items) => {
                self.out.byte(tag::ARRAY);
                self.out.size(items.len());
                items.iter().for_each(|item| self.json(item));
            }
            Json::Object(fields) => {
                self.out.byte(tag::OBJECT);
                self.fields(fields);
            }
        }
    }

    fn number(&mut self, number: &Number) {
        match (number.as_i64(), number.as_u64()) {
            (Some(int), _) => {
                self.out.byte(tag::INT);
                self.out.signed(int);
            }
            (None, Some(int)) => {
                self.out.byte(tag::UNSIGNED);
                self.out.int(int);
            }
            (None, None) => {
                self.out.byte(tag::FLOAT);
                self.out.raw(&number.as_f64().unwrap_or_default().to_bits().to_le_bytes());
            }
        }
    }

    /// Writes the fields of an object.
    pub(super) fn fields(&mut self, fields: &'m Map<String, Json>) {
        self.out.size(fields.len());
        for (key, value) in fields {
            self.text(key);
            self.json(value);
        }
    }
}

impl Reader<'_> {
    fn json(&mut self, depth: u16) -> Read<Json> {
        if depth > DEEPEST {
            return Err(DumpError::TooDeep);
        }
        Ok(match self.input.byte()? {
            tag::NULL => Json::Null,
            tag::FALSE => Json::Bool(false),
            tag::TRUE => Json::Bool(true),
            tag::INT => Json::from(self.input.signed()?),
            tag::UNSIGNED => Json::from(self.input.int()?),
            tag::FLOAT => Number::from_f64(self.float()?)
                .map(Json::Number)
                .ok_or(DumpError::damaged("a JSON number is not finite"))?,
            tag::TEXT => Json::String(self.text()?.to_owned()),
            tag::ARRAY => Json::Array(self.listed(|reader| reader.json(depth + 1))?),
            tag::OBJECT => Json::Object(self.fields(depth + 1)?),
            other => return Err(DumpError::unknown("JSON value", other)),
        })
    }

    /// Reads the fields of an object.
    pub(super) fn fields(&mut self, depth: u16) -> Read<Map<String, Json>> {
        let fields = self.listed(|reader| Ok((reader.text()?.to_owned(), reader.json(depth)?)))?;
        Ok(fields.into_iter().collect())
    }
}
