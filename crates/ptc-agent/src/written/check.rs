//! Inputs held to a signature of which some are text: what is long is checked a part at a time, so that no more than a
//! part of it is ever built, and of what is of another kind than it should be nothing is.

use std::borrow::Cow;
use std::collections::BTreeMap;

use ptc_signature::{Field, Issue, MapOf, Mode, Path, Record, Segment, Signature, Type, keys};
use serde_json::{Map, Value as Json};

use super::{Datum, LONG, Passage, fields, items};

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
    let mut check = PartsCheck { mode, most: MOST, path: Vec::new(), found: Vec::new() };
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
    /// With more issues than that nothing more is looked at.
    most: usize,
    path: Vec<Segment>,
    found: Vec<Issue>,
}

impl PartsCheck {
    /// Recurses as deep as the type does.
    fn value(&mut self, ty: &Type, passage: Passage<'_>) {
        let datum = Datum::Written(passage);
        match (ty, datum.kind()) {
            _ if self.found.len() > self.most => {}
            (Type::Any, _) | (Type::Map, "map") => {}
            _ if datum.long().is_none() => self.built(ty, datum.json().into_owned(), 0),
            (Type::Optional(inner), _) => self.value(inner, passage),
            (Type::Union(members), _) => self.union(ty, members, passage),
            (Type::List(item), "list") => self.list(item, passage),
            (Type::Record(record), "map") => {
                self.record(record, fields(passage).map(|(name, value)| (name, Datum::Written(value))));
            }
            (Type::MapOf(map), "map") => self.entries(map, passage),
            (_, "list" | "map") => self.mismatch(ty, passage),
            // A scalar is no larger than its text.
            _ => self.built(ty, datum.json().into_owned(), 0),
        }
    }

    /// What is wrong with a list or map where something else should be. Nobody has to see what is in it: it is told what
    /// is wrong with a scalar in its place, which no type takes but those of scalars.
    fn mismatch(&mut self, ty: &Type, passage: Passage<'_>) {
        let known = self.found.len();
        for scalar in [Json::Null, Json::Bool(false)] {
            self.built(ty, scalar, 0);
            if let Some(issue) = self.found.get_mut(known) {
                let hidden = Path(self.path.clone()).is_firewalled();
                if let Some((expected, _)) = issue.message.rsplit_once(", got ") {
                    issue.message = format!("{expected}, got {}", described(passage, hidden));
                }
                return;
            }
        }
        // A union of both of them and of several kinds of lists.
        self.built(ty, Datum::Written(passage).json().into_owned(), 0);
    }

    /// A value fits if it fits any member. If not, a single member of its kind tells why, as in signatures.
    fn union(&mut self, ty: &Type, members: &[Type], passage: Passage<'_>) {
        let fits = |member: &Type| {
            let mut probe = PartsCheck { most: 0, path: self.path.clone(), found: Vec::new(), ..*self };
            probe.value(member, passage);
            probe.found.is_empty()
        };
        if members.iter().any(fits) {
            return;
        }
        let kind = Datum::Written(passage).kind();
        let is_likely = |member: &&Type| match member {
            Type::List(_) => kind == "list",
            Type::Record(_) | Type::MapOf(_) => kind == "map",
            Type::String(_) => kind == "string",
            _ => false,
        };
        let mut likely = members.iter().filter(is_likely);
        match (likely.next(), likely.next()) {
            // Whoever only asks whether it fits need not hear why.
            (Some(only), None) if self.most > 0 => self.value(only, passage),
            _ if matches!(kind, "list" | "map") => self.mismatch(ty, passage),
            _ => self.built(ty, Datum::Written(passage).json().into_owned(), 0),
        }
    }

    /// Items together until they are long, or one that is so by itself.
    fn list(&mut self, item: &Type, passage: Passage<'_>) {
        if *item == Type::Any {
            return;
        }
        let list = Type::List(Box::new(item.clone()));
        let (mut some, mut bytes, mut from) = (Vec::new(), 0, 0);
        for (at, part) in items(passage).enumerate() {
            if self.found.len() > self.most {
                return;
            }
            let datum = Datum::Written(part);
            if datum.long().is_some() {
                self.path.push(Segment::Index(at));
                self.value(item, part);
                self.path.pop();
                continue;
            }
            if bytes + part.text().len() > LONG || from + some.len() != at {
                self.built(&list, std::mem::take(&mut some).into(), from);
                (bytes, from) = (0, at);
            }
            some.push(datum.json().into_owned());
            bytes += part.text().len();
        }
        self.built(&list, some.into(), from);
    }

    /// All fields at once, of any type in place of those that are long together, and then each of those.
    fn record<'d>(&mut self, record: &Record, fields: impl Iterator<Item = (Cow<'d, str>, Datum<'d>)>) {
        let (mut short, mut names, mut long) = (Map::new(), Map::new(), BTreeMap::new());
        let (mut undeclared, mut bytes) = (0, 0);
        for (name, value) in fields {
            names.insert(name.to_string(), Json::from(&*name));
            let value = match value {
                _ if record.field(&name).is_none() => {
                    undeclared += 1;
                    Json::Null
                }
                Datum::Written(passage) if bytes + passage.text().len() > LONG => {
                    long.insert(name.to_string(), passage);
                    Json::Null
                }
                Datum::Written(passage) => {
                    bytes += passage.text().len();
                    value.json().into_owned()
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
            if let Some(passage) = found.and_then(|name| long.get(name)) {
                let ty = std::mem::replace(&mut field.ty, Type::Any);
                later.push((field.name.clone(), ty, *passage));
            }
        }
        self.built(&Type::Record(rest), Json::Object(short), 0);
        for (name, ty, passage) in later {
            self.path.push(Segment::Field(name));
            self.value(&ty, passage);
            self.path.pop();
        }
    }

    /// Entries together until they are long, and those that are so by themselves with their keys first.
    fn entries(&mut self, map: &MapOf, passage: Passage<'_>) {
        let whole = Type::MapOf(Box::new(map.clone()));
        let keys = Type::MapOf(Box::new(MapOf { value: Type::Any, ..map.clone() }));
        let (mut some, mut bytes) = (Map::new(), 0);
        for (name, value) in fields(passage) {
            if self.found.len() > self.most {
                return;
            }
            let datum = Datum::Written(value);
            if datum.long().is_some() {
                self.built(&keys, Json::Object([(name.to_string(), Json::Null)].into_iter().collect()), 0);
                self.path.push(Segment::Field(name.into_owned()));
                self.value(&map.value, value);
                self.path.pop();
                continue;
            }
            if bytes + name.len() + value.text().len() > LONG {
                self.built(&whole, Json::Object(std::mem::take(&mut some)), 0);
                bytes = 0;
            }
            bytes += name.len() + value.text().len();
            some.insert(name.into_owned(), datum.json().into_owned());
        }
        self.built(&whole, Json::Object(some), 0);
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

/// A list or map as messages of signatures name it.
fn described(passage: Passage<'_>, hidden: bool) -> String {
    let (kind, count) = (Datum::Written(passage).kind(), passage.count());
    let part = if kind == "list" { "item" } else { "field" };
    match (hidden, count) {
        (true, _) => kind.to_owned(),
        (false, 1) => format!("{kind} with 1 {part}"),
        (false, _) => format!("{kind} with {count} {part}s"),
    }
}
