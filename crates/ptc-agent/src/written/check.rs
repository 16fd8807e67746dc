//! Inputs held to a signature of which some are text: what is long is checked a part at a time, so that no more than a
//! part of it is ever built.

use std::borrow::Cow;
use std::collections::BTreeMap;

use ptc_signature::{Field, Issue, Mode, Path, Record, Segment, Signature, Type, keys};
use serde_json::{Map, Value as Json};

use super::{Datum, LONG, fields, items};

/// Issues that are listed, as signatures do.
const MOST: usize = 100;
/// Fields of one object that nobody declared and that are looked at: they have no types, only names.
const UNDECLARED: usize = 1_000;

/// What is wrong with inputs; nothing where the mode does not check.
pub(crate) fn issues<'d>(
    record: &Record,
    inputs: impl Iterator<Item = (Cow<'d, str>, Datum<'d>)>,
    mode: Mode,
) -> Vec<Issue> {
    let mut check = PartsCheck { mode, path: Vec::new(), found: Vec::new() };
    check.record(record, inputs);
    let (more, mut found): (Vec<Issue>, Vec<Issue>) =
        check.found.into_iter().partition(|issue| Issue::tells_of_more(&issue.to_string()));
    if found.len() > MOST || !more.is_empty() {
        found.truncate(MOST);
        let message = format!("more does not fit than these {MOST}");
        found.push(Issue { path: Path::default(), message });
    }
    found
}

struct PartsCheck {
    mode: Mode,
    path: Vec<Segment>,
    found: Vec<Issue>,
}

impl PartsCheck {
    fn value(&mut self, ty: &Type, text: &str) {
        match (ty, Datum::Written(text).kind()) {
            _ if self.found.len() > MOST => {}
            (Type::Any, _) | (Type::Map, "map") => {}
            _ if text.len() <= LONG => self.built(ty, Datum::Written(text).json().into_owned(), 0),
            (Type::Optional(inner), _) => self.value(inner, text),
            (Type::List(item), "list") => self.list(item, text),
            (Type::Record(record), "map") => {
                self.record(record, fields(text).map(|(name, value)| (name, Datum::Written(value))));
            }
            (Type::MapOf(_), "map") => self.entries(ty, text),
            _ => self.built(ty, Datum::Written(text).json().into_owned(), 0),
        }
    }

    /// Items together until they are long, or one that is so by itself.
    fn list(&mut self, item: &Type, text: &str) {
        if *item == Type::Any {
            return;
        }
        let list = Type::List(Box::new(item.clone()));
        let (mut some, mut bytes, mut from) = (Vec::new(), 0, 0);
        for (at, part) in items(text).enumerate() {
            if self.found.len() > MOST {
                return;
            }
            if part.len() > LONG {
                self.path.push(Segment::Index(at));
                self.value(item, part);
                self.path.pop();
                continue;
            }
            if bytes + part.len() > LONG || from + some.len() != at {
                self.built(&list, std::mem::take(&mut some).into(), from);
                (bytes, from) = (0, at);
            }
            some.push(Datum::Written(part).json().into_owned());
            bytes += part.len();
        }
        self.built(&list, some.into(), from);
    }

    /// All fields at once, of any type in place of long ones, and then each of those.
    fn record<'d>(&mut self, record: &Record, fields: impl Iterator<Item = (Cow<'d, str>, Datum<'d>)>) {
        let (mut short, mut names, mut long) = (Map::new(), Map::new(), BTreeMap::new());
        let mut undeclared = 0;
        for (name, value) in fields {
            names.insert(name.to_string(), Json::from(&*name));
            let value = match value {
                _ if record.field(&name).is_none() => {
                    undeclared += 1;
                    Json::Null
                }
                Datum::Written(text) if text.len() > LONG => {
                    long.insert(name.to_string(), text);
                    Json::Null
                }
                value => value.json().into_owned(),
            };
            if undeclared > UNDECLARED && value.is_null() && !long.contains_key(&*name) {
                names.remove(&*name);
                continue;
            }
            short.insert(name.into_owned(), value);
        }
        let names = Json::Object(names);
        let (mut rest, mut later) = (record.clone(), Vec::new());
        for field in &mut rest.fields {
            let found = keys::lookup(&names, &field.name).and_then(Json::as_str);
            if let Some(text) = found.and_then(|name| long.get(name)) {
                let ty = std::mem::replace(&mut field.ty, Type::Any);
                later.push((field.name.clone(), ty, *text));
            }
        }
        self.built(&Type::Record(rest), Json::Object(short), 0);
        for (name, ty, text) in later {
            self.path.push(Segment::Field(name));
            self.value(&ty, text);
            self.path.pop();
        }
    }

    /// Entries together until they are long.
    fn entries(&mut self, map: &Type, text: &str) {
        let (mut some, mut bytes) = (Map::new(), 0);
        for (name, value) in fields(text) {
            if bytes + value.len() > LONG {
                self.built(map, Json::Object(std::mem::take(&mut some)), 0);
                bytes = 0;
            }
            some.insert(name.into_owned(), Datum::Written(value).json().into_owned());
            bytes += value.len();
        }
        self.built(map, Json::Object(some), 0);
    }

    /// Holds a part to its type. It is checked inside of what is around it, because nothing is shown of a value under a
    /// name that is hidden. Items of it are counted from there on.
    fn built(&mut self, ty: &Type, value: Json, from: usize) {
        let around = self.path.iter().rev().fold((ty.clone(), value), |(ty, value), segment| match segment {
            Segment::Index(_) => (Type::List(Box::new(ty)), Json::Array(vec![value])),
            Segment::Field(name) => {
                let value = Json::Object([(name.clone(), value)].into_iter().collect());
                (Type::Record(Record::open([Field::new(name, ty)])), value)
            }
        });
        let checked = Signature::returning(around.0).validate_output(&around.1, self.mode);
        let depth = self.path.len();
        for mut issue in checked.unwrap_or_else(|rejection| rejection.errors) {
            if issue.path.0.len() >= depth {
                issue.path.0.splice(..depth, self.path.iter().cloned());
            }
            if let Some(Segment::Index(at)) = issue.path.0.get_mut(depth).filter(|_| from > 0) {
                *at += from;
            }
            self.found.push(issue);
        }
    }
}
